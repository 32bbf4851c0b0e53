/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rule of the impairment filter: which RoCE packets, which of those, and what is done to them. One table of keys for
 * the configuration file, for the command `impair` and for conformance scenarios. Pure.
 */
#ifndef RF_RULE_H
#define RF_RULE_H

#include "config.h"
#include "fabric_keys.h"
#include "rf_opset.h"

#define RF_ANY        FK_ANY
#define RF_MAX_RULES  64u
#define RF_RULE_NAME  32u
#define RF_RULE_TEXT  128u
#define RF_RULE_ERROR 512u
#define RF_MAX_DELAY_US 60000000u
#define RF_MANY       1000000000u

enum rf_action {
	RF_ACT_COUNT,            /* nothing; it is seen */
	RF_ACT_DROP,
	RF_ACT_DELAY,            /* it comes delay_us later, and others overtake it */
	RF_ACT_REORDER,          /* it is held until `packets` more of its flow have passed, or delay_us is over */
	RF_ACT_DUPLICATE,        /* `packets` more of it come, delay_us later */
	RF_ACT_MARK,             /* ECN CE */
	RF_ACT_CORRUPT,          /* a wrong bit in the payload, or in the last header where there is none */
	RF_ACT_ICRC,             /* a wrong bit in the ICRC */
	RF_ACT_JUMP,             /* the PSN is `by` ahead, and the ICRC is right for it */
	RF_ACT_TOTAL,
};

struct rf_rule {
	struct config_at at;
	/* as they are written */
	char name[RF_RULE_NAME], action_text[RF_RULE_NAME], opcode[RF_RULE_TEXT], src[64], dst[64];
	uint32_t from, to;       /* hosts of the fabric */
	uint32_t qp, psn, message, msn;
	bool again;              /* only those sent again */
	uint32_t nth, every, count;
	uint32_t delay_us, packets, by;
	/* what they mean: rf_rule_compile() */
	enum rf_action action;
	struct rf_opset ops;
	struct config_prefix src_net, dst_net; /* of length 0: any */
};

/* ---- rows of a table ---- */

#define RF_RULE_AT(f) FK_AT(rf_rule, f)
#define RF_NUM(path, f, min, max, dflt, unit, help) {path, CONFIG_UINT, RF_RULE_AT(f), min, max, dflt, unit, help}
#define RF_ANY_TEXT   "4294967295"
/* The keys of a rule in the list p, a text. */
#define RF_RULE_KEYS(p) \
	{p "[].action", CONFIG_NAME, RF_RULE_AT(action_text), 0, 0, NULL, "", \
		"what is done: drop, delay, reorder, duplicate, mark, corrupt, icrc, jump or count"}, \
	{p "[].name", CONFIG_NAME, RF_RULE_AT(name), 0, 0, "", "", "what to call it in answers and in `clear`"}, \
	{p "[].opcode", CONFIG_TEXT, RF_RULE_AT(opcode), 1, RF_RULE_TEXT - 1, "any", "", \
		"names or classes of packets, with commas between"}, \
	RF_NUM(p "[].from", from, 0, FK_MAX_INDEX, RF_ANY_TEXT, "", "only from that host"), \
	RF_NUM(p "[].to", to, 0, FK_MAX_INDEX, RF_ANY_TEXT, "", "only to that host"), \
	{p "[].src", CONFIG_TEXT, RF_RULE_AT(src), 0, 63, "", "", "only from that IP address or network"}, \
	{p "[].dst", CONFIG_TEXT, RF_RULE_AT(dst), 0, 63, "", "", "only to that IP address or network"}, \
	RF_NUM(p "[].qp", qp, 0, 0xffffff, RF_ANY_TEXT, "", "only for that queue pair, the BTH's destination"), \
	RF_NUM(p "[].psn", psn, 0, 0xffffff, RF_ANY_TEXT, "", "only of that PSN"), \
	RF_NUM(p "[].message", message, 1, RF_MANY, RF_ANY_TEXT, "", \
		"only of that message: the N-th request, or answered READ or atomic, of its flow since it was seen first"), \
	RF_NUM(p "[].msn", msn, 0, 0xffffff, RF_ANY_TEXT, "", "only answers that tell of that message sequence number"), \
	{p "[].again", CONFIG_BOOLEAN, RF_RULE_AT(again), 0, 1, "false", "", "only packets that are sent again"}, \
	RF_NUM(p "[].nth", nth, 1, RF_MANY, "1", "", "the first one of those that it is done to"), \
	RF_NUM(p "[].every", every, 0, RF_MANY, "0", "", \
		"and then to one of every so many of those behind it; 0: to all of them"), \
	RF_NUM(p "[].count", count, 0, RF_MANY, RF_ANY_TEXT, "", \
		"how often at most, 0: without end; if not given once, with `every` and of action count without end"), \
	RF_NUM(p "[].delay_us", delay_us, 0, RF_MAX_DELAY_US, "0", "us", \
		"delay: how long; duplicate: how much later; reorder: at most, 0: 100 ms"), \
	RF_NUM(p "[].packets", packets, 1, 64, "1", "", "duplicate: how many more; reorder: how many overtake it"), \
	RF_NUM(p "[].by", by, 0, 0xffffff, "0", "", "jump: what is added to the PSN, modulo 2^24")
/* The list p in the array f of struct s, with its length in the field n, and its keys. */
#define RF_RULE_ROWS(p, s, f, n, help) \
	{p, CONFIG_LIST_OF, offsetof(struct s, f), sizeof(struct rf_rule), offsetof(struct s, n), 0, RF_MAX_RULES, "", "", \
		help}, \
	RF_RULE_KEYS(p)

/* Sees that the keys of a rule fit each other and what they mean. 0, or -EINVAL with what is wrong and what would
 * be right. */
int rf_rule_compile(struct rf_rule *rule, char error[RF_RULE_ERROR]);

/* Whether a fabric of so many hosts has those of the rule. 0 or -EINVAL with the error. */
int rf_rule_check_hosts(const struct rf_rule *rule, uint64_t n_hosts, char error[RF_RULE_ERROR]);

/* Reads and compiles "ACTION [KEY VALUE]...": n words, none of which holds a zero. 0 or -EINVAL with the error. */
int rf_rule_words(const char *const *words, size_t n, struct rf_rule *out, char error[RF_RULE_ERROR]);

/* Writes the words that make the rule. */
void rf_rule_print(FILE *out, const struct rf_rule *rule);

#endif
