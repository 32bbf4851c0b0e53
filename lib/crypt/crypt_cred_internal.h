/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CRYPT_CRED_INTERNAL_H
#define CRYPT_CRED_INTERNAL_H

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "crypt_cred.h"

struct crypt_cred {
	struct crypt_psk *psks;
	unsigned int n_psks;
	EVP_PKEY *key; /* NULL: no certificates */
	X509 *own;
	X509_STORE *authorities;
	struct crypt_msg_bytes chain[CRYPT_MSG_CERTS]; /* DER, OPENSSL_malloc()ed */
	unsigned int n_chain;
	char *sm2_id;
};

/* Reads the certificate part of @config. 0 or -EINVAL with @error set; what was read is freed by crypt_cred_free(). */
int crypt_cred_load_cert(struct crypt_cred *cred, const struct crypt_cred_config *config, struct crypt_error *error);
void crypt_cred_free_cert(struct crypt_cred *cred);

/* crypt_cred_cert.c, for crypt_cred_verify.c */

bool crypt_cert_is_sm2(EVP_PKEY *key);
/* The hash that signatures of @key are of: SHA-256 for P-256, SHA-384 for P-384, SM3 for SM2. NULL: no such key. */
const EVP_MD *crypt_cert_hash(EVP_PKEY *key);
/* Sets the distinguishing id that the SM2 signature on @cert, if it is one, was made with (GM/T 0009, 5.5). */
int crypt_cert_set_id(const struct crypt_cred *cred, X509 *cert);
/* A context to sign or verify with @key. NULL: not such a key. The caller frees it. */
EVP_MD_CTX *crypt_cert_context(const struct crypt_cred *cred, EVP_PKEY *key, bool sign);

#endif
