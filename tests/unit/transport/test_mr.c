/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory regions: what may be registered, keys and their generations (IBTA vol. 1, 10.6). */
#include <errno.h>

#include "harness.h"

static struct tp_mr_attr attr_of(struct hx_world *w, uint32_t access)
{
	return (struct tp_mr_attr){.pd = HX_PD, .access = access, .iova = 0x1000, .addr = (uintptr_t)w->side[1].mem,
		.bytes = 4096, .as = &w->side[1], .direct = w->side[1].mem};
}

static struct hx_world *make(void)
{
	struct hx_options o = {.mtu = 256};

	return hx_new(&o);
}

/* 10.6.3.1: remote writing needs local writing; unknown flags and ranges that wrap are refused. */
static void test_attributes(void **state)
{
	static const struct {
		uint32_t access;
		int rc;
	} cases[] = {
		{0, 0}, {TP_ACCESS_LOCAL_WRITE, 0}, {TP_ACCESS_REMOTE_READ, 0},
		{TP_ACCESS_REMOTE_WRITE, -EINVAL}, {TP_ACCESS_REMOTE_ATOMIC, -EINVAL},
		{TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE, 0},
		{TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_ATOMIC, 0},
		{1u << 6, -EINVAL}, {1u << 31, -EINVAL},
	};
	struct hx_world *w = make();
	struct tp_mr_attr attr;
	uint32_t key;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		attr = attr_of(w, cases[i].access);
		assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &key), cases[i].rc);
	}
	attr = attr_of(w, 0);
	attr.iova = UINT64_MAX - 4095;
	assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &key), 0);
	attr.iova++;
	assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &key), -EINVAL);
	attr = attr_of(w, 0);
	attr.addr = UINT64_MAX - 100;
	assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &key), -EINVAL);
	hx_free(w);
}

/* A key is never 0, never given twice at a time, and dies with its region even when the slot lives again. */
static void test_keys(void **state)
{
	struct hx_world *w = make();
	struct tp_mr_attr attr = attr_of(w, 0);
	uint32_t keys[63], old, again;

	(void)state;
	for (uint32_t i = 0; i < 63; i++) {
		assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &keys[i]), 0);
		assert_int_not_equal(keys[i], 0);
		for (uint32_t k = 0; k < i; k++)
			assert_int_not_equal(keys[i], keys[k]);
	}
	assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &again), -ENOMEM);
	old = keys[17];
	assert_int_equal(tp_mr_destroy(w->side[1].tp, old), 0);
	assert_int_equal(tp_mr_destroy(w->side[1].tp, old), -EINVAL);
	assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &again), 0);
	assert_int_equal(again >> 8, old >> 8);
	assert_int_not_equal(again, old);
	assert_int_equal(tp_mr_destroy(w->side[1].tp, old), -EINVAL);
	assert_int_equal(tp_mr_destroy(w->side[1].tp, 0), -EINVAL);
	assert_int_equal(tp_mr_destroy(w->side[1].tp, 0xffffffff), -EINVAL);
	hx_free(w);
}

/* Another seed starts with other generations, so that keys of a former life fail. */
static void test_seed(void **state)
{
	struct tp_config config = {.max_qps = 1, .max_mrs = 16};
	struct tp_ops none = {0};
	struct tp_mr_attr attr = {.bytes = 8};
	uint32_t same = 0, keys[2];

	(void)state;
	for (uint32_t i = 0; i < 16; i++) {
		for (uint32_t life = 0; life < 2; life++) {
			struct tp *tp;

			config.seed = 1000 + life;
			tp = tp_create(&config, &none, NULL, 0);
			for (uint32_t k = 0; k <= i; k++)
				assert_int_equal(tp_mr_create(tp, &attr, &keys[life]), 0);
			tp_destroy(tp);
		}
		same += keys[0] == keys[1];
	}
	assert_true(same <= 1);
}

/* An address that is aligned for the peer need not be so here. */
static void test_atomic_on_odd_memory(void **state)
{
	struct hx_world *w = make();
	struct tp_mr_attr attr = attr_of(w, TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_ATOMIC);
	struct tp_send_wqe wqe = {.opcode = TP_WR_CMP_SWAP, .remote_addr = 0x1000, .atomic = {5, 6}};
	uint64_t value = 5;

	(void)state;
	attr.addr += 3;
	attr.direct += 3;
	assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &wqe.rkey), 0);
	memcpy(w->side[1].mem + 3, &value, 8);
	hx_post(&w->side[0].qps[0], &wqe, &(struct hx_piece){0, 8}, 1);
	hx_run(w, HX_S);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
	memcpy(&value, w->side[1].mem + 3, 8);
	assert_int_equal(value, 6);
	hx_free(w);
}

/* Consecutive packets of a message cost one write to the client's memory, not one each. */
static void test_writes_are_gathered(void **state)
{
	struct hx_options o = {.mtu = 256, .copied = true};
	struct hx_world *w = hx_new(&o);

	(void)state;
	hx_fill(w->side[0].mem, 64 * 256, 1);
	hx_op(w, TP_WR_WRITE, 0, 0, 64 * 256, 0);
	hx_run(w, HX_S);
	assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
	assert_memory_equal(w->side[0].mem, w->side[1].mem, 64 * 256);
	assert_true(w->side[1].mem_writes <= 8);
	hx_free(w);
}

/* ---- 11.2.7.4: changed under its key ---- */

static uint64_t write_to(struct hx_world *w, uint32_t key, uint64_t va)
{
	struct tp_send_wqe wqe = {.opcode = TP_WR_WRITE, .remote_addr = va, .rkey = key};
	uint64_t id = hx_post(&w->side[0].qps[0], &wqe, &(struct hx_piece){0, 8}, 1);

	hx_run(w, HX_S);
	return id;
}

static void test_change(void **state)
{
	const uint32_t writable = TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE;
	struct hx_world *w = make();
	struct tp *tp = w->side[1].tp;
	struct tp_mr_attr attr = attr_of(w, writable), other = attr;
	uint32_t key;

	(void)state;
	hx_fill(w->side[0].mem, 8, 1);
	assert_int_equal(tp_mr_create(tp, &attr, &key), 0);
	/* Elsewhere: the same key, the new addresses only. */
	other.iova = 0x9000;
	other.addr += 8192;
	other.direct += 8192;
	other.bytes = 64;
	assert_int_equal(tp_mr_change(tp, key, &other, TP_MR_TRANSLATION), 0);
	hx_expect(&w->side[0].send_cq, write_to(w, key, 0x9000), TP_WC_SUCCESS);
	assert_memory_equal(w->side[1].mem + 8192, w->side[0].mem, 8);
	/* What was not named stays: domain, rights. */
	other.pd = HX_PD + 1;
	other.access = 0;
	assert_int_equal(tp_mr_change(tp, key, &other, TP_MR_TRANSLATION), 0);
	hx_expect(&w->side[0].send_cq, write_to(w, key, 0x9000), TP_WC_SUCCESS);
	hx_expect(&w->side[0].send_cq, write_to(w, key, 0x1000), TP_WC_REM_ACCESS_ERR);
	hx_free(w);
}

static void test_change_rights(void **state)
{
	static const uint32_t what[] = {TP_MR_PD, TP_MR_ACCESS};

	(void)state;
	for (size_t i = 0; i < sizeof(what) / sizeof(what[0]); i++) {
		struct hx_world *w = make();
		struct tp_mr_attr attr = attr_of(w, TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE), other = attr;
		uint32_t key;

		assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &key), 0);
		other.pd = HX_PD + 1;
		other.access = TP_ACCESS_LOCAL_WRITE;
		assert_int_equal(tp_mr_change(w->side[1].tp, key, &other, what[i]), 0);
		assert_int_equal(tp_mr_change(w->side[1].tp, key, &attr, what[i]), 0);
		hx_expect(&w->side[0].send_cq, write_to(w, key, 0x1000), TP_WC_SUCCESS);
		assert_int_equal(tp_mr_change(w->side[1].tp, key, &other, what[i]), 0);
		hx_expect(&w->side[0].send_cq, write_to(w, key, 0x1000), TP_WC_REM_ACCESS_ERR);
		hx_free(w);
	}
}

/* What could not be registered so is refused, and the region is what it was. */
static void test_change_refused(void **state)
{
	struct hx_world *w = make();
	struct tp *tp = w->side[1].tp;
	struct tp_mr_attr attr = attr_of(w, TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE), other = attr;
	uint32_t key, window;

	(void)state;
	assert_int_equal(tp_mr_create(tp, &attr, &key), 0);
	assert_int_equal(tp_mw_create(tp, HX_PD, TP_MW_TYPE_1, &window), 0);
	assert_int_equal(tp_mr_change(tp, key ^ 1, &attr, TP_MR_ACCESS), -EINVAL);
	assert_int_equal(tp_mr_change(tp, window, &attr, TP_MR_ACCESS), -EINVAL);
	other.access = TP_ACCESS_REMOTE_WRITE;
	assert_int_equal(tp_mr_change(tp, key, &other, TP_MR_ACCESS), -EINVAL);
	other.addr = UINT64_MAX - 5;
	assert_int_equal(tp_mr_change(tp, key, &other, TP_MR_TRANSLATION), -EINVAL);
	hx_expect(&w->side[0].send_cq, write_to(w, key, 0x1000), TP_WC_SUCCESS);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_seed),
		cmocka_unit_test(test_atomic_on_odd_memory),
		cmocka_unit_test(test_writes_are_gathered),
		cmocka_unit_test(test_change),
		cmocka_unit_test(test_change_rights),
		cmocka_unit_test(test_change_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
