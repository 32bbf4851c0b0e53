/* SPDX-License-Identifier: BSD-3-Clause */
/* Session keys from a working key. */
#ifndef CRYPT_KDF_H
#define CRYPT_KDF_H

#include <stddef.h>
#include <stdint.h>

#include "crypt_cipher.h"

#define CRYPT_WORKING_KEY_BYTES 32
#define CRYPT_ID_BYTES_MAX      255

enum crypt_direction {
	CRYPT_TO_RESPONDER,
	CRYPT_TO_INITIATOR,
};

/* Who and what a session key is for. Identities are bytes of at most CRYPT_ID_BYTES_MAX. */
struct crypt_kdf_input {
	enum crypt_suite suite;
	enum crypt_direction direction;
	uint16_t lane;           /* number of the transmitting worker */
	uint32_t epoch;
	uint32_t spi;
	const void *initiator, *responder;
	size_t initiator_bytes, responder_bytes;
};

/*
 * Writes a key of crypt_suite_key_bytes() to @key: HKDF-Expand (RFC 5869, 2.3) with the working key as PRK and SHA-256, or
 * SM3 for SM4 (GB/T 32905), and
 *
 *	info = "roced session key" || 0 || suite (1) || direction (1) || lane (2) || epoch (4) || SPI (4) ||
 *	       bytes (1) of the initiator's identity || it || bytes (1) of the responder's || it
 *
 * with numbers in network order. The output is cut to the key's length. 0; -EINVAL: a suite that does not exist or too long
 * an identity; -EIO: libcrypto failed.
 */
int crypt_kdf_session(const uint8_t working_key[CRYPT_WORKING_KEY_BYTES], const struct crypt_kdf_input *in, uint8_t *key);

#endif
