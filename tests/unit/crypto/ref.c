/* SPDX-License-Identifier: BSD-3-Clause */
#include "ref.h"

#include <stdlib.h>
#include <string.h>

#include <gcrypt.h>
#include <openssl/evp.h>

static void must(bool ok)
{
	if (!ok)
		abort();
}

void ref_init(void)
{
	must(gcry_check_version(NULL) != NULL);
	gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
	gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
}

static gcry_cipher_hd_t gcrypt_open(enum crypt_suite suite, int mode, const uint8_t *key)
{
	static const int algorithms[CRYPT_SUITES] = {
		[CRYPT_AES_128_GCM] = GCRY_CIPHER_AES128,
		[CRYPT_AES_256_GCM] = GCRY_CIPHER_AES256,
		[CRYPT_SM4_GCM] = GCRY_CIPHER_SM4,
	};
	gcry_cipher_hd_t h;

	must(gcry_cipher_open(&h, algorithms[suite], mode, 0) == 0);
	must(gcry_cipher_setkey(h, key, crypt_suite_key_bytes(suite)) == 0);
	return h;
}

void ref_gcrypt_block(enum crypt_suite suite, const uint8_t *key, uint8_t block[16])
{
	gcry_cipher_hd_t h = gcrypt_open(suite, GCRY_CIPHER_MODE_ECB, key);

	must(gcry_cipher_encrypt(h, block, 16, NULL, 0) == 0);
	gcry_cipher_close(h);
}

void ref_gcrypt_seal(enum crypt_suite suite, const uint8_t *key, const uint8_t *nonce, const uint8_t *aad, size_t aad_bytes,
	uint8_t *text, size_t bytes, uint8_t tag[16])
{
	gcry_cipher_hd_t h = gcrypt_open(suite, GCRY_CIPHER_MODE_GCM, key);

	must(gcry_cipher_setiv(h, nonce, CRYPT_NONCE_BYTES) == 0);
	must(gcry_cipher_authenticate(h, aad, aad_bytes) == 0);
	must(gcry_cipher_encrypt(h, text, bytes, NULL, 0) == 0);
	must(gcry_cipher_gettag(h, tag, CRYPT_TAG_BYTES) == 0);
	gcry_cipher_close(h);
}

void ref_gcrypt_again(enum crypt_suite suite, const uint8_t *key, const uint8_t *nonce, uint8_t *text, size_t bytes,
	uint32_t times, bool sealing, uint8_t tag[16])
{
	gcry_cipher_hd_t h = gcrypt_open(suite, GCRY_CIPHER_MODE_GCM, key);

	must(gcry_cipher_setiv(h, nonce, CRYPT_NONCE_BYTES) == 0);
	for (uint32_t i = 0; i < times; i++)
		must((sealing ? gcry_cipher_encrypt : gcry_cipher_decrypt)(h, text, bytes, NULL, 0) == 0);
	must(gcry_cipher_gettag(h, tag, CRYPT_TAG_BYTES) == 0);
	gcry_cipher_close(h);
}

bool ref_openssl_seal(enum crypt_suite suite, const uint8_t *key, const uint8_t *nonce, const uint8_t *aad, size_t aad_bytes,
	uint8_t *text, size_t bytes, uint8_t tag[16])
{
	EVP_CIPHER_CTX *c;
	int n;

	if (suite == CRYPT_SM4_GCM)
		return false;
	c = EVP_CIPHER_CTX_new();
	must(c != NULL && EVP_EncryptInit_ex(c, suite == CRYPT_AES_128_GCM ? EVP_aes_128_gcm() : EVP_aes_256_gcm(), NULL, key,
		nonce) == 1);
	must(aad_bytes == 0 || EVP_EncryptUpdate(c, NULL, &n, aad, (int)aad_bytes) == 1);
	must(bytes == 0 || EVP_EncryptUpdate(c, text, &n, text, (int)bytes) == 1);
	must(EVP_EncryptFinal_ex(c, text, &n) == 1 && EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, CRYPT_TAG_BYTES, tag) == 1);
	EVP_CIPHER_CTX_free(c);
	return true;
}

/* splitmix64 */
uint64_t ref_random(void)
{
	static uint64_t state = 1;
	uint64_t x = state += 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

void ref_fill(uint8_t *to, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		to[i] = (uint8_t)ref_random();
}
