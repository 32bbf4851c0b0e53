/* SPDX-License-Identifier: BSD-3-Clause */
/* crypt_pairs.h against a list that is searched from its start. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>

#include <cmocka.h>
#include <stdlib.h>

#include "crypt_pairs.h"

#define MAX   32u
#define HOSTS 96u

static struct wire_addr host(uint32_t i)
{
	return (struct wire_addr){.b = {[10] = 0xff, [11] = 0xff, 10, 77, (uint8_t)(i * 64), (uint8_t)i}};
}

static void agrees_with_a_list(void **state)
{
	struct crypt_pairs *pairs = crypt_pairs_new(MAX);
	const struct wire_addr local = host(250);
	bool there[HOSTS] = {false};
	uint32_t n = 0;

	(void)state;
	srandom(7);
	for (int turn = 0; turn < 20000; turn++) {
		uint32_t i = (uint32_t)random() % HOSTS;
		struct wire_addr peer = host(i);

		if (random() % 2 != 0) {
			assert_int_equal(crypt_pairs_make(pairs, &local, &peer) != NULL, there[i] || n < MAX);
			n += !there[i] && n < MAX;
			there[i] = crypt_pairs_find(pairs, &local, &peer) != NULL;
		} else {
			crypt_pairs_drop(pairs, &local, &peer);
			n -= there[i];
			there[i] = false;
		}
		for (i = 0; i < HOSTS; i++) {
			peer = host(i);
			assert_int_equal(crypt_pairs_find(pairs, &local, &peer) != NULL, there[i]);
		}
	}
	crypt_pairs_free(pairs);
}

/* The same peer of another address of ours has other keys; what a pair has stays with it when others go. */
static void keeps_what_is_its_own(void **state)
{
	struct crypt_pairs *pairs = crypt_pairs_new(MAX);

	(void)state;
	for (uint32_t i = 0; i < MAX; i++) {
		struct wire_addr local = host(i % 4), peer = host(100 + i);

		crypt_pairs_make(pairs, &local, &peer)->required = i % 3 == 0;
	}
	for (uint32_t i = 0; i < MAX; i += 2) {
		struct wire_addr local = host(i % 4), peer = host(100 + i);

		crypt_pairs_drop(pairs, &local, &peer);
	}
	for (uint32_t i = 0; i < MAX; i++) {
		struct wire_addr local = host(i % 4), peer = host(100 + i), other = host((i + 1) % 4);
		const struct crypt_pair *pair = crypt_pairs_find(pairs, &local, &peer);

		assert_int_equal(pair != NULL, i % 2);
		assert_true(pair == NULL || pair->required == (i % 3 == 0));
		assert_null(crypt_pairs_find(pairs, &other, &peer));
	}
	crypt_pairs_free(pairs);
}

static void bounds(void **state)
{
	(void)state;
	assert_null(crypt_pairs_new(0));
	assert_null(crypt_pairs_new(UINT32_MAX));
	crypt_pairs_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(agrees_with_a_list),
		cmocka_unit_test(keeps_what_is_its_own),
		cmocka_unit_test(bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
