/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration's multipath group. */
#include <string.h>

#include "roced.h"

static void fill_sched(const struct config_multipath *config, struct path_sched_config *sched)
{
	path_sched_config_default(sched);
	path_sched_config_base(sched, config->base_rtt_us * 1000);
	sched->kind = config->scheduler.kind;
	sched->n_evs = (uint8_t)config->evs;
	sched->flowlet_gap_ns = config->flowlet_gap_us * 1000;
	sched->losses_dead = (uint8_t)config->losses_dead;
	sched->probe_ns = config->probe_us * 1000;
	sched->freeze_ns = config->freeze_us * 1000;
}

static void fill_peers(const struct config_peers *config, const struct config_multipath *all,
	const struct path_sched_config *sched, struct vd_peers *peers)
{
	peers->network = (struct vd_gid){config->network.addr, config->network.len};
	peers->without_cm = config->without_cm;
	peers->max_planes = config->planes - 1;
	peers->sched = *sched;
	if (config->scheduler.given)
		peers->sched.kind = config->scheduler.kind;
	if (config->evs != 0)
		peers->sched.n_evs = (uint8_t)config->evs;
	peers->merge = (struct tp_merge_config){config->merge ? all->merge_bytes : 0, all->merge_wait_us * 1000};
}

void multipath_init(const struct config_multipath *config, struct vd_multipath *multipath)
{
	memset(multipath, 0, sizeof(*multipath));
	multipath->negotiate = config->negotiate;
	fill_sched(config, &multipath->sched);
	multipath->merge = (struct tp_merge_config){config->merge_bytes, config->merge_wait_us * 1000};
	multipath->n_peers = config->n_peers;
	for (uint32_t i = 0; i < config->n_peers; i++)
		fill_peers(&config->peers[i], config, &multipath->sched, &multipath->peers[i]);
}

void multipath_plain(const struct config_multipath *config, struct path_sched_config *plain)
{
	fill_sched(config, plain);
	plain->kind = config->plain.scheduler.kind;
	plain->n_evs = (uint8_t)config->plain.evs;
	plain->keep_order = plain->no_probes = true;
}
