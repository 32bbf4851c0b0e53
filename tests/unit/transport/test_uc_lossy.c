/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unreliable connections over a wire that loses, repeats, delays and damages frames, by seed. Messages may be
 * missing, and come twice where a packet did; what is completed must be one message, whole and unmixed. A failing
 * seed is printed; `test_tp_uc_lossy SEED [COUNT]` runs chosen ones.
 */
#include <stdlib.h>

#include "harness.h"

#define N_SEEDS   150
#define N_OPS     80
#define MAX_BYTES 6000u
#define DST_OFF   0
#define WRITE_OFF (HX_MEM_BYTES / 2)   /* slot i of WRITE i */

struct op {
	enum tp_wr_opcode opcode;
	uint32_t src, bytes;
	uint64_t id;
	bool arrived;
};

static uint64_t first_seed = 1, n_seeds = N_SEEDS, running_seed;
static uint64_t total_arrived, total_lost, total_cut;

static void post_all(struct hx_world *w, struct op *ops)
{
	static const enum tp_wr_opcode opcodes[] = {TP_WR_SEND_IMM, TP_WR_SEND_IMM, TP_WR_WRITE_IMM, TP_WR_WRITE};

	for (uint32_t i = 0; i < N_OPS; i++) {
		struct op *op = &ops[i];
		struct hx_piece pieces[2];
		struct tp_send_wqe wqe = {.rkey = w->side[1].key, .imm = i,
			.remote_addr = HX_IOVA + WRITE_OFF + i * MAX_BYTES};

		op->opcode = opcodes[hx_random(w, 4)];
		op->src = hx_random(w, HX_MEM_BYTES - MAX_BYTES);
		op->bytes = hx_random(w, 4) == 0 ? hx_random(w, 300) : hx_random(w, MAX_BYTES + 1);
		wqe.opcode = (uint8_t)op->opcode;
		pieces[0] = (struct hx_piece){op->src, op->bytes / 3};
		pieces[1] = (struct hx_piece){op->src + op->bytes / 3, op->bytes - op->bytes / 3};
		op->id = hx_post(&w->side[0].qps[0], &wqe, pieces, 2);
	}
}

/* Receive work request r has the r-th slot; repeated packets may use more of them than there are messages. */
static void post_recvs(struct hx_world *w)
{
	for (uint32_t r = 0; r < N_OPS; r++) {
		struct hx_piece piece = {DST_OFF + r * MAX_BYTES, MAX_BYTES};

		hx_recv(&w->side[1].qps[0], &piece, 1);
	}
}

static void check_received(const struct hx_world *w, struct op *ops, const struct tp_cqe *cqe, uint32_t recv)
{
	struct op *op = &ops[cqe->imm];
	const uint8_t *from = w->side[0].mem + op->src;

	assert_true(cqe->imm < N_OPS);
	assert_int_equal(cqe->status, TP_WC_SUCCESS);
	assert_int_equal(cqe->wr_id, 0x4ecf0000u + recv);
	assert_int_equal(cqe->bytes, op->bytes);
	op->arrived = true;
	if (op->opcode == TP_WR_SEND_IMM) {
		assert_int_equal(cqe->opcode, TP_WC_OP_RECV);
		assert_memory_equal(w->side[1].mem + DST_OFF + recv * MAX_BYTES, from, op->bytes);
	} else {
		assert_int_equal(cqe->opcode, TP_WC_OP_RECV_WRITE_IMM);
		assert_memory_equal(w->side[1].mem + WRITE_OFF + cqe->imm * MAX_BYTES, from, op->bytes);
	}
}

static void run_seed(uint64_t seed)
{
	struct hx_options o = {
		.type = TP_QPT_UC,
		.seed = seed,
		.mtu = 256u << seed % 3,
		.psn = (uint32_t)(0xffffff - seed * 3) & 0xffffff,
		.copied = (seed & 1) != 0,
		.l3_version = (seed & 2) != 0 ? 6 : 4,
		.lose = seed % 5 != 0 ? 20 : 0,
		.repeat = seed % 4 != 0 ? 10 : 0,
		.delay = seed % 3 != 0 ? 10 : 0,
		.damage = seed % 5 != 0 ? 10 : 0,
		.reorder = seed % 6 < 3 ? 64 : 0,
	};
	struct hx_world *w = hx_new(&o);
	struct op ops[N_OPS] = {0};

	running_seed = seed;
	hx_fill(w->side[0].mem, HX_MEM_BYTES, (uint32_t)seed);
	post_recvs(w);
	post_all(w, ops);
	hx_run(w, HX_S);
	for (uint32_t i = 0; i < N_OPS; i++)
		hx_expect(&w->side[0].send_cq, ops[i].id, TP_WC_SUCCESS);
	for (uint32_t r = 0; r < w->side[1].recv_cq.n; r++)
		check_received(w, ops, hx_poll(&w->side[1].recv_cq), r);
	for (uint32_t i = 0; i < N_OPS; i++) {
		if (ops[i].opcode == TP_WR_WRITE)
			continue;
		total_arrived += ops[i].arrived;
		total_lost += !ops[i].arrived;
		if (o.lose + o.repeat + o.delay + o.damage == 0)
			assert_true(ops[i].arrived);
	}
	total_cut += tp_counters(w->side[1].tp)->cut_messages;
	assert_int_equal(hx_state(&w->side[1].qps[0]), TP_QPS_RTS);
	assert_int_equal(w->side[1].emitted, 0);
	hx_free(w);
}

static void test_seeds(void **state)
{
	(void)state;
	for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++)
		run_seed(seed);
	running_seed = 0;
	if (n_seeds < N_SEEDS)
		return;
	/* Both happened, and most of it got through. */
	assert_true(total_lost > 100);
	assert_true(total_cut > 100);
	assert_true(total_arrived > 4 * total_lost);
}

static int tell_seed(void **state)
{
	(void)state;
	if (running_seed != 0)
		print_message("failed with seed %llu\n", (unsigned long long)running_seed);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_seeds, tell_seed),
	};

	if (argc > 1) {
		first_seed = strtoull(argv[1], NULL, 10);
		n_seeds = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
