/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Security associations: a key, and what goes with it, of one direction and one transmitting worker (lane). A sending one
 * numbers its packets, a receiving one takes each number once. Both belong to one worker; memory is taken at set-up.
 */
#ifndef CRYPT_SA_H
#define CRYPT_SA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypt_cipher.h"
#include "crypt_replay.h"
#include "wire_addr.h"

/* NIST SP 800-38D asks for nonces that never repeat; numbers stop long before the 64 bits that they have. */
#define CRYPT_HARD_PACKETS ((uint64_t)1 << 48)
#define CRYPT_HARD_BYTES   ((uint64_t)8 << 40)

/* What both ends agreed on for one SA. @key is the caller's to wipe. */
struct crypt_sa_params {
	enum crypt_suite suite;
	uint32_t spi;            /* chosen by the receiver, not 0 */
	uint32_t window_packets; /* of a receiver: CRYPT_REPLAY_MIN..CRYPT_REPLAY_MAX, a power of two; 0: 16,384 */
	uint32_t epoch;          /* counts the keys of this direction; for people */
	uint16_t lane;           /* number of the transmitting worker */
	uint64_t hard_packets;   /* of a sender; 0: CRYPT_HARD_PACKETS, which is also the most */
	uint64_t hard_bytes;     /* of a sender, ciphered; 0: CRYPT_HARD_BYTES, which is also the most */
	/* Of a receiver: the only addresses a packet may come from and go to; both zero: any, and the caller checks. */
	struct wire_addr from, to;
	uint8_t key[CRYPT_KEY_BYTES_MAX];
};

struct crypt_tx_sa {
	const struct crypt_key *key;
	uint64_t next;           /* number of the next packet, from 1 */
	uint64_t bytes;          /* ciphered */
	uint64_t hard_packets, hard_bytes;
	uint64_t refused;        /* packets that came after the last one */
	uint32_t spi, epoch;
	uint16_t lane;
	uint8_t suite;
	uint8_t mark;            /* crypt_burst_add()'s */
	const struct crypt_cipher *cipher;
	void *cipher_ctx;
	struct crypt_key *own_key;
};

struct crypt_rx_sa {
	const struct crypt_key *key;
	struct crypt_replay replay;
	uint64_t packets, bytes; /* that were good */
	uint64_t wrong_tags, replayed, too_old;
	uint32_t spi, epoch;
	uint16_t lane;
	uint8_t suite;
	uint8_t mark;            /* crypt_burst_add()'s */
	uint8_t addr_bytes;      /* of addrs, which are as in the IP header; 0: any */
	uint8_t addrs[32];
	const struct crypt_cipher *cipher;
	void *cipher_ctx;
	struct crypt_key *own_key;
};

/* The backend and its context outlive the SA, and are of the worker that uses it. NULL with errno set: EINVAL for a number
 * out of range, ENOTSUP for a suite that the backend does not know, ENOMEM. */
struct crypt_tx_sa *crypt_tx_sa_new(const struct crypt_cipher *cipher, void *ctx, const struct crypt_sa_params *params);
struct crypt_rx_sa *crypt_rx_sa_new(const struct crypt_cipher *cipher, void *ctx, const struct crypt_sa_params *params);
/* Wipes the key. NULL is allowed. */
void crypt_tx_sa_free(struct crypt_tx_sa *sa);
void crypt_rx_sa_free(struct crypt_rx_sa *sa);

/* Whether it may send no more. */
static inline bool crypt_tx_sa_spent(const struct crypt_tx_sa *sa)
{
	return sa->next > sa->hard_packets || sa->bytes >= sa->hard_bytes;
}

/* Whether it is time for another key: half of what it may send is sent (4 TiB). */
static inline bool crypt_tx_sa_worn(const struct crypt_tx_sa *sa)
{
	return sa->next > sa->hard_packets / 2 || sa->bytes >= sa->hard_bytes / 2;
}

/* SPI || packet number, both in network order. */
static inline void crypt_nonce(uint32_t spi, uint64_t number, uint8_t nonce[CRYPT_NONCE_BYTES])
{
	uint32_t s = __builtin_bswap32(spi);
	uint64_t n = __builtin_bswap64(number);

	__builtin_memcpy(nonce, &s, sizeof(s));
	__builtin_memcpy(nonce + sizeof(s), &n, sizeof(n));
}

#endif
