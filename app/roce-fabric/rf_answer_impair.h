/* SPDX-License-Identifier: BSD-3-Clause */
/* What commands about impairments come to; each writes one line of JSON. */
#ifndef RF_ANSWER_IMPAIR_H
#define RF_ANSWER_IMPAIR_H

#include "rf_net.h"

void rf_answer_impair(struct rf_net *net, const struct rf_rule *rule, FILE *out);
void rf_answer_impairments(const struct rf_net *net, FILE *out);
/* which: a number or a name; empty: all rules. */
void rf_answer_clear(struct rf_net *net, const char *which, FILE *out);

#endif
