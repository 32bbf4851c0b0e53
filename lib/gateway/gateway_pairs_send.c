/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a packet goes. */
#include "gateway_pairs_internal.h"

#define SILENT_RTTS   4u
#define LONG_NS       UINT64_C(1000000000)   /* nothing is under way for longer */
#define TRIAL_MOST_NS UINT64_C(64000000000)
#define LEAST_MTU     256u
#define READ_MOST     (1u << 22)
/* These ask for an answer by themselves. */
#define ASKING        (WIRE_OP_READ | WIRE_OP_ATOMIC | WIRE_OP_FLUSH | WIRE_OP_ATOMIC_WRITE)

/* A packet on its way, and whose it is. */
struct passing {
	struct pair *pair;
	struct flow *flow;
	uint64_t now_ns;
	uint32_t psn;
	bool request, asks, cnp, loose;
	enum gateway_match_sent sent;
};

/* The latest of them take the places of the oldest: each has its turn while it waits for an answer. */
static void want(const struct gateway_pairs *p, struct pair *pair, struct flow *flow)
{
	struct ref *at = &pair->wanted[pair->turn++ % GATEWAY_PAIRS_WANTED];
	struct flow *other = gateway_pairs_flow_at(p, at);

	if (other != NULL)
		other->wanted = false;
	*at = gateway_pairs_ref(p, flow);
	flow->wanted = true;
}

/* Whether so much time has passed since all that was sent at that time has left: it is when a turn began, and turns may
 * be long. */
static bool is_past(const struct gateway_pairs *p, const struct passing *a, uint64_t sent_ns, uint64_t ns)
{
	if (a->now_ns - sent_ns <= ns)
		return false;
	for (uint32_t i = 0; i < GATEWAY_PAIRS_LONG_TURNS; i++) {
		if (p->long_turns[i].began_ns == sent_ns)
			return a->now_ns - p->long_turns[i].ended_ns > ns;
	}
	return true;
}

/* So long nothing was heard of the path, though something was to be heard and the thread was there to hear it. */
static bool is_silent(const struct gateway_pairs *p, const struct passing *a)
{
	const struct gateway_match *match = &a->flow->match;
	uint64_t heard_ns = a->pair->path[a->flow->ev].heard_ns, wait_ns = p->config.silence_ns;
	struct path_sched_stats stats = {.srtt_ns = 0};

	heard_ns = heard_ns > p->awake_ns ? heard_ns : p->awake_ns;
	if (match->waits_ns == 0 || a->now_ns - match->waits_ns <= wait_ns || a->now_ns - heard_ns <= wait_ns)
		return false;
	(void)path_sched_stats(&a->pair->sched, a->flow->ev, &stats);
	wait_ns = (uint64_t)stats.srtt_ns * SILENT_RTTS;
	return a->now_ns - match->waits_ns > wait_ns && a->now_ns - heard_ns > wait_ns;
}

/* Whether the flow's path is dead, or has lost what was on it. */
static void suspect(struct gateway_pairs *p, const struct passing *a)
{
	uint64_t bit = UINT64_C(1) << a->flow->ev, heard_ns = a->flow->match.heard_ns;

	heard_ns = heard_ns > p->awake_ns ? heard_ns : p->awake_ns;
	if (is_silent(p, a)) {
		if ((a->pair->silent & bit) != 0)
			return;
		a->pair->silent |= bit;
		p->stats.silences++;
		path_sched_timeout(&a->pair->sched, a->flow->ev, a->now_ns);
		gateway_pairs_put_off(a->pair, a->flow->ev, a->now_ns);
	} else if (a->sent == GATEWAY_SENT_UNTOLD && a->now_ns - heard_ns > p->config.flowlet_ns) {
		/* Had it been heard of late, it would be an answer that was lost, and asked for again. */
		a->pair->path[a->flow->ev].lost++;
		p->stats.losses++;
		path_sched_lost(&a->pair->sched, a->flow->ev, a->now_ns);
		gateway_pairs_put_off(a->pair, a->flow->ev, a->now_ns);
	}
}

/* Whether nothing of the flow is on its path any more: all of it was acknowledged or, where that is not known, so much
 * time has passed that what comes by another path does not overtake it. */
static bool may_move(const struct gateway_pairs *p, const struct passing *a)
{
	const struct flow *flow = a->flow;
	uint64_t flowlet_ns = p->config.flowlet_ns;

	if (flow->last_ns == 0)
		return true;
	if (a->cnp)
		return false;
	if ((a->pair->silent >> flow->ev & 1) != 0)
		return true;
	if (flow->hits < GATEWAY_PAIRS_SURE || a->sent == GATEWAY_SENT_RESTART)
		return is_past(p, a, flow->last_ns, flowlet_ns);
	if (flow->loose_ns != 0 && !is_past(p, a, flow->loose_ns, flowlet_ns))
		return false;
	if (gateway_match_idle(&flow->match) || is_past(p, a, flow->request_ns, LONG_NS))
		return true;
	return a->sent == GATEWAY_SENT_UNTOLD && is_past(p, a, flow->request_ns, flowlet_ns);
}

/* A dead path is known to live again only if something is sent there; if not, that is lost and the host's timer has to
 * find out. */
static bool try_dead(struct gateway_pairs *p, const struct passing *a, uint8_t *ev)
{
	struct pair *pair = a->pair;
	uint8_t n = p->config.sched.n_evs, i = 0;

	if (a->flow->hits < GATEWAY_PAIRS_SURE || !a->asks || a->sent != GATEWAY_SENT_NEW || a->now_ns < pair->trial_ns)
		return false;
	*ev = pair->tried;
	do
		*ev = (uint8_t)(*ev + 1 < n ? *ev + 1 : 0);
	while (path_sched_alive(&pair->sched, *ev) && ++i < n);
	if (i == n) {
		pair->trial_ns = a->now_ns + GATEWAY_PAIRS_TRIAL_NS;
		return false;
	}
	pair->tried = *ev;
	pair->trial_ns = a->now_ns + pair->trial_wait_ns;
	pair->trial_wait_ns = pair->trial_wait_ns < TRIAL_MOST_NS ? pair->trial_wait_ns * 2 : TRIAL_MOST_NS;
	p->stats.trials++;
	return true;
}

static void move(struct gateway_pairs *p, const struct passing *a)
{
	const struct path_sched_view view = {.now_ns = a->now_ns, .last_send_ns = a->flow->last_ns};
	struct flow *flow = a->flow;
	uint8_t ev;

	if (!try_dead(p, a, &ev))
		ev = path_sched_pick(&a->pair->sched, &view);
	/* Whether anything comes back by it is found out anew. */
	a->pair->silent &= ~(UINT64_C(1) << ev);
	if (ev == flow->ev)
		return;
	p->stats.moves += flow->last_ns != 0;
	flow->ev = ev;
	flow->from = a->psn;
	flow->mixed = a->request && !gateway_match_idle(&flow->match);
	gateway_match_forget(&flow->match);
}

static void classify(struct passing *a, const struct wire_pkt *pkt)
{
	const struct wire_opinfo *info = wire_opinfo(pkt->opcode);
	bool reliable = info->service == WIRE_SERVICE_RC || info->service == WIRE_SERVICE_XRC ||
			info->service == WIRE_SERVICE_EXT;

	a->cnp = info->service == WIRE_SERVICE_CNP;
	a->request = reliable && !wire_op_is(info, WIRE_OP_RESPONSE);
	a->asks = a->request && (pkt->ack_req || wire_op_is(info, ASKING));
	/* ACKs say all that those before them said; but one must not overtake the answer to a READ. */
	a->loose = !a->request && (pkt->opcode & WIRE_OPERATION_MASK) != WIRE_RC_ACK;
	a->psn = pkt->psn;
	a->sent = a->request ? gateway_match_look(&a->flow->match, pkt->psn) : GATEWAY_SENT_NEW;
}

/* PSNs that the answer to a request may have. */
static uint32_t psns_of(const struct wire_pkt *pkt)
{
	uint32_t most = pkt->dma_bytes / LEAST_MTU + 1;

	if (!wire_op_is(wire_opinfo(pkt->opcode), WIRE_OP_READ))
		return 1;
	return most < READ_MOST ? most : READ_MOST;
}

static void note(const struct gateway_pairs *p, const struct passing *a, const struct wire_pkt *pkt)
{
	struct flow *flow = a->flow;

	if (a->cnp)
		return;
	flow->last_ns = a->now_ns;
	if (a->loose)
		flow->loose_ns = a->now_ns;
	if (!a->request)
		return;
	flow->request_ns = a->now_ns;
	gateway_match_send(&flow->match, pkt->psn, a->asks, psns_of(pkt), a->now_ns);
	if (a->asks && flow->hits == 0 && !flow->wanted)
		want(p, a->pair, flow);
}

/* Whether its host changes the source port again and again. */
static bool spreads(const struct passing *a, uint16_t sport)
{
	struct flow *flow = a->flow;

	if (a->request && flow->own != sport) {
		flow->changes = (uint8_t)(flow->changes + (flow->own != 0 && flow->changes < GATEWAY_PAIRS_OWN_MOST));
		flow->own = sport;
	}
	return flow->changes == GATEWAY_PAIRS_OWN_MOST;
}

uint16_t gateway_pairs_send(struct gateway_pairs *p, const struct wire_addr *src, const struct wire_addr *dst,
	const struct wire_pkt *pkt, uint64_t now_ns)
{
	/* Datagrams of several queue pairs may be for the same one. */
	bool datagram = wire_opinfo(pkt->opcode)->service == WIRE_SERVICE_UD;
	const struct gateway_flow_key key = {
		.src = *src, .dst = *dst, .dqpn = pkt->dqpn, .sport = datagram ? pkt->udp_sport : 0};
	struct passing a = {.pair = gateway_pairs_get(p, src, dst, now_ns), .now_ns = now_ns};

	p->busy = true;
	a.flow = a.pair != NULL ? gateway_pairs_get_flow(p, a.pair, &key, now_ns) : NULL;
	if (a.flow == NULL) {
		p->stats.refused++;
		return pkt->udp_sport;
	}
	classify(&a, pkt);
	if (spreads(&a, pkt->udp_sport)) {
		p->stats.own++;
		return pkt->udp_sport;
	}
	if (a.sent == GATEWAY_SENT_RESTART)
		gateway_pairs_unlearn(p, a.flow);
	else if (a.request && a.flow->hits >= GATEWAY_PAIRS_SURE)
		suspect(p, &a);
	if (may_move(p, &a))
		move(p, &a);
	note(p, &a, pkt);
	a.pair->path[a.flow->ev].sent++;
	return (uint16_t)(a.pair->sport + a.flow->ev);
}
