/* SPDX-License-Identifier: BSD-3-Clause */
/* Open addressing with linear probing, at most half full; what is taken out closes its gap (Knuth, vol. 3, 6.4, R). */
#include "crypt_table.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_SAS   (1u << 20)
#define MULTIPLIER 0x9e3779b1u

struct crypt_table {
	uint32_t mask, shift, n, max;
	struct crypt_rx_sa *places[];
};

static uint32_t home(const struct crypt_table *table, uint32_t spi)
{
	return spi * MULTIPLIER >> table->shift;
}

struct crypt_table *crypt_table_new(uint32_t max)
{
	struct crypt_table *table;
	uint32_t bits = 1;

	if (max == 0 || max > MAX_SAS)
		return NULL;
	while (1u << bits < 2 * max)
		bits++;
	table = calloc(1, sizeof(*table) + ((size_t)sizeof(table->places[0]) << bits));
	if (table == NULL)
		return NULL;
	table->mask = (1u << bits) - 1;
	table->shift = 32 - bits;
	table->max = max;
	return table;
}

void crypt_table_free(struct crypt_table *table)
{
	for (uint32_t i = 0; table != NULL && i <= table->mask; i++)
		crypt_rx_sa_free(table->places[i]);
	free(table);
}

/* Its place, or the free one where it would be. */
static uint32_t place_of(const struct crypt_table *table, uint32_t spi)
{
	uint32_t i = home(table, spi);

	while (table->places[i] != NULL && table->places[i]->spi != spi)
		i = (i + 1) & table->mask;
	return i;
}

int crypt_table_add(struct crypt_table *table, struct crypt_rx_sa *sa)
{
	uint32_t i = place_of(table, sa->spi);

	if (table->places[i] != NULL)
		return -EEXIST;
	if (table->n == table->max)
		return -ENOSPC;
	table->places[i] = sa;
	table->n++;
	return 0;
}

struct crypt_rx_sa *crypt_table_take(struct crypt_table *table, uint32_t spi)
{
	uint32_t gap = place_of(table, spi);
	struct crypt_rx_sa *sa = table->places[gap];

	if (sa == NULL)
		return NULL;
	table->n--;
	for (uint32_t i = (gap + 1) & table->mask; table->places[i] != NULL; i = (i + 1) & table->mask) {
		/* What is at i may move up if its home is not between the gap and itself. */
		if (((i - home(table, table->places[i]->spi)) & table->mask) < ((i - gap) & table->mask))
			continue;
		table->places[gap] = table->places[i];
		gap = i;
	}
	table->places[gap] = NULL;
	return sa;
}

struct crypt_rx_sa *crypt_table_find(const struct crypt_table *table, uint32_t spi)
{
	return table->places[place_of(table, spi)];
}

struct crypt_rx_sa *crypt_table_next(const struct crypt_table *table, uint32_t *i)
{
	while (*i <= table->mask) {
		struct crypt_rx_sa *sa = table->places[(*i)++];

		if (sa != NULL)
			return sa;
	}
	return NULL;
}
