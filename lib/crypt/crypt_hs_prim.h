/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the handshake needs of cryptography, from OpenSSL's libcrypto: SHA-256, X25519 and AES-256-GCM, or SM3, the SM2
 * curve and SM4-CTR with HMAC-SM3 (encrypt, then MAC; OpenSSL 3.0 has no SM4-GCM). Memory with secrets is the caller's
 * to wipe. Functions return 0, or -EIO when libcrypto failed and -EBADMSG when the peer's bytes are at fault.
 */
#ifndef CRYPT_HS_PRIM_H
#define CRYPT_HS_PRIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypt_msg.h"

#define CRYPT_HASH_BYTES      32 /* of SHA-256 and of SM3 */
#define CRYPT_HS_TAG_BYTES    16
#define CRYPT_HS_SECRET_BYTES 32

/* Which of the two families of algorithms a suite belongs to. */
static inline bool crypt_prim_is_sm(enum crypt_suite suite)
{
	return suite == CRYPT_SM4_GCM;
}

/* @n bytes nobody can guess. -EIO: there are none; nothing may be sent then. */
int crypt_prim_random(void *out, size_t n);

/* Hash of @n parts in a row. */
int crypt_prim_hash(bool sm, const struct crypt_msg_bytes *parts, unsigned int n, uint8_t out[CRYPT_HASH_BYTES]);

/* HMAC (RFC 2104) of @data; also HKDF-Extract (RFC 5869, 2.2) with @key as the salt. */
int crypt_prim_mac(
	bool sm, const void *key, size_t key_bytes, const void *data, size_t bytes, uint8_t out[CRYPT_HASH_BYTES]);

/* HKDF-Expand (RFC 5869, 2.3) to one block, with info = @label || @context (of CRYPT_HASH_BYTES, or NULL). */
int crypt_prim_expand(bool sm, const uint8_t prk[CRYPT_HASH_BYTES], const char *label, const uint8_t *context,
	uint8_t out[CRYPT_HASH_BYTES]);

/*
 * Seals @bytes of @in to @out, CRYPT_HS_TAG_BYTES longer; opens the other way round. One @counter must never be used
 * twice with one key. @in and @out may be the same.
 */
int crypt_prim_seal(bool sm, const uint8_t key[32], uint64_t counter, struct crypt_msg_bytes aad, const uint8_t *in,
	size_t bytes, uint8_t *out);
int crypt_prim_open(bool sm, const uint8_t key[32], uint64_t counter, struct crypt_msg_bytes aad, const uint8_t *in,
	size_t bytes, uint8_t *out);

/* An ephemeral key pair (EVP_PKEY of libcrypto, which wipes it when freed) and its public half. */
struct crypt_ecdh;
struct crypt_ecdh *crypt_ecdh_new(enum crypt_msg_group group, struct crypt_msg_share *share);
void crypt_ecdh_free(struct crypt_ecdh *ecdh);
/* The shared secret. -EBADMSG: @peer is no point of the curve, or one of small order. */
int crypt_ecdh_derive(
	const struct crypt_ecdh *ecdh, const struct crypt_msg_share *peer, uint8_t secret[CRYPT_HS_SECRET_BYTES]);

#endif
