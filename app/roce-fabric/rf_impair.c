/* SPDX-License-Identifier: BSD-3-Clause */
/* What is held waits here and not in the fabric, so that nothing behind it has to wait too; it counts as the
 * port's all the same. */
#include "rf_impair.h"

#include "rf_edit.h"
#include "rf_io.h"

#define NS_PER_US      1000u
#define REORDER_MAX_US 100000u /* who is to be overtaken by what never comes */

/* Takes over a reference to the buffer. left: see struct rf_held. */
static void hold(struct rf_net *net, const struct rf_held *like, uint64_t delay_us, uint32_t left)
{
	struct rf_impair *impair = &net->impair;
	struct rf_held *at = impair->held;

	if (impair->n_held == RF_MAX_HELD || like->from->in_fabric >= like->from->max_in_fabric) {
		rf_drop(like->from, like->m, RF_DROP_BUFFERS);
		return;
	}
	while (at->used)
		at++;
	*at = *like;
	at->used = true;
	at->left = left;
	at->due_ns = net->now_ns + delay_us * NS_PER_US;
	impair->n_held++;
	like->from->in_fabric++;
}

static void let_go(struct rf_net *net, struct rf_held *held)
{
	held->used = false;
	net->impair.n_held--;
	held->from->in_fabric--;
	rf_enter(net, held->from, held->to, &held->frame, held->m);
}

static void pass(struct rf_net *net, const struct rf_held *like)
{
	rf_enter(net, like->from, like->to, &like->frame, like->m);
}

/* A packet of a flow has passed: it has overtaken those that are held for that. */
static void passed(struct rf_net *net, const struct rf_held *like)
{
	for (uint32_t i = 0; i < RF_MAX_HELD && net->impair.n_held != 0; i++) {
		struct rf_held *held = &net->impair.held[i];

		if (held->used && held->left != 0 && held->from == like->from && held->to == like->to &&
			held->qpn == like->qpn && --held->left == 0)
			let_go(net, held);
	}
}

static void repeat(struct rf_net *net, const struct rf_held *like, const struct rf_rule *rule)
{
	rte_mbuf_refcnt_update(like->m, (int16_t)rule->packets);
	pass(net, like);
	for (uint32_t i = 0; i < rule->packets; i++) {
		if (rule->delay_us == 0)
			pass(net, like);
		else
			hold(net, like, rule->delay_us, 0);
	}
}

static void edit(struct rf_net *net, struct rf_held *like, const struct wire_pkt *pkt, const struct rf_rule *rule)
{
	like->m = rf_own(like->from, like->m);
	if (like->m == NULL) {
		like->from->stats.dropped[RF_DROP_BUFFERS]++;
		return;
	}
	rf_edit(rte_pktmbuf_mtod(like->m, uint8_t *), pkt, rule);
	like->frame.ce |= rule->action == RF_ACT_MARK;
	pass(net, like);
}

/* Whether the packet, or part of it, has gone on. */
static bool act(struct rf_net *net, struct rf_held *like, const struct wire_pkt *pkt, const struct rf_rule *rule)
{
	switch (rule->action) {
	case RF_ACT_DROP:
		rf_drop(like->from, like->m, RF_DROP_IMPAIRED);
		return false;
	case RF_ACT_DELAY:
		hold(net, like, rule->delay_us, 0);
		return false;
	case RF_ACT_REORDER:
		hold(net, like, rule->delay_us != 0 ? rule->delay_us : REORDER_MAX_US, rule->packets);
		return false;
	case RF_ACT_DUPLICATE:
		repeat(net, like, rule);
		return true;
	default:
		edit(net, like, pkt, rule);
		return true;
	}
}

void rf_impair(struct rf_net *net, struct rf_port *from, const struct rf_port *to, const struct rf_frame *frame,
	struct rte_mbuf *m)
{
	struct rf_held like = {.from = from, .to = to, .frame = *frame, .m = m};
	const struct rf_rule *rule;
	struct wire_pkt pkt;
	const uint8_t *bytes = rte_pktmbuf_mtod(m, const uint8_t *);
	bool on = true;

	if (net->impair.filter.n_rules == 0 && net->impair.n_held == 0) {
		rf_enter(net, from, to, frame, m);
		return;
	}
	if (wire_parse(bytes, m->pkt_len, &pkt) != BASE_DROP_NONE ||
		(pkt.kind != WIRE_KIND_ROCE_V2 && pkt.kind != WIRE_KIND_ROCE_V1)) {
		rf_enter(net, from, to, frame, m);
		return;
	}
	like.qpn = pkt.dqpn;
	rule = rf_filter_look(&net->impair.filter, bytes, &pkt, from->config->host, to->config->host);
	if (rule != NULL)
		on = act(net, &like, &pkt, rule);
	else
		pass(net, &like);
	if (on)
		passed(net, &like);
}

bool rf_impair_step(struct rf_net *net)
{
	bool moved = false;

	for (uint32_t i = 0; i < RF_MAX_HELD && net->impair.n_held != 0; i++) {
		struct rf_held *held = &net->impair.held[i];

		if (!held->used || held->due_ns > net->now_ns)
			continue;
		let_go(net, held);
		moved = true;
	}
	return moved;
}

uint64_t rf_impair_next_ns(const struct rf_net *net)
{
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t i = 0; i < RF_MAX_HELD && net->impair.n_held != 0; i++) {
		const struct rf_held *held = &net->impair.held[i];

		if (held->used && held->due_ns < next_ns)
			next_ns = held->due_ns;
	}
	return next_ns;
}

void rf_impair_fini(struct rf_net *net)
{
	for (uint32_t i = 0; i < RF_MAX_HELD; i++) {
		if (net->impair.held[i].used)
			rte_pktmbuf_free(net->impair.held[i].m);
		net->impair.held[i].used = false;
	}
	net->impair.n_held = 0;
}
