/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables of keys: names, and printing. */
#include <string.h>

#include "config_read.h"

const char *config_key_name(const struct config_key *key, size_t *n_bytes)
{
	const char *dot = strrchr(key->path, '.');
	const char *name = dot != NULL ? dot + 1 : key->path;

	*n_bytes = strcspn(name, "[");
	return name;
}

bool config_key_is_child(const struct config_key *key, const char *group)
{
	size_t n, len = strlen(group);
	const char *name = config_key_name(key, &n);

	if (len == 0)
		return name == key->path;
	return (size_t)(name - key->path) == len + 1 && !strncmp(key->path, group, len);
}

const char *config_type_name(enum config_type type)
{
	static const char *const names[] = {
		[CONFIG_GROUP_OF] = "a group { ... }",
		[CONFIG_LIST_OF] = "a list ( { ... }, ... )",
		[CONFIG_UINT] = "a number",
		[CONFIG_BOOLEAN] = "true or false",
		[CONFIG_TEXT] = "a text in quotes",
		[CONFIG_NAME] = "a name in quotes",
		[CONFIG_TEXTS] = "an array of texts [ \"...\", ... ]",
		[CONFIG_NAMES] = "an array of names [ \"...\", ... ]",
		[CONFIG_NETWORKS] = "an array of networks [ \"a/len\", ... ]",
		[CONFIG_PREFIXES] = "an array of addresses [ \"10.0.0.1/24\", ... ]",
		[CONFIG_ADDR4] = "an IPv4 address in quotes",
		[CONFIG_ADDR6] = "an IPv6 address in quotes",
		[CONFIG_MAC] = "a link address in quotes",
		[CONFIG_CPUS] = "a set of CPUs in quotes",
		[CONFIG_GID] = "a name or number in quotes",
		[CONFIG_MODE] = "a file mode in quotes",
		[CONFIG_RDMA_MTU] = "a number",
		[CONFIG_PEERS_OF] = "an array of networks [ \"10.0.0.0/24\", ... ], or a list ( ... ) of these and groups",
		[CONFIG_NETWORK] = "a network in quotes",
		[CONFIG_SCHEDULER] = "a name in quotes",
		[CONFIG_POLICY] = "a name in quotes",
		[CONFIG_SUITE] = "an array of names",
		[CONFIG_CONTROLLER] = "a name in quotes",
		[CONFIG_PFC_MODE] = "a name in quotes",
		[CONFIG_XDP] = "a name in quotes",
		[CONFIG_LISTEN] = "an address and a port in quotes",
		[CONFIG_BITS] = "an array of numbers [ 1, ... ]",
		[CONFIG_CHOICE] = "a name in quotes",
	};

	return names[type];
}

/* "this|that" as "this, that": a bar ends a column of markdown. */
static void print_choices(const char *names, char *out, size_t n)
{
	size_t used = 0;

	for (const char *c = names; *c != '\0' && used + 3 < n; c++) {
		if (*c == '|')
			out[used++] = ',';
		out[used++] = *c == '|' ? ' ' : *c;
	}
	out[used] = '\0';
}

static void print_range(const struct config_key *key, char *out, size_t n)
{
	out[0] = '\0';
	if (key->type == CONFIG_UINT || key->type == CONFIG_BITS)
		snprintf(out, n, "%llu..%llu", (unsigned long long)key->min, (unsigned long long)key->max);
	else if (key->type == CONFIG_LIST_OF || key->type == CONFIG_TEXTS || key->type == CONFIG_NAMES ||
		key->type == CONFIG_NETWORKS || key->type == CONFIG_PREFIXES ||
		key->type == CONFIG_PEERS_OF)
		snprintf(out, n, "%llu..%llu entries", (unsigned long long)key->min,
			(unsigned long long)key->max);
	else if (key->type == CONFIG_CHOICE)
		print_choices(key->unit, out, n);
}

static void print_key(FILE *out, const struct config_key *key, bool markdown, const char *when)
{
	const char *dflt = key->dflt == NULL ? "required" : key->dflt;
	const char *unit = key->type == CONFIG_CHOICE ? "" : key->unit;
	char range[160];

	print_range(key, range, sizeof(range));
	if (markdown) {
		fprintf(out, "| `%s` | %s | %s | %s | %s | %s |", key->path, config_type_name(key->type), range,
			dflt, unit, key->help);
		fprintf(out, when != NULL ? " %s |\n" : "\n", when);
		return;
	}
	fprintf(out, "%s\n    %s%s%s%s%s", key->path, config_type_name(key->type), range[0] != '\0' ? ", " : "",
		range, unit[0] != '\0' ? " " : "", unit);
	if (key->dflt == NULL)
		fprintf(out, "; required");
	else if (key->dflt[0] != '\0')
		fprintf(out, "; default %s", key->dflt);
	if (when != NULL)
		fprintf(out, "; reload: %s", when);
	fprintf(out, "\n    %s\n", key->help);
}

void config_print_keys_when(FILE *out, const struct config_key *keys, size_t n_keys, bool markdown,
	const char *(*when)(const struct config_key *key))
{
	if (markdown)
		fprintf(out, "| key | type | range | default | unit | what |%s\n| --- | --- | --- | --- | --- | --- |%s\n",
			when != NULL ? " reload |" : "", when != NULL ? " --- |" : "");
	for (size_t i = 0; i < n_keys; i++)
		print_key(out, &keys[i], markdown, when != NULL ? when(&keys[i]) : NULL);
}

void config_print_keys(FILE *out, const struct config_key *keys, size_t n_keys, bool markdown)
{
	config_print_keys_when(out, keys, n_keys, markdown, NULL);
}
