/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages at the ends of the range of lengths, 0 to 2^31 bytes (IBTA vol. 1, 9.7.7.2.1), and PSN arithmetic at the
 * smallest MTU, where the longest message takes half of all PSNs. Long memory is a short one mapped again and again.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "tp_internal.h"

#define P       0x100000u
#define LONGEST (1u << 31)
#define PERIOD  (257u * 4096)   /* of the memory; no multiple of what the wire cuts it into */
#define VA      0x7000000000u

static const uint32_t starts[] = {0, 1, 0x7fffff, 0x800000, 0xfffffe};

/* ---- arithmetic ---- */

static void test_packets_of_a_message(void **state)
{
	static const struct {
		uint32_t bytes, mtu, n;
	} cases[] = {
		{0, 256, 1}, {1, 256, 1}, {256, 256, 1}, {257, 256, 2}, {4096, 4096, 1}, {4097, 4096, 2},
		{LONGEST, 256, 1u << 23}, {LONGEST - 1, 256, 1u << 23}, {LONGEST - 256, 256, (1u << 23) - 1},
		{LONGEST, 4096, 1u << 19}, {LONGEST - 4095, 4096, 1u << 19}, {LONGEST - 4096, 4096, (1u << 19) - 1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(tp_npkts(cases[i].bytes, cases[i].mtu), cases[i].n);
}

/* Requests for the pieces of a READ meet end to end, over the wrap of PSNs too. */
static void test_pieces_of_the_longest(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct tp_swr swr = {.psn = starts[i], .n_psn = 1u << 23, .bytes = LONGEST};
		uint32_t psn = swr.psn, n = 0;

		while (n < swr.n_psn) {
			uint32_t end = tp_piece_end(&swr, psn);

			assert_int_equal(tp_psn_dist(end, psn), TP_READ_PKTS);
			n += tp_psn_dist(end, psn);
			psn = end;
		}
		assert_int_equal(psn, base_psn_add(starts[i], 1u << 23));
	}
}

/* ---- the longest ---- */

static uint8_t *repeated(uint64_t n)
{
	int fd = memfd_create("lengths", 0);
	uint8_t *base = mmap(NULL, n + PERIOD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, PERIOD), 0);
	assert_ptr_not_equal(base, MAP_FAILED);
	for (uint64_t at = 0; at < n; at += PERIOD)
		assert_ptr_not_equal(mmap(base + at, PERIOD, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0),
			MAP_FAILED);
	close(fd);
	return base;
}

struct scene {
	struct hx_world *w;
	uint8_t *mem[2];
	uint32_t key[2];
};

static void begin(struct scene *s, uint32_t mtu, uint32_t psn)
{
	struct hx_options o = {.mtu = mtu, .psn = psn};

	s->w = hx_new(&o);
	for (int i = 0; i < 2; i++) {
		struct tp_mr_attr attr = {.pd = HX_PD, .iova = VA, .bytes = (uint64_t)LONGEST + PERIOD,
			.access = TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ};

		s->mem[i] = repeated((uint64_t)LONGEST + 1);
		attr.direct = s->mem[i];
		attr.addr = (uintptr_t)s->mem[i];
		assert_int_equal(tp_mr_create(s->w->side[i].tp, &attr, &s->key[i]), 0);
	}
	hx_fill(s->mem[0], PERIOD, 1);
	hx_fill(s->mem[1], PERIOD, 2);
}

static void end(struct scene *s)
{
	for (int i = 0; i < 2; i++)
		munmap(s->mem[i], (uint64_t)LONGEST + 1 + PERIOD);
	hx_free(s->w);
}

/* Posts one and passes over all but its last `rest` PSNs, as if they were sent and acknowledged. */
static void near_the_end(struct scene *s, enum tp_wr_opcode op, uint32_t n_bytes, uint32_t psn, uint32_t rest)
{
	struct tp_send_wqe wqe = {.opcode = (uint8_t)op, .remote_addr = VA};
	struct tp_sge sge = {VA, n_bytes, 0};
	struct tp_req *req;

	begin(s, 256, psn);
	s->w->cut = true;
	sge.lkey = s->key[0];
	wqe.rkey = s->key[1];
	hx_post_raw(&s->w->side[0].qps[0], &wqe, &sge, 1);
	tp_tx(s->w->side[0].tp, 1, s->w->now_ns);
	req = &s->w->side[0].qps[0].qp->req;
	req->una = req->snd_psn = req->snd_max = base_psn_add(psn, (1u << 23) - rest);
	req->rd_out = 0;
	tp_qp_kick(s->w->side[0].tp, s->w->side[0].qps[0].qp);
	tp_tx(s->w->side[0].tp, 64, s->w->now_ns);
}

/* The last packets of the longest WRITE at the smallest MTU, and its completion. */
static void test_end_of_the_longest_write(void **state)
{
	static const uint32_t sizes[] = {LONGEST, LONGEST - 1, LONGEST - 255};

	(void)state;
	for (size_t i = 0; i < 3 * sizeof(starts) / sizeof(starts[0]); i++) {
		uint32_t psn = starts[i / 3], n_bytes = sizes[i % 3], last = base_psn_add(psn, (1u << 23) - 1);
		struct wire_pkt ack = {.opcode = WIRE_RC_ACK, .psn = last, .syndrome = 0x1f};
		const struct tp_cqe *cqe;
		struct scene s;

		near_the_end(&s, TP_WR_WRITE, n_bytes, psn, 3);
		assert_int_equal(hx_count(s.w, 0, WIRE_RC_WRITE_MIDDLE), 2);
		assert_int_equal(hx_last(s.w, 0)->opcode, WIRE_RC_WRITE_LAST);
		assert_int_equal(hx_last(s.w, 0)->psn, last);
		assert_int_equal(hx_last(s.w, 0)->payload_bytes, n_bytes - (LONGEST - 256));
		hx_inject(s.w, 0, ack, NULL, 0);
		cqe = hx_poll(&s.w->side[0].send_cq);
		assert_int_equal(cqe->status, TP_WC_SUCCESS);
		assert_int_equal(cqe->bytes, n_bytes);
		end(&s);
	}
}

/* The request for the last piece of the longest READ. */
static void test_end_of_the_longest_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct scene s;

		near_the_end(&s, TP_WR_READ, LONGEST, starts[i], TP_READ_PKTS);
		assert_int_equal(hx_last(s.w, 0)->opcode, WIRE_RC_READ_REQUEST);
		assert_int_equal(hx_last(s.w, 0)->psn, base_psn_add(starts[i], (1u << 23) - TP_READ_PKTS));
		assert_int_equal(hx_last(s.w, 0)->dma_bytes, TP_READ_PKTS * 256);
		assert_true(hx_last(s.w, 0)->va == VA + LONGEST - TP_READ_PKTS * 256);
		end(&s);
	}
}

/* One byte more is a local error, and nothing of it goes out. */
static void test_longer(void **state)
{
	static const enum tp_wr_opcode ops[] = {TP_WR_WRITE, TP_WR_WRITE_IMM, TP_WR_SEND, TP_WR_SEND_IMM, TP_WR_READ};

	(void)state;
	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		struct tp_sge sge[2] = {{VA, LONGEST, 0}, {VA, 1, 0}};
		struct tp_send_wqe wqe = {.opcode = (uint8_t)ops[i], .remote_addr = VA};
		struct scene s;

		begin(&s, 256, 0);
		sge[0].lkey = sge[1].lkey = s.key[0];
		wqe.rkey = s.key[1];
		hx_post_raw(&s.w->side[0].qps[0], &wqe, sge, 2);
		hx_run(s.w, HX_S);
		assert_int_equal(hx_poll(&s.w->side[0].send_cq)->status, TP_WC_LOC_LEN_ERR);
		assert_int_equal(s.w->side[0].emitted, 0);
		end(&s);
	}
}

/* ---- half of all PSNs ---- */

static void ask(struct hx_world *w, uint32_t psn, uint32_t key, uint32_t n)
{
	struct wire_pkt pkt = {.opcode = WIRE_RC_READ_REQUEST, .psn = psn, .ack_req = 1, .va = VA, .rkey = key,
		.dma_bytes = n};

	hx_inject(w, 1, pkt, NULL, 0);
}

static uint64_t out_of_order(const struct hx_world *w)
{
	return tp_counters(w->side[1].tp)->drops[BASE_DROP_OUT_OF_ORDER];
}

/* The READ of 2^23 answers at MTU 256: what comes behind it is expected 2^23 PSNs later, and the request itself, if
 * it comes again, is a duplicate still. */
static void test_longest_read_request(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		uint32_t behind = base_psn_add(starts[i], 1u << 23);
		struct scene s;

		begin(&s, 256, starts[i]);
		s.w->cut = true;
		ask(s.w, starts[i], s.key[1], LONGEST);
		tp_tx(s.w->side[1].tp, 4, s.w->now_ns);
		assert_int_equal(hx_last(s.w, 1)->psn, base_psn_add(starts[i], 3));
		assert_int_equal(tp_counters(s.w->side[1].tp)->duplicates, 0);
		ask(s.w, starts[i], s.key[1], LONGEST);
		assert_int_equal(tp_counters(s.w->side[1].tp)->duplicates, 1);
		tp_tx(s.w->side[1].tp, 1, s.w->now_ns);
		assert_int_equal(hx_last(s.w, 1)->psn, starts[i]);   /* answered from its start again */
		ask(s.w, behind, s.key[1], 8);
		assert_int_equal(tp_counters(s.w->side[1].tp)->duplicates, 1);
		assert_int_equal(out_of_order(s.w), 0);
		ask(s.w, base_psn_add(behind, 2), s.key[1], 8);
		assert_int_equal(out_of_order(s.w), 1);
		end(&s);
	}
}

/* More than the longest is an invalid request. */
static void test_longer_read_request(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 256, P);
	s.w->cut = true;
	ask(s.w, P, s.key[1], LONGEST + 1);
	hx_run(s.w, HX_MS);
	assert_int_equal(hx_last(s.w, 1)->psn, P);
	assert_int_equal(hx_last(s.w, 1)->syndrome, 0x61);
	assert_int_equal(hx_state(&s.w->side[1].qps[0]), TP_QPS_ERR);
	end(&s);
}

/* Two of the longest one behind the other name all PSNs there are: each still begins where the other ends. */
static void test_two_of_the_longest(void **state)
{
	struct tp_send_wqe wqe = {.opcode = TP_WR_WRITE, .remote_addr = VA};
	struct tp_sge sge = {VA, LONGEST, 0};
	struct tp_qp_attr attr;
	struct scene s;

	(void)state;
	begin(&s, 256, 0xfffff0);
	s.w->cut = true;
	sge.lkey = s.key[0];
	wqe.rkey = s.key[1];
	for (int i = 0; i < 3; i++)
		hx_post_raw(&s.w->side[0].qps[0], &wqe, &sge, 1);
	tp_tx(s.w->side[0].tp, 4096, s.w->now_ns);
	/* A window of them, and no more, however far their end is. */
	assert_true(s.w->side[0].emitted <= TP_DEFAULT_WINDOW);
	assert_int_equal(hx_count(s.w, 0, WIRE_RC_WRITE_FIRST), 1);
	tp_qp_query(s.w->side[0].qps[0].qp, &attr);
	assert_int_equal(attr.sq_psn, base_psn_add(0xfffff0, s.w->side[0].emitted));
	/* An acknowledgement from beyond what is out is none. */
	hx_inject(s.w, 0, (struct wire_pkt){.opcode = WIRE_RC_ACK, .psn = base_psn_add(0xfffff0, (1u << 23) - 1),
		.syndrome = 0x1f}, NULL, 0);
	hx_expect_none(s.w);
	assert_int_equal(tp_counters(s.w->side[0].tp)->drops[BASE_DROP_ACK_WINDOW], 1);
	end(&s);
}

/* ---- nothing at all ---- */

/* 9.7.4.1.5: a message without data looks at neither key nor address, with an empty entry and with none. */
static void test_empty(void **state)
{
	static const enum tp_wr_opcode ops[] = {TP_WR_WRITE, TP_WR_WRITE_IMM, TP_WR_SEND, TP_WR_SEND_IMM, TP_WR_READ};

	(void)state;
	for (size_t i = 0; i < 2 * sizeof(ops) / sizeof(ops[0]); i++) {
		enum tp_wr_opcode op = ops[i / 2];
		struct tp_send_wqe wqe = {.opcode = (uint8_t)op, .remote_addr = 0x10, .rkey = 0xdead};
		struct hx_options o = {.psn = 0xffffff};
		struct hx_world *w = hx_new(&o);
		struct tp_sge nothing = {0x10, 0, 0xdead};
		bool takes_recv = op != TP_WR_WRITE && op != TP_WR_READ;

		if (takes_recv)
			hx_recv_raw(&w->side[1].qps[0], &nothing, i % 2);
		hx_post_raw(&w->side[0].qps[0], &wqe, &nothing, i % 2);
		hx_run(w, HX_S);
		assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
		if (takes_recv)
			assert_int_equal(hx_poll(&w->side[1].recv_cq)->bytes, 0);
		assert_int_equal(w->side[0].emitted, 1);
		hx_expect_none(w);
		hx_free(w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packets_of_a_message),
		cmocka_unit_test(test_pieces_of_the_longest),
		cmocka_unit_test(test_end_of_the_longest_write),
		cmocka_unit_test(test_end_of_the_longest_read),
		cmocka_unit_test(test_longer),
		cmocka_unit_test(test_longest_read_request),
		cmocka_unit_test(test_longer_read_request),
		cmocka_unit_test(test_two_of_the_longest),
		cmocka_unit_test(test_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
