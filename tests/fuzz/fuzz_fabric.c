/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What reaches roce-fabric from outside. The first byte says what the rest is: even, a frame; odd, a command of the
 * control socket. Parsing keeps within the bytes; what it says of a frame can be acted on; an error can be a text
 * of JSON; a command that is taken names a place and a fault that the fabric accepts or that fk_place_ok() refuses, or a rule that its own words make
 * again. A RoCE packet that a rule damages keeps its length and its headers up to the BTH.
 */
#include <string.h>

#include "fuzz.h"
#include "rf_command.h"
#include "rf_edit.h"
#include "rf_filter.h"
#include "rf_frame.h"
#include "gateway_macs.h"
#include "wire_ecn.h"

static const struct fk_fabric keys = {.pods = 2, .leaves = 2, .spines = 2, .hosts_per_leaf = 1, .cores_per_spine = 1,
	.host_mbps = 1, .leaf_mbps = 1, .core_mbps = 1};
static const struct rf_command *command;

static void no_packet(void *env, const struct fabric_packet *packet, uint64_t now_ns)
{
	(void)env;
	(void)packet;
	(void)now_ns;
}

static void no_loss(void *env, const struct fabric_packet *packet, enum fabric_loss why)
{
	(void)env;
	(void)packet;
	(void)why;
}

static void change(void *arg, uint32_t link)
{
	struct fabric_fault fault;

	FUZZ_CHECK(fabric_link_fault(arg, link, &fault) == 0);
	rf_command_change(command, &fault);
	FUZZ_CHECK(fabric_set_fault(arg, link, &fault, 0) == 0);
}

static void obey(const struct rf_command *said)
{
	static const struct fabric_ops ops = {.deliver = no_packet, .lose = no_loss};
	struct fabric_config config;
	struct fabric *fabric;
	struct fk_lack lack;

	if (said->everywhere || !fk_place_ok(&keys, &said->place, &lack))
		return;
	fk_fabric_config(&keys, 1, &config);
	FUZZ_CHECK(fabric_create(&config, &ops, NULL, 0, &fabric) == 0);
	command = said;
	fk_each_link(fabric, &keys, &said->place, change, fabric);
	fabric_destroy(fabric);
}

/* What a rule's words are, read again. */
static void check_rule(const struct rf_rule *rule)
{
	char line[RF_LINE_BYTES * 2] = "impair ", error[RF_ERROR_BYTES];
	struct rf_command again;
	FILE *out = fmemopen(line + 7, sizeof(line) - 7, "w");

	FUZZ_CHECK(out != NULL);
	rf_rule_print(out, rule);
	FUZZ_CHECK(fclose(out) == 0 && rf_command_parse(line, strlen(line), &again, error) == 0);
	FUZZ_CHECK(memcmp(&again.rule, rule, sizeof(*rule)) == 0);
}

static void check_impaired(uint8_t *bytes, size_t n)
{
	static const enum rf_action actions[] = {RF_ACT_MARK, RF_ACT_CORRUPT, RF_ACT_ICRC, RF_ACT_JUMP};
	static struct rf_filter filter;
	struct wire_pkt pkt, again;
	struct rf_rule rule;
	const char *all[] = {"drop", "count", "0"};
	char error[RF_RULE_ERROR];

	if (wire_parse(bytes, n, &pkt) != BASE_DROP_NONE || (pkt.kind != WIRE_KIND_ROCE_V2 && pkt.kind != WIRE_KIND_ROCE_V1))
		return;
	if (filter.n_rules == 0) {
		FUZZ_CHECK(rf_rule_words(all, 3, &rule, error) == 0);
		FUZZ_CHECK(rf_filter_add(&filter, &rule) == 1);
	}
	FUZZ_CHECK(rf_filter_look(&filter, bytes, &pkt, 0, 1) != NULL);
	for (size_t i = 0; i < sizeof(actions) / sizeof(actions[0]); i++) {
		rule = (struct rf_rule){.action = actions[i], .by = 5};
		rf_edit(bytes, &pkt, &rule);
		if (wire_parse(bytes, n, &again) == BASE_DROP_NONE)
			FUZZ_CHECK(again.frame_bytes == pkt.frame_bytes && again.bth_off == pkt.bth_off);
	}
}

static void check_command(const char *line, size_t n)
{
	char error[RF_ERROR_BYTES];
	struct rf_command said;

	if (rf_command_parse(line, n, &said, error) == 0) {
		if (said.verb == RF_IMPAIR)
			check_rule(&said.rule);
		obey(&said);
		return;
	}
	FUZZ_CHECK(memchr(error, '\0', sizeof(error)) != NULL && error[0] != '\0');
	for (const char *c = error; *c != '\0'; c++)
		FUZZ_CHECK(*c >= ' ' && *c <= '~' && *c != '"' && *c != '\\');
}

static void check_frame(uint8_t *bytes, size_t n)
{
	static struct gateway_macs macs;
	struct rf_frame frame, again;

	rf_frame_parse(bytes, n, &frame);
	if (frame.kind == RF_SHORT)
		return;
	FUZZ_CHECK(n >= RF_ETH_BYTES && frame.priority < WIRE_PAUSE_PRIORITIES);
	gateway_macs_learn(&macs, bytes + RF_MAC_BYTES, 3, 1);
	FUZZ_CHECK((bytes[RF_MAC_BYTES] & 1) == 0 || gateway_macs_find(&macs, bytes + RF_MAC_BYTES, 1) == GATEWAY_NO_PORT);
	if (frame.ip_version == 0) {
		FUZZ_CHECK(!frame.ect && !frame.ce);
		return;
	}
	FUZZ_CHECK(frame.ip_version == 4 || frame.ip_version == 6);
	FUZZ_CHECK(frame.ip_off + 20u <= n && frame.ip_off < 128);
	/* a mark changes nothing else that a switch sees */
	wire_set_ce(bytes + frame.ip_off, frame.ip_version);
	rf_frame_parse(bytes, n, &again);
	FUZZ_CHECK(again.ect && again.ce && again.flow == frame.flow && again.ip_off == frame.ip_off);
	check_impaired(bytes, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy;

	if (size == 0)
		return 0;
	/* Of the exact size, so that ASan sees a read behind it. */
	copy = malloc(size > 1 ? size - 1 : 1);
	FUZZ_CHECK(copy);
	memcpy(copy, data + 1, size - 1);
	if ((data[0] & 1) != 0)
		check_command((const char *)copy, size - 1);
	else
		check_frame(copy, size - 1);
	free(copy);
	return 0;
}
