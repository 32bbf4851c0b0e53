/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets on their way out: headers, payload copied once, ICRC made on the way. */
#include "tp_ext.h"
#include "wire_icrc.h"

#define IP_DONT_FRAGMENT 0x4000
#define ECN_MASK         0x03
#define ECN_ECT0         0x02

static struct wire_pkt defaults(const struct tp_av *av, uint32_t dqpn)
{
	return (struct wire_pkt){
		.kind = WIRE_KIND_ROCE_V2,
		.l3_version = av->l3_version,
		.has_vlan = av->net.has_vlan,
		.vlan_tci = av->net.vlan_tci,
		.udp_sport = av->udp_sport,
		.pkey = TP_DEFAULT_PKEY,
		.tos = av->tos,
		.ttl = av->ttl,
		.ip_frag = IP_DONT_FRAGMENT,
		.dqpn = dqpn,
	};
}

void tp_pkt_prepare(struct tp_qp *qp)
{
	struct wire_pkt pkt = defaults(&qp->attr.av, qp->attr.dest_qpn);

	wire_template_make(&qp->template, &qp->attr.av.net, &pkt);
}

static inline struct rte_mbuf *alloc(struct tp *tp)
{
	struct rte_mbuf *m = tp->ops.pkt_alloc(tp->env);

	if (m == NULL)
		tp_drop(tp, BASE_DROP_NO_MBUF);
	return m;
}

static inline void number(struct tp_qp *qp, struct wire_pkt *pkt, uint8_t opcode, uint32_t psn)
{
	pkt->opcode = opcode;
	pkt->ip_id = qp->ip_id++;
	pkt->psn = psn;
}

/* The headers are there: what comes behind them, and away with it. */
static inline void finish(struct tp_qp *qp, const struct tp_av *av, struct rte_mbuf *m, const uint8_t *payload)
{
	struct tp *tp = qp->tp;
	const struct wire_pkt *pkt = TP_PKT(m);
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	uint32_t crc = wire_icrc_copy(frame + pkt->l3_off, (size_t)(pkt->payload_off - pkt->l3_off), payload,
		pkt->payload_bytes);

	wire_icrc_store(frame + pkt->frame_bytes - WIRE_ICRC_BYTES, crc);
	m->data_len = pkt->frame_bytes;
	m->pkt_len = pkt->frame_bytes;
	tp->counters.tx_pkts++;
	tp->counters.tx_bytes += pkt->frame_bytes;
	qp->counters.tx_pkts++;
	qp->counters.tx_bytes += pkt->frame_bytes;
	tp->ops.pkt_emit(tp->env, av, m);
}

static inline void set_bytes(struct wire_pkt *pkt, uint32_t bytes)
{
	pkt->payload_bytes = (uint16_t)bytes;
	pkt->pad = (uint8_t)(-bytes & 3);
}

struct rte_mbuf *tp_pkt_begin_to(struct tp_qp *qp, const struct tp_av *av, uint8_t opcode, uint32_t psn)
{
	struct rte_mbuf *m = alloc(qp->tp);

	if (m == NULL)
		return NULL;
	*TP_PKT(m) = defaults(av, qp->attr.dest_qpn);
	number(qp, TP_PKT(m), opcode, psn);
	return m;
}

void tp_pkt_send_to(struct tp_qp *qp, const struct tp_av *av, struct rte_mbuf *m, const uint8_t *payload,
	uint32_t bytes)
{
	set_bytes(TP_PKT(m), bytes);
	wire_write(rte_pktmbuf_mtod(m, uint8_t *), &av->net, TP_PKT(m));
	finish(qp, av, m, payload);
}

struct rte_mbuf *tp_pkt_begin(struct tp_qp *qp, uint8_t opcode, uint32_t psn)
{
	struct rte_mbuf *m = alloc(qp->tp);

	if (m == NULL)
		return NULL;
	wire_template_begin(&qp->template, TP_PKT(m));
	number(qp, TP_PKT(m), opcode, psn);
	return m;
}

static void send_by_plane(struct tp_qp *qp, struct rte_mbuf *m, const uint8_t *payload, uint32_t bytes)
{
	struct wire_pkt *pkt = TP_PKT(m);
	const struct tp_av *av = &qp->ext->plane[pkt->plane - 1];

	pkt->has_vlan = av->net.has_vlan;
	pkt->vlan_tci = av->net.vlan_tci;
	pkt->ttl = av->ttl;
	pkt->tos = av->tos;
	if ((pkt->tos & ECN_MASK) == 0)
		pkt->tos |= ECN_ECT0;
	tp_pkt_send_to(qp, av, m, payload, bytes);
}

void tp_pkt_send(struct tp_qp *qp, struct rte_mbuf *m, const uint8_t *payload, uint32_t bytes)
{
	struct wire_pkt *pkt = TP_PKT(m);

	if (pkt->plane != 0) {
		send_by_plane(qp, m, payload, bytes);
		return;
	}
	/* RFC 3168: a peer that has agreed tells of marks, so switches may mark instead of dropping. */
	if (qp->ext != NULL && (pkt->tos & ECN_MASK) == 0)
		pkt->tos |= ECN_ECT0;
	set_bytes(pkt, bytes);
	wire_template_write(&qp->template, rte_pktmbuf_mtod(m, uint8_t *), pkt);
	finish(qp, &qp->attr.av, m, payload);
}
