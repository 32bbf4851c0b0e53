/* SPDX-License-Identifier: BSD-3-Clause */
#include "sim_congestion.h"

#include <string.h>

#include "config_model.h"

#define BPS_PER_MBPS 1000000u
#define ANY_PACKET   4096u   /* numbers that fit these fit others */
#define ANY_RTT_NS   10000u

static const struct {
	const char *name;
	const struct cc_dcqcn_params *params;
} presets[] = {{"vendor", &cc_dcqcn_vendor}, {"paper", &cc_dcqcn_paper}, {"simulator", &cc_dcqcn_simulator}};

static void take_preset(struct config_reader *reader, struct sim_congestion *c)
{
	const struct config_at at = {0};

	if (c->dcqcn_preset[0] == '\0')
		return;
	for (size_t i = 0; i < sizeof(presets) / sizeof(presets[0]); i++) {
		if (strcmp(c->dcqcn_preset, presets[i].name) != 0)
			continue;
		c->dcqcn = *presets[i].params;
		return;
	}
	config_error(reader, &at, "dcqcn.preset: \"%s\" is wrong, must be vendor, paper or simulator", c->dcqcn_preset);
}

/* ---- all of it ---- */

void sim_congestion_check(struct config_reader *reader, struct sim_congestion *c, enum cc_kind kind, uint64_t rate_bps)
{
	struct cc_config config = {
		.kind = kind, .packet_bytes = ANY_PACKET, .base_rtt_ns = ANY_RTT_NS, .rate_bps = rate_bps};
	const struct config_at at = {0};
	unsigned int before = reader->n_errors;

	c->dcqcn.add_bps = c->dcqcn_add_mbps * BPS_PER_MBPS;
	c->dcqcn.hyper_bps = c->dcqcn_hyper_mbps * BPS_PER_MBPS;
	c->dcqcn.first_bps = c->dcqcn_first_mbps * BPS_PER_MBPS;
	c->timely.add_bps = c->timely_add_mbps * BPS_PER_MBPS;
	take_preset(reader, c);
	if (kind == CC_LEARNED)
		config_load_model(reader, "learned.model", c->model_name, &c->model);
	sim_congestion_config(c, &config);
	if (reader->n_errors == before && cc_config_check(&config) != 0)
		config_error(reader, &at, "transport.congestion: the numbers of \"%s\" do not fit each other or the hosts' links",
			cc_name(kind));
}

void sim_congestion_config(const struct sim_congestion *c, struct cc_config *config)
{
	config->target_ns = c->target_ns;
	config->max_window_bytes = c->max_window_bytes;
	config->min_rate_bps = c->min_rate_mbps * BPS_PER_MBPS;
	if (config->min_rate_bps > config->rate_bps)
		config->min_rate_bps = config->rate_bps;
	config->dcqcn = &c->dcqcn;
	config->timely = &c->timely;
	config->swift = &c->swift;
	config->theta = &c->theta;
	config->predictive = &c->predictive;
	config->model = &c->model;
}
