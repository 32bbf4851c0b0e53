/* SPDX-License-Identifier: BSD-3-Clause */
/* What benches of the ciphers have in common: time, cycles of the core, and medians. */
#ifndef BENCH_CLOCK_H
#define BENCH_CLOCK_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define BENCH_CHAIN 20000u

static inline double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static inline double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), compare_doubles);
	return v[n / 2];
}

/* Cycles of a nanosecond: an addition that needs the one before takes a cycle. */
static inline double clock_ghz(void)
{
	double v[31];

	for (size_t i = 0; i < 31; i++) {
		double began = now_ns();
		uint64_t x = 0;

		for (uint32_t k = 0; k < BENCH_CHAIN / 10; k++)
			__asm__ volatile("add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n"
					 "add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n add $1, %0\n"
					 : "+r"(x));
		v[i] = BENCH_CHAIN / (now_ns() - began);
	}
	return median(v, 31);
}

#endif
