/* SPDX-License-Identifier: BSD-3-Clause */
/* Reload of what clients have: limits, the socket's rights, schedulers, controllers and peers of their queue pairs. */
#include <errno.h>
#include <string.h>

#include "log.h"
#include "reload.h"
#include "rights.h"
#include "tuning.h"
#include "worker.h"

static bool tunes(const struct reload *reload)
{
	/* Rates of ports are those of controllers, and each device has its own. */
	return reload_touches(reload, "multipath") || reload_touches(reload, "congestion") || reload_touches(reload, "dcqcn") ||
		reload_touches(reload, "ports") || reload_touches(reload, "devices");
}

static int prepare(struct reload *reload, void **prepared)
{
	char why[RIGHTS_TEXT_BYTES];

	if (reload_touches(reload, "control") && !rights_socket(&reload->config->control.group, why))
		reload_refuse(reload, "%s", why);
	if (!tunes(reload))
		return 0;
	*prepared = tuning_new(reload->roced, reload->config, why, sizeof(why));
	if (*prepared == NULL)
		reload_refuse(reload, "%s", why);
	return 0;
}

static void use(struct reload *reload, struct tuning *tuning)
{
	struct roced *roced = reload->roced;
	struct tp_tuning of_tp;

	tuning_use(roced, tuning);
	tuning_of_tp(tuning, reload->config, &of_tp);
	for (uint32_t w = 0; w < roced->n_workers; w++)
		tp_tune(roced->workers[w]->tp, &of_tp);
	vd_set_multipath(roced->vd, &tuning->multipath);
	for (uint32_t d = 0; d < roced->n_devices; d++) {
		roced->devices[d].cc = tuning_cc(tuning, reload->config, d);
		vd_set_device(roced->vd, d, &roced->devices[d]);
	}
}

static void commit(struct reload *reload, void *prepared)
{
	if (prepared != NULL)
		use(reload, prepared);
	if (reload_touches(reload, "limits") || reload_touches(reload, "user_limits"))
		vd_set_limits(reload->roced->vd, &reload->config->limits, &reload->config->user_limits);
}

static void finish(struct reload *reload, void *prepared)
{
	const struct config *config = reload->config;
	int rc;

	if (prepared != NULL)
		tuning_collect(reload->roced);
	if (!reload_touches(reload, "control"))
		return;
	rc = vd_set_socket_rights(reload->roced->vd, (mode_t)config->control.mode,
		config->control.group.given ? (gid_t)config->control.group.gid : (gid_t)-1);
	if (rc != 0)
		log_line(LOG_ERR, "reload: the rights of %s: %s", config->control.socket, strerror(-rc));
}

static void undo(struct reload *reload, void *prepared)
{
	/* What is used has a place in the list. */
	if (prepared != NULL && reload->roced->tuning != prepared)
		tuning_free(prepared);
}

const struct reload_part reload_verbs = {prepare, commit, finish, undo};
