/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CRYPT_CRED_INTERNAL_H
#define CRYPT_CRED_INTERNAL_H

#include <openssl/evp.h>
#include <openssl/x509.h>

#include "crypt_cred.h"

struct crypt_cred {
	struct crypt_psk *psks;
	unsigned int n_psks;
	EVP_PKEY *key;
	X509_STORE *authorities;
	struct crypt_msg_bytes chain[CRYPT_MSG_CERTS]; /* DER, OPENSSL_malloc()ed */
	unsigned int n_chain;
	char *sm2_id;
};

/* Reads the certificate part of @config. 0 or -EINVAL with @error set; what was read is freed by crypt_cred_free(). */
int crypt_cred_load_cert(struct crypt_cred *cred, const struct crypt_cred_config *config, struct crypt_error *error);
void crypt_cred_free_cert(struct crypt_cred *cred);

#endif
