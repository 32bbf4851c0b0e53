/* SPDX-License-Identifier: BSD-3-Clause */
/* /roced/capture: packets, as pcapng, into a pipe of whoever asks. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rte_telemetry.h>

#include "capture.h"
#include "telemetry.h"

#define MAX_SECONDS 31536000u
#define NAMES_BYTES (CONFIG_MAX_PORTS * (CONFIG_NAME_BYTES + 1))

struct request {
	bool begin, end;
	struct capture_want want;
	char names[NAMES_BYTES]; /* of ports, a '+' between; "": all */
	bool ours;
	int rc;
	char why[CAPTURE_WHY_BYTES];
	struct capture_told told;
};

/* ---- main thread ---- */

/* Turns names into bits; false: one is no port's. */
static bool find_ports(const struct roced *roced, struct request *request)
{
	char *rest = request->names;

	for (char *name; (name = strsep(&rest, "+")) != NULL;) {
		int p = name[0] != '\0' ? config_find_port(&roced->config, name) : -1;

		if (p < 0) {
			snprintf(request->why, sizeof(request->why), "there is no port \"%.*s\"", CONFIG_NAME_BYTES,
				name);
			return false;
		}
		request->want.ports |= 1u << p;
	}
	return true;
}

static void fill(struct roced *roced, void *arg)
{
	struct request *request = arg;
	struct vd_qp_peer peer;

	if (request->end)
		capture_end(roced);
	if (request->begin && request->names[0] != '\0' && !find_ports(roced, request)) {
		close(request->want.fd);
		request->rc = -EINVAL;
	} else if (request->begin) {
		request->rc = capture_begin(roced, &request->want, request->why);
		request->ours = request->want.by_qp && vd_find_peer(roced->vd, request->want.qpn, &peer) == 0;
	}
	request->want.fd = -1;
	capture_tell(roced, &request->told);
}

/* ---- DPDK's threads ---- */

/* The pipe behind descriptor `number` of another process, opened anew; -1: it is none, or we may not have it. Only what
 * is known for a pipe is opened, for opening something else may do or wait for anything. */
static int fetch(long pid, long number)
{
	char path[64];
	struct stat st;
	int fd, at;

	snprintf(path, sizeof(path), "/proc/%ld/fd/%ld", pid, number);
	at = open(path, O_PATH | O_CLOEXEC);
	if (at < 0)
		return -1;
	if (fstat(at, &st) != 0 || !S_ISFIFO(st.st_mode)) {
		close(at);
		errno = ENOSTR;
		return -1;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", at);
	fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	close(at);
	return fd;
}

/* "begin,PID,FD,SECONDS,COUNT,SNAPLEN,DECRYPT,QPN or -,PORT+PORT or nothing" */
static bool parse(const char *params, struct request *request)
{
	struct capture_want *want = &request->want;
	unsigned long long seconds, count;
	unsigned snaplen, decrypt;
	long pid, number;
	char qpn[16], *end;
	int n = 0;

	if (sscanf(params, "begin,%ld,%ld,%llu,%llu,%u,%u,%15[-0-9a-fx],%n", &pid, &number, &seconds, &count, &snaplen,
		    &decrypt, qpn, &n) != 7 ||
		n == 0 || seconds > MAX_SECONDS || snaplen == 0 || snaplen > CAPTURE_MAX_SNAPLEN || decrypt > 1 ||
		strlen(params + n) >= sizeof(request->names))
		return false;
	want->by_qp = strcmp(qpn, "-") != 0;
	want->qpn = (uint32_t)strtoul(qpn, &end, 0);
	if (want->by_qp && (*end != '\0' || want->qpn > 0xffffff))
		return false;
	*want = (struct capture_want){.fd = fetch(pid, number),
		.by_qp = want->by_qp,
		.qpn = want->qpn,
		.decrypt = decrypt != 0,
		.snaplen = snaplen,
		.count = count,
		.seconds = seconds};
	strcpy(request->names, params + n);
	return true;
}

static void put(struct rte_tel_data *d, const struct request *request)
{
	rte_tel_data_start_dict(d);
	if (request->begin) {
		rte_tel_data_add_dict_u64(d, "begun", request->rc == 0);
		rte_tel_data_add_dict_string(d, "error", request->why);
		rte_tel_data_add_dict_u64(d, "qp_is_ours", request->ours);
	}
	rte_tel_data_add_dict_u64(d, "running", request->told.running);
	rte_tel_data_add_dict_u64(d, "captures", request->told.captures);
	rte_tel_data_add_dict_u64(d, "packets", request->told.packets);
	rte_tel_data_add_dict_u64(d, "missed", request->told.missed);
	rte_tel_data_add_dict_u64(d, "bytes", request->told.bytes);
	rte_tel_data_add_dict_string(d, "end", request->told.end);
}

static int on_capture(const char *cmd, const char *params, struct rte_tel_data *info)
{
	struct request request = {.want.fd = -1};
	int rc;

	(void)cmd;
	request.end = params != NULL && strcmp(params, "end") == 0;
	request.begin = params != NULL && strncmp(params, "begin,", 6) == 0;
	if (params != NULL && params[0] != '\0' && !request.end && (!request.begin || !parse(params, &request)))
		return -EINVAL;
	if (request.begin && request.want.fd < 0) {
		request.rc = -EBADF;
		snprintf(request.why, sizeof(request.why), "the pipe cannot be opened: %s", strerror(errno));
		put(info, &request);
		return 0;
	}
	rc = telemetry_ask(fill, &request);
	if (rc == 0)
		put(info, &request);
	else if (request.want.fd >= 0)
		close(request.want.fd);
	return rc;
}

int telemetry_capture_start(void)
{
	return rte_telemetry_register_cmd("/roced/capture", on_capture,
		"The capture of packets that runs, or ran last; \"end\" ends it; \"begin\": see docs/capture.md");
}
