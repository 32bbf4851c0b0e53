/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cookies for objects that events name. An event may still lie in a socket when its object is destroyed,
 * so events carry a slot number with a generation, and a stale cookie finds nothing.
 */
#ifndef VCL_TABLE_H
#define VCL_TABLE_H

#include <stdint.h>
#include <stdlib.h>

struct vcl_slot {
	void *object;                      /* NULL: free */
	uint32_t generation;
};

/* The caller locks. Zero-initialised is empty. */
struct vcl_table {
	struct vcl_slot *slots;
	uint32_t n_slots;
};

/* Returns the object's cookie, never 0; 0 without memory. */
static inline uint64_t vcl_table_add(struct vcl_table *t, void *object)
{
	uint32_t i, n;
	struct vcl_slot *grown;

	for (i = 0; i < t->n_slots && t->slots[i].object != NULL; i++)
		;
	if (i == t->n_slots) {
		n = t->n_slots != 0 ? t->n_slots * 2 : 16;
		grown = realloc(t->slots, n * sizeof(*grown));
		if (grown == NULL)
			return 0;
		t->slots = grown;
		for (; t->n_slots < n; t->n_slots++)
			t->slots[t->n_slots] = (struct vcl_slot){0};
	}
	t->slots[i].object = object;
	t->slots[i].generation++;
	return (uint64_t)t->slots[i].generation << 32 | (i + 1);
}

/* The cookie's object or NULL. */
static inline void *vcl_table_get(const struct vcl_table *t, uint64_t cookie)
{
	uint32_t i = (uint32_t)cookie - 1;

	if ((uint32_t)cookie == 0 || i >= t->n_slots || t->slots[i].generation != (uint32_t)(cookie >> 32))
		return NULL;
	return t->slots[i].object;
}

static inline void vcl_table_remove(struct vcl_table *t, uint64_t cookie)
{
	if (vcl_table_get(t, cookie) != NULL)
		t->slots[(uint32_t)cookie - 1].object = NULL;
}

static inline void vcl_table_free(struct vcl_table *t)
{
	free(t->slots);
	*t = (struct vcl_table){0};
}

#endif
