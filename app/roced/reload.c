/* SPDX-License-Identifier: BSD-3-Clause */
#include "reload.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "worker.h"

#define NS_PER_US 1000u

static const struct reload_part *const parts[] = {&reload_devices, &reload_channels, &reload_verbs, &reload_protect, &reload_gateway};

#define N_PARTS (sizeof(parts) / sizeof(parts[0]))

const char *reload_outcome_name(enum reload_outcome outcome)
{
	static const char *const names[] = {[RELOAD_UNCHANGED] = "unchanged", [RELOAD_APPLIED] = "applied", [RELOAD_POSSIBLE] = "possible",
		[RELOAD_REFUSED] = "refused", [RELOAD_WRONG] = "wrong"};

	return names[outcome];
}

bool reload_touches(const struct reload *reload, const char *path)
{
	size_t n = strlen(path);

	for (uint32_t i = 0; i < reload->changes.n; i++) {
		const char *changed = reload->changes.change[i].path;

		if (strncmp(changed, path, n) == 0 && (changed[n] == '\0' || changed[n] == '.' || changed[n] == '['))
			return true;
	}
	return false;
}

void reload_refuse(struct reload *reload, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vfprintf(reload->out, fmt, ap);
	va_end(ap);
	fputc('\n', reload->out);
	reload->refused++;
}

/* What differs, and what of it the daemon has to start anew for. */
static void tell_changes(struct reload *reload)
{
	for (uint32_t i = 0; i < reload->changes.n; i++) {
		const struct config_change *change = &reload->changes.change[i];

		config_change_print(change, reload->out);
		if (change->when == CONFIG_WHEN_RESTART) {
			fputs(": needs a restart", reload->out);
			reload->refused++;
		}
		fputc('\n', reload->out);
	}
}

static void undo(struct reload *reload)
{
	for (size_t i = N_PARTS; i-- > 0;)
		parts[i]->undo(reload, reload->prepared[i]);
}

/* What has been prepared is undone by the caller. */
static int prepare(struct reload *reload)
{
	int rc = 0;

	for (size_t i = 0; i < N_PARTS && rc == 0; i++)
		rc = parts[i]->prepare(reload, &reload->prepared[i]);
	return rc;
}

static void commit(struct reload *reload)
{
	struct roced *roced = reload->roced;
	uint64_t start_ns = clock_now_ns();

	workers_hold(roced);
	for (size_t i = 0; i < N_PARTS; i++)
		parts[i]->commit(reload, reload->prepared[i]);
	config_copy(&roced->config, reload->config);
	workers_release(roced);
	log_line(LOG_INFO, "reload: workers stood still for %u us at most", (unsigned)((clock_now_ns() - start_ns) / NS_PER_US));
	for (size_t i = 0; i < N_PARTS; i++)
		parts[i]->finish(reload, reload->prepared[i]);
}

/* Whether there is something to do. Files that the configuration names may have changed though it has not. */
static bool has_work(const struct reload *reload)
{
	bool any = reload->changes.n != 0;

	for (size_t i = 0; i < N_PARTS; i++)
		any |= reload->prepared[i] != NULL;
	return any;
}

static enum reload_outcome outcome_of(const struct reload *reload, bool dry)
{
	if (reload->refused != 0)
		return RELOAD_REFUSED;
	if (!has_work(reload))
		return RELOAD_UNCHANGED;
	return dry ? RELOAD_POSSIBLE : RELOAD_APPLIED;
}

/* The new configuration is right. */
static int change(struct reload *reload, bool dry, struct reload_result *result)
{
	int rc = config_align(reload->config, &reload->roced->config);

	if (rc == 0)
		rc = config_compare(&reload->roced->config, reload->config, &reload->changes);
	if (rc != 0)
		return rc;
	tell_changes(reload);
	if (reload->refused == 0)
		rc = prepare(reload);
	result->changes = reload->changes.n + reload->files;
	result->refused = reload->refused;
	result->outcome = outcome_of(reload, dry);
	if (rc == 0 && result->outcome == RELOAD_APPLIED)
		commit(reload);
	undo(reload);
	return rc;
}

static int read_and_change(struct reload *reload, bool dry, struct reload_result *result)
{
	reload->config = malloc(sizeof(*reload->config));
	if (reload->config == NULL)
		return -ENOMEM;
	result->errors = config_load(reload->path, reload->config, reload->out);
	if (result->errors == 0)
		return change(reload, dry, result);
	result->outcome = RELOAD_WRONG;
	return 0;
}

void reload(struct roced *roced, const char *path, bool dry, struct reload_result *result)
{
	struct reload reload = {.roced = roced, .path = path != NULL ? path : roced->config_path};
	size_t bytes;
	int rc;

	*result = (struct reload_result){.outcome = RELOAD_REFUSED};
	reload.out = open_memstream(&result->text, &bytes);
	if (reload.out == NULL)
		return;
	rc = read_and_change(&reload, dry, result);
	if (rc != 0) {
		fprintf(reload.out, "%s: %s\n", reload.path, strerror(-rc));
		result->outcome = RELOAD_REFUSED;
	}
	config_changes_free(&reload.changes);
	free(reload.config);
	fclose(reload.out);
	log_line(result->outcome == RELOAD_WRONG || result->outcome == RELOAD_REFUSED ? LOG_ERR : LOG_NOTICE,
		"reload of %s: %s%s: %u differences, %u errors", reload.path, dry ? "dry run: " : "", reload_outcome_name(result->outcome),
		result->changes, result->errors);
}

void reload_by_signal(struct roced *roced)
{
	struct reload_result result;
	char *line, *rest;

	reload(roced, NULL, false, &result);
	rest = result.text;
	while (rest != NULL && (line = strsep(&rest, "\n")) != NULL) {
		if (line[0] != '\0')
			log_line(result.outcome == RELOAD_APPLIED ? LOG_NOTICE : LOG_ERR, "reload: %s", line);
	}
	free(result.text);
}
