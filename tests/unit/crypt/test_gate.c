/* SPDX-License-Identifier: BSD-3-Clause */
/* What strangers cost: bounded work, bounded memory, cookies when it gets tight, and friends get through. */
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

static struct crypt_msg_init first;
static uint8_t addr[4] = {10, 0, 0, 1};
static uint8_t cookie[CRYPT_MSG_COOKIE_BYTES];

static struct crypt_gate *gate_of(uint32_t per_s, uint32_t burst, uint32_t half_open, uint32_t cookie_from)
{
	struct crypt_gate_config config = {per_s, burst, half_open, cookie_from};
	struct crypt_gate *gate = crypt_gate_new(&config);

	assert_non_null(gate);
	memset(&first, 0, sizeof(first));
	return gate;
}

static enum crypt_gate_verdict ask(struct crypt_gate *gate, uint64_t now_ns)
{
	struct crypt_gate_ask a = {{addr, 4}, 77, &first, 200, 320};

	return crypt_gate_admit(gate, &a, now_ns, cookie);
}

static void with_cookie(void)
{
	first.cookie_bytes = CRYPT_MSG_COOKIE_BYTES;
	memcpy(first.cookie, cookie, sizeof(cookie));
}

static void bucket(void **state)
{
	struct crypt_bucket b;
	unsigned int n = 0;

	(void)state;
	crypt_bucket_init(&b, 100, 5);
	for (unsigned int i = 0; i < 50; i++)
		n += crypt_bucket_take(&b, 1000) ? 1 : 0;
	assert_int_equal(n, 5);
	assert_false(crypt_bucket_take(&b, 1099));
	assert_true(crypt_bucket_take(&b, 1100));
	assert_false(crypt_bucket_take(&b, 1100));
	for (unsigned int i = 0; i < 50; i++)
		n += crypt_bucket_take(&b, 1000000) ? 1 : 0;
	assert_int_equal(n, 10);
}

static void cookies_for_half_open(void **state)
{
	struct crypt_gate *gate = gate_of(50, 100, 4, 2);

	(void)state;
	for (unsigned int i = 0; i < 2; i++) {
		assert_int_equal(ask(gate, 1), CRYPT_GATE_PASS);
		crypt_gate_opened(gate);
	}
	assert_int_equal(ask(gate, 1), CRYPT_GATE_COOKIE);
	with_cookie();
	assert_int_equal(ask(gate, 2), CRYPT_GATE_PASS);
	/* It is of this address, this message and this minute. */
	addr[3]++;
	assert_int_equal(ask(gate, 2), CRYPT_GATE_COOKIE);
	addr[3]--;
	first.nonce[5]++;
	assert_int_equal(ask(gate, 2), CRYPT_GATE_COOKIE);
	first.nonce[5]--;
	first.cookie[7] ^= 1;
	assert_int_equal(ask(gate, 2), CRYPT_GATE_COOKIE);
	first.cookie[7] ^= 1;
	assert_int_equal(ask(gate, 61 * SECOND_NS), CRYPT_GATE_PASS);
	assert_int_equal(ask(gate, 122 * SECOND_NS), CRYPT_GATE_COOKIE);
	/* There is an end to it. */
	crypt_gate_opened(gate);
	crypt_gate_opened(gate);
	with_cookie();
	assert_int_equal(ask(gate, 123 * SECOND_NS), CRYPT_GATE_DROP);
	crypt_gate_closed(gate);
	assert_int_equal(ask(gate, 123 * SECOND_NS), CRYPT_GATE_PASS);
	crypt_gate_free(gate);
}

/* Short questions with long answers would be a tool for floods elsewhere. */
static void cookies_for_long_answers(void **state)
{
	struct crypt_gate *gate = gate_of(50, 100, 100, 100);
	struct crypt_gate_ask a = {{addr, 4}, 77, &first, 200, 601};

	(void)state;
	assert_int_equal(crypt_gate_admit(gate, &a, 1, cookie), CRYPT_GATE_COOKIE);
	a.answer_bytes = 600;
	assert_int_equal(crypt_gate_admit(gate, &a, 1, cookie), CRYPT_GATE_PASS);
	crypt_gate_free(gate);
}

static void flood(void **state)
{
	struct crypt_gate *gate = gate_of(10, 20, 1000, 1000);
	unsigned int n[3] = {0};

	(void)state;
	for (uint64_t ns = 0; ns < 10 * SECOND_NS; ns += 100000)
		n[ask(gate, ns)]++;
	assert_in_range(n[CRYPT_GATE_PASS], 115, 121);
	assert_in_range(n[CRYPT_GATE_COOKIE], 2000, 2500);
	/* Who shows a cookie has tokens of its own. */
	while (ask(gate, 10 * SECOND_NS) != CRYPT_GATE_DROP)
		;
	first.cookie_bytes = 0;
	while (ask(gate, 11 * SECOND_NS) == CRYPT_GATE_PASS)
		;
	with_cookie();
	assert_int_equal(ask(gate, 11 * SECOND_NS), CRYPT_GATE_PASS);
	crypt_gate_free(gate);
}

/* Forged first messages, ten thousand a second: a handshake ends, and the forger gets few answers. */
static void forged_first_messages(bool with_certificates)
{
	static struct world w;
	struct certs_ca ca = certs_ca_new("P-256", "ca");
	struct certs_want want = {0};
	struct crypt_gate_config config = {.init_per_s = 50, .init_burst = 50, .half_open_max = 64, .cookie_from = 8};
	struct crypt_msg_header header = {.type = CRYPT_MSG_INIT, .fragments = 1};
	struct crypt_msg_init init = {
		.methods = 3, .n_suites = 1, .lanes = 1, .shares = {{CRYPT_GROUP_X25519, 32, {9}}}};
	uint8_t datagram[512];
	size_t bytes;

	if (with_certificates)
		world_init(&w, 1, certs_cred(&ca, &want, &ca, NULL), certs_cred(&ca, &want, &ca, NULL));
	else
		world_init(&w, 1, world_psk(WORLD_PSK), world_psk(WORLD_PSK));
	crypt_gate_free(w.hosts[1].gate);
	w.hosts[1].gate = crypt_gate_new(&config);
	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns + SECOND_NS);
	for (unsigned int i = 0; i < 50000; i++) {
		header.from = world_random(&w) | 1;
		memcpy(init.nonce, &header.from, 8);
		crypt_msg_put_header(&header, datagram, sizeof(datagram));
		bytes = crypt_msg_put_init(&init, datagram + CRYPT_MSG_HEADER_BYTES, 400);
		world_inject(&w, 1, datagram, CRYPT_MSG_HEADER_BYTES + bytes);
		if (i % 10 == 9)
			world_run(&w, MS_NS);
		assert_true(crypt_gate_half_open(w.hosts[1].gate) <= 12);
	}
	assert_true(world_settle(&w, 30 * SECOND_NS));
	assert_true(w.hosts[1].emitted < 10000);
	world_run(&w, 40 * SECOND_NS);
	assert_int_equal(crypt_gate_half_open(w.hosts[1].gate), 0);
	world_free(&w);
	certs_ca_free(&ca);
}

static void forged_without_key(void **state)
{
	(void)state;
	forged_first_messages(false);
}

static void forged_without_certificate(void **state)
{
	(void)state;
	forged_first_messages(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bucket),
		cmocka_unit_test(cookies_for_half_open),
		cmocka_unit_test(cookies_for_long_answers),
		cmocka_unit_test(flood),
		cmocka_unit_test(forged_without_key),
		cmocka_unit_test(forged_without_certificate),
	};

	return cmocka_run_group_tests(tests, NULL, certs_teardown);
}
