/* SPDX-License-Identifier: BSD-3-Clause */
/* RoCE packets to try rules on. */
#ifndef MADE_H
#define MADE_H

#include <string.h>

#include "wire_frame.h"

struct made {
	uint8_t frame[512];
	struct wire_pkt pkt;
};

/* From 10.0.0.1 to 10.0.0.2 (or fd00::1 to fd00::2), ECT(0), for QP 17; fields of the headers as `like` has them. */
static inline void make_with(struct made *made, const struct wire_pkt *like, uint8_t version)
{
	struct wire_l2l3 net = {.dmac = {2, 0, 0, 0, 0, 2}, .smac = {2, 0, 0, 0, 0, 1}};

	memset(made, 0, sizeof(*made));
	made->pkt = *like;
	made->pkt.kind = WIRE_KIND_ROCE_V2;
	made->pkt.l3_version = version;
	made->pkt.tos = 2;
	made->pkt.ttl = 64;
	made->pkt.ip_frag = 0x4000;
	made->pkt.udp_sport = 49152;
	made->pkt.pkey = 0xffff;
	if (made->pkt.dqpn == 0)
		made->pkt.dqpn = 17;
	net.src.b[0] = net.dst.b[0] = 0xfd;
	if (version == 4) {
		memset(&net.src, 0, sizeof(net.src));
		net.src.b[10] = net.src.b[11] = 0xff;
		net.src.b[12] = 10;
		net.dst = net.src;
	}
	net.src.b[15] = 1;
	net.dst.b[15] = 2;
	wire_write(made->frame, &net, &made->pkt);
	for (uint16_t i = 0; i < made->pkt.payload_bytes; i++)
		made->frame[made->pkt.payload_off + i] = (uint8_t)i;
	wire_seal(made->frame, &made->pkt);
}

static inline void make(struct made *made, uint8_t opcode, uint32_t psn)
{
	struct wire_pkt like = {.opcode = opcode, .psn = psn};

	make_with(made, &like, 4);
}

#endif
