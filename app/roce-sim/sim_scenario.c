/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of a scenario's keys, and what no single key shows. */
#include <string.h>

#include "sim_flow.h"
#include "sim_scenario.h"
#include "sim_sizes.h"

#define MAX_BYTES    (1ull << 40)
#define MAX_US       (1ull << 40)
#define MAX_INDEX    FK_MAX_INDEX
#define MAX_MESSAGES (1u << 31)
#define BPS_PER_MBPS 1000000u

#define F(s, f)        offsetof(struct s, f), sizeof(((struct s *)0)->f), 0
#define L(s, f, count) offsetof(struct s, f), sizeof(((struct s *)0)->f[0]), offsetof(struct s, count)
#define GROUP          0, 0, 0
/* A number with default, range and unit. */
#define N(path, at, min, max, dflt, unit, help) {path, CONFIG_UINT, at, min, max, dflt, unit, help}
#define T(path, at, dflt, help)                 {path, CONFIG_TEXT, at, 1, SIM_WORD_BYTES - 1, dflt, "", help}
#define B(path, at, dflt, help)                 {path, CONFIG_BOOLEAN, at, 0, 1, dflt, "", help}
#define TP(f)   F(sim_scenario, transport.f)
#define W(f)    F(sim_workload, f)

static const struct config_key keys[] = {
	FK_FABRIC_ROWS(sim_scenario, fabric),

	{"transport", CONFIG_GROUP_OF, GROUP, 0, 1, "", "", "the hosts"},
	T("transport.service", TP(service_name), "RC", "RC, UC or UD"),
	T("transport.recovery", TP(recovery_name), "",
		"selective or go-back-n; default: selective for RC, which others have none of"),
	T("transport.scheduler", TP(scheduler_name), "",
		"how packets choose their ways: adaptive, ecmp, round_robin, flowlet, plb, reps, bitmap, mixed or weighted; default: "
		"adaptive with selective, else ecmp, which is one UDP port a queue pair"),
	T("transport.congestion", TP(congestion_name), "",
		"window, which grows by packets and shrinks by parts, none, dcqcn, timely, swift, theta-powertcp, nscc, "
		"predictive or learned; default: nscc with selective, which all but window need"),
	N("transport.evs", TP(n_evs), 1, PATH_SCHED_MAX_EVS, "64", "", "UDP ports that a scheduler chooses from"),
	{"transport.mtu", CONFIG_RDMA_MTU, TP(mtu), 256, 4096, "4096", "bytes", "path MTU"},
	N("transport.window_pkts", TP(window_pkts), 1, 1u << 20, "128", "packets", "unacknowledged of a queue pair"),
	N("transport.timeout", TP(timeout), 0, 31, "8", "", "of the acknowledgement: 4.096 us * 2^timeout; 0: never"),
	N("transport.retry_cnt", TP(retry_cnt), 0, 7, "7", "", "timeouts in a row before a queue pair fails"),
	N("transport.rd_atomic", TP(rd_atomic), 1, 128, "16", "", "READ requests outstanding"),
	N("transport.priority", TP(priority), 0, 7, "0", "", "IEEE 802.1p priority of packets"),
	N("transport.ack_priority", TP(ack_priority), 0, 7, "0", "", "the same of acknowledgements; 7 goes first"),
	B("transport.ecn", TP(ecn), "true", "packets may be marked"),
	N("transport.max_buffers", TP(max_buffers), 0, 1u << 30, "0", "packets",
		"of one host in the fabric at most; 0: no limit"),
	N("transport.sack_wait_ns", TP(sack_wait_ns), 0, 1000000, "3000", "ns",
		"selective: an acknowledgement may wait so long for others that go with it"),
	N("transport.poll_ns", TP(poll_ns), 0, 1000000000, "0", "ns",
		"packets gather for so long before the transport sees them"),

	SIM_CONGESTION_ROWS(sim_scenario, congestion),

	N("seed", F(sim_scenario, seed), 0, INT64_MAX, "1", "", "of the first run"),
	N("seeds", F(sim_scenario, n_seeds), 1, SIM_MAX_SEEDS, "1", "", "runs, of consecutive seeds"),
	N("limit_us", F(sim_scenario, limit_us), 1, MAX_US, "10000000", "us",
		"of virtual time: what is not done then is not"),

	{"workloads", CONFIG_LIST_OF, L(sim_scenario, workloads, n_workloads), 1, SIM_MAX_WORKLOADS, NULL, "",
		"what is sent, all of them at once"},
	T("workloads[].pattern", W(pattern_name), NULL,
		"permutation, incast, all-to-all, ring, poisson or moe"),
	T("workloads[].op", W(op_name), "write", "write, send or read"),
	N("workloads[].bytes", W(bytes), 1, MAX_BYTES, "2097152", "bytes", "of a flow; of a step of a ring"),
	N("workloads[].message_bytes", W(message_bytes), 0, 1u << 31, "0", "bytes",
		"flows are cut into messages of at most so many; 0: not cut"),
	N("workloads[].start_us", W(start_us), 0, MAX_US, "0", "us", "when it begins"),
	N("workloads[].senders", W(senders), 1, MAX_INDEX, "32", "", "incast: to one receiver"),
	N("workloads[].group_size", W(group_size), 0, MAX_INDEX, "0", "",
		"all-to-all, ring, moe: hosts of a group; 0: all"),
	N("workloads[].groups", W(groups), 0, MAX_INDEX, "0", "", "at most; 0: as many as there are hosts for"),
	T("workloads[].placement", W(placement_name), "shuffled",
		"of groups: packed (neighbours), strided (apart) or shuffled"),
	N("workloads[].steps", W(steps), 0, MAX_INDEX, "0", "", "ring; 0: 2 (n - 1), an allreduce"),
	T("workloads[].sizes", W(sizes_name), "fixed", "poisson: websearch, fbhdp, alistorage or fixed (= bytes)"),
	N("workloads[].load_percent", W(load_percent), 1, 200, "50", "%", "poisson: of all hosts' links"),
	N("workloads[].duration_us", W(duration_us), 1, MAX_US, "1000", "us", "poisson: flows begin within that time"),
	N("workloads[].tokens", W(tokens), 1, MAX_INDEX, "4096", "", "moe: of a host"),
	N("workloads[].token_bytes", W(token_bytes), 1, MAX_INDEX, "7168", "bytes", "moe"),
	N("workloads[].top_k", W(top_k), 1, 64, "8", "", "moe: experts that a token goes to"),
	N("workloads[].zipf_permille", W(zipf_permille), 0, 4000, "600", "permille",
		"moe: exponent of the experts' popularity"),

	FK_FAULT_ROWS(sim_scenario, faults, n_faults),
};

#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

void sim_scenario_help(FILE *out, bool markdown)
{
	config_print_keys(out, keys, N_KEYS, markdown);
}

/* ---- words ---- */

/* The index of text among n words; else tells of an error and is -1. */
static int word(struct config_reader *reader, const struct config_at *at, const char *where, const char *text,
	const char *const *words, int n)
{
	char list[160] = "";

	for (int i = 0; i < n; i++) {
		size_t used = strlen(list);

		if (!strcmp(words[i], text))
			return i;
		snprintf(list + used, sizeof(list) - used, "%s%s", i == 0 ? "" : i == n - 1 ? " or " : ", ", words[i]);
	}
	if (text[0] != '\0') /* else that it is missing was told */
		config_error(reader, at, "%s: \"%s\" is wrong, must be %s", where, text, list);
	return -1;
}

#define WORD(reader, at, where, text, words) word(reader, at, where, text, words, sizeof(words) / sizeof(words[0]))

/* What is not given follows from the rest. */
static void check_recovery(struct config_reader *reader, struct sim_scenario *s)
{
	static const char *const recoveries[] = {"go-back-n", "selective"};
	const struct config_at at = {0};
	const char *name = s->transport.recovery_name;
	int recovery = s->transport.service == TP_QPT_RC;

	if (name[0] != '\0')
		recovery = WORD(reader, &at, "transport.recovery", name, recoveries);
	s->transport.selective = recovery == 1;
	if (name[0] != '\0' && s->transport.service != TP_QPT_RC)
		config_error(reader, &at, "transport.recovery: only RC sends again what is lost");
}

static void check_scheduler(struct config_reader *reader, struct sim_scenario *s)
{
	const char *schedulers[PATH_SCHED_KINDS], *name = s->transport.scheduler_name;
	const struct config_at at = {0};
	int kind = s->transport.selective ? PATH_SCHED_ADAPTIVE : PATH_SCHED_ECMP;

	for (int i = 0; i < PATH_SCHED_KINDS; i++)
		schedulers[i] = path_sched_name((enum path_sched_kind)i);
	if (name[0] != '\0')
		kind = WORD(reader, &at, "transport.scheduler", name, schedulers);
	if (kind < 0)
		return;
	s->transport.scheduler = (enum path_sched_kind)kind;
	/* The transport moves the packets of those who agreed to it, and of nobody else. */
	if (!s->transport.selective && s->transport.scheduler != PATH_SCHED_ECMP)
		config_error(reader, &at,
			"transport.scheduler: \"%s\" needs RC with selective repeat, others have one UDP port a queue pair: "
			"must be ecmp",
			name);
}

static void check_congestion(struct config_reader *reader, struct sim_scenario *s)
{
	const char *congestions[1 + CC_KINDS] = {"window"}, *name = s->transport.congestion_name;
	const struct config_at at = {0};
	int kind = s->transport.selective ? 1 + CC_NSCC : 0;

	for (int i = 0; i < CC_KINDS; i++)
		congestions[1 + i] = cc_name((enum cc_kind)i);
	if (name[0] != '\0')
		kind = WORD(reader, &at, "transport.congestion", name, congestions);
	s->transport.controlled = kind > 0;
	if (kind > 0)
		s->transport.congestion = (enum cc_kind)(kind - 1);
	if (kind > 0 && !s->transport.selective)
		config_error(reader, &at, "transport.congestion: \"%s\" needs RC with selective repeat: must be window", name);
	sim_congestion_check(reader, &s->congestion, kind > 0 ? s->transport.congestion : CC_NONE,
		s->fabric.host_mbps * BPS_PER_MBPS);
}

static void check_transport(struct config_reader *reader, struct sim_scenario *s)
{
	static const char *const services[] = {"RC", "UC", "UD"};
	static const enum tp_qp_type types[] = {TP_QPT_RC, TP_QPT_UC, TP_QPT_UD};
	const struct config_at at = {0};
	int service = WORD(reader, &at, "transport.service", s->transport.service_name, services);

	if (service < 0)
		return;
	s->transport.service = types[service];
	check_recovery(reader, s);
	check_scheduler(reader, s);
	check_congestion(reader, s);
}

/* Hosts that send to each other. */
static void check_group(struct config_reader *reader, const struct sim_scenario *s, const struct sim_workload *w)
{
	uint64_t hosts = sim_scenario_hosts(s);
	bool grouped = w->pattern == SIM_ALL_TO_ALL || w->pattern == SIM_RING || w->pattern == SIM_MOE;

	if (w->pattern == SIM_INCAST && w->senders >= hosts)
		config_error(reader, &w->at, "senders: there are %llu hosts, so at most %llu can send to one",
			(unsigned long long)hosts, (unsigned long long)hosts - 1);
	if (grouped && w->group_size != 0 && (w->group_size < 2 || w->group_size > hosts))
		config_error(reader, &w->at, "group_size: %u is wrong, must be 0 or 2 to %llu, which are all hosts", w->group_size,
			(unsigned long long)hosts);
}

/* The bytes that one flow may have, and how many messages that are. */
static void check_bytes(struct config_reader *reader, const struct sim_scenario *s, const struct sim_workload *w)
{
	uint64_t bytes = w->bytes, each;

	if (w->pattern == SIM_MOE)
		bytes = (uint64_t)w->tokens * w->token_bytes;
	else if (w->pattern == SIM_POISSON && w->sizes != NULL)
		bytes = 1; /* all sizes fit a message */
	each = w->message_bytes != 0 ? w->message_bytes : bytes;
	if (s->transport.service == TP_QPT_UD && each > s->transport.mtu)
		each = s->transport.mtu;
	else if (w->message_bytes == 0 && bytes > MAX_MESSAGES)
		config_error(reader, &w->at,
			"message_bytes: is needed, a message has at most 2147483648 bytes and a flow may have %llu",
			(unsigned long long)bytes);
	if (bytes / each >= UINT32_MAX)
		config_error(reader, &w->at,
			"%s: a flow of %llu bytes in messages of %llu has too many, must be 4294967294 at most",
			s->transport.service == TP_QPT_UD ? "bytes" : "message_bytes", (unsigned long long)bytes,
			(unsigned long long)each);
}

static void check_workload(struct config_reader *reader, struct sim_scenario *s, uint32_t i)
{
	static const char *const patterns[] = {"permutation", "incast", "all-to-all", "ring", "poisson", "moe"};
	static const char *const ops[] = {"write", "send", "read"};
	static const char *const placements[] = {"packed", "strided", "shuffled"};
	struct sim_workload *w = &s->workloads[i];
	unsigned before = reader->n_errors;
	int pattern = WORD(reader, &w->at, "pattern", w->pattern_name, patterns);
	int op = WORD(reader, &w->at, "op", w->op_name, ops);
	int placement = WORD(reader, &w->at, "placement", w->placement_name, placements);

	w->pattern = pattern >= 0 ? (enum sim_pattern)pattern : SIM_PERMUTATION;
	w->op = op >= 0 ? (enum sim_op)op : SIM_WRITE;
	w->placement = placement >= 0 ? (enum sim_placement)placement : SIM_SHUFFLED;
	w->sizes = sim_sizes_find(w->sizes_name);
	if (w->sizes == NULL && w->sizes_name[0] != '\0' && strcmp(w->sizes_name, "fixed") != 0)
		config_error(reader, &w->at, "sizes: \"%s\" is wrong, must be websearch, fbhdp, alistorage or fixed",
			w->sizes_name);
	if (op == SIM_READ && s->transport.service != TP_QPT_RC)
		config_error(reader, &w->at, "op: only RC can read");
	if (op == SIM_READ && pattern == SIM_RING)
		config_error(reader, &w->at, "op: a ring passes on what it is sent, so it cannot read");
	if (pattern < 0 || reader->n_errors != before || sim_scenario_hosts(s) < 2 || sim_scenario_hosts(s) > SIM_MAX_HOSTS)
		return; /* told already */
	check_group(reader, s, w);
	check_bytes(reader, s, w);
	if (reader->n_errors == before && sim_workload_flows(s, w) > SIM_MAX_FLOWS)
		config_error(reader, &w->at, "workloads[%u]: has about %.0f flows, must be %u at most", i,
			sim_workload_flows(s, w), SIM_MAX_FLOWS);
}

/* What a simulation needs of a fabric beyond what can be built. */
static void check_fabric(struct config_reader *reader, const struct sim_scenario *s)
{
	const struct fk_fabric *f = &s->fabric;
	uint64_t hosts = sim_scenario_hosts(s);
	uint64_t base_ns = 4 * (f->host_ns + (f->leaves > 1 ? f->leaf_ns : 0) + (f->pods > 1 ? f->leaf_ns + f->core_ns : 0));
	const struct config_at at = {0};

	if (hosts < 2 || hosts > SIM_MAX_HOSTS)
		config_error(reader, &at, "fabric: has %llu hosts, must be 2 to %u", (unsigned long long)hosts, SIM_MAX_HOSTS);
	if (base_ns > SIM_MAX_BASE_NS)
		config_error(reader, &at, "fabric: a round trip takes %llu ns, must be %u at most: host_ns, leaf_ns, core_ns",
			(unsigned long long)base_ns, SIM_MAX_BASE_NS);
}

unsigned sim_scenario_load(const char *path, struct sim_scenario *scenario, FILE *err)
{
	struct config_reader reader = {
		.path = path,
		.keys = keys,
		.n_keys = N_KEYS,
		.base = scenario,
		.files = scenario->files,
		.err = err,
	};

	memset(scenario, 0, sizeof(*scenario));
	if (!config_read_table(&reader))
		return reader.n_errors;
	fk_check_fabric(&reader, &scenario->fabric);
	check_fabric(&reader, scenario);
	check_transport(&reader, scenario);
	for (uint32_t i = 0; i < scenario->n_workloads; i++)
		check_workload(&reader, scenario, i);
	for (uint32_t i = 0; i < scenario->n_faults; i++)
		fk_check_fault(&reader, &scenario->fabric, &scenario->faults[i]);
	return reader.n_errors;
}
