/* SPDX-License-Identifier: BSD-3-Clause */
/* The fabric: times, routes, marks, pauses, buffers and faults, each by figures worked out by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fabric.h"

#define MAX_SEEN 20000u
#define US_NS    1000u
#define MS_NS    1000000u

struct seen {
	struct fabric_packet packet;
	uint64_t at_ns;
};

struct world {
	struct fabric *fabric;
	uint64_t now_ns;
	struct seen seen[MAX_SEEN];
	uint32_t n_seen;
	uint32_t lost[FABRIC_LOSS_COUNT];
	uint32_t copies, readies;
	uint64_t ready_ns;
};

static void on_deliver(void *env, const struct fabric_packet *packet, uint64_t now_ns)
{
	struct world *w = env;

	assert_true(w->n_seen < MAX_SEEN);
	w->seen[w->n_seen].packet = *packet;
	w->seen[w->n_seen++].at_ns = now_ns;
}

static void on_lose(void *env, const struct fabric_packet *packet, enum fabric_loss why)
{
	(void)packet;
	((struct world *)env)->lost[why]++;
}

static void *on_copy(void *env, const struct fabric_packet *packet)
{
	((struct world *)env)->copies++;
	return packet->user;
}

static void on_ready(void *env, uint32_t host, uint64_t now_ns)
{
	(void)host;
	((struct world *)env)->readies++;
	((struct world *)env)->ready_ns = now_ns;
}

static const struct fabric_ops ops = {
	.deliver = on_deliver, .lose = on_lose, .copy = on_copy, .ready = on_ready};

/* Two leaves of two hosts, two spines. */
static void small(struct fabric_config *config)
{
	fabric_config_default(config);
	config->leaves = 2;
	config->spines = 2;
	config->hosts_per_leaf = 2;
}

static struct world *start(const struct fabric_config *config)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	assert_int_equal(fabric_create(config, &ops, w, 0, &w->fabric), 0);
	return w;
}

static void stop(struct world *w)
{
	fabric_destroy(w->fabric);
	free(w);
}

static void run(struct world *w, uint64_t ns)
{
	w->now_ns += ns;
	fabric_advance(w->fabric, w->now_ns);
}

static void send_bytes(struct world *w, uint32_t src, uint32_t dst, uint32_t flow, uint32_t bytes)
{
	struct fabric_packet packet = {.src = src, .dst = dst, .flow = flow, .bytes = bytes, .ect = true, .user = w};

	assert_int_equal(fabric_send(w->fabric, &packet, w->now_ns), 0);
}

static struct fabric_port_stats total(struct world *w)
{
	struct fabric_port_stats stats;

	fabric_stats(w->fabric, &stats);
	return stats;
}

/* 976 bytes and 24 around them at 100 Gb/s: 80 ns a link and 1 us of delay; two links within a leaf, four across. */
static void test_idle_times(void **state)
{
	struct fabric_config config;
	struct world *w;

	(void)state;
	small(&config);
	w = start(&config);
	send_bytes(w, 0, 1, 7, 976);
	run(w, MS_NS);
	send_bytes(w, 0, 3, 7, 976);
	run(w, MS_NS);
	assert_int_equal(w->n_seen, 2);
	assert_int_equal(w->seen[0].at_ns, 2 * 1080);
	assert_int_equal(w->seen[1].at_ns, MS_NS + 4 * 1080);
	assert_int_equal(fabric_idle_ns(w->fabric, 0, 1, 976), 2 * 1080);
	assert_int_equal(fabric_idle_ns(w->fabric, 0, 3, 976), 4 * 1080);
	assert_true(fabric_next_ns(w->fabric) == UINT64_MAX);
	stop(w);
}

/* Picoseconds count: 1,000 frames of 84 bytes on the wire, 6.72 ns each. */
static void test_rate_of_small_frames(void **state)
{
	struct fabric_config config;
	struct world *w;

	(void)state;
	small(&config);
	w = start(&config);
	for (int i = 0; i < 1000; i++)
		send_bytes(w, 0, 1, 7, 40);
	run(w, MS_NS);
	assert_int_equal(w->n_seen, 1000);
	assert_int_equal(w->seen[999].at_ns, 6720 + 7 + 2000);
	assert_int_equal(w->readies, 1);
	assert_int_equal(w->ready_ns, 6720);
	stop(w);
}

/* A flow keeps its way and its order; many flows use all ways. */
static void test_ecmp(void **state)
{
	struct fabric_port_stats stats;
	struct fabric_config config;
	uint64_t least = UINT64_MAX;
	struct world *w;

	(void)state;
	small(&config);
	config.spines = 4;
	w = start(&config);
	for (uint32_t i = 0; i < 64; i++)
		send_bytes(w, 0, 2, 5, 1000);
	run(w, MS_NS);
	for (uint32_t s = 0, used = 0; s < 4; s++) {
		assert_int_equal(fabric_link_stats(w->fabric, fabric_leaf_link(w->fabric, 0, s), 0, &stats), 0);
		assert_true(stats.tx_packets == 0 || stats.tx_packets == 64);
		used += stats.tx_packets != 0;
		assert_true(used <= 1);
	}
	for (uint32_t i = 0; i < 4000; i++)
		send_bytes(w, 0, 2, i, 100);
	run(w, MS_NS);
	for (uint32_t s = 0; s < 4; s++) {
		fabric_link_stats(w->fabric, fabric_leaf_link(w->fabric, 0, s), 0, &stats);
		least = stats.tx_packets < least ? stats.tx_packets : least;
	}
	assert_true(least > 850);
	stop(w);
}

/* All pairs of a three-tier fabric reach each other, over as many links as their places need. */
static void test_three_tiers(void **state)
{
	struct fabric_config config;
	uint32_t n = 0;
	struct world *w;

	(void)state;
	small(&config);
	config.pods = 3;
	config.cores_per_spine = 2;
	w = start(&config);
	assert_int_equal(fabric_n_hosts(w->fabric), 12);
	assert_int_equal(fabric_n_links(w->fabric), 12 + 6 * 2 + 6 * 2);
	for (uint32_t a = 0; a < 12; a++) {
		for (uint32_t b = 0; b < 12; b++) {
			uint32_t hops = a / 2 == b / 2 ? 2 : a / 4 == b / 4 ? 4 : 6;

			send_bytes(w, a, b, a * 31 + b, 976);
			run(w, MS_NS);
			assert_int_equal(w->n_seen, ++n);
			assert_int_equal(w->seen[n - 1].packet.dst, b);
			assert_int_equal(w->seen[n - 1].at_ns, w->now_ns - MS_NS + hops * 1080u);
		}
	}
	stop(w);
}

/* Two hosts at full rate into one: its queue grows by what does not fit, and is marked from the threshold on. */
static void test_marking(void **state)
{
	struct fabric_config config;
	uint32_t first_marked = 0;
	struct world *w;

	(void)state;
	small(&config);
	config.sw.ecn.min_bytes = config.sw.ecn.max_bytes = 20000;
	w = start(&config);
	for (int i = 0; i < 100; i++) {
		send_bytes(w, 0, 1, 1, 1000);
		send_bytes(w, 2, 1, 2, 1000);
	}
	run(w, MS_NS);
	assert_int_equal(w->n_seen, 200);
	while (!w->seen[first_marked].packet.ce)
		first_marked++;
	assert_in_range(first_marked, 20, 100);
	assert_true(total(w).marked > 20);
	assert_true(total(w).max_queue_bytes > 20000);
	stop(w);
}

/* Three at full rate into one: two of priority 3 and one of priority 5. Counts the marks of each. */
static void three_into_one(struct world *w, uint32_t marked[FABRIC_PRIORITIES])
{
	struct fabric_packet packet = {.dst = 0, .bytes = 1000, .ect = true};

	for (uint32_t i = 0; i < 300; i++) {
		packet.src = i % 3 + 1;
		packet.priority = packet.src == 1 ? 5 : 3;
		assert_int_equal(fabric_send(w->fabric, &packet, 0), 0);
	}
	run(w, 10 * MS_NS);
	assert_int_equal(w->n_seen, 300);
	memset(marked, 0, sizeof(marked[0]) * FABRIC_PRIORITIES);
	for (uint32_t i = 0; i < 300; i++)
		marked[w->seen[i].packet.priority] += w->seen[i].packet.ce;
}

/* Each is marked by thresholds of its own and by its own queue. The higher one is sent first, so it never waits for more than
 * the packet on the wire. */
static void test_marking_of_classes(void **state)
{
	uint32_t marked[FABRIC_PRIORITIES];
	struct fabric_config config;
	struct world *w;

	(void)state;
	small(&config);
	config.sw.ecn = (struct qos_red){1, 1, 1000};
	config.sw.own_ecn = 1u << 3 | 1u << 5;
	config.sw.class_ecn[3] = (struct qos_red){20000, 20000, 1000};
	config.sw.class_ecn[5] = (struct qos_red){5000, 5000, 1000};
	w = start(&config);
	three_into_one(w, marked);
	assert_int_equal(marked[5], 0);
	/* Of 200 the queue holds about 20 when marking begins. */
	assert_in_range(marked[3], 150, 190);
	stop(w);

	/* Priorities without thresholds of their own go by the whole queue, as before. */
	config.sw.own_ecn = 1u << 3;
	w = start(&config);
	three_into_one(w, marked);
	/* All but those that come before the others, whose way is longer. */
	assert_in_range(marked[5], 60, 90);
	stop(w);
	config.sw.class_ecn[3].min_bytes = 20001;
	assert_false(fabric_config_ok(&config));
}

static void incast(struct world *w, uint32_t packets)
{
	for (uint32_t i = 0; i < packets; i++) {
		send_bytes(w, 1, 0, 1, 1000);
		send_bytes(w, 2, 0, 2, 1000);
		send_bytes(w, 3, 0, 3, 1000);
	}
	run(w, 10 * MS_NS);
}

/* Of three into one each third packet goes on: the last of 300 find some 200 before them; lengths are told to an eighth. */
static void test_queue_lengths(void **state)
{
	struct fabric_config config;
	struct world *w;

	(void)state;
	small(&config);
	w = start(&config);
	assert_int_equal(fabric_queue_bytes(w->fabric, 990), 0);
	send_bytes(w, 0, 1, 1, 1000);
	run(w, MS_NS);
	assert_int_equal(fabric_queue_bytes(w->fabric, 990), 1024);
	fabric_clear_stats(w->fabric);
	assert_int_equal(fabric_queue_bytes(w->fabric, 990), 0);
	incast(w, 100);
	assert_in_range(fabric_queue_bytes(w->fabric, 1000), total(w).max_queue_bytes * 7 / 8, total(w).max_queue_bytes * 9 / 8);
	assert_true(fabric_queue_bytes(w->fabric, 500) < fabric_queue_bytes(w->fabric, 990));
	stop(w);
}

/* Packets that cannot carry a mark get none. */
static void test_not_ect(void **state)
{
	struct fabric_packet packet = {.src = 0, .dst = 1, .bytes = 1000};
	struct fabric_config config;
	struct world *w;

	(void)state;
	small(&config);
	config.sw.ecn.min_bytes = config.sw.ecn.max_bytes = 1;
	w = start(&config);
	for (int i = 0; i < 50; i++) {
		packet.src = i % 2 == 0 ? 0 : 2;
		assert_int_equal(fabric_send(w->fabric, &packet, 0), 0);
	}
	run(w, MS_NS);
	assert_int_equal(total(w).marked, 0);
	stop(w);
}

static void test_buffer_overflows(void **state)
{
	struct fabric_config config;
	struct world *w;

	(void)state;
	small(&config);
	config.sw.buffer_bytes = 50000;
	w = start(&config);
	incast(w, 1000);
	assert_true(w->lost[FABRIC_LOSS_BUFFER] > 500);
	assert_int_equal(w->n_seen + w->lost[FABRIC_LOSS_BUFFER], 3000);
	assert_true(total(w).max_queue_bytes <= 3000u * 1000);
	stop(w);
}

/* With PFC nothing is lost in the same buffer: xoff + what is on the wire meanwhile (2 us at 100 Gb/s) of each port. */
static void test_pfc(void **state)
{
	struct fabric_config config;
	struct world *w;

	(void)state;
	small(&config);
	config.sw.buffer_bytes = 4 * (5000 + 25000 + 3000);
	config.sw.pfc_priorities = 1;
	config.sw.pfc_xoff_bytes = 5000;
	config.sw.pfc_xon_bytes = 2000;
	w = start(&config);
	incast(w, 1000);
	assert_int_equal(w->lost[FABRIC_LOSS_BUFFER], 0);
	assert_int_equal(w->n_seen, 3000);
	assert_true(total(w).pauses > 10);
	assert_true(total(w).pause_ns > 100 * US_NS);
	stop(w);
}

/* A storm stops its priority, and no other, for as long as it lasts. */
static void test_pause_storm(void **state)
{
	struct fabric_fault storm = {.pause_priorities = 1u << 3}, none = {0};
	struct fabric_packet packet = {.src = 0, .dst = 1, .bytes = 1000};
	struct fabric_config config;
	struct world *w;

	(void)state;
	small(&config);
	w = start(&config);
	assert_int_equal(fabric_set_fault(w->fabric, 1, &storm, 0), 0);
	for (packet.priority = 2; packet.priority <= 4; packet.priority++)
		assert_int_equal(fabric_send(w->fabric, &packet, 0), 0);
	run(w, MS_NS);
	assert_int_equal(w->n_seen, 2);
	assert_int_equal(fabric_set_fault(w->fabric, 1, &none, w->now_ns), 0);
	run(w, MS_NS);
	assert_int_equal(w->n_seen, 3);
	assert_int_equal(w->seen[2].packet.priority, 3);
	assert_in_range(total(w).pause_ns, 2 * MS_NS, 2 * MS_NS + 10);
	stop(w);
}

/* A host that pauses a priority is sent nothing of it until it says so, and all of the others. */
static void test_host_pause(void **state)
{
	struct fabric_config config;
	struct fabric_packet packet = {.src = 0, .dst = 1, .bytes = 976, .priority = 3};
	struct world *w;

	(void)state;
	small(&config);
	w = start(&config);
	assert_int_equal(fabric_host_pause(w->fabric, 4, 1u << 3, 0), -EINVAL);
	assert_int_equal(fabric_host_pause(w->fabric, 1, 1u << 3, 0), 0);
	run(w, 10 * US_NS);
	assert_int_equal(fabric_send(w->fabric, &packet, w->now_ns), 0);
	send_bytes(w, 0, 1, 7, 976);
	run(w, MS_NS);
	assert_int_equal(w->n_seen, 1);
	assert_int_equal(w->seen[0].packet.priority, 0);
	assert_int_equal(fabric_host_pause(w->fabric, 1, 0, w->now_ns), 0);
	run(w, MS_NS);
	assert_int_equal(w->n_seen, 2);
	assert_int_equal(total(w).pauses, 1);
	stop(w);
}

static void test_fault_is_told(void **state)
{
	struct fabric_fault fault = {.rate_percent = 25, .lose_ppm = 7}, got;
	struct fabric_config config;
	struct world *w;

	(void)state;
	small(&config);
	w = start(&config);
	assert_int_equal(fabric_link_fault(w->fabric, 8, &got), -EINVAL);
	assert_int_equal(fabric_set_fault(w->fabric, 5, &fault, 0), 0);
	assert_int_equal(fabric_link_fault(w->fabric, 5, &got), 0);
	assert_int_equal(got.rate_percent, 25);
	assert_int_equal(got.lose_ppm, 7);
	assert_int_equal(fabric_link_fault(w->fabric, 4, &got), 0);
	assert_int_equal(got.rate_percent, 0);
	stop(w);
}

/* Counters begin anew, and so does a pause that lasts. */
static void test_clear_stats(void **state)
{
	struct fabric_fault storm = {.pause_priorities = 1u << 3};
	struct fabric_config config;
	struct world *w;

	(void)state;
	small(&config);
	w = start(&config);
	assert_int_equal(fabric_set_fault(w->fabric, 4, &storm, 0), 0);
	send_bytes(w, 0, 1, 7, 976);
	run(w, MS_NS);
	assert_int_equal(total(w).tx_packets, 2);
	assert_int_equal(total(w).pause_ns, 2 * MS_NS);
	fabric_clear_stats(w->fabric);
	assert_int_equal(total(w).tx_packets, 0);
	assert_int_equal(total(w).max_queue_bytes, 0);
	run(w, US_NS);
	assert_int_equal(total(w).pause_ns, 2 * US_NS);
	stop(w);
}

/* Until the switches know, a cut link loses what is sent that way; then it is gone around; then used again. */
static void test_cut(void **state)
{
	struct fabric_fault cut = {.cut = true}, none = {0};
	struct fabric_config config;
	uint32_t link, seen;
	struct world *w;

	(void)state;
	small(&config);
	config.convergence_ns = MS_NS;
	w = start(&config);
	link = fabric_leaf_link(w->fabric, 1, 0); /* the far end: leaf 0 has to know that spine 0 is no way to leaf 1 */
	fabric_set_fault(w->fabric, link, &cut, 0);
	for (uint32_t i = 0; i < 100; i++)
		send_bytes(w, 0, 2, i, 100);
	run(w, MS_NS / 2);
	assert_in_range(w->lost[FABRIC_LOSS_LINK], 25, 75);
	assert_int_equal(w->n_seen + w->lost[FABRIC_LOSS_LINK], 100);
	run(w, MS_NS);
	seen = w->n_seen;
	for (uint32_t i = 0; i < 100; i++)
		send_bytes(w, 0, 2, i, 100);
	run(w, MS_NS);
	assert_int_equal(w->n_seen, seen + 100);
	fabric_set_fault(w->fabric, fabric_leaf_link(w->fabric, 1, 1), &cut, w->now_ns);
	run(w, 2 * MS_NS);
	send_bytes(w, 0, 2, 1, 100);
	run(w, MS_NS);
	assert_int_equal(w->lost[FABRIC_LOSS_ROUTE], 1);
	fabric_set_fault(w->fabric, link, &none, w->now_ns);
	run(w, 2 * MS_NS);
	send_bytes(w, 0, 2, 1, 100);
	run(w, MS_NS);
	assert_int_equal(w->n_seen, seen + 101);
	stop(w);
}

/* What is on the wire when it is cut does not arrive, though the link is back by then. */
static void test_cut_in_flight(void **state)
{
	struct fabric_fault cut = {.cut = true}, none = {0};
	struct fabric_config config;
	struct world *w;

	(void)state;
	small(&config);
	w = start(&config);
	send_bytes(w, 0, 1, 1, 976);
	run(w, 500);
	fabric_set_fault(w->fabric, 0, &cut, w->now_ns);
	fabric_set_fault(w->fabric, 0, &none, w->now_ns + 1);
	run(w, MS_NS);
	assert_int_equal(w->lost[FABRIC_LOSS_LINK], 1);
	stop(w);
}

/* A host whose link is cut is told at the rate of the link that it may send on, or it would wait for ever. */
static void test_cut_host_goes_on(void **state)
{
	struct fabric_fault cut = {.cut = true};
	struct fabric_config config;
	struct world *w;

	(void)state;
	small(&config);
	w = start(&config);
	fabric_set_fault(w->fabric, 0, &cut, 0);
	send_bytes(w, 0, 1, 1, 976);
	send_bytes(w, 0, 1, 1, 976);
	run(w, 159);
	assert_int_equal(w->readies, 0);
	run(w, MS_NS);
	assert_int_equal(w->readies, 1);
	assert_int_equal(w->ready_ns, 160);
	assert_int_equal(w->lost[FABRIC_LOSS_LINK], 2);
	stop(w);
}

static void test_slow_link(void **state)
{
	struct fabric_fault slow = {.rate_percent = 25};
	struct fabric_config config;
	struct world *w;

	(void)state;
	small(&config);
	w = start(&config);
	fabric_set_fault(w->fabric, 0, &slow, 0);
	send_bytes(w, 0, 1, 1, 976);
	run(w, MS_NS);
	assert_int_equal(w->seen[0].at_ns, 320 + 80 + 2000);
	stop(w);
}

static void test_bad_wire(void **state)
{
	struct fabric_fault fault = {.lose_ppm = 100000, .corrupt_ppm = 100000, .repeat_ppm = 100000,
		.delay_ppm = 100000, .delay_ns = 50 * US_NS};
	uint32_t corrupt = 0, late = 0;
	struct fabric_config config;
	struct world *w;

	(void)state;
	small(&config);
	w = start(&config);
	fabric_set_fault(w->fabric, 0, &fault, 0);
	for (uint32_t i = 0; i < 10000; i++)
		send_bytes(w, 0, 1, i, 100);
	run(w, 10 * MS_NS);
	for (uint32_t i = 0; i < w->n_seen; i++) {
		corrupt += w->seen[i].packet.corrupt;
		late += i != 0 && w->seen[i].packet.flow < w->seen[i - 1].packet.flow;
	}
	assert_in_range(w->lost[FABRIC_LOSS_FAULT], 850, 1150);
	assert_in_range(w->copies, 750, 1050);
	assert_int_equal(w->n_seen, 10000 - w->lost[FABRIC_LOSS_FAULT] + w->copies);
	assert_in_range(corrupt, 800, 1200);
	assert_in_range(late, 700, 1200);
	stop(w);
}

static uint64_t fingerprint(uint64_t seed)
{
	struct fabric_fault fault = {.lose_ppm = 50000, .delay_ppm = 50000, .delay_ns = 5 * US_NS};
	struct fabric_config config;
	uint64_t print = 0;
	struct world *w;

	small(&config);
	config.seed = seed;
	w = start(&config);
	fabric_set_fault(w->fabric, 2, &fault, 0);
	for (uint32_t i = 0; i < 1000; i++)
		send_bytes(w, i % 4, (i + 1 + i / 4 % 3) % 4, i * 977, 64 + i);
	run(w, 10 * MS_NS);
	for (uint32_t i = 0; i < w->n_seen; i++)
		print = print * 31 + w->seen[i].at_ns * 7 + w->seen[i].packet.flow;
	stop(w);
	return print;
}

/* The same seed gives the same run, another seed another. */
static void test_determinism(void **state)
{
	(void)state;
	assert_true(fingerprint(1) == fingerprint(1));
	assert_true(fingerprint(1) != fingerprint(2));
}

static void test_refused(void **state)
{
	struct fabric_packet packet = {.src = 0, .dst = 1, .bytes = 100};
	struct fabric_fault fault = {.rate_percent = 101};
	struct fabric_config config, bad;
	struct fabric *none = NULL;
	struct world *w;

	(void)state;
	small(&config);
	bad = config, bad.leaves = 0;
	assert_int_equal(fabric_create(&bad, &ops, NULL, 0, &none), -EINVAL);
	bad = config, bad.pods = 2;
	assert_int_equal(fabric_create(&bad, &ops, NULL, 0, &none), -EINVAL);
	bad = config, bad.host_link.rate_mbps = 0;
	assert_int_equal(fabric_create(&bad, &ops, NULL, 0, &none), -EINVAL);
	bad = config, bad.sw.pfc_priorities = 1;
	assert_int_equal(fabric_create(&bad, &ops, NULL, 0, &none), -EINVAL);
	bad = config, bad.hosts_per_leaf = UINT32_MAX;
	assert_int_equal(fabric_create(&bad, &ops, NULL, 0, &none), -EINVAL);
	w = start(&config);
	packet.dst = 4;
	assert_int_equal(fabric_send(w->fabric, &packet, 0), -EINVAL);
	packet.dst = 1, packet.priority = 8;
	assert_int_equal(fabric_send(w->fabric, &packet, 0), -EINVAL);
	packet.priority = 0, packet.bytes = 0;
	assert_int_equal(fabric_send(w->fabric, &packet, 0), -EINVAL);
	assert_int_equal(fabric_set_fault(w->fabric, 0, &fault, 0), -EINVAL);
	assert_int_equal(fabric_set_fault(w->fabric, 99, &fault, 0), -EINVAL);
	assert_true(fabric_leaf_link(w->fabric, 2, 0) == UINT32_MAX);
	stop(w);
}

/* Whatever is queued or flying when the fabric ends goes back to its owner. */
static void test_end(void **state)
{
	struct fabric_config config;
	struct world *w;

	(void)state;
	small(&config);
	w = start(&config);
	for (int i = 0; i < 100; i++)
		send_bytes(w, 0, 3, 1, 1000);
	run(w, 3 * US_NS);
	fabric_destroy(w->fabric);
	w->fabric = NULL;
	assert_int_equal(w->n_seen + w->lost[FABRIC_LOSS_LINK], 100);
	stop(w);
}

static void test_names(void **state)
{
	struct fabric_config config;
	struct world *w;
	char name[64];

	(void)state;
	small(&config);
	config.pods = 2;
	config.cores_per_spine = 1;
	w = start(&config);
	fabric_link_name(w->fabric, 3, name, sizeof(name));
	assert_string_equal(name, "host 3 - leaf 1");
	fabric_link_name(w->fabric, fabric_leaf_link(w->fabric, 2, 1), name, sizeof(name));
	assert_string_equal(name, "leaf 2 - spine 3");
	fabric_link_name(w->fabric, fabric_n_links(w->fabric) - 1, name, sizeof(name));
	assert_string_equal(name, "spine 3 - core 1");
	stop(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_idle_times),
		cmocka_unit_test(test_rate_of_small_frames),
		cmocka_unit_test(test_ecmp),
		cmocka_unit_test(test_three_tiers),
		cmocka_unit_test(test_marking),
		cmocka_unit_test(test_marking_of_classes),
		cmocka_unit_test(test_queue_lengths),
		cmocka_unit_test(test_not_ect),
		cmocka_unit_test(test_buffer_overflows),
		cmocka_unit_test(test_pfc),
		cmocka_unit_test(test_pause_storm),
		cmocka_unit_test(test_host_pause),
		cmocka_unit_test(test_fault_is_told),
		cmocka_unit_test(test_clear_stats),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_cut_in_flight),
		cmocka_unit_test(test_cut_host_goes_on),
		cmocka_unit_test(test_slow_link),
		cmocka_unit_test(test_bad_wire),
		cmocka_unit_test(test_determinism),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests_name("fabric", tests, NULL, NULL);
}
