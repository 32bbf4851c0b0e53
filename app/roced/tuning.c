/* SPDX-License-Identifier: BSD-3-Clause */
#include "tuning.h"

#include <stdlib.h>

#include "log.h"
#include "worker.h"

static uint32_t fastest_mbps(const struct roced *roced)
{
	uint32_t mbps = 0;

	for (uint32_t p = 0; p < roced->n_ports; p++)
		mbps = RTE_MAX(mbps, roced->ports[p].speed_mbps);
	return mbps;
}

static bool choose_controller(const struct roced *roced, const struct config *config, uint32_t d, struct tuning *t, char *why, size_t n)
{
	uint64_t mbps = congestion_device_mbps(config, roced->ports, d);

	if (mbps == 0) {
		(void)snprintf(why, n,
			"device \"%s\": congestion.controller needs the rate of its ports and a driver tells none: give ports[].rate_mbps",
			config->devices[d].name);
		return false;
	}
	if (!congestion_agreed(config, mbps, &t->dcqcn, t->agreed_cc[d])) {
		(void)snprintf(why, n, "device \"%s\": congestion.controller: its numbers do not fit %llu Mb/s or each other",
			config->devices[d].name, (unsigned long long)mbps);
		return false;
	}
	for (uint32_t m = 0; m < VD_MTUS; m++)
		t->agreed_cc[d][m].model = t->agreed_cc[d][m].model != NULL ? &t->model : NULL;
	return true;
}

static bool fill(const struct roced *roced, const struct config *config, struct tuning *t, char *why, size_t n)
{
	multipath_plain(&config->multipath, &t->plain);
	multipath_init(&config->multipath, &t->multipath);
	if (!congestion_init(config, fastest_mbps(roced), &t->plain_cc, &t->dcqcn))
		t->plain_cc.rate_bps = 0;
	t->model = config->congestion.model;
	for (uint32_t d = 0; config->congestion.controller.given && d < config->n_devices; d++) {
		if (config->devices[d].name[0] != '\0' && !choose_controller(roced, config, d, t, why, n))
			return false;
	}
	return true;
}

struct tuning *tuning_new(const struct roced *roced, const struct config *config, char *why, size_t n)
{
	struct tuning *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		(void)snprintf(why, n, "no memory");
		return NULL;
	}
	if (fill(roced, config, t, why, n))
		return t;
	free(t);
	return NULL;
}

const struct cc_config *tuning_cc(const struct tuning *tuning, const struct config *config, uint32_t d)
{
	return config->congestion.controller.given ? tuning->agreed_cc[d] : NULL;
}

void tuning_of_tp(const struct tuning *tuning, const struct config *config, struct tp_tuning *out)
{
	*out = (struct tp_tuning){
		.min_rto_ns = (uint64_t)config->multipath.min_rto_us * 1000,
		.plain = tuning->plain.n_evs > 1 ? &tuning->plain : NULL,
		.move_on_timeout = config->multipath.move_on_timeout,
		.plain_cc = tuning->plain_cc.rate_bps != 0 ? &tuning->plain_cc : NULL,
		.cnp = {
			.gap_ns = (uint64_t)config->congestion.cnp_gap_us * 1000,
			.peer_gap_ns = (uint64_t)config->congestion.cnp_peer_gap_us * 1000,
			.tos = (uint8_t)(config->congestion.cnp_dscp << 2),
		},
	};
}

void tuning_use(struct roced *roced, struct tuning *tuning)
{
	tuning->older = roced->tuning;
	roced->tuning = tuning;
}

struct refers_call {
	const struct worker *worker;
	const struct tuning *tuning;
	bool refers;
};

static void refers(void *arg)
{
	struct refers_call *call = arg;

	call->refers = tp_refers(call->worker->tp, call->tuning, sizeof(*call->tuning));
}

static bool is_referred_to(const struct roced *roced, const struct tuning *tuning)
{
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		struct refers_call call = {.worker = roced->workers[w], .tuning = tuning};

		worker_call(roced->workers[w], refers, &call);
		if (call.refers)
			return true;
	}
	return false;
}

void tuning_collect(struct roced *roced)
{
	struct tuning **at = &roced->tuning->older;

	while (*at != NULL) {
		struct tuning *old = *at;

		if (is_referred_to(roced, old)) {
			at = &old->older;
		} else {
			*at = old->older;
			free(old);
		}
	}
}

void tuning_free(struct tuning *tuning)
{
	while (tuning != NULL) {
		struct tuning *older = tuning->older;

		free(tuning);
		tuning = older;
	}
}
