/* SPDX-License-Identifier: BSD-3-Clause */
/* What comes back: whose it is, and what it tells. */
#include "gateway_pairs_internal.h"

#include "base_psn.h"

static struct pair *pair_of(const struct gateway_pairs *p, const struct flow *flow)
{
	struct pair *pair = &p->pairs[flow->pair.number];

	return pair->epoch == flow->pair.epoch ? pair : NULL;
}

/* ---- whose queue pair the answers are for ---- */

/* The only flow that expects an answer with this PSN. NULL: none does, or several. */
static struct flow *who_asks(const struct gateway_pairs *p, struct pair *pair, uint32_t psn)
{
	struct flow *found = NULL;

	for (uint32_t i = 0; i < GATEWAY_PAIRS_WANTED; i++) {
		struct flow *flow = gateway_pairs_flow_at(p, &pair->wanted[i]);

		if (flow == NULL || flow->hits != 0 || !gateway_match_expects(&flow->match, psn))
			continue;
		if (found != NULL && found != flow)
			return NULL;
		found = flow;
	}
	return found;
}

static struct flow *learn(struct gateway_pairs *p, const struct gateway_flow_key *key, uint32_t psn, uint64_t now_ns)
{
	const struct gateway_flow_key hosts = {.src = key->dst, .dst = key->src};
	const struct gateway_flow *entry = gateway_flows_find(p->pairs_by, &hosts, now_ns);
	struct flow *flow = entry != NULL ? who_asks(p, &p->pairs[entry->number], psn) : NULL;

	if (flow == NULL)
		return NULL;
	entry = gateway_flows_get(p->backs_by, key, now_ns);
	if (entry == NULL)
		return NULL;
	p->backs[entry->number] = (struct back){.flow = gateway_pairs_ref(p, flow), .generation = entry->generation};
	flow->back = entry->number;
	p->stats.learned++;
	return flow;
}

/* The flow whose requester this is; NULL: not known. */
static struct flow *flow_back(struct gateway_pairs *p, const struct gateway_flow_key *key, uint64_t now_ns)
{
	const struct gateway_flow *entry = gateway_flows_find(p->backs_by, key, now_ns);
	const struct back *back = entry != NULL ? &p->backs[entry->number] : NULL;
	struct flow *flow;

	if (back == NULL || back->generation != entry->generation)
		return NULL;
	flow = gateway_pairs_flow_at(p, &back->flow);
	return flow != NULL && flow->hits != 0 && flow->back == entry->number ? flow : NULL;
}

/* ---- what comes back ---- */

static enum gateway_match_answer answer_of(const struct wire_pkt *pkt)
{
	if ((pkt->hdrs & WIRE_HDR_AETH) == 0 || (pkt->syndrome >> 5 & 3) == 0)
		return GATEWAY_ANSWER_ACK;
	if ((pkt->syndrome >> 5 & 3) == 1)
		return GATEWAY_ANSWER_NOT_READY;
	return (pkt->syndrome & 31) == 0 ? GATEWAY_ANSWER_SEQUENCE : GATEWAY_ANSWER_ERROR;
}

static void told(struct gateway_pairs *p, struct pair *pair, struct flow *flow, const struct wire_pkt *pkt,
	const struct gateway_match_heard *heard, uint64_t now_ns)
{
	struct pair_path *path = &pair->path[flow->ev];

	if (flow->mixed && base_psn_diff(pkt->psn, flow->from) < 0)
		return;
	flow->mixed = false;
	if (heard->lost) {
		path->lost++;
		p->stats.losses++;
		path_sched_lost(&pair->sched, flow->ev, now_ns);
		gateway_pairs_put_off(pair, flow->ev, now_ns);
	}
	path->heard_ns = now_ns;
	pair->silent &= ~(UINT64_C(1) << flow->ev);
	if (!heard->news || heard->lost)
		return;
	if (!path_sched_alive(&pair->sched, flow->ev))
		pair->trial_wait_ns = GATEWAY_PAIRS_TRIAL_NS;
	path_sched_acked(&pair->sched, flow->ev, pkt->becn, heard->rtt_ns, now_ns);
}

static void hear_answer(
	struct gateway_pairs *p, const struct gateway_flow_key *key, const struct wire_pkt *pkt, uint64_t now_ns)
{
	struct flow *flow = flow_back(p, key, now_ns);
	struct gateway_match_heard heard;
	struct pair *pair;

	if (flow == NULL)
		flow = learn(p, key, pkt->psn, now_ns);
	pair = flow != NULL ? pair_of(p, flow) : NULL;
	if (pair == NULL) {
		p->stats.unmatched++;
		return;
	}
	heard = gateway_match_hear(&flow->match, pkt->psn, answer_of(pkt), now_ns);
	if (!heard.fits) {
		gateway_pairs_unlearn(p, flow);
		p->stats.unmatched++;
		return;
	}
	flow->hits = (uint8_t)(flow->hits + (heard.news && flow->hits < GATEWAY_PAIRS_SURE));
	p->stats.matched++;
	if (flow->hits == GATEWAY_PAIRS_SURE)
		told(p, pair, flow, pkt, &heard, now_ns);
}

static void hear_cnp(struct gateway_pairs *p, const struct gateway_flow_key *key, uint64_t now_ns)
{
	struct flow *flow = flow_back(p, key, now_ns);
	struct pair *pair = flow != NULL && flow->hits == GATEWAY_PAIRS_SURE ? pair_of(p, flow) : NULL;

	if (pair == NULL)
		return;
	p->stats.marks++;
	if (!path_sched_alive(&pair->sched, flow->ev))
		return;
	path_sched_acked(&pair->sched, flow->ev, true, 0, now_ns);
}

void gateway_pairs_hear(struct gateway_pairs *p, const struct wire_addr *far, const struct wire_addr *host,
	const struct wire_pkt *pkt, uint64_t now_ns)
{
	const struct wire_opinfo *info = wire_opinfo(pkt->opcode);
	const struct gateway_flow_key key = {.src = *far, .dst = *host, .dqpn = pkt->dqpn};

	if (info->service == WIRE_SERVICE_CNP)
		hear_cnp(p, &key, now_ns);
	else if (wire_op_is(info, WIRE_OP_RESPONSE) &&
		 (info->service == WIRE_SERVICE_RC || info->service == WIRE_SERVICE_XRC))
		hear_answer(p, &key, pkt, now_ns);
}
