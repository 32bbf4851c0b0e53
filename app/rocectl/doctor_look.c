/* SPDX-License-Identifier: BSD-3-Clause */
/* What the machine tells: files below /proc and /sys. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "doctor.h"
#include "net_driver.h"

#define CAP_IPC_LOCK_BIT 14
#define CLOCK_FILE       "/sys/devices/system/clocksource/clocksource0/current_clocksource"
#define HUGE_DIR         "/sys/kernel/mm/hugepages"
#define SECOND_NS        1000000000ll

static bool read_line(const char *path, char *out, size_t n)
{
	FILE *f = fopen(path, "re");
	bool ok = f != NULL && fgets(out, (int)n, f) != NULL;

	if (f != NULL)
		fclose(f);
	if (ok)
		out[strcspn(out, "\n")] = '\0';
	return ok;
}

static int64_t read_number(const char *path)
{
	char line[64];

	return read_line(path, line, sizeof(line)) ? strtoll(line, NULL, 0) : -1;
}

/* ---- the daemon's process ---- */

/* The value of -c among the words of a command line, which end with '\0' each. */
static const char *config_arg(const char *words, size_t n)
{
	for (const char *word = words; word < words + n; word += strlen(word) + 1) {
		const char *next = word + strlen(word) + 1;

		if ((!strcmp(word, "-c") || !strcmp(word, "--config")) && next < words + n)
			return next;
		if (!strncmp(word, "--config=", 9))
			return word + 9;
		if (!strncmp(word, "-c", 2) && word[2] != '\0')
			return word + 2;
	}
	return NULL;
}

bool doctor_find_file(long pid, char *out, size_t n)
{
	char path[64], words[4096];
	const char *file;
	ssize_t got = -1;
	int fd, len;

	snprintf(path, sizeof(path), "/proc/%ld/cmdline", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		got = read(fd, words, sizeof(words) - 1);
		close(fd);
	}
	if (got <= 0)
		return false;
	words[got] = '\0';
	file = config_arg(words, (size_t)got);
	if (file == NULL)
		return false;
	if (file[0] == '/' && access(file, R_OK) == 0)
		len = snprintf(out, n, "%s", file);
	else
		len = snprintf(out, n, file[0] == '/' ? "/proc/%ld/root%s" : "/proc/%ld/cwd/%s", pid, file);
	return len > 0 && (size_t)len < n && access(out, R_OK) == 0;
}

/* When the process began, in real time; -1: unknown. */
static int64_t start_ns(long pid)
{
	char path[64], line[1024], *c;
	unsigned long long ticks = 0;
	struct timespec real, boot;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	if (!read_line(path, line, sizeof(line)))
		return -1;
	c = strrchr(line, ')'); /* the name may hold anything */
	if (c == NULL ||
		sscanf(c + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
			&ticks) != 1)
		return -1;
	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_BOOTTIME, &boot);
	return (real.tv_sec - boot.tv_sec) * SECOND_NS + real.tv_nsec - boot.tv_nsec +
	       (int64_t)ticks * (SECOND_NS / sysconf(_SC_CLK_TCK));
}

static int file_is_newer(const char *file, long pid)
{
	int64_t started = start_ns(pid);
	struct stat st;

	if (started < 0 || stat(file, &st) != 0)
		return -1;
	return st.st_mtim.tv_sec * SECOND_NS + st.st_mtim.tv_nsec > started + SECOND_NS;
}

static void look_memlock(struct doctor_facts *facts)
{
	char path[64], line[256];
	unsigned long long soft, caps;
	FILE *f;

	facts->memlock_bytes = -1;
	snprintf(path, sizeof(path), facts->pid != 0 ? "/proc/%ld/limits" : "/proc/self/limits", facts->pid);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (!strncmp(line, "Max locked memory", 17))
			facts->memlock_bytes = sscanf(line + 17, " %llu", &soft) == 1 ? (int64_t)soft : INT64_MAX;
	}
	if (f != NULL)
		fclose(f);
	snprintf(path, sizeof(path), facts->pid != 0 ? "/proc/%ld/status" : "/proc/self/status", facts->pid);
	f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "CapEff: %llx", &caps) == 1)
			facts->may_lock = (caps >> CAP_IPC_LOCK_BIT & 1) != 0;
	}
	if (f != NULL)
		fclose(f);
}

/* ---- memory ---- */

static void look_hugepages(struct doctor_facts *facts)
{
	DIR *dir = opendir(HUGE_DIR);
	struct dirent *entry;
	char path[sizeof(HUGE_DIR) + NAME_MAX + 32];

	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), HUGE_DIR "/%s/nr_hugepages", entry->d_name);
		facts->huge_pages += read_number(path);
		snprintf(path, sizeof(path), HUGE_DIR "/%s/free_hugepages", entry->d_name);
		facts->huge_free += read_number(path);
	}
	if (dir != NULL)
		closedir(dir);
}

/* ---- NUMA ---- */

static void look_numa(struct doctor_facts *facts)
{
	uint8_t set[DOCTOR_MAX_CPUS / 8];
	char path[80], line[1024];

	for (int node = 0; node < 64; node++) {
		snprintf(path, sizeof(path), "/sys/devices/system/node/node%d/cpulist", node);
		if (!read_line(path, line, sizeof(line)))
			continue;
		facts->numa_nodes++;
		(void)doctor_read_cpus(line, set);
		for (uint32_t w = 0; w < facts->config->n_workers; w++) {
			struct doctor_worker *worker = &facts->workers[w];
			bool here = false;

			for (size_t i = 0; i < sizeof(set); i++)
				here |= (set[i] & worker->cpus[i]) != 0;
			if (here)
				worker->numa_node = worker->numa_node == -1 ? node : -2;
		}
	}
	for (uint32_t p = 0; p < facts->config->n_ports; p++) {
		char name[32];

		facts->pci_numa_node[p] = -1;
		if (!net_is_pci(facts->config->ports[p].device))
			continue;
		net_device_name(facts->config->ports[p].device, name, sizeof(name));
		snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s%.20s/numa_node", strlen(name) < 12 ? "0000:" : "",
			name);
		facts->pci_numa_node[p] = (int)read_number(path);
	}
}

static void look_workers(struct doctor_facts *facts)
{
	uint8_t isolated[DOCTOR_MAX_CPUS / 8] = {0};
	char line[1024];

	if (read_line("/sys/devices/system/cpu/isolated", line, sizeof(line)))
		(void)doctor_read_cpus(line, isolated);
	for (uint32_t w = 0; w < facts->config->n_workers; w++) {
		const struct config_worker *config = &facts->config->workers[w];
		struct doctor_worker *worker = &facts->workers[w];
		char own[16];

		snprintf(own, sizeof(own), "%u", config->lcore);
		worker->n_cpus = doctor_read_cpus(config->cpus[0] != '\0' ? config->cpus : own, worker->cpus);
		worker->isolated = true;
		for (size_t i = 0; i < sizeof(isolated); i++)
			worker->isolated &= (worker->cpus[i] & ~isolated[i]) == 0;
		worker->numa_node = -1;
	}
}

void doctor_look(struct doctor_facts *facts, unsigned sample_ms)
{
	if (!read_line(CLOCK_FILE, facts->clock_source, sizeof(facts->clock_source)))
		facts->clock_source[0] = '\0';
	facts->file_is_newer = facts->pid != 0 && facts->file[0] != '\0' ? file_is_newer(facts->file, facts->pid) : -1;
	look_memlock(facts);
	look_hugepages(facts);
	if (facts->config == NULL)
		return;
	look_workers(facts);
	look_numa(facts);
	doctor_look_ifaces(facts);
	doctor_look_cpus(facts, sample_ms);
}
