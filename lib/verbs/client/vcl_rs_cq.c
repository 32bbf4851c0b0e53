/* SPDX-License-Identifier: BSD-3-Clause */
/* What a stream posts, and what comes of it. */
#include <string.h>

#include "vcl_rs.h"

#define BURST 16

/* ---- posting ---- */

int rs_post_write(struct rs_sock *rs, uint32_t imm, uint32_t ring_bytes, struct ibv_sge *sge, bool is_inline,
	uint64_t addr, uint32_t key)
{
	bool tells = rs_imm_op(imm) != RS_OP_WRITE;
	struct ibv_send_wr wr =
				   {
					   .wr_id = rs_imm(
						   rs_imm_op(imm), ring_bytes), /* what its completion gives back */
					   .sg_list = sge,
					   .num_sge = sge != NULL,
					   .opcode = tells ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
					   .send_flags = is_inline ? IBV_SEND_INLINE : 0,
					   .imm_data = htonl(imm),
					   .wr.rdma = {.remote_addr = addr, .rkey = key},
				   },
			   *bad;
	int err = ibv_post_send(rs->st.id->qp, &wr, &bad);

	if (err != 0)
		rs_fail(rs, err == EIO ? EIO : ECONNRESET);
	return -err;
}

int rs_send_ctrl(struct rs_sock *rs, enum rs_ctrl what)
{
	int err = rs_post_write(rs, rs_imm(RS_OP_CTRL, what), 0, NULL, false, 0, 0);

	if (err == 0)
		rs->st.out.ctrl_slots--;
	return err;
}

/* Writes the next free half of the receive ring into the peer's table, with the credit limit; or that alone. */
static void send_update(struct rs_sock *rs)
{
	struct rs_stream *st = &rs->st;
	uint32_t imm = rs_imm(RS_OP_SGL, rs_recv_limit(&st->in));
	struct rs_sge half = {.key = st->recv_mr->rkey, .length = st->in.size / 2};
	struct ibv_sge sge = {.addr = (uintptr_t)&half, .length = sizeof(half)};
	uint64_t at = st->peer.sgl.addr + st->peer_entry * sizeof(half);

	st->out.ctrl_slots--;
	if (!rs_recv_half_free(&st->in)) {
		(void)rs_post_write(rs, imm, 0, NULL, false, 0, 0);
		return;
	}
	half.addr = (uintptr_t)(st->recv_buf + rs_recv_give(&st->in));
	if (st->peer.swap)
		half = rs_sge_swap(half);
	st->peer_entry = (st->peer_entry + 1) % st->peer.sgl.length;
	(void)rs_post_write(rs, imm, 0, &sge, true, at, st->peer.sgl.key);
}

void rs_send_updates(struct rs_sock *rs)
{
	while (rs->state == RS_CONNECTED && rs->st.out.ctrl_slots != 0 && rs_recv_update_due(&rs->st.in))
		send_update(rs);
}

/* ---- completions ---- */

static void peer_ctrl(struct rs_sock *rs, uint32_t what)
{
	switch (what) {
	case RS_CTRL_DISCONNECT:
		rs->st.peer_done = true;
		rs->state = RS_ENDED;
		return;
	case RS_CTRL_SHUTDOWN:
		rs->st.peer_done = true;
		if (rs->st.self_done)
			rs->state = RS_ENDED;
		return;
	case RS_CTRL_KEEPALIVE:
		return;
	default:
		rs_fail(rs, EPROTO);
	}
}

/* What the peer says is checked against what it was given; anything else ends the connection. */
static void received(struct rs_sock *rs, const struct ibv_wc *wc)
{
	struct rs_stream *st = &rs->st;
	uint32_t imm = ntohl(wc->imm_data), value = rs_imm_value(imm);

	if (rs->state == RS_ACCEPTING) /* it has our answer, or it could not send */
		rs->state = RS_CONNECTED;
	if (rs->state != RS_CONNECTED || st->peer_done)
		return;
	if ((wc->wc_flags & IBV_WC_WITH_IMM) == 0) {
		rs_fail(rs, EPROTO);
		return;
	}
	switch (rs_imm_op(imm)) {
	case RS_OP_DATA:
		if (!rs_recv_data(&st->in, value))
			rs_fail(rs, EPROTO);
		return;
	case RS_OP_SGL:
		st->out.limit = (uint16_t)value;
		st->target_news = true;
		return;
	case RS_OP_IOMAP:
		st->in.msgs++; /* the peer took a credit for it */
		if (value >= st->iomap_entries)
			rs_fail(rs, EPROTO);
		return;
	case RS_OP_CTRL:
		peer_ctrl(rs, value);
		return;
	default:
		rs_fail(rs, EPROTO);
	}
}

static int failed_errno(enum ibv_wc_status status)
{
	return status == IBV_WC_RETRY_EXC_ERR || status == IBV_WC_RNR_RETRY_EXC_ERR ? ETIMEDOUT : ECONNRESET;
}

static void sent(struct rs_sock *rs, const struct ibv_wc *wc)
{
	struct rs_send_flow *out = &rs->st.out;

	out->freed += rs_imm_value((uint32_t)wc->wr_id);
	switch (rs_imm_op((uint32_t)wc->wr_id)) {
	case RS_OP_SGL:
	case RS_OP_CTRL:
		out->ctrl_slots++;
		return;
	default:
		out->slots++;
	}
}

/* What the peer sent before it left still counts; without its word that it was all, that is a failure. */
void rs_lost(struct rs_sock *rs)
{
	rs_fail(rs, rs->st.peer_done ? EPIPE : ECONNRESET);
}

static void complete(struct rs_sock *rs, const struct ibv_wc *wc)
{
	bool is_recv = wc->wr_id == RS_WR_RECV;

	if (!is_recv)
		sent(rs, wc);
	if (wc->status != IBV_WC_SUCCESS) {
		if (!is_recv && wc->status != IBV_WC_WR_FLUSH_ERR)
			rs_fail(rs, failed_errno(wc->status));
		rs_lost(rs);
		return;
	}
	if (!is_recv)
		return;
	rs->st.unposted++;
	received(rs, wc);
}

/* True: there were some. */
static bool drain(struct rs_sock *rs, struct ibv_cq *cq)
{
	struct ibv_wc wc[BURST];
	bool moved = false;
	int i, n;

	do {
		n = ibv_poll_cq(cq, BURST, wc);
		for (i = 0; i < n; i++)
			complete(rs, &wc[i]);
		moved = moved || n > 0;
		if (rs->st.unposted != 0 && rs->state != RS_FAILED && rs_qp_post_recvs(rs) != 0)
			rs_fail(rs, ECONNRESET);
	} while (n == BURST);
	if (n < 0)
		rs_fail(rs, EIO);
	return moved;
}

/* Sends first: one that failed says why, flushed receives only follow. */
void rs_cq_process(struct rs_sock *rs)
{
	bool moved = drain(rs, rs->st.send_cq);

	moved = drain(rs, rs->st.recv_cq) || moved;
	rs_send_updates(rs);
	if (!moved)
		return;
	if (rs->opt.keepalive)
		rs->st.heard_ns = rs_now_ns();
	rs_wake(rs);
}

/* ---- keepalive ---- */

int64_t rs_keepalive_due_ns(const struct rs_sock *rs)
{
	if (rs->type != SOCK_STREAM || !rs->opt.keepalive || rs->state != RS_CONNECTED)
		return RS_NEVER;
	return rs->st.heard_ns + rs->opt.keep_idle_s * 1000000000ll;
}

/* A peer that is gone does not acknowledge it: then the queue pair's retries run out and the socket fails. */
void rs_keepalive(struct rs_sock *rs)
{
	int64_t now = rs->opt.keepalive ? rs_now_ns() : 0;

	if (rs_keepalive_due_ns(rs) > now)
		return;
	rs->st.heard_ns = now;
	if (rs->st.out.ctrl_slots != 0) /* else there is something on its way anyway */
		(void)rs_send_ctrl(rs, RS_CTRL_KEEPALIVE);
}
