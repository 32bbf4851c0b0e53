/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Path schedulers on the fabric model without a transport: each host sends one message to another host under a
 * window, every packet is acknowledged on its EV, holes are sent again. Just enough of a sender that schedulers can
 * be compared, and the same for all of them.
 */
#ifndef SCHED_SIM_H
#define SCHED_SIM_H

#include "fabric.h"
#include "path_sched.h"

struct sched_sim_config {
	struct fabric_config fabric;
	struct path_sched_config sched;
	uint64_t flow_bytes;
	uint32_t slow_spines, slow_percent; /* so many of the first pod's spines have all links at that rate */
	uint32_t cut_spine;                 /* one link of that spine (to leaf 0) is cut; UINT32_MAX: none */
	uint64_t cut_ns, mended_ns;
	uint32_t payload_bytes, header_bytes, ack_bytes; /* of a packet, without FABRIC_WIRE_BYTES */
	uint32_t n_flows;                   /* 0: each host sends; else only the first so many */
	bool idle_core;                     /* the core is so fast that it does not count: the bound */
	uint64_t seed;
	uint64_t limit_ns;
};

struct sched_sim_result {
	bool complete;                      /* before limit_ns */
	uint64_t max_ns, mean_ns;           /* until the last byte of a message has arrived */
	uint64_t acked_max_ns;              /* until the last acknowledgement */
	uint64_t packets, resent, reordered, moves, spurious;
	uint64_t marked, dropped, max_queue_bytes;
	uint64_t on_cut;                    /* packets lost on the cut link */
	uint64_t after_mended;              /* packets over that link after it was mended */
};

/* 8 leaves of 16 hosts, 16 spines, 100 Gb/s; 2 MB each in a random permutation; a packet of 4 KB takes 4,160 bytes on
 * the wire and queues mark and overflow by the bandwidth-delay product, as in the published runs. */
void sched_sim_default(struct sched_sim_config *config);
/* Runs one. Ends the program when memory runs out. */
void sched_sim_run(const struct sched_sim_config *config, struct sched_sim_result *out);

#endif
