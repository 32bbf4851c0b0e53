/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Invariant CRC of RoCE v2 (IBTA vol. 1, 7.8.1 and annex A17): CRC-32 of Ethernet over a dummy LRH of
 * ones, the IP header on with its variant fields as ones, and everything up to the ICRC itself. Stored
 * little-endian. The CRC itself is that of wire_crc.h, or ISA-L's.
 */
#ifndef WIRE_ICRC_H
#define WIRE_ICRC_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_ICRC_BYTES 4

/* Writes / reads the four ICRC bytes of the wire. */
void wire_icrc_store(uint8_t *at, uint32_t crc);
uint32_t wire_icrc_load(const uint8_t *at);

/* ICRC of a contiguous packet from its IP header to just before the ICRC: l3 points at the IP header (v4 without options
 * or v6), and bytes covers it, UDP and BTH at least (IP header + 8 + 12). */
uint32_t wire_icrc(const uint8_t *l3, size_t bytes);

/* Copies the payload behind hdr_bytes of headers, pads it with zeros to a multiple of 4, which the headers are, and
 * returns the ICRC of all that. One pass where the processor can do it. */
uint32_t wire_icrc_copy(uint8_t *l3, size_t hdr_bytes, const void *payload, size_t bytes);

/* The same for RoCE v1: grh points at the GRH. */
uint32_t wire_icrc_v1(const uint8_t *grh, size_t bytes);

#endif
