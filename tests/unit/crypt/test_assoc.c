/* SPDX-License-Identifier: BSD-3-Clause */
/* Handshakes and rekeys of two hosts over a bad link: they always end in the same keys, and no packet is lost. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hs_world.h"

static struct world w;

static void begin(uint64_t seed)
{
	world_init(&w, seed, world_psk(WORLD_PSK), world_psk(WORLD_PSK));
}

static void one_side_starts(void **state)
{
	struct crypt_assoc_status status;

	(void)state;
	begin(1);
	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	crypt_assoc_status(w.hosts[0].assoc, &status);
	assert_true(status.initiator);
	assert_int_equal(status.suite, CRYPT_AES_256_GCM);
	assert_int_equal(status.peer_lanes, 3);
	assert_int_equal(w.hosts[0].n_rx, 3);
	assert_int_equal(w.hosts[1].n_rx, 2);
	assert_int_equal(w.hosts[0].emitted, 3); /* M1, M3 and the ping */
	world_free(&w);
}

static void sm_suite(void **state)
{
	struct crypt_assoc_status status;

	(void)state;
	begin(1);
	w.hosts[0].config.hs.n_suites = 1;
	w.hosts[0].config.hs.suites[0] = CRYPT_SM4_GCM;
	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	crypt_assoc_status(w.hosts[1].assoc, &status);
	assert_int_equal(status.suite, CRYPT_SM4_GCM);
	world_free(&w);
}

static void both_start_at_once(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 50; seed++) {
		begin(seed);
		w.jitter_ns = MS_NS;
		world_up(&w);
		crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
		crypt_assoc_start(w.hosts[1].assoc, w.now_ns);
		assert_true(world_settle(&w, SECOND_NS));
		world_run(&w, 40 * SECOND_NS);
		assert_true(world_settle(&w, SECOND_NS));
		/* The keys of the other handshake are gone. */
		assert_int_equal(w.hosts[0].n_rx, 3);
		assert_int_equal(w.hosts[1].n_rx, 2);
		world_free(&w);
	}
}

/* Loss, copies, delays, starts, restarts, rekeys: at the end both have the same keys. */
static void any_link(void **state)
{
	uint64_t seeds = getenv("HS_SEEDS") ? strtoull(getenv("HS_SEEDS"), NULL, 0) : 300;

	(void)state;
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		begin(seed);
		w.loss_percent = (unsigned int)(world_random(&w) % 50);
		w.copy_percent = (unsigned int)(world_random(&w) % 40);
		w.jitter_ns = world_random(&w) % (500 * MS_NS);
		w.send_every_ns = 20 * MS_NS;
		world_up(&w);
		for (unsigned int step = 0; step < 12; step++) {
			unsigned int host = (unsigned int)(world_random(&w) % 2);

			switch (world_random(&w) % 5) {
			case 0:
				crypt_assoc_start(w.hosts[host].assoc, w.now_ns);
				break;
			case 1:
				crypt_assoc_handshake_now(w.hosts[host].assoc, w.now_ns);
				break;
			default:
				crypt_assoc_rekey_now(w.hosts[host].assoc, w.now_ns);
			}
			world_run(&w, world_random(&w) % (3 * SECOND_NS));
		}
		crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
		if (!world_settle(&w, 300 * SECOND_NS) || w.data_lost != 0)
			fail_msg("seed %llu: settled %d, %llu packets lost", (unsigned long long)seed, world_agrees(&w),
				(unsigned long long)w.data_lost);
		world_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_side_starts),
		cmocka_unit_test(sm_suite),
		cmocka_unit_test(both_start_at_once),
		cmocka_unit_test(any_link),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
