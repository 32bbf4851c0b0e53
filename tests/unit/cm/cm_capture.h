/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real exchanges of Soft-RoCE for a cm that takes the place of one end: the CM messages of a capture, the cm, what
 * it sent and the events it made, and a comparison of its messages with those that Linux sent.
 */
#ifndef CM_CAPTURE_H
#define CM_CAPTURE_H

#include <stdbool.h>

#include "cm.h"
#include "wire_cm.h"

#define CAP_MESSAGES_MAX 32
#define CAP_EVENTS_MAX   8
#define EQUAL(a, b)      cap_check((a) == (b), #a " == " #b)

struct cap_message {
	struct wire_addr src;
	struct wire_addr dst;
	struct wire_cm_msg msg;
};

/* One exchange, and a cm that plays one end. */
struct cap_replay {
	struct cap_message messages[CAP_MESSAGES_MAX];
	unsigned int n;
	uint32_t first_psn[2]; /* of the data: 0 from the REQ's sender, 1 to it */
	bool has_data[2];
	struct cm *cm;
	struct wire_cm_msg sent;
	unsigned int n_sent;
	struct cm_event events[CAP_EVENTS_MAX];
	unsigned int n_events;
};

/* How many checks of this run did not hold. */
extern unsigned int cap_failed;

/* Counts and names a check that does not hold. */
void cap_check(bool ok, const char *what);
/* The CM messages of file, in order; false when it cannot be read or has fewer than two. */
bool cap_load(struct cap_replay *replay, const char *file);
/* Makes a new replay->cm and forgets what an earlier one did; the caller destroys it. */
void cap_start(struct cap_replay *replay);
/* Gives msg to the cm, on the path of message: as Linux's peer got it. */
void cap_feed(struct cap_replay *replay, const struct cap_message *message, const struct wire_cm_msg *msg);
/* Checks that all fields are equal, but for those named in skip (ends with NULL), and the private data. */
void cap_compare(const struct wire_cm_msg *ours, const struct wire_cm_msg *theirs, const char *const *skip);

#endif
