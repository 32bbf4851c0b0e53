/* SPDX-License-Identifier: BSD-3-Clause */
/* Every operation of RC over a wire without faults: memory, completions, and what goes over the wire. */
#include "harness.h"

static const uint32_t mtus[] = {256, 512, 1024, 2048, 4096};

/* Sizes around everything that could matter at an MTU: empty, pad counts, multiples, the 32-packet burst. */
static uint32_t sizes_of(uint32_t mtu, uint32_t *sizes)
{
	const uint32_t all[] = {0, 1, 2, 3, 4, 5, mtu - 1, mtu, mtu + 1, 2 * mtu - 3, 2 * mtu, 3 * mtu + 2,
		32 * mtu - 1,
		32 * mtu, 32 * mtu + 1, 70 * mtu + 13};
	uint32_t n = sizeof(all) / sizeof(all[0]);

	memcpy(sizes, all, sizeof(all));
	return n;
}

static void check_bytes(const struct hx_world *w, uint32_t off0, uint32_t off1, uint32_t bytes)
{
	assert_memory_equal(w->side[0].mem + off0, w->side[1].mem + off1, bytes);
}

static void one_send(struct hx_world *w, uint32_t bytes, uint32_t seed)
{
	struct hx_piece in[] = {{1, bytes / 3}, {400001, bytes - bytes / 3 + 5}};
	uint64_t recv_id = hx_recv(&w->side[1].qps[0], in, 2), id;
	const struct tp_cqe *cqe;

	hx_fill(w->side[0].mem, bytes, seed);
	memset(w->side[1].mem, 0xaa, HX_MEM_BYTES);
	id = hx_op(w, TP_WR_SEND, 0, 0, bytes, 0);
	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	cqe = hx_poll(&w->side[1].recv_cq);
	assert_int_equal(cqe->wr_id, recv_id);
	assert_int_equal(cqe->status, TP_WC_SUCCESS);
	assert_int_equal(cqe->opcode, TP_WC_OP_RECV);
	assert_int_equal(cqe->bytes, bytes);
	check_bytes(w, 0, 1, bytes / 3);
	check_bytes(w, bytes / 3, 400001, bytes - bytes / 3);
	assert_int_equal(w->side[1].mem[400001 + bytes - bytes / 3], 0xaa);
	assert_int_equal(w->side[1].mem[0], 0xaa);
}

static void one_write(struct hx_world *w, uint32_t bytes, uint32_t seed)
{
	uint64_t id;

	hx_fill(w->side[0].mem + 7, bytes, seed);
	memset(w->side[1].mem, 0xaa, HX_MEM_BYTES);
	id = hx_op(w, TP_WR_WRITE, 0, 7, bytes, 501);
	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	check_bytes(w, 7, 501, bytes);
	assert_int_equal(w->side[1].mem[500], 0xaa);
	assert_int_equal(w->side[1].mem[501 + bytes], 0xaa);
}

static void one_read(struct hx_world *w, uint32_t bytes, uint32_t seed)
{
	const struct tp_cqe *cqe;
	uint64_t id;

	hx_fill(w->side[1].mem + 9, bytes, seed);
	memset(w->side[0].mem, 0xaa, HX_MEM_BYTES);
	id = hx_op(w, TP_WR_READ, 0, 3, bytes, 9);
	hx_run(w, HX_S);
	cqe = hx_poll(&w->side[0].send_cq);
	assert_int_equal(cqe->wr_id, id);
	assert_int_equal(cqe->status, TP_WC_SUCCESS);
	assert_int_equal(cqe->opcode, TP_WC_OP_READ);
	assert_int_equal(cqe->bytes, bytes);
	check_bytes(w, 3, 9, bytes);
	assert_int_equal(w->side[0].mem[2], 0xaa);
	assert_int_equal(w->side[0].mem[3 + bytes], 0xaa);
}

static void each_size(uint32_t mtu, bool copied, uint8_t l3_version, void (*op)(struct hx_world *, uint32_t, uint32_t))
{
	struct hx_options o = {.mtu = mtu, .copied = copied, .l3_version = l3_version, .psn = 0xffffe0};
	struct hx_world *w = hx_new(&o);
	uint32_t sizes[32], n = sizes_of(mtu, sizes);

	for (uint32_t i = 0; i < n; i++)
		op(w, sizes[i], i);
	hx_expect_none(w);
	assert_int_equal(tp_counters(w->side[0].tp)->retransmits, 0);
	hx_free(w);
}

static void each_mtu(void (*op)(struct hx_world *, uint32_t, uint32_t))
{
	for (uint32_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++) {
		each_size(mtus[i], false, 4, op);
		each_size(mtus[i], true, 6, op);
	}
}

static void test_send(void **state)
{
	(void)state;
	each_mtu(one_send);
}

static void test_write(void **state)
{
	(void)state;
	each_mtu(one_write);
}

static void test_read(void **state)
{
	(void)state;
	each_mtu(one_read);
}

static void atomics(bool copied)
{
	struct hx_options o = {.copied = copied};
	struct hx_world *w = hx_new(&o);
	struct tp_send_wqe wqe = {.opcode = TP_WR_FETCH_ADD, .rkey = w->side[1].key, .remote_addr = HX_IOVA + 64,
		.atomic.compare_add = 5};
	struct hx_piece piece = {128, 8};
	uint64_t *target = (uint64_t *)(void *)(w->side[1].mem + 64);
	uint64_t *result = (uint64_t *)(void *)(w->side[0].mem + 128);

	*target = 0xfffffffffffffffeull;
	hx_expect(&w->side[0].send_cq, (hx_post(&w->side[0].qps[0], &wqe, &piece, 1), hx_run(w, HX_S), 0x5e4d0000u),
		TP_WC_SUCCESS);
	assert_int_equal(*result, 0xfffffffffffffffeull);
	assert_int_equal(*target, 3);
	wqe.opcode = TP_WR_CMP_SWAP;
	wqe.atomic.compare_add = 4;
	wqe.atomic.swap = 99;
	hx_post(&w->side[0].qps[0], &wqe, &piece, 1);
	hx_run(w, HX_S);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->opcode, TP_WC_OP_CMP_SWAP);
	assert_int_equal(*result, 3);
	assert_int_equal(*target, 3);
	wqe.atomic.compare_add = 3;
	hx_post(&w->side[0].qps[0], &wqe, &piece, 1);
	hx_run(w, HX_S);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->bytes, 8);
	assert_int_equal(*result, 3);
	assert_int_equal(*target, 99);
	hx_free(w);
}

static void test_atomics(void **state)
{
	(void)state;
	atomics(false);
	atomics(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_send),
		cmocka_unit_test(test_write),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_atomics),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
