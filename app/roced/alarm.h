/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Conditions that somebody should look at: what, with whom, since when, how often. They are in telemetry (/roced/alarms)
 * while they last and for some time after, and in the log, seldom. One thread; memory is bounded, whoever causes them.
 */
#ifndef ALARM_H
#define ALARM_H

#include <stdbool.h>
#include <stdint.h>

#define ALARM_MAX        64u  /* kept; a new one takes the place of the one that was quiet longest */
#define ALARM_TEXT_BYTES 384u
#define ALARM_LAST_NS    60000000000ull /* it is over after so long a silence */

/* The caller's, who keeps it. */
struct alarm_kind {
	const char *name;            /* as in telemetry */
	const char *what;            /* in the log before the subject: "protection with " */
};

struct alarm {
	const struct alarm_kind *kind;
	char subject[64];            /* whom it is about */
	char text[ALARM_TEXT_BYTES]; /* the last one */
	bool active;
	uint64_t count;
	uint64_t first_ns, last_ns;
	uint64_t told_ns, quiet_ns;  /* the log: when, and how long nothing is said of it */
	uint64_t told_count;
};

struct alarms {
	uint32_t n;
	struct alarm list[ALARM_MAX];
	/* Told by the log in this second: a line a kind. */
	uint64_t second;
	uint32_t n_told;
	const struct alarm_kind *told[16];
};

/*
 * It has happened n times more. Said in the log at once, then after 1 s, 2 s and so on up to a minute as long as it goes on, and
 * no more than one line of a kind a second. Kinds are compared by address.
 */
__attribute__((format(printf, 6, 7))) void alarm_raise(struct alarms *alarms, uint64_t now_ns,
	const struct alarm_kind *kind, const char *subject, uint64_t n, const char *format, ...);
/* What is of that kind about the subject is over. */
void alarm_clear(struct alarms *alarms, const struct alarm_kind *kind, const char *subject);
/* Ends what has been silent for ALARM_LAST_NS. */
void alarm_age(struct alarms *alarms, uint64_t now_ns);

#endif
