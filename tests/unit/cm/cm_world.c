/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm_world.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define STEPS_MAX 100000

static const uint8_t req_private[] = "request";
static const uint8_t rep_private[] = "reply";
static const uint8_t rtu_private[] = "ready";
static const uint8_t rej_private[] = "no";

static int mad_type(const uint8_t *mad)
{
	return mad[16] << 8 | mad[17];
}

uint32_t world_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*seed >> 33);
}

/* How often a message goes into the pipe. */
static unsigned int apply_rules(struct world *w, int from, int type)
{
	unsigned int i;

	for (i = 0; i < w->n_rules; i++) {
		struct rule *rule = &w->rules[i];

		if (rule->from != from || (int)rule->type != type || !rule->times)
			continue;
		rule->times--;
		return rule->what == RULE_LOSE ? 0 : 2;
	}
	if (w->seed && world_random(&w->seed) % 4 == 0)
		return world_random(&w->seed) % 2 ? 0 : 2;
	return 1;
}

/* The last two messages change places. */
static void swap_last(struct world *w)
{
	struct packet *last = &w->queue[(w->tail - 1) % WORLD_QUEUE];
	struct packet *before = &w->queue[(w->tail - 2) % WORLD_QUEUE];
	struct packet tmp = *last;

	*last = *before;
	*before = tmp;
}

static int send_mad(void *env, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES])
{
	struct node *node = env;
	struct world *w = node->world;
	int type = mad_type(mad);
	unsigned int copies = apply_rules(w, node->side, type);

	assert_memory_equal(&path->local, &node->addr, sizeof(node->addr));
	assert_ptr_equal(path->dev, node);
	assert_in_range(type, WIRE_CM_REQ, WIRE_CM_SIDR_REP);
	node->sent[type]++;
	if (w->send_fails)
		return -ENOBUFS;
	while (copies-- && !w->cut) {
		struct packet *pkt = &w->queue[w->tail++ % WORLD_QUEUE];

		assert_true(w->tail - w->head <= WORLD_QUEUE);
		pkt->from = node->side;
		pkt->path = *path;
		memcpy(pkt->mad, mad, CM_MAD_BYTES);
		if (w->tamper)
			w->tamper(pkt->mad);
	}
	if (w->seed && w->tail - w->head >= 2 && world_random(&w->seed) % 8 == 0)
		swap_last(w);
	return 0;
}

static void on_connect_request(struct node *node, const struct cm_event *ev)
{
	struct cm_accept_params params = {
		.qpn = node->next_qpn++,
		.starting_psn = 0xabc000,
		.responder_resources = 8,
		.initiator_depth = 8,
		.rnr_retry_count = 5,
		.ext = node->ext,
		.private_bytes = sizeof(rep_private),
		.private_data = rep_private,
	};
	static const uint8_t long_private[CM_REP_PRIVATE_BYTES] = {[CM_REP_PRIVATE_BYTES - 1] = 7};
	uint64_t now_ns = node->world->now_ns;

	if (node->rep_bytes != 0) {
		params.private_bytes = node->rep_bytes;
		params.private_data = long_private;
	}

	switch (node->on_req) {
	case REQ_ACCEPT:
		assert_int_equal(cm_accept(node->cm, ev->id, &params, now_ns), 0);
		break;
	case REQ_REJECT:
		assert_int_equal(cm_reject(node->cm, ev->id, CM_REJ_CONSUMER, rej_private,
					 sizeof(rej_private), now_ns),
			0);
		break;
	case REQ_DESTROY:
		cm_id_destroy(node->cm, ev->id, now_ns);
		break;
	case REQ_HOLD:
		break;
	}
}

static void on_connect_response(struct node *node, const struct cm_event *ev)
{
	uint64_t now_ns = node->world->now_ns;

	switch (node->on_rep) {
	case REP_ESTABLISH:
		assert_int_equal(
			cm_establish(node->cm, ev->id, rtu_private, sizeof(rtu_private), now_ns),
			0);
		break;
	case REP_REJECT:
		assert_int_equal(cm_reject(node->cm, ev->id, CM_REJ_CONSUMER, rej_private,
					 sizeof(rej_private), now_ns),
			0);
		break;
	case REP_DESTROY:
		cm_id_destroy(node->cm, ev->id, now_ns);
		break;
	case REP_HOLD:
		break;
	}
}

static void note_new(struct node *node, struct cm_id *id)
{
	assert_true(node->n_news < WORLD_NEWS);
	node->last_new = id;
	node->news[node->n_news++] = id;
}

static void on_event(void *env, const struct cm_event *ev)
{
	struct node *node = env;
	struct seen_event *seen = &node->seen[node->n_seen++];

	assert_true(node->n_seen <= WORLD_EVENTS);
	seen->ev = *ev;
	seen->at_ns = node->world->now_ns;
	memcpy(seen->private_data, ev->private_data ? ev->private_data : (const uint8_t *)"",
		ev->private_data ? ev->private_bytes : 0);
	seen->ev.private_data = seen->private_data;
	if (ev->type == CM_EVENT_CONNECT_REQUEST || ev->type == CM_EVENT_SIDR_REQUEST)
		note_new(node, ev->id);
	if (ev->type == CM_EVENT_CONNECT_REQUEST)
		on_connect_request(node, ev);
	else if (ev->type == CM_EVENT_CONNECT_RESPONSE)
		on_connect_response(node, ev);
	else if (ev->type == CM_EVENT_DISCONNECTED && node->destroy_on_disconnect)
		cm_id_destroy(node->cm, ev->id, node->world->now_ns);
}

static const struct cm_ops ops = {.send_mad = send_mad, .event = on_event};

static struct wire_addr addr_of(int side)
{
	struct wire_addr addr = {{[10] = 0xff, 0xff, 10, 9, 0, (uint8_t)(side + 1)}};

	return addr;
}

struct world *world_new(const struct cm_config *given)
{
	struct world *w = calloc(1, sizeof(*w));
	struct cm_config config;
	int side;

	assert_non_null(w);
	cm_config_default(&config);
	if (given)
		config = *given;
	w->now_ns = 5 * SECOND_NS;
	for (side = SIDE_A; side <= SIDE_B; side++) {
		struct node *node = &w->node[side];

		node->world = w;
		node->side = side;
		node->addr = addr_of(side);
		node->next_qpn = side == SIDE_A ? 0x11 : 0x211;
		config.ca_guid = 0x505400fffe000001u + (unsigned int)side;
		config.seed = 77u + (unsigned int)side;
		assert_int_equal(cm_create(&config, &ops, node, w->now_ns, &node->cm), 0);
	}
	return w;
}

void world_free(struct world *w)
{
	cm_destroy(w->node[SIDE_A].cm);
	cm_destroy(w->node[SIDE_B].cm);
	free(w);
}

void world_rule(
	struct world *w, int from, enum wire_cm_type type, enum rule_what what, unsigned int times)
{
	assert_true(w->n_rules < WORLD_RULES);
	w->rules[w->n_rules++] = (struct rule){from, type, what, times};
}

/* The path as the receiver sees it: for its answer. */
static void deliver(struct world *w, int to, const struct cm_path *sent, const uint8_t *mad)
{
	struct node *node = &w->node[to];
	struct cm_path path = {
		.dev = node,
		.local = sent->remote,
		.remote = sent->local,
		.tos = sent->tos,
		.hop_limit = sent->hop_limit,
	};

	cm_rx(node->cm, &path, mad, CM_MAD_BYTES, w->now_ns);
}

void world_run(struct world *w, uint64_t ns)
{
	uint64_t end_ns = w->now_ns + ns;
	unsigned int steps;

	for (steps = 0; steps < STEPS_MAX; steps++) {
		uint64_t next_ns;

		while (w->head != w->tail) {
			struct packet pkt = w->queue[w->head++ % WORLD_QUEUE];

			deliver(w, !pkt.from, &pkt.path, pkt.mad);
			assert_true(++steps < STEPS_MAX);
		}
		next_ns = cm_next_ns(w->node[SIDE_A].cm);
		if (cm_next_ns(w->node[SIDE_B].cm) < next_ns)
			next_ns = cm_next_ns(w->node[SIDE_B].cm);
		if (next_ns <= w->now_ns)
			next_ns = w->now_ns + 4096;
		if (next_ns > end_ns)
			break;
		w->now_ns = next_ns;
		cm_advance(w->node[SIDE_A].cm, w->now_ns);
		cm_advance(w->node[SIDE_B].cm, w->now_ns);
	}
	assert_true(steps < STEPS_MAX);
	w->now_ns = end_ns;
}

struct cm_path world_path(struct world *w, int from)
{
	struct cm_path path = {
		.dev = &w->node[from],
		.local = w->node[from].addr,
		.remote = w->node[!from].addr,
	};

	return path;
}

void world_inject(struct world *w, int to, const uint8_t mad[CM_MAD_BYTES])
{
	struct cm_path path = world_path(w, !to);

	deliver(w, to, &path, mad);
}

void world_params(struct world *w, int from, struct cm_connect_params *params)
{
	*params = (struct cm_connect_params){
		.path = world_path(w, from),
		.hello = {.present = true,
			.src = w->node[from].addr,
			.dst = w->node[!from].addr,
			.src_port = 40000},
		.service_id = SERVICE,
		.qpn = w->node[from].next_qpn++,
		.starting_psn = 0x123456,
		.qp_type = CM_QP_RC,
		.responder_resources = 4,
		.initiator_depth = 16,
		.retry_count = 7,
		.rnr_retry_count = 6,
		.path_mtu = 3,
		.ext = w->node[from].ext,
		.private_bytes = sizeof(req_private),
		.private_data = req_private,
	};
}

struct cm_id *world_listen(struct world *w, int side, uint32_t backlog)
{
	struct cm *cm = w->node[side].cm;
	struct cm_id *id = cm_id_create(cm, &w->node[side]);

	assert_non_null(id);
	assert_int_equal(cm_listen(cm, id, SERVICE, NULL, NULL, backlog), 0);
	return id;
}

void world_connect(struct world *w, struct cm_id **a, struct cm_id **b)
{
	struct cm_connect_params params;

	world_params(w, SIDE_A, &params);
	*a = cm_id_create(w->node[SIDE_A].cm, w);
	assert_non_null(*a);
	assert_int_equal(cm_connect(w->node[SIDE_A].cm, *a, &params, w->now_ns), 0);
	world_run(w, MS_NS);
	if (b)
		*b = w->node[SIDE_B].last_new;
}

unsigned int world_count(const struct world *w, int side, enum cm_event_type type)
{
	unsigned int n = 0;
	unsigned int i;

	for (i = 0; i < w->node[side].n_seen; i++)
		n += w->node[side].seen[i].ev.type == type;
	return n;
}

const struct seen_event *world_last(const struct world *w, int side, enum cm_event_type type)
{
	unsigned int i;

	for (i = w->node[side].n_seen; i-- > 0;)
		if (w->node[side].seen[i].ev.type == type)
			return &w->node[side].seen[i];
	return NULL;
}

struct cm_stats world_stats(const struct world *w, int side)
{
	struct cm_stats stats;

	cm_get_stats(w->node[side].cm, &stats);
	return stats;
}
