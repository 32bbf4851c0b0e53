/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Somebody between two hosts learns of requests and answers which queue pair sends to which: never a wrong one where
 * several could be meant, another one when it changes, and never more than the table holds. Notifications keep their
 * distance.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "gateway_peers.h"
#include "wire_opcode.h"

#define MS       1000000ull
#define WRITE    0x0a /* RC RDMA WRITE only */
#define UC_WRITE 0x2a
#define GAP_NS   50000u
#define IDLE_NS  (30000 * MS)
#define SOME     64u

static struct gateway_peers *peers;
static struct wire_addr a, b;
static uint64_t now_ns;

static int start(void **state)
{
	struct gateway_peers_config config = {.max = 1024, .idle_ns = IDLE_NS, .gap_ns = GAP_NS, .key = {{1, 2}}};

	(void)state;
	peers = gateway_peers_new(&config);
	a.b[15] = 1;
	b.b[15] = 2;
	now_ns = 1000 * MS;
	return peers == NULL;
}

static int end(void **state)
{
	(void)state;
	gateway_peers_free(peers);
	return 0;
}

static void see(const struct wire_addr *src, const struct wire_addr *dst, uint32_t dqpn, uint8_t opcode, uint32_t psn,
	uint8_t syndrome)
{
	struct gateway_peers_packet p = {
		.src = *src, .dst = *dst, .dqpn = dqpn, .psn = psn, .opcode = opcode, .syndrome = syndrome};

	gateway_peers_see(peers, &p, now_ns);
}

/* a's queue pair aq writes to b's, and b's acknowledges. */
static void writes(uint32_t bq, uint32_t psn)
{
	see(&a, &b, bq, WRITE, psn, 0);
}

static void acks(uint32_t aq, uint32_t psn)
{
	see(&b, &a, aq, WIRE_RC_ACK, psn, 0x1f);
}

static void talk(uint32_t aq, uint32_t bq, uint32_t psn, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		writes(bq, psn + i);
		acks(aq, psn + i);
	}
}

static enum gateway_peers_verdict mark_of(
	const struct wire_addr *src, const struct wire_addr *dst, uint32_t dqpn, uint32_t *qpn)
{
	struct gateway_peers_packet p = {.src = *src, .dst = *dst, .dqpn = dqpn, .opcode = WRITE};

	return gateway_peers_mark(peers, &p, now_ns, qpn);
}

/* The queue pair of a that sends to this one of b; 0: unknown. */
static uint32_t sender_to(uint32_t bq)
{
	uint32_t qpn = 0;

	return mark_of(&a, &b, bq, &qpn) != GATEWAY_PEERS_UNKNOWN ? qpn : 0;
}

static void test_learn(void **state)
{
	uint32_t qpn;

	(void)state;
	talk(17, 34, 100, 2);
	assert_int_equal(sender_to(34), 0);
	talk(17, 34, 102, 1);
	assert_int_equal(sender_to(34), 17);
	/* And who sends to the writer: answers of READs are marked, too. */
	assert_int_equal(mark_of(&b, &a, 17, &qpn), GATEWAY_PEERS_NOTIFY);
	assert_int_equal(qpn, 34);
	/* Neither another host's queue pair of that number nor another one of that host. */
	assert_int_equal(mark_of(&b, &b, 34, &qpn), GATEWAY_PEERS_UNKNOWN);
	assert_int_equal(sender_to(35), 0);
}

/* The requester is who reads; the first packet of the answer has the request's PSN, the others do not count. */
static void test_read(void **state)
{
	uint32_t qpn;

	(void)state;
	for (uint32_t i = 0; i < GATEWAY_PEERS_BELIEVED; i++) {
		see(&a, &b, 34, WIRE_RC_READ_REQUEST, 100 + 4 * i, 0);
		see(&b, &a, 17, WIRE_RC_READ_RESP_MIDDLE, 100 + 4 * i, 0);
	}
	assert_int_equal(mark_of(&b, &a, 17, &qpn), GATEWAY_PEERS_UNKNOWN);
	for (uint32_t i = 0; i < GATEWAY_PEERS_BELIEVED; i++) {
		see(&a, &b, 34, WIRE_RC_READ_REQUEST, 200 + 4 * i, 0);
		see(&b, &a, 17, WIRE_RC_READ_RESP_FIRST, 200 + 4 * i, 0x1f);
	}
	assert_int_equal(mark_of(&b, &a, 17, &qpn), GATEWAY_PEERS_NOTIFY);
	assert_int_equal(qpn, 34);
}

static void test_nothing_to_learn(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		/* A NAK's PSN is that of what is missing; an unreliable connection has no answers. */
		writes(34, 100 + i);
		see(&b, &a, 17, WIRE_RC_ACK, 100 + i, 0x60);
		see(&a, &b, 35, UC_WRITE, 200 + i, 0);
		acks(18, 200 + i);
		/* Answers to nothing, and far too late. */
		acks(19, 300 + i);
		writes(36, 400 + i);
		now_ns += 2 * GATEWAY_PEERS_ANSWER_NS;
		acks(20, 400 + i);
	}
	for (uint32_t bq = 34; bq < 37; bq++)
		assert_int_equal(sender_to(bq), 0);
}

/* Queue pairs that begin with the same PSN and go on in step: unknown where it could be any, known when apart. */
static void test_in_step(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < SOME; i++) {
		writes(34, i);
		writes(35, i);
		acks(18, i);
		acks(17, i);
	}
	assert_int_equal(sender_to(34), 0);
	assert_int_equal(sender_to(35), 0);
	for (uint32_t i = SOME; i < 2 * SOME; i++) {
		writes(34, i);
		acks(17, i);
		writes(35, i);
		acks(18, i);
	}
	assert_int_equal(sender_to(34), 17);
	assert_int_equal(sender_to(35), 18);
}

/* Once the one is known, the other one is what is left. */
static void test_left_over(void **state)
{
	(void)state;
	talk(17, 34, 0, 3);
	for (uint32_t i = 0; i < SOME; i++) {
		writes(34, i);
		writes(35, i);
		acks(17, i);
		acks(18, i);
	}
	assert_int_equal(sender_to(34), 17);
	assert_int_equal(sender_to(35), 18);
}

/* A new connection of the same queue pair; what is old is looked at anew, and never mixed with what is not. */
static void test_changes(void **state)
{
	(void)state;
	talk(17, 34, 0, 3);
	now_ns += GATEWAY_PEERS_CONFIRM_NS;
	assert_int_equal(sender_to(34), 17);
	talk(19, 34, 500, 3);
	assert_int_equal(sender_to(34), 19);
	now_ns += IDLE_NS;
	assert_int_equal(sender_to(34), 19);
	now_ns += 1;
	assert_int_equal(sender_to(34), 0);
}

static void test_gap(void **state)
{
	uint32_t qpn;

	(void)state;
	talk(17, 34, 0, 3);
	talk(18, 35, 9, 3);
	assert_int_equal(mark_of(&a, &b, 34, &qpn), GATEWAY_PEERS_NOTIFY);
	assert_int_equal(mark_of(&a, &b, 34, &qpn), GATEWAY_PEERS_EARLY);
	assert_int_equal(mark_of(&a, &b, 35, &qpn), GATEWAY_PEERS_NOTIFY);
	assert_int_equal(qpn, 18);
	now_ns += GAP_NS - 1;
	assert_int_equal(mark_of(&a, &b, 34, &qpn), GATEWAY_PEERS_EARLY);
	now_ns += 1;
	assert_int_equal(mark_of(&a, &b, 34, &qpn), GATEWAY_PEERS_NOTIFY);
	assert_int_equal(qpn, 17);
}

/* More than there is room for: most of the last ones are known, none is wrong, and questions of a host that gets no
 * answers make none. */
static void test_many(void **state)
{
	uint32_t known = 0;

	(void)state;
	for (uint32_t i = 1; i <= 8192; i++) {
		now_ns += 1000;
		talk(10000 + i, 100000 + i, i * 16, 3);
		writes(200000 + i, i);
	}
	for (uint32_t i = 1; i <= 8192; i++) {
		uint32_t qpn = sender_to(100000 + i);

		assert_true(qpn == 0 || qpn == 10000 + i);
		known += qpn != 0;
	}
	assert_in_range(known, 256, 1024);
}

static void test_limits(void **state)
{
	struct gateway_peers_config config = {.max = 0, .idle_ns = 1};

	(void)state;
	assert_null(gateway_peers_new(&config));
	config.max = (1u << 20) + 1;
	assert_null(gateway_peers_new(&config));
	config.max = 1;
	config.idle_ns = 0;
	assert_null(gateway_peers_new(&config));
	gateway_peers_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_learn, start, end),
		cmocka_unit_test_setup_teardown(test_read, start, end),
		cmocka_unit_test_setup_teardown(test_nothing_to_learn, start, end),
		cmocka_unit_test_setup_teardown(test_in_step, start, end),
		cmocka_unit_test_setup_teardown(test_left_over, start, end),
		cmocka_unit_test_setup_teardown(test_changes, start, end),
		cmocka_unit_test_setup_teardown(test_gap, start, end),
		cmocka_unit_test_setup_teardown(test_many, start, end),
		cmocka_unit_test(test_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
