/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fabric between the ports: frames in at their host, out when and as the model says. One thread. Times are
 * nanoseconds since the start, so that the model's picoseconds last for 213 days.
 */
#ifndef RF_NET_H
#define RF_NET_H

#include "port.h"
#include "qos_pause.h"
#include "qos_pfc.h"
#include "rf_config.h"
#include "gateway_macs.h"
#include "rf_filter.h"
#include "rf_frame.h"

#define RF_BURST   32u
#define RF_BACKLOG 1024u     /* frames that wait for a port; a power of two */

/* Why a frame did not get into the fabric, or out of it. What is lost inside the fabric counts itself. */
enum rf_drop {
	RF_DROP_SHORT,           /* no Ethernet header */
	RF_DROP_LONG,            /* longer than the MTU of the port it came from or is for */
	RF_DROP_LINK_LOCAL,      /* not for other links; a pause that was followed does not count */
	RF_DROP_SAME_PORT,       /* for a host behind the port it came from */
	RF_DROP_QUEUE,           /* too many bytes wait for the host's link */
	RF_DROP_BUFFERS,         /* too many of the port's buffers are in the fabric, or none is left for a copy */
	RF_DROP_PORT_DOWN,
	RF_DROP_PORT_FULL,       /* the port takes no more */
	RF_DROP_IMPAIRED,        /* a rule of the filter says so */
	RF_DROP_COUNT,
};

struct rf_port_stats {
	uint64_t rx_packets, rx_bytes, tx_packets, tx_bytes;
	uint64_t flooded;        /* received for all others */
	uint64_t pauses, pauses_sent; /* received; sent */
	uint64_t dropped[RF_DROP_COUNT];
};

struct rf_port {
	struct port port;
	const struct rf_port_config *config;
	uint32_t in_fabric, max_in_fabric; /* packets that came in here */
	struct rf_port_stats stats;
	uint32_t tx_head, tx_count;
	struct rte_mbuf *tx[RF_BACKLOG];
	uint64_t stuck_ns;       /* since when it takes nothing */
	struct qos_pause pause;
	bool has_pfc;
	struct qos_pfc_config pfc_config;
	struct qos_pfc pfc;
};

#define RF_MAX_HELD 256u

/* A packet that an impairment keeps from the fabric. */
struct rf_held {
	bool used;
	struct rf_port *from;
	const struct rf_port *to;
	struct rf_frame frame;
	struct rte_mbuf *m;
	uint32_t qpn, left;      /* of the flow that overtakes it, how many do yet; 0: only the time counts */
	uint64_t due_ns;
};

struct rf_impair {
	struct rf_filter filter;
	uint32_t n_held;
	struct rf_held held[RF_MAX_HELD];
};

/* How much later than the model says packets went out. */
struct rf_late {
	uint64_t packets, sum_ns, max_ns, over_1ms;
};

struct rf_net {
	const struct rf_config *config;
	struct fabric *fabric;
	uint64_t began_ns;       /* clock_now_ns() at the start */
	uint64_t now_ns;
	struct port_owner owner;
	uint32_t n_ports;
	struct rf_port *ports;
	struct rf_port **by_host; /* NULL: a host without a port */
	struct rf_late late;
	uint64_t random;
	struct gateway_macs macs;
	struct rf_impair impair;
};

/* Makes the fabric and opens and starts the ports; DPDK is running. Logs why not. rf_net_fini() is due either way. */
int rf_net_init(struct rf_net *net, const struct rf_config *config);
void rf_net_fini(struct rf_net *net);

/* One look at everything. Whether anything moved. */
bool rf_net_step(struct rf_net *net);
/* When rf_net_step() has something to do if nothing is received; UINT64_MAX: never. */
uint64_t rf_net_next_ns(const struct rf_net *net);
/* Peers of memif ports that come and go; never waits. */
void rf_net_serve(struct rf_net *net);
/* Links of the ports; due about every second. */
void rf_net_poll_links(struct rf_net *net);
void rf_net_clear_stats(struct rf_net *net);

#endif
