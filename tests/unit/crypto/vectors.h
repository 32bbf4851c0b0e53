/* SPDX-License-Identifier: BSD-3-Clause */
/* Known answers, read from files as tests/data/crypto/sm4.txt and aes.txt. */
#ifndef VECTORS_H
#define VECTORS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "crypt_cipher.h"

#define VECTOR_MAX_BYTES 1024u

/* What a line holds, in the file's order. */
enum { VECTOR_KEY, VECTOR_IV, VECTOR_AAD, VECTOR_PLAIN, VECTOR_CIPHER, VECTOR_TAG, VECTOR_FIELDS };

struct vector {
	char mode[32];
	uint8_t b[VECTOR_FIELDS][VECTOR_MAX_BYTES];
	uint32_t n[VECTOR_FIELDS];
};

/* The next one. False: there are no more. What is no vector ends the program. */
bool vectors_next(FILE *file, struct vector *v);

/* The suite of an AES vector, by the length of its key. */
enum crypt_suite vectors_aes_suite(const struct vector *v);

#endif
