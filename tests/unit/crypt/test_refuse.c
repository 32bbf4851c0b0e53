/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is refused, why, and that both sides are told; certificates of all kinds. */
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

#define OTHER_PSK "ffffffffffffffffffffffffffffffff0123456789abcdef0123456789abcdef\n"

static struct world w;

/* What the one who refuses says, and what the other one hears of it. */
static void expect_refusal(unsigned int refuser, const char *here, const char *there)
{
	struct crypt_assoc_status status;

	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	world_run(&w, 5 * SECOND_NS);
	for (unsigned int i = 0; i < 2; i++) {
		crypt_assoc_status(w.hosts[i].assoc, &status);
		assert_false(status.established);
		assert_int_equal(w.hosts[i].n_events[CRYPT_EVENT_ESTABLISHED], 0);
		assert_int_equal(w.hosts[i].tx[0].spi, 0);
	}
	if (!strstr(w.hosts[refuser].text[CRYPT_EVENT_REFUSED], here))
		fail_msg("said: %s", w.hosts[refuser].text[CRYPT_EVENT_REFUSED]);
	if (!strstr(w.hosts[1 - refuser].text[CRYPT_EVENT_PEER_REFUSES], there))
		fail_msg("heard: %s", w.hosts[1 - refuser].text[CRYPT_EVENT_PEER_REFUSES]);
	/* Both say so at most about once a second, and go on trying at a slow rate. */
	assert_in_range(w.hosts[refuser].n_events[CRYPT_EVENT_REFUSED], 1, 8);
	assert_in_range(w.hosts[1 - refuser].n_events[CRYPT_EVENT_PEER_REFUSES], 1, 8);
	world_free(&w);
}

static void another_key(void **state)
{
	(void)state;
	world_init(&w, 1, world_psk(WORLD_PSK), world_psk(OTHER_PSK));
	expect_refusal(
		1, "10.0.0.1: refused: its pre-shared key is none of those in the file", "the pre-shared key differs");
}

static void another_key_is_set(void **state)
{
	(void)state;
	world_init(&w, 1, world_psk("a " WORLD_PSK), world_psk("a " WORLD_PSK "b " OTHER_PSK));
	w.hosts[1].config.hs.psk_id = "b";
	expect_refusal(1, "its pre-shared key is not the one that is set for it here", "the pre-shared key differs");
}

static void unknown_id(void **state)
{
	struct crypt_error error;

	(void)state;
	world_init(&w, 1, world_psk(WORLD_PSK), world_psk(WORLD_PSK));
	w.hosts[0].config.hs.psk_id = "nobody";
	assert_null(crypt_assoc_new(&w.hosts[0].config, w.hosts[0].gate, NULL, NULL, &error));
	assert_non_null(strstr(error.text, "no line with the ID \"nobody\""));
	world_free(&w);
}

/* Several keys, one a peer: the responder finds the one that is meant, whatever its own ID for it is. */
static void key_of_many(void **state)
{
	(void)state;
	world_init(&w, 1, world_psk("x " OTHER_PSK "y " WORLD_PSK), world_psk("# ours\n z " WORLD_PSK));
	w.hosts[0].config.hs.psk_id = "y";
	world_up(&w);
	crypt_assoc_start(w.hosts[1].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	world_free(&w);
}

/* A key whose ID is the peer's address is that peer's; another one's does not do for it. */
static void key_of_an_address(void **state)
{
	(void)state;
	world_init(&w, 1, world_psk("10.0.0.9 " OTHER_PSK "10.0.0.2 " WORLD_PSK), world_psk(WORLD_PSK));
	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	world_free(&w);
	world_init(&w, 1, world_psk(OTHER_PSK), world_psk("10.0.0.9 " OTHER_PSK "10.0.0.1 " WORLD_PSK));
	expect_refusal(1, "its pre-shared key is not the one that is set for it here", "the pre-shared key differs");
}

/* An address is the same in any spelling; an ID that is none is a text. */
static void addresses_have_spellings(void **state)
{
	struct crypt_cred *cred = world_psk("FD00:0:0:0:0:0:0:2 " WORLD_PSK "10.0.0.2 " OTHER_PSK "Fd00::2x " OTHER_PSK);

	(void)state;
	assert_non_null(crypt_cred_psk(cred, "fd00::2"));
	assert_ptr_equal(crypt_cred_psk(cred, "fd00::2"), crypt_cred_psk(cred, "fd00:0::0.0.0.2"));
	assert_ptr_not_equal(crypt_cred_psk(cred, "10.0.0.2"), crypt_cred_psk(cred, "fd00::2"));
	assert_null(crypt_cred_psk(cred, "fd00::3"));
	assert_null(crypt_cred_psk(cred, "fd00::2x"));
	assert_null(crypt_cred_psk(cred, "10.0.0.02"));
	/* Both ways: who sends to the address, and whom it is that sent. */
	world_init(&w, 1, cred, world_psk("fd00:0:0::0001 " WORLD_PSK "10.0.0.1 " OTHER_PSK));
	w.hosts[0].config.peer = "fd00::2";
	w.hosts[1].config.peer = "fd00::1";
	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	crypt_assoc_handshake_now(w.hosts[1].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	world_free(&w);
}

static void no_common_suite(void **state)
{
	(void)state;
	world_init(&w, 1, world_psk(WORLD_PSK), world_psk(WORLD_PSK));
	w.hosts[0].config.hs.n_suites = 2;
	w.hosts[1].config.hs.n_suites = 1;
	w.hosts[1].config.hs.suites[0] = CRYPT_SM4_GCM;
	expect_refusal(1, "it offers none of the suites that are allowed here", "it allows none of our suites");
}

static void no_common_method(void **state)
{
	struct certs_ca ca = certs_ca_new("P-256", "ca");
	struct certs_want want = {0};

	(void)state;
	world_init(&w, 1, world_psk(WORLD_PSK), certs_cred(&ca, &want, &ca, NULL));
	expect_refusal(1, "no way of authentication that is allowed", "no way of authentication in common");
	certs_ca_free(&ca);
}

static void another_id(void **state)
{
	static const uint8_t else_id[16] = {9};

	(void)state;
	world_init(&w, 1, world_psk(WORLD_PSK), world_psk(WORLD_PSK));
	w.hosts[0].config.hs.peer_id.data = else_id;
	expect_refusal(0, "its endpoint id is not the one expected", "it expects another endpoint id");
	world_init(&w, 1, world_psk(WORLD_PSK), world_psk(WORLD_PSK));
	w.hosts[1].config.hs.peer_id.data = else_id;
	expect_refusal(1, "its endpoint id is not the one expected", "it expects another endpoint id");
	world_init(&w, 1, world_psk(WORLD_PSK), world_psk(WORLD_PSK));
	w.hosts[0].id[15] = w.hosts[1].id[15];
	expect_refusal(0, "it has our own endpoint id", "it expects another endpoint id");
}

static bool other_version(struct world *world, unsigned int from, uint8_t *datagram, size_t *bytes)
{
	(void)world;
	(void)from;
	(void)bytes;
	datagram[0] = 9; /* as each sees the other */
	return true;
}

static void another_version(void **state)
{
	(void)state;
	world_init(&w, 1, world_psk(WORLD_PSK), world_psk(WORLD_PSK));
	w.tamper = other_version;
	expect_refusal(1, "it speaks version 9 of the handshake, we 1", "it speaks another version");
}

static void meet(const char *curve0, const char *curve1, unsigned int links, unsigned int fat, uint8_t suite)
{
	struct certs_ca ca = certs_ca_new(curve0, "ca");
	struct certs_want want0 = {.curve = curve0, .links = links, .fat = fat, .san = "DNS:a.example,IP:10.0.0.1"};
	struct certs_want want1 = {.curve = curve1, .links = links, .fat = fat, .cn = "b.example"};
	static const char *const names0[] = {"other", "10.0.0.1"}, *const names1[] = {"b.example"};
	struct crypt_assoc_status status;

	world_init(&w, 7, certs_cred(&ca, &want0, &ca, NULL), certs_cred(&ca, &want1, &ca, NULL));
	w.hosts[0].config.hs.peer_names = names1;
	w.hosts[0].config.hs.n_peer_names = 1;
	w.hosts[1].config.hs.peer_names = names0;
	w.hosts[1].config.hs.n_peer_names = 2;
	w.hosts[0].config.hs.n_suites = 1;
	w.hosts[0].config.hs.suites[0] = suite;
	w.loss_percent = 20;
	w.copy_percent = 20;
	w.jitter_ns = MS_NS;
	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	assert_true(world_settle(&w, 60 * SECOND_NS));
	crypt_assoc_status(w.hosts[0].assoc, &status);
	assert_int_equal(status.method, CRYPT_METHOD_CERT);
	assert_int_equal(status.suite, suite);
	world_free(&w);
	certs_ca_free(&ca);
}

static void certificates(void **state)
{
	(void)state;
	meet("P-256", "P-256", 0, 0, CRYPT_AES_256_GCM);
	meet("P-384", "P-256", 1, 0, CRYPT_AES_128_GCM);
	meet("P-256", "P-384", 3, 1500, CRYPT_SM4_GCM);
	meet("P-384", "P-384", 0, 12000, CRYPT_AES_256_GCM); /* eleven datagrams */
}

static void sm2_certificates(void **state)
{
	(void)state;
	meet("SM2", "SM2", 0, 0, CRYPT_SM4_GCM);
	meet("SM2", "SM2", 2, 0, CRYPT_SM4_GCM);
	meet("SM2", "P-256", 0, 0, CRYPT_AES_256_GCM);
	meet("P-256", "SM2", 1, 2000, CRYPT_SM4_GCM);
}

/* A name can only be proved by a certificate: whoever has a pre-shared key does not get past it. */
static void name_without_certificate(void **state)
{
	struct certs_ca ca = certs_ca_new("P-256", "ca");
	struct certs_want good = {0};
	struct crypt_assoc_status status;
	const char *name = "host";

	(void)state;
	world_init(&w, 3, certs_cred(&ca, &good, &ca, WORLD_PSK), world_psk(WORLD_PSK));
	w.hosts[0].config.hs.peer_names = &name;
	w.hosts[0].config.hs.n_peer_names = 1;
	expect_refusal(1, "no way of authentication that is allowed here", "it has no way of authentication in common");
	/* A key that is set for this very peer is as good. */
	world_init(&w, 3, certs_cred(&ca, &good, &ca, "a " WORLD_PSK), world_psk(WORLD_PSK));
	w.hosts[0].config.hs.peer_names = &name;
	w.hosts[0].config.hs.n_peer_names = 1;
	w.hosts[0].config.hs.psk_id = "a";
	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	world_run(&w, 5 * SECOND_NS);
	crypt_assoc_status(w.hosts[0].assoc, &status);
	assert_int_equal(status.method, CRYPT_METHOD_PSK);
	world_free(&w);
	certs_ca_free(&ca);
}

/* Certificate of host @bad is as wanted; the other one's is good. */
static void expect_cert_refusal(unsigned int bad, const struct certs_want *want, bool other_ca, const char *name,
	const char *here, const char *there)
{
	struct certs_ca ca = certs_ca_new("P-256", "ca"), other = certs_ca_new("P-256", "other");
	struct certs_want good = {0};
	struct crypt_cred *creds[2];

	creds[bad] = certs_cred(other_ca ? &other : &ca, want, &ca, NULL);
	creds[1 - bad] = certs_cred(&ca, &good, &ca, NULL);
	world_init(&w, 3, creds[0], creds[1]);
	w.hosts[1 - bad].config.hs.peer_names = &name;
	w.hosts[1 - bad].config.hs.n_peer_names = name ? 1 : 0;
	expect_refusal(1 - bad, here, there);
	certs_ca_free(&ca);
	certs_ca_free(&other);
}

static void bad_certificates(void **state)
{
	struct certs_want plain = {.cn = "me"}, usage = {.usage = "keyAgreement"};
	struct certs_want old = {.cn = "me", .from_s = CERTS_NOW_S - 9 * CERTS_DAY_S, .until_s = CERTS_NOW_S - 1};
	struct certs_want early = {.cn = "me", .from_s = CERTS_NOW_S + 60};
	struct certs_want named = {.cn = "me", .san = "DNS:x.example,IP:10.0.0.9"};

	(void)state;
	for (unsigned int bad = 0; bad < 2; bad++) {
		expect_cert_refusal(bad, &old, false, NULL, "its certificate (/CN=me) has expired: valid until Jan 15",
			"our certificate has expired");
		expect_cert_refusal(bad, &early, false, NULL,
			"its certificate (/CN=me) is not valid yet: valid from Jan 15",
			"our certificate is not valid yet");
		expect_cert_refusal(bad, &plain, true, NULL, "(/CN=me) does not lead to an authority in the CA file",
			"it does not trust the authority");
		expect_cert_refusal(bad, &named, false, "10.0.0.1", "has not the name that is required, \"10.0.0.1\"",
			"none of the names");
		expect_cert_refusal(bad, &plain, false, "you", "(/CN=me) has not the name that is required, \"you\"",
			"none of the names");
		/* With a DNS name in it the CN is none (RFC 6125, 6.4.4). */
		expect_cert_refusal(
			bad, &named, false, "me", "has not the name that is required, \"me\"", "none of the names");
		expect_cert_refusal(bad, &usage, false, NULL, "is not for signatures", "it does not trust");
	}
}

/* An association outlives the certificates that made it; the next handshake does not. */
static void certificate_expires(void **state)
{
	struct certs_ca ca = certs_ca_new("P-256", "ca");
	struct certs_want want = {0};

	(void)state;
	world_init(&w, 3, certs_cred(&ca, &want, &ca, NULL), certs_cred(&ca, &want, &ca, NULL));
	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	w.wall_s += 2 * CERTS_DAY_S;
	w.send_every_ns = 50 * MS_NS;
	crypt_assoc_handshake_now(w.hosts[1].assoc, w.now_ns);
	world_run(&w, 20 * SECOND_NS);
	assert_non_null(strstr(w.hosts[1].text[CRYPT_EVENT_REFUSED], "has expired"));
	assert_non_null(strstr(w.hosts[0].text[CRYPT_EVENT_PEER_REFUSES], "our certificate has expired"));
	assert_true(world_settle(&w, SECOND_NS));
	assert_int_equal(w.data_lost, 0);
	world_free(&w);
	certs_ca_free(&ca);
}

/* A notice that anybody can send is a text: it neither ends an association nor a handshake. */
static bool drop_all_but_first(struct world *world, unsigned int from, uint8_t *datagram, size_t *bytes)
{
	struct world_flight *flight;

	(void)bytes;
	/* For each M1 a notice comes back before the answer does. */
	if (from == 0 && datagram[1] == CRYPT_MSG_INIT) {
		struct crypt_msg_header header = {
			.type = CRYPT_MSG_FAIL, .fragments = 1, .to = crypt_msg_get64(datagram + 4)};
		uint8_t notice[CRYPT_MSG_HEADER_BYTES + 1];

		crypt_msg_put_header(&header, notice, sizeof(notice));
		notice[CRYPT_MSG_HEADER_BYTES] = CRYPT_FAIL_PSK;
		for (unsigned int i = 0; i < WORLD_FLIGHTS; i++) {
			flight = &world->flights[i];
			if (flight->at_ns != 0)
				continue;
			flight->at_ns = world->now_ns + 1;
			flight->to = 0;
			flight->is_data = false;
			flight->bytes = sizeof(notice);
			memcpy(flight->datagram, notice, sizeof(notice));
			break;
		}
	}
	return true;
}

static void forged_notice(void **state)
{
	(void)state;
	world_init(&w, 3, world_psk(WORLD_PSK), world_psk(WORLD_PSK));
	w.tamper = drop_all_but_first;
	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	assert_non_null(strstr(w.hosts[0].text[CRYPT_EVENT_PEER_REFUSES], "not authenticated"));
	crypt_assoc_handshake_now(w.hosts[0].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	assert_int_equal(w.hosts[0].n_events[CRYPT_EVENT_ESTABLISHED], 2);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(another_key),
		cmocka_unit_test(another_key_is_set),
		cmocka_unit_test(unknown_id),
		cmocka_unit_test(key_of_many),
		cmocka_unit_test(key_of_an_address),
		cmocka_unit_test(addresses_have_spellings),
		cmocka_unit_test(no_common_suite),
		cmocka_unit_test(no_common_method),
		cmocka_unit_test(another_id),
		cmocka_unit_test(another_version),
		cmocka_unit_test(certificates),
		cmocka_unit_test(sm2_certificates),
		cmocka_unit_test(name_without_certificate),
		cmocka_unit_test(bad_certificates),
		cmocka_unit_test(certificate_expires),
		cmocka_unit_test(forged_notice),
	};

	return cmocka_run_group_tests(tests, NULL, certs_teardown);
}
