/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The notification point: a packet that came with ECN "congestion experienced" makes a congestion notification packet to
 * its sender (IBTA annex A17, 17.9.3), no more often than a gap allows, for one queue pair and for one address. A peer
 * that has agreed to RC_SACK hears of its marks by that; only answers of READs, which nothing acknowledges, are
 * notified of there. Datagrams have no sender that could slow down.
 */
#include "tp_ext.h"
#include "tp_pace.h"

#define CNP_PAYLOAD_BYTES 16 /* reserved */

static uint32_t hash(const struct wire_addr *addr)
{
	uint32_t words[4], h = 0;

	memcpy(words, addr->b, sizeof(words));
	for (int i = 0; i < 4; i++)
		h = (h ^ words[i]) * 0x9e3779b1u;
	return h >> 24;
}

static bool peer_ready(struct tp *tp, const struct wire_addr *addr)
{
	struct tp_cnp_peer *peer = &tp->cnp_peers[hash(addr) % TP_CNP_PEERS];
	bool same = memcmp(&peer->addr, addr, sizeof(*addr)) == 0;

	if (same && peer->sent_ns != 0 && tp->now_ns - peer->sent_ns < tp->config.cnp.peer_gap_ns)
		return false;
	peer->addr = *addr;
	peer->sent_ns = tp->now_ns;
	return true;
}

static void notify(struct tp_qp *qp, const struct tp_av *av, uint8_t plane)
{
	static const uint8_t reserved[CNP_PAYLOAD_BYTES];
	struct rte_mbuf *m = tp_pkt_begin_to(qp, av, WIRE_CNP, 0);
	struct wire_pkt *pkt;

	if (m == NULL)
		return;
	pkt = TP_PKT(m);
	pkt->plane = plane;
	pkt->becn = 1;
	pkt->tos = qp->tp->config.cnp.tos;
	tp_pkt_send_to(qp, av, m, reserved, sizeof(reserved));
	TP_COUNT(qp, cnps_sent);
}

void tp_cnp_note(struct tp_qp *qp, const struct wire_pkt *pkt)
{
	const struct tp_cnp_config *config = &qp->tp->config.cnp;
	const struct tp_av *av = pkt->plane != 0 ? &qp->ext->plane[pkt->plane - 1] : &qp->attr.av;
	struct tp *tp = qp->tp;

	TP_COUNT(qp, marked);
	if (config->gap_ns == 0 || !qp->type->connected)
		return;
	if (qp->ext != NULL && !wire_op_is(wire_opinfo(pkt->opcode), WIRE_OP_RESPONSE))
		return;
	if (qp->cnp_ns != 0 && tp->now_ns - qp->cnp_ns < config->gap_ns)
		return;
	if (!peer_ready(tp, &av->net.dst))
		return;
	qp->cnp_ns = tp->now_ns;
	notify(qp, av, pkt->plane);
}

void tp_cnp_rx(struct tp_qp *qp)
{
	struct cc *cc = tp_pace_cc(qp);

	TP_COUNT(qp, cnps_received);
	if (cc != NULL)
		cc_cnp(cc, qp->tp->now_ns);
}
