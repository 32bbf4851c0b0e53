/* SPDX-License-Identifier: BSD-3-Clause */
/* roce-gen's configuration, read by a table of keys as roced's is. */
#ifndef RG_CONFIG_H
#define RG_CONFIG_H

#include "config.h"
#include "rg_op.h"

#define RG_MAX_PORTS      8
#define RG_MAX_FLOWS      64
#define RG_MAX_OPCODES    16
#define RG_MAX_SIZES      32
#define RG_MAX_FAULTS     16
#define RG_MAX_QPS        65536u
#define RG_MAX_BURST      1024u
#define RG_OPCODE_BYTES   40

enum rg_role { RG_TX, RG_RX, RG_BOTH };
enum rg_clock { RG_MONOTONIC, RG_REALTIME };
enum rg_sport_policy { RG_SPORT_FIXED, RG_SPORT_QP, RG_SPORT_SPRAY };

/* What goes wrong with a packet of a flow, or goes with it. */
#define RG_FAULT_NAMES "bad_icrc|ce|loss|repeat|psn_gap|psn_jump|psn_duplicate|truncate|bad_pad|bad_opcode|cnp|pfc"
enum rg_fault_kind {
	RG_FAULT_BAD_ICRC,
	RG_FAULT_CE,
	RG_FAULT_LOSS,
	RG_FAULT_REPEAT,
	RG_FAULT_PSN_GAP,
	RG_FAULT_PSN_JUMP,
	RG_FAULT_PSN_DUPLICATE,
	RG_FAULT_TRUNCATE,
	RG_FAULT_BAD_PAD,
	RG_FAULT_BAD_OPCODE,
	RG_FAULT_CNP,
	RG_FAULT_PFC,
	RG_FAULTS,
};

struct rg_fault_config {
	struct config_at at;
	uint32_t kind;                 /* enum rg_fault_kind */
	uint64_t every;                /* each so manieth packet; 0: ppm says */
	uint32_t ppm;
	uint32_t amount;               /* see the table of keys */
};

struct rg_size {
	struct config_at at;
	uint32_t bytes, to_bytes;      /* any size of these; to_bytes 0: bytes alone */
	uint32_t weight;
};

struct rg_opcode {
	char name[RG_OPCODE_BYTES];
};

struct rg_flow_config {
	struct config_at at;
	char name[CONFIG_NAME_BYTES];
	char port[CONFIG_NAME_BYTES];
	char pcap[CONFIG_TEXT_BYTES];  /* "": made, not replayed */
	uint32_t n_opcodes;
	struct rg_opcode opcodes[RG_MAX_OPCODES];
	struct rg_op ops[RG_MAX_OPCODES]; /* of these */
	uint32_t n_sizes;
	struct rg_size sizes[RG_MAX_SIZES];
	bool weighted;                 /* sizes by their weights, else in turn */
	uint32_t mtu;                  /* RDMA's */
	uint64_t start_ms, count;
	bool loop;
	uint32_t rate_mbps, rate_pps, burst;
	uint32_t qps, first_qpn, first_psn;
	struct config_prefix src, dst;
	uint8_t smac[6], dmac[6];      /* all zero: not given */
	uint32_t vlan, pcp, dscp, ecn, ttl;
	uint32_t sport_policy, sport_first, sport_count;
	uint32_t pkey, qkey, source_qpn, rkey, syndrome;
	uint64_t va;
	bool ack_req;
	uint64_t pfc_priorities;
	uint32_t pfc_quanta;
	uint32_t n_faults;
	struct rg_fault_config faults[RG_MAX_FAULTS];
	uint32_t port_index;
};

struct rg_port_config {
	struct config_port port;       /* starts with its place in the file */
	uint32_t n_addrs;
	struct config_prefix addrs[CONFIG_MAX_ADDRS];
};

struct rg_config {
	uint32_t n_eal_args;
	char eal_args[CONFIG_MAX_EAL_ARGS][CONFIG_TEXT_BYTES];
	char main_cpus[CONFIG_TEXT_BYTES];
	uint32_t role, clock;          /* enum rg_role, enum rg_clock */
	uint64_t seed, duration_ms, drain_ms, report_ms;
	bool strict;
	uint32_t tx_mbufs, streams, idle_sleep_us, catch_up_us;
	char run_path[CONFIG_TEXT_BYTES];
	uint32_t n_ports;
	struct rg_port_config ports[RG_MAX_PORTS];
	uint32_t n_flows;
	struct rg_flow_config flows[RG_MAX_FLOWS];
	char files[CONFIG_MAX_FILES][CONFIG_TEXT_BYTES]; /* names the config_at point to */
};

/* Reads and checks a file; role: NULL, or the name of another role than the file's. Writes one line per error to err,
 * "FILE:LINE: where: what"; returns their number. */
unsigned rg_config_load(const char *path, const char *role, struct rg_config *config, FILE *err);
/* Prints the table of keys. */
void rg_config_help(FILE *out, bool markdown);

/* ---- rg_keys.c ---- */
extern const struct config_key rg_keys[];
extern const size_t rg_n_keys;

/* ---- rg_check.c: what no single key shows ---- */
void rg_check(struct config_reader *reader, struct rg_config *config);

#endif
