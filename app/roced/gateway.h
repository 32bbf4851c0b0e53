/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The gateway role (docs/gateway.md): RoCE packets of hosts at some ports go through tunnels to far gateways, over many
 * paths, and come out of them in order. What tunnels know is lib/gateway's; here is what it has to do with ports, mbufs
 * and neighbours.
 */
#ifndef GATEWAY_H
#define GATEWAY_H

#include <stdatomic.h>

#include "gateway_flows.h"
#include "gateway_hosts.h"
#include "gateway_macs.h"
#include "gateway_pairs.h"
#include "gateway_paths.h"
#include "gateway_peers.h"
#include "gateway_recent.h"
#include "gateway_reorder.h"
#include "crypt_msg.h"
#include "path_neigh.h"
#include "watch_tables.h"
#include "wire_psp.h"
#include "wire_tunnel.h"
#include "worker.h"

#define GATEWAY_LANES CRYPT_MSG_LANES

/* A far gateway. All but link changes while the workers stand still only. header_bytes 0: its place is free. */
struct gateway_remote {
	uint32_t number;           /* of its like since the start: what has come from one is never that of another */
	struct wire_addr local, addr;
	bool v4;                   /* so are both */
	bool required;             /* nothing plain is taken from it */
	struct link *link;         /* NULL: no way there */
	uint32_t room;             /* for hosts' packets, bytes */
	uint16_t sport;            /* of path 0; the others are behind it */
	uint8_t l3_off, l4_off;
	uint32_t ip4_sum;          /* of the IPv4 header, but for what differs from packet to packet */
	uint8_t header_bytes;      /* up to the tunnel's header */
	uint8_t header[WIRE_UDP_MAX_HDR_BYTES];
};

/* Of a far gateway, what people were told. */
struct gateway_watched {
	uint64_t too_long, sent, reports;
	uint8_t silent;            /* looks in a row at which something was sent and nothing reported */
};

/* All workers' together. */
struct gateway {
	const struct config_gateway *config;
	struct port *fabric;
	uint32_t n_host_vlans;
	uint16_t host_vlans[CONFIG_MAX_HOST_VLANS]; /* of the fabric's port; config has them as bits */
	struct path_sched_config sched;
	struct gateway_hosts *hosts;
	struct gateway_peers *peers;       /* NULL: hosts notify for themselves */
	uint32_t n_remotes;                /* places, free ones among them */
	uint32_t last_number;
	struct gateway_remote remotes[CONFIG_MAX_REMOTES];
	struct gateway_watched watched[CONFIG_MAX_REMOTES];
};

struct gateway_counters {
	uint64_t tunnelled, came, bridged, flooded, unordered, reports_sent, reports_received, probes, asked, direct;
	uint64_t cnps_sent, cnps_held_back, cnps_unknown;
};

/* Hosts' packets that did not fit into the tunnel. */
struct gateway_too_long {
	uint64_t packets;
	uint32_t bytes;            /* of the last one */
};

/* What has come from a lane of a far gateway. */
struct gateway_lane {
	struct gateway_rx rx;
	uint8_t remote, lane;
	uint8_t tos;               /* of what came last, for reports */
	bool listed;               /* in gateway_worker's news */
};

/* For a host that is asked for. */
struct gateway_waiting {
	struct rte_mbuf *m;        /* from its IP header on */
	uint64_t since_ns, asked_ns;
};

#define GATEWAY_WAITING 256u

/* A worker's. Lanes of far gateways are dealt to workers by their number. */
struct gateway_worker {
	struct worker *worker;
	struct gateway *shared;
	struct gateway_flows *flows;
	struct gateway_reorder *reorder;
	struct gateway_pairs *pairs;       /* gateway_direct.c; NULL: no network is direct */
	uint32_t lanes_per_remote;
	struct gateway_lane *lanes;        /* by remote, then lane / workers */
	struct gateway_tx *tx;             /* by remote */
	uint8_t *tx_tos;                   /* of what left last */
	struct gateway_too_long *too_long; /* by remote */
	uint64_t told_long_ns;             /* when a host was told */
	uint64_t tick_ns;                  /* of the senders' ends: when to look again */
	uint64_t age_ns;
	uint64_t asked_ns, retry_ns;       /* for hosts; UINT64_MAX: none waits */
	uint32_t n_waiting;
	struct gateway_waiting waiting[GATEWAY_WAITING];
	uint32_t report_turn;
	uint16_t ip_id;
	uint32_t n_news;
	struct gateway_lane **news;        /* those with something to report */
	struct gateway_macs macs;
	struct gateway_recent recent;
	struct gateway_counters counters;
};

/* ---- main thread ---- */

/* What the configuration says; the ports are there, the workers are not. 0 or -ENOMEM; nothing without a gateway. */
int gateway_init(struct roced *roced);
/* Asks for the way to far gateways; the workers are there and do not run. */
void gateway_find_remotes(struct roced *roced);
void gateway_fini(struct roced *roced);
/* Raises alarms for what somebody should look at; once a second. */
void gateway_watch(struct roced *roced, uint64_t now_ns);
int gateway_worker_init(struct worker *worker);
/* For a reload, the workers stand still: the far gateway at place r as a configuration has it, which may be none; what is known of one
 * that was and is there stays. */
void gateway_set_remote(struct roced *roced, const struct config *config, uint32_t r);
/* The way to it; NULL: there is none, told to the log. */
struct link *gateway_hold_remote(struct roced *roced, uint32_t r);
void gateway_worker_fini(struct worker *worker);

/* ---- gateway_tell.c, main thread ---- */

/* Of all workers: sums, or the worst of them. */
struct gateway_told_path {
	uint64_t sent, lost;
	uint32_t rtt_ns;           /* 0: unknown */
	uint32_t ecn_percent;
	uint32_t dead_at;          /* so many workers */
};

struct gateway_told_remote {
	struct wire_addr addr;
	bool reachable;
	uint16_t sport;            /* of path 0 */
	uint32_t room, n_paths;
	uint64_t sent, lost;       /* by all paths */
	uint32_t dead;             /* paths that are, at a worker at least */
	uint64_t bad_reports;
	struct gateway_told_path paths[PATH_SCHED_MAX_EVS];
};

/* What all workers have counted: docs/gateway.md says what it means. */
void gateway_sum(const struct roced *roced, struct watch_gateway *sums);
/* r: below the number of far gateways; there is a gateway. */
void gateway_tell_remote(const struct roced *roced, uint32_t r, struct gateway_told_remote *told);
/* To the log. */
void gateway_dump(const struct roced *roced);

/* The link address of the way to a far gateway. False: not known. Any thread. */
static inline bool gateway_remote_mac(const struct gateway_remote *remote, uint8_t mac[6])
{
	return remote->link != NULL && remote->link->entry != NULL && path_neigh_mac(remote->link->entry, mac);
}

static inline bool gateway_is_host_port(const struct gateway *gateway, const struct port *port)
{
	return (gateway->config->host_mask >> port->index & 1) != 0;
}

static inline bool gateway_has_remote(const struct gateway *gateway, uint32_t r)
{
	return r < gateway->n_remotes && gateway->remotes[r].header_bytes != 0;
}

/* The device's first address of a family, but for its link-local one. NULL: it has none. */
const struct port_addr *gateway_own_addr(const struct gateway *gateway, bool v4);

/* The hosts' VLAN that the first n bytes of a frame at the fabric's port name; 0: the frame is the fabric's. */
static inline uint16_t gateway_host_vlan(const struct gateway *gateway, const uint8_t *frame, size_t n)
{
	uint16_t vlan;

	if (gateway->n_host_vlans == 0 || n < 18 || frame[12] != 0x81 || frame[13] != 0)
		return 0;
	vlan = (uint16_t)((frame[14] & 0xf) << 8 | frame[15]);
	return (gateway->config->host_vlans[vlan / 64] >> vlan % 64 & 1) != 0 ? vlan : 0;
}

/* A frame that has come by a port is of hosts, one that leaves by it is for them: theirs is the port, or the VLAN. */
static inline bool gateway_is_of_hosts(
	const struct gateway *gateway, const struct port *port, const uint8_t *frame, size_t n)
{
	return gateway_is_host_port(gateway, port) ||
	       (port == gateway->fabric && gateway_host_vlan(gateway, frame, n) != 0);
}

/* ---- in the worker; those that send do it by worker_emit() ---- */

enum gateway_verdict {
	GATEWAY_NOT,       /* the frame is none of the gateway's: to be classified as ever */
	GATEWAY_DROP,      /* it was counted */
	GATEWAY_ENCAP, GATEWAY_DECAP, GATEWAY_BRIDGE, GATEWAY_HANDOFF,
};

/* Of a frame that has come, contiguous. Fills in what the next node needs of its struct wire_pkt. */
enum gateway_verdict gateway_classify(struct worker *worker, struct rte_mbuf *m);
/* Puts a host's packet into its tunnel. */
void gateway_encap(struct worker *worker, struct rte_mbuf *m);
/* Takes what came by a tunnel out of it. */
void gateway_decap(struct worker *worker, struct rte_mbuf *m);
/* A host's packet, from its IP header on, in its order: to the host. */
void gateway_to_host(struct worker *worker, struct rte_mbuf *m);
/* Passes a frame on as a bridge. True: the main thread has to see it, too, and it is the caller's again. */
bool gateway_bridge(struct worker *worker, struct rte_mbuf *m);
/* Does what is due. */
void gateway_tick(struct worker *worker);
/* When there is something to do. */
uint64_t gateway_next_ns(const struct worker *worker);

/* ---- gateway_direct.c ---- */

/* A worker's. 0 or -ENOMEM; nothing where no network is direct. */
int gateway_direct_init(struct gateway_worker *gw);
/* Tells the log what protection keeps hosts from in direct networks. Main thread. */
void gateway_direct_warn(const struct roced *roced);
/* What it makes; NULL: no memory, or the configuration has none. */
struct gateway_pairs *gateway_direct_new(const struct gateway_worker *gw, const struct config_gateway *config);
/* A host is reached without a far gateway. */
bool gateway_direct_reaches(const struct gateway *gateway, const struct wire_addr *dst);
/* RoCE between a host here and one in a direct network, parsed, of hosts' or the fabric's port; it goes over the
 * bridge, or to the worker that knows these two, which calls gateway_direct_pass(). */
enum gateway_verdict gateway_direct(struct worker *worker, struct rte_mbuf *m);
/* Takes note of it, and where it leaves gives it its source port. */
void gateway_direct_pass(struct worker *worker, struct rte_mbuf *m);
/* At the fabric's port, for a host here: to be bridged, after gateway_direct() has seen it if it is RoCE of a direct
 * network. */
enum gateway_verdict gateway_direct_came(struct worker *worker, struct rte_mbuf *m);
/* Of one worker, to those of the others. Main thread. */
void gateway_direct_sum(struct watch_gateway *sums, const struct gateway_worker *gw);
/* The pairs of all workers and their paths, to the log. Main thread. */
void gateway_direct_dump(const struct roced *roced);

/* ---- gateway_take.c and gateway_wait.c ---- */

/* Where a packet goes, by its IP header. */
void gateway_dst(const uint8_t *ip, struct wire_addr *dst);
/* False: nobody has seen that host; m is the caller's still. */
bool gateway_pass_to_host(struct worker *worker, const struct wire_addr *dst, struct rte_mbuf *m);
/* Takes a packet for a host that nobody has seen. */
void gateway_wait_add(struct worker *worker, struct rte_mbuf *m, const struct wire_addr *dst);
/* Looks whether those who wait may go, and ends waiting that was too long. */
void gateway_wait_retry(struct worker *worker);
void gateway_wait_fini(struct gateway_worker *gw);

/* ---- gateway_long.c ---- */

/* A host's packet is too long for the tunnel: it is dropped and counted, the host told, ten times a second at most. */
void gateway_refuse_long(struct worker *worker, uint32_t remote, struct rte_mbuf *m);

/* ---- gateway_cnp.c: what a gateway does that notifies for its hosts ---- */

/* 0 or -ENOMEM; nothing where it does not. Main thread. */
int gateway_cnp_init(struct roced *roced, struct gateway *gateway);
/* A host's packet leaves by a tunnel. */
void gateway_cnp_leaves(struct worker *worker, const struct gateway_flow_key *key, const struct wire_pkt *pkt);
/* A packet for a host has come by a tunnel, from its IP header on, and would be handed on with this ECN field. Returns
 * the one that it gets. */
uint8_t gateway_cnp_comes(struct worker *worker, uint8_t remote, const struct rte_mbuf *m, uint8_t ecn);

/* ---- gateway_send.c ---- */

/* Puts the headers of a tunnel's packet in front of what the mbuf has; counted as dropped if that cannot be. The path
 * of t is taken; lane: whose tunnel it is, the worker's own but for reports. */
void gateway_send(struct worker *worker, uint32_t remote, uint32_t lane, const struct wire_tunnel *t, uint8_t tos,
	struct rte_mbuf *m);
/* Reports what has come by a lane. */
void gateway_send_report(struct worker *worker, struct gateway_lane *lane);

#endif
