/* SPDX-License-Identifier: BSD-3-Clause */
/* Which packets a rule hits: by where they go, what they are, which message they are of, and which of those it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "made.h"
#include "rf_edit.h"
#include "rf_filter.h"
#include "wire_icrc.h"

static struct rf_filter filter;

static int begin(void **state)
{
	(void)state;
	memset(&filter, 0, sizeof(filter));
	return 0;
}

static int add(const char *line)
{
	char text[512], error[RF_RULE_ERROR], *save = NULL;
	const char *words[64];
	struct rf_rule rule;
	size_t n = 0;

	strcpy(text, line);
	for (char *w = strtok_r(text, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	if (rf_rule_words(words, n, &rule, error) != 0)
		fail_msg("%s: %s", line, error);
	return rf_filter_add(&filter, &rule);
}

static bool hit_from(const struct made *made, uint32_t from, uint32_t to)
{
	return rf_filter_look(&filter, made->frame, &made->pkt, from, to) != NULL;
}

/* From host 0 to host 1. */
static bool hit(uint8_t opcode, uint32_t psn)
{
	struct made made;

	make(&made, opcode, psn);
	return hit_from(&made, 0, 1);
}

/* What comes of so many packets of consecutive PSNs, as a text of '-' and 'x'. */
static const char *run(uint8_t opcode, uint32_t psn, unsigned n)
{
	static char out[64];

	assert_true(n < sizeof(out));
	memset(out, 0, sizeof(out));
	for (unsigned i = 0; i < n; i++)
		out[i] = hit(opcode, psn + i) ? 'x' : '-';
	return out;
}

static void test_nth(void **state)
{
	(void)state;
	add("drop opcode read_response nth 3");
	assert_false(hit(WIRE_RC_READ_REQUEST, 1));
	assert_string_equal(run(WIRE_RC_READ_RESP_MIDDLE, 1, 6), "--x---");
	assert_int_equal(filter.rules[0].matches, 6);
	assert_int_equal(filter.rules[0].hits, 1);
	/* counters anew: it hits again */
	rf_filter_reset(&filter);
	assert_string_equal(run(WIRE_RC_READ_RESP_MIDDLE, 7, 4), "--x-");
}

static void test_every(void **state)
{
	(void)state;
	add("drop opcode send every 3 nth 2");
	assert_string_equal(run(WIRE_RC_SEND_ONLY, 1, 9), "-x--x--x-");
	rf_filter_clear(&filter, NULL);
	add("drop opcode send every 2 count 2");
	assert_string_equal(run(WIRE_RC_SEND_ONLY, 1, 7), "x-x----");
}

static void test_count(void **state)
{
	(void)state;
	add("drop");
	assert_string_equal(run(WIRE_RC_SEND_ONLY, 1, 3), "x--");
	rf_filter_clear(&filter, NULL);
	add("drop count 0 nth 2");
	assert_string_equal(run(WIRE_RC_SEND_ONLY, 1, 5), "-xxxx");
	rf_filter_clear(&filter, NULL);
	add("drop count 3 nth 2");
	assert_string_equal(run(WIRE_RC_SEND_ONLY, 1, 6), "-xxx--");
}

static void test_psn(void **state)
{
	(void)state;
	add("drop psn 100");
	assert_string_equal(run(WIRE_RC_SEND_ONLY, 98, 5), "--x--");
	/* once: what is sent again gets through */
	assert_false(hit(WIRE_RC_SEND_ONLY, 100));
}

static void test_where(void **state)
{
	struct wire_pkt like = {.opcode = WIRE_RC_SEND_ONLY, .psn = 5, .dqpn = 99};
	struct made made;

	(void)state;
	add("drop from 1 to 0 qp 99 count 0");
	make_with(&made, &like, 4);
	assert_false(hit_from(&made, 0, 1));
	assert_false(hit_from(&made, 1, 2));
	assert_true(hit_from(&made, 1, 0));
	make(&made, WIRE_RC_SEND_ONLY, 5);
	assert_false(hit_from(&made, 1, 0));
}

static void test_addresses(void **state)
{
	struct wire_pkt like = {.opcode = WIRE_RC_SEND_ONLY};
	static const struct {
		const char *rule;
		bool v4, v6;
	} cases[] = {
		{"drop src 10.0.0.0/24 count 0", true, false},
		{"drop src 10.0.0.1 count 0", true, false},
		{"drop src 10.0.0.2 count 0", false, false},
		{"drop dst 10.0.0.2 count 0", true, false},
		{"drop dst 10.0.1.0/24 count 0", false, false},
		{"drop dst fd00::/64 count 0", false, true},
		{"drop dst fd00::2 src fd00::1 count 0", false, true},
		{"drop src fd00::2 count 0", false, false},
		{"drop count 0", true, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct made v4, v6;

		make_with(&v4, &like, 4);
		make_with(&v6, &like, 6);
		rf_filter_clear(&filter, NULL);
		add(cases[i].rule);
		assert_int_equal(hit_from(&v4, 0, 1), cases[i].v4);
		assert_int_equal(hit_from(&v6, 0, 1), cases[i].v6);
	}
}

static void test_message(void **state)
{
	(void)state;
	add("drop message 2 count 0");
	assert_false(hit(WIRE_RC_SEND_FIRST, 0xfffffe));
	assert_false(hit(WIRE_RC_SEND_LAST, 0xffffff));
	assert_true(hit(WIRE_RC_WRITE_FIRST, 0));
	assert_true(hit(WIRE_RC_WRITE_MIDDLE, 1));
	assert_true(hit(WIRE_RC_WRITE_LAST, 2));
	assert_false(hit(WIRE_RC_SEND_ONLY, 3));
	/* sent again, each packet is of the message that it was of */
	assert_false(hit(WIRE_RC_SEND_FIRST, 0xfffffe));
	assert_true(hit(WIRE_RC_WRITE_FIRST, 0));
	assert_true(hit(WIRE_RC_WRITE_LAST, 2));
	assert_false(hit(WIRE_RC_SEND_ONLY, 3));
	assert_false(hit(WIRE_RC_SEND_ONLY, 4));
}

/* Answers are counted apart, in the PSNs of what they answer; acknowledgements and datagrams are of no message. */
static void test_message_of_answers(void **state)
{
	(void)state;
	add("drop message 2 count 0");
	assert_false(hit(WIRE_RC_SEND_ONLY, 700));
	assert_false(hit(WIRE_RC_READ_RESP_FIRST, 10));
	assert_false(hit(WIRE_RC_ACK, 11));
	assert_false(hit(WIRE_RC_READ_RESP_LAST, 11));
	assert_false(hit(WIRE_RC_ACK, 12));
	assert_true(hit(WIRE_RC_ATOMIC_ACK, 13));
	assert_false(hit(WIRE_RC_READ_RESP_ONLY, 14));
	assert_false(hit(WIRE_UD_SEND_ONLY, 0));
	assert_true(hit(WIRE_RC_SEND_ONLY, 701));
}

static bool read_hits(uint32_t psn, uint64_t va, uint32_t bytes)
{
	struct wire_pkt like = {.opcode = WIRE_RC_READ_REQUEST, .psn = psn, .va = va, .dma_bytes = bytes};
	struct made made;

	make_with(&made, &like, 4);
	return hit_from(&made, 0, 1);
}

static void test_again(void **state)
{
	(void)state;
	add("drop again true count 0");
	assert_string_equal(run(WIRE_RC_SEND_ONLY, 5, 3), "---");
	assert_string_equal(run(WIRE_RC_SEND_ONLY, 6, 3), "xx-");
	/* a READ of four packets, then the rest of it, then the same memory anew */
	assert_false(read_hits(9, 0x1000, 4096));
	assert_true(read_hits(9, 0x1000, 4096));
	assert_true(read_hits(11, 0x1800, 2048));
	assert_false(read_hits(13, 0x1000, 4096));
	/* a queue pair with an old number */
	assert_false(hit(WIRE_RC_SEND_ONLY, 0x800000));
	assert_false(hit(WIRE_RC_SEND_ONLY, 1));
	assert_true(hit(WIRE_RC_SEND_ONLY, 1));
}

static void test_msn(void **state)
{
	struct wire_pkt like = {.opcode = WIRE_RC_ACK, .psn = 5, .msn = 3, .syndrome = 0x1f};
	struct made made;

	(void)state;
	add("drop msn 3 count 0");
	make_with(&made, &like, 4);
	assert_true(hit_from(&made, 0, 1));
	like.msn = 4;
	make_with(&made, &like, 4);
	assert_false(hit_from(&made, 0, 1));
	like.opcode = WIRE_RC_SEND_ONLY;
	like.msn = 3;
	make_with(&made, &like, 4);
	assert_false(hit_from(&made, 0, 1));
}

/* Rules are asked in order; one that only counts does not end that, one that hits does. */
static void test_order(void **state)
{
	(void)state;
	add("count opcode send");
	add("drop opcode send nth 2");
	add("drop opcode send psn 3");
	assert_string_equal(run(WIRE_RC_SEND_ONLY, 1, 4), "-xx-");
	assert_int_equal(filter.rules[0].hits, 4);
	assert_int_equal(filter.rules[1].matches, 4);
	assert_int_equal(filter.rules[2].matches, 1);
}

static void test_rules(void **state)
{
	(void)state;
	assert_int_equal(add("drop name a psn 1"), 1);
	assert_int_equal(add("drop name b psn 2"), 2);
	assert_int_equal(add("drop name a psn 3"), -EEXIST);
	assert_int_equal(add("drop psn 3"), 3);
	assert_int_equal(rf_filter_clear(&filter, "c"), 0);
	assert_int_equal(rf_filter_clear(&filter, ""), 0); /* not those without a name */
	assert_int_equal(rf_filter_clear(&filter, "2"), 1);
	assert_int_equal(rf_filter_clear(&filter, "3"), 1);
	assert_int_equal(filter.n_rules, 1);
	assert_int_equal(rf_filter_clear(&filter, "a"), 1);
	for (uint32_t i = 0; i < RF_MAX_RULES; i++)
		assert_int_equal(add("drop psn 3"), 4 + i);
	assert_int_equal(add("drop psn 3"), -ENOSPC);
	assert_int_equal(rf_filter_clear(&filter, NULL), RF_MAX_RULES);
	assert_int_equal(filter.n_rules, 0);
}

/* More flows than there is room for: the latest are known, and nothing else comes of it. */
static void test_many_flows(void **state)
{
	struct wire_pkt like = {.opcode = WIRE_RC_SEND_ONLY};
	struct made made;

	(void)state;
	add("drop again true count 0");
	for (uint32_t i = 1; i < 5000; i++) {
		like.dqpn = i;
		like.psn = i;
		make_with(&made, &like, 4);
		assert_false(hit_from(&made, i % 7, i % 5));
		assert_true(hit_from(&made, i % 7, i % 5));
	}
}

/* ---- what is done to bytes ---- */

static void edit(struct made *made, const char *line)
{
	begin(NULL);
	add(line);
	rf_edit(made->frame, &made->pkt, &filter.rules[0].rule);
}

static void parse_again(const struct made *made, struct wire_pkt *pkt)
{
	assert_int_equal(wire_parse(made->frame, made->pkt.frame_bytes, pkt), BASE_DROP_NONE);
}

static void test_edit(void **state)
{
	struct wire_pkt like = {.opcode = WIRE_RC_SEND_ONLY, .psn = 0xfffffe, .payload_bytes = 100}, pkt;
	static const uint8_t versions[] = {4, 6};
	struct made made;

	(void)state;
	for (size_t i = 0; i < sizeof(versions); i++) {
		make_with(&made, &like, versions[i]);
		edit(&made, "jump by 3");
		parse_again(&made, &pkt);
		assert_int_equal(pkt.psn, 1);
		assert_true(wire_icrc_ok(made.frame, &pkt));

		make_with(&made, &like, versions[i]);
		edit(&made, "jump by 16777215");
		parse_again(&made, &pkt);
		assert_int_equal(pkt.psn, 0xfffffd);
		assert_true(wire_icrc_ok(made.frame, &pkt));

		make_with(&made, &like, versions[i]);
		edit(&made, "mark");
		parse_again(&made, &pkt);
		assert_int_equal(pkt.tos & 3, 3);
		assert_true(wire_icrc_ok(made.frame, &pkt));

		make_with(&made, &like, versions[i]);
		edit(&made, "corrupt");
		parse_again(&made, &pkt);
		assert_int_equal(made.frame[pkt.payload_off + 50], 50 ^ 0x10);
		assert_false(wire_icrc_ok(made.frame, &pkt));

		make_with(&made, &like, versions[i]);
		edit(&made, "icrc");
		parse_again(&made, &pkt);
		assert_false(wire_icrc_ok(made.frame, &pkt));
		/* one that was wrong does not become right by a new PSN */
		edit(&made, "jump by 3");
		parse_again(&made, &pkt);
		assert_false(wire_icrc_ok(made.frame, &pkt));
	}
}

/* Without payload it is the last header that is damaged: the MSN of an ACK, the PSN where there is only the BTH. */
static void test_edit_headers(void **state)
{
	struct wire_pkt pkt;
	struct made made;

	(void)state;
	make(&made, WIRE_RC_ACK, 5);
	edit(&made, "corrupt");
	parse_again(&made, &pkt);
	assert_int_equal(pkt.msn, 0x10);
	assert_false(wire_icrc_ok(made.frame, &pkt));
	make(&made, WIRE_RC_SEND_ONLY, 5);
	edit(&made, "corrupt");
	parse_again(&made, &pkt);
	assert_int_equal(pkt.psn, 0x15);
	assert_false(wire_icrc_ok(made.frame, &pkt));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_nth, begin),
		cmocka_unit_test_setup(test_every, begin),
		cmocka_unit_test_setup(test_count, begin),
		cmocka_unit_test_setup(test_psn, begin),
		cmocka_unit_test_setup(test_where, begin),
		cmocka_unit_test_setup(test_addresses, begin),
		cmocka_unit_test_setup(test_message, begin),
		cmocka_unit_test_setup(test_message_of_answers, begin),
		cmocka_unit_test_setup(test_again, begin),
		cmocka_unit_test_setup(test_msn, begin),
		cmocka_unit_test_setup(test_order, begin),
		cmocka_unit_test_setup(test_rules, begin),
		cmocka_unit_test_setup(test_many_flows, begin),
		cmocka_unit_test(test_edit),
		cmocka_unit_test(test_edit_headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
