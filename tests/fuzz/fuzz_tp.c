/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two endpoints, whose work requests, packets and settings come from the input. Packets are crafted field by
 * field, or are ones that were really sent with some fields changed; their ICRC is right, so all reach the queue
 * pair. Work requests are any bytes, as a client may write into its ring. Promises: nothing outside the
 * registered regions changes on either side, every work request completes once, nothing runs for ever.
 *
 * The input is a row of steps, each a byte that says what to do and the bytes that it takes. Where chance
 * would never hit (keys, addresses, PSNs), values are offsets from right ones.
 */
#include <stdlib.h>
#include <string.h>

#include "base_psn.h"
#include "fuzz.h"
#include "harness.h"
#include "wire_merge.h"
#include "wire_sack.h"

#define MAX_STEPS     64
#define REGION_OFF    0x3000u
#define REGION_BYTES  0x2000u
#define PATTERN       0xa7 /* outside; the other side has all bits inverted, so that a copy is seen */
#define CONTENT       0x31 /* inside */
#define STEP_MS       1
#define END_MS        3000
#define MAX_PAYLOAD   (4096 + 64)

struct input {
	const uint8_t *at;
	size_t left;
};

struct fuzz {
	struct input in;
	struct hx_world *w;
	uint8_t fates;       /* two bits a frame, in turn */
	uint32_t window[2];  /* R_Key of a memory window of each side */
	uint32_t srq_key[2]; /* L_Key for receives that are shared */
	bool lost_work;      /* a reset or a full completion queue: completions are missing by right */
};

/* The script of the harness has no argument of its own. */
static struct fuzz *current;

static uint64_t take(struct input *in, unsigned int bytes)
{
	uint64_t v = 0;

	for (; bytes > 0 && in->left > 0; bytes--, in->left--)
		v = v << 8 | *in->at++;
	return v;
}

static void take_bytes(struct input *in, void *out, size_t bytes)
{
	size_t n = bytes < in->left ? bytes : in->left;

	memset(out, 0, bytes);
	memcpy(out, in->at, n);
	in->at += n;
	in->left -= n;
}

/* One byte that is mostly a small distance. */
static int64_t near(struct input *in)
{
	return (int8_t)take(in, 1);
}

static enum hx_fate fate(struct hx_world *w, int from, uint32_t n, const struct wire_pkt *pkt)
{
	static const enum hx_fate fates[4] = {HX_PASS, HX_LOSE, HX_REPEAT, HX_DELAY};

	(void)from;
	(void)pkt;
	/* Only the newest entries of the log are of use here. */
	if (w->n_log > HX_MAX_LOG / 2)
		w->n_log = 1;
	/* In the end everything arrives. */
	return current->in.left == 0 ? HX_PASS : fates[current->fates >> n % 4 * 2 & 3];
}

/* ---- set-up ---- */

static uint32_t make_region(struct hx_side *s, uint32_t pd, uint32_t access)
{
	struct tp_mr_attr mr = {
		.pd = pd,
		.access = access,
		.iova = HX_IOVA + REGION_OFF,
		.addr = (uintptr_t)s->mem + REGION_OFF,
		.bytes = REGION_BYTES,
		.as = s,
		.direct = s->w->o.copied ? NULL : s->mem + REGION_OFF,
		.invalidatable = true,
	};
	uint32_t key;

	FUZZ_CHECK(!tp_mr_create(s->tp, &mr, &key));
	return key;
}

static void make_window(struct fuzz *f, int side, enum tp_mw_type type)
{
	FUZZ_CHECK(!tp_mw_create(f->w->side[side].tp, HX_PD, type, &f->window[side]));
}

static uint8_t pattern_of(const struct hx_side *s)
{
	return s == &s->w->side[0] ? PATTERN : (uint8_t)~PATTERN;
}

/* Replaces the harness' region over all memory by one in its middle. */
static void fence(struct hx_side *s)
{
	FUZZ_CHECK(!tp_mr_destroy(s->tp, s->key));
	memset(s->mem, pattern_of(s), HX_MEM_BYTES);
	memset(s->mem + REGION_OFF, CONTENT, REGION_BYTES);
	s->key = make_region(s, HX_PD, TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ |
					TP_ACCESS_REMOTE_ATOMIC | TP_ACCESS_MW_BIND);
}

static void check_fence(const struct hx_side *s)
{
	const uint8_t pattern = pattern_of(s);
	size_t i;

	for (i = 0; i < REGION_OFF; i++)
		FUZZ_CHECK(s->mem[i] == pattern);
	for (i = REGION_OFF + REGION_BYTES; i < HX_MEM_BYTES; i++)
		FUZZ_CHECK(s->mem[i] == pattern);
}

static struct hx_world *make_world(struct input *in)
{
	static const uint32_t mtus[4] = {256, 512, 1024, 4096};
	static const enum tp_qp_type types[4] = {TP_QPT_RC, TP_QPT_UC, TP_QPT_UD, TP_QPT_XRC_INI};
	static const uint32_t reorder[4] = {0, 1, 6, 31};
	uint8_t flags = (uint8_t)take(in, 1), service = (uint8_t)take(in, 1);
	struct hx_options o = {
		.type = types[service & 3],
		.srq = (service & 4) != 0,
		.reorder = reorder[service >> 3 & 3],
		.held = (service & 32) != 0 ? 3 : 0,
		.mtu = mtus[flags & 3],
		.l3_version = (flags & 4) != 0 ? 6 : 4,
		.copied = (flags & 8) != 0,
		.sig_none = (flags & 16) != 0,
		.psn = (flags & 32) != 0 ? 0xfffffe : 5,
		.retry_cnt = (flags & 64) != 0 ? 1 : 7,
		.rnr_retry = (flags & 64) != 0 ? 1 : 7,
		.rd_atomic = (flags & 128) != 0 ? 1 : 4,
		.dest_rd_atomic = (flags & 128) != 0 ? HX_ZERO : 4,
		.timeout = 4,
		.ext = (service & 64) != 0 && (service & 3) == 0,
		.merge = {(service & 128) != 0 ? 256 : 0, (flags & 16) != 0 ? 20000 : 0},
		.n_evs = 8,
		.n_paths = 4,
	};
	struct hx_world *w;

	for (unsigned int i = 0; o.ext && i < 4; i++)
		o.path_ns[i] = i * 5000;
	w = hx_new(&o);

	fence(&w->side[0]);
	fence(&w->side[1]);
	w->script = fate;
	return w;
}

/* ---- work requests ---- */

static uint64_t an_address(struct input *in)
{
	return HX_IOVA + REGION_OFF + (uint64_t)(near(in) * 64);
}

static uint32_t a_length(struct input *in)
{
	uint8_t v = (uint8_t)take(in, 1);

	return v < 0xf0 ? v * 36u : (uint32_t)take(in, 4);
}

static uint32_t a_key(struct fuzz *f, int side)
{
	uint8_t v = (uint8_t)take(&f->in, 1);
	/* What comes for an XRC SRQ has keys of that one's domain. */
	bool xrc = f->w->o.type == TP_QPT_XRC_INI && side == 1;
	uint32_t right = xrc ? f->srq_key[side] : f->w->side[side].key;

	if (v >= 0xc0 && v < 0xe0)
		return f->window[side];
	return v < 0xc0 ? right : right ^ (uint32_t)(v & 0x1f) << 4;
}

static uint32_t take_sgl(struct fuzz *f, int side, struct tp_sge sge[TP_MAX_SGE])
{
	struct input *in = &f->in;
	uint32_t n = take(in, 1) % 4;

	for (uint32_t i = 0; i < n; i++) {
		sge[i].addr = an_address(in);
		sge[i].bytes = a_length(in);
		sge[i].lkey = a_key(f, side);
	}
	return n;
}

/* An XRC target sends nothing. */
static bool has_room(const struct hx_qp *q)
{
	const struct hx_world *w = q->side->w;

	if (w->o.type == TP_QPT_XRC_INI && q->side == &w->side[1])
		return false;
	return q->sq_prod - q->sq_retired < HX_RING - 1;
}

static uint32_t an_srqn(const struct fuzz *f, int side, uint8_t choice)
{
	return tp_srq_number(f->w->side[side].srq.srq) + (choice < 0xe0 ? 0 : choice & 7u);
}

/* What datagrams and binds have in place of the atomics' operands, from these. */
static void set_operands(struct fuzz *f, int side, struct tp_send_wqe *wqe)
{
	uint8_t a = (uint8_t)wqe->atomic.compare_add, b = (uint8_t)wqe->atomic.swap;
	struct hx_side *s = &f->w->side[side];

	if (f->w->o.type == TP_QPT_XRC_INI)
		wqe->srqn = an_srqn(f, !side, b);
	if (f->w->o.type == TP_QPT_UD) {
		wqe->ud.ah = a < 0xe0 ? s->ah : a;
		wqe->ud.qpn = f->w->side[!side].qps[0].qpn;
		wqe->ud.qkey = b < 0xe0 ? HX_QKEY : (uint32_t)b << 24;
	} else if (wqe->opcode == TP_WR_BIND_MW) {
		/* One generation on, mostly. */
		wqe->rkey = (f->window[side] & ~0xffu) | ((f->window[side] + (a & 3)) & 0xff);
		f->window[side] = wqe->rkey;
		wqe->bind.bytes = a * 36u;
		wqe->bind.mr_key = s->key;
		wqe->bind.access = b & 0x2f;
	}
}

static void post_send(struct fuzz *f, int side)
{
	struct hx_qp *q = &f->w->side[side].qps[0];
	struct tp_sge sge[TP_MAX_SGE];
	struct tp_send_wqe wqe = {
		.opcode = take(&f->in, 1) % 11,
		.flags = (uint16_t)take(&f->in, 1) & (TP_SEND_FENCE | TP_SEND_SIGNALED | TP_SEND_SOLICITED),
		.remote_addr = an_address(&f->in),
		.rkey = a_key(f, !side),
		.imm = a_key(f, !side), /* to invalidate, or any immediate */
		.atomic = {.compare_add = take(&f->in, 1), .swap = take(&f->in, 1)},
	};

	if (wqe.opcode == TP_WR_LOCAL_INV)
		wqe.imm = f->window[side];
	set_operands(f, side, &wqe);
	if (has_room(q))
		hx_post_raw(q, &wqe, sge, take_sgl(f, side, sge));
}

/* Any bytes in the slot. */
static void post_send_raw(struct fuzz *f, int side)
{
	struct hx_qp *q = &f->w->side[side].qps[0];

	if (!has_room(q))
		return;
	take_bytes(&f->in, q->sq[q->sq_prod % HX_RING], take(&f->in, 1) % HX_SLOT_BYTES);
	q->sq_prod++;
	tp_qp_kick(q->side->tp, q->qp);
}

static void post_inline(struct fuzz *f, int side)
{
	struct hx_qp *q = &f->w->side[side].qps[0];
	struct tp_send_wqe wqe = {
		.opcode = take(&f->in, 1) % 11,
		.remote_addr = an_address(&f->in),
		.rkey = a_key(f, !side),
	};
	uint8_t data[TP_MAX_INLINE_BYTES];

	set_operands(f, side, &wqe);

	take_bytes(&f->in, data, take(&f->in, 1));
	if (has_room(q))
		hx_post_inline(q, &wqe, data, (uint32_t)take(&f->in, 1) * 2);
}

static void post_recv(struct fuzz *f, int side)
{
	struct hx_qp *q = &f->w->side[side].qps[0];
	struct tp_sge sge[TP_MAX_SGE] = {{0}};
	uint32_t n = take_sgl(f, side, sge);

	for (uint32_t i = 0; i < n && f->w->o.srq; i++)
		sge[i].lkey = f->srq_key[side];
	if ((n & 3) == 3)
		n = (uint32_t)take(&f->in, 4);
	if (f->w->o.srq && q->side->srq.prod - q->side->srq.fetch < HX_RING - 1)
		hx_srq_recv_raw(q->side, sge, n);
	else if (q->rq_prod - q->rq_fetch < HX_RING - 1)
		hx_recv_raw(q, sge, n);
}

/* ---- packets ---- */

/* Takes a frame in as the port would: only what parses. */
static void rx(struct hx_world *w, int to, const uint8_t *frame, size_t n)
{
	struct rte_mbuf *m = calloc(1, sizeof(*m) + sizeof(struct wire_pkt));

	FUZZ_CHECK(m);
	m->priv_size = sizeof(struct wire_pkt);
	m->refcnt = 1;
	w->frames_out++;
	m->buf_addr = malloc(n);
	FUZZ_CHECK(m->buf_addr);
	m->buf_len = (uint16_t)n;
	m->data_len = (uint16_t)n;
	m->pkt_len = (uint32_t)n;
	memcpy(m->buf_addr, frame, n);
	if (wire_parse(m->buf_addr, n, TP_PKT(m)) == BASE_DROP_NONE && wire_icrc_ok(m->buf_addr, TP_PKT(m)))
		tp_rx(w->side[to].tp, &m, 1, w->now_ns);
	if (--m->refcnt != 0)
		return; /* kept for later; the harness frees it */
	free(m->buf_addr);
	free(m);
	w->frames_out--;
}

static uint8_t an_opcode(struct fuzz *f)
{
	static const uint8_t base[] = {[TP_QPT_RC] = 0, [TP_QPT_UC] = WIRE_UC_SEND_FIRST,
		[TP_QPT_UD] = WIRE_UD_SEND_ONLY, [TP_QPT_XRC_INI] = WIRE_XRC_SEND_FIRST};
	uint8_t v = (uint8_t)take(&f->in, 1);

	if (f->w->o.type == TP_QPT_UD)
		v &= 1;
	if (f->w->o.type == TP_QPT_RC && v >= 0xc0)
		return v < 0xe0 ? WIRE_RC_SACK : WIRE_RC_MERGED;
	return base[f->w->o.type] | (v & 0x1f);
}

/* A port of one of the EVs, mostly. */
static void change_sack(struct input *in, struct wire_pkt *pkt)
{
	uint8_t what = (uint8_t)take(in, 1);

	if ((what & 1) != 0)
		pkt->sack_map = take(in, 8);
	if ((what & 2) != 0)
		pkt->sack_map = (uint64_t)1 << (what >> 2);
	pkt->sack_echo = (uint32_t)take(in, 1) << WIRE_SACK_BLOCK_SHIFT |
		((pkt->psn + (uint32_t)near(in)) & BASE_PSN_MASK);
	pkt->udp_sport = (uint16_t)(0xc123 + near(in) * 257);
	pkt->sack_more = (uint8_t)(what >> 5);
	pkt->sack_wait = (uint16_t)near(in);
}

/* As many further packets as it says, mostly of those on their way; payload_bytes may be right or wrong already. */
static void add_echoes(struct input *in, struct wire_pkt *pkt, uint8_t *payload)
{
	if (pkt->opcode != WIRE_RC_SACK)
		return;
	if ((take(in, 1) & 7) != 0) {
		pkt->payload_bytes = (uint16_t)(pkt->sack_more * WIRE_SACK_ECHO_BYTES);
		pkt->pad = 0;
	}
	for (uint32_t i = 0; i < pkt->sack_more; i++) {
		const struct wire_sack_echo echo = {
			.echo = (uint32_t)take(in, 1) << WIRE_SACK_BLOCK_SHIFT |
				((pkt->psn + (uint32_t)near(in)) & BASE_PSN_MASK),
			.udp_sport = (uint16_t)(0xc123 + near(in) * 257),
			.wait = (uint16_t)take(in, 2),
		};

		wire_sack_put(payload + (size_t)i * WIRE_SACK_ECHO_BYTES, &echo);
	}
}

/* Short messages of any opcode, mostly one that may be there; payload has MAX_PAYLOAD. Their number and bytes may be right or
 * wrong at the end. */
static void add_messages(struct fuzz *f, int to, struct wire_pkt *pkt, uint8_t *payload)
{
	static const uint8_t opcodes[8] = {WIRE_RC_SEND_ONLY, WIRE_RC_SEND_ONLY_IMM, WIRE_RC_SEND_ONLY_INV, WIRE_RC_WRITE_ONLY,
		WIRE_RC_WRITE_ONLY, WIRE_RC_WRITE_ONLY_IMM, WIRE_RC_READ_REQUEST, WIRE_RC_SEND_FIRST};
	static const uint8_t data[256];
	struct input *in = &f->in;
	uint8_t n = (uint8_t)(take(in, 1) % 40), wrong = (uint8_t)take(in, 1);
	uint32_t bytes = 0;

	for (uint8_t i = 0; i < n; i++) {
		struct wire_pkt part = {.opcode = opcodes[take(in, 1) & 7]};

		part.payload_bytes = part.dma_bytes = (uint8_t)a_length(in);
		if ((part.payload_bytes & 7) == 7)
			part.dma_bytes = a_length(in);
		part.va = an_address(in);
		part.rkey = a_key(f, to);
		if (bytes + wire_merge_bytes(part.opcode, part.payload_bytes) > MAX_PAYLOAD)
			break;
		bytes += wire_merge_put(payload + bytes, &part, data);
	}
	pkt->merged = (uint8_t)(n + ((wrong & 7) == 1 ? wrong >> 3 : 0));
	pkt->payload_bytes = (uint16_t)(bytes - ((wrong & 7) == 2 && bytes > 0 ? 1 : 0));
	pkt->pad = (uint8_t)(-pkt->payload_bytes & 3);
	if ((wrong & 7) == 3 && bytes != 0)
		payload[(uint32_t)wrong * 8 % bytes] ^= (uint8_t)take(in, 1);
}

/* Changes some fields of a packet; the bits of what choose which. */
static void change(struct fuzz *f, int to, struct wire_pkt *pkt)
{
	struct input *in = &f->in;
	uint8_t what = (uint8_t)take(in, 1);

	if ((what & 1) != 0)
		pkt->opcode = an_opcode(f);
	if ((what & 2) != 0)
		pkt->psn = (pkt->psn + (uint32_t)near(in)) & BASE_PSN_MASK;
	if ((what & 4) != 0) {
		pkt->syndrome = (uint8_t)take(in, 1);
		pkt->msn = (pkt->msn + (uint32_t)near(in)) & BASE_PSN_MASK;
	}
	if ((what & 8) != 0) {
		pkt->va = an_address(in);
		pkt->dma_bytes = a_length(in);
	}
	if ((what & 16) != 0)
		pkt->rkey = a_key(f, to);
	if ((what & 32) != 0)
		pkt->payload_bytes = (uint16_t)(a_length(in) % MAX_PAYLOAD);
	if ((what & 64) != 0)
		pkt->pad = take(in, 1) & 3;
	else
		pkt->pad = (uint8_t)(-pkt->payload_bytes & 3);
	if ((what & 128) != 0)
		pkt->ack_req ^= 1;
	if (pkt->opcode == WIRE_RC_SACK)
		change_sack(in, pkt);
}

static void send_pkt(struct fuzz *f, int to, struct wire_pkt *pkt)
{
	static uint8_t frame[WIRE_MAX_HDR_BYTES + MAX_PAYLOAD + 8];
	static uint8_t messages[MAX_PAYLOAD];
	uint8_t echoes[UINT8_MAX * WIRE_SACK_ECHO_BYTES];
	struct tp_qp_attr peer;

	if (!wire_opinfo(pkt->opcode)->name)
		return;
	hx_attr(f->w, !to, 0, &peer);
	memset(frame, 0x5c, sizeof(frame));
	memset(echoes, 0x5c, sizeof(echoes));
	add_echoes(&f->in, pkt, echoes);
	if (pkt->opcode == WIRE_RC_MERGED)
		add_messages(f, to, pkt, messages);
	wire_write(frame, &peer.av.net, pkt);
	if (pkt->opcode == WIRE_RC_SACK)
		memcpy(frame + pkt->payload_off, echoes, pkt->payload_bytes < sizeof(echoes) ? pkt->payload_bytes : sizeof(echoes));
	if (pkt->opcode == WIRE_RC_MERGED)
		memcpy(frame + pkt->payload_off, messages, pkt->payload_bytes);
	wire_seal(frame, pkt);
	rx(f->w, to, frame, pkt->frame_bytes);
}

static void craft(struct fuzz *f, int to)
{
	struct hx_world *w = f->w;
	struct wire_pkt pkt = {
		.opcode = an_opcode(f),
		.l3_version = w->o.l3_version,
		.ttl = 64,
		.udp_sport = 0xc000,
		.pkey = 0xffff,
		.ip_frag = 0x4000,
		.dqpn = w->side[to].qps[0].qpn,
		.psn = w->o.psn,
		.va = HX_IOVA + REGION_OFF,
		.rkey = w->side[to].key,
		.qkey = HX_QKEY,
		.sqpn = w->side[!to].qps[0].qpn,
		.ack_req = 1,
	};

	if (w->o.type == TP_QPT_XRC_INI) {
		pkt.rkey = f->srq_key[to];
		pkt.xrceth = an_srqn(f, to, 0);
	}
	pkt.psn = (pkt.psn + (uint32_t)near(&f->in)) & BASE_PSN_MASK;
	pkt.payload_bytes = (uint16_t)(a_length(&f->in) % MAX_PAYLOAD);
	pkt.dma_bytes = pkt.payload_bytes;
	change(f, to, &pkt);
	send_pkt(f, to, &pkt);
}

/* One of the last packets sent, changed, to the side that got it or back to the one that sent it. */
static void alter(struct fuzz *f, bool back)
{
	struct hx_world *w = f->w;
	uint32_t ago = (uint32_t)take(&f->in, 1) % 32;
	struct wire_pkt pkt;
	int to;

	if (ago >= w->n_log)
		return;
	pkt = w->log[w->n_log - 1 - ago].pkt;
	to = w->log[w->n_log - 1 - ago].from ^ !back;
	pkt.dqpn = w->side[to].qps[0].qpn;
	change(f, to, &pkt);
	send_pkt(f, to, &pkt);
}

/* A whole frame of any bytes. */
static void noise(struct fuzz *f, int to)
{
	uint8_t frame[512];
	size_t n = take(&f->in, 2) % sizeof(frame);

	take_bytes(&f->in, frame, n);
	rx(f->w, to, frame, n);
}

/* ---- everything else ---- */

static void trouble(struct fuzz *f, int side)
{
	struct hx_side *s = &f->w->side[side];
	uint8_t what = (uint8_t)take(&f->in, 1);

	s->fail_read = (what & 1) != 0;
	s->fail_write = (what & 2) != 0;
	s->empty_pools = what >> 4;
	if ((what & 4) != 0)
		s->qps[0].fetch_error = -22; /* EINVAL */
	if ((what & 8) != 0) {
		s->send_cq.limit = 4;
		s->recv_cq.limit = 4;
		f->lost_work = true;
	}
}

static void reregister(struct fuzz *f, int side)
{
	struct hx_side *s = &f->w->side[side];
	uint8_t what = (uint8_t)take(&f->in, 1);
	uint32_t access = what & 0x1f;

	FUZZ_CHECK(!tp_mw_destroy(s->tp, f->window[side]));
	FUZZ_CHECK(!tp_mr_destroy(s->tp, s->key));
	if ((access & (TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_ATOMIC)) != 0)
		access |= TP_ACCESS_LOCAL_WRITE;
	s->key = make_region(s, HX_PD, access);
	make_window(f, side, (what & 32) != 0 ? TP_MW_TYPE_2 : TP_MW_TYPE_1);
}

static void move(struct fuzz *f, int side)
{
	enum tp_qp_state state = (enum tp_qp_state)(take(&f->in, 1) % (TP_QPS_ERR + 1));

	if (!hx_to_state(f->w, &f->w->side[side].qps[0], state) && state == TP_QPS_RESET)
		f->lost_work = true;
}

static void modify_raw(struct fuzz *f, int side)
{
	struct hx_qp *q = &f->w->side[side].qps[0];
	struct tp_qp_attr attr;
	uint32_t mask = (uint32_t)take(&f->in, 3);

	hx_attr(f->w, side, 0, &attr);
	attr.state = (enum tp_qp_state)(take(&f->in, 1) & 7);
	attr.cur_state = (enum tp_qp_state)(take(&f->in, 1) & 7);
	attr.mtu_bytes = (uint32_t)take(&f->in, 2);
	attr.timeout = (uint8_t)take(&f->in, 1);
	attr.max_rd_atomic = (uint8_t)take(&f->in, 1);
	attr.max_dest_rd_atomic = (uint8_t)take(&f->in, 1);
	attr.min_rnr_timer = (uint8_t)take(&f->in, 1);
	if (!tp_qp_modify(q->side->tp, q->qp, &attr, mask, f->w->now_ns) && (mask & TP_QP_STATE) != 0 &&
		attr.state == TP_QPS_RESET)
		f->lost_work = true;
}

static void do_step(struct fuzz *f)
{
	static void (*const steps[])(struct fuzz *f, int side) = {post_send, post_send_raw, post_inline, post_recv,
		craft, noise, trouble, reregister, move, modify_raw};
	const uint8_t n_steps = sizeof(steps) / sizeof(steps[0]);
	uint8_t what = (uint8_t)take(&f->in, 1);
	uint8_t which = (what >> 1) % (n_steps + 4);

	if (which < n_steps)
		steps[which](f, what & 1);
	else if (which == n_steps)
		alter(f, what & 1);
	else if (which == n_steps + 1)
		f->fates = (uint8_t)take(&f->in, 1);
	else
		hx_run(f->w, STEP_MS * HX_MS);
}

/* Into the error state: what was posted is flushed. */
static void finish(struct fuzz *f)
{
	for (int i = 0; i < 2; i++) {
		struct hx_side *s = &f->w->side[i];
		struct hx_qp *q = &s->qps[0];

		s->fail_read = s->fail_write = false;
		s->empty_pools = 0;
		if (hx_state(q) == TP_QPS_RESET)
			f->lost_work = true;
		(void)hx_to_state(f->w, q, TP_QPS_ERR);
		tp_qp_kick(s->tp, q->qp);
	}
	hx_run(f->w, END_MS * HX_MS);
	for (int i = 0; i < 2; i++) {
		const struct hx_side *s = &f->w->side[i];
		const struct hx_qp *q = &s->qps[0];

		check_fence(s);
		FUZZ_CHECK(s->send_cq.n <= q->sq_prod && s->recv_cq.n <= q->rq_prod + s->srq.fetch);
		if (f->lost_work)
			continue;
		FUZZ_CHECK(q->sq_retired == q->sq_prod);
		FUZZ_CHECK(f->w->o.sig_none || s->send_cq.n == q->sq_prod);
		FUZZ_CHECK(s->recv_cq.n == (f->w->o.srq ? s->srq.fetch : q->rq_prod));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz f = {.in = {data, size}};
	unsigned int i;

	/* The harness' own assertions end in abort() then. */
	setenv("CMOCKA_TEST_ABORT", "1", 1);
	current = &f;
	f.w = make_world(&f.in);
	for (i = 0; i < 2; i++) {
		make_window(&f, (int)i, TP_MW_TYPE_2);
		if (f.w->o.srq)
			f.srq_key[i] = make_region(&f.w->side[i], HX_SRQ_PD, TP_ACCESS_LOCAL_WRITE |
				TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_ATOMIC);
	}
	for (i = 0; i < MAX_STEPS && f.in.left > 0; i++)
		do_step(&f);
	f.in.left = 0;
	finish(&f);
	hx_free(f.w);
	return 0;
}
