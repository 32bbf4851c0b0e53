/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder: rights, resources and memory behind a request (IBTA vol. 1, 9.7.4.1.3 to 9.7.4.1.5, 9.9.3). */
#include <errno.h>

#include "responder_kit.h"

/* ---- 9.7.4.1.3 and 9.7.4.1.5: rights of queue pair and region ---- */

static void allow(struct hx_world *w, uint32_t access)
{
	struct tp_qp_attr attr = {.access = access};

	assert_int_equal(tp_qp_modify(w->side[1].tp, responder(w)->qp, &attr, TP_QP_ACCESS_FLAGS, w->now_ns), 0);
}

static const struct {
	uint8_t opcode;
	uint32_t access;
} remote_ops[] = {
	{WIRE_RC_WRITE_ONLY, TP_ACCESS_REMOTE_WRITE},
	{WIRE_RC_READ_REQUEST, TP_ACCESS_REMOTE_READ},
	{WIRE_RC_COMPARE_SWAP, TP_ACCESS_REMOTE_ATOMIC},
	{WIRE_RC_FETCH_ADD, TP_ACCESS_REMOTE_ATOMIC},
};

static void test_queue_pair_rights(void **state)
{
	const uint32_t all = TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_ATOMIC;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct hx_world *w = alone(256);

		allow(w, all & ~remote_ops[i].access);
		one_remote(w, remote_ops[i].opcode, w->side[1].key, HX_IOVA, 8);
		expect_fatal(w, 0x61, P, TP_WC_WR_FLUSH_ERR);
		hx_free(w);
		w = alone(256);
		allow(w, remote_ops[i].access);
		one_remote(w, remote_ops[i].opcode, w->side[1].key, HX_IOVA, 8);
		assert_int_equal(hx_last(w, 1)->syndrome, 0x1f);
		hx_free(w);
	}
}

static uint32_t region(struct hx_world *w, uint32_t access, uint32_t pd)
{
	struct tp_mr_attr attr = {.pd = pd, .access = access, .iova = HX_IOVA, .addr = (uintptr_t)w->side[1].mem,
		.bytes = 4096, .direct = w->side[1].mem};
	uint32_t key;

	assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &key), 0);
	return key;
}

static void expect_access_nak(struct hx_world *w)
{
	expect_fatal(w, 0x62, P, TP_WC_WR_FLUSH_ERR);
	assert_int_equal(responder(w)->events[TP_EVENT_QP_ACCESS_ERR], 1);
	hx_free(w);
}

static void test_region_rights(void **state)
{
	const uint32_t all = TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_ATOMIC;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		uint8_t op = remote_ops[i].opcode;
		struct hx_world *w = alone(256);

		one_remote(w, op, region(w, TP_ACCESS_LOCAL_WRITE | (all & ~remote_ops[i].access), HX_PD), HX_IOVA, 8);
		expect_access_nak(w);
		w = alone(256);
		one_remote(w, op, region(w, TP_ACCESS_LOCAL_WRITE | all, HX_PD + 1), HX_IOVA, 8);
		expect_access_nak(w);
		w = alone(256);
		one_remote(w, op, region(w, TP_ACCESS_LOCAL_WRITE | remote_ops[i].access, HX_PD), HX_IOVA + 4088, 8);
		assert_int_equal(hx_last(w, 1)->syndrome, 0x1f);
		hx_free(w);
	}
}

static void test_bad_keys_and_ranges(void **state)
{
	(void)state;
	for (size_t i = 0; i < 4; i++) {
		uint8_t op = remote_ops[i].opcode;
		struct hx_world *w = alone(256);
		uint32_t stale;

		one_remote(w, op, w->side[1].key + 1, HX_IOVA, 8);
		expect_access_nak(w);
		w = alone(256);
		one_remote(w, op, 0, HX_IOVA, 8);
		expect_access_nak(w);
		w = alone(256);
		one_remote(w, op, 0xffffffff, HX_IOVA, 8);
		expect_access_nak(w);
		w = alone(256);
		one_remote(w, op, w->side[1].key, HX_IOVA - 8, 8);
		expect_access_nak(w);
		w = alone(256);
		one_remote(w, op, w->side[1].key, HX_IOVA + HX_MEM_BYTES, 8);
		expect_access_nak(w);
		/* Probe "WRITE va+len wraps 2^64". */
		w = alone(256);
		one_remote(w, op, w->side[1].key, 0xfffffffffffffff8u, 8);
		expect_access_nak(w);
		w = alone(256);
		stale = region(w, TP_ACCESS_LOCAL_WRITE | remote_ops[i].access, HX_PD);
		assert_int_equal(tp_mr_destroy(w->side[1].tp, stale), 0);
		one_remote(w, op, stale, HX_IOVA, 8);
		expect_access_nak(w);
	}
}

/* Range end: one byte too far for WRITE and READ; the first packet of a long WRITE is judged by the whole. */
static void test_range_end(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_WRITE_FIRST, P);

	(void)state;
	one_remote(w, WIRE_RC_READ_REQUEST, w->side[1].key, HX_IOVA + HX_MEM_BYTES - 8, 9);
	expect_access_nak(w);
	w = alone(256);
	pkt.va = HX_IOVA + HX_MEM_BYTES - 512;
	pkt.rkey = w->side[1].key;
	pkt.dma_bytes = 513;
	hx_inject(w, 1, pkt, bytes, 256);
	expect_access_nak(w);
}

static void test_unaligned_atomic(void **state)
{
	(void)state;
	for (uint32_t off = 1; off < 8; off++) {
		struct hx_world *w = alone(256);

		one_remote(w, WIRE_RC_FETCH_ADD, w->side[1].key, HX_IOVA + off, 8);
		expect_fatal(w, 0x61, P, TP_WC_WR_FLUSH_ERR);
		hx_free(w);
	}
}

/* ---- 9.7.5.2.8: resources ---- */

static void test_rnr(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	/* Probes "5 SENDs, 4 recv WQEs (RNR)" and what follows while the requester must wait. */
	send(w, WIRE_RC_SEND_ONLY, P, 64);
	expect_aeth(w, P, 0x2c, 0);
	send(w, WIRE_RC_SEND_ONLY, P + 1, 64);
	assert_int_equal(w->n_log, 1);
	send(w, WIRE_RC_SEND_ONLY, P, 64);
	expect_aeth(w, P, 0x2c, 0);
	assert_int_equal(w->n_log, 2);
	post_recv(w, 64);
	send(w, WIRE_RC_SEND_ONLY, P, 64);
	expect_aeth(w, P, 0x1f, 1);
	assert_int_equal(tp_counters(w->side[1].tp)->rnr_naks_sent, 2);
	hx_free(w);
}

/* WRITE with immediate takes its receive at the end only, and goes on there after an RNR NAK. */
static void test_rnr_at_last_packet(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	write(w, WIRE_RC_WRITE_FIRST, P, 300, 256);
	expect_aeth(w, P, 0x1f, 0);
	write(w, WIRE_RC_WRITE_LAST_IMM, P + 1, 0, 44);
	expect_aeth(w, P + 1, 0x2c, 0);
	post_recv(w, 0);
	write(w, WIRE_RC_WRITE_LAST_IMM, P + 1, 0, 44);
	expect_aeth(w, P + 1, 0x1f, 1);
	assert_int_equal(hx_poll(&w->side[1].recv_cq)->bytes, 300);
	hx_free(w);
}

/* Fault case 12: a bad WRITE is refused whether or not receives are posted. */
static void test_bad_write_without_receive(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	one_remote(w, WIRE_RC_WRITE_ONLY, 1, HX_IOVA, 8);
	expect_access_nak(w);
}

static void test_too_many_reads(void **state)
{
	struct hx_options o = {.mtu = 256, .psn = P, .dest_rd_atomic = 2};
	struct hx_world *w = hx_new(&o);
	struct wire_pkt pkt = request(w, WIRE_RC_READ_REQUEST, P);

	(void)state;
	w->cut = true;
	pkt.dma_bytes = 512;
	for (; pkt.psn < P + 6; pkt.psn += 2)
		hx_inject(w, 1, pkt, NULL, 0);
	/* The two answers leave first, then the refusal of the third. */
	hx_run(w, HX_MS);
	assert_int_equal(w->n_log, 5);
	expect_fatal(w, 0x61, P + 4, TP_WC_WR_FLUSH_ERR);
	hx_free(w);
}

static void test_no_read_resources(void **state)
{
	struct hx_options o = {.mtu = 256, .psn = P, .dest_rd_atomic = HX_ZERO};
	struct hx_world *w = hx_new(&o);

	(void)state;
	w->cut = true;
	read(w, P, HX_IOVA, 8);
	expect_fatal(w, 0x61, P, TP_WC_WR_FLUSH_ERR);
	hx_free(w);
}

/* ---- receive work requests ---- */

static void test_receive_too_small(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	post_recv(w, 300);
	post_recv(w, 300);
	send(w, WIRE_RC_SEND_FIRST, P, 256);
	send(w, WIRE_RC_SEND_LAST, P + 1, 45);
	/* IBTA vol. 1, 9.9.3: invalid request to the peer, local length error here. */
	expect_fatal(w, 0x61, P + 1, TP_WC_LOC_LEN_ERR);
	assert_int_equal(w->side[1].recv_cq.n, 2);
	hx_free(w);
}

static void test_receive_memory(void **state)
{
	struct tp_sge sge = {.addr = HX_IOVA, .bytes = 64};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct hx_world *w = alone(256);

		/* No region, one that may not be written, one of another protection domain. */
		sge.lkey = 0x1234;
		if (i != 0)
			sge.lkey = region(w, i == 1 ? 0 : TP_ACCESS_LOCAL_WRITE, i == 1 ? HX_PD : HX_PD + 9);
		hx_recv_raw(responder(w), &sge, 1);
		send(w, WIRE_RC_SEND_ONLY, P, 8);
		expect_fatal(w, 0x63, P, TP_WC_LOC_PROT_ERR);
		hx_free(w);
	}
}

static void test_malformed_receive(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	responder(w)->fetch_error = -EINVAL;
	post_recv(w, 64);
	send(w, WIRE_RC_SEND_ONLY, P, 8);
	expect_fatal(w, 0x63, P, TP_WC_LOC_QP_OP_ERR);
	assert_int_equal(w->side[1].recv_cq.n, 1);
	hx_free(w);
	w = alone(256);
	hx_recv_raw(responder(w), NULL, 0);
	((struct tp_recv_wqe *)(void *)responder(w)->rq[0])->num_sge = 0xffffffff;
	send(w, WIRE_RC_SEND_ONLY, P, 8);
	expect_fatal(w, 0x63, P, TP_WC_LOC_QP_OP_ERR);
	hx_free(w);
}

/* LOC_ACCESS_ERR is the receive's status when the region of a WRITE with immediate fails. */
static void test_write_imm_access(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_WRITE_ONLY_IMM, P);

	(void)state;
	post_recv(w, 0);
	pkt.rkey = 1;
	pkt.dma_bytes = 8;
	hx_inject(w, 1, pkt, bytes, 8);
	expect_fatal(w, 0x62, P, TP_WC_LOC_ACCESS_ERR);
	hx_free(w);
}

/* ---- regions that go, memory that fails ---- */

static void test_region_gone_within_write(void **state)
{
	struct hx_world *w = alone(256);

	(void)state;
	write(w, WIRE_RC_WRITE_FIRST, P, 600, 256);
	assert_int_equal(tp_mr_destroy(w->side[1].tp, w->side[1].key), 0);
	write(w, WIRE_RC_WRITE_MIDDLE, P + 1, 0, 256);
	expect_fatal(w, 0x62, P + 1, TP_WC_WR_FLUSH_ERR);
	hx_free(w);
}

/* Fault case 11: never stale data. */
static void test_region_gone_within_read(void **state)
{
	struct hx_world *w = alone(256);
	struct wire_pkt pkt = request(w, WIRE_RC_READ_REQUEST, P);

	(void)state;
	pkt.dma_bytes = 2048;
	hx_inject(w, 1, pkt, NULL, 0);
	tp_tx(w->side[1].tp, 3, w->now_ns);
	assert_int_equal(w->n_log, 3);
	assert_int_equal(tp_mr_destroy(w->side[1].tp, w->side[1].key), 0);
	expect_fatal(w, 0x62, P + 3, TP_WC_WR_FLUSH_ERR);
	assert_int_equal(w->n_log, 4);
	hx_free(w);
}

static struct hx_world *copied_alone(void)
{
	struct hx_options o = {.mtu = 256, .psn = P, .copied = true};
	struct hx_world *w = hx_new(&o);

	w->cut = true;
	return w;
}

static void test_memory_fails(void **state)
{
	struct hx_world *w = copied_alone();

	(void)state;
	w->side[1].fail_read = true;
	read(w, P, HX_IOVA, 1000);
	expect_fatal(w, 0x63, P, TP_WC_WR_FLUSH_ERR);
	assert_int_equal(w->n_log, 1);
	hx_free(w);
	w = copied_alone();
	w->side[1].fail_write = true;
	write(w, WIRE_RC_WRITE_ONLY, P, 8, 8);
	expect_fatal(w, 0x63, P, TP_WC_WR_FLUSH_ERR);
	assert_int_equal(w->n_log, 1);
	hx_free(w);
	w = copied_alone();
	w->side[1].fail_write = true;
	post_recv(w, 64);
	send(w, WIRE_RC_SEND_ONLY, P, 8);
	expect_fatal(w, 0x63, P, TP_WC_LOC_PROT_ERR);
	hx_free(w);
	w = copied_alone();
	w->side[1].fail_write = true;
	one_remote(w, WIRE_RC_FETCH_ADD, w->side[1].key, HX_IOVA, 8);
	expect_fatal(w, 0x63, P, TP_WC_WR_FLUSH_ERR);
	hx_free(w);
}

/* ---- SEND with invalidate ---- */

static uint32_t invalidatable(struct hx_world *w)
{
	struct tp_mr_attr attr = {.pd = HX_PD, .access = TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE,
		.iova = HX_IOVA,
		.addr = (uintptr_t)w->side[1].mem, .bytes = 4096, .direct = w->side[1].mem, .invalidatable = true};
	uint32_t key;

	assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &key), 0);
	return key;
}

static void send_inv(struct hx_world *w, uint32_t psn, uint32_t key)
{
	struct wire_pkt pkt = request(w, WIRE_RC_SEND_ONLY_INV, psn);

	pkt.rkey = key;
	hx_inject(w, 1, pkt, bytes, 8);
}

static void test_invalidate(void **state)
{
	struct hx_world *w = alone(256);
	uint32_t key = invalidatable(w);
	const struct tp_cqe *cqe;

	(void)state;
	post_recv(w, 64);
	send_inv(w, P, key);
	expect_aeth(w, P, 0x1f, 1);
	cqe = hx_poll(&w->side[1].recv_cq);
	assert_int_equal(cqe->flags, TP_WC_WITH_INV);
	assert_int_equal(cqe->imm, key);
	/* The key is dead for the peer now. */
	hx_inject(w, 1, (struct wire_pkt){.opcode = WIRE_RC_WRITE_ONLY, .psn = P + 1, .va = HX_IOVA, .rkey = key,
		.dma_bytes = 8}, bytes, 8);
	expect_fatal(w, 0x62, P + 1, TP_WC_SUCCESS);
	hx_free(w);
}

/* Probe "SEND_ONLY_INV bad rkey": a plain ACK, then REM_INV_REQ_ERR here. Regions of ibv_reg_mr do not end so. */
static void test_bad_invalidate(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct hx_world *w = alone(256);

		post_recv(w, 64);
		post_recv(w, 64);
		send_inv(w, P, i == 0 ? 0x12345678 : w->side[1].key);
		expect_fatal(w, 0x1f, P, TP_WC_REM_INV_REQ_ERR);
		assert_int_equal(hx_last(w, 1)->msn, 0);
		hx_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue_pair_rights),
		cmocka_unit_test(test_region_rights),
		cmocka_unit_test(test_bad_keys_and_ranges),
		cmocka_unit_test(test_range_end),
		cmocka_unit_test(test_unaligned_atomic),
		cmocka_unit_test(test_rnr),
		cmocka_unit_test(test_rnr_at_last_packet),
		cmocka_unit_test(test_bad_write_without_receive),
		cmocka_unit_test(test_too_many_reads),
		cmocka_unit_test(test_no_read_resources),
		cmocka_unit_test(test_receive_too_small),
		cmocka_unit_test(test_receive_memory),
		cmocka_unit_test(test_malformed_receive),
		cmocka_unit_test(test_write_imm_access),
		cmocka_unit_test(test_region_gone_within_write),
		cmocka_unit_test(test_region_gone_within_read),
		cmocka_unit_test(test_memory_fails),
		cmocka_unit_test(test_invalidate),
		cmocka_unit_test(test_bad_invalidate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
