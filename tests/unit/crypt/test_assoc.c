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

#include "hs_certs.h"
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

/* M4 never comes: the first good packet with the new keys says the same. */
static bool no_confirm(struct world *world, unsigned int from, uint8_t *datagram, size_t *bytes)
{
	(void)world;
	(void)from;
	(void)bytes;
	return datagram[1] != CRYPT_MSG_CONFIRM;
}

static void packets_confirm(void **state)
{
	(void)state;
	begin(1);
	w.tamper = no_confirm;
	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	assert_false(world_settle(&w, SECOND_NS));
	w.send_every_ns = 10 * MS_NS;
	assert_true(world_settle(&w, 100 * MS_NS));
	assert_int_equal(w.data_lost, 0);
	world_free(&w);
}

static uint64_t how_many(uint64_t seeds)
{
	return getenv("HS_SEEDS") ? strtoull(getenv("HS_SEEDS"), NULL, 0) : seeds;
}

/* What can be done to a host by its people. */
static void do_something(bool restarts)
{
	unsigned int host = (unsigned int)(world_random(&w) % 2);

	switch (world_random(&w) % 6) {
	case 0:
		crypt_assoc_start(w.hosts[host].assoc, w.now_ns);
		break;
	case 1:
		crypt_assoc_handshake_now(w.hosts[host].assoc, w.now_ns);
		break;
	case 2:
		if (restarts) {
			world_restart(&w, host);
			crypt_assoc_start(w.hosts[host].assoc, w.now_ns);
			break;
		}
		/* fallthrough */
	default:
		crypt_assoc_rekey_now(w.hosts[host].assoc, w.now_ns);
	}
}

static void go(uint64_t seed, bool restarts)
{
	w.loss_percent = (unsigned int)(world_random(&w) % 50);
	w.copy_percent = (unsigned int)(world_random(&w) % 40);
	w.jitter_ns = world_random(&w) % (500 * MS_NS);
	w.send_every_ns = 20 * MS_NS;
	world_up(&w);
	for (unsigned int step = 0; step < 12; step++) {
		do_something(restarts);
		world_run(&w, world_random(&w) % (3 * SECOND_NS));
	}
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	if (!world_settle(&w, 300 * SECOND_NS) || (w.data_lost != 0 && !restarts))
		fail_msg("seed %llu: agrees %d, %llu packets lost", (unsigned long long)seed, world_agrees(&w),
			(unsigned long long)w.data_lost);
	world_free(&w);
}

/* Loss, copies, delays, starts, rekeys: no packet finds its key gone, and at the end both have the same keys. */
static void any_link(void **state)
{
	uint64_t seeds = how_many(300);

	(void)state;
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		begin(seed);
		go(seed, false);
	}
}

/* And with restarts, which packets do get lost over. */
static void any_restarts(void **state)
{
	uint64_t seeds = how_many(200);

	(void)state;
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		begin(seed);
		go(seed, true);
	}
}

/* Long messages, that come in pieces. */
static void any_link_with_certificates(void **state)
{
	static const char *const curves[] = {"P-256", "P-384", "SM2"};
	uint64_t seeds = how_many(300) / 10;

	(void)state;
	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct certs_ca ca = certs_ca_new(curves[seed % 3], "ca");
		struct certs_want want = {.curve = curves[seed / 3 % 3], .fat = (unsigned int)(seed * 397 % 8000)};

		world_init(&w, seed, certs_cred(&ca, &want, &ca, NULL), certs_cred(&ca, &want, &ca, NULL));
		go(seed, false);
		certs_ca_free(&ca);
	}
	certs_remove();
}

/* What becomes of packets without keys is the policy's to say, and the text says it. */
static void spent_keys_are_told_by_policy(void **state)
{
	(void)state;
	for (int plain = 0; plain < 2; plain++) {
		struct world_host *host = &w.hosts[0];

		begin(1);
		host->config.plain = plain != 0;
		world_up(&w);
		crypt_assoc_start(host->assoc, w.now_ns);
		assert_true(world_settle(&w, SECOND_NS));
		w.hosts[1].mute = true;
		crypt_assoc_used(host->assoc, 1, host->tx[1].spi, host->config.hard_bytes, 11, w.now_ns);
		assert_non_null(strstr(host->text[CRYPT_EVENT_HARD_LIMIT],
			plain != 0 ? "; what the lane sends is plain until it does" : "; the lane sends nothing until it does"));
		world_run(&w, host->config.hard_ns + SECOND_NS);
		assert_int_equal(host->n_events[CRYPT_EVENT_EXPIRED], 1);
		assert_non_null(strstr(host->text[CRYPT_EVENT_EXPIRED],
			plain != 0 ? "; what is sent is plain until it does" : "; nothing is sent until it does"));
		world_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_side_starts),
		cmocka_unit_test(sm_suite),
		cmocka_unit_test(both_start_at_once),
		cmocka_unit_test(packets_confirm),
		cmocka_unit_test(spent_keys_are_told_by_policy),
		cmocka_unit_test(any_link),
		cmocka_unit_test(any_restarts),
		cmocka_unit_test(any_link_with_certificates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
