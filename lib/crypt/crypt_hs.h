/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One key handshake, as one side sees it: an ephemeral Diffie-Hellman exchange authenticated by signatures and MACs
 * over its transcript (the SIGMA-I pattern), three messages and a confirmation. docs/protection-handshake.md has the
 * protocol. Pure: no time, no retransmission, no fragments; crypt_assoc adds them.
 *
 * A message that does not verify changes nothing: the handshake goes on waiting for one that does.
 */
#ifndef CRYPT_HS_H
#define CRYPT_HS_H

#include "crypt_cred.h"

/* What one association wants of its handshakes. All that is pointed at outlives them. */
struct crypt_hs_config {
	const struct crypt_cred *cred;
	unsigned int n_suites;
	uint8_t suites[CRYPT_SUITES]; /* enum crypt_suite, best first; the responder's order decides */
	uint8_t methods;              /* CRYPT_METHOD_*: what is good enough; certificates go first */
	uint16_t lanes;               /* own transmitting workers, 1 .. CRYPT_MSG_LANES */
	const char
		*psk_id; /* the key for this peer; NULL: of all that there are the first one to send, any to receive */
	const char *const *peer_names;   /* one of them has to be in the peer's certificate */
	unsigned int n_peer_names;       /* 0: any */
	struct crypt_msg_bytes local_id; /* the endpoints' ids, 1 .. CRYPT_MSG_ID_BYTES, differing: their addresses */
	struct crypt_msg_bytes peer_id;  /* 0 bytes: any */
};

/* What a handshake ends in. Wipe it after use. */
struct crypt_hs_result {
	uint8_t working_key[CRYPT_HASH_BYTES];
	enum crypt_suite suite;
	enum crypt_msg_method method;
	bool initiator;
	uint16_t lanes;
	uint16_t peer_lanes;
	uint32_t spi_base;      /* we receive the peer's lane L with spi_base + L */
	uint32_t peer_spi_base; /* and send our lane L with peer_spi_base + L */
	uint64_t session;
	uint64_t peer_session;
	uint64_t generation;
	uint8_t nonce[CRYPT_MSG_NONCE_BYTES]; /* the initiator's */
	uint8_t peer_id[CRYPT_MSG_ID_BYTES];
	size_t peer_id_bytes;
};

struct crypt_hs;

/* Why a function did not go on: a reason to tell the peer, and a text for people here. */
struct crypt_hs_error {
	enum crypt_fail fail;
	struct crypt_error error;
};

/*
 * Begins a handshake and makes M1, with what the caller knows of earlier ones: @generation is larger than that of any
 * association before. NULL with @why set.
 */
struct crypt_hs *crypt_hs_initiate(
	const struct crypt_hs_config *config, uint64_t generation, struct crypt_hs_error *why);

/* A part of M1 that the peer wants to see, so that it knows our address is ours. */
void crypt_hs_set_cookie(struct crypt_hs *hs, const uint8_t cookie[CRYPT_MSG_COOKIE_BYTES]);

/*
 * Answers M1 (@from: its sender's session id) and makes M2. @generation: as above; the larger one is taken. @spi_base:
 * where the peer's lanes are to send. NULL with @why set; CRYPT_FAIL_NONE: not a message to answer at all.
 */
struct crypt_hs *crypt_hs_respond(const struct crypt_hs_config *config, uint64_t from, const uint8_t *body,
	size_t bytes, const struct crypt_msg_init *init, uint64_t generation, uint32_t spi_base,
	struct crypt_hs_error *why);
/* How many bytes M2 would have for @init, at least; and whether there is anything to answer it with. */
size_t crypt_hs_response_bytes(const struct crypt_hs_config *config, const struct crypt_msg_init *init);

/*
 * The initiator takes M2 and makes M3 and the result; the responder takes M3 and makes M4 and the result. 0;
 * -EBADMSG for bytes that are not of this handshake (forged, damaged, out of place); -EACCES with @why set when the
 * peer is not who it has to be. @wall_s: seconds since 1970, for certificates.
 */
int crypt_hs_take_response(struct crypt_hs *hs, uint64_t from, const uint8_t *body, size_t bytes, uint32_t spi_base,
	int64_t wall_s, struct crypt_hs_error *why);
int crypt_hs_take_auth(
	struct crypt_hs *hs, const uint8_t *body, size_t bytes, int64_t wall_s, struct crypt_hs_error *why);
/* The initiator takes M4: the peer has the keys. 0 or -EBADMSG. */
int crypt_hs_take_confirm(struct crypt_hs *hs, uint64_t from, const uint8_t *body, size_t bytes);

/* The message to send, and to send again until the next one comes. Valid till the next call. */
struct crypt_msg_bytes crypt_hs_message(const struct crypt_hs *hs, struct crypt_msg_header *header);

/* NULL before there is one: after M2 for the initiator, after M3 for the responder. */
const struct crypt_hs_result *crypt_hs_result(const struct crypt_hs *hs);
uint64_t crypt_hs_session(const struct crypt_hs *hs);
const uint8_t *crypt_hs_nonce(const struct crypt_hs *hs); /* the initiator's */
uint64_t crypt_hs_generation(const struct crypt_hs *hs);  /* once M2 has settled it */

/* A notice under this handshake's keys: CRYPT_HS_NOTICE_BYTES, 0 bytes when there are no keys yet. */
#define CRYPT_HS_NOTICE_BYTES (8 + 1 + CRYPT_HS_TAG_BYTES)
size_t crypt_hs_seal_fail(struct crypt_hs *hs, enum crypt_fail fail, uint8_t out[CRYPT_HS_NOTICE_BYTES]);
/* The reason, or CRYPT_FAIL_NONE when it is not the peer's notice. */
enum crypt_fail crypt_hs_open_fail(const struct crypt_hs *hs, const uint8_t *body, size_t bytes);

/* What a reason means, as the end of "the peer refuses: ". */
const char *crypt_fail_text(enum crypt_fail fail);

/* Wipes and frees. NULL is allowed. */
void crypt_hs_free(struct crypt_hs *hs);

#endif
