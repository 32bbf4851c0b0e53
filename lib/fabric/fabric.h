/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A leaf-spine fabric: hosts, switches with shared buffers, links with rate and delay; ECMP, ECN marking,
 * priority flow control; and what goes wrong in one. Pure: the time is an argument, randomness comes from the
 * seed, packets are the caller's. The simulator runs it under a virtual clock, roce-fabric in real time, and the
 * same calls with the same seed give the same outcome.
 *
 * Shape. Two tiers: `pods` = 1, every leaf is linked to every spine. Three tiers: each pod is such a
 * leaf-spine block, and spine s of every pod is linked to the cores s*cores_per_spine and following. Hosts are
 * numbered by leaf. A switch forwards down when the destination is below it, else up; among several ports it
 * takes one by a hash of the packet's flow and its own seed (RFC 2992 calls it hash-threshold, here modulo n).
 *
 * Store and forward; a packet's bytes count in its switch's buffer from its arrival to the start of its
 * transmission. Frames on the wire take FABRIC_WIRE_BYTES more than their length (FCS, preamble, gap).
 */
#ifndef FABRIC_H
#define FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric_events.h"
#include "qos_class.h"

#define FABRIC_PRIORITIES 8
#define FABRIC_WIRE_BYTES 24u /* IEEE 802.3: FCS 4, preamble and SFD 8, inter-packet gap 12 */

struct fabric;

struct fabric_link_config {
	uint64_t rate_mbps;      /* 1 .. 8,000,000 */
	uint64_t delay_ns;       /* propagation and the receiver's fixed latency */
};

struct fabric_switch_config {
	uint64_t buffer_bytes;   /* shared by all queues; 0: endless */
	uint64_t queue_bytes;    /* most of one port; 0: only the buffer counts */
	struct qos_red ecn;      /* marking, by what an egress port holds of all priorities */
	uint8_t own_ecn;         /* bit p: priority p is marked by class_ecn[p] and by what is queued of it alone */
	struct qos_red class_ecn[FABRIC_PRIORITIES];
	uint8_t pfc_priorities;  /* bit p: priority p is lossless (IEEE 802.1Qbb) */
	uint64_t pfc_xoff_bytes; /* of one ingress port and priority: pause its sender */
	uint64_t pfc_xon_bytes;  /* resume */
};

struct fabric_config {
	uint32_t pods;           /* 1: two tiers */
	uint32_t leaves, spines; /* of each pod */
	uint32_t hosts_per_leaf;
	uint32_t cores_per_spine; /* three tiers only */
	struct fabric_link_config host_link, leaf_link, core_link;
	struct fabric_switch_config sw;
	uint64_t convergence_ns; /* from a link's change until the switches route by it */
	uint64_t seed;
};

/* Two tiers of 8 leaves and 16 spines, 16 hosts a leaf, all links 100 Gb/s and 1 us; 32 MiB of buffer, marking from
 * 100 KB to 400 KB up to 20 %, no PFC, convergence 1 s. */
void fabric_config_default(struct fabric_config *config);
/* Whether fabric_create() takes it. */
bool fabric_config_ok(const struct fabric_config *config);

/* Why a packet did not arrive. */
enum fabric_loss {
	FABRIC_LOSS_BUFFER,      /* no room at a switch */
	FABRIC_LOSS_LINK,        /* on a link that was cut */
	FABRIC_LOSS_FAULT,       /* by a link that loses */
	FABRIC_LOSS_ROUTE,       /* no way there */
	FABRIC_LOSS_COUNT,
};

/* A packet as the fabric sees it. */
struct fabric_packet {
	uint32_t src, dst;       /* hosts */
	uint32_t flow;           /* hash of what ECMP looks at: addresses, ports */
	uint32_t bytes;          /* Ethernet header to the end of the payload, without FCS */
	uint8_t priority;        /* 0..7, 7 first */
	bool ect;                /* may be marked */
	bool ce;                 /* marked */
	bool corrupt;            /* damaged on its way */
	void *user;              /* the caller's: goes to exactly one of deliver() and lose() */
};

struct fabric_ops {
	void (*deliver)(void *env, const struct fabric_packet *packet, uint64_t now_ns);
	void (*lose)(void *env, const struct fabric_packet *packet, enum fabric_loss why);
	/* A second packet->user for a link that repeats packets; NULL: cannot. */
	void *(*copy)(void *env, const struct fabric_packet *packet);
	/* Optional: the host's link has sent what it had, so the next packet would go out at once. */
	void (*ready)(void *env, uint32_t host, uint64_t now_ns);
};

/* Takes all memory but that of packets on their way. *out is freed with fabric_destroy(). ops and env must outlive
 * it. -EINVAL: a number is out of range, -ENOMEM. */
int fabric_create(const struct fabric_config *config, const struct fabric_ops *ops, void *env, uint64_t now_ns,
	struct fabric **out);
/* Packets on their way are lost (FABRIC_LOSS_LINK). NULL is allowed. */
void fabric_destroy(struct fabric *fabric);

uint32_t fabric_n_hosts(const struct fabric *fabric);

/* The host sends a packet, after those it has sent before. 0, -EINVAL (hosts, priority, no bytes), -ENOMEM; on
 * error user stays the caller's. */
int fabric_send(struct fabric *fabric, const struct fabric_packet *packet, uint64_t now_ns);
/* Bytes of the host that its link has not begun to send. */
uint64_t fabric_queued_bytes(const struct fabric *fabric, uint32_t host);

/* Calls fn(env, arg) at that time, in order with the fabric's own events. 0 or -ENOMEM. */
int fabric_at(struct fabric *fabric, uint64_t at_ns, fabric_event_fn fn, void *arg);
/* Lets happen all that is due. */
void fabric_advance(struct fabric *fabric, uint64_t now_ns);
/* When fabric_advance() has something to do, UINT64_MAX: never. */
uint64_t fabric_next_ns(const struct fabric *fabric);

/* Time from the start of sending until delivery of a packet of so many bytes over idle links. */
uint64_t fabric_idle_ns(const struct fabric *fabric, uint32_t src, uint32_t dst, uint32_t bytes);

/* ---- links and faults ---- */

/* Links are numbered: those of hosts first (link h is host h's), then leaf to spine (pod by pod, leaf by leaf), then
 * spine to core. */
uint32_t fabric_n_links(const struct fabric *fabric);
/* Number of the link of a leaf (counted over all pods) to a spine of its pod; UINT32_MAX: none. */
uint32_t fabric_leaf_link(const struct fabric *fabric, uint32_t leaf, uint32_t spine);

/* What a link does to packets, in both directions; all zero: nothing. */
struct fabric_fault {
	bool cut;                /* switches route around it convergence_ns later; a host goes on at its link's rate */
	uint32_t rate_percent;   /* of its rate; 0: all of it */
	uint32_t lose_ppm, corrupt_ppm, repeat_ppm, delay_ppm; /* of the packets */
	uint64_t delay_ns;       /* how much later at most those that are delayed arrive */
	uint8_t pause_priorities; /* bit p: both ends are told to pause priority p as long as this lasts */
};

/* Sets a link's fault. -EINVAL: no such link, or a share above a million. */
int fabric_set_fault(struct fabric *fabric, uint32_t link, const struct fabric_fault *fault, uint64_t now_ns);

/* The fault that a link has. -EINVAL. */
int fabric_link_fault(const struct fabric *fabric, uint32_t link, struct fabric_fault *out);

/* The host asks its leaf to pause these priorities (bit p: priority p) from now on and no others, as a PFC frame
 * does that takes no time to send (IEEE 802.1Qbb); the pause lasts until the next call. -EINVAL: no such host. */
int fabric_host_pause(struct fabric *fabric, uint32_t host, uint8_t priorities, uint64_t now_ns);

/* ---- telemetry ---- */

struct fabric_port_stats {
	uint64_t tx_packets, tx_bytes; /* with FABRIC_WIRE_BYTES each */
	uint64_t marked;
	uint64_t lost[FABRIC_LOSS_COUNT];
	uint64_t max_queue_bytes;
	uint64_t pause_ns;       /* summed over priorities */
	uint32_t pauses;
};

/* Direction 0 is up (from the host or the lower tier), 1 down. -EINVAL. */
int fabric_link_stats(const struct fabric *fabric, uint32_t link, int direction, struct fabric_port_stats *out);
/* Sum over all. */
void fabric_stats(const struct fabric *fabric, struct fabric_port_stats *out);
/* The queue that so many of a thousand packets found at most when they came to a switch's port, to an eighth; 0: none came. */
uint64_t fabric_queue_bytes(const struct fabric *fabric, uint32_t permille);
/* All counters begin anew. */
void fabric_clear_stats(struct fabric *fabric);
/* "host 3 - leaf 0" and the like. */
void fabric_link_name(const struct fabric *fabric, uint32_t link, char *out, uint32_t out_bytes);

#endif
