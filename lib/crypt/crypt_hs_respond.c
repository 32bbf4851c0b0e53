/* SPDX-License-Identifier: BSD-3-Clause */
/* The responder: M2 from M1, M4 from M3. */
#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

#include "crypt_hs_internal.h"
#include "crypt_mem.h"

/* More than M2 has beside certificates and a signature, and than a signature has. */
#define RESPONSE_BYTES  320
#define SIGNATURE_BYTES 112

struct choice {
	enum crypt_suite suite;
	enum crypt_msg_method method;
	const struct crypt_psk *psk;
};

/* A suite that both allow, by our order of preference, with the ephemeral key that it needs. */
static bool choose_suite(const struct crypt_hs_config *config, const struct crypt_msg_init *init, struct choice *choice)
{
	for (unsigned int i = 0; i < config->n_suites; i++) {
		bool sm = crypt_prim_is_sm(config->suites[i]);
		uint8_t group = sm ? CRYPT_GROUP_SM2 : CRYPT_GROUP_X25519;

		for (unsigned int k = 0; k < init->n_suites; k++) {
			if (init->suites[k] != config->suites[i])
				continue;
			if (init->shares[0].group != group && init->shares[1].group != group)
				continue;
			choice->suite = config->suites[i];
			return true;
		}
	}
	return false;
}

static bool sm_only(const struct crypt_msg_init *init)
{
	for (unsigned int k = 0; k < init->n_suites; k++)
		if (!crypt_prim_is_sm(init->suites[k]))
			return false;
	return true;
}

/* Cheap: no curve is touched before this is settled, and no stranger to a pre-shared key gets past it. */
static bool choose(const struct crypt_hs_config *config, const uint8_t *body, const struct crypt_msg_init *init,
	struct choice *choice, struct crypt_hs_error *why)
{
	uint8_t common = init->methods & config->methods;

	if (!choose_suite(config, init, choice)) {
		crypt_hs_refuse(why, CRYPT_FAIL_SUITE, "it offers none of the suites that are allowed here");
		return false;
	}
	choice->psk = NULL;
	choice->method = CRYPT_METHOD_CERT;
	if ((common & CRYPT_METHOD_CERT) != 0 && crypt_cred_has_cert(config->cred))
		return true;
	choice->method = CRYPT_METHOD_PSK;
	if ((common & CRYPT_METHOD_PSK) == 0 || crypt_cred_psks(config->cred) == 0) {
		crypt_hs_refuse(why, CRYPT_FAIL_METHOD,
			"it has no way of authentication that is allowed here (pre-shared key, "
			"certificate)");
		return false;
	}
	choice->psk = crypt_cred_find_psk(config->cred, config->psk_id, sm_only(init), body, init->hint_at, init->hint);
	if (choice->psk)
		return true;
	crypt_hs_refuse(why, CRYPT_FAIL_PSK,
		config->psk_id ? "its pre-shared key is not the one that is set for it here; both need the same line"
			       : "its pre-shared key is none of those in the file here; both need the same line");
	return false;
}

size_t crypt_hs_response_bytes(const struct crypt_hs_config *config, const struct crypt_msg_init *init)
{
	size_t bytes = RESPONSE_BYTES;
	struct crypt_msg_bytes certs[CRYPT_MSG_CERTS];

	if ((init->methods & config->methods & CRYPT_METHOD_CERT) == 0 || !crypt_cred_has_cert(config->cred))
		return bytes;
	bytes += SIGNATURE_BYTES;
	for (unsigned int n = crypt_cred_chain(config->cred, certs); n > 0; n--)
		bytes += certs[n - 1].bytes;
	return bytes;
}

/* Our ephemeral key lives as long as this function. */
static int exchange(struct crypt_hs *hs, struct crypt_msg_response *response, uint8_t *body, size_t *bytes)
{
	uint8_t group = hs->sm ? CRYPT_GROUP_SM2 : CRYPT_GROUP_X25519, secret[CRYPT_HS_SECRET_BYTES];
	struct crypt_ecdh *ecdh = crypt_ecdh_new(group, &response->share);
	int ret = ecdh ? 0 : -EIO;

	if (!ret)
		ret = crypt_ecdh_derive(ecdh, &hs->init.shares[hs->init.shares[0].group == group ? 0 : 1], secret);
	if (!ret) {
		*bytes = crypt_msg_put_response(response, body, CRYPT_MSG_BODY_BYTES);
		ret = *bytes > 0 ? crypt_hs_derive(hs, secret, response, body) : -EINVAL;
	}
	OPENSSL_cleanse(secret, sizeof(secret));
	crypt_ecdh_free(ecdh);
	return ret;
}

static int make_response(struct crypt_hs *hs, uint32_t spi_base)
{
	struct crypt_msg_response response = {
		.suite = (uint8_t)hs->result.suite,
		.method = (uint8_t)hs->result.method,
		.generation = hs->result.generation,
	};
	uint8_t *body = OPENSSL_malloc(CRYPT_MSG_BODY_BYTES);
	size_t bytes = 0;
	int ret = body ? crypt_prim_random(response.nonce, sizeof(response.nonce)) : -ENOMEM;

	if (!ret)
		ret = exchange(hs, &response, body, &bytes);
	if (!ret)
		ret = crypt_hs_make_payload(hs, spi_base, body, &bytes, CRYPT_MSG_BODY_BYTES);
	if (!ret)
		ret = crypt_hs_set_message(hs, body, bytes);
	OPENSSL_clear_free(body, CRYPT_MSG_BODY_BYTES);
	return ret;
}

struct crypt_hs *crypt_hs_respond(const struct crypt_hs_config *config, uint64_t from, const uint8_t *body,
	size_t bytes, const struct crypt_msg_init *init, uint64_t generation, uint32_t spi_base,
	struct crypt_hs_error *why)
{
	struct choice choice;
	struct crypt_hs *hs;
	int ret = -EIO;

	why->fail = CRYPT_FAIL_NONE;
	if (from == 0 || bytes > CRYPT_HS_INIT_BYTES || init->generation == UINT64_MAX)
		return NULL;
	if (!choose(config, body, init, &choice, why))
		return NULL;
	hs = crypt_mem_new(sizeof(*hs));
	if (!hs) {
		crypt_hs_refuse(why, CRYPT_FAIL_INTERNAL, "no memory for a handshake");
		return NULL;
	}
	hs->config = config;
	hs->psk = choice.psk;
	hs->state = CRYPT_HS_WAIT_AUTH;
	hs->sm = crypt_prim_is_sm(choice.suite);
	hs->peer_session = from;
	hs->init = *init;
	memcpy(hs->init_body, body, bytes);
	hs->init_bytes = bytes;
	hs->result = (struct crypt_hs_result){
		.suite = choice.suite,
		.method = choice.method,
		.lanes = config->lanes,
		.spi_base = spi_base,
		.generation = generation > init->generation ? generation : init->generation,
	};
	if (!crypt_prim_random(&hs->local_session, sizeof(hs->local_session)) && hs->local_session != 0)
		ret = make_response(hs, spi_base);
	if (!ret)
		return hs;
	if (ret != -EBADMSG) /* a bad public key is no problem of ours, and nothing to answer */
		crypt_hs_refuse(why, CRYPT_FAIL_INTERNAL, "libcrypto could not make our proof");
	crypt_hs_free(hs);
	return NULL;
}

/* M4: the proof that we have the working key. */
static int make_confirm(struct crypt_hs *hs)
{
	uint8_t body[CRYPT_HASH_BYTES + CRYPT_HS_TAG_BYTES];
	int ret = crypt_hs_finish(hs, body);

	if (!ret)
		ret = crypt_prim_seal(hs->sm, hs->keys.seal_r, 1, (struct crypt_msg_bytes){hs->hash, sizeof(hs->hash)},
			body, CRYPT_HASH_BYTES, body);
	if (!ret)
		ret = crypt_hs_set_message(hs, body, sizeof(body));
	OPENSSL_cleanse(body, sizeof(body));
	return ret;
}

int crypt_hs_take_auth(
	struct crypt_hs *hs, const uint8_t *body, size_t bytes, int64_t wall_s, struct crypt_hs_error *why)
{
	int ret;

	why->fail = CRYPT_FAIL_NONE;
	if (hs->state != CRYPT_HS_WAIT_AUTH)
		return -EBADMSG;
	ret = crypt_hs_check_payload(hs, body, bytes, wall_s, why);
	if (!ret && hs->result.peer_lanes != hs->init.lanes)
		return -EBADMSG;
	if (!ret && make_confirm(hs))
		ret = crypt_hs_refuse(why, CRYPT_FAIL_INTERNAL, "libcrypto could not confirm the keys");
	if (ret)
		return ret;
	hs->result.session = hs->local_session;
	hs->result.peer_session = hs->peer_session;
	memcpy(hs->result.nonce, hs->init.nonce, sizeof(hs->result.nonce));
	hs->has_result = true;
	hs->state = CRYPT_HS_DONE;
	return 0;
}
