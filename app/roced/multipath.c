/* SPDX-License-Identifier: BSD-3-Clause */
/* The configuration's multipath group. */
#include <string.h>

#include "roced.h"

void multipath_init(const struct config_multipath *config, struct vd_multipath *multipath)
{
	struct path_sched_config *sched = &multipath->sched;

	memset(multipath, 0, sizeof(*multipath));
	multipath->negotiate = config->negotiate;
	multipath->n_peers = config->n_peers;
	for (uint32_t i = 0; i < config->n_peers; i++)
		multipath->peers[i] = (struct vd_gid){config->peers[i].addr, config->peers[i].len};
	path_sched_config_default(sched);
	path_sched_config_base(sched, config->base_rtt_us * 1000);
	sched->kind = (enum path_sched_kind)config->scheduler;
	sched->n_evs = (uint8_t)config->evs;
	sched->flowlet_gap_ns = config->flowlet_gap_us * 1000;
	sched->losses_dead = (uint8_t)config->losses_dead;
	sched->probe_ns = config->probe_us * 1000;
	sched->freeze_ns = config->freeze_us * 1000;
}
