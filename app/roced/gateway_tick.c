/* SPDX-License-Identifier: BSD-3-Clause */
/* What a gateway does by time: reports, probes, and giving up what did not come. */
#include <string.h>

#include "gateway.h"

#define TICK_NS  1000000u /* the longest time between two looks at paths that are in use */
#define AGE_NS   100000000u
#define AGE_MOST 64u

static void report_news(struct worker *worker)
{
	struct gateway_worker *gw = worker->gateway;
	uint64_t wait_ns = (uint64_t)gw->shared->config->report_us * 1000;

	for (uint32_t i = 0; i < gw->n_news;) {
		struct gateway_lane *lane = gw->news[i];

		if (lane->rx.n_news != 0 && worker->now_ns - lane->rx.since_ns < wait_ns) {
			i++;
			continue;
		}
		if (lane->rx.n_news != 0)
			gateway_send_report(worker, lane);
		lane->listed = false;
		gw->news[i] = gw->news[--gw->n_news];
		worker->work++;
	}
}

static void probe(struct worker *worker, uint32_t remote)
{
	struct gateway_worker *gw = worker->gateway;
	struct wire_tunnel t;
	struct rte_mbuf *m;

	while (gateway_tx_probe(&gw->tx[remote], worker->now_ns, &t)) {
		m = rte_pktmbuf_alloc(worker->roced->tx_pool);
		if (m == NULL)
			return;
		memset(TP_PKT(m), 0, sizeof(*TP_PKT(m)));
		gw->counters.probes++;
		gateway_send(worker, remote, worker->index, &t, gw->tx_tos[remote], m);
	}
}

static void look_at_paths(struct worker *worker)
{
	struct gateway_worker *gw = worker->gateway;
	uint64_t next_ns = UINT64_MAX;

	for (uint32_t r = 0; r < gw->shared->n_remotes; r++) {
		if (!gateway_has_remote(gw->shared, r))
			continue;
		gateway_tx_tick(&gw->tx[r], worker->now_ns);
		probe(worker, r);
		next_ns = RTE_MIN(next_ns, gateway_tx_next_ns(&gw->tx[r], worker->now_ns));
	}
	gw->tick_ns = RTE_MAX(next_ns, worker->now_ns + TICK_NS / 10);
}

void gateway_tick(struct worker *worker)
{
	struct gateway_worker *gw = worker->gateway;

	if (gw->pairs != NULL)
		gateway_pairs_turn(gw->pairs, worker->now_ns);
	gateway_reorder_tick(gw->reorder, worker->now_ns);
	if (worker->now_ns >= gw->retry_ns)
		gateway_wait_retry(worker);
	if (gw->n_news != 0)
		report_news(worker);
	if (worker->now_ns >= gw->tick_ns)
		look_at_paths(worker);
	if (worker->now_ns >= gw->age_ns) {
		gateway_flows_age(gw->flows, worker->now_ns, AGE_MOST);
		if (gw->pairs != NULL)
			gateway_pairs_age(gw->pairs, worker->now_ns, AGE_MOST);
		gw->age_ns = worker->now_ns + AGE_NS;
	}
}

uint64_t gateway_next_ns(const struct worker *worker)
{
	const struct gateway_worker *gw = worker->gateway;
	uint64_t next_ns;

	if (gw == NULL)
		return UINT64_MAX;
	next_ns = RTE_MIN(RTE_MIN(gateway_reorder_next_ns(gw->reorder), gw->tick_ns), gw->retry_ns);
	for (uint32_t i = 0; i < gw->n_news; i++)
		next_ns = RTE_MIN(next_ns, gw->news[i]->rx.since_ns + (uint64_t)gw->shared->config->report_us * 1000);
	return next_ns;
}
