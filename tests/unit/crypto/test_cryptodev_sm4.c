/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A crypto device that knows SM4-GCM and nothing else, as DPDK 25.03 and later can tell of. DPDK 22.11 has no such algorithm, so
 * the backend is compiled here as for one that has, on calls of the library that are played: the device's work is done by
 * drivers/crypto/simd, and what comes of it is compared with libgcrypt.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <rte_cryptodev.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include "crypt_cryptodev.h"
#include "crypt_simd.h"
#include "edges.h"
#include "ref.h"

#define BURST    16u
#define MAX_TEXT 4200u

static void *engine;
static uint32_t n_sessions;

struct session {
	struct crypt_key *key;
	bool opening;
};

/* ---- the library, as far as it is asked ---- */

int rte_cryptodev_get_dev_id(const char *name)
{
	return strcmp(name, "crypto_sm4") == 0 ? 0 : -1;
}

const struct rte_cryptodev_symmetric_capability *rte_cryptodev_sym_capability_get(uint8_t dev_id,
	const struct rte_cryptodev_sym_capability_idx *idx)
{
	static const struct rte_cryptodev_symmetric_capability capability;

	(void)dev_id;
	return idx->type == RTE_CRYPTO_SYM_XFORM_AEAD && idx->algo.aead == RTE_CRYPTO_AEAD_SM4_GCM ? &capability : NULL;
}

int rte_cryptodev_sym_capability_check_aead(const struct rte_cryptodev_symmetric_capability *capability, uint16_t key_size,
	uint16_t digest_size, uint16_t aad_size, uint16_t iv_size)
{
	(void)capability;
	return key_size == 16 && digest_size == 16 && aad_size == 16 && iv_size == 12 ? 0 : -1;
}

void *rte_cryptodev_sym_session_create(uint8_t dev_id, struct rte_crypto_sym_xform *xform, struct rte_mempool *mp)
{
	struct session *session;

	(void)dev_id;
	(void)mp;
	assert_int_equal(xform->aead.algo, RTE_CRYPTO_AEAD_SM4_GCM);
	assert_int_equal(xform->aead.key.length, 16);
	session = malloc(sizeof(*session));
	assert_non_null(session);
	session->opening = xform->aead.op == RTE_CRYPTO_AEAD_OP_DECRYPT;
	session->key = crypt_simd_cipher.key_new(engine, CRYPT_SM4_GCM, xform->aead.key.data);
	n_sessions++;
	return session;
}

int rte_cryptodev_sym_session_free(uint8_t dev_id, void *session)
{
	(void)dev_id;
	n_sessions--;
	crypt_simd_cipher.key_free(engine, ((struct session *)session)->key);
	free(session);
	return 0;
}

uint32_t rte_cryptodev_sym_cpu_crypto_process(uint8_t dev_id, void *arg, union rte_crypto_sym_ofs ofs,
	struct rte_crypto_sym_vec *vec)
{
	const struct session *session = arg;
	uint32_t good = 0;

	(void)dev_id;
	(void)ofs;
	for (uint32_t i = 0; i < vec->num; i++) {
		struct crypt_seg segs[CRYPT_CRYPTODEV_SEGS];
		struct crypt_job job = {.key = session->key, .segs = segs, .n_segs = (uint16_t)vec->src_sgl[i].num, .aad = vec->aad[i].va,
			.aad_bytes = CRYPT_CRYPTODEV_AAD, .tag = vec->digest[i].va};

		for (uint16_t s = 0; s < job.n_segs; s++)
			segs[s] = (struct crypt_seg){vec->src_sgl[i].vec[s].base, vec->src_sgl[i].vec[s].len};
		memcpy(job.nonce, vec->iv[i].va, CRYPT_NONCE_BYTES);
		good += (session->opening ? crypt_simd_cipher.open : crypt_simd_cipher.seal)(engine, &job, 1);
		vec->status[i] = -job.status;
	}
	return good;
}

void rte_cryptodev_info_get(uint8_t dev_id, struct rte_cryptodev_info *info)
{
	(void)dev_id;
	*info = (struct rte_cryptodev_info){.driver_name = "crypto_sm4",
		.feature_flags = RTE_CRYPTODEV_FF_SYM_CPU_CRYPTO | RTE_CRYPTODEV_FF_IN_PLACE_SGL};
}

unsigned int rte_cryptodev_sym_get_private_session_size(uint8_t dev_id)
{
	(void)dev_id;
	return 64;
}

struct rte_mempool *rte_cryptodev_sym_session_pool_create(const char *name, uint32_t nb_elts, uint32_t elt_size, uint32_t cache_size,
	uint16_t priv_size, int socket_id)
{
	(void)elt_size;
	return rte_pktmbuf_pool_create(name, nb_elts, cache_size, priv_size, 0, socket_id);
}

int rte_cryptodev_queue_pair_setup(uint8_t dev_id, uint16_t qp, const struct rte_cryptodev_qp_conf *conf, int socket_id)
{
	(void)dev_id;
	(void)qp;
	(void)conf;
	(void)socket_id;
	return 0;
}

int rte_cryptodev_configure(uint8_t dev_id, struct rte_cryptodev_config *config)
{
	(void)dev_id;
	(void)config;
	return 0;
}

int rte_cryptodev_start(uint8_t dev_id)
{
	(void)dev_id;
	return 0;
}

void rte_cryptodev_stop(uint8_t dev_id)
{
	(void)dev_id;
}

int rte_cryptodev_socket_id(uint8_t dev_id)
{
	(void)dev_id;
	return SOCKET_ID_ANY;
}

/* ---- the test ---- */

static void sm4_alone_will_do(void **state)
{
	static uint8_t got[BURST][MAX_TEXT], plain[BURST][MAX_TEXT], want[MAX_TEXT], aad[CRYPT_CRYPTODEV_AAD];
	static uint8_t tag[BURST][CRYPT_TAG_BYTES], want_tag[CRYPT_TAG_BYTES], raw[CRYPT_KEY_BYTES_MAX];
	struct crypt_seg segs[BURST][2];
	struct crypt_job jobs[BURST];
	void *ctx = crypt_cryptodev_new("crypto_sm4", CRYPT_CRYPTODEV_ANY, 4);
	struct crypt_key *key;

	(void)state;
	assert_non_null(ctx);
	assert_true(crypt_cryptodev_cipher.knows(ctx, CRYPT_SM4_GCM));
	assert_false(crypt_cryptodev_cipher.knows(ctx, CRYPT_AES_128_GCM));
	assert_false(crypt_cryptodev_cipher.knows(ctx, CRYPT_AES_256_GCM));
	assert_null(crypt_cryptodev_cipher.key_new(ctx, CRYPT_AES_256_GCM, raw));
	ref_fill(raw, sizeof(raw));
	ref_fill(aad, sizeof(aad));
	key = crypt_cryptodev_cipher.key_new(ctx, CRYPT_SM4_GCM, raw);
	assert_non_null(key);
	for (uint32_t i = 0; i < BURST; i++) {
		uint32_t bytes = 2 + (uint32_t)(ref_random() % (MAX_TEXT - 1)), first = 1 + (uint32_t)(ref_random() % (bytes - 1));

		ref_fill(plain[i], bytes);
		memcpy(got[i], plain[i], bytes);
		segs[i][0] = (struct crypt_seg){got[i], first};
		segs[i][1] = (struct crypt_seg){got[i] + first, bytes - first};
		jobs[i] = (struct crypt_job){.key = key, .segs = segs[i], .n_segs = 2, .aad = aad, .aad_bytes = sizeof(aad), .tag = tag[i],
			.nonce = {(uint8_t)i}};
	}
	assert_int_equal(crypt_cryptodev_cipher.seal(ctx, jobs, BURST), BURST);
	for (uint32_t i = 0; i < BURST; i++) {
		uint32_t bytes = segs[i][0].bytes + segs[i][1].bytes;

		memcpy(want, plain[i], bytes);
		ref_gcrypt_seal(CRYPT_SM4_GCM, raw, jobs[i].nonce, aad, sizeof(aad), want, bytes, want_tag);
		assert_memory_equal(got[i], want, bytes);
		assert_memory_equal(tag[i], want_tag, sizeof(want_tag));
	}
	tag[3][5] ^= 0x10;
	assert_int_equal(crypt_cryptodev_cipher.open(ctx, jobs, BURST), BURST - 1);
	for (uint32_t i = 0; i < BURST; i++) {
		assert_int_equal(jobs[i].status, i == 3 ? -EBADMSG : 0);
		if (i != 3)
			assert_memory_equal(got[i], plain[i], segs[i][0].bytes + segs[i][1].bytes);
	}
	crypt_cryptodev_cipher.key_free(ctx, key);
	crypt_cryptodev_free(ctx);
	assert_int_equal(n_sessions, 0);
}

static void edge_cases(void **state)
{
	struct edge_cipher e = {"crypto_sm4", &crypt_cryptodev_cipher, NULL, CRYPT_SM4_GCM, false};

	(void)state;
	e.ctx = crypt_cryptodev_new("crypto_sm4", CRYPT_CRYPTODEV_ANY, 4);
	assert_non_null(e.ctx);
	edges_all(&e);
	crypt_cryptodev_free(e.ctx);
	assert_int_equal(n_sessions, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sm4_alone_will_do),
		cmocka_unit_test(edge_cases),
	};
	char prefix[32];
	char *args[] = {(char[]){"test"}, (char[]){"--no-huge"}, (char[]){"-m"}, (char[]){"64"}, (char[]){"--no-pci"},
		(char[]){"--no-shconf"}, (char[]){"--no-telemetry"}, (char[]){"--log-level=3"}, prefix};
	int rc;

	snprintf(prefix, sizeof(prefix), "--file-prefix=cs%d", (int)getpid());
	if (rte_eal_init(sizeof(args) / sizeof(args[0]), args) < 0) {
		fprintf(stderr, "test_cryptodev_sm4: DPDK does not start: %s\n", rte_strerror(rte_errno));
		return 77;
	}
	ref_init();
	engine = crypt_simd_new(NULL);
	rc = engine != NULL ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
	crypt_simd_free(engine);
	(void)rte_eal_cleanup();
	return rc;
}
