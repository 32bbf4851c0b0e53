/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands of the control socket: words in a line. Pure; lines are hostile. */
#ifndef RF_COMMAND_H
#define RF_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "fabric_keys.h"
#include "rf_rule.h"

#define RF_LINE_BYTES  512
#define RF_ERROR_BYTES RF_RULE_ERROR

enum rf_verb {
	RF_HELP,
	RF_STATS,
	RF_LINKS,
	RF_RESET,
	RF_RESTORE,
	RF_CUT,
	RF_RATE,
	RF_LOSS,
	RF_CORRUPT,
	RF_REPEAT,
	RF_DELAY,
	RF_PAUSE_LINK,
	RF_IMPAIR,
	RF_IMPAIRMENTS,
	RF_CLEAR,
};

struct rf_command {
	enum rf_verb verb;
	bool everywhere;         /* no place was named */
	struct fk_place place;
	uint32_t value;          /* percent, ppm or priorities */
	uint64_t delay_ns;
	struct rf_rule rule;     /* RF_IMPAIR */
	char which[RF_RULE_NAME]; /* RF_CLEAR: number or name; empty: all */
};

/* Reads a line of n bytes, without its end. 0, or -EINVAL with what is wrong and what would be right in error,
 * which holds printable characters without quotes and backslashes, so that it can be a text of JSON. */
int rf_command_parse(const char *line, size_t n, struct rf_command *out, char error[RF_ERROR_BYTES]);

/* The fault of a link after the command; fault is the present one. */
void rf_command_change(const struct rf_command *command, struct fabric_fault *fault);

/* The commands as texts of a JSON array, or a line each. */
void rf_command_help(FILE *out, bool json);

#endif
