/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a port sends next: a queue a class, and in this order
 *
 *   1. classes that are below their guaranteed rate,
 *   2. strict classes,
 *   3. the others by their weights (deficit round robin, SIGCOMM'95),
 *
 * none above its ceiling, and none whose priority is paused. So a class has its guarantee and its share of the rest. Rates
 * count frames without preamble and FCS. One thread; memory is taken at set-up.
 */
#ifndef QOS_EGRESS_H
#define QOS_EGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "qos_bucket.h"
#include "qos_class.h"

#define QOS_FULL 1000u

struct qos_egress;

enum qos_put {
	QOS_PUT_QUEUED,
	QOS_PUT_MARK,     /* queued; to be marked "congestion experienced", if it is capable of that */
	QOS_PUT_FULL,     /* the packet stays the caller's */
};

struct qos_class_stats {
	uint64_t sent_packets, sent_bytes, marked, dropped;
	uint64_t queued_bytes;
	uint64_t delayed; /* times that its ceiling held it up with packets queued */
	uint32_t queued_packets;
};

/* config has been checked and is there until qos_egress_destroy(). packets: most that one class queues, a power of two.
 * NULL: no memory. */
struct qos_egress *qos_egress_create(const struct qos_config *config, uint32_t packets, uint64_t seed);
/* Frees what is queued, too. */
void qos_egress_destroy(struct qos_egress *e);

/* Takes over m, unless the queue is full. */
enum qos_put qos_egress_put(struct qos_egress *e, uint8_t class, struct rte_mbuf *m);
/* Whether a packet of so many bytes would be taken. */
bool qos_egress_has_room(const struct qos_egress *e, uint8_t class, uint32_t bytes);
/* How full its queue is, in bytes or packets, whichever is more: 0 to QOS_FULL. */
uint32_t qos_egress_fill(const struct qos_egress *e, uint8_t class);
/* Gives at most max packets that may be sent now, in the order in which they are to be; how many. */
uint32_t qos_egress_get(struct qos_egress *e, struct rte_mbuf **pkts, uint32_t max, uint64_t now_ns);
/* bit p: priority p is not sent from now on. */
void qos_egress_pause(struct qos_egress *e, uint8_t priorities);
/* Drops what classes of these priorities have queued. */
void qos_egress_flush(struct qos_egress *e, uint8_t priorities);

/* For one that takes the place of another: takes the oldest packet of a class, whatever rates and pauses say; NULL: it has none.
 * It counts as neither sent nor dropped. */
struct rte_mbuf *qos_egress_pull(struct qos_egress *e, uint8_t class);
/* What has been counted of a class of the other one; queues are not. */
void qos_egress_count_on(struct qos_egress *e, uint8_t class, const struct qos_egress *from, uint8_t was);

/* Packets in all queues. */
uint32_t qos_egress_queued(const struct qos_egress *e);
/* Priorities that have packets queued, by bits. */
uint8_t qos_egress_backlog(const struct qos_egress *e);
/* Priorities that have sent since the last call, by bits. */
uint8_t qos_egress_sent(struct qos_egress *e);
/* When qos_egress_get() has something to give, if nothing changes until then; UINT64_MAX: never, 0: now. */
uint64_t qos_egress_next_ns(const struct qos_egress *e, uint64_t now_ns);
void qos_egress_stats(const struct qos_egress *e, uint8_t class, struct qos_class_stats *stats);

#endif
