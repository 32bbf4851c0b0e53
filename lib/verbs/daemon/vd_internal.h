/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Structures shared by the files of the daemon's verbs half. Each field is the main thread's unless
 * its comment says worker: then only the session's worker touches it, the main thread through
 * vd_call().
 */
#ifndef VD_INTERNAL_H
#define VD_INTERNAL_H

#define VD_MBPS ((uint64_t)1000000) /* bits a second */

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/queue.h>

#include <infiniband/verbs.h>

#include "vd.h"
#include "wire_addr.h"

#define VD_DEFERRED  1 /* an operation's answer comes later, by vd_answer_send() */
#define VD_REPLY_FDS 3
#define VD_GRH_HOPS  64
#define VD_PSN_MASK  0xffffffu
#define VD_MEMBER_BUCKETS 64

struct vd_cm_state;
struct vd_group;
struct vd_member;
struct vd_target;
LIST_HEAD(vd_xrcds, vd_xrcd);
TAILQ_HEAD(vd_groups, vd_group);
TAILQ_HEAD(vd_qp_members, vd_member);
LIST_HEAD(vd_members, vd_member);

/* ---- vd_user.c: what is counted and limited, for each session and for each user ---- */

enum vd_resource {
	VD_RES_SESSIONS,
	VD_RES_PDS,
	VD_RES_MRS,
	VD_RES_MWS,
	VD_RES_CQS,
	VD_RES_SRQS,
	VD_RES_QPS,
	VD_RES_AHS,
	VD_RES_GROUPS,
	VD_RES_CHANNELS,
	VD_RES_CM_IDS,
	VD_RES_LISTENERS,
	VD_RES_REGISTERED_BYTES,
	VD_RES_RING_BYTES,
	VD_RES_COUNT
};

struct vd_session;

struct vd_user {
	LIST_ENTRY(vd_user) link;
	uid_t uid;
	uint32_t n_sessions;
	uint64_t used[VD_RES_COUNT];
	uint64_t logged_ns[VD_RES_COUNT]; /* when each limit was last in the log; 0: never */
	uint64_t last_logged_ns;          /* the latest of them */
	uint64_t refused_until_ns;
};
LIST_HEAD(vd_users, vd_user);

/* A session of its uid begins. -EAGAIN: too many, -EACCES: the user is refused for now, -ENOMEM. */
int vd_user_enter(struct vd_session *session);
/* It ends, with all that is still charged to it. */
void vd_user_leave(struct vd_session *session);
void vd_users_free(struct vd *vd);
/* -ENOMEM: more than the client or its user may have; that is logged and counted. */
int vd_charge(struct vd_session *session, enum vd_resource res, uint64_t n);
void vd_discharge(struct vd_session *session, enum vd_resource res, uint64_t n);
/* The most a client could have. */
uint64_t vd_limit(const struct vd *vd, enum vd_resource res);
/* Puts defaults in the place of zeros. */
void vd_fill_limits(struct vd_limits *limits);
/* vd->limits stand. */
void vd_set_user_limits(struct vd *vd, const struct vd_user_limits *limits);

/* ---- vd_table.c: handles. Index in the low half, generation in the high half: a stale one is
 * refused. */

struct vd_table {
	struct vd_session *session;
	enum vd_resource res; /* what each object is charged as */
	void **objs;
	uint16_t *gens;
	uint32_t cap, limit, live, next;
};

void vd_table_init(struct vd_table *table, struct vd_session *session, enum vd_resource res);
/* Objects that are left stay charged: they go with the session. */
void vd_table_fini(struct vd_table *table);
/* -ENOMEM: full, or at a limit. */
int vd_table_add(struct vd_table *table, void *obj, uint32_t *handle);
void *vd_table_get(const struct vd_table *table, uint32_t handle);
void vd_table_del(struct vd_table *table, uint32_t handle);
/* The first object at or behind *i, NULL at the end; *i becomes the place behind it. */
void *vd_table_next(const struct vd_table *table, uint32_t *i);

static inline uint32_t vd_handle_index(uint32_t handle)
{
	return (handle & 0xffff) - 1;
}

/* ---- vd_shm.c: a context's shared memory ---- */

struct vd_extent {
	TAILQ_ENTRY(vd_extent) link;
	uint64_t offset, bytes;
};
TAILQ_HEAD(vd_extents, vd_extent);

struct vd_shm {
	uint8_t *base;
	uint64_t bytes;
	uint64_t used_bytes;
	struct vd_extents used; /* by offset; private, so no client can touch it */
};

/* Makes the memory; *fd is for the client (the daemon may close it). */
int vd_shm_create(struct vd_shm *shm, uint64_t bytes, int *fd);
void vd_shm_destroy(struct vd_shm *shm);
/* Zeroed whole pages; -ENOMEM. */
int vd_shm_alloc(struct vd_shm *shm, uint64_t bytes, uint64_t *offset);
/* Returns how many bytes became free. */
uint64_t vd_shm_free(struct vd_shm *shm, uint64_t offset);

static inline struct vc_shm_header *vd_shm_header(const struct vd_shm *shm)
{
	return (struct vc_shm_header *)(void *)shm->base;
}

/* ---- vd_file.c: files that clients name by number ---- */

struct vd;
struct vd_session;

struct vd_file {
	unsigned int flags; /* of open(), O_PATH among them */
	int mount;
	uint64_t ino;
};

/* Of a descriptor of ours. */
int vd_file_own(int fd, struct vd_file *file);
/* As the client has the file open that fd is a path descriptor of; -EBADF: its number is of another file now. */
int vd_file_check(const struct vd_session *session, uint32_t number, int fd, struct vd_file *file);

/* ---- vd_map.c: clients' memory, mapped ---- */

/* How memfds are told from all other files: by the mounts that only they are on. -1: there is none. */
struct vd_memfds {
	int mount, huge_mount;
};

struct vd_map;

void vd_memfds_init(struct vd_memfds *memfds);
/* Maps `bytes` at offset of the client's memfd `number`; *at is where offset lies. Negative errno: it cannot be. */
int vd_map_make(struct vd_session *session, uint32_t number, uint64_t offset, uint64_t bytes,
	struct vd_map **map, uint8_t **at);
/* The transport does not use it any more. NULL is fine. */
void vd_map_free(struct vd_session *session, struct vd_map *map);

/* ---- objects ---- */

struct vd_watch { /* a descriptor in the main thread's epoll */
	int fd;
	void (*ready)(struct vd_watch *watch, uint32_t events);
	void *arg;
};

/* Messages for a client's socket that may be full: sent at once or remembered. Worker. */
struct vd_note {
	TAILQ_ENTRY(vd_note) link;
	struct vd_session *session;
	uint64_t cookie;
	int comp_fd;         /* -1: no channel */
	uint32_t comp_count; /* notifications to come */
	uint32_t async_mask; /* bit = enum ibv_event_type */
	bool queued;
};
TAILQ_HEAD(vd_notes, vd_note);

struct vd_pd {
	uint32_t handle, number; /* number: what the transport compares, unique at the worker */
	uint32_t refs;
};

/* A client's memory, mapped. */
struct vd_map {
	uint8_t *base;
	uint64_t bytes;
	uint32_t fault; /* 1: the memory was taken away; see vd_env.map_watch */
};

struct vd_mr {
	uint32_t handle, key;
	uint64_t bytes;
	struct vd_pd *pd;
	bool on_demand; /* need not be mapped before it is used */
	struct vd_map *map; /* NULL: reached by system call */
};

struct vd_mw {
	uint32_t handle;
	uint32_t rkey; /* the first one: its upper 24 bits name the window at the transport */
	struct vd_pd *pd;
};

struct vd_comp_channel {
	uint32_t handle, refs;
	int fd;
};

struct vd_cq {
	uint32_t handle, refs;
	struct vd_session *session;
	struct vd_comp_channel *channel;
	uint64_t offset;
	/* worker: */
	struct vc_cq *ring;
	struct tp_cqe *slots;
	uint32_t depth, prod;
	bool broken;
	struct vd_note note;
};

/* A queue of work requests. Worker. */
struct vd_ring {
	struct vc_queue *queue;
	const uint8_t *slots;
	uint32_t depth, slot_bytes;
	uint32_t fetched, cons; /* copied; free again */
};

/* ---- vd_xrc.c: XRC domains and what contexts share in them ---- */

struct vd_xrcd {
	LIST_ENTRY(vd_xrcd) link;
	uint32_t number;          /* what the transport compares, unique in the daemon; not 0 */
	uint32_t refs;            /* contexts that have it open */
	uint32_t device, worker;
	int fd;                   /* keeps the file, so that no other gets its number; -1: private */
	uint64_t dev, ino;
	LIST_HEAD(, vd_target) targets;
};

/* One context's handle of a domain. */
struct vd_xrcd_open {
	uint32_t handle, refs;
	struct vd_xrcd *xrcd;
};

struct vd_srq {
	uint32_t handle, refs;
	struct vd_session *session;
	struct vd_pd *pd;
	struct vd_xrcd_open *xrcd; /* XRC: and its CQ; else NULL */
	struct vd_cq *cq;
	uint32_t number;
	uint64_t offset;
	uint32_t max_sge;
	/* worker: */
	struct tp_srq *tp_srq;
	struct vd_ring ring;
	bool broken;
	struct vd_note note;
};

struct vd_qp {
	uint32_t handle, qpn, slot;
	struct vd_session *session;
	struct vd_pd *pd;
	struct vd_cq *send_cq, *recv_cq;
	struct vd_srq *srq; /* NULL: has a receive queue of its own; else none, and rq is unused */
	struct vd_xrcd_open *xrcd; /* XRC target: the domain, */
	struct vd_target *target;  /* and what this is a handle of */
	uint64_t sq_offset, rq_offset;
	uint32_t max_send_sge, max_recv_sge, max_inline_bytes;
	uint32_t max_send_wr, max_recv_wr;
	enum tp_qp_type type;
	bool may_ext, ext_on; /* can do more than the specification; does */
	uint32_t dest_qpn;
	struct vc_av av;
	void *link; /* of the address vector in use */
	void *plane_links[TP_MAX_PLANES - 1]; /* and of its planes */
	struct vd_qp_members members;
	/* worker: */
	struct tp_qp *tp_qp;
	struct vd_ring sq, rq;
	bool broken, listed;
	TAILQ_ENTRY(vd_qp) broken_link;
	TAILQ_ENTRY(vd_qp) target_link;
	struct vd_note note;
};
TAILQ_HEAD(vd_qps, vd_qp);

/* An XRC target queue pair lives as long as one of its handles, whoever made it. */
struct vd_target {
	struct vd_qp real; /* without session, queues and note; its address is the transport's cookie */
	LIST_ENTRY(vd_target) link;
	uint32_t refs;
	struct vd_qps handles; /* worker */
};

/* What has the state at the transport and the address vector. */
static inline struct vd_qp *vd_qp_real(struct vd_qp *qp)
{
	return qp->target != NULL ? &qp->target->real : qp;
}

struct vd_ah {
	uint32_t handle;
	uint32_t number; /* at the worker's transport; 0: not made yet */
	struct vd_pd *pd;
	void *link;
};

/* A reply being made, with descriptors that go along. */
struct vd_answer {
	struct vc_reply reply;
	int fds[VD_REPLY_FDS];
	bool close_fd[VD_REPLY_FDS]; /* ours no more once sent */
};

/* A resolution on its way; outlives its session, whose death sets session to NULL. */
struct vd_resolving {
	TAILQ_ENTRY(vd_resolving) link;
	struct vd *vd;
	struct vd_session *session;
	/* Not called when the session died. Owns link (may be NULL). */
	void (*done)(struct vd_resolving *resolving, int status, void *link);
	void *obj;
	struct vc_request request;
};
TAILQ_HEAD(vd_resolvings, vd_resolving);

enum vd_kind { VD_KIND_NEW, VD_KIND_VERBS, VD_KIND_CM };

struct vd_session {
	TAILQ_ENTRY(vd_session) link;
	struct vd *vd;
	enum vd_kind kind;
	uint32_t slot; /* own number below max_sessions */
	bool busy;     /* an answer is deferred: no more requests are read */
	bool serving, doomed;
	struct vd_watch sock, process;
	pid_t pid;
	uid_t uid;
	struct vd_user *user;
	uint64_t used[VD_RES_COUNT];
	int mem_fd, wake_fd, async_fd;
	uint32_t worker, device;
	struct vd_shm shm;
	uint32_t n_maps;
	uint64_t mapped_bytes;
	bool took_long; /* the last request: others have their turn before the next one */
	struct vd_table pds, mrs, mws, comp_channels, cqs, srqs, qps, ahs, xrcds, cm_channels, cm_ids;
	/* worker: */
	TAILQ_ENTRY(vd_session) worker_link;
	struct vd_qp *bell[VC_MAX_QPS]; /* by doorbell bit */
	struct tp_shaper *shaper;       /* of its queue pairs, if there is a limit and one of them was made */
	uint32_t bell_words;            /* words of doorbell[] that may have a QP */
};
TAILQ_HEAD(vd_sessions, vd_session);

/* See struct vd_access. Written by the thread whose access it is. */
struct vd_reach {
	_Atomic uint64_t seq; /* odd: in an access */
	_Atomic pid_t pid;
	_Atomic uid_t uid;
};

static inline void vd_reach_begin(struct vd_reach *reach, const struct vd_session *session)
{
	atomic_store_explicit(&reach->pid, session->pid, memory_order_relaxed);
	atomic_store_explicit(&reach->uid, session->uid, memory_order_relaxed);
	atomic_store_explicit(&reach->seq, atomic_load_explicit(&reach->seq, memory_order_relaxed) + 1,
		memory_order_release);
}

static inline void vd_reach_end(struct vd_reach *reach)
{
	atomic_store_explicit(&reach->seq, atomic_load_explicit(&reach->seq, memory_order_relaxed) + 1,
		memory_order_release);
}

struct vd_worker_counters { /* written by the worker, read by the main thread */
	_Atomic uint64_t bad_wqes, bad_indices, cq_overflows, copy_faults, events_lost;
};

struct vd_worker {
	struct vd *vd;
	uint32_t index;
	int epoll_fd;
	bool sleeping;
	uint32_t n_sessions; /* main */
	uint32_t retry_tick;
	bool retry_now;
	struct vd_sessions sessions;
	struct vd_notes notes;
	struct vd_qps broken;
	struct vd_members members[VD_MEMBER_BUCKETS]; /* by group */
	struct vd_worker_counters counters;
	struct vd_reach reach;
};

struct vd {
	struct vd_env env;
	void *env_arg;
	struct vd_limits limits;
	uint64_t client_limit[VD_RES_COUNT], user_limit[VD_RES_COUNT];
	struct vd_users users;
	char socket_path[108];
	bool socket_made;
	uint32_t n_workers, n_devices, next_worker;
	struct vd_device devices[VD_MAX_DEVICES];
	bool port_up[VD_MAX_DEVICES];
	struct vd_worker *workers;
	int epoll_fd, spare_fd;
	struct vd_watch listener;
	struct vd_sessions sessions;
	uint8_t *slots_used; /* max_sessions */
	uint32_t n_maps;
	struct vd_memfds memfds;
	struct vd_reach reach;
	struct vd_resolvings resolvings;
	struct vd_groups groups;
	struct vd_xrcds xrcds;
	uint32_t last_xrcd; /* number */
	uint32_t last_pd;   /* number */
	uint64_t random;
	uint64_t log_since_ns;
	uint32_t log_lines;
	const struct vd_multipath *multipath;
	struct vd_multipath first_multipath; /* until vd_set_multipath() */
	struct vd_stats stats; /* without the workers' counters */
	struct vd_cm_state *cm;
};

/* ---- vd.c ---- */
int vd_watch_add(struct vd *vd, struct vd_watch *watch, uint32_t events);
void vd_watch_mod(struct vd *vd, struct vd_watch *watch, uint32_t events);
/* Also closes the descriptor. */
void vd_watch_del(struct vd *vd, struct vd_watch *watch);
uint64_t vd_random(struct vd *vd);
/* So many lines in ten seconds, whoever causes them. */
void vd_logf(struct vd *vd, int level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* For what is rare by itself. */
void vd_logf_rare(struct vd *vd, int level, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static inline void vd_call(struct vd_session *session, void (*fn)(void *arg), void *arg)
{
	session->vd->env.worker_call(session->vd->env_arg, session->worker, fn, arg);
}

/* The transport of the session's worker; inside vd_call() only. */
static inline struct tp *vd_tp(struct vd_session *session)
{
	return session->vd->env.tp(session->vd->env_arg, session->worker);
}

/* NULL is fine. */
static inline void vd_release_link(struct vd *vd, void *link)
{
	if (link != NULL)
		vd->env.release_link(vd->env_arg, link);
}

/* ---- vd_session.c ---- */
void vd_session_accept(struct vd_watch *watch, uint32_t events);
void vd_session_kill(struct vd_session *session);
/* Sends the deferred answer and lets the session go on; may end it. */
void vd_answer_later(struct vd_session *session, const struct vc_request *request, int status,
	struct vd_answer *answer);
/* Socket pair of notifications: one end for us, the other goes along with the reply. */
int vd_notify_pair(int *ours, int *theirs);
/* 0: the process is there and its own, not a set-uid program's by now. -ESRCH, -EACCES. */
int vd_session_check_process(const struct vd_session *session);
/* Adds a descriptor to the reply. */
void vd_answer_fd(struct vd_answer *answer, int fd, bool close_fd);

/* Starts a resolution; done is called before or after this returns. 0, or a negative errno: not
 * called. */
int vd_resolve(struct vd_session *session, uint32_t device, const struct wire_addr *src,
	const struct wire_addr *dst,
	void (*done)(struct vd_resolving *resolving, int status, void *link), void *obj,
	const struct vc_request *request);
/* The callback for obj will not come. */
void vd_resolve_cancel(struct vd *vd, const void *obj);

/* ---- operations: 0, negative errno or VD_DEFERRED ---- */
typedef int vd_op_fn(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer);

vd_op_fn vd_op_list_devices, vd_op_query_device, vd_op_query_gids;
vd_op_fn vd_op_alloc_pd, vd_op_dealloc_pd, vd_op_reg_mr, vd_op_dereg_mr;
vd_op_fn vd_op_rereg_mr, vd_op_alloc_mw, vd_op_dealloc_mw;
vd_op_fn vd_op_create_comp_channel, vd_op_destroy_comp_channel, vd_op_create_cq, vd_op_resize_cq,
	vd_op_destroy_cq;
vd_op_fn vd_op_create_qp, vd_op_modify_qp, vd_op_query_qp, vd_op_destroy_qp;
vd_op_fn vd_op_create_srq, vd_op_modify_srq, vd_op_query_srq, vd_op_destroy_srq;
vd_op_fn vd_op_open_xrcd, vd_op_close_xrcd, vd_op_open_qp;
vd_op_fn vd_op_create_ah, vd_op_destroy_ah;
vd_op_fn vd_op_attach_mcast, vd_op_detach_mcast;
vd_op_fn vd_op_cm_create_channel, vd_op_cm_destroy_channel, vd_op_cm_create_id, vd_op_cm_destroy_id;
vd_op_fn vd_op_cm_bind, vd_op_cm_listen, vd_op_cm_resolve_addr, vd_op_cm_resolve_route,
	vd_op_cm_connect;
vd_op_fn vd_op_cm_accept, vd_op_cm_reject, vd_op_cm_establish, vd_op_cm_disconnect,
	vd_op_cm_migrate;
vd_op_fn vd_op_cm_init_qp_attr, vd_op_cm_query_id;
vd_op_fn vd_op_cm_join_mcast, vd_op_cm_leave_mcast;

/* ---- vd_device.c ---- */
/* By name; an empty name is the first. -ENODEV. */
int vd_device_find(const struct vd *vd, const char *name, uint32_t *device);
void vd_device_attr(const struct vd *vd, uint32_t device, struct vc_device_attr *attr);
bool vd_addr_is_zero(const struct wire_addr *addr);
bool vd_addr_equal(const struct wire_addr *a, const struct wire_addr *b);

/* ---- vd_ah.c: address vectors ---- */
/* Checks a client's address vector against the device; src and dst for the resolution. */
int vd_av_check(const struct vd_device *device, const struct vc_av *av, struct wire_addr *src,
	struct wire_addr *dst);
/* The transport's address vector of a checked one. */
void vd_av_build(const struct vd_device *device, const struct vc_av *av, uint32_t local_qpn,
	uint32_t remote_qpn, void *link, struct tp_av *out);

/* ---- vd_qp.c, vd_worker.c: in the worker's thread ---- */
void vd_worker_attach(struct vd_worker *worker, struct vd_session *session);
void vd_worker_detach(struct vd_worker *worker, struct vd_session *session);
void vd_worker_forget_cq(struct vd_worker *worker, struct vd_cq *cq);
void vd_worker_forget_srq(struct vd_worker *worker, struct vd_srq *srq);
void vd_worker_forget_qp(struct vd_worker *worker, struct vd_qp *qp);
void vd_worker_reset_qp(struct vd_qp *qp);
/* A handle of an XRC target goes, and the target with its last one. */
void vd_worker_leave_target(struct vd_worker *worker, struct tp *tp, struct vd_qp *handle);

/* ---- all of a session's objects, when it dies ---- */
void vd_objects_free(struct vd_session *session);
void vd_cm_session_free(struct vd_session *session);

/* ---- vd_xrc.c ---- */
/* VC_CREATE_QP of an XRC target, and the end of a handle that the worker has left. */
int vd_target_create(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer);
void vd_target_put(struct vd_session *session, struct vd_qp *handle);
/* The context does not have the domain open any more. */
void vd_xrcd_put(struct vd *vd, struct vd_xrcd *xrcd);

/* ---- vd_qp.c ---- */
/* Slots for that many work requests. */
uint32_t vd_ring_depth(uint32_t n);
/* Shared memory for a queue, charged to the session. */
int vd_ring_alloc(struct vd_session *session, uint64_t bytes, uint64_t *offset);
void vd_ring_free(struct vd_session *session, uint64_t offset);
void vd_ring_place(struct vd_ring *ring, const struct vd_shm *shm, uint64_t offset);

/* Finds the queue pair of that number, if it is one of the session's user; NULL and 0: there is none. -EPERM: it is
 * somebody else's. */
int vd_qp_by_number(const struct vd_session *session, uint32_t qpn, struct vd_qp **qp);

/* ---- vd_reload.c ---- */
/* False: the place of a device that is gone. */
bool vd_device_there(const struct vd *vd, uint32_t device);

/* ---- vd_multipath.c ---- */
struct vd_agreement {
	uint32_t ext;             /* set of enum tp_ext_flag */
	uint32_t n_planes;
	const struct path_sched_config *sched; /* as in tp_qp_attr, as the next one */
	struct tp_merge_config merge;
	bool by_cm;               /* by the connection manager, not by the list */
};

/* Whether such queue pairs may do more than the specification. */
bool vd_multipath_may(const struct vd_device *device, enum tp_qp_type type);
/* What the peer of that queue pair, which may do more and goes to RTR, has agreed to; ext 0: nothing. */
struct vd_agreement vd_multipath_agreed(const struct vd_qp *qp, const struct vc_av *av, uint32_t dest_qpn);
/* A queue pair does it now, by the connection manager or by the list. */
void vd_multipath_count(struct vd *vd, bool by_cm);
/* The peer will not hear that we agree: back to what the specification has. */
void vd_multipath_leave(struct vd_qp *qp);

/* ---- vd_planes.c ---- */
/* Address vectors, in planes[], and links of up to n planes of the device beside av, in which it is resolved already. How
 * many there are; none when the peer is not in one of the device's own networks. */
uint32_t vd_planes_hold(struct vd_session *session, const struct tp_av *av, uint32_t n, struct tp_av *planes,
	void **links);
void vd_planes_release(struct vd *vd, void **links);

/* ---- vd_cm.c ---- */
int vd_cm_start(struct vd *vd);
void vd_cm_stop(struct vd *vd);

#endif
