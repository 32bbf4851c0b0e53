/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rule is made of was checked when it was read, so JSON has nothing to escape in it. */
#include "rf_answer_impair.h"

#include <errno.h>
#include <inttypes.h>

static void refuse(FILE *out, const char *why)
{
	fprintf(out, "{\"ok\":false,\"error\":\"%s\"}\n", why);
}

void rf_answer_impair(struct rf_net *net, const struct rf_rule *rule, FILE *out)
{
	char error[RF_RULE_ERROR];
	int rc;

	if (rf_rule_check_hosts(rule, fabric_n_hosts(net->fabric), error) != 0) {
		refuse(out, error);
		return;
	}
	rc = rf_filter_add(&net->impair.filter, rule);
	if (rc == -ENOSPC) {
		snprintf(error, sizeof(error), "impair: there are %u rules already, clear some", RF_MAX_RULES);
		refuse(out, error);
	} else if (rc < 0) {
		snprintf(error, sizeof(error), "name: there is a rule %s already", rule->name);
		refuse(out, error);
	} else {
		fprintf(out, "{\"ok\":true,\"rule\":%d}\n", rc);
	}
}

void rf_answer_impairments(const struct rf_net *net, FILE *out)
{
	const struct rf_filter *filter = &net->impair.filter;

	fprintf(out, "{\"ok\":true,\"held\":%" PRIu32 ",\"impairments\":[", net->impair.n_held);
	for (uint32_t i = 0; i < filter->n_rules; i++) {
		const struct rf_filter_rule *one = &filter->rules[i];

		fprintf(out, "%s{\"rule\":%" PRIu32 ",\"name\":\"%s\",\"is\":\"", i == 0 ? "" : ",", one->id, one->rule.name);
		rf_rule_print(out, &one->rule);
		fprintf(out, "\",\"matches\":%" PRIu64 ",\"hits\":%" PRIu64 "}", one->matches, one->hits);
	}
	fputs("]}\n", out);
}

void rf_answer_clear(struct rf_net *net, const char *which, FILE *out)
{
	uint32_t n = rf_filter_clear(&net->impair.filter, which[0] != '\0' ? which : NULL);

	if (which[0] != '\0' && n == 0)
		refuse(out, "clear: there is no such rule, impairments tells which there are");
	else
		fprintf(out, "{\"ok\":true,\"cleared\":%" PRIu32 "}\n", n);
}
