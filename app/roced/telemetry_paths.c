/* SPDX-License-Identifier: BSD-3-Clause */
/* /roced/paths: queue pairs that may use several paths. */
#include <errno.h>
#include <stdlib.h>

#include <rte_telemetry.h>

#include "telemetry.h"
#include "wire_addr.h"

#define MAX_QPS 48 /* queue pairs of one answer: DPDK's answers have at most 16 KiB */

struct answer {
	bool one;                  /* only the queue pair qpn */
	uint32_t qpn;
	uint32_t n;
	struct vd_qp_paths qps[MAX_QPS];
};

static void fill(struct roced *roced, void *arg)
{
	struct answer *answer = arg;
	uint32_t from = answer->one ? answer->qpn : 0, most = answer->one ? 1 : MAX_QPS;

	for (answer->n = 0; answer->n < most; answer->n++) {
		if (vd_next_paths(roced->vd, from, &answer->qps[answer->n]) != 0)
			break;
		from = answer->qps[answer->n].qpn + 1;
	}
	if (answer->one && answer->n != 0 && answer->qps[0].qpn != answer->qpn)
		answer->n = 0;
}

/* ---- DPDK's threads ---- */

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

static const char *qp_text(const struct vd_qp_paths *qp, enum qp_text text, char buf[WIRE_ADDR_TEXT_BYTES])
{
	if (text == DEVICE)
		return qp->device;
	if (text == SCHEDULER)
		return qp->paths.scheduler;
	if (text == CONTROLLER)
		return qp->paths.controller;
	return wire_addr_print(&qp->peer, buf);
}

static void put_qp(struct rte_tel_data *d, const struct vd_qp_paths *qp)
{
	char buf[WIRE_ADDR_TEXT_BYTES];

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
	uint64_t cells[RTE_DIM(paths->path)];
	int rc = 0;

	for (int column = 0; column < COLUMNS && rc == 0; column++) {
		for (uint32_t i = 0; i < paths->n; i++)
			cells[i] = cell(&paths->path[i], (enum column)column);
		rc = telemetry_put_numbers(d, names[column], cells, paths->n);
	}
	return rc;
}

static int put_list(struct rte_tel_data *d, const struct answer *answer)
{
	uint64_t cells[MAX_QPS];
	char bufs[MAX_QPS][WIRE_ADDR_TEXT_BYTES];
	const char *texts[MAX_QPS];
	int rc = 0;

	for (int column = 0; column < QP_COLUMNS && rc == 0; column++) {
		for (uint32_t i = 0; i < answer->n; i++)
			cells[i] = qp_cell(&answer->qps[i], (enum qp_column)column);
		rc = telemetry_put_numbers(d, qp_names[column], cells, answer->n);
	}
	for (int text = 0; text < QP_TEXTS && rc == 0; text++) {
		for (uint32_t i = 0; i < answer->n; i++)
			texts[i] = qp_text(&answer->qps[i], (enum qp_text)text, bufs[i]);
		rc = telemetry_put_texts(d, qp_text_names[text], texts, answer->n);
	}
	return rc;
}

static int put(struct rte_tel_data *d, const struct answer *answer)
{
	rte_tel_data_start_dict(d);
	if (!answer->one)
		return put_list(d, answer);
	if (answer->n == 0)
		return 0;
	put_qp(d, &answer->qps[0]);
	return put_paths(d, &answer->qps[0].paths);
}

static int on_paths(const char *cmd, const char *params, struct rte_tel_data *info)
{
	struct answer *answer = calloc(1, sizeof(*answer));
	int rc = answer != NULL ? telemetry_read_number(params, 0xffffff, &answer->qpn) : -ENOMEM;

	(void)cmd;
	if (rc == 0) {
		answer->one = params != NULL && params[0] != '\0';
		rc = telemetry_ask(fill, answer);
	}
	if (rc == 0)
		rc = put(info, answer);
	free(answer);
	return rc;
}

int telemetry_paths_start(void)
{
	return rte_telemetry_register_cmd("/roced/paths", on_paths,
		"Queue pairs that may use several paths; with a queue pair number: its paths");
}
