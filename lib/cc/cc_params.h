/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What can be set of each controller, with published values. A struct of a user's own may start as a copy of one of the
 * constants. cc_config_check() tells what is out of range.
 */
#ifndef CC_PARAMS_H
#define CC_PARAMS_H

#include <stdbool.h>
#include <stdint.h>

/* DCQCN (Zhu et al., SIGCOMM 2015), with what network cards add. In brackets: the name among their settings. */
struct cc_dcqcn_params {
	uint32_t g_1024;            /* part of a notification in alpha, of 1024, 1..1024 (1024 - dce_tcp_g) */
	uint32_t alpha_period_ns;   /* alpha falls once in such a time without a notification; not 0 (dce_tcp_rtt) */
	uint32_t initial_alpha_1024; /* at the first notification, of 1024 (initial_alpha_value) */
	uint32_t cut_period_ns;     /* at most one decrease in it; 0: each notification (rate_reduce_monitor_period) */
	uint32_t least_percent;     /* of the rate that a decrease leaves, 0..100 (rpg_min_dec_fac) */
	uint64_t first_bps;         /* rate at the first notification; 0: that of the link (rate_to_set_on_first_cnp) */
	/* A decrease makes the rate before it the target. Without this: only if the byte counter has raised the rate since the
	 * last one (clamp_tgt_rate), or, with clamp_after_timer, the timer has (clamp_tgt_rate_after_time_inc). */
	bool clamp_target, clamp_after_timer;
	uint32_t increase_timer_ns; /* not 0 (rpg_time_reset) */
	uint32_t increase_bytes;    /* 1024 or more (rpg_byte_reset) */
	uint32_t fast_steps;        /* F: so many increases go half the way back to the target, 0..31 (rpg_threshold) */
	uint64_t add_bps;           /* to the target when timer or byte counter have ended F times (rpg_ai_rate), */
	uint64_t hyper_bps;         /* and i times that when both have, i times more (rpg_hai_rate) */
	uint64_t per_link_bps;      /* these two are for such a link, others in proportion; 0: for any */
	/* Between peers whose acknowledgements tell of marks nobody sends notifications: a mark is one, if the last is as long
	 * ago (min_time_between_cnps). */
	uint32_t notice_gap_ns;
	bool cut_on_loss;           /* a loss is a notification too: cards send one with a sequence NAK */
};

extern const struct cc_dcqcn_params cc_dcqcn_vendor;    /* defaults of ConnectX: the default */
extern const struct cc_dcqcn_params cc_dcqcn_paper;
extern const struct cc_dcqcn_params cc_dcqcn_simulator; /* of the simulator that Microsoft published */

/* TIMELY (Mittal et al., SIGCOMM 2015). */
struct cc_timely_params {
	uint32_t ewma_permil;       /* part of the latest difference in the gradient, 1..1000 */
	uint32_t beta_permil;       /* of a decrease, 0..1000 */
	uint32_t least_permil;      /* of the rate that one leaves, 0..1000 */
	uint32_t low_ns, high_ns;   /* round trips below only add, above only cut; high_ns not 0 */
	uint32_t min_rtt_ns;        /* that gradients are relative to; not 0 */
	uint64_t add_bps;
	uint32_t hyper_after;       /* adds five times as much after so many updates without a rise */
	uint32_t segment_bytes;     /* one update in so many acknowledged bytes */
};

extern const struct cc_timely_params cc_timely_default;

/* Swift (Kumar et al., SIGCOMM 2020). */
struct cc_swift_params {
	uint32_t base_target_ns;    /* round trip, hops included; 0: base_rtt_ns + target_ns */
	uint32_t scale_ns;          /* most that small windows add to it (fs_range); 0: four of base_rtt_ns */
	uint32_t scale_min_milli;   /* windows, in 1/1000 of a packet, at which it is all of that, */
	uint32_t scale_max_milli;   /* and nothing */
	uint32_t add_permil;        /* of a packet, each round trip */
	uint32_t beta_permil;       /* 0..1000 */
	uint32_t most_permil;       /* of the window in one decrease (max_mdf), 0..1000 */
	uint32_t min_milli;         /* least window, in 1/1000 of a packet, 1..1000 */
	uint32_t reset_after;       /* silences in a row after which it is that */
};

extern const struct cc_swift_params cc_swift_default;

/* Theta-PowerTCP (Addanki et al., NSDI 2022, algorithm 2). */
struct cc_theta_params {
	uint32_t gamma_permil;      /* part of the new window, 1..1000 */
	uint32_t flows;             /* expected to share a link: each update adds a BDP by that; not 0 */
};

extern const struct cc_theta_params cc_theta_default;

/* Ours: what is added to NSCC. Without any of it (all zero) it is NSCC. */
struct cc_predictive_params {
	bool median;                /* the delay is the median of the last nine */
	bool prediction;            /* and one round trip later is foreseen */
	bool incast_cap;            /* the window is shared by the senders that the receiver counts */
	/* Until the first acknowledgement tells of them the window is so many packets, 0: all of it. */
	uint32_t first_packets;
	/* And for a round trip after it so many, 0: there is no such time. It needs a first window. */
	uint32_t second_packets;
};

extern const struct cc_predictive_params cc_predictive_default;

#endif
