/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory windows and local invalidation: IBTA vol. 1, 10.6. Side 1 binds windows on its send queue; side 0 uses
 * their R_Keys.
 */
#include <errno.h>

#include "harness.h"

#define OFF   8192u
#define BYTES 4096u
#define ALL   (TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_ATOMIC)

struct world {
	struct hx_world *w;
	uint32_t mr_key;              /* of side 1, over all its memory: windows may be bound, no remote rights */
};

static uint32_t make_region(struct hx_side *s, uint32_t pd, uint32_t access)
{
	struct tp_mr_attr attr = {.pd = pd, .access = access, .iova = HX_IOVA, .addr = (uintptr_t)s->mem,
		.bytes = HX_MEM_BYTES, .as = s};
	uint32_t key;

	assert_int_equal(tp_mr_create(s->tp, &attr, &key), 0);
	return key;
}

static struct world new_world(const struct hx_options *o)
{
	struct world x = {.w = hx_new(o)};

	x.mr_key = make_region(&x.w->side[1], HX_PD, TP_ACCESS_LOCAL_WRITE | TP_ACCESS_MW_BIND);
	hx_fill(x.w->side[0].mem, HX_MEM_BYTES, 1);
	hx_fill(x.w->side[1].mem, HX_MEM_BYTES, 2);
	return x;
}

static struct world plain_world(void)
{
	struct hx_options o = {.copied = true, .n_qps = 2};

	return new_world(&o);
}

static uint32_t make_window(const struct world *x, enum tp_mw_type type)
{
	uint32_t rkey;

	assert_int_equal(tp_mw_create(x->w->side[1].tp, HX_PD, type, &rkey), 0);
	return rkey;
}

static struct tp_send_wqe bind_wqe(const struct world *x, uint32_t rkey)
{
	struct tp_send_wqe wqe = {.opcode = TP_WR_BIND_MW, .rkey = rkey, .remote_addr = HX_IOVA + OFF,
		.bind = {.bytes = BYTES, .mr_key = x->mr_key, .access = ALL}};

	return wqe;
}

/* Next key of the window, as clients count. */
static uint32_t next_key(uint32_t rkey)
{
	return (rkey & ~0xffu) | ((rkey + 1) & 0xff);
}

/* Side 1's queue pair i does it, with that outcome; a failed one is connected anew. */
static void do_local(const struct world *x, uint32_t i, const struct tp_send_wqe *wqe, enum tp_wc_status status)
{
	struct hx_world *w = x->w;
	struct hx_qp *q = &w->side[1].qps[i];
	uint64_t id = hx_post_raw(q, wqe, NULL, 0);
	const struct tp_cqe *cqe;

	hx_run(w, HX_MS);
	cqe = hx_poll(&w->side[1].send_cq);
	assert_int_equal(cqe->wr_id, id);
	assert_int_equal(cqe->status, status);
	if (status == TP_WC_SUCCESS) {
		assert_int_equal(cqe->opcode, wqe->opcode == TP_WR_BIND_MW ? TP_WC_OP_BIND_MW : TP_WC_OP_LOCAL_INV);
		return;
	}
	assert_int_equal(hx_state(q), TP_QPS_ERR);
	for (int s = 0; s < 2; s++)
		assert_int_equal(hx_to_state(w, &w->side[s].qps[i], TP_QPS_RESET), 0);
	hx_connect(w, i);
}

static void invalidate(const struct world *x, uint32_t i, uint32_t rkey, enum tp_wc_status status)
{
	struct tp_send_wqe wqe = {.opcode = TP_WR_LOCAL_INV, .imm = rkey};

	do_local(x, i, &wqe, status);
}

/* Side 0's queue pair i does op on bytes at addr of the window. */
static void access_on(const struct world *x, uint32_t i, enum tp_wr_opcode op, uint32_t rkey, uint64_t addr,
	uint32_t bytes, bool allowed)
{
	struct hx_world *w = x->w;
	struct tp_send_wqe wqe = {.opcode = (uint8_t)op, .rkey = rkey, .remote_addr = addr};
	struct hx_piece piece = {0, bytes};
	uint64_t id = hx_post(&w->side[0].qps[i], &wqe, &piece, 1);

	hx_run(w, HX_S);
	hx_expect(&w->side[0].send_cq, id, allowed ? TP_WC_SUCCESS : TP_WC_REM_ACCESS_ERR);
	if (allowed)
		return;
	for (int s = 0; s < 2; s++)
		assert_int_equal(hx_to_state(w, &w->side[s].qps[i], TP_QPS_RESET), 0);
	hx_connect(w, i);
}

static void try_write(const struct world *x, uint32_t i, uint32_t rkey, bool allowed)
{
	uint8_t *at = x->w->side[1].mem + OFF;

	memset(at, 0, BYTES);
	access_on(x, i, TP_WR_WRITE, rkey, HX_IOVA + OFF, BYTES, allowed);
	assert_int_equal(memcmp(at, x->w->side[0].mem, BYTES) == 0, allowed);
}

/* ---- binding ---- */

static void test_bind(void **state)
{
	(void)state;
	for (enum tp_mw_type type = TP_MW_TYPE_1; type <= TP_MW_TYPE_2; type++) {
		struct world x = plain_world();
		uint32_t rkey = make_window(&x, type), bound = next_key(rkey);
		struct tp_send_wqe wqe = bind_wqe(&x, bound);

		try_write(&x, 0, rkey, false);     /* bound to nothing yet */
		do_local(&x, 0, &wqe, TP_WC_SUCCESS);
		try_write(&x, 0, bound, true);
		try_write(&x, 0, rkey, false);     /* former generation */
		access_on(&x, 0, TP_WR_READ, bound, HX_IOVA + OFF + 1, BYTES - 1, true);
		access_on(&x, 0, TP_WR_FETCH_ADD, bound, HX_IOVA + OFF + BYTES - 8, 8, true);
		/* Neither before nor behind it, although the region goes on. */
		access_on(&x, 0, TP_WR_READ, bound, HX_IOVA + OFF - 1, 8, false);
		access_on(&x, 0, TP_WR_READ, bound, HX_IOVA + OFF + BYTES - 7, 8, false);
		access_on(&x, 0, TP_WR_READ, x.mr_key, HX_IOVA + OFF, 8, false);
		hx_free(x.w);
	}
}

static void test_rights(void **state)
{
	struct world x = plain_world();
	uint32_t rkey = make_window(&x, TP_MW_TYPE_1);
	struct tp_send_wqe wqe = bind_wqe(&x, rkey);

	(void)state;
	wqe.bind.access = TP_ACCESS_REMOTE_READ;
	do_local(&x, 0, &wqe, TP_WC_SUCCESS);
	access_on(&x, 0, TP_WR_READ, rkey, HX_IOVA + OFF, 8, true);
	access_on(&x, 0, TP_WR_WRITE, rkey, HX_IOVA + OFF, 8, false);
	access_on(&x, 0, TP_WR_FETCH_ADD, rkey, HX_IOVA + OFF, 8, false);
	wqe.bind.access = TP_ACCESS_REMOTE_WRITE;
	do_local(&x, 0, &wqe, TP_WC_SUCCESS);
	access_on(&x, 0, TP_WR_WRITE, rkey, HX_IOVA + OFF, 8, true);
	access_on(&x, 0, TP_WR_READ, rkey, HX_IOVA + OFF, 8, false);
	hx_free(x.w);
}

static void test_zero_based(void **state)
{
	struct world x = plain_world();
	uint32_t rkey = make_window(&x, TP_MW_TYPE_2);
	struct tp_send_wqe wqe = bind_wqe(&x, rkey);

	(void)state;
	wqe.bind.access |= TP_ACCESS_ZERO_BASED;
	do_local(&x, 0, &wqe, TP_WC_SUCCESS);
	access_on(&x, 0, TP_WR_WRITE, rkey, 10, 100, true);
	assert_memory_equal(x.w->side[1].mem + OFF + 10, x.w->side[0].mem, 100);
	access_on(&x, 0, TP_WR_WRITE, rkey, BYTES - 99, 100, false);
	access_on(&x, 0, TP_WR_WRITE, rkey, HX_IOVA + OFF, 100, false);
	hx_free(x.w);
}

/* A window gives its peers memory, not the client itself: no L_Key. */
static void test_no_local_key(void **state)
{
	struct world x = plain_world();
	uint32_t rkey = make_window(&x, TP_MW_TYPE_1);
	struct tp_send_wqe wqe = bind_wqe(&x, rkey);
	struct tp_sge sge = {HX_IOVA + OFF, 8, rkey};

	(void)state;
	do_local(&x, 0, &wqe, TP_WC_SUCCESS);
	wqe = (struct tp_send_wqe){.opcode = TP_WR_SEND};
	hx_post_raw(&x.w->side[1].qps[0], &wqe, &sge, 1);
	hx_run(x.w, HX_MS);
	assert_int_equal(hx_poll(&x.w->side[1].send_cq)->status, TP_WC_LOC_PROT_ERR);
	hx_free(x.w);
}

#define TRY(change, expected)                                                                              \
	do {                                                                                               \
		struct tp_send_wqe wqe = bind_wqe(&x, rkey);                                               \
		change;                                                                                    \
		do_local(&x, 0, &wqe, expected);                                                           \
	} while (0)

static void test_refused(void **state)
{
	struct world x = plain_world();
	struct hx_side *s = &x.w->side[1];
	uint32_t rkey = make_window(&x, TP_MW_TYPE_1), foreign, other_pd, no_bind, read_only;

	(void)state;
	assert_int_equal(tp_mw_create(s->tp, HX_PD + 1, TP_MW_TYPE_1, &foreign), 0);
	other_pd = make_region(s, HX_PD + 1, TP_ACCESS_LOCAL_WRITE | TP_ACCESS_MW_BIND);
	no_bind = make_region(s, HX_PD, TP_ACCESS_LOCAL_WRITE);
	read_only = make_region(s, HX_PD, TP_ACCESS_MW_BIND);
	TRY(wqe.rkey = foreign, TP_WC_MW_BIND_ERR);
	TRY(wqe.rkey = 0, TP_WC_MW_BIND_ERR);
	TRY(wqe.rkey = 0xffffffff, TP_WC_MW_BIND_ERR);
	TRY(wqe.rkey = x.mr_key, TP_WC_MW_BIND_ERR);
	TRY(wqe.bind.mr_key = other_pd, TP_WC_MW_BIND_ERR);
	TRY(wqe.bind.mr_key = no_bind, TP_WC_MW_BIND_ERR);
	TRY(wqe.bind.mr_key = x.mr_key + 1, TP_WC_MW_BIND_ERR);
	TRY(wqe.bind.mr_key = rkey, TP_WC_MW_BIND_ERR);
	TRY(wqe.bind.mr_key = read_only, TP_WC_MW_BIND_ERR);
	TRY((wqe.bind.mr_key = read_only, wqe.bind.access = TP_ACCESS_REMOTE_READ), TP_WC_SUCCESS);
	TRY(wqe.bind.access = ALL | TP_ACCESS_LOCAL_WRITE, TP_WC_MW_BIND_ERR);
	TRY(wqe.bind.access = 1 << 20, TP_WC_MW_BIND_ERR);
	TRY(wqe.bind.bytes = HX_MEM_BYTES - OFF + 1, TP_WC_MW_BIND_ERR);
	TRY(wqe.bind.bytes = UINT64_MAX, TP_WC_MW_BIND_ERR);
	TRY(wqe.remote_addr = HX_IOVA - 1, TP_WC_MW_BIND_ERR);
	TRY(wqe.bind.bytes = HX_MEM_BYTES - OFF, TP_WC_SUCCESS);
	hx_free(x.w);
}

/* ---- the two types ---- */

static void test_type_1_again(void **state)
{
	struct world x = plain_world();
	uint32_t rkey = make_window(&x, TP_MW_TYPE_1), second = next_key(rkey), third = next_key(second);
	struct tp_send_wqe wqe = bind_wqe(&x, rkey);

	(void)state;
	do_local(&x, 0, &wqe, TP_WC_SUCCESS);
	/* For any queue pair of the domain. */
	try_write(&x, 1, rkey, true);
	wqe.rkey = second;
	do_local(&x, 1, &wqe, TP_WC_SUCCESS);
	try_write(&x, 0, rkey, false);
	try_write(&x, 0, second, true);
	/* It is bound anew or unbound, never invalidated. */
	invalidate(&x, 0, second, TP_WC_LOC_QP_OP_ERR);
	wqe.rkey = third;
	wqe.bind.bytes = 0;
	do_local(&x, 0, &wqe, TP_WC_SUCCESS);
	try_write(&x, 0, third, false);
	hx_free(x.w);
}

static void test_type_2_invalidate(void **state)
{
	struct world x = plain_world();
	uint32_t rkey = make_window(&x, TP_MW_TYPE_2), second = next_key(rkey);
	struct tp_send_wqe wqe = bind_wqe(&x, rkey);

	(void)state;
	do_local(&x, 0, &wqe, TP_WC_SUCCESS);
	try_write(&x, 0, rkey, true);
	try_write(&x, 1, rkey, false);                     /* of another queue pair */
	wqe.rkey = second;
	do_local(&x, 0, &wqe, TP_WC_MW_BIND_ERR);          /* it is bound */
	invalidate(&x, 1, rkey, TP_WC_LOC_QP_OP_ERR);
	invalidate(&x, 0, second, TP_WC_LOC_QP_OP_ERR);
	try_write(&x, 0, rkey, true);
	invalidate(&x, 0, rkey, TP_WC_SUCCESS);
	try_write(&x, 0, rkey, false);
	invalidate(&x, 0, rkey, TP_WC_LOC_QP_OP_ERR);
	do_local(&x, 1, &wqe, TP_WC_SUCCESS);
	try_write(&x, 1, second, true);
	wqe.bind.bytes = 0;
	do_local(&x, 1, &wqe, TP_WC_MW_BIND_ERR);
	hx_free(x.w);
}

static void test_remote_invalidate(void **state)
{
	struct world x = plain_world();
	uint32_t rkey = make_window(&x, TP_MW_TYPE_2);
	struct tp_send_wqe wqe = bind_wqe(&x, rkey), inv = {.opcode = TP_WR_SEND_INV, .imm = rkey};
	const struct tp_cqe *cqe;

	(void)state;
	do_local(&x, 0, &wqe, TP_WC_SUCCESS);
	hx_recv(&x.w->side[1].qps[0], NULL, 0);
	hx_post(&x.w->side[0].qps[0], &inv, NULL, 0);
	hx_run(x.w, HX_MS);
	cqe = hx_poll(&x.w->side[1].recv_cq);
	assert_int_equal(cqe->status, TP_WC_SUCCESS);
	assert_int_equal(cqe->flags, TP_WC_WITH_INV);
	assert_int_equal(cqe->imm, rkey);
	x.w->side[0].send_cq.polled = x.w->side[0].send_cq.n;
	try_write(&x, 0, rkey, false);
	assert_int_equal(tp_mr_destroy(x.w->side[1].tp, x.mr_key), 0);
	hx_free(x.w);
}

/* ---- life ---- */

static void test_busy_region(void **state)
{
	struct world x = plain_world();
	struct tp *tp = x.w->side[1].tp;
	uint32_t one = make_window(&x, TP_MW_TYPE_1), two = make_window(&x, TP_MW_TYPE_2), bad;
	struct tp_send_wqe wqe = bind_wqe(&x, one);

	(void)state;
	do_local(&x, 0, &wqe, TP_WC_SUCCESS);
	wqe.rkey = two;
	do_local(&x, 0, &wqe, TP_WC_SUCCESS);
	assert_int_equal(tp_mr_destroy(tp, x.mr_key), -EBUSY);
	assert_int_equal(tp_mr_destroy(tp, one), -EINVAL);
	assert_int_equal(tp_mw_destroy(tp, x.mr_key), -EINVAL);
	/* Any key that it has had names it. */
	assert_int_equal(tp_mw_destroy(tp, next_key(one)), 0);
	assert_int_equal(tp_mw_destroy(tp, one), -EINVAL);
	try_write(&x, 0, one, false);
	assert_int_equal(tp_mr_destroy(tp, x.mr_key), -EBUSY);
	/* With its queue pair a window of type 2 loses its memory. */
	tp_qp_destroy(tp, x.w->side[1].qps[0].qp);
	assert_int_equal(tp_mr_destroy(tp, x.mr_key), 0);
	assert_int_equal(tp_mw_destroy(tp, two), 0);
	assert_int_equal(tp_mw_create(tp, HX_PD, 3, &bad), -EINVAL);
	hx_free(x.w);
}

/* ---- order ---- */

/* Local work completes in its place behind what waits for its ACK, and takes effect before what follows it. */
static void in_order(const struct hx_options *o)
{
	struct world x = new_world(o);
	struct hx_world *w = x.w;
	struct hx_qp *q = &w->side[1].qps[0];
	struct tp_send_wqe write = {.opcode = TP_WR_WRITE, .rkey = w->side[0].key, .remote_addr = HX_IOVA};
	struct tp_send_wqe read = {.opcode = TP_WR_READ, .rkey = w->side[0].key, .remote_addr = HX_IOVA};
	struct hx_piece piece = {OFF, 20000};
	uint32_t rkey = make_window(&x, TP_MW_TYPE_2);
	uint64_t id[60];

	for (uint32_t i = 0; i < 60; i += 6) {
		struct tp_send_wqe bind = bind_wqe(&x, rkey), inv = {.opcode = TP_WR_LOCAL_INV, .imm = rkey};

		id[i] = hx_post(q, &write, &piece, 1);
		id[i + 1] = hx_post_raw(q, &bind, NULL, 0);
		id[i + 2] = hx_post(q, o->type == TP_QPT_UC ? &write : &read, &piece, 1);
		id[i + 3] = hx_post_raw(q, &inv, NULL, 0);
		rkey = next_key(rkey);
		bind.rkey = inv.imm = rkey;
		id[i + 4] = hx_post_raw(q, &bind, NULL, 0);
		id[i + 5] = hx_post_raw(q, &inv, NULL, 0);
		rkey = next_key(rkey);
	}
	hx_run(w, 10 * HX_S);
	for (uint32_t i = 0; i < 60; i++)
		hx_expect(&w->side[1].send_cq, id[i], TP_WC_SUCCESS);
	hx_expect_none(w);
	assert_int_equal(q->sq_retired, 60);
	hx_free(w);
}

static void test_order(void **state)
{
	struct hx_options o = {.copied = true};

	(void)state;
	in_order(&o);
	o.type = TP_QPT_UC;
	in_order(&o);
}

/* Sending again does not bind again. */
static void test_order_lossy(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct hx_options o = {.seed = seed, .lose = 40, .repeat = 20, .delay = 40, .timeout = 5,
			.copied = (seed & 1) != 0, .mtu = 256u << seed % 5};

		in_order(&o);
	}
}

/* Posted behind work that has no ACK yet, a bad one fails when its turn to complete has come. */
static void test_error_waits(void **state)
{
	struct hx_options o = {.copied = true};
	struct world x = new_world(&o);
	struct hx_world *w = x.w;
	struct hx_qp *q = &w->side[1].qps[0];
	struct tp_send_wqe write = {.opcode = TP_WR_WRITE, .rkey = w->side[0].key, .remote_addr = HX_IOVA};
	struct tp_send_wqe inv = {.opcode = TP_WR_LOCAL_INV, .imm = 5};
	struct hx_piece piece = {OFF, 20000};
	uint64_t id[3];

	(void)state;
	id[0] = hx_post(q, &write, &piece, 1);
	id[1] = hx_post_raw(q, &inv, NULL, 0);
	id[2] = hx_post(q, &write, &piece, 1);
	hx_run(w, HX_S);
	hx_expect(&w->side[1].send_cq, id[0], TP_WC_SUCCESS);
	hx_expect(&w->side[1].send_cq, id[1], TP_WC_LOC_QP_OP_ERR);
	hx_expect(&w->side[1].send_cq, id[2], TP_WC_WR_FLUSH_ERR);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bind),
		cmocka_unit_test(test_rights),
		cmocka_unit_test(test_zero_based),
		cmocka_unit_test(test_no_local_key),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_type_1_again),
		cmocka_unit_test(test_type_2_invalidate),
		cmocka_unit_test(test_remote_invalidate),
		cmocka_unit_test(test_busy_region),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_order_lossy),
		cmocka_unit_test(test_error_waits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
