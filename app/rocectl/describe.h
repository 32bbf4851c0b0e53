/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describes one captured frame field by field.
 */
#ifndef DESCRIBE_H
#define DESCRIBE_H

#include "emit.h"
#include "link.h"

enum describe_icrc {
	DESCRIBE_ICRC_NONE, /* no ICRC to check: not RoCE, or not all of the packet was captured */
	DESCRIBE_ICRC_OK,
	DESCRIBE_ICRC_BAD,
};

struct describe_result {
	enum describe_icrc icrc;
	bool roce;
	bool malformed; /* its headers contradict each other or a standard */
	bool truncated; /* by the capture's snapshot length */
};

/* Writes what the frame says into the open record e. Never reads behind what was captured, except for
 * the zeros link_to_ethernet() puts there. */
struct describe_result describe(struct emit *e, const struct link_frame *frame);

/* The management datagram of n bytes that a packet to QP 1 carries. Returns whether it is well-formed. */
bool describe_mad(struct emit *e, const uint8_t *mad, size_t n);

/* Packets of the port that are not RoCE: n captured bytes of which pkt is the parse. Each returns
 * BASE_DROP_NONE or what is wrong with the packet. */
enum base_drop describe_mac_control(
	struct emit *e, const uint8_t *data, size_t n, const struct wire_pkt *pkt);
enum base_drop describe_nd(struct emit *e, const uint8_t *data, size_t n, const struct wire_pkt *pkt);

#endif
