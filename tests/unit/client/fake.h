/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A daemon for tests of the client libraries: one thread that speaks the contract and moves messages
 * between queue pairs of its own process, so that it can reach their memory by pointer. It serves what is
 * right and trusts its client; what the real daemon must withstand is not its business.
 */
#ifndef FAKE_H
#define FAKE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "verbs_contract.h"

#define FAKE_MAX      64
#define FAKE_DEVICE   "roced0"
#define FAKE_NETDEV   "lo"
#define FAKE_GUID     0x0200c0fffe000001ull
#define FAKE_MAX_CQE  4096
#define FAKE_MAX_SGE  4
#define FAKE_INLINE   96
#define FAKE_AH_NUMBER 7000        /* the number of address handle n is this plus n */
#define FAKE_GRH_BYTES 40

struct fake_cq {
	bool used;
	uint64_t cookie;
	struct vc_cq *ring;
	struct tp_cqe *slots;
	uint32_t depth, prod;
	int comp_fd;                       /* -1: no channel */
};

struct fake_srq {
	bool used;
	uint64_t cookie;
	struct vc_queue *queue;
	uint32_t depth, slot_bytes, cons, limit, number;
};

struct fake_qp {
	bool used, sig_all;
	uint64_t cookie;
	uint32_t type, qpn, state, dest_qpn, qkey, groups;
	struct fake_srq *srq;
	struct vc_queue *sq, *rq;
	uint32_t sq_depth, rq_depth, sq_slot, rq_slot, sq_cons, rq_cons;
	struct fake_cq *send_cq, *recv_cq;
};

struct fake_session {
	bool used, cm;
	int fd, wake_fd, async_fd;
	uint8_t *shm;
	uint64_t shm_used;
	int channels[FAKE_MAX];            /* our ends; 0: free */
	struct fake_cq cqs[FAKE_MAX];
	struct fake_qp qps[FAKE_MAX];
	struct fake_srq srqs[FAKE_MAX];
};

enum fake_cm_state { FAKE_CM_IDLE, FAKE_CM_LISTEN, FAKE_CM_REQUESTED, FAKE_CM_CONNECTED };

struct fake_cm_id {
	bool used;
	enum fake_cm_state state;
	uint64_t cookie;
	uint32_t channel, peer, listener;  /* handles */
	uint32_t ps, qpn, peer_qpn;
	int groups;                        /* joined */
	struct vc_sockaddr src, dst;
};

struct fake {
	pthread_t thread;
	pthread_mutex_t lock;
	char dir[64], path[96];
	int listen_fd, stop_fd;
	struct fake_session sessions[FAKE_MAX];
	struct fake_cm_id ids[FAKE_MAX];
	uint32_t pds, mrs, ahs, mws, xrcds; /* live objects */
	uint32_t srqn;                     /* of the last XRC request, which goes nowhere */
	int32_t xrcd_fd;                   /* of the last domain opened */
	struct vc_av av;                   /* of the last address handle */
	struct vc_request rereg;           /* the last change of a region */
	struct tp_send_wqe key_work;       /* the last request that worked on keys */
	uint32_t mem_fd;                   /* offered with the last region, as its request says */
	uint64_t mem_offset;
	uint32_t wakeups;                  /* times a client wrote the eventfd */
};

/* enum ibv_device_cap_flags of the daemons to come. */
extern uint32_t fake_cap_flags;

/* Starts the daemon and points ROCED_SOCKET to it. */
struct fake *fake_start(void);
/* The daemon dies: all its descriptors are closed. */
void fake_stop(struct fake *f);
/* Sends an asynchronous event of a queue pair. */
void fake_raise(struct fake *f, uint32_t qpn, uint32_t type);
/* Groups that queue pairs are attached to. */
uint32_t fake_attached(struct fake *f);
/* Completions delivered so far, to the queues there are. */
uint32_t fake_completions(struct fake *f);
/* Live objects of all kinds. */
uint32_t fake_objects(struct fake *f);

/* ---- between its files ---- */
struct fake_answer {
	struct vc_reply reply;
	int fds[4];
};

/* A pair of connected sockets: returns ours, *theirs goes to the client. */
int fake_pair(int *theirs);
void fake_cm_serve(struct fake *f, struct fake_session *s, const struct vc_request *q, struct fake_answer *a);

#endif
