/* SPDX-License-Identifier: BSD-3-Clause */
#include "rf_frame.h"

#include <string.h>

#include "wire_ecn.h"

#define TYPE_IP4     0x0800
#define TYPE_VLAN    0x8100
#define TYPE_SVLAN   0x88a8
#define TYPE_IP6     0x86dd
#define TAG_BYTES    4
#define MAX_TAGS     2
#define IP4_BYTES    20
#define IP6_BYTES    40
#define PROTO_TCP    6
#define PROTO_UDP    17
#define PORTS_BYTES  4
#define FRAGMENT     0x3fff /* more fragments, offset */

static uint16_t load16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* ---- the hash: bytes in words, each mixed in with the finaliser of splitmix64 ---- */

static uint64_t mix(uint64_t hash, uint64_t word)
{
	uint64_t x = (hash ^ word) + 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t mix_bytes(uint64_t hash, const uint8_t *bytes, size_t n)
{
	while (n != 0) {
		size_t k = n < sizeof(uint64_t) ? n : sizeof(uint64_t);
		uint64_t word = 0;

		memcpy(&word, bytes, k);
		hash = mix(hash, word);
		bytes += k;
		n -= k;
	}
	return hash;
}

static uint64_t mix_ports(uint64_t hash, uint8_t proto, const uint8_t *l4, size_t n)
{
	hash = mix(hash, proto);
	return (proto == PROTO_UDP || proto == PROTO_TCP) && n >= PORTS_BYTES ? mix_bytes(hash, l4, PORTS_BYTES) : hash;
}

/* ---- IP ---- */

/* ip has n bytes. 0 when it is no whole header. */
static uint64_t flow_ip4(const uint8_t *ip, size_t n)
{
	size_t hdr_bytes;
	uint64_t hash;

	if (n < IP4_BYTES || ip[0] >> 4 != 4)
		return 0;
	hdr_bytes = (size_t)(ip[0] & 0xf) * 4;
	if (hdr_bytes < IP4_BYTES || hdr_bytes > n)
		return 0;
	hash = mix_bytes(4, ip + 12, 8);
	if ((load16(ip + 6) & FRAGMENT) != 0)
		return mix(hash, ip[9]);
	return mix_ports(hash, ip[9], ip + hdr_bytes, n - hdr_bytes);
}

static uint64_t flow_ip6(const uint8_t *ip, size_t n)
{
	if (n < IP6_BYTES || ip[0] >> 4 != 6)
		return 0;
	return mix_ports(mix_bytes(6, ip + 8, 32), ip[6], ip + IP6_BYTES, n - IP6_BYTES);
}

static uint64_t parse_ip(const uint8_t *frame, size_t n, size_t off, uint16_t type, struct rf_frame *out)
{
	uint64_t flow = type == TYPE_IP4 ? flow_ip4(frame + off, n - off) :
		type == TYPE_IP6 ? flow_ip6(frame + off, n - off) : 0;
	uint8_t traffic_class;

	if (flow == 0)
		return 0;
	out->ip_version = type == TYPE_IP4 ? 4 : 6;
	out->ip_off = (uint16_t)off;
	traffic_class = wire_traffic_class(frame + off, out->ip_version);
	out->dscp_priority = traffic_class >> 5;
	out->ect = wire_is_ect(traffic_class);
	out->ce = (traffic_class & WIRE_ECN_MASK) == WIRE_ECN_MASK;
	return flow;
}

/* ---- Ethernet ---- */

static void parse_pause(const uint8_t *control, size_t n, struct rf_frame *out)
{
	if (wire_pause_parse(control, n, &out->pause) != BASE_DROP_NONE)
		out->kind = RF_SHORT;
	else
		out->kind = out->pause.kind == WIRE_PAUSE_UNKNOWN ? RF_LINK_LOCAL : RF_PAUSE;
}

/* Addresses 01-80-C2-00-00-00 to -0F. */
static bool is_link_local(const uint8_t *mac)
{
	static const uint8_t prefix[5] = {0x01, 0x80, 0xc2, 0, 0};

	return memcmp(mac, prefix, sizeof(prefix)) == 0 && mac[5] <= 0x0f;
}

void rf_frame_parse(const uint8_t *frame, size_t n, struct rf_frame *out)
{
	size_t off = RF_ETH_BYTES;
	uint64_t flow;
	uint16_t type;

	*out = (struct rf_frame){.kind = RF_SHORT};
	if (n < RF_ETH_BYTES)
		return;
	out->kind = RF_FORWARD;
	type = load16(frame + off - 2);
	for (int i = 0; i < MAX_TAGS && (type == TYPE_VLAN || type == TYPE_SVLAN) && n - off >= TAG_BYTES; i++) {
		if (i == 0)
			out->priority = frame[off] >> 5;
		out->tagged = true;
		off += TAG_BYTES;
		type = load16(frame + off - 2);
	}
	if (type == WIRE_ETHERTYPE_CONTROL) {
		parse_pause(frame + off, n - off, out);
		return;
	}
	if (is_link_local(frame))
		out->kind = RF_LINK_LOCAL;
	flow = parse_ip(frame, n, off, type, out);
	if (flow == 0)
		flow = mix(mix_bytes(0, frame, 2 * (size_t)RF_MAC_BYTES), type);
	out->flow = (uint32_t)(flow >> 32 ^ flow);
}
