/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Invariant CRC of RoCE v2 (IBTA vol. 1, 7.8.1 and annex A17): CRC-32 of Ethernet over a dummy LRH of
 * ones, the IP header on with its variant fields as ones, and everything up to the ICRC itself. Stored
 * little-endian. The CRC itself is ISA-L's.
 */
#ifndef WIRE_ICRC_H
#define WIRE_ICRC_H

#include <stddef.h>
#include <stdint.h>

#define WIRE_ICRC_BYTES 4

/* Running CRC over the masked headers: l3 points at the IP header (v4 without options or v6) and
 * hdr_bytes covers IP, UDP and BTH at least (IP header + 8 + 12). Pass the result on to
 * wire_icrc_update() for whatever follows and finish with wire_icrc_store() or compare. */
uint32_t wire_icrc_start(const uint8_t *l3, size_t hdr_bytes);

/* Continues over n bytes of further headers, payload or pad. */
uint32_t wire_icrc_update(uint32_t crc, const void *data, size_t n);

/* Writes / reads the four ICRC bytes of the wire. */
void wire_icrc_store(uint8_t *at, uint32_t crc);
uint32_t wire_icrc_load(const uint8_t *at);

/* ICRC of a contiguous packet from its IP header to just before the ICRC. */
uint32_t wire_icrc(const uint8_t *l3, size_t bytes);

/* The same for RoCE v1: grh points at the GRH. */
uint32_t wire_icrc_v1(const uint8_t *grh, size_t bytes);

#endif
