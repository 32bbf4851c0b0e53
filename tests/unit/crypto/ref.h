/* SPDX-License-Identifier: BSD-3-Clause */
/* GCM by libraries that others wrote: libgcrypt knows all suites, OpenSSL 3.0 those of AES. */
#ifndef REF_H
#define REF_H

#include <stdbool.h>

#include "crypt_cipher.h"

void ref_init(void);
/* The block cipher alone, in place. */
void ref_gcrypt_block(enum crypt_suite suite, const uint8_t *key, uint8_t block[16]);
/* Seals text in place. */
void ref_gcrypt_seal(enum crypt_suite suite, const uint8_t *key, const uint8_t *nonce, const uint8_t *aad, size_t aad_bytes,
	uint8_t *text, size_t bytes, uint8_t tag[16]);
/* Seals or opens a text that is the same memory so many times over, each time as the time before left it. */
void ref_gcrypt_again(enum crypt_suite suite, const uint8_t *key, const uint8_t *nonce, uint8_t *text, size_t bytes,
	uint32_t times, bool sealing, uint8_t tag[16]);
/* Whether OpenSSL knows the suite; then it has sealed, too. */
bool ref_openssl_seal(enum crypt_suite suite, const uint8_t *key, const uint8_t *nonce, const uint8_t *aad, size_t aad_bytes,
	uint8_t *text, size_t bytes, uint8_t tag[16]);

/* Numbers that are the same in each run. */
uint64_t ref_random(void);
void ref_fill(uint8_t *to, size_t bytes);

#endif
