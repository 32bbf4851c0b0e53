/* SPDX-License-Identifier: BSD-3-Clause */
/* The median of the last nine delays: packets go by many paths, and the latest delay is that of one. */
#ifndef CC_MEDIAN_H
#define CC_MEDIAN_H

#include "cc.h"

static inline uint32_t cc_least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t cc_most(uint32_t a, uint32_t b)
{
	return a < b ? b : a;
}

static inline uint32_t cc_middle(uint32_t a, uint32_t b, uint32_t c)
{
	return cc_most(cc_least(a, b), cc_least(cc_most(a, b), c));
}

/* Sorts the three that the place at is one of. */
static inline void cc_median_sort(struct cc_median *p, uint32_t at)
{
	uint32_t three = at / 3;
	uint32_t a = p->delay_ns[3 * three], b = p->delay_ns[3 * three + 1], c = p->delay_ns[3 * three + 2];

	p->least_ns[three] = cc_least(cc_least(a, b), c);
	p->middle_ns[three] = cc_middle(a, b, c);
	p->most_ns[three] = cc_most(cc_most(a, b), c);
}

/* Of three threes: the median of all is the median of the largest least, the median middle and the least largest. */
static inline uint32_t cc_median_nine(const struct cc_median *p)
{
	return cc_middle(cc_most(cc_most(p->least_ns[0], p->least_ns[1]), p->least_ns[2]),
		cc_middle(p->middle_ns[0], p->middle_ns[1], p->middle_ns[2]),
		cc_least(cc_least(p->most_ns[0], p->most_ns[1]), p->most_ns[2]));
}

/* The lower median of the first few. */
static inline uint32_t cc_median_few(const uint32_t *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t below = 0;

		for (uint32_t k = 0; k < n; k++)
			below += v[k] < v[i] || (v[k] == v[i] && k < i);
		if (below == (n - 1) / 2)
			return v[i];
	}
	return 0;
}

static inline void cc_median_add(struct cc_median *p, uint32_t delay_ns)
{
	uint32_t at = p->at;

	p->delay_ns[at] = delay_ns;
	cc_median_sort(p, at);
	p->at = (uint8_t)(at + 1 < CC_MEDIAN_OF ? at + 1 : 0);
	if (p->n < CC_MEDIAN_OF)
		p->n++;
}

/* While there are fewer than nine the lower of the two in the middle, 0 if there are none. */
static inline uint32_t cc_median(const struct cc_median *p)
{
	return p->n == CC_MEDIAN_OF ? cc_median_nine(p) : cc_median_few(p->delay_ns, p->n);
}

#endif
