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

/* A fault that begins or ends. */
struct change {
	struct sim_run *run;
	struct fabric_fault fault;
};

static void change_link(void *arg, uint32_t link)
{
	const struct change *change = arg;

	(void)fabric_set_fault(change->run->net->fabric, link, &change->fault, change->run->net->now_ns);
}

static void make_change(struct sim_net *net, const struct fk_fault *f, struct change *change, uint64_t now_ps)
{
	change->run = net->user;
	net->now_ns = now_ps / FABRIC_PS_PER_NS;
	fk_each_link(net->fabric, &change->run->scenario->fabric, &f->place, change_link, change);
}

static void on_fault(void *env, void *arg, uint64_t now_ps)
{
	struct change change;

	fk_fabric_fault(arg, &change.fault);
	make_change(env, arg, &change, now_ps);
}

static void on_heal(void *env, void *arg, uint64_t now_ps)
{
	struct change change = {0};

	make_change(env, arg, &change, now_ps);
}

static int plan_faults(struct sim_run *run)
{
	int rc = 0;

	for (uint32_t i = 0; i < run->scenario->n_faults && rc == 0; i++) {
		/* Not written to; events hand out what they were given. */
		struct fk_fault *f = (struct fk_fault *)(uintptr_t)&run->scenario->faults[i];

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
		.sack_wait_ns = s->transport.sack_wait_ns,
		.poll_ns = s->transport.poll_ns,
	};

	if (s->transport.service == TP_QPT_UD)
		config.max_ahs = config.max_qps;
	fk_fabric_config(&s->fabric, run->seed, &config.fabric);
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
	sim_congestion_config(&s->congestion, &run->cc);
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
