/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a responder spends on strangers, for all associations of a daemon together: first messages are admitted at a
 * limited rate, half-open handshakes are counted, and when either runs short the sender has to show with a cookie that
 * its address is its own. Cookies need no state: they are a MAC of what the sender said with a secret that changes
 * every minute. One thread; time is an argument.
 */
#ifndef CRYPT_HS_GATE_H
#define CRYPT_HS_GATE_H

#include "crypt_msg.h"

struct crypt_gate_config {
	uint32_t init_per_s; /* first messages worked on, without a cookie and with one, each */
	uint32_t init_burst;
	uint32_t half_open_max; /* handshakes that were answered and not finished */
	uint32_t cookie_from;   /* so many of them, and every first message needs a cookie */
};

/* 50 a second in bursts of 100, 256 half open, cookies from 64 on. */
void crypt_gate_config_default(struct crypt_gate_config *config);

struct crypt_gate;

/* NULL: no memory or no randomness. One for a daemon; it outlives its associations. */
struct crypt_gate *crypt_gate_new(const struct crypt_gate_config *config);
void crypt_gate_free(struct crypt_gate *gate);

enum crypt_gate_verdict {
	CRYPT_GATE_PASS,   /* work on it */
	CRYPT_GATE_COOKIE, /* answer with the cookie */
	CRYPT_GATE_DROP
};

/* An M1 as the gate sees it. */
struct crypt_gate_ask {
	struct crypt_msg_bytes addr; /* of the sender, in any form; with its port if others share the address */
	uint64_t from;               /* session id */
	const struct crypt_msg_init *init;
	size_t bytes;        /* of the datagram */
	size_t answer_bytes; /* of what would be sent for it: strangers get at most three times what they sent */
};

enum crypt_gate_verdict crypt_gate_admit(struct crypt_gate *gate, const struct crypt_gate_ask *ask, uint64_t now_ns,
	uint8_t cookie[CRYPT_MSG_COOKIE_BYTES]);

/* A handshake was answered, or is finished or given up. */
void crypt_gate_opened(struct crypt_gate *gate);
void crypt_gate_closed(struct crypt_gate *gate);
uint32_t crypt_gate_half_open(const struct crypt_gate *gate);

/* ---- Token bucket, for this and for other things that are done at a limited rate ---- */

struct crypt_bucket {
	uint64_t gap_ns;   /* between two, in the long run */
	uint64_t depth_ns; /* gap_ns * burst */
	uint64_t full_ns;  /* when it will be full again; 0: it is */
};

void crypt_bucket_init(struct crypt_bucket *bucket, uint64_t gap_ns, uint32_t burst);
bool crypt_bucket_take(struct crypt_bucket *bucket, uint64_t now_ns);

#endif
