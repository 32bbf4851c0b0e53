/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A model as text: words in lines, each line at its place.
 *
 *   roced-cc-model 1
 *   first_packets NUMBER
 *   share_percent NUMBER
 *   trees NUMBER
 *   tree DEPTH                    so many times:
 *   split FEATURE THRESHOLD         2^DEPTH - 1 of them, level by level
 *   leaf NUMBER                     2^DEPTH
 *   end
 *
 * Empty lines and what follows a # count for nothing. Whatever else is there, or missing, is wrong.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cc_model.h"

#define MAX_WORDS   3u
#define SHOWN_BYTES 24   /* of a wrong word */

struct word {
	const char *text;
	size_t bytes;
};

struct reader {
	const char *text;
	size_t bytes, at;
	unsigned int line;
	struct word words[MAX_WORDS];
	uint32_t n_words;
	struct cc_model_error *error;
};

__attribute__((format(printf, 2, 3))) static int wrong(struct reader *r, const char *fmt, ...)
{
	va_list ap;

	r->error->line = r->line;
	va_start(ap, fmt);
	(void)vsnprintf(r->error->what, sizeof(r->error->what), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* A word as it may be shown: what it has is the file's, not ours. */
static const char *show(const struct word *word, char shown[SHOWN_BYTES + 1])
{
	size_t n = word->bytes < SHOWN_BYTES ? word->bytes : SHOWN_BYTES;

	for (size_t i = 0; i < n; i++)
		shown[i] = word->text[i] > ' ' && word->text[i] < 127 ? word->text[i] : '?';
	shown[n] = '\0';
	return shown;
}

static bool is(const struct word *word, const char *text)
{
	return word->bytes == strlen(text) && memcmp(word->text, text, word->bytes) == 0;
}

/* ---- lines ---- */

/* The words of the line from at to end; more than there is room for are counted. */
static void take_words(struct reader *r, size_t at, size_t end)
{
	r->n_words = 0;
	while (at < end && r->text[at] != '#') {
		size_t from = at;

		while (at < end && r->text[at] != '#' && r->text[at] != ' ' && r->text[at] != '\t')
			at++;
		if (at == from) {
			at++;
			continue;
		}
		if (r->n_words < MAX_WORDS)
			r->words[r->n_words] = (struct word){r->text + from, at - from};
		r->n_words++;
	}
}

/* The next line with words; false: there is none. */
static bool next(struct reader *r)
{
	while (r->at < r->bytes) {
		const char *from = r->text + r->at, *newline = memchr(from, '\n', r->bytes - r->at);
		size_t end = newline != NULL ? (size_t)(newline - r->text) : r->bytes;

		r->line++;
		take_words(r, r->at, end);
		r->at = end < r->bytes ? end + 1 : end;
		if (r->n_words != 0)
			return true;
	}
	return false;
}

/* The next line has to be "name" and so many words more. */
static int expect(struct reader *r, const char *name, uint32_t n_more, const char *form)
{
	char shown[SHOWN_BYTES + 1];

	if (!next(r))
		return wrong(r, "the text ends, must go on with \"%s\"", form);
	if (!is(&r->words[0], name))
		return wrong(r, "\"%s\" is wrong here, must be \"%s\"", show(&r->words[0], shown), form);
	if (r->n_words != n_more + 1)
		return wrong(r, "has %u words, must be \"%s\"", r->n_words, form);
	return 0;
}

/* ---- words ---- */

/* Digits with or without a minus, nothing else. */
static bool read_digits(const struct word *word, int64_t *value)
{
	bool minus = word->bytes > 1 && word->text[0] == '-';
	int64_t v = 0;

	for (size_t i = minus; i < word->bytes; i++) {
		if (word->text[i] < '0' || word->text[i] > '9' || v > INT32_MAX)
			return false;
		v = v * 10 + (word->text[i] - '0');
	}
	*value = minus ? -v : v;
	return true;
}

static int number(struct reader *r, const struct word *word, int32_t min, int32_t max, int32_t *value)
{
	char shown[SHOWN_BYTES + 1];
	int64_t v;

	if (!read_digits(word, &v) || v < min || v > max)
		return wrong(r, "\"%s\" is wrong, must be a whole number from %d to %d", show(word, shown), (int)min, (int)max);
	*value = (int32_t)v;
	return 0;
}

/* A line of a name and a number. */
static int field(struct reader *r, const char *name, int32_t min, int32_t max, int32_t *value)
{
	char form[40];
	int rc;

	(void)snprintf(form, sizeof(form), "%s NUMBER", name);
	rc = expect(r, name, 1, form);
	return rc != 0 ? rc : number(r, &r->words[1], min, max, value);
}

static int unsigned_field(struct reader *r, const char *name, int32_t min, int32_t max, uint32_t *value)
{
	int32_t v = 0;
	int rc = field(r, name, min, max, &v);

	*value = (uint32_t)v;
	return rc;
}

static int feature(struct reader *r, const struct word *word, enum cc_feature *value)
{
	char shown[SHOWN_BYTES + 1], list[100] = "";

	for (int i = 0; i < CC_FEATURES; i++) {
		const char *name = cc_feature_name((enum cc_feature)i);
		size_t used = strlen(list);

		if (is(word, name)) {
			*value = (enum cc_feature)i;
			return 0;
		}
		(void)snprintf(list + used, sizeof(list) - used, "%s%s", i == 0 ? "" : i + 1 == CC_FEATURES ? " or " : ", ", name);
	}
	return wrong(r, "\"%s\" is no feature, must be %s", show(word, shown), list);
}

/* ---- trees ---- */

static int split(struct reader *r, struct cc_model_tree *tree, uint32_t at)
{
	enum cc_feature which = 0;
	int32_t threshold = 0;
	int rc = expect(r, "split", 2, "split FEATURE THRESHOLD");

	if (rc == 0)
		rc = feature(r, &r->words[1], &which);
	if (rc == 0)
		rc = number(r, &r->words[2], -CC_MODEL_MAX, CC_MODEL_MAX, &threshold);
	tree->split[at] = CC_SPLIT(which, threshold);
	return rc;
}

static int tree_of(struct reader *r, struct cc_model_tree *tree)
{
	int32_t step = 0;
	int rc = unsigned_field(r, "tree", 1, CC_MODEL_DEPTH, &tree->depth);

	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < (1u << tree->depth) - 1 && rc == 0; i++)
		rc = split(r, tree, i);
	for (uint32_t i = 0; i < 1u << tree->depth && rc == 0; i++) {
		rc = field(r, "leaf", -CC_MODEL_MAX_LEAF, CC_MODEL_MAX_LEAF, &step);
		tree->leaf[i] = (int16_t)step;
	}
	return rc;
}

static int whole(struct reader *r, struct cc_model *model)
{
	uint32_t version;
	int rc = unsigned_field(r, "roced-cc-model", CC_MODEL_VERSION, CC_MODEL_VERSION, &version);

	if (rc == 0)
		rc = unsigned_field(r, "first_packets", 0, 65536, &model->first_packets);
	if (rc == 0)
		rc = unsigned_field(r, "share_percent", 1, 1000, &model->share_percent);
	if (rc == 0)
		rc = unsigned_field(r, "trees", 1, CC_MODEL_TREES, &model->n_trees);
	for (uint32_t i = 0; rc == 0 && i < model->n_trees; i++)
		rc = tree_of(r, &model->trees[i]);
	if (rc == 0)
		rc = expect(r, "end", 0, "end");
	if (rc == 0 && next(r))
		rc = wrong(r, "there must be nothing after \"end\"");
	return rc;
}

int cc_model_parse(struct cc_model *model, const char *text, size_t bytes, struct cc_model_error *error)
{
	struct reader r = {.text = text, .bytes = bytes, .error = error};

	*error = (struct cc_model_error){0};
	memset(model, 0, sizeof(*model));
	if (bytes > CC_MODEL_TEXT_MAX)
		return wrong(&r, "has more than %u bytes", CC_MODEL_TEXT_MAX);
	return whole(&r, model);
}
