/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_sport.h"

#include "wire_bytes.h"
#include "wire_icrc.h"

#define POLYNOMIAL 0xedb88320u /* of Ethernet, reflected: bit 31 - i is that of x^i */
#define CSUM_OFF   6u

/* x^(8n) modulo the polynomial for n = i, 64 i and 2048 i. */
static const uint32_t bytes_1[64] = {
	0x80000000, 0x00800000, 0x00008000, 0x00000080, 0xedb88320, 0x3b83984b, 0xe1351b80, 0xed59b63b,
	0xb1e6b092, 0x1eb014d8, 0x8816eaf2, 0x533b85da, 0x6655004f, 0xe6050901, 0x77e1359f, 0x60c76fe0,
	0xa06a2517, 0x8373efe2, 0x4e87f0bb, 0x5cfdedf4, 0xba8ccbe8, 0xae6be681, 0x9a11d850, 0x6bf1402c,
	0x32b39da3, 0x4fed41cf, 0x0b943260, 0x4db9f56a, 0xad2a31b3, 0x52c5c807, 0x9e36506b, 0xdafe8e80,
	0xed627dae, 0x3183ec92, 0x1e307184, 0xeacb7748, 0x78ed02d5, 0xf6c1cb59, 0x1241289b, 0x67cf0be4,
	0xa700e96a, 0xadc088af, 0x46c47ef1, 0xcafc06f4, 0xba1aca03, 0x99b34b70, 0x509cc277, 0xce31785d,
	0x15141c31, 0x51cb1426, 0xd25c4ee9, 0xd9040692, 0x1ed8f66e, 0xaa1494a9, 0xafa00fd8, 0x88a7fae9,
	0xd95efd26, 0xd2d4db00, 0x00d2d4db, 0x1101d988, 0xe3720acb, 0x0c556932, 0xc8db04e9, 0xd91e81d8,
};
static const uint32_t bytes_64[32] = {
	0x80000000, 0x88d14467, 0xd7bbfe6a, 0x62b6ca4b, 0xec447f11, 0x7c69160d, 0xb72d2b3c, 0xb34988bb,
	0x8e7ea170, 0x54e00eef, 0x7e91368a, 0x9b577d5c, 0x05616c82, 0x6b85d8d7, 0x3277f3e0, 0x979966f5,
	0x6427800e, 0x4a080ee0, 0xb1436b58, 0x7242d7fa, 0x5ef840e2, 0x56c3cb9c, 0xb3a2be1c, 0x36b74585,
	0xbf110f7e, 0xa52f4d76, 0x3ea21cf9, 0x5e665234, 0x118f848e, 0xc7916f54, 0x34163bd1, 0xb58f9792,
};
static const uint32_t bytes_2048[32] = {
	0x80000000, 0x4d47bae0, 0x09fe548f, 0x552d4042, 0x83852d0f, 0x4e2f9ac3, 0xe4b54665, 0x96a2a2f2,
	0x30362f1a, 0x090e1204, 0x668145e1, 0x80c95e61, 0xf27674ad, 0x70d4f062, 0xb8c9f94b, 0x3f2d3b68,
	0x7b5a9cc3, 0x5307d760, 0x866744b2, 0xecfa96e2, 0xc99622b9, 0x5773aa46, 0xafe90854, 0xb11d39f9,
	0xec735cea, 0xdec9f6f0, 0xefe9d761, 0x4f99e7a4, 0x0f9f0002, 0xb752dd13, 0xf014301e, 0xa895beec,
};

/* The product of two polynomials, modulo the polynomial. */
static uint32_t multiply(uint32_t a, uint32_t b)
{
	uint32_t product = 0;

	for (; a != 0; a <<= 1) {
		product ^= b & (0u - (a >> 31));
		b = (b >> 1) ^ (POLYNOMIAL & (0u - (b & 1)));
	}
	return product;
}

uint32_t wire_sport_crc(uint16_t change, uint16_t bytes)
{
	/* The first byte's lowest bit is the one with the highest power. */
	uint32_t crc = (uint32_t)(change >> 8 | (change & 0xff) << 8) << 16;

	crc = multiply(crc, bytes_1[bytes & 63]);
	if (bytes >> 6 != 0)
		crc = multiply(crc, bytes_64[bytes >> 6 & 31]);
	return bytes >> 11 != 0 ? multiply(crc, bytes_2048[bytes >> 11]) : crc;
}

/* The sum of the ICRC's words as UDP's checksum has them; their first byte is at an odd place if the packet's length is odd. */
static uint32_t sum_of_icrc(const uint8_t *at, bool odd)
{
	uint32_t sum = (uint32_t)get16(at) + get16(at + 2);

	sum = (sum & 0xffff) + (sum >> 16);
	return odd ? (sum & 0xff) << 8 | sum >> 8 : sum;
}

void wire_set_sport(uint8_t *frame, struct wire_pkt *pkt, uint16_t sport)
{
	uint8_t *udp = frame + pkt->l4_off, *icrc = frame + pkt->frame_bytes - WIRE_ICRC_BYTES;
	uint16_t change = get16(udp) ^ sport, csum = get16(udp + CSUM_OFF);
	bool odd = ((pkt->frame_bytes - pkt->l4_off) & 1) != 0;
	uint32_t sum = (uint32_t)(uint16_t)~csum + (uint16_t)~get16(udp) + sport;

	sum += 0xffffu - (sum_of_icrc(icrc, odd) & 0xffff);
	wire_icrc_store(icrc, wire_icrc_load(icrc) ^ wire_sport_crc(change, (uint16_t)(pkt->frame_bytes - pkt->l4_off - 2)));
	sum += sum_of_icrc(icrc, odd);
	put16(udp, sport);
	pkt->udp_sport = sport;
	if (csum == 0)
		return;
	sum = (sum & 0xffff) + (sum >> 16);
	csum = (uint16_t)~(sum + (sum >> 16));
	/* 0 would say that there is none (RFC 768). */
	csum = csum != 0 ? csum : 0xffff;
	put16(udp + CSUM_OFF, csum);
	pkt->udp_csum = csum;
}
