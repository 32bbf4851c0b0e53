/* SPDX-License-Identifier: BSD-3-Clause */
/* gateway_flows.h: which packets are of one flow, and who has to go when there are too many. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "gateway_flows.h"

#define IDLE UINT64_C(1000)
#define MAX  64u

static struct gateway_flow_key key_of(uint32_t host, uint32_t qpn)
{
	return (struct gateway_flow_key){
		.src = {.b = {[10] = 0xff, [11] = 0xff, 10, 0, (uint8_t)(host >> 8), (uint8_t)host}},
		.dst = {.b = {[15] = 1}},
		.dqpn = qpn,
		.sport = 0xc000};
}

static struct gateway_flows *make(uint32_t max, uint32_t per_host)
{
	const struct gateway_flows_config config = {
		.max = max, .max_per_host = per_host, .idle_ns = IDLE, .key = {{1, 2}}};

	return gateway_flows_new(&config);
}

/* Aumasson and Bernstein, appendix A: the key 00..0f and the message 00..0e. */
static void siphash_vector(void **state)
{
	struct base_siphash_key key;
	uint8_t bytes[16];

	(void)state;
	for (uint8_t i = 0; i < 16; i++)
		bytes[i] = i;
	memcpy(&key, bytes, sizeof(key));
	assert_true(base_siphash(&key, bytes, 15) == UINT64_C(0xa129ca6149be45e5));
}

static void a_flow_is_five_tuple_and_queue_pair(void **state)
{
	struct gateway_flows *f = make(MAX, MAX);
	struct gateway_flow_key key = key_of(1, 17);
	struct gateway_flow *flow = gateway_flows_get(f, &key, 1);

	(void)state;
	assert_non_null(flow);
	assert_ptr_equal(gateway_flows_get(f, &key, 2), flow);
	key.dqpn++;
	assert_ptr_not_equal(gateway_flows_get(f, &key, 2), flow);
	key = key_of(1, 17);
	key.sport++;
	assert_ptr_not_equal(gateway_flows_get(f, &key, 2), flow);
	key = key_of(1, 17);
	key.dst.b[0]++;
	assert_ptr_not_equal(gateway_flows_get(f, &key, 2), flow);
	key = key_of(2, 17);
	assert_ptr_not_equal(gateway_flows_get(f, &key, 2), flow);
	gateway_flows_free(f);
}

static void who_is_silent_goes_and_the_number_is_told_apart(void **state)
{
	struct gateway_flows *f = make(2, 2);
	struct gateway_flow_key a = key_of(1, 1), b = key_of(2, 2), c = key_of(3, 3);
	struct gateway_flow *flow = gateway_flows_get(f, &a, 10);
	uint32_t number = flow->number;
	uint8_t generation = flow->generation;
	struct gateway_flows_stats stats;

	(void)state;
	flow->seq = 77;
	assert_non_null(gateway_flows_get(f, &b, 20));
	assert_null(gateway_flows_get(f, &c, 10 + IDLE - 1));
	/* a is idle now, b is not. */
	flow = gateway_flows_get(f, &c, 10 + IDLE);
	assert_non_null(flow);
	assert_int_equal(flow->number, number);
	assert_int_equal(flow->generation, (uint8_t)(generation + 1));
	assert_int_equal(flow->seq, 0);
	gateway_flows_get_stats(f, &stats);
	assert_int_equal(stats.flows, 2);
	assert_int_equal(stats.aged, 1);
	assert_int_equal(stats.at_limit, 1);
	gateway_flows_free(f);
}

/* A host that makes up queue pairs leaves room for others. */
static void a_host_has_its_share(void **state)
{
	struct gateway_flows *f = make(MAX, 8);
	struct gateway_flows_stats stats;
	uint32_t n = 0;

	(void)state;
	for (uint32_t q = 0; q < 1000; q++) {
		struct gateway_flow_key key = key_of(1, q);

		n += gateway_flows_get(f, &key, 5) != NULL;
	}
	assert_int_equal(n, 8);
	for (uint32_t q = 0; q < 8; q++) {
		struct gateway_flow_key key = key_of(2, q);

		assert_non_null(gateway_flows_get(f, &key, 5));
	}
	gateway_flows_get_stats(f, &stats);
	assert_int_equal(stats.at_host_limit, 992);
	/* What has aged gives the share back. */
	gateway_flows_age(f, 5 + IDLE, 1000);
	gateway_flows_get_stats(f, &stats);
	assert_int_equal(stats.flows, 0);
	assert_non_null(gateway_flows_get(f, &(struct gateway_flow_key){.dqpn = 1}, 5 + IDLE));
	gateway_flows_free(f);
}

/* Against a list of what should be there. */
static void agrees_with_a_list(void **state)
{
	struct gateway_flows *f = make(MAX, MAX);
	uint64_t seen[200] = {0}, now = 1;
	uint32_t numbers[200] = {0};

	(void)state;
	srandom(3);
	for (int turn = 0; turn < 50000; turn++, now += (uint64_t)random() % 40) {
		uint32_t i = (uint32_t)random() % 200, alive = 0;
		/* Many have their place among the recent ones in common. */
		struct gateway_flow_key key = key_of(i, i * 64);
		struct gateway_flow *flow;

		gateway_flows_age(f, now, 1000);
		for (uint32_t k = 0; k < 200; k++)
			alive += seen[k] != 0 && now - seen[k] < IDLE;
		flow = gateway_flows_get(f, &key, now);
		if (seen[i] != 0 && now - seen[i] < IDLE)
			assert_int_equal(flow->number, numbers[i]);
		else
			assert_int_equal(flow != NULL, alive < MAX);
		if (flow == NULL)
			continue;
		seen[i] = now;
		numbers[i] = flow->number;
	}
	gateway_flows_free(f);
}

static void bounds(void **state)
{
	(void)state;
	assert_null(make(0, 1));
	assert_null(make(1u << 21, 1));
	assert_null(make(1, 0));
	gateway_flows_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(siphash_vector),
		cmocka_unit_test(a_flow_is_five_tuple_and_queue_pair),
		cmocka_unit_test(who_is_silent_goes_and_the_number_is_told_apart),
		cmocka_unit_test(a_host_has_its_share),
		cmocka_unit_test(agrees_with_a_list),
		cmocka_unit_test(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
