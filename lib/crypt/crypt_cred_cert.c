/* SPDX-License-Identifier: BSD-3-Clause */
/* The own certificate and key: read once, and signed with. What is made of the peer's is in crypt_cred_verify.c. */
#include <errno.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <string.h>

#include "crypt_cred_internal.h"

#define CHAIN_BYTES_MAX 15000 /* what a message has room for */
#define SM2_ID          "1234567812345678"

bool crypt_cert_is_sm2(EVP_PKEY *key)
{
	char group[32] = "";

	if (EVP_PKEY_is_a(key, "SM2"))
		return true;
	return EVP_PKEY_is_a(key, "EC") && EVP_PKEY_get_group_name(key, group, sizeof(group), NULL) == 1 &&
	       strcmp(group, "SM2") == 0;
}

const EVP_MD *crypt_cert_hash(EVP_PKEY *key)
{
	char group[32] = "";

	if (crypt_cert_is_sm2(key))
		return EVP_sm3();
	if (!EVP_PKEY_is_a(key, "EC") || EVP_PKEY_get_group_name(key, group, sizeof(group), NULL) != 1)
		return NULL;
	return strcmp(group, "prime256v1") == 0 ? EVP_sha256() : strcmp(group, "secp384r1") == 0 ? EVP_sha384() : NULL;
}

int crypt_cert_set_id(const struct crypt_cred *cred, X509 *cert)
{
	ASN1_OCTET_STRING *id;

	if (X509_get_signature_nid(cert) != NID_SM2_with_SM3)
		return 0;
	id = ASN1_OCTET_STRING_new();
	if (!id || ASN1_OCTET_STRING_set(id, (const uint8_t *)cred->sm2_id, (int)strlen(cred->sm2_id)) != 1) {
		ASN1_OCTET_STRING_free(id);
		return -ENOMEM;
	}
	X509_set0_distinguishing_id(cert, id);
	return 0;
}

EVP_MD_CTX *crypt_cert_context(const struct crypt_cred *cred, EVP_PKEY *key, bool sign)
{
	const EVP_MD *hash = crypt_cert_hash(key);
	EVP_MD_CTX *ctx = hash ? EVP_MD_CTX_new() : NULL;
	EVP_PKEY_CTX *key_ctx = NULL;
	int ok;

	if (!ctx)
		return NULL;
	ok = sign ? EVP_DigestSignInit(ctx, &key_ctx, hash, NULL, key)
		  : EVP_DigestVerifyInit(ctx, &key_ctx, hash, NULL, key);
	if (ok == 1 && crypt_cert_is_sm2(key))
		ok = EVP_PKEY_CTX_set1_id(key_ctx, cred->sm2_id, (int)strlen(cred->sm2_id));
	if (ok == 1)
		return ctx;
	EVP_MD_CTX_free(ctx);
	return NULL;
}

int crypt_cred_sign(
	const struct crypt_cred *cred, const uint8_t *data, size_t bytes, uint8_t *signature, size_t *signature_bytes)
{
	EVP_MD_CTX *ctx = crypt_cert_context(cred, cred->key, true);
	int ret = -EIO;

	*signature_bytes = CRYPT_MSG_SIGNATURE_MAX;
	if (ctx && EVP_DigestSign(ctx, signature, signature_bytes, data, bytes) == 1)
		ret = 0;
	EVP_MD_CTX_free(ctx);
	ERR_clear_error();
	return ret;
}

unsigned int crypt_cred_chain(const struct crypt_cred *cred, struct crypt_msg_bytes certs[CRYPT_MSG_CERTS])
{
	memcpy(certs, cred->chain, cred->n_chain * sizeof(*certs));
	return cred->n_chain;
}

/* ---- Reading the files ---- */

/* Keys with a passphrase: nobody is there to type it. */
static int no_passphrase(char *buf, int size, int writing, void *arg)
{
	(void)buf;
	(void)size;
	(void)writing;
	*(bool *)arg = true;
	return -1;
}

static BIO *open_text(const char *path, bool secret, char **text, size_t *bytes, struct crypt_error *error)
{
	BIO *bio;

	*text = crypt_cred_file_read(path, secret, bytes, error);
	if (!*text)
		return NULL;
	bio = BIO_new_mem_buf(*text, (int)*bytes);
	if (!bio) {
		crypt_error_set(error, "%s: no memory", path);
		crypt_cred_file_free(*text, *bytes);
	}
	return bio;
}

/* Calls @take for each certificate of a file. How many there were, or -EINVAL. */
static int each_cert(struct crypt_cred *cred, const char *path,
	int (*take)(struct crypt_cred *cred, X509 *cert, const char *path, struct crypt_error *error),
	struct crypt_error *error)
{
	size_t bytes;
	char *text;
	BIO *bio = open_text(path, false, &text, &bytes, error);
	X509 *cert;
	int n = 0, ret = 0;

	if (!bio)
		return -EINVAL;
	while (!ret && (cert = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
		ret = crypt_cert_set_id(cred, cert);
		if (ret)
			crypt_error_set(error, "%s: no memory", path);
		else
			ret = take(cred, cert, path, error);
		X509_free(cert);
		n++;
	}
	/* The end of the file is the only error that is none. */
	if (!ret && (n == 0 || ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)) {
		crypt_error_set(error, "%s: %s; has to hold certificates in PEM", path,
			n == 0 ? "no certificate is in it" : "one of its certificates is damaged");
		ret = -EINVAL;
	}
	BIO_free(bio);
	crypt_cred_file_free(text, bytes);
	ERR_clear_error();
	return ret ? -EINVAL : n;
}

static int take_own(struct crypt_cred *cred, X509 *cert, const char *path, struct crypt_error *error)
{
	uint8_t *der = NULL;
	size_t total = 0;
	int n = i2d_X509(cert, &der);

	for (unsigned int i = 0; i < cred->n_chain; i++)
		total += cred->chain[i].bytes;
	if (n <= 0 || cred->n_chain == CRYPT_MSG_CERTS || total + (size_t)n > CHAIN_BYTES_MAX) {
		crypt_error_set(error, "%s: more than %d certificates or %d bytes of them", path, CRYPT_MSG_CERTS,
			CHAIN_BYTES_MAX);
		OPENSSL_free(der);
		return -EINVAL;
	}
	if (cred->n_chain == 0) {
		X509_up_ref(cert);
		cred->own = cert;
	}
	cred->chain[cred->n_chain++] = (struct crypt_msg_bytes){der, (size_t)n};
	return 0;
}

static int take_authority(struct crypt_cred *cred, X509 *cert, const char *path, struct crypt_error *error)
{
	if (X509_STORE_add_cert(cred->authorities, cert) == 1)
		return 0;
	crypt_error_set(error, "%s: libcrypto does not take one of the certificates", path);
	return -EINVAL;
}

static int read_key(struct crypt_cred *cred, const char *path, struct crypt_error *error)
{
	bool is_encrypted = false;
	size_t bytes;
	char *text;
	BIO *bio = open_text(path, true, &text, &bytes, error);

	if (!bio)
		return -EINVAL;
	cred->key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, &is_encrypted);
	BIO_free(bio);
	crypt_cred_file_free(text, bytes);
	ERR_clear_error();
	if (cred->key)
		return 0;
	if (is_encrypted)
		crypt_error_set(error,
			"%s: the private key has a passphrase, which nobody can type here; "
			"\"openssl pkey -in %s -out NEW\" takes it off",
			path, path);
	else
		crypt_error_set(error, "%s: holds no private key in PEM", path);
	return -EINVAL;
}

static int check_own(const struct crypt_cred *cred, const struct crypt_cred_config *config, struct crypt_error *error)
{
	uint8_t signature[CRYPT_MSG_SIGNATURE_MAX];
	size_t bytes;

	if (!crypt_cert_hash(cred->key))
		crypt_error_set(error, "%s: the key is neither EC on P-256 or P-384 nor SM2", config->key_file);
	else if (X509_check_private_key(cred->own, cred->key) != 1)
		crypt_error_set(error, "%s: not the key of the first certificate in %s, which has to be our own",
			config->key_file, config->cert_file);
	else if (crypt_cred_sign(cred, (const uint8_t *)"", 0, signature, &bytes))
		crypt_error_set(error, "%s: libcrypto cannot sign with the key", config->key_file);
	else
		return 0;
	ERR_clear_error();
	return -EINVAL;
}

int crypt_cred_load_cert(struct crypt_cred *cred, const struct crypt_cred_config *config, struct crypt_error *error)
{
	if (!config->key_file || !config->ca_file) {
		crypt_error_set(error,
			"%s: a certificate needs its private key and the authorities (CA) to trust as well",
			config->cert_file);
		return -EINVAL;
	}
	cred->sm2_id = OPENSSL_strdup(config->sm2_id ? config->sm2_id : SM2_ID);
	cred->authorities = X509_STORE_new();
	if (!cred->sm2_id || !cred->authorities) {
		crypt_error_set(error, "no memory for credentials");
		return -ENOMEM;
	}
	if (each_cert(cred, config->cert_file, take_own, error) < 0 ||
		each_cert(cred, config->ca_file, take_authority, error) < 0 || read_key(cred, config->key_file, error))
		return -EINVAL;
	return check_own(cred, config, error);
}

void crypt_cred_free_cert(struct crypt_cred *cred)
{
	EVP_PKEY_free(cred->key);
	X509_free(cred->own);
	X509_STORE_free(cred->authorities);
	for (unsigned int i = 0; i < cred->n_chain; i++)
		OPENSSL_free((void *)(uintptr_t)cred->chain[i].data);
	OPENSSL_free(cred->sm2_id);
}
