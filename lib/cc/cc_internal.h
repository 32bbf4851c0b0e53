/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CC_INTERNAL_H
#define CC_INTERNAL_H

#include "cc.h"

/* cc_nscc.c */
void cc_nscc_init(struct cc *cc, uint64_t bdp_bytes);
void cc_nscc_acked(struct cc *cc, const struct cc_ack *ack);
void cc_nscc_lost(struct cc *cc, uint32_t bytes, bool queued, uint64_t now_ns);

static inline void cc_set_window(struct cc *cc, uint64_t bytes)
{
	uint32_t least = cc->config->packet_bytes;

	cc->window_bytes = bytes < least ? least : bytes > cc->max_window_bytes ? cc->max_window_bytes : (uint32_t)bytes;
}

#endif
