/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A picture of runs: on the left how many flows are done by when, on the right how much of their rate the links
 * between leaves and each spine carried. Text only, no library.
 */
#include <inttypes.h>
#include <string.h>

#include "sim_report.h"

#define WIDTH     960
#define HEIGHT    420
#define TOP       64
#define BOTTOM    372
#define LEFT_X    64
#define LEFT_END  500
#define RIGHT_X   576
#define RIGHT_END 936
#define MAX_DOTS  400   /* of a curve */
#define N_TICKS   4
#define X_TICKS   8
#define NS_PER_US 1000.0
#define ESCAPED   256

static const char *const colours[] = {"#1f6fb4", "#d1642a", "#2e8b57", "#8a4fad", "#b8921f", "#b03060"};
#define N_COLOURS (sizeof(colours) / sizeof(colours[0]))
#define UP   "#1f6fb4"
#define DOWN "#d1642a"

static double y_of(double share)
{
	return BOTTOM - share * (BOTTOM - TOP);
}

static void text(FILE *out, double x, double y, const char *anchor, int size, const char *what)
{
	char safe[ESCAPED] = "";
	size_t n = 0;

	for (const char *c = what; *c != '\0' && n + 6 < sizeof(safe); c++) {
		const char *as = *c == '<' ? "&lt;" : *c == '>' ? "&gt;" : *c == '&' ? "&amp;" : NULL;

		if (as != NULL)
			n += (size_t)snprintf(safe + n, sizeof(safe) - n, "%s", as);
		else
			safe[n++] = *c;
		safe[n] = '\0';
	}
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" font-size=\"%d\">%s</text>\n", x, y, anchor, size,
		safe);
}

static void line(FILE *out, double x1, double y1, double x2, double y2, const char *style)
{
	fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
}

/* Horizontal lines at quarters, labelled in per cent of full. */
static void grid(FILE *out, int x, int end, double full)
{
	for (int i = 0; i <= N_TICKS; i++) {
		double share = (double)i / N_TICKS, y = y_of(share);
		char label[32];

		line(out, x, y, end, y, i == 0 ? "stroke=\"#333\"" : "stroke=\"#ddd\"");
		snprintf(label, sizeof(label), "%.3g%%", share * full * 100);
		text(out, x - 8, y + 4, "end", 12, label);
	}
}

/* ---- completion times ---- */

/* 1, 2 or 5 times a power of ten: the step of an axis that is so long. */
static double step_of(double length)
{
	double step = 1e-3;

	while (step * X_TICKS < length) {
		if (step * 2 * X_TICKS >= length)
			return step * 2;
		if (step * 5 * X_TICKS >= length)
			return step * 5;
		step *= 10;
	}
	return step;
}

static void curve(FILE *out, const struct sim_result *r, double max_us, const char *colour)
{
	const double per_us = (LEFT_END - LEFT_X) / max_us;
	uint32_t skip = r->n_ok / MAX_DOTS + 1;

	fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"%d,%d", colour, LEFT_X,
		BOTTOM);
	for (uint32_t i = 0; i < r->n_ok; i += skip) {
		uint32_t last = i + skip - 1 < r->n_ok ? i + skip - 1 : r->n_ok - 1;
		double x = LEFT_X + (double)r->fct_ns[last] / NS_PER_US * per_us;

		fprintf(out, " %.1f,%.1f %.1f,%.1f", x, y_of((double)i / r->n_flows), x,
			y_of((double)(last + 1) / r->n_flows));
	}
	fputs("\"/>\n", out);
}

static void completion_times(FILE *out, const struct sim_result *results, uint32_t n)
{
	double max_us = 1e-3, bound_us = (double)results[0].bound_ns / NS_PER_US, step;
	char label[64];

	for (uint32_t i = 0; i < n; i++)
		max_us = results[i].fct_us.max > max_us ? results[i].fct_us.max : max_us;
	max_us *= 1.04;
	text(out, LEFT_X, TOP - 14, "start", 14, "flows done within (us)");
	grid(out, LEFT_X, LEFT_END, 1);
	step = step_of(max_us);
	for (double at = 0; at <= max_us; at += step) {
		double x = LEFT_X + at / max_us * (LEFT_END - LEFT_X);

		snprintf(label, sizeof(label), "%g", at);
		line(out, x, BOTTOM, x, BOTTOM + 5, "stroke=\"#333\"");
		text(out, x, BOTTOM + 20, "middle", 12, label);
	}
	/* With flows that begin at different times, the bound of all is no time of one of them. */
	if (results[0].together && bound_us <= max_us) {
		double x = LEFT_X + bound_us / max_us * (LEFT_END - LEFT_X);
		bool left = x < (LEFT_X + LEFT_END) / 2.0;

		line(out, x, TOP, x, BOTTOM, "stroke=\"#333\" stroke-dasharray=\"4 3\"");
		snprintf(label, sizeof(label), "bound %.1f", bound_us);
		text(out, left ? x + 6 : x - 6, BOTTOM - 8, left ? "start" : "end", 12, label);
	}
	for (uint32_t i = 0; i < n; i++)
		curve(out, &results[i], max_us, colours[i % N_COLOURS]);
}

/* ---- links ---- */

/* A bar of the mean, and a line from the least to the most used of its links. */
static void bar(FILE *out, double x, double width, const struct sim_use *use, double full, const char *colour)
{
	char style[64];

	snprintf(style, sizeof(style), "stroke=\"#333\" stroke-width=\"%.1f\"", width > 4 ? 1.0 : 0.5);
	fprintf(out, "<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\"/>\n", x,
		y_of(use->mean / full), width, BOTTOM - y_of(use->mean / full), colour);
	line(out, x + width / 2, y_of(use->min / full), x + width / 2, y_of(use->max / full), style);
}

static void legend(FILE *out, double x, const char *colour, const char *what)
{
	fprintf(out, "<rect x=\"%.1f\" y=\"%d\" width=\"10\" height=\"10\" fill=\"%s\"/>\n", x, TOP - 23, colour);
	text(out, x + 14, TOP - 14, "start", 12, what);
}

static void link_use(FILE *out, const struct sim_result *r)
{
	static const char *const tiers[] = {"hosts", "leaves", "cores"};
	/* Tiers first, each as wide as a spine with a gap, then the spines. */
	uint32_t n_tiers = r->use[SIM_TIER_CORE][0].max > 0 ? SIM_TIER_COUNT : SIM_TIER_CORE;
	double slot = 32, x = RIGHT_X + 6, most = 0.01, full;

	for (uint32_t i = 0; i < r->n_spines; i++) {
		for (int d = 0; d < 2; d++)
			most = r->spines[i][d].max > most ? r->spines[i][d].max : most;
	}
	for (int t = 0; t < SIM_TIER_COUNT; t++) {
		for (int d = 0; d < 2; d++)
			most = r->use[t][d].max > most ? r->use[t][d].max : most;
	}
	full = most > 0.5 ? 1 : most > 0.2 ? 0.5 : most > 0.1 ? 0.2 : 0.1;
	if (most > full)
		full = most;
	text(out, RIGHT_X, TOP - 14, "start", 14, "use of links");
	legend(out, RIGHT_X + 110, UP, "up");
	legend(out, RIGHT_X + 155, DOWN, "down");
	text(out, RIGHT_X + 210, TOP - 14, "start", 12, "| least to most");
	grid(out, RIGHT_X, RIGHT_END, full);
	for (uint32_t t = 0; t < n_tiers; t++, x += slot + 8) {
		bar(out, x, slot / 2 - 1, &r->use[t][0], full, UP);
		bar(out, x + slot / 2, slot / 2 - 1, &r->use[t][1], full, DOWN);
		text(out, x + slot / 2, BOTTOM + 20, "middle", 11, tiers[t]);
	}
	x += 10;
	slot = r->n_spines != 0 ? (RIGHT_END - x) / r->n_spines : 0;
	for (uint32_t i = 0; i < r->n_spines; i++) {
		bar(out, x + i * slot, slot * 0.42, &r->spines[i][0], full, UP);
		bar(out, x + (i + 0.44) * slot, slot * 0.42, &r->spines[i][1], full, DOWN);
	}
	if (r->n_spines != 0)
		text(out, (x + RIGHT_END) / 2, BOTTOM + 20, "middle", 11, "links of leaves to spine 0, 1, ...");
}

void sim_svg(FILE *out, const char *title, const struct sim_result *results, uint32_t n)
{
	const struct sim_result *r = &results[0];
	char about[ESCAPED];

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
		"font-family=\"sans-serif\" fill=\"#222\">\n<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n",
		WIDTH, HEIGHT, WIDTH, HEIGHT, WIDTH, HEIGHT);
	snprintf(about, sizeof(about), "%s: %u flows, %u run%s, first of seed %" PRIu64, title, r->n_flows, n,
		n == 1 ? "" : "s", r->seed);
	text(out, 16, 24, "start", 15, about);
	snprintf(about, sizeof(about), "mean %.1f us, p99 %.1f us, max %.1f us, %.1f Gb/s", r->fct_us.mean,
		r->fct_us.p99, r->fct_us.max, r->goodput_gbps);
	text(out, LEFT_X, HEIGHT - 8, "start", 12, about);
	completion_times(out, results, n);
	link_use(out, r);
	fputs("</svg>\n", out);
}
