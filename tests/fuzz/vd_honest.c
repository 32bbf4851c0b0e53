/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients that keep the contract, and check that they get what it promises. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vd_honest.h"

#define SEND_BYTES  3000u
#define WRITE_BYTES 2500u
#define READ_BYTES  1100u
/* Where in each end's memory something comes in; the rest goes out. */
#define SEND_AT   9000u
#define WRITE_AT  12500u
#define READ_AT   15200u
#define MAX_TURNS 4000

static void fill(uint8_t *to, size_t n, uint32_t seed)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)((i * 7 + seed * 131) >> (i & 3));
}

static void make_end(struct wx_world *w, struct fx_end *end)
{
	uint32_t pd;

	wx_connect(w, &end->c);
	wx_hello(&end->c);
	end->memory = malloc(HONEST_BYTES);
	end->expected = malloc(HONEST_BYTES);
	FUZZ_CHECK(end->memory != NULL && end->expected != NULL);
	fill(end->memory, HONEST_BYTES, 0);
	memcpy(end->expected, end->memory, HONEST_BYTES);
	pd = wx_pd(&end->c);
	end->key = wx_mr(&end->c, pd, end->memory, HONEST_BYTES, NULL);
	wx_make_cq(&end->c, 64, 0, 0, &end->cq);
	wx_make_qp(&end->c, pd, &end->cq, 16, &end->qp);
}

/* In a protection domain of its own: whoever reaches the victim may not reach its neighbour. */
static void make_victim(struct fx_honest *h)
{
	struct wx_client *c = &h->end[1].c;
	uint32_t pd = wx_pd(c);

	h->victim_memory = calloc(1, VICTIM_BYTES);
	FUZZ_CHECK(h->victim_memory != NULL);
	h->victim_key = wx_mr(c, pd, h->victim_memory, VICTIM_BYTES, NULL);
	wx_make_cq(c, 64, 0, 0, &h->victim_cq);
	wx_make_qp(c, pd, &h->victim_cq, VICTIM_RECVS, &h->victim);
}

void fx_honest_start(struct wx_world *w, struct fx_honest *h)
{
	memset(h, 0, sizeof(*h));
	h->w = w;
	for (int i = 0; i < 2; i++)
		make_end(w, &h->end[i]);
	wx_up(&h->end[0].qp, h->end[1].qp.qpn);
	wx_up(&h->end[1].qp, h->end[0].qp.qpn);
	make_victim(h);
}

void fx_honest_end(struct fx_honest *h)
{
	for (int i = 0; i < 2; i++) {
		wx_close(&h->end[i].c);
		free(h->end[i].memory);
		free(h->end[i].expected);
	}
	free(h->victim_memory);
}

bool fx_is_honest_qpn(const struct fx_honest *h, uint32_t qpn)
{
	return qpn == h->end[0].qp.qpn || qpn == h->end[1].qp.qpn;
}

void fx_victim_faces(struct fx_honest *h, uint32_t qpn, enum ibv_qp_type type)
{
	struct tp_sge sge = {(uintptr_t)h->victim_memory, 256, h->victim_key};
	struct vc_qp_attr attr = {.mask = IBV_QP_STATE, .state = IBV_QPS_RESET};
	enum wx_resolve resolve = h->w->resolve;

	if (type != IBV_QPT_RC)
		return;
	h->w->resolve = WX_RESOLVE_NOW;
	FUZZ_CHECK(wx_modify(&h->victim, &attr) == 0);
	wx_up(&h->victim, qpn);
	while (wx_poll(&h->victim_cq) != NULL)
		;
	for (uint64_t i = 0; i < VICTIM_RECVS / 2; i++)
		wx_post_recv(&h->victim, i, 1, &sge);
	h->w->resolve = resolve;
}

static struct tp_cqe wait_one(struct fx_honest *h, struct fx_end *end)
{
	const struct tp_cqe *cqe = NULL;

	for (int i = 0; i < MAX_TURNS && cqe == NULL; i++) {
		cqe = wx_poll(&end->cq);
		if (cqe == NULL) {
			wx_turn(h->w);
			h->w->now_ns += i < 50 ? 0 : WX_MS / 10;
		}
	}
	FUZZ_CHECK(cqe != NULL);
	return *cqe;
}

static void expect(struct fx_honest *h, struct fx_end *end, uint64_t wr_id, uint16_t opcode, uint32_t bytes)
{
	struct tp_cqe cqe = wait_one(h, end);

	FUZZ_CHECK(cqe.status == TP_WC_SUCCESS && cqe.wr_id == wr_id && cqe.opcode == opcode);
	FUZZ_CHECK(cqe.qpn == end->qp.qpn);
	FUZZ_CHECK(bytes == 0 || cqe.bytes == bytes);
}

static void check_memory(const struct fx_honest *h)
{
	for (int i = 0; i < 2; i++)
		FUZZ_CHECK(memcmp(h->end[i].memory, h->end[i].expected, HONEST_BYTES) == 0);
}

static void move(const struct fx_end *from, struct fx_end *to, uint32_t at, uint32_t bytes)
{
	memcpy(to->expected + at, from->memory, bytes);
}

static void transfer(struct fx_honest *h, struct fx_end *a, struct fx_end *b)
{
	struct tp_sge out = {(uintptr_t)a->memory, SEND_BYTES, a->key};
	struct tp_sge in = {(uintptr_t)b->memory + SEND_AT, SEND_BYTES, b->key};
	struct tp_sge back = {(uintptr_t)a->memory + READ_AT, READ_BYTES, a->key};
	struct tp_send_wqe wqe = {
		.wr_id = 71, .opcode = TP_WR_SEND, .num_sge = 1, .flags = TP_SEND_SIGNALED, .rkey = b->key};

	fill(a->memory, SEND_BYTES, ++h->round);
	memcpy(a->expected, a->memory, SEND_BYTES);
	wx_post_recv(&b->qp, 70, 1, &in);
	wx_post(&a->qp, &wqe, &out, NULL);
	wqe.wr_id = 72;
	wqe.opcode = TP_WR_WRITE;
	wqe.remote_addr = (uintptr_t)b->memory + WRITE_AT;
	out.bytes = WRITE_BYTES;
	wx_post(&a->qp, &wqe, &out, NULL);
	wqe.wr_id = 73;
	wqe.opcode = TP_WR_READ;
	wqe.remote_addr = (uintptr_t)b->memory;
	wx_post(&a->qp, &wqe, &back, NULL);
	expect(h, a, 71, TP_WC_OP_SEND, 0);
	expect(h, a, 72, TP_WC_OP_WRITE, 0);
	expect(h, a, 73, TP_WC_OP_READ, READ_BYTES);
	expect(h, b, 70, TP_WC_OP_RECV, SEND_BYTES);
	move(a, b, SEND_AT, SEND_BYTES);
	move(a, b, WRITE_AT, WRITE_BYTES);
	move(b, a, READ_AT, READ_BYTES);
}

void fx_honest_transfer(struct fx_honest *h)
{
	bool dropping = h->w->drop_frames;

	h->w->drop_frames = false;
	check_memory(h);
	transfer(h, &h->end[0], &h->end[1]);
	transfer(h, &h->end[1], &h->end[0]);
	check_memory(h);
	FUZZ_CHECK(wx_poll(&h->end[0].cq) == NULL && wx_poll(&h->end[1].cq) == NULL);
	h->w->drop_frames = dropping;
}
