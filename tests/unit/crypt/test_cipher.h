/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A cipher backend for tests, on what others wrote: OpenSSL's EVP for AES, libgcrypt for SM4 (OpenSSL 3.0 has no SM4-GCM). Slow, takes
 * memory for each packet, and fails the test where one of the two libraries does.
 */
#ifndef TEST_CIPHER_H
#define TEST_CIPHER_H

#include "crypt_cipher.h"

/* Its context is NULL. */
extern const struct crypt_cipher test_cipher;

/* Leaves every byte as it is, and takes every tag for right: what protection costs without a cipher. Its context is NULL. */
extern const struct crypt_cipher test_cipher_null;

/* Keys of both backends that are there now. */
extern unsigned int test_cipher_keys;

#endif
