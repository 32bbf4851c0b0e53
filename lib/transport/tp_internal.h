/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Structures shared by the files of lib/transport. A queue pair has two halves that share nothing but
 * the address vector: the requester (tp_req.c sends, tp_comp.c takes the answers) and the responder
 * (tp_resp.c). All PSN ranges of the requester are unsigned distances from una, so that even a READ of
 * 2^31 bytes at MTU 256 (2^23 PSNs) fits.
 */
#ifndef TP_INTERNAL_H
#define TP_INTERNAL_H

#include <stdalign.h>
#include <string.h>
#include <sys/queue.h>

#include <rte_prefetch.h>

#include "base_psn.h"
#include "cc.h"
#include "path_sched.h"
#include "qos_bucket.h"
#include "tp.h"
#include "wire_template.h"

#define TP_BURST_PKTS     32     /* packets of one message fetched with one memory read; ACK at least this often */
#define TP_READ_PKTS      TP_BURST_PKTS /* answers asked for by one READ request */
#define TP_MAX_MTU        4096
#define TP_MAX_DEPTH      (1u << 20)
#define TP_DEFAULT_WINDOW 128
#define TP_MAX_RD_ATOMIC  128    /* saved READ/atomic answers of one queue pair at most */
#define TP_FLUSH_BURST    64
#define TP_DEFAULT_HELD   1024
#define TP_DEFAULT_PKEY   0xffff
#define TP_KEY_GEN_BITS   8
#define TP_OWN_SLOTS      4u     /* a power of two */
#define TP_SLOT_UNIT      64u    /* sizes of slots are multiples of it */
#define TP_SLOT_SIZES     5u
#define TP_RING_SIZES     6u     /* 8 to 256 slots */
#define TP_SERVICE_SHIFT  5      /* of the transport service in an opcode */
#define TP_CNP_PEERS      256    /* a power of two */
#define TP_SCRATCH_BYTES  (TP_BURST_PKTS * TP_MAX_MTU)

/* AETH syndromes (IBTA vol. 1, 9.7.5.1.2 and table 45). */
enum {
	TP_SYN_ACK = 0x1f,       /* credit field: unlimited */
	TP_SYN_RNR = 0x20,
	TP_SYN_NAK_SEQ = 0x60,
	TP_SYN_NAK_INV_REQ = 0x61,
	TP_SYN_NAK_REM_ACCESS = 0x62,
	TP_SYN_NAK_REM_OP = 0x63,
	TP_SYN_NAK_INV_RD_REQ = 0x64,
};

struct tp_mr {
	struct tp_mr_attr attr;
	uint8_t gen;
	bool used;
	bool invalidated;        /* no remote access any more, or not yet: a window that is not bound */
	uint8_t window;          /* enum tp_mw_type, 0: a region */
	struct tp_mr *parent;    /* window: region it is bound to */
	struct tp_qp *qp;        /* window of type 2: queue pair it is bound for */
	uint32_t n_windows;      /* region: bound to it */
};

struct tp_ah {
	struct tp_av av;
	uint32_t pd;
	uint8_t gen;
	bool used;
};

struct tp_srq {
	struct tp *tp;
	LIST_ENTRY(tp_srq) link;
	struct tp_srq_init init;
	uint32_t limit;          /* armed, 0: none */
	uint32_t n_qps;          /* that use it */
	uint32_t number;         /* XRC; else 0 */
};

LIST_HEAD(tp_srq_list, tp_srq);

/* Packets ahead of their turn: tp_hold.h. */
struct tp_hold {
	struct tp_qp *qp;
	struct rte_mbuf **ring;  /* by PSN */
	uint32_t size;           /* of the ring: a power of two, 0: there is none */
	uint32_t room;           /* of it in use: the same */
	uint64_t wait_ns;        /* for whoever is missing; UINT64_MAX: for ever */
	uint32_t base;           /* PSN whose turn it is */
	uint32_t n;
	struct base_timer timer; /* of whoever is missing */
};

/* State of a fetched send work request, beside its copied WQE. */
struct tp_swr {
	uint32_t psn;            /* first PSN */
	uint32_t n_psn;
	uint32_t asked_psn;      /* READ: first PSN of the latest request that began within a piece */
	uint32_t bytes;
	uint16_t err;            /* enum tp_wc_status found locally: complete with it once it is the oldest */
	bool answered;           /* READ or atomic: needs an explicit response */
	bool done;               /* local work: is not done again when what is around it is sent again */
};

/* Rings of one size that are lent: tp_slots.h. */
struct tp_slots_pool {
	struct tp_slots *free;
	uint32_t n;
	uint32_t n_qps;          /* that may want one */
};

struct tp_req {
	uint8_t *slots;          /* ring of WQE copies: its own, or one that is lent to it (tp_slots.h) */
	struct tp_swr *swr;
	uint32_t slot_bytes, mask;
	uint32_t room;           /* work requests that it may have: no more than the queue is deep */
	struct tp_slots *lent;
	bool shares;             /* may borrow */
	uint32_t head, snd, tail;/* oldest not retired, one being sent, one past the last fetched */
	uint32_t una;            /* oldest unacknowledged PSN */
	uint32_t snd_psn;        /* next PSN to send; goes back on retransmission */
	uint32_t snd_max;        /* one past the highest PSN ever sent */
	uint32_t alloc_psn;      /* first PSN of the next work request fetched */
	uint32_t since_ackreq;   /* packets sent since the last AckReq */
	uint32_t rd_out;         /* READ and atomic requests between una and snd_psn */
	uint32_t window;         /* PSNs that may be unacknowledged now: tp_recovery.c */
	uint32_t window_goal;    /* up to here it grows by what is acknowledged, then by one a window */
	uint32_t window_part;    /* acknowledged towards the next one */
	uint32_t window_una;     /* una as the window knows it */
	bool gap_taken;
	uint8_t retry_left, rnr_left;
	uint8_t timeouts;        /* of the ACK timer in a row */
	bool rnr_wait;
	bool drain_told;
	uint64_t deadline_ns;    /* of the ACK timer; the wheel entry may be earlier and is re-armed lazily */
	struct base_timer ack_timer;
	struct base_timer rnr_timer;
	struct tp_hold hold;     /* of answers */
};

enum tp_saved_kind { TP_SAVED_NONE, TP_SAVED_READ, TP_SAVED_ATOMIC, TP_SAVED_ATOMIC_WRITE };

/* A READ, atomic or ATOMIC WRITE request and what is needed to answer it, again if need be (9.7.5.1.1). */
struct tp_saved {
	TAILQ_ENTRY(tp_saved) link;
	uint8_t kind;
	bool queued;             /* on tp_resp.answers */
	bool replay;
	uint32_t psn, n_psn;     /* of the original request */
	uint32_t msn;
	uint32_t rkey, bytes;
	uint32_t pd;             /* of the key */
	uint64_t va;
	uint64_t orig;
	/* The answer being emitted: starts at psn a_psn, a_next of a_n packets are out. */
	uint32_t a_psn, a_n, a_next, a_bytes;
	uint64_t a_va;
};

TAILQ_HEAD(tp_saved_list, tp_saved);

enum tp_msg_kind { TP_MSG_NONE, TP_MSG_SEND, TP_MSG_WRITE };

struct tp_resp {
	uint32_t epsn, msn;
	uint8_t msg;             /* enum tp_msg_kind in progress */
	bool silent;             /* NAK sent: ignore what is ahead until the expected PSN comes */
	bool ack_pending;
	bool nak_pending;
	bool failed;             /* a fatal NAK waits behind queued answers: no more requests are taken */
	uint8_t fail_event;      /* enum tp_event to tell with it */
	bool have_recv;
	uint8_t nak_syndrome;
	uint8_t moves;           /* of answers to other UDP source ports: tp_port_of() */
	uint16_t peer_port;      /* UDP source port of the latest new request */
	uint16_t fail_status;    /* of the receive work request in progress */
	uint32_t nak_psn;
	uint32_t since_ack;
	uint32_t msg_bytes;      /* placed so far */
	uint64_t wr_va;          /* WRITE in progress: next address, bytes to come */
	uint32_t wr_rkey, wr_left, wr_total;
	uint64_t recv_capacity;
	struct tp_recv_wqe *recv;
	uint32_t recv_slot_bytes;
	uint32_t recv_max_sge;
	uint32_t recv_pd;        /* of the L_Keys in receive work requests */
	uint32_t pd;             /* of the R_Keys in requests */
	struct tp_srq *srq;      /* receive work requests come from there; XRC: of the latest request, may be gone */
	struct tp_saved *saved;
	uint32_t saved_room;     /* of it */
	uint32_t saved_next;
	struct tp_saved_list answers;
	struct tp_hold hold;     /* of requests */
};

/* What differs between the transport services (IBTA vol. 1, table 38): tp_type.c. */
struct tp_type {
	enum wire_service service;
	uint16_t wrs;            /* work requests that may be posted: set of 1 << enum tp_wr_opcode */
	bool acknowledged;       /* work is done when the peer has said so, not when it is sent */
	bool connected;          /* to the one peer of the address vector */
	bool xrc;                /* has one half only, and no receive queue: requests name a shared one */
	/* Sends of the work request to go on with, for at most budget packets; what of the budget was used.
	 * 0: no buffer now, or swr->err tells why it cannot be sent. NULL: there is no requester. */
	uint32_t (*send)(struct tp_qp *qp, struct tp_swr *swr, uint32_t budget);
	/* Takes a request packet whose header was checked. NULL: there is no responder. */
	void (*rx)(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *frame);
};

TAILQ_HEAD(tp_qp_list, tp_qp);

/* tp_pace.h */
struct tp_pace {
	struct qos_bucket bucket;
	uint64_t limit_bps;      /* its client's; 0: none */
	uint64_t rate_bps;       /* of the bucket */
	struct tp_shaper *channel; /* of its address vector, counted there */
	struct tp_shaper *waits; /* for that one */
	TAILQ_ENTRY(tp_qp) link;
	struct base_timer timer;
};

struct tp_shaper {
	LIST_ENTRY(tp_shaper) link;
	struct qos_bucket bucket;
	struct base_timer timer;
	struct tp_qp_list waiting; /* for it, longest first */
	uint32_t n_qps;
	bool closed;
};

LIST_HEAD(tp_shaper_list, tp_shaper);

/* In the order of use: what both halves need, the responder, the requester. Each is fetched ahead of its turn as a range. */
struct tp_qp {
	struct tp *tp;
	const struct tp_type *type;
	uint32_t qpn;
	uint32_t mtu;
	uint16_t ip_id;
	bool active, listed;
	bool comm_est;
	bool answers_first;      /* whose turn it is to send first: responder or requester */
	struct tp_ext *ext;      /* tp_ext.h; NULL: the peer has agreed to nothing */
	TAILQ_ENTRY(tp_qp) active_link;
	alignas(RTE_CACHE_LINE_SIZE) struct wire_template template; /* of packets to the peer, by attr.av and dest_qpn */
	TAILQ_ENTRY(tp_qp) rx_link;
	struct tp_qp_attr attr;
	struct tp_resp resp;

	alignas(RTE_CACHE_LINE_SIZE) struct tp_req req; /* what is rarely used last */
	struct tp_qp_init init;
	struct tp_pace pace;
	struct cc *plain_cc;     /* tp_config.plain_cc; its config is NULL before RTR */
	struct tp_flow *flow;    /* tp_flow.h, used without ext; NULL: stays on one port */
	struct tp_qp_counters counters;

	uint64_t cnp_ns;         /* of the latest congestion notification that it has sent */
	struct tp_ext *ext_memory;
	uint32_t n_windows;      /* of type 2, bound for it */
	struct tp_swr own_swr[TP_OWN_SLOTS];
	alignas(RTE_CACHE_LINE_SIZE) uint8_t own_slots[]; /* as many */
};

enum tp_role { TP_ROLE_REQUESTER, TP_ROLE_RESPONDER };

/* Payload of consecutive packets on its way to client memory: one write instead of one a packet. */
struct tp_stage {
	struct tp_qp *qp;
	enum tp_role role;
	void *as;
	uint64_t addr;
	uint32_t psn;            /* responder: of the first packet staged */
	uint32_t bytes;
	uint8_t *buf;
};

/* When a host was last sent a congestion notification; one of those whose addresses hash alike. */
struct tp_cnp_peer {
	struct wire_addr addr;
	uint64_t sent_ns;        /* 0: never */
};

/* Who has sent data here lately: tp_senders.c. */
struct tp_senders {
	uint64_t since_ns;       /* the period began */
	uint32_t period;         /* its number */
	uint32_t n_now, n_before;
};

TAILQ_HEAD(tp_ext_list, tp_ext);

struct tp {
	struct tp_config config;
	struct tp_ops ops;
	void *env;
	uint64_t now_ns;
	struct base_wheel wheel;
	struct tp_counters counters;
	struct tp_qp **qps;
	uint32_t index_mask;     /* bits of a number that are an index in the tables of queue pairs and XRC queues */
	uint32_t next_qp;
	struct tp_mr *mrs;
	uint32_t next_mr;
	struct tp_srq_list srqs;
	struct tp_shaper_list shapers;
	struct tp_srq **xrc_srqs; /* by number */
	uint32_t next_xrc_srq;
	struct tp_ah *ahs;
	uint32_t next_ah;
	struct tp_cnp_peer cnp_peers[TP_CNP_PEERS];
	uint32_t n_held;         /* packets that came before their turn */
	struct tp_senders senders;
	struct path_sched_config sched; /* of queue pairs that are given none */
	struct tp_qp_list active; /* with something to send or flush */
	struct tp_qp_list rx;     /* touched by this receive burst: answers due at its end */
	struct tp_ext_list held;  /* whose acknowledgements wait for more to tell of, by the time of the oldest */
	struct base_timer held_timer;
	struct tp_stage stage;
	uint8_t *scratch;
	struct tp_slots_pool slots[TP_SLOT_SIZES][TP_RING_SIZES];
};

static inline uint32_t tp_psn_dist(uint32_t a, uint32_t b)
{
	return (a - b) & BASE_PSN_MASK;
}

/* Packets, and so PSNs, of a message: an empty one takes one. */
static inline uint32_t tp_npkts(uint32_t bytes, uint32_t mtu)
{
	return bytes == 0 ? 1 : (uint32_t)(((uint64_t)bytes + mtu - 1) / mtu);
}

static inline uint32_t tp_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* One past the last PSN of the READ or atomic request that psn of the work request belongs to. */
static inline uint32_t tp_piece_end(const struct tp_swr *swr, uint32_t psn)
{
	uint32_t next = (tp_psn_dist(psn, swr->psn) / TP_READ_PKTS + 1) * TP_READ_PKTS;

	return base_psn_add(swr->psn, tp_min(next, swr->n_psn));
}

/* ACK or NAK of any service that has them. */
static inline bool tp_is_ack(const struct wire_pkt *pkt)
{
	return (pkt->opcode & WIRE_OPERATION_MASK) == WIRE_RC_ACK;
}

static inline bool tp_mtu_ok(uint32_t mtu)
{
	return mtu >= 256 && mtu <= TP_MAX_MTU && (mtu & (mtu - 1)) == 0;
}

/* Opcode of the queue pair's service that corresponds to an RC one. */
static inline uint8_t tp_req_opcode(const struct tp_qp *qp, uint8_t rc_opcode)
{
	return (uint8_t)((uint32_t)qp->type->service << TP_SERVICE_SHIFT | rc_opcode);
}

static inline void tp_prefetch(const void *from, size_t bytes)
{
	for (size_t i = 0; i < bytes; i += RTE_CACHE_LINE_SIZE)
		rte_prefetch0((const uint8_t *)from + i);
}

/* The halves of a queue pair, whose memory begins with a cache line. */
static inline void tp_prefetch_responder(const struct tp_qp *qp)
{
	tp_prefetch(qp, offsetof(struct tp_qp, req));
}

static inline void tp_prefetch_requester(const struct tp_qp *qp)
{
	tp_prefetch(qp, offsetof(struct tp_qp, resp));
	tp_prefetch(&qp->req, offsetof(struct tp_req, rnr_timer));
	tp_prefetch(&qp->init, offsetof(struct tp_qp, own_slots) + sizeof(struct tp_send_wqe) - offsetof(struct tp_qp, init));
}

static inline struct tp_send_wqe *tp_req_wqe(const struct tp_qp *qp, uint32_t i)
{
	return (struct tp_send_wqe *)(void *)(qp->req.slots + (size_t)(i & qp->req.mask) * qp->req.slot_bytes);
}

static inline struct tp_swr *tp_req_swr(const struct tp_qp *qp, uint32_t i)
{
	return &qp->req.swr[i & qp->req.mask];
}

/* Counts for a queue pair and for all of them. */
#define TP_COUNT(qp, field)               \
	do {                              \
		(qp)->tp->counters.field++; \
		(qp)->counters.field++;   \
	} while (0)

static inline void tp_drop(struct tp *tp, enum base_drop reason)
{
	tp->counters.drops[reason]++;
}

/* tp.c */
void tp_activate(struct tp_qp *qp);

/* tp_type.c */
/* NULL: no type that is served. */
const struct tp_type *tp_type_of(enum tp_qp_type type);

/* tp_ah.c */
/* The address vector if ah names a handle of pd; else NULL. */
const struct tp_av *tp_ah_find(const struct tp *tp, uint32_t ah, uint32_t pd);

/* tp_mr.c */
/* The entry that key names, whatever its generation. NULL: none. Inline, as the rest: each packet is checked twice. */
static inline struct tp_mr *tp_mr_entry(const struct tp *tp, uint32_t key)
{
	uint32_t i = (key >> TP_KEY_GEN_BITS) - 1;

	return i < tp->config.max_mrs && tp->mrs[i].used ? &tp->mrs[i] : NULL;
}

/* The entry that key names; NULL: none. */
static inline struct tp_mr *tp_mr_find(const struct tp *tp, uint32_t key)
{
	struct tp_mr *mr = tp_mr_entry(tp, key);

	return mr != NULL && mr->gen == (uint8_t)key ? mr : NULL;
}

static inline bool tp_mr_covers(const struct tp_mr *mr, uint32_t pd, uint32_t access, uint64_t iova, uint64_t bytes)
{
	const struct tp_mr_attr *attr = &mr->attr;

	return attr->pd == pd && (attr->access & access) == access && iova >= attr->iova && bytes <= attr->bytes &&
		iova - attr->iova <= attr->bytes - bytes;
}

/* The region if key names it in pd, allows `access` and holds [iova, iova + bytes); else NULL. */
static inline const struct tp_mr *tp_mr_check(const struct tp *tp, uint32_t key, uint32_t pd, uint32_t access,
	uint64_t iova, uint64_t bytes)
{
	const struct tp_mr *mr = tp_mr_find(tp, key);

	if (mr == NULL || mr->window != 0)
		return NULL;
	return tp_mr_covers(mr, pd, access, iova, bytes) ? mr : NULL;
}

/* The same for an R_Key that the peer of qp names: regions and windows. */
const struct tp_mr *tp_mr_check_remote(const struct tp_qp *qp, uint32_t key, uint32_t access, uint64_t iova,
	uint64_t bytes);
/* The same for one that was named before, in domain pd. */
const struct tp_mr *tp_mr_check_again(const struct tp_qp *qp, uint32_t pd, uint32_t key, uint32_t access,
	uint64_t iova, uint64_t bytes);
/* Ends remote access by key, as qp or its peer asks; -EINVAL: not theirs to end. */
int tp_mr_invalidate(struct tp_qp *qp, uint32_t key);
/* A free entry, taken, as a region without memory; NULL: the table is full. */
struct tp_mr *tp_mr_slot(struct tp *tp, uint32_t *key);

/* tp_mw.c */
void tp_mw_unbind(struct tp_mr *mw);
/* The queue pair goes, and with it the windows of type 2 that are bound for it. */
void tp_mw_unbind_all(struct tp_qp *qp);
/* Does a BIND_MW or LOCAL_INV work request. */
enum tp_wc_status tp_mw_execute(struct tp_qp *qp, const struct tp_send_wqe *wqe);

/* tp_mem.c */
/* Bytes of a checked range, in place if mapped, else copied to tp->scratch (TP_SCRATCH_BYTES at most);
 * NULL: the copy failed. */
const uint8_t *tp_mem_fetch(struct tp *tp, const struct tp_mr *mr, uint64_t iova, uint32_t bytes);
/* Bytes [off, off + bytes) of a scatter/gather list; NULL: bad key, range or copy. */
const uint8_t *tp_mem_gather(struct tp *tp, struct tp_qp *qp, const struct tp_sge *sge, uint32_t n, uint32_t off,
	uint32_t bytes);
/* Places data at iova of a checked range; staged unless mapped. */
int tp_mem_put(struct tp_qp *qp, enum tp_role role, const struct tp_mr *mr, uint64_t iova, const void *data,
	uint32_t bytes);
/* Places data at off of a scatter list; -EFAULT: bad key or range. */
int tp_mem_scatter(struct tp_qp *qp, enum tp_role role, const struct tp_sge *sge, uint32_t n, uint32_t off,
	const uint8_t *data, uint32_t bytes);
/* Writes out what is staged. On failure the owning queue pair is failed and -EFAULT returned. */
int tp_mem_flush(struct tp *tp);
/* The same before a completion of qp; -EFAULT only if it was qp's data that failed. */
int tp_mem_flush_for(struct tp_qp *qp);
/* 64-bit read-modify-write of a checked, aligned range: compare is NULL for fetch and add. */
int tp_mem_atomic(struct tp *tp, const struct tp_mr *mr, uint64_t iova, const uint64_t *compare, uint64_t swap_add,
	uint64_t *orig);
/* Stores eight bytes at a checked, aligned address in one piece, after what is staged. */
int tp_mem_store(struct tp *tp, const struct tp_mr *mr, uint64_t iova, const void *data);
/* Every non-empty entry lies in a region of pd that allows access. */
bool tp_mem_sgl_ok(const struct tp *tp, uint32_t pd, const struct tp_sge *sge, uint32_t n, uint32_t access);

/* tp_pkt.c */
/* The address vector or the peer of a connected queue pair has changed. */
void tp_pkt_prepare(struct tp_qp *qp);
/* A buffer with header fields set to the queue pair's defaults; NULL: none now. */
struct rte_mbuf *tp_pkt_begin(struct tp_qp *qp, uint8_t opcode, uint32_t psn);
/* Lays out the frame, copies the payload, makes the ICRC and emits. */
void tp_pkt_send(struct tp_qp *qp, struct rte_mbuf *m, const uint8_t *payload, uint32_t bytes);
/* The same two for a packet that goes elsewhere than to the queue pair's peer. */
struct rte_mbuf *tp_pkt_begin_to(struct tp_qp *qp, const struct tp_av *av, uint8_t opcode, uint32_t psn);
void tp_pkt_send_to(struct tp_qp *qp, const struct tp_av *av, struct rte_mbuf *m, const uint8_t *payload,
	uint32_t bytes);

/* tp_cnp.c */
/* A packet for qp was parsed and belongs to it: if it came marked, its sender may be due a notification. */
void tp_cnp_note(struct tp_qp *qp, const struct wire_pkt *pkt);
/* A notification came for qp. */
void tp_cnp_rx(struct tp_qp *qp);

/* tp_qp.c */
/* Moves to the error state: the oldest send and the receive in progress complete with the given statuses
 * (TP_WC_SUCCESS: flushed like the rest). */
void tp_qp_error(struct tp_qp *qp, enum tp_wc_status send_status, enum tp_wc_status recv_status);
/* The oldest send work request failed here: the error state, or SQE where the specification has it. */
void tp_qp_send_error(struct tp_qp *qp, enum tp_wc_status status);
/* A fault of the receiving side that an unacknowledged service tells its own client only. */
void tp_qp_recv_error(struct tp_qp *qp, enum tp_wc_status status);
void tp_qp_event(struct tp_qp *qp, enum tp_event event);
/* Drops all work without completions: RESET. */
void tp_qp_clear(struct tp_qp *qp);
/* Flushes some of what is posted in the error state, or of the sends in SQE; whether more may be. */
bool tp_qp_flush(struct tp_qp *qp);
/* Puts a completion on a queue; a full one fails the queue pair. */
void tp_qp_complete(struct tp_qp *qp, void *cq, const struct tp_cqe *cqe);
void tp_qp_complete_send(struct tp_qp *qp, const struct tp_send_wqe *wqe, uint32_t bytes, enum tp_wc_status status);
void tp_qp_complete_recv(struct tp_qp *qp, enum tp_wc_status status, const struct wire_pkt *last, uint32_t bytes);

/* tp_req.c */
void tp_req_reset(struct tp_qp *qp);
/* Sends at most budget packets; *more is set when another turn would send more. */
uint32_t tp_req_tx(struct tp_qp *qp, uint32_t budget, bool *more);
/* How SEND, WRITE, READ and atomics of a connected queue pair go out: tp_type.send. */
uint32_t tp_req_send(struct tp_qp *qp, struct tp_swr *swr, uint32_t budget);
/* Payload [off, off + bytes) of a work request; NULL: not to be had, its tp_swr.err tells so. */
const uint8_t *tp_req_payload(struct tp_qp *qp, uint32_t wr, uint32_t off, uint32_t bytes);
/* Takes the next one that is posted; false: there is none, or no room for it. */
bool tp_req_fetch(struct tp_qp *qp);
/* The RC opcode of a work request whose message is one packet; what the headers say of it, in its last packet or
 * before. */
uint8_t tp_req_whole(const struct tp_qp *qp, uint32_t wr);
void tp_req_describe(const struct tp_qp *qp, uint32_t wr, bool last, struct wire_pkt *pkt);
/* The packets of swr up to PSN psn are out. */
void tp_req_sent_to(struct tp_qp *qp, const struct tp_swr *swr, uint32_t psn);
/* Sends one packet again, that of psn of work request wr; a READ request asks for the answers up to `end`, and short
 * messages go together if `end` is behind several. What is to be sent next stays. false: no buffer now, or swr->err
 * tells why it cannot be sent. */
bool tp_req_resend(struct tp_qp *qp, uint32_t wr, uint32_t psn, uint32_t end);
/* Goes on after SQE with nothing outstanding. */
void tp_req_restart(struct tp_qp *qp);
/* Retires the oldest send work request. */
void tp_req_complete_head(struct tp_qp *qp, enum tp_wc_status status);
/* Tells of a drained send queue, once, in SQD. */
void tp_req_check_drained(struct tp_qp *qp);
bool tp_req_drained(const struct tp_qp *qp);

/* tp_comp.c */
void tp_comp_rx(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *payload);
/* The responder has all before `end`; what needs no answer is complete, up to the first that lacks one. */
void tp_comp_received(struct tp_qp *qp, uint32_t end);
/* Whether an answer has to come before this packet can be taken; what it acknowledges before that is done. */
bool tp_comp_waits(struct tp_qp *qp, const struct wire_pkt *pkt);
/* The answer that is due has not come, though later ones have. */
void tp_comp_gave_up(struct base_timer *timer, void *arg, uint64_t now_ns);

/* tp_resp.c */
void tp_resp_reset(struct tp_qp *qp);
void tp_resp_rx(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *frame);
/* Whether it takes requests still: neither it nor the connection has failed. */
bool tp_resp_takes(const struct tp_qp *qp);
/* The request that is due has not come, though later ones have. */
void tp_resp_gave_up(struct base_timer *timer, void *arg, uint64_t now_ns);
/* Client memory could not be written after the packets from psn on were taken. */
void tp_resp_write_failed(struct tp_qp *qp, uint32_t psn);
/* READ and atomic requests that may be unanswered, where the peer may have max_dest_rd_atomic: see tp_resp.c. */
uint32_t tp_resp_depth_of(uint8_t max_dest_rd_atomic);
uint32_t tp_resp_depth(const struct tp_qp *qp);
/* Room for the answers to so many. 0 or -ENOMEM. */
int tp_resp_make_room(struct tp_qp *qp, uint32_t depth);

/* tp_srq.c */
/* The XRC queue of that number; NULL: none. */
struct tp_srq *tp_srq_find(const struct tp *tp, uint32_t number);
/* As ops->srq_fetch, and watches the limit. */
int tp_srq_fetch(struct tp_srq *srq, struct tp_recv_wqe *slot, uint32_t slot_bytes);

/* tp_recv.c */
/* Takes the next receive work request unless one is in progress. 1: there is one, 0: none posted, -EINVAL: it is
 * malformed (and in progress, to be completed with an error). */
int tp_recv_take(struct tp_qp *qp);
/* Flushes one receive work request; false: there is none to flush. */
bool tp_recv_flush_one(struct tp_qp *qp);
/* Whether the receive work request names memory that may be written. */
bool tp_recv_writable(const struct tp_qp *qp);
/* Places data at off of the receive work request; -EFAULT: bad key, range or copy. */
int tp_recv_place(struct tp_qp *qp, uint32_t off, const uint8_t *data, uint32_t bytes);

/* tp_uc.c */
void tp_uc_rx(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *frame);
/* Goes on with the first packet that is kept. */
void tp_uc_gave_up(struct tp_qp *qp);

/* tp_ud.c */
uint32_t tp_ud_send(struct tp_qp *qp, struct tp_swr *swr, uint32_t budget);
void tp_ud_rx(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *frame);

/*
 * Entropy values and UDP source ports: EV i has the i-th port after the first one, 257 apart, of the 2^14 ports from
 * 0xc000 on. Up to 64 EVs have as many ports, which differ in the bits that hashes look at, and the way back is a
 * multiplication, for (1 + 2^8)(1 - 2^8) is 1 modulo 2^14. EV 0 has the port that the queue pair has without EVs.
 */
#define TP_PORT_BASE   0xc000u
#define TP_PORT_MASK   0x3fffu
#define TP_PORT_STRIDE 257u

static inline uint16_t tp_port_of(uint16_t first, uint8_t ev)
{
	return (uint16_t)(TP_PORT_BASE | ((first + ev * TP_PORT_STRIDE) & TP_PORT_MASK));
}

/* The EV of a port; not below the number of EVs: it is of none. */
static inline uint32_t tp_port_ev(uint16_t first, uint16_t port)
{
	return port < TP_PORT_BASE ? UINT32_MAX : ((port - first) * (TP_PORT_MASK + 1 - 255u)) & TP_PORT_MASK;
}

/* tp_answer.c */
/* Forgets answers and acknowledgements that wait. */
void tp_answer_clear(struct tp_qp *qp);
void tp_answer_cancel(struct tp_qp *qp, struct tp_saved *saved);
/* Queues the answer of a saved request from its a_* fields, behind those that wait. */
void tp_answer_queue(struct tp_qp *qp, struct tp_saved *saved, bool replay);
/* Emits what can be emitted at the end of a receive burst: atomic answers, ACK or NAK. */
void tp_answer_now(struct tp_qp *qp);
/* Emits at most budget answers; *more as in tp_req_tx(). */
uint32_t tp_answer_tx(struct tp_qp *qp, uint32_t budget, bool *more);

#endif
