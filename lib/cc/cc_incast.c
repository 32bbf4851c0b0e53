/* SPDX-License-Identifier: BSD-3-Clause */
/* What a sender takes of a receiver that others send to as well: little until it is told of them, then its part. */
#include "cc_internal.h"

void cc_incast_init(struct cc *cc, struct cc_incast *incast, uint32_t first_packets)
{
	incast->cap_bytes = cc->max_window_bytes;
	incast->opening = first_packets != 0;
	if (incast->opening)
		cc_set_window(cc, (uint64_t)first_packets * cc->config->packet_bytes);
}

/* The senders whose packets arrive first are told of few others: they wait until the others have arrived as well. */
void cc_incast_open_more(struct cc *cc, struct cc_incast *incast, uint32_t second_packets, uint64_t now_ns)
{
	if (second_packets != 0 && incast->second_ns == 0) {
		incast->second_ns = now_ns;
		cc_set_window(cc, (uint64_t)second_packets * cc->config->packet_bytes);
	} else if (second_packets == 0 || now_ns - incast->second_ns >= cc->config->base_rtt_ns) {
		incast->opening = false;
		cc_set_window(cc, cc->max_window_bytes);
	}
}

/* Below one packet the window cannot go: the pace does. */
void cc_incast_share(struct cc *cc, struct cc_incast *incast, uint8_t senders, uint32_t all_bytes)
{
	uint32_t part = senders < 2 ? cc->max_window_bytes : all_bytes / senders;

	incast->senders = senders;
	incast->cap_bytes = part;
	if (part < cc->config->packet_bytes)
		cc_set_rate(cc, cc_bps(part, cc->config->base_rtt_ns));
	else
		cc->rate_bps = CC_UNLIMITED;
}
