/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures: the ring between a worker and the main thread, the blocks of the file, and which frames are taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "capture_file.h"
#include "capture_filter.h"
#include "capture_ring.h"
#include "wire_psp.h"
#include "wire_tunnel.h"

/* ---- the ring ---- */

static void test_ring_keeps_what_it_takes(void **state)
{
	struct capture_ring ring;
	uint64_t seed = 1, next_in = 0, next_out = 0;
	uint8_t data[700], got[700];

	(void)state;
	assert_int_equal(capture_ring_make(&ring, 4096), 0);
	for (int step = 0; step < 20000; step++) {
		struct capture_record record = {.bytes = 0};

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		if ((seed >> 40 & 1) != 0) {
			size_t n = (size_t)(seed >> 41) % sizeof(data), cut = n / 3;
			const struct iovec parts[3] = {{data, cut}, {data + cut, n - cut}, {data, 0}};

			for (size_t i = 0; i < n; i++)
				data[i] = (uint8_t)(next_in + i);
			record = (struct capture_record){.ns = next_in, .bytes = (uint32_t)n};
			if (capture_ring_put(&ring, &record, parts, 3))
				next_in++;
			else
				assert_int_not_equal(next_in, next_out); /* an empty one has room for all of these */
		} else if (capture_ring_peek(&ring, &record)) {
			assert_int_equal(record.ns, next_out);
			capture_ring_take(&ring, &record, got);
			for (size_t i = 0; i < record.bytes; i++)
				assert_int_equal(got[i], (uint8_t)(next_out + i));
			next_out++;
		} else {
			assert_int_equal(next_in, next_out);
		}
	}
	assert_true(next_out > 1000);
	capture_ring_free(&ring);
}

static void test_ring_is_full_and_no_more(void **state)
{
	struct capture_ring ring;
	struct capture_record record = {.bytes = 1000};
	uint8_t data[1000] = {7};
	const struct iovec part = {data, sizeof(data)};
	unsigned n = 0;

	(void)state;
	assert_int_equal(capture_ring_make(&ring, 5000), 0);
	assert_int_equal(ring.bytes, 8192); /* a power of two */
	while (n < 100 && capture_ring_put(&ring, &record, &part, 1))
		n++;
	assert_int_equal(n, 8); /* each takes 1024 */
	assert_true(capture_ring_peek(&ring, &record));
	capture_ring_take(&ring, &record, data);
	assert_true(capture_ring_put(&ring, &record, &part, 1));
	assert_false(capture_ring_put(&ring, &record, &part, 1));
	/* what is larger than it is not taken ever */
	record.bytes = 9000;
	assert_false(capture_ring_put(&ring, &record, &part, 1));
	capture_ring_free(&ring);
}

#define PASSED 200000u

static void *writer(void *arg)
{
	struct capture_ring *ring = arg;

	for (uint32_t i = 0; i < PASSED;) {
		uint32_t words[5] = {i, i ^ 0xffffffff, i * 3, i, i};
		struct capture_record record = {.ns = i, .bytes = (uint32_t)(i % 5 * 4)};
		const struct iovec part = {words, record.bytes};

		if (capture_ring_put(ring, &record, &part, 1))
			i++;
		else
			sched_yield();
	}
	return NULL;
}

static void test_ring_between_threads(void **state)
{
	struct capture_ring ring;
	struct capture_record record;
	pthread_t thread;
	uint32_t words[5];

	(void)state;
	assert_int_equal(capture_ring_make(&ring, 4096), 0);
	assert_int_equal(pthread_create(&thread, NULL, writer, &ring), 0);
	for (uint32_t i = 0; i < PASSED;) {
		if (!capture_ring_peek(&ring, &record)) {
			sched_yield();
			continue;
		}
		assert_int_equal(record.ns, i);
		assert_int_equal(record.bytes, i % 5 * 4);
		capture_ring_take(&ring, &record, words);
		if (record.bytes >= 8)
			assert_int_equal(words[0] ^ words[1], 0xffffffff);
		i++;
	}
	pthread_join(thread, NULL);
	capture_ring_free(&ring);
}

/* ---- the file ---- */

static uint32_t get32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static uint16_t get16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* Value of an option among those from `at` on; NULL: it is not there. They end, within the block. */
static const uint8_t *option(const uint8_t *block, size_t n, size_t at, uint16_t code, uint16_t *length)
{
	const uint8_t *found = NULL;

	while (get16(block + at) != 0) {
		*length = get16(block + at + 2);
		assert_true(at + 4 + *length <= n - 8);
		if (get16(block + at) == code && found == NULL)
			found = block + at + 4;
		if (found != NULL && get16(block + at) == code)
			return found;
		at += 4u + (*length + 3u) / 4 * 4;
	}
	assert_int_equal(at, n - 8);
	return NULL;
}

static void assert_block(const uint8_t *block, size_t n, uint32_t type)
{
	assert_int_equal(n % 4, 0);
	assert_int_equal(get32(block), type);
	assert_int_equal(get32(block + 4), n);
	assert_int_equal(get32(block + n - 4), n);
}

static void test_section_and_interface(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	uint8_t block[CAPTURE_FILE_BLOCK];
	char text[1000];
	uint16_t length;
	size_t n = capture_file_section(block, "roced", "a note");

	(void)state;
	assert_block(block, n, 0x0a0d0d0a);
	assert_int_equal(get32(block + 8), 0x1a2b3c4d);
	assert_memory_equal(option(block, n, 24, 1, &length), "a note", 6);
	assert_memory_equal(option(block, n, 24, 4, &length), "roced", 5);
	n = capture_file_section(block, "roced", "");
	assert_null(option(block, n, 24, 1, &length));

	n = capture_file_interface(block, "p0", "of a test", mac, 96);
	assert_block(block, n, 1);
	assert_int_equal(get16(block + 8), 1);
	assert_int_equal(get32(block + 12), 96);
	assert_memory_equal(option(block, n, 16, 2, &length), "p0", 2);
	assert_memory_equal(option(block, n, 16, 3, &length), "of a test", 9);
	assert_memory_equal(option(block, n, 16, 6, &length), mac, 6);
	assert_int_equal(*option(block, n, 16, 9, &length), 9);
	/* the longest there can be */
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	n = capture_file_interface(block, text, text, mac, 96);
	assert_true(n <= CAPTURE_FILE_BLOCK);
	assert_block(block, n, 1);
	(void)option(block, n, 16, 2, &length);
	assert_int_equal(length, CAPTURE_FILE_TEXT);
}

static void test_packet(void **state)
{
	static const uint8_t data[7] = {1, 2, 3, 4, 5, 6, 7};
	struct capture_file_packet packet = {
		.iface = 3, .queue = 5, .ns = 0x1122334455667788, .bytes = 7, .wire_bytes = 1500, .out = true};
	uint8_t block[200], again[200];
	uint16_t length;
	size_t n = capture_file_packet(block, &packet, data);

	(void)state;
	assert_block(block, n, 6);
	assert_int_equal(get32(block + 8), 3);
	assert_int_equal(get32(block + 12), 0x11223344); /* the upper half first */
	assert_int_equal(get32(block + 16), 0x55667788);
	assert_int_equal(get32(block + 20), 7);
	assert_int_equal(get32(block + 24), 1500);
	assert_memory_equal(block + CAPTURE_FILE_DATA, data, 7);
	assert_int_equal(get32(option(block, n, 36, 2, &length)), 2);
	assert_int_equal(get32(option(block, n, 36, 6, &length)), 5);
	assert_true(n - 7 <= CAPTURE_FILE_EXTRA);
	/* with its bytes where they belong already */
	memset(again, 0xee, sizeof(again));
	memcpy(again + CAPTURE_FILE_DATA, data, 7);
	assert_int_equal(capture_file_packet(again, &packet, NULL), n);
	assert_memory_equal(again, block, n);
	packet.out = false;
	n = capture_file_packet(block, &packet, data);
	assert_int_equal(get32(option(block, n, 36, 2, &length)), 1);
}

static void test_statistics(void **state)
{
	struct capture_file_stats stats = {.iface = 1, .start_ns = 5, .end_ns = 9, .taken = 100, .missed = 3};
	uint8_t block[CAPTURE_FILE_BLOCK];
	uint16_t length;
	size_t n = capture_file_stats(block, &stats, "note");

	(void)state;
	assert_block(block, n, 5);
	assert_int_equal(get32(block + 8), 1);
	assert_int_equal(get32(block + 16), 9);
	assert_memory_equal(option(block, n, 20, 1, &length), "note", 4);
	assert_int_equal(get32(option(block, n, 20, 4, &length)), 100);
	assert_int_equal(get32(option(block, n, 20, 5, &length)), 3);
}

/* ---- which frames ---- */

static const struct wire_addr us = {{[10] = 0xff, 0xff, 10, 0, 0, 1}}, peer = {{[10] = 0xff, 0xff, 10, 0, 0, 2}},
			      other = {{[10] = 0xff, 0xff, 10, 0, 0, 3}};

/* A frame of UDP to a port. */
static size_t udp(uint8_t *frame, const struct wire_addr *src, const struct wire_addr *dst, uint16_t dport,
	const void *data, size_t n)
{
	struct wire_l2l3 net = {.src = *src, .dst = *dst};

	return wire_udp_write(frame, &net, 0xc000, dport, data, n);
}

/* A RoCE packet with that opcode; sqpn of a datagram. */
static size_t roce(uint8_t *frame, const struct wire_addr *src, const struct wire_addr *dst, uint8_t opcode,
	uint32_t dqpn, uint32_t sqpn)
{
	uint8_t data[40] = {opcode, 0, 0xff, 0xff, 0, (uint8_t)(dqpn >> 16), (uint8_t)(dqpn >> 8),
		(uint8_t)dqpn, [17] = (uint8_t)(sqpn >> 16), (uint8_t)(sqpn >> 8), (uint8_t)sqpn};

	return udp(frame, src, dst, 4791, data, sizeof(data));
}

#define RC 0x04
#define UD 0x64

static bool takes(const struct capture_filter *filter, const uint8_t *frame, size_t n, bool out)
{
	uint8_t *copy = malloc(n);
	bool taken;

	/* Just n bytes, so that a sanitizer sees any read past the end. */
	assert_non_null(copy);
	memcpy(copy, frame, n);
	taken = capture_filter_takes(filter, copy, n, n, out);
	free(copy);
	return taken;
}

static void test_any_frame(void **state)
{
	const struct capture_filter filter = {0};
	uint8_t frame[14] = {0};

	(void)state;
	assert_true(takes(&filter, frame, sizeof(frame), false));
}

/* Of ours: what comes for it, and what goes to its peer, which may have a namesake elsewhere. */
static void test_queue_pair_of_ours(void **state)
{
	const struct capture_filter filter = {
		.by_qp = true, .ours = true, .qpn = 0x11, .peer_qpn = 0x22, .n_peers = 1, .peers = {peer}};
	struct capture_filter lone = filter;
	uint8_t frame[200];
	size_t n;

	(void)state;
	n = roce(frame, &peer, &us, RC, 0x11, 0);
	assert_true(takes(&filter, frame, n, false));
	assert_false(takes(&filter, frame, n, true)); /* ours has no such peer */
	n = roce(frame, &peer, &us, RC, 0x22, 0);
	assert_false(takes(&filter, frame, n, false));
	n = roce(frame, &us, &peer, RC, 0x22, 0);
	assert_true(takes(&filter, frame, n, true));
	n = roce(frame, &us, &other, RC, 0x22, 0);
	assert_false(takes(&filter, frame, n, true));
	n = roce(frame, &us, &other, UD, 0x77, 0x11);
	assert_true(takes(&filter, frame, n, true));
	n = roce(frame, &us, &other, UD, 0x77, 0x12);
	assert_false(takes(&filter, frame, n, true));
	/* not connected */
	lone.n_peers = 0;
	n = roce(frame, &us, &peer, RC, 0x22, 0);
	assert_false(takes(&lone, frame, n, true));
}

static void test_queue_pair_of_anybody(void **state)
{
	const struct capture_filter filter = {.by_qp = true, .qpn = 0x11};
	uint8_t frame[200];
	size_t n = roce(frame, &peer, &us, RC, 0x11, 0);

	(void)state;
	assert_true(takes(&filter, frame, n, false));
	assert_true(takes(&filter, frame, n, true));
	n = roce(frame, &peer, &us, UD, 0x12, 0x11);
	assert_true(takes(&filter, frame, n, false));
	n = roce(frame, &peer, &us, RC, 0x12, 0x11); /* what stands there is no number of a queue pair */
	assert_false(takes(&filter, frame, n, false));
	n = udp(frame, &peer, &us, 4792, "\x04\0\0\0\0\0\0\x11----------------", 24);
	assert_false(takes(&filter, frame, n, false));
	/* cut off */
	n = roce(frame, &peer, &us, RC, 0x11, 0);
	for (size_t cut = 0; cut < n; cut++)
		assert_false(takes(&filter, frame, cut, false));
}

static void test_tunnel(void **state)
{
	struct wire_tunnel t = {.type = WIRE_TUNNEL_PACKET, .flow = 5};
	uint8_t frame[200], data[60] = {0};
	struct wire_udp_at at;
	size_t n;

	(void)state;
	wire_tunnel_write(data, &t);
	data[WIRE_TUNNEL_BYTES] = 0x45;
	n = udp(frame, &us, &peer, 4794, data, sizeof(data));
	assert_int_equal(wire_udp_find(frame, n, n, &at), BASE_DROP_NONE);
	assert_int_equal(capture_tunnel_packet(frame, n, at.l4), at.l4 + 8u + WIRE_TUNNEL_BYTES);
	assert_int_equal(frame[capture_tunnel_packet(frame, n, at.l4)], 0x45);
	for (size_t cut = at.l4; cut <= at.l4 + 8u + WIRE_TUNNEL_BYTES; cut++)
		assert_int_equal(capture_tunnel_packet(frame, cut, at.l4), 0);
	t.type = WIRE_TUNNEL_PROBE;
	wire_tunnel_write(data, &t);
	n = udp(frame, &us, &peer, 4794, data, sizeof(data));
	assert_int_equal(capture_tunnel_packet(frame, n, at.l4), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring_keeps_what_it_takes),
		cmocka_unit_test(test_ring_is_full_and_no_more),
		cmocka_unit_test(test_ring_between_threads),
		cmocka_unit_test(test_section_and_interface),
		cmocka_unit_test(test_packet),
		cmocka_unit_test(test_statistics),
		cmocka_unit_test(test_any_frame),
		cmocka_unit_test(test_queue_pair_of_ours),
		cmocka_unit_test(test_queue_pair_of_anybody),
		cmocka_unit_test(test_tunnel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
