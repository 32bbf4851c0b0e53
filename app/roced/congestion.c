/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration's reaction to congestion notifications. */
#include "roced.h"

#define MBPS         ((uint64_t)1000000)
#define DEFAULT_MBPS 10000u
#define BASE_RTT_NS  50000u /* DCQCN does not look at it */
#define HEADERS      78u    /* Ethernet to ICRC of a WRITE over IPv4 */

bool congestion_init(const struct config *config, uint32_t port_mbps, struct cc_config *cc, struct cc_dcqcn_params *params)
{
	const struct config_dcqcn *d = &config->dcqcn;
	uint32_t mbps = config->congestion.rate_mbps;

	if (!config->congestion.follow_cnps)
		return false;
	if (mbps == 0)
		mbps = port_mbps != 0 ? port_mbps : DEFAULT_MBPS;
	*params = (struct cc_dcqcn_params){
		.g_1024 = d->g_1024,
		.alpha_period_ns = d->alpha_period_ns,
		.initial_alpha_1024 = d->initial_alpha_1024,
		.cut_period_ns = d->cut_period_ns,
		.least_percent = d->least_percent,
		.first_bps = d->first_mbps * MBPS,
		.clamp_target = d->clamp_target,
		.clamp_after_timer = d->clamp_after_timer,
		.increase_timer_ns = d->increase_timer_ns,
		.increase_bytes = d->increase_bytes,
		.fast_steps = d->fast_steps,
		.add_bps = d->add_mbps * MBPS,
		.hyper_bps = d->hyper_mbps * MBPS,
		.cut_on_loss = d->cut_on_loss,
	};
	*cc = (struct cc_config){
		.kind = CC_DCQCN,
		.packet_bytes = 4096 + HEADERS,
		.base_rtt_ns = BASE_RTT_NS,
		.rate_bps = mbps * MBPS,
		.min_rate_bps = RTE_MIN(d->min_mbps, mbps) * MBPS,
		.dcqcn = params,
	};
	return cc_config_check(cc) == 0;
}
