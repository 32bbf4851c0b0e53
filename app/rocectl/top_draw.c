/* SPDX-License-Identifier: BSD-3-Clause */
/* What rocectl top shows, as text and as JSON. */
#include <inttypes.h>
#include <stdio.h>

#include "top.h"

#define BAR_CELLS 24

/* "12.3 M": of bits or packets a second, in eight columns. */
static void put_rate(double rate)
{
	static const char units[] = " kMGT";
	int u = 0;

	while (rate >= 999.5 && units[u + 1] != '\0') {
		rate /= 1000;
		u++;
	}
	printf(u == 0 ? "%6.0f %c" : "%6.1f %c", rate, units[u]);
}

static void put_bar(double share, bool utf8)
{
	int full = (int)(share * BAR_CELLS + 0.5);

	putchar('[');
	for (int i = 0; i < BAR_CELLS; i++)
		fputs(i >= full ? " " : utf8 ? "\u2588" : "#", stdout);
	putchar(']');
}

static void put_sparkline(const struct top_qp *qp, bool utf8)
{
	static const char *const blocks[] = {" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
	static const char *const signs[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
	double most = 0;

	for (uint32_t i = 0; i < qp->n_history; i++)
		most = qp->history[i] > most ? qp->history[i] : most;
	putchar('|');
	for (uint32_t i = 0; i < qp->n_history; i++) {
		int level = most > 0 ? (int)(qp->history[i] / most * 8 + 0.5) : 0;

		fputs(utf8 ? blocks[level] : signs[level], stdout);
	}
	puts("|");
}

/* ---- text ---- */

static void draw_ports(const struct top_picture *picture)
{
	printf("%-16s %-4s %9s %9s %9s %9s %9s\n", "port", "", "rx bit/s", "tx bit/s", "rx pkt/s", "tx pkt/s", "lost/s");
	for (uint32_t i = 0; i < picture->n_ports; i++) {
		const struct top_port *port = &picture->ports[i];
		const double rates[] = {port->rate.rx_bps, port->rate.tx_bps, port->rate.rx_pps, port->rate.tx_pps, port->lost_pps};

		printf("%-16s %-4s", port->name, port->up ? "up" : "down");
		for (int r = 0; r < 5; r++) {
			fputs("  ", stdout);
			put_rate(rates[r]);
		}
		putchar('\n');
	}
}

static void draw_workers(const struct top_picture *picture, bool utf8)
{
	for (uint32_t i = 0; i < picture->n_workers; i++) {
		printf("worker %-2" PRIu64 " busy %5.1f %% ", picture->workers[i].worker, picture->workers[i].busy * 100);
		put_bar(picture->workers[i].busy, utf8);
		putchar('\n');
	}
}

static void draw_paths(const struct top_qp *qp, bool utf8, uint32_t most)
{
	double best = qp->n_paths != 0 ? qp->paths[0].pps : 0;

	for (uint32_t i = 0; i < qp->n_paths && i < most; i++) {
		const struct top_path *path = &qp->paths[i];

		printf("   port %5" PRIu64 " ", path->udp_port);
		put_bar(best > 0 ? path->pps / best : 0, utf8);
		put_rate(path->pps);
		printf("pkt/s  rtt %.1f us  marked %" PRIu64 " %%%s\n", (double)path->rtt_ns / 1000, path->ecn_percent, path->alive ? "" : "  dead");
	}
	if (qp->n_paths > most)
		printf("   and %u paths more\n", qp->n_paths - most);
}

static void draw_qp(const struct top_qp *qp, bool utf8, uint32_t most_paths)
{
	printf("qp %#" PRIx64 " %s of %s, process %" PRIu64 ", to %s: rx", qp->qpn, qp->type, qp->device, qp->pid,
		qp->peer[0] != '\0' ? qp->peer : "nobody");
	put_rate(qp->rate.rx_bps);
	fputs("bit/s, tx", stdout);
	put_rate(qp->rate.tx_bps);
	printf("bit/s, resent %.0f/s, marked %.0f/s, rtt %.1f us\n   sent ", qp->resent_pps, qp->marked_pps, (double)qp->rtt_ns / 1000);
	put_sparkline(qp, utf8);
	draw_paths(qp, utf8, most_paths);
}

void top_draw(const struct top_picture *picture, bool utf8, uint32_t most_paths)
{
	printf("roced, up %" PRIu64 " s; rates of the last %.1f s\n\n", picture->uptime_s, picture->seconds);
	draw_ports(picture);
	putchar('\n');
	draw_workers(picture, utf8);
	printf("\n%u queue pair%s", picture->all_qps, picture->all_qps == 1 ? "" : "s");
	puts(picture->n_qps < picture->all_qps ? ", those that move most:" : picture->n_qps != 0 ? ":" : "");
	for (uint32_t i = 0; i < picture->n_qps; i++)
		draw_qp(&picture->qps[i], utf8, most_paths);
}

/* ---- JSON; names and addresses have nothing to be escaped ---- */

static void put_rates_json(const struct top_rate *rate)
{
	printf("\"rx_bps\":%.0f,\"tx_bps\":%.0f,\"rx_pps\":%.1f,\"tx_pps\":%.1f", rate->rx_bps, rate->tx_bps, rate->rx_pps, rate->tx_pps);
}

static void put_qp_json(const struct top_qp *qp)
{
	printf("{\"qpn\":%" PRIu64 ",\"device\":\"%s\",\"type\":\"%s\",\"pid\":%" PRIu64 ",\"peer\":\"%s\",", qp->qpn, qp->device, qp->type,
		qp->pid, qp->peer);
	put_rates_json(&qp->rate);
	printf(",\"resent_pps\":%.1f,\"marked_pps\":%.1f,\"rtt_ns\":%" PRIu64 ",\"paths\":[", qp->resent_pps, qp->marked_pps, qp->rtt_ns);
	for (uint32_t i = 0; i < qp->n_paths; i++) {
		const struct top_path *path = &qp->paths[i];

		printf("%s{\"udp_port\":%" PRIu64 ",\"pps\":%.1f,\"rtt_ns\":%" PRIu64 ",\"ecn_percent\":%" PRIu64 ",\"alive\":%s}", i != 0 ? "," : "",
			path->udp_port, path->pps, path->rtt_ns, path->ecn_percent, path->alive ? "true" : "false");
	}
	fputs("]}", stdout);
}

void top_print_json(const struct top_picture *picture)
{
	printf("{\"seconds\":%.3f,\"uptime_s\":%" PRIu64 ",\"ports\":[", picture->seconds, picture->uptime_s);
	for (uint32_t i = 0; i < picture->n_ports; i++) {
		const struct top_port *port = &picture->ports[i];

		printf("%s{\"port\":\"%s\",\"up\":%s,", i != 0 ? "," : "", port->name, port->up ? "true" : "false");
		put_rates_json(&port->rate);
		printf(",\"lost_pps\":%.1f}", port->lost_pps);
	}
	fputs("],\"workers\":[", stdout);
	for (uint32_t i = 0; i < picture->n_workers; i++)
		printf("%s{\"worker\":%" PRIu64 ",\"busy_percent\":%.1f}", i != 0 ? "," : "", picture->workers[i].worker,
			picture->workers[i].busy * 100);
	printf("],\"all_qps\":%u,\"qps\":[", picture->all_qps);
	for (uint32_t i = 0; i < picture->n_qps; i++) {
		fputs(i != 0 ? "," : "", stdout);
		put_qp_json(&picture->qps[i]);
	}
	puts("]}");
}
