/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two gateways of the daemon's own code (app/roced/gateway*.c), without ports, threads or a graph: what they would send is
 * handed to the test. Side 0 has hosts 10.1.1.x and fd01:1::x behind it, side 1 10.1.2.x and fd01:2::x; tunnels of IPv4 go
 * between 10.99.0.1 and .2 and carry the hosts' IPv4, those of IPv6 between fd99::1 and ::2 and their IPv6. 10.1.3.x is direct.
 * Hosts .1 and .2 of either side have been seen, .3 has not.
 */
#ifndef TUNNEL_WORLD_H
#define TUNNEL_WORLD_H

#include "gateway.h"

#define WORLD_HOSTS    0u /* ports by index; their DPDK numbers are these plus WORLD_PORT_ID */
#define WORLD_FABRIC   1u
#define WORLD_PORT_ID  4u
#define WORLD_WAIT_NS  1000000u /* reorder_us */
#define WORLD_IDLE_NS  20000000u /* flow_idle_ms, where flows age */
#define WORLD_REMOTES  2u
#define WORLD_FLOWS    192u
#define WORLD_ID_BYTES 4u /* of a host's payload, in front: which packet it is */

struct world_options {
	bool ageing;               /* flows that pause end */
	bool proxy;                /* cnp_proxy */
	bool required;             /* nothing plain is taken from the IPv6 far gateway */
	bool two_workers;          /* the other one's lanes are not here */
	bool narrow;               /* few flows, few places to hold packets */
	bool no_way;               /* the link address of far gateways is not known */
};

struct side {
	struct roced roced;
	struct worker worker;
	struct gateway_worker *gw;
};

/* A packet of a host, in its frame. */
struct world_packet {
	uint32_t id;
	uint32_t flow;             /* below WORLD_FLOWS; another one is told from it by gateways */
	uint32_t l3, bytes;        /* of the frame */
};

/* Of side s, a frame that leaves by a port: m->port says which. It is the test's. */
extern void (*world_emitted)(unsigned int s, struct rte_mbuf *m);

void world_make(const struct world_options *options);
void world_end(void);
struct side *world_side(unsigned int s);
/* Both at that time, with their timers run at each moment between that they asked for. At most 20 ms ahead. */
void world_go_on(uint64_t ns);
/* The same in one step: their workers were busy elsewhere. */
void world_jump(uint64_t ns);
uint64_t world_now(void);
/* mbufs that somebody has. */
uint32_t world_mbufs(void);
/* One that holds a frame and no byte more, as received by a port. */
struct rte_mbuf *world_frame(uint32_t port, const uint8_t *data, uint32_t n);
/* Of a host of side s, by four bytes: its network, flow, opcode, PSN and size. The PSNs and queue pairs are few, so that some are
 * answers to others. id is the caller's. */
void world_packet(uint8_t *frame, unsigned int s, const uint8_t how[4], struct world_packet *packet);
/* By these four bytes, to a direct network. */
static inline bool world_is_direct(const uint8_t how[4])
{
	return (how[0] & 0x81) == 0x80;
}
/* A frame arrives: classified, and done with as it is told. opened: it had been protected. */
enum gateway_verdict world_receive(unsigned int s, struct rte_mbuf *m, bool opened);

#endif
