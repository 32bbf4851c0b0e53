/* SPDX-License-Identifier: BSD-3-Clause */
/* Channels of frames, and the priority code points that they leave with (IEEE 802.1Q, 6.9.3). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "channels.h"

#define TAGGED_BYTES 38u /* Ethernet header, tag, IPv4 header */

static struct config config;
static struct config_port port = {.mtu = 1500};
static struct qos_config qos;

/* A frame of that traffic class octet, with the tag that a device of priority 1 and VLAN 42 gives it. */
static void make(uint8_t *frame, uint8_t tos)
{
	memset(frame, 0, TAGGED_BYTES);
	memcpy(frame + 12, (uint8_t[]){0x81, 0x00, 0x20, 42, 0x08, 0x00, 0x45, tos}, 8);
}

static int reset(void **state)
{
	(void)state;
	config = (struct config){
		.n_channels = 2,
		.channels = {
			{.weight = 1, .queue_kbytes = 1024, .send_pcp = 8},
			{.weight = 1, .queue_kbytes = 1024, .send_pcp = 5, .dscp = 1ull << 26, .pcp = 1u << 5},
		},
	};
	assert_true(channels_init(&config, &port, 1, &qos));
	return 0;
}

static uint8_t tag_of(uint8_t *frame, size_t n)
{
	const uint8_t *ip;
	uint8_t version;

	channels_tag(&qos.classes[channels_class(&qos, frame, n, &ip, &version)], frame, n);
	return frame[14];
}

static void a_channel_gives_its_priority_code_point(void **state)
{
	uint8_t frame[TAGGED_BYTES];

	(void)state;
	make(frame, 26 << 2);
	frame[14] |= 0x1f;
	/* The drop eligible indicator and the VLAN stay. */
	assert_int_equal(tag_of(frame, sizeof(frame)), 5 << 5 | 0x1f);
	assert_int_equal(frame[15], 42);
}

static void without_one_it_stays_the_devices(void **state)
{
	uint8_t frame[TAGGED_BYTES];

	(void)state;
	make(frame, 0);
	assert_int_equal(tag_of(frame, sizeof(frame)), 0x20);
}

static void frames_without_a_tag_stay_as_they_are(void **state)
{
	uint8_t frame[TAGGED_BYTES], before[TAGGED_BYTES];

	(void)state;
	make(frame, 26 << 2);
	memmove(frame + 12, frame + 16, sizeof(frame) - 16);
	memcpy(before, frame, sizeof(frame));
	(void)tag_of(frame, sizeof(frame));
	assert_memory_equal(frame, before, sizeof(frame));
	/* Nor is one that ends before its tag does. */
	make(frame, 26 << 2);
	channels_tag(&qos.classes[1], frame, 17);
	assert_int_equal(frame[14], 0x20);
}

/* Where tags tell channels apart, what has been tagged is found in the same one again. */
static void a_trusted_tag_stays_in_its_channel(void **state)
{
	uint8_t frame[TAGGED_BYTES], version;
	const uint8_t *ip;

	(void)state;
	qos.trust_pcp = true;
	make(frame, 0);
	frame[14] = 5 << 5;
	assert_int_equal(tag_of(frame, sizeof(frame)), 5 << 5);
	assert_int_equal(channels_class(&qos, frame, sizeof(frame), &ip, &version), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_channel_gives_its_priority_code_point, reset),
		cmocka_unit_test_setup(without_one_it_stays_the_devices, reset),
		cmocka_unit_test_setup(frames_without_a_tag_stay_as_they_are, reset),
		cmocka_unit_test_setup(a_trusted_tag_stays_in_its_channel, reset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
