/* SPDX-License-Identifier: BSD-3-Clause */
/* When keys may change: docs/configuration.md, "Reload". */
#include <string.h>

#include "config_diff.h"
#include "config_schema.h"

/* Each path stands for what is below it, too; the longest one counts. What a new key does is not known, so it is a restart. */
static const struct {
	const char *path;
	enum config_when when;
} rows[] = {
	{"", CONFIG_WHEN_RESTART},
	{"control.group", CONFIG_WHEN_LIVE},
	{"control.mode", CONFIG_WHEN_LIVE},
	{"workers[].idle_sleep_us", CONFIG_WHEN_LIVE},
	{"ports[].rate_mbps", CONFIG_WHEN_LIVE},
	{"ports[].trust_pcp", CONFIG_WHEN_LIVE},
	{"channels", CONFIG_WHEN_LIVE},
	{"protection", CONFIG_WHEN_LIVE},
	{"protection.port", CONFIG_WHEN_RESTART},
	{"protection.control_port", CONFIG_WHEN_RESTART},
	{"pfc", CONFIG_WHEN_LIVE},
	{"devices", CONFIG_WHEN_UNUSED},
	{"devices[].gateway4", CONFIG_WHEN_LIVE},
	{"devices[].gateway6", CONFIG_WHEN_LIVE},
	{"devices[].mtu", CONFIG_WHEN_LIVE},
	{"devices[].reorder_packets", CONFIG_WHEN_LIVE},
	{"devices[].reorder_us", CONFIG_WHEN_LIVE},
	{"devices[].multipath", CONFIG_WHEN_LIVE},
	{"devices[].netdev", CONFIG_WHEN_LIVE},
	{"multipath", CONFIG_WHEN_LIVE},
	{"multipath.max_held", CONFIG_WHEN_RESTART},
	{"gateway.bridge", CONFIG_WHEN_LIVE},
	{"gateway.report_us", CONFIG_WHEN_LIVE},
	{"gateway.report_packets", CONFIG_WHEN_LIVE},
	{"gateway.direct", CONFIG_WHEN_LIVE},
	{"gateway.remotes", CONFIG_WHEN_LIVE},
	{"congestion", CONFIG_WHEN_LIVE},
	{"dcqcn", CONFIG_WHEN_LIVE},
	{"limits", CONFIG_WHEN_LIVE},
	{"limits.max_sessions", CONFIG_WHEN_RESTART},
	{"limits.cm_timeout_ms", CONFIG_WHEN_RESTART},
	{"limits.burst_us", CONFIG_WHEN_RESTART},
	{"user_limits", CONFIG_WHEN_LIVE},
};

static bool is_at_or_below(const char *path, const char *top, size_t n)
{
	return n == 0 || (strncmp(path, top, n) == 0 && (path[n] == '\0' || path[n] == '.' || path[n] == '['));
}

enum config_when config_when(const char *path)
{
	enum config_when when = CONFIG_WHEN_RESTART;
	size_t most = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t n = strlen(rows[i].path);

		if (n < most || !is_at_or_below(path, rows[i].path, n))
			continue;
		most = n;
		when = rows[i].when;
	}
	return when;
}

const char *config_when_name(enum config_when when)
{
	static const char *const names[] = {
		[CONFIG_WHEN_RESTART] = "restart", [CONFIG_WHEN_LIVE] = "live", [CONFIG_WHEN_UNUSED] = "unused device"};

	return names[when];
}
