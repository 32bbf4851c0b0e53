/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks of rocectl top, and what has happened between two of them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "listing.h"
#include "telemetry.h"
#include "top.h"

/* ---- looks ---- */

static void forget(struct top_look *look)
{
	table_free(&look->ports);
	table_free(&look->workers);
	table_free(&look->qps);
	table_free(&look->daemon);
}

static int look_at(int fd, struct top_look *look)
{
	struct timespec ts;
	int rc = table_read(fd, WATCH_ID_PORTS, false, &look->ports);

	if (rc == 0)
		rc = table_read(fd, WATCH_ID_WORKERS, false, &look->workers);
	if (rc == 0)
		rc = table_read(fd, WATCH_ID_QPS, false, &look->qps);
	if (rc == 0)
		rc = table_read(fd, WATCH_ID_DAEMON, false, &look->daemon);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	look->at_s = (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
	return rc;
}

/* A counter's growth a second; what has begun again since has grown from 0. */
static double rate(uint64_t now, uint64_t before, double seconds)
{
	return (double)(now >= before ? now - before : now) / seconds;
}

static void picture_ports(struct top_picture *picture, const struct top_look *now, const struct top_look *before)
{
	const struct watch_ports *rows = (const void *)now->ports.rows, *old = (const void *)before->ports.rows;

	for (size_t i = 0; i < now->ports.n && i < before->ports.n && i < TOP_MAX_PORTS; i++) {
		struct top_port *port = &picture->ports[picture->n_ports++];
		const struct watch_ports *a = &rows[i], *b = &old[i];

		memcpy(port->name, a->port, sizeof(port->name));
		port->up = a->up != 0;
		port->rate.rx_bps = 8 * rate(a->rx_bytes, b->rx_bytes, picture->seconds);
		port->rate.tx_bps = 8 * rate(a->tx_bytes, b->tx_bytes, picture->seconds);
		port->rate.rx_pps = rate(a->rx_packets, b->rx_packets, picture->seconds);
		port->rate.tx_pps = rate(a->tx_packets, b->tx_packets, picture->seconds);
		port->lost_pps = rate(a->rx_missed + a->rx_errors + a->rx_nombuf + a->tx_errors,
			b->rx_missed + b->rx_errors + b->rx_nombuf + b->tx_errors, picture->seconds);
	}
}

static void picture_workers(struct top_picture *picture, const struct top_look *now, const struct top_look *before)
{
	const struct watch_workers *rows = (const void *)now->workers.rows, *old = (const void *)before->workers.rows;

	for (size_t i = 0; i < now->workers.n && i < before->workers.n && i < TOP_MAX_WORKERS; i++) {
		double busy = (double)(rows[i].busy_ns - old[i].busy_ns), idle = (double)(rows[i].idle_ns - old[i].idle_ns);

		picture->workers[picture->n_workers++] = (struct top_worker){rows[i].worker, busy + idle > 0 ? busy / (busy + idle) : 0};
	}
}

/* ---- queue pairs ---- */

static const struct watch_qps *find_qp(const struct top_look *look, uint64_t qpn)
{
	const struct watch_qps *rows = (const void *)look->qps.rows;

	for (size_t i = 0; i < look->qps.n; i++) {
		if (rows[i].qpn == qpn)
			return &rows[i];
	}
	return NULL;
}

static struct top_track *track_of(struct top_track *tracks, uint64_t qpn)
{
	struct top_track *free_one = NULL;

	for (int i = 0; i < TOP_MAX_TRACKS; i++) {
		if (tracks[i].used && tracks[i].qpn == qpn)
			return &tracks[i];
		if (!tracks[i].used && free_one == NULL)
			free_one = &tracks[i];
	}
	if (free_one != NULL)
		*free_one = (struct top_track){.qpn = qpn, .used = true};
	return free_one;
}

static void remember(struct top_track *track, double bps)
{
	if (track->n == TOP_HISTORY) {
		memmove(track->history, track->history + 1, (TOP_HISTORY - 1) * sizeof(track->history[0]));
		track->n--;
	}
	track->history[track->n++] = bps;
	track->seen = true;
}

static void fill_qp(struct top_qp *qp, const struct watch_qps *a, const struct watch_qps *b, double seconds)
{
	static const struct watch_qps zero;

	if (b == NULL)
		b = &zero;
	*qp = (struct top_qp){.qpn = a->qpn, .pid = a->pid, .rtt_ns = a->rtt_ns};
	memcpy(qp->peer, a->peer, sizeof(qp->peer));
	memcpy(qp->device, a->device, sizeof(qp->device));
	memcpy(qp->type, a->type, sizeof(qp->type));
	qp->rate.rx_bps = 8 * rate(a->rx_bytes, b->rx_bytes, seconds);
	qp->rate.tx_bps = 8 * rate(a->tx_bytes, b->tx_bytes, seconds);
	qp->rate.rx_pps = rate(a->rx_packets, b->rx_packets, seconds);
	qp->rate.tx_pps = rate(a->tx_packets, b->tx_packets, seconds);
	qp->resent_pps = rate(a->retransmits, b->retransmits, seconds);
	qp->marked_pps = rate(a->marked, b->marked, seconds);
}

/* Keeps those that move most, in order. */
static void insert_qp(struct top_picture *picture, const struct top_qp *qp, uint32_t most)
{
	double bits = qp->rate.rx_bps + qp->rate.tx_bps;
	uint32_t at = picture->n_qps;

	while (at > 0 && bits > picture->qps[at - 1].rate.rx_bps + picture->qps[at - 1].rate.tx_bps)
		at--;
	if (at >= most)
		return;
	if (picture->n_qps < most)
		picture->n_qps++;
	memmove(&picture->qps[at + 1], &picture->qps[at], (picture->n_qps - at - 1) * sizeof(*qp));
	picture->qps[at] = *qp;
}

static void forget_gone(struct top_track *tracks)
{
	for (int i = 0; i < TOP_MAX_TRACKS; i++) {
		tracks[i].used = tracks[i].seen;
		tracks[i].seen = false;
	}
}

static void picture_qps(struct top_picture *picture, const struct top_look *now, const struct top_look *before, struct top_track *tracks, uint32_t most)
{
	const struct watch_qps *rows = (const void *)now->qps.rows;

	picture->all_qps = (uint32_t)now->qps.n;
	for (size_t i = 0; i < now->qps.n; i++) {
		struct top_track *track = track_of(tracks, rows[i].qpn);
		struct top_qp qp;

		fill_qp(&qp, &rows[i], find_qp(before, rows[i].qpn), picture->seconds);
		if (track != NULL)
			remember(track, qp.rate.tx_bps);
		insert_qp(picture, &qp, most);
	}
	forget_gone(tracks);
}

/* ---- paths ---- */

static int by_rate(const void *a, const void *b)
{
	double one = ((const struct top_path *)a)->pps, other = ((const struct top_path *)b)->pps;

	return one > other ? -1 : one < other;
}

static void take_paths(struct top_qp *qp, struct top_track *track, const char *at, const char *end, double seconds)
{
	static const char *const names[] = {"udp_port", "sent", "path_rtt_ns", "ecn_percent", "alive"};
	enum { PORT, SENT, RTT, ECN, ALIVE, COLUMNS };
	uint64_t v[COLUMNS][LISTING_ROWS] = {0};
	size_t n = listing_read(at, end, NULL, 0, NULL, names, COLUMNS, v);

	for (size_t i = 0; i < n && i < TOP_MAX_PATHS; i++) {
		double pps = track->has_paths ? rate(v[SENT][i], track->path_sent[i], seconds) : 0;

		track->path_sent[i] = v[SENT][i];
		if (pps > 0 || v[ALIVE][i] == 0)
			qp->paths[qp->n_paths++] = (struct top_path){v[PORT][i], pps, v[RTT][i], v[ECN][i], v[ALIVE][i] != 0};
	}
	track->has_paths = true;
	qsort(qp->paths, qp->n_paths, sizeof(qp->paths[0]), by_rate);
}

static int ask_paths(int fd, struct top_qp *qp, struct top_track *track, double seconds)
{
	static char answer[TELEMETRY_ANSWER_BYTES];
	char question[64];
	int rc;

	snprintf(question, sizeof(question), "/roced/paths,%" PRIu64, qp->qpn);
	rc = telemetry_ask(fd, question, answer);
	if (rc == 0)
		take_paths(qp, track, answer, answer + strlen(answer), seconds);
	return rc;
}

static int picture_paths(int fd, struct top_picture *picture, struct top_track *tracks)
{
	int rc = 0;

	for (uint32_t i = 0; i < picture->n_qps && rc == 0; i++) {
		struct top_qp *qp = &picture->qps[i];
		struct top_track *track = track_of(tracks, qp->qpn);

		if (track == NULL)
			continue;
		qp->n_history = track->n;
		memcpy(qp->history, track->history, sizeof(qp->history));
		rc = ask_paths(fd, qp, track, picture->seconds);
	}
	return rc;
}

/* ---- pictures ---- */

static int picture_of(struct top *top, const struct top_look *now, uint32_t most_qps, struct top_picture *picture)
{
	const struct top_look *before = &top->before;

	memset(picture, 0, sizeof(*picture));
	picture->seconds = now->at_s - before->at_s;
	picture->uptime_s = now->daemon.n != 0 ? ((const struct watch_daemon *)(const void *)now->daemon.rows)->uptime_s : 0;
	picture_ports(picture, now, before);
	picture_workers(picture, now, before);
	picture_qps(picture, now, before, top->tracks, most_qps);
	return picture_paths(top->fd, picture, top->tracks);
}

int top_look(struct top *top, uint32_t most_qps, struct top_picture *picture)
{
	struct top_look now = {0};
	int rc = look_at(top->fd, &now);

	if (rc == 0)
		rc = picture_of(top, &now, most_qps, picture);
	forget(&top->before);
	top->before = now;
	return rc;
}

/* Paths have to be known for the first picture, too: those of the queue pairs that have moved most so far. */
int top_begin(struct top *top)
{
	static struct top_picture nothing;
	int rc = top_look(top, TOP_MAX_QPS, &nothing);

	for (int i = 0; i < TOP_MAX_TRACKS; i++)
		top->tracks[i].n = 0;
	return rc;
}

void top_end(struct top *top)
{
	forget(&top->before);
}
