/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a worker sends by a port with channels: a queue for each, what the neighbour has paused, and which queue pairs wait
 * because a queue is long. A port without channels has none of this, and its frames pass by.
 */
#ifndef SHAPE_H
#define SHAPE_H

#include "channels.h"
#include "qos_egress.h"
#include "qos_storm.h"
#include "worker.h"

struct shape {
	struct qos_config config;
	struct qos_egress *egress; /* NULL: the port has no channels */
	struct tp_shaper *gate[QOS_MAX_CLASSES]; /* of queue pairs that send there */
	uint32_t close_fill[QOS_MAX_CLASSES]; /* of its queue; then the gate is closed */
	uint8_t closed;            /* gates, by bits */
	struct qos_pause pause;
	struct qos_storm_config storm_config;
	struct qos_storm storm;
	bool forward;              /* a storm's pauses are passed over */
	uint8_t pfc;               /* priorities whose pauses count; none if the NIC sees to them */
	uint8_t held;              /* those whose lane takes no more */
	uint64_t rate_bps;         /* pauses are counted by */
	uint64_t look_ns;          /* when the watchdog looked last */
};

/* One for each port, in worker->shapes; the transport is there. 0 or -ENOMEM. */
int shape_init(struct worker *worker);
/* Before the transport goes. */
void shape_fini(struct worker *worker);

/* For a reload: those that a configuration says, in the worker's thread; they are to be freed even if this fails. 0 or -ENOMEM. */
int shapes_new(struct worker *worker, const struct config *config, struct shape **shapes);
/* What is queued goes, too. In the worker's thread; NULL is fine. */
void shapes_free(struct worker *worker, struct shape *shapes);
/* The worker sends by these from now on; those before are the caller's. */
void shapes_use(struct worker *worker, struct shape *shapes);

/* Queues frames of a port; drops and counts what has no room. */
void shape_put(struct worker *worker, struct shape *shape, struct rte_mbuf **pkts, uint32_t n);
/* What may be sent now; how many frames. */
uint32_t shape_get(struct worker *worker, struct shape *shape, struct rte_mbuf **pkts, uint32_t max);
/* Whether pauses of the port's neighbour are followed. */
static inline bool shape_is_paused_by(const struct worker *worker, const struct port *port)
{
	return worker->shapes[port->index].pfc != 0;
}

/* The port takes nothing: what is queued there is dropped, so that queue pairs find out. */
void shape_drop(struct worker *worker, struct shape *shape);
/* What a priority has queued is dropped. */
void shape_flush(struct worker *worker, struct shape *shape, uint8_t priority);
/* Its lane takes no more, takes some again. */
void shape_hold(struct shape *shape, uint8_t priority, bool hold);
/* Has its queues know which of them are paused or held. */
void shape_apply_pauses(struct shape *shape);
/* Priority of a whole frame. */
uint8_t shape_priority(const struct shape *shape, const struct rte_mbuf *m);
/* A PAUSE or PFC frame came by the port. */
void shape_pause(struct worker *worker, struct shape *shape, struct rte_mbuf *m);
/* When shape_get() has something next, for all ports; UINT64_MAX: never. */
uint64_t shape_next_ns(const struct worker *worker);
/* The gate for packets with that traffic class octet; NULL: none. */
struct tp_shaper *shape_gate(const struct worker *worker, const struct port *port, uint8_t tos, bool has_vlan,
	uint16_t vlan_tci);
/* The same for packets by an address vector. */
struct tp_shaper *shape_channel(const struct worker *worker, const struct link *link, const struct tp_av *av);

#endif
