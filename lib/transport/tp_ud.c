/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unreliable datagrams (IBTA vol. 1, 9.8.3): each message is one packet, sent to the address handle of its
 * work request, and what does not fit at the receiver is dropped without a word.
 */
#include "tp_internal.h"

#define GRH_BYTES     40
#define IP4_HDR_BYTES 20
#define QKEY_OF_QP    0x80000000u   /* 10.2.5: with this bit in the work request, the queue pair's own is sent */

/* ---- sending ---- */

static void address(struct tp_qp *qp, const struct tp_send_wqe *wqe, struct wire_pkt *pkt)
{
	pkt->dqpn = wqe->ud.qpn & BASE_PSN_MASK;
	pkt->qkey = (wqe->ud.qkey & QKEY_OF_QP) != 0 ? qp->attr.qkey : wqe->ud.qkey;
	pkt->sqpn = qp->qpn;
	pkt->imm = wqe->imm;
	pkt->solicited = (wqe->flags & TP_SEND_SOLICITED) != 0;
}

static bool send_datagram(struct tp_qp *qp, struct tp_swr *swr)
{
	const struct tp_send_wqe *wqe = tp_req_wqe(qp, qp->req.snd);
	const struct tp_av *av = tp_ah_find(qp->tp, wqe->ud.ah, qp->init.pd);
	uint8_t opcode = wqe->opcode == TP_WR_SEND ? WIRE_RC_SEND_ONLY : WIRE_RC_SEND_ONLY_IMM;
	const uint8_t *data;
	struct rte_mbuf *m;

	if (av == NULL) {
		swr->err = TP_WC_LOC_QP_OP_ERR;
		return false;
	}
	data = tp_req_payload(qp, qp->req.snd, 0, swr->bytes);
	if (data == NULL)
		return false;
	m = tp_pkt_begin_to(qp, av, tp_req_opcode(qp, opcode), qp->req.snd_psn);
	if (m == NULL)
		return false;
	address(qp, wqe, TP_PKT(m));
	tp_pkt_send_to(qp, av, m, data, swr->bytes);
	return true;
}

uint32_t tp_ud_send(struct tp_qp *qp, struct tp_swr *swr, uint32_t budget)
{
	(void)budget;
	/* C10-93.1.1: what is longer than the port's MTU is not sent, and that is no error. */
	if (swr->bytes > qp->mtu)
		tp_drop(qp->tp, BASE_DROP_UD_LENGTH);
	else if (!send_datagram(qp, swr))
		return 0;
	tp_req_sent_to(qp, swr, base_psn_add(swr->psn, 1));
	return 1;
}

/* ---- receiving ---- */

/* Annex A17: an IPv6 header stands in place of the GRH; an IPv4 header in the last 20 of its 40 bytes. */
static int place_grh(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *frame)
{
	uint8_t grh[GRH_BYTES] = {0};

	if (pkt->l3_version == 6)
		memcpy(grh, frame + pkt->l3_off, GRH_BYTES);
	else
		memcpy(grh + GRH_BYTES - IP4_HDR_BYTES, frame + pkt->l3_off, IP4_HDR_BYTES);
	return tp_recv_place(qp, 0, grh, GRH_BYTES);
}

static void deliver(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *frame)
{
	const uint8_t *payload = frame + pkt->payload_off;

	if (place_grh(qp, pkt, frame) != 0 || tp_recv_place(qp, GRH_BYTES, payload, pkt->payload_bytes) != 0 ||
		tp_mem_flush_for(qp) != 0) {
		tp_qp_recv_error(qp, TP_WC_LOC_PROT_ERR);
		return;
	}
	tp_qp_complete_recv(qp, TP_WC_SUCCESS, pkt, GRH_BYTES + pkt->payload_bytes);
}

void tp_ud_rx(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *frame)
{
	int rc;

	if (pkt->payload_bytes > qp->mtu || ((pkt->payload_bytes + pkt->pad) & 3) != 0) {
		tp_drop(qp->tp, BASE_DROP_UD_LENGTH);
		return;
	}
	rc = tp_recv_take(qp);
	if (rc == 0) {
		tp_drop(qp->tp, BASE_DROP_NO_RECV);
		return;
	}
	if (rc < 0) {
		tp_qp_recv_error(qp, TP_WC_LOC_QP_OP_ERR);
		return;
	}
	/* 9.8.3: dropped, and the receive work request stays for the next one. */
	if (qp->resp.recv_capacity < GRH_BYTES + (uint64_t)pkt->payload_bytes) {
		tp_drop(qp->tp, BASE_DROP_UD_LENGTH);
		return;
	}
	if (!tp_recv_writable(qp))
		tp_qp_recv_error(qp, TP_WC_LOC_PROT_ERR);
	else
		deliver(qp, pkt, frame);
}
