/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Connection management: the CM protocol over QP1 (IBTA vol. 1, chapter 12; annex A11 for the IP CM
 * service; annex A17 for RoCE v2). One struct cm serves all devices of a daemon. Pure: no sockets, no
 * clock, no thread; memory is taken once in cm_create(), so no peer can make it grow. MADs leave
 * through send_mad(), outcomes through event(); both may be called from within any function here that
 * takes now_ns. An event is the last thing done to its id, so the handler may call anything back,
 * cm_id_destroy() of that id included; send_mad() must not call back.
 *
 * All numbers are in host byte order; addresses are GIDs (IPv4 as ::ffff:a.b.c.d). Calls return 0 or
 * a negative errno: -EINVAL for an argument or a call that does not fit the id's state, -ENOMEM when
 * the table is full.
 *
 * Typical active side:   cm_id_create, cm_connect, [CONNECT_RESPONSE], cm_id_qp_params, QP to RTR and RTS,
 *                        cm_establish, ..., cm_disconnect, [DISCONNECTED], cm_id_destroy.
 * Typical passive side:  cm_id_create, cm_listen, [CONNECT_REQUEST with a new id], cm_accept,
 *                        cm_id_qp_params (valid after cm_accept), QP to RTR (and RTS), [ESTABLISHED], ...
 */
#ifndef CM_H
#define CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire_frame.h"

#define CM_MAD_BYTES 256

/* User bytes that fit in each message; with an IP CM hello REQ and SIDR_REQ have 36 bytes less. */
#define CM_REQ_PRIVATE_BYTES      92
#define CM_REP_PRIVATE_BYTES      196
#define CM_REJ_PRIVATE_BYTES      148
#define CM_RTU_PRIVATE_BYTES      224
#define CM_DREQ_PRIVATE_BYTES     220
#define CM_SIDR_REQ_PRIVATE_BYTES 216
#define CM_SIDR_REP_PRIVATE_BYTES 136
#define CM_HELLO_BYTES            36
/* User bytes that leave room for what both ends may agree to (struct cm_ext). */
#define CM_REQ_EXT_PRIVATE_BYTES  76
#define CM_REP_EXT_PRIVATE_BYTES  180

/* Service IDs of the IP CM service: port space and port (annex A11). */
#define CM_PS_TCP 0x0106u
#define CM_PS_UDP 0x0111u
#define CM_PS_IB  0x013fu

static inline uint64_t cm_service_id(uint32_t port_space, uint16_t port)
{
	return ((uint64_t)port_space << 16) | port;
}

/* Reasons of a REJ (IBTA vol. 1, 12.6.7.2). */
enum cm_reject_reason {
	CM_REJ_NO_QP = 1,
	CM_REJ_NO_RESOURCES = 3,
	CM_REJ_TIMEOUT = 4,
	CM_REJ_UNSUPPORTED = 5,
	CM_REJ_INVALID_COMM_ID = 6,
	CM_REJ_INVALID_SERVICE_ID = 8,
	CM_REJ_INVALID_TRANSPORT = 9,
	CM_REJ_STALE_CONNECTION = 10,
	CM_REJ_INVALID_GID = 12,
	CM_REJ_INVALID_MTU = 26,
	CM_REJ_CONSUMER = 28,
	CM_REJ_DUPLICATE_COMM_ID = 30,
	CM_REJ_VENDOR_OPTION = 35,
};

enum cm_sidr_status {
	CM_SIDR_OK = 0,
	CM_SIDR_UNSUPPORTED = 1,
	CM_SIDR_REJECT = 2,
	CM_SIDR_NO_QP = 3,
	CM_SIDR_REDIRECT = 4,
	CM_SIDR_BAD_VERSION = 5,
};

enum cm_qp_type {
	CM_QP_RC = 0,
	CM_QP_UC = 1,
	CM_QP_XRC = 3,               /* from an initiator to a target queue pair */
};

enum cm_state {
	CM_IDLE,
	CM_LISTEN,
	CM_REQ_SENT,
	CM_REQ_RCVD,
	CM_REP_SENT,
	CM_REP_RCVD,
	CM_ESTABLISHED,
	CM_DREQ_SENT,
	CM_TIMEWAIT,
	CM_REJ_SENT,       /* passive, rejected by us: answers repeated REQs till the id is destroyed */
	CM_SIDR_REQ_SENT,
	CM_SIDR_REQ_RCVD,
	CM_SIDR_REP_SENT,
};

struct cm;
struct cm_id;

#define CM_EXT_SACK  0x01u /* selective repeat and spraying: docs/wire.md */
#define CM_EXT_MERGE 0x02u /* with it: several short messages in a packet */
#define CM_EXT_ALL   (CM_EXT_SACK | CM_EXT_MERGE)

/* What one side can do beyond the specification, offered in REQ and taken in REP (docs/wire.md). flags 0: nothing. */
struct cm_ext {
	uint8_t flags;
	uint16_t psn_ring;       /* PSNs it takes and sends between the oldest and the newest on their way */
	uint8_t planes;          /* it has beyond the first; both: the lesser of the two */
};

/* How MADs and data travel between two ports. */
struct cm_path {
	void *dev;               /* the daemon's cookie of the local device */
	struct wire_addr local;
	struct wire_addr remote;
	uint32_t flow_label;     /* 20 bits; also makes the data QPs' UDP source port */
	uint8_t tos;             /* traffic class */
	uint8_t hop_limit;
};

/* IP CM hello: what the sockets world calls the two endpoints. */
struct cm_hello {
	bool present;
	bool ipv6;
	struct wire_addr src;    /* of the active side */
	struct wire_addr dst;    /* of the passive side */
	uint16_t src_port;
	uint16_t dst_port;       /* from the service ID; ignored when sending */
};

/* What a QP needs to reach RTR and RTS. Passive side: valid after cm_accept(); before that (in
 * CONNECT_REQUEST) qpn, sq_psn, mtu, path and the peer's offers are. */
struct cm_qp_params {
	struct cm_path path;
	uint8_t qp_type;             /* enum cm_qp_type */
	uint8_t path_mtu;            /* enum ibv_mtu code, 1 = 256 .. 5 = 4096 */
	uint8_t max_rd_atomic;       /* our initiator depth */
	uint8_t max_dest_rd_atomic;  /* our responder resources */
	uint8_t ack_timeout;         /* code: 4.096 us * 2^t */
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t peer_srq;
	uint32_t local_qpn;
	uint32_t remote_qpn;
	uint32_t rq_psn;             /* first PSN we expect: the starting PSN we sent */
	uint32_t sq_psn;             /* first PSN we send: the starting PSN of the peer's REQ or REP */
	struct cm_ext ext;           /* CONNECT_REQUEST: what the peer offers; later: what both have agreed to */
};

enum cm_event_type {
	CM_EVENT_CONNECT_REQUEST = 1, /* id is new and now the handler's; listener is set */
	CM_EVENT_CONNECT_RESPONSE,    /* REP came: bring the QP up, then cm_establish() or cm_reject() */
	CM_EVENT_ESTABLISHED,         /* RTU came, or cm_comm_established() */
	CM_EVENT_REJECTED,            /* reason; the id is idle again */
	CM_EVENT_UNREACHABLE,         /* no answer within all retries; the id is idle again */
	CM_EVENT_DISCONNECTED,        /* DREQ came (and was answered), or ours was answered or timed out */
	CM_EVENT_TIMEWAIT_EXIT,       /* the QP number may be used again; the id is idle */
	CM_EVENT_SIDR_REQUEST,        /* id is new and now the handler's; answer by cm_sidr_rep() */
	CM_EVENT_SIDR_RESPONSE,       /* reason = enum cm_sidr_status, qpn and qkey; the id is idle */
};

/* Valid during the call of the handler only. */
struct cm_event {
	uint8_t type;                /* enum cm_event_type */
	struct cm_id *id;
	void *cookie;                /* of id; of the listener for a new id, till cm_id_set_cookie() */
	struct cm_id *listener;      /* *_REQUEST only */
	uint64_t service_id;
	uint32_t reason;             /* REJECTED, SIDR_RESPONSE */
	const uint8_t *ari;          /* REJECTED: additional reject information */
	uint8_t ari_bytes;
	const uint8_t *private_data; /* without the hello and offers; always as long as the message has room for */
	uint16_t private_bytes;
	struct cm_hello hello;       /* *_REQUEST */
	struct cm_qp_params qp;      /* CONNECT_REQUEST, CONNECT_RESPONSE, ESTABLISHED; path in all */
	/* CONNECT_REQUEST, CONNECT_RESPONSE: what the peer offers, as it says it (unswapped). */
	uint8_t peer_responder_resources;
	uint8_t peer_initiator_depth;
	uint8_t peer_flow_control;
	/* SIDR_RESPONSE */
	uint32_t qpn;
	uint32_t qkey;
};

struct cm_ops {
	/* Sends one MAD from QP1 to QP1, Q_Key 0x80010000. A negative errno is counted; the timers repeat
	 * the message. */
	int (*send_mad)(void *env, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES]);
	void (*event)(void *env, const struct cm_event *ev);
};

struct cm_config {
	uint32_t max_ids;              /* every id, those in timewait included; 1 .. 2^20 */
	uint32_t max_half_open;        /* passive ids that are not established, over all listeners */
	uint32_t response_timeout_ms;  /* wait for an answer before a message is repeated */
	uint32_t sidr_timeout_ms;
	uint32_t listener_wait_ms;     /* how long a request may wait for a listener before it is refused */
	uint8_t max_retries;           /* repeats before UNREACHABLE; 0..15 */
	uint8_t packet_lifetime;       /* code; our local ACK timeout is one more */
	uint8_t mra_service_timeout;   /* code; what an MRA asks for when the consumer is slow */
	uint8_t target_ack_delay;      /* code; sent in REP */
	uint64_t ca_guid;
	uint64_t seed;                 /* makes communication and transaction IDs unpredictable */
};

struct cm_stats {
	uint64_t rx_mads, tx_mads, tx_errors;
	uint64_t rx_malformed;         /* short, wrong class or version, fields out of range */
	uint64_t rx_unsupported;       /* well-formed, but LAP, APR or an unknown attribute */
	uint64_t rx_duplicate;
	uint64_t rx_unknown_id;        /* no such connection, or from a wrong address */
	uint64_t rx_unexpected;        /* not expected in the id's state */
	uint64_t retransmits, timeouts;
	uint64_t rejects_tx, rejects_rx;
	uint64_t waited;               /* requests that came before a listener */
	uint64_t no_listener, no_resources, stale;
	uint32_t ids, half_open, orphans; /* now */
};

/* Sets the defaults: 1024 ids, 256 half open, 5000 ms, SIDR 4096 ms, 15 retries, lifetime 16, MRA 24,
 * ACK delay 15, no waiting for listeners, seed and GUID 0. */
void cm_config_default(struct cm_config *config);

/* Takes all memory; *out is freed with cm_destroy(). ops and env must outlive it. */
int cm_create(const struct cm_config *config, const struct cm_ops *ops, void *env, uint64_t now_ns,
	struct cm **out);

/* Frees everything without telling peers; destroy the ids first for a polite end. NULL is allowed. */
void cm_destroy(struct cm *cm);

/* A fresh idle id; NULL when the table is full. */
struct cm_id *cm_id_create(struct cm *cm, void *cookie);
void cm_id_set_cookie(struct cm_id *id, void *cookie);
void *cm_id_cookie(const struct cm_id *id);
enum cm_state cm_id_state(const struct cm_id *id);
const char *cm_state_name(enum cm_state state);

/* Gives the id back. Sends what its state asks for (REJ or DREQ); no event of it comes any more, and
 * the caller must not use it again. */
void cm_id_destroy(struct cm *cm, struct cm_id *id, uint64_t now_ns);

/* Listens for REQ and SIDR_REQ to service_id, on local (NULL: any address) of dev (NULL: any). At most
 * backlog (0: only the global limit) requests wait unestablished. -EADDRINUSE when it overlaps
 * exactly with another listener; of two that match, one with an address wins. */
int cm_listen(struct cm *cm, struct cm_id *id, uint64_t service_id, const struct wire_addr *local,
	void *dev, uint32_t backlog);

struct cm_connect_params {
	struct cm_path path;         /* hop_limit 0: 64; flow_label 0: one is picked */
	struct cm_hello hello;       /* sent in front of the private data when present */
	uint64_t service_id;
	uint32_t qpn;
	uint32_t starting_psn;       /* first PSN we expect from the peer: our rq_psn */
	uint32_t qkey;
	uint8_t qp_type;             /* enum cm_qp_type */
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t flow_control;
	uint8_t retry_count;         /* 0..7 */
	uint8_t rnr_retry_count;     /* 0..7 */
	uint8_t srq;
	uint8_t path_mtu;            /* code 1..5 */
	struct cm_ext ext;           /* offered, if the private data and the hello leave room: CM_REQ_EXT_PRIVATE_BYTES */
	uint16_t private_bytes;      /* <= CM_REQ_PRIVATE_BYTES, less the hello */
	const uint8_t *private_data;
};

/* Idle id: sends REQ. Ends in CONNECT_RESPONSE, REJECTED or UNREACHABLE. */
int cm_connect(struct cm *cm, struct cm_id *id, const struct cm_connect_params *params, uint64_t now_ns);

struct cm_accept_params {
	uint32_t qpn;
	uint32_t starting_psn;       /* our rq_psn */
	uint32_t qkey;
	uint8_t responder_resources; /* what we will hold: at most the peer's initiator depth is used */
	uint8_t initiator_depth;     /* at most the peer's responder resources is used */
	uint8_t flow_control;
	uint8_t rnr_retry_count;
	uint8_t srq;
	struct cm_ext ext;           /* what we do; told if it was offered and there is room: CM_REP_EXT_PRIVATE_BYTES */
	uint16_t private_bytes;
	const uint8_t *private_data;
};

/* After CONNECT_REQUEST: sends REP. Ends in ESTABLISHED, REJECTED or UNREACHABLE. */
int cm_accept(struct cm *cm, struct cm_id *id, const struct cm_accept_params *params, uint64_t now_ns);

/* After CONNECT_REQUEST (to our own cm_accept too) or CONNECT_RESPONSE: sends REJ, no event follows. */
int cm_reject(struct cm *cm, struct cm_id *id, uint16_t reason, const uint8_t *private_data,
	uint16_t private_bytes, uint64_t now_ns);

/* After CONNECT_RESPONSE, when the QP can receive: sends RTU. The id is established, without an event. */
int cm_establish(struct cm *cm, struct cm_id *id, const uint8_t *private_data, uint16_t private_bytes,
	uint64_t now_ns);

/* Passive side: data came before RTU (12.9.6). Makes the ESTABLISHED event; 0 when already so. */
int cm_comm_established(struct cm *cm, struct cm_id *id, uint64_t now_ns);

/* Established id: sends DREQ; DISCONNECTED follows when it is answered or given up, then
 * TIMEWAIT_EXIT. 0 without effect when the peer has disconnected already. */
int cm_disconnect(struct cm *cm, struct cm_id *id, const uint8_t *private_data, uint16_t private_bytes,
	uint64_t now_ns);

/* After CONNECT_REQUEST or CONNECT_RESPONSE: tells the peer the answer needs up to 4.096 us * 2^code.
 * Is sent without being asked when the peer repeats itself. */
int cm_mra(struct cm *cm, struct cm_id *id, uint8_t service_timeout, uint64_t now_ns);

struct cm_sidr_req_params {
	struct cm_path path;
	struct cm_hello hello;
	uint64_t service_id;
	uint16_t private_bytes;
	const uint8_t *private_data;
};

/* Idle id: asks for the QP of a UD service. Ends in SIDR_RESPONSE or UNREACHABLE. */
int cm_sidr_req(struct cm *cm, struct cm_id *id, const struct cm_sidr_req_params *params, uint64_t now_ns);

struct cm_sidr_rep_params {
	uint8_t status;              /* enum cm_sidr_status */
	uint32_t qpn;
	uint32_t qkey;
	uint16_t private_bytes;
	const uint8_t *private_data;
};

/* After SIDR_REQUEST: sends the answer; repeated requests get it again till the id is destroyed. */
int cm_sidr_rep(struct cm *cm, struct cm_id *id, const struct cm_sidr_rep_params *params, uint64_t now_ns);

/* Fills out from the connection; -EINVAL when the peer's half is not known yet. */
int cm_id_qp_params(const struct cm_id *id, struct cm_qp_params *out);

/* A packet for QP1: mad is the payload of n bytes. path is as for an answer: local is the packet's
 * destination, remote its source. */
void cm_rx(struct cm *cm, const struct cm_path *path, const uint8_t *mad, size_t n, uint64_t now_ns);

/* Runs the timers due at now_ns. */
void cm_advance(struct cm *cm, uint64_t now_ns);

/* Lower bound of the time cm_advance() is needed next; UINT64_MAX for never. */
uint64_t cm_next_ns(const struct cm *cm);

void cm_get_stats(const struct cm *cm, struct cm_stats *out);

#endif
