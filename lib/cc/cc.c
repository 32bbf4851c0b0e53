/* SPDX-License-Identifier: BSD-3-Clause */
#include "cc.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "cc_internal.h"

#define BASE_PERIOD_NS   ((uint64_t)5 * CC_NS_PER_S) /* the base is the least of two of them */
#define SILENT_PACKETS   4u
#define MAX_BASE_NS      CC_NS_PER_S
#define MAX_RATE_BPS     ((uint64_t)8000 * 1000 * 1000 * 1000)

const struct cc_ops cc_none_ops = {.name = "none", .windowless = true};

static const struct cc_ops *const kinds[CC_KINDS] = {
	[CC_NONE] = &cc_none_ops,
	[CC_DCQCN] = &cc_dcqcn_ops,
	[CC_TIMELY] = &cc_timely_ops,
	[CC_SWIFT] = &cc_swift_ops,
	[CC_THETA_POWERTCP] = &cc_theta_ops,
	[CC_NSCC] = &cc_nscc_ops,
	[CC_PREDICTIVE] = &cc_predictive_ops,
	[CC_LEARNED] = &cc_learned_ops,
};

static const struct cc_ops *ops(const struct cc *cc)
{
	return kinds[cc->config->kind];
}

const char *cc_name(enum cc_kind kind)
{
	return (unsigned)kind < CC_KINDS ? kinds[kind]->name : NULL;
}

int cc_by_name(const char *name, enum cc_kind *kind)
{
	for (unsigned i = 0; i < CC_KINDS; i++) {
		if (strcmp(kinds[i]->name, name) != 0)
			continue;
		*kind = (enum cc_kind)i;
		return 0;
	}
	return -EINVAL;
}

static uint64_t bdp_bytes(const struct cc_config *config)
{
	return (uint64_t)((unsigned __int128)config->rate_bps * config->base_rtt_ns / 8 / CC_NS_PER_S);
}

int cc_config_check(const struct cc_config *config)
{
	if ((unsigned)config->kind >= CC_KINDS || config->packet_bytes < 64 || config->packet_bytes > 16384)
		return -EINVAL;
	if (config->base_rtt_ns == 0 || config->base_rtt_ns > MAX_BASE_NS || config->target_ns > MAX_BASE_NS)
		return -EINVAL;
	if (config->rate_bps == 0 || config->rate_bps > MAX_RATE_BPS || config->min_rate_bps > config->rate_bps)
		return -EINVAL;
	return kinds[config->kind]->check != NULL ? kinds[config->kind]->check(config) : 0;
}

void cc_init(struct cc *cc, const struct cc_config *config)
{
	uint64_t bdp = bdp_bytes(config), max = config->max_window_bytes;

	memset(cc, 0, sizeof(*cc));
	cc->config = config;
	cc->rate_bps = CC_UNLIMITED;
	if (max == 0)
		max = ops(cc)->windowless ? UINT32_MAX : bdp * 3 / 2;
	max = max < config->packet_bytes ? config->packet_bytes : max > UINT32_MAX ? UINT32_MAX : max;
	cc->max_window_bytes = (uint32_t)max;
	cc->window_bytes = cc->max_window_bytes;
	cc->target_ns = config->target_ns != 0 ? config->target_ns : config->base_rtt_ns;
	if (ops(cc)->init != NULL)
		ops(cc)->init(cc, bdp);
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
	if (ops(cc)->acked != NULL)
		ops(cc)->acked(cc, ack);
}

void cc_lost(struct cc *cc, uint32_t bytes, bool queued, uint64_t now_ns)
{
	if (ops(cc)->lost != NULL)
		ops(cc)->lost(cc, bytes, queued, now_ns);
}

void cc_silent(struct cc *cc, uint64_t now_ns)
{
	if (ops(cc)->silent != NULL)
		ops(cc)->silent(cc, now_ns);
}

void cc_cnp(struct cc *cc, uint64_t now_ns)
{
	if (ops(cc)->cnp != NULL)
		ops(cc)->cnp(cc, now_ns);
}

void cc_sent(struct cc *cc, uint32_t bytes, uint64_t now_ns)
{
	if (ops(cc)->sent != NULL)
		ops(cc)->sent(cc, bytes, now_ns);
}

void cc_timer(struct cc *cc, uint64_t now_ns)
{
	if (ops(cc)->timer != NULL)
		ops(cc)->timer(cc, now_ns);
}

uint64_t cc_next_ns(const struct cc *cc)
{
	return ops(cc)->next_ns != NULL ? ops(cc)->next_ns(cc) : UINT64_MAX;
}

void cc_window_lost(struct cc *cc, uint32_t bytes, bool queued, uint64_t now_ns)
{
	(void)now_ns;
	if (queued)
		cc_set_window(cc, cc->window_bytes > bytes ? cc->window_bytes - bytes : 0);
}

void cc_window_silent(struct cc *cc, uint64_t now_ns)
{
	(void)now_ns;
	if (cc->window_bytes > SILENT_PACKETS * cc->config->packet_bytes)
		cc_set_window(cc, (uint64_t)SILENT_PACKETS * cc->config->packet_bytes);
}
