/* SPDX-License-Identifier: BSD-3-Clause */
/* The text of a model: what is read, what is said of those that are wrong, and that no text does harm. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cc_model.h"

static const char good[] =
	"# what it is\n"
	"roced-cc-model 1\n"
	"\n"
	"first_packets 4\n"
	"share_percent 150 # of all\n"
	"trees 2\n"
	"tree 1\n"
	"\tsplit delay 1024\n"
	"\tleaf 100\n"
	"\tleaf -1024\n"
	"tree 2\n"
	"split senders 4\nsplit trend -1048576\nsplit all 1048576\n"
	"leaf 1\nleaf 2\nleaf 3\nleaf 4\n"
	"end\n";

static struct cc_model model;
static struct cc_model_error error;

/* The text is not followed by anything, so that a sanitizer tells of a byte too many. */
static int parse(const char *text, size_t n)
{
	char *copy = malloc(n != 0 ? n : 1);
	int rc;

	assert_non_null(copy);
	memcpy(copy, text, n);
	rc = cc_model_parse(&model, copy, n, &error);
	free(copy);
	if (rc == 0) {
		assert_int_equal(cc_model_check(&model), 0);
	} else {
		assert_int_equal(rc, -EINVAL);
		assert_true(error.what[0] != '\0');
		assert_non_null(memchr(error.what, '\0', sizeof(error.what)));
	}
	return rc;
}

static void all_of_it_is_read(void **state)
{
	(void)state;
	assert_int_equal(parse(good, strlen(good)), 0);
	assert_int_equal(model.first_packets, 4);
	assert_int_equal(model.share_percent, 150);
	assert_int_equal(model.n_trees, 2);
	assert_int_equal(model.trees[0].depth, 1);
	assert_int_equal(model.trees[0].split[0], CC_SPLIT(CC_F_DELAY, 1024));
	assert_int_equal(model.trees[0].leaf[1], -1024);
	assert_int_equal(model.trees[1].depth, 2);
	assert_int_equal(model.trees[1].split[1], CC_SPLIT(CC_F_TREND, -1048576));
	assert_int_equal(model.trees[1].split[2], CC_SPLIT(CC_F_ALL, 1048576));
	assert_int_equal(model.trees[1].leaf[3], 4);
	/* without the last newline as well */
	assert_int_equal(parse(good, strlen(good) - 1), 0);
}

/* good with its first `old` replaced. */
static char *with(const char *old, const char *new)
{
	const char *at = strstr(good, old);
	char *text = NULL;

	assert_non_null(at);
	assert_true(asprintf(&text, "%.*s%s%s", (int)(at - good), good, new, at + strlen(old)) > 0);
	return text;
}

static void what_is_wrong_is_said_with_its_line(void **state)
{
	static const struct {
		const char *old, *new;
		unsigned int line;
		const char *says;
	} wrong[] = {
		{"roced-cc-model 1", "", 4, "\"first_packets\" is wrong here, must be \"roced-cc-model NUMBER\""},
		{"roced-cc-model 1", "roced-cc-model 2", 2, "\"2\" is wrong, must be a whole number from 1 to 1"},
		{"roced-cc-model 1", "<html>", 2, "\"<html>\" is wrong here"},
		{"first_packets 4", "first_packets 65537", 4, "must be a whole number from 0 to 65536"},
		{"first_packets 4", "first_packets", 4, "has 1 words, must be \"first_packets NUMBER\""},
		{"first_packets 4", "first_packets 4 5", 4, "has 3 words, must be \"first_packets NUMBER\""},
		{"share_percent 150", "share_percent 0", 5, "must be a whole number from 1 to 1000"},
		{"share_percent 150", "share_percent 1.5", 5, "\"1.5\" is wrong, must be a whole number"},
		{"share_percent 150", "share_percent -", 5, "\"-\" is wrong"},
		{"share_percent 150", "share_percent 0x96", 5, "\"0x96\" is wrong"},
		{"share_percent 150", "share_percent 99999999999999999999999", 5, "is wrong, must be a whole number"},
		{"trees 2", "trees 0", 6, "must be a whole number from 1 to 20"},
		{"trees 2", "trees 21", 6, "must be a whole number from 1 to 20"},
		{"trees 2", "trees 1", 11, "\"tree\" is wrong here, must be \"end\""},
		{"trees 2", "trees 3", 19, "\"end\" is wrong here, must be \"tree NUMBER\""},
		{"tree 1", "tree 5", 7, "must be a whole number from 1 to 4"},
		{"tree 1", "tree 2", 9, "\"leaf\" is wrong here, must be \"split FEATURE THRESHOLD\""},
		{"split delay", "split color", 8,
			"\"color\" is no feature, must be delay, latest, trend, marked, lost, rate, window, all or senders"},
		{"split delay 1024", "split delay 1048577", 8, "must be a whole number from -1048576 to 1048576"},
		{"split delay 1024", "split delay", 8, "has 2 words, must be \"split FEATURE THRESHOLD\""},
		{"leaf 100", "leaf 1025", 9, "must be a whole number from -1024 to 1024"},
		{"leaf 4\n", "", 18, "\"end\" is wrong here, must be \"leaf NUMBER\""},
		{"end\n", "", 18, "the text ends, must go on with \"end\""},
		{"end\n", "end\nend\n", 20, "there must be nothing after \"end\""},
		{"end\n", "end 1\n", 19, "has 2 words, must be \"end\""},
		{"leaf 100", "leaf \x1b[2J\xff", 9, "\"?[2J?\" is wrong"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		char *text = with(wrong[i].old, wrong[i].new);

		assert_int_not_equal(parse(text, strlen(text)), 0);
		if (error.line != wrong[i].line || strstr(error.what, wrong[i].says) == NULL)
			fail_msg("%zu: wanted line %u, \"%s\", told line %u, \"%s\"", i, wrong[i].line, wrong[i].says, error.line,
				error.what);
		free(text);
	}
	assert_int_not_equal(parse("", 0), 0);
	assert_string_equal(error.what, "the text ends, must go on with \"roced-cc-model NUMBER\"");
}

static void a_text_has_an_end(void **state)
{
	static char text[CC_MODEL_TEXT_MAX + 1];

	(void)state;
	memset(text, '\n', sizeof(text));
	memcpy(text, good, strlen(good));
	assert_int_equal(parse(text, sizeof(text) - 1), 0);
	assert_int_not_equal(parse(text, sizeof(text)), 0);
	assert_int_equal(error.line, 0);
	assert_string_equal(error.what, "has more than 65536 bytes");
}

/* Cut anywhere, or changed anywhere: refused, or a model that is right. */
static void no_text_does_harm(void **state)
{
	char text[sizeof(good)];
	uint64_t random = 1;

	(void)state;
	for (size_t n = 0; n + 2 < sizeof(good); n++)
		assert_int_not_equal(parse(good, n), 0);
	for (uint32_t i = 0; i < 100000; i++) {
		memcpy(text, good, sizeof(good));
		for (uint32_t k = 0; k <= i % 4; k++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			text[(random >> 33) % (sizeof(good) - 1)] =
				(random >> 20) % 2 == 0 ? (char)(random >> 25) : good[(random >> 24) % (sizeof(good) - 1)];
		}
		(void)parse(text, sizeof(good) - 1);
	}
}

/* What is shipped. */
static void our_model_is_right(void **state)
{
	const char *folder = getenv("ROCED_CONFIG_DIR");
	static char text[CC_MODEL_TEXT_MAX];
	char path[4096];
	size_t n;
	FILE *file;

	(void)state;
	if (folder == NULL)
		skip();
	(void)snprintf(path, sizeof(path), "%s/cc/learned.model", folder);
	file = fopen(path, "r");
	assert_non_null(file);
	n = fread(text, 1, sizeof(text), file);
	fclose(file);
	if (parse(text, n) != 0)
		fail_msg("%s:%u: %s", path, error.line, error.what);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_of_it_is_read),
		cmocka_unit_test(what_is_wrong_is_said_with_its_line),
		cmocka_unit_test(a_text_has_an_end),
		cmocka_unit_test(no_text_does_harm),
		cmocka_unit_test(our_model_is_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
