/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whole protected frames as docs/wire.md lays them out, byte for byte against what tests/data/crypto/psp.py makes with ciphers of its own;
 * and what one backend seals, another opens, however the frame is cut on its way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "crypt_simd.h"
#include "frames.h"
#include "test_cipher.h"

static const uint8_t aes_256_over_ip4[] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x45, 0x6a,
	0x00, 0x58, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x26, 0x29, 0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00,
	0x00, 0x02, 0xc0, 0x01, 0x03, 0xea, 0x00, 0x44, 0x00, 0x00, 0x11, 0x01, 0x00, 0x05, 0xa1, 0xb2,
	0xc3, 0xd4, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x9f, 0x2e, 0x53, 0xdd, 0xb9, 0x82,
	0x2d, 0x8c, 0x5e, 0xab, 0x77, 0x0d, 0x37, 0xb9, 0xcf, 0x4c, 0x52, 0xb6, 0xc2, 0xb6, 0xe5, 0x3e,
	0xc0, 0x86, 0xe3, 0xcf, 0x8c, 0x09, 0x3c, 0x09, 0xce, 0x90, 0xaf, 0x3a, 0x7c, 0x44, 0xdf, 0x4e,
	0xc0, 0xe5, 0xed, 0xe6, 0x92, 0xcd,
};
static const uint8_t aes_128_over_ip4[] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x08, 0x00, 0x45, 0x6a,
	0x00, 0x58, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x26, 0x29, 0x0a, 0x00, 0x00, 0x01, 0x0a, 0x00,
	0x00, 0x02, 0xc0, 0x01, 0x03, 0xea, 0x00, 0x44, 0x00, 0x00, 0x11, 0x01, 0x00, 0x01, 0xa1, 0xb2,
	0xc3, 0xd4, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x0a, 0x1f, 0xeb, 0xda, 0xda, 0xee,
	0x92, 0x64, 0xb7, 0x95, 0xbd, 0x40, 0x03, 0x62, 0xce, 0x6d, 0xea, 0x47, 0xf0, 0xe5, 0xde, 0x7e,
	0x14, 0xb2, 0xcd, 0xdd, 0x18, 0xa3, 0x84, 0x5a, 0xe0, 0x3d, 0x37, 0x80, 0x21, 0xa1, 0x19, 0xca,
	0x27, 0x54, 0x30, 0xec, 0x92, 0x11,
};
static const uint8_t sm4_over_vlan_ip6[] = {
	0x02, 0x00, 0x00, 0x00, 0x00, 0x02, 0x02, 0x00, 0x00, 0x00, 0x00, 0x01, 0x81, 0x00, 0x60, 0x2a,
	0x86, 0xdd, 0x60, 0x20, 0x00, 0x07, 0x00, 0x44, 0x11, 0x40, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
	0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0xc0, 0x01, 0x03, 0xea, 0x00, 0x44,
	0x00, 0x00, 0x11, 0x01, 0x00, 0x21, 0xa1, 0xb2, 0xc3, 0xd4, 0x00, 0x00, 0x00, 0x01, 0x02, 0x03,
	0x04, 0x05, 0x68, 0xa3, 0xab, 0x71, 0x7b, 0x7e, 0x2b, 0x2c, 0x6a, 0xdf, 0xb5, 0xe1, 0xeb, 0xb6,
	0x54, 0x90, 0x94, 0xcc, 0xae, 0x09, 0x1d, 0xd3, 0x40, 0x3b, 0x33, 0x44, 0x0d, 0x0a, 0x4d, 0xc7,
	0xf2, 0xcb, 0xc9, 0x32, 0x02, 0x3d, 0x39, 0xd5, 0xfc, 0x99, 0xa0, 0x46, 0x9d, 0x49,
};

/* ---- two ends, each with a backend ---- */

static struct end {
	struct crypt_worker worker;
	struct crypt_tx_sa *tx;
	struct crypt_rx_sa *rx;
} ends[2];

static void end_start(struct end *end, const struct crypt_cipher *cipher, void *ctx, const struct crypt_sa_params *params)
{
	*end = (struct end){.worker = {.cipher = cipher, .cipher_ctx = ctx, .port = WIRE_PSP_PORT}};
	end->worker.table = crypt_table_new(4);
	end->tx = crypt_tx_sa_new(cipher, ctx, params);
	end->rx = crypt_rx_sa_new(cipher, ctx, params);
	assert_non_null(end->tx);
	assert_int_equal(crypt_table_add(end->worker.table, end->rx), 0);
}

static void end_stop(struct end *end)
{
	crypt_tx_sa_free(end->tx);
	crypt_table_free(end->worker.table);
}

static void start_suite(enum crypt_suite suite, void *simd)
{
	struct crypt_sa_params params = {.suite = suite, .spi = 0xa1b2c3d4, .lane = 2};

	for (uint32_t i = 0; i < CRYPT_KEY_BYTES_MAX; i++)
		params.key[i] = (uint8_t)i;
	end_start(&ends[0], &crypt_simd_cipher, simd, &params);
	end_start(&ends[1], &test_cipher, NULL, &params);
}

static void stop_suite(void)
{
	end_stop(&ends[0]);
	end_stop(&ends[1]);
}

static void send_one(struct end *end, struct rte_mbuf *m)
{
	enum base_drop reason;

	assert_int_equal(crypt_protect(&end->worker, &m, &end->tx, 1, &reason), 1);
	assert_int_equal(reason, BASE_DROP_NONE);
}

static enum base_drop receive_one(struct end *end, struct rte_mbuf *m)
{
	struct crypt_rx_sa *sa;
	enum base_drop reason;

	(void)crypt_unprotect(&end->worker, &m, &sa, 1, &reason);
	return reason;
}

/* ---- tests ---- */

static void known(enum crypt_suite suite, uint64_t number, bool six, const uint8_t *want, uint32_t bytes)
{
	void *simd = crypt_simd_new(NULL);

	start_suite(suite, simd);
	for (int i = 0; i < 2; i++) {
		struct rte_mbuf *m = frame_make(0, 20, six, six);

		ends[i].tx->next = number;
		send_one(&ends[i], m);
		assert_int_equal(m->pkt_len, bytes);
		assert_memory_equal(rte_pktmbuf_mtod(m, const void *), want, bytes);
		/* And back. */
		assert_int_equal(receive_one(&ends[i], m), BASE_DROP_NONE);
		frame_is(m, 0);
	}
	stop_suite();
	crypt_simd_free(simd);
}

static void frames_are_as_others_make_them(void **state)
{
	(void)state;
	known(CRYPT_AES_128_GCM, 1, false, aes_128_over_ip4, sizeof(aes_128_over_ip4));
	known(CRYPT_AES_256_GCM, 1, false, aes_256_over_ip4, sizeof(aes_256_over_ip4));
	known(CRYPT_SM4_GCM, 0x0102030405, true, sm4_over_vlan_ip6, sizeof(sm4_over_vlan_ip6));
}

static void what_one_backend_seals_another_opens(void **state)
{
	static const uint32_t texts[] = {0, 12, 44, 255, 1024, 4096};
	void *simd = crypt_simd_new(NULL);

	(void)state;
	for (int suite = 0; suite < CRYPT_SUITES; suite++) {
		start_suite((enum crypt_suite)suite, simd);
		for (uint32_t i = 0; i < 4 * sizeof(texts) / sizeof(texts[0]); i++) {
			for (int from = 0; from < 2; from++) {
				struct rte_mbuf *m = frame_make(0, texts[i / 4], (i & 1) != 0, (i & 2) != 0);

				send_one(&ends[from], m);
				assert_int_equal(receive_one(&ends[1 - from], m), BASE_DROP_NONE);
				frame_is(m, 0);
			}
		}
		stop_suite();
	}
	crypt_simd_free(simd);
	assert_int_equal(test_cipher_keys, 0);
}

/* A receiver gets a frame in segments that end anywhere behind the headers: in the ICV, in padding, or between all of them. */
static void a_frame_may_be_cut_anywhere_on_its_way(void **state)
{
	void *simd = crypt_simd_new(NULL);
	uint32_t l4 = 34 + WIRE_PSP_PUSH;

	(void)state;
	start_suite(CRYPT_AES_256_GCM, simd);
	for (uint32_t padding = 0; padding <= 20; padding += 5) {
		for (uint32_t first = l4; first < l4 + 24 + 16 + padding; first++) {
			for (uint32_t second = first + 1; second < l4 + 24 + 16 + padding; second += 3) {
				uint32_t whole, kept = 1;
				struct rte_mbuf *m = frame_make(0, 16, false, false);

				send_one(&ends[0], m);
				frame_take(1, m);
				memset(frames[1].before + frames[1].bytes, 0xee, padding);
				frames[1].bytes += padding;
				m = frame_cut(1, (uint32_t[]){first, second}, 2);
				whole = frames[0].bytes + WIRE_PSP_PUSH;
				kept += (uint32_t)(first < whole) + (uint32_t)(second < whole);
				frames_freed = 0;
				assert_int_equal(receive_one(&ends[0], m), BASE_DROP_NONE);
				frame_is(m, 0);
				assert_int_equal(m->nb_segs, kept);
				assert_int_equal(frames_freed, 3 - kept);
			}
		}
	}
	stop_suite();
	crypt_simd_free(simd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_as_others_make_them),
		cmocka_unit_test(what_one_backend_seals_another_opens),
		cmocka_unit_test(a_frame_may_be_cut_anywhere_on_its_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
