/* SPDX-License-Identifier: BSD-3-Clause */
#include "rf_command.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#define MAX_WORDS  34 /* a rule with all its keys */
#define MAX_VALUES 2
#define SHOWN      24 /* characters of a word that an error repeats */

struct value {
	const char *name;        /* NULL: there is none */
	uint64_t max;
};

/* One command. */
struct verb {
	const char *word;
	enum place { NOWHERE, ANYWHERE, SOMEWHERE, RULE, WHICH } place;
	struct value values[MAX_VALUES];
	const char *help;
};

static const struct verb verbs[] = {
	[RF_HELP] = {"help", NOWHERE, {{0}}, "these commands"},
	[RF_STATS] = {"stats", NOWHERE, {{0}}, "counters of the ports and of the paths, which are the spines"},
	[RF_LINKS] = {"links", NOWHERE, {{0}}, "counters and faults of each link"},
	[RF_RESET] = {"reset", NOWHERE, {{0}}, "all counters begin anew"},
	[RF_RESTORE] = {"restore", ANYWHERE, {{0}}, "no faults there; without a place, nowhere"},
	[RF_CUT] = {"cut", SOMEWHERE, {{0}}, "nothing gets through"},
	[RF_RATE] = {"rate", SOMEWHERE, {{"PERCENT", 100}}, "so much of the link's rate; 0: all of it"},
	[RF_LOSS] = {"loss", SOMEWHERE, {{"PPM", FK_PPM}}, "so many of a million packets are lost"},
	[RF_CORRUPT] = {"corrupt", SOMEWHERE, {{"PPM", FK_PPM}}, "so many arrive with a wrong bit"},
	[RF_REPEAT] = {"repeat", SOMEWHERE, {{"PPM", FK_PPM}}, "so many arrive twice"},
	[RF_DELAY] = {"delay", SOMEWHERE, {{"PPM", FK_PPM}, {"NS", FK_NS}},
		"so many are late, by so much at most, and others overtake them"},
	[RF_PAUSE_LINK] = {"pause", SOMEWHERE, {{"PRIORITIES", 255}},
		"both ends are told to pause these, bit p: priority p; 0: none"},
	[RF_IMPAIR] = {"impair", RULE, {{0}},
		"does that to RoCE packets: drop, delay, reorder, duplicate, mark, corrupt, icrc, jump, count; "
		"KEY as in impairments"},
	[RF_IMPAIRMENTS] = {"impairments", NOWHERE, {{0}}, "these rules, what matched them, and how often they hit"},
	[RF_CLEAR] = {"clear", WHICH, {{0}}, "no such rule; without a number or name, none"},
};

#define N_VERBS (sizeof(verbs) / sizeof(verbs[0]))
#define PLACE   "host N | leaf N | spine N | leaf N spine N | link N [count N]"

/* What is left of a line. */
struct words {
	const char *at[MAX_WORDS];
	size_t bytes[MAX_WORDS];
	size_t n, next;
	char *error;
};

__attribute__((format(printf, 2, 3))) static int wrong(struct words *words, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(words->error, RF_ERROR_BYTES, fmt, ap);
	va_end(ap);
	for (char *c = words->error; *c != '\0'; c++) {
		if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
			*c = '?';
	}
	return -EINVAL;
}

/* A word as errors show it. */
static const char *shown(const struct words *words, size_t i, char out[SHOWN + 4])
{
	size_t n = 0;

	if (i >= words->n)
		return "the end";
	for (; n < words->bytes[i] && n < SHOWN; n++)
		out[n] = words->at[i][n] != '\0' ? words->at[i][n] : '?';
	snprintf(out + n, 4, "%s", words->bytes[i] > SHOWN ? "..." : "");
	return out;
}

static int split(const char *line, size_t n, struct words *words)
{
	size_t i = 0;

	while (i < n) {
		size_t begin;

		while (i < n && (line[i] == ' ' || line[i] == '\t' || line[i] == '\r'))
			i++;
		begin = i;
		while (i < n && line[i] != ' ' && line[i] != '\t' && line[i] != '\r')
			i++;
		if (i == begin)
			break;
		if (words->n == MAX_WORDS)
			return wrong(words, "too many words");
		words->at[words->n] = line + begin;
		words->bytes[words->n++] = i - begin;
	}
	return words->n != 0 ? 0 : wrong(words, "no command, try help");
}

static bool is(const struct words *words, size_t i, const char *text)
{
	return i < words->n && words->bytes[i] == strlen(text) && memcmp(words->at[i], text, words->bytes[i]) == 0;
}

static int take_number(struct words *words, const char *what, uint64_t max, uint64_t *out)
{
	size_t i = words->next++;
	uint64_t value = 0;
	char text[SHOWN + 4];

	for (size_t c = 0; i < words->n && c < words->bytes[i]; c++) {
		unsigned digit = (unsigned char)words->at[i][c] - (unsigned)'0';

		if (digit > 9 || value > max)
			return wrong(words, "%s: %s is wrong, must be a number, 0 to %llu", what, shown(words, i, text),
				(unsigned long long)max);
		value = value * 10 + digit;
	}
	if (i >= words->n || value > max)
		return wrong(words, "%s: %s is wrong, must be a number, 0 to %llu", what, shown(words, i, text),
			(unsigned long long)max);
	*out = value;
	return 0;
}

/* ---- places ---- */

static int take_index(struct words *words, const char *what, uint32_t *out)
{
	uint64_t value = 0;
	int rc;

	words->next++;
	if (*out != FK_ANY)
		return wrong(words, "%s is named twice", what);
	rc = take_number(words, what, FK_MAX_INDEX, &value);
	*out = (uint32_t)value;
	return rc;
}

/* The field that a word names; NULL: it is none of a place. */
static uint32_t *field(struct fk_place *place, const struct words *words, const char **name)
{
	static const char *const names[] = {"host", "leaf", "spine", "link", "count"};
	uint32_t *const fields[] = {&place->host, &place->leaf, &place->spine, &place->link, &place->count};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		*name = names[i];
		if (is(words, words->next, names[i]))
			return fields[i];
	}
	return NULL;
}

static int take_place(struct words *words, const struct verb *verb, struct rf_command *out)
{
	struct fk_place *place = &out->place;
	char text[SHOWN + 4];
	const char *name;
	uint32_t *to;
	int kinds, rc;

	*place = (struct fk_place){FK_ANY, FK_ANY, FK_ANY, FK_ANY, FK_ANY};
	while ((to = field(place, words, &name)) != NULL) {
		rc = take_index(words, name, to);
		if (rc != 0)
			return rc;
	}
	kinds = (place->host != FK_ANY) + (place->leaf != FK_ANY || place->spine != FK_ANY) + (place->link != FK_ANY);
	out->everywhere = kinds == 0 && place->count == FK_ANY;
	if (out->everywhere && verb->place == ANYWHERE)
		return 0;
	if (kinds == 0)
		return wrong(words, "%s: where? must be " PLACE ", not %s", verb->word,
			shown(words, words->next, text));
	if (kinds > 1)
		return wrong(words, "%s: one place at a time: " PLACE, verb->word);
	if (place->count == FK_ANY)
		place->count = 1;
	return place->count != 0 ? 0 : wrong(words, "count: must be at least 1");
}

/* ---- lines ---- */

static const struct verb *find_verb(struct words *words)
{
	char list[192] = "", text[SHOWN + 4];

	for (size_t i = 0; i < N_VERBS; i++) {
		size_t used = strlen(list);

		if (is(words, 0, verbs[i].word))
			return &verbs[i];
		snprintf(list + used, sizeof(list) - used, "%s%s", i == 0 ? "" : ", ", verbs[i].word);
	}
	(void)wrong(words, "unknown command %s, there are: %s", shown(words, 0, text), list);
	return NULL;
}

/* ---- rules ---- */

/* Copies word i to out and ends it. */
static int copy_word(struct words *words, size_t i, char *out, size_t out_bytes)
{
	char text[SHOWN + 4];

	if (words->bytes[i] >= out_bytes || memchr(words->at[i], '\0', words->bytes[i]) != NULL)
		return wrong(words, "%s is wrong", shown(words, i, text));
	memcpy(out, words->at[i], words->bytes[i]);
	out[words->bytes[i]] = '\0';
	return 0;
}

static int take_rule(struct words *words, struct rf_rule *out)
{
	char text[MAX_WORDS][RF_RULE_TEXT], error[RF_RULE_ERROR];
	const char *list[MAX_WORDS];
	size_t n = 0;
	int rc = 0;

	for (; words->next < words->n && rc == 0; n++) {
		list[n] = text[n];
		rc = copy_word(words, words->next++, text[n], sizeof(text[n]));
	}
	if (rc == 0 && rf_rule_words(list, n, out, error) != 0)
		rc = wrong(words, "%s", error);
	return rc;
}

int rf_command_parse(const char *line, size_t n, struct rf_command *out, char error[RF_ERROR_BYTES])
{
	struct words words = {.error = error, .next = 1};
	uint64_t values[MAX_VALUES] = {0};
	const struct verb *verb;
	char text[SHOWN + 4];
	int rc = split(line, n, &words);

	if (rc != 0)
		return rc;
	verb = find_verb(&words);
	if (verb == NULL)
		return -EINVAL;
	*out = (struct rf_command){.verb = (enum rf_verb)(verb - verbs), .everywhere = true};
	if (verb->place == ANYWHERE || verb->place == SOMEWHERE)
		rc = take_place(&words, verb, out);
	else if (verb->place == RULE)
		rc = take_rule(&words, &out->rule);
	else if (verb->place == WHICH && words.n > 1)
		rc = copy_word(&words, words.next++, out->which, sizeof(out->which));
	for (int i = 0; i < MAX_VALUES && rc == 0 && verb->values[i].name != NULL; i++)
		rc = take_number(&words, verb->values[i].name, verb->values[i].max, &values[i]);
	if (rc == 0 && words.next < words.n)
		rc = wrong(&words, "%s: %s is too much", verb->word, shown(&words, words.next, text));
	out->value = (uint32_t)values[0];
	out->delay_ns = values[1];
	return rc;
}

void rf_command_change(const struct rf_command *command, struct fabric_fault *fault)
{
	switch (command->verb) {
	case RF_RESTORE:
		*fault = (struct fabric_fault){0};
		break;
	case RF_CUT:
		fault->cut = true;
		break;
	case RF_RATE:
		fault->rate_percent = command->value;
		break;
	case RF_LOSS:
		fault->lose_ppm = command->value;
		break;
	case RF_CORRUPT:
		fault->corrupt_ppm = command->value;
		break;
	case RF_REPEAT:
		fault->repeat_ppm = command->value;
		break;
	case RF_DELAY:
		fault->delay_ppm = command->value;
		fault->delay_ns = command->delay_ns;
		break;
	case RF_PAUSE_LINK:
		fault->pause_priorities = (uint8_t)command->value;
		break;
	case RF_HELP:
	case RF_STATS:
	case RF_LINKS:
	case RF_RESET:
	case RF_IMPAIR:
	case RF_IMPAIRMENTS:
	case RF_CLEAR:
		break;
	}
}

void rf_command_help(FILE *out, bool json)
{
	static const char *const places[] = {"", " [PLACE]", " PLACE", " ACTION [KEY VALUE]...", " [RULE]"};

	for (size_t i = 0; i < N_VERBS; i++) {
		const struct verb *verb = &verbs[i];

		fprintf(out, "%s%s%s", json ? i == 0 ? "\"" : ",\"" : "  ", verb->word, places[verb->place]);
		for (int v = 0; v < MAX_VALUES && verb->values[v].name != NULL; v++)
			fprintf(out, " %s", verb->values[v].name);
		fprintf(out, ": %s%s", verb->help, json ? "\"" : "\n");
	}
	fprintf(out, "%s", json ? ",\"PLACE: " PLACE "\"" : "  PLACE: " PLACE "\n");
}
