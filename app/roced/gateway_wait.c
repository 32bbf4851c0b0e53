/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets for hosts that nobody has seen: hosts are asked for them, and they wait a while, in their order, for the
 * answer. */
#include <string.h>

#include "gateway.h"
#include "wire_addr.h"
#include "wire_arp_nd.h"

#define WAIT_NS  250000000u
#define AGAIN_NS 50000000u /* the same question, once more */
#define ASK_NS   500000u   /* between any two questions */
#define RETRY_NS 1000000u

/* As one does who has no address: RFC 5227, 2.1.1, and RFC 4862, 5.4.2. vlan 0: untagged. */
static void ask_at(struct worker *worker, const struct port *port, uint16_t vlan, const struct wire_addr *dst)
{
	struct rte_mbuf *m = rte_pktmbuf_alloc(worker->roced->tx_pool);
	struct wire_nd_from from = {.has_vlan = vlan != 0, .vlan_tci = vlan};

	if (m == NULL)
		return;
	if (wire_addr_is_v4(dst))
		from.addr = (struct wire_addr){.b = {[10] = 0xff, [11] = 0xff}};
	memcpy(from.mac, port->mac, sizeof(from.mac));
	rte_pktmbuf_append(m, (uint16_t)wire_nd_build_request(rte_pktmbuf_mtod(m, uint8_t *), &from, dst, NULL));
	memset(TP_PKT(m), 0, sizeof(*TP_PKT(m)));
	m->port = port->id;
	worker_emit(worker, m, ROUTE_TX);
}

static void ask_for(struct worker *worker, struct gateway_waiting *waiting, const struct wire_addr *dst)
{
	struct gateway_worker *gw = worker->gateway;

	if (worker->now_ns - gw->asked_ns < ASK_NS || worker->now_ns - waiting->asked_ns < AGAIN_NS)
		return;
	gw->asked_ns = waiting->asked_ns = worker->now_ns;
	gw->counters.asked++;
	for (uint32_t p = 0; p < worker->roced->n_ports; p++) {
		if (gateway_is_host_port(gw->shared, &worker->roced->ports[p]))
			ask_at(worker, &worker->roced->ports[p], 0, dst);
	}
	for (uint32_t i = 0; i < gw->shared->n_host_vlans; i++)
		ask_at(worker, gw->shared->fabric, gw->shared->host_vlans[i], dst);
}

/* True: it waits no longer. */
static bool leave(struct worker *worker, struct gateway_waiting *waiting)
{
	struct wire_addr dst;

	gateway_dst(rte_pktmbuf_mtod(waiting->m, const uint8_t *), &dst);
	if (gateway_pass_to_host(worker, &dst, waiting->m))
		return true;
	if (worker->now_ns - waiting->since_ns >= WAIT_NS) {
		worker_discard(worker, waiting->m, BASE_DROP_NO_HOST);
		return true;
	}
	ask_for(worker, waiting, &dst);
	return false;
}

void gateway_wait_retry(struct worker *worker)
{
	struct gateway_worker *gw = worker->gateway;
	uint32_t n = gw->n_waiting, left = 0;

	for (uint32_t i = 0; i < n; i++) {
		if (!leave(worker, &gw->waiting[i]))
			gw->waiting[left++] = gw->waiting[i];
	}
	gw->n_waiting = left;
	gw->retry_ns = left != 0 ? worker->now_ns + RETRY_NS : UINT64_MAX;
}

void gateway_wait_add(struct worker *worker, struct rte_mbuf *m, const struct wire_addr *dst)
{
	struct gateway_worker *gw = worker->gateway;
	struct gateway_waiting *waiting = &gw->waiting[gw->n_waiting];

	if (gw->n_waiting == GATEWAY_WAITING) {
		worker_discard(worker, m, BASE_DROP_NO_HOST);
		return;
	}
	gw->n_waiting++;
	*waiting = (struct gateway_waiting){.m = m, .since_ns = worker->now_ns};
	ask_for(worker, waiting, dst);
	gw->retry_ns = RTE_MIN(gw->retry_ns, worker->now_ns + RETRY_NS);
}

void gateway_wait_fini(struct gateway_worker *gw)
{
	for (uint32_t i = 0; i < gw->n_waiting; i++)
		rte_pktmbuf_free(gw->waiting[i].m);
	gw->n_waiting = 0;
}
