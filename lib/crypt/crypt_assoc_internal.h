/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CRYPT_ASSOC_INTERNAL_H
#define CRYPT_ASSOC_INTERNAL_H

#include "crypt_assoc.h"
#include "crypt_hs_frag.h"

#define CRYPT_HALF_OPEN      4 /* of one peer: it may have begun anew, more than once */
#define CRYPT_RX_GENERATIONS 24
#define CRYPT_ORDER_BYTES    (8 + CRYPT_MSG_NONCE_BYTES)
#define CRYPT_BACKOFF_MAX_NS 4000000000ull
#define CRYPT_NEVER          UINT64_MAX

/* Something that is repeated until it is answered. */
struct crypt_retry {
	bool on;
	uint32_t tries;
	uint64_t wait_ns;
	uint64_t next_ns;
};

/* Our own handshake, as initiator. */
struct crypt_attempt {
	struct crypt_hs *hs; /* NULL: none */
	struct crypt_frag frag;
	struct crypt_retry retry;
	uint64_t cookie_ns; /* when the last cookie came */
	bool noticed;       /* the peer was told why we refuse it, and people here */
};

/* One that we have answered. */
struct crypt_half {
	struct crypt_hs *hs; /* NULL: free */
	uint64_t from;
	struct crypt_frag frag;
	uint64_t born_ns;
	uint64_t sent_ns; /* M2, the last time */
	bool noticed;
};

/*
 * Sessions are totally ordered, alike on both sides: by generation, then by the initiator's nonce. Both send with the
 * highest one that they know to be established, so two handshakes at once end in one association.
 */
struct crypt_session {
	bool up;
	struct crypt_hs_result r; /* with the working key */
	uint8_t order[CRYPT_ORDER_BYTES];
	uint8_t control_tx[CRYPT_HASH_BYTES], control_rx[CRYPT_HASH_BYTES];
	uint64_t counter;   /* of the last control message sent */
	uint64_t heard_max; /* the highest counter heard, and a bit for each of the 64 up to it */
	uint64_t heard_map;
	uint64_t born_ns;
	uint64_t confirmed_ns;                                  /* when M4 was sent last */
	uint8_t confirm[CRYPT_HASH_BYTES + CRYPT_HS_TAG_BYTES]; /* M4, for a peer that missed it */

	uint32_t tx_epoch, tx_base;
	uint16_t tx_lanes_done; /* lanes that have been told of this epoch */
	uint64_t tx_since_ns;
	uint64_t tx_retry_ns;
	uint64_t tx_stopped; /* a bit a lane */
	uint32_t rx_epoch, rx_base;

	struct crypt_retry
		rekey; /* REKEY is out, for tx_epoch + 1; off with all its tries used: it was given up for now */
	struct crypt_retry ask;  /* REKEY_ASK is out, till rx_epoch changes */
	struct crypt_retry ping; /* the first one, which tells the responder that we have the keys */
};

/* A set of receiving SAs: the lanes of one epoch of one session. */
struct crypt_rx_gen {
	uint32_t base;
	uint16_t lanes; /* 0: free */
	bool sure;      /* the peer has confirmed that it has these keys */
	uint8_t order[CRYPT_ORDER_BYTES];
	uint32_t epoch;
	uint64_t drop_ns; /* CRYPT_NEVER: not yet known to be old */
};

struct crypt_assoc {
	struct crypt_assoc_config config;
	struct crypt_gate *gate;
	const struct crypt_assoc_ops *ops;
	void *ctx;
	bool started;
	struct crypt_attempt attempt;
	struct crypt_half halves[CRYPT_HALF_OPEN];
	struct crypt_session now;
	struct crypt_rx_gen gens[CRYPT_RX_GENERATIONS];
	bool wanted;         /* a handshake was begun and none has ended well since: go on trying, slowly */
	uint64_t resume_ns;  /* when the next handshake may begin by itself */
	uint64_t unheard_ns; /* since when we send without hearing; CRYPT_NEVER: no such time */
	uint64_t ping_due_ns;
	uint64_t last_number[CRYPT_MSG_LANES];
	struct crypt_bucket notices;  /* unauthenticated ones that we send */
	struct crypt_bucket hints;    /* that we send */
	struct crypt_bucket suspects; /* handshakes that hints and silence may start */
	struct crypt_bucket work;     /* public key operations for M2 and M3 that may be forged */
	struct crypt_bucket said[CRYPT_EVENTS];
	uint64_t generation; /* of the last association, or 0 */
	struct crypt_assoc_status count;
};

/* ---- crypt_assoc_send.c: what leaves, and when it is repeated ---- */

__attribute__((format(printf, 4, 5))) void crypt_assoc_say(
	struct crypt_assoc *assoc, enum crypt_event event, uint64_t now_ns, const char *format, ...);
/* Sends a message, in as many datagrams as it needs. */
void crypt_assoc_send(struct crypt_assoc *assoc, const struct crypt_msg_header *header, struct crypt_msg_bytes body);
void crypt_assoc_send_hs(struct crypt_assoc *assoc, const struct crypt_hs *hs);
/* A notice in the clear, at a limited rate, or under the keys of @hs if that is not NULL and has some. */
void crypt_assoc_send_fail(
	struct crypt_assoc *assoc, struct crypt_hs *hs, uint64_t to, enum crypt_fail fail, uint64_t now_ns);
void crypt_assoc_send_hint(struct crypt_assoc *assoc, bool is_session, uint64_t value, uint64_t now_ns);
void crypt_assoc_send_control(struct crypt_assoc *assoc, const struct crypt_msg_control *control);
/* Opens a control message of the present session. False: forged, repeated or malformed. */
bool crypt_assoc_open_control(
	struct crypt_assoc *assoc, const uint8_t *body, size_t bytes, struct crypt_msg_control *control);

enum crypt_retry_verdict { CRYPT_RETRY_WAIT, CRYPT_RETRY_AGAIN, CRYPT_RETRY_GIVE_UP };
void crypt_retry_begin(const struct crypt_assoc *assoc, struct crypt_retry *retry, uint64_t now_ns);
/* What is to be done now; @retry is off after CRYPT_RETRY_GIVE_UP. */
enum crypt_retry_verdict crypt_retry_check(const struct crypt_assoc *assoc, struct crypt_retry *retry, uint64_t now_ns);

/* ---- crypt_assoc_keys.c: keys that receive, keys that send, and the session they are of ---- */

void crypt_session_order(const struct crypt_hs_result *result, uint8_t order[CRYPT_ORDER_BYTES]);
/* A row of @lanes SPIs that nobody uses, or 0. */
uint32_t crypt_assoc_choose_spis(struct crypt_assoc *assoc, uint16_t lanes);
/* Has the keys of the peer's lanes installed. 0 or the negative errno, and none is installed. */
int crypt_assoc_rx_install(
	struct crypt_assoc *assoc, const struct crypt_hs_result *result, uint32_t epoch, uint32_t base);
/* The peer sends with that epoch of that session, or a later one: what is older ends after the drain time. */
void crypt_assoc_rx_evidence(
	struct crypt_assoc *assoc, const uint8_t order[CRYPT_ORDER_BYTES], uint32_t epoch, uint64_t now_ns);
const struct crypt_rx_gen *crypt_assoc_rx_find(const struct crypt_assoc *assoc, uint32_t spi);
/* Drops what has drained; all of it if @all. */
void crypt_assoc_rx_expire(struct crypt_assoc *assoc, bool all, uint64_t now_ns);
/* Tells lanes that have not been told yet of the present sending epoch. */
void crypt_assoc_tx_apply(struct crypt_assoc *assoc, uint64_t now_ns);
void crypt_assoc_tx_switch(struct crypt_assoc *assoc, uint32_t epoch, uint32_t base, uint64_t now_ns);
/* Whether @result would become the association, or is behind the one that there is. */
bool crypt_assoc_is_newer(const struct crypt_assoc *assoc, const struct crypt_hs_result *result);
/* Makes @result the association; its receiving keys are installed already. */
void crypt_assoc_establish(struct crypt_assoc *assoc, const struct crypt_hs_result *result, uint64_t now_ns);
/* The association ends here; keys that send are stopped, keys that receive dropped, all wiped. */
void crypt_assoc_end(struct crypt_assoc *assoc, uint64_t now_ns);

/* ---- crypt_assoc_attempt.c: as initiator ---- */

int crypt_attempt_begin(struct crypt_assoc *assoc, uint64_t now_ns);
void crypt_attempt_end(struct crypt_assoc *assoc);
void crypt_attempt_take_cookie(struct crypt_assoc *assoc, const uint8_t *body, size_t bytes, uint64_t now_ns);
void crypt_attempt_take_response(struct crypt_assoc *assoc, const struct crypt_msg_header *header, const uint8_t *body,
	size_t bytes, uint64_t now_ns);
void crypt_attempt_take_confirm(
	struct crypt_assoc *assoc, uint64_t from, const uint8_t *body, size_t bytes, uint64_t now_ns);
/* The peer has the keys of our attempt; M4, or a packet with them, says so. */
void crypt_attempt_confirmed(struct crypt_assoc *assoc, uint64_t now_ns);
/* Whether there is an attempt for which @session is ours. */
bool crypt_attempt_is(const struct crypt_assoc *assoc, uint64_t session);
/* When the next handshake is begun by itself; CRYPT_NEVER: there is no need for one. */
uint64_t crypt_attempt_due(const struct crypt_assoc *assoc);
void crypt_attempt_tick(struct crypt_assoc *assoc, uint64_t now_ns);

/* ---- crypt_assoc_respond.c: as responder ---- */

void crypt_half_take_init(struct crypt_assoc *assoc, const struct crypt_msg_header *header, const uint8_t *body,
	size_t bytes, uint64_t now_ns);
void crypt_half_take_auth(struct crypt_assoc *assoc, const struct crypt_msg_header *header, const uint8_t *body,
	size_t bytes, uint64_t now_ns);
struct crypt_half *crypt_half_find(struct crypt_assoc *assoc, uint64_t session, uint64_t from);
void crypt_half_end(struct crypt_assoc *assoc, struct crypt_half *half);
void crypt_half_tick(struct crypt_assoc *assoc, uint64_t now_ns);

/* ---- crypt_assoc_rekey.c ---- */

void crypt_rekey_take(struct crypt_assoc *assoc, const struct crypt_msg_control *control, uint64_t now_ns);
void crypt_rekey_begin(struct crypt_assoc *assoc, uint64_t now_ns);
/* When a rekey by time, or the next one after one that was not answered, is due. */
uint64_t crypt_rekey_due(const struct crypt_assoc *assoc);
void crypt_rekey_tick(struct crypt_assoc *assoc, uint64_t now_ns);
/* An authenticated sign of life. */
void crypt_assoc_alive(struct crypt_assoc *assoc, uint64_t now_ns);
/* Starts a handshake because the peer seems to have lost the keys; nobody has to be believed for that. */
void crypt_assoc_suspect(struct crypt_assoc *assoc, const char *why, uint64_t now_ns);

#endif
