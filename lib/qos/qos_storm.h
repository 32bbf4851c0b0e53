/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The PFC watchdog: a neighbour that pauses a priority without end holds up all that goes there. When a priority has
 * packets, sends none and is paused all the time for detect_ns, it is in a storm: its pause does not count any more, or
 * what it has is dropped, as the caller's policy is. It is over when no pause was asked for in restore_ns. That hangs on
 * nothing that the policy changes, nor on other priorities, so it does not flap.
 */
#ifndef QOS_STORM_H
#define QOS_STORM_H

#include <stdint.h>

#include "qos_pause.h"

struct qos_storm_config {
	uint64_t detect_ns;      /* 0: no watchdog */
	uint64_t restore_ns;
};

struct qos_storm {
	uint8_t storming;        /* bit p */
	uint64_t free_ns[QOS_PRIORITIES]; /* latest time at which it had nothing, sent something or was not paused */
	uint64_t detected[QOS_PRIORITIES], restored[QOS_PRIORITIES];
};

/* To be called every so often, some times in detect_ns. backlogged: priorities that have packets; sent: those that have
 * sent since the last call. Returns those whose state changed. */
uint8_t qos_storm_look(struct qos_storm *s, const struct qos_storm_config *config, const struct qos_pause *pause,
	uint8_t backlogged, uint8_t sent, uint64_t now_ns);

#endif
