/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Peers and clients that mean harm, by seed: packets whose fields are all plausible but combined at random,
 * between packets of an honest exchange, and work requests of random bits. What has to hold: memory that no
 * region gives the peer stays untouched, no more is retired than was fetched, and nothing breaks (this program
 * is worth most under ASan and UBSan). `test_tp_hostile SEED [COUNT]` runs chosen seeds.
 */
#include <stdlib.h>

#include "harness.h"

#define N_SEEDS  300
#define N_STEPS  300
#define P        0xffff80u
#define OPEN_OFF 65536u          /* the peer may write from here on, for this many bytes */
#define OPEN     8192u

static uint64_t first_seed = 1, n_seeds = N_SEEDS, running_seed;
static uint64_t received[TP_QPT_UD + 1];   /* shows that the attacks got as far as memory */

static const uint8_t data[4200];

static uint32_t open_region(struct hx_world *w)
{
	struct hx_side *s = &w->side[1];
	struct tp_mr_attr attr = {
		.pd = HX_PD,
		.access = TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_ATOMIC |
			TP_ACCESS_REMOTE_READ,
		.iova = HX_IOVA + OPEN_OFF,
		.addr = (uintptr_t)s->mem + OPEN_OFF,
		.bytes = OPEN,
		.as = s,
		.direct = w->o.copied ? NULL : s->mem + OPEN_OFF,
		.invalidatable = true,
	};
	uint32_t key;

	assert_int_equal(tp_mr_create(s->tp, &attr, &key), 0);
	return key;
}

static uint32_t some_length(struct hx_world *w)
{
	const uint32_t mtu = w->o.mtu;
	const uint32_t usual[] = {0, 1, 4, 8, mtu - 1, mtu, mtu + 1, 2 * mtu, 3 * mtu + 5, OPEN, OPEN + 1, 0xffffffff,
		1u << 31, (1u << 31) + 1};

	return hx_random(w, 4) == 0 ? hx_random(w, 5000) : usual[hx_random(w, sizeof(usual) / sizeof(usual[0]))];
}

static uint8_t some_opcode(struct hx_world *w)
{
	uint8_t opcode;

	if (w->o.type == TP_QPT_UD && hx_random(w, 8) != 0)
		return hx_random(w, 2) == 0 ? WIRE_UD_SEND_ONLY : WIRE_UD_SEND_ONLY_IMM;
	if (w->o.type == TP_QPT_UC && hx_random(w, 8) != 0)
		return (uint8_t)(WIRE_UC_SEND_FIRST + hx_random(w, WIRE_UC_WRITE_ONLY_IMM - WIRE_UC_SEND_FIRST + 1));
	do
		opcode = (uint8_t)hx_random(w, hx_random(w, 8) == 0 ? 256 : 0x18);
	while (wire_opinfo(opcode)->name == NULL || wire_opinfo(opcode)->service == WIRE_SERVICE_RD);
	return opcode;
}

/* A packet to either side near the PSNs that side expects, so that most get past the first check. */
static void attack(struct hx_world *w)
{
	static const uint8_t syndromes[] = {0x1f, 0x1f, 0x1f, 0x00, 0x20, 0x2c, 0x60, 0x60, 0x61, 0x63, 0x7f, 0x80,
		0x40};
	int to = hx_random(w, 3) == 0 ? 0 : 1;
	struct tp_qp_attr attr;
	uint32_t n = hx_random(w, 2) != 0 ? w->o.mtu : some_length(w) % 4200;
	struct wire_pkt pkt = {
		.opcode = some_opcode(w),
		.ack_req = hx_random(w, 2) != 0,
		.va = HX_IOVA + OPEN_OFF + hx_random(w, OPEN + 64) - 32,
		.rkey = hx_random(w, 8) == 0 ? w->side[1].key + hx_random(w, 0x300) + 1 : w->side[1].key,
		.dma_bytes = some_length(w),
		.syndrome = syndromes[hx_random(w, sizeof(syndromes))],
		.qkey = HX_QKEY,
		.sqpn = 0xabcdef,
	};

	if (hx_random(w, 2) == 0)
		pkt.va &= ~7ull;
	if (hx_random(w, 3) == 0)
		pkt.dma_bytes = n;
	if (!wire_op_is(wire_opinfo(pkt.opcode), WIRE_OP_PAYLOAD))
		n = 0;
	tp_qp_query(w->side[to].qps[0].qp, &attr);
	pkt.psn = (wire_op_is(wire_opinfo(pkt.opcode), WIRE_OP_RESPONSE) ? attr.sq_psn : attr.rq_psn);
	if (hx_random(w, 2) == 0)
		pkt.psn = (pkt.psn + hx_random(w, 12) - 8) & 0xffffff;
	hx_inject(w, to, pkt, data, n);
}

static void post_honest(struct hx_world *w)
{
	struct hx_piece piece = {hx_random(w, 4096), hx_random(w, 2000)};
	struct tp_send_wqe wqe = {.opcode = (uint8_t)hx_random(w, 7), .remote_addr = HX_IOVA + OPEN_OFF,
		.rkey = w->side[1].key, .flags = (uint16_t)hx_random(w, 8)};
	struct hx_qp *q = &w->side[0].qps[0];

	if (w->o.type == TP_QPT_UD) {
		wqe.ud.ah = hx_random(w, 8) != 0 ? w->side[0].ah : hx_random(w, 1000);
		wqe.ud.qpn = w->side[1].qps[0].qpn;
		wqe.ud.qkey = HX_QKEY;
	}
	if (q->sq_prod - q->sq_retired < HX_RING)
		hx_post(q, &wqe, &piece, 1);
	piece.off = OPEN_OFF;
	if (w->o.srq && w->side[1].srq.prod - w->side[1].srq.fetch < HX_RING)
		hx_srq_recv(&w->side[1], &piece, 1);
	if (w->side[1].qps[0].rq_prod - w->side[1].qps[0].rq_fetch < HX_RING)
		hx_recv(&w->side[1].qps[0], &piece, 1);
}

/* A work request of any bits. Its local memory may be any that side 0 has registered, so side 0's is not checked. */
static void post_garbage(struct hx_world *w)
{
	struct hx_qp *q = &w->side[0].qps[0];
	union {
		struct tp_send_wqe wqe;
		uint8_t raw[sizeof(struct tp_send_wqe)];
	} u;
	struct tp_sge sge[TP_MAX_SGE];

	if (q->sq_prod - q->sq_retired >= HX_RING)
		return;
	for (size_t i = 0; i < sizeof(u.raw); i++)
		u.raw[i] = (uint8_t)hx_random(w, 256);
	u.wqe.wr_id |= 1;
	u.wqe.opcode = (uint8_t)hx_random(w, 12);
	u.wqe.flags &= 0xf;
	for (uint32_t i = 0; i < TP_MAX_SGE; i++)
		sge[i] = (struct tp_sge){HX_IOVA + some_length(w), some_length(w), w->side[0].key + hx_random(w, 2)};
	hx_post_raw(q, &u.wqe, sge, TP_MAX_SGE);
	((struct tp_send_wqe *)(void *)q->sq[(q->sq_prod - 1) % HX_RING])->num_sge = u.wqe.num_sge;
}

static void reconnect_if_dead(struct hx_world *w)
{
	struct hx_qp *a = &w->side[0].qps[0], *b = &w->side[1].qps[0];

	if (hx_state(a) == TP_QPS_SQE && hx_random(w, 4) == 0)
		assert_int_equal(hx_to_state(w, a, TP_QPS_RTS), 0);
	if (hx_state(a) != TP_QPS_ERR && hx_state(b) != TP_QPS_ERR)
		return;
	hx_run(w, HX_S / 10);
	assert_int_equal(hx_to_state(w, a, TP_QPS_RESET), 0);
	assert_int_equal(hx_to_state(w, b, TP_QPS_RESET), 0);
	a->sq_retired = a->sq_fetch = a->sq_prod;
	b->rq_fetch = b->rq_prod;
	w->o.psn = hx_random(w, 1u << 24);
	/* A SEND with invalidate may have ended it. */
	assert_int_equal(tp_mr_destroy(w->side[1].tp, w->side[1].key), 0);
	w->side[1].key = open_region(w);
	hx_connect(w, 0);
}

static void check_untouched(const struct hx_world *w)
{
	const uint8_t *mem = w->side[1].mem;

	for (uint32_t i = 0; i < HX_MEM_BYTES; i++) {
		if (i - OPEN_OFF >= OPEN && mem[i] != 0x5a)
			fail_msg("byte %u was written", i);
	}
}

static void run_seed(enum tp_qp_type type, uint64_t seed)
{
	struct hx_options o = {
		.type = type,
		.srq = type != TP_QPT_RC && seed % 3 == 0,
		.seed = seed,
		.mtu = 256u << seed % 5,
		.psn = P,
		.copied = (seed & 1) != 0,
		.timeout = 3,
		.lose = 20,
		.repeat = 20,
		.delay = 20,
		.damage = 20,
	};
	struct hx_world *w = hx_new(&o);

	running_seed = seed;
	memset(w->side[1].mem, 0x5a, HX_MEM_BYTES);
	/* The region over all of the memory is there for local use only. */
	assert_int_equal(tp_mr_destroy(w->side[1].tp, w->side[1].key), 0);
	w->side[1].key = open_region(w);
	for (uint32_t i = 0; i < N_STEPS; i++) {
		if (hx_random(w, 3) == 0)
			post_honest(w);
		if (hx_random(w, 40) == 0)
			post_garbage(w);
		attack(w);
		hx_run(w, 2000);
		reconnect_if_dead(w);
		w->n_log = 0;
		received[type] += w->side[1].recv_cq.n - w->side[1].recv_cq.polled;
		w->side[0].send_cq.polled = w->side[0].send_cq.n;
		w->side[1].recv_cq.polled = w->side[1].recv_cq.n;
	}
	check_untouched(w);
	hx_free(w);
}

static void run_seeds(enum tp_qp_type type)
{
	for (uint64_t seed = first_seed; seed < first_seed + n_seeds; seed++)
		run_seed(type, seed);
	running_seed = 0;
	if (n_seeds >= N_SEEDS)
		assert_true(received[type] > 1000);
}

static void test_seeds(void **state)
{
	(void)state;
	run_seeds(TP_QPT_RC);
}

static void test_seeds_uc(void **state)
{
	(void)state;
	run_seeds(TP_QPT_UC);
}

static void test_seeds_ud(void **state)
{
	(void)state;
	run_seeds(TP_QPT_UD);
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
		cmocka_unit_test_teardown(test_seeds_uc, tell_seed),
		cmocka_unit_test_teardown(test_seeds_ud, tell_seed),
	};

	if (argc > 1) {
		first_seed = strtoull(argv[1], NULL, 10);
		n_seeds = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
