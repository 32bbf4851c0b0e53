/* SPDX-License-Identifier: BSD-3-Clause */
/* What a command comes to. */
#ifndef RF_ANSWER_H
#define RF_ANSWER_H

#include "rf_net.h"

/* Carries out a line of n bytes, without its end, and writes the answer to out: one line of JSON, with "ok" true,
 * or false and what was wrong as "error". */
void rf_answer(struct rf_net *net, const char *line, size_t n, FILE *out);

#endif
