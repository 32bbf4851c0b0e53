/* SPDX-License-Identifier: BSD-3-Clause */
/* gateway_paths.h, gateway_ecn.h and wire_tunnel.h: what two ends make of the packets between them. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "gateway_ecn.h"
#include "gateway_paths.h"

#define PATHS 4u
#define US    UINT64_C(1000)
#define START (1000000 * US)

/* RFC 6040, figure 4, line by line. */
static void ecn_as_rfc_6040_says(void **state)
{
	static const uint8_t want[4][4] = {
		/* outer  00  01  10  11, in the order of the field's values */
		[0] = {0, 0, 0, 4}, [1] = {1, 1, 1, 3}, [2] = {2, 1, 2, 3}, [3] = {3, 3, 3, 3}};

	(void)state;
	for (uint8_t inner = 0; inner < 4; inner++) {
		for (uint8_t outer = 0; outer < 4; outer++)
			assert_int_equal(gateway_ecn_leave(inner, outer), want[inner][outer]);
	}
}

static void header_there_and_back(void **state)
{
	const struct wire_tunnel in = {.type = WIRE_TUNNEL_PACKET,
		.path = 63,
		.path_seq = 0x1234,
		.sent = 0x89abcdef,
		.flow = 0xfedcba,
		.generation = 0x42,
		.seq = 0x80000001};
	static const uint8_t bytes[] = {
		0x00, 63, 0x12, 0x34, 0x89, 0xab, 0xcd, 0xef, 0xfe, 0xdc, 0xba, 0x42, 0x80, 0, 0, 1};
	uint8_t to[WIRE_TUNNEL_BYTES];
	struct wire_tunnel out;

	(void)state;
	wire_tunnel_write(to, &in);
	assert_memory_equal(to, bytes, sizeof(bytes));
	memset(&out, 0, sizeof(out));
	assert_true(wire_tunnel_read(to, sizeof(to), &out));
	assert_int_equal(out.type, in.type);
	assert_int_equal(out.path, in.path);
	assert_int_equal(out.path_seq, in.path_seq);
	assert_int_equal(out.sent, in.sent);
	assert_int_equal(out.flow, in.flow);
	assert_int_equal(out.generation, in.generation);
	assert_int_equal(out.seq, in.seq);
}

static void headers_that_cannot_be(void **state)
{
	uint8_t to[WIRE_TUNNEL_BYTES + 2 * WIRE_TUNNEL_REPORT_BYTES] = {0};
	struct wire_tunnel t;

	(void)state;
	assert_false(wire_tunnel_read(to, WIRE_TUNNEL_BYTES - 1, &t));
	assert_true(wire_tunnel_read(to, WIRE_TUNNEL_BYTES, &t));
	to[0] = 0x10; /* version */
	assert_false(wire_tunnel_read(to, WIRE_TUNNEL_BYTES, &t));
	to[0] = WIRE_TUNNEL_TYPES;
	assert_false(wire_tunnel_read(to, WIRE_TUNNEL_BYTES, &t));
	to[0] = WIRE_TUNNEL_REPORT;
	to[1] = 2; /* reports */
	assert_true(wire_tunnel_read(to, sizeof(to), &t));
	assert_false(wire_tunnel_read(to, sizeof(to) - 1, &t));
}

/* ---- two ends, and a fabric of PATHS paths between them ---- */

struct world {
	struct path_sched_config config;
	struct gateway_tx tx;
	struct gateway_rx rx;
	uint64_t now_ns;
	uint64_t rtt_ns[PATHS];
	bool cut[PATHS];
	uint32_t lose_every[PATHS], mark_every[PATHS]; /* 0: never */
	uint64_t sent[PATHS];
	uint64_t seq;
};

static int begin(void **state)
{
	static struct world w;

	memset(&w, 0, sizeof(w));
	path_sched_config_default(&w.config);
	w.config.n_evs = PATHS;
	w.config.kind = PATH_SCHED_WEIGHTED;
	assert_int_equal(path_sched_config_check(&w.config), 0);
	gateway_tx_init(&w.tx, &w.config, 500 * US, 1);
	w.now_ns = START;
	for (uint32_t p = 0; p < PATHS; p++)
		w.rtt_ns[p] = 10 * US;
	*state = &w;
	return 0;
}

static void arrive(struct world *w, const struct wire_tunnel *t, uint64_t sent_ns)
{
	uint8_t p = t->path;
	uint64_t n = ++w->sent[p];

	if (w->cut[p] || (w->lose_every[p] != 0 && n % w->lose_every[p] == 0))
		return;
	gateway_rx_packet(&w->rx, t, w->mark_every[p] != 0 && n % w->mark_every[p] == 0, sent_ns + w->rtt_ns[p] / 2);
}

static void report(struct world *w)
{
	uint8_t bytes[PATHS * WIRE_TUNNEL_REPORT_BYTES];
	uint8_t n = gateway_rx_report(&w->rx, w->now_ns, bytes, PATHS);
	struct wire_tunnel_report r;

	for (uint8_t i = 0; i < n; i++) {
		wire_tunnel_read_report(bytes + i * WIRE_TUNNEL_REPORT_BYTES, &r);
		gateway_tx_report(&w->tx, &r, w->now_ns + w->rtt_ns[r.path] / 2);
	}
}

/* For so many times 100 us: packets each microsecond, and a report; probes as they are due. */
static void run(struct world *w, uint32_t rounds)
{
	struct wire_tunnel t = {0};

	while (rounds-- > 0) {
		for (uint32_t i = 0; i < 100; i++, w->now_ns += US) {
			gateway_tx_packet(&w->tx, w->now_ns, &t);
			arrive(w, &t, w->now_ns);
		}
		w->now_ns += 20 * US;
		report(w);
		w->now_ns += 20 * US;
		gateway_tx_tick(&w->tx, w->now_ns);
		while (gateway_tx_probe(&w->tx, w->now_ns, &t))
			arrive(w, &t, w->now_ns);
	}
}

static uint64_t since(const struct world *w, const uint64_t *before, uint32_t p)
{
	return w->sent[p] - before[p];
}

static void all_paths_are_used_and_their_round_trips_known(void **state)
{
	struct world *w = *state;
	struct path_sched_stats stats;

	run(w, 50);
	for (uint32_t p = 0; p < PATHS; p++) {
		assert_true(w->sent[p] > 500);
		assert_int_equal(path_sched_stats(&w->tx.sched, (uint8_t)p, &stats), 0);
		assert_true(stats.alive);
		assert_int_equal(stats.loss_percent, 0);
		assert_in_range(stats.srtt_ns, 9 * US, 12 * US);
	}
	assert_in_range(w->tx.srtt_ns, 9 * US, 12 * US);
	assert_int_equal(w->tx.bad_reports, 0);
}

static void a_path_that_marks_gets_less(void **state)
{
	struct world *w = *state;
	uint64_t before[PATHS];

	run(w, 20);
	w->mark_every[2] = 2;
	run(w, 20);
	memcpy(before, w->sent, sizeof(before));
	run(w, 50);
	for (uint32_t p = 0; p < PATHS; p++)
		assert_true(p == 2 || since(w, before, 2) * 2 < since(w, before, p));
}

static void losses_are_counted(void **state)
{
	struct world *w = *state;

	run(w, 20);
	w->lose_every[1] = 10;
	run(w, 20);
	assert_true(w->tx.path[1].lost > 0);
	for (uint32_t p = 0; p < PATHS; p++)
		assert_true(p == 1 || w->tx.path[p].lost == 0);
}

static void a_path_that_is_cut_is_left_and_found_again(void **state)
{
	struct world *w = *state;
	struct path_sched_stats stats;
	uint64_t before[PATHS];

	run(w, 20);
	w->cut[3] = true;
	run(w, 30);
	assert_int_equal(path_sched_stats(&w->tx.sched, 3, &stats), 0);
	assert_false(stats.alive);
	memcpy(before, w->sent, sizeof(before));
	run(w, 20);
	assert_true(since(w, before, 3) < 20); /* probes */
	w->cut[3] = false;
	run(w, 300);
	assert_int_equal(path_sched_stats(&w->tx.sched, 3, &stats), 0);
	assert_true(stats.alive);
}

static void silence_is_noticed_without_reports(void **state)
{
	struct world *w = *state;
	struct wire_tunnel t = {0};
	uint64_t next_ns;

	run(w, 5);
	gateway_tx_packet(&w->tx, w->now_ns, &t);
	next_ns = gateway_tx_next_ns(&w->tx, w->now_ns);
	assert_int_equal(next_ns, w->now_ns + 500 * US);
	gateway_tx_tick(&w->tx, next_ns);
	assert_true(gateway_tx_next_ns(&w->tx, next_ns) > next_ns);
}

/* The receiver's counters begin at nothing again: that is no loss. */
static void a_receiver_that_began_anew(void **state)
{
	struct world *w = *state;
	struct path_sched_stats stats;

	run(w, 20);
	memset(&w->rx, 0, sizeof(w->rx));
	run(w, 1);
	for (uint32_t p = 0; p < PATHS; p++) {
		assert_int_equal(path_sched_stats(&w->tx.sched, (uint8_t)p, &stats), 0);
		assert_true(stats.alive);
		assert_int_equal(w->tx.path[p].lost, 0);
	}
}

/* The sender's counts begin at nothing again, far behind what the receiver has seen: no path is taken for dead. */
static void a_sender_that_began_anew(void **state)
{
	struct world *w = *state;
	struct path_sched_stats stats;

	run(w, 50);
	gateway_tx_init(&w->tx, &w->config, 500 * US, 2);
	run(w, 5);
	assert_int_equal(w->tx.bad_reports, 0);
	for (uint32_t p = 0; p < PATHS; p++) {
		assert_int_equal(path_sched_stats(&w->tx.sched, (uint8_t)p, &stats), 0);
		assert_true(stats.alive);
		assert_true(w->tx.path[p].known);
	}
	/* And where the clock began anew as well. */
	w->now_ns += 3000000000 * US;
	gateway_tx_init(&w->tx, &w->config, 500 * US, 3);
	run(w, 5);
	assert_int_equal(w->tx.bad_reports, 0);
	assert_true(w->tx.path[0].known);
}

/* Anything may be in a report. */
static void reports_that_cannot_be(void **state)
{
	struct world *w = *state;
	struct wire_tunnel_report r;

	run(w, 5);
	r = (struct wire_tunnel_report){.path = PATHS};
	gateway_tx_report(&w->tx, &r, w->now_ns);
	r = (struct wire_tunnel_report){.path = 255};
	gateway_tx_report(&w->tx, &r, w->now_ns);
	r = (struct wire_tunnel_report){.path = 0, .path_seq = (uint16_t)(w->tx.path[0].seq + 1)}; /* was not sent */
	gateway_tx_report(&w->tx, &r, w->now_ns);
	assert_int_equal(w->tx.bad_reports, 3);
	srandom(1);
	for (int i = 0; i < 100000; i++) {
		r = (struct wire_tunnel_report){.path = (uint8_t)random(),
			.path_seq = (uint16_t)random(),
			.packets = (uint32_t)random() * 2,
			.marked = (uint32_t)random() * 2,
			.echo = (uint32_t)random() * 2,
			.held = (uint32_t)random() * 2};
		gateway_tx_report(&w->tx, &r, w->now_ns);
	}
	run(w, 50);
	assert_in_range(w->tx.srtt_ns, 9 * US, 20 * US);
}

static void a_fixed_path_stays(void **state)
{
	struct world *w = *state;
	struct wire_tunnel t = {0};
	uint8_t first;

	run(w, 5);
	gateway_tx_packet_fixed(&w->tx, 0x1234567, w->now_ns, &t);
	first = t.path;
	for (int i = 0; i < 100; i++) {
		gateway_tx_packet_fixed(&w->tx, 0x1234567, w->now_ns, &t);
		assert_int_equal(t.path, first);
		gateway_rx_packet(&w->rx, &t, false, w->now_ns);
	}
	w->cut[first] = true;
	run(w, 50);
	gateway_tx_packet_fixed(&w->tx, 0x1234567, w->now_ns, &t);
	assert_int_not_equal(t.path, first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ecn_as_rfc_6040_says),
		cmocka_unit_test(header_there_and_back),
		cmocka_unit_test(headers_that_cannot_be),
		cmocka_unit_test_setup(all_paths_are_used_and_their_round_trips_known, begin),
		cmocka_unit_test_setup(a_path_that_marks_gets_less, begin),
		cmocka_unit_test_setup(losses_are_counted, begin),
		cmocka_unit_test_setup(a_path_that_is_cut_is_left_and_found_again, begin),
		cmocka_unit_test_setup(silence_is_noticed_without_reports, begin),
		cmocka_unit_test_setup(a_receiver_that_began_anew, begin),
		cmocka_unit_test_setup(a_sender_that_began_anew, begin),
		cmocka_unit_test_setup(reports_that_cannot_be, begin),
		cmocka_unit_test_setup(a_fixed_path_stays, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
