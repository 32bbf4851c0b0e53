/* SPDX-License-Identifier: BSD-3-Clause */
#include "test_cipher.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gcrypt.h>
#include <openssl/evp.h>

#define MAX_TEXT 65536u

struct crypt_key {
	enum crypt_suite suite;
	uint8_t raw[CRYPT_KEY_BYTES_MAX];
};

unsigned int test_cipher_keys;

static void must_at(bool ok, int line)
{
	if (ok)
		return;
	fprintf(stderr, "test_cipher: a library failed in line %d\n", line);
	abort();
}

#define must(ok) must_at(ok, __LINE__)

static int knows(const void *ctx, enum crypt_suite suite)
{
	(void)ctx;
	return crypt_suite_key_bytes(suite) != 0;
}

static struct crypt_key *key_new(void *ctx, enum crypt_suite suite, const uint8_t *raw)
{
	struct crypt_key *key;

	if (!knows(ctx, suite)) {
		errno = ENOTSUP;
		return NULL;
	}
	key = calloc(1, sizeof(*key));
	must(key != NULL);
	key->suite = suite;
	memcpy(key->raw, raw, crypt_suite_key_bytes(suite));
	test_cipher_keys++;
	return key;
}

static void key_free(void *ctx, struct crypt_key *key)
{
	(void)ctx;
	explicit_bzero(key, sizeof(*key));
	free(key);
	test_cipher_keys--;
}

/* One run of bytes sealed or opened; the tag that belongs to it. */
static void aes(const struct crypt_job *job, uint8_t *text, int bytes, bool seal, uint8_t *tag)
{
	const EVP_CIPHER *cipher = job->key->suite == CRYPT_AES_128_GCM ? EVP_aes_128_gcm() : EVP_aes_256_gcm();
	EVP_CIPHER_CTX *c = EVP_CIPHER_CTX_new();
	uint8_t *plain = malloc((size_t)bytes + 1);
	int n;

	must(c != NULL && plain != NULL);
	if (!seal) {
		/* CTR is its own inverse: the tag is that of the plain text sealed again. */
		must(EVP_DecryptInit_ex(c, cipher, NULL, job->key->raw, job->nonce) == 1);
		must(EVP_DecryptUpdate(c, plain, &n, text, bytes) == 1);
		memcpy(text, plain, (size_t)bytes);
		must(EVP_CIPHER_CTX_reset(c) == 1);
	}
	must(EVP_EncryptInit_ex(c, cipher, NULL, job->key->raw, job->nonce) == 1);
	must(EVP_EncryptUpdate(c, NULL, &n, job->aad, (int)job->aad_bytes) == 1);
	must(EVP_EncryptUpdate(c, plain, &n, text, bytes) == 1);
	if (seal)
		memcpy(text, plain, (size_t)bytes);
	must(EVP_EncryptFinal_ex(c, plain, &n) == 1);
	must(EVP_CIPHER_CTX_ctrl(c, EVP_CTRL_GCM_GET_TAG, CRYPT_TAG_BYTES, tag) == 1);
	EVP_CIPHER_CTX_free(c);
	free(plain);
}

static void sm4(const struct crypt_job *job, uint8_t *text, size_t bytes, bool seal, uint8_t *tag)
{
	static bool ready;
	gcry_cipher_hd_t h;

	if (!ready) {
		must(gcry_check_version(NULL) != NULL);
		gcry_control(GCRYCTL_DISABLE_SECMEM, 0);
		gcry_control(GCRYCTL_INITIALIZATION_FINISHED, 0);
		ready = true;
	}
	must(gcry_cipher_open(&h, GCRY_CIPHER_SM4, GCRY_CIPHER_MODE_GCM, 0) == 0);
	must(gcry_cipher_setkey(h, job->key->raw, 16) == 0);
	must(gcry_cipher_setiv(h, job->nonce, CRYPT_NONCE_BYTES) == 0);
	must(gcry_cipher_authenticate(h, job->aad, job->aad_bytes) == 0);
	must((seal ? gcry_cipher_encrypt : gcry_cipher_decrypt)(h, text, bytes, NULL, 0) == 0);
	must(gcry_cipher_gettag(h, tag, CRYPT_TAG_BYTES) == 0);
	gcry_cipher_close(h);
}

/* Gathers the segments, ciphers them, and puts them back. */
static void run(const struct crypt_job *job, bool seal, uint8_t tag[CRYPT_TAG_BYTES])
{
	static uint8_t text[MAX_TEXT];
	size_t bytes = 0;

	for (uint16_t s = 0; s < job->n_segs; s++) {
		must(bytes + job->segs[s].bytes <= sizeof(text));
		memcpy(text + bytes, job->segs[s].data, job->segs[s].bytes);
		bytes += job->segs[s].bytes;
	}
	if (job->key->suite == CRYPT_SM4_GCM)
		sm4(job, text, bytes, seal, tag);
	else
		aes(job, text, (int)bytes, seal, tag);
	bytes = 0;
	for (uint16_t s = 0; s < job->n_segs; s++) {
		memcpy(job->segs[s].data, text + bytes, job->segs[s].bytes);
		bytes += job->segs[s].bytes;
	}
}

static unsigned int seal_all(void *ctx, struct crypt_job *jobs, unsigned int n)
{
	(void)ctx;
	for (unsigned int i = 0; i < n; i++) {
		run(&jobs[i], true, jobs[i].tag);
		jobs[i].status = 0;
	}
	return n;
}

static unsigned int open_all(void *ctx, struct crypt_job *jobs, unsigned int n)
{
	uint8_t tag[CRYPT_TAG_BYTES];
	unsigned int good = 0;

	(void)ctx;
	for (unsigned int i = 0; i < n; i++) {
		run(&jobs[i], false, tag);
		jobs[i].status = memcmp(tag, jobs[i].tag, sizeof(tag)) == 0 ? 0 : -EBADMSG;
		for (uint16_t s = 0; jobs[i].status != 0 && s < jobs[i].n_segs; s++)
			memset(jobs[i].segs[s].data, 0, jobs[i].segs[s].bytes);
		good += jobs[i].status == 0;
	}
	return good;
}

static unsigned int nothing(void *ctx, struct crypt_job *jobs, unsigned int n)
{
	(void)ctx;
	for (unsigned int i = 0; i < n; i++)
		jobs[i].status = 0;
	return n;
}

const struct crypt_cipher test_cipher = {
	.name = "test",
	.knows = knows,
	.key_new = key_new,
	.key_free = key_free,
	.seal = seal_all,
	.open = open_all,
};

const struct crypt_cipher test_cipher_null = {
	.name = "null",
	.knows = knows,
	.key_new = key_new,
	.key_free = key_free,
	.seal = nothing,
	.open = nothing,
};
