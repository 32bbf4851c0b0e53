/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CRYPT_HS_INTERNAL_H
#define CRYPT_HS_INTERNAL_H

#include "crypt_hs.h"

#define CRYPT_HS_INIT_BYTES 384 /* more than the longest M1 */

enum crypt_hs_state {
	CRYPT_HS_WAIT_RESPONSE, /* initiator, M1 is out */
	CRYPT_HS_WAIT_CONFIRM,  /* initiator, M3 is out */
	CRYPT_HS_WAIT_AUTH,     /* responder, M2 is out */
	CRYPT_HS_DONE
};

/* All keys of the handshake itself; they are gone when it ends. */
struct crypt_hs_keys {
	uint8_t auth[CRYPT_HASH_BYTES];   /* the secret, with the pre-shared key mixed in */
	uint8_t seal_i[CRYPT_HASH_BYTES]; /* payload of M3 */
	uint8_t seal_r[CRYPT_HASH_BYTES]; /* payloads of M2 and M4 */
	uint8_t fail_i[CRYPT_HASH_BYTES]; /* notices */
	uint8_t fail_r[CRYPT_HASH_BYTES];
	uint8_t mac_i[CRYPT_HASH_BYTES];
	uint8_t mac_r[CRYPT_HASH_BYTES];
};

struct crypt_hs {
	const struct crypt_hs_config *config;
	const struct crypt_psk *psk;
	enum crypt_hs_state state;
	bool initiator;
	bool sm;
	bool has_keys;
	bool has_result;
	uint64_t local_session;
	uint64_t peer_session;
	uint64_t fail_counter;
	struct crypt_ecdh *ecdh[2]; /* initiator: one a share of M1 */
	struct crypt_msg_init init;
	uint8_t init_body[CRYPT_HS_INIT_BYTES];
	size_t init_bytes;
	struct crypt_hs_keys keys;
	uint8_t hash[CRYPT_HASH_BYTES]; /* of the transcript so far */
	uint8_t *message;               /* what to send; OPENSSL_malloc()ed */
	size_t message_bytes;
	struct crypt_hs_result result;
};

/* crypt_hs_keys.c */

/* Derives the handshake's keys and the first hash from M1, the clear part of M2 and the ECDH secret. */
int crypt_hs_derive(struct crypt_hs *hs, const uint8_t secret[CRYPT_HS_SECRET_BYTES],
	const struct crypt_msg_response *response, const uint8_t *clear);
/* hash = H(hash || data) */
int crypt_hs_absorb(struct crypt_hs *hs, uint8_t hash[CRYPT_HASH_BYTES], const uint8_t *data, size_t bytes);
/* The working key and the MAC of M4, from the hash of all that was said. */
int crypt_hs_finish(struct crypt_hs *hs, uint8_t confirm[CRYPT_HASH_BYTES]);

/* crypt_hs_auth.c */

/*
 * Makes our payload of M2 or M3 (@own_role: initiator), sealed, behind the @clear_bytes that @message begins with;
 * the transcript goes on with it.
 */
int crypt_hs_make_payload(struct crypt_hs *hs, uint32_t spi_base, uint8_t *message, size_t *message_bytes, size_t cap);
/* Opens and checks the peer's. The transcript goes on only if all is right. As crypt_hs_take_response(). */
int crypt_hs_check_payload(
	struct crypt_hs *hs, const uint8_t *sealed, size_t bytes, int64_t wall_s, struct crypt_hs_error *why);

/* Takes @bytes of @data as the message to send. 0 or -ENOMEM. */
int crypt_hs_set_message(struct crypt_hs *hs, const uint8_t *data, size_t bytes);
/* Sets @why; for returns. */
int crypt_hs_refuse(struct crypt_hs_error *why, enum crypt_fail fail, const char *text);

#endif
