/* SPDX-License-Identifier: BSD-3-Clause */
/* Address handles: a table whose numbers carry a generation and belong to a protection domain. */
#include <errno.h>

#include "tp_internal.h"

#define GEN_BITS 8

int tp_ah_create(struct tp *tp, uint32_t pd, const struct tp_av *av, uint32_t *ah)
{
	uint32_t n = tp->config.max_ahs;

	if (av->l3_version != 4 && av->l3_version != 6)
		return -EINVAL;
	for (uint32_t k = 0; k < n; k++) {
		/* Next fit, so that a freed slot rests as long as possible. Numbers count slots from 1: none is 0. */
		uint32_t i = (tp->next_ah + k) % n;
		struct tp_ah *slot = &tp->ahs[i];

		if (slot->used)
			continue;
		slot->av = *av;
		slot->pd = pd;
		slot->used = true;
		tp->next_ah = (i + 1) % n;
		*ah = (i + 1) << GEN_BITS | slot->gen;
		return 0;
	}
	return -ENOMEM;
}

static struct tp_ah *find(const struct tp *tp, uint32_t ah)
{
	uint32_t i = (ah >> GEN_BITS) - 1;

	if (i >= tp->config.max_ahs || !tp->ahs[i].used || tp->ahs[i].gen != (uint8_t)ah)
		return NULL;
	return &tp->ahs[i];
}

int tp_ah_destroy(struct tp *tp, uint32_t ah)
{
	struct tp_ah *slot = find(tp, ah);

	if (slot == NULL)
		return -EINVAL;
	slot->used = false;
	slot->gen++;
	return 0;
}

const struct tp_av *tp_ah_find(const struct tp *tp, uint32_t ah, uint32_t pd)
{
	const struct tp_ah *slot = find(tp, ah);

	return slot != NULL && slot->pd == pd ? &slot->av : NULL;
}
