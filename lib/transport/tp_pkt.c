/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets on their way out: headers, payload copied once, ICRC made on the way. */
#include "tp_ext.h"
#include "wire_icrc.h"

#define IP_DONT_FRAGMENT 0x4000
#define ECN_MASK         0x03
#define ECN_ECT0         0x02

struct rte_mbuf *tp_pkt_begin_to(struct tp_qp *qp, const struct tp_av *av, uint8_t opcode, uint32_t psn)
{
	struct rte_mbuf *m = qp->tp->ops.pkt_alloc(qp->tp->env);
	struct wire_pkt *pkt;

	if (m == NULL) {
		tp_drop(qp->tp, BASE_DROP_NO_MBUF);
		return NULL;
	}
	pkt = TP_PKT(m);
	memset(pkt, 0, sizeof(*pkt));
	pkt->kind = WIRE_KIND_ROCE_V2;
	pkt->l3_version = av->l3_version;
	pkt->opcode = opcode;
	pkt->has_vlan = av->net.has_vlan;
	pkt->vlan_tci = av->net.vlan_tci;
	pkt->udp_sport = av->udp_sport;
	pkt->pkey = TP_DEFAULT_PKEY;
	pkt->tos = av->tos;
	pkt->ttl = av->ttl;
	pkt->ip_frag = IP_DONT_FRAGMENT;
	pkt->ip_id = qp->ip_id++;
	pkt->dqpn = qp->attr.dest_qpn;
	pkt->psn = psn;
	return m;
}

void tp_pkt_send_to(struct tp_qp *qp, const struct tp_av *av, struct rte_mbuf *m, const uint8_t *payload,
	uint32_t bytes)
{
	struct wire_pkt *pkt = TP_PKT(m);
	struct tp *tp = qp->tp;
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint32_t crc;

	pkt->payload_bytes = (uint16_t)bytes;
	pkt->pad = (uint8_t)(-bytes & 3);
	wire_write(frame, &av->net, pkt);
	crc = wire_icrc_copy(frame + pkt->l3_off, (size_t)(pkt->payload_off - pkt->l3_off), payload, bytes);
	wire_icrc_store(frame + pkt->frame_bytes - WIRE_ICRC_BYTES, crc);
	m->data_len = pkt->frame_bytes;
	m->pkt_len = pkt->frame_bytes;
	tp->counters.tx_pkts++;
	tp->counters.tx_bytes += pkt->frame_bytes;
	tp->ops.pkt_emit(tp->env, av, m);
}

struct rte_mbuf *tp_pkt_begin(struct tp_qp *qp, uint8_t opcode, uint32_t psn)
{
	return tp_pkt_begin_to(qp, &qp->attr.av, opcode, psn);
}

void tp_pkt_send(struct tp_qp *qp, struct rte_mbuf *m, const uint8_t *payload, uint32_t bytes)
{
	struct wire_pkt *pkt = TP_PKT(m);
	const struct tp_av *av = &qp->attr.av;

	if (pkt->plane != 0) {
		av = &qp->ext->plane[pkt->plane - 1];
		pkt->has_vlan = av->net.has_vlan;
		pkt->vlan_tci = av->net.vlan_tci;
		pkt->tos = av->tos;
		pkt->ttl = av->ttl;
	}
	/* RFC 3168: a peer that has agreed tells of marks, so switches may mark instead of dropping. */
	if (qp->ext != NULL && (pkt->tos & ECN_MASK) == 0)
		pkt->tos |= ECN_ECT0;
	tp_pkt_send_to(qp, av, m, payload, bytes);
}
