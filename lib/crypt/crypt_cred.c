/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_cred.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "crypt_cred_internal.h"
#include "crypt_mem.h"

void crypt_error_set(struct crypt_error *error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error->text, sizeof(error->text), format, args);
	va_end(args);
}

static int load_psks(struct crypt_cred *cred, const char *path, struct crypt_error *error)
{
	size_t bytes;
	char *text;
	int n;

	cred->psks = crypt_mem_new(CRYPT_PSKS_MAX * sizeof(*cred->psks));
	if (!cred->psks) {
		crypt_error_set(error, "%s: no memory for the keys", path);
		return -ENOMEM;
	}
	text = crypt_cred_file_read(path, true, &bytes, error);
	if (!text)
		return -EINVAL;
	n = crypt_psk_parse(text, path, cred->psks, error);
	crypt_cred_file_free(text, bytes);
	if (n < 0)
		return n;
	cred->n_psks = (unsigned int)n;
	return 0;
}

struct crypt_cred *crypt_cred_load(const struct crypt_cred_config *config, struct crypt_error *error)
{
	struct crypt_cred *cred = OPENSSL_zalloc(sizeof(*cred));

	if (!cred) {
		crypt_error_set(error, "no memory for credentials");
		return NULL;
	}
	if (!config->psk_file && !config->cert_file) {
		crypt_error_set(
			error, "neither a file of pre-shared keys nor a certificate is given; one of them is needed");
		goto fail;
	}
	if (config->psk_file && load_psks(cred, config->psk_file, error))
		goto fail;
	if (config->cert_file && crypt_cred_load_cert(cred, config, error))
		goto fail;
	return cred;
fail:
	crypt_cred_free(cred);
	return NULL;
}

void crypt_cred_free(struct crypt_cred *cred)
{
	if (!cred)
		return;
	crypt_mem_free(cred->psks, CRYPT_PSKS_MAX * sizeof(*cred->psks));
	crypt_cred_free_cert(cred);
	OPENSSL_clear_free(cred, sizeof(*cred));
}

bool crypt_cred_has_cert(const struct crypt_cred *cred)
{
	return cred->key != NULL;
}
