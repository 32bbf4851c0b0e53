/* SPDX-License-Identifier: BSD-3-Clause */
/* Values written as text: names, addresses, CPU sets, file modes. */
#include <arpa/inet.h>
#include <ctype.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>

#include "config_schema.h"
#include "path_sched.h"
#include "wire_addr.h"

#define MAX_CPU 1023

static const char *copy_text(char *dst, size_t bytes, const char *text)
{
	size_t n = strlen(text);

	if (n >= bytes)
		return "a shorter text";
	memset(dst, 0, bytes);
	memcpy(dst, text, n);
	return NULL;
}

static const char *parse_name(const struct config_key *key, const char *text, char *dst)
{
	if (text[0] == '\0' && key->dflt != NULL)
		return copy_text(dst, key->bytes, text);
	if (text[0] == '\0' || strlen(text) >= key->bytes)
		return "a name of 1 to 31 characters";
	for (const char *c = text; *c != '\0'; c++) {
		if (!isalnum((unsigned char)*c) && strchr("-_.", *c) == NULL)
			return "letters, digits, '-', '_' and '.'";
	}
	return copy_text(dst, key->bytes, text);
}

/* Whether an address can be a host's own: not unspecified, loopback, multicast or broadcast. */
static bool is_host_addr(const struct wire_addr *addr)
{
	static const struct wire_addr any, loop6 = {.b = {[15] = 1}};

	if (wire_addr_is_v4(addr))
		return addr->b[12] != 0 && addr->b[12] != 127 && addr->b[12] < 224;
	return addr->b[0] != 0xff && memcmp(addr, &any, 16) != 0 && memcmp(addr, &loop6, 16) != 0;
}

static const char *parse_addr(const struct config_key *key, const char *text, struct wire_addr *addr)
{
	bool v4 = key->type == CONFIG_ADDR4;

	memset(addr, 0, sizeof(*addr));
	if (text[0] == '\0')
		return NULL;
	if (!wire_addr_read(text, addr) || wire_addr_is_v4(addr) != v4) {
		memset(addr, 0, sizeof(*addr));
		return v4 ? "an IPv4 address like \"10.0.0.254\"" : "an IPv6 address like \"fd00::fe\"";
	}
	return is_host_addr(addr) ? NULL : "the unicast address of a router";
}

/* The first address of an IPv4 network is the network's, the last one everybody's (RFC 1122, 3.2.1.3); a network
 * of two addresses has neither (RFC 3021). */
static bool is_network_or_broadcast(const struct config_prefix *prefix)
{
	uint32_t addr, host;

	if (!wire_addr_is_v4(&prefix->addr) || prefix->len > 30)
		return false;
	memcpy(&addr, &prefix->addr.b[12], sizeof(addr));
	host = ntohl(addr) & (UINT32_MAX >> prefix->len);
	return host == 0 || host == UINT32_MAX >> prefix->len;
}

static const char *check_len(const char *text, uint32_t max, struct config_prefix *prefix)
{
	unsigned long len;
	char *end;

	len = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end != '\0' || len == 0 || len > max)
		return max == 32 ? "a prefix length of 1 to 32" : "a prefix length of 1 to 128";
	prefix->len = (uint32_t)len;
	return NULL;
}

static const char *parse_prefix(const char *text, struct config_prefix *prefix)
{
	char buf[64], *slash;
	const char *want;
	uint32_t max;

	if (copy_text(buf, sizeof(buf), text) != NULL)
		return "an address like \"10.0.0.1/24\" or \"fd00::1/64\"";
	slash = strchr(buf, '/');
	if (slash != NULL)
		*slash++ = '\0';
	if (!wire_addr_read(buf, &prefix->addr))
		return "an address like \"10.0.0.1/24\" or \"fd00::1/64\"";
	prefix->len = wire_addr_is_v4(&prefix->addr) ? 24 : 64;
	max = wire_addr_is_v4(&prefix->addr) ? 32 : 128;
	if (!is_host_addr(&prefix->addr))
		return "a unicast address of a host";
	want = slash != NULL ? check_len(slash, max, prefix) : NULL;
	if (want == NULL && is_network_or_broadcast(prefix))
		return "a host's address, not the network's or its broadcast address";
	return want;
}

static bool has_host_bits(const struct config_prefix *network)
{
	static const struct wire_addr none;

	return !wire_addr_same_host(&none, &network->addr, wire_addr_prefix(&network->addr, network->len));
}

/* Without a length it is one host. */
static const char *parse_network(const char *text, struct config_prefix *network)
{
	static const char want[] = "a network like \"10.0.0.0/24\" or \"fd00::/64\", or a host's address";
	char buf[64], *slash;
	const char *bad = NULL;
	uint32_t max;

	if (copy_text(buf, sizeof(buf), text) != NULL)
		return want;
	slash = strchr(buf, '/');
	if (slash != NULL)
		*slash++ = '\0';
	if (!wire_addr_read(buf, &network->addr))
		return want;
	max = wire_addr_is_v4(&network->addr) ? 32 : 128;
	network->len = max;
	if (slash != NULL)
		bad = check_len(slash, max, network);
	if (bad != NULL)
		return bad;
	if (!is_host_addr(&network->addr))
		return "a network of hosts' unicast addresses";
	return has_host_bits(network) ? "a network: no bits set behind the prefix length" : NULL;
}

static const char *parse_scheduler(const char *text, struct config_scheduler *out)
{
	if (path_sched_by_name(text, &out->kind) != 0)
		return "one of adaptive, ecmp, round_robin, flowlet, plb, reps, bitmap, mixed and weighted";
	out->given = true;
	return NULL;
}

static const char *parse_controller(const char *text, struct config_controller *out)
{
	out->given = strcmp(text, "window") != 0;
	if (out->given && cc_by_name(text, &out->kind) != 0)
		return "one of window, none, dcqcn, timely, swift, theta-powertcp, nscc, predictive and learned";
	return NULL;
}

static const char *parse_pfc_mode(const char *text, enum config_pfc_mode *out)
{
	static const char *const names[] = {"auto", "software", "hardware"};

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		*out = (enum config_pfc_mode)i;
		return NULL;
	}
	return "one of auto, software and hardware";
}

static const char *parse_xdp(const char *text, struct config_xdp *out)
{
	bool roce = strcmp(text, "roce") == 0;

	if (!roce && strcmp(text, "all") != 0)
		return "one of roce and all";
	*out = (struct config_xdp){true, roce ? CONFIG_XDP_ROCE : CONFIG_XDP_ALL};
	return NULL;
}

static const char *parse_policy(const char *text, enum config_policy *out)
{
	static const char *const names[] = {"off", "optional", "required"};

	for (uint32_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(text, names[i]) != 0)
			continue;
		*out = (enum config_policy)i;
		return NULL;
	}
	return "one of off, optional and required";
}

static const char *parse_suite(const char *text, enum crypt_suite *out)
{
	int suite = crypt_suite_find(text);

	if (suite < 0)
		return "one of aes-128-gcm, aes-256-gcm and sm4-gcm";
	*out = (enum crypt_suite)suite;
	return NULL;
}

static const char *parse_mac(const char *text, uint8_t mac[6])
{
	static const char want[] = "a unicast link address like \"02:00:00:00:00:01\"";
	const char *c = text;
	uint8_t any = 0;

	memset(mac, 0, 6);
	if (text[0] == '\0')
		return NULL;
	for (int i = 0; i < 6; i++) {
		if (!isxdigit((unsigned char)c[0]) || !isxdigit((unsigned char)c[1]) || c[2] != (i < 5 ? ':' : '\0'))
			return want;
		mac[i] = (uint8_t)strtoul((char[3]){c[0], c[1], 0}, NULL, 16);
		any |= mac[i];
		c += 3;
	}
	return any == 0 || (mac[0] & 1) != 0 ? want : NULL;
}

/* "0", "0-3", "0-1,4" */
static const char *parse_cpus(const struct config_key *key, const char *text, char *dst)
{
	static const char want[] = "CPU numbers like \"2\", \"0-3\" or \"0-1,4\"";
	const char *c = text;

	while (*c != '\0') {
		unsigned long first, last;
		char *end;

		if (!isdigit((unsigned char)*c))
			return want;
		first = last = strtoul(c, &end, 10);
		if (*end == '-') {
			c = end + 1;
			if (!isdigit((unsigned char)*c))
				return want;
			last = strtoul(c, &end, 10);
		}
		if (last < first || last > MAX_CPU || (*end != '\0' && (*end != ',' || end[1] == '\0')))
			return want;
		c = *end == ',' ? end + 1 : end;
	}
	return copy_text(dst, key->bytes, text) != NULL ? "a shorter set of CPUs" : NULL;
}

static const char *parse_mode(const char *text, uint32_t *mode)
{
	char *end;
	unsigned long value = strtoul(text, &end, 8);

	if (text[0] < '0' || text[0] > '7' || *end != '\0' || value > 0777)
		return "a file mode like \"0660\"";
	*mode = (uint32_t)value;
	return NULL;
}

static const char *parse_gid(const char *text, struct config_group *out)
{
	const struct group *group;
	char *end;
	unsigned long number;

	if (text[0] == '\0')
		return NULL;
	group = getgrnam(text);
	if (group != NULL) {
		*out = (struct config_group){.given = true, .gid = group->gr_gid};
		return NULL;
	}
	number = strtoul(text, &end, 10);
	if (!isdigit((unsigned char)text[0]) || *end != '\0' || number >= UINT32_MAX)
		return "the name of a group of this system, or a number";
	*out = (struct config_group){.given = true, .gid = (uint32_t)number};
	return NULL;
}

static const char *parse_choice(const struct config_key *key, const char *text, uint32_t *out)
{
	size_t n = strlen(text);
	uint32_t place = 0;

	for (const char *name = key->unit;; name += 1 + strcspn(name, "|"), place++) {
		if (strcspn(name, "|") == n && n != 0 && memcmp(name, text, n) == 0) {
			*out = place;
			return NULL;
		}
		if (strchr(name, '|') == NULL)
			return key->unit;
	}
}

static const char *parse_text(const struct config_key *key, const char *text, char *dst)
{
	if (key->type == CONFIG_TEXT && key->min > 0 && text[0] == '\0')
		return "a text that is not empty";
	return copy_text(dst, key->bytes, text);
}

const char *config_value_parse(const struct config_key *key, const char *text, void *dst)
{
	switch (key->type) {
	case CONFIG_TEXT:
	case CONFIG_TEXTS:
		return parse_text(key, text, dst);
	case CONFIG_NAME:
	case CONFIG_NAMES:
		return parse_name(key, text, dst);
	case CONFIG_ADDR4:
	case CONFIG_ADDR6:
		return parse_addr(key, text, dst);
	case CONFIG_PREFIXES:
		return parse_prefix(text, dst);
	case CONFIG_NETWORK:
	case CONFIG_NETWORKS:
		return parse_network(text, dst);
	case CONFIG_SCHEDULER:
		return parse_scheduler(text, dst);
	case CONFIG_POLICY:
		return parse_policy(text, dst);
	case CONFIG_SUITE:
		return parse_suite(text, dst);
	case CONFIG_CONTROLLER:
		return parse_controller(text, dst);
	case CONFIG_PFC_MODE:
		return parse_pfc_mode(text, dst);
	case CONFIG_XDP:
		return parse_xdp(text, dst);
	case CONFIG_MAC:
		return parse_mac(text, dst);
	case CONFIG_CPUS:
		return parse_cpus(key, text, dst);
	case CONFIG_GID:
		return parse_gid(text, dst);
	case CONFIG_MODE:
		return parse_mode(text, dst);
	case CONFIG_LISTEN:
		return config_listen_parse(text, dst) ? NULL : "a port like \"9464\", or with an address \"127.0.0.1:9464\", \"[::1]:9464\"";
	case CONFIG_CHOICE:
		return parse_choice(key, text, dst);
	case CONFIG_GROUP_OF:
	case CONFIG_LIST_OF:
	case CONFIG_PEERS_OF:
	case CONFIG_UINT:
	case CONFIG_BOOLEAN:
	case CONFIG_RDMA_MTU:
	case CONFIG_BITS:
		break;
	}
	return config_type_name(key->type);
}
