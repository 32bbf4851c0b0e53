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

#include "alarm.h"
#include "config.h"
#include "cc.h"
#include "path_neigh.h"
#include "port.h"
#include "vd.h"

struct worker;
struct stall_watch;
struct protect;
struct gateway;
struct reach_trials;
struct metrics;
struct tuning;
struct capture_state;

struct pending;
LIST_HEAD(pending_list, pending);

struct link;
LIST_HEAD(link_list, link);

struct group;
TAILQ_HEAD(group_list, group);

struct main_counters {
	uint64_t punted, arp_replies, nd_replies, echo_replies, mads_received, mads_sent, mads_lost;
	uint64_t frames_lost;
	uint64_t drops[BASE_DROP_COUNT];
};

struct roced {
	struct config config;
	const char *config_path;   /* the file that it was started with */
	bool foreground;
	int ready_fd;              /* background: where the parent waits, else -1 */
	bool eal_started;
	struct rte_mempool *tx_pool;
	struct port_owner port_owner;
	uint32_t n_ports;
	struct port ports[CONFIG_MAX_PORTS];
	struct port *port_by_id[RTE_MAX_ETHPORTS];
	uint32_t n_devices;
	struct vd_device devices[VD_MAX_DEVICES];
	uint32_t n_workers;
	struct worker *workers[VD_MAX_WORKERS];
	struct vd *vd;
	struct stall_watch *stalls;
	struct protect *protect;           /* protect.h; NULL: nobody is to be protected */
	struct gateway *gateway;           /* gateway.h; NULL: there is none */
	struct capture_state *capture;     /* capture.h; NULL: there was none */
	struct reach_trials *reach;        /* reach.h; NULL: nobody has asked yet */
	uint64_t seed;
	uint64_t started_ns;
	struct metrics *metrics;           /* metrics.h; NULL: nobody is served */
	struct tuning *tuning;             /* tuning.h */
	int punt_fd;               /* workers write it when they have put something on their to_main ring */
	int signal_fd, epoll_fd;
	int claim_fd;              /* the lock beside the control socket, -1: none */
	struct pending_list pending;
	struct link_list links;
	struct group_list groups;
	uint32_t n_pending_mads, n_pending_keys;
	uint32_t mad_psn;
	bool told_unagreed;        /* the log has that one end sprays and the other does not */
	struct main_counters counters;
	struct alarms alarms;
};

/* What a frame on its way to egress is to do; kept in the mbuf. */
enum route { ROUTE_TX, ROUTE_LOOP, ROUTE_OPENED /* came protected, and was right */ };

extern size_t roced_route_off;       /* of the mbuf field, set before the workers start */

static inline uint8_t *roced_route(struct rte_mbuf *m)
{
	return RTE_MBUF_DYNFIELD(m, roced_route_off, uint8_t *);
}

/* ---- dpdk.c ---- */
/* Starts DPDK as the configuration says, and then its ports; logs why not. */
int dpdk_start(struct roced *roced);
int dpdk_start_ports(struct roced *roced);

/* ---- device.c ---- */
/* Makes the RDMA devices and the ports' address tables, which are empty. Devices that `running` has, too, keep their link-local
 * addresses; NULL: none. */
void devices_init(struct roced *roced, const struct roced *running);
/* One of its ports is up. */
bool device_is_up(const struct roced *roced, uint32_t d);

/* ---- multipath.c ---- */
/* What the configuration says of several paths, as lib/verbs takes it. */
void multipath_init(const struct config_multipath *config, struct vd_multipath *multipath);
/* The same for peers that have agreed to nothing, as lib/transport takes it. */
void multipath_plain(const struct config_multipath *config, struct path_sched_config *plain);

/* ---- congestion.c ---- */
/* The reaction point that the configuration describes; cc points to params. port_mbps: of the fastest port, 0: unknown.
 * False: there is none. */
bool congestion_init(const struct config *config, uint32_t port_mbps, struct cc_config *cc, struct cc_dcqcn_params *params);
/* What the ports of device d send together; 0: one of them tells nothing and the configuration neither. */
uint64_t congestion_device_mbps(const struct config *config, const struct port *ports, uint32_t d);
/* The controller of connections that agreed to selective repeat, at that rate, one for each path MTU; they point to dcqcn.
 * False: its numbers do not fit each other. */
bool congestion_agreed(const struct config *config, uint64_t mbps, const struct cc_dcqcn_params *dcqcn,
	struct cc_config cc[VD_MTUS]);

/* ---- controllers.c ---- */
/* Makes roced->tuning, and gives the devices the congestion controllers that the configuration wants. 0 or -EINVAL, told to
 * the log. */
int controllers_init(struct roced *roced);

/* ---- link.c: next hops and management datagrams ---- */
/* What struct tp_av's link points to. */
struct link {
	struct port *port;
	struct path_neigh_entry *entry;    /* NULL: loop */
	uint8_t mac[6];                    /* of a loop */
	struct path_neigh_wait wait;       /* of one that nobody waits for */
	LIST_ENTRY(link) list;             /* of the main thread, as the rest */
	uint32_t device;
	struct wire_addr src, dst;
};

int link_init(struct roced *roced);
void link_fini(struct roced *roced);
/* Ends all waits with -ECANCELED. */
void link_cancel_all(struct roced *roced);
void link_resolve(struct roced *roced, uint32_t device, const struct wire_addr *src, const struct wire_addr *dst,
	vd_resolved_fn cb, void *cb_arg);
/* The same by one of its ports: src is an address there. */
void link_resolve_by(struct roced *roced, struct port *port, uint32_t device, const struct wire_addr *src,
	const struct wire_addr *dst, vd_resolved_fn cb, void *cb_arg);
/* The same for a datagram of the key handshake, which a stranger may have caused: -EBUSY when too many of them wait for
 * neighbours that are not known. */
void link_resolve_keys(struct roced *roced, struct port *port, uint32_t device, const struct wire_addr *src,
	const struct wire_addr *dst, vd_resolved_fn cb, void *cb_arg);
/* The link to dst by a port; asks for the neighbour, and does not wait for it. NULL: no memory, or no way. */
struct link *link_hold_by(struct roced *roced, struct port *port, uint32_t device, const struct wire_addr *src,
	const struct wire_addr *dst);
/* The link of a plane; asks for the neighbour, and does not wait for it. NULL: no memory, or such a network is not there. */
struct link *link_hold(struct roced *roced, uint32_t device, uint32_t plane, const struct wire_addr *src,
	const struct wire_addr *dst);
void link_release(struct roced *roced, struct link *link);
/* Has keys agreed on with all who packets go to, where they are to be: another policy holds. */
void link_need_keys(struct roced *roced);
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
/* Copies of frames that an XDP program has passed to the kernel. False: the descriptor is of no such port. */
bool punt_handle_copies(struct roced *roced, int fd);

/* ---- main_loop.c ---- */
int main_loop_init(struct roced *roced);
/* Serves until a signal asks to end. */
void main_loop_run(struct roced *roced);
void main_loop_fini(struct roced *roced);
/* Polls a port's link; when it has changed, tells the log, the link's neighbours and programs. */
void main_loop_follow_link(struct roced *roced, struct port *port);

/* ---- stall.c: memory of clients that keeps a thread waiting ---- */
int stall_watch_start(struct roced *roced);
void stall_watch_stop(struct roced *roced);
/* Readable when a user is to be shut out. */
int stall_watch_fd(const struct roced *roced);
void stall_watch_serve(struct roced *roced);

/* ---- dump.c ---- */
void dump_counters(const struct roced *roced);

#endif
