/* SPDX-License-Identifier: BSD-3-Clause */
/* The table: memory, look-up and references. */
#include "path_neigh.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "path_neigh_internal.h"

#define ENTRIES_MAX (1u << 20)
#define TRIES_MAX   100
#define TIME_MAX_NS (1ull << 50) /* 13 days: what the timing wheel reaches */
#define SECOND_NS   1000000000ull

void path_neigh_config_default(struct path_neigh_config *config)
{
	*config = (struct path_neigh_config){
		.max_entries = 1024,
		.tries = 3,
		.retry_ns = SECOND_NS,
		.reachable_ns = 30 * SECOND_NS,
		.lock_ns = SECOND_NS,
		.down_retry_ns = 10 * SECOND_NS,
	};
}

static int check_config(const struct path_neigh_config *config)
{
	if (!config->max_entries || config->max_entries > ENTRIES_MAX || !config->tries ||
		config->tries > TRIES_MAX)
		return -EINVAL;
	if (!config->retry_ns || !config->reachable_ns || !config->down_retry_ns)
		return -EINVAL;
	if (config->retry_ns > TIME_MAX_NS || config->reachable_ns > TIME_MAX_NS ||
		config->down_retry_ns > TIME_MAX_NS || config->lock_ns > TIME_MAX_NS)
		return -EINVAL;
	return 0;
}

static int take_memory(struct path_neigh *table)
{
	uint32_t buckets = 1;

	while (buckets < table->config.max_entries)
		buckets *= 2;
	table->bucket_mask = buckets - 1;
	table->entries = calloc(table->config.max_entries, sizeof(*table->entries));
	table->buckets = calloc(buckets, sizeof(*table->buckets));
	return table->entries && table->buckets ? 0 : -ENOMEM;
}

int path_neigh_create(const struct path_neigh_config *config, const struct path_neigh_ops *ops,
	void *env, uint64_t now_ns, struct path_neigh **out)
{
	struct path_neigh *table;
	uint32_t i;

	if (check_config(config))
		return -EINVAL;
	table = calloc(1, sizeof(*table));
	if (!table)
		return -ENOMEM;
	table->config = *config;
	table->ops = ops;
	table->env = env;
	if (take_memory(table)) {
		path_neigh_destroy(table);
		return -ENOMEM;
	}
	TAILQ_INIT(&table->free);
	TAILQ_INIT(&table->unheld);
	base_wheel_init(&table->wheel, now_ns);
	for (i = 0; i < config->max_entries; i++) {
		struct neigh *neigh = &table->entries[i];

		neigh->table = table;
		base_timer_init(&neigh->timer, neigh_timer_expired, neigh);
		TAILQ_INSERT_TAIL(&table->free, neigh, queue);
	}
	*out = table;
	return 0;
}

void path_neigh_destroy(struct path_neigh *table)
{
	if (!table)
		return;
	free(table->entries);
	free(table->buckets);
	free(table);
}

/* Entries are made by our own side only, so the hash needs no secret. */
struct path_neigh_bucket *neigh_bucket(const struct path_neigh *table, const struct wire_addr *dst)
{
	uint64_t half[2];
	uint64_t hash;

	memcpy(half, dst, sizeof(half));
	hash = (half[0] ^ (half[1] * 0x9e3779b97f4a7c15ull)) * 0xbf58476d1ce4e5b9ull;
	return &table->buckets[(hash >> 32) & table->bucket_mask];
}

static bool same_addr(const struct wire_addr *a, const struct wire_addr *b)
{
	return !memcmp(a, b, sizeof(*a));
}

static struct neigh *find(const struct path_neigh *table, const void *dev,
	const struct wire_nd_from *from, const struct wire_addr *dst)
{
	struct neigh *neigh;

	LIST_FOREACH(neigh, neigh_bucket(table, dst), hash_link) {
		if (neigh->dev == dev && same_addr(&neigh->dst, dst) &&
			same_addr(&neigh->from.addr, &from->addr))
			return neigh;
	}
	return NULL;
}

/* The entry must not be in a queue. */
void neigh_free(struct neigh *neigh)
{
	struct path_neigh *table = neigh->table;

	base_timer_stop(&table->wheel, &neigh->timer);
	LIST_REMOVE(neigh, hash_link);
	atomic_store_explicit(&neigh->pub.mac, 0, memory_order_relaxed);
	neigh->state = NEIGH_FREE;
	neigh->wake = false;
	TAILQ_INSERT_TAIL(&table->free, neigh, queue);
	table->stats.entries--;
}

/* An empty entry; the one that nobody holds for the longest time gives way. */
static struct neigh *take(struct path_neigh *table)
{
	struct neigh *neigh;

	if (TAILQ_EMPTY(&table->free) && (neigh = TAILQ_FIRST(&table->unheld)) != NULL) {
		TAILQ_REMOVE(&table->unheld, neigh, queue);
		neigh_free(neigh);
	}
	neigh = TAILQ_FIRST(&table->free);
	if (!neigh) {
		table->stats.table_full++;
		return NULL;
	}
	TAILQ_REMOVE(&table->free, neigh, queue);
	table->stats.entries++;
	return neigh;
}

static struct neigh *make(struct path_neigh *table, void *dev, const struct wire_nd_from *from,
	const struct wire_addr *dst)
{
	struct neigh *neigh = take(table);
	uint8_t mac[6];

	if (!neigh)
		return NULL;
	LIST_INIT(&neigh->waiters);
	neigh->dev = dev;
	neigh->from = *from;
	neigh->dst = *dst;
	neigh->locked_until_ns = 0;
	neigh->state = NEIGH_NEW;
	LIST_INSERT_HEAD(neigh_bucket(table, dst), neigh, hash_link);
	if (wire_mcast_mac(dst, mac))
		neigh_pin_new(neigh, mac);
	else if (same_addr(dst, &from->addr))
		neigh_pin_new(neigh, from->mac);
	return neigh;
}

static bool is_unspecified(const struct wire_addr *addr)
{
	static const struct wire_addr none;
	static const struct wire_addr none_v4 = {{[10] = 0xff, 0xff}};

	return same_addr(addr, &none) || same_addr(addr, &none_v4);
}

int path_neigh_get(struct path_neigh *table, void *dev, const struct wire_nd_from *from,
	const struct wire_addr *dst, uint64_t now_ns, struct path_neigh_entry **out)
{
	struct neigh *neigh;

	(void)now_ns;
	if (is_unspecified(dst) || wire_addr_is_v4(dst) != wire_addr_is_v4(&from->addr))
		return -EINVAL;
	neigh = find(table, dev, from, dst);
	if (neigh && !neigh->refs)
		TAILQ_REMOVE(&table->unheld, neigh, queue);
	if (!neigh)
		neigh = make(table, dev, from, dst);
	if (!neigh)
		return -ENOSPC;
	neigh->from = *from;
	neigh->refs++;
	*out = &neigh->pub;
	return 0;
}

void path_neigh_hold(struct path_neigh_entry *entry)
{
	((struct neigh *)entry)->refs++;
}

/* Only an address that was confirmed is worth keeping. */
void path_neigh_put(struct path_neigh *table, struct path_neigh_entry *entry, uint64_t now_ns)
{
	struct neigh *neigh = (struct neigh *)entry;

	(void)now_ns;
	if (!neigh || --neigh->refs)
		return;
	if (neigh->state == NEIGH_REACHABLE)
		TAILQ_INSERT_TAIL(&table->unheld, neigh, queue);
	else
		neigh_free(neigh);
}

void path_neigh_resolve(struct path_neigh *table, struct path_neigh_entry *entry,
	struct path_neigh_wait *wait, uint64_t now_ns)
{
	struct neigh *neigh = (struct neigh *)entry;

	(void)table;
	path_neigh_cancel(wait);
	if (neigh_known(neigh)) {
		wait->done(wait, entry, 0);
		return;
	}
	wait->waiting = true;
	LIST_INSERT_HEAD(&neigh->waiters, wait, link);
	if (neigh->state == NEIGH_NEW || neigh->state == NEIGH_DOWN)
		neigh_ask(neigh, NEIGH_ASKING, now_ns);
}

void path_neigh_cancel(struct path_neigh_wait *wait)
{
	if (!wait->waiting)
		return;
	LIST_REMOVE(wait, link);
	wait->waiting = false;
}

void path_neigh_advance(struct path_neigh *table, uint64_t now_ns)
{
	base_wheel_advance(&table->wheel, now_ns);
}

uint64_t path_neigh_next_ns(const struct path_neigh *table)
{
	return base_wheel_next_ns(&table->wheel);
}

void path_neigh_get_stats(const struct path_neigh *table, struct path_neigh_stats *out)
{
	*out = table->stats;
}

void path_neigh_foreach(const struct path_neigh *table,
	void (*fn)(void *arg, const struct path_neigh_info *info), void *arg)
{
	static const char *const names[] = {
		[NEIGH_NEW] = "new",
		[NEIGH_ASKING] = "asking",
		[NEIGH_REACHABLE] = "reachable",
		[NEIGH_PROBING] = "probing",
		[NEIGH_DOWN] = "down",
		[NEIGH_PINNED] = "pinned",
	};
	uint32_t i;

	for (i = 0; i < table->config.max_entries; i++) {
		const struct neigh *neigh = &table->entries[i];
		struct path_neigh_info info;

		if (neigh->state == NEIGH_FREE)
			continue;
		info = (struct path_neigh_info){
			.dev = neigh->dev,
			.src = neigh->from.addr,
			.dst = neigh->dst,
			.state = names[neigh->state],
			.refs = neigh->refs,
		};
		info.mac_valid = path_neigh_mac(&neigh->pub, info.mac);
		fn(arg, &info);
	}
}
