/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables as OpenMetrics text: what each column becomes, escapes, units, bounds; and rules that the tables of watch.h have to keep so that
 * telemetry, rocectl and OpenMetrics can all be made of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "openmetrics.h"

/* A table that has everything. */
struct row {
	char name[WATCH_TEXT_BYTES], colour[WATCH_TEXT_BYTES], note[WATCH_TEXT_BYTES];
	uint64_t number, age, legs, eaten, eaten_bytes, sleep_ns, fill_percent, rate_bps, speed_mbps, up_s;
};

#define COLUMN(k, field, u, text) {.name = #field, .kind = WATCH_##k, .unit = WATCH_##u, .help = (text), .at = offsetof(struct row, field)}

static const struct watch_column columns[] = {
	COLUMN(LABEL, name, NONE, "its name"), COLUMN(NUMBER, number, NONE, "its number"), COLUMN(TEXT, colour, NONE, "its colour"),
	COLUMN(FACT, legs, NONE, "its legs"), COLUMN(NOTE, note, NONE, "more"), COLUMN(AGE, age, NONE, "its age"),
	COLUMN(COUNTER, eaten, NONE, "meals"), COLUMN(COUNTER, eaten_bytes, BYTES, "of meals"), COLUMN(GAUGE, sleep_ns, NS, "asleep"),
	COLUMN(GAUGE, fill_percent, PERCENT, "how full"), COLUMN(GAUGE, rate_bps, BPS, "how fast"), COLUMN(GAUGE, speed_mbps, MBPS, "at most"),
	COLUMN(GAUGE, up_s, SECONDS, "awake")};

static const struct watch_table table = {.name = "cats", .thing = "cat", .help = "cats", .columns = columns,
	.n_columns = sizeof(columns) / sizeof(columns[0]), .row_bytes = sizeof(struct row)};

static struct openmetrics made(const struct row *rows, uint32_t n)
{
	struct openmetrics out = {.most = 1 << 20};

	openmetrics_table(&out, &table, rows, n);
	openmetrics_end(&out);
	assert_false(out.failed);
	out.text[out.n] = '\0';
	return out;
}

static void test_every_column(void **state)
{
	static const char expected[] =
		"# TYPE roced_cat info\n# HELP roced_cat cats\n"
		"roced_cat_info{name=\"tom\",number=\"7\",colour=\"grey\",legs=\"4\"} 1\n"
		"# TYPE roced_cat_eaten counter\n# HELP roced_cat_eaten meals\nroced_cat_eaten_total{name=\"tom\",number=\"7\"} 3\n"
		"# TYPE roced_cat_eaten_bytes counter\n# UNIT roced_cat_eaten_bytes bytes\n# HELP roced_cat_eaten_bytes of meals\n"
		"roced_cat_eaten_bytes_total{name=\"tom\",number=\"7\"} 18446744073709551615\n"
		"# TYPE roced_cat_sleep_seconds gauge\n# UNIT roced_cat_sleep_seconds seconds\n# HELP roced_cat_sleep_seconds asleep\n"
		"roced_cat_sleep_seconds{name=\"tom\",number=\"7\"} 1.00000002\n"
		"# TYPE roced_cat_fill_ratio gauge\n# UNIT roced_cat_fill_ratio ratio\n# HELP roced_cat_fill_ratio how full\n"
		"roced_cat_fill_ratio{name=\"tom\",number=\"7\"} 0.05\n"
		"# TYPE roced_cat_rate_bytes_per_second gauge\n# UNIT roced_cat_rate_bytes_per_second bytes_per_second\n"
		"# HELP roced_cat_rate_bytes_per_second how fast\nroced_cat_rate_bytes_per_second{name=\"tom\",number=\"7\"} 1.125\n"
		"# TYPE roced_cat_speed_bytes_per_second gauge\n# UNIT roced_cat_speed_bytes_per_second bytes_per_second\n"
		"# HELP roced_cat_speed_bytes_per_second at most\nroced_cat_speed_bytes_per_second{name=\"tom\",number=\"7\"} 1250000000\n"
		"# TYPE roced_cat_up_seconds gauge\n# UNIT roced_cat_up_seconds seconds\n# HELP roced_cat_up_seconds awake\n"
		"roced_cat_up_seconds{name=\"tom\",number=\"7\"} 12\n"
		"# EOF\n";
	const struct row tom = {.name = "tom", .number = 7, .colour = "grey", .note = "not told", .legs = 4, .eaten = 3,
		.eaten_bytes = UINT64_MAX, .sleep_ns = 1000000020, .fill_percent = 5, .rate_bps = 9, .speed_mbps = 10000, .up_s = 12};
	struct openmetrics out = made(&tom, 1);

	(void)state;
	assert_string_equal(out.text, expected);
	free(out.text);
}

/* No time of a table is too long, no number too large. */
static void test_values(void **state)
{
	static const struct {
		enum watch_unit unit;
		uint64_t number;
		const char *text;
	} cases[] = {{WATCH_NS, 0, "0"}, {WATCH_NS, 1, "0.000000001"}, {WATCH_NS, 1000000000, "1"}, {WATCH_NS, 12345678900, "12.3456789"},
		{WATCH_NS, UINT64_MAX, "18446744073.709551615"}, {WATCH_PERCENT, 0, "0"}, {WATCH_PERCENT, 100, "1"}, {WATCH_PERCENT, 50, "0.5"},
		{WATCH_BPS, 8, "1"}, {WATCH_BPS, 4, "0.5"}, {WATCH_BPS, 100000000000, "12500000000"}, {WATCH_MBPS, 1, "125000"},
		{WATCH_NONE, UINT64_MAX, "18446744073709551615"}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct watch_column column = {.name = "", .unit = cases[i].unit};
		char text[WATCH_VALUE_BYTES];

		watch_metric_value(&column, cases[i].number, text);
		assert_string_equal(text, cases[i].text);
	}
}

/* Names come from programs and peers: they end no line, no label, and are UTF-8. */
static void test_escapes(void **state)
{
	const struct row odd = {.name = "a\"b\\c\nd\te\x7f\xff\xc3\xa9"};
	struct openmetrics out = made(&odd, 1);

	(void)state;
	assert_non_null(strstr(out.text, "{name=\"a\\\"b\\\\c\\nd?e????\",number=\"0\"} 0\n"));
	free(out.text);
}

static void test_no_row_no_metric(void **state)
{
	struct openmetrics out = made(NULL, 0);

	(void)state;
	assert_string_equal(out.text, "# EOF\n");
	free(out.text);
}

/* An XRC target of several processes is told for each of them; a sample may not come twice. */
static void test_same_labels_once(void **state)
{
	const struct row rows[] = {{.name = "tom", .eaten = 1}, {.name = "tom", .eaten = 2}, {.name = "tim", .eaten = 3}};
	struct openmetrics out = made(rows, 3);

	(void)state;
	assert_non_null(strstr(out.text, "eaten_total{name=\"tom\",number=\"0\"} 1\n"));
	assert_null(strstr(out.text, "eaten_total{name=\"tom\",number=\"0\"} 2\n"));
	assert_non_null(strstr(out.text, "eaten_total{name=\"tim\",number=\"0\"} 3\n"));
	free(out.text);
}

static void test_bound(void **state)
{
	static struct row rows[1000];
	struct openmetrics out = {.most = 200000};

	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		rows[i].number = i;
	openmetrics_table(&out, &table, rows, 1000);
	openmetrics_end(&out);
	assert_true(out.failed);
	assert_true(out.room <= 200000 && out.n <= out.room);
	free(out.text);
}

/* ---- the daemon's tables ---- */

static bool ends_in(const char *text, const char *end)
{
	size_t n = strlen(text), k = strlen(end);

	return n >= k && strcmp(text + n - k, end) == 0;
}

static void check_column(const struct watch_table *t, const struct watch_column *column)
{
	static const char *const suffixes[] = {[WATCH_NONE] = "", [WATCH_NS] = "_ns", [WATCH_SECONDS] = "_s", [WATCH_BYTES] = "_bytes",
		[WATCH_PERCENT] = "_percent", [WATCH_BPS] = "_bps", [WATCH_MBPS] = "_mbps"};

	assert_true(strspn(column->name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(column->name));
	assert_true(ends_in(column->name, suffixes[column->unit]));
	/* a number whose name says a unit has it, so that metrics are in base units */
	if (column->unit == WATCH_NONE && watch_is_metric(column)) {
		for (int u = WATCH_NS; u <= WATCH_MBPS; u++)
			assert_false(ends_in(column->name, suffixes[u]));
	}
	/* what ends in such a word would be taken for a sample of another family */
	assert_false(ends_in(column->name, "_total") || ends_in(column->name, "_info") || ends_in(column->name, "_created"));
	assert_true(column->help[0] != '\0' && strchr(column->help, '"') == NULL && strchr(column->help, '|') == NULL);
	/* rocectl finds the number of all rows by the table's name */
	assert_string_not_equal(column->name, t->name);
	assert_true(column->at + (watch_is_text(column) ? WATCH_TEXT_BYTES : sizeof(uint64_t)) <= t->row_bytes);
}

static void test_tables_keep_the_rules(void **state)
{
	(void)state;
	for (int i = 0; i < WATCH_TABLES; i++) {
		const struct watch_table *t = &watch_tables[i];

		assert_ptr_equal(watch_find(t->name), t);
		for (uint32_t c = 0; c < t->n_columns; c++) {
			check_column(t, &t->columns[c]);
			assert_ptr_equal(watch_find_column(t, t->columns[c].name), &t->columns[c]);
		}
	}
	assert_null(watch_find("nothing"));
}

/* No family has another one's name, with or without what samples have behind it. */
static void test_names_are_unique(void **state)
{
	static char names[1024][128];
	uint32_t n = 0;

	(void)state;
	for (int i = 0; i < WATCH_TABLES; i++) {
		const struct watch_table *t = &watch_tables[i];

		snprintf(names[n++], sizeof(names[0]), "roced_%s", t->thing);
		for (uint32_t c = 0; c < t->n_columns; c++) {
			if (watch_is_metric(&t->columns[c]))
				watch_metric_name(t, &t->columns[c], names[n++], sizeof(names[0]));
			assert_true(n < 1024);
		}
	}
	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < i; k++)
			assert_string_not_equal(names[i], names[k]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_column),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_escapes),
		cmocka_unit_test(test_no_row_no_metric),
		cmocka_unit_test(test_same_labels_once),
		cmocka_unit_test(test_bound),
		cmocka_unit_test(test_tables_keep_the_rules),
		cmocka_unit_test(test_names_are_unique),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
