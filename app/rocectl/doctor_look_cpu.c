/* SPDX-License-Identifier: BSD-3-Clause */
/* Who uses the CPUs of workers: threads of the daemon and CPUs are looked at twice. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "doctor.h"

#define MS_NS 1000000ll

struct sample {
	int64_t at_ns;
	int64_t daemon_ns;                   /* CPU time of all its threads */
	int64_t wait_ns[CONFIG_MAX_WORKERS]; /* of workers; -1: no such thread */
	int64_t busy_ns[DOCTOR_MAX_CPUS];    /* of each CPU */
};

static int64_t tick_ns(void)
{
	return 1000000000ll / sysconf(_SC_CLK_TCK);
}

static void sample_cpus(struct sample *sample)
{
	FILE *f = fopen("/proc/stat", "re");
	char line[512];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		unsigned long long user, nice, system, idle, iowait, irq, softirq, steal;
		unsigned cpu;

		if (sscanf(line, "cpu%u %llu %llu %llu %llu %llu %llu %llu %llu", &cpu, &user, &nice, &system, &idle,
			    &iowait, &irq, &softirq, &steal) == 9 &&
			cpu < DOCTOR_MAX_CPUS)
			sample->busy_ns[cpu] = (int64_t)(user + nice + system + irq + softirq + steal) * tick_ns();
	}
	if (f != NULL)
		fclose(f);
}

/* DPDK calls the thread of lcore 3 "lcore-worker-3"; main is the first thread. */
static void sample_thread(struct sample *sample, const struct config *config, const char *dir)
{
	char path[PATH_MAX], name[32] = "";
	unsigned long long ran = 0, waited = 0;
	unsigned lcore;
	FILE *f;

	snprintf(path, sizeof(path), "%s/schedstat", dir);
	f = fopen(path, "re");
	if (f == NULL || fscanf(f, "%llu %llu", &ran, &waited) != 2)
		waited = 0;
	if (f != NULL)
		fclose(f);
	sample->daemon_ns += (int64_t)ran;
	snprintf(path, sizeof(path), "%s/comm", dir);
	f = fopen(path, "re");
	if (f != NULL && fscanf(f, "%31s", name) != 1)
		name[0] = '\0';
	if (f != NULL)
		fclose(f);
	if (sscanf(name, "lcore-worker-%u", &lcore) != 1)
		return;
	for (uint32_t w = 0; w < config->n_workers; w++) {
		if (config->workers[w].lcore == lcore)
			sample->wait_ns[w] = (int64_t)waited;
	}
}

static void take(struct sample *sample, const struct doctor_facts *facts)
{
	char dir[64], path[64 + NAME_MAX + 2];
	struct dirent *entry;
	struct timespec now;
	DIR *threads = NULL;

	memset(sample, 0, sizeof(*sample));
	for (uint32_t w = 0; w < CONFIG_MAX_WORKERS; w++)
		sample->wait_ns[w] = -1;
	snprintf(dir, sizeof(dir), "/proc/%ld/task", facts->pid);
	if (facts->pid != 0)
		threads = opendir(dir);
	while (threads != NULL && (entry = readdir(threads)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		if (entry->d_name[0] != '.')
			sample_thread(sample, facts->config, path);
	}
	if (threads != NULL)
		closedir(threads);
	sample_cpus(sample);
	clock_gettime(CLOCK_MONOTONIC, &now);
	sample->at_ns = now.tv_sec * 1000000000ll + now.tv_nsec;
}

static int permille(int64_t part, int64_t whole)
{
	int64_t n = whole > 0 ? part * 1000 / whole : 0;

	return n < 0 ? 0 : n > 1000 ? 1000 : (int)n;
}

void doctor_look_cpus(struct doctor_facts *facts, unsigned sample_ms)
{
	const struct timespec wait = {.tv_sec = sample_ms / 1000, .tv_nsec = sample_ms % 1000 * MS_NS};
	static struct sample before, after;
	int64_t ns;

	take(&before, facts);
	nanosleep(&wait, NULL);
	take(&after, facts);
	ns = after.at_ns - before.at_ns;
	for (uint32_t w = 0; w < facts->config->n_workers; w++) {
		struct doctor_worker *worker = &facts->workers[w];
		int64_t busy = 0;

		for (size_t cpu = 0; cpu < DOCTOR_MAX_CPUS; cpu++) {
			if ((worker->cpus[cpu / 8] >> cpu % 8 & 1) != 0)
				busy += after.busy_ns[cpu] - before.busy_ns[cpu];
		}
		worker->other_permille = permille(busy - (after.daemon_ns - before.daemon_ns), ns * worker->n_cpus);
		worker->wait_permille = before.wait_ns[w] >= 0 && after.wait_ns[w] >= 0
						? permille(after.wait_ns[w] - before.wait_ns[w], ns)
						: -1;
	}
}
