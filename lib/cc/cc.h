/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much a sender may have on its way. One struct cc a queue pair, embedded by the transport and touched by one
 * thread: what acknowledgements tell goes in, a window comes out. Pure: no clock, no allocation, no floating point, so
 * that the simulator gives the same bytes everywhere.
 */
#ifndef CC_H
#define CC_H

#include <stdbool.h>
#include <stdint.h>

enum cc_kind {
	CC_NSCC,      /* Network Signal-based Congestion Control: window by delay and marks (Ultra Ethernet 1.0, 3.6.13) */
	CC_KINDS,
};

struct cc_config {
	enum cc_kind kind;
	uint32_t packet_bytes;     /* of a full packet with all its headers, 64..16384 */
	uint32_t base_rtt_ns;      /* of an idle path, about; not 0 */
	uint32_t target_ns;        /* delay beyond that which queues may have; 0: base_rtt_ns */
	uint64_t rate_bps;         /* of the sender's link; not 0 */
	uint32_t max_window_bytes; /* 0: the controller's own */
};

/* Private. */
struct cc {
	const struct cc_config *config;
	uint64_t gain;             /* MSS * a, in bytes << CC_SHIFT */
	uint64_t inc;              /* bytes * bytes, to be added to the window */
	uint64_t settled_ns;       /* when inc was last added */
	uint64_t cut_ns;           /* of the last decrease by delay */
	uint64_t adapt_ns;         /* when the next look at what was achieved is due */
	uint64_t base_until_ns;
	uint64_t far_ns;           /* when a delay far above the target was seen last; 0: never */
	uint64_t average_ns16;     /* of the delay, EWMA 1/80, << 16 */
	uint32_t base_ns, base_new_ns; /* least round trip of the last two periods; of this one; 0: unknown */
	uint32_t window_bytes, max_window_bytes, target_ns;
	uint32_t unsettled_bytes;  /* acknowledged since inc was last added */
	uint32_t achieved_bytes;   /* acknowledged since the last look */
	bool trouble;              /* a loss, or a delay far above the target, since the last look */
	bool adapting;             /* the next look is due */
};

/* What an acknowledgement tells of one packet. */
struct cc_ack {
	uint64_t now_ns;
	uint32_t rtt_ns;           /* 0: unknown */
	uint32_t bytes;            /* of the packet, with its headers */
	bool marked;               /* it came with ECN "congestion experienced" */
};

/* 0 or -EINVAL: a number is out of range. */
int cc_config_check(const struct cc_config *config);

/* "nscc"; NULL: no such kind. */
const char *cc_name(enum cc_kind kind);
/* 0 or -EINVAL: no such name. */
int cc_by_name(const char *name, enum cc_kind *kind);

/* The window is open. config has been checked and must outlive cc. */
void cc_init(struct cc *cc, const struct cc_config *config);
void cc_acked(struct cc *cc, const struct cc_ack *ack);
/* A packet was lost. queued: its path shows a queue, so that it may be for want of room. */
void cc_lost(struct cc *cc, uint32_t bytes, bool queued, uint64_t now_ns);
/* Nothing that was sent lately has arrived: starts over with little. */
void cc_silent(struct cc *cc, uint64_t now_ns);

/* What may be on its way; one packet may always. */
static inline uint32_t cc_window_bytes(const struct cc *cc)
{
	return cc->window_bytes;
}

#endif
