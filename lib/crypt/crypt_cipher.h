/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CRYPT_CIPHER_H
#define CRYPT_CIPHER_H

#include <stddef.h>
#include <stdint.h>

/*
 * What a cipher backend (drivers/crypto) is to lib/crypt: bursts of packets sealed and opened with AEAD in place.
 *
 * All suites are GCM (NIST SP 800-38D; SM4-GCM: RFC 8998) with a 96-bit nonce and a 128-bit tag.
 */

#define CRYPT_TAG_BYTES 16
#define CRYPT_NONCE_BYTES 12
#define CRYPT_KEY_BYTES_MAX 32

enum crypt_suite {
	CRYPT_AES_128_GCM,
	CRYPT_AES_256_GCM,
	CRYPT_SM4_GCM,
	CRYPT_SUITES
};

/* A run of bytes of a packet; any length and alignment. */
struct crypt_seg {
	uint8_t *data;
	uint32_t bytes;
};

/* A key as a backend prepared it; its layout is the backend's own. */
struct crypt_key;

/*
 * One packet to seal or open. The memory it points at is the caller's and stays valid during the call.
 *
 * @status is written by each call: 0, -EBADMSG for a wrong tag (the segments are zeros then, so that no text that
 * nothing vouches for is given out), or the negative errno of a device that failed.
 */
struct crypt_job {
	const struct crypt_key *key;
	const struct crypt_seg *segs;
	const uint8_t *aad;
	uint8_t *tag;			/* 16 bytes: written by seal, compared by open */
	uint32_t aad_bytes;
	uint16_t n_segs;		/* 0: nothing to cipher, the tag covers @aad alone */
	int16_t status;
	uint8_t nonce[CRYPT_NONCE_BYTES];
};

/*
 * A backend. One instance belongs to one worker: none of these calls may run beside another on the same @ctx.
 */
struct crypt_cipher {
	const char *name;

	/* Whether @suite works on this machine with @ctx. */
	int (*knows)(const void *ctx, enum crypt_suite suite);

	/*
	 * Prepares a key from its 16 or 32 bytes @raw. The caller owns the result till key_free(), which wipes it.
	 * NULL with errno set: ENOTSUP for a suite that is not known, ENOMEM. Not for the data path.
	 */
	struct crypt_key *(*key_new)(void *ctx, enum crypt_suite suite, const uint8_t *raw);
	void (*key_free)(void *ctx, struct crypt_key *key);

	/*
	 * Seals or opens @n jobs in place. Neighbours with the same key are ciphered together, so a burst is sorted by
	 * key. Returns how many jobs have status 0. No allocation, no lock; a device driver may poll its device.
	 */
	unsigned int (*seal)(void *ctx, struct crypt_job *jobs, unsigned int n);
	unsigned int (*open)(void *ctx, struct crypt_job *jobs, unsigned int n);
};

/* Bytes of a key of @suite: 16 or 32; 0 for a suite that does not exist. */
size_t crypt_suite_key_bytes(enum crypt_suite suite);

/* The suite's name: "aes-128-gcm", "aes-256-gcm", "sm4-gcm". NULL for one that does not exist. */
const char *crypt_suite_name(enum crypt_suite suite);

/* The suite of that @name, or -EINVAL. */
int crypt_suite_find(const char *name);

#endif
