/* SPDX-License-Identifier: BSD-3-Clause */
/* RC_SACKs tell how many queue pairs have had data at the receiver lately (docs/wire.md). */
#include "sr_kit.h"

#define N_QPS 5

static struct hx_world *make_some(void)
{
	struct hx_options o = {.ext = true, .n_qps = N_QPS};

	return make_with(o, NULL);
}

/* One message on each of n queue pairs from first on. */
static void write_on(struct hx_world *w, uint32_t first, uint32_t n, uint32_t bytes)
{
	const struct tp_send_wqe wqe = {
		.opcode = TP_WR_WRITE, .remote_addr = HX_IOVA + DST, .rkey = w->side[1].key};
	const struct hx_piece piece = {0, bytes};

	for (uint32_t i = first; i < first + n; i++)
		(void)hx_post(&w->side[0].qps[i], &wqe, &piece, bytes != 0 ? 1 : 0);
	pass_time(w, 50 * US);
}

static uint32_t told(const struct hx_world *w)
{
	const struct wire_pkt *sack = hx_last(w, 1);

	assert_int_equal(sack->opcode, WIRE_RC_SACK);
	return sack->sack_senders;
}

static void test_those_with_data(void **state)
{
	struct hx_world *w = make_some();

	(void)state;
	write_on(w, 0, 1, 4 * MTU);
	assert_int_equal(told(w), 1);
	/* The same again is no other. */
	write_on(w, 0, 1, 4 * MTU);
	assert_int_equal(told(w), 1);
	pass_time(w, 200 * US);
	write_on(w, 0, N_QPS, 4 * MTU);
	assert_int_equal(told(w), N_QPS);
	hx_free(w);
}

/* Those of the period before still count, those of earlier ones do not. */
static void test_they_are_forgotten(void **state)
{
	struct hx_world *w = make_some();

	(void)state;
	write_on(w, 0, N_QPS, MTU);
	pass_time(w, 100 * US);
	write_on(w, 0, 1, MTU);
	assert_int_equal(told(w), N_QPS);
	pass_time(w, 100 * US);
	write_on(w, 1, 2, MTU);
	assert_in_range(told(w), 2, 3);
	pass_time(w, 500 * US);
	write_on(w, 4, 1, MTU);
	assert_int_equal(told(w), 1);
	hx_free(w);
}

/* What brings no data fills no queue. */
static void test_requests_without_data(void **state)
{
	struct hx_world *w = make_some();

	(void)state;
	write_on(w, 0, N_QPS, 0);
	assert_int_equal(told(w), 0);
	hx_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_those_with_data),
		cmocka_unit_test(test_they_are_forgotten),
		cmocka_unit_test(test_requests_without_data),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
