/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The datagrams of the key handshake and of the control channel, byte by byte (docs/protection-handshake.md). Only
 * encoding and decoding: what a field means is decided by crypt_hs and crypt_assoc. All integers are big endian.
 *
 * A message is a header and a body. It travels in one datagram, or, when its body is longer than
 * CRYPT_MSG_FRAGMENT_BYTES, in several with the same header but for the fragment's number.
 */
#ifndef CRYPT_MSG_H
#define CRYPT_MSG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "crypt_cipher.h"

#define CRYPT_MSG_VERSION        1
#define CRYPT_MSG_HEADER_BYTES   20
#define CRYPT_MSG_FRAGMENT_BYTES 1180 /* of a body, in every fragment but the last one */
#define CRYPT_MSG_DATAGRAM_BYTES (CRYPT_MSG_HEADER_BYTES + CRYPT_MSG_FRAGMENT_BYTES)
#define CRYPT_MSG_FRAGMENTS      14
#define CRYPT_MSG_BODY_BYTES     16384 /* of a whole message */

#define CRYPT_MSG_NONCE_BYTES   32
#define CRYPT_MSG_HINT_BYTES    16
#define CRYPT_MSG_COOKIE_BYTES  17 /* which secret, and 16 bytes of MAC */
#define CRYPT_MSG_SHARE_BYTES   65 /* the longest public key: an uncompressed SM2 point */
#define CRYPT_MSG_MAC_BYTES     32
#define CRYPT_MSG_ID_BYTES      64
#define CRYPT_MSG_CERTS         8
#define CRYPT_MSG_SIGNATURE_MAX 256
#define CRYPT_MSG_LANES         64

enum crypt_msg_type {
	CRYPT_MSG_INIT = 1,    /* M1 */
	CRYPT_MSG_RESPONSE,    /* M2 */
	CRYPT_MSG_AUTH,        /* M3 */
	CRYPT_MSG_CONFIRM,     /* M4 */
	CRYPT_MSG_COOKIE,      /* "send M1 again with this" */
	CRYPT_MSG_FAIL,        /* a notice in the clear: believed as far as a text goes */
	CRYPT_MSG_FAIL_SEALED, /* a notice under the handshake's key */
	CRYPT_MSG_HINT,        /* "I do not know this SPI or session" */
	CRYPT_MSG_CONTROL,     /* of an established association, sealed */
	CRYPT_MSG_TYPES
};

/* Why a handshake is refused. The numbers are the wire's. */
enum crypt_fail {
	CRYPT_FAIL_NONE,
	CRYPT_FAIL_VERSION,
	CRYPT_FAIL_SUITE,
	CRYPT_FAIL_METHOD,
	CRYPT_FAIL_PSK,
	CRYPT_FAIL_UNTRUSTED,
	CRYPT_FAIL_EXPIRED,
	CRYPT_FAIL_NOT_YET_VALID,
	CRYPT_FAIL_NAME,
	CRYPT_FAIL_SIGNATURE,
	CRYPT_FAIL_ID,
	CRYPT_FAIL_INTERNAL,
	CRYPT_FAILS
};

enum crypt_msg_method { CRYPT_METHOD_PSK = 1, CRYPT_METHOD_CERT = 2 }; /* bits in M1, one of them in M2 */
enum crypt_msg_group { CRYPT_GROUP_X25519 = 1, CRYPT_GROUP_SM2 = 2 };

/* Kinds of control messages. */
enum crypt_msg_control_kind {
	CRYPT_CONTROL_REKEY = 1, /* "I want to send with this epoch" */
	CRYPT_CONTROL_REKEY_ACK, /* "I receive it, at these SPIs" */
	CRYPT_CONTROL_REKEY_ASK, /* "send with a new epoch, please" */
	CRYPT_CONTROL_PING,
	CRYPT_CONTROL_PONG,
	CRYPT_CONTROL_KINDS
};

struct crypt_msg_header {
	uint8_t type;
	uint8_t fragment;
	uint8_t fragments;
	uint64_t from; /* the sender's session id, not 0 but in cookies, notices and hints */
	uint64_t to;   /* the receiver's, 0 where it is not known */
};

struct crypt_msg_share {
	uint8_t group; /* 0: none */
	uint8_t bytes;
	uint8_t data[CRYPT_MSG_SHARE_BYTES];
};

struct crypt_msg_init {
	uint8_t methods;
	uint8_t n_suites;
	uint8_t suites[CRYPT_SUITES]; /* enum crypt_suite, best first; unknown ones are left out by the decoder */
	struct crypt_msg_share shares[2];
	uint16_t lanes;
	uint64_t generation;
	uint8_t nonce[CRYPT_MSG_NONCE_BYTES];
	uint8_t hint[CRYPT_MSG_HINT_BYTES];
	uint8_t cookie_bytes; /* 0 or CRYPT_MSG_COOKIE_BYTES */
	uint8_t cookie[CRYPT_MSG_COOKIE_BYTES];
	size_t covered_bytes; /* of the body: what the transcript and the hint's MAC cover; set by both */
	size_t hint_at;       /* where in the body the hint is; set by both */
};

struct crypt_msg_response {
	uint8_t suite;
	uint8_t method;
	struct crypt_msg_share share;
	uint64_t generation;
	uint8_t nonce[CRYPT_MSG_NONCE_BYTES];
	size_t clear_bytes; /* of the body; the sealed payload follows. Set by both */
};

struct crypt_msg_bytes {
	const uint8_t *data;
	size_t bytes;
};

/* What M2 and M3 seal. The pointers go into the decoded bytes. */
struct crypt_msg_payload {
	struct crypt_msg_bytes id;
	uint16_t lanes;
	uint32_t spi_base;
	unsigned int n_certs;
	struct crypt_msg_bytes certs[CRYPT_MSG_CERTS]; /* DER, the own one first */
	struct crypt_msg_bytes signature;
	uint8_t mac[CRYPT_MSG_MAC_BYTES];
	size_t signed_bytes; /* what precedes the signature's length field; set by both */
};

struct crypt_msg_control {
	uint8_t kind;
	uint16_t lanes;    /* REKEY */
	uint32_t epoch;    /* REKEY, REKEY_ACK */
	uint32_t spi_base; /* REKEY_ACK */
	uint64_t token;    /* PING, PONG */
};

struct crypt_msg_hint {
	bool is_session; /* else an SPI */
	uint64_t value;
};

/* Encoders return the bytes written, or 0 when @cap is too small or a field out of its range. */
size_t crypt_msg_put_header(const struct crypt_msg_header *header, uint8_t *out, size_t cap);
size_t crypt_msg_put_init(struct crypt_msg_init *init, uint8_t *out, size_t cap);
size_t crypt_msg_put_response(struct crypt_msg_response *response, uint8_t *out, size_t cap);
/* Without signature and MAC, which depend on these bytes; crypt_msg_put_proof() appends them. */
size_t crypt_msg_put_payload(struct crypt_msg_payload *payload, uint8_t *out, size_t cap);
size_t crypt_msg_put_proof(const struct crypt_msg_payload *payload, uint8_t *out, size_t cap);
size_t crypt_msg_put_control(const struct crypt_msg_control *control, uint8_t *out, size_t cap);
size_t crypt_msg_put_hint(const struct crypt_msg_hint *hint, uint8_t *out, size_t cap);

/*
 * Decoders return 0, or -EBADMSG for bytes that are not exactly one such thing. crypt_msg_get_header() also returns
 * -EPROTO for another version, with the ids filled in, so that the sender can be told.
 */
int crypt_msg_get_header(struct crypt_msg_header *header, const uint8_t *datagram, size_t bytes);
int crypt_msg_get_init(struct crypt_msg_init *init, const uint8_t *body, size_t bytes);
int crypt_msg_get_response(struct crypt_msg_response *response, const uint8_t *body, size_t bytes);
int crypt_msg_get_payload(struct crypt_msg_payload *payload, const uint8_t *in, size_t bytes);
int crypt_msg_get_control(struct crypt_msg_control *control, const uint8_t *in, size_t bytes);
int crypt_msg_get_hint(struct crypt_msg_hint *hint, const uint8_t *body, size_t bytes);

void crypt_msg_put64(uint8_t *out, uint64_t value);
uint64_t crypt_msg_get64(const uint8_t *in);

#endif
