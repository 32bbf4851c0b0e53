/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_icrc.h"

#include <stdbool.h>
#include <string.h>

#include <isa-l/crc.h>

#include "wire_crc.h"

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

static bool is_ip6(const uint8_t *l3)
{
	return l3[0] >> 4 == 6;
}

/* Any number of bytes, on any processor. */
static uint32_t icrc_isal(const uint8_t *l3, size_t bytes)
{
	size_t ip_bytes = is_ip6(l3) ? IP6_BYTES : IP4_BYTES;
	size_t masked_bytes = ip_bytes + UDP_BYTES + BTH_BYTES;
	uint8_t masked[MASKED_MAX];
	uint32_t crc;

	memcpy(masked, l3, masked_bytes);
	if (is_ip6(l3))
		mask_ip6(masked);
	else
		mask_ip4(masked);
	memset(masked + ip_bytes + 6, 0xff, 2);
	masked[ip_bytes + UDP_BYTES + 4] = 0xff;
	crc = crc32_gzip_refl(CRC_OF_LRH, masked, masked_bytes);
	return bytes > masked_bytes ? crc32_gzip_refl(crc, l3 + masked_bytes, bytes - masked_bytes) : crc;
}

#ifdef WIRE_CRC_X86

#define AT(off) [WIRE_CRC_LEAD_BYTES + (off)]

/* The same as mask_ip4() and mask_ip6(), and the checksum of UDP and a byte of the BTH. */
static const struct wire_crc_mask mask4 = {.blocks = 3, .bytes = {AT(1) = 0xff, AT(8) = 0xff, AT(10) = 0xff, AT(11) = 0xff,
	AT(IP4_BYTES + 6) = 0xff, AT(IP4_BYTES + 7) = 0xff, AT(IP4_BYTES + UDP_BYTES + 4) = 0xff}};
static const struct wire_crc_mask mask6 = {.blocks = 5, .bytes = {AT(0) = 0x0f, AT(1) = 0xff, AT(2) = 0xff, AT(3) = 0xff,
	AT(7) = 0xff, AT(IP6_BYTES + 6) = 0xff, AT(IP6_BYTES + 7) = 0xff, AT(IP6_BYTES + UDP_BYTES + 4) = 0xff}};

static bool has_avx512(void)
{
	return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("vpclmulqdq");
}

static bool has_avx2(void)
{
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul");
}

uint32_t wire_icrc(const uint8_t *l3, size_t bytes)
{
	const struct wire_crc_mask *mask = is_ip6(l3) ? &mask6 : &mask4;

	if (bytes % 4 != 0)
		return icrc_isal(l3, bytes);
	if (has_avx512())
		return wire_crc_avx512(l3, bytes, mask);
	return has_avx2() ? wire_crc_avx2(l3, bytes, mask) : icrc_isal(l3, bytes);
}

uint32_t wire_icrc_copy(uint8_t *l3, size_t hdr_bytes, const void *payload, size_t bytes)
{
	const struct wire_crc_mask *mask = is_ip6(l3) ? &mask6 : &mask4;
	size_t pad = -bytes % 4;

	if (pad == 0 && bytes != 0 && has_avx512())
		return wire_crc_copy_avx512(l3, hdr_bytes, payload, bytes, mask);
	if (pad == 0 && bytes != 0 && has_avx2())
		return wire_crc_copy_avx2(l3, hdr_bytes, payload, bytes, mask);
	if (bytes != 0)
		memcpy(l3 + hdr_bytes, payload, bytes);
	memset(l3 + hdr_bytes + bytes, 0, pad);
	return wire_icrc(l3, hdr_bytes + bytes + pad);
}

#else

uint32_t wire_icrc(const uint8_t *l3, size_t bytes)
{
	return icrc_isal(l3, bytes);
}

uint32_t wire_icrc_copy(uint8_t *l3, size_t hdr_bytes, const void *payload, size_t bytes)
{
	size_t pad = -bytes % 4;

	if (bytes != 0)
		memcpy(l3 + hdr_bytes, payload, bytes);
	memset(l3 + hdr_bytes + bytes, 0, pad);
	return wire_icrc(l3, hdr_bytes + bytes + pad);
}

#endif

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

uint32_t wire_icrc_v1(const uint8_t *grh, size_t bytes)
{
	size_t masked_bytes = IP6_BYTES + BTH_BYTES;
	uint8_t masked[IP6_BYTES + BTH_BYTES];
	uint32_t crc;

	memcpy(masked, grh, masked_bytes);
	mask_ip6(masked);
	masked[IP6_BYTES + 4] = 0xff;
	crc = crc32_gzip_refl(CRC_OF_LRH, masked, masked_bytes);
	return bytes > masked_bytes ? crc32_gzip_refl(crc, grh + masked_bytes, bytes - masked_bytes) : crc;
}
