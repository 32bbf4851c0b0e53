/* SPDX-License-Identifier: BSD-3-Clause */
/* What sim_net.c and sim_host.c share. */
#ifndef SIM_INTERNAL_H
#define SIM_INTERNAL_H

#include "sim.h"

extern const struct tp_ops sim_host_ops;

/* sim_net.c */

/* An empty packet buffer, NULL: no memory. */
struct rte_mbuf *sim_buffer_take(struct sim_host *host);
void sim_buffer_give(struct sim_net *net, struct rte_mbuf *m);
/* It is given one more time until it is free. */
void sim_buffer_keep(struct rte_mbuf *m);

static inline uint64_t sim_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* sim_host.c */

int sim_host_init(struct sim_host *host, struct sim_net *net, uint32_t id);
void sim_host_fini(struct sim_host *host);
/* The fabric brings a packet; it is the host's from now on. */
void sim_host_receive(struct sim_host *host, struct rte_mbuf *m, uint64_t now_ns);
/* The host's link is free. */
void sim_host_ready(struct sim_host *host, uint64_t now_ns);
/* Sends what there is room for, and watches the timers. */
void sim_host_work(struct sim_host *host, uint64_t now_ns);

#endif
