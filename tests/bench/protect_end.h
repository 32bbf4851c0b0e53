/* SPDX-License-Identifier: BSD-3-Clause */
/* An end that protects and opens bursts of frames as the daemon's nodes do, for benches: with sending SAs by addresses,
 * receiving ones by SPI, and associations with others in its tables. */
#ifndef PROTECT_END_H
#define PROTECT_END_H

#include <stdint.h>

#include "crypt_pairs.h"
#include "crypt_protect.h"

#define PROTECT_OTHERS 100u /* associations with others */

struct protect_end {
	struct crypt_worker worker;
	struct crypt_pairs *pairs;
};

/* With room for n associations beside the others. All of these end the program when memory is short. */
void protect_end_make(
	struct protect_end *end, const struct crypt_cipher *cipher, void *ctx, enum crypt_suite suite, uint32_t n);
void protect_end_free(struct protect_end *end);
/* What local sends to remote can be opened here too: it sends to itself. */
void protect_end_associate(struct protect_end *end, enum crypt_suite suite, const struct wire_addr *local,
	const struct wire_addr *remote, uint32_t spi);
/* n at most CRYPT_BURST; how many were not dropped. */
unsigned int protect_end_seal(struct protect_end *end, struct rte_mbuf **pkts, uint32_t n);
unsigned int protect_end_open(struct protect_end *end, struct rte_mbuf **pkts, uint32_t n);

#endif
