/* SPDX-License-Identifier: BSD-3-Clause */
/* Any byte of any message changed on its way: no keys come of that message, and all is well when the changes end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "hs_certs.h"
#include "hs_world.h"

static struct world w;
static struct crypt_cred *creds[2];

struct change {
	uint8_t type;
	size_t at; /* in the first datagram of the message, or the last one */
	bool in_last;
	uint8_t flip;
	size_t longest; /* datagram of that type seen */
	unsigned int hits;
};

static bool change(struct world *world, unsigned int from, uint8_t *datagram, size_t *bytes)
{
	struct change *c = world->tamper_arg;
	bool is_last = datagram[2] + 1 == datagram[3];

	(void)from;
	if (datagram[1] != c->type || (c->in_last ? !is_last : datagram[2] != 0))
		return true;
	if (*bytes > c->longest)
		c->longest = *bytes;
	if (c->at < *bytes) {
		datagram[c->at] ^= c->flip;
		c->hits++;
	}
	return true;
}

static bool is_established(unsigned int host)
{
	struct crypt_assoc_status status;

	crypt_assoc_status(w.hosts[host].assoc, &status);
	return status.established;
}

static void begin(uint8_t suite)
{
	world_init(&w, 1, creds[0], creds[1]);
	w.hosts[0].config.hs.n_suites = 1;
	w.hosts[0].config.hs.suites[0] = suite;
	world_up(&w);
}

/* The world without its credentials, which are used again. */
static void end(void)
{
	w.hosts[0].cred = NULL;
	w.hosts[1].cred = NULL;
	world_free(&w);
}

/* Every byte of one message of the handshake. */
static void change_bytes(uint8_t suite, uint8_t type, bool in_last, size_t step)
{
	struct change c = {.type = type, .in_last = in_last, .longest = 1};

	for (c.at = 0; c.at < c.longest; c.at += step) {
		begin(suite);
		c.flip = (uint8_t)(c.at % 3 ? 1u << c.at % 8 : 1 + world_random(&w) % 255);
		c.hits = 0;
		w.tamper = change;
		w.tamper_arg = &c;
		crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
		world_run(&w, 600 * MS_NS);
		/* Signatures vary in length by a few bytes. */
		if ((c.hits > 0 || c.at + 8 < c.longest) &&
			(is_established(0) || (type != CRYPT_MSG_CONFIRM && is_established(1))))
			fail_msg("message %u, byte %zu, flipped %02x (%u times): keys came of it", type, c.at, c.flip,
				c.hits);
		w.tamper = NULL;
		if (c.at % 16 == 0)
			assert_true(world_settle(&w, 60 * SECOND_NS));
		end();
	}
	assert_true(c.longest > 40);
}

static void all_messages(uint8_t suite, size_t step)
{
	change_bytes(suite, CRYPT_MSG_INIT, false, step);
	change_bytes(suite, CRYPT_MSG_RESPONSE, false, step);
	change_bytes(suite, CRYPT_MSG_AUTH, false, step);
	change_bytes(suite, CRYPT_MSG_CONFIRM, false, 1);
}

static void with_psk(void **state)
{
	(void)state;
	creds[0] = world_psk(WORLD_PSK);
	creds[1] = world_psk(WORLD_PSK);
	all_messages(CRYPT_AES_256_GCM, 1);
	all_messages(CRYPT_SM4_GCM, 1);
	crypt_cred_free(creds[0]);
	crypt_cred_free(creds[1]);
}

static void with_certificates(void **state)
{
	struct certs_ca ca = certs_ca_new("P-256", "ca");
	struct certs_want want = {0}, fat = {.fat = 1000};

	(void)state;
	creds[0] = certs_cred(&ca, &want, &ca, NULL);
	creds[1] = certs_cred(&ca, &want, &ca, NULL);
	all_messages(CRYPT_AES_128_GCM, 1);
	crypt_cred_free(creds[1]);
	/* In two datagrams. */
	creds[1] = certs_cred(&ca, &fat, &ca, NULL);
	change_bytes(CRYPT_AES_128_GCM, CRYPT_MSG_RESPONSE, true, 3);
	crypt_cred_free(creds[0]);
	crypt_cred_free(creds[1]);
	certs_ca_free(&ca);
}

/* Every byte of a control message. */
static void rekey(void **state)
{
	struct change c = {.type = CRYPT_MSG_CONTROL, .longest = 1};
	struct crypt_assoc_status status;

	(void)state;
	creds[0] = world_psk(WORLD_PSK);
	creds[1] = world_psk(WORLD_PSK);
	begin(CRYPT_AES_256_GCM);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	w.tamper_arg = &c;
	for (unsigned int epoch = 0; c.at < c.longest; c.at++) {
		c.flip = (uint8_t)(1 + world_random(&w) % 255);
		w.tamper = change;
		crypt_assoc_rekey_now(w.hosts[0].assoc, w.now_ns);
		world_run(&w, 300 * MS_NS);
		crypt_assoc_status(w.hosts[0].assoc, &status);
		assert_int_equal(status.tx_epoch, epoch);
		assert_int_equal(status.rx_epoch, epoch);
		w.tamper = NULL;
		assert_true(world_settle(&w, 5 * SECOND_NS));
		world_run(&w, 5 * SECOND_NS);
		crypt_assoc_status(w.hosts[0].assoc, &status);
		epoch = status.tx_epoch;
	}
	assert_int_equal(status.generation, 1);
	end();
	crypt_cred_free(creds[0]);
	crypt_cred_free(creds[1]);
}

/* Everything that was ever sent, sent again and again, to both: nothing changes. */
struct tape {
	unsigned int n;
	struct {
		unsigned int from;
		size_t bytes;
		uint8_t datagram[CRYPT_MSG_DATAGRAM_BYTES];
	} all[128];
};

static bool record(struct world *world, unsigned int from, uint8_t *datagram, size_t *bytes)
{
	struct tape *tape = world->tamper_arg;

	if (tape->n < 128) {
		tape->all[tape->n].from = from;
		tape->all[tape->n].bytes = *bytes;
		memcpy(tape->all[tape->n++].datagram, datagram, *bytes);
	}
	return true;
}

static void replay(void **state)
{
	static struct tape tape;
	struct crypt_assoc_status before, after;

	(void)state;
	creds[0] = world_psk(WORLD_PSK);
	creds[1] = world_psk(WORLD_PSK);
	begin(CRYPT_AES_256_GCM);
	w.tamper_arg = &tape;
	w.tamper = record;
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	crypt_assoc_rekey_now(w.hosts[1].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	crypt_assoc_handshake_now(w.hosts[1].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	crypt_assoc_rekey_now(w.hosts[0].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	world_run(&w, SECOND_NS);
	w.tamper = NULL;
	w.send_every_ns = 10 * MS_NS;
	crypt_assoc_status(w.hosts[0].assoc, &before);
	for (unsigned int i = 0; i < 3000; i++) {
		unsigned int n = (unsigned int)(world_random(&w) % tape.n);

		world_inject(&w, 1 - tape.all[n].from, tape.all[n].datagram, tape.all[n].bytes);
		world_run(&w, 5 * MS_NS);
	}
	world_run(&w, 40 * SECOND_NS);
	crypt_assoc_status(w.hosts[0].assoc, &after);
	assert_int_equal(after.generation, before.generation);
	assert_int_equal(after.tx_epoch, before.tx_epoch);
	assert_int_equal(after.rx_epoch, before.rx_epoch);
	assert_int_equal(w.data_lost, 0);
	assert_true(world_agrees(&w));
	end();
	crypt_cred_free(creds[0]);
	crypt_cred_free(creds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_psk),
		cmocka_unit_test(with_certificates),
		cmocka_unit_test(rekey),
		cmocka_unit_test(replay),
	};

	return cmocka_run_group_tests(tests, NULL, certs_teardown);
}
