/* SPDX-License-Identifier: BSD-3-Clause */
/* The sink sees of each fault what the flow says it did, and nothing else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rg_flow.h"
#include "rg_report.h"
#include "rg_sink.h"
#include "rg_try.h"

#define PACKETS 1000u

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};
static struct rg_config config;
static struct rg_flow flow;
static struct rg_sink sink;
static struct rg_sink_port port;
static struct rg_window_stats psns, numbers;
static struct rg_sink_stats *seen;
static uint64_t frames;
static uint32_t max_streams = 4096;

static void run(const char *keys)
{
	static uint8_t frame[RG_FRAME_BYTES];
	struct wire_pkt pkt;
	char msg[256] = "";

	rg_flow_fini(&flow);
	rg_sink_fini(&sink);
	memset(&port, 0, sizeof(port));
	frames = 0;
	assert_int_equal(rg_flow_init(&flow, rg_try_flow(keys, &config), 0, 1, mac, mac, msg, sizeof(msg)), 0);
	config.streams = max_streams;
	assert_int_equal(rg_sink_init(&sink, &config), 0);
	while (flow.stats.packets < PACKETS || flow.due != 0) {
		uint32_t n = rg_flow_next(&flow, 1000 * flow.stats.packets, frame);

		if (n != 0)
			rg_sink_take(&sink, &port, frame, n, 1000 * flow.stats.packets + 500, &pkt);
		frames += n != 0;
	}
	rg_sink_windows(&sink, 0, &psns, &numbers);
	seen = &rg_sink_flow(&sink, 0)->stats;
}

static void run_fault(const char *fault)
{
	char keys[1024];

	snprintf(keys, sizeof(keys), RG_V4 "qps = 4; pfc_priorities = [ 3, 5 ]; faults = ( { kind = %s } );", fault);
	run(keys);
}

static void expect(const struct rg_window_stats *stats, uint64_t lost, uint64_t duplicates, uint64_t jumps)
{
	assert_int_equal(stats->lost, lost);
	assert_int_equal(stats->duplicates, duplicates);
	assert_int_equal(stats->jumps, jumps);
	assert_int_equal(stats->reordered, 0);
	assert_int_equal(stats->restarts, 0);
}

static void expect_malformed(enum base_drop why, uint64_t n)
{
	for (uint32_t w = 0; w < BASE_DROP_COUNT; w++)
		assert_int_equal(port.malformed[w], w == (uint32_t)why ? n : 0);
}

static void test_right(void **state)
{
	(void)state;
	run(RG_V6 "qps = 16; opcodes = [ \"RC_SEND\", \"RC_RDMA_READ_REQUEST\", \"RC_FETCH_ADD\" ];"
		"sizes = ( { bytes = 1; to = 4000; } );");
	assert_int_equal(seen->packets, PACKETS);
	assert_int_equal(rg_sink_windows(&sink, 0, &psns, &numbers), 16);
	expect(&psns, 0, 0, 0);
	/* packets that are too small for a stamp are none that is missing */
	assert_true(seen->stamped < PACKETS);
	expect(&numbers, 0, 0, 0);
	expect_malformed(BASE_DROP_NONE, 0);
	assert_int_equal(rg_sink_flow(&sink, RG_OTHER_FLOW)->stats.packets, 0);
	/* run() lets each packet take 1500 ns */
	assert_in_range(rg_hist_at(&rg_sink_flow(&sink, 0)->latency, 500000), 1500 - 1500 / 32, 1500);
	assert_int_equal(rg_sink_flow(&sink, 0)->latency.max, 1500);
	assert_true(seen->stamped > 100);
}

static void test_every(void **state)
{
	(void)state;
	run_fault("\"bad_icrc\"; every = 10;");
	assert_int_equal(seen->bad_icrc, 100);
	assert_int_equal(seen->packets, PACKETS - 100);
	expect_malformed(BASE_DROP_ICRC, 100);
	run_fault("\"ce\"; every = 10;");
	assert_int_equal(seen->ce, 100);
	expect(&psns, 0, 0, 0);
	run_fault("\"loss\"; every = 10;");
	/* every tenth is at queue pairs 1 and 3 in turn; the last one's is behind all that came */
	assert_int_equal(seen->packets, PACKETS - 100);
	expect(&psns, 99, 0, 0);
	expect(&numbers, 99, 0, 0);
	run_fault("\"repeat\"; every = 10;");
	expect(&psns, 0, 100, 0);
	expect(&numbers, 0, 100, 0);
	run_fault("\"bad_pad\"; every = 10;");
	assert_int_equal(seen->bad_pad, 100);
	expect(&psns, 0, 0, 0);
	run_fault("\"bad_opcode\"; every = 10; amount = 223;");
	expect_malformed(BASE_DROP_OPCODE, 100);
	run_fault("\"truncate\"; every = 10; amount = 5;");
	expect_malformed(BASE_DROP_TRUNCATED, 100);
}

/* The numbers in the payload tell a sender's PSNs from a network's losses. */
static void test_psns(void **state)
{
	(void)state;
	run_fault("\"psn_gap\"; every = 10; amount = 3;");
	expect(&psns, 300, 0, 0);
	expect(&numbers, 0, 0, 0);
	run_fault("\"psn_jump\"; every = 10;");
	expect(&psns, 0, 0, 100);
	expect(&numbers, 0, 0, 0);
	run_fault("\"psn_duplicate\"; every = 10;");
	expect(&psns, 0, 100, 0);
	expect(&numbers, 0, 0, 0);
	assert_int_equal(flow.stats.faults[RG_FAULT_PSN_DUPLICATE], 100);
}

static void test_storms(void **state)
{
	(void)state;
	run_fault("\"cnp\"; every = 2;");
	assert_int_equal(seen->cnps, PACKETS / 2);
	assert_int_equal(frames, PACKETS + PACKETS / 2);
	expect(&psns, 0, 0, 0);
	run_fault("\"pfc\"; every = 4;");
	assert_int_equal(port.pfc_frames, PACKETS / 4);
	assert_int_equal(port.paused[3], PACKETS / 4);
	assert_int_equal(port.paused[5], PACKETS / 4);
	assert_int_equal(port.paused[0], 0);
	run("opcodes = [ \"PFC\" ]; pfc_priorities = [ 0 ]; pfc_quanta = 0;");
	assert_int_equal(port.pfc_frames, PACKETS);
	assert_int_equal(port.paused[0], 0);
	run(RG_V4 "opcodes = [ \"CNP\" ];");
	assert_int_equal(seen->cnps, PACKETS);
}

/* So many in a million, give or take. */
static void test_chance(void **state)
{
	(void)state;
	run_fault("\"truncate\"; ppm = 100000;");
	assert_in_range(flow.stats.faults[RG_FAULT_TRUNCATE], 70, 130);
	assert_int_equal(seen->packets, PACKETS - flow.stats.faults[RG_FAULT_TRUNCATE]);
	run_fault("\"bad_icrc\"; ppm = 1000000;");
	assert_int_equal(seen->packets, 0);
	assert_int_equal(seen->bad_icrc, PACKETS);
	/* what is damaged makes no stream */
	assert_int_equal(sink.n_streams, 0);
}

/* What there is no room for is counted, and the rest goes on. */
static void test_bounded(void **state)
{
	(void)state;
	max_streams = 10;
	run(RG_V4 "qps = 100;");
	max_streams = 4096;
	assert_int_equal(sink.n_streams, 10);
	assert_int_equal(seen->packets, PACKETS);
	assert_int_equal(seen->untracked, PACKETS / 100 * 90);
}

static void test_report(void **state)
{
	struct rg_tx_stats tx = {0};
	struct rg_pace pace = {0};
	uint64_t ns = 1000000;
	static char text[16384];
	struct rg_results results;
	FILE *out = fmemopen(text, sizeof(text), "w");

	(void)state;
	run_fault("\"bad_icrc\"; every = 10;");
	results = (struct rg_results){&config, "count", ns, &flow, &pace, &ns, &sink, &port, &tx};
	assert_false(rg_report_clean(&results));
	rg_report(&results, out, true);
	fclose(out);
	assert_non_null(strstr(text, "\"faults\":{\"bad_icrc\":100}"));
	assert_non_null(strstr(text, "\"rx_malformed\":{\"icrc\":100}"));
	run(RG_V4);
	assert_true(rg_report_clean(&results));
	flow.stats.frames++;
	assert_false(rg_report_clean(&results));
}

static int teardown(void **state)
{
	(void)state;
	rg_flow_fini(&flow);
	rg_sink_fini(&sink);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_every),
		cmocka_unit_test(test_psns),
		cmocka_unit_test(test_storms),
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_bounded),
		cmocka_unit_test(test_report),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
