/* SPDX-License-Identifier: BSD-3-Clause */
/* A stream's queue pair, and the memory it sends from and receives into. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "vcl_rs.h"

#define MIN_DEPTH      16
#define MIN_RING_BYTES 4096
#define MAX_RING_BYTES (1u << 28) /* a message's length has 29 bits */
#define MAX_CREDITS    32768      /* counted in 16 bits */
#define TABLE_ALIGN    64

static uint32_t clamp(int64_t wish, int64_t least, int64_t most)
{
	int64_t n = wish > most ? most : wish;

	return (uint32_t)(n < least ? least : n);
}

static size_t tables_bytes(const struct rs_stream *st)
{
	return sizeof(struct rs_tables) + st->iomap_entries * sizeof(struct rs_iomap);
}

static void choose_sizes(struct rs_sock *rs, const struct ibv_device_attr *dev)
{
	struct rs_stream *st = &rs->st;

	st->send_depth = clamp(rs->opt.send_depth, MIN_DEPTH, dev->max_qp_wr);
	st->recv_depth =
		clamp(rs->opt.recv_depth, MIN_DEPTH, dev->max_qp_wr < MAX_CREDITS ? dev->max_qp_wr : MAX_CREDITS);
	/* Entries of the peer's tables go inline. */
	st->inline_bytes = clamp(rs->opt.inline_bytes, sizeof(struct rs_iomap), 1 << 20);
	/* What the peer will read in our private data. */
	st->iomap_entries = rs_unscale(rs_scale(clamp(rs->opt.iomap_entries, 0, UINT16_MAX)));
	rs_send_init(&st->out, clamp(rs->opt.send_bytes, MIN_RING_BYTES, MAX_RING_BYTES), st->send_depth);
	/* Halves that begin at multiples of what machines read at once. */
	rs_recv_init(&st->in, clamp(rs->opt.recv_bytes, MIN_RING_BYTES, MAX_RING_BYTES) & ~(2u * TABLE_ALIGN - 1),
		(uint16_t)st->recv_depth);
}

static void *zeroed(size_t bytes)
{
	size_t whole = (bytes + TABLE_ALIGN - 1) & ~(size_t)(TABLE_ALIGN - 1);
	void *p = aligned_alloc(TABLE_ALIGN, whole);

	return p != NULL ? memset(p, 0, whole) : NULL;
}

static int make_memory(struct rs_stream *st)
{
	const int local = IBV_ACCESS_LOCAL_WRITE, remote = local | IBV_ACCESS_REMOTE_WRITE;
	struct ibv_pd *pd = st->id->pd;

	st->send_buf = zeroed(st->out.size);
	st->recv_buf = zeroed(st->in.size);
	st->tables = zeroed(tables_bytes(st));
	if (st->send_buf == NULL || st->recv_buf == NULL || st->tables == NULL)
		return -ENOMEM;
	st->send_mr = ibv_reg_mr(pd, st->send_buf, st->out.size, local);
	st->recv_mr = st->send_mr != NULL ? ibv_reg_mr(pd, st->recv_buf, st->in.size, remote) : NULL;
	st->tables_mr = st->recv_mr != NULL ? ibv_reg_mr(pd, st->tables, tables_bytes(st), remote) : NULL;
	return st->tables_mr == NULL ? -errno : 0;
}

static int make_queues(struct rs_sock *rs)
{
	struct rs_stream *st = &rs->st;
	struct ibv_qp_init_attr attr = {.cap = {.max_send_wr = st->send_depth,
						.max_recv_wr = st->recv_depth,
						.max_send_sge = 1,
						.max_recv_sge = 1,
						.max_inline_data = st->inline_bytes},
		.qp_type = IBV_QPT_RC,
		.sq_sig_all = 1};
	int flags;

	st->comp = ibv_create_comp_channel(st->id->verbs);
	if (st->comp == NULL)
		return -errno;
	flags = fcntl(st->comp->fd, F_GETFL);
	if (fcntl(st->comp->fd, F_SETFL, flags | O_NONBLOCK) != 0)
		return -errno;
	attr.recv_cq = st->recv_cq = ibv_create_cq(st->id->verbs, (int)st->recv_depth, rs, st->comp, 0);
	if (st->recv_cq == NULL)
		return -errno;
	attr.send_cq = st->send_cq = ibv_create_cq(st->id->verbs, (int)st->send_depth, rs, st->comp, 0);
	if (st->send_cq == NULL)
		return -errno;
	if (rdma_create_qp(st->id, st->id->pd, &attr) == 0)
		return 0;
	/* A device with less room for inline data than was asked for still sends our tables' entries. */
	attr.cap.max_inline_data = st->inline_bytes = sizeof(struct rs_iomap);
	return rdma_create_qp(st->id, st->id->pd, &attr) == 0 ? 0 : -errno;
}

int rs_qp_make(struct rs_sock *rs)
{
	struct ibv_device_attr dev;
	int err = -ibv_query_device(rs->st.id->verbs, &dev);

	if (err != 0)
		return err;
	choose_sizes(rs, &dev);
	err = make_memory(&rs->st);
	if (err == 0)
		err = make_queues(rs);
	if (err != 0)
		return err;
	rs->st.unposted = rs->st.recv_depth;
	return rs_qp_post_recvs(rs);
}

static void free_memory(struct ibv_mr *mr, void *buf)
{
	if (mr != NULL)
		(void)ibv_dereg_mr(mr);
	free(buf);
}

/* What has been made so far. */
void rs_qp_free(struct rs_sock *rs)
{
	struct rs_stream *st = &rs->st;

	if (st->id != NULL && st->id->qp != NULL)
		rdma_destroy_qp(st->id);
	rs_free_mappings(rs);
	if (st->send_cq != NULL)
		(void)ibv_destroy_cq(st->send_cq);
	if (st->recv_cq != NULL)
		(void)ibv_destroy_cq(st->recv_cq);
	if (st->comp != NULL)
		(void)ibv_destroy_comp_channel(st->comp);
	free_memory(st->send_mr, st->send_buf);
	free_memory(st->recv_mr, st->recv_buf);
	free_memory(st->tables_mr, st->tables);
}

/* Receives hold no memory: they only take immediate data. */
int rs_qp_post_recvs(struct rs_sock *rs)
{
	struct ibv_recv_wr wr[16], *bad;
	uint32_t i, n;
	int err;

	while (rs->st.unposted != 0) {
		n = rs->st.unposted < 16 ? rs->st.unposted : 16;
		for (i = 0; i < n; i++)
			wr[i] = (struct ibv_recv_wr){.wr_id = RS_WR_RECV, .next = i + 1 < n ? &wr[i + 1] : NULL};
		err = ibv_post_recv(rs->st.id->qp, wr, &bad);
		if (err != 0)
			return -err;
		rs->st.unposted -= n;
	}
	return 0;
}

void rs_qp_describe(const struct rs_sock *rs, struct rs_conn_data *out)
{
	const struct rs_stream *st = &rs->st;
	struct rs_peer self = {
		.credits = (uint16_t)st->recv_depth,
		.iomap_entries = st->iomap_entries,
		.sgl = {(uintptr_t)st->tables->sgl, st->tables_mr->rkey, 2},
		.buf = {(uintptr_t)st->recv_buf, st->recv_mr->rkey, st->in.size / 2},
	};

	rs_conn_data_fill(out, &self);
}

void rs_qp_connected(struct rs_sock *rs, const struct rs_peer *peer)
{
	struct rs_stream *st = &rs->st;

	st->peer = *peer;
	st->peer_entry = 1; /* its first is filled from our private data */
	st->target = peer->buf;
	st->target_next = 1;
	st->out.limit = peer->credits;
	if (rs->opt.keepalive)
		st->heard_ns = rs_now_ns();
}
