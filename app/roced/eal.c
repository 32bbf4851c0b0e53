/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts DPDK: makes the EAL's command line from the configuration. */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#include "eal.h"
#include "log.h"
#include "net_driver.h"

#define MAX_ARGS     (CONFIG_MAX_EAL_ARGS + 2 * EAL_MAX_DEVICES + 16)
#define LCORES_BYTES 8192

struct args {
	int n;
	char *v[MAX_ARGS];
	char lcores[LCORES_BYTES];
	char main_lcore[16];
	char pci[EAL_MAX_DEVICES][CONFIG_TEXT_BYTES];
};

static void add(struct args *args, const char *arg)
{
	if (args->n < MAX_ARGS - 1)
		args->v[args->n++] = (char *)(uintptr_t)arg;
}

static const char *const no_huge[] = {"--no-huge", NULL};

static bool user_has(const struct eal_config *config, const char *const *names)
{
	for (uint32_t i = 0; i < config->n_args; i++) {
		for (size_t n = 0; names[n] != NULL; n++) {
			size_t len = strlen(names[n]);

			if (!strncmp(config->args[i], names[n], len) &&
				(config->args[i][len] == '\0' || config->args[i][len] == '='))
				return true;
		}
	}
	return false;
}

/* "0-1" from what the process may run on. */
static void allowed_cpus(char *out, size_t n)
{
	cpu_set_t set;
	size_t used = 0;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	out[0] = '\0';
	for (int cpu = 0; cpu < CPU_SETSIZE && used + 8 < n; cpu++) {
		if (CPU_ISSET((size_t)cpu, &set))
			used += (size_t)snprintf(out + used, n - used, "%s%d", used == 0 ? "" : ",", cpu);
	}
}

static int check_cpus(const char *who, const char *cpus)
{
	char allowed[1024];
	cpu_set_t set;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	for (const char *c = cpus; *c != '\0';) {
		char *end;
		unsigned long first = strtoul(c, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

		for (unsigned long cpu = first; cpu <= last; cpu++) {
			if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &set))
				continue;
			allowed_cpus(allowed, sizeof(allowed));
			log_line(LOG_ERR, "%s: there is no CPU %lu for this process, give some of cpus = \"%s\"", who,
				cpu, allowed);
			return -EINVAL;
		}
		c = *end == ',' ? end + 1 : end;
	}
	return 0;
}

/* Every lcore is a thread on a set of CPUs: "0@(0-1),1@(0-1)". The main one takes a number no worker has. */
static int make_lcores(const struct eal_config *config, struct args *args)
{
	char cpus[1024], who[64];
	uint32_t main_lcore = 0;
	size_t used;

	for (uint32_t w = 0; w < config->n_workers; w++) {
		if (config->workers[w].lcore == main_lcore) {
			main_lcore++;
			w = UINT32_MAX; /* from the start again */
		}
	}
	if (config->main_cpus[0] != '\0')
		snprintf(cpus, sizeof(cpus), "%s", config->main_cpus);
	else
		allowed_cpus(cpus, sizeof(cpus));
	if (check_cpus("eal.main_cpus", cpus) != 0)
		return -EINVAL;
	snprintf(args->main_lcore, sizeof(args->main_lcore), "%u", main_lcore);
	used = (size_t)snprintf(args->lcores, LCORES_BYTES, "%u@(%s)", main_lcore, cpus);
	for (uint32_t w = 0; w < config->n_workers; w++) {
		const struct config_worker *worker = &config->workers[w];

		snprintf(who, sizeof(who), "workers[%u].cpus", w);
		snprintf(cpus, sizeof(cpus), "%s", worker->cpus);
		if (cpus[0] == '\0')
			snprintf(cpus, sizeof(cpus), "%u", worker->lcore);
		if (check_cpus(who, cpus) != 0)
			return -EINVAL;
		if (used < LCORES_BYTES)
			used += (size_t)snprintf(args->lcores + used, LCORES_BYTES - used, ",%u@(%s)", worker->lcore,
				cpus);
	}
	return used < LCORES_BYTES ? 0 : -E2BIG;
}

/* Real devices are named one by one, so that no other is touched. */
static void add_devices(const struct eal_config *config, struct args *args)
{
	static const char *const own[] = {"-a", "--allow", "-b", "--block", "--no-pci", NULL};
	bool pci = false;

	for (uint32_t p = 0; p < config->n_devices; p++) {
		if (!net_is_pci(config->devices[p]))
			continue;
		pci = true;
		snprintf(args->pci[p], sizeof(args->pci[p]), "%s", config->devices[p]);
		add(args, "-a");
		add(args, args->pci[p]);
	}
	if (!pci && !user_has(config, own))
		add(args, "--no-pci");
}

/* Ours to say, or the end of the process before it is a daemon. */
static int check_args(const struct eal_config *config)
{
	static const char *const refused[] = {"-h", "--help", "-c", "-l", "--lcores", "--main-lcore",
		"--proc-type=auto", "--proc-type=secondary", "secondary", NULL};

	for (size_t i = 0; refused[i] != NULL; i++) {
		const char *const one[] = {refused[i], NULL};

		if (!user_has(config, one))
			continue;
		log_line(LOG_ERR, "eal.args: \"%s\" cannot be given, threads are said by workers and eal.main_cpus",
			refused[i]);
		return -EINVAL;
	}
	return 0;
}

static int make_args(const struct eal_config *config, struct args *args)
{
	static const char *const own_files[] = {"--in-memory", "--file-prefix", "--proc-type", "--huge-unlink",
		"--no-shconf", NULL};
	static const char *const quiet[] = {"--log-level", NULL};
	static const char *const telemetry[] = {"--telemetry", "--no-telemetry", NULL};
	int rc = check_args(config);

	if (rc == 0)
		rc = make_lcores(config, args);
	if (rc != 0)
		return rc;
	add(args, config->program);
	add(args, "--lcores");
	add(args, args->lcores);
	add(args, "--main-lcore");
	add(args, args->main_lcore);
	/* Two daemons must not meet in the same runtime files. Without hugepages DPDK knows another word for it
	 * and refuses --in-memory, which means the same, so that is left out. */
	if (user_has(config, no_huge))
		add(args, "--no-shconf");
	else if (!user_has(config, own_files))
		add(args, "--in-memory");
	if (!user_has(config, quiet))
		add(args, "--log-level=warning");
	if (!user_has(config, telemetry))
		add(args, config->telemetry ? "--telemetry" : "--no-telemetry");
	add_devices(config, args);
	for (uint32_t i = 0; i < config->n_args; i++) {
		if (!user_has(config, no_huge) || strcmp(config->args[i], "--in-memory") != 0)
			add(args, config->args[i]);
	}
	args->v[args->n] = NULL;
	return 0;
}

static bool no_hugepages(void)
{
	unsigned long total = 0;
	char line[128];
	FILE *f = fopen("/proc/meminfo", "re");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "HugePages_Total: %lu", &total) == 1)
			break;
	}
	if (f != NULL)
		fclose(f);
	return total == 0;
}

int eal_start(const struct eal_config *config)
{
	static struct args args;   /* the EAL keeps pointers */
	int rc = make_args(config, &args);

	if (rc != 0)
		return rc;
	rc = rte_eal_init(args.n, args.v);
	if (rc >= 0)
		return 0;
	log_line(LOG_ERR, "DPDK does not start: %s%s", strerror(rte_errno),
		no_hugepages() && !user_has(config, no_huge) ?
		"; there are no hugepages: add \"--no-huge\", \"-m\", \"512\" to eal.args" : "");
	return -rte_errno;
}
