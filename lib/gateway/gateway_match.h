/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one queue pair sends to another, as somebody on the way sees it who also sees what comes back: which requests
 * are answered and how long that took, what is still under way, what was lost. By PSNs alone (IBTA vol. 1, 9.7): an
 * answer with PSN p says that all requests up to p have arrived. Pure; all memory is the caller's.
 */
#ifndef GATEWAY_MATCH_H
#define GATEWAY_MATCH_H

#include <stdbool.h>
#include <stdint.h>

#define GATEWAY_MATCH_ASKED 8u

struct gateway_match_asked {
	uint64_t at_ns;
	uint32_t psn;
};

/* All zero: nothing was seen. */
struct gateway_match {
	uint64_t waits_ns;       /* since when an answer is due of which nothing came; 0: none is */
	uint64_t heard_ns;       /* the last answer */
	uint32_t next;           /* behind the last request */
	uint32_t limit;          /* behind the last PSN that an answer may have: those to a READ have their own */
	uint32_t answered;       /* behind the last one that is known to have arrived */
	uint32_t again_next;     /* behind the last one that was sent again, while `again` */
	bool begun;
	bool again;
	bool told;               /* a NAK says why requests will be sent again */
	uint8_t n_asked;
	struct gateway_match_asked asked[GATEWAY_MATCH_ASKED]; /* requests that want an answer, in their order */
};

/* What a request is. */
enum gateway_match_sent {
	GATEWAY_SENT_NEW,
	GATEWAY_SENT_AGAIN,   /* it was there before, behind another such one or after a NAK */
	GATEWAY_SENT_UNTOLD,  /* it was there before, the first of them, and without a NAK: the sender's time is over */
	GATEWAY_SENT_RESTART, /* its PSN has nothing to do with those before: another queue pair, or the same anew */
};

/* What a request with this PSN would be. */
enum gateway_match_sent gateway_match_look(const struct gateway_match *m, uint32_t psn);
/* It leaves. asks: it will be answered; psns: how many PSNs its answer may have, 1 but for READs, below 2^23. */
void gateway_match_send(struct gateway_match *m, uint32_t psn, bool asks, uint32_t psns, uint64_t now_ns);

/* What an answer is. */
enum gateway_match_answer {
	GATEWAY_ANSWER_ACK,      /* or a packet of a READ's or an atomic's answer */
	GATEWAY_ANSWER_NOT_READY, /* RNR NAK */
	GATEWAY_ANSWER_SEQUENCE, /* NAK: PSN sequence error */
	GATEWAY_ANSWER_ERROR,    /* any other NAK */
};

struct gateway_match_heard {
	bool fits;               /* else it is not for these requests */
	bool news;               /* something arrived of which that was not known */
	bool lost;               /* something did not arrive of which that was not known */
	uint32_t rtt_ns;         /* 0: unknown */
};

struct gateway_match_heard gateway_match_hear(
	struct gateway_match *m, uint32_t psn, enum gateway_match_answer answer, uint64_t now_ns);

/* Whether an answer with this PSN may be for one of the last requests, and would say something new. */
bool gateway_match_expects(const struct gateway_match *m, uint32_t psn);
/* Whether nothing is under way, as far as PSNs say. */
bool gateway_match_idle(const struct gateway_match *m);
/* The answers to what is under way will not say how long they took, nor are they waited for. */
void gateway_match_forget(struct gateway_match *m);

#endif
