/* SPDX-License-Identifier: BSD-3-Clause */
/* What roce-fabric sees of a frame: what switches look at, and no more. Pure; frames are hostile. */
#ifndef RF_FRAME_H
#define RF_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire_pause.h"

#define RF_MAC_BYTES   6
#define RF_ETH_BYTES   14

enum rf_kind {
	RF_FORWARD,
	RF_PAUSE,                /* IEEE 802.1Qbb or 802.3x: for the switch it arrives at */
	RF_LINK_LOCAL,           /* IEEE 802.1Q, table 8-1: not for other links */
	RF_SHORT,                /* no Ethernet header, or a pause that is cut off */
};

struct rf_frame {
	enum rf_kind kind;
	uint8_t ip_version;      /* 0: no IP, or less than a whole IP header */
	uint16_t ip_off;
	bool tagged;
	uint8_t priority;        /* IEEE 802.1p, of the outer tag; 0 without */
	uint8_t dscp_priority;   /* the usual one of its DSCP, an eighth of it; 0 without IP */
	bool ect, ce;
	uint32_t flow;           /* hash of what ECMP looks at */
	struct wire_pause pause; /* RF_PAUSE */
};

/*
 * Looks at the first n bytes of a frame, those that are at hand. The flow is a hash of the IP addresses, the
 * protocol and the ports of UDP and TCP; fragments have no ports, so that all of them go one way. Without IP it is
 * one of the link addresses and the EtherType. At most two VLAN tags are passed over; they do not count.
 */
void rf_frame_parse(const uint8_t *frame, size_t n, struct rf_frame *out);

#endif
