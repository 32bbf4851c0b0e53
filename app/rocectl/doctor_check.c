/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of checks, and what they have in common. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor.h"
#include "wire_addr.h"

const struct doctor_check doctor_checks[] = {
	{"config", "the configuration", 0, doctor_check_config},
	{"daemon", "the daemon", 0, doctor_check_daemon},
	{"link", "links of ports", DOCTOR_CONFIG, doctor_check_link},
	{"mtu", "MTU of ports, devices and paths", DOCTOR_CONFIG, doctor_check_mtu},
	{"route", "routes", DOCTOR_CONFIG, doctor_check_route},
	{"neighbour", "neighbours", DOCTOR_DAEMON, doctor_check_neighbour},
	{"gid", "types of GIDs", DOCTOR_CONFIG, doctor_check_gid},
	{"offload", "checksums and offloads of interfaces", DOCTOR_CONFIG, doctor_check_offload},
	{"dscp", "DSCPs, priorities and channels", DOCTOR_CONFIG, doctor_check_dscp},
	{"pfc", "priority flow control", DOCTOR_CONFIG, doctor_check_pfc},
	{"ecn", "congestion marks and notifications", DOCTOR_CONFIG, doctor_check_ecn},
	{"entropy", "UDP source ports, by which paths are chosen", DOCTOR_CONFIG, doctor_check_entropy},
	{"extension", "peers that run roced, and agree to several paths", DOCTOR_DAEMON, doctor_check_extension},
	{"hugepages", "hugepages", DOCTOR_CONFIG, doctor_check_hugepages},
	{"cpu", "CPUs of workers", DOCTOR_CONFIG, doctor_check_cpu},
	{"numa", "NUMA nodes of ports and workers", DOCTOR_CONFIG, doctor_check_numa},
	{"memlock", "limit of locked memory", DOCTOR_CONFIG, doctor_check_memlock},
	{"clock", "the kernel's clock", 0, doctor_check_clock},
	{"alarms", "alarms of the daemon", DOCTOR_DAEMON, doctor_check_alarms},
	{"drops", "dropped packets", DOCTOR_DAEMON, doctor_check_drops},
};

const size_t doctor_n_checks = sizeof(doctor_checks) / sizeof(doctor_checks[0]);

unsigned doctor_has(const struct doctor_facts *facts)
{
	return (facts->config != NULL ? DOCTOR_CONFIG : 0) | (facts->daemon ? DOCTOR_DAEMON : 0);
}

void doctor_run(const struct doctor_facts *facts, struct doctor_report *report)
{
	unsigned has = doctor_has(facts);

	for (size_t i = 0; i < doctor_n_checks; i++) {
		if ((doctor_checks[i].needs & ~has) != 0)
			continue;
		report->check = doctor_checks[i].name;
		doctor_checks[i].run(facts, report);
	}
}

/* Of a full report, the least that is not as bad; NULL: there is none. */
static struct doctor_finding *give_up(struct doctor_report *report, enum doctor_severity severity)
{
	struct doctor_finding *least = &report->findings[0];

	for (uint32_t i = 1; i < report->n; i++) {
		if (report->findings[i].severity < least->severity)
			least = &report->findings[i];
	}
	return least->severity < severity ? least : NULL;
}

struct doctor_finding *doctor_add(struct doctor_report *report, enum doctor_severity severity, const char *subject,
	const char *why, const char *saw, ...)
{
	static struct doctor_finding nowhere;
	struct doctor_finding *finding = &nowhere;
	va_list ap;

	if (report->n < DOCTOR_MAX_FINDINGS) {
		finding = &report->findings[report->n++];
	} else {
		report->left_out++;
		finding = give_up(report, severity);
		if (finding == NULL)
			finding = &nowhere;
	}
	memset(finding, 0, sizeof(*finding));
	finding->check = report->check;
	finding->severity = severity;
	finding->why = why;
	snprintf(finding->subject, sizeof(finding->subject), "%s", subject);
	va_start(ap, saw);
	vsnprintf(finding->saw, sizeof(finding->saw), saw, ap);
	va_end(ap);
	return finding;
}

void doctor_do(struct doctor_finding *finding, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(finding->todo, sizeof(finding->todo), fmt, ap);
	va_end(ap);
}

static bool reaches(const struct wire_addr *own, uint32_t len, const struct wire_addr *addr)
{
	return wire_addr_is_v4(own) == wire_addr_is_v4(addr) &&
	       wire_addr_same_network(own, addr, wire_addr_prefix(own, len));
}

bool doctor_has_route(const struct config *config, const struct wire_addr *addr)
{
	static const struct wire_addr none;
	const struct config_prefix link_local = {.addr = {{0xfe, 0x80}}, .len = 10};

	if (reaches(&link_local.addr, link_local.len, addr))
		return true;
	for (uint32_t d = 0; d < config->n_devices; d++) {
		const struct config_device *device = &config->devices[d];
		const struct wire_addr *router = wire_addr_is_v4(addr) ? &device->gateway4 : &device->gateway6;

		if (memcmp(router, &none, sizeof(none)) != 0)
			return true;
		for (uint32_t i = 0; i < device->n_addrs; i++) {
			if (reaches(&device->addrs[i].addr, device->addrs[i].len, addr))
				return true;
		}
		for (uint32_t p = 0; p < device->n_planes; p++) {
			for (uint32_t i = 0; i < device->planes[p].n_addrs; i++) {
				if (reaches(&device->planes[p].addrs[i].addr, device->planes[p].addrs[i].len, addr))
					return true;
			}
		}
	}
	return false;
}

uint64_t doctor_counter(const struct doctor_facts *facts, const char *name)
{
	for (uint32_t i = 0; i < facts->n_counters; i++) {
		if (!strcmp(facts->counters[i].name, name))
			return facts->counters[i].value;
	}
	return 0;
}

uint32_t doctor_read_cpus(const char *text, uint8_t set[DOCTOR_MAX_CPUS / 8])
{
	uint32_t n = 0;

	memset(set, 0, DOCTOR_MAX_CPUS / 8);
	for (const char *c = text; *c >= '0' && *c <= '9';) {
		char *end;
		unsigned long first = strtoul(c, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

		if (last >= DOCTOR_MAX_CPUS || first > last || (*end != ',' && *end != '\0' && *end != '\n'))
			return 0;
		for (unsigned long cpu = first; cpu <= last; cpu++) {
			n += (set[cpu / 8] >> cpu % 8 & 1) == 0;
			set[cpu / 8] |= (uint8_t)(1u << cpu % 8);
		}
		c = *end == ',' ? end + 1 : end;
	}
	return n;
}
