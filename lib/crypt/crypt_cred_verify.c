/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a peer's certificates lead to somebody we trust, name whom we want, and signed what was said (RFC 5280, 6).
 */
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "crypt_cred_internal.h"

#define AUTH_LEVEL 2 /* 112 bits at least: no SHA-1, no short RSA keys of authorities */

static STACK_OF(X509) * decode(const struct crypt_cred *cred, const struct crypt_msg_bytes *certs, unsigned int n)
{
	STACK_OF(X509) *stack = sk_X509_new_null();

	for (unsigned int i = 0; i < n && stack; i++) {
		const uint8_t *p = certs[i].data;
		X509 *cert = d2i_X509(NULL, &p, (long)certs[i].bytes);

		if (cert && p == certs[i].data + certs[i].bytes && !crypt_cert_set_id(cred, cert) &&
			sk_X509_push(stack, cert))
			continue;
		X509_free(cert);
		sk_X509_pop_free(stack, X509_free);
		return NULL;
	}
	return stack;
}

/* Names come from the peer; X509_NAME_oneline() escapes what is not printable. */
static void subject_of(X509 *cert, char *text, size_t bytes)
{
	text[0] = 0;
	if (cert)
		X509_NAME_oneline(X509_get_subject_name(cert), text, (int)bytes);
}

static void time_of(const ASN1_TIME *time, char *text, size_t bytes)
{
	BIO *bio = BIO_new(BIO_s_mem());
	int n = -1;

	if (bio && ASN1_TIME_print(bio, time) == 1)
		n = BIO_read(bio, text, (int)bytes - 1);
	text[n > 0 ? n : 0] = 0;
	BIO_free(bio);
}

static enum crypt_fail explain(X509_STORE_CTX *ctx, int64_t wall_s, struct crypt_error *error)
{
	int code = X509_STORE_CTX_get_error(ctx), depth = X509_STORE_CTX_get_error_depth(ctx);
	X509 *cert = X509_STORE_CTX_get_current_cert(ctx);
	const char *whose = depth == 0 ? "its certificate" : "an authority of its certificate";
	char subject[128], when[64] = "", today[64] = "";
	ASN1_TIME *now = ASN1_TIME_set(NULL, (time_t)wall_s);

	subject_of(cert, subject, sizeof(subject));
	if (now)
		time_of(now, today, sizeof(today));
	ASN1_TIME_free(now);
	if (cert && code == X509_V_ERR_CERT_HAS_EXPIRED) {
		time_of(X509_get0_notAfter(cert), when, sizeof(when));
		crypt_error_set(error, "%s (%s) has expired: valid until %s, and by the clock here it is %s", whose,
			subject, when, today);
		return CRYPT_FAIL_EXPIRED;
	}
	if (cert && code == X509_V_ERR_CERT_NOT_YET_VALID) {
		time_of(X509_get0_notBefore(cert), when, sizeof(when));
		crypt_error_set(error, "%s (%s) is not valid yet: valid from %s, and by the clock here it is %s", whose,
			subject, when, today);
		return CRYPT_FAIL_NOT_YET_VALID;
	}
	crypt_error_set(error, "%s (%s) does not lead to an authority in the CA file: %s", whose, subject,
		X509_verify_cert_error_string(code));
	return CRYPT_FAIL_UNTRUSTED;
}

static enum crypt_fail check_chain(
	const struct crypt_cred *cred, STACK_OF(X509) * stack, int64_t wall_s, struct crypt_error *error)
{
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	enum crypt_fail fail = CRYPT_FAIL_INTERNAL;
	X509_VERIFY_PARAM *param;

	crypt_error_set(error, "no memory to check its certificate");
	if (!ctx || X509_STORE_CTX_init(ctx, cred->authorities, sk_X509_value(stack, 0), stack) != 1)
		goto out;
	param = X509_STORE_CTX_get0_param(ctx);
	X509_VERIFY_PARAM_set_time(param, (time_t)wall_s);
	X509_VERIFY_PARAM_set_auth_level(param, AUTH_LEVEL);
	if (X509_verify_cert(ctx) == 1)
		fail = CRYPT_FAIL_NONE;
	else
		fail = explain(ctx, wall_s, error);
out:
	X509_STORE_CTX_free(ctx);
	return fail;
}

/* An IP address is looked for among the addresses, all else among the DNS names, or the CN if there are none. */
static enum crypt_fail check_names(X509 *cert, const struct crypt_cred_peer *peer, struct crypt_error *error)
{
	char subject[128];

	for (unsigned int i = 0; i < peer->n_names; i++) {
		const char *name = peer->names[i];

		if (X509_check_ip_asc(cert, name, 0) == 1)
			return CRYPT_FAIL_NONE;
		if (X509_check_host(cert, name, strlen(name), X509_CHECK_FLAG_NO_WILDCARDS, NULL) == 1)
			return CRYPT_FAIL_NONE;
	}
	if (peer->n_names == 0)
		return CRYPT_FAIL_NONE;
	subject_of(cert, subject, sizeof(subject));
	crypt_error_set(error, "its certificate (%s) has not the name that is required, \"%s\"%s", subject,
		peer->names[0], peer->n_names > 1 ? ", nor one of the others" : "");
	return CRYPT_FAIL_NAME;
}

static enum crypt_fail check_signature(const struct crypt_cred *cred, X509 *cert, struct crypt_msg_bytes data,
	struct crypt_msg_bytes signature, struct crypt_error *error)
{
	EVP_PKEY *key = X509_get0_pubkey(cert);
	EVP_MD_CTX *ctx = key ? crypt_cert_context(cred, key, false) : NULL;
	bool is_known = ctx != NULL;
	int ok = ctx ? EVP_DigestVerify(ctx, signature.data, signature.bytes, data.data, data.bytes) : -1;

	EVP_MD_CTX_free(ctx);
	if (ok == 1)
		return CRYPT_FAIL_NONE;
	crypt_error_set(error, "%s",
		is_known ? "its signature does not verify with its certificate"
			 : "the key of its certificate is neither EC on P-256 or P-384 nor SM2");
	return CRYPT_FAIL_SIGNATURE;
}

enum crypt_fail crypt_cred_verify(const struct crypt_cred *cred, const struct crypt_cred_peer *peer,
	const struct crypt_msg_bytes *certs, unsigned int n_certs, struct crypt_msg_bytes data,
	struct crypt_msg_bytes signature, struct crypt_error *error)
{
	STACK_OF(X509) *stack = n_certs > 0 ? decode(cred, certs, n_certs) : NULL;
	enum crypt_fail fail;
	X509 *cert;

	if (!stack) {
		crypt_error_set(error, "its certificates cannot be read");
		ERR_clear_error();
		return CRYPT_FAIL_UNTRUSTED;
	}
	cert = sk_X509_value(stack, 0);
	fail = check_chain(cred, stack, peer->wall_s, error);
	if (fail == CRYPT_FAIL_NONE)
		fail = check_names(cert, peer, error);
	if (fail == CRYPT_FAIL_NONE && (X509_get_key_usage(cert) & KU_DIGITAL_SIGNATURE) == 0) {
		crypt_error_set(error, "its certificate is not for signatures (key usage)");
		fail = CRYPT_FAIL_UNTRUSTED;
	}
	if (fail == CRYPT_FAIL_NONE)
		fail = check_signature(cred, cert, data, signature, error);
	sk_X509_pop_free(stack, X509_free);
	ERR_clear_error();
	return fail;
}
