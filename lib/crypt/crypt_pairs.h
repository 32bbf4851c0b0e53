/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker's sending SAs by the pair of addresses they are for. Only peers with which there were keys get an entry, so strangers
 * cannot choose what is in it. One thread; memory is taken at set-up.
 */
#ifndef CRYPT_PAIRS_H
#define CRYPT_PAIRS_H

#include <stdbool.h>

#include "crypt_sa.h"

struct crypt_pair {
	struct wire_addr local, peer;
	struct crypt_tx_sa *tx; /* NULL: no keys now */
	bool used;              /* the table's */
	bool required;          /* the caller's: without keys nothing may be sent */
};

struct crypt_pairs;

/* For at most max pairs. NULL: no memory, or max is 0 or above 2^16. */
struct crypt_pairs *crypt_pairs_new(uint32_t max);
/* Frees the SAs in it, too. NULL is allowed. */
void crypt_pairs_free(struct crypt_pairs *pairs);

/* NULL: there is none. A pair stays where it is until one is dropped. */
struct crypt_pair *crypt_pairs_find(const struct crypt_pairs *pairs, const struct wire_addr *local, const struct wire_addr *peer);
/* Finds it, or makes one without keys. NULL: there are max. */
struct crypt_pair *crypt_pairs_make(struct crypt_pairs *pairs, const struct wire_addr *local, const struct wire_addr *peer);
/* It goes, and its SA, if it is there. */
void crypt_pairs_drop(struct crypt_pairs *pairs, const struct wire_addr *local, const struct wire_addr *peer);

#endif
