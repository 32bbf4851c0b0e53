/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of a client's objects by handle. */
#include <stdlib.h>

#include "vd_internal.h"

#define MAX_OBJS 0xfffeu

void vd_table_init(struct vd_table *table, struct vd_session *session, enum vd_resource res)
{
	uint64_t limit = session->vd->client_limit[res];

	memset(table, 0, sizeof(*table));
	table->session = session;
	table->res = res;
	table->limit = limit < MAX_OBJS ? (uint32_t)limit : MAX_OBJS;
}

void vd_table_fini(struct vd_table *table)
{
	free(table->objs);
	free(table->gens);
	memset(table, 0, sizeof(*table));
}

static int grow(struct vd_table *table)
{
	uint32_t cap = table->cap == 0 ? 16 : table->cap * 2;
	uint16_t *gens;
	void **objs;

	if (cap > table->limit)
		cap = table->limit;
	if (cap == table->cap)
		return -ENOMEM;
	objs = realloc(table->objs, cap * sizeof(*objs));
	if (objs == NULL)
		return -ENOMEM;
	table->objs = objs;
	gens = realloc(table->gens, cap * sizeof(*gens));
	if (gens == NULL)
		return -ENOMEM;
	table->gens = gens;
	memset(objs + table->cap, 0, (cap - table->cap) * sizeof(*objs));
	memset(gens + table->cap, 0, (cap - table->cap) * sizeof(*gens));
	table->next = table->cap;
	table->cap = cap;
	return 0;
}

int vd_table_add(struct vd_table *table, void *obj, uint32_t *handle)
{
	int err = vd_charge(table->session, table->res, 1);
	uint32_t i;

	if (err == 0 && table->live == table->cap && grow(table) != 0) {
		vd_discharge(table->session, table->res, 1);
		err = -ENOMEM;
	}
	if (err != 0)
		return err;
	/* Next fit: a freed place rests as long as possible. */
	for (i = table->next % table->cap; table->objs[i] != NULL; i = (i + 1) % table->cap)
		;
	table->objs[i] = obj;
	table->next = i + 1;
	table->live++;
	*handle = (uint32_t)table->gens[i] << 16 | (i + 1);
	return 0;
}

void *vd_table_get(const struct vd_table *table, uint32_t handle)
{
	uint32_t i = vd_handle_index(handle);

	if (i >= table->cap || table->gens[i] != handle >> 16)
		return NULL;
	return table->objs[i];
}

void vd_table_del(struct vd_table *table, uint32_t handle)
{
	uint32_t i = vd_handle_index(handle);

	if (vd_table_get(table, handle) == NULL)
		return;
	table->objs[i] = NULL;
	table->gens[i]++;
	table->live--;
	vd_discharge(table->session, table->res, 1);
}

void *vd_table_next(const struct vd_table *table, uint32_t *i)
{
	while (*i < table->cap) {
		void *obj = table->objs[(*i)++];

		if (obj != NULL)
			return obj;
	}
	return NULL;
}
