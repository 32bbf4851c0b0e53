/* SPDX-License-Identifier: BSD-3-Clause */
/* rsockets: what goes over the wire, and the arithmetic of rings and credits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>
#include <netinet/in.h>

#include "vcl_rs_flow.h"
#include "vcl_rs_wire.h"

/* Bits 31:29 are the operation, bits 28:0 its value. */
static void test_immediate(void **state)
{
	(void)state;
	assert_int_equal(rs_imm(RS_OP_DATA, 1000), 1000);
	assert_int_equal(rs_imm(RS_OP_SGL, 384), 0x80000180);
	assert_int_equal(rs_imm(RS_OP_IOMAP, 3), 0xc0000003);
	assert_int_equal(rs_imm(RS_OP_CTRL, RS_CTRL_SHUTDOWN), 0xe0000002);
	assert_int_equal(rs_imm(RS_OP_DATA, UINT32_MAX), RS_VALUE_MASK); /* a value never reaches the operation */
	assert_int_equal(rs_imm_op(0x80000180), RS_OP_SGL);
	assert_int_equal(rs_imm_value(0x80000180), 384);
}

/* Up to 128 entries are told exactly, more in steps of 256. */
static void test_iomap_size(void **state)
{
	static const struct {
		uint32_t wish, scaled, gets;
	} t[] = {
		{0, 0, 0},
		{1, 1, 1},
		{128, 128, 128},
		{256, 0x81, 256},
		{1000, 0x83, 768},
		{1 << 20, 0xff, 127 << 8},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		assert_int_equal(rs_scale(t[i].wish), t[i].scaled);
		assert_int_equal(rs_unscale((uint8_t)t[i].scaled), t[i].gets);
	}
}

static void test_conn_data(void **state)
{
	const struct rs_peer self = {
		.credits = 384, .iomap_entries = 5, .sgl = {0x1122334455667788, 0xabcd, 2}, .buf = {0x99, 0x77, 65536}};
	struct rs_conn_data data;
	uint8_t wire[64] = {0};
	struct rs_peer out;

	(void)state;
	rs_conn_data_fill(&data, &self);
	memcpy(wire, &data, sizeof(data));
	assert_int_equal(wire[0], 1);                  /* version */
	assert_int_equal(wire[2] << 8 | wire[3], 384); /* network byte order */
	assert_int_equal(wire[7], 5);
	assert_int_equal(wire[8], 0x11); /* target table: address, key, length */
	assert_int_equal(wire[15], 0x88);
	assert_int_equal(wire[19], 0xcd);
	assert_int_equal(wire[23], 2);
	assert_int_equal(wire[31], 0x99);                          /* data buffer */
	assert_true(rs_conn_data_parse(wire, sizeof(wire), &out)); /* private data come padded */
	assert_memory_equal(&out.sgl, &self.sgl, sizeof(out.sgl));
	assert_memory_equal(&out.buf, &self.buf, sizeof(out.buf));
	assert_int_equal(out.credits, 384);
	assert_int_equal(out.iomap_entries, 5);
	assert_false(out.swap);

	wire[1] ^= RS_CONN_BIG_ENDIAN;
	assert_true(rs_conn_data_parse(wire, sizeof(wire), &out));
	assert_true(out.swap);
	wire[1] &= (uint8_t)~RS_CONN_IOMAP;
	assert_true(rs_conn_data_parse(wire, sizeof(wire), &out));
	assert_int_equal(out.iomap_entries, 0);
}

static void test_conn_data_refused(void **state)
{
	const struct rs_peer self = {.sgl = {1, 1, 2}};
	struct rs_conn_data data;
	struct rs_peer out;

	(void)state;
	rs_conn_data_fill(&data, &self);
	assert_true(rs_conn_data_parse(&data, sizeof(data), &out));
	assert_false(rs_conn_data_parse(&data, sizeof(data) - 1, &out));
	assert_false(rs_conn_data_parse(NULL, 0, &out));
	data.version = 2;
	assert_false(rs_conn_data_parse(&data, sizeof(data), &out));
	data.version = 1;
	data.target_sgl.length = htonl(1); /* would be overwritten while in use */
	assert_false(rs_conn_data_parse(&data, sizeof(data), &out));
}

static void test_swap(void **state)
{
	const struct rs_iomap in = {0x0102030405060708, {0x1112131415161718, 0x21222324, 0x31323334}};
	struct rs_iomap out = rs_iomap_swap(in);

	(void)state;
	assert_int_equal(out.offset, 0x0807060504030201);
	assert_int_equal(out.sge.addr, 0x1817161514131211);
	assert_int_equal(out.sge.key, 0x24232221);
	assert_int_equal(out.sge.length, 0x34333231);
}

static void test_datagram_header(void **state)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET, .sin_port = htons(7174), .sin_addr = {htonl(0x0a000001)}};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(1), .sin6_addr = {{{0xfd, [15] = 9}}}};
	struct sockaddr_storage out, in = {0};
	struct rs_dg_header h;

	(void)state;
	memcpy(&in, &in4, sizeof(in4));
	assert_int_equal(rs_dg_header_fill(&h, &in), 8);
	assert_int_equal(rs_dg_header_parse(&h, 8, &out), 8);
	assert_memory_equal(&out, &in4, sizeof(in4));
	assert_int_equal(rs_dg_header_parse(&h, 7, &out), 0);
	h.length = 24; /* not that of its version */
	assert_int_equal(rs_dg_header_parse(&h, 24, &out), 0);

	memcpy(&in, &in6, sizeof(in6));
	assert_int_equal(rs_dg_header_fill(&h, &in), 24);
	assert_int_equal(rs_dg_header_parse(&h, 100, &out), 24);
	assert_memory_equal(&out, &in6, sizeof(in6));
	assert_int_equal(rs_dg_header_parse(&h, 23, &out), 0);
	h.version = 5;
	assert_int_equal(rs_dg_header_parse(&h, 24, &out), 0);
}

static void test_udp_header(void **state)
{
	struct rs_udp_header h = {.tag = htonl(RS_UDP_TAG),
				     .version = 4,
				     .op = RS_OP_DATA,
				     .length = 16,
				     .qpn = htonl(0xff000011)},
			     out;

	(void)state;
	assert_true(rs_udp_header_parse(&h, 16, AF_INET, &out));
	assert_int_equal(out.qpn, 0x11); /* 24 bits */
	assert_false(rs_udp_header_parse(&h, 15, AF_INET, &out));
	assert_false(rs_udp_header_parse(&h, 28, AF_INET6, &out));
	h.op = RS_OP_SGL;
	assert_false(rs_udp_header_parse(&h, 16, AF_INET, &out));
	h.op = RS_OP_CTRL;
	h.tag = 0;
	assert_false(rs_udp_header_parse(&h, 16, AF_INET, &out));
}

/* The halves of the ring go to the peer in turn, each when it has been read. */
static void test_halves(void **state)
{
	struct rs_recv_flow f;
	uint32_t at;

	(void)state;
	rs_recv_init(&f, 1000, 8);
	assert_true(rs_recv_update_due(&f)); /* the connection gave the first only */
	assert_int_equal(rs_recv_give(&f), 500);
	assert_false(rs_recv_half_free(&f));
	assert_true(rs_recv_data(&f, 500));
	assert_true(rs_recv_data(&f, 300));
	f.read += 499;
	assert_false(rs_recv_half_free(&f));
	f.read += 1;
	assert_true(rs_recv_half_free(&f));
	assert_int_equal(rs_recv_give(&f), 0);
	assert_true(rs_recv_data(&f, 400)); /* 200 to the end, 200 at the start */
	assert_int_equal(rs_recv_avail(&f), 700);
	assert_int_equal(rs_recv_span(&f, 0, 10000, &at), 500);
	assert_int_equal(at, 500);
	assert_int_equal(rs_recv_span(&f, 500, 10000, &at), 200);
	assert_int_equal(at, 0);
	assert_int_equal(rs_recv_span(&f, 500, 7, &at), 7);
}

/* A peer cannot claim bytes that it was not given room for. */
static void test_overrun(void **state)
{
	struct rs_recv_flow f;

	(void)state;
	rs_recv_init(&f, 1000, 8);
	assert_false(rs_recv_data(&f, 0));
	assert_false(rs_recv_data(&f, 501));
	assert_false(rs_recv_data(&f, RS_VALUE_MASK));
	assert_true(rs_recv_data(&f, 500));
	assert_false(rs_recv_data(&f, 1));
	assert_int_equal(f.msgs, 1);
}

/* Credits are counted in 16 bits, and told when half of the receive queue was used. */
static void test_credits(void **state)
{
	struct rs_recv_flow in;
	struct rs_send_flow out;
	uint32_t i, updates = 0;

	(void)state;
	rs_recv_init(&in, 1 << 20, 16);
	(void)rs_recv_give(&in);
	rs_send_init(&out, 4096, 20);
	out.limit = 16;
	for (i = 0; i < 200000; i++) {
		assert_true(rs_send_credit(&out));
		out.msgs++;
		assert_true(rs_recv_data(&in, 1));
		in.read++;
		if (rs_recv_half_free(&in))
			(void)rs_recv_give(&in);
		if (!rs_recv_update_due(&in))
			continue;
		out.limit = rs_recv_limit(&in);
		updates++;
	}
	assert_int_equal(updates, 200000 / 8);
	for (i = 0; rs_send_credit(&out); i++)
		out.msgs++;
	assert_int_equal(i, 16);
}

static void test_send_ring(void **state)
{
	struct rs_send_flow f;
	uint32_t at;

	(void)state;
	rs_send_init(&f, 100, 10);
	assert_int_equal(f.slots, 10 - RS_CTRL_SLOTS);
	assert_int_equal(rs_send_span(&f, 1000, &at), 100);
	f.filled += 70;
	assert_int_equal(rs_send_span(&f, 1000, &at), 30);
	assert_int_equal(at, 70);
	f.filled += 30;
	assert_int_equal(rs_send_free(&f), 0);
	f.freed += 50;
	assert_int_equal(rs_send_span(&f, 1000, &at), 50);
	assert_int_equal(at, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_immediate),
		cmocka_unit_test(test_iomap_size),
		cmocka_unit_test(test_conn_data),
		cmocka_unit_test(test_conn_data_refused),
		cmocka_unit_test(test_swap),
		cmocka_unit_test(test_datagram_header),
		cmocka_unit_test(test_udp_header),
		cmocka_unit_test(test_halves),
		cmocka_unit_test(test_overrun),
		cmocka_unit_test(test_credits),
		cmocka_unit_test(test_send_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
