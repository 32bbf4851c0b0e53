/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker's receiving SAs by SPI. SPIs are chosen at random by this host, so nobody can make them meet in one place of the
 * table. One thread; memory is taken at set-up.
 */
#ifndef CRYPT_TABLE_H
#define CRYPT_TABLE_H

#include <stdint.h>

#include "crypt_sa.h"

struct crypt_table;

/* For at most max SAs. NULL: no memory, or max is 0 or above 2^20. */
struct crypt_table *crypt_table_new(uint32_t max);
/* Frees the SAs that are in it, too. NULL is allowed. */
void crypt_table_free(struct crypt_table *table);

/* Takes over the SA. -EEXIST: its SPI is in use; -ENOSPC: full; it stays the caller's then. */
int crypt_table_add(struct crypt_table *table, struct crypt_rx_sa *sa);
/* Takes it out and gives it back. NULL: it is not there. */
struct crypt_rx_sa *crypt_table_take(struct crypt_table *table, uint32_t spi);
struct crypt_rx_sa *crypt_table_find(const struct crypt_table *table, uint32_t spi);
/* The SA after the place *i, which starts as 0 and is moved on; NULL: there are no more. */
struct crypt_rx_sa *crypt_table_next(const struct crypt_table *table, uint32_t *i);

#endif
