/* SPDX-License-Identifier: BSD-3-Clause */
/* Echo requests of our own: what stands in them, and that those who answer take them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire_echo.h"

#define ETH  14u
#define VLAN 4u

static const uint8_t our_mac[6] = {2, 0, 0, 0, 0, 1}, peer_mac[6] = {2, 0, 0, 0, 0, 2};
static const struct wire_addr ours[2] = {{{[10] = 0xff, 0xff, 192, 0, 2, 1}}, {{0xfd, [15] = 1}}};
static const struct wire_addr theirs[2] = {{{[10] = 0xff, 0xff, 192, 0, 2, 2}}, {{0xfd, [15] = 2}}};

/* Every length from the least on, over both versions, tagged and not: taken by wire_nd_parse(), which checks the
 * checksums. */
static void test_taken_and_answered(void **state)
{
	static const size_t lengths[] = {WIRE_ECHO_LEAST, 49, 576, 1500, 4200};
	static uint8_t frame[ETH + VLAN + 4200];
	struct wire_nd_msg msg;
	struct wire_pkt pkt;
	uint16_t id, seq;
	size_t n, ip_bytes;

	(void)state;
	for (unsigned i = 0; i < 5 * 4; i++) {
		unsigned v6 = i & 1, vlan = i >> 1 & 1;
		size_t length = lengths[i / 4];
		struct wire_nd_from from = {.has_vlan = vlan, .vlan_tci = 0x6005, .addr = ours[v6]},
				    peer = {.addr = theirs[v6]};

		memcpy(from.mac, our_mac, 6);
		memcpy(peer.mac, peer_mac, 6);
		n = wire_echo_build(frame, &from, &theirs[v6], peer_mac, 0x1234, 7, length);
		assert_int_equal(n, ETH + (vlan ? VLAN : 0u) + length);
		assert_memory_equal(frame, peer_mac, 6);
		assert_memory_equal(frame + 6, our_mac, 6);
		assert_int_equal(wire_parse(frame, n, &pkt), BASE_DROP_NONE);
		assert_int_equal(pkt.has_vlan, vlan);
		assert_int_equal(wire_nd_parse(frame, n, &pkt, &msg), BASE_DROP_NONE);
		assert_int_equal(msg.kind, v6 ? WIRE_ND_ECHO6 : WIRE_ND_ECHO4);
		assert_memory_equal(&msg.src, &ours[v6], sizeof(ours[0]));
		assert_memory_equal(&msg.dst, &theirs[v6], sizeof(ours[0]));
		wire_nd_echo_reply(frame, &pkt, &msg, &peer);
		assert_int_equal(wire_parse(frame, n, &pkt), BASE_DROP_NONE);
		assert_int_equal(wire_nd_parse(frame, n, &pkt, &msg), BASE_DROP_NONE);
		assert_int_equal(msg.kind, v6 ? WIRE_ND_ECHO6_REPLY : WIRE_ND_ECHO4_REPLY);
		wire_echo_read(frame, &pkt, &id, &seq, &ip_bytes);
		assert_int_equal(id, 0x1234);
		assert_int_equal(seq, 7);
		assert_int_equal(ip_bytes, length);
	}
}

/* A router that cannot pass it on whole must drop it: RFC 791, 3.1, the flag DF. */
static void test_is_never_cut(void **state)
{
	struct wire_nd_from from = {.addr = ours[0]};
	uint8_t frame[ETH + 100];

	(void)state;
	wire_echo_build(frame, &from, &theirs[0], peer_mac, 1, 1, 100);
	assert_int_equal(frame[ETH + 6], 0x40);
	assert_int_equal(frame[ETH + 7], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_taken_and_answered),
		cmocka_unit_test(test_is_never_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
