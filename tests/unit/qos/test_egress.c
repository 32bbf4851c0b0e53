/* SPDX-License-Identifier: BSD-3-Clause */
/* Which packet goes next: guarantees, strict order, weights, ceilings and pauses, and what each class has in the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "qos_egress.h"

#define PACKET   1000u
#define RING     256u
#define GBPS     1000000000u
#define MS_NS    1000000u
#define BULK     0
#define TRAIN    1
#define CONTROL  2

/* Packets have nothing but a length and a class. */
struct world {
	struct qos_config config;
	struct qos_egress *e;
	struct rte_mbuf kind[QOS_MAX_CLASSES];
	uint64_t got[QOS_MAX_CLASSES]; /* bytes */
	uint64_t now_ns;
};

static void init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->config = (struct qos_config){.n_classes = 3, .packet_bytes = PACKET};
	for (uint8_t i = 0; i < QOS_MAX_CLASSES; i++) {
		w->config.classes[i] = (struct qos_class){.weight = 1, .queue_bytes = RING * PACKET, .priority = i};
		w->kind[i].pkt_len = PACKET;
	}
	w->now_ns = MS_NS;
}

static void make(struct world *w)
{
	uint8_t which;

	assert_null(qos_config_wrong(&w->config, &which));
	w->e = qos_egress_create(&w->config, RING, 1);
	assert_non_null(w->e);
}

static void fill(struct world *w, uint8_t class, uint32_t n)
{
	while (n-- > 0 && qos_egress_has_room(w->e, class, PACKET))
		assert_int_not_equal(qos_egress_put(w->e, class, &w->kind[class]), QOS_PUT_FULL);
}

static void drain(struct world *w, uint32_t max)
{
	struct rte_mbuf *pkts[RING];
	uint32_t n = qos_egress_get(w->e, pkts, max, w->now_ns);

	for (uint32_t i = 0; i < n; i++)
		w->got[pkts[i] - w->kind] += pkts[i]->pkt_len;
}

/* For so many milliseconds the queues of `classes` never run dry, and the port takes what there is every 5 us. */
static void run(struct world *w, uint32_t ms, uint32_t classes)
{
	for (uint64_t end_ns = w->now_ns + (uint64_t)ms * MS_NS; w->now_ns < end_ns; w->now_ns += 5000) {
		for (uint8_t i = 0; i < w->config.n_classes; i++) {
			if ((classes & 1u << i) != 0)
				fill(w, i, RING);
		}
		drain(w, 64);
	}
}

static void finish(struct world *w)
{
	qos_egress_pause(w->e, 0);
	while (qos_egress_queued(w->e) != 0) {
		w->now_ns += MS_NS;
		drain(w, 64);
	}
	qos_egress_destroy(w->e);
}

static uint64_t mbps(const struct world *w, uint8_t class, uint32_t ms)
{
	return w->got[class] * 8 / 1000 / ms;
}

#define ABOUT(value, want) assert_in_range(value, (want) - (want) / 50, (want) + (want) / 50)

static void weights_share_what_there_is(void **state)
{
	struct world w;

	(void)state;
	init(&w);
	w.config.rate_bps = GBPS;
	w.config.classes[BULK].weight = 3;
	w.config.classes[CONTROL].weight = 6;
	make(&w);
	run(&w, 100, 7);
	ABOUT(mbps(&w, BULK, 100), 300);
	ABOUT(mbps(&w, TRAIN, 100), 100);
	ABOUT(mbps(&w, CONTROL, 100), 600);
	finish(&w);
}

static void who_has_nothing_leaves_it_to_the_others(void **state)
{
	struct world w;

	(void)state;
	init(&w);
	w.config.rate_bps = GBPS;
	make(&w);
	run(&w, 100, 3);
	ABOUT(mbps(&w, BULK, 100), 500);
	ABOUT(mbps(&w, TRAIN, 100), 500);
	finish(&w);
}

static void packets_of_different_lengths_share_bytes(void **state)
{
	struct world w;

	(void)state;
	init(&w);
	w.config.rate_bps = GBPS;
	w.kind[TRAIN].pkt_len = 100;
	make(&w);
	run(&w, 100, 3);
	ABOUT(mbps(&w, BULK, 100), 500);
	ABOUT(mbps(&w, TRAIN, 100), 500);
	finish(&w);
}

static void strict_ones_go_first_in_their_order(void **state)
{
	struct rte_mbuf *pkts[6];
	struct world w;

	(void)state;
	init(&w);
	w.config.classes[TRAIN].strict = w.config.classes[CONTROL].strict = true;
	make(&w);
	fill(&w, BULK, 2);
	fill(&w, CONTROL, 2);
	fill(&w, TRAIN, 2);
	assert_int_equal(qos_egress_get(w.e, pkts, 6, w.now_ns), 6);
	for (int i = 0; i < 6; i++)
		assert_ptr_equal(pkts[i], &w.kind[i < 2 ? TRAIN : i < 4 ? CONTROL : BULK]);
	finish(&w);
}

/* Training keeps its 400 Mb/s, whatever weight and number of bulk packets there are, and shares the rest. */
static void a_guarantee_holds_against_bulk(void **state)
{
	struct world w;

	(void)state;
	init(&w);
	w.config.rate_bps = GBPS;
	w.config.classes[BULK].weight = 1000;
	w.config.classes[TRAIN].guaranteed_bps = 400000000u;
	make(&w);
	run(&w, 100, 3);
	ABOUT(mbps(&w, TRAIN, 100), 400);
	ABOUT(mbps(&w, BULK, 100), 600);
	finish(&w);
}

static void a_guarantee_holds_against_strict_classes(void **state)
{
	struct world w;

	(void)state;
	init(&w);
	w.config.rate_bps = GBPS;
	w.config.classes[BULK].strict = true;
	w.config.classes[TRAIN].guaranteed_bps = 100000000u;
	make(&w);
	run(&w, 100, 3);
	ABOUT(mbps(&w, TRAIN, 100), 100);
	ABOUT(mbps(&w, BULK, 100), 900);
	finish(&w);
}

static void nobody_is_above_the_ceiling(void **state)
{
	static const uint64_t rates[] = {10000000, 1000000000, 10000000000};

	(void)state;
	for (uint32_t i = 0; i < 3; i++) {
		struct world w;
		struct qos_class_stats stats;

		init(&w);
		w.config.classes[BULK].ceiling_bps = rates[i];
		make(&w);
		run(&w, 200, 1);
		ABOUT(mbps(&w, BULK, 200), rates[i] / 1000000);
		qos_egress_stats(w.e, BULK, &stats);
		assert_true(stats.delayed > 0);
		assert_int_equal(stats.sent_bytes, w.got[BULK]);
		finish(&w);
	}
}

static void a_paused_priority_waits_alone(void **state)
{
	struct world w;

	(void)state;
	init(&w);
	make(&w);
	fill(&w, BULK, 4);
	fill(&w, TRAIN, 4);
	qos_egress_pause(w.e, 1 << TRAIN);
	drain(&w, 64);
	assert_int_equal(w.got[BULK], 4 * PACKET);
	assert_int_equal(w.got[TRAIN], 0);
	assert_int_equal(qos_egress_backlog(w.e), 1 << TRAIN);
	assert_int_equal(qos_egress_sent(w.e), 1 << BULK);
	assert_int_equal(qos_egress_next_ns(w.e, w.now_ns), UINT64_MAX);
	qos_egress_pause(w.e, 0);
	assert_int_equal(qos_egress_next_ns(w.e, w.now_ns), 0);
	drain(&w, 64);
	assert_int_equal(w.got[TRAIN], 4 * PACKET);
	finish(&w);
}

/* 8 us a packet at 1 Gb/s. The burst is two packets and what 8 us carry. */
static void the_next_time_is_that_of_the_rate(void **state)
{
	struct world w;

	(void)state;
	init(&w);
	w.config.classes[BULK].ceiling_bps = GBPS;
	make(&w);
	fill(&w, BULK, 10);
	drain(&w, 64);
	assert_int_equal(w.got[BULK], 4 * PACKET);
	assert_int_equal(qos_egress_next_ns(w.e, w.now_ns), w.now_ns + 8000);
	finish(&w);
}

static void a_full_queue_refuses(void **state)
{
	struct qos_class_stats stats;
	struct world w;

	(void)state;
	init(&w);
	w.config.classes[BULK].queue_bytes = 3 * PACKET;
	make(&w);
	fill(&w, BULK, 3);
	assert_false(qos_egress_has_room(w.e, BULK, PACKET));
	assert_int_equal(qos_egress_put(w.e, BULK, &w.kind[BULK]), QOS_PUT_FULL);
	qos_egress_stats(w.e, BULK, &stats);
	assert_int_equal(stats.dropped, 1);
	assert_int_equal(stats.queued_bytes, 3 * PACKET);
	fill(&w, TRAIN, RING + 10);
	qos_egress_stats(w.e, TRAIN, &stats);
	assert_int_equal(stats.queued_packets, RING);
	assert_int_equal(qos_egress_fill(w.e, BULK), QOS_FULL);
	assert_int_equal(qos_egress_fill(w.e, TRAIN), QOS_FULL);
	assert_int_equal(qos_egress_fill(w.e, CONTROL), 0);
	w.kind[CONTROL].pkt_len = 1; /* packets count as well as bytes */
	fill(&w, CONTROL, RING / 4);
	assert_int_equal(qos_egress_fill(w.e, CONTROL), QOS_FULL / 4);
	finish(&w);
}

/* From 10 packets on to 20: a mean of 0.25 of each of these. */
static void long_queues_are_marked(void **state)
{
	struct world w;
	uint32_t marked = 0, sure = 0;

	(void)state;
	init(&w);
	w.config.classes[BULK].red = (struct qos_red){10 * PACKET, 20 * PACKET, 500};
	make(&w);
	for (uint32_t k = 0; k < 1000; k++) {
		for (uint32_t i = 0; i < 30; i++) {
			bool mark = qos_egress_put(w.e, BULK, &w.kind[BULK]) == QOS_PUT_MARK;

			assert_false(mark && i < 10);
			marked += mark && i < 20;
			sure += mark && i >= 20;
		}
		drain(&w, 64);
	}
	assert_int_equal(sure, 10000);
	assert_in_range(marked, 2000, 2500); /* 0, 5, ... 45 % of ten: 2.25 a round */
	finish(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_share_what_there_is),
		cmocka_unit_test(who_has_nothing_leaves_it_to_the_others),
		cmocka_unit_test(packets_of_different_lengths_share_bytes),
		cmocka_unit_test(strict_ones_go_first_in_their_order),
		cmocka_unit_test(a_guarantee_holds_against_bulk),
		cmocka_unit_test(a_guarantee_holds_against_strict_classes),
		cmocka_unit_test(nobody_is_above_the_ceiling),
		cmocka_unit_test(a_paused_priority_waits_alone),
		cmocka_unit_test(the_next_time_is_that_of_the_rate),
		cmocka_unit_test(a_full_queue_refuses),
		cmocka_unit_test(long_queues_are_marked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
