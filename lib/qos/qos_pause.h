/* SPDX-License-Identifier: BSD-3-Clause */
/* What the other end of a link wants not to be sent: PAUSE and PFC frames as they come, by priority. */
#ifndef QOS_PAUSE_H
#define QOS_PAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "wire_pause.h"

#define QOS_PRIORITIES WIRE_PAUSE_PRIORITIES

struct qos_pause {
	uint8_t paused;        /* bit p: priority p, as of the last call */
	uint64_t end_ns[QOS_PRIORITIES];
	uint64_t since_ns[QOS_PRIORITIES]; /* of those paused */
	uint64_t heard_ns[QOS_PRIORITIES]; /* latest frame that asked for a pause; 0: none */
	uint64_t frames[QOS_PRIORITIES];   /* that named the priority, pauses and ends */
	uint64_t paused_ns[QOS_PRIORITIES]; /* in all, without the present one */
};

/* A frame came. enabled: bit p: priority p is to be paused at all. rate_bps: of the link, not 0. Returns whether
 * `paused` changed. */
bool qos_pause_take(
	struct qos_pause *p, const struct wire_pause *frame, uint8_t enabled, uint64_t rate_bps, uint64_t now_ns);
/* Ends those whose time is over; returns whether `paused` changed. */
bool qos_pause_expire(struct qos_pause *p, uint64_t now_ns);
/* When the next ends by itself, UINT64_MAX: none. */
uint64_t qos_pause_next_ns(const struct qos_pause *p);

#endif
