/* SPDX-License-Identifier: BSD-3-Clause */
/* RoCE to hosts that no gateway is in front of: over the bridge, by a UDP source port that is chosen here. */
#include <errno.h>
#include <inttypes.h>

#include "gateway.h"
#include "log.h"
#include "wire_addr.h"
#include "wire_sport.h"

#define NS_PER_US  1000u
#define NS_PER_MS  1000000u
#define DUMP_PAIRS 16u     /* of a worker, that the log tells of */

struct gateway_pairs *gateway_direct_new(const struct gateway_worker *gw, const struct config_gateway *config)
{
	uint64_t seed = gw->worker->roced->seed + gw->worker->index;

	if (config->n_direct == 0)
		return NULL;
	return gateway_pairs_new(&(struct gateway_pairs_config){
		.sched = gw->shared->sched,
		.max_pairs = config->max_pairs,
		.max_flows = config->max_flows,
		.max_flows_per_host = config->max_flows_per_host,
		.idle_ns = (uint64_t)config->flow_idle_ms * NS_PER_MS,
		.flowlet_ns = (uint64_t)config->flowlet_us * NS_PER_US,
		.silence_ns = (uint64_t)config->silence_us * NS_PER_US,
		.key = {{seed * 0x94d049bb133111ebu, ~seed}},
	});
}

int gateway_direct_init(struct gateway_worker *gw)
{
	gw->pairs = gateway_direct_new(gw, gw->shared->config);
	return gw->pairs != NULL || gw->shared->config->n_direct == 0 ? 0 : -ENOMEM;
}

void gateway_direct_warn(const struct roced *roced)
{
	const struct config_protection *protection = &roced->config.protection;
	char text[WIRE_ADDR_TEXT_BYTES];

	for (uint32_t p = 0; p < protection->n_peers; p++) {
		const struct config_prefix *network = &protection->peers[p].network;
		int direct = config_required_in_direct(&roced->config, p);

		if (direct >= 0)
			log_line(LOG_WARNING, "gateway.direct[%d]: protection.peers[%u] requires protection for %s/%u in it, so RoCE from hosts here "
				"to there is dropped (no_sa): give it policy \"off\" if hosts are to reach it", direct, p,
				wire_addr_print(&network->addr, text), network->len);
	}
}

bool gateway_direct_reaches(const struct gateway *gateway, const struct wire_addr *dst)
{
	const struct config_gateway *config = gateway->config;

	for (uint32_t i = 0; i < config->n_direct; i++) {
		if (wire_addr_same_network(&config->direct[i].addr, dst,
			    wire_addr_prefix(&config->direct[i].addr, config->direct[i].len)))
			return true;
	}
	return false;
}

/* The same worker for what goes and what comes back. */
static uint32_t owner_of(const struct worker *worker, const struct wire_addr *src, const struct wire_addr *dst)
{
	const struct base_siphash_key key = {{worker->roced->seed, 0x646972656374u}};
	uint64_t hash;

	if (worker->roced->n_workers == 1)
		return worker->index;
	hash = base_siphash(&key, src, sizeof(*src)) + base_siphash(&key, dst, sizeof(*dst));
	return (uint32_t)((hash >> 32) * worker->roced->n_workers >> 32);
}

static void pass(struct worker *worker, struct rte_mbuf *m, const struct wire_addr *src, const struct wire_addr *dst)
{
	struct gateway_worker *gw = worker->gateway;
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct wire_pkt *pkt = TP_PKT(m);
	uint16_t sport;

	if (!gateway_is_of_hosts(gw->shared, worker->roced->port_by_id[m->port], frame, m->data_len)) {
		gateway_pairs_hear(gw->pairs, src, dst, pkt, worker->now_ns);
		return;
	}
	sport = gateway_pairs_send(gw->pairs, src, dst, pkt, worker->now_ns);
	if (sport != pkt->udp_sport)
		wire_set_sport(frame, pkt, sport);
	gw->counters.direct++;
}

enum gateway_verdict gateway_direct(struct worker *worker, struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct wire_pkt *pkt = TP_PKT(m);
	struct wire_addr src, dst;
	uint32_t owner;

	wire_src(frame, pkt, &src);
	wire_dst(frame, pkt, &dst);
	owner = owner_of(worker, &src, &dst);
	if (owner == worker->index) {
		pass(worker, m, &src, &dst);
		return GATEWAY_BRIDGE;
	}
	pkt->kind = WIRE_KIND_DIRECT;
	pkt->dqpn = owner << WORKER_QPN_SHIFT;
	return GATEWAY_HANDOFF;
}

void gateway_direct_pass(struct worker *worker, struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct wire_pkt *pkt = TP_PKT(m);
	struct wire_addr src, dst;

	/* What the worker before had read has made place for where it goes. */
	if (wire_parse(frame, m->data_len, pkt) != BASE_DROP_NONE)
		return;
	wire_src(frame, pkt, &src);
	wire_dst(frame, pkt, &dst);
	pass(worker, m, &src, &dst);
}

enum gateway_verdict gateway_direct_came(struct worker *worker, struct rte_mbuf *m)
{
	const struct gateway_worker *gw = worker->gateway;
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct wire_pkt *pkt = TP_PKT(m);
	struct wire_addr src;

	if (gw->pairs == NULL)
		return GATEWAY_BRIDGE;
	if (wire_parse(frame, m->data_len, pkt) != BASE_DROP_NONE || pkt->kind != WIRE_KIND_ROCE_V2)
		return GATEWAY_BRIDGE;
	wire_src(frame, pkt, &src);
	return gateway_direct_reaches(gw->shared, &src) ? gateway_direct(worker, m) : GATEWAY_BRIDGE;
}

/* ---- main thread ---- */

void gateway_direct_sum(struct watch_gateway *sums, const struct gateway_worker *gw)
{
	struct gateway_pairs_stats stats;

	if (gw->pairs == NULL)
		return;
	gateway_pairs_get_stats(gw->pairs, &stats);
	sums->direct_pairs += stats.pairs;
	sums->direct_flows += stats.flows;
	sums->direct_refused += stats.refused;
	sums->direct_own += stats.own;
	sums->direct_moves += stats.moves;
	sums->direct_trials += stats.trials;
	sums->direct_learned += stats.learned;
	sums->direct_unlearned += stats.unlearned;
	sums->direct_matched += stats.matched;
	sums->direct_unmatched += stats.unmatched;
	sums->direct_marks += stats.marks;
	sums->direct_losses += stats.losses;
	sums->direct_silences += stats.silences;
}

static void dump_pair(const struct roced *roced, const struct gateway_pairs_told *told)
{
	char src[WIRE_ADDR_TEXT_BYTES], dst[WIRE_ADDR_TEXT_BYTES];

	wire_addr_print(&told->src, src);
	wire_addr_print(&told->dst, dst);
	for (uint32_t p = 0; p < roced->gateway->sched.n_evs; p++) {
		const struct gateway_pairs_told_path *path = &told->paths[p];

		if (path->sent == 0)
			continue;
		log_line(LOG_NOTICE,
			"gateway: %s to %s by port %u: sent %" PRIu64 ", lost %" PRIu64 ", rtt_ns %u, ecn_percent %u%s",
			src, dst, told->sport + p, path->sent, path->lost, path->sched.srtt_ns, path->sched.ecn_percent,
			path->sched.alive ? "" : ", dead");
	}
}

void gateway_direct_dump(const struct roced *roced)
{
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		const struct gateway_pairs *pairs = roced->workers[w]->gateway->pairs;
		struct gateway_pairs_told told;

		for (uint32_t n = 1; pairs != NULL && n <= DUMP_PAIRS; n++) {
			if (gateway_pairs_tell(pairs, n, &told))
				dump_pair(roced, &told);
		}
	}
}
