/* SPDX-License-Identifier: BSD-3-Clause */
#include "watch_fill.h"

#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "metrics.h"
#include "wire_addr.h"
#include "worker.h"

#define SECOND_NS 1000000000u

/* ---- pages ---- */

void *watch_next(struct watch_page *page)
{
	void *row;

	if (page->all++ < page->from || page->n == page->most)
		return NULL;
	row = page->rows + page->n++ * page->table->row_bytes;
	memset(row, 0, page->table->row_bytes);
	return row;
}

void watch_set_text(char text[WATCH_TEXT_BYTES], const char *from)
{
	size_t n = strnlen(from, WATCH_TEXT_BYTES - 1);

	memcpy(text, from, n);
	text[n] = '\0';
}

void watch_set_addr(char text[WATCH_TEXT_BYTES], const struct wire_addr *addr)
{
	static const struct wire_addr none;
	char buf[WIRE_ADDR_TEXT_BYTES];

	watch_set_text(text, memcmp(addr, &none, sizeof(none)) == 0 ? "" : wire_addr_print(addr, buf));
}

void watch_set_mac(char text[WATCH_TEXT_BYTES], const uint8_t mac[6])
{
	(void)snprintf(text, WATCH_TEXT_BYTES, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2], mac[3], mac[4], mac[5]);
}

/* ---- the daemon ---- */

uint64_t watch_drops(const struct roced *roced, enum base_drop reason)
{
	uint64_t sum = roced->counters.drops[reason];

	for (uint32_t w = 0; w < roced->n_workers; w++) {
		const struct worker *worker = roced->workers[w];

		sum += worker->counters.drops[reason] + tp_counters(worker->tp)->drops[reason];
	}
	return sum;
}

static void fill_drops(struct watch_page *page)
{
	for (int r = 1; r < BASE_DROP_COUNT; r++) {
		struct watch_drops *row = watch_next(page);

		if (row == NULL)
			continue;
		watch_set_text(row->reason, base_drop_name((enum base_drop)r));
		watch_set_text(row->what, base_drop_help((enum base_drop)r));
		row->packets = watch_drops(page->roced, (enum base_drop)r);
	}
}

static void fill_daemon(struct watch_page *page)
{
	const struct main_counters *c = &page->roced->counters;
	struct watch_daemon *row = watch_next(page);

	if (row == NULL)
		return;
	watch_set_text(row->version, ROCED_VERSION);
	row->process = (uint64_t)getpid();
	row->uptime_s = (clock_now_ns() - page->roced->started_ns) / SECOND_NS;
	row->punted = c->punted;
	row->arp_replies = c->arp_replies;
	row->nd_replies = c->nd_replies;
	row->echo_replies = c->echo_replies;
	row->mads_received = c->mads_received;
	row->mads_sent = c->mads_sent;
	row->mads_lost = c->mads_lost;
	row->frames_lost = c->frames_lost;
}

static void fill_alarms(struct watch_page *page)
{
	struct alarms *alarms = &page->roced->alarms;
	uint64_t now_ns = clock_now_ns();

	alarm_age(alarms, now_ns);
	for (uint32_t i = 0; i < alarms->n; i++) {
		const struct alarm *a = &alarms->list[i];
		struct watch_alarms *row = watch_next(page);

		if (row == NULL)
			continue;
		watch_set_text(row->alarm, a->kind->name);
		watch_set_text(row->subject, a->subject);
		watch_set_text(row->text, a->text);
		row->active = a->active;
		row->count = a->count;
		row->first_s_ago = (now_ns - a->first_ns) / SECOND_NS;
		row->last_s_ago = (now_ns - a->last_ns) / SECOND_NS;
	}
}

static void fill_metrics(struct watch_page *page)
{
	struct watch_metrics *row = page->roced->metrics != NULL ? watch_next(page) : NULL;

	if (row != NULL)
		metrics_tell(page->roced->metrics, row);
}

uint32_t watch_fill(struct roced *roced, enum watch_id id, uint32_t from, void *rows, uint32_t most, uint32_t *all)
{
	static void (*const fills[WATCH_TABLES])(struct watch_page *page) = {
		[WATCH_ID_DAEMON] = fill_daemon,
		[WATCH_ID_PORTS] = watch_fill_ports,
		[WATCH_ID_PFC] = watch_fill_pfc,
		[WATCH_ID_CHANNELS] = watch_fill_channels,
		[WATCH_ID_WORKERS] = watch_fill_workers,
		[WATCH_ID_NODES] = watch_fill_nodes,
		[WATCH_ID_TRANSPORT] = watch_fill_transport,
		[WATCH_ID_DEVICES] = watch_fill_devices,
		[WATCH_ID_QPS] = watch_fill_qps,
		[WATCH_ID_PATHS] = watch_fill_paths,
		[WATCH_ID_CLIENTS] = watch_fill_clients,
		[WATCH_ID_VERBS] = watch_fill_verbs,
		[WATCH_ID_DROPS] = fill_drops,
		[WATCH_ID_POOLS] = watch_fill_pools,
		[WATCH_ID_PROTECTION] = watch_fill_associations,
		[WATCH_ID_ALARMS] = fill_alarms,
		[WATCH_ID_XDP] = watch_fill_xdp,
		[WATCH_ID_GATEWAY] = watch_fill_gateway,
		[WATCH_ID_FAR_GATEWAYS] = watch_fill_far_gateways,
		[WATCH_ID_GATEWAY_PATHS] = watch_fill_gateway_paths,
		[WATCH_ID_METRICS] = fill_metrics,
	};
	struct watch_page page = {.roced = roced, .table = &watch_tables[id], .rows = rows, .from = from, .most = most};

	if (fills[id] != NULL)
		fills[id](&page);
	*all = page.all;
	return page.n;
}
