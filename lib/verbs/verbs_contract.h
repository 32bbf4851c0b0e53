/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The contract between a client process (the drop-in libibverbs and librdmacm) and the daemon. This
 * header is all that both sides share; it is plain C.
 *
 * Control. A client connects a SOCK_SEQPACKET Unix socket and sends struct vc_request messages; each
 * is answered by one struct vc_reply with the same seq, in order. One connection is one verbs context
 * (VC_HELLO_VERBS) or the process' connection manager (VC_HELLO_CM). File descriptors come with replies
 * by SCM_RIGHTS. Errors are negative errno in status.
 *
 * Shared memory. The reply to VC_HELLO_VERBS brings a memfd of shm_bytes, sealed against resizing, which
 * the client maps once: struct vc_shm_header, then what the daemon allocates in it for queues; replies
 * name offsets. All indices are free running 32-bit counters; slot = index & (depth - 1).
 *
 * Memory regions. The daemon reaches them through the client's address space, by system call; or, when the
 * request names a memfd of the client that is sealed against shrinking (F_SEAL_SHRINK) and has no holes in the
 * range, by mapping it: the region then is that part of the memfd. When that cannot be, the first way is
 * taken and nothing is said. The memfd is named by number, and not sent, so that the daemon never holds a
 * file whose closing could keep it waiting.
 *
 * Trust. The daemon keeps private copies of every size, depth and of its own indices, reads a client's
 * index once, and treats a distance over the queue's depth as a broken client (the QP or CQ goes to
 * error). What the daemon writes into shared memory is never read back by it.
 *
 * Wake-up. A doorbell is a store: the client writes the producer index (release), then sets the queue's
 * bit in doorbell[] with an atomic or, and if need_wakeup is set writes 8 bytes to the eventfd. A shared
 * receive queue has no bell: it is looked at when a message comes.
 */
#ifndef VERBS_CONTRACT_H
#define VERBS_CONTRACT_H

#include <assert.h>
#include <stdint.h>

#include "tp_wqe.h"

#define VC_MAGIC          0x524f4345u /* "ROCE" */
#define VC_VERSION        3
#define VC_DEFAULT_SOCKET "/run/roced/roced.sock"
#define VC_SOCKET_ENV     "ROCED_SOCKET"
#define VC_MAX_QPS        1024       /* per context: bits in doorbell[] */
#define VC_MAX_PRIVATE    256
#define VC_MAX_GIDS       16
#define VC_NAME_BYTES     32

/* ---- shared memory ---- */

/* Start of the shared memory. Each group of fields has one writer and lies on cache lines of its own. */
struct vc_shm_header {
	uint32_t magic;                    /* daemon, constant */
	uint32_t version;                  /* daemon, constant */
	uint64_t shm_bytes;                /* daemon, constant */
	uint8_t pad0[48];
	uint32_t need_wakeup;              /* daemon: it sleeps, write the eventfd after ringing */
	uint8_t pad1[60];
	uint64_t doorbell[VC_MAX_QPS / 64]; /* client sets bits (atomic or), daemon exchanges with 0 */
};
static_assert(sizeof(struct vc_shm_header) == 256, "shared layout");

/* A send, receive or shared receive queue: this header, then depth slots of slot_bytes each. */
struct vc_queue {
	uint32_t prod;                     /* client: work requests posted */
	uint8_t pad0[60];
	uint32_t cons;                     /* daemon: work requests whose slots are free again */
	uint8_t pad1[60];
};
static_assert(sizeof(struct vc_queue) == 128, "shared layout");

/* A completion queue: this header, then depth struct tp_cqe. The daemon fills a slot and then stores
 * (release) seq = index + 1 in it; the client polls slot[cons & (depth - 1)].seq == cons + 1 (acquire). */
struct vc_cq {
	uint32_t cons;                     /* client: completions consumed */
	uint8_t pad0[60];
	uint32_t armed;                    /* client: enum vc_arm; daemon takes it back to 0 when it notifies */
	uint8_t pad1[60];
};
static_assert(sizeof(struct vc_cq) == 128, "shared layout");

enum vc_arm { VC_ARM_NONE = 0, VC_ARM_SOLICITED = 1, VC_ARM_ANY = 2 };

/* ---- messages on other file descriptors ---- */

/* Completion channel: a SEQPACKET socket on which the daemon writes one of these per notification. */
struct vc_comp_msg {
	uint64_t cq_cookie;                /* client's own cookie of the CQ */
};

/* Asynchronous events: a SEQPACKET socket likewise. */
struct vc_async_msg {
	uint32_t type;                     /* enum ibv_event_type */
	uint32_t resv;
	uint64_t cookie;                   /* client's own cookie of the QP, CQ or SRQ, 0 for port and device events */
};

/* ---- control ---- */

enum vc_op {
	VC_REFUSED = 0,           /* only of a reply: the daemon takes no session; status says why */
	VC_HELLO_VERBS = 1,
	VC_HELLO_CM,
	VC_LIST_DEVICES,          /* on a connection without hello too */
	VC_QUERY_DEVICE,
	VC_QUERY_PORT,
	VC_QUERY_GIDS,
	VC_ALLOC_PD,
	VC_DEALLOC_PD,
	VC_REG_MR,
	VC_DEREG_MR,
	VC_CREATE_COMP_CHANNEL,
	VC_DESTROY_COMP_CHANNEL,
	VC_CREATE_CQ,
	VC_RESIZE_CQ,
	VC_DESTROY_CQ,
	VC_CREATE_QP,
	VC_MODIFY_QP,
	VC_QUERY_QP,
	VC_DESTROY_QP,
	VC_CREATE_AH,
	VC_DESTROY_AH,
	VC_CREATE_SRQ,
	VC_MODIFY_SRQ,
	VC_QUERY_SRQ,
	VC_DESTROY_SRQ,
	VC_ALLOC_MW,
	VC_DEALLOC_MW,
	VC_ATTACH_MCAST,
	VC_DETACH_MCAST,
	VC_REREG_MR,               /* keys stay; with an error the region is as it was */
	VC_OPEN_XRCD,              /* reply: object; -EXDEV: the file's domain is at another worker */
	VC_CLOSE_XRCD,
	VC_OPEN_QP,                /* one more handle of an XRC target queue pair; reply: qp */
	VC_CM_CREATE_CHANNEL = 64, /* event channel: an fd of its own */
	VC_CM_DESTROY_CHANNEL,
	VC_CM_CREATE_ID,
	VC_CM_DESTROY_ID,          /* reply tells how many events of this id were delivered to its channel */
	VC_CM_BIND,
	VC_CM_LISTEN,
	VC_CM_RESOLVE_ADDR,        /* answered at once; the outcome is an event */
	VC_CM_RESOLVE_ROUTE,
	VC_CM_CONNECT,
	VC_CM_ACCEPT,
	VC_CM_REJECT,
	VC_CM_ESTABLISH,
	VC_CM_DISCONNECT,
	VC_CM_MIGRATE,
	VC_CM_INIT_QP_ATTR,        /* what rdma_init_qp_attr() needs for state X */
	VC_CM_QUERY_ID,            /* addresses, device */
	VC_CM_JOIN_MCAST,          /* MULTICAST_JOIN follows; attaching the queue pair is a request of its own */
	VC_CM_LEAVE_MCAST,
};

/* An address vector or GID route as the client gives it. */
struct vc_av {
	uint8_t dgid[16];
	uint32_t flow_label;
	uint8_t sgid_index;
	uint8_t hop_limit;
	uint8_t traffic_class;
	uint8_t sl;
};

struct vc_sockaddr {
	uint16_t family;                   /* AF_INET, AF_INET6, 0 = none */
	uint16_t port;                     /* big endian */
	uint32_t scope_id;
	uint8_t addr[16];                  /* IPv4 in the first four bytes */
};

struct vc_device_attr {
	char name[VC_NAME_BYTES];          /* "roced0" */
	char netdev[VC_NAME_BYTES];        /* name shown as the port's network interface */
	uint64_t node_guid;                /* big endian */
	uint64_t max_mr_bytes;
	uint32_t max_qp, max_qp_wr, max_send_wr, max_recv_wr, max_sge, max_cq, max_cqe, max_mr, max_pd, max_ah;
	uint32_t max_qp_rd_atomic, max_qp_init_rd_atomic, max_inline_bytes, max_srq;
	uint32_t max_mtu, active_mtu;      /* enum ibv_mtu */
	uint32_t gid_count;
	uint32_t port_state;               /* enum ibv_port_state */
	uint32_t speed_mbps;
	uint8_t mac[6];
	uint8_t resv[2];
	uint32_t max_srq_wr, max_srq_sge, max_mw, max_mcast_grp, max_mcast_qp_attach;
	uint32_t cap_flags;                /* enum ibv_device_cap_flags */
};

struct vc_gid {
	uint8_t gid[16];
	uint32_t type;                     /* enum ibv_gid_type: 2 = RoCE v2 */
	uint32_t prefix_len;
};

struct vc_qp_attr {
	uint32_t mask;                     /* enum ibv_qp_attr_mask */
	uint32_t state, cur_state, access;
	uint32_t qkey, rq_psn, sq_psn, dest_qpn;
	uint8_t path_mtu;                  /* enum ibv_mtu */
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer, max_rd_atomic, max_dest_rd_atomic;
	uint8_t en_sqd_async_notify, sq_draining, port;
	uint16_t pkey_index;
	uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_bytes;
	struct vc_av av;
};

/* rdma_conn_param */
struct vc_conn_param {
	uint32_t qpn;
	uint32_t private_bytes;
	uint8_t private_data[VC_MAX_PRIVATE];
	uint8_t responder_resources, initiator_depth, flow_control, retry_count, rnr_retry_count, srq;
	uint8_t qp_type;                   /* enum ibv_qp_type */
	uint8_t resv;
	uint32_t qkey;                     /* UD: SIDR reply */
};

enum { VC_PS_IPOIB = 0x0002, VC_PS_TCP = 0x0106, VC_PS_UDP = 0x0111, VC_PS_IB = 0x013f };

/* Sent by the daemon on an event channel's fd: one per message. */
struct vc_cm_event {
	uint32_t type;                     /* enum rdma_cm_event_type */
	int32_t status;                    /* negative errno, or the CM reject reason as librdmacm reports it */
	uint64_t id_cookie;                /* client's cookie of the id the event is for (of the listener for
	                                    * a connect request) */
	uint32_t new_id;                   /* connect request: daemon's handle of the new id */
	uint32_t ps;
	struct vc_sockaddr src, dst;       /* as known now */
	char device[VC_NAME_BYTES];        /* bound device, "" = none */
	struct vc_conn_param param;        /* peer's parameters and private data */
	struct vc_av av;                   /* UD: address of the peer or group */
	uint8_t sgid[16];
	uint64_t mcast_cookie;             /* MULTICAST_JOIN: client's cookie of the join */
};

struct vc_request {
	uint32_t op;                       /* enum vc_op */
	uint32_t seq;
	union {
		struct { uint32_t magic, version; char device[VC_NAME_BYTES]; } hello;
		struct { uint32_t handle; } object; /* dealloc, destroy, query, CM calls that take an id only */
		struct {
			uint32_t pd, access;
			uint64_t addr, bytes, iova;
			uint32_t mem_fd, resv;         /* the client's own number of a memfd, plus 1; 0: none */
			uint64_t mem_offset;           /* of addr in the memfd */
		} reg_mr;
		struct { uint32_t handle, flags, pd, access; uint64_t addr, bytes; } rereg_mr; /* flags: enum
			ibv_rereg_mr_flags; the new iova is addr, or 0 with zero-based access */
		struct { uint32_t depth, channel; uint64_t cookie; uint32_t vector, resv; } create_cq; /* channel 0: none */
		struct { uint32_t handle, depth; } resize_cq;
		struct {
			uint32_t pd, send_cq, recv_cq, type, sq_sig_all;
			uint32_t max_send_wr, max_recv_wr, max_send_sge, max_recv_sge, max_inline_bytes;
			uint64_t cookie;
			uint32_t srq, xrcd;            /* srq 0: a receive queue of its own; xrcd: of an XRC
							* target, which has no pd, CQs and queues */
		} create_qp;
		struct { uint32_t handle, resv; struct vc_qp_attr attr; } modify_qp;
		struct { uint32_t pd, resv; struct vc_av av; } create_ah;
		struct {                                        /* xrcd 0: no XRC SRQ, and without a CQ */
			uint32_t pd, max_wr, max_sge, xrcd;
			uint64_t cookie;
			uint32_t cq, resv;
		} create_srq;
		struct { int32_t fd; uint32_t oflags; } open_xrcd; /* fd: the client's, of the domain's file;
			-1: a private domain. O_CREAT, O_EXCL */
		struct { uint32_t xrcd, qpn; uint64_t cookie; } open_qp;
		struct { uint32_t handle, mask, max_wr, limit; } modify_srq; /* mask: enum ibv_srq_attr_mask */
		struct { uint32_t pd, type; } alloc_mw;         /* enum ibv_mw_type */
		struct { uint32_t qp, resv; uint8_t gid[16]; } mcast;
		struct { uint64_t cookie; uint32_t channel, ps, qp_type, resv; } cm_create_id;
		struct { uint32_t id, backlog; struct vc_sockaddr src; } cm_bind;       /* also listen (backlog) */
		struct { uint32_t id, timeout_ms; struct vc_sockaddr src, dst; } cm_resolve; /* addr and route */
		struct { uint32_t id, resv; struct vc_conn_param param; uint64_t cookie; } cm_conn; /* connect,
			accept (cookie: the client's for the accepted id), reject */
		struct { uint32_t id, channel; uint64_t cookie; } cm_migrate;
		struct { uint32_t id, state; } cm_init_attr;
		struct { uint32_t id, resv; struct vc_sockaddr addr; uint64_t cookie; } cm_mcast; /* cookie: join */
	};
};

struct vc_reply {
	uint32_t op;
	uint32_t seq;
	int32_t status;                    /* 0 or negative errno */
	uint32_t n_fds;                    /* fds sent along */
	union {
		struct { uint64_t shm_bytes; uint32_t version, num_comp_vectors; struct vc_device_attr attr; } hello;
			/* fds: shm memfd, wake-up eventfd, async events socket */
		struct { uint32_t n, resv; struct vc_device_attr attr[8]; } devices;
		struct vc_device_attr device;
		struct { uint32_t n, resv; struct vc_gid gid[VC_MAX_GIDS]; } gids;
		struct { uint32_t handle; } object;
		struct {
			uint32_t handle, key;                  /* key is lkey and rkey; of a memory window: rkey */
			uint32_t mapped, resv;                 /* 1: the daemon has mapped the memfd */
		} mr;
		struct { uint32_t handle, number; } ah;        /* number: for tp_send_wqe.ud.ah */
		struct { uint32_t handle, depth; uint64_t offset; } cq; /* of struct vc_cq in shared memory */
		struct {
			uint32_t handle, qpn, slot;            /* slot: bit in doorbell[] */
			uint32_t sq_depth, rq_depth, sq_slot_bytes, rq_slot_bytes, max_send_sge, max_recv_sge,
				max_inline_bytes;
			uint64_t sq_offset, rq_offset;         /* of struct vc_queue in shared memory; with an
								* SRQ rq_depth is 0 and there is no rq */
		} qp;
		struct {                                        /* create, modify, query */
			uint32_t handle, depth, slot_bytes, max_sge;
			uint32_t limit;                        /* armed limit, 0: none */
			uint32_t number;                       /* of an XRC SRQ */
			uint64_t offset;                       /* of struct vc_queue in shared memory */
		} srq;
		struct vc_qp_attr qp_attr;                      /* query_qp, cm_init_attr */
		struct {
			uint32_t handle;                       /* of the channel or id */
			uint32_t events;                       /* destroy: events of the id that were delivered */
			uint32_t ps, resv;
			struct vc_sockaddr src, dst;
			char device[VC_NAME_BYTES];
			uint8_t sgid[16], dgid[16];
		} cm;
	};
};

#endif
