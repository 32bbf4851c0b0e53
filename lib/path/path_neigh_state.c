/* SPDX-License-Identifier: BSD-3-Clause */
/* How an entry's state changes: requests, answers, time. */
#include <errno.h>

#include "path_neigh_internal.h"

static uint64_t word_of(const uint8_t mac[6])
{
	uint64_t word = 0;
	int i;

	for (i = 0; i < 6; i++)
		word = word << 8 | mac[i];
	return word | PATH_NEIGH_MAC_VALID;
}

static uint64_t word_now(const struct neigh *neigh)
{
	return atomic_load_explicit(&neigh->pub.mac, memory_order_relaxed);
}

/* One word: readers see the old address or the new one, never a mixture. */
static void set_word(struct neigh *neigh, uint64_t word)
{
	struct path_neigh *table = neigh->table;

	atomic_store_explicit(&neigh->pub.mac, word, memory_order_relaxed);
	if (table->ops->changed)
		table->ops->changed(table->env, &neigh->pub);
}

bool neigh_known(const struct neigh *neigh)
{
	return (word_now(neigh) & PATH_NEIGH_MAC_VALID) != 0;
}

bool neigh_mac_is(const struct neigh *neigh, const uint8_t mac[6])
{
	return word_now(neigh) == word_of(mac);
}

void neigh_set_mac(struct neigh *neigh, const uint8_t mac[6])
{
	if (neigh_mac_is(neigh, mac))
		return;
	if (neigh_known(neigh))
		neigh->table->stats.mac_changes++;
	set_word(neigh, word_of(mac));
}

void neigh_pin_new(struct neigh *neigh, const uint8_t mac[6])
{
	atomic_store_explicit(&neigh->pub.mac, word_of(mac), memory_order_relaxed);
	neigh->state = NEIGH_PINNED;
}

static void send_request(struct neigh *neigh)
{
	struct path_neigh *table = neigh->table;
	uint8_t frame[WIRE_ND_FRAME_MAX];
	uint8_t mac[6];
	bool known = path_neigh_mac(&neigh->pub, mac);
	bool unicast = known && neigh->state == NEIGH_PROBING;
	size_t n = wire_nd_build_request(frame, &neigh->from, &neigh->dst, unicast ? mac : NULL);

	table->stats.tx_requests++;
	table->ops->emit(table->env, neigh->dev, frame, n);
}

static void set_timer(struct neigh *neigh, uint64_t expiry_ns)
{
	base_timer_start(&neigh->table->wheel, &neigh->timer, expiry_ns);
}

void neigh_ask(struct neigh *neigh, enum neigh_state how, uint64_t now_ns)
{
	neigh->state = (uint8_t)how;
	neigh->tries_left = neigh->table->config.tries - 1;
	set_timer(neigh, now_ns + neigh->table->config.retry_ns);
	send_request(neigh);
}

void neigh_reachable(struct neigh *neigh, uint64_t now_ns)
{
	neigh->state = NEIGH_REACHABLE;
	neigh->locked_until_ns = now_ns + neigh->table->config.lock_ns;
	set_timer(neigh, now_ns + neigh->table->config.reachable_ns);
}

/* Those who wait anew from within done() are not called again here. */
void neigh_wake(struct neigh *neigh, int status, uint64_t now_ns)
{
	struct path_neigh_waiters woken = neigh->waiters;
	struct path_neigh_wait *wait;

	if (LIST_EMPTY(&woken))
		return;
	LIST_INIT(&neigh->waiters);
	LIST_FIRST(&woken)->link.le_prev = &LIST_FIRST(&woken);
	neigh->refs++;
	while ((wait = LIST_FIRST(&woken))) {
		path_neigh_cancel(wait);
		wait->done(wait, &neigh->pub, status);
	}
	path_neigh_put(neigh->table, &neigh->pub, now_ns);
}

void path_neigh_pin(struct path_neigh *table, struct path_neigh_entry *entry, const uint8_t mac[6])
{
	struct neigh *neigh = (struct neigh *)entry;

	base_timer_stop(&table->wheel, &neigh->timer);
	neigh->state = NEIGH_PINNED;
	neigh_set_mac(neigh, mac);
	neigh_wake(neigh, 0, 0);
}

/* Entries are held here: who gives the last reference back ends every round. */
static void give_up(struct neigh *neigh, uint64_t now_ns)
{
	neigh->table->stats.failures++;
	neigh->state = NEIGH_DOWN;
	set_timer(neigh, now_ns + neigh->table->config.down_retry_ns);
	if (neigh_known(neigh))
		set_word(neigh, 0);
	neigh_wake(neigh, -EHOSTUNREACH, now_ns);
}

static void request_unanswered(struct neigh *neigh, uint64_t now_ns)
{
	if (neigh->tries_left) {
		neigh->tries_left--;
		set_timer(neigh, now_ns + neigh->table->config.retry_ns);
		send_request(neigh);
	} else if (neigh->state == NEIGH_PROBING) {
		neigh_ask(neigh, NEIGH_ASKING, now_ns);
	} else {
		give_up(neigh, now_ns);
	}
}

static void expired(struct neigh *neigh, uint64_t now_ns)
{
	if (neigh->refs) {
		neigh_ask(neigh, NEIGH_PROBING, now_ns);
		return;
	}
	TAILQ_REMOVE(&neigh->table->unheld, neigh, queue);
	neigh_free(neigh);
}

void neigh_timer_expired(struct base_timer *timer, void *arg, uint64_t now_ns)
{
	struct neigh *neigh = arg;

	(void)timer;
	switch (neigh->state) {
	case NEIGH_ASKING:
	case NEIGH_PROBING:
		request_unanswered(neigh, now_ns);
		break;
	case NEIGH_REACHABLE:
		expired(neigh, now_ns);
		break;
	case NEIGH_DOWN:
		neigh_ask(neigh, NEIGH_ASKING, now_ns);
		break;
	default:
		break;
	}
}
