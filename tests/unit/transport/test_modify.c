/* SPDX-License-Identifier: BSD-3-Clause */
/* Life of a queue pair: IBTA vol. 1, 10.3.1 and table 91, and what create and query promise. */
#include <errno.h>

#include "harness.h"

#define N_STATES 7
#define N_BITS   26

struct row {
	enum tp_qp_state from, to;
	uint32_t required, optional;
};

/* The table of the specification without alternate paths, which roced does not serve. */
static const struct row rows[] = {
	{TP_QPS_RESET, TP_QPS_RESET, 0, 0},
	{TP_QPS_RESET, TP_QPS_INIT, TP_QP_PKEY_INDEX | TP_QP_PORT | TP_QP_ACCESS_FLAGS, 0},
	{TP_QPS_INIT, TP_QPS_RESET, 0, 0},
	{TP_QPS_INIT, TP_QPS_ERR, 0, 0},
	{TP_QPS_INIT, TP_QPS_INIT, 0, TP_QP_PKEY_INDEX | TP_QP_PORT | TP_QP_ACCESS_FLAGS},
	{TP_QPS_INIT, TP_QPS_RTR,
		TP_QP_AV | TP_QP_PATH_MTU | TP_QP_DEST_QPN | TP_QP_RQ_PSN | TP_QP_MAX_DEST_RD_ATOMIC |
			TP_QP_MIN_RNR_TIMER,
		TP_QP_ACCESS_FLAGS | TP_QP_PKEY_INDEX},
	{TP_QPS_RTR, TP_QPS_RESET, 0, 0},
	{TP_QPS_RTR, TP_QPS_ERR, 0, 0},
	{TP_QPS_RTR, TP_QPS_RTS, TP_QP_TIMEOUT | TP_QP_RETRY_CNT | TP_QP_RNR_RETRY | TP_QP_SQ_PSN |
		TP_QP_MAX_QP_RD_ATOMIC,
		TP_QP_CUR_STATE | TP_QP_ACCESS_FLAGS | TP_QP_MIN_RNR_TIMER},
	{TP_QPS_RTS, TP_QPS_RESET, 0, 0},
	{TP_QPS_RTS, TP_QPS_ERR, 0, 0},
	{TP_QPS_RTS, TP_QPS_RTS, 0, TP_QP_CUR_STATE | TP_QP_ACCESS_FLAGS | TP_QP_MIN_RNR_TIMER},
	{TP_QPS_RTS, TP_QPS_SQD, 0, TP_QP_EN_SQD_ASYNC_NOTIFY},
	{TP_QPS_SQD, TP_QPS_RESET, 0, 0},
	{TP_QPS_SQD, TP_QPS_ERR, 0, 0},
	{TP_QPS_SQD, TP_QPS_RTS, 0, TP_QP_CUR_STATE | TP_QP_ACCESS_FLAGS | TP_QP_MIN_RNR_TIMER},
	{TP_QPS_SQD, TP_QPS_SQD, 0,
		TP_QP_PORT | TP_QP_AV | TP_QP_TIMEOUT | TP_QP_RETRY_CNT | TP_QP_RNR_RETRY | TP_QP_MAX_QP_RD_ATOMIC |
			TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_ACCESS_FLAGS | TP_QP_PKEY_INDEX | TP_QP_MIN_RNR_TIMER},
	{TP_QPS_ERR, TP_QPS_RESET, 0, 0},
	{TP_QPS_ERR, TP_QPS_ERR, 0, 0},
};

/* The columns of UC and UD. What leads to RESET and ERR is the same for all and stands above. */
static const struct row uc_rows[] = {
	{TP_QPS_RESET, TP_QPS_INIT, TP_QP_PKEY_INDEX | TP_QP_PORT | TP_QP_ACCESS_FLAGS, 0},
	{TP_QPS_INIT, TP_QPS_INIT, 0, TP_QP_PKEY_INDEX | TP_QP_PORT | TP_QP_ACCESS_FLAGS},
	{TP_QPS_INIT, TP_QPS_RTR, TP_QP_AV | TP_QP_PATH_MTU | TP_QP_DEST_QPN | TP_QP_RQ_PSN,
		TP_QP_ACCESS_FLAGS | TP_QP_PKEY_INDEX},
	{TP_QPS_RTR, TP_QPS_RTS, TP_QP_SQ_PSN, TP_QP_CUR_STATE | TP_QP_ACCESS_FLAGS},
	{TP_QPS_RTS, TP_QPS_RTS, 0, TP_QP_CUR_STATE | TP_QP_ACCESS_FLAGS},
	{TP_QPS_RTS, TP_QPS_SQD, 0, TP_QP_EN_SQD_ASYNC_NOTIFY},
	{TP_QPS_SQD, TP_QPS_RTS, 0, TP_QP_CUR_STATE | TP_QP_ACCESS_FLAGS},
	{TP_QPS_SQD, TP_QPS_SQD, 0, TP_QP_AV | TP_QP_ACCESS_FLAGS | TP_QP_PKEY_INDEX},
	{TP_QPS_SQE, TP_QPS_RTS, 0, TP_QP_CUR_STATE | TP_QP_ACCESS_FLAGS},
};

static const struct row ud_rows[] = {
	{TP_QPS_RESET, TP_QPS_INIT, TP_QP_PKEY_INDEX | TP_QP_PORT | TP_QP_QKEY, 0},
	{TP_QPS_INIT, TP_QPS_INIT, 0, TP_QP_PKEY_INDEX | TP_QP_PORT | TP_QP_QKEY},
	{TP_QPS_INIT, TP_QPS_RTR, 0, TP_QP_QKEY | TP_QP_PKEY_INDEX},
	{TP_QPS_RTR, TP_QPS_RTS, TP_QP_SQ_PSN, TP_QP_CUR_STATE | TP_QP_QKEY},
	{TP_QPS_RTS, TP_QPS_RTS, 0, TP_QP_CUR_STATE | TP_QP_QKEY},
	{TP_QPS_RTS, TP_QPS_SQD, 0, TP_QP_EN_SQD_ASYNC_NOTIFY},
	{TP_QPS_SQD, TP_QPS_RTS, 0, TP_QP_CUR_STATE | TP_QP_QKEY},
	{TP_QPS_SQD, TP_QPS_SQD, 0, TP_QP_QKEY | TP_QP_PKEY_INDEX},
	{TP_QPS_SQE, TP_QPS_RTS, 0, TP_QP_CUR_STATE | TP_QP_QKEY},
};

static const struct row sqe_rows[] = {
	{TP_QPS_SQE, TP_QPS_RESET, 0, 0},
	{TP_QPS_SQE, TP_QPS_ERR, 0, 0},
};

static const struct row *find_row(const struct row *table, size_t n, uint32_t from, uint32_t to)
{
	for (size_t i = 0; i < n; i++) {
		if (table[i].from == from && table[i].to == to)
			return &table[i];
	}
	return NULL;
}

#define FIND(table) find_row(table, sizeof(table) / sizeof((table)[0]), from, to)

static const struct row *row_of(enum tp_qp_type type, uint32_t from, uint32_t to)
{
	if (type == TP_QPT_RC)
		return FIND(rows);
	if (from == TP_QPS_SQE && to != TP_QPS_RTS)
		return FIND(sqe_rows);
	if (to == TP_QPS_RESET || to == TP_QPS_ERR)
		return FIND(rows);
	return type == TP_QPT_UC ? FIND(uc_rows) : FIND(ud_rows);
}

static void enter_sqe(struct hx_world *w, struct hx_qp *q)
{
	struct tp_send_wqe bad = {.opcode = TP_WR_READ};

	q->sq_retired = q->sq_fetch = q->sq_prod;
	hx_post_raw(q, &bad, NULL, 0);
	tp_tx(q->side->tp, 1, w->now_ns);
	w->side[0].send_cq.polled = w->side[0].send_cq.n;
}

/* Takes a queue pair that is in any state to `state`, over RESET. */
static void bring_to(struct hx_world *w, struct hx_qp *q, enum tp_qp_state state)
{
	static const enum tp_qp_state way[] = {TP_QPS_INIT, TP_QPS_RTR, TP_QPS_RTS, TP_QPS_SQD};

	assert_int_equal(hx_to_state(w, q, TP_QPS_RESET), 0);
	if (state == TP_QPS_ERR) {
		assert_int_equal(hx_to_state(w, q, TP_QPS_INIT), 0);
		assert_int_equal(hx_to_state(w, q, TP_QPS_ERR), 0);
	}
	for (size_t i = 0; i < 4 && hx_state(q) != state; i++) {
		assert_int_equal(hx_to_state(w, q, way[i]), 0);
		if (way[i] == TP_QPS_RTS && state == TP_QPS_SQE)
			enter_sqe(w, q);
	}
	assert_int_equal(hx_state(q), state);
}

static int attempt(struct hx_world *w, uint32_t from, uint32_t to, uint32_t mask)
{
	struct hx_qp *q = &w->side[0].qps[0];
	struct tp_qp_attr attr, before, after;
	int rc;

	bring_to(w, q, from);
	hx_attr(w, 0, 0, &attr);
	attr.state = to;
	attr.cur_state = from;
	tp_qp_query(q->qp, &before);
	rc = tp_qp_modify(w->side[0].tp, q->qp, &attr, mask | TP_QP_STATE, w->now_ns);
	tp_qp_query(q->qp, &after);
	if (rc != 0)
		assert_memory_equal(&before, &after, sizeof(before));
	else
		assert_int_equal(after.state, to);
	return rc;
}

static void check_row(struct hx_world *w, const struct row *row)
{
	assert_int_equal(attempt(w, row->from, row->to, row->required), 0);
	for (uint32_t bit = 0; bit < N_BITS; bit++) {
		uint32_t b = 1u << bit;

		if (b == TP_QP_STATE)
			continue;
		if ((row->required & b) != 0)
			assert_int_equal(attempt(w, row->from, row->to, row->required & ~b), -EINVAL);
		else
			assert_int_equal(attempt(w, row->from, row->to, row->required | b),
				(row->optional & b) != 0 ? 0 : -EINVAL);
	}
	assert_int_equal(attempt(w, row->from, row->to, row->required | row->optional), 0);
}

static void check_table(enum tp_qp_type type)
{
	struct hx_options o = {.type = type, .stay_in_reset = true};
	struct hx_world *w = hx_new(&o);

	for (uint32_t from = 0; from < N_STATES; from++) {
		for (uint32_t to = 0; to < N_STATES; to++) {
			const struct row *row = row_of(type, from, to);

			if (from == TP_QPS_SQE && type == TP_QPT_RC)
				continue;   /* an RC queue pair never gets there */
			if (row != NULL)
				check_row(w, row);
			else
				assert_int_equal(attempt(w, from, to, 0), -EINVAL);
		}
	}
	assert_int_equal(attempt(w, TP_QPS_RESET, 7, 0), -EINVAL);
	hx_free(w);
}

static void test_table(void **state)
{
	(void)state;
	check_table(TP_QPT_RC);
}

static void test_table_uc(void **state)
{
	(void)state;
	check_table(TP_QPT_UC);
}

static void test_table_ud(void **state)
{
	(void)state;
	check_table(TP_QPT_UD);
}

static void test_current_state_must_match(void **state)
{
	struct hx_options o = {0};
	struct hx_world *w = hx_new(&o);
	struct tp_qp_attr attr = {.state = TP_QPS_RTS, .cur_state = TP_QPS_SQD};
	struct tp_qp *qp = w->side[0].qps[0].qp;

	(void)state;
	assert_int_equal(tp_qp_modify(w->side[0].tp, qp, &attr, TP_QP_STATE | TP_QP_CUR_STATE, w->now_ns), -EINVAL);
	attr.cur_state = TP_QPS_RTS;
	assert_int_equal(tp_qp_modify(w->side[0].tp, qp, &attr, TP_QP_STATE | TP_QP_CUR_STATE, w->now_ns), 0);
	/* Without TP_QP_STATE it stays where it is. */
	attr.min_rnr_timer = 9;
	assert_int_equal(tp_qp_modify(w->side[0].tp, qp, &attr, TP_QP_MIN_RNR_TIMER, w->now_ns), 0);
	tp_qp_query(qp, &attr);
	assert_int_equal(attr.min_rnr_timer, 9);
	assert_int_equal(attr.state, TP_QPS_RTS);
	hx_free(w);
}

#define TRY(change, expected)                                                                              \
	do {                                                                                               \
		struct tp_qp_attr a;                                                                       \
		bring_to(w, q, TP_QPS_INIT);                                                               \
		hx_attr(w, 0, 0, &a);                                                                      \
		a.state = TP_QPS_RTR;                                                                      \
		change;                                                                                    \
		assert_int_equal(tp_qp_modify(w->side[0].tp, q->qp, &a, rtr, w->now_ns), expected);        \
	} while (0)

static void test_values_to_rtr(void **state)
{
	const uint32_t rtr = TP_QP_STATE | TP_QP_AV | TP_QP_PATH_MTU | TP_QP_DEST_QPN | TP_QP_RQ_PSN |
		TP_QP_MAX_DEST_RD_ATOMIC | TP_QP_MIN_RNR_TIMER | TP_QP_ACCESS_FLAGS | TP_QP_PKEY_INDEX;
	struct hx_options o = {.stay_in_reset = true};
	struct hx_world *w = hx_new(&o);
	struct hx_qp *q = &w->side[0].qps[0];

	(void)state;
	TRY(a.mtu_bytes = 256, 0);
	TRY(a.mtu_bytes = 4096, 0);
	TRY(a.mtu_bytes = 128, -EINVAL);
	TRY(a.mtu_bytes = 8192, -EINVAL);
	TRY(a.mtu_bytes = 1500, -EINVAL);
	TRY(a.mtu_bytes = 0, -EINVAL);
	TRY(a.min_rnr_timer = 31, 0);
	TRY(a.min_rnr_timer = 32, -EINVAL);
	TRY(a.max_dest_rd_atomic = 128, 0);
	TRY(a.max_dest_rd_atomic = 129, -EINVAL);
	TRY(a.access = 1 << 20, -EINVAL);
	TRY(a.pkey_index = 1, -EINVAL);
	TRY(a.av.l3_version = 5, -EINVAL);
	TRY(a.rq_psn = 0xff000001, 0);
	hx_free(w);
}

#undef TRY
#define TRY(change, expected)                                                                              \
	do {                                                                                               \
		struct tp_qp_attr a;                                                                       \
		bring_to(w, q, TP_QPS_RTR);                                                                \
		hx_attr(w, 0, 0, &a);                                                                      \
		a.state = TP_QPS_RTS;                                                                      \
		change;                                                                                    \
		assert_int_equal(tp_qp_modify(w->side[0].tp, q->qp, &a, rts, w->now_ns), expected);        \
	} while (0)

static void test_values_to_rts(void **state)
{
	const uint32_t rts = TP_QP_STATE | TP_QP_TIMEOUT | TP_QP_RETRY_CNT | TP_QP_RNR_RETRY | TP_QP_SQ_PSN |
		TP_QP_MAX_QP_RD_ATOMIC;
	struct hx_options o = {.stay_in_reset = true};
	struct hx_world *w = hx_new(&o);
	struct hx_qp *q = &w->side[0].qps[0];

	(void)state;
	TRY(a.timeout = 31, 0);
	TRY(a.timeout = 32, -EINVAL);
	TRY(a.retry_cnt = 8, -EINVAL);
	TRY(a.rnr_retry = 8, -EINVAL);
	TRY(a.max_rd_atomic = 128, 0);
	TRY(a.max_rd_atomic = 129, -EINVAL);
	hx_free(w);
}

static void test_query(void **state)
{
	struct hx_options o = {.mtu = 512, .psn = 0x123456, .timeout = 12, .retry_cnt = 3, .rnr_retry = 2,
		.min_rnr_timer = 17,
		.rd_atomic = 5, .dest_rd_atomic = 6};
	struct hx_world *w = hx_new(&o);
	struct tp_qp_attr attr;

	(void)state;
	tp_qp_query(w->side[0].qps[0].qp, &attr);
	assert_int_equal(attr.state, TP_QPS_RTS);
	assert_int_equal(attr.cur_state, TP_QPS_RTS);
	assert_int_equal(attr.mtu_bytes, 512);
	assert_int_equal(attr.sq_psn, 0x123456);
	assert_int_equal(attr.rq_psn, 0x123456);
	assert_int_equal(attr.dest_qpn, w->side[1].qps[0].qpn);
	assert_int_equal(attr.timeout, 12);
	assert_int_equal(attr.retry_cnt, 3);
	assert_int_equal(attr.rnr_retry, 2);
	assert_int_equal(attr.min_rnr_timer, 17);
	assert_int_equal(attr.max_rd_atomic, 5);
	assert_int_equal(attr.max_dest_rd_atomic, 6);
	assert_false(attr.sq_draining);
	hx_free(w);
}

static void test_create(void **state)
{
	struct hx_options o = {0};
	struct hx_world *w = hx_new(&o);
	struct tp *tp = w->side[0].tp;
	struct tp_qp_init init = {.type = TP_QPT_RC, .sq_depth = 1, .rq_depth = 1, .max_send_sge = 1,
		.max_recv_sge = 1};
	struct tp_qp *qp, *made[16];
	uint32_t qpn, n = 0;

	(void)state;
	init.type = 5;
	assert_int_equal(tp_qp_create(tp, &init, &qp, &qpn), -EINVAL);
	init.type = TP_QPT_XRC_TGT; /* of no domain */
	assert_int_equal(tp_qp_create(tp, &init, &qp, &qpn), -EINVAL);
	init.type = TP_QPT_UD;
	init.ud_mtu_bytes = 1500;
	assert_int_equal(tp_qp_create(tp, &init, &qp, &qpn), -EINVAL);
	init.ud_mtu_bytes = 0;
	assert_int_equal(tp_qp_create(tp, &init, &qp, &qpn), -EINVAL);
	init.type = TP_QPT_RC;
	init.max_send_sge = TP_MAX_SGE + 1;
	assert_int_equal(tp_qp_create(tp, &init, &qp, &qpn), -EINVAL);
	init.max_send_sge = 1;
	init.max_inline_bytes = TP_MAX_INLINE_BYTES + 1;
	assert_int_equal(tp_qp_create(tp, &init, &qp, &qpn), -EINVAL);
	init.max_inline_bytes = 0;
	while (n < 16 && tp_qp_create(tp, &init, &made[n], &qpn) == 0) {
		assert_ptr_equal(tp_qp_find(tp, qpn), made[n]);
		n++;
	}
	assert_int_equal(n, 15);
	assert_int_equal(tp_qp_create(tp, &init, &qp, &qpn), -ENOMEM);
	tp_qp_destroy(tp, made[3]);
	assert_int_equal(tp_qp_create(tp, &init, &qp, &qpn), 0);
	assert_null(tp_qp_find(tp, qpn + 16));
	hx_free(w);
}

/* The numbers of the management queue pairs are never given out. */
static void test_reserved_numbers(void **state)
{
	struct tp_config config = {.max_qps = 4, .max_mrs = 1};
	struct tp_ops none = {0};
	struct tp *tp = tp_create(&config, &none, NULL, 0);
	struct tp_qp_init init = {.type = TP_QPT_RC};
	struct tp_qp *qp;
	uint32_t qpn;

	(void)state;
	assert_int_equal(tp_qp_create(tp, &init, &qp, &qpn), 0);
	assert_int_equal(qpn, 2);
	assert_int_equal(tp_qp_create(tp, &init, &qp, &qpn), 0);
	assert_int_equal(qpn, 3);
	assert_int_equal(tp_qp_create(tp, &init, &qp, &qpn), -ENOMEM);
	assert_null(tp_qp_find(tp, 0));
	assert_null(tp_qp_find(tp, 1));
	tp_destroy(tp);
}

/* A queue pair that is reset and connected anew starts with nothing of its former life. */
static void test_reconnect(void **state)
{
	struct hx_options o = {0};
	struct hx_world *w = hx_new(&o);
	uint64_t id;

	(void)state;
	w->cut = true;
	hx_op(w, TP_WR_WRITE, 0, 0, 5000, 0);
	hx_op(w, TP_WR_READ, 0, 0, 5000, 0);
	hx_run(w, HX_MS / 10);
	for (int s = 0; s < 2; s++)
		assert_int_equal(hx_to_state(w, &w->side[s].qps[0], TP_QPS_RESET), 0);
	hx_run(w, HX_S);
	hx_expect_none(w);
	w->cut = false;
	w->o.psn = 0xabcdef;
	w->side[0].qps[0].sq_retired = w->side[0].qps[0].sq_fetch;
	hx_connect(w, 0);
	hx_fill(w->side[0].mem, 3000, 1);
	id = hx_op(w, TP_WR_WRITE, 0, 0, 3000, 0);
	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_memory_equal(w->side[0].mem, w->side[1].mem, 3000);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_table_uc),
		cmocka_unit_test(test_table_ud),
		cmocka_unit_test(test_current_state_must_match),
		cmocka_unit_test(test_values_to_rtr),
		cmocka_unit_test(test_values_to_rts),
		cmocka_unit_test(test_query),
		cmocka_unit_test(test_create),
		cmocka_unit_test(test_reserved_numbers),
		cmocka_unit_test(test_reconnect),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
