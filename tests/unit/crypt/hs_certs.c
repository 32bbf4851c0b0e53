/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "hs_certs.h"

#define SM2_ID "1234567812345678"

static char dir[64];
static unsigned int n_files;

void certs_file(char *path, const char *name, const char *text, size_t bytes, unsigned int mode)
{
	int fd;

	if (!dir[0]) {
		strcpy(dir, "/tmp/roced-cred-XXXXXX");
		assert_non_null(mkdtemp(dir));
	}
	snprintf(path, 256, "%s/%u-%s", dir, n_files++, name);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, bytes), (ssize_t)bytes);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

void certs_remove(void)
{
	char command[128];

	if (!dir[0])
		return;
	snprintf(command, sizeof(command), "rm -r %s", dir);
	assert_int_equal(system(command), 0);
	dir[0] = 0;
}

int certs_teardown(void **state)
{
	(void)state;
	certs_remove();
	return 0;
}

static EVP_PKEY *make_key(const char *curve)
{
	EVP_PKEY *key = strcmp(curve, "SM2") == 0 ? EVP_PKEY_Q_keygen(NULL, NULL, "SM2")
						  : EVP_PKEY_Q_keygen(NULL, NULL, "EC", curve);

	assert_non_null(key);
	return key;
}

static void sign(X509 *cert, EVP_PKEY *key)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	EVP_PKEY_CTX *key_ctx;
	bool sm2 = EVP_PKEY_is_a(key, "SM2");

	assert_int_equal(EVP_DigestSignInit(ctx, &key_ctx, sm2 ? EVP_sm3() : EVP_sha256(), NULL, key), 1);
	if (sm2)
		assert_int_equal(EVP_PKEY_CTX_set1_id(key_ctx, SM2_ID, (int)strlen(SM2_ID)), 1);
	assert_true(X509_sign_ctx(cert, ctx) > 0);
	EVP_MD_CTX_free(ctx);
}

static void extend(X509 *cert, int nid, const char *value)
{
	X509_EXTENSION *ext = X509V3_EXT_conf_nid(NULL, NULL, nid, value);

	assert_non_null(ext);
	assert_int_equal(X509_add_ext(cert, ext, -1), 1);
	X509_EXTENSION_free(ext);
}

static X509 *make_cert(const char *cn, EVP_PKEY *key, X509 *issuer, int64_t from_s, int64_t until_s)
{
	X509 *cert = X509_new();
	X509_NAME *name = X509_get_subject_name(cert);
	static long serial;

	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), ++serial);
	X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, (const uint8_t *)cn, -1, -1, 0);
	X509_set_issuer_name(cert, issuer ? X509_get_subject_name(issuer) : name);
	X509_set_pubkey(cert, key);
	ASN1_TIME_set(X509_getm_notBefore(cert), from_s);
	ASN1_TIME_set(X509_getm_notAfter(cert), until_s);

	return cert;
}

static struct certs_ca make_ca(const char *curve, const char *cn, const struct certs_ca *issuer)
{
	struct certs_ca ca = {.key = make_key(curve)};

	ca.cert = make_cert(cn, ca.key, issuer ? issuer->cert : NULL, CERTS_NOW_S - 100 * CERTS_DAY_S,
		CERTS_NOW_S + 100 * CERTS_DAY_S);
	extend(ca.cert, NID_basic_constraints, "critical,CA:TRUE");
	extend(ca.cert, NID_key_usage, "critical,keyCertSign");
	sign(ca.cert, issuer ? issuer->key : ca.key);
	return ca;
}

struct certs_ca certs_ca_new(const char *curve, const char *cn)
{
	return make_ca(curve, cn, NULL);
}

void certs_ca_free(struct certs_ca *ca)
{
	EVP_PKEY_free(ca->key);
	X509_free(ca->cert);
}

static void write_bio(BIO *bio, char *path, const char *name, unsigned int mode)
{
	char *text;
	long bytes = BIO_get_mem_data(bio, &text);

	certs_file(path, name, text, (size_t)bytes, mode);
	BIO_free(bio);
}

static X509 *make_leaf(const struct certs_ca *ca, const struct certs_want *want, EVP_PKEY *key)
{
	X509 *cert = make_cert(want->cn ? want->cn : "host", key, ca->cert,
		want->from_s ? want->from_s : CERTS_NOW_S - CERTS_DAY_S,
		want->until_s ? want->until_s : CERTS_NOW_S + CERTS_DAY_S);

	if (want->san)
		extend(cert, NID_subject_alt_name, want->san);
	if (want->fat > 0) {
		char *comment = malloc(want->fat + 1);

		memset(comment, 'x', want->fat);
		comment[want->fat] = 0;
		extend(cert, NID_netscape_comment, comment);
		free(comment);
	}
	extend(cert, NID_key_usage, want->usage ? want->usage : "digitalSignature");
	sign(cert, ca->key);
	return cert;
}

struct crypt_cred *certs_cred(
	const struct certs_ca *ca, const struct certs_want *want, const struct certs_ca *trust, const char *psk)
{
	char cert_path[256], key_path[256], ca_path[256], psk_path[256];
	struct crypt_cred_config config = {.cert_file = cert_path, .key_file = key_path, .ca_file = ca_path};
	const char *curve = want->curve ? want->curve : "P-256";
	struct certs_ca links[CRYPT_MSG_CERTS];
	BIO *bio = BIO_new(BIO_s_mem()), *trusted = BIO_new(BIO_s_mem()), *secret = BIO_new(BIO_s_mem());
	EVP_PKEY *key = make_key(curve);
	struct crypt_error error;
	struct crypt_cred *cred;
	X509 *leaf;

	for (unsigned int i = 0; i < want->links; i++)
		links[i] = make_ca(curve, (const char[]){'l', (char)('0' + i), 0}, i ? &links[i - 1] : ca);
	leaf = make_leaf(want->links ? &links[want->links - 1] : ca, want, key);
	PEM_write_bio_X509(bio, leaf);
	for (unsigned int i = want->links; i > 0; i--) {
		PEM_write_bio_X509(bio, links[i - 1].cert);
		certs_ca_free(&links[i - 1]);
	}
	PEM_write_bio_X509(trusted, trust->cert);
	PEM_write_bio_PrivateKey(secret, key, NULL, NULL, 0, NULL, NULL);
	write_bio(bio, cert_path, "cert.pem", 0644);
	write_bio(trusted, ca_path, "ca.pem", 0644);
	write_bio(secret, key_path, "key.pem", 0600);
	if (psk) {
		certs_file(psk_path, "psk", psk, strlen(psk), 0600);
		config.psk_file = psk_path;
	}
	cred = crypt_cred_load(&config, &error);
	if (!cred)
		fail_msg("%s", error.text);
	X509_free(leaf);
	EVP_PKEY_free(key);
	return cred;
}
