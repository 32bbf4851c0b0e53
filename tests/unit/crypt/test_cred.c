/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of keys and certificates: what is taken, and what is said of the rest. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "hs_certs.h"

#define HEX_KEY    "00112233445566778899aabbccddeeff0123456789abcdef0123456789ABCDEF"
#define BASE64_KEY "ABEiM0RVZneImaq7zN3u/wEjRWeJq83vASNFZ4mrze8=" /* the same 32 bytes */

static struct crypt_error error;

static void expect_said(const char *text)
{
	if (!strstr(error.text, text))
		fail_msg("said: %s", error.text);
	assert_null(strstr(error.text, "00112233")); /* never a key */
}

/* ---- Lines of a key file ---- */

static int parse(const char *text, struct crypt_psk *keys)
{
	memset(&error, 0, sizeof(error));
	memset(keys, 0, CRYPT_PSKS_MAX * sizeof(*keys));
	return crypt_psk_parse(text, "keys", keys, &error);
}

static void key_lines(void **state)
{
	static struct crypt_psk keys[CRYPT_PSKS_MAX];
	uint8_t auth[CRYPT_HASH_BYTES];

	(void)state;
	assert_int_equal(parse(HEX_KEY, keys), 1);
	assert_string_equal(keys[0].id, "");
	memcpy(auth, keys[0].auth_key[0], sizeof(auth));
	assert_memory_not_equal(keys[0].auth_key[0], keys[0].auth_key[1], sizeof(auth));
	assert_memory_not_equal(keys[0].auth_key[0], keys[0].hint_key[0], sizeof(auth));
	assert_int_equal(parse("# all\r\n\n  a\t" BASE64_KEY " # one\nb " HEX_KEY HEX_KEY "\r\n", keys), 2);
	assert_string_equal(keys[0].id, "a");
	assert_string_equal(keys[1].id, "b");
	assert_memory_equal(auth, keys[0].auth_key[0], sizeof(auth));
	assert_memory_not_equal(auth, keys[1].auth_key[0], sizeof(auth));
}

static void bad_key_lines(void **state)
{
	static struct crypt_psk keys[CRYPT_PSKS_MAX];
	static char many[(CRYPT_PSKS_MAX + 1) * 80 + 1];
	static const struct {
		const char *text, *said;
	} bad[] = {
		{"", "keys: holds no key"},
		{"# nothing\n\n", "holds no key"},
		{"00112233445566778899aabbccddeeff0123456789abcdef0123456789abcd\n",
			"line 1: the key has 31 bytes and needs"},
		{"\nsecret\n", "keys, line 2: the key is neither hex nor base64"},
		{"a AAAx\n", "has 3 bytes and needs at least 32; \"openssl rand -hex 32\""},
		{"a b " HEX_KEY, "not \"KEY\" or \"ID KEY\""},
		{"a " HEX_KEY "\na " HEX_KEY, "line 2: a key with the ID \"a\" is there already"},
		{"fd00::1 " HEX_KEY "\nFD00:0:0::1 " HEX_KEY, "line 2: a key with the ID \"FD00:0:0::1\" is there already"},
		{HEX_KEY "\n" HEX_KEY, "line 2: a key with the ID \"\" is there already"},
		{"0123456789012345678901234567890123456789012345678901234567890123 " HEX_KEY, "an ID of at most 63"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i].text, keys), -EINVAL);
		expect_said(bad[i].said);
	}
	for (unsigned int i = 0; i <= CRYPT_PSKS_MAX; i++)
		sprintf(many + strlen(many), "id%u %s\n", i, HEX_KEY);
	assert_int_equal(parse(many, keys), -EINVAL);
	expect_said("line 257: more than 256 keys");
	memset(many, 'a', sizeof(many) - 1);
	assert_int_equal(parse(many, keys), -EINVAL);
	expect_said("line 1: longer than");
}

/* ---- Who may own a secret, and its mode ---- */

static void owner_and_mode(void **state)
{
	struct stat st = {.st_mode = S_IFREG | 0600, .st_uid = 7};

	(void)state;
	assert_int_equal(crypt_cred_check_secret(&st, 7, "k", &error), 0);
	assert_int_equal(crypt_cred_check_secret(&st, 8, "k", &error), -EPERM);
	expect_said("k: belongs to user 7; has to belong to root or to user 8");
	st.st_uid = 0;
	assert_int_equal(crypt_cred_check_secret(&st, 8, "k", &error), 0);
	st.st_mode = S_IFREG | 0400;
	assert_int_equal(crypt_cred_check_secret(&st, 8, "k", &error), 0);
	for (unsigned int bit = 1; bit < 010000; bit <<= 1) {
		if (bit == 0200 || bit == 0400)
			continue;
		st.st_mode = S_IFREG | 0600 | bit;
		assert_int_equal(crypt_cred_check_secret(&st, 8, "k", &error), -EPERM);
		expect_said("\"chmod 600 k\" makes it right");
	}
	st.st_mode = S_IFIFO | 0600;
	assert_int_equal(crypt_cred_check_secret(&st, 8, "k", &error), -EPERM);
	expect_said("not a regular file");
}

static void expect_no_load(const struct crypt_cred_config *config, const char *text)
{
	assert_null(crypt_cred_load(config, &error));
	expect_said(text);
}

static void key_files(void **state)
{
	char path[256], link[300], text[70000];
	struct crypt_cred_config config = {.psk_file = path};
	struct crypt_cred *cred;

	(void)state;
	certs_file(path, "psk", HEX_KEY, strlen(HEX_KEY), 0600);
	cred = crypt_cred_load(&config, &error);
	assert_non_null(cred);
	assert_int_equal(crypt_cred_psks(cred), 1);
	assert_non_null(crypt_cred_psk(cred, NULL));
	assert_non_null(crypt_cred_psk(cred, ""));
	assert_null(crypt_cred_psk(cred, "x"));
	assert_false(crypt_cred_has_cert(cred));
	crypt_cred_free(cred);
	assert_int_equal(chmod(path, 0640), 0);
	expect_no_load(&config, "mode 0640 lets others");
	/* By the open file, so that a link to one that is good is good, and to one that is not is not. */
	snprintf(link, sizeof(link), "%s-link", path);
	assert_int_equal(symlink(path, link), 0);
	config.psk_file = link;
	expect_no_load(&config, "mode 0640");
	config.psk_file = "/tmp/roced-no-such-file";
	expect_no_load(&config, "/tmp/roced-no-such-file: cannot be opened: No such file");
	config.psk_file = "/tmp";
	expect_no_load(&config, "not a regular file");
	snprintf(link, sizeof(link), "%s-fifo", path);
	assert_int_equal(mkfifo(link, 0600), 0);
	config.psk_file = link;
	expect_no_load(&config, "not a regular file");
	memset(text, '#', sizeof(text));
	certs_file(path, "long", text, sizeof(text), 0600);
	config.psk_file = path;
	expect_no_load(&config, "not a text file of less than 65536");
	certs_file(path, "zero", "a\0b", 3, 0600);
	expect_no_load(&config, "not a text file");
	config.psk_file = NULL;
	expect_no_load(&config, "neither a file of pre-shared keys nor a certificate");
}

/* ---- Certificate files ---- */

static void put_pem(char *path, EVP_PKEY *key, X509 *cert, const char *passphrase, unsigned int mode)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;
	long bytes;

	if (cert)
		PEM_write_bio_X509(bio, cert);
	if (key)
		PEM_write_bio_PrivateKey(bio, key, passphrase ? EVP_aes_256_cbc() : NULL, (const uint8_t *)passphrase,
			passphrase ? (int)strlen(passphrase) : 0, NULL, NULL);
	bytes = BIO_get_mem_data(bio, &text);
	certs_file(path, "pem", text, (size_t)bytes, mode);
	BIO_free(bio);
}

static void certificate_files(void **state)
{
	struct certs_ca ca = certs_ca_new("P-256", "ca"), other = certs_ca_new("P-256", "other");
	char cert[256], key[256], bad[256];
	struct crypt_cred_config config = {.cert_file = cert, .key_file = key, .ca_file = cert};
	EVP_PKEY *rsa = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
	struct crypt_cred *cred;

	(void)state;
	put_pem(cert, NULL, ca.cert, NULL, 0644);
	put_pem(key, ca.key, NULL, NULL, 0600);
	cred = crypt_cred_load(&config, &error);
	assert_non_null(cred);
	assert_true(crypt_cred_has_cert(cred));
	crypt_cred_free(cred);
	config.key_file = NULL;
	expect_no_load(&config, "a certificate needs its private key and the authorities");
	config.key_file = bad;
	put_pem(bad, ca.key, NULL, NULL, 0644);
	expect_no_load(&config, "mode 0644 lets others");
	put_pem(bad, other.key, NULL, NULL, 0600);
	expect_no_load(&config, "not the key of the first certificate");
	put_pem(bad, ca.key, NULL, "passphrase", 0600);
	expect_no_load(&config, "has a passphrase");
	put_pem(bad, rsa, NULL, NULL, 0600);
	expect_no_load(&config, "neither EC on P-256 or P-384 nor SM2");
	put_pem(bad, NULL, ca.cert, NULL, 0600);
	expect_no_load(&config, "holds no private key");
	config.key_file = key;
	config.ca_file = bad;
	put_pem(bad, ca.key, NULL, NULL, 0644);
	expect_no_load(&config, "no certificate is in it; has to hold certificates in PEM");
	put_pem(bad, NULL, ca.cert, NULL, 0646);
	expect_no_load(&config, "everybody may write it");
	certs_file(bad, "ca", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", 59, 0644);
	expect_no_load(&config, "has to hold certificates in PEM");
	EVP_PKEY_free(rsa);
	certs_ca_free(&ca);
	certs_ca_free(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(key_lines),
		cmocka_unit_test(bad_key_lines),
		cmocka_unit_test(owner_and_mode),
		cmocka_unit_test(key_files),
		cmocka_unit_test(certificate_files),
	};

	return cmocka_run_group_tests(tests, NULL, certs_teardown);
}
