/* SPDX-License-Identifier: BSD-3-Clause */
/* The life of an association: rekeys, limits, restarts, what strangers can do to it. */
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

static void up(uint64_t seed)
{
	begin(seed);
	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
}

static struct crypt_assoc_status status_of(unsigned int host)
{
	struct crypt_assoc_status status;

	crypt_assoc_status(w.hosts[host].assoc, &status);
	return status;
}

/* Old keys receive till a packet with the new ones came and the drain time is over, and not a moment longer. */
static void rekey_is_hitless(void **state)
{
	struct crypt_sa_params old;

	(void)state;
	up(1);
	old = w.hosts[0].tx[0];
	assert_int_equal(crypt_assoc_rekey_now(w.hosts[0].assoc, w.now_ns), 0);
	assert_int_equal(crypt_assoc_rekey_now(w.hosts[0].assoc, w.now_ns), -EALREADY);
	assert_true(world_settle(&w, SECOND_NS));
	assert_int_equal(status_of(0).tx_epoch, 1);
	assert_int_equal(status_of(1).tx_epoch, 1);
	assert_int_equal(status_of(0).generation, 1);
	assert_memory_not_equal(old.key, w.hosts[0].tx[0].key, sizeof(old.key));
	world_run(&w, 60 * SECOND_NS);
	assert_int_equal(w.hosts[1].n_rx, 4); /* nothing was sent, so nothing is known to be old */
	w.send_every_ns = 10 * MS_NS;
	world_run(&w, 900 * MS_NS);
	assert_int_equal(w.hosts[1].n_rx, 4);
	world_run(&w, 200 * MS_NS);
	assert_int_equal(w.hosts[1].n_rx, 2);
	assert_int_equal(w.hosts[0].n_rx, 3);
	assert_int_equal(w.data_lost, 0);
	world_free(&w);
}

static void rekey_every_100_ms(void **state)
{
	(void)state;
	up(2);
	w.loss_percent = 5;
	w.jitter_ns = 30 * MS_NS;
	w.send_every_ns = 2 * MS_NS;
	for (unsigned int i = 0; i < 600; i++) {
		crypt_assoc_rekey_now(w.hosts[i % 2].assoc, w.now_ns);
		world_run(&w, 100 * MS_NS);
	}
	assert_true(status_of(0).tx_epoch > 300);
	assert_int_equal(w.data_lost, 0);
	assert_true(w.data_good > 100000);
	world_free(&w);
}

/* All idle: rekeys by time still happen, and keys do not pile up. */
static void idle_for_days(void **state)
{
	(void)state;
	up(3);
	world_run(&w, 100 * HOUR_NS);
	assert_true(status_of(0).generation >= 4);
	assert_true(status_of(0).rekeys >= 90);
	assert_true(status_of(0).rx_generations <= 3 && status_of(1).rx_generations <= 3);
	assert_int_equal(w.hosts[0].n_events[CRYPT_EVENT_EXPIRED], 0);
	world_free(&w);
}

static void soft_limits(void **state)
{
	(void)state;
	up(4);
	crypt_assoc_used(w.hosts[0].assoc, 1, w.hosts[0].tx[1].spi, (4ull << 40) - 1, 10, w.now_ns);
	world_run(&w, 100 * MS_NS);
	assert_int_equal(status_of(0).tx_epoch, 0);
	crypt_assoc_used(w.hosts[0].assoc, 1, w.hosts[0].tx[1].spi, 4ull << 40, 11, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	assert_int_equal(status_of(0).tx_epoch, 1);
	assert_int_equal(status_of(1).tx_epoch, 0);
	/* What a worker says of the key before is of no interest any more. */
	crypt_assoc_used(w.hosts[0].assoc, 1, w.hosts[0].tx[1].spi - 77, 9ull << 40, 1ull << 50, w.now_ns);
	world_run(&w, 100 * MS_NS);
	assert_int_equal(status_of(0).tx_epoch, 1);
	crypt_assoc_used(w.hosts[0].assoc, 0, w.hosts[0].tx[0].spi, 1, 1ull << 47, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	assert_int_equal(status_of(0).tx_epoch, 2);
	assert_int_equal(w.hosts[0].tx_stops, 0);
	world_free(&w);
}

/* A key that is used up is not used, whatever the peer does; the lane goes on with the next one. */
static void hard_limits(void **state)
{
	(void)state;
	up(5);
	w.hosts[1].mute = true;
	crypt_assoc_used(w.hosts[0].assoc, 1, w.hosts[0].tx[1].spi, 8ull << 40, 11, w.now_ns);
	crypt_assoc_used(w.hosts[0].assoc, 1, w.hosts[0].tx[0].spi, 8ull << 40, 11, w.now_ns);
	assert_int_equal(w.hosts[0].tx_stops, 1);
	assert_int_equal(w.hosts[0].tx[1].spi, 0);
	assert_int_not_equal(w.hosts[0].tx[0].spi, 0);
	assert_non_null(strstr(w.hosts[0].text[CRYPT_EVENT_HARD_LIMIT], "the key of lane 1 is used up"));
	w.hosts[1].mute = false;
	assert_true(world_settle(&w, 5 * SECOND_NS));
	assert_int_not_equal(w.hosts[0].tx[1].spi, 0);
	world_free(&w);
}

/* 24 hours without an answer: nothing is sent or received with the old keys, and then it begins anew. */
static void working_key_expires(void **state)
{
	(void)state;
	up(6);
	w.hosts[1].mute = true;
	world_run(&w, 25 * HOUR_NS);
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(w.hosts[i].n_events[CRYPT_EVENT_EXPIRED], 1);
		assert_int_equal(w.hosts[i].n_rx, 0);
		assert_int_equal(w.hosts[i].tx[0].spi, 0);
		assert_false(status_of(i).established);
	}
	assert_true(w.hosts[0].n_events[CRYPT_EVENT_NO_ANSWER] > 2);
	assert_non_null(strstr(w.hosts[0].text[CRYPT_EVENT_NO_ANSWER], "no answer to 8 messages of the key handshake"));
	assert_true(w.hosts[0].emitted < 25 * 3600 / 2); /* slowly: less than one in two seconds */
	w.hosts[1].mute = false;
	assert_true(world_settle(&w, 60 * SECOND_NS));
	world_free(&w);
}

static void handshake_before_it_is_old(void **state)
{
	(void)state;
	up(7);
	w.send_every_ns = 10 * SECOND_NS;
	world_run(&w, 22 * HOUR_NS);
	assert_int_equal(status_of(0).generation, 1);
	world_run(&w, 70 * 60 * SECOND_NS);
	assert_int_equal(status_of(0).generation, 2);
	assert_int_equal(w.hosts[0].n_rx, 3);
	assert_int_equal(w.data_lost, 0);
	world_free(&w);
}

/* The peer has lost everything. Who sends to it is told, and does not wait for a timeout. */
static void peer_restarts(void **state)
{
	(void)state;
	up(8);
	w.send_every_ns = 10 * MS_NS;
	world_run(&w, SECOND_NS);
	memset(w.hosts[1].tx, 0, sizeof(w.hosts[1].tx));
	world_restart(&w, 1);
	assert_true(world_settle(&w, SECOND_NS));
	assert_int_equal(w.hosts[0].n_events[CRYPT_EVENT_PEER_RESTARTED], 1);
	w.data_lost = 0;
	world_run(&w, 10 * SECOND_NS);
	assert_int_equal(w.data_lost, 0);
	assert_int_equal(status_of(0).generation, 2);
	assert_int_equal(w.hosts[0].n_rx, 3);
	world_free(&w);
}

/* It is gone, and says nothing; when it is back the handshake is soon there. */
static void peer_is_silent(void **state)
{
	(void)state;
	up(9);
	w.send_every_ns = 10 * MS_NS;
	w.hosts[1].mute = true;
	world_run(&w, 6 * SECOND_NS);
	assert_true(status_of(0).handshake);
	assert_int_equal(w.hosts[0].n_events[CRYPT_EVENT_PEER_RESTARTED], 1);
	assert_true(status_of(0).established);
	w.hosts[1].mute = false;
	assert_true(world_settle(&w, 5 * SECOND_NS));
	assert_int_equal(w.data_lost, 0);
	world_free(&w);
}

/* Traffic one way only is not silence: the peer answers pings. */
static void one_way_traffic(void **state)
{
	(void)state;
	up(10);
	for (unsigned int i = 0; i < 600; i++) {
		crypt_assoc_used(w.hosts[0].assoc, 0, w.hosts[0].tx[0].spi, i, i, w.now_ns);
		world_run(&w, 100 * MS_NS);
	}
	assert_int_equal(w.hosts[0].n_events[CRYPT_EVENT_PEER_RESTARTED], 0);
	assert_in_range(w.hosts[0].emitted, 40, 80);
	world_free(&w);
}

/* Hints from anybody: only one that names an SPI in use is heard, and it costs a handshake each few seconds at most. */
static void forged_hints(void **state)
{
	struct crypt_msg_header header = {.type = CRYPT_MSG_HINT, .fragments = 1};
	struct crypt_msg_hint hint = {.value = 1};
	uint8_t datagram[64];

	(void)state;
	up(11);
	w.send_every_ns = 10 * MS_NS;
	crypt_msg_put_header(&header, datagram, sizeof(datagram));
	for (unsigned int i = 0; i < 2000; i++) {
		hint.value = i < 1000 ? world_random(&w) & 0xffffffff : w.hosts[0].tx[1].spi;
		crypt_msg_put_hint(&hint, datagram + CRYPT_MSG_HEADER_BYTES, 32);
		world_inject(&w, 0, datagram, CRYPT_MSG_HEADER_BYTES + 9);
		world_run(&w, 10 * MS_NS);
		if (i == 999)
			assert_int_equal(status_of(0).generation, 1);
	}
	assert_in_range(status_of(0).generation, 2, 5);
	assert_int_equal(w.data_lost, 0);
	world_free(&w);
}

/* Callbacks fail: nothing is lost, and it works later. */
static void callbacks_fail(void **state)
{
	(void)state;
	begin(12);
	w.hosts[0].fail_rx_add = 2;
	w.hosts[1].fail_tx_use = 3;
	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	world_run(&w, 5 * SECOND_NS);
	assert_false(status_of(0).established);
	assert_int_equal(w.hosts[0].n_rx, 0);
	assert_true(world_settle(&w, 60 * SECOND_NS));
	assert_non_null(strstr(w.hosts[0].text[CRYPT_EVENT_PROBLEM], "cannot be installed"));
	assert_non_null(strstr(w.hosts[1].text[CRYPT_EVENT_PROBLEM], "lane 0 cannot take its new key"));
	w.hosts[1].fail_rx_add = 1;
	crypt_assoc_rekey_now(w.hosts[0].assoc, w.now_ns);
	assert_true(world_settle(&w, 5 * SECOND_NS));
	assert_int_equal(status_of(0).tx_epoch, 1);
	w.hosts[1].fail_rx_add = 1;
	crypt_assoc_handshake_now(w.hosts[0].assoc, w.now_ns);
	world_run(&w, 40 * SECOND_NS);
	assert_non_null(strstr(w.hosts[0].text[CRYPT_EVENT_PEER_REFUSES], "it has a problem of its own"));
	assert_true(world_settle(&w, 5 * SECOND_NS));
	world_free(&w);
}

/* Own messages that come back are not a peer. */
static bool reflect(struct world *world, unsigned int from, uint8_t *datagram, size_t *bytes)
{
	for (unsigned int i = 0; i < WORLD_FLIGHTS; i++) {
		struct world_flight *flight = &world->flights[i];

		if (flight->at_ns != 0)
			continue;
		memset(flight, 0, sizeof(*flight));
		flight->at_ns = world->now_ns + 1;
		flight->to = from;
		flight->bytes = *bytes;
		memcpy(flight->datagram, datagram, *bytes);
		break;
	}
	return false;
}

static void mirror(void **state)
{
	(void)state;
	begin(13);
	w.tamper = reflect;
	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	world_run(&w, 60 * SECOND_NS);
	assert_false(status_of(0).established);
	w.tamper = NULL;
	assert_true(world_settle(&w, 60 * SECOND_NS));
	w.tamper = reflect;
	crypt_assoc_rekey_now(w.hosts[0].assoc, w.now_ns);
	world_run(&w, 2 * SECOND_NS);
	assert_int_equal(status_of(0).tx_epoch, 0);
	assert_int_equal(status_of(0).rx_epoch, 0);
	world_free(&w);
}

/* A daemon that makes an association for whoever asks may free it when nothing came of it. */
static void idle(void **state)
{
	(void)state;
	begin(14);
	world_up(&w);
	assert_true(crypt_assoc_is_idle(w.hosts[1].assoc));
	w.hosts[1].mute = true;
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	world_run(&w, 30 * SECOND_NS);
	assert_false(crypt_assoc_is_idle(w.hosts[1].assoc));
	crypt_assoc_free(w.hosts[0].assoc);
	w.hosts[0].assoc = NULL;
	crypt_assoc_tick(w.hosts[1].assoc, w.now_ns + 31 * SECOND_NS);
	assert_true(crypt_assoc_is_idle(w.hosts[1].assoc));
	assert_int_equal(crypt_gate_half_open(w.hosts[1].gate), 0);
	world_free(&w);
}

/* One that was begun here and is not answered is not idle, but has no keys either: it may give way. */
static void keys_or_not(void **state)
{
	(void)state;
	begin(15);
	world_up(&w);
	w.hosts[1].mute = true;
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	world_run(&w, 10 * SECOND_NS);
	assert_false(crypt_assoc_is_idle(w.hosts[0].assoc));
	assert_false(crypt_assoc_has_keys(w.hosts[0].assoc));
	w.hosts[1].mute = false;
	world_run(&w, 10 * SECOND_NS);
	assert_true(status_of(0).established);
	assert_true(crypt_assoc_has_keys(w.hosts[0].assoc));
	assert_true(crypt_assoc_has_keys(w.hosts[1].assoc));
	world_free(&w);
}

/* Only a first message is a reason to remember a stranger, also one of another version. */
static void begins(void **state)
{
	uint8_t datagram[CRYPT_MSG_HEADER_BYTES] = {CRYPT_MSG_VERSION, CRYPT_MSG_INIT, 0, 1};

	(void)state;
	assert_true(crypt_assoc_begins(datagram, sizeof(datagram)));
	assert_false(crypt_assoc_begins(datagram, sizeof(datagram) - 1));
	assert_false(crypt_assoc_begins(datagram, 0));
	datagram[0] = CRYPT_MSG_VERSION + 1;
	assert_true(crypt_assoc_begins(datagram, sizeof(datagram)));
	for (uint8_t type = CRYPT_MSG_RESPONSE; type <= CRYPT_MSG_TYPES; type++) {
		datagram[1] = type;
		datagram[0] = CRYPT_MSG_VERSION;
		assert_false(crypt_assoc_begins(datagram, sizeof(datagram)));
		datagram[0] = CRYPT_MSG_VERSION + 1;
		assert_false(crypt_assoc_begins(datagram, sizeof(datagram)));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_or_not),
		cmocka_unit_test(begins),
		cmocka_unit_test(rekey_is_hitless),
		cmocka_unit_test(rekey_every_100_ms),
		cmocka_unit_test(idle_for_days),
		cmocka_unit_test(soft_limits),
		cmocka_unit_test(hard_limits),
		cmocka_unit_test(working_key_expires),
		cmocka_unit_test(handshake_before_it_is_old),
		cmocka_unit_test(peer_restarts),
		cmocka_unit_test(peer_is_silent),
		cmocka_unit_test(one_way_traffic),
		cmocka_unit_test(forged_hints),
		cmocka_unit_test(callbacks_fail),
		cmocka_unit_test(mirror),
		cmocka_unit_test(idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
