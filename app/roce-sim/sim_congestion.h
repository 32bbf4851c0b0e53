/* SPDX-License-Identifier: BSD-3-Clause */
/* What a scenario says of congestion control. */
#ifndef SIM_CONGESTION_H
#define SIM_CONGESTION_H

#include "cc.h"
#include "config_read.h"

#define SIM_PRESET_BYTES 24

struct sim_congestion {
	uint32_t target_ns, max_window_bytes;
	uint64_t min_rate_mbps;
	char dcqcn_preset[SIM_PRESET_BYTES];
	struct cc_dcqcn_params dcqcn;
	uint64_t dcqcn_add_mbps, dcqcn_hyper_mbps, dcqcn_first_mbps;
	struct cc_timely_params timely;
	uint64_t timely_add_mbps;
	struct cc_swift_params swift;
	struct cc_theta_params theta;
	struct cc_predictive_params predictive;
	char model_name[CONFIG_TEXT_BYTES]; /* file of the learned controller's model */
	struct cc_model model;
};

/* Rows of the groups, which are in the field f of struct s. N, B, T and GROUP are those of the table. */
#define SIM_CONGESTION_ROWS(s, f) \
	{"congestion", CONFIG_GROUP_OF, GROUP, 0, 1, "", "", "what all controllers have: see congestion.md"}, \
	N("congestion.target_ns", F(s, f.target_ns), 0, 1000000000, "0", "ns", \
		"delay that queues may have; 0: the base round trip"), \
	N("congestion.max_window_bytes", F(s, f.max_window_bytes), 0, UINT32_MAX, "0", "bytes", \
		"0: 1.5 bandwidth-delay products, for those without a window no limit"), \
	N("congestion.min_rate_mbps", F(s, f.min_rate_mbps), 1, 8000000, "1", "Mb/s", "no pace is below"), \
	{"dcqcn", CONFIG_GROUP_OF, GROUP, 0, 1, "", "", "congestion = \"dcqcn\""}, \
	T("dcqcn.preset", F(s, f.dcqcn_preset), "", "vendor, paper or simulator; then the rest of the group does not count"), \
	N("dcqcn.g", F(s, f.dcqcn.g_1024), 1, 1024, "5", "1/1024", "part of a notification in alpha"), \
	N("dcqcn.alpha_period_ns", F(s, f.dcqcn.alpha_period_ns), 1, UINT32_MAX, "1000", "ns", "alpha falls once in it"), \
	N("dcqcn.initial_alpha", F(s, f.dcqcn.initial_alpha_1024), 0, 1024, "1023", "1/1024", "at the first notification"), \
	N("dcqcn.cut_period_ns", F(s, f.dcqcn.cut_period_ns), 0, UINT32_MAX, "4000", "ns", "at most one decrease in it"), \
	N("dcqcn.least_percent", F(s, f.dcqcn.least_percent), 0, 100, "50", "%", "of the rate are left by a decrease"), \
	N("dcqcn.first_mbps", F(s, f.dcqcn_first_mbps), 0, 8000000, "0", "Mb/s", \
		"at the first notification; 0: the link's"), \
	B("dcqcn.clamp_target", F(s, f.dcqcn.clamp_target), "false", "a decrease always takes the rate for the target"), \
	B("dcqcn.clamp_after_timer", F(s, f.dcqcn.clamp_after_timer), "true", "so it does when the timer has raised it"), \
	N("dcqcn.increase_timer_ns", F(s, f.dcqcn.increase_timer_ns), 1, UINT32_MAX, "300000", "ns", ""), \
	N("dcqcn.increase_bytes", F(s, f.dcqcn.increase_bytes), 1024, UINT32_MAX, "32767", "bytes", "byte counter"), \
	N("dcqcn.fast_steps", F(s, f.dcqcn.fast_steps), 0, 31, "1", "", "F"), \
	N("dcqcn.add_mbps", F(s, f.dcqcn_add_mbps), 0, 8000000, "5", "Mb/s", "AI"), \
	N("dcqcn.hyper_mbps", F(s, f.dcqcn_hyper_mbps), 0, 8000000, "50", "Mb/s", "HAI"), \
	N("dcqcn.notice_gap_ns", F(s, f.dcqcn.notice_gap_ns), 0, UINT32_MAX, "4000", "ns", "between notifications"), \
	B("dcqcn.cut_on_loss", F(s, f.dcqcn.cut_on_loss), "true", "a loss is a notification too"), \
	{"timely", CONFIG_GROUP_OF, GROUP, 0, 1, "", "", "congestion = \"timely\""}, \
	N("timely.ewma", F(s, f.timely.ewma_permil), 1, 1000, "875", "permille", "part of the latest difference"), \
	N("timely.beta", F(s, f.timely.beta_permil), 0, 1000, "800", "permille", "of a decrease"), \
	N("timely.least", F(s, f.timely.least_permil), 0, 1000, "500", "permille", "of the rate that one leaves"), \
	N("timely.low_ns", F(s, f.timely.low_ns), 0, UINT32_MAX, "50000", "ns", "round trips below only add"), \
	N("timely.high_ns", F(s, f.timely.high_ns), 1, UINT32_MAX, "500000", "ns", "round trips above only cut"), \
	N("timely.min_rtt_ns", F(s, f.timely.min_rtt_ns), 1, UINT32_MAX, "20000", "ns", "that gradients are relative to"), \
	N("timely.add_mbps", F(s, f.timely_add_mbps), 0, 8000000, "10", "Mb/s", "delta"), \
	N("timely.hyper_after", F(s, f.timely.hyper_after), 0, 255, "5", "", "updates without a rise"), \
	N("timely.segment_bytes", F(s, f.timely.segment_bytes), 0, UINT32_MAX, "16384", "bytes", "one update in so many"), \
	{"swift", CONFIG_GROUP_OF, GROUP, 0, 1, "", "", "congestion = \"swift\""}, \
	N("swift.base_target_ns", F(s, f.swift.base_target_ns), 0, 1000000000, "0", "ns", \
		"round trip; 0: the base one and congestion.target_ns"), \
	N("swift.scale_ns", F(s, f.swift.scale_ns), 0, 1000000000, "0", "ns", \
		"most that small windows add; 0: four base round trips"), \
	N("swift.scale_min", F(s, f.swift.scale_min_milli), 1, UINT32_MAX, "100", "1/1000 packet", \
		"windows that add all of it"), \
	N("swift.scale_max", F(s, f.swift.scale_max_milli), 1, UINT32_MAX, "100000", "1/1000 packet", "and nothing"), \
	N("swift.add", F(s, f.swift.add_permil), 0, 10000, "1000", "1/1000 packet", "each round trip"), \
	N("swift.beta", F(s, f.swift.beta_permil), 0, 1000, "800", "permille", "of a decrease"), \
	N("swift.most", F(s, f.swift.most_permil), 0, 1000, "500", "permille", "of the window in one decrease"), \
	N("swift.min_window", F(s, f.swift.min_milli), 1, 1000, "1", "1/1000 packet", "least window"), \
	N("swift.reset_after", F(s, f.swift.reset_after), 0, 255, "5", "", "silences in a row"), \
	{"theta", CONFIG_GROUP_OF, GROUP, 0, 1, "", "", "congestion = \"theta-powertcp\""}, \
	N("theta.gamma", F(s, f.theta.gamma_permil), 1, 1000, "900", "permille", "part of the new window"), \
	N("theta.flows", F(s, f.theta.flows), 1, 1000000, "10", "", "expected to share a link"), \
	{"predictive", CONFIG_GROUP_OF, GROUP, 0, 1, "", "", "congestion = \"predictive\""}, \
	B("predictive.median", F(s, f.predictive.median), "true", "the delay is the median of the last nine"), \
	B("predictive.prediction", F(s, f.predictive.prediction), "true", "and is foreseen for one round trip"), \
	B("predictive.incast_cap", F(s, f.predictive.incast_cap), "true", "senders of a receiver share the window"), \
	N("predictive.first_packets", F(s, f.predictive.first_packets), 0, 65536, "4", "packets", \
		"window before the first acknowledgement; 0: all of it"), \
	N("predictive.second_packets", F(s, f.predictive.second_packets), 0, 65536, "0", "packets", \
		"and for a round trip after it; 0: all of it"), \
	{"learned", CONFIG_GROUP_OF, GROUP, 0, 1, "", "", "congestion = \"learned\""}, \
	{"learned.model", CONFIG_TEXT, F(s, f.model_name), 1, CONFIG_TEXT_BYTES - 1, "", "", \
		"file of its model, which tools/train-cc writes; beside the scenario if not absolute"}

/* Fills in what follows from what was read; tells the reader what is wrong, for a link of so much. */
void sim_congestion_check(struct config_reader *reader, struct sim_congestion *c, enum cc_kind kind, uint64_t rate_bps);
/* c has to stay. */
void sim_congestion_config(const struct sim_congestion *c, struct cc_config *config);

#endif
