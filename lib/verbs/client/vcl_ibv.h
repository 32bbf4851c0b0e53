/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of the drop-in libibverbs behind the public structs of <infiniband/verbs.h>. */
#ifndef VCL_IBV_H
#define VCL_IBV_H

#include <assert.h>
#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stddef.h>
#include <unistd.h>

#include "vcl_conn.h"
#include "vcl_table.h"

/* The header wraps these names in macros for callers; here they are the exported functions. */
#undef ibv_get_device_list
#undef ibv_query_port
#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define VCL_PORT 1
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/* What the public header promises to programs already compiled. Newer ones put operations in front of
 * verbs_context, so places in it count from its end, and members behind ibv_qp_ex and ibv_port_attr. */
static_assert(sizeof(struct ibv_device) == 664, "ABI");
static_assert(sizeof(struct ibv_context) == 328, "ABI");
static_assert(offsetof(struct verbs_context, context) - offsetof(struct verbs_context, query_port) == 320, "ABI");
static_assert(sizeof(struct verbs_context) - offsetof(struct verbs_context, context) == 328, "ABI");
static_assert(sizeof(struct ibv_cq) == 128 && sizeof(struct ibv_cq_ex) == 288, "ABI");
static_assert(sizeof(struct ibv_srq) == 128 && sizeof(struct ibv_ah) == 24, "ABI");
static_assert(sizeof(struct ibv_qp) == 160 && offsetof(struct ibv_qp_ex, wr_atomic_write) == 344, "ABI");
static_assert(offsetof(struct ibv_port_attr, port_cap_flags2) == 48, "ABI");

struct vcl_device {
	struct ibv_device ibv;
	uint8_t tail[1024];                /* zero: providers linked to programs look here for their driver */
	struct vc_device_attr attr;        /* as of the last listing */
	int index;
};

/* The verbs context of one connection. */
struct vcl_context {
	struct vcl_conn conn;
	struct vc_device_attr attr;
	struct vc_shm_header *shm;
	uint64_t shm_bytes;
	int wakeup_fd;
	pid_t pid;                         /* of the process that opened it */
	pthread_t watcher;                 /* sees the daemon die while everybody polls shared memory */
	pthread_mutex_t lock;              /* cookies, event counts, fatal_reported */
	struct vcl_table cookies;          /* QPs, CQs and SRQs */
	bool fatal_reported;
	struct verbs_context v;            /* its tail is what programs hold */
};

struct vcl_channel {
	struct ibv_comp_channel ibv;
	uint32_t handle;
};

struct vcl_cq {
	union {
		struct ibv_cq ibv;
		struct ibv_cq_ex ex;
	};
	pthread_spinlock_t lock;           /* consumer side of the ring */
	struct vc_cq *ring;
	struct tp_cqe *slots;
	uint32_t depth;
	uint32_t cons;
	const struct tp_cqe *polled;       /* lazy polling: what the read calls tell of */
	uint64_t cookie;
	uint32_t comp_events;              /* given to the program; vcl_context.lock */
	uint32_t async_events;
};

struct vcl_ring {
	pthread_spinlock_t lock;           /* producer side of the ring */
	struct vc_queue *queue;
	uint8_t *slots;
	uint32_t depth, slot_bytes, max_sge;
	uint32_t prod;
};

struct vcl_srq {
	struct ibv_srq ibv;
	struct vcl_ring ring;
	uint64_t cookie;
	uint32_t async_events;
	uint32_t number;                   /* XRC; else 0 */
};

struct vcl_xrcd {
	struct ibv_xrcd ibv;
	uint32_t handle;
};

struct vcl_td {
	struct ibv_td ibv;
	uint32_t parents;                  /* parent domains with it; vcl_context.lock */
};

/* A protection domain, or a parent domain: another name of one. */
struct vcl_pd {
	struct ibv_pd ibv;
	struct vcl_pd *of;                 /* parent domain: the protection domain, NULL: this is one */
	struct vcl_td *td;                 /* of a parent domain, or NULL */
	uint32_t parents;                  /* parent domains of it; vcl_context.lock */
};

struct vcl_mr {
	struct ibv_mr ibv;
	unsigned int access;               /* without what a device may ignore */
};

struct vcl_ah {
	struct ibv_ah ibv;
	uint32_t number;                   /* in work requests */
};

struct vcl_qp {
	union {
		struct ibv_qp ibv;
		struct ibv_qp_ex ex;
	};
	struct vcl_ring sq, rq;            /* with an SRQ there is no rq: depth 0; XRC ones have one or neither */
	uint64_t *doorbell;                /* word of the shared bits */
	uint64_t doorbell_bit;
	uint32_t max_inline_bytes;
	uint64_t cookie;
	uint32_t async_events;
	struct ibv_qp_cap cap;
	int sq_sig_all;
	/* ibv_wr_*: between wr_start and its end the caller holds sq.lock. */
	bool has_wr_calls;
	uint32_t wr_first;                 /* producer index at the start */
	int wr_err;                        /* the first error since the start */
	struct tp_send_wqe *wr_wqe;        /* being written */
};

static inline struct vcl_context *vcl_context(struct ibv_context *ctx)
{
	return container_of(ctx, struct vcl_context, v.context);
}

static inline struct vcl_qp *vcl_qp(struct ibv_qp *qp)
{
	return container_of(qp, struct vcl_qp, ibv);
}

static inline struct vcl_cq *vcl_cq(struct ibv_cq *cq)
{
	return container_of(cq, struct vcl_cq, ibv);
}

static inline struct vcl_srq *vcl_srq(struct ibv_srq *srq)
{
	return container_of(srq, struct vcl_srq, ibv);
}

static inline struct vcl_xrcd *vcl_xrcd(struct ibv_xrcd *xrcd)
{
	return container_of(xrcd, struct vcl_xrcd, ibv);
}

static inline const struct vcl_ah *vcl_ah(const struct ibv_ah *ah)
{
	return (const struct vcl_ah *)(const void *)ah;
}

static inline bool vcl_alive(struct ibv_context *ctx)
{
	return vcl_conn_alive(&vcl_context(ctx)->conn);
}

/* True in a child of the process that opened the device: the shared memory is not there to look at. */
static inline bool vcl_forked(struct ibv_context *ctx)
{
	return !vcl_alive(ctx) && getpid() != vcl_context(ctx)->pid;
}

/* Functions of old verbs return errno itself, those that return pointers set it. */
static inline int vcl_errno(int negative)
{
	if (negative != 0)
		errno = -negative;
	return -negative;
}

/* Where an object of `bytes` lies in shared memory, NULL when a reply names a place outside. */
void *vcl_shm_at(struct vcl_context *ctx, uint64_t offset, uint64_t bytes);

/* Maps a queue that a reply describes. 0, or -EPROTO: no such queue can be. */
int vcl_place_ring(struct vcl_context *ctx, struct vcl_ring *ring, uint64_t offset, uint32_t depth,
	uint32_t slot_bytes, uint32_t least_slot_bytes);
/* The same of one that has its lock already. */
int vcl_map_ring(struct vcl_context *ctx, struct vcl_ring *ring, uint64_t offset, uint32_t depth, uint32_t slot_bytes,
	uint32_t least_slot_bytes);
/* Cookies of objects for events; 0: no memory. */
uint64_t vcl_add_cookie(struct vcl_context *ctx, void *object);
void vcl_remove_cookie(struct vcl_context *ctx, uint64_t cookie);

/* Operations that programs reach through the context. */
int vcl_query_device_ex(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input,
	struct ibv_device_attr_ex *attr, size_t attr_bytes);
int vcl_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr, size_t attr_bytes);
int vcl_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int vcl_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int vcl_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad_wr);
int vcl_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
struct ibv_mw *vcl_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int vcl_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int vcl_dealloc_mw(struct ibv_mw *mw);
int vcl_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad_wr);
struct ibv_srq *vcl_create_srq_ex(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *attr);
struct ibv_cq_ex *vcl_create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *attr);
struct ibv_qp *vcl_create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *attr);
struct ibv_td *vcl_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *attr);
int vcl_dealloc_td(struct ibv_td *td);
struct ibv_pd *vcl_alloc_parent_domain(struct ibv_context *context, struct ibv_parent_domain_init_attr *attr);
int vcl_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *sge, uint32_t n);
struct ibv_qp *vcl_open_qp(struct ibv_context *ctx, struct ibv_qp_open_attr *attr);
struct ibv_xrcd *vcl_open_xrcd(struct ibv_context *ctx, struct ibv_xrcd_init_attr *attr);
int vcl_close_xrcd(struct ibv_xrcd *xrcd);
int vcl_get_srq_num(struct ibv_srq *srq, uint32_t *number);

/* Destroys a daemon's object; 0 too if the daemon is gone, and its objects with it. */
int vcl_destroy(struct ibv_context *context, enum vc_op op, uint32_t handle);
/* All GIDs of the port. 0 or a negative errno. */
int vcl_query_gids(struct ibv_context *ctx, struct vc_reply *reply);
void vcl_av_from_attr(struct vc_av *av, const struct ibv_ah_attr *attr);
void vcl_av_to_attr(struct ibv_ah_attr *attr, const struct vc_av *av);
/* Makes poll_cq pass over completions of a QP that is gone. */
void vcl_cq_purge(struct ibv_cq *cq, uint32_t qpn);
/* Waits until a program has acknowledged n events of an object (ibv_destroy_*). */
void vcl_wait_acks(pthread_mutex_t *mutex, pthread_cond_t *cond, const uint32_t *completed, uint32_t n);

#endif
