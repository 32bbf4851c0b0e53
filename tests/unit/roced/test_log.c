/* SPDX-License-Identifier: BSD-3-Clause */
/* The log: so many lines of one place and no more, and lines that programs can take apart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "log_text.h"

#define SECOND_NS 1000000000ull

static enum log_verdict take(struct log_limit *limit, const void *who, uint64_t now_ns, uint64_t expected_left_out)
{
	uint64_t left_out;
	enum log_verdict verdict = log_limit_take(limit, who, now_ns, &left_out);

	assert_int_equal(left_out, expected_left_out);
	return verdict;
}

/* Those beyond are counted, told of by the next one that is said, and other places are not concerned. */
static void test_limit(void **state)
{
	static struct log_limit limit;
	const char places[2] = {0};
	uint64_t now_ns = 5 * SECOND_NS;

	(void)state;
	for (uint32_t i = 0; i + 1 < LOG_SITE_LINES; i++)
		assert_int_equal(take(&limit, &places[0], now_ns++, 0), LOG_SAY);
	assert_int_equal(take(&limit, &places[0], now_ns, 0), LOG_SAY_LAST);
	for (int i = 0; i < 7; i++)
		assert_int_equal(take(&limit, &places[0], now_ns + 9 * SECOND_NS, 0), LOG_LEAVE_OUT);
	assert_int_equal(take(&limit, &places[1], now_ns, 0), LOG_SAY);
	assert_int_equal(take(&limit, &places[0], now_ns + 10 * SECOND_NS, 7), LOG_SAY);
	assert_int_equal(take(&limit, &places[0], now_ns + 10 * SECOND_NS, 0), LOG_SAY);
}

/* More places than there is room for: those that came first are limited still. */
static void test_many_places(void **state)
{
	static struct log_limit limit;
	static char places[8 * (LOG_SITES + 8)];

	(void)state;
	for (uint32_t i = 0; i < LOG_SITES + 8; i++)
		assert_int_equal(take(&limit, &places[8 * i], 1, 0), LOG_SAY);
	for (uint32_t i = 1; i < 2 * LOG_SITE_LINES; i++) {
		enum log_verdict verdict = take(&limit, &places[0], 1, 0);

		assert_int_equal(verdict, i + 1 < LOG_SITE_LINES ? LOG_SAY : i + 1 == LOG_SITE_LINES ? LOG_SAY_LAST : LOG_LEAVE_OUT);
		assert_int_equal(take(&limit, &places[8 * (LOG_SITES + 7)], 1, 0), LOG_SAY);
	}
}

static void test_fields(void **state)
{
	char out[256];

	(void)state;
	log_put_fields(out, sizeof(out), "notice", NULL, "ready");
	assert_string_equal(out, "level=notice msg=\"ready\"");
	log_put_fields(out, sizeof(out), "notice", "event=link port=p0 up=1", "port \"p0\" is up");
	assert_string_equal(out, "level=notice event=link port=p0 up=1 msg=\"port \\\"p0\\\" is up\"");
	log_put_fields(out, sizeof(out), "error", NULL, "a\\b\nc\td\033");
	assert_string_equal(out, "level=error msg=\"a\\\\b\\nc?d?\"");
}

/* However short the room: a whole line, with its quotes closed and nothing after them. */
static void test_cut(void **state)
{
	char out[256], text[300], fields[300];

	(void)state;
	memset(text, '"', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memset(fields, 'f', sizeof(fields) - 1);
	fields[sizeof(fields) - 1] = '\0';
	for (size_t n = 64; n < sizeof(out); n++) {
		memset(out, 'x', sizeof(out));
		log_put_fields(out, n, "warning", NULL, text);
		assert_true(strlen(out) < n && strlen(out) + 4 > n);
		assert_int_equal(strlen(out) % 2, strlen("level=warning msg=\"\"") % 2);
		log_put_fields(out, n, "warning", fields, "text");
		assert_string_equal(out, "level=warning msg=\"text\"");
		assert_int_equal(out[n], 'x');
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_limit),
		cmocka_unit_test(test_many_places),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
