/* SPDX-License-Identifier: BSD-3-Clause */
/* What a gateway tells people: hosts' packets that do not fit, and far gateways that do not answer. Main thread. */
#include "gateway.h"
#include "alarm.h"
#include "wire_addr.h"

static const struct alarm_kind mtu_kind = {"tunnel_mtu", "tunnel to "}, silent_kind = {"far_gateway", "tunnel to "};

#define SILENT 2u /* looks in a row: a report may come a little behind one */

/* Of all workers. */
struct sums {
	uint64_t too_long, sent, reports;
	uint32_t bytes;
};

static void sum(const struct roced *roced, uint32_t r, struct sums *sums)
{
	*sums = (struct sums){0};
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		const struct gateway_worker *gw = roced->workers[w]->gateway;

		sums->too_long += gw->too_long[r].packets;
		if (gw->too_long[r].packets != 0)
			sums->bytes = RTE_MAX(sums->bytes, gw->too_long[r].bytes);
		sums->reports += gw->tx[r].reports;
		for (uint32_t p = 0; p < roced->gateway->sched.n_evs; p++)
			sums->sent += gw->tx[r].path[p].sent;
	}
}

static void watch_mtu(struct roced *roced, uint32_t r, const struct sums *now, const char *name, uint64_t now_ns)
{
	struct gateway *gateway = roced->gateway;
	const struct port *port = gateway->fabric;
	uint64_t more = now->too_long - gateway->watched[r].too_long;
	uint32_t room = gateway->remotes[r].room;

	gateway->watched[r].too_long = now->too_long;
	if (more != 0)
		alarm_raise(&roced->alarms, now_ns, &mtu_kind, name, more,
			"hosts send IP packets of %u bytes and the tunnel takes %u: let the hosts use a smaller RDMA "
			"MTU, or the ports[].mtu of \"%s\""
			" be %u and not %u, and that of all between the gateways",
			now->bytes, room, port->config->name, port->config->mtu + now->bytes - room, port->config->mtu);
}

/* Packets leave and no report comes. */
static void watch_silence(struct roced *roced, uint32_t r, const struct sums *now, const char *name, uint64_t now_ns)
{
	const struct gateway_remote *remote = &roced->gateway->remotes[r];
	struct gateway_watched *watched = &roced->gateway->watched[r];
	bool sends = now->sent != watched->sent, hears = now->reports != watched->reports;
	uint8_t mac[6];

	watched->sent = now->sent;
	watched->reports = now->reports;
	if (hears) {
		if (watched->silent >= SILENT)
			alarm_clear(&roced->alarms, &silent_kind, name);
		watched->silent = 0;
	} else if (sends && ++watched->silent >= SILENT) {
		watched->silent = SILENT;
		alarm_raise(&roced->alarms, now_ns, &silent_kind, name, 1, gateway_remote_mac(remote, mac) ?
			"it reports nothing of what is sent to it: it does not run, or does not have us among its "
			"gateway.remotes" :
			"no neighbour answers on the way to it");
	}
}

void gateway_watch(struct roced *roced, uint64_t now_ns)
{
	char name[WIRE_ADDR_TEXT_BYTES];

	for (uint32_t r = 0; roced->gateway != NULL && r < roced->gateway->n_remotes; r++) {
		struct sums now;

		if (!gateway_has_remote(roced->gateway, r))
			continue;
		sum(roced, r, &now);
		wire_addr_print(&roced->gateway->remotes[r].addr, name);
		watch_mtu(roced, r, &now, name, now_ns);
		watch_silence(roced, r, &now, name, now_ns);
	}
}
