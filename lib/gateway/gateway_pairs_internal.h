/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of gateway_pairs.h share. */
#ifndef GATEWAY_PAIRS_INTERNAL_H
#define GATEWAY_PAIRS_INTERNAL_H

#include "gateway_flows.h"
#include "gateway_match.h"
#include "gateway_pairs.h"

#define GATEWAY_PAIRS_WANTED   16u  /* flows of a pair whose requester is looked for at once */
#define GATEWAY_PAIRS_SURE     2u   /* answers after which it is believed to be found */
#define GATEWAY_PAIRS_OWN_MOST 8u
#define GATEWAY_PAIRS_LONG_PART 32u /* of flowlet_ns: turns that last longer are kept in mind */
#define GATEWAY_PAIRS_LONG_TURNS 64u /* more than end within flowlet_ns */
#define GATEWAY_PAIRS_TRIAL_NS UINT64_C(1000000000) /* between two trials of dead paths; then twice that, ... */

/* A flow that may have been replaced by another one of its number since. */
struct ref {
	uint32_t number, epoch;
};

struct flow {
	struct gateway_match match;
	uint64_t last_ns;        /* of all packets; 0: none yet */
	uint64_t request_ns;     /* of those that are acknowledged */
	uint64_t loose_ns;       /* of those that nobody acknowledges and whose order matters; 0: none yet */
	uint32_t epoch;          /* counts the flows that had this number */
	uint16_t own;            /* the source port that its host gave the last request */
	uint8_t changes;         /* of that; GATEWAY_PAIRS_OWN_MOST: the host spreads them over paths by itself */
	uint32_t from;           /* PSN of the first request on this path */
	struct ref pair;
	uint32_t back;           /* number of its requester, where hits is not 0 */
	uint8_t generation;
	uint8_t ev;
	uint8_t hits;            /* answers by which its requester was found; GATEWAY_PAIRS_SURE: it is */
	bool wanted;             /* it stands in its pair's list */
	bool mixed;              /* answers may be for what went by the path before */
};

/* A requester's queue pair. */
struct back {
	struct ref flow;
	uint8_t generation;
};

struct pair_path {
	uint64_t heard_ns, sent, lost;
};

struct pair {
	struct path_sched sched;
	uint64_t silent;         /* bit p: nothing comes back by path p */
	uint64_t trial_ns, trial_wait_ns;
	uint32_t epoch;
	uint16_t sport;
	uint8_t generation;
	uint8_t turn;
	uint8_t tried;           /* the path of the last trial */
	struct ref wanted[GATEWAY_PAIRS_WANTED];
	struct pair_path path[PATH_SCHED_MAX_EVS];
};

/* Of a thread: what it was given at its beginning has left at its end. */
struct turn {
	uint64_t began_ns, ended_ns;
};

struct gateway_pairs {
	struct gateway_pairs_config config;
	struct gateway_pairs_stats stats;
	uint64_t turn_ns;        /* when the thread's turn began */
	uint64_t awake_ns;       /* when it last began one after not having looked for long */
	bool busy;               /* something is sent in it */
	uint32_t n_long_turns;
	struct turn long_turns[GATEWAY_PAIRS_LONG_TURNS]; /* the last ones in which something was sent */
	struct gateway_flows *pairs_by, *flows_by, *backs_by;
	struct pair *pairs;      /* by number, like the others */
	struct flow *flows;
	struct back *backs;
};

/* ---- gateway_pairs.c ---- */

/* NULL: it is no longer that one. */
struct flow *gateway_pairs_flow_at(const struct gateway_pairs *p, const struct ref *ref);
struct ref gateway_pairs_ref(const struct gateway_pairs *p, const struct flow *flow);
/* Finds or makes it; NULL: there is no room. */
struct pair *gateway_pairs_get(
	struct gateway_pairs *p, const struct wire_addr *src, const struct wire_addr *dst, uint64_t now_ns);
struct flow *gateway_pairs_get_flow(
	struct gateway_pairs *p, const struct pair *pair, const struct gateway_flow_key *key, uint64_t now_ns);
/* Its requester is no longer known, and looked for again. */
void gateway_pairs_unlearn(struct gateway_pairs *p, struct flow *flow);

/* A path was lost or silent. If it is dead now it is not tried again at once. */
static inline void gateway_pairs_put_off(struct pair *pair, uint8_t ev, uint64_t now_ns)
{
	if (!path_sched_alive(&pair->sched, ev) && pair->trial_ns < now_ns + GATEWAY_PAIRS_TRIAL_NS)
		pair->trial_ns = now_ns + GATEWAY_PAIRS_TRIAL_NS;
}

#endif
