/* SPDX-License-Identifier: BSD-3-Clause */
/* The replay window against a model that remembers everything; the table of SPIs; session keys against others' HMAC. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crypt_kdf.h"
#include "crypt_simd.h"
#include "crypt_table.h"

#define NUMBERS 400000u
#define ROUNDS  60000u

static uint64_t random_state;

static uint64_t draw(uint64_t below)
{
	uint64_t x = random_state += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return (x ^ (x >> 31)) % below;
}

/* ---- replay ---- */

static enum crypt_replay_verdict model(const uint8_t *seen, uint64_t top, uint32_t window, uint64_t number)
{
	if (number == 0 || (number <= top && top - number >= window))
		return CRYPT_REPLAY_OLD;
	return seen[number] ? CRYPT_REPLAY_AGAIN : CRYPT_REPLAY_NEW;
}

/* Steps forward and back, short ones, ones of about the window, and jumps. */
static uint64_t next_number(uint64_t top, uint32_t window, uint64_t jump)
{
	uint64_t back = draw(4) == 0 ? draw(3 * (uint64_t)window) : draw(70);
	uint64_t ahead = draw(50) == 0 ? draw(jump) : draw(3);

	return draw(2) == 0 ? top + ahead : top > back ? top - back : 0;
}

static void any_order_within_the_window(void **state)
{
	uint8_t *seen = malloc(NUMBERS);
	uint64_t *words = malloc(sizeof(uint64_t) * crypt_replay_words(CRYPT_REPLAY_MAX));

	(void)state;
	assert_non_null(seen);
	assert_non_null(words);
	for (uint32_t window = CRYPT_REPLAY_MIN; window <= CRYPT_REPLAY_MAX; window *= 2) {
		for (uint32_t seed = 0; seed < 4; seed++) {
			struct crypt_replay r;
			uint64_t top = 0;

			random_state = seed * 1000 + window;
			memset(seen, 0, NUMBERS);
			memset(words, 0, sizeof(uint64_t) * crypt_replay_words(window));
			crypt_replay_init(&r, words, window);
			for (uint32_t i = 0; i < ROUNDS; i++) {
				uint64_t number = next_number(top, window, seed == 0 ? 4 : 2 * (uint64_t)window);
				enum crypt_replay_verdict verdict;

				if (number >= NUMBERS)
					break;
				verdict = crypt_replay_check(&r, number);
				assert_int_equal(verdict, model(seen, top, window, number));
				/* Some are looked at and turn out not to be the peer's: they change nothing. */
				if (verdict != CRYPT_REPLAY_NEW || draw(5) == 0)
					continue;
				crypt_replay_accept(&r, number);
				seen[number] = 1;
				top = number > top ? number : top;
			}
		}
	}
	free(words);
	free(seen);
}

static void numbers_of_any_size(void **state)
{
	uint64_t words[4] = {0};
	struct crypt_replay r;

	(void)state;
	crypt_replay_init(&r, words, 128);
	crypt_replay_accept(&r, 5);
	crypt_replay_accept(&r, ((uint64_t)1 << 48) - 1);
	assert_int_equal(crypt_replay_check(&r, 5), CRYPT_REPLAY_OLD);
	assert_int_equal(crypt_replay_check(&r, (uint64_t)1 << 48), CRYPT_REPLAY_NEW);
	assert_int_equal(crypt_replay_check(&r, ((uint64_t)1 << 48) - 1), CRYPT_REPLAY_AGAIN);
	assert_int_equal(crypt_replay_check(&r, ((uint64_t)1 << 48) - 128), CRYPT_REPLAY_NEW);
	assert_int_equal(crypt_replay_check(&r, ((uint64_t)1 << 48) - 129), CRYPT_REPLAY_OLD);
	crypt_replay_accept(&r, UINT64_MAX);
	assert_int_equal(crypt_replay_check(&r, UINT64_MAX), CRYPT_REPLAY_AGAIN);
	assert_false(crypt_replay_window_ok(32));
	assert_false(crypt_replay_window_ok(96));
	assert_false(crypt_replay_window_ok(2 * CRYPT_REPLAY_MAX));
	assert_true(crypt_replay_window_ok(CRYPT_REPLAY_DEFAULT));
}

/* ---- SPIs ---- */

static struct crypt_rx_sa *make_sa(void *ctx, uint32_t spi)
{
	struct crypt_sa_params params = {.suite = CRYPT_AES_128_GCM, .spi = spi, .window_packets = 64};

	return crypt_rx_sa_new(&crypt_simd_cipher, ctx, &params);
}

static void an_spi_finds_its_sa(void **state)
{
	enum { MAX = 50, SPIS = 200 };
	struct crypt_table *table = crypt_table_new(MAX);
	struct crypt_rx_sa *in[SPIS + 1] = {NULL};
	void *ctx = crypt_simd_new(NULL);
	uint32_t n = 0;

	(void)state;
	assert_non_null(table);
	assert_non_null(ctx);
	random_state = 7;
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t spi = 1 + (uint32_t)draw(SPIS), at = 0, counted = 0;

		assert_ptr_equal(crypt_table_find(table, spi), in[spi]);
		if (draw(2) == 0) {
			assert_ptr_equal(crypt_table_take(table, spi), in[spi]);
			n -= in[spi] != NULL;
			crypt_rx_sa_free(in[spi]);
			in[spi] = NULL;
		} else {
			struct crypt_rx_sa *sa = make_sa(ctx, spi);
			int rc = crypt_table_add(table, sa);

			assert_int_equal(rc, in[spi] != NULL ? -EEXIST : n == MAX ? -ENOSPC : 0);
			if (rc != 0)
				crypt_rx_sa_free(sa);
			else
				in[spi] = sa, n++;
		}
		while (crypt_table_next(table, &at) != NULL)
			counted++;
		assert_int_equal(counted, n);
	}
	crypt_table_free(table);
	crypt_simd_free(ctx);
	assert_null(crypt_table_new(0));
}

static void sas_out_of_range_are_refused(void **state)
{
	struct crypt_sa_params params = {.suite = CRYPT_SM4_GCM, .spi = 1};
	void *ctx = crypt_simd_new(NULL);
	struct crypt_tx_sa *sa;

	(void)state;
	sa = crypt_tx_sa_new(&crypt_simd_cipher, ctx, &params);
	assert_non_null(sa);
	assert_int_equal(sa->next, 1);
	crypt_tx_sa_free(sa);
	params.spi = 0;
	assert_null(crypt_tx_sa_new(&crypt_simd_cipher, ctx, &params));
	assert_int_equal(errno, EINVAL);
	params.spi = 1;
	params.window_packets = 100;
	assert_null(crypt_rx_sa_new(&crypt_simd_cipher, ctx, &params));
	params.window_packets = 0;
	params.hard_packets = CRYPT_HARD_PACKETS + 1;
	assert_null(crypt_tx_sa_new(&crypt_simd_cipher, ctx, &params));
	crypt_simd_free(ctx);
}

/* ---- keys ---- */

/* HMAC by Python's hmac and by the openssl program, over the bytes that crypt_kdf.h lays out. */
static void session_keys_are_hkdf(void **state)
{
	static const uint8_t aes256[32] = {0x36, 0x1c, 0x0a, 0x50, 0x3b, 0xf3, 0xf0, 0x30, 0x11, 0x8a, 0x6f, 0x16, 0xb3, 0xbd, 0x38,
		0xa6, 0x9a, 0x0b, 0x90, 0x2d, 0x15, 0x36, 0xc5, 0x1d, 0x79, 0x5c, 0xb2, 0x7b, 0xe8, 0xee, 0xa8, 0x00};
	static const uint8_t aes128[16] = {
		0x4f, 0xf9, 0xf2, 0xe7, 0x15, 0x87, 0xd0, 0x49, 0x93, 0x8e, 0x5c, 0xf0, 0xc1, 0x2a, 0xa4, 0xde};
	static const uint8_t sm4[16] = {
		0xb1, 0x21, 0x97, 0x1f, 0x1e, 0xc3, 0xdd, 0x54, 0x56, 0x92, 0x68, 0x0a, 0x1e, 0x3d, 0x8a, 0x76};
	struct crypt_kdf_input in = {.suite = CRYPT_AES_256_GCM,
		.direction = CRYPT_TO_RESPONDER,
		.lane = 3,
		.epoch = 0x01020304,
		.spi = 0xa1b2c3d4,
		.initiator = "10.0.0.1",
		.initiator_bytes = 8,
		.responder = "10.0.0.2",
		.responder_bytes = 8};
	uint8_t working[CRYPT_WORKING_KEY_BYTES], key[CRYPT_KEY_BYTES_MAX];

	(void)state;
	for (uint32_t i = 0; i < sizeof(working); i++)
		working[i] = (uint8_t)i;
	assert_int_equal(crypt_kdf_session(working, &in, key), 0);
	assert_memory_equal(key, aes256, 32);
	in.suite = CRYPT_SM4_GCM;
	assert_int_equal(crypt_kdf_session(working, &in, key), 0);
	assert_memory_equal(key, sm4, 16);
	in = (struct crypt_kdf_input){
		.suite = CRYPT_AES_128_GCM, .direction = CRYPT_TO_INITIATOR, .spi = 1, .initiator = "", .responder = ""};
	assert_int_equal(crypt_kdf_session(working, &in, key), 0);
	assert_memory_equal(key, aes128, 16);
	in.initiator_bytes = CRYPT_ID_BYTES_MAX + 1;
	assert_int_equal(crypt_kdf_session(working, &in, key), -EINVAL);
	in.initiator_bytes = 0;
	in.suite = CRYPT_SUITES;
	assert_int_equal(crypt_kdf_session(working, &in, key), -EINVAL);
}

/* Each thing that a key is for makes another one. */
static void keys_differ_by_all_they_are_for(void **state)
{
	const struct crypt_kdf_input base = {.suite = CRYPT_AES_256_GCM,
		.lane = 1,
		.epoch = 1,
		.spi = 1,
		.initiator = "ab",
		.initiator_bytes = 2,
		.responder = "c",
		.responder_bytes = 1};
	struct crypt_kdf_input in[8];
	uint8_t working[CRYPT_WORKING_KEY_BYTES] = {1}, keys[8][CRYPT_KEY_BYTES_MAX] = {{0}};

	(void)state;
	for (int i = 0; i < 8; i++)
		in[i] = base;
	in[1].suite = CRYPT_AES_128_GCM;
	in[2].direction = CRYPT_TO_INITIATOR;
	in[3].lane = 2;
	in[4].epoch = 2;
	in[5].spi = 2;
	/* The same bytes, but another border between the identities. */
	in[6].initiator = "a";
	in[6].initiator_bytes = 1;
	in[6].responder = "bc";
	in[6].responder_bytes = 2;
	in[7].suite = CRYPT_SM4_GCM;
	for (int i = 0; i < 8; i++) {
		assert_int_equal(crypt_kdf_session(working, &in[i], keys[i]), 0);
		for (int k = 0; k < i; k++)
			assert_memory_not_equal(keys[i], keys[k], 16);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_order_within_the_window),
		cmocka_unit_test(numbers_of_any_size),
		cmocka_unit_test(an_spi_finds_its_sa),
		cmocka_unit_test(sas_out_of_range_are_refused),
		cmocka_unit_test(session_keys_are_hkdf),
		cmocka_unit_test(keys_differ_by_all_they_are_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
