/* SPDX-License-Identifier: BSD-3-Clause */
#include "cc_median.h"

/* The lower median of the first n. */
static uint32_t median_of(const uint32_t *v, uint32_t n)
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

/* Least, middle and most of three. */
static void sort(const uint32_t *three, uint32_t sorted[3])
{
	sorted[0] = cc_least(cc_least(three[0], three[1]), three[2]);
	sorted[1] = cc_middle(three[0], three[1], three[2]);
	sorted[2] = cc_most(cc_most(three[0], three[1]), three[2]);
}

void cc_median_next_three(struct cc_median *p)
{
	uint32_t a[3], b[3];

	p->place = 0;
	p->three = (uint8_t)(p->three == CC_MEDIAN_OF - 3 ? 0 : p->three + 3);
	sort(&p->delay_ns[p->three == 0 ? 3 : 0], a);
	sort(&p->delay_ns[p->three == CC_MEDIAN_OF - 3 ? 3 : CC_MEDIAN_OF - 3], b);
	p->least_ns = cc_most(a[0], b[0]);
	p->middle_low_ns = cc_least(a[1], b[1]);
	p->middle_high_ns = cc_most(a[1], b[1]);
	p->most_ns = cc_least(a[2], b[2]);
}

uint32_t cc_median_few(struct cc_median *p, uint32_t delay_ns)
{
	p->delay_ns[p->n++] = delay_ns;
	if (p->n == CC_MEDIAN_OF) {
		p->three = CC_MEDIAN_OF - 3; /* the next is the first */
		cc_median_next_three(p);
		cc_median_prepare(p);
	}
	return median_of(p->delay_ns, p->n);
}
