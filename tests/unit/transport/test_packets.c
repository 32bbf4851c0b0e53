/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder: sequence and length of request packets, and who may send them (IBTA vol. 1, 9.6.1, 9.7.4.1). */
#include "responder_kit.h"

/* ---- 9.7.4.1.2: sequence of opcodes ---- */

static void test_sequence(void **state)
{
	static const struct {
		uint8_t first, then;
	} bad[] = {
		{0xff, WIRE_RC_SEND_MIDDLE}, {0xff, WIRE_RC_SEND_LAST}, {0xff, WIRE_RC_WRITE_MIDDLE},
		{0xff, WIRE_RC_WRITE_LAST}, {0xff, WIRE_RC_WRITE_LAST_IMM}, {0xff, WIRE_RC_SEND_LAST_INV},
		{WIRE_RC_SEND_FIRST, WIRE_RC_SEND_FIRST}, {WIRE_RC_SEND_FIRST, WIRE_RC_SEND_ONLY},
		{WIRE_RC_SEND_FIRST, WIRE_RC_WRITE_MIDDLE}, {WIRE_RC_SEND_FIRST, WIRE_RC_WRITE_LAST},
		{WIRE_RC_SEND_FIRST, WIRE_RC_READ_REQUEST}, {WIRE_RC_SEND_FIRST, WIRE_RC_FETCH_ADD},
		{WIRE_RC_WRITE_FIRST, WIRE_RC_SEND_LAST}, {WIRE_RC_WRITE_FIRST, WIRE_RC_WRITE_ONLY},
		{WIRE_RC_WRITE_FIRST, WIRE_RC_COMPARE_SWAP}, {WIRE_RC_WRITE_FIRST, WIRE_RC_ATOMIC_WRITE},
		{0xff, WIRE_RC_FLUSH},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct hx_world *w = alone(256);
		uint32_t psn = P;

		post_recv(w, 4096);
		post_recv(w, 4096);
		if (bad[i].first != 0xff)
			write(w, bad[i].first, psn++, 1000, 256);
		write(w, bad[i].then, psn, 256, wire_op_is(wire_opinfo(bad[i].then), WIRE_OP_PAYLOAD) ? 256 : 0);
		expect_fatal(w, 0x61, psn,
			bad[i].first == WIRE_RC_SEND_FIRST ? TP_WC_REM_INV_REQ_ERR : TP_WC_WR_FLUSH_ERR);
		assert_int_equal(w->side[1].recv_cq.n, 2);
		assert_int_equal(responder(w)->events[TP_EVENT_QP_REQ_ERR], 1);
		hx_free(w);
	}
}

/* ---- 9.7.4.1.6: lengths (fault cases 5 and 6) ---- */

struct length_case {
	uint8_t opcode;
	uint32_t n;
	bool good;
};

static void one_length(uint8_t first, const struct length_case *c)
{
	struct hx_world *w = alone(256);
	uint32_t psn = P;

	post_recv(w, 4096);
	if (first != 0)
		send(w, first == 0xff ? WIRE_RC_SEND_FIRST : first, psn++, 256);
	send(w, c->opcode, psn, c->n);
	if (c->good)
		expect_aeth(w, psn, 0x1f, wire_op_is(wire_opinfo(c->opcode), WIRE_OP_END));
	else
		expect_fatal(w, 0x61, psn, TP_WC_REM_INV_REQ_ERR);
	hx_free(w);
}

static void test_send_lengths(void **state)
{
	static const struct length_case starts[] = {
		{WIRE_RC_SEND_ONLY, 0, true}, {WIRE_RC_SEND_ONLY, 1, true}, {WIRE_RC_SEND_ONLY, 256, true},
		{WIRE_RC_SEND_ONLY, 257, false}, {WIRE_RC_SEND_ONLY, 260, false}, {WIRE_RC_SEND_FIRST, 256, true},
		{WIRE_RC_SEND_FIRST, 255, false}, {WIRE_RC_SEND_FIRST, 0, false}, {WIRE_RC_SEND_FIRST, 260, false},
	};
	static const struct length_case goes_on[] = {
		{WIRE_RC_SEND_MIDDLE, 256, true}, {WIRE_RC_SEND_MIDDLE, 252, false}, {WIRE_RC_SEND_MIDDLE, 257, false},
		{WIRE_RC_SEND_LAST, 1, true}, {WIRE_RC_SEND_LAST, 256, true}, {WIRE_RC_SEND_LAST, 0, false},
		{WIRE_RC_SEND_LAST, 257, false}, {WIRE_RC_SEND_LAST_IMM, 0, false}, {WIRE_RC_SEND_LAST_IMM, 3, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++)
		one_length(0, &starts[i]);
	for (size_t i = 0; i < sizeof(goes_on) / sizeof(goes_on[0]); i++)
		one_length(0xff, &goes_on[i]);
}

static void test_write_lengths(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t total, n;
		bool good;
	} cases[] = {
		{WIRE_RC_WRITE_ONLY, 8, 8, true}, {WIRE_RC_WRITE_ONLY, 16, 8, false}, {WIRE_RC_WRITE_ONLY, 4, 8, false},
		{WIRE_RC_WRITE_ONLY, 0, 0, true}, {WIRE_RC_WRITE_ONLY, 300, 300, false},
		{WIRE_RC_WRITE_FIRST, 257, 256, true}, {WIRE_RC_WRITE_FIRST, 256, 256, false},
		{WIRE_RC_WRITE_FIRST, 1000, 255, false}, {WIRE_RC_WRITE_FIRST, (1u << 31) + 1, 256, false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hx_world *w = alone(256);

		write(w, cases[i].opcode, P, cases[i].total, cases[i].n);
		if (cases[i].good)
			assert_int_equal(hx_last(w, 1)->syndrome, 0x1f);
		else
			expect_fatal(w, 0x61, P, TP_WC_WR_FLUSH_ERR);
		hx_free(w);
	}
}

/* Message against its RETH: probe "WRITE LAST shorter than RETH total", and too long in the middle. */
static void test_write_total(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t total, n;
	} cases[] = {
		{WIRE_RC_WRITE_LAST, 300, 40}, {WIRE_RC_WRITE_LAST, 300, 48}, {WIRE_RC_WRITE_LAST, 600, 256},
		{WIRE_RC_WRITE_MIDDLE, 512, 256}, {WIRE_RC_WRITE_MIDDLE, 300, 256}, {WIRE_RC_WRITE_LAST_IMM, 300, 43},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct hx_world *w = alone(256);

		post_recv(w, 0);
		write(w, WIRE_RC_WRITE_FIRST, P, cases[i].total, 256);
		write(w, cases[i].opcode, P + 1, 0, cases[i].n);
		expect_fatal(w, 0x61, P + 1,
			cases[i].opcode == WIRE_RC_WRITE_LAST_IMM ? TP_WC_REM_INV_REQ_ERR : TP_WC_WR_FLUSH_ERR);
		hx_free(w);
	}
}

static void test_pad_count(void **state)
{
	(void)state;
	for (uint8_t pad = 0; pad < 4; pad++) {
		struct hx_world *w = alone(256);
		struct wire_pkt pkt = request(w, WIRE_RC_SEND_ONLY, P);
		struct tp_qp_attr peer;

		hx_attr(w, 0, 0, &peer);
		post_recv(w, 64);
		pkt.l3_version = 4;
		pkt.pkey = 0xffff;
		pkt.ttl = 1;
		pkt.dqpn = responder(w)->qpn;
		pkt.pad = pad;
		hx_inject_raw(w, 1, pkt, &peer.av.net, bytes, 5);
		if (pad == 3)
			expect_aeth(w, P, 0x1f, 1);
		else
			expect_fatal(w, 0x61, P, TP_WC_REM_INV_REQ_ERR);
		hx_free(w);
	}
}

static void test_read_too_long(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	read(w, P, HX_IOVA, (1u << 31) + 1);
	expect_fatal(w, 0x61, P, TP_WC_WR_FLUSH_ERR);
	hx_free(w);
}

/* ---- 9.6.1: who may talk to the queue pair ---- */

static void test_strangers(void **state)
{
	static const uint16_t keys[] = {0xffff, 0x7fff, 0xfffe, 0x0000, 0x8000};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		struct hx_world *w = alone(256);
		struct wire_pkt pkt = request(w, WIRE_RC_SEND_ONLY, P);
		struct tp_qp_attr peer;

		hx_attr(w, 0, 0, &peer);
		post_recv(w, 64);
		pkt.l3_version = 4;
		pkt.ttl = 9;
		pkt.pkey = keys[i];
		pkt.dqpn = responder(w)->qpn;
		hx_inject_raw(w, 1, pkt, &peer.av.net, bytes, 8);
		assert_int_equal(w->n_log, i < 2 ? 1 : 0);
		assert_int_equal(dropped(w, BASE_DROP_PKEY), i < 2 ? 0 : 1);
		pkt.pkey = 0xffff;
		pkt.dqpn++;
		hx_inject_raw(w, 1, pkt, &peer.av.net, bytes, 8);
		assert_int_equal(dropped(w, BASE_DROP_QPN), 1);
		pkt.dqpn--;
		peer.av.net.src.b[15]++;
		hx_inject_raw(w, 1, pkt, &peer.av.net, bytes, 8);
		assert_int_equal(dropped(w, BASE_DROP_QP_ADDRESS), 1);
		pkt.opcode = WIRE_UD_SEND_ONLY;
		hx_inject_raw(w, 1, pkt, &peer.av.net, bytes, 8);
		assert_int_equal(dropped(w, BASE_DROP_QP_TYPE), 1);
		pkt.opcode = WIRE_CNP;
		hx_inject_raw(w, 1, pkt, &peer.av.net, bytes, 16);
		assert_int_equal(dropped(w, BASE_DROP_QP_ADDRESS), 2);
		hx_free(w);
	}
}

static void test_states(void **state)
{
	struct hx_options o = {.mtu = 256, .psn = P, .stay_in_reset = true};
	struct hx_world *w = hx_new(&o);

	(void)state;
	w->cut = true;
	post_recv(w, 64);
	send(w, WIRE_RC_SEND_ONLY, P, 8);
	assert_int_equal(hx_to_state(w, responder(w), TP_QPS_INIT), 0);
	send(w, WIRE_RC_SEND_ONLY, P, 8);
	assert_int_equal(dropped(w, BASE_DROP_QP_STATE), 2);
	assert_int_equal(hx_to_state(w, responder(w), TP_QPS_RTR), 0);
	/* In RTR requests are served, responses are not; the first one establishes the connection. */
	hx_inject(w, 1, (struct wire_pkt){.opcode = WIRE_RC_ACK, .psn = P, .syndrome = 0x1f}, NULL, 0);
	assert_int_equal(dropped(w, BASE_DROP_QP_STATE), 3);
	assert_int_equal(responder(w)->events[TP_EVENT_COMM_EST], 0);
	send(w, WIRE_RC_SEND_ONLY, P, 8);
	expect_aeth(w, P, 0x1f, 1);
	send(w, WIRE_RC_SEND_ONLY, P, 8);
	assert_int_equal(responder(w)->events[TP_EVENT_COMM_EST], 1);
	assert_int_equal(hx_to_state(w, responder(w), TP_QPS_ERR), 0);
	send(w, WIRE_RC_SEND_ONLY, P + 1, 8);
	assert_int_equal(dropped(w, BASE_DROP_QP_STATE), 4);
	hx_free(w);
}

static void test_solicited(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_SEND_ONLY_IMM, P);

	(void)state;
	post_recv(w, 64);
	post_recv(w, 64);
	pkt.solicited = 1;
	pkt.imm = 0xdeadbeef;
	hx_inject(w, 1, pkt, bytes, 8);
	pkt.psn++;
	pkt.solicited = 0;
	hx_inject(w, 1, pkt, bytes, 8);
	assert_int_equal(w->side[1].recv_cq.cqe[0].solicited, 1);
	assert_int_equal(w->side[1].recv_cq.cqe[0].imm, 0xdeadbeef);
	assert_int_equal(w->side[1].recv_cq.cqe[0].src_qpn, w->side[0].qps[0].qpn);
	assert_int_equal(w->side[1].recv_cq.cqe[1].solicited, 0);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sequence),
		cmocka_unit_test(test_send_lengths),
		cmocka_unit_test(test_write_lengths),
		cmocka_unit_test(test_write_total),
		cmocka_unit_test(test_pad_count),
		cmocka_unit_test(test_read_too_long),
		cmocka_unit_test(test_strangers),
		cmocka_unit_test(test_states),
		cmocka_unit_test(test_solicited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
