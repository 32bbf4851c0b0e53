/* SPDX-License-Identifier: BSD-3-Clause */
/* gateway_match.h: what is under way between two queue pairs, by the PSNs that pass. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "gateway_match.h"

#define US   UINT64_C(1000)
#define LAST 0xffffffu

static void send(struct gateway_match *m, uint32_t psn, bool asks, uint64_t at_us)
{
	gateway_match_send(m, psn, asks, 1, at_us * US);
}

static struct gateway_match_heard ack(struct gateway_match *m, uint32_t psn, uint64_t at_us)
{
	return gateway_match_hear(m, psn, GATEWAY_ANSWER_ACK, at_us * US);
}

/* An ACK says that all requests up to its PSN have arrived, and its own took so long. */
static void acknowledged(void **state)
{
	struct gateway_match m = {.begun = false};
	struct gateway_match_heard heard;

	(void)state;
	assert_true(gateway_match_idle(&m));
	send(&m, LAST, false, 10);
	send(&m, 0, true, 11);
	send(&m, 1, true, 20);
	assert_false(gateway_match_idle(&m));
	assert_true(gateway_match_expects(&m, LAST));
	assert_true(gateway_match_expects(&m, 1));
	assert_false(gateway_match_expects(&m, 2));
	assert_false(gateway_match_expects(&m, LAST - 1));
	heard = ack(&m, 0, 61);
	assert_true(heard.fits && heard.news && !heard.lost);
	assert_int_equal(heard.rtt_ns, 50 * US);
	assert_false(gateway_match_idle(&m));
	heard = ack(&m, 1, 61);
	assert_int_equal(heard.rtt_ns, 41 * US);
	assert_true(gateway_match_idle(&m));
	assert_int_equal(m.waits_ns, 0);
	/* The same once more tells nothing. */
	heard = ack(&m, 1, 70);
	assert_true(heard.fits && !heard.news);
}

/* One that answers several says of the last only how long it took. */
static void coalesced(void **state)
{
	struct gateway_match m = {.begun = false};

	(void)state;
	for (uint32_t psn = 100; psn < 105; psn++)
		send(&m, psn, true, psn);
	assert_int_equal(ack(&m, 103, 203).rtt_ns, 100 * US);
	assert_false(gateway_match_idle(&m));
	assert_false(gateway_match_expects(&m, 103));
	assert_true(gateway_match_expects(&m, 104));
}

/* More than there is room for are under way, and known to be. */
static void many_ask(void **state)
{
	struct gateway_match m = {.begun = false};
	uint32_t most = 3 * GATEWAY_MATCH_ASKED;

	(void)state;
	for (uint32_t psn = 0; psn < most; psn++)
		send(&m, psn, true, psn + 1);
	for (uint32_t psn = 0; psn < most; psn++) {
		assert_false(gateway_match_idle(&m));
		assert_int_equal(ack(&m, psn, psn + 51).rtt_ns, psn < GATEWAY_MATCH_ASKED ? 50 * US : 0);
	}
	assert_true(gateway_match_idle(&m));
}

/* Requests of which nobody ever saw an answer do not make all PSNs theirs. */
static void expects_what_was_sent_of_late(void **state)
{
	struct gateway_match m = {.begun = false};

	(void)state;
	for (uint32_t psn = 0; psn < 100000; psn++)
		send(&m, psn, true, psn + 1);
	assert_true(gateway_match_expects(&m, 99999));
	assert_true(gateway_match_expects(&m, 100000 - 4096));
	assert_false(gateway_match_expects(&m, 50000));
	/* The answer to a READ has PSNs behind that of the request. */
	gateway_match_send(&m, 100000, true, 5000, 1);
	assert_true(gateway_match_expects(&m, 104999));
	assert_false(gateway_match_expects(&m, 105000));
}

static void for_somebody_else(void **state)
{
	struct gateway_match m = {.begun = false};

	(void)state;
	assert_false(ack(&m, 7, 1).fits);
	send(&m, 1000, true, 10);
	assert_false(ack(&m, 1001, 20).fits);
	assert_false(ack(&m, 1000 + 70000, 20).fits);
	assert_false(ack(&m, LAST - 70000, 20).fits);
	assert_false(gateway_match_idle(&m));
	assert_true(ack(&m, 1000, 20).fits);
}

/* A READ's answer has PSNs of its own, as many as packets, and the first of them shows that it arrived (IBTA vol.
 * 1, 9.7.3.1). */
static void reads(void **state)
{
	struct gateway_match m = {.begun = false};

	(void)state;
	gateway_match_send(&m, 50, true, 16, 10 * US);
	assert_int_equal(ack(&m, 50, 30).rtt_ns, 20 * US);
	assert_true(gateway_match_idle(&m));
	for (uint32_t psn = 51; psn < 54; psn++)
		assert_true(ack(&m, psn, 30).fits);
	assert_false(ack(&m, 66, 31).fits);
	assert_int_equal(gateway_match_look(&m, 54), GATEWAY_SENT_NEW);
	send(&m, 54, true, 40);
	assert_false(gateway_match_idle(&m));
	assert_int_equal(ack(&m, 54, 45).rtt_ns, 5 * US);
	/* What was lost of the answer is asked for again: that request is under way. */
	gateway_match_send(&m, 55, true, 16, 50 * US);
	assert_true(ack(&m, 55, 60).news);
	gateway_match_send(&m, 56, true, 15, 70 * US);
	assert_false(gateway_match_idle(&m));
}

/* A sequence NAK: what is in front of its PSN arrived, the one with it did not. The requests that come again are no
 * further loss. */
static void nak(void **state)
{
	struct gateway_match m = {.begun = false};
	struct gateway_match_heard heard;

	(void)state;
	for (uint32_t psn = 10; psn < 15; psn++)
		send(&m, psn, true, psn);
	heard = gateway_match_hear(&m, 12, GATEWAY_ANSWER_SEQUENCE, 50 * US);
	assert_true(heard.fits && heard.news && heard.lost);
	assert_int_equal(heard.rtt_ns, 0);
	assert_false(gateway_match_hear(&m, 12, GATEWAY_ANSWER_SEQUENCE, 51 * US).lost);
	send(&m, 15, true, 51); /* it left before the NAK was there */
	assert_int_equal(gateway_match_look(&m, 12), GATEWAY_SENT_AGAIN);
	send(&m, 12, true, 60);
	assert_int_equal(gateway_match_look(&m, 13), GATEWAY_SENT_AGAIN);
	send(&m, 13, true, 60);
	send(&m, 14, true, 60);
	send(&m, 15, true, 60);
	/* Karn: nobody knows which of the two is answered. */
	heard = ack(&m, 15, 90);
	assert_true(heard.news && heard.rtt_ns == 0);
	assert_true(gateway_match_idle(&m));
}

static void not_ready(void **state)
{
	struct gateway_match m = {.begun = false};
	struct gateway_match_heard heard;

	(void)state;
	send(&m, 10, true, 10);
	heard = gateway_match_hear(&m, 10, GATEWAY_ANSWER_NOT_READY, 30 * US);
	assert_true(heard.fits && heard.news && !heard.lost);
	assert_int_equal(heard.rtt_ns, 20 * US);
	assert_false(gateway_match_idle(&m));
	assert_int_equal(gateway_match_look(&m, 10), GATEWAY_SENT_AGAIN);
	send(&m, 10, true, 100);
	assert_true(ack(&m, 10, 120).news);
	assert_true(gateway_match_idle(&m));
}

/* The host's time was over; so it is each time that it begins again. */
static void untold(void **state)
{
	struct gateway_match m = {.begun = false};

	(void)state;
	send(&m, 10, false, 10);
	send(&m, 11, true, 10);
	for (uint32_t i = 1; i < 4; i++) {
		assert_int_equal(gateway_match_look(&m, 10), GATEWAY_SENT_UNTOLD);
		send(&m, 10, false, 1000 * i);
		assert_int_equal(gateway_match_look(&m, 11), GATEWAY_SENT_AGAIN);
		send(&m, 11, true, 1000 * i);
		assert_int_equal(m.waits_ns, 10 * US);
	}
	assert_int_equal(ack(&m, 11, 4000).rtt_ns, 0);
	assert_true(gateway_match_idle(&m));
	assert_int_equal(gateway_match_look(&m, 12), GATEWAY_SENT_NEW);
}

static void queue_pair_anew(void **state)
{
	struct gateway_match m = {.begun = false};

	(void)state;
	send(&m, 10, true, 10);
	assert_int_equal(gateway_match_look(&m, 0x400000), GATEWAY_SENT_RESTART);
	assert_int_equal(gateway_match_look(&m, 0xc00000), GATEWAY_SENT_RESTART);
	send(&m, 0x400000, true, 20);
	assert_false(ack(&m, 10, 30).fits);
	assert_int_equal(ack(&m, 0x400000, 30).rtt_ns, 10 * US);
	assert_true(gateway_match_idle(&m));
}

/* An answer is due from the first request that asks on, and again from each answer on while more is asked for. */
static void waits(void **state)
{
	struct gateway_match m = {.begun = false};

	(void)state;
	send(&m, 1, false, 10);
	assert_int_equal(m.waits_ns, 0);
	send(&m, 2, true, 11);
	send(&m, 3, true, 12);
	assert_int_equal(m.waits_ns, 11 * US);
	(void)ack(&m, 2, 20);
	assert_int_equal(m.waits_ns, 20 * US);
	gateway_match_forget(&m);
	assert_int_equal(m.waits_ns, 0);
	assert_false(gateway_match_idle(&m));
	assert_int_equal(ack(&m, 3, 30).rtt_ns, 0);
	assert_true(gateway_match_idle(&m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(acknowledged),
		cmocka_unit_test(coalesced),
		cmocka_unit_test(many_ask),
		cmocka_unit_test(expects_what_was_sent_of_late),
		cmocka_unit_test(for_somebody_else),
		cmocka_unit_test(reads),
		cmocka_unit_test(nak),
		cmocka_unit_test(not_ready),
		cmocka_unit_test(untold),
		cmocka_unit_test(queue_pair_anew),
		cmocka_unit_test(waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
