/* SPDX-License-Identifier: BSD-3-Clause */
/* Which frames a capture takes, and what of a tunnel it shows. Pure: looks at frames only. */
#ifndef CAPTURE_FILTER_H
#define CAPTURE_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire_frame.h"

#define CAPTURE_PEER_ADDRS 4u

/* Of a queue pair. A datagram says from which one it is; other packets only for which one, so those that one of ours
 * sends are told by its peer. */
struct capture_filter {
	bool by_qp;
	bool ours; /* it is one of ours; else packets for any of that number, in either direction */
	uint32_t qpn;
	uint32_t peer_qpn, n_peers; /* of one of ours that is connected, else 0 addresses */
	struct wire_addr peers[CAPTURE_PEER_ADDRS];
};

/* Whether the frame, n bytes of which are at hand, is taken; out: it is sent. */
bool capture_filter_takes(
	const struct capture_filter *filter, const uint8_t *frame, size_t n, size_t frame_bytes, bool out);

/* Offset of the host's IP packet in a tunnel's frame whose UDP header is at l4; 0: it holds none. */
size_t capture_tunnel_packet(const uint8_t *frame, size_t n, size_t l4);

#endif
