/* SPDX-License-Identifier: BSD-3-Clause */
/* Reload of channels, rates of ports and the watchdog of pauses. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "reload.h"
#include "shape.h"

#define BURST 64u

struct prepared {
	struct shape *shapes[VD_MAX_WORKERS]; /* new ones; after commit() the old ones */
};

/* A call to a worker. */
struct shapes_call {
	struct worker *worker;
	const struct config *config;
	struct shape *shapes;
	int rc;
};

static void new_call(void *arg)
{
	struct shapes_call *call = arg;

	call->rc = shapes_new(call->worker, call->config, &call->shapes);
}

static void free_call(void *arg)
{
	struct shapes_call *call = arg;

	shapes_free(call->worker, call->shapes);
}

static bool is_affected(const struct reload *reload)
{
	return reload_touches(reload, "channels") || reload_touches(reload, "pfc") || reload_touches(reload, "ports[].rate_mbps") ||
		reload_touches(reload, "ports[].trust_pcp");
}

static bool pauses(const struct config_port *port)
{
	return (port->pfc | port->pfc_send) != 0;
}

/* Which channel a packet is of, and so its priority. */
static bool moves_packets(const struct reload *reload)
{
	static const char *const keys[] = {"channels[].dscp", "channels[].pcp", "channels[].priority", "ports[].trust_pcp"};
	const struct config *from = &reload->roced->config, *to = reload->config;
	bool moves = from->n_channels != to->n_channels;

	for (uint32_t c = 0; c < from->n_channels && !moves; c++)
		moves = strcmp(from->channels[c].name, to->channels[c].name) != 0;
	for (size_t i = 0; i < RTE_DIM(keys); i++)
		moves |= reload_touches(reload, keys[i]);
	return moves;
}

/* Pauses are counted by the speed and by the priorities of what waits, from the start on. */
static void refuse_pauses(struct reload *reload)
{
	const struct config *from = &reload->roced->config, *to = reload->config;

	for (uint32_t p = 0; p < from->n_ports; p++) {
		if (!pauses(&from->ports[p]))
			continue;
		if (from->ports[p].rate_mbps != to->ports[p].rate_mbps)
			reload_refuse(reload, "ports[\"%s\"].rate_mbps: the port follows or sends pauses (pfc, pfc_send), which are counted by it: needs a restart",
				from->ports[p].name);
		if (moves_packets(reload))
			reload_refuse(reload, "channels: port \"%s\" follows or sends pauses (pfc, pfc_send), so that packets keep their priorities: needs a"
				" restart; rates, weights, queues and marks may change", from->ports[p].name);
	}
}

static int prepare(struct reload *reload, void **out)
{
	struct roced *roced = reload->roced;
	struct prepared *prepared;
	int rc = 0;

	if (!is_affected(reload))
		return 0;
	refuse_pauses(reload);
	prepared = calloc(1, sizeof(*prepared));
	if (prepared == NULL)
		return -ENOMEM;
	*out = prepared;
	for (uint32_t w = 0; w < roced->n_workers && rc == 0; w++) {
		struct shapes_call call = {.worker = roced->workers[w], .config = reload->config};

		worker_call(roced->workers[w], new_call, &call);
		prepared->shapes[w] = call.shapes;
		rc = call.rc;
	}
	return rc;
}

/* ---- the workers stand still ---- */

/* By its name; without channels there is one that is nobody's. */
static int same_class(const struct config *from, const struct config *to, uint8_t class)
{
	if (to->n_channels == 0 || from->n_channels == 0)
		return class == 0 ? 0 : -1;
	for (uint32_t c = 0; c < from->n_channels; c++) {
		if (strcmp(from->channels[c].name, to->channels[class].name) == 0)
			return (int)c;
	}
	return -1;
}

static void count_on(const struct reload *reload, struct shape *shape, const struct shape *old)
{
	for (uint8_t c = 0; shape->egress != NULL && old->egress != NULL && c < shape->config.n_classes; c++) {
		int was = same_class(&reload->roced->config, reload->config, c);

		if (was >= 0)
			qos_egress_count_on(shape->egress, c, old->egress, (uint8_t)was);
	}
}

/* Each channel's packets in their order, to where they belong now. */
static void move_packets(struct worker *worker, struct port *port, struct shape *shape, struct shape *old)
{
	struct rte_mbuf *burst[BURST];
	uint32_t n = 0;

	for (uint8_t c = 0; c < old->config.n_classes; c++) {
		struct rte_mbuf *m;

		while ((m = qos_egress_pull(old->egress, c)) != NULL) {
			if (shape->egress != NULL)
				shape_put(worker, shape, &m, 1);
			else
				burst[n++] = m;
			if (n == BURST) {
				worker_tx(worker, port, burst, n);
				n = 0;
			}
		}
	}
	if (n != 0)
		worker_tx(worker, port, burst, n);
}

static void take_over(const struct reload *reload, struct worker *worker, uint32_t p, struct shape *old)
{
	struct shape *shape = &worker->shapes[p];

	shape->pause = old->pause;
	shape->storm = old->storm;
	shape->held = old->held;
	shape->look_ns = old->look_ns;
	count_on(reload, shape, old);
	if (shape->egress != NULL)
		shape_apply_pauses(shape);
	if (old->egress != NULL)
		move_packets(worker, &reload->roced->ports[p], shape, old);
}

static struct tp_shaper *channel_of(void *arg, const struct tp_av *av)
{
	return shape_channel(arg, av->link, av);
}

static void commit(struct reload *reload, void *arg)
{
	struct prepared *prepared = arg;
	struct roced *roced = reload->roced;

	for (uint32_t w = 0; prepared != NULL && w < roced->n_workers; w++) {
		struct worker *worker = roced->workers[w];
		struct shape *old = worker->shapes;

		worker->now_ns = clock_now_ns();
		shapes_use(worker, prepared->shapes[w]);
		tp_rechannel(worker->tp, channel_of, worker);
		for (uint32_t p = 0; p < roced->n_ports; p++)
			take_over(reload, worker, p, &old[p]);
		prepared->shapes[w] = old;
	}
}

static void finish(struct reload *reload, void *prepared)
{
	(void)reload;
	(void)prepared;
}

static void undo(struct reload *reload, void *arg)
{
	struct prepared *prepared = arg;
	struct roced *roced = reload->roced;

	for (uint32_t w = 0; prepared != NULL && w < roced->n_workers; w++) {
		struct shapes_call call = {.worker = roced->workers[w], .shapes = prepared->shapes[w]};

		worker_call(roced->workers[w], free_call, &call);
	}
	free(prepared);
}

const struct reload_part reload_channels = {prepare, commit, finish, undo};
