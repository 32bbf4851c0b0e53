/* SPDX-License-Identifier: BSD-3-Clause */
#include "gateway_flows.h"

#include <stdlib.h>
#include <string.h>

#define MAX_FLOWS   (1u << 20)
#define HOST_SLOTS  4096u
#define RECENT_BITS 8u

struct gateway_flows {
	struct gateway_flows_config config;
	struct gateway_flows_stats stats;
	uint32_t newest, oldest;
	uint32_t unused;              /* a number that is free, by older; 0: none */
	uint32_t mask;
	uint32_t *places;             /* open addressing: numbers, 0: free */
	struct gateway_flow *flows;   /* by number, from 1 */
	uint32_t per_host[HOST_SLOTS];
	uint32_t recent[1u << RECENT_BITS]; /* numbers of flows whose packets came last, 0: none */
};

struct gateway_flows *gateway_flows_new(const struct gateway_flows_config *config)
{
	struct gateway_flows *f;
	uint32_t places = 4;

	if (config->max == 0 || config->max > MAX_FLOWS || config->max_per_host == 0 || config->idle_ns == 0)
		return NULL;
	while (places < 2 * config->max)
		places *= 2;
	f = calloc(1, sizeof(*f));
	if (f == NULL)
		return NULL;
	f->config = *config;
	f->mask = places - 1;
	f->places = calloc(places, sizeof(f->places[0]));
	f->flows = calloc((size_t)config->max + 1, sizeof(f->flows[0]));
	if (f->places == NULL || f->flows == NULL) {
		gateway_flows_free(f);
		return NULL;
	}
	for (uint32_t n = config->max; n > 0; n--) {
		f->flows[n].number = n;
		/* A gateway that was started anew should not go on where the one before it was. */
		f->flows[n].generation = (uint8_t)base_siphash(&f->config.key, &n, sizeof(n));
		f->flows[n].older = f->unused;
		f->unused = n;
	}
	return f;
}

void gateway_flows_free(struct gateway_flows *flows)
{
	if (flows == NULL)
		return;
	free(flows->places);
	free(flows->flows);
	free(flows);
}

static uint32_t home(const struct gateway_flows *f, const struct gateway_flow_key *key)
{
	return (uint32_t)base_siphash(&f->config.key, key, sizeof(*key)) & f->mask;
}

static uint32_t *host_of(struct gateway_flows *f, const struct wire_addr *src)
{
	return &f->per_host[base_siphash(&f->config.key, src, sizeof(*src)) % HOST_SLOTS];
}

/* Its place, or the free one where it would be. */
static uint32_t place_of(const struct gateway_flows *f, const struct gateway_flow_key *key)
{
	uint32_t i = home(f, key);

	while (f->places[i] != 0 && memcmp(&f->flows[f->places[i]].key, key, sizeof(*key)) != 0)
		i = (i + 1) & f->mask;
	return i;
}

/* ---- in order of age ---- */

static void unlink_flow(struct gateway_flows *f, struct gateway_flow *flow)
{
	*(flow->newer != 0 ? &f->flows[flow->newer].older : &f->newest) = flow->older;
	*(flow->older != 0 ? &f->flows[flow->older].newer : &f->oldest) = flow->newer;
}

static void link_newest(struct gateway_flows *f, struct gateway_flow *flow)
{
	flow->newer = 0;
	flow->older = f->newest;
	*(f->newest != 0 ? &f->flows[f->newest].newer : &f->oldest) = flow->number;
	f->newest = flow->number;
}

/* ---- ending ---- */

static void end_flow(struct gateway_flows *f, struct gateway_flow *flow)
{
	uint32_t gap = place_of(f, &flow->key);

	(*host_of(f, &flow->key.src))--;
	unlink_flow(f, flow);
	for (uint32_t i = (gap + 1) & f->mask; f->places[i] != 0; i = (i + 1) & f->mask) {
		/* What is at i may move up if its home is not between the gap and itself (Knuth, vol. 3, 6.4, R). */
		if (((i - home(f, &f->flows[f->places[i]].key)) & f->mask) < ((i - gap) & f->mask))
			continue;
		f->places[gap] = f->places[i];
		gap = i;
	}
	f->places[gap] = 0;
	flow->used = false;
	flow->older = f->unused;
	f->unused = flow->number;
	f->stats.flows--;
	f->stats.aged++;
}

void gateway_flows_age(struct gateway_flows *flows, uint64_t now_ns, uint32_t most)
{
	while (most-- > 0 && flows->oldest != 0) {
		struct gateway_flow *flow = &flows->flows[flows->oldest];

		if (now_ns - flow->seen_ns < flows->config.idle_ns)
			return;
		end_flow(flows, flow);
	}
}

/* ---- finding ---- */

static struct gateway_flow *make(struct gateway_flows *f, const struct gateway_flow_key *key, uint64_t now_ns)
{
	uint32_t *host = host_of(f, &key->src);
	struct gateway_flow *flow;
	uint8_t generation;

	if (*host >= f->config.max_per_host) {
		f->stats.at_host_limit++;
		return NULL;
	}
	if (f->unused == 0)
		gateway_flows_age(f, now_ns, 1);
	if (f->unused == 0) {
		f->stats.at_limit++;
		return NULL;
	}
	flow = &f->flows[f->unused];
	f->unused = flow->older;
	generation = (uint8_t)(flow->generation + 1);
	*flow = (struct gateway_flow){
		.key = *key, .seen_ns = now_ns, .number = flow->number, .generation = generation, .used = true};
	f->places[place_of(f, key)] = flow->number;
	link_newest(f, flow);
	(*host)++;
	f->stats.flows++;
	f->stats.made++;
	return flow;
}

/* Most packets are of few flows. Who makes keys up so that they meet here only has them looked up by the hash. */
static uint32_t number_of(struct gateway_flows *f, const struct gateway_flow_key *key)
{
	/* The tables of pairs and of requesters have keys without a queue pair or port: hosts tell those apart. */
	uint32_t hosts = (uint32_t)key->src.b[15] << 8 | key->dst.b[15];
	uint32_t *recent = &f->recent[((key->dqpn ^ hosts) + (key->sport << 16)) * 2654435761u >> (32 - RECENT_BITS)];
	const struct gateway_flow *flow = &f->flows[*recent];

	if (!flow->used || memcmp(&flow->key, key, sizeof(*key)) != 0)
		*recent = f->places[place_of(f, key)];
	return *recent;
}

static struct gateway_flow *seen(struct gateway_flows *f, uint32_t number, uint64_t now_ns)
{
	struct gateway_flow *flow = &f->flows[number];

	flow->seen_ns = now_ns;
	if (f->newest != number) {
		unlink_flow(f, flow);
		link_newest(f, flow);
	}
	return flow;
}

struct gateway_flow *gateway_flows_get(struct gateway_flows *flows, const struct gateway_flow_key *key, uint64_t now_ns)
{
	uint32_t number = number_of(flows, key);

	return number != 0 ? seen(flows, number, now_ns) : make(flows, key, now_ns);
}

struct gateway_flow *gateway_flows_find(
	struct gateway_flows *flows, const struct gateway_flow_key *key, uint64_t now_ns)
{
	uint32_t number = number_of(flows, key);

	return number != 0 ? seen(flows, number, now_ns) : NULL;
}

const struct gateway_flow *gateway_flows_at(const struct gateway_flows *flows, uint32_t number)
{
	return number != 0 && number <= flows->config.max && flows->flows[number].used ? &flows->flows[number] : NULL;
}

void gateway_flows_get_stats(const struct gateway_flows *flows, struct gateway_flows_stats *stats)
{
	*stats = flows->stats;
}
