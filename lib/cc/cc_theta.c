/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Theta-PowerTCP, algorithm 2 of the paper: PowerTCP without telemetry of switches, whose power is told by the round
 * trip and how fast it rises. tau is the base round trip.
 *
 *   power = (d rtt / dt + 1) rtt / tau, smoothed over tau
 *   once a round trip   w = gamma (w / power + beta) + (1 - gamma) w, beta = bandwidth-delay product / flows
 *   pace                w / tau
 *
 * Once a round trip: when what is acknowledged was sent after the last time. The window that it was sent with, which
 * the paper takes, is the present one then.
 */
#include <errno.h>
#include <stddef.h>

#include "cc_internal.h"

#define ONE16       (1 << 16)
#define STEEP16     ((int64_t)256 << 16) /* a queue that 256 links feed */
#define POWER_MOST  (1u << 30)
#define POWER_LEAST (ONE16 / 64)

const struct cc_theta_params cc_theta_default = {.gamma_permil = 900, .flows = 10};

static const struct cc_theta_params *params(const struct cc *cc)
{
	return cc->config->theta != NULL ? cc->config->theta : &cc_theta_default;
}

static int check(const struct cc_config *config)
{
	const struct cc_theta_params *p = config->theta;

	return p != NULL && (p->gamma_permil == 0 || p->gamma_permil > 1000 || p->flows == 0) ? -EINVAL : 0;
}

static void init(struct cc *cc, uint64_t bdp_bytes)
{
	cc->theta.power16 = ONE16;
	cc->theta.add_bytes = bdp_bytes / params(cc)->flows;
}

/* The power that this and the last round trip show. */
static uint64_t norm16(const struct cc *cc, uint32_t rtt_ns, uint64_t dt_ns)
{
	int64_t diff_ns = (int64_t)rtt_ns - (int64_t)cc->theta.prev_rtt_ns;
	int64_t gradient16 = dt_ns > INT64_MAX / 2 ? 0 : diff_ns * ONE16 / (int64_t)dt_ns;
	uint64_t norm;

	/* A queue drains by no more than a second a second. What says otherwise came by another path. */
	if (gradient16 <= -ONE16)
		return 0;
	if (gradient16 > STEEP16)
		gradient16 = STEEP16;
	norm = (uint64_t)(gradient16 + ONE16) * rtt_ns / cc->config->base_rtt_ns;
	return norm < POWER_MOST ? norm : POWER_MOST;
}

static void smooth(struct cc *cc, uint32_t rtt_ns, uint64_t now_ns)
{
	struct cc_theta *t = &cc->theta;
	uint64_t dt_ns = now_ns - t->prev_ns, tau_ns = cc->config->base_rtt_ns, norm;

	if (dt_ns == 0)
		return;
	if (t->prev_ns != 0) {
		norm = norm16(cc, rtt_ns, dt_ns);
		if (dt_ns > tau_ns)
			dt_ns = tau_ns;
		t->power16 = (uint32_t)((t->power16 * (tau_ns - dt_ns) + norm * dt_ns) / tau_ns);
	}
	t->prev_ns = now_ns;
	t->prev_rtt_ns = rtt_ns;
}

static void acked(struct cc *cc, const struct cc_ack *ack)
{
	struct cc_theta *t = &cc->theta;
	uint64_t power16, window, wanted;

	if (ack->rtt_ns == 0)
		return;
	smooth(cc, ack->rtt_ns, ack->now_ns);
	if (ack->now_ns - t->update_ns < ack->rtt_ns)
		return;
	t->update_ns = ack->now_ns;
	power16 = t->power16 > POWER_LEAST ? t->power16 : POWER_LEAST;
	window = cc->window_bytes;
	wanted = (window << 16) / power16 + t->add_bytes;
	cc_set_window(cc, cc_permil(wanted, params(cc)->gamma_permil) + cc_permil(window, 1000 - params(cc)->gamma_permil));
	cc_set_rate(cc, cc_bps(cc->window_bytes, cc->config->base_rtt_ns));
}

const struct cc_ops cc_theta_ops = {
	.name = "theta-powertcp",
	.check = check,
	.init = init,
	.acked = acked,
	.lost = cc_window_lost,
	.silent = cc_window_silent,
};
