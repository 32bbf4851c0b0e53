/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts on a fabric under a virtual clock: one transport endpoint (lib/transport as the daemon has it) a host, queue
 * pairs wired to each other directly. Everything follows from the configuration and its seed.
 *
 * Two ways to run. Elided: memory is not there, payload is whatever the transport's buffers hold, packets keep
 * the description that their sender made. Checked: regions are real, every frame is parsed and its ICRC checked as
 * from a port, and what a link damages has a bit flipped.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "cc.h"
#include "fabric.h"
#include "path_sched.h"
#include "tp.h"

#define SIM_BURST 32
#define SIM_IOVA  0x7f0000000000u /* regions start here */

struct sim_net;
struct sim_host;
struct sim_qp;

/* Who uses a queue pair. None of these may call back into the transport. */
struct sim_user {
	/* The next work request, as in tp_ops: 1 or 0. */
	int (*send_fetch)(struct sim_qp *qp, struct tp_send_wqe *slot);
	int (*recv_fetch)(struct sim_qp *qp, struct tp_recv_wqe *slot);
	void (*sent)(struct sim_qp *qp, const struct tp_cqe *cqe);
	void (*received)(struct sim_qp *qp, const struct tp_cqe *cqe);
};

struct sim_cq {
	struct sim_qp *qp;
	bool receives;
};

struct sim_qp {
	struct sim_host *host, *peer;
	struct tp_qp *qp;
	uint32_t qpn;
	uint32_t ah;              /* UD: of the peer */
	bool has_ah;
	const struct sim_user *user;
	void *owner;              /* the user's */
	struct sim_cq send_cq, recv_cq;
};

struct sim_host {
	struct sim_net *net;
	uint32_t id;
	struct tp *tp;
	struct wire_addr addr;
	uint32_t key;             /* of a region over all memory, with all rights */
	uint8_t *mem;             /* checked: of net's mem_bytes */
	struct rte_mbuf *rx[SIM_BURST];
	uint32_t n_rx;
	bool rx_due;              /* the packets gathered will be looked at */
	bool sending;             /* the link has packets of ours: fabric's ready() will come */
	bool retry_due;
	uint64_t timer_ns;        /* of the next look at the timers */
	uint32_t n_buffers;       /* packets made and not gone yet */
};

struct sim_config {
	struct fabric_config fabric;
	uint64_t seed;
	bool checked;
	uint8_t l3_version;       /* 4 or 6 */
	uint8_t priority;         /* of all packets but acknowledgements, */
	uint8_t ack_priority;     /* and of those that are nothing else */
	bool ecn;                 /* packets may be marked */
	uint32_t window_pkts;     /* as in tp_config */
	uint32_t max_qps, max_ahs; /* of a host */
	uint32_t max_buffers;     /* packets of one host in the fabric at most; 0: no limit */
	uint32_t max_held;        /* as in tp_config */
	uint32_t sack_wait_ns;    /* as in tp_config */
	const struct path_sched_config *plain; /* as in tp_config */
	bool move_on_timeout;     /* as in tp_config */
	uint64_t poll_ns;         /* packets gather for so long before the transport sees them */
	uint64_t mem_bytes;       /* checked: of a host */
};

struct sim_buffer;

struct sim_net {
	struct sim_config config;
	struct fabric *fabric;
	struct sim_host *hosts;
	uint32_t n_hosts;
	uint64_t now_ns;
	uint64_t random;
	struct sim_buffer *free;
	uint64_t n_buffers;       /* in use */
	uint64_t delivered, delivered_bytes;
	uint64_t digest;          /* of all deliveries in order */
	uint64_t bad_frames;      /* with a wrong ICRC or damaged beyond that */
	void *user;               /* the workload's */
};

/* 0, -EINVAL (the fabric's numbers) or -ENOMEM. */
int sim_net_create(const struct sim_config *config, struct sim_net **out);
void sim_net_destroy(struct sim_net *net);

/* Runs until nothing is left to happen, the time is until_ns, or stop() (may be NULL) says so. */
void sim_net_run(struct sim_net *net, uint64_t until_ns, bool (*stop)(void *arg), void *arg);

/* A number below `below`, from the seed. */
uint64_t sim_random(struct sim_net *net, uint64_t below);

/* The longest idle round trip of a packet with mtu bytes and its acknowledgement. */
uint64_t sim_net_base_ns(const struct sim_net *net, uint32_t mtu);

/* Sum of a counter's struct over all hosts. */
void sim_net_counters(const struct sim_net *net, struct tp_counters *sum);

/* ---- queue pairs ---- */

struct sim_qp_config {
	enum tp_qp_type type;
	uint32_t mtu;
	uint32_t sq_depth;
	uint8_t timeout, retry_cnt, rnr_retry, min_rnr_timer; /* codes as in tp_qp_attr */
	uint8_t rd_atomic;        /* READs and atomics outstanding, each way */
	bool selective;           /* RC: both ends agree to selective repeat over several paths */
	uint64_t reorder_ns;      /* as in tp_qp_init */
	const struct path_sched_config *sched; /* selective: as in tp_qp_attr, like cc */
	const struct cc_config *cc;
	struct tp_merge_config merge; /* the same; max_bytes 0: neither end merges */
};

/* Makes a queue pair on each of two hosts, connects them and fills in ends; user and owner are taken as set
 * there. 0, -ENOMEM or -EINVAL. */
int sim_qp_pair(struct sim_host *a, struct sim_host *b, const struct sim_qp_config *config, struct sim_qp ends[2]);
void sim_qp_destroy(struct sim_qp *qp);
/* Work was posted on either queue. Not from within struct sim_user's functions. */
void sim_qp_kick(struct sim_qp *qp);

#endif
