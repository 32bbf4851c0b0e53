/* SPDX-License-Identifier: BSD-3-Clause */
/* As crypt_table.c: linear probing, at most half full; what is taken out closes its gap. */
#include "crypt_pairs.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PAIRS (1u << 16)

struct crypt_pairs {
	uint32_t mask, n, max;
	struct crypt_pair places[];
};

static uint32_t home(const struct crypt_pairs *pairs, const struct wire_addr *local, const struct wire_addr *peer)
{
	uint32_t a[4], b[4];

	memcpy(a, local->b, sizeof(a));
	memcpy(b, peer->b, sizeof(b));
	return ((a[0] ^ a[3]) * 0x85ebca6bu ^ (b[0] ^ b[1] ^ b[2] ^ b[3]) * 0x9e3779b1u) >> 12 & pairs->mask;
}

struct crypt_pairs *crypt_pairs_new(uint32_t max)
{
	struct crypt_pairs *pairs;
	uint32_t places = 2;

	if (max == 0 || max > MAX_PAIRS)
		return NULL;
	while (places < 2 * max)
		places *= 2;
	pairs = calloc(1, sizeof(*pairs) + (size_t)places * sizeof(pairs->places[0]));
	if (pairs == NULL)
		return NULL;
	pairs->mask = places - 1;
	pairs->max = max;
	return pairs;
}

void crypt_pairs_free(struct crypt_pairs *pairs)
{
	for (uint32_t i = 0; pairs != NULL && i <= pairs->mask; i++)
		crypt_tx_sa_free(pairs->places[i].tx);
	free(pairs);
}

static bool is_of(const struct crypt_pair *pair, const struct wire_addr *local, const struct wire_addr *peer)
{
	return memcmp(&pair->peer, peer, sizeof(*peer)) == 0 && memcmp(&pair->local, local, sizeof(*local)) == 0;
}

/* Its place, or the free one where it would be. */
static uint32_t place_of(const struct crypt_pairs *pairs, const struct wire_addr *local, const struct wire_addr *peer)
{
	uint32_t i = home(pairs, local, peer);

	while (pairs->places[i].used && !is_of(&pairs->places[i], local, peer))
		i = (i + 1) & pairs->mask;
	return i;
}

struct crypt_pair *crypt_pairs_find(const struct crypt_pairs *pairs, const struct wire_addr *local, const struct wire_addr *peer)
{
	const struct crypt_pair *pair = &pairs->places[place_of(pairs, local, peer)];

	return pair->used ? (struct crypt_pair *)(uintptr_t)pair : NULL;
}

struct crypt_pair *crypt_pairs_make(struct crypt_pairs *pairs, const struct wire_addr *local, const struct wire_addr *peer)
{
	struct crypt_pair *pair = &pairs->places[place_of(pairs, local, peer)];

	if (pair->used)
		return pair;
	if (pairs->n == pairs->max)
		return NULL;
	pairs->n++;
	*pair = (struct crypt_pair){.used = true, .local = *local, .peer = *peer};
	return pair;
}

void crypt_pairs_drop(struct crypt_pairs *pairs, const struct wire_addr *local, const struct wire_addr *peer)
{
	uint32_t gap = place_of(pairs, local, peer);

	if (!pairs->places[gap].used)
		return;
	crypt_tx_sa_free(pairs->places[gap].tx);
	pairs->n--;
	for (uint32_t i = (gap + 1) & pairs->mask; pairs->places[i].used; i = (i + 1) & pairs->mask) {
		const struct crypt_pair *at = &pairs->places[i];

		if (((i - home(pairs, &at->local, &at->peer)) & pairs->mask) < ((i - gap) & pairs->mask))
			continue;
		pairs->places[gap] = *at;
		gap = i;
	}
	pairs->places[gap] = (struct crypt_pair){0};
}
