/* SPDX-License-Identifier: BSD-3-Clause */
/* Rules of the impairment filter: what words make them, what is said of those that are wrong, and what opcodes are
 * called. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "made.h"
#include "rf_rule.h"

static struct rf_rule got;
static char error[RF_RULE_ERROR];

static int parse(const char *line)
{
	char text[512], *save = NULL;
	const char *words[64];
	size_t n = 0;

	assert_true(strlen(line) < sizeof(text));
	strcpy(text, line);
	for (char *w = strtok_r(text, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save))
		words[n++] = w;
	return rf_rule_words(words, n, &got, error);
}

static void test_words(void **state)
{
	(void)state;
	assert_int_equal(parse("drop"), 0);
	assert_int_equal(got.action, RF_ACT_DROP);
	assert_int_equal(got.qp, RF_ANY);
	assert_int_equal(got.nth, 1);
	assert_int_equal(got.every, 0);
	assert_int_equal(got.src_net.len, 0);
	assert_int_equal(parse("drop opcode read_response qp 17 nth 3"), 0);
	assert_int_equal(got.qp, 17);
	assert_int_equal(got.nth, 3);
	assert_int_equal(parse("delay opcode SEND_LAST nth 2 delay_us 5000 src 10.0.0.0/24 dst fd00::2 again true "
		"name late"), 0);
	assert_int_equal(got.action, RF_ACT_DELAY);
	assert_int_equal(got.delay_us, 5000);
	assert_int_equal(got.src_net.len, 24);
	assert_int_equal(got.dst_net.len, 128);
	assert_true(got.again);
	assert_string_equal(got.name, "late");
	assert_int_equal(parse("jump psn 16777215 by 16777215"), 0);
	assert_int_equal(got.by, 0xffffff);
}

/* What is printed makes the same rule. */
static void test_print(void **state)
{
	static const char *const lines[] = {
		"drop",
		"drop name x opcode read_response from 0 to 3 qp 17 nth 3",
		"drop opcode ack nth 7 every 7 count 0",
		"reorder opcode send,WRITE_LAST src 10.0.0.0/24 dst 10.0.0.2 psn 0 message 2 msn 0 again true delay_us 7 packets 2",
		"jump by 16777215",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		char *text = NULL;
		size_t n = 0;
		FILE *out = open_memstream(&text, &n);

		assert_non_null(out);
		assert_int_equal(parse(lines[i]), 0);
		rf_rule_print(out, &got);
		fclose(out);
		assert_string_equal(text, lines[i]);
		free(text);
	}
}

static void test_errors(void **state)
{
	static const struct {
		const char *line, *says;
	} wrong[] = {
		{"", "impair: what? must be drop"},
		{"lose", "action: lose is wrong, must be drop, delay"},
		{"drop frob 3", "unknown key frob, there are: name, opcode, from"},
		{"drop action drop", "unknown key action"},
		{"drop qp", "qp: the end is wrong, must be a value"},
		{"drop qp x", "qp: x is wrong, must be a number, 0 to 16777215"},
		{"drop qp 16777216", "qp: 16777216 is wrong, must be a number, 0 to 16777215"},
		{"drop qp -1", "qp: -1 is wrong"},
		{"drop qp 99999999999999999999999", "qp: 99999999999999999999999 is wrong"},
		{"drop qp 1 qp 2", "qp is named twice"},
		{"drop nth 0", "nth: 0 is wrong, must be a number, 1 to"},
		{"drop message 0", "message: 0 is wrong"},
		{"drop opcode frob", "opcode: frob is wrong, must be opcodes like SEND_LAST or classes"},
		{"drop opcode send,", "opcode: send, is wrong"},
		{"drop opcode ,send", "opcode: ,send is wrong"},
		{"drop again yes", "again: yes is wrong, must be true or false"},
		{"drop src 10.0.0", "src: 10.0.0 is wrong, must be a network"},
		{"drop dst 10.0.0.1/24", "dst: 10.0.0.1/24 is wrong, must be a network: no bits set"},
		{"drop name a/b", "name: a/b is wrong, must be letters"},
		{"drop name 3rd", "name: 3rd is wrong, must not begin with a digit"},
		{"delay", "delay: delay_us must say how long"},
		{"delay delay_us 60000001", "delay_us: 60000001 is wrong, must be a number, 0 to 60000000 us"},
		{"jump", "jump: by must say how far"},
		{"drop delay_us 5", "delay_us: is for delay, duplicate and reorder, not for drop"},
		{"mark packets 2", "packets: is for duplicate and reorder, not for mark"},
		{"drop by 2", "by: is for jump, not for drop"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(parse(wrong[i].line), -EINVAL);
		if (strstr(error, wrong[i].says) == NULL)
			fail_msg("%s: wanted \"%s\", told \"%s\"", wrong[i].line, wrong[i].says, error);
	}
	assert_int_equal(parse("drop from 4"), 0);
	assert_int_equal(rf_rule_check_hosts(&got, 4, error), -EINVAL);
	assert_non_null(strstr(error, "the fabric has 4 hosts"));
	assert_int_equal(rf_rule_check_hosts(&got, 5, error), 0);
}

static bool is_in(const char *names, uint8_t opcode, uint8_t syndrome)
{
	struct wire_pkt pkt = {.opcode = opcode, .syndrome = syndrome};
	struct rf_opset set;

	assert_true(rf_opset_parse(names, &set));
	return rf_opset_has(&set, &pkt);
}

/* IBTA vol. 1, tables 38 and 39; A14. */
static void test_opcodes(void **state)
{
	(void)state;
	assert_true(is_in("RC_SEND_LAST", WIRE_RC_SEND_LAST, 0));
	assert_true(is_in("send_last", WIRE_RC_SEND_LAST, 0));
	assert_true(is_in("SEND_LAST", 0x22, 0));
	assert_false(is_in("RC_SEND_LAST", 0x22, 0));
	assert_false(is_in("SEND_LAST", WIRE_RC_SEND_LAST_IMM, 0));
	assert_true(is_in("RDMA_READ_RESPONSE_FIRST", WIRE_RC_READ_RESP_FIRST, 0));
	assert_true(is_in("READ_RESPONSE_FIRST", WIRE_RC_READ_RESP_FIRST, 0));
	assert_true(is_in("send", WIRE_RC_SEND_LAST_INV, 0));
	assert_true(is_in("read,write", WIRE_RC_WRITE_ONLY, 0));
	assert_true(is_in("read,write", WIRE_RC_READ_REQUEST, 0));
	assert_false(is_in("read", WIRE_RC_READ_RESP_ONLY, 0));
	assert_true(is_in("read_response", WIRE_RC_READ_RESP_MIDDLE, 0));
	assert_true(is_in("atomic", WIRE_RC_FETCH_ADD, 0));
	assert_false(is_in("atomic", WIRE_RC_ATOMIC_ACK, 0));
	assert_true(is_in("atomic_response", WIRE_RC_ATOMIC_ACK, 0));
	assert_true(is_in("request", WIRE_RC_MERGED, 0));
	assert_false(is_in("request", WIRE_RC_ACK, 0));
	assert_true(is_in("cnp", WIRE_CNP, 0));
	/* What the connection manager sends is of no class but its own and any. */
	assert_false(is_in("send", WIRE_UD_SEND_ONLY, 0));
	assert_false(is_in("SEND_ONLY", WIRE_UD_SEND_ONLY, 0));
	assert_false(is_in("request", WIRE_UD_SEND_ONLY, 0));
	assert_true(is_in("ud", WIRE_UD_SEND_ONLY, 0));
	assert_true(is_in("UD_SEND_ONLY", WIRE_UD_SEND_ONLY, 0));
	assert_true(is_in("any", WIRE_UD_SEND_ONLY, 0));
}

/* IBTA vol. 1, 9.7.5.2: what an acknowledgement says is in its syndrome. */
static void test_acknowledgements(void **state)
{
	(void)state;
	assert_true(is_in("ack", WIRE_RC_ACK, 0x1f));
	assert_false(is_in("ack", WIRE_RC_ACK, 0x60));
	assert_false(is_in("ack", WIRE_RC_ACK, 0x2c));
	assert_false(is_in("ack", WIRE_RC_READ_RESP_ONLY, 0x1f));
	assert_false(is_in("ack", WIRE_RC_ATOMIC_ACK, 0x1f));
	assert_true(is_in("rnr", WIRE_RC_ACK, 0x2c));
	assert_true(is_in("nak", WIRE_RC_ACK, 0x60));
	assert_true(is_in("nak", WIRE_RC_ACK, 0x64));
	assert_false(is_in("nak", WIRE_RC_ACK, 0x2c));
	assert_true(is_in("nak_sequence", WIRE_RC_ACK, 0x60));
	assert_false(is_in("nak_sequence", WIRE_RC_ACK, 0x62));
	assert_true(is_in("nak_access", WIRE_XRC_ACK, 0x62));
	assert_true(is_in("ack", WIRE_RC_SACK, 0x1f));
	assert_true(is_in("ACKNOWLEDGE", WIRE_RC_ACK, 0x62));
	assert_true(is_in("response", WIRE_RC_ACK, 0x62));
	assert_true(is_in("response", WIRE_RC_READ_RESP_ONLY, 0x1f));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_opcodes),
		cmocka_unit_test(test_acknowledgements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
