/* SPDX-License-Identifier: BSD-3-Clause */
/* What a configuration of classes may say, which class a packet is of, and RED's line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "qos_bucket.h"
#include "qos_class.h"

static struct qos_config two_classes(void)
{
	struct qos_config c = {.n_classes = 2, .packet_bytes = 4200, .rate_bps = 1000000000u};

	for (int i = 0; i < 2; i++)
		c.classes[i] = (struct qos_class){.weight = 1, .queue_bytes = 100000, .priority = (uint8_t)i};
	return c;
}

static void wrong(const struct qos_config *c, const char *what, uint8_t class)
{
	uint8_t which;
	const char *said = qos_config_wrong(c, &which);

	assert_non_null(said);
	assert_non_null(strstr(said, what));
	assert_int_equal(which, class);
}

static void a_sound_one_is_taken(void **state)
{
	struct qos_config c = two_classes();
	uint8_t which;

	(void)state;
	assert_null(qos_config_wrong(&c, &which));
}

static void what_is_wrong_is_named(void **state)
{
	struct qos_config c;

	(void)state;
#define WRONG(change, what, class) do { c = two_classes(); change; wrong(&c, what, class); } while (0)
	WRONG(c.n_classes = 0, "1 to 8 classes", QOS_MAX_CLASSES);
	WRONG(c.n_classes = 9, "1 to 8 classes", QOS_MAX_CLASSES);
	WRONG(c.packet_bytes = 63, "largest packet", QOS_MAX_CLASSES);
	WRONG(c.rate_bps = 1000, "1 Mb/s", QOS_MAX_CLASSES);
	WRONG(c.class_of_dscp[63] = 2, "DSCP", QOS_MAX_CLASSES);
	WRONG(c.class_of_pcp[7] = 2, "priority code point", QOS_MAX_CLASSES);
	WRONG(c.classes[1].priority = 8, "priority", 1);
	WRONG(c.classes[1].weight = 0, "weight", 1);
	WRONG(c.classes[0].weight = 1001, "weight", 0);
	WRONG(c.classes[0].ceiling_bps = 999999, "1 Mb/s", 0);
	WRONG(c.classes[0].guaranteed_bps = QOS_MAX_RATE_BPS + 1, "1.6 Tb/s", 0);
	WRONG((c.classes[0].ceiling_bps = 2000000, c.classes[0].guaranteed_bps = 3000000), "above the ceiling", 0);
	WRONG(c.classes[0].queue_bytes = 4199, "largest packet", 0);
	WRONG((c.classes[0].red = (struct qos_red){2, 1, 0}), "before it begins", 0);
	WRONG((c.classes[0].red = (struct qos_red){1, 2, 1001}), "more than all", 0);
	WRONG((c.classes[0].guaranteed_bps = c.classes[1].guaranteed_bps = 500000001), "together", QOS_MAX_CLASSES);
#undef WRONG
}

/* RoCE in DSCP 26 has the octet 0x6a with ECT(0). */
static void the_tag_counts_only_if_trusted(void **state)
{
	struct qos_config c = two_classes();

	(void)state;
	c.class_of_dscp[26] = 1;
	c.class_of_pcp[3] = 1;
	assert_int_equal(qos_class_of(&c, 0x6a, false, 0), 1);
	assert_int_equal(qos_class_of(&c, 0x6a, true, 0x0001), 1);
	assert_int_equal(qos_class_of(&c, 0x00, true, 0x6001), 0);
	c.trust_pcp = true;
	assert_int_equal(qos_class_of(&c, 0x00, true, 0x6001), 1);
	assert_int_equal(qos_class_of(&c, 0x6a, true, 0x0001), 0);
	assert_int_equal(qos_class_of(&c, 0x6a, false, 0), 1);
}

static void red_is_a_line_between_two_steps(void **state)
{
	const struct qos_red red = {100, 400, 200};

	(void)state;
	assert_int_equal(qos_red_ppm(&red, 99), 0);
	assert_int_equal(qos_red_ppm(&red, 100), 0);
	assert_int_equal(qos_red_ppm(&red, 250), 100000);
	assert_int_equal(qos_red_ppm(&red, 399), 199333);
	assert_int_equal(qos_red_ppm(&red, 400), 1000000);
	assert_int_equal(qos_red_ppm(&(struct qos_red){0, 0, 0}, 1000), 0);
	/* one threshold, as DCTCP has it */
	assert_int_equal(qos_red_ppm(&(struct qos_red){100, 100, 0}, 99), 0);
	assert_int_equal(qos_red_ppm(&(struct qos_red){100, 100, 0}, 100), 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sound_one_is_taken),
		cmocka_unit_test(what_is_wrong_is_named),
		cmocka_unit_test(the_tag_counts_only_if_trusted),
		cmocka_unit_test(red_is_a_line_between_two_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
