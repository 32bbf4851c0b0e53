/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random operations both ways over a wire that loses, repeats, delays and damages frames, by seed. Whatever
 * the wire does: every completion once, in order and successful, every byte right, every atomic done once.
 * A failing seed is printed; `test_tp_lossy SEED [COUNT]` runs that one, or COUNT from it on. All of it three times: as the
 * specification has it, with selective repeat over paths of different delays, and with short messages merged too.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

#define N_SEEDS     150
#define N_OPS       60
#define AREA_BYTES  (256u << 10)           /* of each kind, for all operations of a side */
#define SRC_BYTES   AREA_BYTES
#define DST_OFF     SRC_BYTES              /* where the peer writes and sends to */
#define READ_OFF    (DST_OFF + AREA_BYTES)
#define COUNTER_OFF (READ_OFF + AREA_BYTES)
#define RESULT_OFF  (COUNTER_OFF + 64)

struct op {
	enum tp_wr_opcode opcode;
	uint32_t src, bytes;
	bool takes_recv;
	uint64_t id, recv_id;
};

struct run {
	struct hx_world *w;
	uint32_t n_ops;                        /* of each queue pair and side */
	uint32_t max_bytes;
	struct op ops[HX_QPS][2][N_OPS];       /* by queue pair and posting side */
};

static uint64_t first_seed = 1, n_seeds = N_SEEDS;
static uint64_t running_seed;
static bool running_ext, running_merge;
static struct tp_counters total;   /* shows that the faults were there */

static uint32_t slot_of(const struct run *r, uint32_t qp, uint32_t i)
{
	return (qp * r->n_ops + i) * r->max_bytes;
}

static void plan(struct run *r, uint32_t qp, int side)
{
	static const enum tp_wr_opcode opcodes[] = {TP_WR_SEND, TP_WR_SEND_IMM, TP_WR_WRITE, TP_WR_WRITE,
		TP_WR_WRITE_IMM,
		TP_WR_READ, TP_WR_READ, TP_WR_FETCH_ADD};
	struct hx_world *w = r->w;

	for (uint32_t i = 0; i < r->n_ops; i++) {
		struct op *op = &r->ops[qp][side][i];

		op->opcode = opcodes[hx_random(w, 8)];
		op->src = hx_random(w, SRC_BYTES - r->max_bytes);
		op->bytes = hx_random(w, r->max_bytes + 1);
		if (hx_random(w, 8) == 0)
			op->bytes = 0;
		op->takes_recv = op->opcode == TP_WR_SEND || op->opcode == TP_WR_SEND_IMM ||
			op->opcode == TP_WR_WRITE_IMM;
	}
}

static void post_op(struct run *r, uint32_t qp, int side, uint32_t i)
{
	struct op *op = &r->ops[qp][side][i];
	struct hx_side *s = &r->w->side[side];
	struct tp_send_wqe wqe = {
		.opcode = (uint8_t)op->opcode,
		.rkey = r->w->side[!side].key,
		.imm = i,
		.flags = hx_random(r->w, 8) == 0 ? TP_SEND_FENCE : 0,
		.remote_addr = HX_IOVA + DST_OFF + slot_of(r, qp, i),
	};
	struct hx_piece pieces[2] = {{op->src, op->bytes / 2}, {op->src + op->bytes / 2, op->bytes - op->bytes / 2}};

	if (op->opcode == TP_WR_READ) {
		wqe.remote_addr = HX_IOVA + op->src;
		pieces[0].off = READ_OFF + slot_of(r, qp, i);
		pieces[1].off = pieces[0].off + op->bytes / 2;
	}
	if (op->opcode == TP_WR_FETCH_ADD) {
		wqe.remote_addr = HX_IOVA + COUNTER_OFF + qp * 8;
		wqe.atomic.compare_add = 1;
		op->bytes = 8;
		pieces[0] = (struct hx_piece){RESULT_OFF + (qp * N_OPS + i) * 8, 8};
		op->id = hx_post(&s->qps[qp], &wqe, pieces, 1);
		return;
	}
	op->id = hx_post(&s->qps[qp], &wqe, pieces, 2);
}

static void post_recvs(struct run *r, uint32_t qp, int side, uint32_t from, uint32_t to)
{
	for (uint32_t i = from; i < to; i++) {
		struct op *op = &r->ops[qp][!side][i];
		struct hx_piece piece = {DST_OFF + slot_of(r, qp, i), r->max_bytes};

		if (op->takes_recv)
			op->recv_id = hx_recv(&r->w->side[side].qps[qp], &piece, 1);
	}
}

/* Completions of all queue pairs share the two queues of a side; those of one must be in order. */
static const struct tp_cqe *next_of(struct hx_cq *cq, uint32_t *at, uint32_t qpn)
{
	for (; *at < cq->n; (*at)++) {
		if (cq->cqe[*at].qpn == qpn)
			return &cq->cqe[(*at)++];
	}
	return NULL;
}

static void check_op(const struct run *r, uint32_t qp, int side, uint32_t i, uint64_t *added)
{
	const struct op *op = &r->ops[qp][side][i];
	const struct hx_side *here = &r->w->side[side], *there = &r->w->side[!side];
	uint64_t result;

	switch (op->opcode) {
	case TP_WR_READ:
		assert_memory_equal(here->mem + READ_OFF + slot_of(r, qp, i), there->mem + op->src, op->bytes);
		break;
	case TP_WR_FETCH_ADD:
		memcpy(&result, here->mem + RESULT_OFF + (qp * N_OPS + i) * 8, 8);
		assert_int_equal(result, *added);
		(*added)++;
		break;
	default:
		assert_memory_equal(there->mem + DST_OFF + slot_of(r, qp, i), here->mem + op->src, op->bytes);
	}
}

static void check_recv(const struct op *op, uint32_t i, const struct tp_cqe *cqe)
{
	assert_non_null(cqe);
	assert_int_equal(cqe->status, TP_WC_SUCCESS);
	assert_int_equal(cqe->wr_id, op->recv_id);
	assert_int_equal(cqe->bytes, op->bytes);
	assert_int_equal(cqe->opcode, op->opcode == TP_WR_WRITE_IMM ? TP_WC_OP_RECV_WRITE_IMM : TP_WC_OP_RECV);
	if (op->opcode != TP_WR_SEND) {
		assert_int_equal(cqe->flags, TP_WC_WITH_IMM);
		assert_int_equal(cqe->imm, i);
	}
}

static void check_side(struct run *r, uint32_t qp, int side)
{
	struct hx_side *here = &r->w->side[side], *there = &r->w->side[!side];
	uint32_t sends = 0, recvs = 0;
	uint64_t added = 0, counter;

	for (uint32_t i = 0; i < r->n_ops; i++) {
		const struct op *op = &r->ops[qp][side][i];
		const struct tp_cqe *cqe = next_of(&here->send_cq, &sends, here->qps[qp].qpn);

		assert_non_null(cqe);
		assert_int_equal(cqe->status, TP_WC_SUCCESS);
		assert_int_equal(cqe->wr_id, op->id);
		assert_int_equal(cqe->bytes, op->bytes);
		check_op(r, qp, side, i, &added);
		if (op->takes_recv)
			check_recv(op, i, next_of(&there->recv_cq, &recvs, there->qps[qp].qpn));
	}
	assert_null(next_of(&here->send_cq, &sends, here->qps[qp].qpn));
	assert_null(next_of(&there->recv_cq, &recvs, there->qps[qp].qpn));
	memcpy(&counter, there->mem + COUNTER_OFF + qp * 8, 8);
	assert_int_equal(counter, added);
}

static void drive(struct run *r, uint32_t n_qps)
{
	for (uint32_t qp = 0; qp < n_qps; qp++) {
		for (int side = 0; side < 2; side++)
			plan(r, qp, side);
	}
	/* The receives come in two halves, so that the second has RNR NAKs to live through. */
	for (uint32_t half = 0; half < 2; half++) {
		for (uint32_t qp = 0; qp < n_qps; qp++) {
			for (int side = 0; side < 2; side++) {
				post_recvs(r, qp, side, half * r->n_ops / 2, (half + 1) * r->n_ops / 2);
				for (uint32_t i = 0; i < r->n_ops && half == 0; i++)
					post_op(r, qp, side, i);
			}
		}
		hx_run(r->w, half == 0 ? 2 * HX_MS : 60 * HX_S);
	}
}

static void add_up(const struct hx_world *w)
{
	for (int side = 0; side < 2; side++) {
		const struct tp_counters *c = tp_counters(w->side[side].tp);

		total.retransmits += c->retransmits;
		total.ack_timeouts += c->ack_timeouts;
		total.rnr_naks_received += c->rnr_naks_received;
		total.seq_naks_received += c->seq_naks_received;
		total.duplicates += c->duplicates;
		total.reordered += c->reordered;
		total.probes += c->probes;
		total.merged_messages += c->merged_messages;
		total.drops[BASE_DROP_ACK_WINDOW] += c->drops[BASE_DROP_ACK_WINDOW];
	}
}

/* Up to one packet in ten is lost; a path may be a hundred times as long as another. */
static void add_paths(struct hx_options *o, uint64_t seed)
{
	const uint8_t n_evs[] = {64, 16, 4, 1};

	o->ext = true;
	o->n_evs = n_evs[seed % 4];
	o->sched = (enum path_sched_kind)(seed % PATH_SCHED_KINDS);
	o->n_paths = 4;
	for (uint32_t i = 0; i < o->n_paths; i++)
		o->path_ns[i] = i * 3000 * (seed % 3 == 0 ? 100 : 1);
	o->lose = (uint32_t)(seed * 7 % 101);
	o->held = seed % 8 == 0 ? 20 : 0;
	/* A lost connection by right: so many in a row. */
	o->timeout = 10;
	if (running_merge)
		o->merge = (struct tp_merge_config){seed % 4 == 3 ? 4096 : 200, seed % 3 == 0 ? 20000 : 0};
}

static void run_seed(uint64_t seed)
{
	const uint32_t mtus[] = {256, 512, 1024, 2048, 4096};
	struct hx_options o = {
		.seed = seed,
		.mtu = mtus[seed % 5],
		.psn = (uint32_t)(0xffffff - seed * 3) & 0xffffff,
		.copied = (seed & 1) != 0,
		.l3_version = (seed & 2) != 0 ? 6 : 4,
		.n_qps = 1 + (uint32_t)(seed % 2),
		.window = seed % 7 == 0 ? 3 : 0,
		.rd_atomic = (uint8_t)(1 + seed % 4),
		.dest_rd_atomic = (uint8_t)(1 + seed % 4),
		.lose = seed % 3 != 0 ? 20 : 0,
		.repeat = seed % 4 != 0 ? 20 : 0,
		.delay = seed % 5 != 0 ? 50 : 0,
		.damage = 5,
		.reorder = seed % 6 < 3 ? 64 : 0,
	};
	struct run *r = calloc(1, sizeof(*r));

	if (running_ext)
		add_paths(&o, seed);

	assert_non_null(r);
	running_seed = seed;
	/* Few long messages, which are read in pieces, or many short ones. */
	r->n_ops = seed % 3 == 0 ? N_OPS / 3 : N_OPS;
	r->max_bytes = AREA_BYTES / (r->n_ops * o.n_qps);
	if (running_merge && seed % 4 != 0)
		r->max_bytes = 150;
	r->w = hx_new(&o);
	for (int side = 0; side < 2; side++)
		hx_fill(r->w->side[side].mem, SRC_BYTES, (uint32_t)seed * 2 + (uint32_t)side);
	drive(r, o.n_qps);
	for (uint32_t qp = 0; qp < o.n_qps; qp++) {
		for (int side = 0; side < 2; side++)
			check_side(r, qp, side);
	}
	add_up(r->w);
	hx_free(r->w);
	free(r);
}

static void test_seeds(void **state)
{
	(void)state;
	for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++)
		run_seed(seed);
	running_seed = 0;
	if (n_seeds < N_SEEDS)
		return;
	assert_int_not_equal(total.retransmits, 0);
	assert_int_not_equal(total.ack_timeouts, 0);
	assert_int_not_equal(total.rnr_naks_received, 0);
	assert_int_not_equal(total.seq_naks_received, 0);
	assert_int_not_equal(total.duplicates, 0);
	assert_int_not_equal(total.drops[BASE_DROP_ACK_WINDOW], 0);
}

static void test_seeds_sr(void **state)
{
	(void)state;
	memset(&total, 0, sizeof(total));
	running_ext = true;
	for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++)
		run_seed(seed);
	running_seed = 0;
	running_ext = false;
	assert_int_equal(total.seq_naks_received, 0);
	if (n_seeds < N_SEEDS)
		return;
	assert_int_not_equal(total.retransmits, 0);
	assert_int_not_equal(total.rnr_naks_received, 0);
	assert_int_not_equal(total.duplicates, 0);
	assert_int_not_equal(total.reordered, 0);
	assert_int_not_equal(total.probes, 0);
}

static void test_seeds_merged(void **state)
{
	running_merge = true;
	test_seeds_sr(state);
	running_merge = false;
	if (n_seeds >= N_SEEDS)
		assert_true(total.merged_messages > n_seeds * N_OPS);
}

static int tell_seed(void **state)
{
	(void)state;
	if (running_seed != 0)
		print_message("failed with seed %llu%s\n", (unsigned long long)running_seed, running_merge ? ", merged" : running_ext ? ", selective repeat" : "");
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_seeds, tell_seed),
		cmocka_unit_test_teardown(test_seeds_sr, tell_seed),
		cmocka_unit_test_teardown(test_seeds_merged, tell_seed),
	};

	if (argc > 1) {
		first_seed = strtoull(argv[1], NULL, 10);
		n_seeds = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
