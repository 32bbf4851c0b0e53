/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Short messages of one queue pair in one packet (RC_MERGED, docs/wire.md), with a peer that has agreed to it:
 * TP_EXT_MERGE. What is posted when a packet is made goes together; a packet that has room left may wait for more, for
 * a bounded time and only while others are on their way (compare RFC 896, which has no bound). Each message keeps its
 * PSN, so nothing else knows. What went together once is sent again together or each for itself, but never with others:
 * a responder keeps it by its first PSN.
 */
#include "tp_ext.h"
#include "tp_resp.h"
#include "wire_merge.h"

/* As a READ request, one that begins within the span may not reach over the ring's end. */
_Static_assert(WIRE_MERGE_MOST <= TP_READ_PKTS, "a packet of messages takes no more PSNs than a READ request");

static bool merges(const struct tp_qp *qp)
{
	return qp->ext != NULL && qp->ext->merge.max_bytes != 0;
}

/* ---- requester ---- */

static bool is_short(const struct tp_qp *qp, uint32_t wr)
{
	const struct tp_swr *swr = tp_req_swr(qp, wr);

	return swr->err == TP_WC_SUCCESS && swr->n_psn == 1 && !swr->answered && swr->bytes <= qp->ext->merge.max_bytes;
}

static bool is_fenced(const struct tp_qp *qp, uint32_t wr)
{
	return (tp_req_wqe(qp, wr)->flags & TP_SEND_FENCE) != 0 && qp->req.rd_out != 0;
}

/* How many work requests from snd on go together; *more: another would. */
static uint32_t count(struct tp_qp *qp, bool *more)
{
	struct tp_req *req = &qp->req;
	uint32_t bytes = 0, n = 0;

	*more = false;
	for (; n < WIRE_MERGE_MOST; n++) {
		uint32_t wr = req->snd + n;

		if (wr == req->tail && (qp->attr.state != TP_QPS_RTS || !tp_req_fetch(qp))) {
			*more = req->tail - req->head < qp->init.sq_depth;
			break;
		}
		if (!is_short(qp, wr) || (n != 0 && is_fenced(qp, wr)))
			break;
		bytes += wire_merge_bytes(tp_req_whole(qp, wr), tp_req_swr(qp, wr)->bytes);
		if (bytes > qp->mtu)
			break;
	}
	return n;
}

static bool wait_over(struct tp_ext *x)
{
	struct tp *tp = x->qp->tp;

	if (x->merge.wait_ns == 0 || x->qp->req.una == x->qp->req.snd_max)
		return true;
	if (x->merge_due_ns == 0) {
		x->merge_due_ns = tp->now_ns + x->merge.wait_ns;
		base_timer_start(&tp->wheel, &x->merge_timer, x->merge_due_ns);
	}
	return tp->now_ns >= x->merge_due_ns;
}

bool tp_merge_waits(struct tp_qp *qp)
{
	struct tp_ext *x = qp->ext;
	bool more;

	if (!merges(qp))
		return false;
	x->merge_n = count(qp, &more);
	return x->merge_n != 0 && more && !wait_over(x);
}

void tp_merge_fired(struct base_timer *timer, void *arg, uint64_t now_ns)
{
	struct tp_ext *x = arg;

	(void)timer;
	(void)now_ns;
	tp_activate(x->qp);
}

/* Lays out up to n messages from wr on; how many there are: one whose payload is not to be had ends it. */
static uint32_t lay_out(struct tp_qp *qp, uint32_t wr, uint32_t n, uint8_t *to, uint32_t *bytes)
{
	uint32_t k;

	*bytes = 0;
	for (k = 0; k < n; k++) {
		const struct tp_swr *swr = tp_req_swr(qp, wr + k);
		const uint8_t *payload = tp_req_payload(qp, wr + k, 0, swr->bytes);
		struct wire_pkt part = {.opcode = tp_req_whole(qp, wr + k), .payload_bytes = (uint16_t)swr->bytes};

		if (payload == NULL)
			break;
		tp_req_describe(qp, wr + k, true, &part);
		*bytes += wire_merge_put(to + *bytes, &part, payload);
	}
	return k;
}

uint32_t tp_merge_send(struct tp_qp *qp, uint32_t wr, uint32_t n)
{
	uint32_t psn = tp_req_swr(qp, wr)->psn, asked = n, bytes;
	uint8_t payload[TP_MAX_MTU];
	struct rte_mbuf *m;

	n = lay_out(qp, wr, n, payload, &bytes);
	/* What arrives of a copy is taken for all of what it is a copy of. */
	if (n < asked && qp->ext->probe_ev != PATH_SCHED_NO_EV)
		return 0;
	if (n < 2)
		return n;
	m = tp_pkt_begin(qp, WIRE_RC_MERGED, psn);
	if (m == NULL)
		return 0;
	TP_PKT(m)->merged = (uint8_t)n;
	TP_PKT(m)->ack_req = 1;
	qp->req.since_ackreq = 0;
	tp_sr_stamp(qp, TP_PKT(m), base_psn_add(psn, n));
	tp_pkt_send(qp, m, payload, bytes);
	qp->tp->counters.merged_sent++;
	qp->tp->counters.merged_messages += n;
	for (uint32_t i = 0; i < n; i++)
		tp_req_sent_to(qp, tp_req_swr(qp, wr + i), base_psn_add(psn, i + 1));
	return n;
}

uint32_t tp_merge_end(struct tp_ext *x, uint32_t psn)
{
	for (uint32_t k = 0; k < WIRE_MERGE_MOST; k++) {
		uint32_t first = base_psn_add(psn, 0u - k);
		const struct tp_sr_pkt *e = tp_sr_at(x, first);

		if (e->psn == first && e->times != 0 && e->n_psn > k)
			return base_psn_add(first, e->n_psn);
	}
	return base_psn_add(psn, 1);
}

/* ---- responder ---- */

uint32_t tp_merge_psns(const struct wire_pkt *pkt)
{
	/* One that is not well-formed is refused at its PSN. */
	return pkt->opcode == WIRE_RC_MERGED && pkt->merged != 0 ? tp_min(pkt->merged, WIRE_MERGE_MOST) : 1;
}

void tp_merge_rx(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *frame)
{
	struct tp_resp *resp = &qp->resp;
	struct wire_pkt part;

	/* Ahead, or not well-formed: as any request is judged. */
	if (base_psn_diff(pkt->psn, resp->epsn) > 0 || pkt->payload_bytes > qp->mtu || !wire_merge_ok(frame, pkt)) {
		tp_resp_take(qp, pkt, frame);
		return;
	}
	if (base_psn_diff(base_psn_add(pkt->psn, pkt->merged), resp->epsn) <= 0) {
		TP_COUNT(qp, duplicates);
		return;
	}
	qp->tp->counters.merged_received++;
	wire_merge_first(frame, pkt, &part);
	for (uint32_t i = 0; i < pkt->merged; i++) {
		if (i != 0)
			wire_merge_next(frame, &part);
		/* Part of it may have been taken before. */
		if (base_psn_diff(part.psn, resp->epsn) < 0)
			continue;
		if (!tp_resp_takes(qp) || tp_resp_take(qp, &part, frame) != TP_V_OK)
			return;
	}
}
