/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Paths of a tunnel: which one the next packet takes, and what became of those before it. The receiver counts what
 * comes by each path and reports it; the sender tells its scheduler (path_sched.h) what was acknowledged, marked, lost,
 * or not heard of. Nothing is sent again: that is the hosts' business. Both ends are pure; one thread each.
 */
#ifndef GATEWAY_PATHS_H
#define GATEWAY_PATHS_H

#include "path_sched.h"
#include "wire_tunnel.h"

/* ---- the sender's end ---- */

struct gateway_tx_path {
	uint16_t seq;            /* of the last packet sent */
	uint16_t told;           /* the highest that was reported */
	bool known;              /* a report has come: the receiver's counters have a beginning */
	bool silent;             /* its silence was told to the scheduler */
	uint32_t packets, marked; /* as they were reported */
	uint64_t since_ns;       /* when the first packet left of which nothing was reported */
	uint64_t sent, lost;
};

struct gateway_tx {
	struct path_sched sched;
	uint32_t srtt_ns;        /* of all paths; 0: unknown */
	uint64_t silence_ns;     /* the shortest silence that is taken for a loss */
	uint64_t last_send_ns;
	uint64_t waiting;        /* bit p: something on path p was not reported */
	uint64_t reports, bad_reports;
	struct gateway_tx_path path[PATH_SCHED_MAX_EVS];
};

/* config outlives tx and has been checked. */
void gateway_tx_init(struct gateway_tx *tx, const struct path_sched_config *config, uint64_t silence_ns, uint64_t seed);
/* A packet leaves now: fills in t's path, path_seq and sent. */
void gateway_tx_packet(struct gateway_tx *tx, uint64_t now_ns, struct wire_tunnel *t);
/* The same on a path that stays the same for the same hash, as long as it lives: for what nobody puts back in order. */
void gateway_tx_packet_fixed(struct gateway_tx *tx, uint64_t hash, uint64_t now_ns, struct wire_tunnel *t);
/* Whether a probe should be sent: then it is filled in too, with its type. */
bool gateway_tx_probe(struct gateway_tx *tx, uint64_t now_ns, struct wire_tunnel *t);
/* What a report says of a path. */
void gateway_tx_report(struct gateway_tx *tx, const struct wire_tunnel_report *report, uint64_t now_ns);
/* Takes notice of silence. */
void gateway_tx_tick(struct gateway_tx *tx, uint64_t now_ns);
/* When gateway_tx_tick() or gateway_tx_probe() may have something to do; UINT64_MAX: never. */
uint64_t gateway_tx_next_ns(const struct gateway_tx *tx, uint64_t now_ns);

/* ---- the receiver's end ---- */

struct gateway_rx_path {
	uint16_t seq;
	bool seen;
	uint32_t packets, marked;
	uint32_t echo;
	uint64_t came_ns;
};

struct gateway_rx {
	uint64_t news;           /* bit p: path p has something to report */
	uint32_t n_news;         /* packets that were not reported */
	uint64_t since_ns;       /* when the first of them came */
	struct gateway_rx_path path[PATH_SCHED_MAX_EVS];
};

/* A packet or a probe has come. A path that cannot be is not counted. */
void gateway_rx_packet(struct gateway_rx *rx, const struct wire_tunnel *t, bool marked, uint64_t now_ns);
/* Writes what is new to a buffer with room for so many paths; how many there are. */
uint8_t gateway_rx_report(struct gateway_rx *rx, uint64_t now_ns, uint8_t *to, uint8_t room);

#endif
