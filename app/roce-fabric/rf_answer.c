/* SPDX-License-Identifier: BSD-3-Clause */
/* Names in answers come from the configuration, which lets them have nothing that JSON would have to escape. */
#include "rf_answer.h"

#include <inttypes.h>

#include "rf_answer_impair.h"
#include "rf_command.h"

#define NS_PER_US 1000.0

static const char *const loss_names[FABRIC_LOSS_COUNT] = {
	[FABRIC_LOSS_BUFFER] = "buffer",
	[FABRIC_LOSS_LINK] = "link",
	[FABRIC_LOSS_FAULT] = "fault",
	[FABRIC_LOSS_ROUTE] = "route",
};

static const char *const drop_names[RF_DROP_COUNT] = {
	[RF_DROP_SHORT] = "short",
	[RF_DROP_LONG] = "long",
	[RF_DROP_LINK_LOCAL] = "link_local",
	[RF_DROP_SAME_PORT] = "same_port",
	[RF_DROP_QUEUE] = "queue",
	[RF_DROP_BUFFERS] = "buffers",
	[RF_DROP_PORT_DOWN] = "port_down",
	[RF_DROP_PORT_FULL] = "port_full",
	[RF_DROP_IMPAIRED] = "impaired",
};

static void counts(FILE *out, const char *name, const char *const *names, const uint64_t *values, size_t n)
{
	fprintf(out, ",\"%s\":{", name);
	for (size_t i = 0; i < n; i++)
		fprintf(out, "%s\"%s\":%" PRIu64, i == 0 ? "" : ",", names[i], values[i]);
	fputc('}', out);
}

/* ---- links ---- */

static uint64_t sum_lost(const struct fabric_port_stats *stats)
{
	uint64_t sum = 0;

	for (int why = 0; why < FABRIC_LOSS_COUNT; why++)
		sum += stats->lost[why];
	return sum;
}

static void direction(FILE *out, const char *name, const struct fabric_port_stats *s)
{
	fprintf(out, ",\"%s\":{\"packets\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"lost\":%" PRIu64 ",\"marked\":%" PRIu64
		",\"queue_max_bytes\":%" PRIu64 ",\"pauses\":%u}", name, s->tx_packets, s->tx_bytes, sum_lost(s),
		s->marked, s->max_queue_bytes, s->pauses);
}

static void fault_of(FILE *out, const struct fabric_fault *f)
{
	fprintf(out, ",\"cut\":%s,\"rate_percent\":%u,\"lose_ppm\":%u,\"corrupt_ppm\":%u,\"repeat_ppm\":%u,"
		"\"delay_ppm\":%u,\"delay_ns\":%" PRIu64 ",\"pause_priorities\":%u", f->cut ? "true" : "false",
		f->rate_percent != 0 ? f->rate_percent : 100, f->lose_ppm, f->corrupt_ppm, f->repeat_ppm, f->delay_ppm,
		f->delay_ns, f->pause_priorities);
}

static void answer_links(const struct rf_net *net, FILE *out)
{
	fputs("{\"ok\":true,\"links\":[", out);
	for (uint32_t link = 0; link < fabric_n_links(net->fabric); link++) {
		struct fabric_port_stats up, down;
		struct fabric_fault fault;
		char name[64];

		fabric_link_name(net->fabric, link, name, sizeof(name));
		(void)fabric_link_stats(net->fabric, link, 0, &up);
		(void)fabric_link_stats(net->fabric, link, 1, &down);
		(void)fabric_link_fault(net->fabric, link, &fault);
		fprintf(out, "%s{\"link\":%u,\"name\":\"%s\"", link == 0 ? "" : ",", link, name);
		direction(out, "up", &up);
		direction(out, "down", &down);
		fault_of(out, &fault);
		fputc('}', out);
	}
	fputs("]}\n", out);
}

/* ---- all counters ---- */

static void add(struct fabric_port_stats *sum, const struct fabric_port_stats *one)
{
	sum->tx_packets += one->tx_packets;
	sum->tx_bytes += one->tx_bytes;
	sum->marked += one->marked;
	sum->pauses += one->pauses;
	for (int why = 0; why < FABRIC_LOSS_COUNT; why++)
		sum->lost[why] += one->lost[why];
	if (sum->max_queue_bytes < one->max_queue_bytes)
		sum->max_queue_bytes = one->max_queue_bytes;
}

/* A spine of each pod: all links of leaves to it. */
static void spine(const struct rf_net *net, uint32_t s, FILE *out)
{
	const struct fk_fabric *fabric = &net->config->fabric;
	struct fabric_port_stats sum[2] = {{0}};
	uint32_t n_cut = 0;

	for (uint32_t leaf = 0; leaf < fabric->pods * fabric->leaves; leaf++) {
		uint32_t link = fabric_leaf_link(net->fabric, leaf, s);
		struct fabric_fault fault;

		for (int d = 0; d < 2; d++) {
			struct fabric_port_stats one;

			(void)fabric_link_stats(net->fabric, link, d, &one);
			add(&sum[d], &one);
		}
		(void)fabric_link_fault(net->fabric, link, &fault);
		n_cut += fault.cut;
	}
	fprintf(out, "%s{\"spine\":%u,\"links_cut\":%u", s == 0 ? "" : ",", s, n_cut);
	direction(out, "up", &sum[0]);
	direction(out, "down", &sum[1]);
	fputc('}', out);
}

static void port(const struct rf_port *p, bool first, FILE *out)
{
	const struct rf_port_stats *s = &p->stats;

	fprintf(out, "%s{\"name\":\"%s\",\"host\":%u,\"up\":%s,\"rx_packets\":%" PRIu64 ",\"rx_bytes\":%" PRIu64
		",\"tx_packets\":%" PRIu64 ",\"tx_bytes\":%" PRIu64 ",\"flooded\":%" PRIu64 ",\"pauses\":%" PRIu64 ",\"pauses_sent\":%" PRIu64
		",\"in_fabric\":%u", first ? "" : ",", p->config->port.name, p->config->host,
		p->port.up ? "true" : "false", s->rx_packets, s->rx_bytes, s->tx_packets, s->tx_bytes, s->flooded,
		s->pauses, s->pauses_sent, p->in_fabric);
	counts(out, "dropped", drop_names, s->dropped, RF_DROP_COUNT);
	fputc('}', out);
}

static void answer_stats(const struct rf_net *net, FILE *out)
{
	const struct rf_late *late = &net->late;
	struct fabric_port_stats all;

	fabric_stats(net->fabric, &all);
	fprintf(out, "{\"ok\":true,\"now_us\":%" PRIu64 ",\"delivered\":%" PRIu64 ",\"marked\":%" PRIu64
		",\"queue_max_bytes\":%" PRIu64, net->now_ns / 1000, late->packets, all.marked, all.max_queue_bytes);
	counts(out, "lost", loss_names, all.lost, FABRIC_LOSS_COUNT);
	fprintf(out, ",\"late\":{\"mean_us\":%.1f,\"max_us\":%.1f,\"over_1ms\":%" PRIu64 "},\"ports\":[",
		late->packets != 0 ? (double)late->sum_ns / (double)late->packets / NS_PER_US : 0.0,
		(double)late->max_ns / NS_PER_US, late->over_1ms);
	for (uint32_t p = 0; p < net->n_ports; p++)
		port(&net->ports[p], p == 0, out);
	fputs("],\"spines\":[", out);
	for (uint32_t s = 0; s < net->config->fabric.spines; s++)
		spine(net, s, out);
	fputs("]}\n", out);
}

/* ---- faults ---- */

struct change {
	struct rf_net *net;
	const struct rf_command *command;
	uint32_t n_links;
	int rc;
};

static void change_link(void *arg, uint32_t link)
{
	struct change *change = arg;
	struct fabric_fault fault;
	int rc;

	(void)fabric_link_fault(change->net->fabric, link, &fault);
	rf_command_change(change->command, &fault);
	rc = fabric_set_fault(change->net->fabric, link, &fault, change->net->now_ns);
	if (rc != 0)
		change->rc = rc;
	change->n_links++;
}

static void answer_change(struct rf_net *net, const struct rf_command *command, FILE *out)
{
	struct change change = {.net = net, .command = command};
	struct fk_lack lack;

	if (!command->everywhere && !fk_place_ok(&net->config->fabric, &command->place, &lack)) {
		fprintf(out, "{\"ok\":false,\"error\":\"%s: there are %" PRIu64 ", from 0 on, so there is no %u%s\"}\n",
			lack.what, lack.n, lack.first, command->place.count > 1 ? " with so many behind it" : "");
		return;
	}
	for (uint32_t link = 0; command->everywhere && link < fabric_n_links(net->fabric); link++)
		change_link(&change, link);
	if (!command->everywhere)
		fk_each_link(net->fabric, &net->config->fabric, &command->place, change_link, &change);
	if (change.rc != 0)
		fputs("{\"ok\":false,\"error\":\"no memory\"}\n", out);
	else
		fprintf(out, "{\"ok\":true,\"links\":%u}\n", change.n_links);
}

void rf_answer(struct rf_net *net, const char *line, size_t n, FILE *out)
{
	struct rf_command command;
	char error[RF_ERROR_BYTES];

	if (rf_command_parse(line, n, &command, error) != 0) {
		fprintf(out, "{\"ok\":false,\"error\":\"%s\"}\n", error);
		return;
	}
	switch (command.verb) {
	case RF_HELP:
		fputs("{\"ok\":true,\"commands\":[", out);
		rf_command_help(out, true);
		fputs("]}\n", out);
		break;
	case RF_STATS:
		answer_stats(net, out);
		break;
	case RF_LINKS:
		answer_links(net, out);
		break;
	case RF_RESET:
		rf_net_clear_stats(net);
		fputs("{\"ok\":true}\n", out);
		break;
	case RF_IMPAIR:
		rf_answer_impair(net, &command.rule, out);
		break;
	case RF_IMPAIRMENTS:
		rf_answer_impairments(net, out);
		break;
	case RF_CLEAR:
		rf_answer_clear(net, command.which, out);
		break;
	default:
		answer_change(net, &command, out);
	}
}
