/* SPDX-License-Identifier: BSD-3-Clause */
/* Authorities and certificates made for one test, in files of a directory that goes away with it. */
#ifndef HS_CERTS_H
#define HS_CERTS_H

#include <openssl/evp.h>
#include <openssl/x509.h>
#include <stdbool.h>
#include <stdint.h>

#include "crypt_cred.h"

#define CERTS_NOW_S 1800000000 /* when the tests take place */
#define CERTS_DAY_S 86400

struct certs_ca {
	EVP_PKEY *key;
	X509 *cert;
};

/* What a certificate is to be; zeros are good values. */
struct certs_want {
	const char *curve;       /* "P-256", "P-384", "SM2" */
	const char *cn;          /* "host" */
	const char *san;         /* as in "DNS:a,IP:10.0.0.1" */
	const char *usage;       /* as in "keyAgreement"; digitalSignature */
	int64_t from_s, until_s; /* a day before and after CERTS_NOW_S */
	unsigned int links;      /* certificates between the authority and it */
	unsigned int fat;        /* bytes that it is longer than need be */
};

struct certs_ca certs_ca_new(const char *curve, const char *cn);
void certs_ca_free(struct certs_ca *ca);

/*
 * Credentials of a host with such a certificate by @ca, who trusts @trust, and with the pre-shared keys @psk unless
 * that is NULL.
 */
struct crypt_cred *certs_cred(
	const struct certs_ca *ca, const struct certs_want *want, const struct certs_ca *trust, const char *psk);

/* Writes a file below a fresh directory, and its name to @path (of 256 bytes). */
void certs_file(char *path, const char *name, const char *text, size_t bytes, unsigned int mode);
void certs_remove(void);
/* The same, for cmocka. */
int certs_teardown(void **state);

#endif
