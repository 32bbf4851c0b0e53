/* SPDX-License-Identifier: BSD-3-Clause */
/* /roced/counters: those of all workers together. */
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>

#include "telemetry.h"
#include "worker.h"

#define MAX_COUNTERS 128

struct named {
	const char *name;
	uint64_t value;
};

struct answer {
	uint32_t n;
	struct named counters[MAX_COUNTERS];
};

static void add(struct answer *answer, const char *name, uint64_t value)
{
	if (answer->n < MAX_COUNTERS)
		answer->counters[answer->n++] = (struct named){name, value};
}

/* The workers write theirs all the time; each is read as it is. */
static void sum_transport(const struct roced *roced, struct tp_counters *sum)
{
	uint64_t *to = (uint64_t *)(void *)sum;

	static_assert(sizeof(*sum) % sizeof(*to) == 0, "counters only");
	memset(sum, 0, sizeof(*sum));
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		const uint64_t *from = (const uint64_t *)(const void *)tp_counters(roced->workers[w]->tp);

		for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
			to[i] += from[i];
	}
}

/* Whoever dropped: the transport, the nodes, the main thread. */
static uint64_t drops(const struct roced *roced, const struct tp_counters *c, uint32_t reason)
{
	uint64_t sum = c->drops[reason] + roced->counters.drops[reason];

	for (uint32_t w = 0; w < roced->n_workers; w++)
		sum += roced->workers[w]->counters.drops[reason];
	return sum;
}

static void fill(struct roced *roced, void *arg)
{
	struct answer *answer = arg;
	struct tp_counters c;
	struct vd_stats s;

	sum_transport(roced, &c);
	vd_stats(roced->vd, &s);
#define ADD(of, field) add(answer, #field, (of).field)
	ADD(c, rx_pkts);
	ADD(c, tx_pkts);
	ADD(c, rx_bytes);
	ADD(c, tx_bytes);
	ADD(c, retransmits);
	ADD(c, ack_timeouts);
	ADD(c, duplicates);
	ADD(c, rnr_naks_sent);
	ADD(c, rnr_naks_received);
	ADD(c, seq_naks_sent);
	ADD(c, seq_naks_received);
	ADD(c, other_naks_sent);
	ADD(c, reordered);
	ADD(c, merged_sent);
	ADD(c, merged_received);
	ADD(c, merged_messages);
	ADD(c, sacks_sent);
	ADD(c, sacks_received);
	ADD(c, probes);
	ADD(c, moves);
	ADD(c, unagreed);
	ADD(s, sessions);
	ADD(s, contexts);
	ADD(s, qps);
	ADD(s, cm_ids);
	ADD(s, requests);
	ADD(s, bad_requests);
	ADD(s, at_limit);
	ADD(s, multipath_offered);
	ADD(s, multipath_agreed);
	ADD(s, multipath_listed);
	ADD(s, multipath_left);
	ADD(s, multipath_mismatches);
#undef ADD
	for (uint32_t r = 1; r < BASE_DROP_COUNT; r++) {
		uint64_t n = drops(roced, &c, r);

		if (n != 0)
			add(answer, base_drop_name(r), n);
	}
}

static int on_counters(const char *cmd, const char *params, struct rte_tel_data *info)
{
	struct answer *answer = calloc(1, sizeof(*answer));
	int rc = answer != NULL ? telemetry_ask(fill, answer) : -ENOMEM;

	(void)cmd;
	(void)params;
	if (rc == 0)
		rte_tel_data_start_dict(info);
	for (uint32_t i = 0; rc == 0 && i < answer->n; i++)
		rte_tel_data_add_dict_u64(info, answer->counters[i].name, answer->counters[i].value);
	free(answer);
	return rc;
}

int telemetry_counters_start(void)
{
	return rte_telemetry_register_cmd("/roced/counters", on_counters, "Counters of all workers together");
}
