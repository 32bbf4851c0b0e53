/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a host can be reached, and by packets of which length: what `rocectl doctor` asks. A trial finds the way as
 * queue pairs do (the device's networks, its router, ARP or neighbour discovery), then sends echo requests, short ones
 * and ones of the longest packet that the device sends. Main thread. Nothing is done by time: whoever asks again moves
 * a trial on, and one nobody asks about any more gives its place away.
 */
#ifndef REACH_H
#define REACH_H

#include "roced.h"

#define REACH_TRIALS 8
#define REACH_ECHOES 3 /* of each length */

enum reach_route { REACH_NO_ROUTE, REACH_OURS, REACH_ON_LINK, REACH_BY_ROUTER };
enum reach_neighbour { REACH_NOT_ASKED, REACH_ASKING, REACH_KNOWN, REACH_SILENT };

/* What is known of a host so far. */
struct reach {
	struct wire_addr addr, local, next_hop; /* local, next_hop: all zero without a route */
	uint32_t device, port;                  /* indices; no matter without a route */
	enum reach_route route;
	enum reach_neighbour neighbour;
	bool no_echo;        /* the kernel gets what the host answers: docs/af_xdp.md */
	uint32_t long_bytes; /* of the longest IP packet that is tried */
	uint32_t short_sent, short_answered, long_sent, long_answered;
	uint64_t rtt_ns; /* the least of them; 0: no answer */
	bool done;
};

/* Begins a trial, or moves on the one of that host, and tells what is known; one that was told as done is forgotten. 0;
 * -EBUSY: there are REACH_TRIALS, -ENOMEM. */
int reach_look(struct roced *roced, const struct wire_addr *addr, uint64_t now_ns, struct reach *out);
/* An answer to an echo request, of anybody's. False: to none of ours. */
bool reach_rx(struct roced *roced, const struct port *port, const uint8_t *frame, const struct wire_pkt *pkt,
	const struct wire_nd_msg *msg, uint64_t now_ns);
/* Frees all trials; those who wait for neighbours are cancelled already. */
void reach_fini(struct roced *roced);

/* ---- pure, for the tests ---- */
/* Which of our addresses packets to dst have, and by which way. Fills all of out but what is tried. */
void reach_find_way(const struct roced *roced, const struct wire_addr *dst, struct reach *out);
/* Bytes of the longest IP packet that the device sends by its port, over IPv4 or IPv6. */
uint32_t reach_long_bytes(const struct roced *roced, uint32_t device, const struct port *port, bool v4);

#endif
