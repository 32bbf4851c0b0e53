/* SPDX-License-Identifier: BSD-3-Clause */
/* One run of a scenario: set-up, faults at their times, the end. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim_flow.h"

#define US          1000u
#define BPS_PER_MBPS 1000000u
#define HEADER_BYTES (58u + FABRIC_WIRE_BYTES) /* of a packet in the midst of a message */
#define PROGRESS_NS 20000u /* of virtual time between two calls */

/* ---- faults ---- */

static struct fabric_fault to_fault(const struct sim_fault *f)
{
	return (struct fabric_fault){
		.cut = f->cut,
		.rate_percent = f->rate_percent,
		.lose_ppm = f->lose_ppm,
		.corrupt_ppm = f->corrupt_ppm,
		.repeat_ppm = f->repeat_ppm,
		.delay_ppm = f->delay_ppm,
		.delay_ns = f->delay_ns,
		.pause_priorities = (uint8_t)f->pause_priorities,
	};
}

static bool within(uint32_t i, uint32_t first, uint32_t count)
{
	return first == SIM_ANY || (i >= first && i - first < count);
}

/* Leaf or spine alone stands for all its links; both for the links between them. */
static void set_fault(struct sim_run *run, const struct sim_fault *f, const struct fabric_fault *fault)
{
	struct fabric *fabric = run->net->fabric;
	uint64_t now_ns = run->net->now_ns;
	uint32_t leaves = run->scenario->fabric.pods * run->scenario->fabric.leaves;

	for (uint32_t i = 0; i < f->count && f->link != SIM_ANY; i++)
		(void)fabric_set_fault(fabric, f->link + i, fault, now_ns);
	for (uint32_t i = 0; i < f->count && f->host != SIM_ANY; i++)
		(void)fabric_set_fault(fabric, f->host + i, fault, now_ns);
	if (f->leaf == SIM_ANY && f->spine == SIM_ANY)
		return;
	for (uint32_t l = 0; l < leaves; l++) {
		for (uint32_t s = 0; s < run->scenario->fabric.spines; s++) {
			if (within(l, f->leaf, f->count) && within(s, f->spine, f->count))
				(void)fabric_set_fault(fabric, fabric_leaf_link(fabric, l, s), fault, now_ns);
		}
	}
}

static void on_fault(void *env, void *arg, uint64_t now_ps)
{
	struct sim_net *net = env;
	struct fabric_fault fault = to_fault(arg);

	net->now_ns = now_ps / FABRIC_PS_PER_NS;
	set_fault(net->user, arg, &fault);
}

static void on_heal(void *env, void *arg, uint64_t now_ps)
{
	const struct fabric_fault none = {0};
	struct sim_net *net = env;

	net->now_ns = now_ps / FABRIC_PS_PER_NS;
	set_fault(net->user, arg, &none);
}

static int plan_faults(struct sim_run *run)
{
	int rc = 0;

	for (uint32_t i = 0; i < run->scenario->n_faults && rc == 0; i++) {
		/* Not written to; events hand out what they were given. */
		struct sim_fault *f = (struct sim_fault *)(uintptr_t)&run->scenario->faults[i];

		rc = fabric_at(run->net->fabric, f->at_us * US, on_fault, f);
		if (rc == 0 && f->until_us != 0)
			rc = fabric_at(run->net->fabric, f->until_us * US, on_heal, f);
	}
	return rc;
}

/* ---- set-up ---- */

static int make_net(struct sim_run *run)
{
	const struct sim_scenario *s = run->scenario;
	struct sim_config config = {
		.seed = run->seed,
		.l3_version = 4,
		.priority = (uint8_t)s->transport.priority,
		.ack_priority = (uint8_t)s->transport.ack_priority,
		.ecn = s->transport.ecn,
		.window_pkts = s->transport.window_pkts,
		.max_qps = sim_workload_qps(s),
		.max_buffers = s->transport.max_buffers,
		.poll_ns = s->transport.poll_ns,
	};

	if (s->transport.service == TP_QPT_UD)
		config.max_ahs = config.max_qps;
	sim_scenario_fabric(s, run->seed, &config.fabric);
	return sim_net_create(&config, &run->net);
}

static void make_sched(struct sim_run *run)
{
	const struct sim_scenario *s = run->scenario;
	uint32_t base_ns = (uint32_t)sim_net_base_ns(run->net, s->transport.mtu);

	path_sched_config_default(&run->sched);
	path_sched_config_base(&run->sched, base_ns);
	run->sched.kind = s->transport.scheduler;
	run->sched.n_evs = (uint8_t)s->transport.n_evs;
	run->cc = (struct cc_config){
		.kind = s->transport.congestion,
		.packet_bytes = s->transport.mtu + HEADER_BYTES,
		.base_rtt_ns = base_ns,
		.rate_bps = s->fabric.host_mbps * BPS_PER_MBPS,
	};
}

/* ---- running ---- */

struct watch {
	const struct sim_run *run;
	void (*progress)(void *arg, uint32_t permille);
	void *arg;
	uint64_t next_ns;
};

static uint32_t permille(const struct sim_run *run)
{
	uint64_t done = run->net->delivered_bytes * 1000 / (run->total_bytes != 0 ? run->total_bytes : 1);

	return done < 1000 ? (uint32_t)done : 999; /* what is sent again counts too */
}

static bool over(void *arg)
{
	struct watch *watch = arg;

	if (watch->progress != NULL && watch->run->net->now_ns >= watch->next_ns) {
		watch->next_ns = watch->run->net->now_ns + PROGRESS_NS;
		watch->progress(watch->arg, permille(watch->run));
	}
	return sim_flow_over(watch->run);
}

int sim_run(struct sim_run *run, const struct sim_scenario *scenario, uint64_t seed,
	void (*progress)(void *arg, uint32_t permille), void *arg)
{
	struct watch watch = {.run = run, .progress = progress, .arg = arg};
	int rc;

	*run = (struct sim_run){.scenario = scenario, .seed = seed};
	rc = make_net(run);
	if (rc != 0)
		return rc;
	run->net->user = run;
	make_sched(run);
	rc = sim_workload_make(run);
	if (rc != 0)
		return rc;
	sim_bound(run);
	rc = plan_faults(run);
	if (rc == 0)
		rc = sim_flow_begin(run);
	if (rc != 0)
		return rc;
	sim_net_run(run->net, scenario->limit_us * US, over, &watch);
	return run->error;
}

void sim_run_free(struct sim_run *run)
{
	if (run->net != NULL) {
		for (uint32_t i = 0; i < run->n_conns; i++) {
			if (!run->conns[i].open)
				continue;
			sim_qp_destroy(&run->conns[i].ends[0]);
			sim_qp_destroy(&run->conns[i].ends[1]);
		}
	}
	sim_net_destroy(run->net);
	free(run->flows);
	free(run->conns);
	*run = (struct sim_run){0};
}
