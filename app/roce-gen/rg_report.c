/* SPDX-License-Identifier: BSD-3-Clause */
#include "rg_report.h"

#include "emit.h"

#define SECOND_NS 1000000000u

static const char *const fault_names[RG_FAULTS] = {"bad_icrc", "ce", "loss", "repeat", "psn_gap", "psn_jump",
	"psn_duplicate", "truncate", "bad_pad", "bad_opcode", "cnp", "pfc"};
static const char *const role_names[] = {"tx", "rx", "both"};

static uint64_t per_second(uint64_t n, uint64_t ns)
{
	return ns == 0 ? 0 : (uint64_t)((unsigned __int128)n * SECOND_NS / ns);
}

/* ---- records: a line of text each, or members of one JSON object ---- */

static void open_section(struct emit *e, const char *section)
{
	if (e->json)
		emit_open(e, section);
}

static void close_section(struct emit *e)
{
	if (e->json)
		emit_close(e);
}

/* name NULL: the section is one record. */
static void open_record(struct emit *e, const char *section, const char *name)
{
	if (e->json) {
		emit_open(e, name != NULL ? name : section);
		return;
	}
	emit_begin(e);
	emit_word(e, "", section);
	if (name != NULL)
		emit_word(e, "", name);
}

static void close_record(struct emit *e)
{
	if (e->json)
		emit_close(e);
	else
		emit_end(e);
}

/* On the wire: a frame with what Ethernet adds. */
static void put_rates(struct emit *e, uint64_t packets, uint64_t bytes, uint64_t ns)
{
	emit_num(e, "ns", ns);
	emit_num(e, "pps", per_second(packets, ns));
	emit_num(e, "wire_bps", per_second((bytes + packets * RG_PACE_OVERHEAD_BYTES) * 8, ns));
}

/* ---- what was sent ---- */

static void put_tx(struct emit *e, const struct rg_results *r, uint32_t f)
{
	const struct rg_flow_stats *stats = &r->flows[f].stats;

	open_record(e, "tx", r->config->flows[f].name);
	emit_num(e, "packets", stats->packets);
	emit_num(e, "frames", stats->frames);
	emit_num(e, "bytes", stats->bytes);
	emit_num(e, "messages", stats->messages);
	put_rates(e, stats->frames, stats->bytes, r->flow_ns[f]);
	emit_num(e, "late_ns", r->paces[f].late_ps / 1000);
	emit_open(e, "faults");
	for (uint32_t k = 0; k < RG_FAULTS; k++) {
		if (stats->faults[k] != 0)
			emit_num(e, fault_names[k], stats->faults[k]);
	}
	emit_close(e);
	close_record(e);
}

/* ---- what came ---- */

static void put_window(struct emit *e, const char *key, const struct rg_window_stats *stats)
{
	emit_open(e, key);
	emit_num(e, "lost", stats->lost);
	emit_num(e, "reordered", stats->reordered);
	emit_num(e, "duplicates", stats->duplicates);
	emit_num(e, "jumps", stats->jumps);
	emit_num(e, "restarts", stats->restarts);
	emit_close(e);
}

static void put_latency(struct emit *e, const struct rg_hist *hist)
{
	emit_open(e, "latency_ns");
	emit_num(e, "min", hist->min);
	emit_num(e, "mean", hist->n == 0 ? 0 : hist->sum / hist->n);
	emit_num(e, "p50", rg_hist_at(hist, 500000));
	emit_num(e, "p99", rg_hist_at(hist, 990000));
	emit_num(e, "p999", rg_hist_at(hist, 999000));
	emit_num(e, "max", hist->max);
	emit_close(e);
}

static void put_rx(struct emit *e, const struct rg_results *r, uint32_t f, const char *section, const char *name)
{
	const struct rg_sink_flow *flow = rg_sink_flow(r->sink, f);
	const struct rg_sink_stats *stats = &flow->stats;
	struct rg_window_stats psns, numbers;
	uint32_t streams = rg_sink_windows(r->sink, f, &psns, &numbers);
	uint64_t ns = stats->last_ns - stats->first_ns;

	open_record(e, section, name);
	emit_num(e, "packets", stats->packets);
	emit_num(e, "bytes", stats->bytes);
	emit_num(e, "payload_bytes", stats->payload_bytes);
	put_rates(e, stats->packets, stats->bytes, ns);
	emit_num(e, "payload_bps", per_second(stats->payload_bytes * 8, ns));
	emit_num(e, "streams", streams);
	emit_num(e, "ce", stats->ce);
	emit_num(e, "cnps", stats->cnps);
	emit_num(e, "bad_icrc", stats->bad_icrc);
	emit_num(e, "bad_pad", stats->bad_pad);
	emit_num(e, "untracked", stats->untracked);
	put_window(e, "psn", &psns);
	emit_num(e, "stamped", stats->stamped);
	put_window(e, "number", &numbers);
	emit_num(e, "from_the_future", stats->from_the_future);
	put_latency(e, &flow->latency);
	close_record(e);
}

static void put_port(struct emit *e, const struct rg_results *r, uint32_t p)
{
	const struct rg_sink_port *rx = &r->rx[p];
	const struct rg_tx_stats *tx = &r->tx[p];

	open_record(e, "port", r->config->ports[p].port.name);
	emit_num(e, "tx_frames", tx->frames);
	emit_num(e, "tx_bytes", tx->bytes);
	emit_num(e, "tx_full", tx->full);
	emit_num(e, "tx_no_mbuf", tx->no_mbuf);
	emit_num(e, "rx_frames", rx->frames);
	emit_num(e, "rx_bytes", rx->bytes);
	emit_num(e, "rx_other", rx->other);
	emit_num(e, "rx_pfc", rx->pfc_frames);
	emit_open(e, "rx_paused");
	for (uint32_t i = 0; i < sizeof(rx->paused) / sizeof(rx->paused[0]); i++) {
		char key[] = {(char)('0' + i), '\0'};

		if (rx->paused[i] != 0)
			emit_num(e, key, rx->paused[i]);
	}
	emit_close(e);
	emit_open(e, "rx_malformed");
	for (uint32_t why = 1; why < BASE_DROP_COUNT; why++) {
		if (rx->malformed[why] != 0)
			emit_num(e, base_drop_name(why), rx->malformed[why]);
	}
	emit_close(e);
	close_record(e);
}

void rg_report(const struct rg_results *results, FILE *out, bool json)
{
	const struct rg_config *config = results->config;
	struct emit e = {.out = out, .json = json};

	if (json)
		emit_begin(&e);
	open_record(&e, "run", NULL);
	emit_str(&e, "role", role_names[config->role]);
	emit_str(&e, "ended_by", results->ended_by);
	emit_num(&e, "ns", results->ns);
	emit_num(&e, "seed", config->seed);
	close_record(&e);
	open_section(&e, "tx");
	for (uint32_t f = 0; results->flows != NULL && f < config->n_flows; f++)
		put_tx(&e, results, f);
	close_section(&e);
	open_section(&e, "rx");
	for (uint32_t f = 0; results->sink != NULL && f < config->n_flows; f++)
		put_rx(&e, results, f, "rx", config->flows[f].name);
	close_section(&e);
	if (results->sink != NULL)
		put_rx(&e, results, RG_OTHER_FLOW, "rx_other", NULL);
	open_section(&e, "ports");
	for (uint32_t p = 0; p < config->n_ports; p++)
		put_port(&e, results, p);
	close_section(&e);
	if (json)
		emit_end(&e);
	fflush(out);
}

/* ---- verdict ---- */

static bool window_clean(const struct rg_window_stats *stats)
{
	return (stats->lost | stats->reordered | stats->duplicates | stats->jumps | stats->restarts) == 0;
}

static bool flow_clean(const struct rg_results *r, uint32_t f)
{
	const struct rg_sink_stats *stats = &rg_sink_flow(r->sink, f)->stats;
	struct rg_window_stats psns, numbers;

	(void)rg_sink_windows(r->sink, f, &psns, &numbers);
	return window_clean(&psns) && window_clean(&numbers) && stats->bad_icrc == 0 && stats->bad_pad == 0;
}

/* PFC frames belong to a port, and of what is replayed nobody knows whether it is of this flow. */
static bool all_came(const struct rg_results *r, uint32_t f)
{
	const struct rg_flow_config *config = &r->config->flows[f];

	if (r->flows == NULL || config->pcap[0] != '\0' || config->n_faults != 0)
		return true;
	for (uint32_t i = 0; i < config->n_opcodes; i++) {
		if (config->ops[i].kind == RG_OP_PFC)
			return true;
	}
	return rg_sink_flow(r->sink, f)->stats.packets == r->flows[f].stats.frames;
}

bool rg_report_clean(const struct rg_results *results)
{
	if (results->sink == NULL)
		return true;
	for (uint32_t f = 0; f < results->config->n_flows; f++) {
		if (!flow_clean(results, f) || !all_came(results, f))
			return false;
	}
	for (uint32_t p = 0; p < results->config->n_ports; p++) {
		for (uint32_t why = 1; why < BASE_DROP_COUNT; why++) {
			/* what the network has beside RoCE is nobody's fault */
			if (why != BASE_DROP_NOT_ROCE && results->rx[p].malformed[why] != 0)
				return false;
		}
	}
	return flow_clean(results, RG_OTHER_FLOW);
}
