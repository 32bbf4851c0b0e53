/* SPDX-License-Identifier: BSD-3-Clause */
/* A DPDK port: its device, buffers, queues and link. roced and roce-fabric own such ports. */
#ifndef PORT_H
#define PORT_H

#include <stdatomic.h>

#include <rte_ethdev.h>
#include <rte_mbuf.h>

#include "config.h"
#include "port_pfc.h"
#include "vd.h"
#include "xdp_roce.h"

struct net_memif;
struct net_memif_port;
struct path_neigh;
struct port;
struct roced;

/* The program that has the ports; one for all of them. */
struct port_owner {
	const char *run_path;      /* its control socket: what memif needs is beside it */
	/* Returns when no other thread is in the port's bursts, nor will be while it is off. NULL: there are no others. */
	void (*quiet)(struct port *port);
	/* The link may have changed: see port_poll_link(). */
	void (*follow)(struct port *port);
	struct net_memif *memif;   /* NULL: no such port. */
	struct xdp_roce_settings xdp; /* of ports on AF_XDP; `all` is each port's own */
};

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
	uint32_t n_tx_queues;      /* of each lane: one for each worker */
	struct port_pfc pfc;
	uint32_t lane_base;        /* see worker_txq(); of the daemon */
	uint16_t id;               /* DPDK's port number */
	bool opened, started;
	bool up;
	struct port_owner *owner;
	struct net_memif_port *memif; /* NULL: a port of another kind */
	struct xdp_roce *xdp;      /* NULL: a port of another kind, or its program is not ours */
	atomic_bool off;           /* memif: nobody receives or sends; its memory may go after owner->quiet() */
	uint8_t mac[6];
	char netdev[CONFIG_NAME_BYTES];
	uint32_t speed_mbps;
	struct rte_mempool *rx_pool;
	uint32_t rx_room;          /* packets a receive queue holds, as far as DPDK knows */
	uint32_t n_addrs;          /* they change while the workers stand still only */
	struct port_addr addrs[VD_MAX_DEVICES * (VC_MAX_GIDS + (TP_MAX_PLANES - 1) * VD_PLANE_ADDRS)];
	struct path_neigh *neigh;
	struct roced *roced;
};

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

/* Makes the device, its buffers and queues. The caller has set config, index, n_tx_queues and owner, and all else is zero.
 * Logs why not; port_close() is due either way. */
int port_open(struct port *port);
/* Starts it. A client of memif whose peer is not there yet goes on looking for it. Logs why not. */
int port_start(struct port *port);
void port_close(struct port *port);
/* Has it receive frames for the link addresses of its table, which is another one now. */
void port_set_macs(struct port *port);
/* Polls the link; true when it changed. */
bool port_poll_link(struct port *port);

/* ---- port_memif.c ---- */
/* Before the device is made: its socket, and the text to make it with in n bytes of device. Logs why not. */
int port_memif_open(struct port *port, char *device, size_t n);
/* A client's first look for its peer. */
void port_memif_dial(struct port *port);

/* ---- port_xdp.c ---- */
/* Before the device is made: the text to make it with in n bytes of device, and if it is to have a program of ours the
 * program's file, which the caller closes when the device's queues are set up. Logs why not. */
int port_xdp_open(const struct port *port, char *device, size_t n, int *program_fd);
/* When the driver has attached the program. Logs why not. */
int port_xdp_take(struct port *port);
/* Before the device is closed. */
void port_xdp_release(struct port *port);
/* "roce", "all" or "none": which frames its XDP program gives us. */
const char *port_xdp_name(const struct port *port);

#endif
