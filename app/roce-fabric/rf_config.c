/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of keys, and what no single key shows. */
#include "rf_config.h"

#include <string.h>

#define F(s, f)        offsetof(struct s, f), sizeof(((struct s *)0)->f), 0
#define L(s, f, count) offsetof(struct s, f), sizeof(((struct s *)0)->f[0]), offsetof(struct s, count)
#define GROUP          0, 0, 0
#define P(f)           F(rf_port_config, f)
#define N(path, at, min, max, dflt, unit, help) {path, CONFIG_UINT, at, min, max, dflt, unit, help}

static const struct config_key keys[] = {
	{"eal", CONFIG_GROUP_OF, GROUP, 0, 1, "", "", "DPDK's environment"},
	{"eal.args", CONFIG_TEXTS, L(rf_config, eal_args, n_eal_args), 0, CONFIG_MAX_EAL_ARGS, "", "",
		"EAL options, one word each; lcores, devices and file names are set by roce-fabric"},
	{"eal.main_cpus", CONFIG_CPUS, F(rf_config, main_cpus), 0, 0, "", "",
		"CPUs of the one thread; default: all the process may use"},

	{"control", CONFIG_GROUP_OF, GROUP, 0, 1, "", "", "socket for commands"},
	{"control.socket", CONFIG_TEXT, F(rf_config, control.socket), 1, 107, RF_DEFAULT_SOCKET, "",
		"path of the Unix socket; its directory is made when it is missing"},
	{"control.group", CONFIG_GID, F(rf_config, control.group), 0, 0, "", "",
		"group whose users may give commands; default: root's"},
	{"control.mode", CONFIG_MODE, F(rf_config, control.mode), 0, 0777, "0660", "octal",
		"permissions of the socket"},

	{"ports", CONFIG_LIST_OF, L(rf_config, ports, n_ports), 1, RF_MAX_PORTS, NULL, "",
		"DPDK ports, each a host of the fabric"},
	{"ports[].name", CONFIG_NAME, P(port.name), 0, 0, NULL, "", "what counters and the log call it"},
	{"ports[].device", CONFIG_TEXT, P(port.device), 1, CONFIG_TEXT_BYTES - 1, NULL, "",
		"PCI address or virtual device, as in roced's configuration"},
	N("ports[].host", P(host), 0, FK_MAX_INDEX, NULL, "",
		"which host of the fabric it is; counted leaf by leaf, from 0"),
	N("ports[].mtu", P(port.mtu), 576, 9600, "1500", "bytes",
		"largest IP packet; larger ones are dropped"),
	N("ports[].queue_bytes", P(queue_bytes), 10000, FK_BYTES, "4194304", "bytes",
		"that wait for the host's link at most"),
	N("ports[].rx_descriptors", P(port.rx_descriptors), 64, 32768, "1024", "", "of its receive queue"),
	N("ports[].tx_descriptors", P(port.tx_descriptors), 64, 32768, "1024", "", "of its transmit queue"),
	N("ports[].mbufs", P(port.mbufs), 512, 4194304, "8192", "buffers",
		"packet buffers for what it receives; three in four may be in the fabric"),

	FK_FABRIC_ROWS(rf_config, fabric),

	{"trust_dscp", CONFIG_BOOLEAN, F(rf_config, trust_dscp), 0, 1, "false", "",
		"the priority of IP packets without a VLAN tag is an eighth of their DSCP; else 0"},
	N("seed", F(rf_config, seed), 0, INT64_MAX, "1", "", "of the switches' hashes and of what happens by chance"),
	N("idle_sleep_us", F(rf_config, idle_sleep_us), 0, 100000, "100", "us",
		"longest sleep between two looks at the ports when idle; 0: never sleep"),

	FK_FAULT_ROWS(rf_config, faults, n_faults),

	RF_RULE_ROWS("impairments", rf_config, impairments, n_impairments,
		"what is done to RoCE packets; rules in the order in which they are asked"),
};

#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

void rf_config_help(FILE *out, bool markdown)
{
	config_print_keys(out, keys, N_KEYS, markdown);
}

static uint64_t n_links(const struct fk_fabric *fabric)
{
	uint64_t leaves = (uint64_t)fabric->pods * fabric->leaves;

	return leaves * fabric->hosts_per_leaf + leaves * fabric->spines +
		(uint64_t)fabric->pods * fabric->spines * fabric->cores_per_spine;
}

static uint64_t n_hosts(const struct fk_fabric *fabric)
{
	return (uint64_t)fabric->pods * fabric->leaves * fabric->hosts_per_leaf;
}

static void check_size(struct config_reader *reader, const struct rf_config *config)
{
	const struct config_at at = {0};

	fk_check_fabric(reader, &config->fabric);
	if (reader->n_errors == 0 && n_links(&config->fabric) > RF_MAX_LINKS)
		config_error(reader, &at, "fabric: has %llu links, at most %u may be",
			(unsigned long long)n_links(&config->fabric), RF_MAX_LINKS);
}

static void check_host(struct config_reader *reader, const struct rf_config *config, uint32_t p)
{
	const struct rf_port_config *port = &config->ports[p];
	uint64_t hosts = n_hosts(&config->fabric);

	if (port->host >= hosts)
		config_error(reader, &port->port.at,
			"ports[%u].host: the fabric has %llu, from 0 on, so there is no %u", p,
			(unsigned long long)hosts, port->host);
	for (uint32_t q = 0; q < p; q++) {
		if (port->host == config->ports[q].host)
			config_error(reader, &port->port.at, "ports[%u].host: %u is ports[%u] too", p, port->host, q);
	}
}

static void check_impairment(struct config_reader *reader, struct rf_config *config, uint32_t i)
{
	struct rf_rule *rule = &config->impairments[i];
	char error[RF_RULE_ERROR];

	if (rf_rule_compile(rule, error) != 0 || rf_rule_check_hosts(rule, n_hosts(&config->fabric), error) != 0)
		config_error(reader, &rule->at, "impairments[%u]: %s", i, error);
	for (uint32_t j = 0; j < i; j++) {
		if (rule->name[0] != '\0' && strcmp(rule->name, config->impairments[j].name) == 0)
			config_error(reader, &rule->at, "impairments[%u].name: %s is the name of impairments[%u] too", i,
				rule->name, j);
	}
}

static void check(struct config_reader *reader, struct rf_config *config)
{
	const struct config_port *ports[RF_MAX_PORTS];

	check_size(reader, config);
	for (uint32_t p = 0; p < config->n_ports; p++) {
		struct config_port *port = &config->ports[p].port;

		ports[p] = port;
		port->n_rx_queues = 1;
		port->promiscuous = true;
		config_check_port(reader, ports, p, 1);
		check_host(reader, config, p);
	}
	for (uint32_t i = 0; i < config->n_faults; i++)
		fk_check_fault(reader, &config->fabric, &config->faults[i]);
	for (uint32_t i = 0; i < config->n_impairments; i++)
		check_impairment(reader, config, i);
}

unsigned rf_config_load(const char *path, struct rf_config *config, FILE *err)
{
	struct config_reader reader = {
		.path = path,
		.keys = keys,
		.n_keys = N_KEYS,
		.base = config,
		.files = config->files,
		.err = err,
	};

	memset(config, 0, sizeof(*config));
	if (config_read_table(&reader))
		check(&reader, config);
	return reader.n_errors;
}
