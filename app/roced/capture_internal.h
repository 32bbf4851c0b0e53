/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of captures in the main thread share. */
#ifndef CAPTURE_INTERNAL_H
#define CAPTURE_INTERNAL_H

#include "capture.h"

#define CAPTURE_OUT_BYTES (256u << 10)

struct capture {
	struct capture_spec spec;
	struct capture_want want;
	bool ending, tail; /* no more is taken; what it came to is written behind the packets */
	uint64_t until_ns, begun_ns, last_ns;
	uint64_t real_ns; /* real time is the monotonic one and this */
	uint32_t n_ifaces, n_workers;
	uint64_t packets, bytes;
	size_t out_from, out_to;
	struct capture_worker *workers[VD_MAX_WORKERS];
	uint8_t out[CAPTURE_OUT_BYTES];
};

struct capture_state {
	struct capture *now;
	struct capture_told last;
};

static inline struct capture *capture_running(const struct roced *roced)
{
	return roced->capture != NULL ? roced->capture->now : NULL;
}

/* Packets of an interface that were to be captured, or of these those that were missed. */
uint64_t capture_sum(const struct capture *capture, bool missed, uint32_t iface);
/* Workers take no more from now on; end: why. */
void capture_stop_taking(struct roced *roced, const char *end, uint64_t now_ns);
/* Nothing more is written. */
void capture_finish(struct roced *roced);

#endif
