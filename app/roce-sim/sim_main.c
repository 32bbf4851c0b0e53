/* SPDX-License-Identifier: BSD-3-Clause */
/* roce-sim: runs a scenario and tells what came of it. */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "sim_report.h"

#define BAR_CELLS   30
#define BAR_EACH_MS 200

struct options {
	const char *scenario, *csv, *json, *svg;
	uint64_t seed, n_seeds;
	bool has_seed, has_seeds, quiet, print_help, markdown;
};

/* ---- progress ---- */

struct bar {
	bool shown;
	uint64_t run, n_runs;
	int64_t began_ms, next_ms;
};

static int64_t clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void show(void *arg, uint32_t permille)
{
	struct bar *bar = arg;
	int64_t now_ms = clock_ms();
	double done = ((double)bar->run + permille / 1000.0) / (double)bar->n_runs;
	int cells = (int)(done * BAR_CELLS);
	int64_t spent_ms = now_ms - bar->began_ms;

	if (now_ms < bar->next_ms)
		return;
	bar->next_ms = now_ms + BAR_EACH_MS;
	fprintf(stderr, "\r[%.*s%*s] %5.1f%%", cells, "##############################", BAR_CELLS - cells, "",
		done * 100);
	if (done > 0.01)
		fprintf(stderr, "  %.0f s left  ", (double)spent_ms / 1000 * (1 - done) / done);
}

static void unshow(const struct bar *bar)
{
	if (bar->shown)
		fprintf(stderr, "\r%*s\r", BAR_CELLS + 30, "");
}

/* ---- command line ---- */

static void usage(FILE *out)
{
	fputs("usage: roce-sim SCENARIO [options]\n"
	      "       roce-sim --print-help [--markdown]   the keys of a scenario\n"
	      "Runs roced's transport over a simulated fabric, as the scenario file says. Same seed, same result.\n"
	      "  --seed N     of the first run, instead of the scenario's\n"
	      "  --seeds N    so many runs, of consecutive seeds\n"
	      "  --csv FILE   every flow; - is standard output\n"
	      "  --json FILE  what the runs came to, with the use of links\n"
	      "  --svg FILE   a picture: completion times, use of links\n"
	      "  --quiet      no text on standard output, no progress\n",
		out);
}

static uint64_t number(const char *option, const char *text, uint64_t min, uint64_t max)
{
	char *end;
	uint64_t value;

	errno = 0;
	value = strtoull(text, &end, 0);
	if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || value < min || value > max) {
		fprintf(stderr, "roce-sim: --%s: \"%s\" is wrong, must be a number, %" PRIu64 " to %" PRIu64 "\n", option,
			text, min, max);
		exit(2);
	}
	return value;
}

static const struct option longs[] = {
	{"seed", required_argument, NULL, 's'},
	{"seeds", required_argument, NULL, 'n'},
	{"csv", required_argument, NULL, 'c'},
	{"json", required_argument, NULL, 'j'},
	{"svg", required_argument, NULL, 'v'},
	{"quiet", no_argument, NULL, 'q'},
	{"print-help", no_argument, NULL, 'p'},
	{"markdown", no_argument, NULL, 'm'},
	{"help", no_argument, NULL, 'h'},
	{0},
};

static void take(struct options *o, int c, const char *value)
{
	switch (c) {
	case 's':
		o->seed = number("seed", value, 0, INT64_MAX);
		o->has_seed = true;
		break;
	case 'n':
		o->n_seeds = number("seeds", value, 1, SIM_MAX_SEEDS);
		o->has_seeds = true;
		break;
	case 'c':
		o->csv = value;
		break;
	case 'j':
		o->json = value;
		break;
	case 'v':
		o->svg = value;
		break;
	case 'q':
		o->quiet = true;
		break;
	case 'p':
		o->print_help = true;
		break;
	case 'm':
		o->markdown = true;
		break;
	default:
		usage(c == 'h' ? stdout : stderr);
		exit(c == 'h' ? 0 : 2);
	}
}

static void parse(int argc, char **argv, struct options *o)
{
	int c;

	while ((c = getopt_long(argc, argv, "hq", longs, NULL)) != -1)
		take(o, c, optarg);
	if (o->print_help) {
		sim_scenario_help(stdout, o->markdown);
		exit(0);
	}
	if (optind + 1 != argc) {
		usage(stderr);
		exit(2);
	}
	o->scenario = argv[optind];
}

/* ---- running ---- */

/* Opened before the run, so that a wrong name does not cost one. NULL: not asked for. */
static FILE *open_out(const char *name)
{
	FILE *out;

	if (name == NULL)
		return NULL;
	if (!strcmp(name, "-"))
		return stdout;
	out = fopen(name, "we");
	if (out == NULL) {
		fprintf(stderr, "roce-sim: cannot write %s: %s\n", name, strerror(errno));
		exit(1);
	}
	return out;
}

static int close_out(FILE *out, const char *name)
{
	if (out == NULL)
		return 0;
	if ((ferror(out) | (out == stdout ? fflush(out) : fclose(out))) == 0)
		return 0;
	fprintf(stderr, "roce-sim: cannot write %s\n", name);
	return -EIO;
}

static int run_one(const struct sim_scenario *scenario, uint64_t seed, struct bar *bar, FILE *csv,
	struct sim_result *result)
{
	struct sim_run run;
	int rc = sim_run(&run, scenario, seed, bar->shown ? show : NULL, bar);

	if (rc == 0)
		rc = sim_result_take(&run, result);
	if (rc == 0 && csv != NULL)
		sim_report_csv(csv, &run, result);
	sim_run_free(&run);
	return rc;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash != NULL ? slash + 1 : path;
}

static int run_all(const struct options *o, const struct sim_scenario *scenario, struct sim_result *results)
{
	FILE *csv = open_out(o->csv), *json = open_out(o->json), *svg = open_out(o->svg);
	struct bar bar = {.shown = !o->quiet && isatty(STDERR_FILENO), .n_runs = o->n_seeds, .began_ms = clock_ms()};
	uint32_t n = 0;
	int rc = 0;

	if (csv != NULL)
		sim_report_csv_head(csv);
	for (; n < o->n_seeds; n++) {
		bar.run = n;
		rc = run_one(scenario, o->seed + n, &bar, csv, &results[n]);
		unshow(&bar);
		if (rc != 0) {
			fprintf(stderr, "roce-sim: seed %" PRIu64 ": %s%s\n", o->seed + n, strerror(-rc),
				rc == -ENOMEM ? ": fewer hosts, or flows at a time, are needed" : "");
			break;
		}
		if (!o->quiet)
			sim_report_text(stdout, &results[n]);
	}
	if (json != NULL)
		sim_report_json(json, base_name(o->scenario), results, n);
	if (svg != NULL && n != 0)
		sim_svg(svg, base_name(o->scenario), results, n);
	if (close_out(csv, o->csv) + close_out(json, o->json) + close_out(svg, o->svg) != 0 && rc == 0)
		rc = -EIO;
	for (uint32_t i = 0; i < n; i++)
		sim_result_free(&results[i]);
	return rc;
}

int main(int argc, char **argv)
{
	struct sim_scenario *scenario = calloc(1, sizeof(*scenario));
	struct sim_result *results = NULL;
	struct options o = {0};
	int status = 1;

	parse(argc, argv, &o);
	if (scenario == NULL || sim_scenario_load(o.scenario, scenario, stderr) != 0)
		goto out;
	if (!o.has_seed)
		o.seed = scenario->seed;
	if (!o.has_seeds)
		o.n_seeds = scenario->n_seeds;
	results = calloc(o.n_seeds, sizeof(*results));
	if (results == NULL) {
		fprintf(stderr, "roce-sim: no memory\n");
		goto out;
	}
	status = run_all(&o, scenario, results) == 0 ? 0 : 1;
out:
	free(results);
	free(scenario);
	return status;
}
