/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder: order of requests, duplicates and the order of its answers (IBTA vol. 1, 9.7.4.1, 9.7.5.1). */
#include "responder_kit.h"

/* ---- 9.7.4.1: order ---- */

static void test_ahead_is_naked_once(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		post_recv(w, 512);
	send(w, WIRE_RC_SEND_ONLY, P + 1, 64);
	expect_aeth(w, P, 0x60, 0);
	send(w, WIRE_RC_SEND_ONLY, P + 2, 64);
	send(w, WIRE_RC_SEND_ONLY, P + 1, 64);
	assert_int_equal(w->n_log, 1);
	assert_int_equal(dropped(w, BASE_DROP_OUT_OF_ORDER), 3);
	/* Probe "PSN gap then right PSN". */
	send(w, WIRE_RC_SEND_ONLY, P, 64);
	expect_aeth(w, P, 0x1f, 1);
	send(w, WIRE_RC_SEND_ONLY, P + 2, 64);
	expect_aeth(w, P + 1, 0x60, 1);
	assert_int_equal(w->n_log, 3);
	hx_free(w);
}

/* Reordering within a burst is settled before anything is said about it. */
static void test_reordered_burst(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	for (uint32_t i = 0; i < 2; i++)
		post_recv(w, 512);
	hx_hold(w);
	send(w, WIRE_RC_SEND_ONLY, P + 1, 64);
	send(w, WIRE_RC_SEND_ONLY, P, 64);
	send(w, WIRE_RC_SEND_ONLY, P + 1, 64);
	hx_release(w, 1);
	assert_int_equal(w->n_log, 1);
	expect_aeth(w, P + 1, 0x1f, 2);
	hx_free(w);
}

/* One ACK for a whole burst, however many asked for one. */
static void test_burst_is_acked_once(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	hx_hold(w);
	for (uint32_t i = 0; i < 20; i++)
		write(w, WIRE_RC_WRITE_ONLY, P + i, 8, 8);
	hx_release(w, 1);
	assert_int_equal(w->n_log, 1);
	expect_aeth(w, P + 19, 0x1f, 20);
	hx_free(w);
}

static void test_half_window(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	/* The farthest PSN ahead, and the farthest behind: probe "PSN + 0x800000". */
	send(w, WIRE_RC_SEND_ONLY, (P + 0x7fffff) & 0xffffff, 64);
	expect_aeth(w, P, 0x60, 0);
	send(w, WIRE_RC_SEND_ONLY, (P + 0x800000) & 0xffffff, 64);
	expect_aeth(w, P - 1, 0x1f, 0);
	hx_free(w);
}

static void test_duplicate_send(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	for (uint32_t i = 0; i < 4; i++)
		post_recv(w, 512);
	for (uint32_t i = 0; i < 3; i++)
		send(w, WIRE_RC_SEND_ONLY, P + i, 64);
	expect_aeth(w, P + 2, 0x1f, 3);
	/* Probe "three SENDs, dup of the first": acknowledged with the latest. */
	send(w, WIRE_RC_SEND_ONLY, P, 64);
	expect_aeth(w, P + 2, 0x1f, 3);
	assert_int_equal(w->n_log, 4);
	assert_int_equal(w->side[1].recv_cq.n, 3);
	assert_int_equal(tp_counters(w->side[1].tp)->duplicates, 1);
	hx_free(w);
}

static void test_duplicate_within_message(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	/* Probe "WRITE FIRST then dup FIRST". */
	write(w, WIRE_RC_WRITE_FIRST, P, 300, 256);
	write(w, WIRE_RC_WRITE_FIRST, P, 300, 256);
	expect_aeth(w, P, 0x1f, 0);
	write(w, WIRE_RC_WRITE_LAST, P + 1, 300, 44);
	expect_aeth(w, P + 1, 0x1f, 1);
	hx_free(w);
}

static void test_coalesced_ack(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_WRITE_ONLY, P);

	(void)state;
	pkt.ack_req = 0;
	pkt.dma_bytes = 8;
	for (; pkt.psn < P + 31; pkt.psn++)
		hx_inject(w, 1, pkt, bytes, 8);
	assert_int_equal(w->n_log, 0);
	/* Nobody has to ask for more than a burst without word. */
	hx_inject(w, 1, pkt, bytes, 8);
	expect_aeth(w, P + 31, 0x1f, 32);
	hx_free(w);
}

/* ---- 9.7.5.1.1: duplicates of READ and atomic ---- */

static void test_duplicate_read(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	/* Probe "READ 600B then dup of the tail". */
	read(w, P, HX_IOVA + 4096, 600);
	assert_int_equal(w->n_log, 3);
	read(w, P + 1, HX_IOVA + 4096 + 256, 600 - 256);
	assert_int_equal(w->n_log, 5);
	assert_int_equal(w->log[3].pkt.opcode, WIRE_RC_READ_RESP_FIRST);
	assert_int_equal(w->log[3].pkt.psn, P + 1);
	assert_int_equal(w->log[4].pkt.opcode, WIRE_RC_READ_RESP_LAST);
	assert_int_equal(w->log[4].pkt.payload_bytes, 88);
	/* Probe "dup READ with other va"; fault case 9: one that wraps. */
	read(w, P, HX_IOVA, 600);
	read(w, P, 0xfffffffffffffc00u, 600);
	read(w, P + 1, HX_IOVA + 4096 + 256, 600);
	assert_int_equal(w->n_log, 5);
	assert_int_equal(dropped(w, BASE_DROP_DUPLICATE), 3);
	hx_free(w);
}

static void test_empty_read_twice(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = {.opcode = WIRE_RC_READ_REQUEST, .psn = P, .ack_req = 1};

	(void)state;
	/* Fault case 15: neither key nor address count. */
	for (uint32_t i = 0; i < 2; i++) {
		hx_inject(w, 1, pkt, NULL, 0);
		hx_run(w, HX_MS);
		assert_int_equal(w->n_log, i + 1);
		assert_int_equal(hx_last(w, 1)->opcode, WIRE_RC_READ_RESP_ONLY);
		assert_int_equal(hx_last(w, 1)->payload_bytes, 0);
	}
	hx_free(w);
}

static void test_duplicate_atomic(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_FETCH_ADD, P);
	uint64_t before, after;

	(void)state;
	post_recv(w, 64);
	memcpy(&before, w->side[1].mem + 4096, 8);
	pkt.swap_add = 1;
	hx_inject(w, 1, pkt, NULL, 0);
	assert_int_equal(hx_last(w, 1)->opcode, WIRE_RC_ATOMIC_ACK);
	assert_int_equal(hx_last(w, 1)->msn, 1);
	/* Probe "FETCH_ADD then SEND then dup atomic": the saved result, and no second addition. */
	send(w, WIRE_RC_SEND_ONLY, P + 1, 8);
	hx_inject(w, 1, pkt, NULL, 0);
	assert_int_equal(hx_last(w, 1)->opcode, WIRE_RC_ATOMIC_ACK);
	assert_int_equal(hx_last(w, 1)->psn, P);
	assert_int_equal(hx_last(w, 1)->msn, 2);
	assert_true(hx_last(w, 1)->atomic_orig == before);
	memcpy(&after, w->side[1].mem + 4096, 8);
	assert_true(after == before + 1);
	hx_free(w);
}

static void test_forgotten_atomic(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_FETCH_ADD, P);

	(void)state;
	/* Four are kept; the fifth pushes out the first. */
	for (; pkt.psn < P + 5; pkt.psn++)
		hx_inject(w, 1, pkt, NULL, 0);
	assert_int_equal(w->n_log, 5);
	pkt.psn = P;
	hx_inject(w, 1, pkt, NULL, 0);
	assert_int_equal(w->n_log, 5);
	assert_int_equal(dropped(w, BASE_DROP_DUPLICATE), 1);
	hx_free(w);
}

/* ---- order of answers ---- */

/* An ACK or NAK tells of everything before it, so it waits for the READ's answer. */
static void test_ack_waits_for_read(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_READ_REQUEST, P);

	(void)state;
	pkt.dma_bytes = 1024;
	hx_inject(w, 1, pkt, NULL, 0);
	write(w, WIRE_RC_WRITE_ONLY, P + 4, 8, 8);
	one_remote(w, WIRE_RC_WRITE_ONLY, 1, HX_IOVA, 8);
	assert_int_equal(w->n_log, 5);
	assert_int_equal(w->log[3].pkt.opcode, WIRE_RC_READ_RESP_LAST);
	expect_aeth(w, P + 4, 0x1f, 2);
	hx_free(w);
}

static void test_read_answer_layout(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	read(w, P, HX_IOVA + 1, 600);
	assert_int_equal(w->log[0].pkt.opcode, WIRE_RC_READ_RESP_FIRST);
	assert_int_equal(w->log[0].pkt.msn, 1);
	assert_int_equal(w->log[1].pkt.opcode, WIRE_RC_READ_RESP_MIDDLE);
	assert_int_equal(w->log[1].pkt.hdrs, 0);
	assert_int_equal(w->log[2].pkt.opcode, WIRE_RC_READ_RESP_LAST);
	assert_int_equal(w->log[2].pkt.psn, P + 2);
	assert_int_equal(w->log[2].pkt.payload_bytes, 88);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ahead_is_naked_once),
		cmocka_unit_test(test_reordered_burst),
		cmocka_unit_test(test_burst_is_acked_once),
		cmocka_unit_test(test_half_window),
		cmocka_unit_test(test_duplicate_send),
		cmocka_unit_test(test_duplicate_within_message),
		cmocka_unit_test(test_coalesced_ack),
		cmocka_unit_test(test_duplicate_read),
		cmocka_unit_test(test_empty_read_twice),
		cmocka_unit_test(test_duplicate_atomic),
		cmocka_unit_test(test_forgotten_atomic),
		cmocka_unit_test(test_ack_waits_for_read),
		cmocka_unit_test(test_read_answer_layout),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
