/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames of a capture file: as they are, when they were, and no more than the file has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "rg_flow.h"
#include "rg_replay.h"
#include "rg_try.h"

static char path[] = "/tmp/rg-replay-XXXXXX";

static void put32(FILE *out, uint32_t value)
{
	assert_int_equal(fwrite(&value, sizeof(value), 1, out), 1);
}

/* The file format of libpcap, microseconds: frame i has 60 + i bytes of value i and comes after gaps_us[i]. */
static void make(uint32_t link, const uint32_t *gaps_us, uint32_t n, uint32_t cut)
{
	FILE *out = fopen(path, "w");
	uint64_t at_us = 1700000000ull * 1000000;

	assert_non_null(out);
	put32(out, 0xa1b2c3d4);
	put32(out, 2 | 4 << 16);
	put32(out, 0);
	put32(out, 0);
	put32(out, 65535);
	put32(out, link);
	for (uint32_t i = 0; i < n; i++) {
		at_us += gaps_us[i];
		put32(out, (uint32_t)(at_us / 1000000));
		put32(out, (uint32_t)(at_us % 1000000));
		put32(out, 60 + i);
		put32(out, 60 + i);
		for (uint32_t b = 0; b < 60 + i; b++)
			fputc((int)i, out);
	}
	assert_int_equal(fflush(out), 0);
	if (cut != 0)
		assert_int_equal(ftruncate(fileno(out), ftell(out) - (long)cut), 0);
	fclose(out);
}

static const uint32_t gaps[] = {0, 10, 2000000, 5};

static void test_frames(void **state)
{
	static const uint64_t at_ns[] = {0, 10000, 2000010000, 2000015000};
	uint8_t frame[RG_FRAME_BYTES];
	struct rg_replay r;
	char msg[256];

	(void)state;
	make(1, gaps, 4, 0);
	assert_int_equal(rg_replay_open(&r, path, false, msg, sizeof(msg)), 0);
	for (uint32_t i = 0; i < 4; i++) {
		assert_true(r.next_at_ns == at_ns[i]);
		assert_int_equal(rg_replay_take(&r, frame, sizeof(frame)), 60 + i);
		assert_int_equal(frame[0], i);
		assert_int_equal(frame[59 + i], i);
	}
	assert_int_equal(rg_replay_take(&r, frame, sizeof(frame)), 0);
	assert_false(r.broken);
	rg_replay_close(&r);
}

static void test_loop(void **state)
{
	uint8_t frame[RG_FRAME_BYTES];
	uint64_t last_ns = 0;
	struct rg_replay r;
	char msg[256];

	(void)state;
	make(1, gaps, 4, 0);
	assert_int_equal(rg_replay_open(&r, path, true, msg, sizeof(msg)), 0);
	for (uint32_t i = 0; i < 40; i++) {
		assert_true(r.next_at_ns >= last_ns);
		last_ns = r.next_at_ns;
		assert_int_equal(rg_replay_take(&r, frame, 50), 50);
		assert_int_equal(frame[0], i % 4);
	}
	assert_true(last_ns >= 9ull * 2000015000);
	rg_replay_close(&r);
}

static void test_bad_files(void **state)
{
	uint8_t frame[RG_FRAME_BYTES];
	struct rg_replay r;
	char msg[256];

	(void)state;
	make(101, gaps, 4, 0);
	assert_int_not_equal(rg_replay_open(&r, path, false, msg, sizeof(msg)), 0);
	assert_non_null(strstr(msg, ": its frames are not Ethernet's"));
	make(1, gaps, 0, 0);
	assert_int_not_equal(rg_replay_open(&r, path, false, msg, sizeof(msg)), 0);
	assert_int_not_equal(rg_replay_open(&r, "/dev/null", false, msg, sizeof(msg)), 0);
	/* a file that ends within a frame: what was whole is sent, and a loop ends */
	make(1, gaps, 4, 10);
	assert_int_equal(rg_replay_open(&r, path, true, msg, sizeof(msg)), 0);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(rg_replay_take(&r, frame, sizeof(frame)), 60 + i);
	assert_int_equal(rg_replay_take(&r, frame, sizeof(frame)), 0);
	assert_true(r.broken);
	rg_replay_close(&r);
}

static void test_flow(void **state)
{
	static const uint8_t mac[6] = {2};
	static struct rg_config config;
	uint8_t frame[RG_FRAME_BYTES];
	struct rg_flow flow;
	char keys[256], msg[256];
	uint32_t n = 0;

	(void)state;
	make(1, gaps, 4, 0);
	snprintf(keys, sizeof(keys), "pcap = \"%s\"; faults = ( { kind = \"repeat\"; every = 2; } );", path);
	assert_int_equal(rg_flow_init(&flow, rg_try_flow(keys, &config), 0, 1, mac, mac, msg, sizeof(msg)), 0);
	for (; !rg_flow_done(&flow); n++)
		assert_in_range(rg_flow_next(&flow, 0, frame), 60, 63);
	assert_int_equal(n, 6);
	rg_flow_fini(&flow);
}

static int set_up(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	if (fd >= 0)
		close(fd);
	return fd < 0;
}

static int tear_down(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_frames),
		cmocka_unit_test(test_loop),
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_flow),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
