/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * lib/wire knows where every field lies, from Ethernet to the last extended header (here), in opcodes
 * (wire_opcode.h), the ICRC (wire_icrc.h), CM datagrams (wire_cm.h) and ARP, ND and echo (wire_arp_nd.h). It
 * is a set of pure functions: no state, no memory of its own, no opinion on what a queue pair does with it.
 *
 * One parsed packet. wire_parse() fills it once from a frame, and everybody after that reads it; in the
 * daemon it is the private area of the mbuf. wire_write() is the inverse: it lays the headers out.
 * All numbers are in host byte order.
 */
#ifndef WIRE_FRAME_H
#define WIRE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base_drop.h"
#include "wire_opcode.h"

#define WIRE_ROCE_PORT 4791
#define WIRE_ETHERTYPE_ROCE_V1 0x8915

/* Most bytes in front of the payload: Ethernet + VLAN + IPv6 + UDP + BTH + AtomicETH, rounded up. */
#define WIRE_MAX_HDR_BYTES 128

enum wire_kind {
	WIRE_KIND_NONE,
	WIRE_KIND_ROCE_V2,
	WIRE_KIND_ROCE_V1,
	WIRE_KIND_ARP,
	WIRE_KIND_ICMP4,
	WIRE_KIND_ICMP6,     /* neighbour discovery and echo */
	WIRE_KIND_PSP,       /* protected; nothing of it is read */
	WIRE_KIND_KEYS,      /* to the port where keys are agreed on */
	WIRE_KIND_TUNNEL,    /* between gateways: wire_tunnel.h */
	WIRE_KIND_DIRECT,    /* a gateway's, RoCE that another worker passes on */
	WIRE_KIND_PFC,       /* IEEE 802.1Qbb or 802.3x pause */
	WIRE_KIND_OTHER,
};

/* A GID or IP address: 16 bytes, IPv4 as ::ffff:a.b.c.d (IBTA annex A17). */
struct wire_addr {
	uint8_t b[16];
};

struct wire_pkt {
	uint8_t kind;            /* enum wire_kind */
	uint8_t l3_version;      /* 4 or 6 */
	uint8_t opcode;
	uint8_t pad;             /* BTH PadCnt, 0..3 */
	uint16_t frame_bytes;    /* up to the end of the ICRC, without Ethernet padding */
	uint16_t l3_off;
	uint16_t l4_off;
	uint16_t bth_off;
	uint16_t payload_off;
	uint16_t payload_bytes;  /* without pad and ICRC */
	uint16_t vlan_tci;       /* valid when has_vlan */
	uint16_t udp_sport;
	uint16_t pkey;
	uint16_t hdrs;           /* set of enum wire_hdr present */
	uint8_t tos;             /* DSCP and ECN */
	uint8_t ttl;             /* hop limit */
	uint8_t has_vlan : 1;
	uint8_t solicited : 1;   /* BTH SE */
	uint8_t migreq : 1;
	uint8_t fecn : 1;
	uint8_t becn : 1;
	uint8_t ack_req : 1;
	uint8_t tver;
	uint8_t resv6;
	uint8_t resv7;
	uint32_t dqpn;
	uint32_t psn;
	/* Extended headers; which are valid is in hdrs. */
	uint32_t qkey;           /* DETH */
	uint32_t sqpn;           /* DETH */
	uint64_t va;             /* RETH, AtomicETH */
	uint32_t rkey;           /* RETH, AtomicETH, IETH */
	uint32_t dma_bytes;      /* RETH */
	union {
		uint64_t swap_add;   /* AtomicETH */
		uint64_t atomic_orig; /* AtomicAckETH */
	};
	union {
		uint64_t compare;    /* AtomicETH */
		uint64_t sack_map;   /* SACKETH: bit i is PSN + 2 + 64 * block + i */
	};
	uint32_t imm;            /* ImmDt: the four bytes as on the wire (big endian), never swapped */
	uint32_t msn;            /* AETH */
	uint8_t syndrome;        /* AETH */
	union {
		uint8_t deth_resv;   /* DETH, the byte in front of the source QPN; send 0 */
		uint8_t sack_senders; /* SACKETH: senders that are active at the receiver, 0: not told */
	};
	uint16_t sack_wait;      /* SACKETH: how long the packet waited to be acknowledged, in WIRE_SACK_WAIT_UNIT_NS */
	union {
		uint32_t feth;   /* FETH, whole word */
		uint32_t rdeth;  /* RDETH, whole word */
		uint32_t xrceth; /* XRCETH, whole word: the lower 24 bits are the number of the XRC SRQ */
		uint32_t sack_echo; /* SACKETH, whole word: WIRE_SACK_* and in the lower 24 bits a PSN */
		uint32_t merge_resv; /* MERGETH, the 24 bits behind the count; send 0 */
	};
	uint32_t flow_label;     /* IPv6 */
	uint16_t ip_id;          /* IPv4 identification */
	uint16_t ip_frag;        /* IPv4 flags and fragment offset, as 16 bits */
	uint16_t udp_csum;       /* as received */
	union {
		uint8_t sack_more; /* SACKETH: packets that the payload tells of (wire_sack.h) */
		uint8_t merged;  /* MERGETH: messages in the payload (wire_merge.h) */
	};
	uint8_t plane;           /* the transport's: which address vector of the queue pair; not on the wire */
};

/* Parses a contiguous frame of n bytes. Checks structure only (lengths, versions, IPv4 checksum, known
 * opcode, TVer), not the ICRC and no address. Returns BASE_DROP_NONE and fills *pkt, or the reason
 * with kind and what could be read so far filled in. kind is set even for frames that are not RoCE.
 * Never reads past frame + n. */
enum base_drop wire_parse(const uint8_t *frame, size_t n, struct wire_pkt *pkt);

/* Whether the ICRC of a parsed RoCE frame is right. */
bool wire_icrc_ok(const uint8_t *frame, const struct wire_pkt *pkt);

/* Addresses of a parsed RoCE packet (v4 as ::ffff:). */
void wire_src(const uint8_t *frame, const struct wire_pkt *pkt, struct wire_addr *src);
void wire_dst(const uint8_t *frame, const struct wire_pkt *pkt, struct wire_addr *dst);

/* Everything wire_write() needs below BTH. */
struct wire_l2l3 {
	uint8_t dmac[6];
	uint8_t smac[6];
	struct wire_addr src;
	struct wire_addr dst;
	uint16_t vlan_tci;
	bool has_vlan;
};

/* Number of bytes wire_write() puts in front of the payload for this packet (needs opcode, has_vlan
 * and l3_version only). */
size_t wire_hdr_bytes(const struct wire_pkt *pkt);

/* Lays out Ethernet (VLAN), IPv4/IPv6, UDP, BTH and the extended headers of pkt->opcode in out, which
 * has wire_hdr_bytes(pkt) bytes. pkt carries opcode, fields, payload_bytes, pad, l3_version, has_vlan,
 * tos, ttl, udp_sport, ip_id, ip_frag (0x4000 = DF), udp_csum; its offsets and frame_bytes are set here.
 * Payload, pad and ICRC are the caller's: see wire_seal(). */
void wire_write(uint8_t *out, const struct wire_l2l3 *net, struct wire_pkt *pkt);

/* The extended headers alone: reads those of pkt->hdrs, lays out those of `opcode`. */
void wire_parse_ext(const uint8_t *p, struct wire_pkt *pkt);
void wire_write_ext(uint8_t *p, uint8_t opcode, const struct wire_pkt *pkt);

/* Zeroes the pad bytes behind the payload and stores the ICRC; frame is contiguous and has room for
 * pkt->frame_bytes. */
void wire_seal(uint8_t *frame, const struct wire_pkt *pkt);

#endif
