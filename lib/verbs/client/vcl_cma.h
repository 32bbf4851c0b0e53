/* SPDX-License-Identifier: BSD-3-Clause */
/* Objects of the drop-in librdmacm behind the public structs of <rdma/rdma_cma.h>. */
#ifndef VCL_CMA_H
#define VCL_CMA_H

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stddef.h>

#include "vcl_conn.h"
#include "vcl_table.h"

#define CMA_MAX_DEVICES 64
#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr) - offsetof(type, member)))

static_assert(sizeof(struct rdma_cm_id) == 416 && sizeof(struct rdma_cm_event) == 80, "ABI");
static_assert(sizeof(struct rdma_addrinfo) == 96 && sizeof(struct rdma_conn_param) == 24, "ABI");

struct cma_device {
	char name[VC_NAME_BYTES];
	struct ibv_context *verbs;
	struct ibv_pd *pd;                 /* for QPs whose creator names none; made when first needed */
	struct ibv_xrcd *xrcd;             /* the same for XRC targets and their SRQs */
};

/* The process' connection manager. A forked child, and a process whose daemon went, gets a new one. */
struct cma {
	struct vcl_conn conn;
	pthread_mutex_t lock;              /* all below, and the event counts of ids */
	struct vcl_table ids;
	struct cma_device devices[CMA_MAX_DEVICES];
	uint32_t n_devices;
	struct cma *older;                 /* dead ones stay: ids of the program still refer to them */
};

struct cma_channel {
	struct rdma_event_channel rdma;
	struct cma *cma;
	uint32_t handle;
};

/* A multicast group an id has joined. */
struct cma_join {
	struct cma_join *next;
	uint64_t cookie;                   /* in events; unique in its id */
	struct vc_sockaddr addr;
	bool sends_only;
	void *context;
	union ibv_gid gid;
	struct ibv_qp *attached;           /* gets the group's messages; NULL: none */
};

struct cma_id {
	struct rdma_cm_id rdma;
	struct cma *cma;
	uint32_t handle;
	uint64_t cookie;
	bool sync;                         /* owns its channel; calls wait for their event */
	bool removed;                      /* the program has been told that the daemon is gone; cma.lock */
	uint32_t events_out;               /* given to the program and not acknowledged */
	pthread_cond_t acked;
	uint8_t responder_resources;       /* asked for by a connect request, until it is accepted */
	uint8_t initiator_depth;
	bool has_tos, has_ack_timeout;
	uint8_t tos, ack_timeout;
	struct ibv_qp_init_attr *ep_attr;  /* of an endpoint that listens: for the QPs of its requests */
	struct ibv_pd *ep_pd;
	struct cma_join *joins;            /* cma.lock */
	uint64_t last_join;
};

struct cma_event {
	struct rdma_cm_event rdma;
	struct cma_id *owner;              /* where it counts as out */
	uint8_t private_data[VC_MAX_PRIVATE];
};

static inline struct cma_id *cma_id(struct rdma_cm_id *id)
{
	return container_of(id, struct cma_id, rdma);
}

static inline struct cma_channel *cma_channel(struct rdma_event_channel *channel)
{
	return container_of(channel, struct cma_channel, rdma);
}

/* librdmacm's way to return: -1 and errno. */
static inline int cma_result(int negative)
{
	if (negative == 0)
		return 0;
	errno = -negative;
	return -1;
}

/* ---- vcl_cma_process.c ---- */
/* The process' connection manager, connected if need be. 0 or a negative errno. */
int cma_get(struct cma **cma);
/* The context of a device, opened on first use. NULL and a negative errno in *err. */
struct ibv_context *cma_open_device(struct cma *cma, const char *name, int *err);
/* The default protection domain of an id's device. */
struct ibv_pd *cma_default_pd(struct cma *cma, struct ibv_context *verbs);
/* Its default XRC domain, which is private to the process. */
struct ibv_xrcd *cma_default_xrcd(struct cma *cma, struct ibv_context *verbs);

/* ---- vcl_cma_id.c ---- */
/* An id without the daemon's half; in the cookie table. */
struct cma_id *cma_id_new(struct cma *cma, struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
	enum ibv_qp_type qp_type);
int cma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context, enum rdma_port_space ps,
	enum ibv_qp_type qp_type);
void cma_id_free(struct cma_id *id);
/* Takes over addresses and device as the daemon tells them. 0 or a negative errno: the device is gone. */
int cma_id_locate(struct cma_id *id, const struct vc_sockaddr *src, const struct vc_sockaddr *dst,
	const char device[VC_NAME_BYTES]);
int cma_id_set_path(struct cma_id *id);
int cma_addr_to_contract(const struct sockaddr *in, struct vc_sockaddr *out);

/* ---- vcl_cma_mcast.c ---- */
/* The group of a join is there: attaches the id's queue pair. 0 or a negative errno. */
int cma_joined(struct cma_id *id, uint64_t cookie, struct rdma_ud_param *param);
/* Before the id's queue pair goes: an attached one cannot be destroyed (IB o10-2.2.3). */
void cma_detach_joins(struct cma_id *id);
void cma_free_joins(struct cma_id *id);

/* ---- vcl_cma_qp.c ---- */
/* Moves the id's QP on; 0xff keeps what was agreed on. 0 or a negative errno. */
int cma_qp_to_rtr(struct cma_id *id, uint8_t responder_resources);
int cma_qp_to_rts(struct cma_id *id, uint8_t initiator_depth);
void cma_qp_to_error(struct cma_id *id);

/* ---- vcl_cma_connect.c ---- */
int cma_establish(struct cma_id *id);
int cma_reject(struct cma_id *id, const void *private_data, uint8_t private_bytes);

/* ---- vcl_cma_event.c ---- */
/* For an id that works synchronously: waits for the event of the call and keeps it in id->event. */
int cma_complete(struct cma_id *id);
/* Throws away what lies in a channel that is about to go. */
void cma_drain(struct cma_channel *channel);

#endif
