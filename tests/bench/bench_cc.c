/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What congestion controllers cost: ns of an acknowledgement, and of a packet that is sent, the median of many samples.
 * One "name value unit" a line for tools/bench. Round trips wander around the target, one packet in eight is marked.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "cc.h"

#define CALLS    64u
#define SAMPLES  4001u
#define INPUTS   4096u
#define BASE_NS  12000u
#define PACKET   4178u

static struct cc_ack inputs[INPUTS];

static uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void make_inputs(void)
{
	uint64_t random = 1;
	uint32_t delay_ns = BASE_NS;

	for (uint32_t i = 0; i < INPUTS; i++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		delay_ns += BASE_NS + (uint32_t)(random >> 40) % (BASE_NS / 4) - BASE_NS / 8;
		delay_ns = delay_ns > 3 * BASE_NS ? 2 * BASE_NS : delay_ns < BASE_NS ? 0 : delay_ns - BASE_NS;
		inputs[i] = (struct cc_ack){
			.rtt_ns = BASE_NS + delay_ns,
			.bytes = PACKET,
			.marked = (random >> 33) % 8 == 0,
			.senders = 3,
		};
	}
}

/* ns per call of cc_acked() or, with sends, of cc_sent(). */
static double measure(enum cc_kind kind, bool sends)
{
	const struct cc_config config = {
		.kind = kind, .packet_bytes = PACKET, .base_rtt_ns = BASE_NS, .rate_bps = 100000000000u};
	static uint64_t sample[SAMPLES];
	uint64_t now_ns = 1000000, sum = 0;
	struct cc cc;

	cc_init(&cc, &config);
	for (uint32_t s = 0; s < SAMPLES; s++) {
		uint64_t start_ns = clock_ns();

		for (uint32_t i = 0; i < CALLS; i++) {
			struct cc_ack *ack = &inputs[(s * CALLS + i) % INPUTS];

			now_ns += 334;
			ack->now_ns = now_ns;
			if (sends)
				cc_sent(&cc, PACKET, now_ns);
			else
				cc_acked(&cc, ack);
			sum += cc_window_bytes(&cc) + cc_rate_bps(&cc);
		}
		sample[s] = clock_ns() - start_ns;
	}
	if (sum == 1) /* what was computed is used */
		puts("");
	qsort(sample, SAMPLES, sizeof(*sample), compare);
	return (double)sample[SAMPLES / 2] / CALLS;
}

int main(void)
{
	make_inputs();
	for (unsigned int kind = 0; kind < CC_KINDS; kind++) {
		printf("cc_%s_acked %.1f ns\n", cc_name((enum cc_kind)kind), measure((enum cc_kind)kind, false));
		printf("cc_%s_sent %.1f ns\n", cc_name((enum cc_kind)kind), measure((enum cc_kind)kind, true));
	}
	return 0;
}
