/* SPDX-License-Identifier: BSD-3-Clause */
/* The impairment filter: rules, what they have met, and which one a packet meets. Pure; packets are hostile. */
#ifndef RF_FILTER_H
#define RF_FILTER_H

#include "rf_flows.h"
#include "rf_rule.h"

struct rf_filter_rule {
	struct rf_rule rule;
	uint32_t id;             /* from 1 on, never twice */
	uint64_t matches;        /* packets that were as it says */
	uint64_t hits;           /* and that it was done to */
};

/* All zero: no rules. */
struct rf_filter {
	uint32_t n_rules, last_id;
	struct rf_filter_rule rules[RF_MAX_RULES];
	struct rf_flows flows;   /* since there are rules */
};

/* Adds a compiled rule behind the others. Its number, or -ENOSPC, or -EEXIST: there is one of that name. */
int rf_filter_add(struct rf_filter *filter, const struct rf_rule *rule);
/* Takes away the rule of that number or name; NULL: all, and what was seen of flows. How many went. */
uint32_t rf_filter_clear(struct rf_filter *filter, const char *which);
/* Counters begin anew, so a rule that has hit as often as it may can hit again. */
void rf_filter_reset(struct rf_filter *filter);

/*
 * Looks at a RoCE packet on its way from one host to another, which wire_parse() found nothing wrong with. Rules are
 * asked in their order; each counts what matches it. The first one that hits and does more than count ends that and is
 * the answer; NULL: nothing is done to the packet. The rule is valid until rules are added or cleared.
 */
const struct rf_rule *rf_filter_look(struct rf_filter *filter, const uint8_t *frame, const struct wire_pkt *pkt,
	uint32_t from, uint32_t to);

#endif
