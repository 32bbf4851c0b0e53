/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NSCC in parts, in the order in which an acknowledgement takes them: cc_nscc.c is made of them, and so is what adds to
 * it. Those that each acknowledgement takes are inline: called, they cost as much as what they do.
 */
#ifndef CC_NSCC_H
#define CC_NSCC_H

#include "cc_internal.h"

#define CC_NSCC_SHIFT           10u
#define CC_NSCC_ABOVE_GAIN      5u
#define CC_NSCC_SETTLE_PACKETS  8u
#define CC_NSCC_AVERAGE_PART    80u  /* EWMA 0.0125 */
#define CC_NSCC_AVERAGE_SHIFT   16u
#define CC_NSCC_BELOW_SHIFT     16u
#define CC_NSCC_FAR             4u  /* delay in targets that is trouble */
#define CC_NSCC_UNEVEN          3u  /* the same that shows that paths differ, */
#define CC_NSCC_UNEVEN_RTTS     20u  /* for so many round trips */

void cc_nscc_init(struct cc *cc, uint64_t bdp_bytes);

/* So many bytes have arrived. */
static inline void cc_nscc_count(struct cc *cc, uint32_t bytes)
{
	cc->achieved_bytes += bytes;
	cc->unsettled_bytes += bytes;
}

/* The delay of a packet. */
static inline void cc_nscc_delay(struct cc *cc, uint32_t delay_ns, uint64_t now_ns)
{
	int64_t diff = ((int64_t)delay_ns << CC_NSCC_AVERAGE_SHIFT) - (int64_t)cc->average_ns16;

	cc->average_ns16 = (uint64_t)((int64_t)cc->average_ns16 + diff / (int64_t)CC_NSCC_AVERAGE_PART);
	if (delay_ns > (uint64_t)CC_NSCC_FAR * cc->target_ns)
		cc->trouble = true;
	if (delay_ns / CC_NSCC_UNEVEN > cc->target_ns)
		cc->far_ns = now_ns;
}

static inline uint64_t cc_nscc_average_ns(const struct cc *cc)
{
	return cc->average_ns16 >> CC_NSCC_AVERAGE_SHIFT;
}

/* Not marked, and the delay is below the target; is not. */
static inline void cc_nscc_grow_below(struct cc *cc, uint32_t bytes, uint32_t delay_ns)
{
	uint64_t room = (uint64_t)bytes * (cc->target_ns - delay_ns);

	cc->inc = cc_add(cc->inc, cc_mul_shift(cc->below_gain, room, CC_NSCC_SHIFT + CC_NSCC_BELOW_SHIFT));
}

static inline void cc_nscc_grow_above(struct cc *cc, uint32_t bytes)
{
	cc->inc = cc_add(cc->inc, cc_mul_shift(cc->gain * CC_NSCC_ABOVE_GAIN, bytes, CC_NSCC_SHIFT));
}

/* Marked with delays about so long: at most once a round trip. */
void cc_nscc_shrink(struct cc *cc, uint64_t about_ns, uint64_t now_ns);

void cc_nscc_settle_now(struct cc *cc, bool round_trip, uint64_t now_ns);

/* Puts into effect what has been gathered. */
static inline void cc_nscc_settle(struct cc *cc, uint64_t now_ns)
{
	bool round_trip = now_ns - cc->settled_ns >= cc->config->base_rtt_ns;

	if (round_trip || cc->unsettled_bytes >= CC_NSCC_SETTLE_PACKETS * cc->config->packet_bytes)
		cc_nscc_settle_now(cc, round_trip, now_ns);
}

void cc_nscc_adapt_now(struct cc *cc, uint64_t now_ns);

/* Looks at what was achieved, once a while. */
static inline void cc_nscc_adapt(struct cc *cc, uint64_t now_ns)
{
	if (!cc->adapting || now_ns >= cc->adapt_ns)
		cc_nscc_adapt_now(cc, now_ns);
}

/* While paths are far from equal, less than the largest window. */
static inline void cc_nscc_even_out(struct cc *cc, uint64_t now_ns)
{
	uint32_t most = cc->max_window_bytes / 4 * 3;

	if (cc->far_ns != 0 && now_ns - cc->far_ns < (uint64_t)CC_NSCC_UNEVEN_RTTS * cc->config->base_rtt_ns && cc->window_bytes > most)
		cc_set_window(cc, most);
}

/* All that an acknowledgement without a round trip does after it was counted. */
void cc_nscc_unknown(struct cc *cc, const struct cc_ack *ack);
void cc_nscc_lost(struct cc *cc, uint32_t bytes, bool queued, uint64_t now_ns);
void cc_nscc_silent(struct cc *cc, uint64_t now_ns);

#endif
