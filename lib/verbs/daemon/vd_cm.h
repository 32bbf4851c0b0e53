/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients' connection management. A client's id is ours (struct vd_cm_id); a connection or listener
 * of lib/cm belongs to it from listen, connect or a request on. All of it is the main thread's.
 */
#ifndef VD_CM_H
#define VD_CM_H

#include "cm.h"
#include "vd_internal.h"

#define VD_CM_SPACES   3           /* TCP, UDP, IB */
#define VD_CM_UDP_QKEY 0x01234567u /* RDMA_UDP_QKEY: of all UDP port space queue pairs */
#define VD_GROUP_QPN   0xffffffu   /* IBTA vol. 1, 10.5.2 */

struct vd_cm_id;
struct vd_cm_join;
TAILQ_HEAD(vd_cm_joins, vd_cm_join);

struct vd_cm_queued {
	TAILQ_ENTRY(vd_cm_queued) link;
	struct vd_cm_id *owner;
	struct vc_cm_event event;
};
TAILQ_HEAD(vd_cm_queue, vd_cm_queued);

struct vd_cm_channel {
	uint32_t handle, refs;
	struct vd *vd;
	struct vd_watch watch;    /* fd -1: the client has closed its end */
	struct vd_cm_queue queue; /* what did not fit into the socket */
	uint32_t n_queued;
};

enum vd_cm_step {
	VD_CM_IDLE,
	VD_CM_BOUND,
	VD_CM_LISTENING,
	VD_CM_RESOLVING,
	VD_CM_ADDR_RESOLVED,
	VD_CM_ROUTE_RESOLVED,
	VD_CM_CONNECTION, /* cm knows its state */
};

struct vd_cm_id {
	uint32_t handle;
	struct vd_session *session;
	struct vd_cm_channel *channel;
	uint64_t cookie;
	bool has_owner; /* false: a request the client has not taken yet, it has no cookie */
	uint32_t ps, qp_type;
	enum vd_cm_step step;
	TAILQ_ENTRY(vd_cm_id) bound_link;
	bool bound;      /* holds a port */
	uint16_t family; /* AF_INET, AF_INET6, 0: no address yet */
	struct wire_addr src, dst;
	bool has_dst;
	uint16_t src_port, dst_port; /* host order */
	bool has_device;
	uint32_t device;
	struct cm_id *cm;
	uint32_t rq_psn; /* the PSN we ask the peer to start with */
	bool qp_known;
	struct cm_qp_params qp;
	struct vd_cm_joins joins;
	uint32_t events; /* delivered to the channel */
};
TAILQ_HEAD(vd_cm_ids, vd_cm_id);

struct vd_cm_state {
	struct cm *cm;
	struct vd_cm_ids bound;
	uint32_t port_refs[VD_CM_SPACES][65536];
};

/* ---- vd_cm.c ---- */
static inline uint64_t vd_now(struct vd *vd)
{
	return vd->env.now_ns(vd->env_arg);
}

struct vd_cm_id *vd_cm_id_new(
	struct vd_session *session, struct vd_cm_channel *channel, uint32_t ps, uint32_t qp_type);
void vd_cm_id_free(struct vd_cm_id *id);
struct vd_cm_id *vd_cm_id_get(struct vd_session *session, uint32_t handle);

static inline bool vd_cm_is_datagram(const struct vd_cm_id *id)
{
	return id->ps == VC_PS_UDP || id->qp_type == IBV_QPT_UD;
}

/* ---- vd_multipath.c ---- */
/* What is offered to that host, or taken, for a queue pair; NULL: nothing. */
struct cm_ext vd_multipath_offer(const struct vd_qp *qp, const struct wire_addr *dst);
/* The queue pair of an active id whose connection is made should do what was agreed. */
void vd_multipath_check(const struct vd_cm_id *id, const struct vd_qp *qp);

/* ---- vd_cm_conn.c ---- */
/* The way to the peer, as an address vector of the id's device. -EADDRNOTAVAIL: our address is gone. */
int vd_cm_fill_av(const struct vd_cm_id *id, struct vc_av *av);
/* Where the id's device has that address. */
int vd_cm_gid_index(const struct vd_cm_id *id, const struct wire_addr *addr, uint8_t *index);

/* ---- vd_cm_mcast.c ---- */
void vd_cm_leave_all(struct vd_cm_id *id);

/* ---- vd_cm_addr.c ---- */
void vd_cm_unbind(struct vd_cm_id *id);
/* 0, or -EAFNOSUPPORT. */
int vd_cm_take_addr(const struct vc_sockaddr *in, struct wire_addr *addr, uint16_t *port);
bool vd_cm_is_any(const struct wire_addr *addr);
void vd_cm_fill_addr(const struct vd_cm_id *id, struct vc_sockaddr *src, struct vc_sockaddr *dst,
	char device[VC_NAME_BYTES]);

/* ---- vd_cm_event.c ---- */
/* Tells the owner of id. False: it could not be told. */
bool vd_cm_emit(struct vd_cm_id *id, uint32_t type, int status);
/* The same with the event's other members set by the caller. */
bool vd_cm_emit_event(
	struct vd_cm_id *owner, const struct vd_cm_id *about, struct vc_cm_event *event);
/* Undelivered events of id are dropped, or go along to another channel. */
void vd_cm_drop_events(struct vd_cm_id *id);
void vd_cm_move_events(struct vd_cm_id *id, struct vd_cm_channel *to);
void vd_cm_channel_ready(struct vd_watch *watch, uint32_t events);
/* From lib/cm; env is struct vd. */
void vd_cm_handle(void *env, const struct cm_event *ev);

#endif
