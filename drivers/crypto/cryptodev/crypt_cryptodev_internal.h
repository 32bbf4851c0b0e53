/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CRYPT_CRYPTODEV_INTERNAL_H
#define CRYPT_CRYPTODEV_INTERNAL_H

#include <stdbool.h>

#include <rte_crypto.h>
#include <rte_mempool.h>

#include "crypt_cryptodev.h"

#define CRYPTODEV_BURST        64u
#define CRYPTODEV_LINEAR_BYTES 9728u /* a packet of 9,600 bytes and headers */

/* Behind an operation lies its nonce. */
#define CRYPTODEV_IV_OFFSET     ((uint16_t)(sizeof(struct rte_crypto_op) + sizeof(struct rte_crypto_sym_op)))
#define CRYPTODEV_PRIVATE_BYTES 32u

struct cryptodev_ctx {
	uint8_t id;
	bool cpu, chains, started;
	bool no_cpu_chains; /* found out by trying: on this CPU it takes one segment only */
	bool stuck; /* it has not answered in time */
	struct rte_mempool *sessions, *ops, *mbufs;
	uint8_t *linear; /* of devices that take no chains: CRYPTODEV_BURST times CRYPTODEV_LINEAR_BYTES */
};

struct crypt_key {
	void *seal, *open; /* sessions */
};

/* At most CRYPTODEV_BURST jobs with the AAD that sessions are for; by the CPU path of one key. How many have status 0. */
unsigned int cryptodev_run_cpu(struct cryptodev_ctx *dev, struct crypt_job *jobs, unsigned int n, int sealing);
unsigned int cryptodev_run_queue(struct cryptodev_ctx *dev, struct crypt_job *jobs, unsigned int n, int sealing);

#endif
