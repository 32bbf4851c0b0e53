/* SPDX-License-Identifier: BSD-3-Clause */
/* Fields of the transport's headers between struct wire_pkt and bytes, for the files of lib/wire that lay out whole frames. */
#ifndef WIRE_CODEC_H
#define WIRE_CODEC_H

#include "wire_bytes.h"
#include "wire_frame.h"

/* One's complement sum of an IPv4 header without options (RFC 791), in the order of bytes of this machine, which does not
 * matter to it; 0xffff when its checksum is right. */
static inline uint32_t ip4_sum(const uint8_t *ip)
{
	uint32_t w[IP4_BYTES / 4];
	uint64_t sum = 0;

	memcpy(w, ip, sizeof(w));
	for (unsigned int i = 0; i < IP4_BYTES / 4; i++)
		sum += w[i];
	sum = (sum & 0xffff) + (sum >> 16 & 0xffff) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint32_t)((sum & 0xffff) + (sum >> 16));
}

static inline void parse_deth(const uint8_t *p, struct wire_pkt *pkt)
{
	pkt->qkey = get32(p);
	pkt->deth_resv = p[4];
	pkt->sqpn = get24(p + 5);
}

static inline void parse_reth(const uint8_t *p, struct wire_pkt *pkt)
{
	pkt->va = get64(p);
	pkt->rkey = get32(p + 8);
	pkt->dma_bytes = get32(p + 12);
}

static inline void parse_atomiceth(const uint8_t *p, struct wire_pkt *pkt)
{
	pkt->va = get64(p);
	pkt->rkey = get32(p + 8);
	pkt->swap_add = get64(p + 12);
	pkt->compare = get64(p + 20);
}

static inline void parse_aeth(const uint8_t *p, struct wire_pkt *pkt)
{
	pkt->syndrome = p[0];
	pkt->msn = get24(p + 1);
}

static inline void parse_immdt(const uint8_t *p, struct wire_pkt *pkt)
{
	memcpy(&pkt->imm, p, sizeof(pkt->imm));
}

static inline void parse_ieth(const uint8_t *p, struct wire_pkt *pkt)
{
	pkt->rkey = get32(p);
}

static inline void parse_feth(const uint8_t *p, struct wire_pkt *pkt)
{
	pkt->feth = get32(p);
}

static inline void parse_atomicack(const uint8_t *p, struct wire_pkt *pkt)
{
	pkt->atomic_orig = get64(p);
}

static inline void write_deth(uint8_t *p, const struct wire_pkt *pkt)
{
	put32(p, pkt->qkey);
	put32(p + 4, (uint32_t)pkt->deth_resv << 24 | (pkt->sqpn & 0xffffff));
}

static inline void write_reth(uint8_t *p, const struct wire_pkt *pkt)
{
	put64(p, pkt->va);
	put32(p + 8, pkt->rkey);
	put32(p + 12, pkt->dma_bytes);
}

static inline void write_atomiceth(uint8_t *p, const struct wire_pkt *pkt)
{
	put64(p, pkt->va);
	put32(p + 8, pkt->rkey);
	put64(p + 12, pkt->swap_add);
	put64(p + 20, pkt->compare);
}

static inline void write_aeth(uint8_t *p, const struct wire_pkt *pkt)
{
	put32(p, (uint32_t)pkt->syndrome << 24 | (pkt->msn & 0xffffff));
}

static inline void write_immdt(uint8_t *p, const struct wire_pkt *pkt)
{
	memcpy(p, &pkt->imm, sizeof(pkt->imm));
}

static inline void write_ieth(uint8_t *p, const struct wire_pkt *pkt)
{
	put32(p, pkt->rkey);
}

static inline void write_feth(uint8_t *p, const struct wire_pkt *pkt)
{
	put32(p, pkt->feth);
}

static inline void write_atomicack(uint8_t *p, const struct wire_pkt *pkt)
{
	put64(p, pkt->atomic_orig);
}

static inline void parse_rdeth(const uint8_t *p, struct wire_pkt *pkt)
{
	pkt->rdeth = get32(p);
}

static inline void write_rdeth(uint8_t *p, const struct wire_pkt *pkt)
{
	put32(p, pkt->rdeth);
}

static inline void parse_xrceth(const uint8_t *p, struct wire_pkt *pkt)
{
	pkt->xrceth = get32(p);
}

static inline void write_xrceth(uint8_t *p, const struct wire_pkt *pkt)
{
	put32(p, pkt->xrceth);
}

static inline void parse_mergeth(const uint8_t *p, struct wire_pkt *pkt)
{
	pkt->merged = p[0];
	pkt->merge_resv = get32(p) & 0xffffff;
}

static inline void write_mergeth(uint8_t *p, const struct wire_pkt *pkt)
{
	put32(p, (uint32_t)pkt->merged << 24 | (pkt->merge_resv & 0xffffff));
}

static inline void parse_sacketh(const uint8_t *p, struct wire_pkt *pkt)
{
	pkt->sack_map = get64(p);
	pkt->sack_echo = get32(p + 8);
	pkt->sack_senders = p[12];
	pkt->sack_more = p[13];
	pkt->sack_wait = get16(p + 14);
}

static inline void write_sacketh(uint8_t *p, const struct wire_pkt *pkt)
{
	put64(p, pkt->sack_map);
	put32(p + 8, pkt->sack_echo);
	p[12] = pkt->sack_senders;
	p[13] = pkt->sack_more;
	put16(p + 14, pkt->sack_wait);
}

/* The extended headers in the order in which they stand on the wire. */
static const struct {
	uint16_t hdr;
	uint16_t bytes;
	void (*parse)(const uint8_t *p, struct wire_pkt *pkt);
	void (*write)(uint8_t *p, const struct wire_pkt *pkt);
} ext_hdrs[] = {
	{WIRE_HDR_RDETH, 4, parse_rdeth, write_rdeth},
	{WIRE_HDR_XRCETH, 4, parse_xrceth, write_xrceth},
	{WIRE_HDR_DETH, 8, parse_deth, write_deth},
	{WIRE_HDR_FETH, 4, parse_feth, write_feth},
	{WIRE_HDR_RETH, 16, parse_reth, write_reth},
	{WIRE_HDR_ATOMICETH, 28, parse_atomiceth, write_atomiceth},
	{WIRE_HDR_AETH, 4, parse_aeth, write_aeth},
	{WIRE_HDR_ATOMICACKETH, 8, parse_atomicack, write_atomicack},
	{WIRE_HDR_IMMDT, 4, parse_immdt, write_immdt},
	{WIRE_HDR_IETH, 4, parse_ieth, write_ieth},
	{WIRE_HDR_SACKETH, 16, parse_sacketh, write_sacketh},
	{WIRE_HDR_MERGETH, 4, parse_mergeth, write_mergeth},
};
#define N_EXT_HDRS (sizeof(ext_hdrs) / sizeof(ext_hdrs[0]))

/* Any set. Not inline, for that would make room for a loop in what most packets go through without. */
static __attribute__((noinline, unused)) void parse_any_ext(const uint8_t *p, struct wire_pkt *pkt)
{
	for (unsigned int i = 0; i < N_EXT_HDRS; i++) {
		if (!(pkt->hdrs & ext_hdrs[i].hdr))
			continue;
		ext_hdrs[i].parse(p, pkt);
		p += ext_hdrs[i].bytes;
	}
}

/* Inline, and the sets of most packets first: it is half of what a small packet costs here. */
static inline __attribute__((always_inline)) void parse_ext(const uint8_t *p, struct wire_pkt *pkt)
{
	switch (pkt->hdrs) {
	case 0:
		return;
	case WIRE_HDR_RETH:
		parse_reth(p, pkt);
		return;
	case WIRE_HDR_AETH:
		parse_aeth(p, pkt);
		return;
	default:
		parse_any_ext(p, pkt);
		return;
	}
}

static inline void parse_bth(const uint8_t *bth, struct wire_pkt *pkt)
{
	uint32_t first = get32(bth), qpn = get32(bth + 4), psn = get32(bth + 8);

	pkt->opcode = (uint8_t)(first >> 24);
	pkt->solicited = (first & 1u << 23) != 0;
	pkt->migreq = (first & 1u << 22) != 0;
	pkt->pad = first >> 20 & 3;
	pkt->tver = first >> 16 & 0xf;
	pkt->pkey = (uint16_t)first;
	pkt->fecn = (qpn & 1u << 31) != 0;
	pkt->becn = (qpn & 1u << 30) != 0;
	pkt->resv6 = qpn >> 24 & 0x3f;
	pkt->dqpn = qpn & 0xffffff;
	pkt->ack_req = (psn & 1u << 31) != 0;
	pkt->resv7 = psn >> 24 & 0x7f;
	pkt->psn = psn & 0xffffff;
}

static inline void write_bth(uint8_t *bth, const struct wire_pkt *pkt)
{
	put32(bth, (uint32_t)pkt->opcode << 24 | (uint32_t)pkt->solicited << 23 | (uint32_t)pkt->migreq << 22 |
			   (pkt->pad & 3u) << 20 | (pkt->tver & 0xfu) << 16 | pkt->pkey);
	put32(bth + 4, (uint32_t)pkt->fecn << 31 | (uint32_t)pkt->becn << 30 | (pkt->resv6 & 0x3fu) << 24 |
			       (pkt->dqpn & 0xffffff));
	put32(bth + 8, (uint32_t)pkt->ack_req << 31 | (pkt->resv7 & 0x7fu) << 24 | (pkt->psn & 0xffffff));
}

static __attribute__((noinline, unused)) void write_any_ext(uint8_t *p, uint16_t hdrs, const struct wire_pkt *pkt)
{
	for (unsigned int i = 0; i < N_EXT_HDRS; i++) {
		if (!(hdrs & ext_hdrs[i].hdr))
			continue;
		ext_hdrs[i].write(p, pkt);
		p += ext_hdrs[i].bytes;
	}
}

static inline __attribute__((always_inline)) void write_ext(uint8_t *p, uint16_t hdrs, const struct wire_pkt *pkt)
{
	switch (hdrs) {
	case 0:
		return;
	case WIRE_HDR_RETH:
		write_reth(p, pkt);
		return;
	case WIRE_HDR_AETH:
		write_aeth(p, pkt);
		return;
	default:
		write_any_ext(p, hdrs, pkt);
		return;
	}
}

#endif
