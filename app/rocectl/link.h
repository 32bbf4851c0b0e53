/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures without Ethernet headers (Linux "any" device, raw IP): their packets get one in front, so
 * that the rest sees Ethernet frames only.
 */
#ifndef LINK_H
#define LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longest frame that is looked at; wire_parse() takes no longer one. */
#define LINK_FRAME_MAX 65535

struct link_frame {
	uint8_t data[LINK_FRAME_MAX]; /* zero from bytes to wire_bytes */
	size_t bytes;                 /* captured */
	size_t wire_bytes;            /* as sent, with the Ethernet header put in front if none was captured */
	bool has_macs;                /* the Ethernet addresses are those of the wire */
};

/* Whether packets of a libpcap link type (DLT_...) can be decoded. */
bool link_supported(int dlt);

/* Makes an Ethernet frame of a captured packet: caplen bytes at data of the len the packet had. */
void link_to_ethernet(int dlt, const uint8_t *data, size_t caplen, size_t len, struct link_frame *frame);

#endif
