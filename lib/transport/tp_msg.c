/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of a request packet in its place in the message, and the execution of SENDs and WRITEs: what the
 * responders of RC and UC share. Who asks decides what a verdict leads to.
 */
#include "tp_resp.h"

/* 9.7.4.1.3: does the queue pair allow the operation. */
enum tp_verdict tp_msg_check_operation(struct tp_request *r)
{
	uint32_t needs = 0;

	if (wire_op_is(r->info, WIRE_OP_WRITE | WIRE_OP_ATOMIC_WRITE))
		needs = TP_ACCESS_REMOTE_WRITE;
	else if (wire_op_is(r->info, WIRE_OP_READ))
		needs = TP_ACCESS_REMOTE_READ;
	else if (wire_op_is(r->info, WIRE_OP_ATOMIC))
		needs = TP_ACCESS_REMOTE_ATOMIC;
	return (r->qp->attr.access & needs) == needs ? TP_V_OK : TP_V_INV_REQ;
}

/* 9.7.4.1.4: a receive work request, where the message uses one. */
enum tp_verdict tp_msg_check_receive(struct tp_request *r)
{
	int rc;

	if (!wire_op_is(r->info, WIRE_OP_RECV_START) || r->qp->resp.have_recv)
		return TP_V_OK;
	rc = tp_recv_take(r->qp);
	if (rc <= 0)
		return rc == 0 ? TP_V_RNR : TP_V_RECV_BAD;
	return !wire_op_is(r->info, WIRE_OP_SEND) || tp_recv_writable(r->qp) ? TP_V_OK : TP_V_RECV_MEM;
}

static bool packet_length_ok(const struct tp_request *r)
{
	uint32_t bytes = r->pkt->payload_bytes, mtu = r->qp->mtu;
	bool start = wire_op_is(r->info, WIRE_OP_START), end = wire_op_is(r->info, WIRE_OP_END);

	if (((bytes + r->pkt->pad) & 3) != 0)
		return false;
	if (!wire_op_is(r->info, WIRE_OP_PAYLOAD))
		return bytes == 0;
	if (!end)
		return bytes == mtu;
	return bytes <= mtu && (start || bytes != 0);
}

/* 9.7.4.1.6: payload against the place in the message, pad count and MTU, message against its RETH. */
enum tp_verdict tp_msg_check_length(struct tp_request *r)
{
	const struct wire_pkt *pkt = r->pkt;
	bool end = wire_op_is(r->info, WIRE_OP_END);
	uint32_t left;

	if (!packet_length_ok(r))
		return TP_V_INV_REQ;
	if ((r->info->hdrs & WIRE_HDR_RETH) != 0 && pkt->dma_bytes > TP_MAX_MSG_BYTES)
		return TP_V_INV_REQ;
	if (wire_op_is(r->info, WIRE_OP_ATOMIC_WRITE))
		return pkt->dma_bytes == TP_ATOMIC_BYTES && pkt->payload_bytes == TP_ATOMIC_BYTES ? TP_V_OK
												  : TP_V_INV_REQ;
	if (!wire_op_is(r->info, WIRE_OP_WRITE))
		return TP_V_OK;
	left = wire_op_is(r->info, WIRE_OP_START) ? pkt->dma_bytes : r->qp->resp.wr_left;
	if (end)
		return left == pkt->payload_bytes ? TP_V_OK : TP_V_INV_REQ;
	return left > pkt->payload_bytes ? TP_V_OK : TP_V_INV_REQ;
}

static enum tp_verdict check_remote(struct tp_request *r, uint32_t access, uint32_t rkey, uint64_t va, uint32_t bytes)
{
	/* 9.7.4.1.5: nothing is accessed, so neither address nor key is looked at. */
	if (bytes == 0)
		return TP_V_OK;
	r->mr = tp_mr_check_remote(r->qp, rkey, access, va, bytes);
	return r->mr != NULL ? TP_V_OK : TP_V_REM_ACCESS;
}

/* 9.7.4.1.5: R_Key, rights and range; for a WRITE the whole of it at its start and again at every packet. */
enum tp_verdict tp_msg_check_target(struct tp_request *r)
{
	const struct wire_pkt *pkt = r->pkt;
	const struct tp_resp *resp = &r->qp->resp;

	if (wire_op_is(r->info, WIRE_OP_SEND))
		return TP_V_OK;
	if (wire_op_is(r->info, WIRE_OP_WRITE)) {
		if (wire_op_is(r->info, WIRE_OP_START))
			return check_remote(r, TP_ACCESS_REMOTE_WRITE, pkt->rkey, pkt->va, pkt->dma_bytes);
		return check_remote(r, TP_ACCESS_REMOTE_WRITE, resp->wr_rkey, resp->wr_va, pkt->payload_bytes);
	}
	if (wire_op_is(r->info, WIRE_OP_READ))
		return check_remote(r, TP_ACCESS_REMOTE_READ, pkt->rkey, pkt->va, pkt->dma_bytes);
	if (pkt->va % TP_ATOMIC_BYTES != 0)
		return TP_V_INV_REQ;
	return check_remote(r, wire_op_is(r->info, WIRE_OP_ATOMIC) ? TP_ACCESS_REMOTE_ATOMIC : TP_ACCESS_REMOTE_WRITE,
		pkt->rkey, pkt->va, TP_ATOMIC_BYTES);
}

/* ---- execution ---- */

static enum tp_verdict place_send(struct tp_request *r)
{
	struct tp_resp *resp = &r->qp->resp;
	uint32_t bytes = r->pkt->payload_bytes;

	if (wire_op_is(r->info, WIRE_OP_START))
		resp->msg_bytes = 0;
	resp->msg = TP_MSG_SEND;
	if ((uint64_t)resp->msg_bytes + bytes > RTE_MIN(resp->recv_capacity, (uint64_t)TP_MAX_MSG_BYTES))
		return TP_V_TOO_LONG;
	if (tp_recv_place(r->qp, resp->msg_bytes, r->payload, bytes) != 0)
		return resp->failed ? TP_V_DONE : TP_V_RECV_MEM;
	resp->msg_bytes += bytes;
	return TP_V_OK;
}

static enum tp_verdict place_write(struct tp_request *r)
{
	struct tp_resp *resp = &r->qp->resp;
	uint32_t bytes = r->pkt->payload_bytes;

	if (wire_op_is(r->info, WIRE_OP_START)) {
		resp->wr_va = r->pkt->va;
		resp->wr_rkey = r->pkt->rkey;
		resp->wr_left = resp->wr_total = r->pkt->dma_bytes;
	}
	resp->msg = TP_MSG_WRITE;
	if (bytes != 0 && tp_mem_put(r->qp, TP_ROLE_RESPONDER, r->mr, resp->wr_va, r->payload, bytes) != 0)
		return TP_V_DONE;
	resp->wr_va += bytes;
	resp->wr_left -= bytes;
	return TP_V_OK;
}

static enum tp_verdict invalidate(struct tp_request *r)
{
	/* What the region got before its end is to arrive. */
	if (tp_mem_flush_for(r->qp) != 0)
		return TP_V_DONE;
	return tp_mr_invalidate(r->qp, r->pkt->rkey) == 0 ? TP_V_OK : TP_V_BAD_INVALIDATE;
}

static enum tp_verdict end_message(struct tp_request *r)
{
	struct tp_resp *resp = &r->qp->resp;
	enum tp_verdict verdict = TP_V_OK;

	if ((r->pkt->hdrs & WIRE_HDR_IETH) != 0)
		verdict = invalidate(r);
	if (verdict != TP_V_OK)
		return verdict;
	if (wire_op_is(r->info, WIRE_OP_COMPLETES) && tp_mem_flush_for(r->qp) != 0)
		return TP_V_DONE;
	resp->msn = base_psn_add(resp->msn, 1);
	if (wire_op_is(r->info, WIRE_OP_COMPLETES)) {
		uint32_t bytes = resp->msg == TP_MSG_SEND ? resp->msg_bytes : resp->wr_total;

		tp_qp_complete_recv(r->qp, TP_WC_SUCCESS, r->pkt, bytes);
	}
	resp->msg = TP_MSG_NONE;
	return TP_V_OK;
}

enum tp_verdict tp_msg_execute(struct tp_request *r)
{
	enum tp_verdict verdict = wire_op_is(r->info, WIRE_OP_SEND) ? place_send(r) : place_write(r);

	if (verdict == TP_V_OK && wire_op_is(r->info, WIRE_OP_END))
		verdict = end_message(r);
	if (verdict != TP_V_OK)
		return verdict;
	r->qp->resp.epsn = base_psn_add(r->qp->resp.epsn, 1);
	r->qp->resp.peer_port = r->pkt->udp_sport;
	return TP_V_OK;
}
