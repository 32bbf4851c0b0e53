/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which queue pair sends to which, as somebody between them finds out: a packet names only the one it is for, and a
 * congestion notification has to name the other one. An answer (acknowledgement, first packet of a READ's answer) has
 * the PSN of the request that it is for (IBTA vol. 1, 9.7.1.1); if just one queue pair of that host was asked by the
 * other host with this PSN of late, the answer is from it. Three in a row make a pair believed; one that speaks against
 * it makes it unknown again. Requests of pairs that were confirmed a moment ago are not noted, so those left over are
 * told apart the more easily.
 *
 * Two tables of fixed size, their places by a hash that nobody can foresee; what was confirmed longest ago goes first.
 * Any number of threads, without a lock: the two directions come to different workers. Pure; memory is taken at set-up.
 */
#ifndef GATEWAY_PEERS_H
#define GATEWAY_PEERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base_siphash.h"
#include "wire_frame.h"

#define GATEWAY_PEERS_BELIEVED   3u          /* answers in a row */
#define GATEWAY_PEERS_ANSWER_NS  500000000u  /* the longest between request and answer */
#define GATEWAY_PEERS_CONFIRM_NS 1000000000u /* then it is looked at anew; what is believed stays so meanwhile */

struct gateway_peers_config {
	uint32_t max;            /* queue pairs, 1 .. 2^20; rounded up to a power of two */
	uint64_t idle_ns;        /* what was not confirmed for so long is not believed */
	uint64_t gap_ns;         /* between two notifications of a flow */
	struct base_siphash_key key;
};

/* What a packet of a connection says. No gaps in the first three: they are hashed as they are. */
struct gateway_peers_packet {
	struct wire_addr src, dst;
	uint32_t dqpn;
	uint32_t psn;
	uint8_t opcode;
	uint8_t syndrome;        /* of its AETH, if there is one */
};

enum gateway_peers_verdict {
	GATEWAY_PEERS_UNKNOWN,
	GATEWAY_PEERS_EARLY,     /* a notification was told to be sent less than gap_ns ago */
	GATEWAY_PEERS_NOTIFY,
};

struct gateway_peers;

/* NULL: no memory, or a number out of range. */
struct gateway_peers *gateway_peers_new(const struct gateway_peers_config *config);
/* NULL is allowed. */
void gateway_peers_free(struct gateway_peers *peers);

/* A packet passes, in either direction. */
void gateway_peers_see(struct gateway_peers *peers, const struct gateway_peers_packet *p, uint64_t now_ns);
/* A packet with a congestion mark passes: whether its sender is to be notified, and by which queue pair of p->src. */
enum gateway_peers_verdict gateway_peers_mark(
	struct gateway_peers *peers, const struct gateway_peers_packet *p, uint64_t now_ns, uint32_t *qpn);

#endif
