/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing a device, and what the port and device report. */
#include <arpa/inet.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "vcl_ibv.h"

#define TIMESTAMP_KHZ 1000000 /* timestamps count nanoseconds */

enum { FD_SHM, FD_WAKEUP, FD_ASYNC, N_HELLO_FDS };

void *vcl_shm_at(struct vcl_context *ctx, uint64_t offset, uint64_t bytes)
{
	if (offset < sizeof(struct vc_shm_header) || offset % 64 != 0 || offset > ctx->shm_bytes ||
		bytes > ctx->shm_bytes - offset)
		return NULL;
	return (char *)ctx->shm + offset;
}

int vcl_map_ring(struct vcl_context *ctx, struct vcl_ring *ring, uint64_t offset, uint32_t depth, uint32_t slot_bytes,
	uint32_t least_slot_bytes)
{
	struct vc_queue *queue = NULL;

	if (depth != 0 && (depth & (depth - 1)) == 0 && slot_bytes >= least_slot_bytes)
		queue = vcl_shm_at(ctx, offset, sizeof(*queue) + (uint64_t)depth * slot_bytes);
	if (queue == NULL)
		return -EPROTO;
	ring->queue = queue;
	ring->slots = (uint8_t *)(ring->queue + 1);
	ring->depth = depth;
	ring->slot_bytes = slot_bytes;
	return 0;
}

int vcl_place_ring(struct vcl_context *ctx, struct vcl_ring *ring, uint64_t offset, uint32_t depth,
	uint32_t slot_bytes, uint32_t least_slot_bytes)
{
	int err = vcl_map_ring(ctx, ring, offset, depth, slot_bytes, least_slot_bytes);

	if (err == 0)
		pthread_spin_init(&ring->lock, PTHREAD_PROCESS_PRIVATE);
	return err;
}

uint64_t vcl_add_cookie(struct vcl_context *ctx, void *object)
{
	uint64_t cookie;

	pthread_mutex_lock(&ctx->lock);
	cookie = vcl_table_add(&ctx->cookies, object);
	pthread_mutex_unlock(&ctx->lock);
	return cookie;
}

void vcl_remove_cookie(struct vcl_context *ctx, uint64_t cookie)
{
	pthread_mutex_lock(&ctx->lock);
	vcl_table_remove(&ctx->cookies, cookie);
	pthread_mutex_unlock(&ctx->lock);
}

static int map_shm(struct vcl_context *ctx, int fd, uint64_t bytes)
{
	struct stat st;
	void *map;

	if (bytes < sizeof(struct vc_shm_header) || fstat(fd, &st) != 0 || (uint64_t)st.st_size < bytes)
		return -EPROTO;
	map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	/* A forked child must not touch the parent's rings: vcl_alive() keeps it away from them. */
	(void)madvise(map, bytes, MADV_DONTFORK);
	ctx->shm = map;
	ctx->shm_bytes = bytes;
	return ctx->shm->magic == VC_MAGIC && ctx->shm->version == VC_VERSION ? 0 : -EPROTO;
}

static int hello(struct vcl_context *ctx, const char *name)
{
	struct vc_request req = {.op = VC_HELLO_VERBS};
	struct vc_reply reply;
	int fds[N_HELLO_FDS], err;

	req.hello.magic = VC_MAGIC;
	req.hello.version = VC_VERSION;
	memcpy(req.hello.device, name, strnlen(name, VC_NAME_BYTES - 1));
	err = vcl_call_fds(&ctx->conn, &req, &reply, fds, N_HELLO_FDS);
	if (err != 0)
		return err;
	err = map_shm(ctx, fds[FD_SHM], reply.hello.shm_bytes);
	close(fds[FD_SHM]);
	ctx->wakeup_fd = fds[FD_WAKEUP];
	ctx->v.context.async_fd = fds[FD_ASYNC];
	ctx->v.context.num_comp_vectors = reply.hello.num_comp_vectors != 0 ? (int)reply.hello.num_comp_vectors : 1;
	ctx->attr = reply.hello.attr;
	ctx->attr.netdev[VC_NAME_BYTES - 1] = '\0';
	return err;
}

/* Waits for the daemon's end of the connection to go, or for close_context() to shut ours. */
static void *watch(void *arg)
{
	struct vcl_context *ctx = arg;
	struct pollfd p = {.fd = ctx->conn.fd, .events = POLLRDHUP};

	while (poll(&p, 1, -1) < 0 && errno == EINTR)
		;
	vcl_conn_kill(&ctx->conn);
	return NULL;
}

static int start_watcher(struct vcl_context *ctx)
{
	pthread_attr_t attr;
	sigset_t all, old;
	int err;

	/* The program's signal handlers must not run in our thread. */
	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 * 1024);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&ctx->watcher, &attr, watch, ctx);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return -err;
}

static void free_context(struct vcl_context *ctx)
{
	if (ctx->shm != NULL)
		munmap(ctx->shm, ctx->shm_bytes);
	if (ctx->wakeup_fd >= 0)
		close(ctx->wakeup_fd);
	if (ctx->v.context.async_fd >= 0)
		close(ctx->v.context.async_fd);
	vcl_conn_close(&ctx->conn);
	vcl_table_free(&ctx->cookies);
	free(ctx);
}

/* The clock of completions' timestamps: CLOCK_MONOTONIC, which the daemon and we both read. */
static int query_rt_values(struct ibv_context *ctx, struct ibv_values_ex *values)
{
	struct timespec now;

	(void)ctx;
	if ((values->comp_mask & ~(uint32_t)IBV_VALUES_MASK_RAW_CLOCK) != 0)
		return vcl_errno(-EOPNOTSUPP);
	if (clock_gettime(CLOCK_MONOTONIC, &now) != 0)
		return vcl_errno(-errno);
	/* A count of the device's clock, as other devices give it. */
	values->raw_clock = (struct timespec){.tv_nsec = now.tv_sec * 1000000000l + now.tv_nsec};
	return 0;
}

static void init_ops(struct verbs_context *v)
{
	v->sz = sizeof(*v);
	v->query_port = vcl_query_port;
	v->query_device_ex = vcl_query_device_ex;
	v->query_rt_values = query_rt_values;
	v->create_cq_ex = vcl_create_cq_ex;
	v->advise_mr = vcl_advise_mr;
	v->alloc_td = vcl_alloc_td;
	v->dealloc_td = vcl_dealloc_td;
	v->alloc_parent_domain = vcl_alloc_parent_domain;
	v->create_qp_ex = vcl_create_qp_ex;
	v->create_srq_ex = vcl_create_srq_ex;
	v->open_xrcd = vcl_open_xrcd;
	v->close_xrcd = vcl_close_xrcd;
	v->get_srq_num = vcl_get_srq_num;
	v->open_qp = vcl_open_qp;
	v->context.abi_compat = (void *)UINTPTR_MAX;
	v->context.ops.alloc_mw = vcl_alloc_mw;
	v->context.ops.bind_mw = vcl_bind_mw;
	v->context.ops.dealloc_mw = vcl_dealloc_mw;
	v->context.ops.poll_cq = vcl_poll_cq;
	v->context.ops.req_notify_cq = vcl_req_notify_cq;
	v->context.ops.post_send = vcl_post_send;
	v->context.ops.post_recv = vcl_post_recv;
	v->context.ops.post_srq_recv = vcl_post_srq_recv;
}

struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct vcl_context *ctx = calloc(1, sizeof(*ctx));
	int err;

	if (ctx == NULL) {
		errno = ENOMEM;
		return NULL;
	}
	err = vcl_conn_open(&ctx->conn);
	if (err != 0) {
		free(ctx);
		errno = -err;
		return NULL;
	}
	ctx->pid = getpid();
	ctx->wakeup_fd = -1;
	ctx->v.context.async_fd = -1;
	ctx->v.context.cmd_fd = ctx->conn.fd;
	ctx->v.context.device = device;
	pthread_mutex_init(&ctx->lock, NULL);
	pthread_mutex_init(&ctx->v.context.mutex, NULL);
	init_ops(&ctx->v);
	err = hello(ctx, device->name);
	if (err == 0)
		err = start_watcher(ctx);
	if (err != 0) {
		free_context(ctx);
		errno = -err;
		return NULL;
	}
	return &ctx->v.context;
}

int ibv_close_device(struct ibv_context *context)
{
	struct vcl_context *ctx = vcl_context(context);

	if (getpid() == ctx->pid) {
		shutdown(ctx->conn.fd, SHUT_RDWR);
		pthread_join(ctx->watcher, NULL);
	} else {
		/* A forked child has neither the thread nor the mapping: the address may be someone else's. */
		ctx->shm = NULL;
	}
	free_context(ctx);
	return 0;
}

/* ---- queries ---- */

/* An organisation's number from the range of those that nobody is given: programs know no such device. */
#define VENDOR_ID 0x02726f

static void fill_device_attr(const struct vc_device_attr *a, struct ibv_device_attr *d)
{
	memset(d, 0, sizeof(*d));
	memcpy(d->fw_ver, "0.1.0", 6);
	d->node_guid = a->node_guid;
	d->sys_image_guid = a->node_guid;
	d->vendor_id = VENDOR_ID;
	d->max_mr_size = a->max_mr_bytes;
	d->page_size_cap = ~0xfffull;
	d->max_qp = (int)a->max_qp;
	d->max_qp_wr = (int)a->max_qp_wr;
	d->device_cap_flags = a->cap_flags | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID |
		IBV_DEVICE_RC_RNR_NAK_GEN;
	d->max_sge = (int)a->max_sge;
	d->max_sge_rd = (int)a->max_sge;
	d->max_cq = (int)a->max_cq;
	d->max_cqe = (int)a->max_cqe;
	d->max_mr = (int)a->max_mr;
	d->max_pd = (int)a->max_pd;
	d->max_qp_rd_atom = (int)a->max_qp_rd_atomic;
	d->max_qp_init_rd_atom = (int)a->max_qp_init_rd_atomic;
	d->max_res_rd_atom = (int)(a->max_qp * a->max_qp_rd_atomic);
	d->atomic_cap = IBV_ATOMIC_HCA;
	d->max_ah = (int)a->max_ah;
	d->max_srq = (int)a->max_srq;
	d->max_srq_wr = (int)a->max_srq_wr;
	d->max_srq_sge = (int)a->max_srq_sge;
	d->max_mw = (int)a->max_mw;
	d->max_mcast_grp = (int)a->max_mcast_grp;
	d->max_mcast_qp_attach = (int)a->max_mcast_qp_attach;
	d->max_total_mcast_qp_attach = (int)(a->max_mcast_grp * a->max_mcast_qp_attach);
	d->max_pkeys = 1;
	d->local_ca_ack_delay = 15;
	d->phys_port_cnt = 1;
}

int ibv_query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
	struct vcl_context *ctx = vcl_context(context);

	if (!vcl_alive(context))
		return vcl_errno(-EIO);
	fill_device_attr(&ctx->attr, attr);
	return 0;
}

/* A bit that headers of rdma-core 44 do not name. */
#define CAP_EX_ATOMIC_WRITE (1ull << 40)

/* Memory is never pinned, so on demand is how all of it is reached. */
static void fill_odp_caps(struct ibv_odp_caps *caps)
{
	const uint32_t datagrams = IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV | IBV_ODP_SUPPORT_SRQ_RECV;
	const uint32_t writes = datagrams | IBV_ODP_SUPPORT_WRITE;

	caps->general_caps = IBV_ODP_SUPPORT | IBV_ODP_SUPPORT_IMPLICIT;
	caps->per_transport_caps.rc_odp_caps = writes | IBV_ODP_SUPPORT_READ | IBV_ODP_SUPPORT_ATOMIC;
	caps->per_transport_caps.uc_odp_caps = writes;
	caps->per_transport_caps.ud_odp_caps = datagrams;
}

int vcl_query_device_ex(struct ibv_context *ctx, const struct ibv_query_device_ex_input *input,
	struct ibv_device_attr_ex *attr, size_t attr_bytes)
{
	struct ibv_device_attr_ex full = {0};

	if (input != NULL && input->comp_mask != 0)
		return vcl_errno(-EINVAL);
	if (attr_bytes < sizeof(attr->orig_attr))
		return vcl_errno(-EOPNOTSUPP);
	if (!vcl_alive(ctx))
		return vcl_errno(-EIO);
	fill_device_attr(&vcl_context(ctx)->attr, &full.orig_attr);
	full.phys_port_cnt_ex = 1;
	full.device_cap_flags_ex = full.orig_attr.device_cap_flags | CAP_EX_ATOMIC_WRITE;
	fill_odp_caps(&full.odp_caps);
	full.xrc_odp_caps = full.odp_caps.per_transport_caps.rc_odp_caps;
	full.completion_timestamp_mask = UINT64_MAX;
	full.hca_core_clock = TIMESTAMP_KHZ;
	if (attr_bytes > sizeof(full)) {
		memset(attr, 0, attr_bytes);
		attr_bytes = sizeof(full);
	}
	memcpy(attr, &full, attr_bytes);
	return 0;
}

/* Lanes and their speed in the API's codes: width 1 = 1x, 2 = 4x; speed 1..64 = SDR..HDR, 128 = NDR. */
static void fill_speed(uint32_t mbps, struct ibv_port_attr *attr)
{
	static const struct { uint32_t mbps; uint8_t width, speed; } table[] = {
		{2500, 1, 1}, {5000, 1, 2}, {10000, 1, 4}, {14000, 1, 16}, {25000, 1, 32}, {40000, 2, 4},
		{50000, 1, 64}, {56000, 2, 16}, {100000, 2, 32}, {200000, 2, 64}, {400000, 2, 128},
	};
	size_t i = 0;

	while (i + 1 < sizeof(table) / sizeof(table[0]) && table[i].mbps < mbps)
		i++;
	attr->active_width = table[i].width;
	attr->active_speed = table[i].speed;
}

static void fill_port_attr(const struct vc_device_attr *a, struct ibv_port_attr *p)
{
	memset(p, 0, sizeof(*p));
	p->state = a->port_state;
	p->max_mtu = a->max_mtu;
	p->active_mtu = a->active_mtu;
	p->gid_tbl_len = (int)a->gid_count;
	p->port_cap_flags = IBV_PORT_CM_SUP | IBV_PORT_IP_BASED_GIDS;
	p->max_msg_sz = TP_MAX_MSG_BYTES;
	p->pkey_tbl_len = 1;
	p->max_vl_num = 1;
	p->phys_state = a->port_state == IBV_PORT_ACTIVE ? 5 : 3; /* LinkUp, Disabled */
	p->link_layer = IBV_LINK_LAYER_ETHERNET;
	fill_speed(a->speed_mbps, p);
}

int vcl_query_port(struct ibv_context *ctx, uint8_t port, struct ibv_port_attr *attr, size_t attr_bytes)
{
	struct vc_request req = {.op = VC_QUERY_PORT};
	struct ibv_port_attr full;
	struct vc_reply reply;
	int err;

	if (port != VCL_PORT)
		return vcl_errno(-EINVAL);
	err = vcl_call(&vcl_context(ctx)->conn, &req, &reply);
	if (err != 0)
		return vcl_errno(err);
	fill_port_attr(&reply.device, &full);
	memset(attr, 0, attr_bytes);
	memcpy(attr, &full, attr_bytes < sizeof(full) ? attr_bytes : sizeof(full));
	return 0;
}

/* For callers compiled before the struct grew: nothing may be written past its old end. */
int ibv_query_port(struct ibv_context *context, uint8_t port_num, struct _compat_ibv_port_attr *attr)
{
	return vcl_query_port(context, port_num, (struct ibv_port_attr *)(void *)attr,
		offsetof(struct ibv_port_attr, port_cap_flags2));
}

/* In 100 Mbit/s; newer than the header of rdma-core 44. */
int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed);

int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed)
{
	struct vc_request req = {.op = VC_QUERY_PORT};
	struct vc_reply reply;
	int err;

	if (port_num != VCL_PORT)
		return vcl_errno(-EINVAL);
	err = vcl_call(&vcl_context(context)->conn, &req, &reply);
	if (err == 0)
		*port_speed = reply.device.speed_mbps / 100;
	return vcl_errno(err);
}

int ibv_query_pkey(struct ibv_context *context, uint8_t port_num, int index, __be16 *pkey)
{
	(void)context;
	if (port_num != VCL_PORT || index != 0) {
		errno = EINVAL;
		return -1;
	}
	*pkey = htons(0xffff);
	return 0;
}

int ibv_get_pkey_index(struct ibv_context *context, uint8_t port_num, __be16 pkey)
{
	(void)context;
	if (port_num == VCL_PORT && (ntohs(pkey) & 0x7fff) == 0x7fff)
		return 0;
	errno = EINVAL;
	return -1;
}
