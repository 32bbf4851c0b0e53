/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon's metrics, as one text. */
#ifndef METRICS_TEXT_H
#define METRICS_TEXT_H

#include "roced.h"

/* A text that several connections may be sending; freed with the last of them. */
struct metrics_text {
	uint32_t refs;
	uint64_t made_ns;
	char *text;
	size_t n;
};

/* All tables, with metrics.max_rows rows of each. With one reference; NULL: no memory. */
struct metrics_text *metrics_text_make(struct roced *roced, uint64_t now_ns);
void metrics_text_release(struct metrics_text *text);

#endif
