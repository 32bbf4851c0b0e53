/* SPDX-License-Identifier: BSD-3-Clause */
/* Creation, the socket, the main thread's event loop and what is told about it all. */
#include <fcntl.h>
#include <libgen.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "vd_internal.h"

#define BACKLOG         64
#define DISPATCH_EVENTS 64
#define LOG_BYTES       256
#define LOG_LINES       10 /* in each window */
#define LOG_WINDOW_NS   10000000000ull

/* ---- descriptors of the main thread ---- */

int vd_watch_add(struct vd *vd, struct vd_watch *watch, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = watch};

	return epoll_ctl(vd->epoll_fd, EPOLL_CTL_ADD, watch->fd, &ev) == 0 ? 0 : -errno;
}

void vd_watch_mod(struct vd *vd, struct vd_watch *watch, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = watch};

	(void)epoll_ctl(vd->epoll_fd, EPOLL_CTL_MOD, watch->fd, &ev);
}

void vd_watch_del(struct vd *vd, struct vd_watch *watch)
{
	if (watch->fd < 0)
		return;
	(void)epoll_ctl(vd->epoll_fd, EPOLL_CTL_DEL, watch->fd, NULL);
	close(watch->fd);
	watch->fd = -1;
}

int vd_fd(const struct vd *vd)
{
	return vd->epoll_fd;
}

void vd_dispatch(struct vd *vd)
{
	/* One event at a time: serving it may free what another event belongs to. */
	for (int i = 0; i < DISPATCH_EVENTS; i++) {
		struct epoll_event ev;
		struct vd_watch *watch;

		if (epoll_wait(vd->epoll_fd, &ev, 1, 0) != 1)
			return;
		watch = ev.data.ptr;
		watch->ready(watch, ev.events);
	}
}

/* splitmix64: numbers a peer cannot guess from one another's place, not secrets. */
uint64_t vd_random(struct vd *vd)
{
	uint64_t z = vd->random += 0x9e3779b97f4a7c15ull;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* Clients cause these lines, as many as they like. */
static bool may_log(struct vd *vd)
{
	uint64_t now_ns = vd->env.now_ns(vd->env_arg);

	if (now_ns - vd->log_since_ns >= LOG_WINDOW_NS) {
		vd->log_since_ns = now_ns;
		vd->log_lines = 0;
	}
	return vd->log_lines++ < LOG_LINES;
}

static void log_args(struct vd *vd, int level, const char *format, va_list args)
{
	char line[LOG_BYTES];

	if (vd->env.log == NULL)
		return;
	(void)vsnprintf(line, sizeof(line), format, args);
	vd->env.log(vd->env_arg, level, line);
}

void vd_logf(struct vd *vd, int level, const char *format, ...)
{
	va_list args;

	if (!may_log(vd))
		return;
	va_start(args, format);
	log_args(vd, level, format, args);
	va_end(args);
}

void vd_logf_rare(struct vd *vd, int level, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	log_args(vd, level, format, args);
	va_end(args);
}

/* ---- the socket ---- */

static int make_directory(const char *path)
{
	char copy[sizeof(((struct vd *)0)->socket_path)];

	(void)snprintf(copy, sizeof(copy), "%s", path);
	if (mkdir(dirname(copy), 0755) != 0 && errno != EEXIST)
		return -errno;
	return 0;
}

/* Whether somebody answers there; if not, the socket that a dead daemon left is removed. Other files refuse connections too. */
static int remove_stale(const struct sockaddr_un *addr)
{
	struct stat st;
	int fd, err = 0;

	if (lstat(addr->sun_path, &st) != 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 || errno == EAGAIN)
		err = -EADDRINUSE;
	else if (errno == ECONNREFUSED && unlink(addr->sun_path) != 0)
		err = -errno;
	close(fd);
	return err;
}

static int listen_at(struct vd *vd, const struct vd_config *config)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	mode_t mode = config->socket_mode != 0 ? config->socket_mode : 0660;
	int err;

	static_assert(sizeof(addr.sun_path) == sizeof(vd->socket_path), "both hold any path");
	memcpy(addr.sun_path, vd->socket_path, sizeof(addr.sun_path));
	err = make_directory(vd->socket_path);
	if (err == 0)
		err = remove_stale(&addr);
	if (err != 0)
		return err;
	vd->listener.fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (vd->listener.fd < 0)
		return -errno;
	/* Made for nobody: its owner and mode are right before it is for anybody. */
	if (fchmod(vd->listener.fd, 0) != 0)
		return -errno;
	if (bind(vd->listener.fd, (const struct sockaddr *)&addr, sizeof(addr)) != 0)
		return -errno;
	vd->socket_made = true;
	/* The group first: a wider mode must not be there for the wrong one. */
	if (config->socket_gid != (gid_t)-1 &&
		chown(vd->socket_path, (uid_t)-1, config->socket_gid) != 0)
		return -errno;
	if (chmod(vd->socket_path, mode) != 0 || listen(vd->listener.fd, BACKLOG) != 0)
		return -errno;
	vd->listener.ready = vd_session_accept;
	vd->listener.arg = vd;
	return vd_watch_add(vd, &vd->listener, EPOLLIN);
}

/* ---- configuration ---- */

static uint32_t or_default(uint32_t value, uint32_t fallback, uint32_t most)
{
	if (value == 0)
		value = fallback;
	return value < most ? value : most;
}

void vd_fill_limits(struct vd_limits *limits)
{
	limits->max_sessions = or_default(limits->max_sessions, 1024, 0xffff);
	limits->max_qps = or_default(limits->max_qps, 1024, VC_MAX_QPS);
	limits->max_cqs = or_default(limits->max_cqs, 1024, 0xfffe);
	limits->max_srqs = or_default(limits->max_srqs, 256, 0xfffe);
	limits->max_mrs = or_default(limits->max_mrs, 4096, 0xfffe);
	limits->max_mws = or_default(limits->max_mws, 4096, 0xfffe);
	limits->max_pds = or_default(limits->max_pds, 256, 0xfffe);
	limits->max_ahs = or_default(limits->max_ahs, 4096, 0xfffe);
	limits->max_groups = or_default(limits->max_groups, 64, 0xfffe);
	limits->max_channels = or_default(limits->max_channels, 256, 0xfffe);
	limits->max_cm_ids = or_default(limits->max_cm_ids, 1024, 0xfffe);
	limits->max_listeners = or_default(limits->max_listeners, 256, 0xfffe);
	limits->max_send_wr = or_default(limits->max_send_wr, 4096, 1u << 20);
	limits->max_recv_wr = or_default(limits->max_recv_wr, 8192, 1u << 20);
	limits->max_srq_wr = or_default(limits->max_srq_wr, 32768, 1u << 20);
	limits->max_cqe = or_default(limits->max_cqe, 262144, 1u << 24);
	limits->max_sge = or_default(limits->max_sge, TP_MAX_SGE, TP_MAX_SGE);
	limits->max_inline_bytes = or_default(limits->max_inline_bytes, 256, TP_MAX_INLINE_BYTES);
	limits->max_rd_atomic = or_default(limits->max_rd_atomic, 128, 128);
	limits->cm_timeout_ms = or_default(limits->cm_timeout_ms, 5000, 3600000);
	if (limits->shm_bytes == 0)
		limits->shm_bytes = 1ull << 30;
	if (limits->mapped_bytes == 0)
		limits->mapped_bytes = 16ull << 30;
	if (limits->registered_bytes == 0)
		limits->registered_bytes = 1ull << 40;
}

static bool device_ok(const struct vd_device *device)
{
	return device->name[0] != '\0' && memchr(device->name, 0, VC_NAME_BYTES) != NULL &&
	       memchr(device->netdev, 0, VC_NAME_BYTES) != NULL && device->n_gids >= 1 &&
	       device->n_gids <= VC_MAX_GIDS;
}

static int check_config(const struct vd_config *config)
{
	if (config->socket_path == NULL || config->socket_path[0] == '\0' ||
		strlen(config->socket_path) >= sizeof(((struct vd *)0)->socket_path))
		return -EINVAL;
	if (config->n_workers == 0 || config->n_workers > VD_MAX_WORKERS)
		return -EINVAL;
	if (config->n_devices == 0 || config->n_devices > VD_MAX_DEVICES)
		return -EINVAL;
	for (uint32_t i = 0; i < config->n_devices; i++) {
		if (!device_ok(&config->devices[i]))
			return -EINVAL;
	}
	return 0;
}

static int make_workers(struct vd *vd)
{
	vd->workers = calloc(vd->n_workers, sizeof(*vd->workers));
	if (vd->workers == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < vd->n_workers; i++)
		vd->workers[i].epoll_fd = -1;
	for (uint32_t i = 0; i < vd->n_workers; i++) {
		struct vd_worker *worker = &vd->workers[i];

		worker->vd = vd;
		worker->index = i;
		TAILQ_INIT(&worker->sessions);
		TAILQ_INIT(&worker->notes);
		TAILQ_INIT(&worker->broken);
		worker->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		if (worker->epoll_fd < 0)
			return -errno;
	}
	return 0;
}

static struct vd *new_vd(const struct vd_config *config, const struct vd_env *env, void *env_arg)
{
	struct vd *vd = calloc(1, sizeof(*vd));

	if (vd == NULL)
		return NULL;
	vd->env = *env;
	vd->env_arg = env_arg;
	vd->limits = config->limits;
	vd_fill_limits(&vd->limits);
	vd_set_user_limits(vd, &config->user_limits);
	(void)snprintf(vd->socket_path, sizeof(vd->socket_path), "%s", config->socket_path);
	vd->n_workers = config->n_workers;
	vd->n_devices = config->n_devices;
	vd->first_multipath = config->multipath;
	vd->multipath = &vd->first_multipath;
	memcpy(vd->devices, config->devices, config->n_devices * sizeof(vd->devices[0]));
	for (uint32_t i = 0; i < vd->n_devices; i++)
		vd->port_up[i] = true;
	vd->random = config->seed;
	vd->epoll_fd = -1;
	vd->spare_fd = -1;
	vd->listener.fd = -1;
	vd_memfds_init(&vd->memfds);
	TAILQ_INIT(&vd->sessions);
	TAILQ_INIT(&vd->resolvings);
	TAILQ_INIT(&vd->groups);
	LIST_INIT(&vd->xrcds);
	return vd;
}

int vd_create(
	const struct vd_config *config, const struct vd_env *env, void *env_arg, struct vd **out)
{
	int err = check_config(config);
	struct vd *vd;

	if (err != 0)
		return err;
	vd = new_vd(config, env, env_arg);
	if (vd == NULL)
		return -ENOMEM;
	vd->slots_used = calloc(vd->limits.max_sessions, 1);
	if (vd->slots_used == NULL)
		err = -ENOMEM;
	if (err == 0)
		err = make_workers(vd);
	if (err == 0) {
		vd->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
		vd->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		if (vd->epoll_fd < 0 || vd->spare_fd < 0)
			err = -errno;
	}
	if (err == 0)
		err = vd_cm_start(vd);
	if (err == 0)
		err = listen_at(vd, config);
	if (err != 0) {
		vd_destroy(vd);
		return err;
	}
	*out = vd;
	return 0;
}

void vd_end_sessions(struct vd *vd)
{
	struct vd_session *session;

	while ((session = TAILQ_FIRST(&vd->sessions)) != NULL)
		vd_session_kill(session);
}

void vd_destroy(struct vd *vd)
{
	struct vd_resolving *resolving;

	if (vd == NULL)
		return;
	vd_end_sessions(vd);
	vd_cm_stop(vd);
	while ((resolving = TAILQ_FIRST(&vd->resolvings)) != NULL) {
		TAILQ_REMOVE(&vd->resolvings, resolving, link);
		free(resolving);
	}
	vd_watch_del(vd, &vd->listener);
	if (vd->socket_made)
		(void)unlink(vd->socket_path);
	for (uint32_t i = 0; vd->workers != NULL && i < vd->n_workers; i++) {
		if (vd->workers[i].epoll_fd >= 0)
			close(vd->workers[i].epoll_fd);
	}
	if (vd->epoll_fd >= 0)
		close(vd->epoll_fd);
	if (vd->spare_fd >= 0)
		close(vd->spare_fd);
	free(vd->workers);
	free(vd->slots_used);
	vd_users_free(vd);
	free(vd);
}

struct vd_worker *vd_worker(struct vd *vd, uint32_t worker)
{
	return worker < vd->n_workers ? &vd->workers[worker] : NULL;
}

/* ---- port state and statistics ---- */

void vd_set_port_state(struct vd *vd, uint32_t device, bool up)
{
	const struct vc_async_msg msg = {.type = up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR};
	struct vd_session *session;

	if (device >= vd->n_devices || vd->port_up[device] == up)
		return;
	vd->port_up[device] = up;
	TAILQ_FOREACH(session, &vd->sessions, link)
	{
		if (session->kind != VD_KIND_VERBS || session->device != device)
			continue;
		if (send(session->async_fd, &msg, sizeof(msg), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
			vd->stats.events_lost++;
	}
}

/* Of sessions that are there; those of others are in vd->stats. */
static uint32_t faults_of(const struct vd_session *session)
{
	const struct vd_mr *mr;
	uint32_t i = 0, n = 0;

	while ((mr = vd_table_next(&session->mrs, &i)) != NULL) {
		if (mr->map != NULL)
			n += __atomic_load_n(&mr->map->fault, __ATOMIC_RELAXED);
	}
	return n;
}

void vd_stats(const struct vd *vd, struct vd_stats *stats)
{
	const struct vd_session *session;

	*stats = vd->stats;
	stats->shm_bytes_used = 0;
	stats->mrs_mapped = vd->n_maps;
	TAILQ_FOREACH(session, &vd->sessions, link)
	{
		stats->shm_bytes_used += session->shm.used_bytes;
		stats->map_faults += faults_of(session);
	}
	for (uint32_t i = 0; i < vd->n_workers; i++) {
		const struct vd_worker_counters *c = &vd->workers[i].counters;

		stats->bad_wqes += atomic_load_explicit(&c->bad_wqes, memory_order_relaxed);
		stats->bad_indices += atomic_load_explicit(&c->bad_indices, memory_order_relaxed);
		stats->cq_overflows += atomic_load_explicit(&c->cq_overflows, memory_order_relaxed);
		stats->copy_faults += atomic_load_explicit(&c->copy_faults, memory_order_relaxed);
		stats->events_lost += atomic_load_explicit(&c->events_lost, memory_order_relaxed);
	}
}
