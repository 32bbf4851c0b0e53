/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A daemon's verbs half with two workers, the real transport and connection management, and clients
 * that speak the contract over its socket, all in one thread and under a virtual clock. Frames and
 * MADs loop back to the daemon. Every client is this process (or a child), so its memory is really
 * reached from outside.
 */
#ifndef WORLD_H
#define WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#include "vd.h"

#define WX_WORKERS   2
#define WX_MAX_PEND  256
#define WX_MAX_QUEUE 4096
#define WX_MS        1000000ull
#define WX_QKEY      0x1111

enum wx_resolve { WX_RESOLVE_NOW, WX_RESOLVE_LATER, WX_RESOLVE_FAIL };

struct wx_pending {
	vd_resolved_fn cb;
	void *cb_arg;
};

struct wx_mad {
	struct wire_addr src, dst;
	uint32_t device;
	uint8_t mad[VD_MAD_BYTES];
};

struct wx_worker {
	struct vd_worker *vd; /* first: see vd_worker_ops() */
	struct wx_world *world;
	struct tp *tp;
};

struct wx_world {
	char path[108];
	struct vd *vd;
	struct vd_env env;
	struct vd_config config;
	struct wx_worker worker[WX_WORKERS];
	uint64_t now_ns;
	uint32_t log_lines;
	enum wx_resolve resolve;
	struct wx_pending pending[WX_MAX_PEND];
	uint32_t n_pending;
	struct wire_addr resolved_src, resolved_dst;
	uint32_t links; /* not given back */
	uint32_t joins, leaves; /* of groups */
	int join_error;
	struct wire_addr joined, left; /* the last ones */
	uint32_t maps;        /* of clients' memory */
	int map_error;
	uint32_t *last_fault; /* of the last one made */
	struct rte_mbuf *frames[WX_MAX_QUEUE];
	uint32_t n_frames;
	bool drop_frames;
	struct tp_av last_av; /* of the last frame emitted */
	struct wx_mad mads[WX_MAX_QUEUE];
	uint32_t n_mads, drop_mads;
	void (*tamper)(uint8_t mad[VD_MAD_BYTES]); /* changes what is sent */
};

/* Starts a daemon; limits NULL: the defaults with small shared memory. */
struct wx_world *wx_new(const struct vd_limits *limits);
/* With limits of users too. */
struct wx_world *wx_new_for(const struct vd_limits *limits, const struct vd_user_limits *user_limits);
/* With several paths: all connections may agree to more than the specification. */
struct wx_world *wx_new_multipath(const struct vd_multipath *multipath);
/* Stops it and checks that nothing is left. */
void wx_free(struct wx_world *w);
/* Lets everybody do what can be done at once. */
void wx_turn(struct wx_world *w);
/* Lets everybody do what is to be done. */
void wx_pump(struct wx_world *w);
/* Lets virtual time pass. */
void wx_pass(struct wx_world *w, uint64_t ns);
/* A frame from the wire; it arrives when the world turns. */
void wx_inject_frame(struct wx_world *w, const uint8_t *frame, size_t n);
/* Ends the i-th pending resolution. */
void wx_resolved(struct wx_world *w, uint32_t i, int status);
void wx_stats(struct wx_world *w, struct vd_stats *stats);
/* All live counts are 0 and no link is held. */
void wx_expect_empty(struct wx_world *w);
/* ::ffff:239.1.1.(i). */
void wx_group4(uint8_t i, struct wire_addr *addr);
/* Address 192.0.2.(1 + i) of the device. */
void wx_addr4(uint8_t i, struct wire_addr *addr);

/* ---- a client ---- */

struct wx_client {
	struct wx_world *w;
	int sock, shm_fd, wake_fd, async_fd;
	uint32_t seq;
	struct vc_shm_header *shm;
	uint64_t shm_bytes;
	struct vc_device_attr attr;
};

void wx_connect(struct wx_world *w, struct wx_client *c);
/* As a program of another user; for root only. */
void wx_connect_as(struct wx_world *w, uid_t uid, struct wx_client *c);
void wx_hello_as(struct wx_client *c, uid_t uid);
void wx_hello(struct wx_client *c);
void wx_hello_cm(struct wx_client *c);
void wx_close(struct wx_client *c);
/* Sends what the request says, n bytes of it; waits for the reply. fds has room for 3. */
int wx_call_raw(
	struct wx_client *c, const void *request, size_t n, struct vc_reply *reply, int fds[3]);
int wx_call(struct wx_client *c, struct vc_request *request, struct vc_reply *reply);
void wx_send(struct wx_client *c, struct vc_request *request);
/* False: no reply is there. */
bool wx_recv(struct wx_client *c, struct vc_reply *reply, int fds[3]);
int wx_object(struct wx_client *c, enum vc_op op, uint32_t handle, struct vc_reply *reply);

uint32_t wx_pd(struct wx_client *c);
/* Returns the key; handle may be NULL. */
uint32_t wx_mr(struct wx_client *c, uint32_t pd, void *addr, size_t bytes, uint32_t *handle);

struct wx_cq {
	struct wx_client *c;
	uint32_t handle, depth, cons;
	struct vc_cq *ring;
	struct tp_cqe *slots;
};

struct wx_qp {
	struct wx_client *c;
	uint32_t handle, qpn, slot, sq_prod, rq_prod;
	uint32_t sq_depth, rq_depth, sq_slot_bytes, rq_slot_bytes;
	enum ibv_qp_type type;
	struct vc_queue *sq, *rq;
};

struct wx_srq {
	struct wx_client *c;
	uint32_t handle, depth, slot_bytes, prod;
	struct vc_queue *ring;
};

/* channel 0: none; *fd is its socket. */
void wx_channel(struct wx_client *c, uint32_t *handle, int *fd);
void wx_make_cq(
	struct wx_client *c, uint32_t depth, uint32_t channel, uint64_t cookie, struct wx_cq *cq);
const struct tp_cqe *wx_poll(struct wx_cq *cq);
void wx_create_qp_request(
	uint32_t pd, const struct wx_cq *cq, uint32_t wr, struct vc_request *request);
void wx_make_qp(
	struct wx_client *c, uint32_t pd, const struct wx_cq *cq, uint32_t wr, struct wx_qp *qp);
/* As the request says. */
void wx_make_qp_as(struct wx_client *c, struct vc_request *request, struct wx_qp *qp);
void wx_make_qp_of(struct wx_client *c, uint32_t pd, const struct wx_cq *cq, enum ibv_qp_type type,
	struct wx_qp *qp);
void wx_make_ah_to(struct wx_client *c, uint32_t pd, const struct wire_addr *dst, uint32_t *handle,
	uint32_t *number);
/* Towards address i of the device; number is for work requests. */
void wx_make_ah(struct wx_client *c, uint32_t pd, uint8_t i, uint32_t *handle, uint32_t *number);
void wx_attr(struct vc_qp_attr *attr, enum ibv_qp_state state, uint32_t dest_qpn);
int wx_modify(struct wx_qp *qp, const struct vc_qp_attr *attr);
/* Of wx_attr(), what the queue pair's service takes (IBTA vol. 1, table 91); UD: Q_Key WX_QKEY. */
void wx_attr_of(const struct wx_qp *qp, struct vc_qp_attr *attr, enum ibv_qp_state state,
	uint32_t dest_qpn);
/* From RESET to RTS towards a peer at address 0 of the device. */
void wx_up(struct wx_qp *qp, uint32_t dest_qpn);
void wx_post(struct wx_qp *qp, const struct tp_send_wqe *wqe, const struct tp_sge *sge,
	const void *data);
void wx_post_recv(struct wx_qp *qp, uint64_t wr_id, uint32_t num_sge, const struct tp_sge *sge);
void wx_make_srq(struct wx_client *c, uint32_t pd, uint32_t wr, uint64_t cookie, struct wx_srq *srq);
void wx_post_srq(struct wx_srq *srq, uint64_t wr_id, uint32_t num_sge, const struct tp_sge *sge);
int wx_srq_limit(struct wx_srq *srq, uint32_t limit);
void wx_ring(struct wx_qp *qp);

#endif
