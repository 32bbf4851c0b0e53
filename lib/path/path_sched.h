/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which path the next packet takes. Between two hosts there are many equal-cost paths, and switches choose among
 * them by a hash that covers the UDP source port; so the sender chooses by that port. A path here is an entropy
 * value (EV), a number from 0; which port stands for it is the transport's business. Two EVs may well share
 * links: nothing is known of the fabric but what acknowledgements tell.
 *
 * Pure: no clock, no allocation, randomness from a seed. One struct path_sched a queue pair, embedded by the
 * transport and touched by one thread. Every packet is one path_sched_pick() and later one of path_sched_acked(),
 * path_sched_lost() and path_sched_timeout() with the EV it was sent on.
 *
 * With config->keep_order no kind reorders: see path_sched_holds().
 */
#ifndef PATH_SCHED_H
#define PATH_SCHED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATH_SCHED_MAX_EVS 64u
#define PATH_SCHED_RING    8u
#define PATH_SCHED_NO_EV   0xffu

enum path_sched_kind {
	PATH_SCHED_ADAPTIVE,    /* recycles what is known to be good and predicted to stay so; the default */
	PATH_SCHED_ECMP,        /* one EV, moved only when it is dead */
	PATH_SCHED_ROUND_ROBIN, /* oblivious spraying over all EVs that live */
	PATH_SCHED_FLOWLET,     /* LetFlow: another EV after an idle gap */
	PATH_SCHED_PLB,         /* Protective Load Balancing: another EV after some congested round trips */
	PATH_SCHED_REPS,        /* recycles EVs of clean acknowledgements, else takes one at random */
	PATH_SCHED_BITMAP,      /* in turn, passing over EVs with a penalty */
	PATH_SCHED_MIXED,       /* recycles like REPS, else walks like BITMAP */
	PATH_SCHED_WEIGHTED,    /* in turn, those with marks, losses and delay less often */
	PATH_SCHED_KINDS,
};

struct path_sched_config {
	enum path_sched_kind kind;
	bool keep_order;           /* the peer takes packets only in order */
	bool no_probes;            /* keep_order: adaptive tries other paths by moving there, path_sched_probe() has none */
	uint8_t n_evs;             /* 1 .. PATH_SCHED_MAX_EVS */
	uint32_t base_rtt_ns;      /* of an idle path, about; not 0 */
	uint32_t margin_ns;        /* adaptive: a path slower than the others by this much is not recycled */
	uint8_t short_packets;     /* adaptive: messages of up to so many packets take one EV */
	uint32_t flowlet_gap_ns;   /* flowlet, and least gap of a move under keep_order */
	uint8_t plb_marked_percent; /* a round trip with this share of marks is congested */
	uint8_t plb_rounds;        /* congested ones in a row until the flow moves */
	uint8_t plb_idle_rounds;   /* the same when nothing is outstanding */
	uint32_t freeze_ns;        /* after a timeout only known-good EVs, for this long */
	uint8_t freeze_acks;       /* or until so many clean acknowledgements */
	uint8_t losses_dead;       /* losses in a row after which an EV is dead: 1 or 2 */
	uint32_t probe_ns;         /* a dead EV is probed after this, then after twice that, ...; no_probes: others tried */
	uint32_t probe_max_ns;     /* ... but at least this often; up to 4 s */
	uint8_t slow_percent;      /* keep_order: RTT above so much of the base makes another path interesting */
	uint8_t better_percent;    /* keep_order: which must have less than so much of the present RTT */
};

/* What an EV's path is like. While it is dead, only packets sent for a probe go there. */
struct path_sched_ev {
	uint16_t srtt;             /* EWMA 1/4, in units of 1 << rtt_shift ns; 0: unknown. Dead: when a probe is due */
	uint16_t min_rtt;          /* same unit; 0: unknown */
	uint8_t ecn;               /* share of marked packets, EWMA 1/8, 255: all */
	uint8_t loss;              /* share of lost packets, EWMA 1/8 */
};

/* Private but for its size. */
struct path_sched {
	const struct path_sched_config *config;
	uint64_t random;
	uint64_t dead;             /* bit i: EV i */
	uint64_t lost;             /* bit i: the last that was heard of EV i is a loss */
	uint64_t waiting;          /* bit i: nothing was heard of EV i since a packet left on it */
	uint64_t penalty[PATH_SCHED_MAX_EVS / 16]; /* 4 bits an EV; dead: how often the probe's delay was doubled */
	uint64_t until_ns;         /* end of the freeze or of PLB's round */
	uint64_t probed_ns;        /* keep_order: last probe or trial of another path */
	uint32_t peak_rtt_ns;      /* keep_order: of the present path, decaying */
	uint16_t typical;          /* running median of all RTTs, in units */
	uint16_t least;            /* smallest of all RTTs, in units; 0: unknown */
	uint16_t acked, marked;    /* PLB: of this round */
	uint8_t ring[PATH_SCHED_RING];
	uint8_t ring_at, ring_n;
	uint8_t cursor, flip;      /* the walk's */
	uint8_t current;           /* EV of the last packet */
	uint8_t next;              /* keep_order: EV to move to when nothing is outstanding; PATH_SCHED_NO_EV */
	uint8_t frozen;            /* clean acknowledgements until the freeze ends; 0: not frozen */
	uint8_t rounds;            /* PLB: congested ones in a row; no_probes: how often the time to a trial was doubled */
	uint8_t turn;              /* adaptive: packets, modulo 256 */
	uint8_t mask;              /* power of two not below n_evs, less one */
	uint8_t rtt_shift;
	bool holds;                /* keep_order: next is worth stopping for */
	struct path_sched_ev ev[PATH_SCHED_MAX_EVS]; /* only as many as config->n_evs have to be there */
};

_Static_assert(sizeof(struct path_sched) <= 512, "a queue pair has room for 512 bytes of it");

/* What the transport knows when it asks. */
struct path_sched_view {
	uint64_t now_ns;
	uint64_t last_send_ns;     /* of this queue pair; 0: never */
	uint32_t in_flight_bytes;  /* sent and neither acknowledged nor lost */
	uint32_t message_packets;  /* of the message that the packet belongs to; 0: unknown, long */
	uint32_t message_at;       /* packets of it that were sent before */
};

struct path_sched_stats {
	uint32_t srtt_ns, min_rtt_ns; /* 0: unknown */
	uint8_t ecn_percent, loss_percent;
	uint8_t penalty;
	bool alive;
};

/* adaptive with 64 EVs for a data centre: base RTT 10 us and constants as in docs/multipath.md. */
void path_sched_config_default(struct path_sched_config *config);
/* Sets the base RTT and margin_ns by it. */
void path_sched_config_base(struct path_sched_config *config, uint32_t base_rtt_ns);
/* 0 or -EINVAL: a number is out of range. */
int path_sched_config_check(const struct path_sched_config *config);

/* "adaptive" and so on; NULL: no such kind. */
const char *path_sched_name(enum path_sched_kind kind);
/* 0 or -EINVAL: no such name. */
int path_sched_by_name(const char *name, enum path_sched_kind *kind);

/* Bytes of a struct path_sched that has room for n_evs only: what is behind them is not touched. */
static inline size_t path_sched_bytes(uint8_t n_evs)
{
	return offsetof(struct path_sched, ev) + n_evs * sizeof(struct path_sched_ev);
}

/* Queue pairs with different seeds start on different EVs; with no_probes on EV 0. config must outlive s and have been
 * checked. */
void path_sched_init(struct path_sched *s, const struct path_sched_config *config, uint64_t seed);

/* EV of the packet that is sent now. */
uint8_t path_sched_pick(struct path_sched *s, const struct path_sched_view *view);

/* What became of a packet. rtt_ns 0: not known (the packet was sent more than once). An EV that does not exist is
 * ignored: it may come from a peer. */
void path_sched_acked(struct path_sched *s, uint8_t ev, bool ecn, uint32_t rtt_ns, uint64_t now_ns);
void path_sched_lost(struct path_sched *s, uint8_t ev, uint64_t now_ns);
void path_sched_timeout(struct path_sched *s, uint8_t ev, uint64_t now_ns);

/* Whether a packet, best a copy of one that is outstanding, should be sent on *ev to learn about it: a dead EV that
 * may live again, under keep_order also another path when the present one is slow. The answer is told by
 * path_sched_acked(); no answer need not be told. */
bool path_sched_probe(struct path_sched *s, uint64_t now_ns, uint8_t *ev);
/* When a dead EV is due for a probe; UINT64_MAX: none is dead. */
uint64_t path_sched_next_ns(const struct path_sched *s, uint64_t now_ns);

/* keep_order: whether the transport should send nothing now, because the flow moves to a faster path as soon as nothing
 * is outstanding. Who sends nevertheless only puts the move off. */
static inline bool path_sched_holds(const struct path_sched *s, uint32_t in_flight_bytes)
{
	return s->holds && in_flight_bytes != 0;
}

/* Whether packets may take ev; false: it is dead. */
static inline bool path_sched_alive(const struct path_sched *s, uint8_t ev)
{
	return (s->dead >> ev & 1) == 0;
}

/* -EINVAL: no such EV. */
int path_sched_stats(const struct path_sched *s, uint8_t ev, struct path_sched_stats *out);
void path_sched_foreach(const struct path_sched *s,
	void (*fn)(void *arg, uint8_t ev, const struct path_sched_stats *stats), void *arg);

#endif
