/* SPDX-License-Identifier: BSD-3-Clause */
/* Who sends how much to whom, and when. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim_flow.h"
#include "sim_sizes.h"

#define US       1000u
#define PERCENT  100u
#define PERMILLE 1000u
#define QPS_MIN  4u
#define QPS_MAX  65536u

/* ---- tables that grow ---- */

static int grow(void **table, uint32_t *room, uint32_t n, size_t each)
{
	uint32_t more = *room != 0 ? *room * 2 : 1024;
	void *p;

	if (n < *room)
		return 0;
	p = realloc(*table, more * each);
	if (p == NULL)
		return -ENOMEM;
	*table = p;
	*room = more;
	return 0;
}

/* A new connection, SIM_NONE: no memory. */
static uint32_t connect(struct sim_run *run, uint32_t src, uint32_t dst)
{
	if (grow((void **)&run->conns, &run->conn_room, run->n_conns, sizeof(*run->conns)) != 0)
		return SIM_NONE;
	run->conns[run->n_conns] =
		(struct sim_conn){.src = src, .dst = dst, .first = SIM_NONE, .last = SIM_NONE, .run = run};
	return run->n_conns++;
}

/* A flow on a connection, or on one of its own (SIM_NONE). NULL: no memory. */
static struct sim_flow *add(struct sim_run *run, uint32_t workload, uint32_t src, uint32_t dst, uint32_t conn,
	uint64_t bytes)
{
	const struct sim_workload *w = &run->scenario->workloads[workload];
	struct sim_flow *flow;

	if (conn == SIM_NONE)
		conn = connect(run, src, dst);
	if (conn == SIM_NONE ||
		grow((void **)&run->flows, &run->flow_room, run->n_flows, sizeof(*run->flows)) != 0)
		return NULL;
	flow = &run->flows[run->n_flows++];
	*flow = (struct sim_flow){
		.src = src,
		.dst = dst,
		.conn = conn,
		.workload = workload,
		.bytes = bytes,
		.at_ns = w->start_us * US,
		.then = SIM_NONE,
		.behind = SIM_NONE,
	};
	return flow;
}

/* ---- hosts in groups ---- */

static void shuffle(struct sim_net *net, uint32_t *order, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		uint32_t k = (uint32_t)sim_random(net, i), other = order[k];

		order[k] = order[i - 1];
		order[i - 1] = other;
	}
}

/* Hosts in the order in which groups take them; the caller frees it. */
static uint32_t *ordered(struct sim_run *run, enum sim_placement placement, uint32_t group_size)
{
	uint32_t n = run->net->n_hosts, n_groups = group_size != 0 ? n / group_size : 1;
	uint32_t *order = malloc(n * sizeof(*order));

	if (order == NULL)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	if (placement == SIM_SHUFFLED)
		shuffle(run->net, order, n);
	for (uint32_t i = 0; placement == SIM_STRIDED && i < n_groups * group_size; i++)
		order[i] = i / group_size + i % group_size * n_groups;
	return order;
}

/* make(order of a group's hosts, their number) for each group. */
static int each_group(struct sim_run *run, uint32_t workload, uint32_t group_size,
	int (*make)(struct sim_run *run, uint32_t workload, const uint32_t *hosts, uint32_t n))
{
	const struct sim_workload *w = &run->scenario->workloads[workload];
	uint32_t size = group_size != 0 && group_size < run->net->n_hosts ? group_size : run->net->n_hosts;
	uint32_t *order = ordered(run, w->placement, size), groups = run->net->n_hosts / size;
	int rc = 0;

	if (order == NULL)
		return -ENOMEM;
	if (w->groups != 0 && w->groups < groups)
		groups = w->groups;
	for (uint32_t g = 0; g < groups && rc == 0; g++)
		rc = make(run, workload, order + (size_t)g * size, size);
	free(order);
	return rc;
}

/* ---- patterns ---- */

/* A random cycle through all hosts: each sends to one other and receives from one. */
static int permutation(struct sim_run *run, uint32_t workload)
{
	uint32_t n = run->net->n_hosts, *order = ordered(run, SIM_SHUFFLED, 0);
	int rc = order != NULL ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && rc == 0 && n > 1; i++) {
		uint64_t bytes = run->scenario->workloads[workload].bytes;

		if (add(run, workload, order[i], order[(i + 1) % n], SIM_NONE, bytes) == NULL)
			rc = -ENOMEM;
	}
	free(order);
	return rc;
}

/* The first of the group receives. */
static int incast(struct sim_run *run, uint32_t workload, const uint32_t *hosts, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		if (add(run, workload, hosts[i], hosts[0], SIM_NONE, run->scenario->workloads[workload].bytes) == NULL)
			return -ENOMEM;
	}
	return 0;
}

static int all_to_all(struct sim_run *run, uint32_t workload, const uint32_t *hosts, uint32_t n)
{
	uint64_t bytes = run->scenario->workloads[workload].bytes;

	for (uint32_t shift = 1; shift < n; shift++) {
		for (uint32_t i = 0; i < n; i++) {
			if (add(run, workload, hosts[i], hosts[(i + shift) % n], SIM_NONE, bytes) == NULL)
				return -ENOMEM;
		}
	}
	return 0;
}

/* Ring allreduce: in each step every host passes on what came in the step before. */
static int ring(struct sim_run *run, uint32_t workload, const uint32_t *hosts, uint32_t n)
{
	const struct sim_workload *w = &run->scenario->workloads[workload];
	uint32_t steps = w->steps != 0 ? w->steps : 2 * (n - 1);
	uint32_t first_flow = run->n_flows, first_conn = run->n_conns;

	if (n < 2)
		return 0;
	for (uint32_t i = 0; i < n; i++) {
		if (connect(run, hosts[i], hosts[(i + 1) % n]) == SIM_NONE)
			return -ENOMEM;
	}
	for (uint32_t k = 0; k < steps; k++) {
		for (uint32_t i = 0; i < n; i++) {
			struct sim_flow *flow =
				add(run, workload, hosts[i], hosts[(i + 1) % n], first_conn + i, w->bytes);

			if (flow == NULL)
				return -ENOMEM;
			flow->follows = k > 0;
			if (k + 1 < steps)
				flow->then = first_flow + (k + 1) * n + (i + 1) % n;
		}
	}
	return 0;
}

/* A number in (0, 1]. */
static double uniform(struct sim_net *net)
{
	return ((double)sim_random(net, 1ull << 32) + 1) / 4294967296.0;
}

/* Flows that begin in a nanosecond: bytes of all hosts' links at that load, by what a flow has. */
static double poisson_per_ns(const struct sim_scenario *scenario, const struct sim_workload *w, uint64_t hosts)
{
	uint64_t mean = w->sizes != NULL ? sim_sizes_mean(w->sizes) : w->bytes;

	return (double)scenario->fabric.host_mbps / 8000.0 * w->load_percent / PERCENT * (double)hosts / (double)mean;
}

static int poisson(struct sim_run *run, uint32_t workload)
{
	const struct sim_workload *w = &run->scenario->workloads[workload];
	uint32_t n = run->net->n_hosts;
	double per_ns = poisson_per_ns(run->scenario, w, n), at_ns = 0;

	while (n > 1) {
		uint32_t src = (uint32_t)sim_random(run->net, n);
		uint32_t dst = (src + 1 + (uint32_t)sim_random(run->net, n - 1)) % n;
		uint64_t bytes = w->bytes;
		struct sim_flow *flow;

		at_ns += -log(uniform(run->net)) / per_ns;
		if (at_ns >= (double)(w->duration_us * US))
			break;
		if (w->sizes != NULL)
			bytes = sim_sizes_at(w->sizes, (uint32_t)sim_random(run->net, 1ull << 32));
		flow = add(run, workload, src, dst, SIM_NONE, bytes);
		if (flow == NULL)
			return -ENOMEM;
		flow->at_ns += (uint64_t)at_ns;
	}
	return 0;
}

/* ---- mixture of experts: tokens go to the hosts of the experts that they chose ---- */

/* One of those whose weight is not taken, by weight. */
static uint32_t choose(struct sim_net *net, const double *weight, const bool *taken, uint32_t n, double sum)
{
	double at = uniform(net) * sum;
	uint32_t last = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (taken[i])
			continue;
		last = i;
		at -= weight[i];
		if (at <= 0)
			break;
	}
	return last;
}

static void route_token(struct sim_net *net, const double *weight, double sum, uint32_t n, uint32_t top_k,
	uint64_t *counts, bool *taken)
{
	memset(taken, 0, n * sizeof(*taken));
	for (uint32_t k = 0; k < top_k && k < n; k++) {
		uint32_t expert = choose(net, weight, taken, n, sum);

		taken[expert] = true;
		sum -= weight[expert];
		counts[expert]++;
	}
}

/* One expert a host; the popularity of the r-th is 1 / r^z, and the ranks are the group's order. */
static int moe(struct sim_run *run, uint32_t workload, const uint32_t *hosts, uint32_t n)
{
	const struct sim_workload *w = &run->scenario->workloads[workload];
	double *weight = calloc(n, sizeof(*weight)), sum = 0;
	uint64_t *counts = calloc(n, sizeof(*counts));
	bool *taken = calloc(n, sizeof(*taken));
	int rc = weight != NULL && counts != NULL && taken != NULL ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && rc == 0; i++)
		sum += weight[i] = pow(i + 1.0, -(double)w->zipf_permille / PERMILLE);
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		memset(counts, 0, n * sizeof(*counts));
		for (uint32_t t = 0; t < w->tokens; t++)
			route_token(run->net, weight, sum, n, w->top_k, counts, taken);
		for (uint32_t shift = 1; shift < n && rc == 0; shift++) {
			uint32_t to = (i + shift) % n;

			if (counts[to] != 0 && add(run, workload, hosts[i], hosts[to], SIM_NONE,
						       counts[to] * w->token_bytes) == NULL)
				rc = -ENOMEM;
		}
	}
	free(weight);
	free(counts);
	free(taken);
	return rc;
}

static int make_one(struct sim_run *run, uint32_t i)
{
	const struct sim_workload *w = &run->scenario->workloads[i];

	switch (w->pattern) {
	case SIM_PERMUTATION:
		return permutation(run, i);
	case SIM_INCAST:
		return each_group(run, i, w->senders + 1, incast);
	case SIM_ALL_TO_ALL:
		return each_group(run, i, w->group_size, all_to_all);
	case SIM_RING:
		return each_group(run, i, w->group_size, ring);
	case SIM_POISSON:
		return poisson(run, i);
	case SIM_MOE:
		return each_group(run, i, w->group_size, moe);
	}
	return -EINVAL;
}

int sim_workload_make(struct sim_run *run)
{
	for (uint32_t i = 0; i < run->scenario->n_workloads; i++) {
		int rc = make_one(run, i);

		if (rc != 0)
			return rc;
	}
	return 0;
}

static uint64_t lesser(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

double sim_workload_flows(const struct sim_scenario *scenario, const struct sim_workload *w)
{
	uint64_t hosts = sim_scenario_hosts(scenario), size = w->group_size != 0 ? lesser(w->group_size, hosts) : hosts;
	uint64_t groups;

	if (w->pattern == SIM_INCAST)
		size = lesser(w->senders + 1, hosts);
	groups = hosts / size;
	if (w->groups != 0)
		groups = lesser(groups, w->groups);
	switch (w->pattern) {
	case SIM_PERMUTATION:
		return (double)hosts;
	case SIM_INCAST:
		return (double)(groups * (size - 1));
	case SIM_ALL_TO_ALL:
		return (double)(groups * size * (size - 1));
	case SIM_RING:
		return (double)(groups * size * (w->steps != 0 ? w->steps : 2 * (size - 1)));
	case SIM_POISSON:
		return poisson_per_ns(scenario, w, hosts) * (double)(w->duration_us * US);
	case SIM_MOE:
		return (double)(groups * size * lesser(size - 1, (uint64_t)w->tokens * w->top_k));
	}
	return 0;
}

uint32_t sim_workload_qps(const struct sim_scenario *scenario)
{
	uint64_t hosts = sim_scenario_hosts(scenario);
	uint64_t n = QPS_MIN, p = 1;

	for (uint32_t i = 0; i < scenario->n_workloads; i++) {
		const struct sim_workload *w = &scenario->workloads[i];
		uint64_t size = w->group_size != 0 && w->group_size < hosts ? w->group_size : hosts;

		if (w->pattern == SIM_POISSON)
			n += 4096; /* at a time: those that are done go */
		else if (w->pattern == SIM_INCAST)
			n += w->senders;
		else
			n += w->pattern == SIM_ALL_TO_ALL || w->pattern == SIM_MOE ? 2 * size : 2;
	}
	while (p < n && p < QPS_MAX)
		p *= 2;
	return (uint32_t)p;
}
