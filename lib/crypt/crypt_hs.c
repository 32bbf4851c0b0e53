/* SPDX-License-Identifier: BSD-3-Clause */
/* What both sides of a handshake have in common, and the initiator. */
#include "crypt_hs.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

#include "crypt_hs_internal.h"
#include "crypt_mem.h"

int crypt_hs_set_message(struct crypt_hs *hs, const uint8_t *data, size_t bytes)
{
	uint8_t *message = OPENSSL_memdup(data, bytes);

	if (!message)
		return -ENOMEM;
	OPENSSL_clear_free(hs->message, hs->message_bytes);
	hs->message = message;
	hs->message_bytes = bytes;
	return 0;
}

void crypt_hs_free(struct crypt_hs *hs)
{
	if (!hs)
		return;
	crypt_ecdh_free(hs->ecdh[0]);
	crypt_ecdh_free(hs->ecdh[1]);
	OPENSSL_clear_free(hs->message, hs->message_bytes);
	crypt_mem_free(hs, sizeof(*hs));
}

struct crypt_msg_bytes crypt_hs_message(const struct crypt_hs *hs, struct crypt_msg_header *header)
{
	static const uint8_t types[] = {
		[CRYPT_HS_WAIT_RESPONSE] = CRYPT_MSG_INIT,
		[CRYPT_HS_WAIT_CONFIRM] = CRYPT_MSG_AUTH,
		[CRYPT_HS_WAIT_AUTH] = CRYPT_MSG_RESPONSE,
	};

	*header = (struct crypt_msg_header){
		.type = hs->state != CRYPT_HS_DONE ? types[hs->state]
			: hs->initiator            ? CRYPT_MSG_AUTH
						   : CRYPT_MSG_CONFIRM,
		.from = hs->local_session,
		.to = hs->peer_session,
	};
	return (struct crypt_msg_bytes){hs->message, hs->message_bytes};
}

const struct crypt_hs_result *crypt_hs_result(const struct crypt_hs *hs)
{
	return hs->has_result ? &hs->result : NULL;
}

uint64_t crypt_hs_session(const struct crypt_hs *hs)
{
	return hs->local_session;
}

const uint8_t *crypt_hs_nonce(const struct crypt_hs *hs)
{
	return hs->init.nonce;
}

uint64_t crypt_hs_generation(const struct crypt_hs *hs)
{
	return hs->result.generation;
}

static bool offers(const struct crypt_hs_config *config, bool sm)
{
	for (unsigned int i = 0; i < config->n_suites; i++)
		if (crypt_prim_is_sm(config->suites[i]) == sm)
			return true;
	return false;
}

/* M1: an ephemeral key for each curve that a suite on offer needs, so that no suite costs another round trip. */
static int make_init(struct crypt_hs *hs, uint64_t generation)
{
	const struct crypt_hs_config *config = hs->config;
	struct crypt_msg_init *init = &hs->init;
	bool sm_only = !offers(config, false);

	init->methods = config->methods;
	init->n_suites = (uint8_t)config->n_suites;
	memcpy(init->suites, config->suites, config->n_suites);
	init->lanes = config->lanes;
	init->generation = generation;
	if (crypt_prim_random(init->nonce, sizeof(init->nonce)))
		return -EIO;
	for (int sm = 0; sm < 2; sm++) {
		if (!offers(config, sm))
			continue;
		hs->ecdh[sm] = crypt_ecdh_new(sm ? CRYPT_GROUP_SM2 : CRYPT_GROUP_X25519, &init->shares[sm]);
		if (!hs->ecdh[sm])
			return -EIO;
	}
	hs->init_bytes = crypt_msg_put_init(init, hs->init_body, sizeof(hs->init_body));
	if (hs->init_bytes == 0)
		return -EINVAL;
	if (hs->psk && crypt_psk_hint(hs->psk, sm_only, hs->init_body, init->hint_at, init->hint))
		return -EIO;
	hs->init_bytes = crypt_msg_put_init(init, hs->init_body, sizeof(hs->init_body));
	return crypt_hs_set_message(hs, hs->init_body, hs->init_bytes);
}

struct crypt_hs *crypt_hs_initiate(
	const struct crypt_hs_config *config, uint64_t generation, struct crypt_hs_error *why)
{
	struct crypt_hs *hs = crypt_mem_new(sizeof(*hs));

	if (!hs) {
		crypt_hs_refuse(why, CRYPT_FAIL_INTERNAL, "no memory for a handshake");
		return NULL;
	}
	hs->config = config;
	hs->initiator = true;
	hs->state = CRYPT_HS_WAIT_RESPONSE;
	hs->psk = (config->methods & CRYPT_METHOD_PSK) != 0 ? crypt_cred_psk(config->cred, config->psk_id) : NULL;
	if (crypt_prim_random(&hs->local_session, sizeof(hs->local_session)) || hs->local_session == 0 ||
		make_init(hs, generation)) {
		crypt_hs_refuse(why, CRYPT_FAIL_INTERNAL, "libcrypto could not make keys for a handshake");
		crypt_hs_free(hs);
		return NULL;
	}
	return hs;
}

void crypt_hs_set_cookie(struct crypt_hs *hs, const uint8_t cookie[CRYPT_MSG_COOKIE_BYTES])
{
	size_t bytes;

	if (hs->state != CRYPT_HS_WAIT_RESPONSE)
		return;
	hs->init.cookie_bytes = CRYPT_MSG_COOKIE_BYTES;
	memcpy(hs->init.cookie, cookie, CRYPT_MSG_COOKIE_BYTES);
	bytes = crypt_msg_put_init(&hs->init, hs->init_body, sizeof(hs->init_body));
	if (bytes != 0 && !crypt_hs_set_message(hs, hs->init_body, bytes))
		hs->init_bytes = bytes;
}

/* What was selected has to be of our offer: the transcript would show it, but why go on. */
static bool was_offered(const struct crypt_hs *hs, const struct crypt_msg_response *response)
{
	const struct crypt_hs_config *config = hs->config;
	bool sm = crypt_prim_is_sm(response->suite), suite = false;

	for (unsigned int i = 0; i < config->n_suites; i++)
		suite = suite || config->suites[i] == response->suite;
	if (!suite || (config->methods & response->method) == 0 || response->generation < hs->init.generation)
		return false;
	if (response->method == CRYPT_METHOD_PSK && !hs->psk)
		return false;
	if (response->method == CRYPT_METHOD_CERT && !crypt_cred_has_cert(config->cred))
		return false;
	return response->share.group == hs->init.shares[sm].group;
}

static int derive_from_response(struct crypt_hs *hs, const struct crypt_msg_response *response, const uint8_t *body)
{
	uint8_t secret[CRYPT_HS_SECRET_BYTES];
	int ret;

	hs->sm = crypt_prim_is_sm(response->suite);
	hs->result.suite = response->suite;
	hs->result.method = response->method;
	hs->result.generation = response->generation;
	ret = crypt_ecdh_derive(hs->ecdh[hs->sm], &response->share, secret);
	if (!ret)
		ret = crypt_hs_derive(hs, secret, response, body);
	OPENSSL_cleanse(secret, sizeof(secret));
	return ret;
}

/* M3, and the result: the transcript is complete now. */
static int make_auth(struct crypt_hs *hs, uint32_t spi_base)
{
	uint8_t *message = OPENSSL_malloc(CRYPT_MSG_BODY_BYTES), confirm[CRYPT_HASH_BYTES];
	size_t bytes = 0;
	int ret = message ? crypt_hs_make_payload(hs, spi_base, message, &bytes, CRYPT_MSG_BODY_BYTES) : -ENOMEM;

	if (!ret)
		ret = crypt_hs_finish(hs, confirm);
	OPENSSL_cleanse(confirm, sizeof(confirm));
	if (!ret)
		ret = crypt_hs_set_message(hs, message, bytes);
	OPENSSL_clear_free(message, CRYPT_MSG_BODY_BYTES);
	return ret;
}

int crypt_hs_take_response(struct crypt_hs *hs, uint64_t from, const uint8_t *body, size_t bytes, uint32_t spi_base,
	int64_t wall_s, struct crypt_hs_error *why)
{
	struct crypt_msg_response response;
	int ret;

	why->fail = CRYPT_FAIL_NONE;
	if (hs->state != CRYPT_HS_WAIT_RESPONSE || from == 0 || crypt_msg_get_response(&response, body, bytes))
		return -EBADMSG;
	if (!was_offered(hs, &response))
		return -EBADMSG;
	hs->peer_session = from;
	ret = derive_from_response(hs, &response, body);
	if (!ret)
		ret = crypt_hs_check_payload(
			hs, body + response.clear_bytes, bytes - response.clear_bytes, wall_s, why);
	if (!ret && make_auth(hs, spi_base))
		ret = crypt_hs_refuse(why, CRYPT_FAIL_INTERNAL, "libcrypto could not make our proof");
	if (ret)
		return ret;
	hs->result.initiator = true;
	hs->result.lanes = hs->config->lanes;
	hs->result.spi_base = spi_base;
	hs->result.session = hs->local_session;
	hs->result.peer_session = hs->peer_session;
	memcpy(hs->result.nonce, hs->init.nonce, sizeof(hs->result.nonce));
	hs->has_result = true;
	hs->state = CRYPT_HS_WAIT_CONFIRM;
	return 0;
}

int crypt_hs_take_confirm(struct crypt_hs *hs, uint64_t from, const uint8_t *body, size_t bytes)
{
	uint8_t want[CRYPT_HASH_BYTES], got[CRYPT_HASH_BYTES];
	int ret;

	if (hs->state != CRYPT_HS_WAIT_CONFIRM || from != hs->peer_session || bytes != sizeof(got) + CRYPT_HS_TAG_BYTES)
		return -EBADMSG;
	ret = crypt_prim_open(
		hs->sm, hs->keys.seal_r, 1, (struct crypt_msg_bytes){hs->hash, sizeof(hs->hash)}, body, bytes, got);
	if (!ret)
		ret = crypt_hs_finish(hs, want);
	if (!ret)
		ret = CRYPTO_memcmp(want, got, sizeof(got)) == 0 ? 0 : -EBADMSG;
	OPENSSL_cleanse(want, sizeof(want));
	OPENSSL_cleanse(got, sizeof(got));
	if (!ret)
		hs->state = CRYPT_HS_DONE;
	return ret ? -EBADMSG : 0;
}
