/* SPDX-License-Identifier: BSD-3-Clause */
/* Listeners, and how many requests each may have waiting. */
#include "cm_internal.h"

#include <errno.h>
#include <string.h>

static struct cm_id_list *listen_bucket(const struct cm *cm, uint64_t service_id)
{
	return &cm->listeners[cm_mix(cm->key ^ service_id) & cm->bucket_mask];
}

static bool same_local(const struct cm_id *id, const struct wire_addr *local)
{
	return !memcmp(&id->listen_local, local, sizeof(*local));
}

/* 0 when the listener does not match, else more for a closer match. */
static unsigned int match(const struct cm_id *id, const struct cm_path *path, uint64_t service_id)
{
	if (id->service_id != service_id)
		return 0;
	if (id->listen_dev && id->listen_dev != path->dev)
		return 0;
	if (!id->listen_any && !same_local(id, &path->local))
		return 0;
	return 1u + (id->listen_dev ? 1u : 0u) + (id->listen_any ? 0u : 2u);
}

struct cm_id *cm_find_listener(struct cm *cm, const struct cm_path *path, uint64_t service_id)
{
	struct cm_id *best = NULL;
	unsigned int best_match = 0;
	struct cm_id *id;

	LIST_FOREACH(id, listen_bucket(cm, service_id), listen_link) {
		unsigned int this_match = match(id, path, service_id);

		if (this_match > best_match) {
			best = id;
			best_match = this_match;
		}
	}
	return best;
}

int cm_listen(struct cm *cm, struct cm_id *id, uint64_t service_id, const struct wire_addr *local,
	void *dev, uint32_t backlog)
{
	struct wire_addr addr = {{0}};
	struct cm_id *other;

	if (id->state != CM_IDLE)
		return -EINVAL;
	if (local)
		addr = *local;
	LIST_FOREACH(other, listen_bucket(cm, service_id), listen_link) {
		if (other->service_id == service_id && other->listen_dev == dev &&
			other->listen_any == !local && same_local(other, &addr))
			return -EADDRINUSE;
	}
	id->service_id = service_id;
	id->listen_local = addr;
	id->listen_any = !local;
	id->listen_dev = dev;
	id->backlog = backlog;
	id->pending = 0;
	LIST_INSERT_HEAD(listen_bucket(cm, service_id), id, listen_link);
	cm_set_state(id, CM_LISTEN);
	return 0;
}

/* Requests that wait stay with their owner. */
void cm_unlisten(struct cm_id *id)
{
	struct cm_id *child;

	while ((child = LIST_FIRST(&id->children)))
		cm_child_detach(child);
	LIST_REMOVE(id, listen_link);
	cm_set_state(id, CM_IDLE);
}

struct cm_id *cm_child_new(struct cm_id *listener)
{
	struct cm *cm = listener->cm;
	struct cm_id *id = NULL;

	if (cm->stats.half_open < cm->config.max_half_open &&
		(!listener->backlog || listener->pending < listener->backlog))
		id = cm_slot_take(cm);
	if (!id) {
		cm->stats.no_resources++;
		return NULL;
	}
	id->passive = true;
	id->cookie = listener->cookie;
	id->service_id = listener->service_id;
	id->listener = listener;
	LIST_INSERT_HEAD(&listener->children, id, child_link);
	return id;
}

void cm_child_detach(struct cm_id *id)
{
	if (!id->listener)
		return;
	LIST_REMOVE(id, child_link);
	id->listener = NULL;
}
