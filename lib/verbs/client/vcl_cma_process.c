/* SPDX-License-Identifier: BSD-3-Clause */
/* What a process has once: its connection to the connection manager, a context per device; and channels. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vcl_cma.h"

/* The API has no handle for the library, so this state is the process'. */
static pthread_mutex_t current_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cma *current;

static void lock_current(void)
{
	pthread_mutex_lock(&current_lock);
}

static void unlock_current(void)
{
	pthread_mutex_unlock(&current_lock);
}

/* A child must not inherit the lock from a thread that is not there to release it. */
static void register_fork(void)
{
	(void)pthread_atfork(lock_current, unlock_current, unlock_current);
}

static int connect_cma(struct cma **out)
{
	struct vc_request req = {.op = VC_HELLO_CM};
	struct cma *cma = calloc(1, sizeof(*cma));
	int err;

	if (cma == NULL)
		return -ENOMEM;
	err = vcl_conn_open(&cma->conn);
	if (err != 0) {
		free(cma);
		return err == -ENOENT || err == -ECONNREFUSED ? -ENODEV : err;
	}
	req.hello.magic = VC_MAGIC;
	req.hello.version = VC_VERSION;
	err = vcl_call(&cma->conn, &req, NULL);
	if (err != 0) {
		vcl_conn_close(&cma->conn);
		free(cma);
		return err;
	}
	pthread_mutex_init(&cma->lock, NULL);
	*out = cma;
	return 0;
}

/* A daemon that was restarted since the last call has hung up on us. */
static bool is_usable(const struct cma *cma)
{
	struct pollfd p = {.events = POLLRDHUP};

	if (cma == NULL || !vcl_conn_alive(&cma->conn))
		return false;
	p.fd = cma->conn.fd;
	return poll(&p, 1, 0) == 0;
}

int cma_get(struct cma **out)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct cma *cma;
	int err = 0;

	pthread_once(&once, register_fork);
	lock_current();
	if (!is_usable(current)) {
		err = connect_cma(&cma);
		if (err == 0) {
			cma->older = current;
			current = cma;
		}
	}
	*out = current;
	unlock_current();
	return err;
}

/* ---- devices ---- */

static struct ibv_context *open_by_name(const char *name, int *err)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *verbs = NULL;
	int i;

	*err = list == NULL ? -errno : -ENODEV;
	for (i = 0; list != NULL && list[i] != NULL && verbs == NULL; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name) != 0)
			continue;
		verbs = ibv_open_device(list[i]);
		*err = verbs == NULL ? -errno : 0;
	}
	if (list != NULL)
		ibv_free_device_list(list);
	return verbs;
}

/* The caller holds cma->lock. */
static struct cma_device *find_device(struct cma *cma, const char *name, int *err)
{
	struct cma_device *dev;
	uint32_t i;

	for (i = 0; i < cma->n_devices; i++)
		if (strncmp(cma->devices[i].name, name, VC_NAME_BYTES) == 0)
			return &cma->devices[i];
	if (i == CMA_MAX_DEVICES) {
		*err = -ENOSPC;
		return NULL;
	}
	dev = &cma->devices[i];
	memcpy(dev->name, name, strnlen(name, VC_NAME_BYTES - 1));
	dev->verbs = open_by_name(dev->name, err);
	if (dev->verbs == NULL) {
		memset(dev, 0, sizeof(*dev));
		return NULL;
	}
	cma->n_devices++;
	return dev;
}

struct ibv_context *cma_open_device(struct cma *cma, const char *name, int *err)
{
	struct cma_device *dev;

	*err = 0;
	pthread_mutex_lock(&cma->lock);
	dev = find_device(cma, name, err);
	pthread_mutex_unlock(&cma->lock);
	return dev != NULL ? dev->verbs : NULL;
}

struct ibv_pd *cma_default_pd(struct cma *cma, struct ibv_context *verbs)
{
	struct ibv_pd *pd = NULL;
	uint32_t i;

	pthread_mutex_lock(&cma->lock);
	for (i = 0; i < cma->n_devices; i++) {
		if (cma->devices[i].verbs != verbs)
			continue;
		if (cma->devices[i].pd == NULL)
			cma->devices[i].pd = ibv_alloc_pd(verbs);
		pd = cma->devices[i].pd;
	}
	pthread_mutex_unlock(&cma->lock);
	return pd;
}

struct ibv_xrcd *cma_default_xrcd(struct cma *cma, struct ibv_context *verbs)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1, .oflags = O_CREAT};
	struct ibv_xrcd *xrcd = NULL;
	uint32_t i;

	pthread_mutex_lock(&cma->lock);
	for (i = 0; i < cma->n_devices; i++) {
		if (cma->devices[i].verbs != verbs)
			continue;
		if (cma->devices[i].xrcd == NULL)
			cma->devices[i].xrcd = ibv_open_xrcd(verbs, &attr);
		xrcd = cma->devices[i].xrcd;
	}
	pthread_mutex_unlock(&cma->lock);
	return xrcd;
}

struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct ibv_context **list = NULL;
	struct ibv_device **devices;
	int i, n = 0, num, err;
	struct cma *cma;

	if (num_devices != NULL)
		*num_devices = 0;
	err = cma_get(&cma);
	devices = err == 0 ? ibv_get_device_list(&num) : NULL;
	if (devices != NULL)
		list = calloc((size_t)num + 1, sizeof(*list));
	if (list == NULL) {
		if (devices != NULL)
			ibv_free_device_list(devices);
		if (err != 0)
			errno = -err;
		return NULL;
	}
	for (i = 0; i < num; i++) {
		list[n] = cma_open_device(cma, ibv_get_device_name(devices[i]), &err);
		n += list[n] != NULL;
	}
	ibv_free_device_list(devices);
	if (n == 0) {
		free(list);
		errno = err != 0 ? -err : ENODEV;
		return NULL;
	}
	if (num_devices != NULL)
		*num_devices = n;
	return list;
}

/* The contexts stay open: ids may use them. */
void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}

/* ---- event channels ---- */

struct rdma_event_channel *rdma_create_event_channel(void)
{
	struct vc_request req = {.op = VC_CM_CREATE_CHANNEL};
	struct cma_channel *channel = calloc(1, sizeof(*channel));
	struct vc_reply reply;
	int err = channel == NULL ? -ENOMEM : cma_get(&channel->cma);

	if (err == 0)
		err = vcl_call_fds(&channel->cma->conn, &req, &reply, &channel->rdma.fd, 1);
	if (err != 0) {
		free(channel);
		errno = -err;
		return NULL;
	}
	channel->handle = reply.cm.handle;
	return &channel->rdma;
}

void rdma_destroy_event_channel(struct rdma_event_channel *rdma)
{
	struct cma_channel *channel = cma_channel(rdma);

	cma_drain(channel);
	(void)vcl_call_handle(&channel->cma->conn, VC_CM_DESTROY_CHANNEL, channel->handle, NULL);
	close(rdma->fd);
	free(channel);
}
