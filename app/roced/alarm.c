/* SPDX-License-Identifier: BSD-3-Clause */
#include "alarm.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "log.h"

#define SECOND_NS    UINT64_C(1000000000)
#define QUIET_MAX_NS (60 * SECOND_NS)

static struct alarm *find(struct alarms *alarms, const struct alarm_kind *kind, const char *subject)
{
	for (uint32_t i = 0; i < alarms->n; i++) {
		if (alarms->list[i].kind == kind && strcmp(alarms->list[i].subject, subject) == 0)
			return &alarms->list[i];
	}
	return NULL;
}

/* A free place, or that of what is over, or of what was quiet longest. */
static struct alarm *place(struct alarms *alarms)
{
	struct alarm *best = &alarms->list[0];

	if (alarms->n < ALARM_MAX)
		return &alarms->list[alarms->n++];
	for (uint32_t i = 1; i < ALARM_MAX; i++) {
		struct alarm *a = &alarms->list[i];

		if (a->active != best->active ? best->active : a->last_ns < best->last_ns)
			best = a;
	}
	return best;
}

/* One line of a kind a second, however many subjects somebody makes up. */
static bool may_tell(struct alarms *alarms, const struct alarm_kind *kind, uint64_t now_ns)
{
	if (now_ns / SECOND_NS != alarms->second) {
		alarms->second = now_ns / SECOND_NS;
		alarms->n_told = 0;
	}
	for (uint32_t i = 0; i < alarms->n_told; i++) {
		if (alarms->told[i] == kind)
			return false;
	}
	if (alarms->n_told == sizeof(alarms->told) / sizeof(alarms->told[0]))
		return false;
	alarms->told[alarms->n_told++] = kind;
	return true;
}

static void tell(struct alarms *alarms, struct alarm *a, uint64_t now_ns)
{
	uint64_t more = a->count - a->told_count;

	if (a->told_count != 0 && now_ns - a->told_ns < a->quiet_ns)
		return;
	if (!may_tell(alarms, a->kind, now_ns))
		return;
	log_fields("event=alarm alarm=%s subject=%s times=%" PRIu64, a->kind->name, a->subject, more);
	if (more <= 1)
		log_line(LOG_WARNING, "%s%s: %s", a->kind->what, a->subject, a->text);
	else if (a->told_count == 0)
		log_line(LOG_WARNING, "%s%s: %s (%" PRIu64 " times)", a->kind->what, a->subject, a->text, more);
	else
		log_line(LOG_WARNING, "%s%s: %s (%" PRIu64 " times in %" PRIu64 " s)", a->kind->what, a->subject, a->text, more,
			(now_ns - a->told_ns + SECOND_NS - 1) / SECOND_NS);
	a->quiet_ns = a->told_count == 0 ? SECOND_NS : a->quiet_ns * 2 < QUIET_MAX_NS ? a->quiet_ns * 2 : QUIET_MAX_NS;
	a->told_ns = now_ns;
	a->told_count = a->count;
}

void alarm_raise(struct alarms *alarms, uint64_t now_ns, const struct alarm_kind *kind, const char *subject, uint64_t n,
	const char *format, ...)
{
	struct alarm *a = find(alarms, kind, subject);
	va_list args;

	if (a == NULL) {
		a = place(alarms);
		memset(a, 0, sizeof(*a));
		a->kind = kind;
		(void)snprintf(a->subject, sizeof(a->subject), "%s", subject);
	}
	if (!a->active) {
		a->active = true;
		a->first_ns = now_ns;
		a->told_count = 0;
		a->count = 0;
	}
	a->count += n;
	a->last_ns = now_ns;
	va_start(args, format);
	(void)vsnprintf(a->text, sizeof(a->text), format, args);
	va_end(args);
	tell(alarms, a, now_ns);
}

void alarm_clear(struct alarms *alarms, const struct alarm_kind *kind, const char *subject)
{
	struct alarm *a = find(alarms, kind, subject);

	if (a != NULL)
		a->active = false;
}

void alarm_age(struct alarms *alarms, uint64_t now_ns)
{
	for (uint32_t i = 0; i < alarms->n; i++) {
		if (now_ns - alarms->list[i].last_ns >= ALARM_LAST_NS)
			alarms->list[i].active = false;
	}
}
