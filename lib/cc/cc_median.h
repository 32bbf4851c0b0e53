/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The median of the last nine delays: packets go by many paths, and the latest delay is that of one.
 *
 * The next delay takes the place of the oldest; of the eight that stay the fourth and the fifth are known before it comes,
 * and the median is it, within those two. So what is to be decided by the median waits for two comparisons, and the rest
 * is done beside that. The nine lie in threes that are sorted when they are full: of three sorted threes the median of
 * all is the median of the largest least, the median middle and the least largest, and so it is of eight with 0 or with
 * infinity for the ninth.
 */
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

/* cc_median.c: the lower median of the first few; from the ninth on all is prepared for cc_median_take(). */
uint32_t cc_median_few(struct cc_median *p, uint32_t delay_ns);
/* The next place is in another three than the last: sorts that, and looks at the two that stay. */
void cc_median_next_three(struct cc_median *p);

/* Which eight stay when the next comes. */
static inline void cc_median_prepare(struct cc_median *p)
{
	const uint32_t *three = &p->delay_ns[p->three];
	/* the two of it that stay, for the places 0, 1 and 2 */
	uint32_t a = three[p->place == 0], b = three[2 - (p->place == 2)];
	uint32_t low = cc_least(a, b), high = cc_most(a, b);

	p->fourth_ns = cc_middle(p->least_ns, cc_most(p->middle_low_ns, cc_least(p->middle_high_ns, low)),
		cc_least(p->most_ns, high));
	p->fifth_ns = cc_middle(cc_most(p->least_ns, low), cc_most(p->middle_low_ns, cc_least(p->middle_high_ns, high)),
		p->most_ns);
}

/* Takes one more: the median, and the lower of the two in the middle while there are fewer than nine. */
static inline uint32_t cc_median_take(struct cc_median *p, uint32_t delay_ns)
{
	uint32_t median_ns;

	if (p->n < CC_MEDIAN_OF)
		return cc_median_few(p, delay_ns);
	median_ns = cc_most(p->fourth_ns, cc_least(p->fifth_ns, delay_ns));
	p->delay_ns[p->three + p->place++] = delay_ns;
	if (p->place == 3)
		cc_median_next_three(p);
	cc_median_prepare(p);
	return median_ns;
}

#endif
