/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random fabrics, faults and work, by seed, and what must hold whatever happens (sim_check.h). Most seeds have faults
 * that every connection must live through; some cut hosts off for longer than the retries last, and then the
 * connections of those, and no others, may fail.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_check.h"

#define MAX_FAULTS  8
#define LIMIT_NS    (600ull * 1000000000) /* of virtual time: what is not over by then is stuck */
#define MAX_PAIRS   16
#define MS          1000000ull
#define TIMEOUT_NS(code) (4096ull << (code))

struct fault {
	uint32_t link;
	uint64_t from_ns, until_ns;           /* until UINT64_MAX: for ever */
	struct fabric_fault what;
};

struct plan {
	struct sim_net *net;
	struct sim_config config;
	struct sim_check check;
	uint64_t random;
	uint8_t timeout, retry_cnt;           /* of all connections */
	struct path_sched_config plain;       /* of those without, if they move */
	struct path_sched_config sched[MAX_PAIRS]; /* of those with selective repeat */
	struct cc_config cc[MAX_PAIRS];
	struct cc_model model;                /* of those that have learned: any trees, for none may harm more than the pace */
	uint32_t n_selective;
	uint32_t n_faults;
	struct fault faults[MAX_FAULTS];
	uint32_t cut_host;                    /* cut off for too long; UINT32_MAX: none */
	uint64_t cut_ns;
};

/* Shows that the faults were there. */
static struct {
	struct tp_counters tp;
	uint64_t lost_fault, lost_link, lost_buffer, bad_frames, marked, pauses, lost, arrived, failed, selective, orderly;
} total;

/* The plan's own numbers, so that what is drawn here and by the net do not shift each other. */
static uint32_t draw(struct plan *p, uint32_t below)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	p->random ^= p->random << 17;
	return (uint32_t)((p->random >> 20) % below);
}

#define PICK(p, ...) \
	((const uint64_t[]){__VA_ARGS__})[draw(p, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))]

/* ---- fabric ---- */

static void plan_switches(struct plan *p, struct fabric_switch_config *sw)
{
	sw->buffer_bytes = PICK(p, 0, 1 << 20, 32 << 20);
	sw->queue_bytes = PICK(p, 0, 0, 200000);
	if (draw(p, 3) == 0)
		sw->ecn.min_bytes = sw->ecn.max_bytes = 0;
	if (draw(p, 3) != 0)
		return;
	sw->pfc_priorities = 1;
	sw->pfc_xoff_bytes = PICK(p, 20000, 100000);
	sw->pfc_xon_bytes = sw->pfc_xoff_bytes / 2;
}

static void plan_fabric(struct plan *p, uint64_t seed)
{
	struct fabric_config *f = &p->config.fabric;

	fabric_config_default(f);
	f->seed = seed;
	f->pods = draw(p, 4) == 0 ? 2 : 1;
	f->leaves = 1 + draw(p, 3);
	f->spines = 1 + draw(p, 4);
	f->cores_per_spine = f->pods > 1 ? 1 + draw(p, 2) : 0;
	f->hosts_per_leaf = 2 + draw(p, 3);
	f->host_link.rate_mbps = PICK(p, 25000, 100000, 200000);
	f->leaf_link.rate_mbps = PICK(p, 25000, 100000, 400000);
	f->host_link.delay_ns = PICK(p, 0, 500, 2000);
	f->leaf_link.delay_ns = PICK(p, 300, 1000, 10000);
	f->convergence_ns = PICK(p, 0, 100000, 1000000);
	plan_switches(p, &f->sw);
}

static void plan_hosts(struct plan *p, uint64_t seed)
{
	p->config.seed = seed;
	p->config.checked = true;
	p->config.l3_version = draw(p, 2) == 0 ? 4 : 6;
	p->config.ecn = draw(p, 3) != 0;
	p->config.window_pkts = (uint32_t)PICK(p, 0, 3, 32, 128);
	p->config.sack_wait_ns = (uint32_t)PICK(p, 0, 0, 3000, 50000);
	p->config.max_qps = 32;
	p->config.max_ahs = 32;
	p->config.max_buffers = (uint32_t)PICK(p, 0, 0, 12, 64);
	p->config.max_held = (uint32_t)PICK(p, 0, 0, 0, 8, 64);
	p->config.poll_ns = PICK(p, 0, 0, 700, 5000);
	p->timeout = (uint8_t)(8 + draw(p, 3));
	p->retry_cnt = 7;
}

/* Whether connections that have agreed to nothing move, and how; the fabric's round trip is not known yet. */
static void plan_plain(struct plan *p)
{
	p->config.move_on_timeout = draw(p, 2) == 0;
	if (draw(p, 4) == 0)
		return;
	path_sched_config_default(&p->plain);
	path_sched_config_base(&p->plain, (uint32_t)PICK(p, 1000, 10000, 1000000));
	p->plain.kind = (enum path_sched_kind)draw(p, PATH_SCHED_KINDS);
	p->plain.n_evs = (uint8_t)PICK(p, 1, 2, 3, TP_PLAIN_EVS, TP_PLAIN_EVS);
	p->plain.keep_order = p->plain.no_probes = true;
	p->plain.probe_ns = (uint32_t)PICK(p, 50000, 1000000);
	p->config.plain = &p->plain;
}

/* ---- faults ---- */

/* Short enough that retries are left when it is over. */
static uint64_t bearable_ns(struct plan *p)
{
	return 1000 + draw(p, (uint32_t)(3 * TIMEOUT_NS(p->timeout)));
}

static void plan_fault(struct plan *p, struct fault *f)
{
	f->link = draw(p, fabric_n_links(p->net->fabric));
	f->from_ns = draw(p, 200000);
	f->until_ns = f->from_ns + bearable_ns(p);
	switch (draw(p, 7)) {
	case 0:
		f->what.cut = true;
		break;
	case 1:
		f->what.rate_percent = 20 + draw(p, 60);
		break;
	case 2:
		f->what.lose_ppm = 1 + draw(p, 50000);
		break;
	case 3:
		f->what.corrupt_ppm = 1 + draw(p, 50000);
		break;
	case 4:
		f->what.repeat_ppm = 1 + draw(p, 100000);
		break;
	case 5:
		f->what.delay_ppm = 1 + draw(p, 100000);
		f->what.delay_ns = 1 + draw(p, 50000);
		break;
	case 6:
		f->what.pause_priorities = 1;
		break;
	}
	/* What only spoils packets may well last. */
	if (!f->what.cut && f->what.pause_priorities == 0 && draw(p, 2) == 0) {
		f->from_ns = 0;
		f->until_ns = UINT64_MAX;
	}
}

static void plan_cut(struct plan *p, struct fault *f)
{
	p->cut_host = draw(p, p->net->n_hosts);
	p->cut_ns = draw(p, 100000);
	f->link = p->cut_host;
	f->from_ns = p->cut_ns;
	f->until_ns = draw(p, 2) == 0 ? UINT64_MAX : p->cut_ns + 100 * TIMEOUT_NS(p->timeout);
	f->what.cut = true;
}

/* One link has one fault at a time, so each link has one at most. */
static bool link_taken(const struct plan *p, uint32_t link)
{
	for (uint32_t i = 0; i < p->n_faults; i++) {
		if (p->faults[i].link == link)
			return true;
	}
	return false;
}

static void plan_faults(struct plan *p)
{
	uint32_t n = draw(p, MAX_FAULTS + 1);

	p->cut_host = UINT32_MAX;
	/* Retries used up by lost packets would blur when a connection may fail. */
	if (draw(p, 6) == 0) {
		plan_cut(p, &p->faults[0]);
		p->n_faults = 1;
		return;
	}
	while (n-- > 0) {
		struct fault *f = &p->faults[p->n_faults];

		memset(f, 0, sizeof(*f));
		plan_fault(p, f);
		p->n_faults += !link_taken(p, f->link);
	}
}

static void on_fault(void *env, void *arg, uint64_t now_ps)
{
	struct sim_net *net = env;
	const struct fault *f = arg;

	(void)fabric_set_fault(net->fabric, f->link, &f->what, now_ps / FABRIC_PS_PER_NS);
}

static void on_heal(void *env, void *arg, uint64_t now_ps)
{
	static const struct fabric_fault none;
	struct sim_net *net = env;
	const struct fault *f = arg;

	(void)fabric_set_fault(net->fabric, f->link, &none, now_ps / FABRIC_PS_PER_NS);
}

static int start_faults(struct plan *p)
{
	int rc = 0;

	for (uint32_t i = 0; i < p->n_faults && rc == 0; i++) {
		rc = fabric_at(p->net->fabric, p->faults[i].from_ns, on_fault, &p->faults[i]);
		if (rc == 0 && p->faults[i].until_ns != UINT64_MAX)
			rc = fabric_at(p->net->fabric, p->faults[i].until_ns, on_heal, &p->faults[i]);
	}
	return rc;
}

/* ---- work ---- */

static void draw_model(struct plan *p)
{
	struct cc_model *m = &p->model;

	m->first_packets = (uint32_t)PICK(p, 0, 1, 4, 65536);
	m->share_percent = 1 + draw(p, 1000);
	m->n_trees = 1 + draw(p, CC_MODEL_TREES);
	for (uint32_t i = 0; i < m->n_trees; i++) {
		struct cc_model_tree *tree = &m->trees[i];

		tree->depth = (uint32_t)(1 + draw(p, CC_MODEL_DEPTH));
		for (uint32_t k = 0; k < CC_MODEL_SPLITS; k++) {
			tree->split[k] = CC_SPLIT(draw(p, CC_FEATURES), (int32_t)(1u << draw(p, 14)) - 32);
		}
		for (uint32_t k = 0; k < CC_MODEL_LEAVES; k++)
			tree->leaf[k] = (int16_t)((int)draw(p, 200) - 100);
	}
}

/* How both ends of a connection choose paths, if they agree to. The base is what the fabric has, or far from it. */
static void plan_sched(struct plan *p, uint32_t i, struct sim_qp_config *config)
{
	struct path_sched_config *sched = &p->sched[i];
	uint32_t base_ns = (uint32_t)sim_net_base_ns(p->net, config->mtu);

	if (config->type != TP_QPT_RC || draw(p, 4) == 0)
		return;
	path_sched_config_default(sched);
	path_sched_config_base(sched, (uint32_t)PICK(p, base_ns, base_ns, 1000, 1000000));
	sched->kind = (enum path_sched_kind)draw(p, PATH_SCHED_KINDS);
	sched->n_evs = (uint8_t)PICK(p, 1, 2, 5, 16, 64, 64);
	sched->losses_dead = (uint8_t)(1 + draw(p, 2));
	sched->probe_ns = (uint32_t)PICK(p, 50000, 1000000);
	config->selective = true;
	config->reorder_ns = PICK(p, 0, 20000, 500000);
	config->sched = sched;
	config->merge = (struct tp_merge_config){(uint32_t)PICK(p, 0, 100, 4096), (uint32_t)PICK(p, 0, 0, 5000, 100000)};
	p->n_selective++;
	if (draw(p, 3) == 0)
		return;
	p->cc[i] = (struct cc_config){
		.kind = (enum cc_kind)draw(p, CC_KINDS),
		.packet_bytes = config->mtu + 82,
		.base_rtt_ns = sched->base_rtt_ns,
		.target_ns = (uint32_t)PICK(p, 0, 0, 1000),
		.rate_bps = p->config.fabric.host_link.rate_mbps * PICK(p, 1000000, 1000000, 10000),
		.max_window_bytes = (uint32_t)PICK(p, 0, 0, 1, 1000000),
		.model = &p->model,
	};
	if (p->model.n_trees == 0)
		draw_model(p);
	config->cc = &p->cc[i];
}

/* Retries are timed from the last packet sent before the cut, so the first of the intervals may be over. */
static void allow_failure(struct plan *p, struct sim_check_pair *pair)
{
	if (pair->qps[0].host->id == p->cut_host || pair->qps[1].host->id == p->cut_host)
		pair->min_fail_ns = p->cut_ns + p->retry_cnt * TIMEOUT_NS(p->timeout);
}

static int plan_work(struct plan *p, uint32_t n_pairs, uint32_t max_bytes)
{
	static const enum tp_qp_type types[] = {TP_QPT_RC, TP_QPT_RC, TP_QPT_UC, TP_QPT_UD};
	/* Now and then all with one host, so that its link is the bottleneck. */
	bool to_one = draw(p, 3) == 0;

	for (uint32_t i = 0; i < n_pairs; i++) {
		uint32_t n = p->net->n_hosts, a = to_one ? 0 : draw(p, n), b = (a + 1 + draw(p, n - 1)) % n;
		struct sim_qp_config config = {
			.type = types[draw(p, 4)],
			.mtu = 256u << draw(p, 5),
			.sq_depth = 1u << draw(p, 6),
			.timeout = p->timeout,
			.retry_cnt = p->retry_cnt,
			.rnr_retry = 7,
			.min_rnr_timer = (uint8_t)(1 + draw(p, 12)),
			.rd_atomic = (uint8_t)(1 + draw(p, 8)),
		};
		int rc;

		plan_sched(p, i, &config);
		rc = sim_check_pair(&p->check, i, a, b, &config, 1 + draw(p, SIM_CHECK_OPS), max_bytes);
		if (rc != 0)
			return rc;
		allow_failure(p, &p->check.pairs[i]);
	}
	return 0;
}

/* ---- one seed ---- */

static void add_up(const struct plan *p)
{
	struct fabric_port_stats fabric;
	struct tp_counters tp;

	fabric_stats(p->net->fabric, &fabric);
	sim_net_counters(p->net, &tp);
	total.tp.retransmits += tp.retransmits;
	total.tp.ack_timeouts += tp.ack_timeouts;
	total.tp.rnr_naks_received += tp.rnr_naks_received;
	total.tp.seq_naks_received += tp.seq_naks_received;
	total.tp.duplicates += tp.duplicates;
	total.tp.cut_messages += tp.cut_messages;
	total.tp.reordered += tp.reordered;
	total.tp.probes += tp.probes;
	total.tp.merged_sent += tp.merged_sent;
	total.tp.moves += tp.moves;
	total.selective += p->n_selective;
	total.lost_fault += fabric.lost[FABRIC_LOSS_FAULT];
	total.lost_link += fabric.lost[FABRIC_LOSS_LINK];
	total.lost_buffer += fabric.lost[FABRIC_LOSS_BUFFER];
	total.marked += fabric.marked;
	total.pauses += fabric.pauses;
	total.bad_frames += p->net->bad_frames;
	total.lost += p->check.n_lost;
	total.arrived += p->check.n_arrived;
	total.failed += p->check.n_failed;
}

/* A flow that moves never overtakes itself: where links lose, damage, repeat and delay nothing, no responder misses
 * anything. */
static bool kept_order(const struct plan *p)
{
	struct fabric_port_stats fabric;
	struct tp_counters tp;

	for (uint32_t i = 0; i < p->n_faults; i++) {
		const struct fabric_fault *w = &p->faults[i].what;

		if (w->cut || (w->lose_ppm | w->corrupt_ppm | w->repeat_ppm | w->delay_ppm) != 0)
			return true;
	}
	fabric_stats(p->net->fabric, &fabric);
	sim_net_counters(p->net, &tp);
	total.orderly++;
	return fabric.lost[FABRIC_LOSS_BUFFER] != 0 || tp.seq_naks_sent == 0;
}

static void describe(const struct plan *p)
{
	const struct fabric_config *f = &p->config.fabric;
	char name[64];

	printf("     fabric: %u pods, %u leaves, %u spines, %u hosts a leaf, hosts %llu Mb/s, leaves %llu Mb/s; "
	       "timeout %u\n",
		f->pods, f->leaves, f->spines, f->hosts_per_leaf, (unsigned long long)f->host_link.rate_mbps,
		(unsigned long long)f->leaf_link.rate_mbps, p->timeout);
	if (p->config.plain != NULL || p->config.move_on_timeout)
		printf("     others: %s of %u, base %u ns%s\n", p->config.plain != NULL ? path_sched_name(p->plain.kind) : "ecmp",
			p->config.plain != NULL ? p->plain.n_evs : 1, p->plain.base_rtt_ns,
			p->config.move_on_timeout ? ", move on a timeout" : "");
	for (uint32_t i = 0; i < p->check.n_pairs; i++) {
		const struct path_sched_config *sched = &p->sched[i];

		if (sched->n_evs != 0)
			printf("     pair %u: selective repeat, %s of %u, base %u ns, %s\n", i, path_sched_name(sched->kind),
				sched->n_evs, sched->base_rtt_ns,
				p->cc[i].rate_bps != 0 ? cc_name(p->cc[i].kind) : "window");
	}
	for (uint32_t i = 0; i < p->n_faults; i++) {
		const struct fault *fault = &p->faults[i];
		const struct fabric_fault *w = &fault->what;

		fabric_link_name(p->net->fabric, fault->link, name, sizeof(name));
		printf("     fault: %s, %llu to %lld ns:%s rate %u%%, lose %u, corrupt %u, repeat %u, delay %u ppm, "
		       "pause %u\n",
			name, (unsigned long long)fault->from_ns, (long long)fault->until_ns, w->cut ? " cut," : "",
			w->rate_percent, w->lose_ppm, w->corrupt_ppm, w->repeat_ppm, w->delay_ppm, w->pause_priorities);
	}
}

/* 0, or negative errno when there was no way to run it; *good: all held. */
static int run_seed(uint64_t seed, bool verbose, bool *good, uint64_t *digest)
{
	struct plan p = {.random = (seed + 1) * 0x9e3779b97f4a7c15u};
	uint32_t n_pairs, max_bytes;
	int rc;

	for (int i = 0; i < 8; i++)
		(void)draw(&p, 2);
	plan_fabric(&p, seed);
	plan_hosts(&p, seed);
	plan_plain(&p);
	n_pairs = 1 + draw(&p, MAX_PAIRS);
	max_bytes = (uint32_t)PICK(&p, 4096, 9000, 40000);
	p.config.mem_bytes = n_pairs * sim_check_mem_bytes(max_bytes);
	rc = sim_net_create(&p.config, &p.net);
	if (rc != 0)
		return rc;
	plan_faults(&p);
	rc = sim_check_create(p.net, n_pairs, &p.check);
	if (rc == 0)
		rc = plan_work(&p, n_pairs, max_bytes);
	if (rc == 0)
		rc = start_faults(&p);
	if (rc == 0)
		rc = sim_check_start(&p.check, draw(&p, (uint32_t)MS));
	if (rc == 0) {
		*good = sim_check_run(&p.check, LIMIT_NS);
		if (*good && !kept_order(&p)) {
			*good = false;
			snprintf(p.check.breach, sizeof(p.check.breach), "packets came out of their turn, and no link did that");
		}
		*digest = p.net->digest;
		add_up(&p);
	}
	if (rc == 0 && !*good)
		printf("     seed %llu: %s\n", (unsigned long long)seed, p.check.breach);
	if (rc == 0 && (verbose || !*good))
		describe(&p);
	sim_net_destroy(p.net);
	sim_check_destroy(&p.check);
	return rc;
}

/* ---- many ---- */

static void tell_totals(uint64_t n)
{
	printf("     %llu seeds: messages %llu arrived, %llu lost; connections cut off %llu; packets lost %llu by "
	       "faults, %llu on "
	       "cut links, %llu in buffers, %llu damaged, %llu marked; %llu pauses\n",
		(unsigned long long)n, (unsigned long long)total.arrived, (unsigned long long)total.lost,
		(unsigned long long)total.failed, (unsigned long long)total.lost_fault,
		(unsigned long long)total.lost_link, (unsigned long long)total.lost_buffer,
		(unsigned long long)total.bad_frames, (unsigned long long)total.marked,
		(unsigned long long)total.pauses);
	printf("     connections with selective repeat %llu: packets out of order %llu, probes %llu, of several messages %llu; "
	       "moves of others %llu; seeds whose links keep order %llu\n",
		(unsigned long long)total.selective, (unsigned long long)total.tp.reordered,
		(unsigned long long)total.tp.probes, (unsigned long long)total.tp.merged_sent,
		(unsigned long long)total.tp.moves, (unsigned long long)total.orderly);
	printf("     retransmitted %llu, timeouts %llu, RNR NAKs %llu, sequence NAKs %llu, duplicates %llu, UC "
	       "messages cut short "
	       "%llu\n",
		(unsigned long long)total.tp.retransmits, (unsigned long long)total.tp.ack_timeouts,
		(unsigned long long)total.tp.rnr_naks_received, (unsigned long long)total.tp.seq_naks_received,
		(unsigned long long)total.tp.duplicates, (unsigned long long)total.tp.cut_messages);
}

static void usage(FILE *out)
{
	fputs("usage: sim_faults [-v] [FIRST [COUNT]]\n"
	      "Random fabrics, faults and work under a virtual clock; COUNT seeds from FIRST on (default 1 100).\n"
	      "Prints a line a batch, PASS or FAIL, and how to run a failing seed again.\n"
	      "  -v   tell of each seed's fabric and faults\n",
		out);
}

int main(int argc, char **argv)
{
	uint64_t first = 1, n = 100, n_bad = 0, all = 0;
	bool verbose = false;
	int c;

	while ((c = getopt(argc, argv, "vh")) != -1) {
		if (c != 'v') {
			usage(c == 'h' ? stdout : stderr);
			return c == 'h' ? 0 : 2;
		}
		verbose = true;
	}
	if (optind < argc)
		first = strtoull(argv[optind], NULL, 10);
	if (optind < argc)
		n = optind + 1 < argc ? strtoull(argv[optind + 1], NULL, 10) : 1;
	for (uint64_t seed = first; seed < first + n; seed++) {
		uint64_t digest = 0;
		bool good = false;
		int rc = run_seed(seed, verbose, &good, &digest);

		all = all * 31 + digest;
		if (rc != 0)
			printf("     seed %llu: %s\n", (unsigned long long)seed, strerror(-rc));
		if (rc == 0 && good)
			continue;
		n_bad++;
		printf("     again: %s -v %llu\n", argv[0], (unsigned long long)seed);
	}
	tell_totals(n);
	printf("%s faults of seeds %llu to %llu (digest %016llx)\n", n_bad == 0 ? "PASS" : "FAIL",
		(unsigned long long)first, (unsigned long long)(first + n - 1), (unsigned long long)all);
	return n_bad == 0 ? 0 : 1;
}
