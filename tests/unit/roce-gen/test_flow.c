/* SPDX-License-Identifier: BSD-3-Clause */
/* The frames that a flow makes: right ones, whose turn it is, of which size, and the same again by the same seed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rg_flow.h"
#include "rg_stamp.h"
#include "rg_try.h"
#include "wire_addr.h"

static const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};
static struct rg_config config;
static struct rg_flow flow;
static uint8_t frame[RG_FRAME_BYTES];
static struct wire_pkt pkt;

static void begin(const char *keys)
{
	char msg[256] = "";

	rg_flow_fini(&flow);
	assert_int_equal(rg_flow_init(&flow, rg_try_flow(keys, &config), 0, config.seed, mac, mac, msg, sizeof(msg)),
		0);
}

/* The next frame, which is a right one. */
static uint32_t next(void)
{
	uint32_t n = rg_flow_next(&flow, 1000, frame);

	assert_int_equal(wire_parse(frame, n, &pkt), BASE_DROP_NONE);
	assert_true(wire_icrc_ok(frame, &pkt));
	assert_int_equal(pkt.frame_bytes, n);
	assert_int_equal((pkt.payload_bytes + pkt.pad) % 4, 0);
	return n;
}

/* Whatever the opcode, IP version, VLAN and size, the frame is one that a receiver takes. */
static void test_all_opcodes(void **state)
{
	static const char *const addrs[] = {RG_V4, RG_V6, RG_V4 "vlan = 7; pcp = 3;"};
	char keys[512];

	(void)state;
	for (unsigned code = 0; code <= UINT8_MAX; code++) {
		for (size_t a = 0; wire_opinfo((uint8_t)code)->name != NULL && a < 3; a++) {
			snprintf(keys, sizeof(keys), "%s opcodes = [ \"%s\" ]; sizes = ( { bytes = 0; to = 1024; } );",
				addrs[a],
				wire_opinfo((uint8_t)code)->name);
			begin(keys);
			for (int i = 0; i < 20; i++) {
				next();
				assert_int_equal(pkt.opcode, code);
				assert_int_equal(pkt.has_vlan, a == 2);
				assert_int_equal(pkt.tos, 26 << 2 | 2);
			}
		}
	}
}

/* A message is cut as IBTA 9.7.5.1.4 wants it: the mtu in each packet but the last, RETH in the first. */
static void test_messages(void **state)
{
	static const uint8_t ops[] = {WIRE_RC_WRITE_FIRST, WIRE_RC_WRITE_MIDDLE, WIRE_RC_WRITE_LAST, WIRE_RC_SEND_ONLY,
		WIRE_RC_WRITE_ONLY, WIRE_RC_SEND_FIRST, WIRE_RC_SEND_MIDDLE, WIRE_RC_SEND_LAST};
	static const uint16_t sizes[] = {1024, 1024, 1, 0, 1024, 1024, 1024, 1};

	(void)state;
	begin(RG_V4 "opcodes = [ \"RC_RDMA_WRITE\", \"RC_SEND\" ]; first_psn = 16777214; rkey = 7;"
		"sizes = ( { bytes = 2049; }, { bytes = 0; }, { bytes = 1024; }, { bytes = 2049; } );");
	for (uint32_t i = 0; i < 8; i++) {
		next();
		assert_int_equal(pkt.opcode, ops[i]);
		assert_int_equal(pkt.payload_bytes, sizes[i]);
		assert_int_equal(pkt.psn, (16777214 + i) & 0xffffff);
		assert_int_equal(pkt.ack_req, i == 2 || i == 3 || i == 4 || i == 7);
		if (i == 0)
			assert_int_equal(pkt.dma_bytes, 2049);
	}
	assert_int_equal(flow.stats.messages, 4);
}

/* IBTA 9.7.3.1: a READ request takes as many PSNs as it has answers. */
static void test_read(void **state)
{
	static const uint32_t psns[] = {0, 1, 2, 5, 6};

	(void)state;
	begin(RG_V4 "opcodes = [ \"RC_RDMA_READ_REQUEST\" ]; sizes = ( { bytes = 0; }, { bytes = 1024; }, { bytes = 3000; },"
		"{ bytes = 10; }, { bytes = 9; } );");
	for (int i = 0; i < 5; i++) {
		next();
		assert_int_equal(pkt.psn, psns[i]);
	}
}

static void test_queue_pairs(void **state)
{
	struct rg_stamp stamp;
	struct wire_addr dst;
	uint16_t sport[3] = {0};

	(void)state;
	begin("src = \"10.0.0.1\"; dst = \"10.1.0.0/24\"; qps = 3; first_qpn = 100; first_psn = 50;");
	for (uint32_t i = 0; i < 30; i++) {
		next();
		assert_int_equal(pkt.dqpn, 100 + i % 3);
		assert_int_equal(pkt.psn, 50 + i / 3);
		wire_dst(frame, &pkt, &dst);
		assert_int_equal(dst.b[15], 1 + i % 3);
		assert_true(rg_stamp_read(frame + pkt.payload_off, pkt.payload_bytes, &stamp));
		assert_int_equal(stamp.number, i / 3);
		assert_int_equal(stamp.sent_ns, 1000);
		if (i < 3)
			sport[i] = pkt.udp_sport;
		assert_int_equal(pkt.udp_sport, sport[i % 3]);
		assert_true(pkt.udp_sport >= 49152);
	}
	assert_true(sport[0] != sport[1] || sport[1] != sport[2]);
}

static void test_ports(void **state)
{
	(void)state;
	begin(RG_V4 "sport_policy = \"fixed\"; sport_first = 7;");
	for (int i = 0; i < 5; i++) {
		next();
		assert_int_equal(pkt.udp_sport, 7);
	}
	begin(RG_V4 "sport_policy = \"spray\"; sport_first = 65532; sport_count = 4;");
	for (int i = 0; i < 9; i++) {
		next();
		assert_int_equal(pkt.udp_sport, 65532 + i % 4);
	}
}

/* By weight: nine in ten are small; of the others each size comes. */
static void test_weights(void **state)
{
	uint32_t small = 0, least = UINT32_MAX, most = 0;

	(void)state;
	begin(RG_V4 "sizes = ( { bytes = 64; weight = 90; }, { bytes = 1000; to = 1019; weight = 10; } );");
	for (int i = 0; i < 10000; i++) {
		next();
		if (pkt.payload_bytes == 64) {
			small++;
			continue;
		}
		least = pkt.payload_bytes < least ? pkt.payload_bytes : least;
		most = pkt.payload_bytes > most ? pkt.payload_bytes : most;
	}
	assert_in_range(small, 8850, 9150);
	assert_int_equal(least, 1000);
	assert_int_equal(most, 1019);
}

#define BUSY \
	RG_V4 "qps = 5; opcodes = [ \"RC_RDMA_WRITE\", \"RC_SEND\" ]; sizes = ( { bytes = 1; to = 5000; } );" \
	"pfc_priorities = [ 3 ]; faults = ( { kind = \"bad_icrc\"; ppm = 100000; }, { kind = \"truncate\"; ppm = 100000; }," \
	"{ kind = \"cnp\"; ppm = 100000; }, { kind = \"pfc\"; every = 9; }, { kind = \"repeat\"; every = 7; }," \
	"{ kind = \"loss\"; ppm = 50000; } );"

static uint64_t fingerprint(uint64_t seed)
{
	uint64_t hash = 0xcbf29ce484222325u;
	char keys[2048];

	snprintf(keys, sizeof(keys), "%s", BUSY);
	rg_try_flow(keys, &config);
	rg_flow_fini(&flow);
	assert_int_equal(rg_flow_init(&flow, &config.flows[0], 0, seed, mac, mac, keys, sizeof(keys)), 0);
	for (uint32_t i = 0; i < 5000; i++) {
		uint32_t n = rg_flow_next(&flow, i, frame);

		for (uint32_t b = 0; b < n; b++)
			hash = (hash ^ frame[b]) * 0x100000001b3u;
	}
	return hash;
}

static void test_seed(void **state)
{
	uint64_t first = fingerprint(1);

	(void)state;
	assert_true(fingerprint(1) == first);
	assert_true(fingerprint(2) != first);
}

static void test_count(void **state)
{
	uint32_t n = 0;

	(void)state;
	begin(RG_V4 "count = 10; faults = ( { kind = \"repeat\"; every = 5; } );");
	for (; !rg_flow_done(&flow); n++)
		next();
	assert_int_equal(n, 12);
	assert_int_equal(flow.stats.packets, 10);
	assert_int_equal(flow.stats.frames, 12);
}

static int teardown(void **state)
{
	(void)state;
	rg_flow_fini(&flow);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_opcodes),
		cmocka_unit_test(test_messages),
		cmocka_unit_test(test_read),
		cmocka_unit_test(test_queue_pairs),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_weights),
		cmocka_unit_test(test_seed),
		cmocka_unit_test(test_count),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
