/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which queue pairs do more than the specification (docs/multipath.md): those whose peers agree by connection
 * management, or are listed and were connected without it, and no others. Seen by the acknowledgements they send.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cm_host.h"
#include "wire_cm_ext.h"

#define EXT_AT    (VD_MAD_BYTES - WIRE_CM_EXT_BYTES)
#define MAD_TYPE  17
#define PORT      7174
#define LONG_REPLY 181 /* one more than leaves room */

struct pair {
	struct wx_world *w;
	struct host server, client;
	uint32_t l, c, s;
};

static void start(struct pair *p, const struct vd_multipath *multipath)
{
	memset(p, 0, sizeof(*p));
	p->w = wx_new_multipath(multipath);
	host_start(p->w, &p->server);
	host_start(p->w, &p->client);
}

static void stop(struct pair *p)
{
	host_stop(&p->server);
	host_stop(&p->client);
	wx_expect_empty(p->w);
	wx_free(p->w);
}

static struct vd_stats stats_of(struct pair *p)
{
	struct vd_stats stats;

	wx_stats(p->w, &stats);
	return stats;
}

/* Selective acknowledgements of all queue pairs, and those that came to one that has not agreed. */
static uint64_t sacks(const struct pair *p)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < WX_WORKERS; i++)
		n += tp_counters(p->w->worker[i].tp)->sacks_sent;
	return n;
}

static uint64_t unagreed(const struct pair *p)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < WX_WORKERS; i++)
		n += tp_counters(p->w->worker[i].tp)->unagreed;
	return n;
}

static uint64_t merged(const struct pair *p)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < WX_WORKERS; i++)
		n += tp_counters(p->w->worker[i].tp)->merged_messages;
	return n;
}

static void assert_zeros(const uint8_t *at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(at[i], 0);
}

/* Up to the REP; the passive side is brought up first, as librdmacm does it. */
static void ask(struct pair *p, const char *reply)
{
	struct vc_cm_event event;

	p->l = listener(&p->server, 10, 0, PORT);
	p->c = resolved(&p->client, 20, PORT);
	assert_int_equal(conn_call(&p->client, VC_CM_CONNECT, p->c, 0, "hello"), 0);
	event = expect_event(&p->server, 10, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	p->s = event.new_id;
	assert_memory_equal(event.param.private_data, "hello", 5);
	assert_zeros(event.param.private_data + 5, event.param.private_bytes - 5);
	bring_up(&p->server, p->s);
	assert_int_equal(conn_call(&p->server, VC_CM_ACCEPT, p->s, 11, reply), 0);
	event = expect_event(&p->client, 20, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	assert_memory_equal(event.param.private_data, reply, strlen(reply));
	assert_zeros(event.param.private_data + strlen(reply), event.param.private_bytes - (uint32_t)strlen(reply));
}

static void connect_pair(struct pair *p, const char *reply)
{
	ask(p, reply);
	bring_up(&p->client, p->c);
	assert_int_equal(wx_object(&p->client.cm, VC_CM_ESTABLISH, p->c, NULL), 0);
	expect_event(&p->server, 11, RDMA_CM_EVENT_ESTABLISHED, 0);
}

static void talk(struct pair *p)
{
	send_text(&p->client, &p->server, "ping");
	send_text(&p->server, &p->client, "pong");
}

static const struct vd_multipath negotiating = {.negotiate = true};
static const struct vd_multipath off = {.negotiate = false};

/* 192.0.2.0/24, where all of the world is. */
static struct vd_multipath listing(bool negotiate, uint8_t third)
{
	struct vd_multipath m = {.negotiate = negotiate, .n_peers = 1};

	m.peers[0] = (struct vd_peers){.network = {{{[10] = 0xff, [11] = 0xff, [12] = 192, [13] = 0, [14] = third}}, 24},
		.without_cm = true, .max_planes = TP_MAX_PLANES - 1};
	return m;
}

/* ---- by connection management ---- */

static void agreed(void **state)
{
	struct pair p;

	(void)state;
	start(&p, &negotiating);
	connect_pair(&p, "welcome");
	talk(&p);
	assert_int_equal(stats_of(&p).multipath_offered, 1);
	assert_int_equal(stats_of(&p).multipath_agreed, 2);
	assert_int_equal(stats_of(&p).multipath_mismatches, 0);
	assert_true(sacks(&p) >= 2);
	assert_int_equal(unagreed(&p), 0);
	stop(&p);
}

/* Three at once; how many of them went together. */
static uint64_t send_three(struct pair *p)
{
	struct tp_sge source = {(uintptr_t)p->client.buf, 8, p->client.key}, sink = {(uintptr_t)p->server.buf, 8, p->server.key};
	uint64_t before = merged(p);

	for (int i = 0; i < 3; i++) {
		wx_post_recv(&p->server.qp, 1, 1, &sink);
		wx_post(&p->client.qp,
			&(struct tp_send_wqe){.wr_id = 2, .opcode = TP_WR_SEND, .num_sge = 1, .flags = TP_SEND_SIGNALED},
			&source, NULL);
	}
	wx_pump(p->w);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(wx_poll(&p->client.cq)->status, TP_WC_SUCCESS);
		assert_int_equal(wx_poll(&p->server.cq)->status, TP_WC_SUCCESS);
	}
	return merged(p) - before;
}

/* Short messages are merged if the configuration says so: for all, and for those of a network. */
static void merging(void **state)
{
	struct vd_multipath multipath[] = {negotiating, negotiating, listing(true, 2), listing(true, 2)};
	const uint64_t expected[] = {0, 3, 0, 3};
	struct pair p;

	(void)state;
	multipath[1].merge.max_bytes = multipath[2].merge.max_bytes = multipath[3].peers[0].merge.max_bytes = 100;
	for (size_t i = 0; i < sizeof(multipath) / sizeof(multipath[0]); i++) {
		start(&p, &multipath[i]);
		connect_pair(&p, "welcome");
		assert_int_equal(stats_of(&p).multipath_agreed, 2);
		assert_int_equal(send_three(&p), expected[i]);
		assert_int_equal(unagreed(&p), 0);
		stop(&p);
	}
}

static uint32_t offers, answers;

static void count_offers(uint8_t mad[VD_MAD_BYTES])
{
	bool offer = memcmp(mad + EXT_AT, "rced", 4) == 0;

	offers += offer && mad[MAD_TYPE] == WIRE_CM_REQ;
	answers += offer && mad[MAD_TYPE] == WIRE_CM_REP;
}

static void not_wanted(void **state)
{
	struct pair p;

	(void)state;
	offers = answers = 0;
	start(&p, &off);
	p.w->tamper = count_offers;
	connect_pair(&p, "welcome");
	talk(&p);
	assert_int_equal(stats_of(&p).multipath_agreed, 0);
	assert_int_equal(sacks(&p), 0);
	assert_int_equal(offers + answers, 0);
	stop(&p);
}

static void foreign_request(uint8_t mad[VD_MAD_BYTES])
{
	if (mad[MAD_TYPE] == WIRE_CM_REQ)
		memset(mad + EXT_AT, 0, WIRE_CM_EXT_BYTES);
	count_offers(mad);
}

/* A peer that has not offered it is not answered that we would. */
static void foreign_client(void **state)
{
	struct pair p;

	(void)state;
	offers = answers = 0;
	start(&p, &negotiating);
	p.w->tamper = foreign_request;
	connect_pair(&p, "welcome");
	talk(&p);
	assert_int_equal(stats_of(&p).multipath_offered, 1);
	assert_int_equal(stats_of(&p).multipath_agreed, 0);
	assert_int_equal(answers, 0);
	assert_int_equal(sacks(&p), 0);
	stop(&p);
}

/* A reply whose consumer needs all the room: the queue pair, up already, does without. */
static void no_room_in_reply(void **state)
{
	char reply[LONG_REPLY + 1];
	struct pair p;

	(void)state;
	memset(reply, 'x', LONG_REPLY);
	reply[LONG_REPLY] = '\0';
	start(&p, &negotiating);
	connect_pair(&p, reply);
	talk(&p);
	assert_int_equal(stats_of(&p).multipath_left, 1);
	assert_int_equal(sacks(&p), 0);
	assert_int_equal(unagreed(&p), 0);
	stop(&p);
}

static void cut_answer(uint8_t mad[VD_MAD_BYTES])
{
	if (mad[MAD_TYPE] == WIRE_CM_REP)
		memset(mad + EXT_AT, 0, WIRE_CM_EXT_BYTES);
}

/* One end does it and the other does not: the sender's retries end it, with a count, and nothing hangs. */
static void one_end_only(void **state)
{
	struct tp_sge source, sink;
	const struct tp_cqe *cqe = NULL;
	struct pair p;

	(void)state;
	start(&p, &negotiating);
	p.w->tamper = cut_answer;
	connect_pair(&p, "welcome");
	assert_int_equal(stats_of(&p).multipath_agreed, 1);
	source = (struct tp_sge){(uintptr_t)p.client.buf, 8, p.client.key};
	sink = (struct tp_sge){(uintptr_t)p.server.buf, 8, p.server.key};
	wx_post_recv(&p.server.qp, 1, 1, &sink);
	wx_post(&p.client.qp,
		&(struct tp_send_wqe){.wr_id = 2, .opcode = TP_WR_SEND, .num_sge = 1, .flags = TP_SEND_SIGNALED},
		&source, NULL);
	for (uint32_t i = 0; i < 100 && cqe == NULL; i++) {
		wx_pass(p.w, 10000 * WX_MS);
		cqe = wx_poll(&p.client.cq);
	}
	assert_non_null(cqe);
	assert_int_equal(cqe->status, TP_WC_RETRY_EXC_ERR);
	assert_true(unagreed(&p) > 0);
	stop(&p);
}

/* The client agreed and then did not bring its queue pair up as its connection says. */
static void mismatch_is_told(void **state)
{
	struct pair p;
	uint32_t lines;

	(void)state;
	start(&p, &negotiating);
	ask(&p, "welcome");
	lines = p.w->log_lines;
	assert_int_equal(wx_object(&p.client.cm, VC_CM_ESTABLISH, p.c, NULL), 0);
	assert_int_equal(stats_of(&p).multipath_mismatches, 1);
	assert_int_equal(p.w->log_lines, lines + 1);
	stop(&p);
}

/* A queue pair that was reset is an ordinary one till it is agreed again. */
static void reset_forgets(void **state)
{
	struct vc_qp_attr attr = {.mask = TP_QP_STATE, .state = TP_QPS_RESET};
	struct pair p;
	uint64_t before;

	(void)state;
	start(&p, &negotiating);
	connect_pair(&p, "welcome");
	talk(&p);
	assert_int_equal(wx_modify(&p.client.qp, &attr), 0);
	assert_int_equal(wx_modify(&p.server.qp, &attr), 0);
	before = sacks(&p);
	/* to another peer than that of the connection: itself */
	wx_up(&p.client.qp, p.client.qp.qpn);
	send_text(&p.client, &p.client, "alone");
	assert_int_equal(sacks(&p), before);
	stop(&p);
}

/* ---- by configuration ---- */

static void listed(void **state)
{
	struct vd_multipath multipath = listing(false, 2);
	struct pair p;

	(void)state;
	start(&p, &multipath);
	wx_up(&p.client.qp, p.server.qp.qpn);
	wx_up(&p.server.qp, p.client.qp.qpn);
	talk(&p);
	assert_int_equal(stats_of(&p).multipath_listed, 2);
	assert_true(sacks(&p) >= 2);
	stop(&p);
}

static void not_listed(void **state)
{
	struct vd_multipath multipath = listing(true, 3);
	struct pair p;

	(void)state;
	start(&p, &multipath);
	wx_up(&p.client.qp, p.server.qp.qpn);
	wx_up(&p.server.qp, p.client.qp.qpn);
	talk(&p);
	assert_int_equal(stats_of(&p).multipath_listed, 0);
	assert_int_equal(sacks(&p), 0);
	stop(&p);
}

/* Who was asked and has not agreed does not, whatever the list says. */
static void answer_before_list(void **state)
{
	struct vd_multipath multipath = listing(false, 2);
	struct pair p;

	(void)state;
	start(&p, &multipath);
	connect_pair(&p, "welcome");
	talk(&p);
	assert_int_equal(stats_of(&p).multipath_listed, 0);
	assert_int_equal(sacks(&p), 0);
	stop(&p);
}

static void brought_up(struct pair *p, const struct vd_multipath *multipath, bool by_cm)
{
	start(p, multipath);
	if (by_cm) {
		connect_pair(p, "welcome");
	} else {
		wx_up(&p->client.qp, p->server.qp.qpn);
		wx_up(&p->server.qp, p->client.qp.qpn);
	}
	talk(p);
}

static void expect_paths(struct pair *p, const char *scheduler, uint32_t n_evs)
{
	struct vd_qp_paths first;

	assert_int_equal(vd_next_paths(p->w->vd, 0, &first), 0);
	assert_string_equal(first.paths.scheduler, scheduler);
	assert_int_equal(first.paths.n, n_evs);
}

/* What is said of a network is for its hosts, however the connection is made; the smallest network counts. */
static void networks_have_their_own_paths(void **state)
{
	struct vd_multipath multipath = listing(true, 2);
	struct pair p;

	(void)state;
	multipath.n_peers = 3;
	multipath.peers[1] = multipath.peers[2] = multipath.peers[0];
	for (uint32_t i = 0; i < 3; i++)
		path_sched_config_default(&multipath.peers[i].sched);
	multipath.peers[0].network.prefix_len = 16;
	multipath.peers[0].network.addr.b[14] = 0;
	multipath.peers[0].sched.kind = PATH_SCHED_BITMAP;
	multipath.peers[1].sched.kind = PATH_SCHED_REPS;
	multipath.peers[1].sched.n_evs = 16;
	multipath.peers[2].network.addr.b[14] = 3;
	for (int by_cm = 0; by_cm < 2; by_cm++) {
		brought_up(&p, &multipath, by_cm != 0);
		expect_paths(&p, "reps", 16);
		stop(&p);
	}
}

/* Not all hosts of the network do it, so only the connection manager can tell. */
static void settings_are_no_list(void **state)
{
	struct vd_multipath multipath = listing(true, 2);
	struct pair p;

	(void)state;
	path_sched_config_default(&multipath.peers[0].sched);
	multipath.peers[0].sched.n_evs = 4;
	multipath.peers[0].without_cm = false;
	brought_up(&p, &multipath, false);
	assert_int_equal(stats_of(&p).multipath_listed, 0);
	assert_int_equal(sacks(&p), 0);
	stop(&p);
	brought_up(&p, &multipath, true);
	expect_paths(&p, "adaptive", 4);
	stop(&p);
}

/* An unreliable connection has nothing to acknowledge. */
static void only_reliable(void **state)
{
	struct vd_multipath multipath = listing(true, 2);
	struct pair p;

	(void)state;
	start(&p, &multipath);
	wx_make_qp_of(&p.server.verbs, p.server.pd, &p.server.cq, IBV_QPT_UC, &p.server.qp);
	wx_make_qp_of(&p.client.verbs, p.client.pd, &p.client.cq, IBV_QPT_UC, &p.client.qp);
	wx_up(&p.client.qp, p.server.qp.qpn);
	wx_up(&p.server.qp, p.client.qp.qpn);
	talk(&p);
	assert_int_equal(stats_of(&p).multipath_listed, 0);
	assert_int_equal(sacks(&p), 0);
	stop(&p);
}

/* ---- what is told of paths ---- */

static void paths_are_told(void **state)
{
	struct vd_qp_paths first, second;
	struct wire_addr own;
	struct pair p;
	uint64_t sent = 0;

	(void)state;
	start(&p, &negotiating);
	assert_int_equal(vd_next_paths(p.w->vd, 0, &first), -ENOENT);
	connect_pair(&p, "welcome");
	talk(&p);
	assert_int_equal(vd_next_paths(p.w->vd, 0, &first), 0);
	assert_int_equal(vd_next_paths(p.w->vd, first.qpn + 1, &second), 0);
	assert_int_equal(vd_next_paths(p.w->vd, second.qpn + 1, &first), -ENOENT);
	assert_int_equal(vd_next_paths(p.w->vd, second.qpn, &first), 0);
	assert_int_equal(first.qpn, second.qpn);
	wx_addr4(0, &own);
	assert_memory_equal(&first.peer, &own, sizeof(own));
	assert_string_equal(first.device, "roced0");
	assert_int_equal(first.pid, getpid());
	assert_string_equal(first.paths.scheduler, "adaptive");
	assert_int_equal(first.paths.n, 64);
	for (uint32_t i = 0; i < first.paths.n; i++)
		sent += first.paths.path[i].sent;
	assert_int_equal(sent, 1);
	stop(&p);
}

static uint64_t sent_by(const struct vd_qp_told *told)
{
	return told->stats.counters.tx_pkts;
}

/* Queue pairs in order of their numbers, page by page, with what each has counted; and the clients that have them. */
static void all_are_told(void **state)
{
	struct vd_qp_told told[4], second[1];
	struct vd_client_told clients[8];
	uint32_t all, n, n_verbs = 0;
	struct pair p;

	(void)state;
	start(&p, &negotiating);
	assert_int_equal(vd_tell_qps(p.w->vd, 0, told, 4, &all), 2);
	assert_int_equal(told[0].stats.state, TP_QPS_RESET);
	assert_false(told[0].has_paths);
	connect_pair(&p, "welcome");
	talk(&p);
	assert_int_equal(vd_tell_qps(p.w->vd, 0, told, 4, &all), 2);
	assert_int_equal(all, 2);
	assert_true(told[0].qpn < told[1].qpn);
	assert_int_equal(told[0].peer_qpn, told[1].qpn);
	assert_int_equal(told[1].peer_qpn, told[0].qpn);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(told[i].type, TP_QPT_RC);
		assert_int_equal(told[i].stats.state, TP_QPS_RTS);
		assert_int_equal(told[i].pid, getpid());
		assert_string_equal(told[i].device, "roced0");
		assert_true(told[i].has_paths && told[i].paths.n == 64);
		assert_true(sent_by(&told[i]) >= 2 && told[i].stats.counters.rx_pkts >= 2);
	}
	assert_int_equal(vd_tell_qps(p.w->vd, 1, second, 1, &all), 1);
	assert_int_equal(second[0].qpn, told[1].qpn);
	assert_int_equal(vd_tell_qps(p.w->vd, 2, second, 1, &all), 0);
	assert_int_equal(all, 2);
	n = vd_tell_clients(p.w->vd, 0, clients, 8, &all);
	assert_int_equal(n, all);
	for (uint32_t i = 0; i < n; i++) {
		n_verbs += !clients[i].cm;
		assert_int_equal(clients[i].qps, !clients[i].cm);
		assert_int_equal(clients[i].cm_ids != 0, clients[i].cm);
		assert_true(clients[i].cm || (clients[i].mrs != 0 && clients[i].registered_bytes != 0 && clients[i].ring_bytes != 0));
	}
	assert_int_equal(n_verbs, 2);
	assert_int_equal(vd_tell_clients(p.w->vd, 1, clients, 1, &all), 1);
	stop(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agreed),
		cmocka_unit_test(merging),
		cmocka_unit_test(not_wanted),
		cmocka_unit_test(foreign_client),
		cmocka_unit_test(no_room_in_reply),
		cmocka_unit_test(one_end_only),
		cmocka_unit_test(mismatch_is_told),
		cmocka_unit_test(reset_forgets),
		cmocka_unit_test(listed),
		cmocka_unit_test(not_listed),
		cmocka_unit_test(answer_before_list),
		cmocka_unit_test(networks_have_their_own_paths),
		cmocka_unit_test(settings_are_no_list),
		cmocka_unit_test(only_reliable),
		cmocka_unit_test(paths_are_told),
		cmocka_unit_test(all_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
