/* SPDX-License-Identifier: BSD-3-Clause */
/* RoCE frames for peers with which there are keys are protected; those that must be and cannot are dropped. */
#include <string.h>

#include "capture.h"
#include "gateway.h"
#include "nodes.h"
#include "wire_addr.h"
#include "wire_frame.h"
#include "worker_crypt.h"

enum { EDGE_PORT_TX, EDGE_SHAPE };

/* RoCE, and tunnels that hold it; what goes to a gateway's hosts has been opened there. */
static bool is_protected_kind(const struct worker *worker, const struct rte_mbuf *m, uint16_t port)
{
	const struct gateway *gateway = worker->roced->gateway;

	if (gateway == NULL)
		return port == WIRE_ROCE_PORT;
	if (gateway_is_of_hosts(gateway, worker->roced->port_by_id[m->port], rte_pktmbuf_mtod(m, const uint8_t *), m->data_len))
		return false;
	return port == WIRE_ROCE_PORT || port - gateway->config->port < GATEWAY_LANES;
}

/* Addresses of a frame that is to be protected. */
static bool addresses(const struct worker *worker, const struct rte_mbuf *m, struct wire_addr *local, struct wire_addr *peer)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct wire_udp_at at;

	if (wire_udp_find(frame, m->data_len, m->pkt_len, &at) != BASE_DROP_NONE ||
		!is_protected_kind(worker, m, (uint16_t)(frame[at.l4 + 2] << 8 | frame[at.l4 + 3])))
		return false;
	wire_udp_addrs(frame, &at, local, peer);
	return true;
}

/* The SA that the frame goes by; NULL and BASE_DROP_NONE: plain. */
static struct crypt_tx_sa *sa_of(struct worker *worker, const struct rte_mbuf *m, enum base_drop *reason)
{
	struct wire_addr local, peer;
	const struct crypt_pair *pair;

	*reason = BASE_DROP_NONE;
	if (!addresses(worker, m, &local, &peer))
		return NULL;
	pair = crypt_pairs_find(worker->crypt->pairs, &local, &peer);
	if (pair != NULL && pair->tx != NULL)
		return pair->tx;
	if (pair != NULL ? pair->required : worker_crypt_required(worker, worker->roced->port_by_id[m->port], &local, &peer))
		*reason = BASE_DROP_NO_SA;
	return NULL;
}

static uint32_t protect(struct worker *worker, struct rte_mbuf **pkts, uint32_t n, struct rte_mbuf **out)
{
	struct crypt_tx_sa *sas[CRYPT_BURST];
	enum base_drop reasons[CRYPT_BURST], no_sa[CRYPT_BURST];
	uint32_t n_out = 0;

	for (uint32_t i = 0; i < n; i++) {
		sas[i] = sa_of(worker, pkts[i], &no_sa[i]);
		if (unlikely(worker->capture != NULL) && sas[i] != NULL)
			capture_take(worker, CAPTURE_CLOSING, worker->index, &pkts[i], 1);
	}
	(void)crypt_protect(&worker->crypt->crypt, pkts, sas, n, reasons);
	for (uint32_t i = 0; i < n; i++) {
		if (no_sa[i] != BASE_DROP_NONE)
			reasons[i] = no_sa[i];
		if (reasons[i] == BASE_DROP_NONE)
			out[n_out++] = pkts[i];
		else
			worker_discard(worker, pkts[i], reasons[i]);
	}
	return n_out;
}

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct worker *worker = worker_of(node);
	struct rte_mbuf *out[CRYPT_BURST];

	for (uint32_t i = 0; i < n; i += CRYPT_BURST) {
		uint32_t k = protect(worker, (struct rte_mbuf **)&objs[i], RTE_MIN(n - i, CRYPT_BURST), out);

		if (k != 0)
			rte_node_enqueue(graph, node, worker->shaped ? EDGE_SHAPE : EDGE_PORT_TX, (void **)out, (uint16_t)k);
	}
	return n;
}

struct rte_node_register node_protect = {
	.name = "protect",
	.process = process,
	.nb_edges = 2,
	.next_nodes = {[EDGE_PORT_TX] = "port_tx", [EDGE_SHAPE] = "shape"},
};
