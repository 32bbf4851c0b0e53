/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_icrc.h"

#include <string.h>

#include <isa-l/crc.h>

#define IP4_BYTES    20
#define IP6_BYTES    40
#define UDP_BYTES    8
#define BTH_BYTES    12
#define MASKED_MAX   (IP6_BYTES + UDP_BYTES + BTH_BYTES)

/* Finished CRC of eight bytes of ones: the dummy LRH. */
#define CRC_OF_LRH (~0xdebb20e3u)

static void mask_ip6(uint8_t *ip)
{
	ip[0] |= 0x0f;
	memset(ip + 1, 0xff, 3);
	ip[7] = 0xff;
}

static void mask_ip4(uint8_t *ip)
{
	ip[1] = 0xff;
	ip[8] = 0xff;
	memset(ip + 10, 0xff, 2);
}

uint32_t wire_icrc_update(uint32_t crc, const void *data, size_t n)
{
	return n ? crc32_gzip_refl(crc, data, n) : crc;
}

uint32_t wire_icrc_start(const uint8_t *l3, size_t hdr_bytes)
{
	size_t ip_bytes = l3[0] >> 4 == 6 ? IP6_BYTES : IP4_BYTES;
	size_t masked_bytes = ip_bytes + UDP_BYTES + BTH_BYTES;
	uint8_t masked[MASKED_MAX];
	uint32_t crc;

	memcpy(masked, l3, masked_bytes);
	if (ip_bytes == IP6_BYTES)
		mask_ip6(masked);
	else
		mask_ip4(masked);
	memset(masked + ip_bytes + 6, 0xff, 2);
	masked[ip_bytes + UDP_BYTES + 4] = 0xff;
	crc = crc32_gzip_refl(CRC_OF_LRH, masked, masked_bytes);
	return wire_icrc_update(crc, l3 + masked_bytes, hdr_bytes - masked_bytes);
}

void wire_icrc_store(uint8_t *at, uint32_t crc)
{
	at[0] = (uint8_t)crc;
	at[1] = (uint8_t)(crc >> 8);
	at[2] = (uint8_t)(crc >> 16);
	at[3] = (uint8_t)(crc >> 24);
}

uint32_t wire_icrc_load(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

uint32_t wire_icrc(const uint8_t *l3, size_t bytes)
{
	return wire_icrc_start(l3, bytes);
}

uint32_t wire_icrc_v1(const uint8_t *grh, size_t bytes)
{
	size_t masked_bytes = IP6_BYTES + BTH_BYTES;
	uint8_t masked[IP6_BYTES + BTH_BYTES];
	uint32_t crc;

	memcpy(masked, grh, masked_bytes);
	mask_ip6(masked);
	masked[IP6_BYTES + 4] = 0xff;
	crc = crc32_gzip_refl(CRC_OF_LRH, masked, masked_bytes);
	return wire_icrc_update(crc, grh + masked_bytes, bytes - masked_bytes);
}
