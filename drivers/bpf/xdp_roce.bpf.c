/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XDP: RoCE frames to the AF_XDP socket of their queue, all others to the kernel (docs/af_xdp.md). What both need to hear, the
 * kernel and the daemon, is passed and copied. Knows no address: a frame for another host ends at either.
 *
 * Uses nothing of the kernel but its user API, so it needs no vmlinux.h and no relocation against a running kernel.
 */
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "xdp_roce_abi.h"

#define ETH_BYTES           14
#define VLAN_BYTES          4
#define IP4_BYTES           20
#define IP6_BYTES           40
#define UDP_BYTES           8
#define MAX_VLANS           2
#define MAX_EXTENSIONS      4      /* IPv6 extension headers that are looked behind */
#define ETHERTYPE_IP4       0x0800
#define ETHERTYPE_ARP       0x0806
#define ETHERTYPE_CVLAN     0x8100
#define ETHERTYPE_IP6       0x86dd
#define ETHERTYPE_CONTROL   0x8808
#define ETHERTYPE_SVLAN     0x88a8
#define ETHERTYPE_ROCE_V1   0x8915
#define PROTO_HOP_BY_HOP    0
#define PROTO_IGMP          2
#define PROTO_UDP           17
#define PROTO_ROUTING       43
#define PROTO_FRAGMENT      44
#define PROTO_ICMP6         58
#define PROTO_OPTIONS       60
#define IP4_FRAGMENT        0x3fff /* more-fragments and offset (RFC 791) */
#define IGMP_QUERY          0x11
#define MLD_QUERY           130
#define ND_SOLICIT          135
#define ND_ADVERT           136
#define ROCE_PORT           4791
#define MAX_QUEUES          256
#define COPIES_BYTES        65536

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, MAX_QUEUES);
	__type(key, __u32);
	__type(value, __u32);
} xsks_map SEC(".maps"); /* DPDK's driver looks for this name */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, XDP_ROCE_KINDS);
	__type(key, __u32);
	__type(value, __u64);
} counts SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct xdp_roce_settings);
} settings SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, COPIES_BYTES);
} copies SEC(".maps");

/* What is left of the frame. */
struct rest {
	const __u8 *at, *end;
};

static __always_inline __u16 get16(const __u8 *p)
{
	return (__u16)(p[0] << 8 | p[1]);
}

static __always_inline int has(const struct rest *rest, __u32 n)
{
	return rest->at + n <= rest->end;
}

static __always_inline void count(__u32 kind)
{
	__u64 *n = bpf_map_lookup_elem(&counts, &kind);

	if (n != NULL)
		*n += 1;
}

static __always_inline enum xdp_roce_kind udp(const struct rest *rest, const struct xdp_roce_settings *set)
{
	__u16 port;

	if (!has(rest, UDP_BYTES) || get16(rest->at + 4) < UDP_BYTES)
		return XDP_ROCE_MALFORMED;
	port = get16(rest->at + 2);
	if (port == ROCE_PORT)
		return XDP_ROCE_V2;
	if (port != 0 && port == set->keys_port)
		return XDP_ROCE_KEYS;
	if ((__u16)(port - set->protected_port) < set->n_protected_ports)
		return XDP_ROCE_PROTECTED;
	return XDP_ROCE_OTHER;
}

/* RFC 3376, 4.1 */
static __always_inline enum xdp_roce_kind igmp(const struct rest *rest)
{
	if (!has(rest, 8))
		return XDP_ROCE_MALFORMED;
	return rest->at[0] == IGMP_QUERY ? XDP_ROCE_GROUP_QUERY : XDP_ROCE_OTHER;
}

/* RFC 4861, 4.3 and 4.4; RFC 3810, 5.1 */
static __always_inline enum xdp_roce_kind icmp6(const struct rest *rest)
{
	if (!has(rest, 8))
		return XDP_ROCE_MALFORMED;
	if (rest->at[0] == ND_SOLICIT || rest->at[0] == ND_ADVERT)
		return XDP_ROCE_NEIGHBOUR;
	return rest->at[0] == MLD_QUERY ? XDP_ROCE_GROUP_QUERY : XDP_ROCE_OTHER;
}

/* RFC 791; the checksum is looked at by who gets the packet. */
static __always_inline enum xdp_roce_kind ip4(struct rest *rest, const struct xdp_roce_settings *set)
{
	const __u8 *ip = rest->at;
	__u32 header, total;

	if (!has(rest, IP4_BYTES))
		return XDP_ROCE_MALFORMED;
	header = (ip[0] & 0xfu) * 4;
	total = get16(ip + 2);
	if (ip[0] >> 4 != 4 || header < IP4_BYTES || total < header || !has(rest, total))
		return XDP_ROCE_MALFORMED;
	if ((get16(ip + 6) & IP4_FRAGMENT) != 0)
		return XDP_ROCE_FRAGMENT;
	rest->at += header;
	if (ip[9] == PROTO_UDP)
		return total < header + UDP_BYTES ? XDP_ROCE_MALFORMED : udp(rest, set);
	return ip[9] == PROTO_IGMP ? igmp(rest) : XDP_ROCE_OTHER;
}

/* RFC 8200. The length of a jumbogram is 0, so it is malformed here: the kernel will know better. */
static __always_inline enum xdp_roce_kind ip6(struct rest *rest, const struct xdp_roce_settings *set)
{
	__u32 payload, extension;
	__u8 next;

	if (!has(rest, IP6_BYTES) || rest->at[0] >> 4 != 6)
		return XDP_ROCE_MALFORMED;
	payload = get16(rest->at + 4);
	if (!has(rest, IP6_BYTES + payload))
		return XDP_ROCE_MALFORMED;
	next = rest->at[6];
	rest->at += IP6_BYTES;
	for (int i = 0; i < MAX_EXTENSIONS; i++) {
		if (next != PROTO_HOP_BY_HOP && next != PROTO_ROUTING && next != PROTO_OPTIONS)
			break;
		if (!has(rest, 8))
			return XDP_ROCE_MALFORMED;
		extension = (rest->at[1] + 1u) * 8;
		if (payload < extension)
			return XDP_ROCE_MALFORMED;
		next = rest->at[0];
		rest->at += extension;
		payload -= extension;
	}
	if (next == PROTO_FRAGMENT)
		return XDP_ROCE_FRAGMENT;
	if (next == PROTO_UDP)
		return payload < UDP_BYTES ? XDP_ROCE_MALFORMED : udp(rest, set);
	return next == PROTO_ICMP6 ? icmp6(rest) : XDP_ROCE_OTHER;
}

static __always_inline enum xdp_roce_kind classify(struct rest *rest, const struct xdp_roce_settings *set)
{
	__u16 type;

	if (!has(rest, ETH_BYTES))
		return XDP_ROCE_MALFORMED;
	type = get16(rest->at + ETH_BYTES - 2);
	rest->at += ETH_BYTES;
	for (int i = 0; i < MAX_VLANS; i++) {
		if (type != ETHERTYPE_CVLAN && type != ETHERTYPE_SVLAN)
			break;
		if (!has(rest, VLAN_BYTES))
			return XDP_ROCE_MALFORMED;
		type = get16(rest->at + 2);
		rest->at += VLAN_BYTES;
	}
	switch (type) {
	case ETHERTYPE_IP4:
		return ip4(rest, set);
	case ETHERTYPE_IP6:
		return ip6(rest, set);
	case ETHERTYPE_ARP:
		return XDP_ROCE_NEIGHBOUR;
	case ETHERTYPE_ROCE_V1:
		return XDP_ROCE_V1;
	case ETHERTYPE_CONTROL:
		return XDP_ROCE_MAC_CONTROL;
	default:
		return XDP_ROCE_OTHER;
	}
}

static __always_inline void copy(struct xdp_md *ctx)
{
	struct xdp_roce_copy *to = bpf_ringbuf_reserve(&copies, sizeof(*to), 0);
	__u64 bytes = (__u64)ctx->data_end - ctx->data;

	if (to == NULL) {
		count(XDP_ROCE_COPY_LOST);
		return;
	}
	if (bytes > sizeof(to->frame))
		bytes = sizeof(to->frame);
	to->bytes = (__u32)bytes;
	to->reserved = 0;
	/* the verifier wants to see that it is not 0 */
	if (bytes < ETH_BYTES || bpf_xdp_load_bytes(ctx, 0, to->frame, (__u32)bytes) != 0)
		bpf_ringbuf_discard(to, 0);
	else
		bpf_ringbuf_submit(to, 0);
}

SEC("xdp")
int roced_xdp(struct xdp_md *ctx)
{
	struct rest rest = {(const __u8 *)(long)ctx->data, (const __u8 *)(long)ctx->data_end};
	const struct xdp_roce_settings *set;
	enum xdp_roce_kind kind;
	__u32 first = 0;
	long action;

	set = bpf_map_lookup_elem(&settings, &first);
	if (set == NULL)
		return XDP_PASS;
	kind = classify(&rest, set);
	count(kind);
	if (kind >= XDP_ROCE_REDIRECTED && !set->all) {
		if (kind < XDP_ROCE_COPIED)
			copy(ctx);
		return XDP_PASS;
	}
	action = bpf_redirect_map(&xsks_map, ctx->rx_queue_index, XDP_PASS);
	if (action != XDP_REDIRECT)
		count(XDP_ROCE_NO_SOCKET);
	return (int)action;
}

/* Nothing in it is for GPL programs only. */
const char xdp_roce_license[] SEC("license") = "BSD";
