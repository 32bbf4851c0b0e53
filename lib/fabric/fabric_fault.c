/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes wrong on links, and when the switches learn of it. */
#include "fabric_internal.h"

#include <errno.h>

#define PERCENT 100u

/* Event: routing has taken note of the state that the link has now. */
static void converged(void *env, void *arg, uint64_t now_ps)
{
	struct fabric_link *link = arg;
	struct fabric *fabric = link->fabric;
	struct fabric_port *ports = &fabric->ports[2 * (link - fabric->links)];

	(void)env;
	(void)now_ps;
	if (ports[0].avoided == ports[0].cut)
		return;
	fabric->n_avoided += ports[0].cut ? 1 : (uint32_t)-1;
	ports[0].avoided = ports[1].avoided = ports[0].cut;
}

static void apply(struct fabric_port *port, const struct fabric_fault *fault, uint64_t now_ps)
{
	if (fault->cut && !port->cut)
		port->cuts++;
	port->cut = fault->cut;
	port->rate_percent = fault->rate_percent != 0 ? fault->rate_percent : PERCENT;
	fabric_port_repause(port, now_ps);
}

int fabric_set_fault(struct fabric *fabric, uint32_t link, const struct fabric_fault *fault, uint64_t now_ns)
{
	uint64_t now_ps = now_ns * FABRIC_PS_PER_NS;
	bool was_cut;

	if (link >= fabric->n_links || fault->rate_percent > PERCENT || fault->lose_ppm > FABRIC_PPM ||
		fault->corrupt_ppm > FABRIC_PPM || fault->repeat_ppm > FABRIC_PPM || fault->delay_ppm > FABRIC_PPM)
		return -EINVAL;
	if (now_ps < fabric->now_ps)
		now_ps = fabric->now_ps;
	was_cut = fabric->links[link].fault.cut;
	if (fault->cut != was_cut && fabric_events_add(&fabric->events,
		    now_ps + fabric->config.convergence_ns * FABRIC_PS_PER_NS, converged, &fabric->links[link]) != 0)
		return -ENOMEM;
	fabric->links[link].fault = *fault;
	apply(&fabric->ports[2 * link], fault, now_ps);
	apply(&fabric->ports[2 * link + 1], fault, now_ps);
	return 0;
}

int fabric_link_fault(const struct fabric *fabric, uint32_t link, struct fabric_fault *out)
{
	if (link >= fabric->n_links)
		return -EINVAL;
	*out = fabric->links[link].fault;
	return 0;
}
