/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables, and what people are told of them. */
#include "gateway_pairs_internal.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PAIRS   (1u << 16)
#define FIRST_SPORT 0xc000u  /* RoCE's convention: the upper quarter */

/* ---- tables ---- */

static struct gateway_flows *table(
	const struct gateway_pairs_config *config, uint32_t max, uint32_t max_per_host, uint64_t salt)
{
	return gateway_flows_new(&(struct gateway_flows_config){
		.max = max,
		.max_per_host = max_per_host,
		.idle_ns = config->idle_ns,
		.key = {{config->key.k[0] ^ salt, config->key.k[1]}},
	});
}

struct gateway_pairs *gateway_pairs_new(const struct gateway_pairs_config *config)
{
	struct gateway_pairs *p;

	if (config->max_pairs == 0 || config->max_pairs > MAX_PAIRS || config->sched.keep_order)
		return NULL;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return NULL;
	p->config = *config;
	/* The gap is found here, once for a flow; then LetFlow takes any path. */
	p->config.sched.flowlet_gap_ns = 0;
	p->pairs_by = table(config, config->max_pairs, config->max_pairs, 1);
	p->flows_by = table(config, config->max_flows, config->max_flows_per_host, 2);
	p->backs_by = table(config, config->max_flows, config->max_flows_per_host, 3);
	p->pairs = calloc((size_t)config->max_pairs + 1, sizeof(p->pairs[0]));
	p->flows = calloc((size_t)config->max_flows + 1, sizeof(p->flows[0]));
	p->backs = calloc((size_t)config->max_flows + 1, sizeof(p->backs[0]));
	if (p->pairs_by != NULL && p->flows_by != NULL && p->backs_by != NULL && p->pairs != NULL && p->flows != NULL &&
		p->backs != NULL)
		return p;
	gateway_pairs_free(p);
	return NULL;
}

void gateway_pairs_free(struct gateway_pairs *p)
{
	if (p == NULL)
		return;
	gateway_flows_free(p->pairs_by);
	gateway_flows_free(p->flows_by);
	gateway_flows_free(p->backs_by);
	free(p->pairs);
	free(p->flows);
	free(p->backs);
	free(p);
}

void gateway_pairs_age(struct gateway_pairs *p, uint64_t now_ns, uint32_t most)
{
	gateway_flows_age(p->pairs_by, now_ns, most);
	gateway_flows_age(p->flows_by, now_ns, most);
	gateway_flows_age(p->backs_by, now_ns, most);
}

struct flow *gateway_pairs_flow_at(const struct gateway_pairs *p, const struct ref *ref)
{
	struct flow *flow = &p->flows[ref->number];

	return ref->number != 0 && flow->epoch == ref->epoch ? flow : NULL;
}

struct ref gateway_pairs_ref(const struct gateway_pairs *p, const struct flow *flow)
{
	return (struct ref){.number = (uint32_t)(flow - p->flows), .epoch = flow->epoch};
}

/* Each one that is made is looked at here at once, so a number that has another one now has another generation. */
struct pair *gateway_pairs_get(
	struct gateway_pairs *p, const struct wire_addr *src, const struct wire_addr *dst, uint64_t now_ns)
{
	const struct gateway_flow_key key = {.src = *src, .dst = *dst};
	const struct gateway_flow *entry = gateway_flows_get(p->pairs_by, &key, now_ns);
	struct pair *pair;
	uint64_t seed;

	if (entry == NULL)
		return NULL;
	pair = &p->pairs[entry->number];
	if (pair->epoch != 0 && pair->generation == entry->generation)
		return pair;
	seed = base_siphash(&p->config.key, &key, sizeof(key)) + entry->generation;
	*pair = (struct pair){.epoch = pair->epoch + 1,
		.generation = entry->generation,
		.trial_wait_ns = GATEWAY_PAIRS_TRIAL_NS,
		.sport = (uint16_t)(FIRST_SPORT + seed % (0x4000 - PATH_SCHED_MAX_EVS))};
	path_sched_init(&pair->sched, &p->config.sched, seed);
	return pair;
}

struct flow *gateway_pairs_get_flow(
	struct gateway_pairs *p, const struct pair *pair, const struct gateway_flow_key *key, uint64_t now_ns)
{
	const struct gateway_flow *entry = gateway_flows_get(p->flows_by, key, now_ns);
	const struct ref of = {.number = (uint32_t)(pair - p->pairs), .epoch = pair->epoch};
	struct flow *flow;

	if (entry == NULL)
		return NULL;
	flow = &p->flows[entry->number];
	if (flow->epoch == 0 || flow->generation != entry->generation || flow->pair.number != of.number ||
		flow->pair.epoch != of.epoch)
		*flow = (struct flow){.epoch = flow->epoch + 1, .generation = entry->generation, .pair = of};
	return flow;
}

void gateway_pairs_unlearn(struct gateway_pairs *p, struct flow *flow)
{
	p->stats.unlearned += flow->hits != 0;
	flow->hits = 0;
	flow->wanted = false;
}

/* ---- for people ---- */

void gateway_pairs_get_stats(const struct gateway_pairs *p, struct gateway_pairs_stats *stats)
{
	struct gateway_flows_stats flows;

	*stats = p->stats;
	gateway_flows_get_stats(p->pairs_by, &flows);
	stats->pairs = flows.flows;
	gateway_flows_get_stats(p->flows_by, &flows);
	stats->flows = flows.flows;
}

bool gateway_pairs_tell(const struct gateway_pairs *p, uint32_t n, struct gateway_pairs_told *told)
{
	const struct gateway_flow *entry = gateway_flows_at(p->pairs_by, n);
	const struct pair *pair = &p->pairs[n <= p->config.max_pairs ? n : 0];

	if (entry == NULL || pair->epoch == 0)
		return false;
	memset(told, 0, sizeof(*told));
	told->src = entry->key.src;
	told->dst = entry->key.dst;
	told->sport = pair->sport;
	for (uint8_t ev = 0; ev < p->config.sched.n_evs; ev++) {
		told->paths[ev].sent = pair->path[ev].sent;
		told->paths[ev].lost = pair->path[ev].lost;
		(void)path_sched_stats(&pair->sched, ev, &told->paths[ev].sched);
	}
	return true;
}

/* ---- turns of the thread ---- */

void gateway_pairs_turn(struct gateway_pairs *p, uint64_t now_ns)
{
	uint64_t lasted_ns = now_ns - p->turn_ns;

	if (lasted_ns == 0)
		return;
	if (p->busy && lasted_ns > p->config.flowlet_ns / GATEWAY_PAIRS_LONG_PART)
		p->long_turns[p->n_long_turns++ % GATEWAY_PAIRS_LONG_TURNS] = (struct turn){p->turn_ns, now_ns};
	/* What came meanwhile is only read now. */
	if (lasted_ns > p->config.silence_ns / 2)
		p->awake_ns = now_ns;
	p->busy = false;
	p->turn_ns = now_ns;
}
