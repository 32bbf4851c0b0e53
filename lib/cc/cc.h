/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much a sender may have on its way, and how fast it may send. One struct cc a queue pair, embedded by the
 * transport and touched by one thread: what acknowledgements and congestion notifications tell goes in, a window and a
 * pace come out. Pure: no clock, no allocation, no floating point, so that the simulator gives the same bytes
 * everywhere.
 *
 * Times are of one clock that does not go back. What goes by time (DCQCN) is made up for whenever one of the functions
 * is called with a time, so nobody has to arm a timer: who paces calls cc_sent() for each packet and then reads the
 * rate.
 */
#ifndef CC_H
#define CC_H

#include <stdbool.h>
#include <stdint.h>

#include "cc_model.h"
#include "cc_params.h"

#define CC_UNLIMITED UINT64_MAX

enum cc_kind {
	CC_NONE,           /* neither window nor pace */
	CC_DCQCN,          /* a pace by congestion notifications: what network cards do */
	CC_TIMELY,         /* a pace by the gradient of the round trip */
	CC_SWIFT,          /* a window by a target delay */
	CC_THETA_POWERTCP, /* a window and a pace by the round trip and its gradient */
	CC_NSCC,           /* Network Signal-based Congestion Control: window by delay and marks (Ultra Ethernet 1.0) */
	CC_PREDICTIVE,     /* NSCC with the median of delays, a prediction of them, and the receiver's count of senders */
	CC_LEARNED,        /* a window by trees that were taught in the simulator */
	CC_KINDS,
};

struct cc_config {
	enum cc_kind kind;
	uint32_t packet_bytes;     /* of a full packet with all its headers, 64..16384 */
	uint32_t base_rtt_ns;      /* of an idle path, about; not 0 */
	uint32_t target_ns;        /* delay beyond that which queues may have; 0: base_rtt_ns */
	uint64_t rate_bps;         /* of the sender's link; not 0 */
	uint64_t min_rate_bps;     /* no pace is below that; 0: 1 Mb/s. At most rate_bps */
	/* 0: the controller's own; for none, DCQCN and TIMELY, which have no window: no limit. */
	uint32_t max_window_bytes;
	/* Of the kind in use; they have to stay as well. NULL: the defaults, see cc_params.h. */
	const struct cc_dcqcn_params *dcqcn;
	const struct cc_timely_params *timely;
	const struct cc_swift_params *swift;
	const struct cc_theta_params *theta;
	const struct cc_predictive_params *predictive;
	const struct cc_model *model; /* of CC_LEARNED, which has no default */
};

/* Private. */
struct cc_dcqcn {
	uint64_t current_bps, target_bps;
	uint64_t alpha_ns;         /* when alpha last changed or was looked at */
	uint64_t increase_ns;      /* when the increase timer last ended */
	uint64_t cut_ns;           /* of the last decrease */
	uint64_t notice_ns;        /* of the last mark that was taken for a notification */
	uint32_t alpha;            /* << 30 */
	uint32_t bytes;            /* since the byte counter last ended */
	uint16_t timer_stage, byte_stage; /* times that they have ended since the last decrease */
	bool begun;                /* there was a notification: before, nothing is limited */
};

/* Private. */
struct cc_timely {
	int64_t diff_ns16;         /* EWMA of the difference of two round trips, << 16 */
	uint64_t current_bps;
	uint32_t prev_ns;          /* the round trip before; 0: unknown */
	uint32_t bytes;            /* acknowledged since the last update */
	uint8_t falling;           /* updates in a row with a gradient that is not above 0 */
};

/* Private. */
struct cc_swift {
	uint64_t window16;         /* bytes << 16 */
	uint64_t cut_ns;
	uint32_t scale_ns;         /* what is added to the target for so small a window */
	uint32_t scaled_bytes;     /* the window that scale_ns is of */
	uint32_t rtt_ns;           /* latest; 0: unknown */
	uint8_t silences;          /* in a row */
};

/* Private. */
struct cc_theta {
	uint64_t update_ns;        /* when the window was last computed */
	uint64_t prev_ns;          /* of the acknowledgement before; 0: none */
	uint32_t prev_rtt_ns;
	uint32_t power16;          /* smoothed and normalised, << 16 */
	uint64_t add_bytes;        /* beta */
};

#define CC_MEDIAN_OF 9

/* Private. */
struct cc_median {
	uint32_t delay_ns[CC_MEDIAN_OF]; /* the last, a ring of threes */
	uint32_t fourth_ns, fifth_ns;    /* of the eight that stay when the next comes */
	/* Of the two threes that it is not in: the larger least, both middles, the smaller largest. */
	uint32_t least_ns, middle_low_ns, middle_high_ns, most_ns;
	uint8_t n;
	uint8_t three, place;            /* where the next goes: its three begins at 0, 3 or 6, and its place there */
};

/* Private. */
struct cc_incast {
	uint64_t second_ns;        /* when the second window began; 0: not yet */
	uint32_t cap_bytes;
	uint8_t senders;           /* the latest count of the receiver; 0: not told */
	bool opening;              /* the window is the first or the second */
};

#define CC_LOOK_AHEAD 4    /* predictions are for so many steps later, and a round trip has so many */

/* Private. */
struct cc_predict {
	struct cc_median median;
	struct cc_incast incast;
	uint32_t past_ns[CC_LOOK_AHEAD];   /* medians of the last steps, */
	uint32_t said_ns[CC_LOOK_AHEAD];   /* and what was predicted at them */
	uint64_t step_ns;          /* when the last step was; 0: none */
	int64_t level_ns8, trend_ns8; /* Holt's, << 8 */
	uint64_t error_ns8, naive_ns8; /* EWMA 1/32 of how far the prediction was off, and the median of then; << 8 */
	uint32_t predicted_ns;
	uint8_t steps;             /* since the start, CC_LOOK_AHEAD at most */
	uint8_t at_step;
};

/* Private. */
struct cc_learned {
	struct cc_median median;
	struct cc_incast incast;
	uint32_t past_ns[CC_LOOK_AHEAD]; /* medians of the last decisions, from the next place on */
	uint32_t latest_ns, median_ns;
	uint32_t marked16;         /* EWMA, << 16 */
	uint32_t share_bytes;      /* of all senders to the receiver */
	uint64_t by_target, by_bdp; /* what turns ns and bytes into parts, << 32 */
	uint64_t line_ns;          /* what a byte takes the link, * CC_MODEL_ONE, << 16 */
	uint64_t decided_ns;       /* 0: nothing yet */
	uint64_t acked_bytes, lost_bytes; /* since then */
	uint8_t at_past;
};

/* Private. */
struct cc {
	const struct cc_config *config;
	uint64_t rate_bps;         /* pace; CC_UNLIMITED: none */
	uint64_t base_until_ns;
	uint32_t base_ns, base_new_ns; /* least round trip of the last two periods; of this one; 0: unknown */
	uint32_t window_bytes, max_window_bytes, target_ns;
	union {
		/* NSCC, and what predictive adds to it */
		struct {
			uint64_t gain;       /* MSS * a, in bytes << 10 */
			uint64_t below_gain; /* the same, by ns below the target, << 26 */
			uint64_t inc;        /* bytes * bytes, to be added to the window */
			uint64_t settled_ns; /* when inc was last added */
			uint64_t cut_ns;     /* of the last decrease by delay */
			uint64_t far_ns;     /* when a delay far above the target was seen last; 0: never */
			uint64_t adapt_ns;   /* when the next look at what was achieved is due */
			uint64_t average_ns16; /* of the delay, EWMA 1/80, << 16 */
			uint64_t achieved_bytes; /* acknowledged since the last look */
			uint32_t unsettled_bytes; /* acknowledged since inc was last added */
			bool trouble;        /* a loss, or a delay far above the target, since the last look */
			bool adapting;       /* the next look is due */
			struct cc_predict predict;
		};
		struct cc_dcqcn dcqcn;
		struct cc_timely timely;
		struct cc_swift swift;
		struct cc_theta theta;
		struct cc_learned learned;
	};
};

_Static_assert(sizeof(struct cc) <= 320, "one for each queue pair, and touched for each packet");

/* What an acknowledgement tells of one packet. */
struct cc_ack {
	uint64_t now_ns;
	uint32_t rtt_ns;           /* 0: unknown */
	uint32_t bytes;            /* of the packet, with its headers */
	bool marked;               /* it came with ECN "congestion experienced" */
	uint8_t senders;           /* how many are active at the receiver; 0: not told */
};

/* 0 or -EINVAL: a number is out of range. */
int cc_config_check(const struct cc_config *config);

/* "nscc"; NULL: no such kind. */
const char *cc_name(enum cc_kind kind);
/* 0 or -EINVAL: no such name. */
int cc_by_name(const char *name, enum cc_kind *kind);

/* The window is open and nothing paces. config has been checked and must outlive cc. */
void cc_init(struct cc *cc, const struct cc_config *config);
void cc_acked(struct cc *cc, const struct cc_ack *ack);
/* A packet was lost. queued: its path shows a queue, so that it may be for want of room. */
void cc_lost(struct cc *cc, uint32_t bytes, bool queued, uint64_t now_ns);
/* Nothing that was sent lately has arrived: starts over with little. */
void cc_silent(struct cc *cc, uint64_t now_ns);
/* A congestion notification packet has come for the queue pair (IBTA vol. 1, annex A17.9.3). Kinds other than DCQCN are
 * told by acknowledgements and take no notice. */
void cc_cnp(struct cc *cc, uint64_t now_ns);
/* A packet of so many bytes is sent. */
void cc_sent(struct cc *cc, uint32_t bytes, uint64_t now_ns);
/* Makes up for what went by time until now_ns, so that cc_rate_bps() is that of now. */
void cc_timer(struct cc *cc, uint64_t now_ns);
/* When cc_timer() would next change the rate if nothing else happens; UINT64_MAX: never. */
uint64_t cc_next_ns(const struct cc *cc);

/* What may be on its way; one packet may always. Never 0; UINT32_MAX: no limit. */
static inline uint32_t cc_window_bytes(const struct cc *cc)
{
	return cc->window_bytes;
}

/* How fast packets may be sent, headers included, bits/s; CC_UNLIMITED: as the link takes them. Kinds that go by a
 * window have a pace when even one packet a round trip is too much. Who only heeds the window sends more than it should
 * then, but no more than a packet a round trip. */
static inline uint64_t cc_rate_bps(const struct cc *cc)
{
	return cc->rate_bps;
}

#endif
