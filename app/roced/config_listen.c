/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses and ports to serve at. */
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "wire_addr.h"

static bool parse_port(const char *text, uint32_t *port)
{
	unsigned long n;
	char *end;

	if (text[0] < '1' || text[0] > '9')
		return false;
	n = strtoul(text, &end, 10);
	*port = (uint32_t)n;
	return *end == '\0' && n <= 65535;
}

/* The address in front of its colon; an IPv6 address is in brackets. */
static bool parse_addr(const char *text, const char *colon, struct wire_addr *addr)
{
	bool v6 = text[0] == '[';
	size_t n = (size_t)(colon - text);
	char copy[64];

	if (v6 && (n < 2 || text[n - 1] != ']'))
		return false;
	text += v6;
	n -= 2 * (size_t)v6;
	if (n >= sizeof(copy))
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	return wire_addr_read(copy, addr) && wire_addr_is_v4(addr) != v6;
}

bool config_listen_parse(const char *text, struct config_listen *listen)
{
	const char *colon = strrchr(text, ':');

	memset(listen, 0, sizeof(*listen));
	if (text[0] == '\0')
		return true;
	if (colon != NULL ? !parse_addr(text, colon, &listen->addr) : !wire_addr_read("127.0.0.1", &listen->addr))
		return false;
	return parse_port(colon != NULL ? colon + 1 : text, &listen->port);
}
