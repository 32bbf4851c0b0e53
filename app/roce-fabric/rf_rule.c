/* SPDX-License-Identifier: BSD-3-Clause */
#include "rf_rule.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const struct config_key keys[] = {RF_RULE_KEYS("rule")};

#define N_KEYS (sizeof(keys) / sizeof(keys[0]))

static const char *const actions[RF_ACT_TOTAL] = {
	[RF_ACT_COUNT] = "count",
	[RF_ACT_DROP] = "drop",
	[RF_ACT_DELAY] = "delay",
	[RF_ACT_REORDER] = "reorder",
	[RF_ACT_DUPLICATE] = "duplicate",
	[RF_ACT_MARK] = "mark",
	[RF_ACT_CORRUPT] = "corrupt",
	[RF_ACT_ICRC] = "icrc",
	[RF_ACT_JUMP] = "jump",
};

__attribute__((format(printf, 2, 3))) static int wrong(char error[RF_RULE_ERROR], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(error, RF_RULE_ERROR, fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* ---- what a rule means ---- */

static int compile_action(struct rf_rule *rule, char error[RF_RULE_ERROR])
{
	for (int a = 0; a < RF_ACT_TOTAL; a++) {
		if (strcmp(rule->action_text, actions[a]) != 0)
			continue;
		rule->action = (enum rf_action)a;
		return 0;
	}
	return wrong(error, "action: %s is wrong, must be drop, delay, reorder, duplicate, mark, corrupt, icrc, jump or count",
		rule->action_text);
}

static int compile_network(const char *what, const char *text, struct config_prefix *out, char error[RF_RULE_ERROR])
{
	static const struct config_key key = {.type = CONFIG_NETWORK, .bytes = sizeof(struct config_prefix)};
	const char *want;

	*out = (struct config_prefix){.len = 0};
	if (text[0] == '\0')
		return 0;
	want = config_value_parse(&key, text, out);
	if (want == NULL)
		return 0;
	return wrong(error, "%s: %s is wrong, must be %s", what, text, want);
}

/* A key that does nothing is a mistake. */
static int check_use(const struct rf_rule *rule, char error[RF_RULE_ERROR])
{
	enum rf_action a = rule->action;

	if (a == RF_ACT_DELAY && rule->delay_us == 0)
		return wrong(error, "delay: delay_us must say how long");
	if (a == RF_ACT_JUMP && rule->by == 0)
		return wrong(error, "jump: by must say how far");
	if (rule->delay_us != 0 && a != RF_ACT_DELAY && a != RF_ACT_DUPLICATE && a != RF_ACT_REORDER)
		return wrong(error, "delay_us: is for delay, duplicate and reorder, not for %s", actions[a]);
	if (rule->packets != 1 && a != RF_ACT_DUPLICATE && a != RF_ACT_REORDER)
		return wrong(error, "packets: is for duplicate and reorder, not for %s", actions[a]);
	if (rule->by != 0 && a != RF_ACT_JUMP)
		return wrong(error, "by: is for jump, not for %s", actions[a]);
	return 0;
}

int rf_rule_compile(struct rf_rule *rule, char error[RF_RULE_ERROR])
{
	int rc = compile_action(rule, error);

	if (rc == 0 && rule->name[0] >= '0' && rule->name[0] <= '9')
		rc = wrong(error, "name: %s is wrong, must not begin with a digit, as rules have numbers too", rule->name);
	if (rc == 0)
		rc = check_use(rule, error);
	if (rc == 0 && !rf_opset_parse(rule->opcode, &rule->ops))
		rc = wrong(error, "opcode: %s is wrong, must be " RF_OPSET_WANTED, rule->opcode);
	if (rc == 0)
		rc = compile_network("src", rule->src, &rule->src_net, error);
	if (rc == 0)
		rc = compile_network("dst", rule->dst, &rule->dst_net, error);
	return rc;
}

int rf_rule_check_hosts(const struct rf_rule *rule, uint64_t n_hosts, char error[RF_RULE_ERROR])
{
	if (rule->from != RF_ANY && rule->from >= n_hosts)
		return wrong(error, "from: the fabric has %" PRIu64 " hosts, from 0 on, so there is no %u", n_hosts, rule->from);
	if (rule->to != RF_ANY && rule->to >= n_hosts)
		return wrong(error, "to: the fabric has %" PRIu64 " hosts, from 0 on, so there is no %u", n_hosts, rule->to);
	return 0;
}

/* ---- words ---- */

static uint32_t *number_at(struct rf_rule *rule, const struct config_key *key)
{
	return (uint32_t *)(void *)((uint8_t *)rule + key->off);
}

static void set_defaults(struct rf_rule *rule)
{
	memset(rule, 0, sizeof(*rule));
	for (size_t i = 0; i < N_KEYS; i++) {
		if (keys[i].dflt == NULL)
			continue;
		if (keys[i].type == CONFIG_UINT)
			*number_at(rule, &keys[i]) = (uint32_t)strtoul(keys[i].dflt, NULL, 10);
		else if (keys[i].type != CONFIG_BOOLEAN)
			(void)config_value_parse(&keys[i], keys[i].dflt, (uint8_t *)rule + keys[i].off);
	}
}

static int set_number(struct rf_rule *rule, const struct config_key *key, const char *name, const char *text,
	char error[RF_RULE_ERROR])
{
	unsigned long long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < key->min || value > key->max)
		return wrong(error, "%s: %s is wrong, must be a number, %" PRIu64 " to %" PRIu64 "%s%s", name, text,
			key->min, key->max, key->unit[0] != '\0' ? " " : "", key->unit);
	*number_at(rule, key) = (uint32_t)value;
	return 0;
}

static int set_value(struct rf_rule *rule, const struct config_key *key, const char *text, char error[RF_RULE_ERROR])
{
	size_t n_bytes;
	const char *name = config_key_name(key, &n_bytes), *want;

	if (key->type == CONFIG_UINT)
		return set_number(rule, key, name, text, error);
	if (key->type == CONFIG_BOOLEAN) {
		rule->again = strcmp(text, "true") == 0;
		return rule->again || strcmp(text, "false") == 0 ? 0 :
			wrong(error, "%s: %s is wrong, must be true or false", name, text);
	}
	want = config_value_parse(key, text, (uint8_t *)rule + key->off);
	return want == NULL ? 0 : wrong(error, "%s: %s is wrong, must be %s", name, text, want);
}

static const struct config_key *find_key(const char *word)
{
	for (size_t i = 0; i < N_KEYS; i++) {
		size_t n_bytes;
		const char *name = config_key_name(&keys[i], &n_bytes);

		if (strlen(word) == n_bytes && memcmp(name, word, n_bytes) == 0)
			return &keys[i];
	}
	return NULL;
}

static int no_key(const char *word, char error[RF_RULE_ERROR])
{
	size_t used = 0;
	int rc = wrong(error, "unknown key %s, there are:", word);

	/* the first is the action, which has no name here */
	for (size_t i = 1; i < N_KEYS; i++) {
		size_t n_bytes;
		const char *name = config_key_name(&keys[i], &n_bytes);

		used = strlen(error);
		snprintf(error + used, RF_RULE_ERROR - used, "%s %.*s", i == 1 ? "" : ",", (int)n_bytes, name);
	}
	return rc;
}

int rf_rule_words(const char *const *words, size_t n, struct rf_rule *out, char error[RF_RULE_ERROR])
{
	uint32_t given = 0;
	int rc = 0;

	set_defaults(out);
	if (n == 0)
		return wrong(error, "impair: what? must be drop, delay, reorder, duplicate, mark, corrupt, icrc, jump or count");
	rc = set_value(out, &keys[0], words[0], error);
	for (size_t i = 1; i < n && rc == 0; i += 2) {
		const struct config_key *key = find_key(words[i]);
		uint32_t bit;

		if (key == NULL || key == &keys[0])
			return no_key(words[i], error);
		bit = 1u << (key - keys);
		if ((given & bit) != 0)
			return wrong(error, "%s is named twice", words[i]);
		given |= bit;
		if (i + 1 == n)
			return wrong(error, "%s: the end is wrong, must be a value", words[i]);
		rc = set_value(out, key, words[i + 1], error);
	}
	return rc == 0 ? rf_rule_compile(out, error) : rc;
}

void rf_rule_print(FILE *out, const struct rf_rule *rule)
{
	struct rf_rule plain;

	set_defaults(&plain);
	fputs(rule->action_text, out);
	for (size_t i = 1; i < N_KEYS; i++) {
		const struct config_key *key = &keys[i];
		const uint8_t *is = (const uint8_t *)rule + key->off, *was = (const uint8_t *)&plain + key->off;
		size_t n_bytes;
		const char *name = config_key_name(key, &n_bytes);

		if (key->type == CONFIG_UINT && memcmp(is, was, sizeof(uint32_t)) != 0) {
			uint32_t value;

			memcpy(&value, is, sizeof(value));
			fprintf(out, " %.*s %" PRIu32, (int)n_bytes, name, value);
		} else if (key->type == CONFIG_BOOLEAN && *is != *was) {
			fprintf(out, " %.*s true", (int)n_bytes, name);
		} else if ((key->type == CONFIG_TEXT || key->type == CONFIG_NAME) &&
			strcmp((const char *)is, (const char *)was) != 0) {
			fprintf(out, " %.*s %s", (int)n_bytes, name, (const char *)is);
		}
	}
}
