/* SPDX-License-Identifier: BSD-3-Clause */
/* Made-up facts for the doctor's checks, and looking through what they found. Included once by each test. */
#ifndef DOCTOR_KIT_H
#define DOCTOR_KIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "doctor.h"
#include "wire_addr.h"

#define PORT       "{ name = \"p0\"; device = \"net_af_packet0,iface=eth1,framesz=8192,blocksz=65536\"; mtu = 4200; "
#define ONE_PORT   "ports = ( " PORT "} );\n"
#define ONE_DEVICE "devices = ( { name = \"r0\"; port = \"p0\"; addresses = [ \"10.0.0.1/24\" ]; mtu = 4096; } );\n"
#define ONE_WORKER "workers = ( { lcore = 1; } );\n"
#define PLAIN      ONE_WORKER ONE_PORT ONE_DEVICE

static struct config config;
static struct doctor_facts facts;
static struct doctor_report report;

/* Facts of a machine and daemon where nothing is wrong, with that configuration. */
static inline void well(const char *text)
{
	char path[] = "/tmp/roced-doctor-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	memset(&config, 0, sizeof(config));
	assert_int_equal(config_load(path, &config, stderr), 0);
	unlink(path);
	memset(&facts, 0, sizeof(facts));
	facts.config = &config;
	facts.daemon = true;
	facts.pid = 1;
	snprintf(facts.file, sizeof(facts.file), "/etc/roced/roced.conf");
	snprintf(facts.clock_source, sizeof(facts.clock_source), "tsc");
	facts.huge_pages = facts.huge_free = 512;
	facts.memlock_bytes = INT64_MAX;
	facts.numa_nodes = 1;
	for (uint32_t p = 0; p < CONFIG_MAX_PORTS; p++)
		facts.ifaces[p] = (struct doctor_iface){.wanted = true,
			.there = true,
			.name = "eth1",
			.driver = "veth",
			.mtu = 9000,
			.up = 1,
			.carrier = 1,
			.numa_node = -1};
	for (uint32_t w = 0; w < CONFIG_MAX_WORKERS; w++) {
		char cpu[16];

		snprintf(cpu, sizeof(cpu), "%u", w + 1);
		facts.workers[w].isolated = true;
		facts.workers[w].n_cpus = doctor_read_cpus(cpu, facts.workers[w].cpus);
		facts.workers[w].numa_node = -1;
	}
}

static inline void counter(const char *name, uint64_t value)
{
	struct doctor_counter *c = &facts.counters[facts.n_counters++];

	snprintf(c->name, sizeof(c->name), "%s", name);
	c->value = value;
}

/* A host that is to be reached, not tried yet. */
static inline struct doctor_host *host(const char *text)
{
	struct doctor_host *h = &facts.hosts[facts.n_hosts++];

	snprintf(h->address, sizeof(h->address), "%s", text);
	assert_true(wire_addr_read(text, &h->addr));
	return h;
}

typedef void check_fn(const struct doctor_facts *facts, struct doctor_report *report);

static inline void run(check_fn *check)
{
	memset(&report, 0, sizeof(report));
	report.check = "test";
	check(&facts, &report);
}

/* The check says nothing. */
static inline void assert_quiet(check_fn *check)
{
	run(check);
	if (report.n != 0)
		print_error("found: %s: %s\n", report.findings[0].subject, report.findings[0].saw);
	assert_int_equal(report.n, 0);
}

/* Among what it says: that severe, of that subject, with these words in what was seen; and each says why and what to
 * do. */
static inline void assert_finds(check_fn *check, enum doctor_severity severity, const char *subject, const char *words)
{
	bool found = false;

	run(check);
	for (uint32_t i = 0; i < report.n; i++) {
		const struct doctor_finding *f = &report.findings[i];

		assert_true(f->why != NULL && f->why[0] != '\0' && f->todo[0] != '\0' && f->saw[0] != '\0');
		found |= f->severity == severity && !strcmp(f->subject, subject) && strstr(f->saw, words) != NULL;
	}
	for (uint32_t i = 0; i < report.n && !found; i++)
		print_error("found: %d %s: %s\n", (int)report.findings[i].severity, report.findings[i].subject,
			report.findings[i].saw);
	assert_true(found);
}

/* Nothing worse than that. */
static inline void assert_no_worse(check_fn *check, enum doctor_severity severity)
{
	run(check);
	for (uint32_t i = 0; i < report.n; i++) {
		if (report.findings[i].severity > severity)
			print_error("found: %s: %s\n", report.findings[i].subject, report.findings[i].saw);
		assert_true(report.findings[i].severity <= severity);
	}
}

#endif
