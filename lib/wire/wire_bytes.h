/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers in frames, big-endian and at any address, and how long headers are: for the files of lib/wire alone. */
#ifndef WIRE_BYTES_H
#define WIRE_BYTES_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define ETH_BYTES      14u
#define VLAN_BYTES     4u
#define IP4_BYTES      20u
#define IP6_BYTES      40u
#define UDP_BYTES      8u
#define BTH_BYTES      12u

static inline uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline uint32_t get24(const uint8_t *p)
{
	return (uint32_t)get16(p) << 8 | p[2];
}

static inline uint64_t get64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

static inline void put16(uint8_t *p, uint32_t v)
{
	uint16_t be = htobe16((uint16_t)v);

	memcpy(p, &be, sizeof(be));
}

static inline void put32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void put64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

#endif
