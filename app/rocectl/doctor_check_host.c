/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the machine: memory, CPUs, clock. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "doctor.h"
#include "net_driver.h"

#define MUCH_WAIT_PERMILLE  20  /* of its time a worker's thread could run and did not */
#define MUCH_OTHER_PERMILLE 100 /* of its CPUs' time others ran there */
#define MEMLOCK_BYTES                                                                                                  \
	(1024ll << 20) /* what a driver that maps memory for a device locks, at most of usual configurations */

static bool has_arg(const struct config *config, const char *arg)
{
	for (uint32_t i = 0; i < config->n_eal_args; i++) {
		if (!strcmp(config->eal_args[i], arg))
			return true;
	}
	return false;
}

static const char *pci_port(const struct config *config)
{
	for (uint32_t p = 0; p < config->n_ports; p++) {
		if (net_is_pci(config->ports[p].device))
			return config->ports[p].name;
	}
	return NULL;
}

static const char *xdp_port(const struct config *config)
{
	for (uint32_t p = 0; p < config->n_ports; p++) {
		const struct net_driver *driver = net_driver_find(config->ports[p].device);

		if (driver != NULL && driver->xdp)
			return config->ports[p].name;
	}
	return NULL;
}

/* ---- hugepages ---- */

void doctor_check_hugepages(const struct doctor_facts *facts, struct doctor_report *report)
{
	const char *pci = pci_port(facts->config);

	if (has_arg(facts->config, "--no-huge")) {
		if (pci != NULL)
			doctor_do(doctor_add(report, DOCTOR_PROBLEM, pci,
					  "a device reads and writes memory by physical or IOMMU addresses, which "
					  "small pages do not keep",
					  "the port is on a PCI device, and eal.args has --no-huge"),
				"take --no-huge and -m out of eal.args and reserve hugepages");
		else
			doctor_do(doctor_add(report, DOCTOR_NOTE, "eal.args",
					  "packet buffers on small pages cost misses of the address cache",
					  "--no-huge: no hugepages are used"),
				"where speed matters: sysctl vm.nr_hugepages=512, and take --no-huge and -m out of "
				"eal.args");
		return;
	}
	if (facts->huge_pages == 0)
		doctor_do(doctor_add(report, DOCTOR_PROBLEM, "hugepages", "DPDK does not start without them",
				  "the machine has no hugepages, and eal.args does not say --no-huge"),
			"sysctl vm.nr_hugepages=512 (1 GiB), or add \"--no-huge\", \"-m\", \"512\" to eal.args");
	else if (!facts->daemon && facts->huge_free == 0)
		doctor_do(doctor_add(report, DOCTOR_PROBLEM, "hugepages", "DPDK does not start without free ones",
				  "none of the %" PRId64 " hugepages is free", facts->huge_pages),
			"reserve more, or look who has them: /proc/PID/numa_maps");
}

/* ---- cpu ---- */

static bool share(const struct doctor_worker *a, const struct doctor_worker *b)
{
	for (size_t i = 0; i < sizeof(a->cpus); i++) {
		if ((a->cpus[i] & b->cpus[i]) != 0)
			return true;
	}
	return false;
}

/* CPUs that some worker may use. */
static uint32_t n_cpus_of_all(const struct doctor_facts *facts)
{
	uint32_t n = 0;

	for (size_t i = 0; i < DOCTOR_MAX_CPUS; i++) {
		bool used = false;

		for (uint32_t w = 0; w < facts->config->n_workers; w++)
			used |= (facts->workers[w].cpus[i / 8] >> i % 8 & 1) != 0;
		n += used;
	}
	return n;
}

static void check_worker(const struct doctor_worker *worker, const char *subject, struct doctor_report *report)
{
	static const char why[] = "while a worker waits for its CPU nothing is received, acknowledged or sent: round "
				  "trips of milliseconds, full queues, timeouts";

	if (worker->wait_permille >= MUCH_WAIT_PERMILLE)
		doctor_do(doctor_add(report, DOCTOR_WARNING, subject, why,
				  "it had to wait for a CPU %d.%d %% of the time it was watched",
				  worker->wait_permille / 10, worker->wait_permille % 10),
			"give it a CPU of its own: workers[].cpus, isolcpus= or cpuset for the others");
	else if (worker->other_permille >= MUCH_OTHER_PERMILLE)
		doctor_do(doctor_add(report, DOCTOR_WARNING, subject, why,
				  "others used its CPUs %d.%d %% of the time they were watched",
				  worker->other_permille / 10, worker->other_permille % 10),
			"give it CPUs that others leave alone: workers[].cpus, isolcpus= or cpuset for the others");
	if (!worker->isolated && worker->n_cpus != 0)
		doctor_do(doctor_add(report, DOCTOR_NOTE, subject, "the scheduler may put any other thread there",
				  "its CPUs are not isolated"),
			"where latency matters: isolcpus= (and nohz_full=, rcu_nocbs=) on the kernel's command line, "
			"with its CPUs");
}

void doctor_check_cpu(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct config *config = facts->config;
	uint32_t n = n_cpus_of_all(facts);
	char subject[DOCTOR_NAME_BYTES];

	for (uint32_t w = 0; w < config->n_workers; w++) {
		snprintf(subject, sizeof(subject), "worker %u", w);
		check_worker(&facts->workers[w], subject, report);
		for (uint32_t v = 0; v < w && n < config->n_workers; v++) {
			if (n == 0 || !share(&facts->workers[w], &facts->workers[v]))
				continue;
			doctor_do(doctor_add(report, DOCTOR_WARNING, subject,
					  "two threads that both poll take turns of milliseconds",
					  "the %u workers have %u CPU%s together, and worker %u has the same",
					  config->n_workers, n, n == 1 ? "" : "s", v),
				"give each its own in workers[].cpus, or have fewer workers");
			break;
		}
	}
}

/* ---- numa ---- */

void doctor_check_numa(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct config *config = facts->config;

	for (uint32_t w = 0; w < config->n_workers && facts->numa_nodes > 1; w++) {
		char subject[DOCTOR_NAME_BYTES];

		snprintf(subject, sizeof(subject), "worker %u", w);
		if (facts->workers[w].numa_node == -2)
			doctor_do(doctor_add(report, DOCTOR_WARNING, subject,
					  "its memory is on one node, and the scheduler moves it between them",
					  "its CPUs are on several NUMA nodes"),
				"list CPUs of one node in workers[].cpus");
		for (uint32_t r = 0; r < config->workers[w].n_rx; r++) {
			int p = config_find_port(config, config->workers[w].rx[r].port), node;

			if (p < 0)
				continue;
			node = facts->ifaces[p].there ? facts->ifaces[p].numa_node : facts->pci_numa_node[p];
			if (node < 0 || facts->workers[w].numa_node < 0 || node == facts->workers[w].numa_node)
				continue;
			doctor_do(doctor_add(report, DOCTOR_WARNING, subject,
					  "each packet crosses the link between the processors, in both directions",
					  "it is on NUMA node %d, and port \"%s\" that it polls is on node %d",
					  facts->workers[w].numa_node, config->ports[p].name, node),
				"give it CPUs of node %d: /sys/devices/system/node/node%d/cpulist", node, node);
		}
	}
}

/* ---- memlock ---- */

void doctor_check_memlock(const struct doctor_facts *facts, struct doctor_report *report)
{
	const char *port = pci_port(facts->config);

	if (port == NULL)
		port = xdp_port(facts->config);
	if (port == NULL || facts->may_lock || facts->memlock_bytes < 0 || facts->memlock_bytes >= MEMLOCK_BYTES)
		return;
	doctor_do(doctor_add(report, DOCTOR_WARNING, port,
			  "memory that a device or an AF_XDP socket uses is locked, and counts: the port fails to "
			  "start, with \"cannot allocate memory\"",
			  "the limit of locked memory is %" PRId64 " KiB, and CAP_IPC_LOCK is missing",
			  facts->memlock_bytes / 1024),
		"LimitMEMLOCK=infinity in the service, or ulimit -l unlimited, or give the daemon CAP_IPC_LOCK");
}

/* ---- clock ---- */

void doctor_check_clock(const struct doctor_facts *facts, struct doctor_report *report)
{
	/* those that programs read without a system call */
	static const char *const fast[] = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"};

	for (size_t i = 0; i < sizeof(fast) / sizeof(fast[0]); i++) {
		if (!strcmp(facts->clock_source, fast[i]))
			return;
	}
	if (facts->clock_source[0] != '\0')
		doctor_do(doctor_add(report, DOCTOR_WARNING, "clock",
				  "each worker reads the clock on each walk, and from this one that is a system call "
				  "or slower",
				  "the kernel's clock source is %s", facts->clock_source),
			"see why the kernel gave up tsc (dmesg), or try: echo tsc > "
			"/sys/devices/system/clocksource/clocksource0/current_clocksource");
}
