/* SPDX-License-Identifier: BSD-3-Clause */
/* A template gives the frames that wire_write() gives, whatever of a packet is its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "wire_template.h"

static uint32_t some(uint32_t *x)
{
	*x = *x * 1664525 + 1013904223;
	return *x >> 8;
}

static struct wire_l2l3 some_net(uint32_t *x, bool v6, bool has_vlan)
{
	struct wire_l2l3 net = {.vlan_tci = (uint16_t)some(x), .has_vlan = has_vlan};

	for (size_t i = 0; i < 16; i++) {
		net.src.b[i] = (uint8_t)(v6 || i >= 12 ? some(x) : i >= 10 ? 0xff : 0);
		net.dst.b[i] = (uint8_t)(v6 || i >= 12 ? some(x) : i >= 10 ? 0xff : 0);
		if (i < 6)
			net.dmac[i] = net.smac[i] = (uint8_t)some(x);
	}
	return net;
}

/* What tp_pkt.c and those before it set after a packet began as the template's. */
static void set_own(uint32_t *x, struct wire_pkt *pkt, uint8_t opcode)
{
	pkt->opcode = opcode;
	pkt->payload_bytes = (uint16_t)(some(x) % 4097);
	pkt->pad = (uint8_t)(-pkt->payload_bytes & 3);
	pkt->tos = (uint8_t)some(x);
	pkt->ip_id = (uint16_t)some(x);
	pkt->udp_sport = (uint16_t)(0xc000 | some(x));
	pkt->solicited = some(x) & 1;
	pkt->ack_req = some(x) & 1;
	pkt->psn = some(x) & 0xffffff;
	pkt->va = (uint64_t)some(x) << 40 | some(x);
	pkt->rkey = some(x);
	pkt->dma_bytes = some(x);
	pkt->imm = some(x);
	pkt->msn = some(x) & 0xffffff;
	pkt->syndrome = (uint8_t)some(x);
	pkt->swap_add = some(x);
	pkt->compare = some(x);
}

static void check(uint32_t *x, bool v6, bool has_vlan, uint8_t opcode)
{
	const struct wire_l2l3 net = some_net(x, v6, has_vlan);
	struct wire_pkt first = {
		.l3_version = v6 ? 6 : 4,
		.has_vlan = has_vlan,
		.udp_sport = 0xc000,
		.pkey = 0xffff,
		.tos = (uint8_t)some(x),
		.ttl = (uint8_t)some(x),
		.ip_frag = 0x4000,
		.fecn = some(x) & 1,
		.becn = some(x) & 1,
		.migreq = some(x) & 1,
		.dqpn = some(x) & 0xffffff,
	};
	uint8_t want[WIRE_MAX_HDR_BYTES] = {0}, got[WIRE_MAX_HDR_BYTES] = {0};
	struct wire_template template;
	struct wire_pkt a, b;

	wire_template_make(&template, &net, &first);
	wire_template_begin(&template, &a);
	set_own(x, &a, opcode);
	b = a;
	wire_write(want, &net, &a);
	wire_template_write(&template, got, &b);
	assert_memory_equal(got, want, wire_hdr_bytes(&a));
	assert_memory_equal(&b, &a, sizeof(a));
}

static void test_like_wire_write(void **state)
{
	uint32_t x = 20261203;

	(void)state;
	for (uint32_t opcode = 0; opcode < 256; opcode++) {
		if (wire_opinfo((uint8_t)opcode)->name == NULL)
			continue;
		for (uint32_t i = 0; i < 200; i++)
			check(&x, (i & 1) != 0, (i & 2) != 0, (uint8_t)opcode);
	}
}

/* Sums that carry twice: 0xffff of the header and of what is put in. */
static void test_checksum_with_all_carries(void **state)
{
	struct wire_l2l3 net = {0};
	struct wire_pkt first = {.l3_version = 4, .ttl = 0xff, .pkey = 0xffff, .ip_frag = 0xffff};
	struct wire_template template;
	struct wire_pkt pkt;

	(void)state;
	memset(net.src.b, 0xff, sizeof(net.src.b));
	memset(net.dst.b, 0xff, sizeof(net.dst.b));
	wire_template_make(&template, &net, &first);
	for (uint32_t id = 0; id <= UINT16_MAX; id++) {
		uint8_t want[WIRE_MAX_HDR_BYTES], got[WIRE_MAX_HDR_BYTES];

		wire_template_begin(&template, &pkt);
		pkt.tos = 0xff;
		pkt.ip_id = (uint16_t)id;
		wire_template_write(&template, got, &pkt);
		wire_write(want, &net, &pkt);
		assert_memory_equal(got, want, wire_hdr_bytes(&pkt));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_wire_write),
		cmocka_unit_test(test_checksum_with_all_carries),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
