/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CC_INTERNAL_H
#define CC_INTERNAL_H

#include "cc.h"

#define CC_NS_PER_S 1000000000u

/* What a kind does; NULL: nothing. What all have in common is done before. */
struct cc_ops {
	const char *name;
	bool windowless;           /* without max_window_bytes there is no limit */
	int (*check)(const struct cc_config *config);
	void (*init)(struct cc *cc, uint64_t bdp_bytes);
	void (*acked)(struct cc *cc, const struct cc_ack *ack);
	void (*lost)(struct cc *cc, uint32_t bytes, bool queued, uint64_t now_ns);
	void (*silent)(struct cc *cc, uint64_t now_ns);
	void (*cnp)(struct cc *cc, uint64_t now_ns);
	void (*sent)(struct cc *cc, uint32_t bytes, uint64_t now_ns);
	void (*timer)(struct cc *cc, uint64_t now_ns);
	uint64_t (*next_ns)(const struct cc *cc);
};

extern const struct cc_ops cc_none_ops, cc_dcqcn_ops, cc_timely_ops, cc_swift_ops, cc_theta_ops, cc_nscc_ops,
	cc_predictive_ops, cc_learned_ops;

/* cc.c: what is common to those with a window. Lost for want of room: so much was too much. Lost otherwise: the window
 * has nothing to do with it. */
void cc_window_lost(struct cc *cc, uint32_t bytes, bool queued, uint64_t now_ns);
void cc_window_silent(struct cc *cc, uint64_t now_ns);

/* cc_nscc.c: twice the bandwidth-delay product, but a few packets beyond it at least; unless the configuration says what
 * the largest window is. */
void cc_two_products(struct cc *cc, uint64_t bdp_bytes);

static inline void cc_set_window(struct cc *cc, uint64_t bytes)
{
	uint32_t least = cc->config->packet_bytes;

	cc->window_bytes = bytes < least ? least : bytes > cc->max_window_bytes ? cc->max_window_bytes : (uint32_t)bytes;
}

/* cc_incast.c: until the first acknowledgement the window is so many packets; 0: the largest. */
void cc_incast_init(struct cc *cc, struct cc_incast *incast, uint32_t first_packets);
/* The receiver counts so many senders, which is not what it did before: all together may have all_bytes. */
void cc_incast_share(struct cc *cc, struct cc_incast *incast, uint8_t senders, uint32_t all_bytes);

/* There is an acknowledgement, and the window still is the first or the second: so many packets, 0: there is no second. */
void cc_incast_open_more(struct cc *cc, struct cc_incast *incast, uint32_t second_packets, uint64_t now_ns);

static inline void cc_incast_open(struct cc *cc, struct cc_incast *incast, uint32_t second_packets, uint64_t now_ns)
{
	if (incast->opening)
		cc_incast_open_more(cc, incast, second_packets, now_ns);
}

static inline void cc_incast_cap(struct cc *cc, const struct cc_incast *incast)
{
	if (cc->window_bytes > incast->cap_bytes)
		cc_set_window(cc, incast->cap_bytes);
}

static inline uint64_t cc_min_rate_bps(const struct cc_config *config)
{
	uint64_t least = config->min_rate_bps != 0 ? config->min_rate_bps : 1000000;

	return least < config->rate_bps ? least : config->rate_bps;
}

/* bps within what the link and the configuration allow. */
static inline uint64_t cc_clamp_rate(const struct cc *cc, uint64_t bps)
{
	uint64_t least = cc_min_rate_bps(cc->config);

	return bps < least ? least : bps > cc->config->rate_bps ? cc->config->rate_bps : bps;
}

/* The pace is bps, within those bounds; that of the link is none. */
static inline void cc_set_rate(struct cc *cc, uint64_t bps)
{
	cc->rate_bps = bps >= cc->config->rate_bps ? CC_UNLIMITED : cc_clamp_rate(cc, bps);
}

/* bits/s of so many bytes a time, which is not 0. Slow: not for each packet. */
static inline uint64_t cc_bps(uint64_t bytes, uint32_t time_ns)
{
	unsigned __int128 bps = (unsigned __int128)bytes * 8 * CC_NS_PER_S / time_ns;

	return bps > UINT64_MAX ? UINT64_MAX : (uint64_t)bps;
}

static inline uint64_t cc_permil(uint64_t value, uint32_t permil)
{
	return value * permil / 1000;
}

/* How much longer than on an idle path it took. */
static inline uint32_t cc_delay_ns(const struct cc *cc, const struct cc_ack *ack)
{
	return ack->rtt_ns > cc->base_ns ? ack->rtt_ns - cc->base_ns : 0;
}

/* (a * b) >> shift, UINT64_MAX at most. */
static inline uint64_t cc_mul_shift(uint64_t a, uint64_t b, unsigned int shift)
{
	unsigned __int128 product = ((unsigned __int128)a * b) >> shift;

	return product > UINT64_MAX ? UINT64_MAX : (uint64_t)product;
}

static inline uint64_t cc_add(uint64_t a, uint64_t b)
{
	return a + b < a ? UINT64_MAX : a + b;
}

#endif
