/* SPDX-License-Identifier: BSD-3-Clause */
/* Pre-shared keys: the lines of their file, and which of them a peer uses. */
#include <ctype.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

#include "crypt_cred_internal.h"
#include "wire_addr.h"

#define LINE_BYTES    1024
#define KEY_BYTES_MAX 512

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

static int from_hex(const char *text, size_t n, uint8_t *out)
{
	if (n % 2 != 0 || n / 2 > KEY_BYTES_MAX)
		return -1;
	for (size_t i = 0; i < n; i++) {
		int digit = hex_digit(text[i]);

		if (digit < 0)
			return -1;
		out[i / 2] = (uint8_t)(i % 2 ? out[i / 2] | digit : digit << 4);
	}
	return (int)(n / 2);
}

static int from_base64(const char *text, size_t n, uint8_t *out)
{
	int bytes, padding = 0;

	if (n % 4 != 0 || n < 4 || n / 4 * 3 > KEY_BYTES_MAX)
		return -1;
	if (text[n - 1] == '=')
		padding = text[n - 2] == '=' ? 2 : 1;
	bytes = EVP_DecodeBlock(out, (const uint8_t *)text, (int)n);
	return bytes < 0 ? -1 : bytes - padding;
}

/* Both uses get keys of their own, and both hash functions too, so that none says anything of another. */
static int derive(struct crypt_psk *psk, const uint8_t *key, size_t bytes)
{
	static const char salt[] = "roced pre-shared key";
	uint8_t prk[CRYPT_HASH_BYTES];
	int ret = 0;

	for (int sm = 0; sm < 2 && !ret; sm++) {
		ret = crypt_prim_mac(sm, salt, sizeof(salt) - 1, key, bytes, prk);
		if (!ret)
			ret = crypt_prim_expand(sm, prk, "roced psk hint", NULL, psk->hint_key[sm]);
		if (!ret)
			ret = crypt_prim_expand(sm, prk, "roced psk auth", NULL, psk->auth_key[sm]);
	}
	OPENSSL_cleanse(prk, sizeof(prk));
	return ret;
}

static int parse_key(
	struct crypt_psk *psk, const char *text, const char *path, unsigned int line, struct crypt_error *error)
{
	uint8_t key[KEY_BYTES_MAX];
	size_t n = strlen(text);
	int ret = -EINVAL, bytes = from_hex(text, n, key);

	if (bytes < 0)
		bytes = from_base64(text, n, key);
	if (bytes < 0)
		crypt_error_set(error,
			"%s, line %u: the key is neither hex nor base64 (or longer than %d bytes); "
			"\"openssl rand -hex 32\" makes one",
			path, line, KEY_BYTES_MAX);
	else if (bytes < CRYPT_PSK_MIN_BYTES)
		crypt_error_set(error,
			"%s, line %u: the key has %d bytes and needs at least %d; \"openssl rand -hex 32\" "
			"makes one",
			path, line, bytes, CRYPT_PSK_MIN_BYTES);
	else if (derive(psk, key, (size_t)bytes))
		crypt_error_set(error, "%s, line %u: libcrypto cannot use the key", path, line);
	else
		ret = 0;
	OPENSSL_cleanse(key, sizeof(key));
	return ret;
}

/* An ID that is an address means that address, and IPv6 addresses have many spellings. */
static bool same_id(const char *a, const char *b)
{
	struct wire_addr x, y;

	return strcmp(a, b) == 0 || (wire_addr_read(a, &x) && wire_addr_read(b, &y) && memcmp(&x, &y, sizeof(x)) == 0);
}

/* Splits @line at white space into at most @max words, comments left out. Returns how many there are. */
static unsigned int words_of(char *line, char **words, unsigned int max)
{
	unsigned int n = 0;
	char *save = NULL;

	line[strcspn(line, "#\r")] = 0;
	for (char *word = strtok_r(line, " \t", &save); word; word = strtok_r(NULL, " \t", &save)) {
		if (n < max)
			words[n] = word;
		n++;
	}
	return n;
}

static int parse_line(char *text, const char *path, unsigned int line, struct crypt_psk *keys, unsigned int n,
	struct crypt_error *error)
{
	char *words[2];
	unsigned int n_words = words_of(text, words, 2);
	const char *id = n_words == 2 ? words[0] : "";

	if (n_words == 0)
		return 0;
	if (n_words > 2 || strlen(id) >= CRYPT_PSK_ID_BYTES) {
		crypt_error_set(error, "%s, line %u: not \"KEY\" or \"ID KEY\" with an ID of at most %d characters",
			path, line, CRYPT_PSK_ID_BYTES - 1);
		return -EINVAL;
	}
	for (unsigned int i = 0; i < n; i++) {
		if (same_id(keys[i].id, id)) {
			crypt_error_set(
				error, "%s, line %u: a key with the ID \"%s\" is there already", path, line, id);
			return -EINVAL;
		}
	}
	if (n == CRYPT_PSKS_MAX) {
		crypt_error_set(error, "%s, line %u: more than %d keys", path, line, CRYPT_PSKS_MAX);
		return -EINVAL;
	}
	strcpy(keys[n].id, id);
	return parse_key(&keys[n], words[n_words - 1], path, line, error) ? -EINVAL : 1;
}

int crypt_psk_parse(const char *text, const char *path, struct crypt_psk *keys, struct crypt_error *error)
{
	unsigned int n = 0, line = 0;
	char copy[LINE_BYTES];
	int ret = 0;

	while (*text && ret >= 0) {
		size_t length = strcspn(text, "\n");

		line++;
		if (length >= sizeof(copy)) {
			crypt_error_set(error, "%s, line %u: longer than %zu characters", path, line, sizeof(copy) - 1);
			ret = -EINVAL;
			break;
		}
		memcpy(copy, text, length);
		copy[length] = 0;
		ret = parse_line(copy, path, line, keys, n, error);
		n += ret > 0 ? 1 : 0;
		text += length + (text[length] == '\n');
	}
	OPENSSL_cleanse(copy, sizeof(copy));
	if (ret >= 0 && n == 0) {
		crypt_error_set(error,
			"%s: holds no key; a line is \"KEY\" or \"ID KEY\", and \"openssl rand -hex 32\" "
			"makes a KEY",
			path);
		ret = -EINVAL;
	}
	return ret < 0 ? ret : (int)n;
}

unsigned int crypt_cred_psks(const struct crypt_cred *cred)
{
	return cred->n_psks;
}

const struct crypt_psk *crypt_cred_psk(const struct crypt_cred *cred, const char *id)
{
	for (unsigned int i = 0; i < cred->n_psks; i++)
		if (!id || same_id(cred->psks[i].id, id))
			return &cred->psks[i];
	return NULL;
}

int crypt_psk_hint(
	const struct crypt_psk *psk, bool sm, const uint8_t *covered, size_t bytes, uint8_t hint[CRYPT_MSG_HINT_BYTES])
{
	uint8_t full[CRYPT_HASH_BYTES];
	int ret = crypt_prim_mac(sm, psk->hint_key[sm], CRYPT_HASH_BYTES, covered, bytes, full);

	memcpy(hint, full, CRYPT_MSG_HINT_BYTES);
	return ret;
}

const struct crypt_psk *crypt_cred_find_psk(const struct crypt_cred *cred, const char *id, bool sm,
	const uint8_t *covered, size_t bytes, const uint8_t hint[CRYPT_MSG_HINT_BYTES])
{
	uint8_t want[CRYPT_MSG_HINT_BYTES];

	for (unsigned int i = 0; i < cred->n_psks; i++) {
		if (id && !same_id(cred->psks[i].id, id))
			continue;
		if (crypt_psk_hint(&cred->psks[i], sm, covered, bytes, want))
			continue;
		if (CRYPTO_memcmp(want, hint, sizeof(want)) == 0)
			return &cred->psks[i];
	}
	return NULL;
}
