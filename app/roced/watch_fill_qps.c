/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue pairs and their paths, for watch_fill.h. */
#include <stdlib.h>

#include "vd.h"
#include "watch_fill.h"

#define AT_ONCE 256 /* queue pairs, of which several KiB are told each */

static const char *type_name(enum tp_qp_type type)
{
	switch (type) {
	case TP_QPT_RC:
		return "RC";
	case TP_QPT_UC:
		return "UC";
	case TP_QPT_UD:
		return "UD";
	case TP_QPT_XRC_INI:
		return "XRC_INI";
	case TP_QPT_XRC_TGT:
		return "XRC_TGT";
	}
	return "?";
}

static const char *state_name(enum tp_qp_state state)
{
	static const char *const names[] = {
		[TP_QPS_RESET] = "RESET", [TP_QPS_INIT] = "INIT", [TP_QPS_RTR] = "RTR", [TP_QPS_RTS] = "RTS", [TP_QPS_SQD] = "SQD",
		[TP_QPS_SQE] = "SQE", [TP_QPS_ERR] = "ERR"};

	return (size_t)state < RTE_DIM(names) ? names[state] : "?";
}

static void fill_counters(const struct tp_qp_counters *c, struct watch_qps *row)
{
	row->rx_packets = c->rx_pkts;
	row->tx_packets = c->tx_pkts;
	row->rx_bytes = c->rx_bytes;
	row->tx_bytes = c->tx_bytes;
	row->retransmits = c->retransmits;
	row->ack_timeouts = c->ack_timeouts;
	row->duplicates = c->duplicates;
	row->rnr_naks_sent = c->rnr_naks_sent;
	row->rnr_naks_received = c->rnr_naks_received;
	row->seq_naks_sent = c->seq_naks_sent;
	row->seq_naks_received = c->seq_naks_received;
	row->other_naks_sent = c->other_naks_sent;
	row->cnps_sent = c->cnps_sent;
	row->cnps_received = c->cnps_received;
	row->marked = c->marked;
	row->ce_percent = c->rx_pkts != 0 ? c->marked * 100 / c->rx_pkts : 0;
	row->reordered = c->reordered;
	row->reorder_depth = c->most_ahead;
	row->moves = c->moves;
}

static void fill_path_sums(const struct tp_paths *paths, struct watch_qps *row)
{
	watch_set_text(row->scheduler, paths->scheduler);
	watch_set_text(row->controller, paths->controller);
	row->in_order = paths->in_order;
	row->rtt_ns = paths->srtt_ns;
	row->window_packets = paths->window;
	row->window_bytes = paths->window_bytes;
	row->rate_bps = paths->rate_bps;
	row->evs = paths->n;
	for (uint32_t i = 0; i < paths->n; i++) {
		row->evs_used += paths->path[i].sent != 0;
		row->evs_alive += paths->path[i].stats.alive;
		row->sent_packets += paths->path[i].sent;
	}
}

static void fill_qp(const struct vd_qp_told *qp, struct watch_qps *row)
{
	row->qpn = qp->qpn;
	watch_set_text(row->device, qp->device);
	row->pid = (uint64_t)qp->pid;
	watch_set_text(row->type, type_name(qp->type));
	watch_set_text(row->state, state_name(qp->stats.state));
	watch_set_addr(row->peer, &qp->peer);
	row->peer_qpn = qp->peer_qpn;
	row->worker = qp->worker;
	row->held_packets = qp->stats.held;
	row->outstanding_packets = qp->stats.outstanding;
	row->window_packets = qp->stats.window;
	fill_counters(&qp->stats.counters, row);
	if (qp->has_paths)
		fill_path_sums(&qp->paths, row);
}

/* Calls fn(page, qp) for queue pairs, AT_ONCE by AT_ONCE, without the first `from` of them, most at most. *all: how many there are. */
static void for_qps(struct watch_page *page, uint32_t from, uint32_t most, uint32_t *all,
	void (*fn)(struct watch_page *page, const struct vd_qp_told *qp))
{
	struct vd_qp_told *told = calloc(AT_ONCE, sizeof(*told));
	uint32_t n, done = 0;

	*all = 0;
	if (told == NULL)
		return;
	do {
		n = vd_tell_qps(page->roced->vd, from + done, told, RTE_MIN(most - done, (uint32_t)AT_ONCE), all);
		for (uint32_t i = 0; i < n; i++)
			fn(page, &told[i]);
		done += n;
	} while (n != 0 && done < most);
	free(told);
}

static void add_qp(struct watch_page *page, const struct vd_qp_told *qp)
{
	struct watch_qps *row = watch_next(page);

	if (row != NULL)
		fill_qp(qp, row);
}

void watch_fill_qps(struct watch_page *page)
{
	struct watch_page some = *page;
	uint32_t all;

	some.from = 0;
	for_qps(&some, page->from, page->most, &all, add_qp);
	page->n = some.n;
	page->all = all;
}

/* ---- paths ---- */

static void fill_path(const struct vd_qp_told *qp, uint32_t ev, struct watch_paths *row)
{
	const struct tp_path *path = &qp->paths.path[ev];

	row->qpn = qp->qpn;
	row->ev = ev;
	row->udp_port = path->udp_sport;
	row->rtt_ns = path->stats.srtt_ns;
	row->min_rtt_ns = path->stats.min_rtt_ns;
	row->ecn_percent = path->stats.ecn_percent;
	row->loss_percent = path->stats.loss_percent;
	row->penalty = path->stats.penalty;
	row->alive = path->stats.alive;
	row->sent = path->sent;
}

static void add_paths(struct watch_page *page, const struct vd_qp_told *qp)
{
	for (uint32_t ev = 0; qp->has_paths && ev < qp->paths.n; ev++) {
		struct watch_paths *row = qp->paths.path[ev].sent != 0 ? watch_next(page) : NULL;

		if (row != NULL)
			fill_path(qp, ev, row);
	}
}

void watch_fill_paths(struct watch_page *page)
{
	uint32_t all;

	for_qps(page, 0, page->from + page->most, &all, add_paths);
}
