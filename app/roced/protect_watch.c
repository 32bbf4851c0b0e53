/* SPDX-License-Identifier: BSD-3-Clause */
/* What protection tells people: the log, the alarms, and the counters they come from. */
#include <string.h>

#include "clock.h"
#include "log.h"
#include "protect_internal.h"
#include "worker.h"

#define WITH "protection with "

/* NULL: no alarm. */
static const struct alarm_kind event_kinds[CRYPT_EVENTS] = {
	[CRYPT_EVENT_REFUSED] = {"peer_refused", WITH},
	[CRYPT_EVENT_PEER_REFUSES] = {"refused_by_peer", WITH},
	[CRYPT_EVENT_NO_ANSWER] = {"no_answer", WITH},
	[CRYPT_EVENT_PEER_RESTARTED] = {"peer_restarted", WITH},
	[CRYPT_EVENT_HARD_LIMIT] = {"key_spent", WITH},
	[CRYPT_EVENT_EXPIRED] = {"keys_expired", WITH},
	[CRYPT_EVENT_PROBLEM] = {"protection_problem", WITH},
};

/* Counters of SAs: it is known with whom they are. */
enum { WRONG_TAG, REPLAYED, TOO_OLD, SA_KINDS };
static const struct alarm_kind sa_kinds[SA_KINDS] = {{"wrong_tag", WITH}, {"replayed", WITH}, {"too_old", WITH}};

/* Drops of which it is not known whose they were. */
static const struct {
	enum base_drop reason;
	struct alarm_kind kind;
} drop_kinds[] = {
	{BASE_DROP_PLAIN, {"plain", WITH}},
	{BASE_DROP_WRONG_PEER, {"wrong_peer", WITH}},
	{BASE_DROP_UNKNOWN_SPI, {"unknown_spi", WITH}},
	{BASE_DROP_PSP_HEADER, {"psp_header", WITH}},
	{BASE_DROP_CRYPTO, {"crypto", WITH}},
};

static const struct alarm_kind full_kind = {"no_room", WITH};

void protect_say(void *ctx, enum crypt_event event, const char *text)
{
	struct association *a = ctx;
	struct alarms *alarms = &a->protect->roced->alarms;
	const char *skip = strstr(text, a->text);

	/* Whom it is about stands before it already. */
	if (skip != NULL && strncmp(skip + strlen(a->text), ": ", 2) == 0)
		text = skip + strlen(a->text) + 2;
	a->unanswered |= event == CRYPT_EVENT_NO_ANSWER;
	if (event_kinds[event].name != NULL) {
		alarm_raise(alarms, clock_now_ns(), &event_kinds[event], a->text, 1, "%s", text);
		return;
	}
	log_line(LOG_INFO, WITH "%s: %s", a->text, text);
	for (int e = 0; e < CRYPT_EVENTS; e++)
		alarm_clear(alarms, &event_kinds[e], a->text);
}

void protect_say_full(struct protect *p, const char *peer)
{
	alarm_raise(&p->roced->alarms, clock_now_ns(), &full_kind, peer, 1,
		"there are associations with %u peers, and none of them is idle", PROTECT_ASSOCS);
}

void protect_add_tx(struct protect_counts *counts, const struct crypt_tx_sa *sa)
{
	counts->tx_packets += sa->next - 1;
	counts->tx_bytes += sa->bytes;
}

void protect_add_rx(struct protect_counts *counts, const struct crypt_rx_sa *sa)
{
	counts->rx_packets += sa->packets;
	counts->rx_bytes += sa->bytes;
	counts->wrong_tags += sa->wrong_tags;
	counts->replayed += sa->replayed;
	counts->too_old += sa->too_old;
}

void protect_counts(const struct association *a, struct protect_counts *counts)
{
	*counts = a->past;
	for (uint32_t w = 0; w < a->protect->roced->n_workers; w++) {
		if (a->tx[w] != NULL)
			protect_add_tx(counts, a->tx[w]);
	}
	for (uint32_t i = 0; i < a->n_rx; i++)
		protect_add_rx(counts, a->rx[i].sa);
}

static void raise_sa(struct association *a, uint64_t now_ns, int kind, uint64_t now, uint64_t *told, const char *text)
{
	if (now > *told)
		alarm_raise(&a->protect->roced->alarms, now_ns, &sa_kinds[kind], a->text, now - *told, "%s", text);
	*told = now;
}

void protect_look(struct association *a, uint64_t now_ns)
{
	struct protect_counts counts;
	bool heard = false;

	for (uint32_t w = 0; w < a->protect->roced->n_workers; w++) {
		if (a->tx[w] != NULL)
			crypt_assoc_used(a->assoc, (uint16_t)w, a->tx[w]->spi, a->tx[w]->bytes, a->tx[w]->next - 1, now_ns);
	}
	/* rx_seen() may drop others, which moves them. */
	for (uint32_t i = 0; i < a->n_rx; i++) {
		uint64_t packets = a->rx[i].sa->packets;
		bool first = packets != 0 && !a->rx[i].seen;

		heard |= packets != a->rx[i].packets;
		a->rx[i].packets = packets;
		a->rx[i].seen |= first;
		if (first)
			crypt_assoc_rx_seen(a->assoc, a->rx[i].spi, now_ns);
	}
	if (heard) {
		a->heard_ns = now_ns;
		crypt_assoc_heard(a->assoc, now_ns);
	}
	protect_counts(a, &counts);
	raise_sa(a, now_ns, WRONG_TAG, counts.wrong_tags, &a->told.wrong_tags, base_drop_help(BASE_DROP_WRONG_TAG));
	raise_sa(a, now_ns, REPLAYED, counts.replayed, &a->told.replayed, base_drop_help(BASE_DROP_REPLAYED));
	raise_sa(a, now_ns, TOO_OLD, counts.too_old, &a->told.too_old, base_drop_help(BASE_DROP_TOO_OLD));
}

void protect_look_drops(struct protect *p, uint64_t now_ns)
{
	for (size_t i = 0; i < RTE_DIM(drop_kinds); i++) {
		enum base_drop reason = drop_kinds[i].reason;
		uint64_t sum = 0, *told = &p->drops[reason];

		for (uint32_t w = 0; w < p->roced->n_workers; w++)
			sum += p->roced->workers[w]->counters.drops[reason];
		if (sum > *told)
			alarm_raise(&p->roced->alarms, now_ns, &drop_kinds[i].kind, "some host", sum - *told, "%s",
				base_drop_help(reason));
		*told = sum;
	}
}
