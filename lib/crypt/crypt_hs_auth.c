/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sealed payloads of M2 and M3: who a side is, and its proof. The proof is a signature over the transcript, which
 * holds both nonces and both ephemeral keys (certificates only), and a MAC over transcript and signature that binds the
 * identity to the secret (SIGMA; with a pre-shared key the MAC alone is the proof).
 */
#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

#include "crypt_hs_internal.h"

#define SIGN_LABEL_BYTES 32

struct to_sign {
	char label[SIGN_LABEL_BYTES];
	uint8_t hash[CRYPT_HASH_BYTES];
};

static struct crypt_msg_bytes what_to_sign(struct to_sign *sign, bool by_initiator, const uint8_t *hash)
{
	memset(sign, 0, sizeof(*sign));
	strcpy(sign->label, by_initiator ? "roced handshake 1, initiator" : "roced handshake 1, responder");
	memcpy(sign->hash, hash, CRYPT_HASH_BYTES);
	return (struct crypt_msg_bytes){(const uint8_t *)sign, sizeof(*sign)};
}

static int proof_mac(struct crypt_hs *hs, bool by_initiator, const uint8_t *hash, struct crypt_msg_bytes signature,
	uint8_t mac[CRYPT_HASH_BYTES])
{
	uint8_t data[CRYPT_HASH_BYTES + CRYPT_MSG_SIGNATURE_MAX];

	memcpy(data, hash, CRYPT_HASH_BYTES);
	if (signature.bytes > 0)
		memcpy(data + CRYPT_HASH_BYTES, signature.data, signature.bytes);
	return crypt_prim_mac(hs->sm, by_initiator ? hs->keys.mac_i : hs->keys.mac_r, CRYPT_HASH_BYTES, data,
		CRYPT_HASH_BYTES + signature.bytes, mac);
}

int crypt_hs_make_payload(struct crypt_hs *hs, uint32_t spi_base, uint8_t *message, size_t *message_bytes, size_t cap)
{
	const struct crypt_hs_config *config = hs->config;
	uint8_t *plain = message + *message_bytes, signature[CRYPT_MSG_SIGNATURE_MAX], aad[CRYPT_HASH_BYTES];
	struct crypt_msg_payload payload = {.id = config->local_id, .lanes = config->lanes, .spi_base = spi_base};
	size_t left = cap - *message_bytes - CRYPT_HS_TAG_BYTES, n, proof;
	struct to_sign sign;
	int ret;

	memcpy(aad, hs->hash, sizeof(aad));
	if (hs->result.method == CRYPT_METHOD_CERT)
		payload.n_certs = crypt_cred_chain(config->cred, payload.certs);
	n = crypt_msg_put_payload(&payload, plain, left);
	if (n == 0)
		return -EMSGSIZE;
	ret = crypt_hs_absorb(hs, hs->hash, plain, n);
	if (!ret && hs->result.method == CRYPT_METHOD_CERT) {
		struct crypt_msg_bytes data = what_to_sign(&sign, hs->initiator, hs->hash);

		payload.signature.data = signature;
		ret = crypt_cred_sign(config->cred, data.data, data.bytes, signature, &payload.signature.bytes);
	}
	if (!ret)
		ret = proof_mac(hs, hs->initiator, hs->hash, payload.signature, payload.mac);
	if (ret)
		return ret;
	proof = crypt_msg_put_proof(&payload, plain + n, left - n);
	if (proof == 0)
		return -EMSGSIZE;
	ret = crypt_hs_absorb(hs, hs->hash, plain + n, proof);
	if (!ret)
		ret = crypt_prim_seal(hs->sm, hs->initiator ? hs->keys.seal_i : hs->keys.seal_r, 0,
			(struct crypt_msg_bytes){aad, sizeof(aad)}, plain, n + proof, plain);
	*message_bytes += n + proof + CRYPT_HS_TAG_BYTES;
	return ret;
}

int crypt_hs_refuse(struct crypt_hs_error *why, enum crypt_fail fail, const char *text)
{
	why->fail = fail;
	crypt_error_set(&why->error, "%s", text);
	return -EACCES;
}

/* The proof; the signature first, so that its reason is told rather than that of the MAC, which fails with it. */
static int check_proof(struct crypt_hs *hs, const struct crypt_msg_payload *payload, const uint8_t *hash,
	int64_t wall_s, struct crypt_hs_error *why)
{
	const struct crypt_hs_config *config = hs->config;
	struct crypt_cred_peer peer = {config->peer_names, config->n_peer_names, wall_s};
	struct to_sign sign;
	uint8_t mac[CRYPT_HASH_BYTES];

	if (hs->result.method == CRYPT_METHOD_CERT) {
		why->fail = crypt_cred_verify(config->cred, &peer, payload->certs, payload->n_certs,
			what_to_sign(&sign, !hs->initiator, hash), payload->signature, &why->error);
		if (why->fail != CRYPT_FAIL_NONE)
			return -EACCES;
	} else if (payload->n_certs != 0 || payload->signature.bytes != 0) {
		return -EBADMSG;
	}
	if (proof_mac(hs, !hs->initiator, hash, payload->signature, mac))
		return crypt_hs_refuse(why, CRYPT_FAIL_INTERNAL, "libcrypto could not make a MAC");
	if (CRYPTO_memcmp(mac, payload->mac, sizeof(mac)) == 0)
		return 0;
	if (hs->result.method == CRYPT_METHOD_CERT)
		return crypt_hs_refuse(why, CRYPT_FAIL_SIGNATURE, "its proof is not of this handshake");
	return crypt_hs_refuse(
		why, CRYPT_FAIL_PSK, "the pre-shared key differs from the peer's; both need the same line");
}

static int check_id(const struct crypt_hs *hs, const struct crypt_msg_payload *payload, struct crypt_hs_error *why)
{
	const struct crypt_msg_bytes *want = &hs->config->peer_id, *own = &hs->config->local_id, *id = &payload->id;

	/* Somebody sends our own messages back to us, or two hosts have one address. */
	if (id->bytes == own->bytes && memcmp(id->data, own->data, id->bytes) == 0)
		return crypt_hs_refuse(
			why, CRYPT_FAIL_ID, "it has our own endpoint id; ids (addresses) have to differ");
	if (want->bytes != 0 && (id->bytes != want->bytes || memcmp(id->data, want->data, id->bytes) != 0))
		return crypt_hs_refuse(why, CRYPT_FAIL_ID,
			"its endpoint id is not the one expected at its address; is there "
			"address translation between us, or another host with this address?");
	return 0;
}

static void keep(struct crypt_hs *hs, const struct crypt_msg_payload *payload)
{
	hs->result.peer_lanes = payload->lanes;
	hs->result.peer_spi_base = payload->spi_base;
	hs->result.peer_id_bytes = payload->id.bytes;
	memcpy(hs->result.peer_id, payload->id.data, payload->id.bytes);
}

int crypt_hs_check_payload(
	struct crypt_hs *hs, const uint8_t *sealed, size_t bytes, int64_t wall_s, struct crypt_hs_error *why)
{
	const uint8_t *key = hs->initiator ? hs->keys.seal_r : hs->keys.seal_i;
	uint8_t *plain, hash[CRYPT_HASH_BYTES];
	struct crypt_msg_payload payload;
	int ret = -EBADMSG;

	if (bytes < CRYPT_HS_TAG_BYTES || bytes > CRYPT_MSG_BODY_BYTES)
		return -EBADMSG;
	plain = OPENSSL_malloc(bytes);
	if (!plain)
		return -ENOMEM;
	memcpy(hash, hs->hash, sizeof(hash));
	ret = crypt_prim_open(hs->sm, key, 0, (struct crypt_msg_bytes){hash, sizeof(hash)}, sealed, bytes, plain);
	bytes -= CRYPT_HS_TAG_BYTES;
	if (!ret)
		ret = crypt_msg_get_payload(&payload, plain, bytes);
	if (!ret)
		ret = crypt_hs_absorb(hs, hash, plain, payload.signed_bytes);
	if (!ret)
		ret = check_proof(hs, &payload, hash, wall_s, why);
	if (!ret)
		ret = check_id(hs, &payload, why);
	if (!ret)
		ret = crypt_hs_absorb(hs, hash, plain + payload.signed_bytes, bytes - payload.signed_bytes);
	if (!ret) {
		keep(hs, &payload);
		memcpy(hs->hash, hash, sizeof(hash));
	}
	OPENSSL_clear_free(plain, bytes + CRYPT_HS_TAG_BYTES);
	return ret;
}
