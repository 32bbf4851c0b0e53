/* SPDX-License-Identifier: BSD-3-Clause */
/* Reload of far gateways, the networks behind them, and those that are reached without. */
#include <errno.h>
#include <stdlib.h>

#include "gateway.h"
#include "reload.h"

struct prepared {
	struct gateway_pairs *pairs[VD_MAX_WORKERS]; /* of workers that have none yet */
	struct link *gone[CONFIG_MAX_REMOTES];
	bool fresh[CONFIG_MAX_REMOTES];    /* needs a way */
};

static bool wants_pairs(const struct reload *reload)
{
	return reload->config->gateway.n_direct != 0 && reload->roced->workers[0]->gateway->pairs == NULL;
}

static int prepare(struct reload *reload, void **out)
{
	const struct roced *roced = reload->roced;
	struct prepared *prepared;

	if (roced->gateway == NULL || (!reload_touches(reload, "gateway") && !reload_touches(reload, "protection.peers")))
		return 0;
	prepared = calloc(1, sizeof(*prepared));
	if (prepared == NULL)
		return -ENOMEM;
	*out = prepared;
	for (uint32_t w = 0; w < roced->n_workers && wants_pairs(reload); w++) {
		prepared->pairs[w] = gateway_direct_new(roced->workers[w]->gateway, &reload->config->gateway);
		if (prepared->pairs[w] == NULL)
			return -ENOMEM;
	}
	return 0;
}

static void commit(struct reload *reload, void *arg)
{
	struct prepared *prepared = arg;
	struct roced *roced = reload->roced;

	if (prepared == NULL)
		return;
	for (uint32_t r = 0; r < CONFIG_MAX_REMOTES; r++) {
		struct gateway_remote *remote = &roced->gateway->remotes[r];
		bool had = gateway_has_remote(roced->gateway, r);

		prepared->gone[r] = remote->link;
		gateway_set_remote(roced, reload->config, r);
		prepared->fresh[r] = !had && gateway_has_remote(roced->gateway, r);
		if (had && gateway_has_remote(roced->gateway, r))
			prepared->gone[r] = NULL;
	}
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		struct gateway_worker *gw = roced->workers[w]->gateway;

		gateway_recent_forget_ways(&gw->recent);
		if (prepared->pairs[w] != NULL)
			gw->pairs = prepared->pairs[w];
		prepared->pairs[w] = NULL;
	}
}

static void finish(struct reload *reload, void *arg)
{
	struct prepared *prepared = arg;
	struct roced *roced = reload->roced;
	struct link *links[CONFIG_MAX_REMOTES] = {0};

	if (prepared == NULL)
		return;
	for (uint32_t r = 0; r < CONFIG_MAX_REMOTES; r++) {
		link_release(roced, prepared->gone[r]);
		if (prepared->fresh[r])
			links[r] = gateway_hold_remote(roced, r);
	}
	workers_hold(roced);
	for (uint32_t r = 0; r < CONFIG_MAX_REMOTES; r++) {
		if (prepared->fresh[r])
			roced->gateway->remotes[r].link = links[r];
	}
	workers_release(roced);
}

static void undo(struct reload *reload, void *arg)
{
	struct prepared *prepared = arg;

	for (uint32_t w = 0; prepared != NULL && w < reload->roced->n_workers; w++)
		gateway_pairs_free(prepared->pairs[w]);
	free(prepared);
}

const struct reload_part reload_gateway = {prepare, commit, finish, undo};
