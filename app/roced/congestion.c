/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration's congestion control: reaction to notifications, and the controllers of connections that agreed. */
#include "roced.h"

#define MBPS         ((uint64_t)1000000)
#define DEFAULT_MBPS 10000u
#define BASE_RTT_NS  50000u /* DCQCN does not look at it */
#define HEADERS      78u    /* Ethernet to ICRC of a WRITE over IPv4 */
#define NS_PER_US    1000u

static void fill_dcqcn(const struct config_dcqcn *d, struct cc_dcqcn_params *params)
{
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
}

bool congestion_init(const struct config *config, uint32_t port_mbps, struct cc_config *cc, struct cc_dcqcn_params *params)
{
	uint32_t mbps = config->congestion.rate_mbps;

	fill_dcqcn(&config->dcqcn, params);
	if (!config->congestion.follow_cnps)
		return false;
	if (mbps == 0)
		mbps = port_mbps != 0 ? port_mbps : DEFAULT_MBPS;
	*cc = (struct cc_config){
		.kind = CC_DCQCN,
		.packet_bytes = 4096 + HEADERS,
		.base_rtt_ns = BASE_RTT_NS,
		.rate_bps = mbps * MBPS,
		.min_rate_bps = RTE_MIN(config->dcqcn.min_mbps, mbps) * MBPS,
		.dcqcn = params,
	};
	return cc_config_check(cc) == 0;
}

/* ---- who agreed ---- */

uint64_t congestion_device_mbps(const struct config *config, const struct port *ports, uint32_t d)
{
	const struct config_device *device = &config->devices[d];
	uint64_t sum = 0;

	if (config->congestion.rate_mbps != 0)
		return config->congestion.rate_mbps;
	for (uint32_t i = 0; i <= device->n_planes; i++) {
		uint32_t p = i == 0 ? device->port_index : device->planes[i - 1].port_index, mbps = config->ports[p].rate_mbps;

		if (mbps == 0)
			mbps = ports[p].speed_mbps;
		if (mbps == 0)
			return 0;
		sum += mbps;
	}
	return sum;
}

bool congestion_agreed(const struct config *config, uint64_t mbps, const struct cc_dcqcn_params *dcqcn,
	struct cc_config cc[VD_MTUS])
{
	const struct config_congestion *c = &config->congestion;
	uint32_t base_us = c->base_rtt_us != 0 ? c->base_rtt_us : config->multipath.base_rtt_us;
	bool paced = c->controller.kind == CC_DCQCN;

	for (uint32_t m = 0; m < VD_MTUS; m++) {
		cc[m] = (struct cc_config){
			.kind = c->controller.kind,
			.packet_bytes = (VD_MIN_MTU << m) + HEADERS,
			.base_rtt_ns = base_us * NS_PER_US,
			.target_ns = c->target_us * NS_PER_US,
			.rate_bps = mbps * MBPS,
			.min_rate_bps = paced ? RTE_MIN(config->dcqcn.min_mbps, mbps) * MBPS : 0,
			.dcqcn = dcqcn,
			.model = c->controller.kind == CC_LEARNED ? &c->model : NULL,
		};
		if (cc_config_check(&cc[m]) != 0)
			return false;
	}
	return true;
}
