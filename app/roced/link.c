/* SPDX-License-Identifier: BSD-3-Clause */
/* Next hops, and what the main thread sends: management datagrams, ARP, neighbour discovery, echo. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "link_route.h"
#include "log.h"
#include "protect.h"
#include "wire_arp_nd.h"
#include "wire_cm.h"
#include "worker.h"

/* Datagrams that wait for a next hop, of the connection managers and of the key handshake. Whoever sends requests from
 * made-up addresses takes so many places of the table of neighbours (1024) at most; the others are for clients. */
#define MAX_PENDING_MADS 512
#define MAX_PENDING_KEYS 256
#define MAD_SPORT        0xc000
#define MAD_TTL          64
#define DONT_FRAGMENT    0x4000
#define DEFAULT_PKEY     0xffff

/* A resolution on its way. It owns the link until the callback takes it. */
struct pending {
	LIST_ENTRY(pending) list;
	struct roced *roced;
	struct link *link;
	struct path_neigh_wait wait;
	vd_resolved_fn cb;
	void *cb_arg;
	uint32_t *count; /* of its like that wait; NULL: they are not counted */
};

/* A datagram that waits for its next hop. */
struct mad_job {
	struct roced *roced;
	struct port_addr from;
	struct wire_addr dst;
	uint8_t mad[VD_MAD_BYTES];
};

static void neigh_emit(void *env, void *dev, const uint8_t *frame, size_t n)
{
	link_send_frame(env, dev, frame, n);
}

int link_init(struct roced *roced)
{
	static const struct path_neigh_ops ops = {.emit = neigh_emit};
	struct path_neigh_config config;

	LIST_INIT(&roced->pending);
	LIST_INIT(&roced->links);
	TAILQ_INIT(&roced->groups);
	path_neigh_config_default(&config);
	for (uint32_t p = 0; p < roced->n_ports; p++) {
		int rc = path_neigh_create(&config, &ops, roced, clock_now_ns(), &roced->ports[p].neigh);

		if (rc != 0)
			return rc;
	}
	return 0;
}

void link_fini(struct roced *roced)
{
	for (uint32_t p = 0; p < roced->n_ports; p++) {
		path_neigh_destroy(roced->ports[p].neigh);
		roced->ports[p].neigh = NULL;
	}
}

void link_release(struct roced *roced, struct link *link)
{
	(void)roced;
	if (link == NULL)
		return;
	path_neigh_cancel(&link->wait);
	path_neigh_put(link->port->neigh, link->entry, clock_now_ns());
	LIST_REMOVE(link, list);
	free(link);
}

void link_need_keys(struct roced *roced)
{
	const struct link *link;

	LIST_FOREACH(link, &roced->links, list)
	{
		if (link->entry != NULL)
			protect_need(roced, link->port, link->device, &link->src, &link->dst);
	}
}

static void finish(struct pending *pending, int status)
{
	struct link *link = pending->link;
	vd_resolved_fn cb = pending->cb;
	void *cb_arg = pending->cb_arg;
	struct roced *roced = pending->roced;

	if (pending->count != NULL)
		(*pending->count)--;
	LIST_REMOVE(pending, list);
	free(pending);
	if (status != 0) {
		link_release(roced, link);
		link = NULL;
	}
	cb(cb_arg, status, link);
}

static void neigh_done(struct path_neigh_wait *wait, struct path_neigh_entry *entry, int status)
{
	(void)entry;
	finish(wait->arg, status);
}

void link_cancel_all(struct roced *roced)
{
	struct pending *pending;

	while ((pending = LIST_FIRST(&roced->pending)) != NULL) {
		path_neigh_cancel(&pending->wait);
		finish(pending, -ECANCELED);
	}
}

static struct port *port_of(struct roced *roced, uint32_t device)
{
	return &roced->ports[roced->config.devices[device].port_index];
}

static struct link *make_link(struct roced *roced, struct port *port, uint32_t device, const struct wire_addr *src,
	const struct wire_addr *dst, int *rc)
{
	const struct port_addr *from = link_source(port, device, src), *own;
	struct wire_nd_from nd_from = {0};
	struct wire_addr hop;
	struct link *link;

	*rc = from == NULL ? -EADDRNOTAVAIL : link_next_hop(roced, port, device, dst, &hop);
	if (*rc != 0)
		return NULL;
	link = calloc(1, sizeof(*link));
	*rc = link == NULL ? -ENOMEM : 0;
	if (link == NULL)
		return NULL;
	link->port = port;
	link->device = device;
	link->src = *src;
	link->dst = *dst;
	LIST_INSERT_HEAD(&roced->links, link, list);
	own = port_find_addr(port, dst, from->has_vlan, from->vlan_tci);
	if (own != NULL) {
		memcpy(link->mac, own->mac, sizeof(link->mac));
		return link;
	}
	protect_need(roced, port, device, &from->addr, dst);
	memcpy(nd_from.mac, from->mac, sizeof(nd_from.mac));
	nd_from.has_vlan = from->has_vlan;
	nd_from.vlan_tci = from->vlan_tci;
	nd_from.addr = from->addr;
	*rc = path_neigh_get(port->neigh, port, &nd_from, &hop, clock_now_ns(), &link->entry);
	if (*rc != 0) {
		LIST_REMOVE(link, list);
		free(link);
		return NULL;
	}
	return link;
}

/* Whether there is nothing to ask. */
static bool is_known(const struct link *link)
{
	uint8_t mac[6];

	return link->entry == NULL || path_neigh_mac(link->entry, mac);
}

/* Takes the link. count: see struct pending. */
static void resolve(struct roced *roced, struct link *link, uint32_t *count, vd_resolved_fn cb, void *cb_arg)
{
	struct pending *pending;

	if (link->entry == NULL) {
		cb(cb_arg, 0, link);
		return;
	}
	pending = calloc(1, sizeof(*pending));
	if (pending == NULL) {
		link_release(roced, link);
		cb(cb_arg, -ENOMEM, NULL);
		return;
	}
	pending->roced = roced;
	pending->link = link;
	pending->cb = cb;
	pending->cb_arg = cb_arg;
	pending->count = count;
	if (count != NULL)
		(*count)++;
	pending->wait.done = neigh_done;
	pending->wait.arg = pending;
	LIST_INSERT_HEAD(&roced->pending, pending, list);
	path_neigh_resolve(link->port->neigh, link->entry, &pending->wait, clock_now_ns());
}

void link_resolve_by(struct roced *roced, struct port *port, uint32_t device, const struct wire_addr *src,
	const struct wire_addr *dst, vd_resolved_fn cb, void *cb_arg)
{
	struct link *link;
	int rc;

	link = make_link(roced, port, device, src, dst, &rc);
	if (link == NULL)
		cb(cb_arg, rc, NULL);
	else
		resolve(roced, link, NULL, cb, cb_arg);
}

void link_resolve_keys(struct roced *roced, struct port *port, uint32_t device, const struct wire_addr *src,
	const struct wire_addr *dst, vd_resolved_fn cb, void *cb_arg)
{
	struct link *link;
	int rc;

	link = make_link(roced, port, device, src, dst, &rc);
	if (link != NULL && roced->n_pending_keys >= MAX_PENDING_KEYS && !is_known(link)) {
		link_release(roced, link);
		link = NULL;
		rc = -EBUSY;
	}
	if (link == NULL)
		cb(cb_arg, rc, NULL);
	else
		resolve(roced, link, &roced->n_pending_keys, cb, cb_arg);
}

void link_resolve(struct roced *roced, uint32_t device, const struct wire_addr *src, const struct wire_addr *dst,
	vd_resolved_fn cb, void *cb_arg)
{
	link_resolve_by(roced, port_of(roced, device), device, src, dst, cb, cb_arg);
}

static void no_matter(struct path_neigh_wait *wait, struct path_neigh_entry *entry, int status)
{
	(void)wait;
	(void)entry;
	(void)status;
}

/* A held entry that does not answer is asked again from time to time. */
struct link *link_hold_by(struct roced *roced, struct port *port, uint32_t device, const struct wire_addr *src,
	const struct wire_addr *dst)
{
	struct link *link;
	int rc;

	link = make_link(roced, port, device, src, dst, &rc);
	if (link == NULL || link->entry == NULL)
		return link;
	link->wait.done = no_matter;
	path_neigh_resolve(port->neigh, link->entry, &link->wait, clock_now_ns());
	return link;
}

struct link *link_hold(struct roced *roced, uint32_t device, uint32_t plane, const struct wire_addr *src,
	const struct wire_addr *dst)
{
	return link_hold_by(roced, &roced->ports[roced->config.devices[device].planes[plane].port_index], device, src, dst);
}

/* ---- sending ---- */

void link_send_mbuf(struct roced *roced, struct rte_mbuf *m)
{
	struct worker *worker = roced->workers[0];

	if (rte_ring_sp_enqueue(worker->from_main, m) != 0) {
		roced->counters.frames_lost++;
		rte_pktmbuf_free(m);
		return;
	}
	worker_wake(worker);
}

void link_send_frame(struct roced *roced, struct port *port, const uint8_t *frame, size_t n)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(roced->tx_pool);
	char *at = m != NULL ? rte_pktmbuf_append(m, (uint16_t)n) : NULL;

	if (at == NULL) {
		roced->counters.frames_lost++;
		rte_pktmbuf_free(m);
		return;
	}
	memcpy(at, frame, n);
	m->port = port->id;
	*roced_route(m) = ROUTE_TX;
	link_send_mbuf(roced, m);
}

void link_announce(struct roced *roced, struct port *port)
{
	uint8_t frame[WIRE_ND_FRAME_MAX];

	for (uint32_t i = 0; i < port->n_addrs; i++) {
		const struct port_addr *addr = &port->addrs[i];
		struct wire_nd_from from = {.has_vlan = addr->has_vlan, .vlan_tci = addr->vlan_tci, .addr = addr->addr};

		memcpy(from.mac, addr->mac, sizeof(from.mac));
		link_send_frame(roced, port, frame, wire_nd_build_announce(frame, &from));
	}
}

/* ---- management datagrams ---- */

/* UD SEND only from QP1 to QP1 (IBTA vol. 1, 9.8.3 and 13.5.1). */
static void build_mad(struct mad_job *job, struct rte_mbuf *m, const struct link *link)
{
	struct wire_pkt *pkt = TP_PKT(m);
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct wire_l2l3 net = {
		.src = job->from.addr,
		.dst = job->dst,
		.has_vlan = job->from.has_vlan,
		.vlan_tci = job->from.vlan_tci,
	};

	memset(pkt, 0, sizeof(*pkt));
	memcpy(net.smac, job->from.mac, sizeof(net.smac));
	if (link->entry == NULL)
		memcpy(net.dmac, link->mac, sizeof(net.dmac));
	else
		path_neigh_mac(link->entry, net.dmac);
	pkt->kind = WIRE_KIND_ROCE_V2;
	pkt->opcode = WIRE_UD_SEND_ONLY;
	pkt->l3_version = wire_addr_is_v4(&net.dst) ? 4 : 6;
	pkt->has_vlan = net.has_vlan;
	pkt->vlan_tci = net.vlan_tci;
	pkt->udp_sport = MAD_SPORT;
	pkt->ttl = MAD_TTL;
	pkt->ip_frag = DONT_FRAGMENT;
	pkt->pkey = DEFAULT_PKEY;
	pkt->dqpn = WIRE_GSI_QPN;
	pkt->sqpn = WIRE_GSI_QPN;
	pkt->qkey = WIRE_GSI_QKEY;
	pkt->psn = job->roced->mad_psn++ & 0xffffff;
	pkt->payload_bytes = VD_MAD_BYTES;
	wire_write(frame, &net, pkt);
	memcpy(frame + pkt->payload_off, job->mad, VD_MAD_BYTES);
	wire_seal(frame, pkt);
	m->data_len = pkt->frame_bytes;
	m->pkt_len = pkt->frame_bytes;
	m->port = link->port->id;
	*roced_route(m) = link->entry == NULL ? ROUTE_LOOP : ROUTE_TX;
}

static void mad_resolved(void *cb_arg, int status, void *cb_link)
{
	struct mad_job *job = cb_arg;
	struct roced *roced = job->roced;
	struct link *link = cb_link;
	struct rte_mbuf *m = status == 0 ? rte_pktmbuf_alloc(roced->tx_pool) : NULL;

	if (m != NULL) {
		build_mad(job, m, link);
		link_send_mbuf(roced, m);
		roced->counters.mads_sent++;
	} else {
		roced->counters.mads_lost++;
	}
	link_release(roced, link);
	free(job);
}

static struct mad_job *make_job(struct roced *roced, uint32_t device, const struct wire_addr *src,
	const struct wire_addr *dst, const uint8_t mad[VD_MAD_BYTES])
{
	struct mad_job *job = calloc(1, sizeof(*job));

	if (job == NULL)
		return NULL;
	job->roced = roced;
	job->from = *link_source(port_of(roced, device), device, src);
	job->dst = *dst;
	memcpy(job->mad, mad, VD_MAD_BYTES);
	return job;
}

void link_send_mad(struct roced *roced, uint32_t device, const struct wire_addr *src, const struct wire_addr *dst,
	const uint8_t mad[VD_MAD_BYTES])
{
	struct mad_job *job = NULL;
	struct link *link;
	int rc;

	link = make_link(roced, port_of(roced, device), device, src, dst, &rc);
	/* A known neighbour gets its answer however many strangers are waited for. */
	if (link != NULL && (roced->n_pending_mads < MAX_PENDING_MADS || is_known(link)))
		job = make_job(roced, device, src, dst, mad);
	if (job == NULL) {
		link_release(roced, link);
		roced->counters.mads_lost++;
		return;
	}
	resolve(roced, link, &roced->n_pending_mads, mad_resolved, job);
}
