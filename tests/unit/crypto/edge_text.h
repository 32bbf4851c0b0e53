/* SPDX-License-Identifier: BSD-3-Clause */
/* One packet of the edge cases: what it is in the clear and sealed, and whether a backend does it and refuses what is not it. */
#ifndef EDGE_TEXT_H
#define EDGE_TEXT_H

#include <stdbool.h>

#include "crypt_cipher.h"
#include "ghash.h"

#define EDGE_TEXT_MAX 4352u
#define EDGE_AAD_MAX  128u

/* A backend with a suite. */
struct edge_cipher {
	const char *name;
	const struct crypt_cipher *cipher;
	void *ctx;
	enum crypt_suite suite;
	bool any_aad; /* else 16 bytes, and no empty texts: what DPDK's devices are given */
};

struct edge_text {
	uint32_t aad_bytes, bytes;
	uint8_t raw[CRYPT_KEY_BYTES_MAX], nonce[CRYPT_NONCE_BYTES];
	uint8_t aad[EDGE_AAD_MAX], plain[EDGE_TEXT_MAX], cipher[EDGE_TEXT_MAX], tag[CRYPT_TAG_BYTES];
};

/* Key, nonce, AAD and both texts random, not belonging together. */
void edge_random(struct edge_text *t, uint32_t aad_bytes, uint32_t bytes);

/* E(0^128), and E(J0), which the tag is masked with. */
struct ghash edge_hash_key(enum crypt_suite suite, const struct edge_text *t);
struct ghash edge_mask(enum crypt_suite suite, const struct edge_text *t);

/* What belongs to the plain text, as libgcrypt has it, and OpenSSL where it knows the suite. */
void edge_seal(enum crypt_suite suite, struct edge_text *t);
/* The plain text that belongs to the cipher text; the tag stays as it is. */
void edge_unseal(enum crypt_suite suite, struct edge_text *t);
/* That the two libraries say so too. */
void edge_verify(enum crypt_suite suite, const struct edge_text *t);

/* The backend seals the one to the other, and opens it again. */
void edge_good(const struct edge_cipher *e, struct crypt_key *key, const struct edge_text *t);
/* It does not open that with this tag, says that it is wrong, and leaves nothing of the text. */
void edge_refused(const struct edge_cipher *e, struct crypt_key *key, const struct edge_text *t, const uint8_t tag[16]);

struct crypt_key *edge_key(const struct edge_cipher *e, const struct edge_text *t);
/* A job for the text at data, with the tag at tag; seg is written. */
struct crypt_job edge_job(const struct edge_text *t, struct crypt_key *key, struct crypt_seg *seg, uint8_t *data, uint8_t *tag);

#endif
