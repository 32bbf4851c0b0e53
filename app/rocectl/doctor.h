/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocectl doctor: facts are gathered (doctor_ask.c, doctor_look*.c: /proc, /sys, sockets, the daemon's telemetry), then each check
 * looks at them and adds findings (doctor_check*.c: pure, so the tests make up facts), then they are printed
 * (doctor.c).
 */
#ifndef DOCTOR_H
#define DOCTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "config.h"

#define DOCTOR_MAX_FINDINGS   96
#define DOCTOR_MAX_HOSTS      16
#define DOCTOR_MAX_NEIGHBOURS 64
#define DOCTOR_MAX_QPS        48
#define DOCTOR_MAX_ALARMS     64
#define DOCTOR_MAX_COUNTERS   128
#define DOCTOR_MAX_CPUS       1024
#define DOCTOR_TEXT_BYTES     320
#define DOCTOR_NAME_BYTES     64

/* ---- facts; a number that could not be read is -1 ---- */

/* The kernel's interface below a port. */
struct doctor_iface {
	bool wanted; /* the port's device names one, or is one */
	bool there;
	char name[CONFIG_NAME_BYTES];
	char driver[16]; /* as ethtool says it: "veth" */
	int mtu, up, carrier;
	int tx_checksum, gso, tso, gro, lro; /* offloads: 1: on */
	int numa_node;
	char rdma[CONFIG_NAME_BYTES]; /* RDMA device of the kernel on it; "": none */
	/* The other end of a veth pair, where it could be found. */
	bool peer_there;
	int peer_mtu, peer_tx_checksum;
};

struct doctor_worker {
	int wait_permille;  /* of the sample: its thread could run and another one had the CPU */
	int other_permille; /* of the sample: CPU time of others on its CPUs, the daemon's threads left out */
	bool isolated;      /* all its CPUs are kept from the scheduler */
	uint32_t n_cpus;    /* 0: the text could not be read */
	uint8_t cpus[DOCTOR_MAX_CPUS / 8];
	int numa_node; /* of its CPUs; -1: unknown, -2: several */
};

struct doctor_port { /* as the daemon tells */
	char name[CONFIG_NAME_BYTES];
	char pfc[16];
	bool up;
	uint64_t speed_mbps;
};

struct doctor_neighbour {
	char port[CONFIG_NAME_BYTES], address[DOCTOR_NAME_BYTES], local[DOCTOR_NAME_BYTES], state[16];
	uint64_t users;
};

struct doctor_qp {
	uint64_t qpn, sent, evs, evs_used, evs_alive;
	bool in_order;
	char peer[DOCTOR_NAME_BYTES], device[CONFIG_NAME_BYTES];
};

struct doctor_alarm {
	char kind[DOCTOR_NAME_BYTES], subject[DOCTOR_NAME_BYTES], text[128];
	bool active;
	uint64_t count, last_s_ago;
};

struct doctor_counter {
	char name[48];
	uint64_t value;
};

/* A host that was to be reached, by name or since somebody here talks to it. */
struct doctor_host {
	struct wire_addr addr;
	char address[DOCTOR_NAME_BYTES];
	bool named;    /* on the command line */
	bool tried;    /* by the daemon: the rest is known */
	bool complete; /* and it had the time it needs */
	char route[16], device[CONFIG_NAME_BYTES], port[CONFIG_NAME_BYTES], local[DOCTOR_NAME_BYTES];
	char next_hop[DOCTOR_NAME_BYTES], neighbour[16];
	bool no_echo;
	uint64_t short_sent, short_answered, long_bytes, long_sent, long_answered, rtt_ns;
};

struct doctor_facts {
	char file[CONFIG_TEXT_BYTES]; /* "": no configuration was found */
	unsigned config_errors;
	char config_error[DOCTOR_TEXT_BYTES]; /* the first */
	const struct config *config;          /* NULL: none, or with errors */
	int file_is_newer;                    /* than the daemon's start */

	bool daemon; /* it answers */
	long pid;    /* 0: unknown */
	uint32_t n_ports, n_neighbours, n_qps, n_alarms, n_counters, n_hosts;
	struct doctor_port ports[CONFIG_MAX_PORTS];
	struct doctor_neighbour neighbours[DOCTOR_MAX_NEIGHBOURS];
	struct doctor_qp qps[DOCTOR_MAX_QPS];
	struct doctor_alarm alarms[DOCTOR_MAX_ALARMS];
	struct doctor_counter counters[DOCTOR_MAX_COUNTERS];
	struct doctor_host hosts[DOCTOR_MAX_HOSTS];

	struct doctor_iface ifaces[CONFIG_MAX_PORTS];     /* as config->ports */
	struct doctor_worker workers[CONFIG_MAX_WORKERS]; /* as config->workers */
	int pci_numa_node[CONFIG_MAX_PORTS];              /* of ports on PCI devices */
	int numa_nodes;
	int64_t huge_pages, huge_free; /* of all sizes */
	int64_t memlock_bytes;         /* soft limit; INT64_MAX: none */
	bool may_lock;                 /* has CAP_IPC_LOCK, so the limit says nothing */
	char clock_source[32];         /* "": unknown */
};

/* ---- findings ---- */

enum doctor_severity { DOCTOR_NOTE, DOCTOR_WARNING, DOCTOR_PROBLEM };

struct doctor_finding {
	const char *check;
	enum doctor_severity severity;
	char subject[DOCTOR_NAME_BYTES];
	char saw[DOCTOR_TEXT_BYTES];
	const char *why;
	char todo[DOCTOR_TEXT_BYTES];
};

struct doctor_report {
	const char *check; /* whose findings come now */
	uint32_t n, left_out;
	struct doctor_finding findings[DOCTOR_MAX_FINDINGS];
};

/* Adds one: what was seen, of what. Its `why` is a constant text, its `todo` is written by doctor_do(). Never NULL:
 * without room it is one that is not kept, unless it is worse than one that is. */
struct doctor_finding *doctor_add(struct doctor_report *report, enum doctor_severity severity, const char *subject,
	const char *why, const char *saw, ...) __attribute__((format(printf, 5, 6)));
void doctor_do(struct doctor_finding *finding, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- checks ---- */

#define DOCTOR_CONFIG 1u /* what a check needs */
#define DOCTOR_DAEMON 2u

struct doctor_check {
	const char *name, *about;
	unsigned needs;
	void (*run)(const struct doctor_facts *facts, struct doctor_report *report);
};

extern const struct doctor_check doctor_checks[];
extern const size_t doctor_n_checks;

/* What of DOCTOR_CONFIG and DOCTOR_DAEMON the facts have. */
unsigned doctor_has(const struct doctor_facts *facts);
/* Runs all checks whose needs are met. */
void doctor_run(const struct doctor_facts *facts, struct doctor_report *report);
/* Whether some device reaches addr: by a network of its own or a router. */
bool doctor_has_route(const struct config *config, const struct wire_addr *addr);
/* Value of a counter; 0 when the daemon tells none of that name. */
uint64_t doctor_counter(const struct doctor_facts *facts, const char *name);
/* Reads "0-3,8" into a set of bits; how many, 0: it is no such text, or names a CPU that is too high. */
uint32_t doctor_read_cpus(const char *text, uint8_t set[DOCTOR_MAX_CPUS / 8]);

void doctor_check_config(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_mtu(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_route(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_neighbour(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_link(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_gid(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_offload(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_dscp(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_pfc(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_ecn(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_entropy(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_extension(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_hugepages(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_cpu(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_numa(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_memlock(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_clock(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_daemon(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_alarms(const struct doctor_facts *facts, struct doctor_report *report);
void doctor_check_drops(const struct doctor_facts *facts, struct doctor_report *report);

/* ---- gathering ---- */

/* What the daemon behind the socket tells, and tries with the hosts of facts. */
void doctor_ask(int fd, struct doctor_facts *facts);
/* The process at the other end of the socket; 0: unknown. */
long doctor_find_pid(int fd);
/* The configuration file that process pid was started with, as this process reaches it; false: not found. */
bool doctor_find_file(long pid, char *out, size_t n);
/* What the machine tells, for the configuration and the daemon that facts have. Takes sample_ms to watch CPUs. */
void doctor_look(struct doctor_facts *facts, unsigned sample_ms);
/* Interfaces below ports, in the daemon's network namespace. */
void doctor_look_ifaces(struct doctor_facts *facts);
/* One interface by its name, in this process's network namespace. */
void doctor_look_iface(struct doctor_iface *iface);
/* The other end of one that is of a veth pair, and there. */
void doctor_look_veth(struct doctor_iface *iface);
/* CPUs of workers, for sample_ms. */
void doctor_look_cpus(struct doctor_facts *facts, unsigned sample_ms);

#endif
