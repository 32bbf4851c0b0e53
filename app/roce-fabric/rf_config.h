/* SPDX-License-Identifier: BSD-3-Clause */
/* roce-fabric's configuration, read by a table of keys as roced's is. */
#ifndef RF_CONFIG_H
#define RF_CONFIG_H

#include "config.h"
#include "eal.h"
#include "fabric_keys.h"
#include "rf_rule.h"

#define RF_MAX_PORTS      EAL_MAX_DEVICES
#define RF_MAX_LINKS      4096u   /* telling of all of them is one answer */
#define RF_DEFAULT_SOCKET "/run/roced/fabric.sock"

struct rf_port_config {
	struct config_port port;      /* starts with its place in the file */
	uint32_t host;                /* of the fabric */
	uint64_t queue_bytes;         /* that wait for the host's link at most */
};

struct rf_config {
	uint32_t n_eal_args;
	char eal_args[CONFIG_MAX_EAL_ARGS][CONFIG_TEXT_BYTES];
	char main_cpus[CONFIG_TEXT_BYTES];
	struct {
		char socket[108];
		struct config_group group;
		uint32_t mode;
	} control;
	struct fk_fabric fabric;
	uint32_t n_ports;
	struct rf_port_config ports[RF_MAX_PORTS];
	uint32_t n_faults;
	struct fk_fault faults[FK_MAX_FAULTS];
	uint32_t n_impairments;
	struct rf_rule impairments[RF_MAX_RULES];
	bool trust_dscp;
	uint64_t seed;
	uint32_t idle_sleep_us;
	char files[CONFIG_MAX_FILES][CONFIG_TEXT_BYTES]; /* names the config_at point to */
};

/* Reads and checks a file. Writes one line per error to err, "FILE:LINE: where: what"; returns their number. */
unsigned rf_config_load(const char *path, struct rf_config *config, FILE *err);
/* Prints the table of keys. */
void rf_config_help(FILE *out, bool markdown);

#endif
