/* SPDX-License-Identifier: BSD-3-Clause */
#include "cc.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "cc_internal.h"

#define NS_PER_S         1000000000u
#define BASE_PERIOD_NS   ((uint64_t)5 * NS_PER_S) /* the base is the least of two of them */
#define SILENT_PACKETS   4u
#define MAX_BASE_NS      NS_PER_S
#define MAX_RATE_BPS     ((uint64_t)8000 * 1000 * 1000 * 1000)

static const char *const names[CC_KINDS] = {
	[CC_NSCC] = "nscc",
};

const char *cc_name(enum cc_kind kind)
{
	return (unsigned)kind < CC_KINDS ? names[kind] : NULL;
}

int cc_by_name(const char *name, enum cc_kind *kind)
{
	for (unsigned i = 0; i < CC_KINDS; i++) {
		if (strcmp(names[i], name) != 0)
			continue;
		*kind = (enum cc_kind)i;
		return 0;
	}
	return -EINVAL;
}

static uint64_t bdp_bytes(const struct cc_config *config)
{
	return (uint64_t)((unsigned __int128)config->rate_bps * config->base_rtt_ns / 8 / NS_PER_S);
}

int cc_config_check(const struct cc_config *config)
{
	if ((unsigned)config->kind >= CC_KINDS || config->packet_bytes < 64 || config->packet_bytes > 16384)
		return -EINVAL;
	if (config->base_rtt_ns == 0 || config->base_rtt_ns > MAX_BASE_NS || config->target_ns > MAX_BASE_NS)
		return -EINVAL;
	if (config->rate_bps == 0 || config->rate_bps > MAX_RATE_BPS)
		return -EINVAL;
	return 0;
}

void cc_init(struct cc *cc, const struct cc_config *config)
{
	uint64_t bdp = bdp_bytes(config), max = config->max_window_bytes != 0 ? config->max_window_bytes : bdp * 3 / 2;

	memset(cc, 0, sizeof(*cc));
	cc->config = config;
	max = max < config->packet_bytes ? config->packet_bytes : max > UINT32_MAX ? UINT32_MAX : max;
	cc->max_window_bytes = (uint32_t)max;
	cc->window_bytes = cc->max_window_bytes;
	cc->target_ns = config->target_ns != 0 ? config->target_ns : config->base_rtt_ns;
	cc_nscc_init(cc, bdp);
}

/* The least round trip is that of idle queues, and an old one may be of a path that is no more. */
static void learn_base(struct cc *cc, uint32_t rtt_ns, uint64_t now_ns)
{
	if (now_ns >= cc->base_until_ns) {
		cc->base_ns = cc->base_new_ns;
		cc->base_new_ns = 0;
		cc->base_until_ns = now_ns + BASE_PERIOD_NS;
	}
	if (cc->base_new_ns == 0 || rtt_ns < cc->base_new_ns)
		cc->base_new_ns = rtt_ns;
	if (cc->base_ns == 0 || rtt_ns < cc->base_ns)
		cc->base_ns = rtt_ns;
}

void cc_acked(struct cc *cc, const struct cc_ack *ack)
{
	if (ack->rtt_ns != 0)
		learn_base(cc, ack->rtt_ns, ack->now_ns);
	cc_nscc_acked(cc, ack);
}

void cc_silent(struct cc *cc, uint64_t now_ns)
{
	cc->cut_ns = now_ns;
	cc->inc = 0;
	if (cc->window_bytes > SILENT_PACKETS * cc->config->packet_bytes)
		cc_set_window(cc, (uint64_t)SILENT_PACKETS * cc->config->packet_bytes);
}

void cc_lost(struct cc *cc, uint32_t bytes, bool queued, uint64_t now_ns)
{
	cc_nscc_lost(cc, bytes, queued, now_ns);
}
