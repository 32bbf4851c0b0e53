/* SPDX-License-Identifier: BSD-3-Clause */
#include "rf_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire_addr.h"

struct seen {
	const struct wire_pkt *pkt;
	uint32_t from, to;
	struct wire_addr src, dst;
	struct rf_flow_place place;
};

static bool is_in(const struct config_prefix *net, const struct wire_addr *addr)
{
	if (net->len == 0)
		return true;
	return wire_addr_is_v4(&net->addr) == wire_addr_is_v4(addr) &&
		wire_addr_same_network(&net->addr, addr, wire_addr_prefix(&net->addr, net->len));
}

static bool is_or_any(uint32_t wanted, uint32_t value)
{
	return wanted == RF_ANY || wanted == value;
}

static bool matches(const struct rf_rule *rule, const struct seen *seen)
{
	const struct wire_pkt *pkt = seen->pkt;

	if (!is_or_any(rule->from, seen->from) || !is_or_any(rule->to, seen->to) || !is_or_any(rule->qp, pkt->dqpn) ||
		!is_or_any(rule->psn, pkt->psn) || !is_or_any(rule->message, seen->place.message))
		return false;
	if (rule->msn != RF_ANY && ((pkt->hdrs & WIRE_HDR_AETH) == 0 || rule->msn != pkt->msn))
		return false;
	if (rule->again && !seen->place.again)
		return false;
	return rf_opset_has(&rule->ops, pkt) && is_in(&rule->src_net, &seen->src) && is_in(&rule->dst_net, &seen->dst);
}

static uint64_t limit(const struct rf_rule *rule)
{
	if (rule->count == 0)
		return UINT64_MAX;
	if (rule->count != RF_ANY)
		return rule->count;
	return rule->every != 0 || rule->action == RF_ACT_COUNT ? UINT64_MAX : 1;
}

/* Whether it is done to the match that has just been counted. */
static bool hits(const struct rf_filter_rule *one)
{
	const struct rf_rule *rule = &one->rule;

	if (one->matches < rule->nth || one->hits >= limit(rule))
		return false;
	return rule->every == 0 || (one->matches - rule->nth) % rule->every == 0;
}

const struct rf_rule *rf_filter_look(struct rf_filter *filter, const uint8_t *frame, const struct wire_pkt *pkt,
	uint32_t from, uint32_t to)
{
	struct seen seen = {.pkt = pkt, .from = from, .to = to};

	if (filter->n_rules == 0)
		return NULL;
	wire_src(frame, pkt, &seen.src);
	wire_dst(frame, pkt, &seen.dst);
	seen.place = rf_flows_see(&filter->flows, from, to, pkt);
	for (uint32_t i = 0; i < filter->n_rules; i++) {
		struct rf_filter_rule *one = &filter->rules[i];

		if (!matches(&one->rule, &seen))
			continue;
		one->matches++;
		if (!hits(one))
			continue;
		one->hits++;
		if (one->rule.action != RF_ACT_COUNT)
			return &one->rule;
	}
	return NULL;
}

int rf_filter_add(struct rf_filter *filter, const struct rf_rule *rule)
{
	struct rf_filter_rule *one = &filter->rules[filter->n_rules];

	if (filter->n_rules == RF_MAX_RULES)
		return -ENOSPC;
	for (uint32_t i = 0; i < filter->n_rules; i++) {
		if (rule->name[0] != '\0' && strcmp(rule->name, filter->rules[i].rule.name) == 0)
			return -EEXIST;
	}
	*one = (struct rf_filter_rule){.rule = *rule, .id = ++filter->last_id};
	filter->n_rules++;
	return (int)one->id;
}

static bool is_called(const struct rf_filter_rule *one, const char *which)
{
	char *end;
	unsigned long id = strtoul(which, &end, 10);

	if (which[0] == '\0')
		return false;
	return strcmp(one->rule.name, which) == 0 || (which[0] >= '0' && which[0] <= '9' && *end == '\0' && id == one->id);
}

uint32_t rf_filter_clear(struct rf_filter *filter, const char *which)
{
	uint32_t kept = 0, gone;

	for (uint32_t i = 0; i < filter->n_rules; i++) {
		if (which != NULL && !is_called(&filter->rules[i], which))
			filter->rules[kept++] = filter->rules[i];
	}
	gone = filter->n_rules - kept;
	filter->n_rules = kept;
	if (kept == 0)
		memset(&filter->flows, 0, sizeof(filter->flows));
	return gone;
}

void rf_filter_reset(struct rf_filter *filter)
{
	for (uint32_t i = 0; i < filter->n_rules; i++)
		filter->rules[i].matches = filter->rules[i].hits = 0;
}
