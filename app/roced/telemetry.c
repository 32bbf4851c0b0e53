/* SPDX-License-Identifier: BSD-3-Clause */
#include "telemetry.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <rte_telemetry.h>

#include "log.h"
#include "telemetry_ports.h"
#include "telemetry_xdp.h"
#include "worker.h"

#define MAX_QPS      48   /* queue pairs of one answer: DPDK's answers have at most 16 KiB */
#define MAX_COUNTERS 128
#define WAIT_S       1

enum question { ASK_LIST, ASK_ONE, ASK_COUNTERS, ASK_PORTS, ASK_XDP };

struct named {
	const char *name;
	uint64_t value;
};

/* One question at a time; `asking` is held by who asks, the rest is under `lock`. */
static struct {
	pthread_mutex_t asking, lock;
	pthread_cond_t answered;
	int fd;
	bool open;                 /* the main thread answers */
	bool waiting, done;
	enum question question;
	uint32_t qpn;
	uint32_t n_qps, n_counters, n_ports;
	struct vd_qp_paths qps[MAX_QPS];
	struct named counters[MAX_COUNTERS];
	struct told_port ports[CONFIG_MAX_PORTS];
	uint32_t n_xdp;
	struct told_xdp xdp[CONFIG_MAX_PORTS];
} box = {.asking = PTHREAD_MUTEX_INITIALIZER, .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1};

/* ---- main thread ---- */

static void find_paths(struct roced *roced)
{
	uint32_t from = box.question == ASK_ONE ? box.qpn : 0, most = box.question == ASK_ONE ? 1 : MAX_QPS;

	for (box.n_qps = 0; box.n_qps < most; box.n_qps++) {
		if (vd_next_paths(roced->vd, from, &box.qps[box.n_qps]) != 0)
			break;
		from = box.qps[box.n_qps].qpn + 1;
	}
	if (box.question == ASK_ONE && box.n_qps != 0 && box.qps[0].qpn != box.qpn)
		box.n_qps = 0;
}

static void add(const char *name, uint64_t value)
{
	if (box.n_counters < MAX_COUNTERS)
		box.counters[box.n_counters++] = (struct named){name, value};
}

/* The workers write theirs all the time; each is read as it is. */
static void sum_transport(const struct roced *roced, struct tp_counters *sum)
{
	uint64_t *to = (uint64_t *)(void *)sum;

	static_assert(sizeof(*sum) % sizeof(*to) == 0, "counters only");
	memset(sum, 0, sizeof(*sum));
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		const uint64_t *from = (const uint64_t *)(const void *)tp_counters(roced->workers[w]->tp);

		for (size_t i = 0; i < sizeof(*sum) / sizeof(*to); i++)
			to[i] += from[i];
	}
}

static void find_counters(const struct roced *roced)
{
	struct tp_counters c;
	struct vd_stats s;

	box.n_counters = 0;
	sum_transport(roced, &c);
	vd_stats(roced->vd, &s);
#define ADD(of, field) add(#field, (of).field)
	ADD(c, rx_pkts);
	ADD(c, tx_pkts);
	ADD(c, rx_bytes);
	ADD(c, tx_bytes);
	ADD(c, retransmits);
	ADD(c, ack_timeouts);
	ADD(c, duplicates);
	ADD(c, rnr_naks_sent);
	ADD(c, rnr_naks_received);
	ADD(c, seq_naks_sent);
	ADD(c, seq_naks_received);
	ADD(c, other_naks_sent);
	ADD(c, reordered);
	ADD(c, merged_sent);
	ADD(c, merged_received);
	ADD(c, merged_messages);
	ADD(c, sacks_sent);
	ADD(c, sacks_received);
	ADD(c, probes);
	ADD(c, moves);
	ADD(c, unagreed);
	ADD(s, sessions);
	ADD(s, contexts);
	ADD(s, qps);
	ADD(s, cm_ids);
	ADD(s, requests);
	ADD(s, bad_requests);
	ADD(s, at_limit);
	ADD(s, multipath_offered);
	ADD(s, multipath_agreed);
	ADD(s, multipath_listed);
	ADD(s, multipath_left);
	ADD(s, multipath_mismatches);
#undef ADD
	for (uint32_t r = 1; r < BASE_DROP_COUNT; r++) {
		if (c.drops[r] != 0)
			add(base_drop_name(r), c.drops[r]);
	}
}

int telemetry_fd(void)
{
	return box.fd;
}

void telemetry_serve(struct roced *roced)
{
	eventfd_t count;

	eventfd_read(box.fd, &count);
	pthread_mutex_lock(&box.lock);
	if (box.waiting && !box.done) {
		if (box.question == ASK_COUNTERS)
			find_counters(roced);
		else if (box.question == ASK_PORTS)
			box.n_ports = telemetry_fill_ports(roced, box.ports);
		else if (box.question == ASK_XDP)
			box.n_xdp = telemetry_fill_xdp(roced, box.xdp);
		else
			find_paths(roced);
		box.done = true;
		pthread_cond_signal(&box.answered);
	}
	pthread_mutex_unlock(&box.lock);
}

/* ---- DPDK's threads ---- */

/* Asks; 0 when the box has the answer, which the caller then holds until give_back(). */
static int ask(enum question question, uint32_t qpn)
{
	struct timespec until;
	int rc = 0;

	pthread_mutex_lock(&box.asking);
	pthread_mutex_lock(&box.lock);
	if (!box.open)
		return -ESHUTDOWN;
	box.question = question;
	box.qpn = qpn;
	box.done = false;
	box.waiting = true;
	eventfd_write(box.fd, 1);
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += WAIT_S;
	while (!box.done && box.open && rc == 0)
		rc = pthread_cond_timedwait(&box.answered, &box.lock, &until);
	box.waiting = false;
	return box.done ? 0 : -ETIMEDOUT;
}

static void give_back(void)
{
	pthread_mutex_unlock(&box.lock);
	pthread_mutex_unlock(&box.asking);
}

/* What is told of a queue pair: one column a number, beside four texts. DPDK's answers nest arrays but no objects. */
enum qp_column { QPN, PEER_QPN, PID, EVS, EVS_USED, EVS_ALIVE, QP_RTT, WINDOW, QP_SENT, IN_ORDER, WINDOW_BYTES,
	RATE, QP_COLUMNS };

static const char *const qp_names[QP_COLUMNS] = {
	"qpn", "peer_qpn", "pid", "evs", "evs_used", "evs_alive", "rtt_ns", "window_packets", "sent_packets",
	"in_order", "window_bytes", "rate_bps"};

static uint64_t qp_cell(const struct vd_qp_paths *qp, enum qp_column column)
{
	uint64_t sent = 0, alive = 0, used = 0;

	for (uint32_t i = 0; i < qp->paths.n; i++) {
		sent += qp->paths.path[i].sent;
		used += qp->paths.path[i].sent != 0;
		alive += qp->paths.path[i].stats.alive;
	}
	switch (column) {
	case QPN:
		return qp->qpn;
	case PEER_QPN:
		return qp->peer_qpn;
	case PID:
		return (uint64_t)qp->pid;
	case EVS:
		return qp->paths.n;
	case EVS_USED:
		return used;
	case EVS_ALIVE:
		return alive;
	case QP_RTT:
		return qp->paths.srtt_ns;
	case WINDOW:
		return qp->paths.window;
	case IN_ORDER:
		return qp->paths.in_order;
	case WINDOW_BYTES:
		return qp->paths.window_bytes;
	case RATE:
		return qp->paths.rate_bps;
	default:
		return sent;
	}
}

enum qp_text { PEER, DEVICE, SCHEDULER, CONTROLLER, QP_TEXTS };

static const char *const qp_text_names[QP_TEXTS] = {"peer", "device", "scheduler", "controller"};

static const char *qp_text(const struct vd_qp_paths *qp, enum qp_text text, char buf[INET6_ADDRSTRLEN])
{
	if (text == DEVICE)
		return qp->device;
	if (text == SCHEDULER)
		return qp->paths.scheduler;
	if (text == CONTROLLER)
		return qp->paths.controller;
	if (wire_addr_is_v4(&qp->peer))
		return inet_ntop(AF_INET, &qp->peer.b[12], buf, INET6_ADDRSTRLEN);
	return inet_ntop(AF_INET6, qp->peer.b, buf, INET6_ADDRSTRLEN);
}

static void put_qp(struct rte_tel_data *d, const struct vd_qp_paths *qp)
{
	char buf[INET6_ADDRSTRLEN];

	for (int column = 0; column < QP_COLUMNS; column++)
		rte_tel_data_add_dict_u64(d, qp_names[column], qp_cell(qp, (enum qp_column)column));
	for (int text = 0; text < QP_TEXTS; text++)
		rte_tel_data_add_dict_string(d, qp_text_names[text], qp_text(qp, (enum qp_text)text, buf));
}

enum column { UDP_PORT, RTT, MIN_RTT, ECN, LOSS, PENALTY, ALIVE, SENT, COLUMNS };

static uint64_t cell(const struct tp_path *path, enum column column)
{
	switch (column) {
	case UDP_PORT:
		return path->udp_sport;
	case RTT:
		return path->stats.srtt_ns;
	case MIN_RTT:
		return path->stats.min_rtt_ns;
	case ECN:
		return path->stats.ecn_percent;
	case LOSS:
		return path->stats.loss_percent;
	case PENALTY:
		return path->stats.penalty;
	case ALIVE:
		return path->stats.alive;
	default:
		return path->sent;
	}
}

static int put_paths(struct rte_tel_data *d, const struct tp_paths *paths)
{
	static const char *const names[COLUMNS] = {"udp_port", "path_rtt_ns", "min_rtt_ns", "ecn_percent",
		"loss_percent", "penalty", "alive", "sent"};

	for (int column = 0; column < COLUMNS; column++) {
		struct rte_tel_data *array = rte_tel_data_alloc();

		if (array == NULL)
			return -ENOMEM;
		rte_tel_data_start_array(array, RTE_TEL_U64_VAL);
		for (uint32_t i = 0; i < paths->n; i++)
			rte_tel_data_add_array_u64(array, cell(&paths->path[i], (enum column)column));
		rte_tel_data_add_dict_container(d, names[column], array, 0);
	}
	return 0;
}

static int put_list(struct rte_tel_data *info)
{
	struct rte_tel_data *array;
	char buf[INET6_ADDRSTRLEN];

	for (int column = 0; column < QP_COLUMNS; column++) {
		array = rte_tel_data_alloc();
		if (array == NULL)
			return -ENOMEM;
		rte_tel_data_start_array(array, RTE_TEL_U64_VAL);
		for (uint32_t i = 0; i < box.n_qps; i++)
			rte_tel_data_add_array_u64(array, qp_cell(&box.qps[i], (enum qp_column)column));
		rte_tel_data_add_dict_container(info, qp_names[column], array, 0);
	}
	for (int text = 0; text < QP_TEXTS; text++) {
		array = rte_tel_data_alloc();
		if (array == NULL)
			return -ENOMEM;
		rte_tel_data_start_array(array, RTE_TEL_STRING_VAL);
		for (uint32_t i = 0; i < box.n_qps; i++)
			rte_tel_data_add_array_string(array, qp_text(&box.qps[i], (enum qp_text)text, buf));
		rte_tel_data_add_dict_container(info, qp_text_names[text], array, 0);
	}
	return 0;
}

static int on_paths(const char *cmd, const char *params, struct rte_tel_data *info)
{
	bool one = params != NULL && params[0] != '\0';
	unsigned long qpn = 0;
	char *end;
	int rc;

	(void)cmd;
	if (one) {
		qpn = strtoul(params, &end, 0);
		if (*end != '\0' || qpn > 0xffffff)
			return -EINVAL;
	}
	rc = ask(one ? ASK_ONE : ASK_LIST, (uint32_t)qpn);
	if (rc == 0)
		rte_tel_data_start_dict(info);
	if (rc == 0 && !one) {
		rc = put_list(info);
	} else if (rc == 0) {
		if (box.n_qps != 0)
			put_qp(info, &box.qps[0]);
		rc = box.n_qps != 0 ? put_paths(info, &box.qps[0].paths) : 0;
	}
	give_back();
	return rc;
}

static int on_counters(const char *cmd, const char *params, struct rte_tel_data *info)
{
	int rc = ask(ASK_COUNTERS, 0);

	(void)cmd;
	(void)params;
	if (rc == 0) {
		rte_tel_data_start_dict(info);
		for (uint32_t i = 0; i < box.n_counters; i++)
			rte_tel_data_add_dict_u64(info, box.counters[i].name, box.counters[i].value);
	}
	give_back();
	return rc;
}

static int on_ports(const char *cmd, const char *params, struct rte_tel_data *info)
{
	int rc = ask(ASK_PORTS, 0);

	(void)cmd;
	if (rc == 0) {
		rte_tel_data_start_dict(info);
		rc = telemetry_put_ports(info, box.ports, box.n_ports, params != NULL && params[0] != '\0' ? params : NULL);
	}
	give_back();
	return rc;
}

static int on_xdp(const char *cmd, const char *params, struct rte_tel_data *info)
{
	int rc = ask(ASK_XDP, 0);

	(void)cmd;
	(void)params;
	if (rc == 0) {
		rte_tel_data_start_dict(info);
		rc = telemetry_put_xdp(info, box.xdp, box.n_xdp);
	}
	give_back();
	return rc;
}

/* ---- start and stop ---- */

int telemetry_start(struct roced *roced)
{
	int rc;

	if (!roced->config.control.telemetry)
		return 0;
	pthread_cond_init(&box.answered, NULL);
	box.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (box.fd < 0)
		return -errno;
	box.open = true;
	rc = rte_telemetry_register_cmd("/roced/paths", on_paths,
		"Queue pairs that may use several paths; with a queue pair number: its paths");
	if (rc == 0)
		rc = rte_telemetry_register_cmd("/roced/counters", on_counters, "Counters of all workers together");
	if (rc == 0)
		rc = rte_telemetry_register_cmd("/roced/ports", on_ports,
			"Ports and who sees to their pauses; with a port's name: pauses by priority");
	if (rc == 0)
		rc = rte_telemetry_register_cmd("/roced/xdp", on_xdp, "Frames that XDP programs of ports saw, by kind");
	if (rc != 0)
		log_line(LOG_ERR, "telemetry: %s", strerror(-rc));
	return rc;
}

void telemetry_stop(void)
{
	pthread_mutex_lock(&box.lock);
	box.open = false;
	if (box.fd >= 0)
		pthread_cond_broadcast(&box.answered);
	pthread_mutex_unlock(&box.lock);
}
