/* SPDX-License-Identifier: BSD-3-Clause */
/* Protected frames become what the peer protected, and are classified as such; others are dropped and told apart. */
#include "capture.h"
#include "nodes.h"
#include "worker_crypt.h"

#define TELL_NS 100000000u

enum { EDGE_CLASSIFY, EDGE_PUNT };

/* The main thread hears of keys that nobody has, from time to time: the peer may not know that we have started anew. */
static bool tell_unknown(struct worker *worker)
{
	struct worker_crypt *wc = worker->crypt;

	if (worker->now_ns - wc->told_unknown_ns < TELL_NS)
		return false;
	wc->told_unknown_ns = worker->now_ns;
	return true;
}

static void unprotect(struct rte_graph *graph, struct rte_node *node, struct worker *worker, struct rte_mbuf **pkts, uint32_t n)
{
	struct crypt_rx_sa *sas[CRYPT_BURST];
	enum base_drop reasons[CRYPT_BURST];
	struct rte_mbuf *out[CRYPT_BURST];
	uint32_t n_out = 0;

	(void)crypt_unprotect(&worker->crypt->crypt, pkts, sas, n, reasons);
	for (uint32_t i = 0; i < n; i++) {
		if (reasons[i] == BASE_DROP_NONE) {
			*roced_route(pkts[i]) = ROUTE_OPENED;
			out[n_out++] = pkts[i];
			continue;
		}
		worker_drop(worker, reasons[i]);
		if (reasons[i] == BASE_DROP_UNKNOWN_SPI && tell_unknown(worker)) {
			TP_PKT(pkts[i])->kind = WIRE_KIND_PSP;
			rte_node_enqueue_x1(graph, node, EDGE_PUNT, pkts[i]);
		} else {
			rte_pktmbuf_free(pkts[i]);
		}
	}
	if (unlikely(worker->capture != NULL))
		capture_take(worker, CAPTURE_OPENED, worker->index, out, n_out);
	if (n_out != 0)
		rte_node_enqueue(graph, node, EDGE_CLASSIFY, (void **)out, (uint16_t)n_out);
}

static uint16_t process(struct rte_graph *graph, struct rte_node *node, void **objs, uint16_t n)
{
	struct worker *worker = worker_of(node);

	for (uint32_t i = 0; i < n; i += CRYPT_BURST)
		unprotect(graph, node, worker, (struct rte_mbuf **)&objs[i], RTE_MIN(n - i, CRYPT_BURST));
	return n;
}

struct rte_node_register node_unprotect = {
	.name = "unprotect",
	.process = process,
	.nb_edges = 2,
	.next_nodes = {[EDGE_CLASSIFY] = "classify", [EDGE_PUNT] = "punt"},
};
