/* SPDX-License-Identifier: BSD-3-Clause */
/* Values as a file has them: the reverse of config_value.c. */
#include <inttypes.h>
#include <string.h>

#include "config_diff.h"
#include "config_schema.h"
#include "path_sched.h"
#include "wire_addr.h"

static void print_addr(const struct wire_addr *addr, FILE *out)
{
	static const struct wire_addr none;
	char text[WIRE_ADDR_TEXT_BYTES];

	fprintf(out, "\"%s\"", memcmp(addr, &none, sizeof(none)) != 0 ? wire_addr_print(addr, text) : "");
}

static void print_prefix(const struct config_prefix *prefix, FILE *out)
{
	char text[WIRE_ADDR_TEXT_BYTES];

	fprintf(out, "\"%s/%u\"", wire_addr_print(&prefix->addr, text), prefix->len);
}

static void print_mac(const uint8_t mac[6], FILE *out)
{
	static const uint8_t none[6];

	if (memcmp(mac, none, sizeof(none)) == 0)
		fputs("\"\"", out);
	else
		fprintf(out, "\"%02x:%02x:%02x:%02x:%02x:%02x\"", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

static void print_bits(uint64_t bits, FILE *out)
{
	const char *before = "[ ";

	fputs(bits == 0 ? "[ " : "", out);
	for (uint32_t i = 0; i < 64; i++) {
		if ((bits & 1ull << i) == 0)
			continue;
		fprintf(out, "%s%u", before, i);
		before = ", ";
	}
	fputs(bits == 0 ? "]" : " ]", out);
}

static void print_uint(const struct config_key *key, const void *at, FILE *out)
{
	uint64_t value = 0;
	uint32_t narrow;

	if (key->bytes == sizeof(value)) {
		memcpy(&value, at, sizeof(value));
	} else {
		memcpy(&narrow, at, sizeof(narrow));
		value = narrow;
	}
	fprintf(out, "%" PRIu64, value);
}

/* The name at that place of "this|that". */
static void print_choice(const char *names, uint32_t place, FILE *out)
{
	for (; place != 0; place--)
		names += strcspn(names, "|") + 1;
	fprintf(out, "\"%.*s\"", (int)strcspn(names, "|"), names);
}

static void print_scheduler(const struct config_scheduler *scheduler, FILE *out)
{
	fprintf(out, "\"%s\"", scheduler->given ? path_sched_name(scheduler->kind) : "");
}

static void print_controller(const struct config_controller *controller, FILE *out)
{
	fprintf(out, "\"%s\"", controller->given ? cc_name(controller->kind) : "window");
}

static void print_gid(const struct config_group *group, FILE *out)
{
	if (group->given)
		fprintf(out, "\"%u\"", group->gid);
	else
		fputs("\"\"", out);
}

static void print_place(const char *const *names, const void *at, FILE *out)
{
	uint32_t place;

	memcpy(&place, at, sizeof(place));
	fprintf(out, "\"%s\"", names[place]);
}

/* One value, of an array one element. */
static void print_one(const struct config_key *key, const void *at, FILE *out)
{
	static const char *const pfc_modes[] = {"auto", "software", "hardware"}, *const policies[] = {"off", "optional", "required"};

	switch (key->type) {
	case CONFIG_UINT:
	case CONFIG_RDMA_MTU:
		print_uint(key, at, out);
		break;
	case CONFIG_BOOLEAN:
		fputs(*(const bool *)at ? "true" : "false", out);
		break;
	case CONFIG_BITS:
		print_bits(*(const uint64_t *)at, out);
		break;
	case CONFIG_PREFIXES:
	case CONFIG_NETWORK:
	case CONFIG_NETWORKS:
		print_prefix(at, out);
		break;
	case CONFIG_ADDR4:
	case CONFIG_ADDR6:
		print_addr(at, out);
		break;
	case CONFIG_MAC:
		print_mac(at, out);
		break;
	case CONFIG_MODE:
		fprintf(out, "\"%04o\"", *(const uint32_t *)at);
		break;
	case CONFIG_GID:
		print_gid(at, out);
		break;
	case CONFIG_SCHEDULER:
		print_scheduler(at, out);
		break;
	case CONFIG_CONTROLLER:
		print_controller(at, out);
		break;
	case CONFIG_POLICY:
		print_place(policies, at, out);
		break;
	case CONFIG_PFC_MODE:
		print_place(pfc_modes, at, out);
		break;
	case CONFIG_SUITE:
		fprintf(out, "\"%s\"", crypt_suite_name(*(const enum crypt_suite *)at));
		break;
	case CONFIG_XDP:
		fputs(((const struct config_xdp *)at)->mode == CONFIG_XDP_ALL ? "\"all\"" : "\"roce\"", out);
		break;
	case CONFIG_CHOICE:
		print_choice(key->unit, *(const uint32_t *)at, out);
		break;
	default:
		fprintf(out, "\"%s\"", (const char *)at);
	}
}

static bool is_array(enum config_type type)
{
	return type == CONFIG_TEXTS || type == CONFIG_NAMES || type == CONFIG_NETWORKS || type == CONFIG_PREFIXES || type == CONFIG_SUITE;
}

void config_print_value(const struct config_key *key, const void *base, char *out, size_t n)
{
	const uint8_t *at = (const uint8_t *)base + key->off;
	FILE *text = fmemopen(out, n, "w");
	uint32_t count;

	out[0] = '\0';
	if (text == NULL)
		return;
	setbuf(text, NULL);
	if (is_array(key->type)) {
		memcpy(&count, (const uint8_t *)base + key->count_off, sizeof(count));
		fputs("[ ", text);
		for (uint32_t i = 0; i < count; i++) {
			fputs(i != 0 ? ", " : "", text);
			print_one(key, at + (size_t)i * key->bytes, text);
		}
		fputs(count != 0 ? " ]" : "]", text);
	} else {
		print_one(key, at, text);
	}
	fclose(text);
	out[n - 1] = '\0';
}
