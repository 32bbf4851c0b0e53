/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two transport endpoints back to back under a virtual clock. What one emits runs through a pipe that can
 * lose, repeat, delay and damage frames, by seed or by a script; the other gets it parsed and with the ICRC
 * checked, as from a port. Frames, completions and events are recorded for the tests to look at.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cc.h"
#include "path_sched.h"
#include "tp.h"
#include "wire_icrc.h"

/* The fuzz target makes and frees a world for each input, so it has smaller ones. */
#ifndef HX_MEM_BYTES
#define HX_MEM_BYTES  (1u << 20)
#define HX_MAX_CQE    4096
#define HX_MAX_LOG    65536
#endif
#define HX_MAX_HELD   64
#define HX_IOVA       0x7f1200000000u   /* regions start here: not where their memory is */
#define HX_PD         7
#define HX_SRQ_PD     8
#define HX_QKEY       0x11111111u
#define HX_XRCD       3
#define HX_RING       256
#define HX_SLOT_BYTES 320
#define HX_MS         1000000ull
#define HX_S          1000000000ull
#define HX_PATHS      8
#define HX_QPS        8                 /* connected pairs at most */

struct hx_world;

enum hx_fate { HX_PASS, HX_LOSE, HX_REPEAT, HX_DELAY, HX_DAMAGE, HX_MARK };
/* Decides what becomes of the n-th frame (from 0) that side `from` emits. */
typedef enum hx_fate (*hx_script)(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt);

struct hx_options {
	enum tp_qp_type type;       /* 0: RC; XRC_INI: side 1 has the targets, and both an XRC SRQ */
	uint32_t mtu;               /* 0: 1024 */
	uint32_t psn;               /* both directions start here */
	uint32_t qpn[2];            /* of the only queue pair of each side, 0: any */
	const struct wire_addr *addrs; /* of both sides, NULL: of the harness */
	uint32_t window;
	uint32_t reorder;           /* packets kept before their turn */
	uint64_t reorder_ns;        /* 0: 100 us */
	uint32_t held;              /* most packets kept by a side; 0: 1024 */
	uint8_t l3_version;         /* 0: 4 */
	bool copied;                /* regions are reached by mem_read/mem_write instead of mapped */
	bool sig_none;              /* not sq_sig_all */
	bool srq;                   /* all queue pairs of a side take receives from its shared queue */
	bool stay_in_reset;
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer;   /* 0: 8 (1 ms), 7, 7, 1; HX_ZERO for 0 */
	uint8_t rd_atomic, dest_rd_atomic;                      /* 0: 4 */
	uint32_t n_qps;             /* 0: 1 */
	uint64_t latency_ns;        /* one way; 0: 10 us */
	bool ext;                   /* both sides agree to TP_EXT_SACK */
	struct tp_merge_config merge; /* with ext; max_bytes not 0: both agree to TP_EXT_MERGE */
	bool ext_unagreed;          /* both have room for it, but do not agree */
	uint8_t n_evs;              /* 0: 64 */
	uint8_t n_planes;           /* beyond the first */
	bool move;                  /* move_on_timeout */
	bool plain;                 /* who has not agreed moves by `sched`, with up to TP_PLAIN_EVS of n_evs; also with move */
	uint32_t sack_wait_ns;      /* as in tp_config */
	enum path_sched_kind sched;
	const struct cc_config *cc; /* with ext; NULL: none */
	const struct cc_config *plain_cc; /* as in tp_config */
	uint32_t n_paths;           /* 0: one; else a hash of the UDP source port chooses one of them */
	uint64_t path_ns[HX_PATHS]; /* added to the latency; a path keeps order when a test changes it */
	struct tp_cnp_config cnp;
	bool shaped;                /* the queue pairs of side 0 share a shaper, without a limit at first */
	uint64_t seed;              /* 0: no random faults */
	uint32_t lose, repeat, delay, damage;                   /* per mille, with seed */
};
#define HX_ZERO 0xff

struct hx_qp {
	struct hx_side *side;
	struct tp_qp *qp;
	struct tp_shaper *channel;  /* of its address vector */
	uint32_t qpn;
	uint8_t (*sq)[HX_SLOT_BYTES];
	uint8_t (*rq)[HX_SLOT_BYTES];
	uint32_t sq_prod, sq_fetch, sq_retired;
	uint32_t rq_prod, rq_fetch;
	int fetch_error;            /* what the next fetch of a posted request returns instead of 1 */
	uint32_t events[8];         /* count by enum tp_event */
};

struct hx_cq {
	struct tp_cqe cqe[HX_MAX_CQE];
	uint32_t n, polled;
	uint32_t limit;
};

struct hx_srq {
	struct tp_srq *srq;
	uint8_t (*ring)[HX_SLOT_BYTES];
	uint32_t prod, fetch;
	uint32_t limit_events;
};

struct hx_side {
	struct hx_world *w;
	struct tp *tp;
	struct hx_srq srq;
	struct tp_shaper *shaper;
	struct hx_qp qps[HX_QPS];
	struct hx_cq send_cq, recv_cq;
	uint8_t *mem;
	uint32_t key;               /* of a region over mem with all rights */
	uint32_t srq_key;           /* the same for the domain of the shared receive queue */
	uint32_t ah;                /* of the other side */
	bool fail_read, fail_write;
	uint32_t mem_reads, mem_writes;
	uint32_t empty_pools;       /* so many packet allocations fail */
	uint32_t emitted;
};

struct hx_logged {
	int from;
	uint64_t at_ns;
	struct wire_pkt pkt;
};

struct hx_frame;

struct hx_world {
	struct hx_options o;
	uint64_t now_ns;
	struct hx_side side[2];
	struct hx_frame *first, *last;
	hx_script script;
	bool cut;                   /* emitted frames are only recorded */
	uint64_t rng;
	struct hx_logged *log;
	uint32_t n_log;
	uint32_t frames_out;        /* mbufs not freed */
	uint64_t bad_icrc;
	bool hold;
	struct rte_mbuf *held[HX_MAX_HELD];
	uint32_t n_held;
	struct path_sched_config sched;
	struct path_sched_config plain;
	uint64_t path_due_ns[2][HX_PATHS]; /* of the latest frame from each side */
	uint32_t cut_paths;         /* bit i: path i loses everything */
	uint32_t path_lost;         /* frames that were lost on such paths */
	uint32_t cut_planes;        /* bit i: the same of plane i */
	struct tp_av planes[2][TP_MAX_PLANES]; /* of each side, those beyond the first */
};

/* A scatter/gather entry: offset in the side's memory and length. */
struct hx_piece {
	uint32_t off, bytes;
};

struct hx_world *hx_new(const struct hx_options *o);
void hx_free(struct hx_world *w);
/* Runs both sides until nothing is left to do, or for at most ns. */
void hx_run(struct hx_world *w, uint64_t ns);
uint32_t hx_random(struct hx_world *w, uint32_t below);

/* Brings queue pair i of both sides from RESET to RTS. */
void hx_connect(struct hx_world *w, uint32_t i);
int hx_to_state(struct hx_world *w, struct hx_qp *q, enum tp_qp_state state);
void hx_attr(struct hx_world *w, int side, uint32_t i, struct tp_qp_attr *attr);

/* Work requests; wqe carries what is not about local memory. Returns wr_id. */
uint64_t hx_post(struct hx_qp *q, const struct tp_send_wqe *wqe, const struct hx_piece *pieces, uint32_t n);
uint64_t hx_post_inline(struct hx_qp *q, const struct tp_send_wqe *wqe, const void *data, uint32_t bytes);
uint64_t hx_post_raw(struct hx_qp *q, const struct tp_send_wqe *wqe, const struct tp_sge *sge, uint32_t n);
uint64_t hx_recv(struct hx_qp *q, const struct hx_piece *pieces, uint32_t n);
uint64_t hx_recv_raw(struct hx_qp *q, const struct tp_sge *sge, uint32_t n);
/* To the shared receive queue. */
uint64_t hx_srq_recv(struct hx_side *s, const struct hx_piece *pieces, uint32_t n);
uint64_t hx_srq_recv_raw(struct hx_side *s, const struct tp_sge *sge, uint32_t n);
/* A one-piece operation of side 0's queue pair 0; a datagram goes to side 1's queue pair 0. */
uint64_t hx_op(struct hx_world *w, enum tp_wr_opcode op, uint32_t flags, uint32_t off, uint32_t bytes,
	uint32_t remote_off);

/* Next completion; fails the test if there is none. */
const struct tp_cqe *hx_poll(struct hx_cq *cq);
void hx_expect(struct hx_cq *cq, uint64_t wr_id, enum tp_wc_status status);
void hx_expect_none(const struct hx_world *w);

/* Hands a crafted packet to side `to`, as if its peer had sent it. Fields of the peer are filled in; dqpn, if it is 0. */
void hx_inject(struct hx_world *w, int to, struct wire_pkt pkt, const void *payload, uint32_t bytes);
/* The same without touching pad and addresses. */
void hx_inject_raw(struct hx_world *w, int to, struct wire_pkt pkt, const struct wire_l2l3 *net, const void *payload,
	uint32_t bytes);

/* Hands over a frame as it is; it has to be a good one. */
void hx_inject_frame(struct hx_world *w, int to, const uint8_t *frame, size_t bytes);

/* While held, injected packets gather; hx_release() hands them over in one burst. */
void hx_hold(struct hx_world *w);
void hx_release(struct hx_world *w, int to);

/* Frames that a side has emitted with this opcode; the latest of all it emitted. */
uint32_t hx_count(const struct hx_world *w, int from, uint8_t opcode);
const struct wire_pkt *hx_last(const struct hx_world *w, int from);

/* The path that a UDP source port takes. */
uint32_t hx_path(const struct hx_world *w, uint16_t udp_sport);

void hx_fill(uint8_t *at, size_t bytes, uint32_t seed);
enum tp_qp_state hx_state(const struct hx_qp *q);

#endif
