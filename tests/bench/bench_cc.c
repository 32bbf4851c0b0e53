/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What congestion controllers cost: ns of an acknowledgement, and of a packet that is sent, the median of many samples.
 * One "name value unit" a line for tools/bench. Round trips wander around the target, one packet in eight is marked.
 * cc_learned_decision is an acknowledgement that the learned controller decides at, with the largest model there is.
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

#define PACKET_NS 334u   /* at 100 Gb/s */

static struct cc_ack inputs[INPUTS];
static struct cc_model model;

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

/* The largest that there is: what it says does not matter. */
static void make_model(void)
{
	uint64_t random = 7;

	model = (struct cc_model){.first_packets = 4, .share_percent = 150, .n_trees = CC_MODEL_TREES};
	for (uint32_t i = 0; i < CC_MODEL_TREES; i++) {
		struct cc_model_tree *tree = &model.trees[i];

		tree->depth = CC_MODEL_DEPTH;
		for (uint32_t k = 0; k < CC_MODEL_SPLITS; k++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			tree->split[k] = CC_SPLIT(((random >> 33) % CC_FEATURES), (int32_t)((random >> 40) % 2048));
		}
		for (uint32_t k = 0; k < CC_MODEL_LEAVES; k++)
			tree->leaf[k] = (int16_t)(k % 2 == 0 ? 10 : -10);
	}
}

/* ns per call of cc_acked() or, with sends, of cc_sent(), with so much time between them. */
static double measure(enum cc_kind kind, bool sends, uint64_t gap_ns)
{
	const struct cc_config config = {
		.kind = kind, .packet_bytes = PACKET, .base_rtt_ns = BASE_NS, .rate_bps = 100000000000u, .model = &model};
	static uint64_t sample[SAMPLES];
	uint64_t now_ns = 1000000, sum = 0;
	struct cc cc;

	cc_init(&cc, &config);
	for (uint32_t s = 0; s < SAMPLES; s++) {
		uint64_t start_ns = clock_ns();

		for (uint32_t i = 0; i < CALLS; i++) {
			struct cc_ack *ack = &inputs[(s * CALLS + i) % INPUTS];

			now_ns += gap_ns;
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
	make_model();
	for (unsigned int kind = 0; kind < CC_KINDS; kind++) {
		printf("cc_%s_acked %.1f ns\n", cc_name((enum cc_kind)kind), measure((enum cc_kind)kind, false, PACKET_NS));
		printf("cc_%s_sent %.1f ns\n", cc_name((enum cc_kind)kind), measure((enum cc_kind)kind, true, PACKET_NS));
	}
	printf("cc_learned_decision %.1f ns\n", measure(CC_LEARNED, false, BASE_NS / 4));
	return 0;
}
