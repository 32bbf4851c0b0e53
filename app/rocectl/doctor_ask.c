/* SPDX-License-Identifier: BSD-3-Clause */
/* What the daemon tells by telemetry. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "doctor.h"
#include "telemetry.h"
#include "wire_addr.h"

#define ROWS         64
#define ASK_AGAIN_MS 150
#define ASK_MS       7000 /* three requests for a neighbour a second apart, and echoes */
#define MS           1000000l

static char answer[TELEMETRY_ANSWER_BYTES];
static char texts[TELEMETRY_TEXT_BYTES][TELEMETRY_TEXT_BYTES];
static uint64_t numbers[ROWS];

/* Asks; where the answer ends, NULL: there is none. */
static const char *ask(int fd, const char *question)
{
	return telemetry_ask(fd, question, answer) == 0 ? answer + strlen(answer) : NULL;
}

/* Copies a column of texts into the field at `at` of rows of `stride` bytes; rows beyond `most` are left out. How many.
 */
static size_t text_column(const char *end, const char *name, void *at, size_t bytes, size_t stride, size_t most)
{
	size_t n = telemetry_texts(answer, end, name, texts, most < ROWS ? most : ROWS);

	for (size_t i = 0; i < n; i++)
		snprintf((char *)at + i * stride, bytes, "%.*s", (int)bytes - 1, texts[i]);
	return n;
}

static size_t number_column(const char *end, const char *name, void *at, size_t stride, size_t most)
{
	size_t n = telemetry_numbers(answer, end, name, numbers, most < ROWS ? most : ROWS);

	for (size_t i = 0; i < n; i++)
		memcpy((char *)at + i * stride, &numbers[i], sizeof(numbers[i]));
	return n;
}

#define TEXTS(name, rows, field, most)                                                                                 \
	text_column(end, name, (rows)->field, sizeof((rows)->field), sizeof(*(rows)), most)
#define NUMBERS(name, rows, field, most) number_column(end, name, &(rows)->field, sizeof(*(rows)), most)

static void ask_ports(int fd, struct doctor_facts *facts)
{
	const char *end = ask(fd, "/roced/ports");
	uint64_t up[CONFIG_MAX_PORTS];

	if (end == NULL)
		return;
	facts->n_ports = (uint32_t)TEXTS("port", facts->ports, name, CONFIG_MAX_PORTS);
	TEXTS("pfc", facts->ports, pfc, CONFIG_MAX_PORTS);
	NUMBERS("speed_mbps", facts->ports, speed_mbps, CONFIG_MAX_PORTS);
	for (size_t i = telemetry_numbers(answer, end, "up", up, CONFIG_MAX_PORTS); i > 0; i--)
		facts->ports[i - 1].up = up[i - 1] != 0;
}

static void ask_neighbours(int fd, struct doctor_facts *facts)
{
	uint64_t all = 1;

	while (facts->n_neighbours < DOCTOR_MAX_NEIGHBOURS && facts->n_neighbours < all) {
		struct doctor_neighbour *rows = &facts->neighbours[facts->n_neighbours];
		size_t most = DOCTOR_MAX_NEIGHBOURS - facts->n_neighbours, n;
		char question[40];
		const char *end;

		snprintf(question, sizeof(question), "/roced/neighbours,%u", facts->n_neighbours);
		end = ask(fd, question);
		if (end == NULL)
			return;
		all = telemetry_number(answer, end, "neighbours");
		n = TEXTS("address", rows, address, most);
		TEXTS("port", rows, port, most);
		TEXTS("local", rows, local, most);
		TEXTS("state", rows, state, most);
		NUMBERS("users", rows, users, most);
		if (n == 0)
			return;
		facts->n_neighbours += (uint32_t)n;
	}
}

static void ask_qps(int fd, struct doctor_facts *facts)
{
	const char *end = ask(fd, "/roced/paths");
	uint64_t in_order[DOCTOR_MAX_QPS];

	if (end == NULL)
		return;
	facts->n_qps = (uint32_t)NUMBERS("qpn", facts->qps, qpn, DOCTOR_MAX_QPS);
	TEXTS("peer", facts->qps, peer, DOCTOR_MAX_QPS);
	TEXTS("device", facts->qps, device, DOCTOR_MAX_QPS);
	NUMBERS("sent_packets", facts->qps, sent, DOCTOR_MAX_QPS);
	NUMBERS("evs", facts->qps, evs, DOCTOR_MAX_QPS);
	NUMBERS("evs_used", facts->qps, evs_used, DOCTOR_MAX_QPS);
	NUMBERS("evs_alive", facts->qps, evs_alive, DOCTOR_MAX_QPS);
	for (size_t i = telemetry_numbers(answer, end, "in_order", in_order, DOCTOR_MAX_QPS); i > 0; i--)
		facts->qps[i - 1].in_order = in_order[i - 1] != 0;
}

static void ask_alarms(int fd, struct doctor_facts *facts)
{
	uint64_t all = 1, active[DOCTOR_MAX_ALARMS];

	while (facts->n_alarms < DOCTOR_MAX_ALARMS && facts->n_alarms < all) {
		struct doctor_alarm *rows = &facts->alarms[facts->n_alarms];
		size_t most = DOCTOR_MAX_ALARMS - facts->n_alarms, n;
		char question[40];
		const char *end;

		snprintf(question, sizeof(question), "/roced/alarms,%u", facts->n_alarms);
		end = ask(fd, question);
		if (end == NULL)
			return;
		all = telemetry_number(answer, end, "alarms");
		n = TEXTS("alarm", rows, kind, most);
		TEXTS("subject", rows, subject, most);
		TEXTS("text", rows, text, most);
		NUMBERS("count", rows, count, most);
		NUMBERS("last_s_ago", rows, last_s_ago, most);
		for (size_t i = telemetry_numbers(answer, end, "active", active, most); i > 0; i--)
			rows[i - 1].active = active[i - 1] != 0;
		if (n == 0)
			return;
		facts->n_alarms += (uint32_t)n;
	}
}

/* All pairs of a name and a number of the one object in the answer. */
static void ask_counters(int fd, struct doctor_facts *facts)
{
	const char *end = ask(fd, "/roced/counters"),
		   *c = end != NULL ? telemetry_member(answer, end, "/roced/counters") : NULL;

	while (c != NULL && c < end && (*c == '{' || *c == ',') && facts->n_counters < DOCTOR_MAX_COUNTERS) {
		struct doctor_counter *counter = &facts->counters[facts->n_counters];
		char *next;
		int n = 0;

		if (sscanf(c + 1, "\"%47[^\"]\":%n", counter->name, &n) != 1 || n == 0)
			return;
		counter->value = strtoull(c + 1 + n, &next, 10);
		facts->n_counters++;
		c = next;
	}
}

/* ---- hosts ---- */

/* Whom queue pairs here talk to is worth a try as well. */
static void add_peers(struct doctor_facts *facts)
{
	for (uint32_t i = 0; i < facts->n_qps && facts->n_hosts < DOCTOR_MAX_HOSTS; i++) {
		struct doctor_host *host = &facts->hosts[facts->n_hosts];
		bool there = false;

		for (uint32_t h = 0; h < facts->n_hosts; h++)
			there |= !strcmp(facts->hosts[h].address, facts->qps[i].peer);
		if (there || !wire_addr_read(facts->qps[i].peer, &host->addr))
			continue;
		memcpy(host->address, facts->qps[i].peer, sizeof(host->address));
		facts->n_hosts++;
	}
}

/* True when it is known whether it can be reached. */
static bool ask_host(int fd, struct doctor_host *host)
{
	char question[DOCTOR_NAME_BYTES + 16];
	const char *end;

	snprintf(question, sizeof(question), "/roced/reach,%s", host->address);
	end = ask(fd, question);
	if (end == NULL || telemetry_member(answer, end, "route") == NULL)
		return false;
	host->tried = true;
	telemetry_text(answer, end, "route", host->route, sizeof(host->route));
	telemetry_text(answer, end, "device", host->device, sizeof(host->device));
	telemetry_text(answer, end, "port", host->port, sizeof(host->port));
	telemetry_text(answer, end, "local", host->local, sizeof(host->local));
	telemetry_text(answer, end, "next_hop", host->next_hop, sizeof(host->next_hop));
	telemetry_text(answer, end, "neighbour", host->neighbour, sizeof(host->neighbour));
	host->no_echo = telemetry_number(answer, end, "no_echo") != 0;
	host->short_sent = telemetry_number(answer, end, "short_sent");
	host->short_answered = telemetry_number(answer, end, "short_answered");
	host->long_bytes = telemetry_number(answer, end, "long_bytes");
	host->long_sent = telemetry_number(answer, end, "long_sent");
	host->long_answered = telemetry_number(answer, end, "long_answered");
	host->rtt_ns = telemetry_number(answer, end, "rtt_ns");
	host->complete = telemetry_number(answer, end, "done") != 0;
	return host->complete;
}

static void try_hosts(int fd, struct doctor_facts *facts)
{
	const struct timespec wait = {.tv_nsec = ASK_AGAIN_MS * MS};
	uint32_t left = facts->n_hosts;

	for (int ms = 0; left != 0 && ms < ASK_MS; ms += ASK_AGAIN_MS) {
		left = 0;
		for (uint32_t i = 0; i < facts->n_hosts; i++)
			left += !facts->hosts[i].complete && !ask_host(fd, &facts->hosts[i]);
		if (left != 0)
			nanosleep(&wait, NULL);
	}
}

void doctor_ask(int fd, struct doctor_facts *facts)
{
	facts->daemon = true;
	ask_ports(fd, facts);
	ask_qps(fd, facts);
	add_peers(facts);
	try_hosts(fd, facts);
	ask_neighbours(fd, facts);
	ask_alarms(fd, facts);
	ask_counters(fd, facts);
}

long doctor_find_pid(int fd)
{
	struct ucred peer = {0};
	socklen_t n = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) == 0 ? (long)peer.pid : 0;
}
