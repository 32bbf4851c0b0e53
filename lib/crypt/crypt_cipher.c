/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_cipher.h"

#include <errno.h>
#include <string.h>

static const struct {
	const char *name;
	size_t key_bytes;
} suites[CRYPT_SUITES] = {
	[CRYPT_AES_128_GCM] = { "aes-128-gcm", 16 },
	[CRYPT_AES_256_GCM] = { "aes-256-gcm", 32 },
	[CRYPT_SM4_GCM] = { "sm4-gcm", 16 },
};

size_t crypt_suite_key_bytes(enum crypt_suite suite)
{
	return (unsigned int)suite < CRYPT_SUITES ? suites[suite].key_bytes : 0;
}

const char *crypt_suite_name(enum crypt_suite suite)
{
	return (unsigned int)suite < CRYPT_SUITES ? suites[suite].name : NULL;
}

int crypt_suite_find(const char *name)
{
	for (int i = 0; i < CRYPT_SUITES; i++)
		if (strcmp(name, suites[i].name) == 0)
			return i;
	return -EINVAL;
}
