/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which packet numbers have come: a window of bits below the highest one, in a ring of words, so that it moves without
 * shifting (as RFC 6479). Any order within the window is taken, whatever path a packet took; each number once. check() looks,
 * accept() notes a number whose packet has proved to be the peer's.
 */
#ifndef CRYPT_REPLAY_H
#define CRYPT_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

#define CRYPT_REPLAY_MIN     64u
#define CRYPT_REPLAY_DEFAULT 16384u
#define CRYPT_REPLAY_MAX     65536u
#define CRYPT_REPLAY_WORD    64u

enum crypt_replay_verdict {
	CRYPT_REPLAY_NEW,
	CRYPT_REPLAY_AGAIN, /* it has come */
	CRYPT_REPLAY_OLD,   /* it is below the window */
};

struct crypt_replay {
	uint64_t top;           /* highest number that was accepted */
	uint64_t *words;        /* twice the window: words ahead of the top one are cleared as it gets there */
	uint32_t window, mask;
};

/* Words of memory for a window of so many packets. */
static inline uint32_t crypt_replay_words(uint32_t window)
{
	return 2 * window / CRYPT_REPLAY_WORD;
}

static inline bool crypt_replay_window_ok(uint32_t window)
{
	return window >= CRYPT_REPLAY_MIN && window <= CRYPT_REPLAY_MAX && (window & (window - 1)) == 0;
}

/* words: zeros, of crypt_replay_words(), the caller's. */
static inline void crypt_replay_init(struct crypt_replay *r, uint64_t *words, uint32_t window)
{
	*r = (struct crypt_replay){.words = words, .window = window, .mask = crypt_replay_words(window) - 1};
}

static inline enum crypt_replay_verdict crypt_replay_check(const struct crypt_replay *r, uint64_t number)
{
	if (number > r->top)
		return CRYPT_REPLAY_NEW;
	if (number == 0 || r->top - number >= r->window)
		return CRYPT_REPLAY_OLD;
	return (r->words[number / CRYPT_REPLAY_WORD & r->mask] >> number % CRYPT_REPLAY_WORD & 1) != 0 ? CRYPT_REPLAY_AGAIN :
		CRYPT_REPLAY_NEW;
}

/* The number is new. */
static inline void crypt_replay_accept(struct crypt_replay *r, uint64_t number)
{
	uint64_t word = number / CRYPT_REPLAY_WORD, top = r->top / CRYPT_REPLAY_WORD;

	if (number > r->top) {
		if (word - top > r->mask)
			top = word - r->mask - 1;
		while (top != word)
			r->words[++top & r->mask] = 0;
		r->top = number;
	}
	r->words[word & r->mask] |= (uint64_t)1 << number % CRYPT_REPLAY_WORD;
}

#endif
