/* SPDX-License-Identifier: BSD-3-Clause */
/* DPDK's environment, as a configuration says; it is ended with rte_eal_cleanup(). */
#ifndef EAL_H
#define EAL_H

#include "config.h"

#define EAL_MAX_DEVICES 32

/* All of it must live as long as the environment. */
struct eal_config {
	const char *program;               /* its name */
	uint32_t n_args;
	const char (*args)[CONFIG_TEXT_BYTES];
	const char *main_cpus;             /* "": all the process may use */
	uint32_t n_workers;                /* lcores beside the main one */
	const struct config_worker *workers;
	bool telemetry;                    /* DPDK's */
	uint32_t n_devices;
	const char *devices[EAL_MAX_DEVICES]; /* of the ports; PCI devices that are not named are left alone */
};

/* Starts DPDK. Logs why not. */
int eal_start(const struct eal_config *config);

#endif
