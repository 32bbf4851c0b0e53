/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of the control socket: what is read, and what is said of those that are wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rf_command.h"

static struct rf_command got;
static char error[RF_ERROR_BYTES];

static int parse(const char *line)
{
	return rf_command_parse(line, strlen(line), &got, error);
}

static void test_words(void **state)
{
	(void)state;
	assert_int_equal(parse("stats"), 0);
	assert_int_equal(got.verb, RF_STATS);
	assert_int_equal(parse("  links \t\r"), 0);
	assert_int_equal(got.verb, RF_LINKS);
	assert_int_equal(parse("restore"), 0);
	assert_int_equal(got.verb, RF_RESTORE);
	assert_true(got.everywhere);
}

static void test_places(void **state)
{
	(void)state;
	assert_int_equal(parse("cut spine 1"), 0);
	assert_int_equal(got.verb, RF_CUT);
	assert_false(got.everywhere);
	assert_int_equal(got.place.spine, 1);
	assert_int_equal(got.place.leaf, FK_ANY);
	assert_int_equal(got.place.host, FK_ANY);
	assert_int_equal(got.place.count, 1);
	assert_int_equal(parse("cut leaf 3 spine 2"), 0);
	assert_int_equal(got.place.leaf, 3);
	assert_int_equal(got.place.spine, 2);
	assert_int_equal(parse("restore link 7 count 2"), 0);
	assert_int_equal(got.place.link, 7);
	assert_int_equal(got.place.count, 2);
	assert_int_equal(parse("delay host 0 5000 300000"), 0);
	assert_int_equal(got.place.host, 0);
	assert_int_equal(got.value, 5000);
	assert_int_equal(got.delay_ns, 300000);
}

static void test_rules(void **state)
{
	(void)state;
	assert_int_equal(parse("impair drop opcode read_response nth 3 qp 17"), 0);
	assert_int_equal(got.verb, RF_IMPAIR);
	assert_int_equal(got.rule.action, RF_ACT_DROP);
	assert_int_equal(got.rule.nth, 3);
	assert_int_equal(got.rule.qp, 17);
	assert_int_equal(parse("impairments"), 0);
	assert_int_equal(got.verb, RF_IMPAIRMENTS);
	assert_int_equal(parse("clear"), 0);
	assert_int_equal(got.verb, RF_CLEAR);
	assert_string_equal(got.which, "");
	assert_int_equal(parse("clear third"), 0);
	assert_string_equal(got.which, "third");
}

static void test_errors(void **state)
{
	static const struct {
		const char *line, *says;
	} wrong[] = {
		{"", "no command, try help"},
		{"   ", "no command, try help"},
		{"stat", "unknown command stat, there are: help, stats"},
		{"stats now", "stats: now is too much"},
		{"cut", "cut: where? must be host N | leaf N"},
		{"cut everything", "not everything"},
		{"cut spine", "spine: the end is wrong, must be a number"},
		{"cut spine x", "spine: x is wrong, must be a number"},
		{"cut spine -1", "spine: -1 is wrong"},
		{"cut spine 99999999999999999999999", "spine: 99999999999999999999999 is wrong"},
		{"cut spine 1 spine 2", "spine is named twice"},
		{"cut spine 1 host 2", "cut: one place at a time"},
		{"cut spine 1 count 0", "count: must be at least 1"},
		{"cut count 2", "cut: where?"},
		{"restore count 2", "restore: where?"},
		{"rate spine 1", "PERCENT: the end is wrong, must be a number, 0 to 100"},
		{"rate spine 1 101", "PERCENT: 101 is wrong, must be a number, 0 to 100"},
		{"loss spine 1 2000000", "PPM: 2000000 is wrong, must be a number, 0 to 1000000"},
		{"delay spine 1 5", "NS: the end is wrong"},
		{"pause spine 1 256", "PRIORITIES: 256 is wrong"},
		{"a b c d e f g h i j k l m n o p q r s t u v w x y z a b c d e f g h i", "too many words"},
		{"impair", "impair: what? must be drop"},
		{"impair frob", "action: frob is wrong, must be drop"},
		{"impair drop opcode", "opcode: the end is wrong"},
		{"impair drop \"q\\ 3", "unknown key ?q?, there are: name, opcode"},
		{"clear a b", "clear: b is too much"},
		{"impairments 3", "impairments: 3 is too much"},
		{"\"\\\x01\xff", "unknown command ????"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(parse(wrong[i].line), -EINVAL);
		if (strstr(error, wrong[i].says) == NULL)
			fail_msg("%s: wanted \"%s\", told \"%s\"", wrong[i].line, wrong[i].says, error);
	}
	/* A zero is a character like any other that is none of a command. */
	assert_int_equal(rf_command_parse("impair drop qp\0x 3", 19, &got, error), -EINVAL);
	assert_non_null(strstr(error, "qp?x is wrong"));
	assert_int_equal(rf_command_parse("st\0ts", 5, &got, error), -EINVAL);
	assert_non_null(strstr(error, "unknown command st?ts"));
}

/* A command changes what it names and leaves the rest of a link's fault. */
static void test_change(void **state)
{
	struct fabric_fault fault = {0};

	(void)state;
	assert_int_equal(parse("loss spine 1 1000"), 0);
	rf_command_change(&got, &fault);
	assert_int_equal(parse("rate spine 1 25"), 0);
	rf_command_change(&got, &fault);
	assert_int_equal(parse("cut spine 1"), 0);
	rf_command_change(&got, &fault);
	assert_int_equal(fault.lose_ppm, 1000);
	assert_int_equal(fault.rate_percent, 25);
	assert_true(fault.cut);
	assert_int_equal(parse("restore spine 1"), 0);
	rf_command_change(&got, &fault);
	assert_false(fault.cut);
	assert_int_equal(fault.lose_ppm, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_change),
	};

	return cmocka_run_group_tests_name("roce-fabric-command", tests, NULL, NULL);
}
