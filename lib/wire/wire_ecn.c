/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_ecn.h"

#define IP4_CSUM_OFF 10

static uint16_t load16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

void wire_set_ecn(uint8_t *ip, uint8_t version, uint8_t ecn)
{
	uint16_t before = load16(ip), csum;
	uint32_t sum;

	if (version == 6) {
		ip[1] = (uint8_t)((ip[1] & ~(WIRE_ECN_MASK << 4)) | ecn << 4);
		return;
	}
	ip[1] = (uint8_t)((ip[1] & ~WIRE_ECN_MASK) | ecn);
	sum = (uint16_t)~load16(ip + IP4_CSUM_OFF) + (uint32_t)(uint16_t)~before + load16(ip);
	sum = (sum & 0xffff) + (sum >> 16);
	csum = (uint16_t)~(sum + (sum >> 16));
	ip[IP4_CSUM_OFF] = (uint8_t)(csum >> 8);
	ip[IP4_CSUM_OFF + 1] = (uint8_t)csum;
}
