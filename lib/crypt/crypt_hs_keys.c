/* SPDX-License-Identifier: BSD-3-Clause */
/* The key schedule and the transcript: docs/protection-handshake.md, "Keys". */
#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

#include "crypt_hs_internal.h"

int crypt_hs_absorb(struct crypt_hs *hs, uint8_t hash[CRYPT_HASH_BYTES], const uint8_t *data, size_t bytes)
{
	struct crypt_msg_bytes parts[] = {{hash, CRYPT_HASH_BYTES}, {data, bytes}};

	return crypt_prim_hash(hs->sm, parts, 2, hash);
}

/* Session ids in the order initiator, responder: an M2 that is moved to another handshake verifies nowhere. */
static int first_hash(struct crypt_hs *hs, const struct crypt_msg_response *response, const uint8_t *clear)
{
	static const char label[] = "roced handshake, version 1";
	uint8_t sessions[16];
	struct crypt_msg_bytes parts[] = {
		{(const uint8_t *)label, sizeof(label)},
		{sessions, sizeof(sessions)},
		{hs->init_body, hs->init.covered_bytes},
		{clear, response->clear_bytes},
	};

	crypt_msg_put64(sessions, hs->initiator ? hs->local_session : hs->peer_session);
	crypt_msg_put64(sessions + 8, hs->initiator ? hs->peer_session : hs->local_session);
	return crypt_prim_hash(hs->sm, parts, 4, hs->hash);
}

int crypt_hs_derive(struct crypt_hs *hs, const uint8_t secret[CRYPT_HS_SECRET_BYTES],
	const struct crypt_msg_response *response, const uint8_t *clear)
{
	struct crypt_hs_keys *keys = &hs->keys;
	struct {
		const char *label;
		const uint8_t *from;
		uint8_t *key;
	} steps[] = {
		{"roced seal i", NULL, keys->seal_i},
		{"roced seal r", NULL, keys->seal_r},
		{"roced fail i", NULL, keys->fail_i},
		{"roced fail r", NULL, keys->fail_r},
		{"roced mac i", keys->auth, keys->mac_i},
		{"roced mac r", keys->auth, keys->mac_r},
	};
	uint8_t nonces[2 * CRYPT_MSG_NONCE_BYTES], prk[CRYPT_HASH_BYTES];
	int ret;

	memcpy(nonces, hs->init.nonce, CRYPT_MSG_NONCE_BYTES);
	memcpy(nonces + CRYPT_MSG_NONCE_BYTES, response->nonce, CRYPT_MSG_NONCE_BYTES);
	ret = first_hash(hs, response, clear);
	if (!ret)
		ret = crypt_prim_mac(hs->sm, nonces, sizeof(nonces), secret, CRYPT_HS_SECRET_BYTES, prk);
	memcpy(keys->auth, prk, sizeof(prk));
	if (!ret && response->method == CRYPT_METHOD_PSK)
		ret = crypt_prim_mac(hs->sm, hs->psk->auth_key[hs->sm], CRYPT_HASH_BYTES, prk, sizeof(prk), keys->auth);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]) && !ret; i++)
		ret = crypt_prim_expand(
			hs->sm, steps[i].from ? steps[i].from : prk, steps[i].label, hs->hash, steps[i].key);
	OPENSSL_cleanse(prk, sizeof(prk));
	hs->has_keys = !ret;
	return ret;
}

int crypt_hs_finish(struct crypt_hs *hs, uint8_t confirm[CRYPT_HASH_BYTES])
{
	int ret = crypt_prim_expand(hs->sm, hs->keys.auth, "roced working key", hs->hash, hs->result.working_key);

	if (!ret)
		ret = crypt_prim_expand(hs->sm, hs->keys.auth, "roced confirm", hs->hash, confirm);
	return ret;
}

size_t crypt_hs_seal_fail(struct crypt_hs *hs, enum crypt_fail fail, uint8_t out[CRYPT_HS_NOTICE_BYTES])
{
	const uint8_t *key = hs->initiator ? hs->keys.fail_i : hs->keys.fail_r;
	struct crypt_msg_bytes no_aad = {out, 0};
	uint8_t reason = (uint8_t)fail;

	if (!hs->has_keys)
		return 0;
	crypt_msg_put64(out, hs->fail_counter);
	if (crypt_prim_seal(hs->sm, key, hs->fail_counter++, no_aad, &reason, 1, out + 8))
		return 0;
	return CRYPT_HS_NOTICE_BYTES;
}

enum crypt_fail crypt_hs_open_fail(const struct crypt_hs *hs, const uint8_t *body, size_t bytes)
{
	const uint8_t *key = hs->initiator ? hs->keys.fail_r : hs->keys.fail_i;
	struct crypt_msg_bytes no_aad = {body, 0};
	uint8_t reason;

	if (!hs->has_keys || bytes != CRYPT_HS_NOTICE_BYTES)
		return CRYPT_FAIL_NONE;
	if (crypt_prim_open(hs->sm, key, crypt_msg_get64(body), no_aad, body + 8, bytes - 8, &reason))
		return CRYPT_FAIL_NONE;
	return reason < CRYPT_FAILS ? (enum crypt_fail)reason : CRYPT_FAIL_INTERNAL;
}

const char *crypt_fail_text(enum crypt_fail fail)
{
	static const char *const texts[CRYPT_FAILS] = {
		[CRYPT_FAIL_NONE] = "no reason",
		[CRYPT_FAIL_VERSION] = "it speaks another version of the handshake",
		[CRYPT_FAIL_SUITE] = "it allows none of our suites",
		[CRYPT_FAIL_METHOD] = "it has no way of authentication in common with us (pre-shared key, certificate)",
		[CRYPT_FAIL_PSK] = "the pre-shared key differs",
		[CRYPT_FAIL_UNTRUSTED] = "it does not trust the authority of our certificate",
		[CRYPT_FAIL_EXPIRED] = "our certificate has expired by its clock",
		[CRYPT_FAIL_NOT_YET_VALID] = "our certificate is not valid yet by its clock",
		[CRYPT_FAIL_NAME] = "our certificate has none of the names that it requires of us",
		[CRYPT_FAIL_SIGNATURE] = "our signature does not verify with our certificate",
		[CRYPT_FAIL_ID] = "it expects another endpoint id at our address",
		[CRYPT_FAIL_INTERNAL] = "it has a problem of its own",
	};

	return (unsigned int)fail < CRYPT_FAILS ? texts[fail] : "a reason of a later version";
}
