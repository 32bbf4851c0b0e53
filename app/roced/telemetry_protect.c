/* SPDX-License-Identifier: BSD-3-Clause */
/* /roced/protection, /roced/rekey and /roced/alarms. */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>

#include "clock.h"
#include "protect.h"
#include "telemetry.h"
#include "wire_addr.h"

#define MAX_TOLD  24u /* associations of one answer, and alarms: DPDK's answers have at most 16 KiB */
#define SECOND_NS 1000000000ull

/* ---- associations ---- */

struct list {
	uint32_t from, n, all;
	struct protect_told told[MAX_TOLD];
};

static void fill_list(struct roced *roced, void *arg)
{
	struct list *list = arg;

	list->n = protect_tell(roced, list->from, list->told, MAX_TOLD, &list->all);
}

#define COLUMN(field) {#field, offsetof(struct protect_told, field)}
#define COUNT(field)  {#field, offsetof(struct protect_told, counts.field)}

static const struct {
	const char *name;
	size_t at;
} columns[] = {COLUMN(tx_epoch), COLUMN(rx_epoch), COLUMN(tx_spi), COLUMN(rx_spi), COLUMN(lanes), COLUMN(peer_lanes),
	COLUMN(age_s), COUNT(tx_packets), COUNT(tx_bytes), COUNT(rx_packets), COUNT(rx_bytes), COUNT(wrong_tags),
	COUNT(replayed), COUNT(too_old), COLUMN(handshakes), COLUMN(rekeys), COLUMN(refused), COLUMN(ignored)};

enum text { PEER, LOCAL, DEVICE, STATE, SUITE, METHOD, WHY, TEXTS };

static const char *text_of(const struct protect_told *told, enum text text, char *buf)
{
	switch (text) {
	case PEER:
		return wire_addr_print(&told->peer, buf);
	case LOCAL:
		return wire_addr_print(&told->local, buf);
	case DEVICE:
		return told->device;
	case STATE:
		return told->state;
	case SUITE:
		return told->suite;
	case METHOD:
		return told->method;
	default:
		return told->why;
	}
}

static int put_list(struct rte_tel_data *d, const struct list *list)
{
	static const char *const names[TEXTS] = {"peer", "local", "device", "state", "suite", "method", "why"};
	char bufs[MAX_TOLD][WIRE_ADDR_TEXT_BYTES];
	const char *texts[MAX_TOLD];
	uint64_t numbers[MAX_TOLD];
	int rc = 0;

	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_u64(d, "associations", list->all);
	for (int t = 0; t < TEXTS && rc == 0; t++) {
		for (uint32_t i = 0; i < list->n; i++)
			texts[i] = text_of(&list->told[i], (enum text)t, bufs[i]);
		rc = telemetry_put_texts(d, names[t], texts, list->n);
	}
	for (size_t c = 0; c < RTE_DIM(columns) && rc == 0; c++) {
		for (uint32_t i = 0; i < list->n; i++)
			memcpy(&numbers[i], (const char *)&list->told[i] + columns[c].at, sizeof(numbers[i]));
		rc = telemetry_put_numbers(d, columns[c].name, numbers, list->n);
	}
	return rc;
}

static int on_protection(const char *cmd, const char *params, struct rte_tel_data *info)
{
	struct list *list = calloc(1, sizeof(*list));
	int rc = list != NULL ? telemetry_read_number(params, UINT16_MAX, &list->from) : -ENOMEM;

	(void)cmd;
	if (rc == 0)
		rc = telemetry_ask(fill_list, list);
	if (rc == 0)
		rc = put_list(info, list);
	free(list);
	return rc;
}

/* ---- new keys ---- */

struct rekey {
	bool all;
	struct wire_addr peer;
	struct protect_rekeyed result;
};

static void fill_rekey(struct roced *roced, void *arg)
{
	struct rekey *rekey = arg;

	protect_rekey(roced, rekey->all ? NULL : &rekey->peer, &rekey->result);
}

static int read_peer(const char *params, struct rekey *rekey)
{
	if (params == NULL)
		return -EINVAL;
	rekey->all = strcmp(params, "all") == 0;
	return rekey->all || wire_addr_read(params, &rekey->peer) ? 0 : -EINVAL;
}

static int on_rekey(const char *cmd, const char *params, struct rte_tel_data *info)
{
	struct rekey rekey = {0};
	int rc = read_peer(params, &rekey);

	(void)cmd;
	if (rc == 0)
		rc = telemetry_ask(fill_rekey, &rekey);
	if (rc != 0)
		return rc;
	rte_tel_data_start_dict(info);
	rte_tel_data_add_dict_u64(info, "started", rekey.result.started);
	rte_tel_data_add_dict_u64(info, "under_way", rekey.result.under_way);
	rte_tel_data_add_dict_u64(info, "without_keys", rekey.result.without_keys);
	return 0;
}

/* ---- alarms ---- */

struct alarm_list {
	uint32_t from, n, all;
	uint64_t now_ns;
	struct alarm told[MAX_TOLD];
};

static void fill_alarms(struct roced *roced, void *arg)
{
	struct alarm_list *list = arg;

	list->now_ns = clock_now_ns();
	alarm_age(&roced->alarms, list->now_ns);
	list->all = roced->alarms.n;
	for (uint32_t i = list->from; i < list->all && list->n < MAX_TOLD; i++)
		list->told[list->n++] = roced->alarms.list[i];
}

static int put_alarm_texts(struct rte_tel_data *d, const struct alarm_list *list)
{
	const char *kinds[MAX_TOLD], *subjects[MAX_TOLD], *texts[MAX_TOLD];
	int rc;

	for (uint32_t i = 0; i < list->n; i++) {
		kinds[i] = list->told[i].kind->name;
		subjects[i] = list->told[i].subject;
		texts[i] = list->told[i].text;
	}
	rc = telemetry_put_texts(d, "alarm", kinds, list->n);
	if (rc == 0)
		rc = telemetry_put_texts(d, "subject", subjects, list->n);
	return rc == 0 ? telemetry_put_texts(d, "text", texts, list->n) : rc;
}

static int put_alarms(struct rte_tel_data *d, const struct alarm_list *list)
{
	uint64_t active[MAX_TOLD], count[MAX_TOLD], first_s[MAX_TOLD], last_s[MAX_TOLD];
	int rc;

	for (uint32_t i = 0; i < list->n; i++) {
		const struct alarm *a = &list->told[i];

		active[i] = a->active;
		count[i] = a->count;
		first_s[i] = (list->now_ns - a->first_ns) / SECOND_NS;
		last_s[i] = (list->now_ns - a->last_ns) / SECOND_NS;
	}
	rte_tel_data_start_dict(d);
	rte_tel_data_add_dict_u64(d, "alarms", list->all);
	rc = put_alarm_texts(d, list);
	if (rc == 0)
		rc = telemetry_put_numbers(d, "active", active, list->n);
	if (rc == 0)
		rc = telemetry_put_numbers(d, "count", count, list->n);
	if (rc == 0)
		rc = telemetry_put_numbers(d, "first_s_ago", first_s, list->n);
	return rc == 0 ? telemetry_put_numbers(d, "last_s_ago", last_s, list->n) : rc;
}

static int on_alarms(const char *cmd, const char *params, struct rte_tel_data *info)
{
	struct alarm_list *list = calloc(1, sizeof(*list));
	int rc = list != NULL ? telemetry_read_number(params, ALARM_MAX, &list->from) : -ENOMEM;

	(void)cmd;
	if (rc == 0)
		rc = telemetry_ask(fill_alarms, list);
	if (rc == 0)
		rc = put_alarms(info, list);
	free(list);
	return rc;
}

int telemetry_protect_start(void)
{
	int rc = rte_telemetry_register_cmd("/roced/protection", on_protection,
		"Associations with protected peers; with a number: from that one on");

	if (rc == 0)
		rc = rte_telemetry_register_cmd("/roced/rekey", on_rekey, "New keys now: address of a peer, or all");
	if (rc == 0)
		rc = rte_telemetry_register_cmd("/roced/alarms", on_alarms,
			"What somebody should look at; with a number: from that one on");
	return rc;
}
