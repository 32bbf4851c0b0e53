/* SPDX-License-Identifier: BSD-3-Clause */
#include "capture_filter.h"

#include <string.h>

#include "wire_cm.h"
#include "wire_psp.h"
#include "wire_tunnel.h"

#define UDP_BYTES  8u
#define BTH_BYTES  12u
#define DETH_BYTES 8u
#define UD_OPCODES 0x60u /* the upper three bits of those of unreliable datagrams (IBTA vol. 1, table 38) */
#define SERVICE    0xe0u

static uint32_t get24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static bool is_peer(const struct capture_filter *filter, const uint8_t *frame, const struct wire_udp_at *at)
{
	struct wire_addr src, dst;

	wire_udp_addrs(frame, at, &src, &dst);
	for (uint32_t i = 0; i < filter->n_peers; i++) {
		if (memcmp(&filter->peers[i], &dst, sizeof(dst)) == 0)
			return true;
	}
	return false;
}

bool capture_filter_takes(
	const struct capture_filter *filter, const uint8_t *frame, size_t n, size_t frame_bytes, bool out)
{
	struct wire_udp_at at;
	const uint8_t *bth;
	uint32_t dqpn;
	bool from_it;

	if (!filter->by_qp)
		return true;
	if (wire_udp_find(frame, n, frame_bytes, &at) != BASE_DROP_NONE || at.l4 + UDP_BYTES + BTH_BYTES > n ||
		wire_udp_dport(frame, n) != WIRE_ROCE_PORT)
		return false;
	bth = frame + at.l4 + UDP_BYTES;
	dqpn = get24(bth + 5);
	from_it = (bth[0] & SERVICE) == UD_OPCODES && at.l4 + UDP_BYTES + BTH_BYTES + DETH_BYTES <= n &&
		  get24(bth + BTH_BYTES + 5) == filter->qpn;
	if (!filter->ours)
		return dqpn == filter->qpn || from_it;
	if (!out)
		return dqpn == filter->qpn;
	return from_it || (filter->n_peers != 0 && dqpn == filter->peer_qpn && is_peer(filter, frame, &at));
}

size_t capture_tunnel_packet(const uint8_t *frame, size_t n, size_t l4)
{
	struct wire_tunnel t;
	size_t at = l4 + UDP_BYTES;

	if (at + WIRE_TUNNEL_BYTES >= n || !wire_tunnel_read(frame + at, n - at, &t) || t.type != WIRE_TUNNEL_PACKET)
		return 0;
	return at + WIRE_TUNNEL_BYTES;
}
