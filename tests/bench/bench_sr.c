/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What selective repeat makes of a wire that loses: goodput of WRITEs beside go-back-N, in the unit tests' harness with
 * its virtual clock, so the figures do not depend on the machine. The link has no rate: what bounds is the window of
 * 128 packets and the round trip of 20 us. One "name value unit" a line.
 */
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"

#define MSG_BYTES (64u << 10)
#define DST       (HX_MEM_BYTES / 2)
#define DEPTH     64u
#define MESSAGES  2000u
#define LIMIT_NS  (20 * HX_S)

struct result {
	double gbps;
	double again; /* packets sent again for each that had to be sent */
};

/* Any random fault comes from the harness; the log is not needed. */
static void forget_log(struct hx_world *w)
{
	if (w->n_log > HX_MAX_LOG / 2)
		w->n_log = 1;
}

static struct result run(uint32_t lose, bool ext, uint32_t n_paths)
{
	struct hx_options o = {.mtu = 4096, .seed = 7, .lose = lose, .ext = ext, .n_paths = n_paths,
		.path_ns = {0, 1000, 2000, 5000}};
	struct hx_world *w = hx_new(&o);
	uint32_t posted = 0, done = 0;
	uint64_t from_ns = w->now_ns;
	struct result result;

	while (done < MESSAGES && w->now_ns - from_ns < LIMIT_NS) {
		uint64_t end_ns = w->now_ns + 10000;

		for (; posted < MESSAGES && posted - done < DEPTH; posted++)
			hx_op(w, TP_WR_WRITE, 0, 0, MSG_BYTES, DST);
		hx_run(w, 10000);
		w->now_ns = RTE_MAX(w->now_ns, end_ns);
		forget_log(w);
		for (; w->side[0].send_cq.polled < w->side[0].send_cq.n; done++) {
			if (hx_poll(&w->side[0].send_cq)->status != TP_WC_SUCCESS)
				fprintf(stderr, "bench_sr: a WRITE failed\n");
		}
	}
	result.gbps = (double)done * MSG_BYTES * 8 / (double)(w->now_ns - from_ns);
	result.again = (double)tp_counters(w->side[0].tp)->retransmits / ((double)done * MSG_BYTES / 4096);
	hx_free(w);
	return result;
}

int main(void)
{
	static const uint32_t per_mille[] = {0, 1, 5, 10, 20, 50, 100};

	for (size_t i = 0; i < sizeof(per_mille) / sizeof(per_mille[0]); i++) {
		struct result gbn = run(per_mille[i], false, 0);
		struct result sr = run(per_mille[i], true, 0), paths = run(per_mille[i], true, 4);

		printf("loss_%u_go_back_n %.2f Gb/s\n", per_mille[i], gbn.gbps);
		printf("loss_%u_go_back_n_again %.4f per_packet\n", per_mille[i], gbn.again);
		printf("loss_%u_selective_repeat %.2f Gb/s\n", per_mille[i], sr.gbps);
		printf("loss_%u_selective_repeat_again %.4f per_packet\n", per_mille[i], sr.again);
		printf("loss_%u_four_paths %.2f Gb/s\n", per_mille[i], paths.gbps);
		printf("loss_%u_four_paths_again %.4f per_packet\n", per_mille[i], paths.again);
		printf("loss_%u_ratio %.2f times\n", per_mille[i], sr.gbps / gbn.gbps);
	}
	return 0;
}
