/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two cms over a link that loses, doubles and swaps messages, with both sides calling at random.
 * Whatever happens, in the end the two sides agree, and once all ids are given back nothing is
 * left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm_world.h"

#define SEEDS   12
#define STEPS   60
#define ACTIVES 24

static struct world *w;
static struct cm_id *actives[ACTIVES];
static unsigned int n_actives;

static void start_one(void)
{
	struct cm_connect_params params;
	struct cm_id *id;

	if (n_actives == ACTIVES)
		return;
	world_params(w, SIDE_A, &params);
	id = cm_id_create(w->node[SIDE_A].cm, w);
	assert_non_null(id);
	assert_int_equal(cm_connect(w->node[SIDE_A].cm, id, &params, w->now_ns), 0);
	actives[n_actives++] = id;
}

/* Data came on id_b's QP: the other end must be established for that. */
static bool data_came(const struct cm_id *id_b)
{
	struct cm_qp_params qp_a;
	struct cm_qp_params qp_b;
	unsigned int i;

	if (cm_id_qp_params(id_b, &qp_b))
		return false;
	for (i = 0; i < n_actives; i++)
		if (cm_id_state(actives[i]) == CM_ESTABLISHED &&
			!cm_id_qp_params(actives[i], &qp_a) && qp_a.local_qpn == qp_b.remote_qpn)
			return true;
	return false;
}

/* Calls that may not fit the state: then they must say so and do nothing. */
static void call_one(uint64_t *seed)
{
	struct cm_accept_params accept = {.qpn = w->node[SIDE_B].next_qpn++};
	struct node *node_b = &w->node[SIDE_B];
	struct cm *cm_a = w->node[SIDE_A].cm;
	struct cm_id *id_a = n_actives ? actives[world_random(seed) % n_actives] : NULL;
	struct cm_id *id_b =
		node_b->n_news ? node_b->news[world_random(seed) % node_b->n_news] : NULL;
	uint32_t what = world_random(seed) % 8;

	if (id_a && what < 2)
		cm_disconnect(cm_a, id_a, NULL, 0, w->now_ns);
	else if (id_a && what == 2)
		cm_mra(cm_a, id_a, 20, w->now_ns);
	else if (id_b && what == 3)
		cm_disconnect(node_b->cm, id_b, NULL, 0, w->now_ns);
	else if (id_b && what == 4)
		cm_accept(node_b->cm, id_b, &accept, w->now_ns);
	else if (id_b && what == 5 && cm_id_state(id_b) == CM_REQ_RCVD)
		cm_reject(node_b->cm, id_b, CM_REJ_CONSUMER, NULL, 0, w->now_ns);
	else if (id_b && what == 6 && data_came(id_b))
		cm_comm_established(node_b->cm, id_b, w->now_ns);
	else if (id_b && what == 7)
		cm_mra(node_b->cm, id_b, 20, w->now_ns);
}

static void step(uint64_t *seed)
{
	static const enum req_mode req_modes[] = {REQ_ACCEPT, REQ_ACCEPT, REQ_REJECT, REQ_HOLD};
	static const enum rep_mode rep_modes[] = {
		REP_ESTABLISH, REP_ESTABLISH, REP_REJECT, REP_ESTABLISH};

	w->node[SIDE_A].n_seen = 0;
	w->node[SIDE_B].n_seen = 0;
	w->node[SIDE_B].on_req = req_modes[world_random(seed) % 4];
	w->node[SIDE_A].on_rep = rep_modes[world_random(seed) % 4];
	if (world_random(seed) % 2)
		start_one();
	else
		call_one(seed);
	world_run(w, world_random(seed) % 4 * SECOND_NS);
}

static unsigned int count_state(struct cm_id **ids, unsigned int n, enum cm_state state)
{
	unsigned int found = 0;
	unsigned int i;

	for (i = 0; i < n; i++)
		found += cm_id_state(ids[i]) == state;
	return found;
}

static void destroy_all(void)
{
	struct node *node_b = &w->node[SIDE_B];
	unsigned int i;

	for (i = 0; i < n_actives; i++)
		cm_id_destroy(w->node[SIDE_A].cm, actives[i], w->now_ns);
	for (i = 0; i < node_b->n_news; i++)
		cm_id_destroy(node_b->cm, node_b->news[i], w->now_ns);
}

/* All is quiet: no one waits, and both sides count the same connections. */
static void expect_agreement(void)
{
	struct node *node_b = &w->node[SIDE_B];

	world_run(w, 300 * SECOND_NS);
	w->node[SIDE_A].n_seen = 0;
	node_b->n_seen = 0;
	assert_int_equal(count_state(actives, n_actives, CM_ESTABLISHED),
		count_state(node_b->news, node_b->n_news, CM_ESTABLISHED));
	assert_int_equal(count_state(actives, n_actives, CM_DREQ_SENT), 0);
	assert_int_equal(count_state(actives, n_actives, CM_TIMEWAIT), 0);
	assert_int_equal(count_state(node_b->news, node_b->n_news, CM_REP_SENT), 0);
	assert_int_equal(count_state(node_b->news, node_b->n_news, CM_DREQ_SENT), 0);
	assert_int_equal(count_state(node_b->news, node_b->n_news, CM_TIMEWAIT), 0);
}

static void run_seed(uint64_t seed)
{
	unsigned int i;

	w = world_new(NULL);
	n_actives = 0;
	world_listen(w, SIDE_B, 0);
	w->seed = seed;
	for (i = 0; i < STEPS; i++)
		step(&seed);
	w->seed = 0;
	w->node[SIDE_A].n_seen = 0;
	w->node[SIDE_B].n_seen = 0;
	expect_agreement();
	w->seed = seed;
	destroy_all();
	world_run(w, 300 * SECOND_NS);
	assert_int_equal(world_stats(w, SIDE_A).ids, 0);
	assert_int_equal(world_stats(w, SIDE_A).orphans, 0);
	assert_int_equal(world_stats(w, SIDE_B).half_open, 0);
	assert_int_equal(cm_next_ns(w->node[SIDE_A].cm), UINT64_MAX);
	world_free(w);
}

static void test_random(void **state)
{
	uint64_t seed;

	(void)state;
	for (seed = 1; seed <= SEEDS; seed++)
		run_seed(seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};

	return cmocka_run_group_tests_name("cm-random", tests, NULL, NULL);
}
