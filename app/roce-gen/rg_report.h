/* SPDX-License-Identifier: BSD-3-Clause */
/* Results, as lines of text or as one JSON object. */
#ifndef RG_REPORT_H
#define RG_REPORT_H

#include "rg_flow.h"
#include "rg_pace.h"
#include "rg_sink.h"

/* What a port was given to send, and what was in the way. */
struct rg_tx_stats {
	uint64_t frames, bytes;    /* that the driver took */
	uint64_t full;             /* how often it took less than it was given; the rest is given again */
	uint64_t no_mbuf;          /* how often there was no buffer; the packet waits */
};

struct rg_results {
	const struct rg_config *config;
	const char *ended_by;      /* "count", "duration" or "signal" */
	uint64_t ns;               /* that it ran */
	const struct rg_flow *flows; /* of the configuration; NULL: none were sent */
	const struct rg_pace *paces;
	const uint64_t *flow_ns;   /* how long each was sent */
	struct rg_sink *sink;      /* NULL: nothing was received */
	const struct rg_sink_port *rx;
	const struct rg_tx_stats *tx; /* of each port */
};

void rg_report(const struct rg_results *results, FILE *out, bool json);
/* Whether all that came was right and in order, and all came that was sent, faults apart. */
bool rg_report_clean(const struct rg_results *results);

#endif
