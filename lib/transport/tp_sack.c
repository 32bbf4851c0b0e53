/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selective acknowledgements, the responder's side. Every request packet is acknowledged by an RC_SACK of its own, from
 * the UDP source port that it came from, at the end of the burst that it came in: the requester learns of each
 * path what became of its packets, and a lost RC_SACK is made up for by the next one. They do not wait for answers
 * of READs and atomics: they tell what has come, not what has been answered.
 */
#include "tp_ext.h"
#include "tp_hold.h"

#define ECN_MASK 3u
#define ECN_CE   3u

static bool answering(const struct tp_qp *qp)
{
	/* What failed is told by a NAK. */
	return !qp->resp.failed &&
		(qp->attr.state == TP_QPS_RTR || qp->attr.state == TP_QPS_RTS || qp->attr.state == TP_QPS_SQD);
}

void tp_sack_note(struct tp_qp *qp, const struct wire_pkt *pkt)
{
	struct tp_ext *x = qp->ext;

	if (x == NULL || !answering(qp))
		return;
	x->rx_plane = pkt->plane;
	if (pkt->payload_bytes != 0)
		tp_senders_note(qp);
	if (x->n_echo == TP_SACK_ECHOES && tp_mem_flush_for(qp) == 0)
		tp_sack_send(qp);
	if (x->n_echo == TP_SACK_ECHOES) {
		tp_drop(qp->tp, BASE_DROP_NO_MBUF);
		return;
	}
	x->echo[x->n_echo++] = (struct tp_echo){
		.psn = pkt->psn,
		.udp_sport = pkt->udp_sport,
		.plane = pkt->plane,
		.marked = (pkt->tos & ECN_MASK) == ECN_CE,
	};
}

/* Which 64 PSNs the map is about: those around the packet that is acknowledged, so that far ahead of a hole as well
 * each packet is told of by several acknowledgements. */
static uint32_t block_of(const struct tp_resp *resp, uint32_t psn)
{
	int32_t ahead = base_psn_diff(psn, resp->epsn) - 1;

	return ahead < 0 ? 0 : tp_min((uint32_t)ahead / WIRE_SACK_BLOCK_PSNS, WIRE_SACK_BLOCK_MASK);
}

static uint64_t map_of(const struct tp_hold *hold, uint32_t psn)
{
	uint64_t map = 0;

	for (uint32_t i = 0; hold->n != 0 && i < WIRE_SACK_BLOCK_PSNS; i++)
		map |= (uint64_t)tp_hold_has(hold, base_psn_add(psn, i)) << i;
	return map;
}

static bool send_one(struct tp_qp *qp, const struct tp_echo *echo)
{
	const struct tp_resp *resp = &qp->resp;
	uint32_t block = block_of(resp, echo->psn);
	bool taken = base_psn_diff(echo->psn, resp->epsn) < 0 || tp_hold_has(&resp->hold, echo->psn);
	struct rte_mbuf *m = tp_pkt_begin(qp, WIRE_RC_SACK, base_psn_add(resp->epsn, BASE_PSN_MASK));
	struct wire_pkt *pkt;

	if (m == NULL)
		return false;
	pkt = TP_PKT(m);
	pkt->udp_sport = echo->udp_sport;
	pkt->plane = echo->plane;
	pkt->syndrome = TP_SYN_ACK;
	pkt->msn = resp->msn;
	pkt->sack_map = map_of(&resp->hold, base_psn_add(resp->epsn, 1 + block * WIRE_SACK_BLOCK_PSNS));
	pkt->sack_echo = echo->psn | block << WIRE_SACK_BLOCK_SHIFT;
	pkt->sack_senders = tp_senders(qp->tp);
	if (echo->marked)
		pkt->sack_echo |= WIRE_SACK_MARKED;
	if (!taken)
		pkt->sack_echo |= WIRE_SACK_REFUSED;
	tp_pkt_send(qp, m, NULL, 0);
	qp->tp->counters.sacks_sent++;
	return true;
}

void tp_sack_send(struct tp_qp *qp)
{
	struct tp_ext *x = qp->ext;
	uint32_t n = 0;

	/* They take the place of what is due otherwise. */
	qp->resp.ack_pending = false;
	qp->resp.since_ack = 0;
	if (!answering(qp)) {
		x->n_echo = 0;
		return;
	}
	while (n < x->n_echo && send_one(qp, &x->echo[n]))
		n++;
	x->n_echo -= n;
	if (x->n_echo != 0 && n != 0)
		memmove(x->echo, x->echo + n, x->n_echo * sizeof(x->echo[0]));
}

struct tp_saved *tp_sack_replay(struct tp_qp *qp, const struct tp_saved *saved)
{
	struct tp_ext *x = qp->ext;

	for (uint32_t i = 0; i < TP_SACK_REPLAYS; i++) {
		if (x->replay[i].queued)
			continue;
		x->replay[i] = *saved;
		x->replay[i].queued = false;
		return &x->replay[i];
	}
	return NULL;
}
