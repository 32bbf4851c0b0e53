/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks a conformance scenario and prints it in lines, a key and what it says with tabs between: the rules as words
 * of roce-fabric's command `impair`, the traffic as options of rc_case, and what is expected. In a file host 0 is the
 * requester's and host 1 the responder's; --swap makes the requester's host 1.
 */
#include <string.h>

#include "rf_rule.h"

#define MAX_WORDS  8u
#define MAX_DIFFER 8u

/* Packets that have to be seen. */
struct seen {
	struct rf_rule rule;     /* starts with its place in the file */
	uint32_t min, max;
};

/* An end that is known to do something else. */
struct differs {
	struct config_at at;
	char who[CONFIG_TEXT_BYTES], why[CONFIG_TEXT_BYTES];
};

struct scenario {
	char title[CONFIG_TEXT_BYTES], clause[CONFIG_TEXT_BYTES], traffic[CONFIG_TEXT_BYTES];
	uint32_t n_rules, n_seen, n_requester, n_responder, n_differs;
	struct rf_rule rules[RF_MAX_RULES];
	struct seen seen[RF_MAX_RULES];
	char status[CONFIG_TEXT_BYTES];
	bool data;
	uint32_t received, ms_min, ms_max;
	char requester[MAX_WORDS][CONFIG_TEXT_BYTES], responder[MAX_WORDS][CONFIG_TEXT_BYTES];
	struct differs differs[MAX_DIFFER];
	char files[CONFIG_MAX_FILES][CONFIG_TEXT_BYTES];
};

#define AT(f)          FK_AT(scenario, f)
#define LIST(f, n)     offsetof(struct scenario, f), sizeof(((struct scenario *)0)->f[0]), offsetof(struct scenario, n)
#define TEXT(path, at, dflt, help) {path, CONFIG_TEXT, at, 1, CONFIG_TEXT_BYTES - 1, dflt, "", help}
#define N(path, at, dflt, help) {path, CONFIG_UINT, at, 0, RF_MANY, dflt, "", help}

static const struct config_key keys[] = {
	TEXT("title", AT(title), NULL, "what happens"),
	TEXT("clause", AT(clause), NULL, "what says what is right"),
	TEXT("traffic", AT(traffic), NULL, "options of rc_case at both ends"),
	RF_RULE_ROWS("impairments", scenario, rules, n_rules, "each has to hit at least once"),
	{"seen", CONFIG_LIST_OF, LIST(seen, n_seen), 0, RF_MAX_RULES, "", "", "packets that have to be seen on their way"},
	RF_RULE_KEYS("seen"),
	N("seen[].min", FK_AT(seen, min), "1", "so many at least"),
	N("seen[].max", FK_AT(seen, max), RF_ANY_TEXT, "and at most"),
	{"expect", CONFIG_GROUP_OF, 0, 0, 0, 0, 1, "", "", "what comes of it"},
	TEXT("expect.status", AT(status), "SUCCESS", "of the first work request that fails, or SUCCESS"),
	{"expect.data", CONFIG_BOOLEAN, AT(data), 0, 1, "true", "", "the bytes of what completed are right"},
	N("expect.received", AT(received), RF_ANY_TEXT, "receives that completed at the responder"),
	N("expect.ms_min", AT(ms_min), "0", "how long it takes at least"),
	N("expect.ms_max", AT(ms_max), RF_ANY_TEXT, "and at most"),
	{"expect.requester", CONFIG_TEXTS, LIST(requester, n_requester), 0, MAX_WORDS, "", "",
		"roced's counters when it is the requester, as \"retransmits >= 1\""},
	{"expect.responder", CONFIG_TEXTS, LIST(responder, n_responder), 0, MAX_WORDS, "", "",
		"roced's counters when it is the responder"},
	{"differs", CONFIG_LIST_OF, LIST(differs, n_differs), 0, MAX_DIFFER, "", "",
		"ends that are known to do something else"},
	TEXT("differs[].who", FK_AT(differs, who), NULL, "\"rxe requester\" or \"rxe responder\""),
	TEXT("differs[].why", FK_AT(differs, why), NULL, "what it does"),
};

/* ---- checks ---- */

static void check_rule(struct config_reader *reader, const char *list, uint32_t i, struct rf_rule *rule)
{
	char error[RF_RULE_ERROR];

	if (rf_rule_compile(rule, error) != 0 || rf_rule_check_hosts(rule, 2, error) != 0)
		config_error(reader, &rule->at, "%s[%u]: %s", list, i, error);
}

static void check_counter(struct config_reader *reader, const char *list, const char *text)
{
	static const char *const ops[] = {">=", "<=", "=="};
	struct config_at at = {0};
	char name[64], op[4], end;
	unsigned value;
	bool ok = false;

	if (sscanf(text, "%63[a-z_] %3s %u%c", name, op, &value, &end) == 3) {
		for (int i = 0; i < 3; i++)
			ok |= strcmp(op, ops[i]) == 0;
	}
	if (!ok)
		config_error(reader, &at, "%s: \"%s\" is wrong, must be like \"retransmits >= 1\"", list, text);
}

static void check(struct config_reader *reader, struct scenario *s)
{
	for (uint32_t i = 0; i < s->n_rules; i++)
		check_rule(reader, "impairments", i, &s->rules[i]);
	for (uint32_t i = 0; i < s->n_seen; i++) {
		check_rule(reader, "seen", i, &s->seen[i].rule);
		if (s->seen[i].rule.action != RF_ACT_COUNT)
			config_error(reader, &s->seen[i].rule.at, "seen[%u].action: must be count", i);
		if (s->seen[i].min > s->seen[i].max)
			config_error(reader, &s->seen[i].rule.at, "seen[%u]: min is above max", i);
	}
	for (uint32_t i = 0; i < s->n_requester; i++)
		check_counter(reader, "expect.requester", s->requester[i]);
	for (uint32_t i = 0; i < s->n_responder; i++)
		check_counter(reader, "expect.responder", s->responder[i]);
	for (uint32_t i = 0; i < s->n_differs; i++) {
		if (strcmp(s->differs[i].who, "rxe requester") != 0 && strcmp(s->differs[i].who, "rxe responder") != 0)
			config_error(reader, &s->differs[i].at, "differs[%u].who: must be \"rxe requester\" or \"rxe responder\"", i);
	}
}

/* ---- lines ---- */

static void print_rule(const char *key, const struct rf_rule *rule, bool swap)
{
	struct rf_rule copy = *rule;

	if (swap && copy.from != RF_ANY)
		copy.from = 1 - copy.from;
	if (swap && copy.to != RF_ANY)
		copy.to = 1 - copy.to;
	printf("%s\t", key);
	rf_rule_print(stdout, &copy);
	putchar('\n');
}

static void print_expected(const struct scenario *s)
{
	printf("status\t%s\ndata\t%s\n", s->status, s->data ? "right" : "wrong");
	if (s->received != RF_ANY)
		printf("received\t%u\n", s->received);
	printf("ms\t%u\t%u\n", s->ms_min, s->ms_max);
	for (uint32_t i = 0; i < s->n_requester; i++)
		printf("requester\t%s\n", s->requester[i]);
	for (uint32_t i = 0; i < s->n_responder; i++)
		printf("responder\t%s\n", s->responder[i]);
	for (uint32_t i = 0; i < s->n_differs; i++)
		printf("differs\t%s\t%s\n", s->differs[i].who, s->differs[i].why);
}

static void print_all(const struct scenario *s, bool swap)
{
	char key[64];

	printf("title\t%s\nclause\t%s\ntraffic\t%s\n", s->title, s->clause, s->traffic);
	for (uint32_t i = 0; i < s->n_seen; i++) {
		snprintf(key, sizeof(key), "seen\t%u\t%u", s->seen[i].min, s->seen[i].max);
		print_rule(key, &s->seen[i].rule, swap);
	}
	for (uint32_t i = 0; i < s->n_rules; i++)
		print_rule("rule", &s->rules[i], swap);
	print_expected(s);
}

int main(int argc, char **argv)
{
	static struct scenario scenario;
	bool swap = argc == 3 && strcmp(argv[1], "--swap") == 0;
	struct config_reader reader = {.path = argv[argc - 1], .keys = keys, .n_keys = sizeof(keys) / sizeof(keys[0]),
		.base = &scenario, .files = scenario.files, .err = stderr};

	if (argc != 2 && !swap) {
		fputs("usage: scenario [--swap] FILE\n", stderr);
		return 2;
	}
	if (config_read_table(&reader))
		check(&reader, &scenario);
	if (reader.n_errors != 0)
		return 1;
	print_all(&scenario, swap);
	return 0;
}
