/* SPDX-License-Identifier: BSD-3-Clause */
/* gateway_pairs.h: hosts, a network of paths that differ, and hosts at its far end; time and the network are the
 * test's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base_psn.h"
#include "gateway_pairs.h"

#define PATHS   8u
#define US      UINT64_C(1000)
#define MS      (1000 * US)
#define FLOWLET (500 * US)
#define SILENCE (20 * MS)

static const struct wire_addr host_a = {.b = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}};
static const struct wire_addr host_b = {.b = {[10] = 0xff, [11] = 0xff, [12] = 10, [14] = 2, [15] = 2}};

struct world {
	struct gateway_pairs *p;
	uint64_t now_ns;
	uint16_t first;          /* port of path 0 */
};

static struct gateway_pairs *make(uint32_t max_pairs, uint32_t max_flows)
{
	struct gateway_pairs_config config = {.max_pairs = max_pairs,
		.max_flows = max_flows,
		.max_flows_per_host = max_flows,
		.idle_ns = 1000 * MS,
		.flowlet_ns = FLOWLET,
		.silence_ns = SILENCE,
		.key = {{1, 2}}};

	path_sched_config_default(&config.sched);
	path_sched_config_base(&config.sched, 50000);
	config.sched.kind = PATH_SCHED_WEIGHTED;
	config.sched.n_evs = PATHS;
	return gateway_pairs_new(&config);
}

static int setup(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	w->p = make(64, 1024);
	w->now_ns = 5000 * MS;
	*state = w;
	return w->p != NULL ? 0 : -1;
}

static int teardown(void **state)
{
	struct world *w = *state;

	gateway_pairs_free(w->p);
	free(w);
	return 0;
}

static uint8_t path_of(struct world *w, uint16_t sport)
{
	struct gateway_pairs_told told;

	assert_true(gateway_pairs_tell(w->p, 1, &told));
	w->first = told.sport;
	assert_in_range(sport, told.sport, told.sport + PATHS - 1);
	return (uint8_t)(sport - told.sport);
}

/* From A to B's queue pair; the path that it takes. */
static uint8_t out(struct world *w, uint8_t opcode, uint32_t dqpn, uint32_t psn, bool asks)
{
	const struct wire_pkt pkt = {
		.opcode = opcode, .dqpn = dqpn, .psn = psn & 0xffffff, .ack_req = asks, .udp_sport = 7};

	return path_of(w, gateway_pairs_send(w->p, &host_a, &host_b, &pkt, w->now_ns));
}

static uint8_t request(struct world *w, uint32_t dqpn, uint32_t psn)
{
	return out(w, WIRE_RC_SEND_ONLY, dqpn, psn, true);
}

/* From B to A's queue pair. */
static void answer(struct world *w, uint32_t qpn, uint32_t psn, uint8_t syndrome)
{
	const struct wire_pkt pkt = {
		.opcode = WIRE_RC_ACK, .dqpn = qpn, .psn = psn & 0xffffff, .syndrome = syndrome, .hdrs = WIRE_HDR_AETH};

	gateway_pairs_hear(w->p, &host_b, &host_a, &pkt, w->now_ns);
}

static struct gateway_pairs_stats stats_of(const struct world *w)
{
	struct gateway_pairs_stats stats;

	gateway_pairs_get_stats(w->p, &stats);
	return stats;
}

static struct gateway_pairs_told told_of(const struct world *w)
{
	struct gateway_pairs_told told;

	assert_true(gateway_pairs_tell(w->p, 1, &told));
	return told;
}

/* Two answers, and the flow to B's queue pair dqpn is known to be A's qpn. */
static uint32_t meet(struct world *w, uint32_t dqpn, uint32_t qpn, uint32_t psn)
{
	for (uint32_t i = 0; i < 2; i++, psn++) {
		request(w, dqpn, psn);
		w->now_ns += 50 * US;
		answer(w, qpn, psn, 0x1f);
		w->now_ns += 10 * US;
	}
	return psn;
}

/* ---- learning ---- */

static void learns_whose_answers_they_are(void **state)
{
	struct world *w = *state;
	struct gateway_pairs_stats stats;

	request(w, 100, 5000);
	request(w, 200, 90000);
	answer(w, 21, 90000, 0x1f);
	answer(w, 11, 5000, 0x1f);
	answer(w, 31, 77, 0x1f);
	stats = stats_of(w);
	assert_int_equal(stats.learned, 2);
	assert_int_equal(stats.matched, 2);
	assert_int_equal(stats.unmatched, 1);
	request(w, 100, 5001);
	answer(w, 11, 5001, 0x1f);
	assert_int_equal(stats_of(w).matched, 3);
}

/* Two flows at the same PSN: nobody knows whose the answer is, until they differ. */
static void does_not_guess(void **state)
{
	struct world *w = *state;

	request(w, 100, 5000);
	request(w, 200, 5000);
	answer(w, 11, 5000, 0x1f);
	assert_int_equal(stats_of(w).learned, 0);
	request(w, 100, 5001);
	answer(w, 11, 5001, 0x1f);
	assert_int_equal(stats_of(w).learned, 1);
}

/* What does not fit shows that it was wrong, or that the queue pair is another one now. */
static void unlearns(void **state)
{
	struct world *w = *state;
	uint32_t psn = meet(w, 100, 11, 5000);

	request(w, 100, psn);
	answer(w, 11, psn + 1000, 0x1f);
	assert_int_equal(stats_of(w).unlearned, 1);
	answer(w, 12, psn, 0x1f);
	assert_int_equal(stats_of(w).learned, 2);
	/* The number from before is nobody's. */
	request(w, 100, psn + 1);
	answer(w, 11, psn, 0x1f);
	assert_int_equal(stats_of(w).unmatched, 2);
}

/* ---- order ---- */

/* As long as anything is under way, all of a flow takes one path, however long that is. */
static void stays_while_anything_is_under_way(void **state)
{
	struct world *w = *state;
	uint32_t psn = meet(w, 100, 11, 5000), acked = psn;
	uint8_t path = request(w, 100, psn++);

	for (uint32_t i = 0; i < 5000; i++) {
		w->now_ns += 10 * US;
		assert_int_equal(request(w, 100, psn++), path);
		answer(w, 11, acked++, 0x1f);
	}
	/* A host that is slow to go on is no reason either. */
	w->now_ns += 10 * MS;
	assert_int_equal(request(w, 100, psn++), path);
}

/* One request at a time, each answered before the next one; the paths that they took. acks: A acknowledges something in
 * between. */
static uint64_t one_by_one(struct world *w, uint32_t psn, bool acks)
{
	uint64_t used = 0;

	for (uint32_t i = 0; i < 200; i++, psn++) {
		used |= 1ull << request(w, 100, psn);
		w->now_ns += 50 * US;
		answer(w, 11, psn, 0x1f);
		if (acks)
			out(w, WIRE_RC_ACK, 100, i, false);
	}
	return used;
}

/* Each time that all is acknowledged it may go elsewhere at once. */
static void moves_when_nothing_is(void **state)
{
	struct world *w = *state;

	assert_int_equal(one_by_one(w, meet(w, 100, 11, 5000), false), (1u << PATHS) - 1);
	assert_true(stats_of(w).moves > 100);
}

/* A message of several packets is not divided. */
static void never_within_a_message(void **state)
{
	struct world *w = *state;
	uint32_t psn = meet(w, 100, 11, 5000);

	for (uint32_t i = 0; i < 100; i++) {
		uint8_t path = out(w, WIRE_RC_WRITE_FIRST, 100, psn, false);

		for (uint32_t k = 1; k < 10; k++)
			assert_int_equal(
				out(w, k < 9 ? WIRE_RC_WRITE_MIDDLE : WIRE_RC_WRITE_LAST, 100, psn + k, k == 9), path);
		psn += 10;
		w->now_ns += 90 * US;
		answer(w, 11, psn - 1, 0x1f);
	}
}

/* Nobody acknowledges datagrams, nor what is sent as an answer: a gap alone tells that it has arrived. */
static void flowlets_of_what_nobody_acknowledges(void **state)
{
	static const uint8_t opcodes[] = {
		WIRE_UD_SEND_ONLY, WIRE_UC_SEND_FIRST, WIRE_RC_READ_RESP_MIDDLE, WIRE_RC_ATOMIC_ACK};
	struct world *w = *state;

	for (uint32_t o = 0; o < sizeof(opcodes); o++) {
		uint8_t path = out(w, opcodes[o], 300 + o, 0, false);
		uint64_t used = 0;

		for (uint32_t i = 1; i < 1000; i++) {
			w->now_ns += FLOWLET;
			assert_int_equal(out(w, opcodes[o], 300 + o, i, false), path);
		}
		for (uint32_t i = 0; i < 200; i++) {
			w->now_ns += FLOWLET + 1;
			used |= 1ull << out(w, opcodes[o], 300 + o, i, false);
		}
		assert_int_equal(used, (1u << PATHS) - 1);
	}
	assert_int_equal(stats_of(w).matched, 0);
}

/* A queue pair that asks and answers: what it answers with keeps its order, too. */
static void answers_keep_requests_from_moving(void **state)
{
	struct world *w = *state;
	uint32_t psn = meet(w, 100, 11, 5000);
	uint8_t path = out(w, WIRE_RC_READ_RESP_FIRST, 100, 1, false);

	for (uint32_t i = 0; i < 100; i++, psn++) {
		assert_int_equal(request(w, 100, psn), path);
		w->now_ns += 50 * US;
		answer(w, 11, psn, 0x1f);
		assert_int_equal(out(w, WIRE_RC_READ_RESP_MIDDLE, 100, 2 + i, false), path);
	}
}

/* A host that spreads the packets of a queue pair itself keeps its ports; one that takes another port now and then does
 * not. */
static void hosts_that_spread(void **state)
{
	struct world *w = *state;
	struct wire_pkt pkt = {.opcode = WIRE_RC_WRITE_MIDDLE, .dqpn = 100};

	for (uint32_t i = 0; i < 100; i++) {
		pkt.psn = i;
		pkt.udp_sport = (uint16_t)(i < 90 ? 50000 + i / 30 : 50000 + i);
		assert_int_equal(gateway_pairs_send(w->p, &host_a, &host_b, &pkt, w->now_ns) == pkt.udp_sport, i >= 95);
	}
	assert_int_equal(stats_of(w).own, 5);
	/* What comes from several queue pairs for one is several flows. */
	pkt = (struct wire_pkt){.opcode = WIRE_UD_SEND_ONLY, .dqpn = 200};
	for (uint32_t i = 0; i < 100; i++) {
		pkt.udp_sport = (uint16_t)(40000 + i % 2);
		assert_int_not_equal(gateway_pairs_send(w->p, &host_a, &host_b, &pkt, w->now_ns), pkt.udp_sport);
	}
	assert_int_equal(stats_of(w).flows, 3);
}

/* Each ACK says what those before it said, so whoever asks and acknowledges in turn may go elsewhere. */
static void acks_do_not(void **state)
{
	struct world *w = *state;

	assert_int_equal(one_by_one(w, meet(w, 100, 11, 5000), true), (1u << PATHS) - 1);
}

/* ---- measures ---- */

/* One request at a time, each over a path with this round trip, by port; how often each was taken. */
static void run(struct world *w, uint32_t *psn, uint32_t n, const uint32_t rtt_us[PATHS], uint32_t taken[PATHS])
{
	memset(taken, 0, PATHS * sizeof(taken[0]));
	for (uint32_t i = 0; i < n; i++, (*psn)++) {
		uint8_t path = request(w, 100, *psn);

		taken[path]++;
		w->now_ns += rtt_us[path] * US;
		answer(w, 11, *psn, 0x1f);
		w->now_ns += US;
	}
}

static void slow_path_gets_less(void **state)
{
	static const uint32_t rtt_us[PATHS] = {50, 50, 50, 800, 50, 50, 50, 50};
	struct world *w = *state;
	uint32_t psn = meet(w, 100, 11, 5000), taken[PATHS];

	run(w, &psn, 2000, rtt_us, taken);
	assert_true(taken[3] > 0 && taken[3] * 4 < taken[2]);
	assert_in_range(told_of(w).paths[3].sched.srtt_ns, 700 * US, 900 * US);
	assert_in_range(told_of(w).paths[2].sched.srtt_ns, 40 * US, 60 * US);
}

static void marked_path_gets_less(void **state)
{
	struct world *w = *state;
	uint32_t psn = meet(w, 100, 11, 5000), taken[PATHS] = {0};
	const struct wire_pkt cnp = {.opcode = WIRE_CNP, .dqpn = 11};

	for (uint32_t i = 0; i < 2000; i++, psn++) {
		uint8_t path = request(w, 100, psn);

		taken[path]++;
		w->now_ns += 50 * US;
		if (path == 5)
			gateway_pairs_hear(w->p, &host_b, &host_a, &cnp, w->now_ns);
		answer(w, 11, psn, 0x1f);
		w->now_ns += US;
	}
	assert_true(taken[5] > 0 && taken[5] * 2 < taken[2]);
	assert_int_equal(stats_of(w).marks, taken[5]);
	assert_true(told_of(w).paths[5].sched.ecn_percent > 20);
	assert_int_equal(told_of(w).paths[2].sched.ecn_percent, 0);
}

/* A CNP for a queue pair of which nothing is known is nobody's. */
static void unknown_cnp(void **state)
{
	struct world *w = *state;
	const struct wire_pkt cnp = {.opcode = WIRE_CNP, .dqpn = 99};

	meet(w, 100, 11, 5000);
	gateway_pairs_hear(w->p, &host_b, &host_a, &cnp, w->now_ns);
	assert_int_equal(stats_of(w).marks, 0);
}

static void nak_counts_once(void **state)
{
	struct world *w = *state;
	uint32_t psn = meet(w, 100, 11, 5000);
	uint8_t path = request(w, 100, psn);

	request(w, 100, psn + 1);
	w->now_ns += 50 * US;
	answer(w, 11, psn, 0x60);
	w->now_ns += 50 * US;
	/* What left before may be on its way still. */
	assert_int_equal(request(w, 100, psn), path);
	assert_int_equal(request(w, 100, psn + 1), path);
	assert_int_equal(stats_of(w).losses, 1);
	assert_int_equal(told_of(w).paths[path].lost, 1);
	answer(w, 11, psn + 1, 0x1f);
	assert_true(told_of(w).paths[path].sched.alive);
}

/* ---- dead paths ---- */

/* Requests over a network one of whose paths carries nothing; the host sends again after its timeout. */
static uint32_t run_cut(struct world *w, uint32_t *psn, uint32_t n, uint64_t cut, uint32_t *timeouts)
{
	uint32_t over_cut = 0;

	for (uint32_t i = 0; i < n; i++, (*psn)++) {
		for (uint32_t again = 0; again < 8; again++) {
			uint8_t path = request(w, 100, *psn);

			w->now_ns += 50 * US;
			if ((cut >> path & 1) == 0)
				break;
			over_cut++;
			(*timeouts)++;
			w->now_ns += 67 * MS;
		}
		answer(w, 11, *psn, 0x1f);
		w->now_ns += US;
	}
	return over_cut;
}

static void flow_leaves_a_dead_path(void **state)
{
	struct world *w = *state;
	uint32_t psn = meet(w, 100, 11, 5000), timeouts = 0;

	run_cut(w, &psn, 200, 0, &timeouts);
	assert_int_equal(timeouts, 0);
	/* Found dead by the first that is lost; what goes on is sent by others. A trial a second. */
	run_cut(w, &psn, 2000, 1u << 2, &timeouts);
	assert_int_equal(timeouts, 1);
	assert_false(told_of(w).paths[2].sched.alive);
	assert_int_equal(stats_of(w).silences, 1);
	assert_int_equal(stats_of(w).trials, 0);
}

/* A trial is as rare as it was in vain, and one that is not brings the path back. */
static void trials(void **state)
{
	struct world *w = *state;
	uint32_t psn = meet(w, 100, 11, 5000), timeouts = 0, before;

	run_cut(w, &psn, 200, 1u << 2, &timeouts);
	for (uint32_t s = 0; s < 100; s++) {
		run_cut(w, &psn, 10, 1u << 2, &timeouts);
		w->now_ns += 1000 * MS;
	}
	/* After 1, 2, 4, 8, 16, 32 and 64 seconds. */
	assert_in_range(stats_of(w).trials, 5, 7);
	assert_int_equal(timeouts, stats_of(w).trials + 1);
	before = timeouts;
	w->now_ns += 70000 * MS;
	run_cut(w, &psn, 200, 0, &timeouts);
	assert_int_equal(timeouts, before);
	assert_true(told_of(w).paths[2].sched.alive);
}

/* Nobody acknowledges these; but what another flow found out is true for them, too, and nothing of theirs is on a dead
 * path. */
static void datagrams_leave_a_dead_path_at_once(void **state)
{
	struct world *w = *state;
	uint32_t psn = meet(w, 100, 11, 5000);
	uint8_t path = request(w, 100, psn), i = 0;

	/* A datagram flow on the same path. */
	while (out(w, WIRE_UD_SEND_ONLY, 400 + i, 0, false) != path)
		i++;
	for (uint32_t n = 0; n < 60; n++) {
		w->now_ns += FLOWLET;
		out(w, WIRE_UD_SEND_ONLY, 400 + i, n, false);
	}
	request(w, 100, psn);
	assert_false(told_of(w).paths[path].sched.alive);
	assert_int_not_equal(out(w, WIRE_UD_SEND_ONLY, 400 + i, 60, false), path);
}

/* The far host is away: all paths seem dead. They are not tried one after the other within a burst. */
static void all_dead_is_no_path_s_fault(void **state)
{
	struct world *w = *state;
	uint32_t psn = meet(w, 100, 11, 5000), timeouts = 0;
	uint8_t path;

	run_cut(w, &psn, 2, 0xff, &timeouts);
	w->now_ns += 67 * MS;
	path = request(w, 100, psn);
	for (uint32_t i = 1; i < 50; i++) {
		w->now_ns += 10 * US;
		assert_int_equal(request(w, 100, psn + i), path);
	}
	answer(w, 11, psn + 49, 0x1f);
	assert_int_equal(stats_of(w).unmatched, 0);
}

/* ---- limits ---- */

static void tables_are_bounded(void **state)
{
	struct gateway_pairs *p = make(4, 16);
	struct wire_pkt pkt = {.opcode = WIRE_RC_SEND_ONLY, .ack_req = 1, .udp_sport = 4711};
	struct gateway_pairs_stats stats;
	struct wire_addr dst = host_b;
	uint64_t now_ns = 1000 * MS;

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		dst.b[15] = (uint8_t)i;
		assert_true((gateway_pairs_send(p, &host_a, &dst, &pkt, now_ns) == 4711) == (i >= 4));
	}
	dst.b[15] = 0;
	for (pkt.dqpn = 1; pkt.dqpn < 32; pkt.dqpn++)
		(void)gateway_pairs_send(p, &host_a, &dst, &pkt, now_ns);
	gateway_pairs_get_stats(p, &stats);
	assert_int_equal(stats.pairs, 4);
	assert_int_equal(stats.flows, 16);
	assert_int_equal(stats.refused, 4 + 31 - 12);
	gateway_pairs_age(p, now_ns + 1001 * MS, 64);
	gateway_pairs_get_stats(p, &stats);
	assert_int_equal(stats.pairs + stats.flows, 0);
	assert_int_not_equal(gateway_pairs_send(p, &host_a, &dst, &pkt, now_ns + 1001 * MS), 4711);
	gateway_pairs_free(p);
	assert_null(make(0, 16));
	assert_null(make(70000, 16));
	assert_null(make(16, 0));
	gateway_pairs_free(NULL);
}

/* Numbers are used again; what was learned of the one before does not hold for the next. */
static void aged_and_made_anew(void **state)
{
	struct world *w = *state;
	struct gateway_pairs_told told;

	for (uint32_t i = 0; i < 600; i++) {
		uint32_t psn = meet(w, 100 + i, 11, 5000 * i);

		assert_int_equal(stats_of(w).learned, i + 1);
		request(w, 100 + i, psn);
		w->now_ns += 1001 * MS;
		gateway_pairs_age(w->p, w->now_ns, 1000);
		assert_false(gateway_pairs_tell(w->p, 1, &told));
		answer(w, 11, psn, 0x1f);
		assert_int_equal(stats_of(w).unmatched, i + 1);
	}
}

/* Whatever comes, in whatever order, paths are those that there are. */
static void noise(void **state)
{
	struct world *w = *state;
	uint64_t x = 88172645463325252u;

	for (uint32_t i = 0; i < 300000; i++) {
		struct wire_pkt pkt = {.udp_sport = 7};
		struct wire_addr dst = host_b;
		uint16_t sport;

		x ^= x << 13, x ^= x >> 7, x ^= x << 17;
		pkt.opcode = (uint8_t)x;
		pkt.dqpn = x >> 8 & 15;
		pkt.psn = x >> 12 & 31;
		pkt.ack_req = x >> 20 & 1;
		pkt.syndrome = (uint8_t)(x >> 21);
		pkt.hdrs = wire_opinfo(pkt.opcode)->hdrs;
		pkt.dma_bytes = (uint32_t)(x >> 32);
		dst.b[15] = x >> 30 & 1;
		w->now_ns += x >> 40 & 0xfffff;
		if (x >> 29 & 1) {
			gateway_pairs_hear(w->p, &dst, &host_a, &pkt, w->now_ns);
			continue;
		}
		sport = gateway_pairs_send(w->p, &host_a, &dst, &pkt, w->now_ns);
		assert_true(sport == 7 || sport >= 0xc000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(learns_whose_answers_they_are, setup, teardown),
		cmocka_unit_test_setup_teardown(does_not_guess, setup, teardown),
		cmocka_unit_test_setup_teardown(unlearns, setup, teardown),
		cmocka_unit_test_setup_teardown(stays_while_anything_is_under_way, setup, teardown),
		cmocka_unit_test_setup_teardown(moves_when_nothing_is, setup, teardown),
		cmocka_unit_test_setup_teardown(never_within_a_message, setup, teardown),
		cmocka_unit_test_setup_teardown(flowlets_of_what_nobody_acknowledges, setup, teardown),
		cmocka_unit_test_setup_teardown(answers_keep_requests_from_moving, setup, teardown),
		cmocka_unit_test_setup_teardown(hosts_that_spread, setup, teardown),
		cmocka_unit_test_setup_teardown(acks_do_not, setup, teardown),
		cmocka_unit_test_setup_teardown(slow_path_gets_less, setup, teardown),
		cmocka_unit_test_setup_teardown(marked_path_gets_less, setup, teardown),
		cmocka_unit_test_setup_teardown(unknown_cnp, setup, teardown),
		cmocka_unit_test_setup_teardown(nak_counts_once, setup, teardown),
		cmocka_unit_test_setup_teardown(flow_leaves_a_dead_path, setup, teardown),
		cmocka_unit_test_setup_teardown(trials, setup, teardown),
		cmocka_unit_test_setup_teardown(datagrams_leave_a_dead_path_at_once, setup, teardown),
		cmocka_unit_test_setup_teardown(all_dead_is_no_path_s_fault, setup, teardown),
		cmocka_unit_test(tables_are_bounded),
		cmocka_unit_test_setup_teardown(aged_and_made_anew, setup, teardown),
		cmocka_unit_test_setup_teardown(noise, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
