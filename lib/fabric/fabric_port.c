/* SPDX-License-Identifier: BSD-3-Clause */
/* A port's queues and its end of the wire. */
#include "fabric_internal.h"

#define RATE_SHIFT      16
#define MIN_FRAME_BYTES 60u /* without FCS */
#define PERCENT         100u

uint64_t fabric_wire_ps(const struct fabric_port *port, uint32_t bytes)
{
	uint64_t on_wire = (bytes > MIN_FRAME_BYTES ? bytes : MIN_FRAME_BYTES) + FABRIC_WIRE_BYTES;

	return (on_wire * port->byte_ps >> RATE_SHIFT) * PERCENT / port->rate_percent;
}

static struct fabric_carried *dequeue(struct fabric_port *port)
{
	for (int p = FABRIC_PRIORITIES - 1; p >= 0; p--) {
		struct fabric_carried *carried = STAILQ_FIRST(&port->queue[p]);

		if (carried == NULL || (port->paused & 1u << p) != 0)
			continue;
		STAILQ_REMOVE_HEAD(&port->queue[p], link);
		port->queued_bytes -= carried->packet.bytes;
		port->class_bytes[p] -= carried->packet.bytes;
		return carried;
	}
	return NULL;
}

/* The packet leaves the node; it may still be lost on the way. */
static void set_out(struct fabric_port *port, struct fabric_carried *carried, uint64_t now_ps)
{
	if (!fabric_is_host(port->node))
		fabric_switch_left(port->node, carried, now_ps);
	carried->via = port;
	carried->cuts = port->cuts;
}

static void fly(struct fabric_port *port, struct fabric_carried *carried, uint64_t at_ps)
{
	if (fabric_events_add(&port->fabric->events, at_ps, fabric_arrive, carried) != 0)
		fabric_lose(port, carried, FABRIC_LOSS_FAULT);
}

static void fly_again(struct fabric_port *port, const struct fabric_carried *carried, uint64_t at_ps)
{
	struct fabric *fabric = port->fabric;
	struct fabric_carried *second;

	if (fabric->ops->copy == NULL)
		return;
	second = fabric_take(fabric);
	if (second == NULL)
		return;
	*second = *carried;
	second->packet.user = fabric->ops->copy(fabric->env, &carried->packet);
	if (second->packet.user == NULL)
		fabric_give(fabric, second);
	else
		fly(port, second, at_ps);
}

static void put_on_wire(struct fabric_port *port, struct fabric_carried *carried, uint64_t at_ps)
{
	const struct fabric_fault *fault = &fabric_link_of(port)->fault;
	struct fabric *fabric = port->fabric;

	if (fabric_chance(fabric, fault->lose_ppm)) {
		fabric_lose(port, carried, FABRIC_LOSS_FAULT);
		return;
	}
	if (fabric_chance(fabric, fault->corrupt_ppm))
		carried->packet.corrupt = true;
	if (fault->delay_ns != 0 && fabric_chance(fabric, fault->delay_ppm))
		at_ps += fabric_random(fabric) % (fault->delay_ns * FABRIC_PS_PER_NS);
	if (fabric_chance(fabric, fault->repeat_ppm))
		fly_again(port, carried, at_ps);
	fly(port, carried, at_ps);
}

static void wire_free(void *env, void *arg, uint64_t now_ps)
{
	struct fabric_port *port = arg;

	port->busy = false;
	fabric_port_kick(port, now_ps);
	if (!port->busy && port->queued_bytes == 0 && fabric_is_host(port->node) && port->fabric->ops->ready != NULL)
		port->fabric->ops->ready(env, (uint32_t)(port->node - port->fabric->nodes), fabric_ns(now_ps));
}

void fabric_port_kick(struct fabric_port *port, uint64_t now_ps)
{
	while (!port->busy) {
		struct fabric_carried *carried = dequeue(port);
		uint64_t done_ps;

		if (carried == NULL)
			return;
		set_out(port, carried, now_ps);
		done_ps = now_ps + fabric_wire_ps(port, carried->packet.bytes);
		/* A switch drops what is for a cut link at once; a host that is told when its link is free is told so. */
		if (!port->cut || fabric_is_host(port->node))
			port->busy = fabric_events_add(&port->fabric->events, done_ps, wire_free, port) == 0;
		if (port->cut) {
			fabric_lose(port, carried, FABRIC_LOSS_LINK);
			continue;
		}
		port->stats.tx_packets++;
		port->stats.tx_bytes += carried->packet.bytes + FABRIC_WIRE_BYTES;
		put_on_wire(port, carried, done_ps + port->delay_ps);
	}
}

void fabric_port_put(struct fabric_port *port, struct fabric_carried *carried, uint64_t now_ps)
{
	if (!fabric_is_host(port->node))
		fabric_depth_note(port->fabric, port->queued_bytes);
	STAILQ_INSERT_TAIL(&port->queue[carried->packet.priority], carried, link);
	port->queued_bytes += carried->packet.bytes;
	port->class_bytes[carried->packet.priority] += carried->packet.bytes;
	if (port->stats.max_queue_bytes < port->queued_bytes)
		port->stats.max_queue_bytes = port->queued_bytes;
	fabric_port_kick(port, now_ps);
}

void fabric_port_repause(struct fabric_port *port, uint64_t now_ps)
{
	uint8_t paused = port->told | fabric_link_of(port)->fault.pause_priorities;
	uint8_t changed = paused ^ port->paused;

	port->paused = paused;
	for (int p = 0; p < FABRIC_PRIORITIES; p++) {
		if ((changed & 1u << p) == 0)
			continue;
		if ((paused & 1u << p) != 0) {
			port->paused_since_ps[p] = now_ps;
			port->stats.pauses++;
		} else {
			port->stats.pause_ns += (now_ps - port->paused_since_ps[p]) / FABRIC_PS_PER_NS;
		}
	}
	fabric_port_kick(port, now_ps);
}
