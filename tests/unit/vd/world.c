/* SPDX-License-Identifier: BSD-3-Clause */
#include "world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifndef WX_DIR
#define WX_DIR "/tmp"
#endif
#ifndef WX_REORDER_PKTS
#define WX_REORDER_PKTS 0
#endif
#define HEADROOM  128
#define BUF_BYTES (HEADROOM + WIRE_MAX_HDR_BYTES + 4096 + 8)
#define ROUNDS    200
#define QPN_SHIFT 16

/* ---- what the daemon gives the library ---- */

static void env_worker_call(void *arg, uint32_t worker, void (*fn)(void *fn_arg), void *fn_arg)
{
	(void)arg;
	assert_true(worker < WX_WORKERS);
	fn(fn_arg);
}

static struct tp *env_tp(void *arg, uint32_t worker)
{
	struct wx_world *w = arg;

	return w->worker[worker].tp;
}

static void call_back(struct wx_world *w, vd_resolved_fn cb, void *cb_arg, int status)
{
	void *link = NULL;

	if (status == 0) {
		link = malloc(1);
		w->links++;
	}
	cb(cb_arg, status, link);
}

static void env_resolve(void *arg, uint32_t device, const struct wire_addr *src,
	const struct wire_addr *dst, vd_resolved_fn cb, void *cb_arg)
{
	struct wx_world *w = arg;

	assert_int_equal(device, 0);
	w->resolved_src = *src;
	w->resolved_dst = *dst;
	switch (w->resolve) {
	case WX_RESOLVE_NOW:
		call_back(w, cb, cb_arg, 0);
		break;
	case WX_RESOLVE_FAIL:
		call_back(w, cb, cb_arg, -EHOSTUNREACH);
		break;
	case WX_RESOLVE_LATER:
		assert_true(w->n_pending < WX_MAX_PEND);
		w->pending[w->n_pending++] = (struct wx_pending){cb, cb_arg};
		break;
	}
}

void wx_resolved(struct wx_world *w, uint32_t i, int status)
{
	struct wx_pending pending = w->pending[i];

	assert_true(i < w->n_pending);
	w->pending[i] = w->pending[--w->n_pending];
	call_back(w, pending.cb, pending.cb_arg, status);
}

static void env_release_link(void *arg, void *link)
{
	struct wx_world *w = arg;

	assert_non_null(link);
	free(link);
	w->links--;
}

static void env_send_mad(void *arg, uint32_t device, const struct wire_addr *src,
	const struct wire_addr *dst, const uint8_t mad[VD_MAD_BYTES])
{
	struct wx_world *w = arg;
	struct wx_mad *to = &w->mads[w->n_mads];

	if (w->drop_mads > 0) {
		w->drop_mads--;
		return;
	}
	assert_true(w->n_mads < WX_MAX_QUEUE);
	w->n_mads++;
	to->device = device;
	to->src = *src;
	to->dst = *dst;
	memcpy(to->mad, mad, sizeof(to->mad));
	if (w->tamper != NULL)
		w->tamper(to->mad);
}

static int env_join_group(void *arg, uint32_t device, const struct wire_addr *group)
{
	struct wx_world *w = arg;

	assert_int_equal(device, 0);
	if (w->join_error != 0)
		return w->join_error;
	w->joined = *group;
	w->joins++;
	return 0;
}

static void env_leave_group(void *arg, uint32_t device, const struct wire_addr *group)
{
	struct wx_world *w = arg;

	assert_int_equal(device, 0);
	w->left = *group;
	w->leaves++;
}

static int env_map_watch(void *arg, void *base, uint64_t bytes, uint64_t page_bytes, uint32_t *fault)
{
	struct wx_world *w = arg;

	assert_int_equal((uintptr_t)base % page_bytes, 0);
	assert_int_equal(bytes % page_bytes, 0);
	assert_int_equal(*fault, 0);
	if (w->map_error != 0)
		return w->map_error;
	w->maps++;
	w->last_fault = fault;
	return 0;
}

static void env_map_forget(void *arg, void *base)
{
	struct wx_world *w = arg;

	assert_non_null(base);
	w->maps--;
}

static uint64_t env_now_ns(void *arg)
{
	return ((struct wx_world *)arg)->now_ns;
}

static void env_log(void *arg, int level, const char *line)
{
	struct wx_world *w = arg;

	(void)level;
	assert_null(strchr(line, '\n'));
	w->log_lines++;
}

/* ---- frames: plain memory laid out as an mbuf with its private area ---- */

static struct rte_mbuf *pkt_alloc(void *env)
{
	struct rte_mbuf *m = calloc(1, sizeof(*m) + sizeof(struct wire_pkt));

	(void)env;
	assert_non_null(m);
	m->priv_size = sizeof(struct wire_pkt);
	m->buf_addr = malloc(BUF_BYTES);
	assert_non_null(m->buf_addr);
	m->buf_len = BUF_BYTES;
	m->data_off = HEADROOM;
	m->refcnt = 1;
	return m;
}

static void pkt_free(struct rte_mbuf *m)
{
	if (--m->refcnt != 0)
		return;
	free(m->buf_addr);
	free(m);
}

static void pkt_keep(void *env, struct rte_mbuf *m)
{
	(void)env;
	m->refcnt++;
}

static void pkt_let_go(void *env, struct rte_mbuf *m)
{
	(void)env;
	pkt_free(m);
}

static void pkt_emit(void *env, const struct tp_av *av, struct rte_mbuf *m)
{
	struct wx_world *w = ((struct wx_worker *)env)->world;

	/* The library owes every address vector a link that was not given back. */
	assert_non_null(av->link);
	w->last_av = *av;
	if (w->drop_frames) {
		pkt_free(m);
		return;
	}
	assert_true(w->n_frames < WX_MAX_QUEUE);
	w->frames[w->n_frames++] = m;
}

void wx_inject_frame(struct wx_world *w, const uint8_t *frame, size_t n)
{
	struct rte_mbuf *m = pkt_alloc(w);

	assert_true(n <= BUF_BYTES - HEADROOM && w->n_frames < WX_MAX_QUEUE);
	memcpy(rte_pktmbuf_mtod(m, uint8_t *), frame, n);
	m->data_len = (uint16_t)n;
	m->pkt_len = (uint32_t)n;
	w->frames[w->n_frames++] = m;
}

struct copy {
	struct wx_worker *worker;
	struct rte_mbuf *m;
};

static void deliver_copy(void *arg, uint32_t qpn)
{
	struct copy *copy = arg;

	TP_PKT(copy->m)->dqpn = qpn;
	tp_rx(copy->worker->tp, &copy->m, 1, copy->worker->world->now_ns);
}

/* As the daemon does it: each worker looks for its members. */
static void deliver_to_group(struct wx_world *w, struct rte_mbuf *m)
{
	const uint8_t *ip = rte_pktmbuf_mtod(m, uint8_t *) + TP_PKT(m)->l3_off;
	struct wire_addr group;

	if (TP_PKT(m)->l3_version == 4) {
		group = (struct wire_addr){.b = {[10] = 0xff, [11] = 0xff}};
		memcpy(group.b + 12, ip + 16, 4);
	} else {
		memcpy(group.b, ip + 24, 16);
	}
	for (int i = 0; i < WX_WORKERS; i++) {
		struct copy copy = {&w->worker[i], m};

		(void)vd_worker_members(w->worker[i].vd, 0, &group, deliver_copy, &copy);
	}
}

static void deliver(struct wx_world *w, struct rte_mbuf *m)
{
	struct wire_pkt *pkt = TP_PKT(m);
	uint32_t worker;

	assert_int_equal(
		wire_parse(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, pkt), BASE_DROP_NONE);
	worker = pkt->dqpn >> QPN_SHIFT;
	if (pkt->dqpn == 0xffffff)
		deliver_to_group(w, m);
	else if (worker < WX_WORKERS)
		tp_rx(w->worker[worker].tp, &m, 1, w->now_ns);
	pkt_free(m);
}

static void pump_network(struct wx_world *w)
{
	static struct rte_mbuf *frames[WX_MAX_QUEUE];
	static struct wx_mad mads[WX_MAX_QUEUE];
	uint32_t n = w->n_frames;

	memcpy(frames, w->frames, n * sizeof(frames[0]));
	w->n_frames = 0;
	for (uint32_t i = 0; i < n; i++)
		deliver(w, frames[i]);
	n = w->n_mads;
	memcpy(mads, w->mads, n * sizeof(mads[0]));
	w->n_mads = 0;
	for (uint32_t i = 0; i < n; i++)
		vd_rx_mad(w->vd, mads[i].device, &mads[i].src, &mads[i].dst, mads[i].mad,
			VD_MAD_BYTES);
}

void wx_turn(struct wx_world *w)
{
	vd_dispatch(w->vd);
	vd_advance(w->vd);
	for (int i = 0; i < WX_WORKERS; i++) {
		vd_worker_poll(w->worker[i].vd, w->worker[i].tp);
		tp_advance(w->worker[i].tp, w->now_ns);
		tp_tx(w->worker[i].tp, 32, w->now_ns);
	}
	pump_network(w);
}

void wx_pump(struct wx_world *w)
{
	/* A quiet round may be followed by another: answers and acknowledgements come in turns. */
	for (int i = 0, quiet = 0; i < ROUNDS && quiet < 3; i++) {
		wx_turn(w);
		quiet = w->n_frames == 0 && w->n_mads == 0 ? quiet + 1 : 0;
	}
}

void wx_pass(struct wx_world *w, uint64_t ns)
{
	for (int i = 0; i < 10; i++) {
		w->now_ns += ns / 10;
		wx_pump(w);
	}
}

/* ---- set-up ---- */

void wx_addr4(uint8_t i, struct wire_addr *addr)
{
	*addr = (struct wire_addr){
		.b = {[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = (uint8_t)(i + 1)}};
}

void wx_group4(uint8_t i, struct wire_addr *addr)
{
	*addr = (struct wire_addr){
		.b = {[10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [14] = 1, [15] = i}};
}

static void make_device(struct vd_device *device)
{
	*device = (struct vd_device){
		.name = "roced0",
		.netdev = "lo",
		.mac = {2, 0, 0, 0, 0, 1},
		.has_vlan = true,
		.vlan_tci = 7,
		.port_mtu_bytes = 1500,
		.speed_mbps = 10000,
		.reorder_pkts = WX_REORDER_PKTS,
		.reorder_ns = 100000,
		.n_gids = 4,
		.gids =
			{
				{{{0xfe, 0x80, [8] = 0, [15] = 1}}, 64},
				{{{0}}, 24},
				{{{0}}, 24},
				{{{0x20, 0x01, 0x0d, 0xb8, [15] = 1}}, 64},
			},
	};
	wx_addr4(0, &device->gids[1].addr);
	wx_addr4(1, &device->gids[2].addr);
}

static void make_transport(struct wx_world *w, uint32_t i)
{
	struct tp_config config = {
		.max_qps = 64, .max_mrs = 256, .max_ahs = 64, .qpn_base = i << QPN_SHIFT, .seed = i + 1};
	struct tp_ops ops = {
		.pkt_alloc = pkt_alloc, .pkt_emit = pkt_emit, .pkt_keep = pkt_keep, .pkt_free = pkt_let_go};

	vd_worker_ops(&ops);
	w->worker[i].world = w;
	w->worker[i].vd = vd_worker(w->vd, i);
	w->worker[i].tp = tp_create(&config, &ops, &w->worker[i], w->now_ns);
	assert_non_null(w->worker[i].tp);
}

static struct wx_world *make_world(
	const struct vd_limits *limits, const struct vd_user_limits *user_limits, const struct vd_multipath *multipath)
{
	static struct vd_device device;
	struct wx_world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	w->now_ns = 1000000000;
	snprintf(w->path, sizeof(w->path), WX_DIR "/vd-test-%d/sock", (int)getpid());
	make_device(&device);
	w->env = (struct vd_env){
		.worker_call = env_worker_call,
		.tp = env_tp,
		.resolve = env_resolve,
		.release_link = env_release_link,
		.send_mad = env_send_mad,
		.join_group = env_join_group,
		.leave_group = env_leave_group,
		.map_watch = env_map_watch,
		.map_forget = env_map_forget,
		.now_ns = env_now_ns,
		.log = env_log,
	};
	w->config = (struct vd_config){
		.socket_path = w->path,
		.socket_mode = 0666,
		.socket_gid = (gid_t)-1,
		.n_workers = WX_WORKERS,
		.n_devices = 1,
		.devices = &device,
		.seed = 42,
	};
	device.multipath = multipath != NULL;
	if (multipath != NULL)
		w->config.multipath = *multipath;
	if (limits != NULL)
		w->config.limits = *limits;
	if (user_limits != NULL)
		w->config.user_limits = *user_limits;
	if (w->config.limits.shm_bytes == 0)
		w->config.limits.shm_bytes = 64u << 20;
	assert_int_equal(vd_create(&w->config, &w->env, w, &w->vd), 0);
	for (uint32_t i = 0; i < WX_WORKERS; i++)
		make_transport(w, i);
	return w;
}

struct wx_world *wx_new(const struct vd_limits *limits)
{
	return wx_new_for(limits, NULL);
}

struct wx_world *wx_new_for(const struct vd_limits *limits, const struct vd_user_limits *user_limits)
{
	return make_world(limits, user_limits, NULL);
}

struct wx_world *wx_new_multipath(const struct vd_multipath *multipath)
{
	return make_world(&(struct vd_limits){.shm_bytes = 8u << 20}, NULL, multipath);
}

void wx_free(struct wx_world *w)
{
	char dir[sizeof(w->path)];

	for (uint32_t i = w->n_pending; i > 0; i--)
		wx_resolved(w, i - 1, -ECANCELED);
	vd_destroy(w->vd);
	assert_int_equal(w->links, 0);
	assert_int_not_equal(access(w->path, F_OK), 0);
	snprintf(dir, sizeof(dir), WX_DIR "/vd-test-%d", (int)getpid());
	(void)rmdir(dir);
	for (uint32_t i = 0; i < w->n_frames; i++)
		pkt_free(w->frames[i]);
	for (int i = 0; i < WX_WORKERS; i++)
		tp_destroy(w->worker[i].tp);
	free(w);
}

void wx_stats(struct wx_world *w, struct vd_stats *stats)
{
	vd_stats(w->vd, stats);
}

void wx_expect_empty(struct wx_world *w)
{
	struct vd_stats s;

	wx_pump(w);
	vd_stats(w->vd, &s);
	assert_int_equal(
		s.sessions | s.contexts | s.pds | s.mrs | s.mws | s.cqs | s.srqs | s.xrcds | s.qps | s.ahs |
			s.comp_channels,
		0);
	assert_int_equal(s.cm_channels | s.cm_ids | s.cm_listeners | s.resolving | s.groups | s.members, 0);
	assert_int_equal(s.shm_bytes_used, 0);
	assert_int_equal(w->joins, w->leaves);
	assert_int_equal(w->links, 0);
}
