/* SPDX-License-Identifier: BSD-3-Clause */
/* The ICRC of packets of any length, by each kernel that this processor has, against one made bit by bit (IBTA vol. 1, 7.8.1). */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "wire_crc.h"
#include "wire_icrc.h"

#define MAX_HDR     88  /* IPv6, UDP, BTH, AtomicETH */
#define MAX_PAYLOAD 4096
#define FRAME_BYTES (MAX_HDR + MAX_PAYLOAD + 4)
#define GUARD       0xa7

/* Bytes that are ones in the ICRC: offset and, of the first of IPv6, the lower half only. */
static const uint8_t variant4[] = {1, 8, 10, 11, 26, 27, 32};
static const uint8_t variant6[] = {1, 2, 3, 7, 46, 47, 52};

static uint32_t bit_by_bit(const uint8_t *l3, size_t bytes)
{
	const bool v6 = l3[0] >> 4 == 6;
	uint8_t *masked = malloc(bytes + 8);
	uint32_t crc = UINT32_MAX;

	assert_non_null(masked);
	memset(masked, 0xff, 8);
	memcpy(masked + 8, l3, bytes);
	for (size_t i = 0; i < sizeof(variant4); i++)
		masked[8 + (v6 ? variant6 : variant4)[i]] = 0xff;
	if (v6)
		masked[8] |= 0x0f;
	for (size_t i = 0; i < bytes + 8; i++) {
		crc ^= masked[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xedb88320u : 0);
	}
	free(masked);
	return ~crc;
}

/* Bytes that repeat nowhere, of either IP version. */
static void fill(uint8_t *l3, size_t bytes, uint8_t version)
{
	uint32_t x = 0x12345 + (uint32_t)bytes;

	for (size_t i = 0; i < bytes; i++) {
		x = x * 1664525 + 1013904223;
		l3[i] = (uint8_t)(x >> 24);
	}
	l3[0] = version == 6 ? 0x6c : 0x45;
}

/* From headers alone on, at all lengths that end within four groups of 64 bytes, and around that of the largest packet. */
static bool is_tried(size_t payload)
{
	return payload <= 600 || payload >= MAX_PAYLOAD - 70;
}

static void test_in_place(void **state)
{
	uint8_t l3[FRAME_BYTES];

	(void)state;
	for (uint8_t version = 4; version <= 6; version = (uint8_t)(version + 2)) {
		size_t least = version == 6 ? 60 : 40;

		for (size_t bytes = least; bytes <= least + MAX_PAYLOAD; bytes++) {
			if (!is_tried(bytes - least))
				continue;
			fill(l3, bytes, version);
			assert_int_equal(wire_icrc(l3, bytes), bit_by_bit(l3, bytes));
		}
	}
}

static void test_does_not_read_beyond_the_packet(void **state)
{
	(void)state;
	for (size_t bytes = 40; bytes <= 400; bytes++) {
		uint8_t *l3 = malloc(bytes); /* sanitizers know where it ends */

		assert_non_null(l3);
		fill(l3, bytes, 4);
		assert_int_equal(wire_icrc(l3, bytes), bit_by_bit(l3, bytes));
		free(l3);
	}
}

static void check_copy(size_t hdr_bytes, size_t bytes, uint8_t version)
{
	const size_t padded = (bytes + 3) & ~(size_t)3;
	uint8_t *payload = malloc(bytes + 1), l3[FRAME_BYTES + 4];
	uint32_t crc;

	assert_non_null(payload);
	fill(payload, bytes + 1, 0);
	memset(l3, GUARD, sizeof(l3));
	fill(l3, hdr_bytes, version);
	crc = wire_icrc_copy(l3, hdr_bytes, payload, bytes);
	assert_memory_equal(l3 + hdr_bytes, payload, bytes);
	for (size_t i = bytes; i < padded; i++)
		assert_int_equal(l3[hdr_bytes + i], 0);
	assert_int_equal(l3[hdr_bytes + padded], GUARD);
	assert_int_equal(crc, bit_by_bit(l3, hdr_bytes + padded));
	free(payload);
}

static void test_copies_and_pads(void **state)
{
	static const size_t hdrs[] = {40, 44, 48, 56, 60, 68, 76, 88};

	(void)state;
	for (size_t h = 0; h < sizeof(hdrs) / sizeof(hdrs[0]); h++) {
		for (size_t bytes = 0; bytes <= MAX_PAYLOAD; bytes++) {
			if (!is_tried(bytes))
				continue;
			check_copy(hdrs[h], bytes, 4);
			if (hdrs[h] >= 60)
				check_copy(hdrs[h], bytes, 6);
		}
	}
}

static void test_without_payload_there_is_none_to_read(void **state)
{
	uint8_t l3[48];

	(void)state;
	fill(l3, 44, 4);
	assert_int_equal(wire_icrc_copy(l3, 44, NULL, 0), bit_by_bit(l3, 44));
}

#ifdef WIRE_CRC_X86

struct kernel {
	const char *name;
	uint32_t (*in_place)(const uint8_t *l3, size_t bytes, const struct wire_crc_mask *mask);
	uint32_t (*copy)(uint8_t *l3, size_t hdr_bytes, const uint8_t *payload, size_t bytes, const struct wire_crc_mask *mask);
};

static void check_kernel(const struct kernel *kernel)
{
	static const struct wire_crc_mask none = {.blocks = 3};
	uint8_t l3[FRAME_BYTES], payload[MAX_PAYLOAD], copied[FRAME_BYTES];

	for (size_t bytes = 4; bytes <= MAX_PAYLOAD; bytes += 4) {
		struct wire_crc_mask mask4 = none;
		uint32_t want;

		if (!is_tried(bytes))
			continue;
		for (size_t i = 0; i < sizeof(variant4); i++)
			mask4.bytes[WIRE_CRC_LEAD_BYTES + variant4[i]] = 0xff;
		fill(l3, 56 + bytes, 4);
		memcpy(payload, l3 + 56, bytes);
		memcpy(copied, l3, 56);
		want = bit_by_bit(l3, 56 + bytes);
		assert_int_equal(kernel->in_place(l3, 56 + bytes, &mask4), want);
		assert_int_equal(kernel->copy(copied, 56, payload, bytes, &mask4), want);
		assert_memory_equal(copied, l3, 56 + bytes);
	}
}

/* The one that this processor is not best served by too. */
static void test_each_kernel(void **state)
{
	static const struct kernel avx2 = {"avx2", wire_crc_avx2, wire_crc_copy_avx2};
	static const struct kernel avx512 = {"avx512", wire_crc_avx512, wire_crc_copy_avx512};
	bool any = false;

	(void)state;
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("pclmul")) {
		check_kernel(&avx2);
		any = true;
	}
	if (__builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
		__builtin_cpu_supports("vpclmulqdq")) {
		check_kernel(&avx512);
		any = true;
	}
	if (!any)
		skip();
}

#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_place),
		cmocka_unit_test(test_does_not_read_beyond_the_packet),
		cmocka_unit_test(test_copies_and_pads),
		cmocka_unit_test(test_without_payload_there_is_none_to_read),
#ifdef WIRE_CRC_X86
		cmocka_unit_test(test_each_kernel),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
