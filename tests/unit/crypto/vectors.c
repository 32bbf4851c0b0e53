/* SPDX-License-Identifier: BSD-3-Clause */
#include "vectors.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LINE 8192

static void must(bool ok, const struct vector *v, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "a known answer of mode %s: %s\n", v->mode, what);
	abort();
}

static void from_hex(struct vector *v, int field, const char *text)
{
	if (strcmp(text, "-") == 0)
		return;
	for (; text[0] != '\0'; text += 2) {
		char pair[3] = {text[0], text[1], '\0'}, *end;

		must(text[1] != '\0' && v->n[field] < VECTOR_MAX_BYTES, v, "an odd number of digits, or too many");
		v->b[field][v->n[field]++] = (uint8_t)strtoul(pair, &end, 16);
		must(*end == '\0', v, "no hex digit");
	}
}

bool vectors_next(FILE *file, struct vector *v)
{
	char line[MAX_LINE], *word, *rest;

	memset(v, 0, sizeof(*v));
	do {
		if (fgets(line, sizeof(line), file) == NULL)
			return false;
	} while (line[0] == '#');
	word = strtok_r(line, " ", &rest);
	(void)snprintf(v->mode, sizeof(v->mode), "%s", word != NULL ? word : "");
	for (int i = 0; i < VECTOR_FIELDS; i++) {
		word = strtok_r(NULL, " ", &rest);
		must(word != NULL, v, "too few words");
		from_hex(v, i, word);
	}
	return true;
}

enum crypt_suite vectors_aes_suite(const struct vector *v)
{
	must(v->n[VECTOR_KEY] == 16 || v->n[VECTOR_KEY] == 32, v, "no key of 128 or 256 bits");
	return v->n[VECTOR_KEY] == 16 ? CRYPT_AES_128_GCM : CRYPT_AES_256_GCM;
}
