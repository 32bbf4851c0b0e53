/* SPDX-License-Identifier: BSD-3-Clause */
/* Slots of ids, communication IDs and the hash tables of the peers' halves. */
#include "cm_internal.h"

#include <string.h>

#define GENERATION_MASK ((1u << (32 - CM_INDEX_BITS)) - 1)
#define FEISTEL_ROUNDS  4

uint64_t cm_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static uint16_t round_function(const struct cm *cm, unsigned int round, uint16_t half)
{
	return (uint16_t)cm_mix(cm->key ^ ((uint64_t)(round + 1) << 32) ^ half);
}

/* A keyed permutation of 32-bit numbers: ids in use never collide. */
static uint32_t encrypt(const struct cm *cm, uint32_t x)
{
	uint16_t left = (uint16_t)(x >> 16);
	uint16_t right = (uint16_t)x;
	unsigned int round;

	for (round = 0; round < FEISTEL_ROUNDS; round++) {
		uint16_t next = left ^ round_function(cm, round, right);

		left = right;
		right = next;
	}
	return (uint32_t)left << 16 | right;
}

static uint32_t decrypt(const struct cm *cm, uint32_t x)
{
	uint16_t left = (uint16_t)(x >> 16);
	uint16_t right = (uint16_t)x;
	unsigned int round;

	for (round = FEISTEL_ROUNDS; round-- > 0;) {
		uint16_t before = right ^ round_function(cm, round, left);

		right = left;
		left = before;
	}
	return (uint32_t)left << 16 | right;
}

/* 0 means "no ID" in a REJ, so it is given to nobody. */
void cm_renew_local_id(struct cm_id *id)
{
	do {
		id->generation = (id->generation + 1) & GENERATION_MASK;
		id->local_id = encrypt(id->cm, id->generation << CM_INDEX_BITS | id->index);
	} while (!id->local_id);
}

/* Everything but what belongs to the slot itself. */
static void clear_slot(struct cm_id *id)
{
	struct cm *cm = id->cm;
	uint32_t index = id->index;
	uint32_t generation = id->generation;

	memset(id, 0, sizeof(*id));
	id->cm = cm;
	id->index = index;
	id->generation = generation;
	LIST_INIT(&id->children);
	base_timer_init(&id->timer, cm_timer_expired, id);
}

struct cm_id *cm_slot_take(struct cm *cm)
{
	struct cm_id *id;

	if (TAILQ_EMPTY(&cm->free_ids) && !TAILQ_EMPTY(&cm->orphans))
		cm_slot_free(TAILQ_FIRST(&cm->orphans));
	id = TAILQ_FIRST(&cm->free_ids);
	if (!id)
		return NULL;
	TAILQ_REMOVE(&cm->free_ids, id, queue);
	clear_slot(id);
	cm_renew_local_id(id);
	id->mra_timeout = cm->config.mra_service_timeout;
	cm->stats.ids++;
	return id;
}

void cm_slot_free(struct cm_id *id)
{
	struct cm *cm = id->cm;

	cm_reset(id);
	if (id->orphan) {
		TAILQ_REMOVE(&cm->orphans, id, queue);
		cm->stats.orphans--;
	}
	id->orphan = false;
	TAILQ_INSERT_TAIL(&cm->free_ids, id, queue);
	cm->stats.ids--;
}

static bool same_addr(const struct wire_addr *a, const struct wire_addr *b)
{
	return !memcmp(a, b, sizeof(*a));
}

bool cm_same_ends(const struct cm_path *a, const struct cm_path *b)
{
	return a->dev == b->dev && same_addr(&a->remote, &b->remote) &&
	       same_addr(&a->local, &b->local);
}

struct cm_id *cm_find_local(struct cm *cm, const struct cm_path *path, uint32_t local_id)
{
	uint32_t plain = decrypt(cm, local_id);
	uint32_t index = plain & ((1u << CM_INDEX_BITS) - 1);
	struct cm_id *id;

	if (index >= cm->config.max_ids)
		return NULL;
	id = &cm->ids[index];
	if (id->local_id != local_id || id->state == CM_IDLE || id->state == CM_LISTEN)
		return NULL;
	return cm_same_ends(&id->qp.path, path) ? id : NULL;
}

static struct cm_id_list *bucket(
	const struct cm *cm, struct cm_id_list *table, const struct cm_path *path, uint32_t number)
{
	uint64_t half[2];
	uint64_t hash;

	memcpy(half, &path->remote, sizeof(half));
	hash = cm_mix(cm->key ^ half[0]);
	hash = cm_mix(hash ^ half[1]);
	hash = cm_mix(hash ^ number);
	return &table[hash & cm->bucket_mask];
}

/* The local address is not looked at: a peer's communication IDs are its own over all our
 * addresses. */
static bool same_peer(const struct cm_path *a, const struct cm_path *b)
{
	return a->dev == b->dev && same_addr(&a->remote, &b->remote);
}

struct cm_id *cm_find_remote(
	struct cm *cm, const struct cm_path *path, uint32_t remote_id, bool sidr)
{
	struct cm_id *id;

	LIST_FOREACH(id, bucket(cm, cm->by_remote, path, remote_id), remote_link) {
		if (id->remote_id == remote_id && id->sidr == sidr &&
			same_peer(&id->qp.path, path))
			return id;
	}
	return NULL;
}

struct cm_id *cm_find_qpn(struct cm *cm, const struct cm_path *path, uint32_t qpn)
{
	struct cm_id *id;

	LIST_FOREACH(id, bucket(cm, cm->by_qpn, path, qpn), qpn_link) {
		if (id->qp.remote_qpn == qpn && same_peer(&id->qp.path, path))
			return id;
	}
	return NULL;
}

void cm_table_add(struct cm_id *id)
{
	struct cm *cm = id->cm;

	LIST_INSERT_HEAD(bucket(cm, cm->by_remote, &id->qp.path, id->remote_id), id, remote_link);
	id->in_remote = true;
	if (id->sidr)
		return;
	LIST_INSERT_HEAD(bucket(cm, cm->by_qpn, &id->qp.path, id->qp.remote_qpn), id, qpn_link);
	id->in_qpn = true;
}

void cm_table_remove_qpn(struct cm_id *id)
{
	if (id->in_qpn)
		LIST_REMOVE(id, qpn_link);
	id->in_qpn = false;
}

void cm_table_remove(struct cm_id *id)
{
	cm_table_remove_qpn(id);
	if (id->in_remote)
		LIST_REMOVE(id, remote_link);
	id->in_remote = false;
}
