/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paths to hosts that no gateway is in front of. A path is a UDP source port. Nobody at the far end reports what comes
 * by it, so what is known of it is what passes here anyway: the hosts' own acknowledgements, matched with the requests
 * they are for (gateway_match.h), and their congestion notifications. Nobody at the far end puts anything back in order
 * either, so a flow (all that one host sends to one queue pair of another; of datagrams, by one source port) takes
 * another path only when nothing of it is on the way. A host that spreads what it sends to a queue pair over source
 * ports knows what it does: those stay.
 *
 * An acknowledgement names the requester's queue pair, which no request does. Which of them belong together is learned:
 * an answer whose PSN just one flow between two hosts expects is that flow's, and so is all for the same queue pair;
 * after the second one it is believed.
 *
 * Tables of fixed size, their places by a hash that nobody can foresee; what was silent for long goes first. Pure; one
 * thread; memory is taken at set-up.
 */
#ifndef GATEWAY_PAIRS_H
#define GATEWAY_PAIRS_H

#include <stdbool.h>
#include <stdint.h>

#include "base_siphash.h"
#include "path_sched.h"
#include "wire_frame.h"

struct gateway_pairs_config {
	struct path_sched_config sched;  /* has been checked; keep_order is not set */
	uint32_t max_pairs;              /* of addresses, 1 .. 2^16 */
	uint32_t max_flows, max_flows_per_host;
	uint64_t idle_ns;                /* what was silent for so long may go */
	uint64_t flowlet_ns;             /* what two paths take differs by a thirtieth less, queues included */
	uint64_t silence_ns;             /* the shortest silence of all that is taken for a dead path */
	struct base_siphash_key key;
};

struct gateway_pairs_stats {
	uint32_t pairs, flows;
	uint64_t refused;                /* packets for which there was no room */
	uint64_t own;                    /* packets whose host spreads them over ports itself */
	uint64_t moves;                  /* of flows, to another path */
	uint64_t trials;                 /* those of them to a path that was dead */
	uint64_t learned, unlearned;     /* queue pairs of requesters; those that turned out to be another flow's */
	uint64_t matched, unmatched;     /* answers whose flow is known; others */
	uint64_t marks;                  /* congestion notifications for a known flow */
	uint64_t losses;                 /* by NAKs, and by requests that came again without one */
	uint64_t silences;               /* paths of which nothing was heard */
};

struct gateway_pairs_told_path {
	uint64_t sent, lost;
	struct path_sched_stats sched;
};

struct gateway_pairs_told {
	struct wire_addr src, dst;
	uint16_t sport;                  /* of path 0; the others are behind it */
	struct gateway_pairs_told_path paths[PATH_SCHED_MAX_EVS];
};

struct gateway_pairs;

/* NULL: no memory, or a number out of range. */
struct gateway_pairs *gateway_pairs_new(const struct gateway_pairs_config *config);
/* NULL is allowed. */
void gateway_pairs_free(struct gateway_pairs *p);

/* A turn of the thread begins, at the time that is told of all that it does. What it sent in the turn before has left by
 * now, and what came during that is read only now: neither a pause nor a silence has lasted longer. */
void gateway_pairs_turn(struct gateway_pairs *p, uint64_t now_ns);
/* A RoCE packet from src, a host here, to dst leaves: the UDP source port it takes. Its own where there is no room to
 * know more. */
uint16_t gateway_pairs_send(struct gateway_pairs *p, const struct wire_addr *src, const struct wire_addr *dst,
	const struct wire_pkt *pkt, uint64_t now_ns);
/* A RoCE packet from far, a host there, to host has come. */
void gateway_pairs_hear(struct gateway_pairs *p, const struct wire_addr *far, const struct wire_addr *host,
	const struct wire_pkt *pkt, uint64_t now_ns);
/* Ends at most `most` of each table that were silent for too long. */
void gateway_pairs_age(struct gateway_pairs *p, uint64_t now_ns, uint32_t most);

void gateway_pairs_get_stats(const struct gateway_pairs *p, struct gateway_pairs_stats *stats);
/* What is known of the paths of pair number n, from 1 to max_pairs. False: there is none of that number. */
bool gateway_pairs_tell(const struct gateway_pairs *p, uint32_t n, struct gateway_pairs_told *told);

#endif
