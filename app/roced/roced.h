/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's parts and who owns what. struct roced belongs to the main thread; workers read from it
 * what is fixed before they start (config, ports, pools). struct worker: see worker.h.
 */
#ifndef ROCED_H
#define ROCED_H

#include <stdatomic.h>
#include <sys/queue.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "config.h"
#include "path_neigh.h"
#include "vd.h"

struct worker;
struct stall_watch;

/* One of our addresses on a port. */
struct port_addr {
	struct wire_addr addr;
	uint32_t prefix_len;       /* in bits of the 16 bytes */
	uint32_t device;
	uint8_t mac[6];
	bool has_vlan;
	uint16_t vlan_tci;
};

struct port {
	const struct config_port *config;
	uint32_t index;
	uint16_t id;               /* DPDK's port number */
	bool opened, started;
	bool up;
	atomic_bool off;           /* workers leave it alone; it may be stopped after each has done a walk */
	uint8_t mac[6];
	char netdev[CONFIG_NAME_BYTES];
	uint32_t speed_mbps;
	struct rte_mempool *rx_pool;
	uint32_t n_addrs;          /* fixed before the workers start */
	struct port_addr addrs[VD_MAX_DEVICES * VC_MAX_GIDS];
	struct path_neigh *neigh;
	struct roced *roced;
};

struct pending;
LIST_HEAD(pending_list, pending);

struct group;
TAILQ_HEAD(group_list, group);

struct main_counters {
	uint64_t punted, arp_replies, nd_replies, echo_replies, mads_received, mads_sent, mads_lost;
	uint64_t frames_lost;
	uint64_t drops[BASE_DROP_COUNT];
};

struct roced {
	struct config config;
	bool foreground;
	int ready_fd;              /* background: where the parent waits, else -1 */
	bool eal_started;
	struct rte_mempool *tx_pool;
	uint32_t n_ports;
	struct port ports[CONFIG_MAX_PORTS];
	struct port *port_by_id[RTE_MAX_ETHPORTS];
	uint32_t n_devices;
	struct vd_device devices[VD_MAX_DEVICES];
	uint32_t n_workers;
	struct worker *workers[VD_MAX_WORKERS];
	struct vd *vd;
	struct stall_watch *stalls;
	uint64_t seed;
	int punt_fd;               /* workers write it when they have put something on their to_main ring */
	int signal_fd, epoll_fd;
	int claim_fd;              /* the lock beside the control socket, -1: none */
	struct pending_list pending;
	struct group_list groups;
	uint32_t n_pending_mads;
	uint32_t mad_psn;
	bool told_unagreed;        /* the log has that one end sprays and the other does not */
	struct main_counters counters;
};

/* What a frame on its way to egress is to do; kept in the mbuf. */
enum route { ROUTE_TX, ROUTE_LOOP };

extern size_t roced_route_off;       /* of the mbuf field, set by eal_start() */

static inline uint8_t *roced_route(struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, roced_route_off, uint8_t *);
}

/* The address entry that is dst in the VLAN of the packet; NULL: not ours. */
static inline const struct port_addr *port_find_addr(
	const struct port *port, const struct wire_addr *dst, bool has_vlan, uint16_t vlan_tci)
{
	for (uint32_t i = 0; i < port->n_addrs; i++) {
		const struct port_addr *addr = &port->addrs[i];

		if (__builtin_memcmp(&addr->addr, dst, sizeof(*dst)) != 0)
			continue;
		/* priority tags (VLAN 0) count as untagged */
		if ((addr->has_vlan ? addr->vlan_tci & 0xfff : 0) == (has_vlan ? vlan_tci & 0xfff : 0))
			return addr;
	}
	return NULL;
}

/* ---- claim.c ---- */
/* Makes this the only daemon of its control socket; -EADDRINUSE: there is another. Logs why not. */
int claim_socket(struct roced *roced);
void claim_release(struct roced *roced);

/* ---- eal.c ---- */
/* Starts DPDK as the configuration says. Logs why not. */
int eal_start(struct roced *roced);
void eal_stop(struct roced *roced);

/* ---- port.c ---- */
int port_open(struct roced *roced, uint32_t index);
int port_start(struct port *port);
void port_close(struct port *port);
/* Polls the link; true when it changed. */
bool port_poll_link(struct port *port);
/* Starts a port again that is down because its peer was not there or has gone. */
void port_redial(struct port *port);

/* ---- device.c ---- */
/* Makes the RDMA devices and the ports' address tables. */
int devices_init(struct roced *roced);

/* ---- multipath.c ---- */
/* What the configuration says of several paths, as lib/verbs takes it. */
void multipath_init(const struct config_multipath *config, struct vd_multipath *multipath);

/* ---- link.c: next hops and management datagrams ---- */
/* What struct tp_av's link points to. */
struct link {
	struct port *port;
	struct path_neigh_entry *entry;    /* NULL: loop */
	uint8_t mac[6];                    /* of a loop */
};

int link_init(struct roced *roced);
void link_fini(struct roced *roced);
/* Ends all waits with -ECANCELED. */
void link_cancel_all(struct roced *roced);
void link_resolve(struct roced *roced, uint32_t device, const struct wire_addr *src, const struct wire_addr *dst,
	vd_resolved_fn cb, void *cb_arg);
void link_release(struct roced *roced, struct link *link);
void link_send_mad(struct roced *roced, uint32_t device, const struct wire_addr *src, const struct wire_addr *dst,
	const uint8_t mad[VD_MAD_BYTES]);
/* Sends a whole frame; copies it. */
void link_send_frame(struct roced *roced, struct port *port, const uint8_t *frame, size_t n);
/* Hands an mbuf whose port and route are set to a worker for sending. */
void link_send_mbuf(struct roced *roced, struct rte_mbuf *m);
/* Gratuitous ARP and unsolicited advertisements for all addresses of a port. */
void link_announce(struct roced *roced, struct port *port);

/* ---- punt.c: packets for the main thread ---- */
void punt_handle_all(struct roced *roced);

/* ---- main_loop.c ---- */
int main_loop_init(struct roced *roced);
/* Serves until a signal asks to end. */
void main_loop_run(struct roced *roced);
void main_loop_fini(struct roced *roced);

/* ---- stall.c: memory of clients that keeps a thread waiting ---- */
int stall_watch_start(struct roced *roced);
void stall_watch_stop(struct roced *roced);
/* Readable when a user is to be shut out. */
int stall_watch_fd(const struct roced *roced);
void stall_watch_serve(struct roced *roced);

/* ---- dump.c ---- */
void dump_counters(const struct roced *roced);

#endif
