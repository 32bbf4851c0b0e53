/* SPDX-License-Identifier: BSD-3-Clause */
#include <stddef.h>

#include "simd_ghash.h"
#include "simd_kernel.h"

/* The kernel for any CPU: ciphers bitsliced, GHASH by integer multiplication. */

#define KERNEL_BULK(key) 0

struct hash {
	struct simd_element x, h;
};

static void hash_start(struct hash *hash, const struct crypt_key *key, uint64_t aad_blocks, uint64_t other_blocks,
	uint32_t bulk)
{
	(void)aad_blocks;
	(void)other_blocks;
	(void)bulk;
	hash->x = (struct simd_element){ 0 };
	hash->h = simd_element_load_reflected(key->ghash.power[SIMD_POWERS - 1]);
}

static void hash_blocks(struct hash *hash, const struct crypt_key *key, const uint8_t *data, uint64_t n)
{
	(void)key;
	for (; n > 0; n--, data += 16) {
		const struct simd_element block = simd_element_load(data);

		hash->x.low ^= block.low;
		hash->x.high ^= block.high;
		hash->x = simd_element_mul(hash->x, hash->h);
	}
}

static void hash_xor(struct hash *hash, const struct crypt_key *key, uint8_t *data, const uint8_t *stream, uint32_t n,
	int sealing)
{
	if (!sealing)
		hash_blocks(hash, key, data, n);
	for (size_t i = 0; i < 16 * (size_t)n; i++)
		data[i] ^= stream[i];
	if (sealing)
		hash_blocks(hash, key, data, n);
}

static void hash_finish(struct hash *hash, const struct crypt_key *key, uint64_t aad_bits, uint64_t text_bits, uint8_t *out)
{
	const uint64_t lengths[2] = { htobe64(aad_bits), htobe64(text_bits) };

	hash_blocks(hash, key, (const uint8_t *)lengths, 1);
	simd_element_store(out, hash->x);
}

static void kernel_stream(const struct crypt_key *key, uint8_t *blocks, unsigned int n)
{
	if (key->suite == CRYPT_SM4_GCM) {
		for (unsigned int i = 0; i < n; i += SIMD_BITS_SM4_BLOCKS)
			simd_bits_sm4(&key->bits_sm4, blocks + 16 * (size_t)i);
	} else {
		for (unsigned int i = 0; i < n; i += SIMD_BITS_AES_BLOCKS)
			simd_bits_aes(&key->bits_aes, blocks + 16 * (size_t)i);
	}
}

static void kernel_bulk(const struct crypt_key *key, struct hash *hash, const uint8_t *nonce, uint32_t counter,
	uint8_t *data, uint32_t blocks, int sealing)
{
	(void)key;
	(void)hash;
	(void)nonce;
	(void)counter;
	(void)data;
	(void)blocks;
	(void)sealing;
}

#include "simd_engine.h"

static int runs(void)
{
	return 1;
}

static void prepare(struct crypt_key *key, const uint8_t *raw)
{
	uint8_t blocks[16 * SIMD_BITS_SM4_BLOCKS] = { 0 };

	if (key->suite == CRYPT_SM4_GCM)
		simd_bits_sm4_key(&key->bits_sm4, raw);
	else
		simd_bits_aes_key(&key->bits_aes, raw, (unsigned int)crypt_suite_key_bytes(key->suite));
	kernel_stream(key, blocks, 1);
	simd_ghash_prepare(&key->ghash, blocks);
	explicit_bzero(blocks, sizeof(blocks));
}

static void blocks(const struct crypt_key *key, uint8_t *to, unsigned int n)
{
	kernel_stream(key, to, n);
}

const struct simd_kernel simd_portable = {
	.name = "portable",
	.runs = runs,
	.prepare = prepare,
	.seal = engine_seal,
	.open = engine_open,
	.blocks = blocks,
};
