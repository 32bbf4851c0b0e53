/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_US 1000.0

/* ---- numbers ---- */

static int compare_double(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Nearest rank. */
static double percentile(const double *sorted, uint32_t n, uint32_t percent)
{
	return sorted[((uint64_t)n * percent + 99) / 100 - 1];
}

static void spread_of(double *values, uint32_t n, struct sim_spread *out)
{
	double sum = 0;

	*out = (struct sim_spread){0};
	if (n == 0)
		return;
	qsort(values, n, sizeof(*values), compare_double);
	for (uint32_t i = 0; i < n; i++)
		sum += values[i];
	*out = (struct sim_spread){
		.mean = sum / n,
		.p50 = percentile(values, n, 50),
		.p95 = percentile(values, n, 95),
		.p99 = percentile(values, n, 99),
		.max = values[n - 1],
	};
}

static int take_flows(const struct sim_run *run, struct sim_result *result)
{
	double *fct_us = calloc(run->n_flows + 1, sizeof(*fct_us)), *slow = calloc(run->n_flows + 1, sizeof(*slow));
	uint64_t first_ns = UINT64_MAX;
	int rc = -ENOMEM;

	result->together = true;
	result->fct_ns = calloc(run->n_flows + 1, sizeof(*result->fct_ns));
	if (fct_us == NULL || slow == NULL || result->fct_ns == NULL)
		goto out;
	for (uint32_t i = 0; i < run->n_flows; i++) {
		const struct sim_flow *flow = &run->flows[i];
		uint64_t ns = flow->end_ns - flow->start_ns;

		result->together &= flow->start_ns == run->flows[0].start_ns && !flow->follows;
		if (!flow->done || flow->failed)
			continue;
		if (flow->start_ns < first_ns)
			first_ns = flow->start_ns;
		fct_us[result->n_ok] = (double)ns / NS_PER_US;
		slow[result->n_ok] = (double)ns / (double)flow->ideal_ns;
		result->fct_ns[result->n_ok++] = ns;
		result->bytes += flow->bytes;
	}
	spread_of(fct_us, result->n_ok, &result->fct_us);
	spread_of(slow, result->n_ok, &result->slowdown);
	qsort(result->fct_ns, result->n_ok, sizeof(*result->fct_ns), compare_u64);
	if (result->n_ok != 0 && run->end_ns > first_ns)
		result->goodput_gbps = (double)result->bytes * 8 / (double)(run->end_ns - first_ns);
	rc = 0;
out:
	free(fct_us);
	free(slow);
	return rc;
}

/* ---- links ---- */

struct use_sum {
	double sum, min, max;
	uint32_t n;
};

static void use_add(struct use_sum *sum, double use)
{
	if (sum->n == 0 || use < sum->min)
		sum->min = use;
	if (sum->n == 0 || use > sum->max)
		sum->max = use;
	sum->sum += use;
	sum->n++;
}

static struct sim_use use_of(const struct use_sum *sum)
{
	return (struct sim_use){sum->n != 0 ? sum->sum / sum->n : 0, sum->min, sum->max};
}

static double link_use(const struct sim_run *run, uint32_t link, int direction, uint64_t mbps)
{
	struct fabric_port_stats stats;

	if (run->end_ns == 0 || fabric_link_stats(run->net->fabric, link, direction, &stats) != 0)
		return 0;
	return (double)stats.tx_bytes * 8000 / (double)mbps / (double)run->end_ns;
}

static int take_links(const struct sim_run *run, struct sim_result *result)
{
	const struct sim_scenario *s = run->scenario;
	uint32_t leaves = s->fabric.pods * s->fabric.leaves, hosts = run->net->n_hosts, spines = s->fabric.spines;
	uint32_t first_core = hosts + leaves * spines;
	struct use_sum(*sums)[2];

	result->n_spines = s->fabric.pods * spines;
	result->spines = calloc(result->n_spines + 1, sizeof(*result->spines));
	sums = calloc(result->n_spines + 1, sizeof(*sums));
	if (result->spines == NULL || sums == NULL) {
		free(sums);
		return -ENOMEM;
	}
	for (int d = 0; d < 2; d++) {
		struct use_sum tiers[SIM_TIER_COUNT] = {0};

		for (uint32_t h = 0; h < hosts; h++)
			use_add(&tiers[SIM_TIER_HOST], link_use(run, h, d, s->fabric.host_mbps));
		for (uint32_t i = 0; i < leaves * spines; i++) {
			double use = link_use(run, hosts + i, d, s->fabric.leaf_mbps);
			uint32_t pod = i / spines / s->fabric.leaves;

			use_add(&tiers[SIM_TIER_LEAF], use);
			use_add(&sums[pod * spines + i % spines][d], use);
		}
		for (uint32_t l = first_core; l < fabric_n_links(run->net->fabric); l++)
			use_add(&tiers[SIM_TIER_CORE], link_use(run, l, d, s->fabric.core_mbps));
		for (int t = 0; t < SIM_TIER_COUNT; t++)
			result->use[t][d] = use_of(&tiers[t]);
		for (uint32_t i = 0; i < result->n_spines; i++)
			result->spines[i][d] = use_of(&sums[i][d]);
	}
	free(sums);
	return 0;
}

int sim_result_take(const struct sim_run *run, struct sim_result *result)
{
	static const char *const services[] = {[TP_QPT_RC] = "RC", [TP_QPT_UC] = "UC", [TP_QPT_UD] = "UD"};
	int rc;

	*result = (struct sim_result){
		.seed = run->seed,
		.service = services[run->scenario->transport.service],
		.recovery = run->scenario->transport.selective ? "selective" :
			run->scenario->transport.service == TP_QPT_RC ? "go-back-n" : "none",
		.scheduler = path_sched_name(run->scenario->transport.scheduler),
		.congestion = run->scenario->transport.controlled ? cc_name(run->scenario->transport.congestion) : "window",
		.n_evs = run->scenario->transport.selective ? run->scenario->transport.n_evs : 1,
		.n_flows = run->n_flows,
		.n_failed = run->n_failed,
		.end_ns = run->end_ns,
		.bound_ns = run->bound_ns,
		.bad_frames = run->net->bad_frames,
		.delivered = run->net->delivered,
		.digest = run->net->digest,
	};
	sim_net_counters(run->net, &result->tp);
	fabric_stats(run->net->fabric, &result->fabric);
	result->queue_p50_bytes = fabric_queue_bytes(run->net->fabric, 500);
	result->queue_p99_bytes = fabric_queue_bytes(run->net->fabric, 990);
	rc = take_flows(run, result);
	if (rc == 0)
		rc = take_links(run, result);
	if (rc != 0)
		sim_result_free(result);
	return rc;
}

void sim_result_free(struct sim_result *result)
{
	free(result->fct_ns);
	free(result->spines);
	result->fct_ns = NULL;
	result->spines = NULL;
}

/* ---- text ---- */

static uint64_t dropped(const struct sim_result *r)
{
	uint64_t n = 0;

	for (int why = 0; why < FABRIC_LOSS_COUNT; why++)
		n += r->fabric.lost[why];
	return n;
}

static void print_spread(FILE *out, const char *name, const struct sim_spread *s, const char *unit)
{
	fprintf(out, "  %-12s mean %.2f  p50 %.2f  p95 %.2f  p99 %.2f  max %.2f%s\n", name, s->mean, s->p50, s->p95,
		s->p99, s->max, unit);
}

void sim_report_text(FILE *out, const struct sim_result *r)
{
	fprintf(out, "seed %" PRIu64 ": %u of %u flows done, %u failed, %" PRIu64 " bytes in %.2f us (bound %.2f us)\n",
		r->seed, r->n_ok, r->n_flows, r->n_failed, r->bytes, (double)r->end_ns / NS_PER_US,
		(double)r->bound_ns / NS_PER_US);
	fprintf(out, "  %-12s %s, recovery %s, scheduler %s over %u EV%s, congestion %s\n", "transport", r->service,
		r->recovery,
		r->scheduler, r->n_evs, r->n_evs == 1 ? "" : "s", r->congestion);
	print_spread(out, "completion", &r->fct_us, " us");
	print_spread(out, "slowdown", &r->slowdown, "");
	fprintf(out, "  %-12s %.2f Gb/s\n", "goodput", r->goodput_gbps);
	fprintf(out, "  %-12s retransmitted %" PRIu64 "  timeouts %" PRIu64 "  NAKs %" PRIu64 "  reordered %" PRIu64
		"  probes %" PRIu64 "\n", "recovery", r->tp.retransmits, r->tp.ack_timeouts, r->tp.seq_naks_received,
		r->tp.reordered, r->tp.probes);
	fprintf(out,
		"  %-12s dropped %" PRIu64 " (buffer %" PRIu64 ", link %" PRIu64 ", fault %" PRIu64 ", route %" PRIu64
		")  damaged %" PRIu64 "  marked %" PRIu64 "\n",
		"packets", dropped(r), r->fabric.lost[FABRIC_LOSS_BUFFER], r->fabric.lost[FABRIC_LOSS_LINK],
		r->fabric.lost[FABRIC_LOSS_FAULT], r->fabric.lost[FABRIC_LOSS_ROUTE], r->bad_frames, r->fabric.marked);
	fprintf(out, "  %-12s at most %" PRIu64 " bytes, found p50 %" PRIu64 " p99 %" PRIu64 "  pauses %u (%.2f us)\n", "queues",
		r->fabric.max_queue_bytes, r->queue_p50_bytes, r->queue_p99_bytes, r->fabric.pauses, (double)r->fabric.pause_ns / NS_PER_US);
	fprintf(out, "  %-12s %" PRIu64 ", digest %016" PRIx64 "\n", "deliveries", r->delivered, r->digest);
}

/* ---- CSV ---- */

void sim_report_csv_head(FILE *out)
{
	fputs("seed,flow,workload,src,dst,bytes,start_ns,end_ns,ideal_ns,outcome,recovery,scheduler\n", out);
}

void sim_report_csv(FILE *out, const struct sim_run *run, const struct sim_result *result)
{
	for (uint32_t i = 0; i < run->n_flows; i++) {
		const struct sim_flow *f = &run->flows[i];
		const char *outcome = !f->done ? "unfinished" : f->failed ? "failed" : "ok";

		fprintf(out, "%" PRIu64 ",%u,%u,%u,%u,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%s,%s,%s\n",
			run->seed, i, f->workload, f->src, f->dst, f->bytes, f->start_ns, f->end_ns, f->ideal_ns, outcome,
			result->recovery, result->scheduler);
	}
}

/* ---- JSON ---- */

static void json_text(FILE *out, const char *text)
{
	fputc('"', out);
	for (const unsigned char *c = (const unsigned char *)text; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\')
			fprintf(out, "\\%c", *c);
		else if (*c < 0x20)
			fprintf(out, "\\u%04x", *c);
		else
			fputc(*c, out);
	}
	fputc('"', out);
}

static void json_spread(FILE *out, const char *name, const struct sim_spread *s)
{
	fprintf(out, "\"%s\": {\"mean\": %.3f, \"p50\": %.3f, \"p95\": %.3f, \"p99\": %.3f, \"max\": %.3f},\n      ",
		name, s->mean, s->p50, s->p95, s->p99, s->max);
}

static void json_use(FILE *out, const struct sim_use use[2])
{
	fprintf(out, "{\"up\": {\"mean\": %.4f, \"min\": %.4f, \"max\": %.4f}, ", use[0].mean, use[0].min, use[0].max);
	fprintf(out, "\"down\": {\"mean\": %.4f, \"min\": %.4f, \"max\": %.4f}}", use[1].mean, use[1].min, use[1].max);
}

static void json_run(FILE *out, const struct sim_result *r)
{
	static const char *const tiers[] = {"host", "leaf", "core"};

	fprintf(out,
		"    {\"seed\": %" PRIu64 ", \"service\": \"%s\", \"recovery\": \"%s\", \"scheduler\": \"%s\", "
		"\"evs\": %u, \"congestion\": \"%s\","
		"\n      \"flows\": %u, \"ok\": %u, \"failed\": %u, \"bytes\": %" PRIu64
		",\n      ",
		r->seed, r->service, r->recovery, r->scheduler, r->n_evs, r->congestion, r->n_flows, r->n_ok, r->n_failed, r->bytes);
	fprintf(out, "\"end_us\": %.3f, \"bound_us\": %.3f, \"goodput_gbps\": %.4f,\n      ",
		(double)r->end_ns / NS_PER_US, (double)r->bound_ns / NS_PER_US, r->goodput_gbps);
	json_spread(out, "completion_us", &r->fct_us);
	json_spread(out, "slowdown", &r->slowdown);
	fprintf(out, "\"retransmits\": %" PRIu64 ", \"ack_timeouts\": %" PRIu64 ", \"seq_naks\": %" PRIu64 ",\n      ",
		r->tp.retransmits, r->tp.ack_timeouts, r->tp.seq_naks_received);
	fprintf(out, "\"reordered\": %" PRIu64 ", \"probes\": %" PRIu64 ",\n      ", r->tp.reordered, r->tp.probes);
	fprintf(out,
		"\"dropped\": {\"buffer\": %" PRIu64 ", \"link\": %" PRIu64 ", \"fault\": %" PRIu64
		", \"route\": %" PRIu64 ", \"icrc\": %" PRIu64 "},\n      ",
		r->fabric.lost[FABRIC_LOSS_BUFFER], r->fabric.lost[FABRIC_LOSS_LINK], r->fabric.lost[FABRIC_LOSS_FAULT],
		r->fabric.lost[FABRIC_LOSS_ROUTE], r->bad_frames);
	fprintf(out,
		"\"marked\": %" PRIu64 ", \"max_queue_bytes\": %" PRIu64 ", \"queue_p50_bytes\": %" PRIu64
		", \"queue_p99_bytes\": %" PRIu64 ", \"pauses\": %u, \"pause_us\": %.3f,\n      ",
		r->fabric.marked, r->fabric.max_queue_bytes, r->queue_p50_bytes, r->queue_p99_bytes, r->fabric.pauses, (double)r->fabric.pause_ns / NS_PER_US);
	fprintf(out, "\"delivered\": %" PRIu64 ", \"digest\": \"%016" PRIx64 "\",\n      \"links\": {", r->delivered,
		r->digest);
	for (int t = 0; t < SIM_TIER_COUNT; t++) {
		fprintf(out, "%s\"%s\": ", t == 0 ? "" : ", ", tiers[t]);
		json_use(out, r->use[t]);
	}
	fprintf(out, "},\n      \"spines\": [");
	for (uint32_t i = 0; i < r->n_spines; i++) {
		fputs(i == 0 ? "" : ",\n        ", out);
		json_use(out, r->spines[i]);
	}
	fprintf(out, "]}");
}

void sim_report_json(FILE *out, const char *scenario, const struct sim_result *results, uint32_t n)
{
	fputs("{\n  \"scenario\": ", out);
	json_text(out, scenario);
	fputs(",\n  \"runs\": [\n", out);
	for (uint32_t i = 0; i < n; i++) {
		json_run(out, &results[i]);
		fputs(i + 1 < n ? ",\n" : "\n", out);
	}
	fputs("  ]\n}\n", out);
}
