/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the files of lib/fabric share. Nodes are hosts, leaves, spines and cores, in this order. A node's ports
 * lead down first, then up. A link is two ports that are each other's peer; port 2*l of the array is the
 * lower end of link l, port 2*l+1 its upper end.
 */
#ifndef FABRIC_INTERNAL_H
#define FABRIC_INTERNAL_H

#include <stddef.h>
#include <sys/queue.h>

#include "fabric.h"

#define FABRIC_PPM 1000000u
#define FABRIC_DEPTHS 240u /* steps of queues' lengths, see fabric_depth.c */

struct fabric_port;

/* A packet inside the fabric. */
struct fabric_carried {
	STAILQ_ENTRY(fabric_carried) link;
	struct fabric_packet packet;
	struct fabric_port *via;      /* on the wire: the port it was sent from; in a switch: the port it came in by */
	uint32_t cuts;                /* via->cuts when it left */
};

STAILQ_HEAD(fabric_queue, fabric_carried);

struct fabric_node {
	struct fabric_port **ports;
	uint32_t n_down, n_up;
	uint32_t first_leaf, n_leaves; /* below it */
	uint8_t tier;                 /* 0: host, 1: leaf, 2: spine, 3: core */
	uint64_t seed;
	uint64_t buffered_bytes;
};

struct fabric_port {
	struct fabric *fabric;
	struct fabric_node *node;
	struct fabric_port *peer;
	uint64_t byte_ps;             /* time of a byte at the full rate, times 2^16 */
	uint64_t delay_ps;
	uint32_t rate_percent;
	uint32_t cuts;                /* how often the link was cut */
	bool cut;
	bool avoided;                 /* the switches know of the cut */
	bool busy;
	uint8_t told;                 /* bit p: the peer asks to pause priority p */
	uint8_t paused;               /* the same, or the link's fault does */
	uint8_t pause_sent;           /* bit p: of the peer's priority p */
	struct fabric_queue queue[FABRIC_PRIORITIES];
	uint64_t queued_bytes;        /* of all priorities */
	uint64_t class_bytes[FABRIC_PRIORITIES];
	uint64_t ingress_bytes[FABRIC_PRIORITIES]; /* buffered in the node that came in here, PFC priorities only */
	uint64_t paused_since_ps[FABRIC_PRIORITIES];
	struct fabric_port_stats stats;
};

struct fabric_link {
	struct fabric *fabric;
	struct fabric_fault fault;
};

struct fabric {
	struct fabric_config config;
	const struct fabric_ops *ops;
	void *env;
	struct fabric_events events;
	uint64_t now_ps;
	uint64_t random;
	struct fabric_node *nodes;
	struct fabric_port *ports;    /* two a link */
	struct fabric_link *links;
	struct fabric_port **port_refs; /* what nodes' ports point into */
	struct fabric_queue free;
	uint32_t n_hosts, n_leaves, n_spines, n_cores, n_nodes, n_links;
	uint32_t n_avoided;           /* links */
	uint64_t depths[FABRIC_DEPTHS]; /* packets that found such a queue at a switch */
};

static inline uint64_t fabric_mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* splitmix64 */
static inline uint64_t fabric_random(struct fabric *fabric)
{
	return fabric_mix(fabric->random += 0x9e3779b97f4a7c15u);
}

static inline bool fabric_chance(struct fabric *fabric, uint32_t ppm)
{
	return ppm != 0 && fabric_random(fabric) % FABRIC_PPM < ppm;
}

static inline bool fabric_is_host(const struct fabric_node *node)
{
	return node->tier == 0;
}

static inline struct fabric_link *fabric_link_of(const struct fabric_port *port)
{
	return &port->fabric->links[(uint32_t)(port - port->fabric->ports) / 2];
}

/* Nothing is told before it has happened. */
static inline uint64_t fabric_ns(uint64_t ps)
{
	return (ps + FABRIC_PS_PER_NS - 1) / FABRIC_PS_PER_NS;
}

/* fabric.c */

struct fabric_carried *fabric_take(struct fabric *fabric);
void fabric_give(struct fabric *fabric, struct fabric_carried *carried);
/* Gives a packet back to its owner as lost at port. */
void fabric_lose(struct fabric_port *port, struct fabric_carried *carried, enum fabric_loss why);
/* Event: a packet reaches the other end of the link. */
void fabric_arrive(void *env, void *arg, uint64_t now_ps);

/* fabric_topology.c */

int fabric_build(struct fabric *fabric);
/* The port by which a switch sends the packet on, NULL: it knows none. */
struct fabric_port *fabric_route(const struct fabric_node *node, const struct fabric_packet *packet);

/* fabric_port.c */

void fabric_port_put(struct fabric_port *port, struct fabric_carried *carried, uint64_t now_ps);
void fabric_port_kick(struct fabric_port *port, uint64_t now_ps);
/* Works out again which priorities may not be sent, from what the peer told and the link's fault. */
void fabric_port_repause(struct fabric_port *port, uint64_t now_ps);
uint64_t fabric_wire_ps(const struct fabric_port *port, uint32_t bytes);

/* fabric_depth.c */

/* A packet joins a switch's queue of so many bytes. */
void fabric_depth_note(struct fabric *fabric, uint64_t queued_bytes);

/* fabric_switch.c */

void fabric_switch_rx(struct fabric_node *node, struct fabric_carried *carried, uint64_t now_ps);
/* A packet leaves the switch's buffer. */
void fabric_switch_left(struct fabric_node *node, const struct fabric_carried *carried, uint64_t now_ps);
/* Sends the peer a PFC frame with these priorities. */
void fabric_tell_peer(struct fabric_port *port, uint8_t priorities, uint64_t now_ps);
/* Event: a PFC frame reaches the other end of the link. */
void fabric_pause_arrive(void *env, void *arg, uint64_t now_ps);

#endif
