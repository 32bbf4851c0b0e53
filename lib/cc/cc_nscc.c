/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NSCC. Each acknowledgement falls in one of four quadrants: marked or not, delay below or above the target.
 *
 *   not marked, below   grow, the faster the more the delay is below the target
 *   not marked, above   grow a little: the queue is there but goes away
 *   marked, below       keep: the mark is of one path, and the scheduler has left it
 *   marked, above       shrink, once a round trip, by how far the average delay is above the target
 *
 * The window is two bandwidth-delay products at most, so that a sender does not stop for the queues of a fabric that is used
 * to the full. While delays show that paths are far from equal it is one and a half: else senders that hold on to the
 * fast ones keep all of it, and those that the slow ones have cut down end late.
 *
 * Constants are those of Ultra Ethernet 1.0 for 100 Gb/s and 12 us, scaled by the bandwidth-delay product. What is to be
 * added is gathered as bytes * bytes and divided by the window once in eight packets or a round trip.
 */
#include "cc_nscc.h"

#define REF_BYTES        150000u  /* bandwidth-delay product of the reference, */
#define REF_NS           12000u   /* 100 Gb/s at this round trip */
#define BELOW_GAIN       4u
#define RTT_GAIN_PERMIL  150u     /* of a packet, each round trip, whatever happens */
#define ADAPT_BELOW      8u       /* what was achieved is below an eighth of the largest window */
#define CUT_MOST         2u       /* to one half */
#define SPARE_PACKETS    24u      /* beyond the bandwidth-delay product: on short links queues of a few packets are more */

void cc_two_products(struct cc *cc, uint64_t bdp_bytes)
{
	uint64_t spare = (uint64_t)SPARE_PACKETS * cc->config->packet_bytes;
	uint64_t max = bdp_bytes + (bdp_bytes > spare ? bdp_bytes : spare);

	if (cc->config->max_window_bytes != 0)
		return;
	cc->max_window_bytes = max < UINT32_MAX ? (uint32_t)max : UINT32_MAX;
	cc->window_bytes = cc->max_window_bytes;
}

void cc_nscc_init(struct cc *cc, uint64_t bdp_bytes)
{
	cc_two_products(cc, bdp_bytes);
	cc->gain = ((uint64_t)cc->config->packet_bytes << CC_NSCC_SHIFT) * bdp_bytes / REF_BYTES;
	cc->below_gain = (uint64_t)(((unsigned __int128)cc->gain * BELOW_GAIN << CC_NSCC_BELOW_SHIFT) / REF_NS);
}

void cc_nscc_shrink(struct cc *cc, uint64_t about_ns, uint64_t now_ns)
{
	uint64_t over16, cut;

	if (about_ns <= cc->target_ns || now_ns - cc->cut_ns < cc->config->base_rtt_ns)
		return;
	over16 = ((about_ns - cc->target_ns) << 16) / about_ns;
	cut = cc->window_bytes * over16 * 4 / 5 >> 16;
	if (cut > cc->window_bytes / CUT_MOST)
		cut = cc->window_bytes / CUT_MOST;
	cc_set_window(cc, cc->window_bytes - cut);
	cc->cut_ns = now_ns;
}

void cc_nscc_settle_now(struct cc *cc, bool round_trip, uint64_t now_ns)
{
	uint64_t rtt_gain = round_trip ? (cc->gain * RTT_GAIN_PERMIL / 1000) >> CC_NSCC_SHIFT : 0;

	cc_set_window(cc, cc_add(cc->inc / cc->window_bytes, cc->window_bytes + rtt_gain));
	cc->inc = 0;
	cc->unsettled_bytes = 0;
	if (rtt_gain != 0)
		cc->settled_ns = now_ns;
}

/* When next to nothing gets through, the window is what did: decreases of one half a round trip take too long. */
void cc_nscc_adapt_now(struct cc *cc, uint64_t now_ns)
{
	if (cc->adapting && cc->trouble && cc->achieved_bytes < cc->max_window_bytes / ADAPT_BELOW &&
		cc->achieved_bytes < cc->window_bytes)
		cc_set_window(cc, cc->achieved_bytes);
	cc->adapting = true;
	cc->adapt_ns = now_ns + cc->config->base_rtt_ns + cc->target_ns;
	cc->achieved_bytes = 0;
	cc->trouble = false;
}

void cc_nscc_unknown(struct cc *cc, const struct cc_ack *ack)
{
	/* Sent again, it tells no delay, but it has come: else a window that losses have closed would stay closed. */
	if (!ack->marked)
		cc_nscc_grow_above(cc, ack->bytes);
	cc_nscc_settle(cc, ack->now_ns);
	cc_nscc_adapt(cc, ack->now_ns);
}

static void acked(struct cc *cc, const struct cc_ack *ack)
{
	uint32_t delay_ns = cc_delay_ns(cc, ack);

	cc_nscc_count(cc, ack->bytes);
	if (ack->rtt_ns == 0) {
		cc_nscc_unknown(cc, ack);
		return;
	}
	cc_nscc_delay(cc, delay_ns, ack->now_ns);
	if (!ack->marked && delay_ns < cc->target_ns)
		cc_nscc_grow_below(cc, ack->bytes, delay_ns);
	else if (!ack->marked)
		cc_nscc_grow_above(cc, ack->bytes);
	else if (delay_ns >= cc->target_ns)
		cc_nscc_shrink(cc, cc_nscc_average_ns(cc), ack->now_ns);
	cc_nscc_settle(cc, ack->now_ns);
	cc_nscc_adapt(cc, ack->now_ns);
	cc_nscc_even_out(cc, ack->now_ns);
}

void cc_nscc_lost(struct cc *cc, uint32_t bytes, bool queued, uint64_t now_ns)
{
	cc->trouble = true;
	cc_window_lost(cc, bytes, queued, now_ns);
}

void cc_nscc_silent(struct cc *cc, uint64_t now_ns)
{
	cc->cut_ns = now_ns;
	cc->inc = 0;
	cc_window_silent(cc, now_ns);
}

const struct cc_ops cc_nscc_ops = {
	.name = "nscc",
	.init = cc_nscc_init,
	.acked = acked,
	.lost = cc_nscc_lost,
	.silent = cc_nscc_silent,
};
