/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters to the log, for SIGUSR1. Values of other threads are read as they are. */
#include <inttypes.h>

#include "gateway.h"
#include "log.h"
#include "nodes.h"
#include "rx_watch.h"
#include "shape.h"

#define MAX_SPRAYERS 16

static void dump_drops(const char *who, uint32_t index, const uint64_t drops[BASE_DROP_COUNT])
{
	for (uint32_t r = 1; r < BASE_DROP_COUNT; r++) {
		if (drops[r] != 0)
			log_line(LOG_NOTICE, "%s %u: drop %s %" PRIu64 " (%s)", who, index, base_drop_name(r), drops[r],
				base_drop_help(r));
	}
}

static void dump_tp(uint32_t index, const struct tp_counters *c)
{
	log_line(LOG_NOTICE,
		"transport %u: rx_pkts %" PRIu64 " tx_pkts %" PRIu64 " rx_bytes %" PRIu64 " tx_bytes %" PRIu64, index,
		c->rx_pkts, c->tx_pkts, c->rx_bytes, c->tx_bytes);
	log_line(LOG_NOTICE, "transport %u: retransmits %" PRIu64 " ack_timeouts %" PRIu64 " duplicates %" PRIu64
		" rnr_naks_sent %" PRIu64 " rnr_naks_received %" PRIu64 " seq_naks_sent %" PRIu64
		" seq_naks_received %" PRIu64 " other_naks_sent %" PRIu64 " reordered %" PRIu64 " moves %" PRIu64,
		index, c->retransmits, c->ack_timeouts, c->duplicates, c->rnr_naks_sent, c->rnr_naks_received, c->seq_naks_sent, c->seq_naks_received,
		c->other_naks_sent, c->reordered, c->moves);
	log_line(LOG_NOTICE, "transport %u: sacks_sent %" PRIu64 " sacks_received %" PRIu64 " probes %" PRIu64
		" unagreed %" PRIu64 " marked %" PRIu64 " cnps_sent %" PRIu64 " cnps_received %" PRIu64, index, c->sacks_sent,
		c->sacks_received, c->probes, c->unagreed, c->marked, c->cnps_sent, c->cnps_received);
	log_line(LOG_NOTICE, "transport %u: merged_sent %" PRIu64 " merged_messages %" PRIu64 " merged_received %" PRIu64, index,
		c->merged_sent, c->merged_messages, c->merged_received);
	dump_drops("transport", index, c->drops);
}

static void dump_class(const struct worker *worker, const struct shape *shape, uint32_t port, uint8_t class)
{
	const struct config *config = &worker->roced->config;
	uint8_t p = shape->config.classes[class].priority;
	struct qos_class_stats s;

	qos_egress_stats(shape->egress, class, &s);
	log_line(LOG_NOTICE,
		"worker %u: port \"%s\" channel \"%s\": packets %" PRIu64 " bytes %" PRIu64 " marked_here %" PRIu64
		" dropped %" PRIu64 " queued %u delayed %" PRIu64 " pauses %" PRIu64 " paused_ns %" PRIu64 " storms %" PRIu64,
		worker->index, config->ports[port].name, config->n_channels != 0 ? config->channels[class].name : "", s.sent_packets,
		s.sent_bytes, s.marked, s.dropped, s.queued_packets, s.delayed, shape->pause.frames[p], shape->pause.paused_ns[p],
		shape->storm.detected[p]);
}

/* At the worker that asks for all. */
static void dump_asked(const struct worker *worker, uint32_t port)
{
	const struct rx_pause *pause = worker->watches != NULL ? worker->watches[port].pause : NULL;

	for (uint32_t p = 0; pause != NULL && p < QOS_PRIORITIES; p++) {
		if ((pause->config.priorities & 1u << p) != 0)
			log_line(LOG_NOTICE,
				"worker %u: port \"%s\" priority %u: xoff_sent %" PRIu64 " xon_sent %" PRIu64
				" waiting_bytes %" PRIu64 " headroom_bytes %u",
				worker->index, worker->roced->config.ports[port].name, p, pause->pfc.xoff_sent[p],
				pause->pfc.xon_sent[p], pause->pfc.bytes[p], pause->config.headroom_bytes);
	}
}

static void dump_shapes(const struct worker *worker)
{
	for (uint32_t p = 0; worker->shaped && p < worker->roced->n_ports; p++) {
		const struct shape *shape = &worker->shapes[p];

		for (uint8_t c = 0; shape->egress != NULL && c < shape->config.n_classes; c++)
			dump_class(worker, shape, p, c);
		dump_asked(worker, p);
	}
}

static void dump_worker(const struct worker *worker)
{
	const struct worker_counters *c = &worker->counters;

	log_line(LOG_NOTICE, "worker %u: walks %" PRIu64 " sleeps %" PRIu64 " calls %" PRIu64 " ring_in %" PRIu64
		" ring_out %" PRIu64 " backlogged %" PRIu64, worker->index, c->walks, c->sleeps, c->calls, c->ring_in,
		c->ring_out, c->backlogged);
	for (uint32_t i = 0; i < nodes_count; i++) {
		const struct rte_node *node = rte_graph_node_get_by_name(worker->graph->name, nodes_all[i]->name);
		uint64_t objs = node->total_objs;

		log_line(LOG_NOTICE,
			"worker %u: node %-9s packets %" PRIu64 " calls %" PRIu64 " cycles/packet %" PRIu64,
			worker->index, node->name, objs, node->total_calls, objs != 0 ? node->total_cycles / objs : 0);
	}
	dump_shapes(worker);
	dump_drops("worker", worker->index, c->drops);
	dump_tp(worker->index, tp_counters(worker->tp));
}

static void dump_port(const struct port *port)
{
	struct rte_eth_stats s;
	struct path_neigh_stats n;

	path_neigh_get_stats(port->neigh, &n);
	if (rte_eth_stats_get(port->id, &s) == 0)
		log_line(LOG_NOTICE,
			"port \"%s\": %s rx %" PRIu64 " missed %" PRIu64 " errors %" PRIu64 " nombuf %" PRIu64
			" tx %" PRIu64 " errors %" PRIu64,
			port->config->name, port->up ? "up" : "down", s.ipackets, s.imissed, s.ierrors, s.rx_nombuf,
			s.opackets, s.oerrors);
	log_line(LOG_NOTICE, "port \"%s\": neighbours %u asked %" PRIu64 " learned %" PRIu64 " failed %" PRIu64,
		port->config->name, n.entries, n.tx_requests, n.rx_used, n.failures);
}

static void dump_xdp(const struct port *port)
{
	uint64_t counts[XDP_ROCE_KINDS];

	if (port->xdp == NULL || xdp_roce_counts(port->xdp, counts) != 0)
		return;
	for (uint32_t kind = 0; kind < XDP_ROCE_KINDS; kind++) {
		if (counts[kind] != 0)
			log_line(LOG_NOTICE, "port \"%s\": xdp %s: %s %" PRIu64, port->config->name, port_xdp_name(port),
				xdp_roce_kind_name(kind), counts[kind]);
	}
}

static void dump_paths(struct vd *vd)
{
	struct vd_qp_paths qp;
	uint32_t from = 0;

	for (int i = 0; i < MAX_SPRAYERS && vd_next_paths(vd, from, &qp) == 0; i++, from = qp.qpn + 1) {
		uint32_t used = 0, dead = 0;
		uint64_t sent = 0;

		for (uint32_t ev = 0; ev < qp.paths.n; ev++) {
			used += qp.paths.path[ev].sent != 0;
			dead += !qp.paths.path[ev].stats.alive;
			sent += qp.paths.path[ev].sent;
		}
		log_line(LOG_NOTICE,
			"queue pair %#x of process %d: %s, %u of %u paths used, %u dead, rtt_ns %u, packets %" PRIu64,
			qp.qpn, (int)qp.pid, qp.paths.scheduler, used, qp.paths.n, dead, qp.paths.srtt_ns, sent);
	}
}

void dump_counters(const struct roced *roced)
{
	const struct main_counters *c = &roced->counters;
	struct vd_stats s;

	vd_stats(roced->vd, &s);
	log_line(LOG_NOTICE,
		"main: punted %" PRIu64 " arp_replies %" PRIu64 " nd_replies %" PRIu64 " echo_replies %" PRIu64
		" mads_received %" PRIu64 " mads_sent %" PRIu64 " mads_lost %" PRIu64 " frames_lost %" PRIu64,
		c->punted, c->arp_replies, c->nd_replies, c->echo_replies, c->mads_received, c->mads_sent, c->mads_lost,
		c->frames_lost);
	dump_drops("main", 0, c->drops);
	log_line(LOG_NOTICE,
		"verbs: sessions %u contexts %u pds %u mrs %u mws %u cqs %u srqs %u qps %u ahs %u groups %u xrcds %u"
		" cm_ids %u requests %" PRIu64 " bad_requests %" PRIu64,
		s.sessions, s.contexts, s.pds, s.mrs, s.mws, s.cqs, s.srqs, s.qps, s.ahs, s.groups, s.xrcds, s.cm_ids,
		s.requests, s.bad_requests);
	log_line(LOG_NOTICE,
		"verbs: cm_listeners %u bad_wqes %" PRIu64 " bad_indices %" PRIu64 " cq_overflows %" PRIu64 " copy_faults %" PRIu64
		" events_lost %" PRIu64
		" refused_sessions %" PRIu64 " at_limit %" PRIu64,
		s.cm_listeners, s.bad_wqes, s.bad_indices, s.cq_overflows, s.copy_faults, s.events_lost,
		s.refused_sessions, s.at_limit);
	log_line(LOG_NOTICE,
		"verbs: mrs_mapped %u regs_mapped %" PRIu64 " regs_copied %" PRIu64 " map_refusals %" PRIu64
		" map_faults %" PRIu64,
		s.mrs_mapped, s.regs_mapped, s.regs_copied, s.map_refusals, s.map_faults);
	log_line(LOG_NOTICE,
		"verbs: multipath_offered %" PRIu64 " multipath_agreed %" PRIu64 " multipath_listed %" PRIu64
		" multipath_left %" PRIu64 " multipath_mismatches %" PRIu64,
		s.multipath_offered, s.multipath_agreed, s.multipath_listed, s.multipath_left, s.multipath_mismatches);
	dump_paths(roced->vd);
	for (uint32_t p = 0; p < roced->n_ports; p++)
		dump_port(&roced->ports[p]);
	for (uint32_t p = 0; p < roced->n_ports; p++)
		dump_xdp(&roced->ports[p]);
	gateway_dump(roced);
	for (uint32_t w = 0; w < roced->n_workers; w++)
		dump_worker(roced->workers[w]);
}
