/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The RoCE v2 transport of one worker: queue pairs (requester, responder, completer), memory regions
 * and loss recovery. Pure: the time is an argument, packet buffers, client memory and queues are
 * reached through struct tp_ops, and all memory is taken when an object is made. The daemon, the
 * simulator and the unit tests run this same code. Nothing here is thread safe: one tp belongs to one
 * thread.
 *
 * Packets are rte_mbufs whose private area is a struct wire_pkt (TP_PKT()).
 */
#ifndef TP_H
#define TP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "base_drop.h"
#include "base_wheel.h"
#include "path_sched.h"
#include "tp_wqe.h"
#include "wire_frame.h"

#define TP_PKT(m) ((struct wire_pkt *)rte_mbuf_to_priv(m))

#define TP_MAX_REORDER_PKTS 1023
#define TP_MAX_PLANES       4
#define TP_PLAIN_EVS        8
#define TP_EXT_PSN_RING     256 /* TP_EXT_SACK: PSNs that may be between the oldest and the newest on their way */

struct cc_config;
struct tp;
struct tp_qp;
struct tp_srq;

/* Where packets of a queue pair or to an address handle go: the address vector after resolution. */
struct tp_av {
	struct wire_l2l3 net;     /* dmac is filled in by the environment on emit */
	uint8_t l3_version;
	uint8_t tos;
	uint8_t ttl;
	uint16_t udp_sport;       /* 0xc000 or above */
	struct tp_shaper *channel; /* that connected queue pairs share with others that go the same way; NULL: none */
	void *link;               /* the environment's: next hop, port */
};

enum tp_event {
	TP_EVENT_QP_FATAL,        /* numbers are this library's own; the daemon maps them to ibv_event_type */
	TP_EVENT_QP_REQ_ERR,
	TP_EVENT_QP_ACCESS_ERR,
	TP_EVENT_COMM_EST,
	TP_EVENT_SQ_DRAINED,
	TP_EVENT_LAST_WQE,        /* in error, and takes nothing more from its shared receive queue */
	TP_EVENT_SRQ_LIMIT,       /* of a shared receive queue: to srq_event */
};

/* What the transport needs from its environment. None may call back into the transport. */
struct tp_ops {
	/* An empty packet buffer with headroom >= 128 and room for headers + 4096 + 8 bytes; NULL: none now. */
	struct rte_mbuf *(*pkt_alloc)(void *env);
	/* Takes over a complete frame from Ethernet to ICRC (dmac not set yet). */
	void (*pkt_emit)(void *env, const struct tp_av *av, struct rte_mbuf *pkt);
	/* Copies between address space `as` (from tp_mr_attr) at address va and local memory. 0 or -EFAULT. */
	int (*mem_read)(void *env, void *as, uint64_t va, void *dst, size_t bytes);
	int (*mem_write)(void *env, void *as, uint64_t va, const void *src, size_t bytes);
	/* Copies the next posted work request of the queue pair into slot (header, then SGEs or inline data;
	 * slot_bytes at most). 1: copied, 0: none posted, -EINVAL: it is malformed (counts skipped). */
	int (*send_fetch)(void *env, void *qp_cookie, struct tp_send_wqe *slot, uint32_t slot_bytes);
	int (*recv_fetch)(void *env, void *qp_cookie, struct tp_recv_wqe *slot, uint32_t slot_bytes);
	/* `count` more send work requests have been retired in order, signalled or not: their slots are free. */
	void (*send_retire)(void *env, void *qp_cookie, uint32_t count);
	/* Puts a completion on a completion queue. 0, or -ENOSPC when it is full (the QP goes to error). */
	int (*complete)(void *env, void *cq_cookie, const struct tp_cqe *cqe);
	void (*event)(void *env, void *qp_cookie, enum tp_event event);
	/* Of shared receive queues; not called while there is none: recv_fetch and event for them, and how many
	 * work requests are posted and not fetched. */
	int (*srq_fetch)(void *env, void *srq_cookie, struct tp_recv_wqe *slot, uint32_t slot_bytes);
	uint32_t (*srq_posted)(void *env, void *srq_cookie);
	void (*srq_event)(void *env, void *srq_cookie, enum tp_event event);
	/* Of queue pairs that keep packets which came before their turn; not called while there is none. The caller of
	 * tp_rx() may not reuse m, though it gives it up as any other, before it is freed. */
	void (*pkt_keep)(void *env, struct rte_mbuf *m);
	void (*pkt_free)(void *env, struct rte_mbuf *m);
};

/* The notification point of congestion (IBTA annex A17, 17.9): what is sent to the sender of a marked packet. */
struct tp_cnp_config {
	uint64_t gap_ns;          /* least time between two of one queue pair; 0: none are sent */
	uint64_t peer_gap_ns;     /* and between two to one address */
	uint8_t tos;              /* DSCP and ECN that they have */
};

struct tp_config {
	uint32_t max_qps;         /* table sizes, all taken at start */
	uint32_t max_mrs;
	uint32_t max_ahs;
	uint32_t qpn_base;        /* low bits of a QPN are the index in this worker's table, high bits its number */
	uint32_t window_pkts;     /* most unacknowledged request packets of one QP; 0: 128 */
	uint32_t max_held;        /* packets kept before their turn, of all queue pairs; 0: 1024 */
	/* TP_EXT_SACK: a packet is not taken as lost by time alone before this; for peers that answer with delay. 0: only
	 * what the measured round trips say, 100 us at least. */
	uint64_t min_rto_ns;
	/* TP_EXT_SACK: an acknowledgement may wait so long for others that go with it, unless the sender is in need of it;
	 * a tick of the wheel longer when nothing else comes. 0: those of a burst only, which wait for nothing. */
	uint32_t sack_wait_ns;
	/* How reliable queue pairs without TP_EXT_SACK move from one UDP source port to another: with keep_order and
	 * no_probes, TP_PLAIN_EVS EVs at most, and there as long as tp_refers(). NULL: they do not. */
	const struct path_sched_config *plain;
	/* Without TP_EXT_SACK: a queue pair whose peer does not answer sends again from another port, and answers what is
	 * asked again from another one. */
	bool move_on_timeout;
	struct tp_cnp_config cnp;
	uint32_t burst_ns;        /* what paces and shapers make up for: see qos_burst_bytes() */
	/* The reaction point of connected queue pairs without TP_EXT_SACK: checked, of kind CC_DCQCN, since they hear of
	 * congestion by notifications alone, and there as long as tp_refers(). It sets a pace; their windows are as without.
	 * NULL: none. */
	const struct cc_config *plain_cc;
	uint64_t seed;            /* for generation bits and the like */
};

struct tp_counters {
	uint64_t rx_pkts, tx_pkts, rx_bytes, tx_bytes;
	uint64_t retransmits, ack_timeouts, rnr_naks_sent, rnr_naks_received;
	uint64_t seq_naks_sent, seq_naks_received, other_naks_sent, duplicates;
	uint64_t cut_messages;    /* UC: begun to arrive and given up */
	uint64_t reordered;       /* packets that came before their turn and were kept */
	uint64_t probes;          /* copies sent to learn whether a path works again */
	uint64_t sacks_sent, sacks_received; /* packets; each tells of one request packet or more */
	uint64_t merged_sent, merged_received; /* packets of several messages */
	uint64_t merged_messages; /* in those that were sent, repeated ones too */
	uint64_t moves;           /* of queue pairs without TP_EXT_SACK to another UDP source port */
	uint64_t unagreed;        /* packets of TP_EXT_SACK at a queue pair without it, or the other way round */
	uint64_t marked;          /* packets that came with ECN "congestion experienced" */
	uint64_t cnps_sent, cnps_received;
	uint64_t drops[BASE_DROP_COUNT];
};

/* Takes memory and returns an endpoint, NULL when there is none. env is handed to every op. */
struct tp *tp_create(const struct tp_config *config, const struct tp_ops *ops, void *env, uint64_t now_ns);
/* Frees it and all its objects; emits and completes nothing. */
void tp_destroy(struct tp *tp);

/* Members of struct tp_config that may change. Queue pairs take them when they are connected, those about timers and
 * notifications at once. */
struct tp_tuning {
	uint64_t min_rto_ns;
	const struct path_sched_config *plain;
	bool move_on_timeout;
	struct tp_cnp_config cnp;
	const struct cc_config *plain_cc;
};

void tp_tune(struct tp *tp, const struct tp_tuning *tuning);
/* Whether the endpoint or a queue pair of it refers to a configuration in these bytes, so that they have to stay. */
bool tp_refers(const struct tp *tp, const void *from, size_t bytes);
/* Asks for the channel of every connected queue pair anew. */
void tp_rechannel(struct tp *tp, struct tp_shaper *(*channel)(void *arg, const struct tp_av *av), void *arg);

/* Handles n received RoCE frames (parsed, ICRC checked, destination address one of ours). The caller
 * keeps the mbufs and frees them afterwards. Acknowledgements of the burst are emitted before it returns. */
void tp_rx(struct tp *tp, struct rte_mbuf **pkts, uint32_t n, uint64_t now_ns);
/* Lets queue pairs with work send at most budget packets, in turn. Returns how many were emitted. */
uint32_t tp_tx(struct tp *tp, uint32_t budget, uint64_t now_ns);
/* Fires timers. */
void tp_advance(struct tp *tp, uint64_t now_ns);
/* Earliest time at which tp_advance() has work, UINT64_MAX: none. */
uint64_t tp_next_ns(const struct tp *tp);
/* Whether tp_tx() would have something to do now. */
bool tp_has_work(const struct tp *tp);
const struct tp_counters *tp_counters(const struct tp *tp);

/* ---- memory regions ---- */

struct tp_mr_attr {
	uint32_t pd;
	uint32_t access;          /* set of enum tp_access */
	uint64_t iova;            /* address as used in SGEs and RETHs */
	uint64_t addr;            /* address in the address space `as` of the byte at iova */
	uint64_t bytes;
	void *as;                 /* address space, handed to mem_read/mem_write */
	uint8_t *direct;          /* not NULL: this process' own mapping of addr; then no op is called */
	const uint32_t *fault;    /* of direct: not 0 from when the mapping has failed; NULL: it cannot */
	bool invalidatable;       /* a SEND with invalidate may end remote access (not for plain ibv_reg_mr regions) */
};

/* Registers a region; *key becomes both L_Key and R_Key: table index in the upper 24 bits, generation in
 * the lower 8, so that a stale key of a reused slot fails. -ENOMEM: table full, -EINVAL: wraps or bad flags. */
int tp_mr_create(struct tp *tp, const struct tp_mr_attr *attr, uint32_t *key);
enum tp_mr_change {        /* enum ibv_rereg_mr_flags */
	TP_MR_TRANSLATION = 1 << 0, /* iova, addr, bytes, as, direct, fault */
	TP_MR_PD = 1 << 1,
	TP_MR_ACCESS = 1 << 2,
};

/* Takes what `changes` (set of enum tp_mr_change) names from attr, under the same key (IBTA vol. 1, 11.2.7.4). What
 * is on its way to or from the region meets the new attributes with its next packet. -EINVAL: no such region, or
 * the result is none that could be made, -EBUSY: windows are bound to it; then it stays as it was. */
int tp_mr_change(struct tp *tp, uint32_t key, const struct tp_mr_attr *attr, uint32_t changes);
/* -EINVAL: no such region, -EBUSY: windows are bound to it. */
int tp_mr_destroy(struct tp *tp, uint32_t key);

/* ---- memory windows ---- */

enum tp_mw_type { TP_MW_TYPE_1 = 1, TP_MW_TYPE_2 = 2 };   /* enum ibv_mw_type */

/* Makes a window that is bound to nothing; it takes a place of the regions' table. Work requests bind it
 * (TP_WR_BIND_MW) and give it the lower 8 bits of their rkey as new generation. -ENOMEM, -EINVAL. */
int tp_mw_create(struct tp *tp, uint32_t pd, enum tp_mw_type type, uint32_t *rkey);
/* rkey: any that the window has had, so only its upper 24 bits count. -EINVAL: no such window. */
int tp_mw_destroy(struct tp *tp, uint32_t rkey);

/* ---- address handles ---- */

/* Makes an address handle; *ah is the number that UD work requests of queue pairs in pd name, made like the key
 * of a region. What av->link points to has to stay until the handle is destroyed. -ENOMEM: table full, -EINVAL:
 * neither IPv4 nor IPv6. */
int tp_ah_create(struct tp *tp, uint32_t pd, const struct tp_av *av, uint32_t *ah);
/* Work requests that are not sent yet fail. -EINVAL: no such handle. */
int tp_ah_destroy(struct tp *tp, uint32_t ah);

/* ---- shared receive queues ---- */

struct tp_srq_init {
	uint32_t pd;              /* the L_Keys of its work requests are of this one, whatever the queue pair's */
	uint32_t depth;
	uint32_t max_sge;
	/* Annex A14: not 0 makes it one for the XRC target queue pairs of that XRC domain. It has a number, by which
	 * requests name it, a completion queue, and its pd is that of the R_Keys in these requests too. */
	uint32_t xrcd;
	void *cq;                 /* XRC: cookie for ops->complete */
	void *cookie;             /* for the srq ops */
};

/* -ENOMEM, -EINVAL. */
int tp_srq_create(struct tp *tp, const struct tp_srq_init *init, struct tp_srq **srq);
/* Arms the limit: TP_EVENT_SRQ_LIMIT tells, once, that fewer work requests than that are posted; at once, if it
 * is so already. 0 disarms. -EINVAL: more than depth. */
int tp_srq_set_limit(struct tp *tp, struct tp_srq *srq, uint32_t limit);
/* The limit that is armed, 0: none. */
uint32_t tp_srq_limit(const struct tp_srq *srq);
/* A queue of another length, with the same work requests posted. -EINVAL: out of range, or less than the limit
 * that is armed. */
int tp_srq_resize(struct tp *tp, struct tp_srq *srq, uint32_t depth);
/* Number of an XRC queue, made like a queue pair's; 0: it is none. */
uint32_t tp_srq_number(const struct tp_srq *srq);
/* -EBUSY: queue pairs use it. What is on its way to an XRC queue is refused from now on. */
int tp_srq_destroy(struct tp *tp, struct tp_srq *srq);

/* ---- shaping ---- */

struct tp_shaper;

/* What the queue pairs that share it send together, answers of READs among it: rate_bps of frames from Ethernet header to
 * ICRC, 0: no limit, else within QOS_MIN_RATE_BPS and QOS_MAX_RATE_BPS. Acknowledgements are not held up. -ENOMEM. */
int tp_shaper_create(struct tp *tp, uint64_t rate_bps, struct tp_shaper **shaper);
void tp_shaper_set(struct tp *tp, struct tp_shaper *shaper, uint64_t rate_bps);
/* While it is closed, they send nothing but acknowledgements: what takes their packets has no room. */
void tp_shaper_close(struct tp *tp, struct tp_shaper *shaper, bool closed);
/* -EBUSY: queue pairs use it. */
int tp_shaper_destroy(struct tp *tp, struct tp_shaper *shaper);

/* ---- queue pairs ---- */

/* enum ibv_qp_type. An XRC initiator sends only; an XRC target receives only, for the shared receive queues of its
 * domain, and has no completion queue (annex A14). */
enum tp_qp_type { TP_QPT_RC = 2, TP_QPT_UC = 3, TP_QPT_UD = 4, TP_QPT_XRC_INI = 9, TP_QPT_XRC_TGT = 10 };
enum tp_qp_state {                                                   /* enum ibv_qp_state */
	TP_QPS_RESET, TP_QPS_INIT, TP_QPS_RTR, TP_QPS_RTS, TP_QPS_SQD, TP_QPS_SQE, TP_QPS_ERR,
};

struct tp_qp_init {
	enum tp_qp_type type;
	uint32_t pd;
	uint32_t sq_depth, rq_depth;
	uint32_t max_send_sge, max_recv_sge, max_inline_bytes;
	uint32_t ud_mtu_bytes;    /* UD: MTU of the port, 256..4096, longest datagram either way */
	bool sq_sig_all;
	uint32_t xrcd;            /* XRC target: its domain, not 0; it needs no pd */
	/* RC, UC: how many packets after the expected one are kept till it comes, and for how long it may be missing
	 * before it is taken as lost. 0: it is so at once, as the specification has it. */
	uint32_t reorder_pkts;    /* TP_MAX_REORDER_PKTS at most */
	uint64_t reorder_ns;
	uint32_t ext;             /* RC: set of enum tp_ext_flag that it has room for: see tp_qp_attr */
	struct tp_srq *srq;       /* takes its receive work requests from there; NULL: has a queue of its own */
	struct tp_shaper *shaper; /* NULL: none */
	void *send_cq, *recv_cq;  /* cookies for ops->complete */
	void *cookie;             /* for the fetch, retire and event ops */
};

/* What a queue pair does beyond the specification, with a peer that does it too (docs/wire.md). */
enum tp_ext_flag {
	/* Selective repeat, and packets sprayed over several UDP source ports. Up to 255 packets are kept before their turn,
	 * whatever reorder_pkts is, and reorder_ns is the least time that a READ answer may be missing. */
	TP_EXT_SACK = 1 << 0,
	/* With it: several short messages in one packet. */
	TP_EXT_MERGE = 1 << 1,
};

/* Which messages go together, where TP_EXT_MERGE is agreed to. */
struct tp_merge_config {
	uint32_t max_bytes;       /* SENDs and WRITEs up to so long; 0: none, but the peer's are taken */
	uint32_t wait_ns;         /* how long one may wait for more, while others are on their way; a tick of the wheel longer. 0:
				   * only what is posted already goes together */
};

/* Attribute mask bits of tp_qp_modify(); numbers of enum ibv_qp_attr_mask but for the last. */
enum tp_qp_mask {
	TP_QP_STATE = 1 << 0,
	TP_QP_CUR_STATE = 1 << 1,
	TP_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
	TP_QP_ACCESS_FLAGS = 1 << 3,
	TP_QP_PKEY_INDEX = 1 << 4,
	TP_QP_PORT = 1 << 5,
	TP_QP_QKEY = 1 << 6,
	TP_QP_AV = 1 << 7,
	TP_QP_PATH_MTU = 1 << 8,
	TP_QP_TIMEOUT = 1 << 9,
	TP_QP_RETRY_CNT = 1 << 10,
	TP_QP_RNR_RETRY = 1 << 11,
	TP_QP_RQ_PSN = 1 << 12,
	TP_QP_MAX_QP_RD_ATOMIC = 1 << 13,
	TP_QP_MIN_RNR_TIMER = 1 << 15,
	TP_QP_SQ_PSN = 1 << 16,
	TP_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
	TP_QP_CAP = 1 << 19,
	TP_QP_DEST_QPN = 1 << 20,
	TP_QP_EXT = 1 << 30,      /* ext, sched, cc and merge; optional to RTR */
};

struct tp_qp_attr {
	enum tp_qp_state state, cur_state;
	uint32_t access;
	uint32_t qkey;
	struct tp_av av;
	uint32_t mtu_bytes;       /* 256..4096 */
	uint32_t rq_psn, sq_psn;
	uint32_t dest_qpn;
	uint8_t timeout;          /* 5-bit code: 4.096 us * 2^timeout, 0 = never */
	uint8_t retry_cnt, rnr_retry;
	uint8_t min_rnr_timer;    /* 5-bit code */
	uint8_t max_rd_atomic, max_dest_rd_atomic;
	uint8_t en_sqd_async_notify;
	uint16_t pkey_index;
	uint8_t port;
	uint32_t ext;             /* set of enum tp_ext_flag that the peer has agreed to, of those of tp_qp_init */
	/* How paths are chosen, and from how many: checked, without keep_order, and there until the queue pair is reset or
	 * destroyed. NULL: path_sched_config_default(). */
	const struct path_sched_config *sched;
	/* How much may be on its way: checked, and there as long. NULL: the window that go-back-N has too. */
	const struct cc_config *cc;
	struct tp_merge_config merge;
	/* More address vectors between the same two devices, from other ports and addresses (planes) and of av's IP version,
	 * TP_MAX_PLANES - 1 at most; copied. Entropy value i takes plane i modulo (1 + n_planes), av being plane 0. What
	 * their links point to has to stay until the queue pair is reset or destroyed. Not in what tp_qp_query() gives. */
	const struct tp_av *planes;
	uint32_t n_planes;
	bool sq_draining;         /* query only */
};

/* Makes a queue pair in RESET; *qpn is its number. -ENOMEM, -EINVAL. */
int tp_qp_create(struct tp *tp, const struct tp_qp_init *init, struct tp_qp **qp, uint32_t *qpn);
/* The same limit for one queue pair, until it is set again. */
void tp_qp_set_rate(struct tp *tp, struct tp_qp *qp, uint64_t rate_bps);
/* Transition and attributes as in IBTA vol. 1, 10.3.1 and table 91: required and optional attributes of
 * every transition are checked (-EINVAL) and nothing is changed on error. UC and UD queue pairs enter SQE by
 * themselves when a send work request fails; what is posted until they are taken back to RTS is flushed. */
int tp_qp_modify(struct tp *tp, struct tp_qp *qp, const struct tp_qp_attr *attr, uint32_t mask, uint64_t now_ns);

/* What one queue pair has counted since it was made; as in struct tp_counters. */
struct tp_qp_counters {
	uint64_t rx_pkts, tx_pkts, rx_bytes, tx_bytes; /* rx: of packets that are its own */
	uint64_t retransmits, ack_timeouts, rnr_naks_sent, rnr_naks_received;
	uint64_t seq_naks_sent, seq_naks_received, other_naks_sent, duplicates;
	uint64_t reordered, moves;
	uint64_t marked, cnps_sent, cnps_received;
	uint32_t most_ahead;      /* packets: how far before its turn one came that was kept */
};

struct tp_qp_stats {
	struct tp_qp_counters counters;
	enum tp_qp_state state;
	uint32_t held;            /* packets that wait for their turn now */
	uint32_t window;          /* packets that may be unacknowledged now */
	uint32_t outstanding;     /* packets that are */
};

void tp_qp_stats(const struct tp_qp *qp, struct tp_qp_stats *stats);
/* What is known of the paths of a queue pair. */
struct tp_path {
	uint16_t udp_sport;
	uint64_t sent;            /* packets of requests, since it was connected */
	struct path_sched_stats stats;
};

struct tp_paths {
	const char *scheduler;
	bool in_order;            /* uses one path at a time: the peer has not agreed to more */
	uint32_t srtt_ns;         /* of all paths together, or of the present one; 0: unknown */
	uint32_t window;          /* packets that may be unacknowledged now */
	const char *controller;   /* of congestion: cc_name(); "window": the transport's own */
	uint32_t window_bytes;    /* what the controller lets be on its way, headers included */
	uint64_t rate_bps;        /* pace that was kept to last; 0: none */
	uint32_t n;
	struct tp_path path[PATH_SCHED_MAX_EVS];
};

/* -ENOTSUP: it has one path only, or is not connected. */
int tp_qp_paths(const struct tp_qp *qp, struct tp_paths *paths);
/* The peer has not agreed to what TP_QP_EXT said: goes on without, from what is not acknowledged. */
void tp_qp_plain(struct tp *tp, struct tp_qp *qp);
void tp_qp_query(const struct tp_qp *qp, struct tp_qp_attr *attr);
/* Frees it without completions. */
void tp_qp_destroy(struct tp *tp, struct tp_qp *qp);
/* Work was posted (either queue): it will be looked at by the next tp_tx(). In the error state posted work
 * is flushed there too. */
void tp_qp_kick(struct tp *tp, struct tp_qp *qp);
struct tp_qp *tp_qp_find(const struct tp *tp, uint32_t qpn);

#endif
