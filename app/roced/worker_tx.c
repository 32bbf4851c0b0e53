/* SPDX-License-Identifier: BSD-3-Clause */
/* A worker's transmit queues, and what waits for room in them. */
#include <errno.h>
#include <stdlib.h>

#include "shape.h"

#define STUCK_NS     100000000u  /* a port that takes nothing for so long loses what waits for it */

static uint32_t send_burst(const struct worker_txq *txq, struct rte_mbuf **pkts, uint32_t n)
{
	uint32_t done = 0;

	if (atomic_load_explicit(&txq->port->off, memory_order_relaxed))
		return 0;
	while (done < n) {
		uint32_t want = n - done < WORKER_BURST ? n - done : WORKER_BURST;
		uint16_t k = rte_eth_tx_burst(txq->port_id, txq->queue, pkts + done, (uint16_t)want);

		done += k;
		if (k < want)
			break;
	}
	return done;
}

static uint32_t *backlog_of(struct worker *worker, const struct worker_txq *txq)
{
	return txq->lane == 0 ? &worker->backlog : &worker->lane_backlog;
}

static struct worker_txq *worker_txq(const struct worker *worker, const struct port *port, uint8_t lane)
{
	return &worker->txq[lane == 0 ? port->index : port->lane_base + lane - 1];
}

static void backlog_add(struct worker *worker, struct worker_txq *txq, struct rte_mbuf *m)
{
	if (txq->count == WORKER_BACKLOG) {
		worker_discard(worker, m, BASE_DROP_TX_FULL);
		return;
	}
	if (txq->count == 0) {
		txq->stuck_ns = worker->now_ns;
		if (txq->lane != 0)
			shape_hold(&worker->shapes[txq->port->index], txq->priority, true);
	}
	txq->backlog[(txq->head + txq->count++) & (WORKER_BACKLOG - 1)] = m;
	*backlog_of(worker, txq) += 1;
	worker->counters.backlogged++;
}

static void tx_lane(struct worker *worker, struct worker_txq *txq, struct rte_mbuf **pkts, uint32_t n)
{
	uint32_t done = txq->count == 0 ? send_burst(txq, pkts, n) : 0;

	for (uint32_t i = done; i < n; i++)
		backlog_add(worker, txq, pkts[i]);
}

void worker_tx(struct worker *worker, struct port *port, struct rte_mbuf **pkts, uint32_t n)
{
	uint32_t run = 0;
	uint8_t lane = 0;

	if (port->pfc.n_lanes == 1) {
		tx_lane(worker, &worker->txq[port->index], pkts, n);
		return;
	}
	for (uint32_t i = 0; i <= n; i++) {
		uint8_t next = i < n ? port->pfc.lane_of[shape_priority(&worker->shapes[port->index], pkts[i])] : UINT8_MAX;

		if (i > run && next != lane) {
			tx_lane(worker, worker_txq(worker, port, lane), &pkts[run], i - run);
			run = i;
		}
		lane = next;
	}
}

static void backlog_take(struct worker *worker, struct worker_txq *txq, uint32_t n)
{
	txq->head = (txq->head + n) & (WORKER_BACKLOG - 1);
	txq->count -= n;
	*backlog_of(worker, txq) -= n;
	if (txq->lane != 0 && txq->count == 0)
		shape_hold(&worker->shapes[txq->port->index], txq->priority, false);
}

static void backlog_drop(struct worker *worker, struct worker_txq *txq)
{
	while (txq->count != 0) {
		worker_discard(worker, txq->backlog[txq->head], txq->lane == 0 ? BASE_DROP_TX_FULL : BASE_DROP_PFC_STORM);
		backlog_take(worker, txq, 1);
	}
}

/* A lane may be paused as long as the watchdog of pauses lets it. */
static uint64_t stuck_ns(const struct worker *worker, const struct worker_txq *txq)
{
	uint32_t detect_ms = worker->roced->config.pfc.detect_ms;

	if (txq->lane == 0)
		return STUCK_NS;
	return detect_ms != 0 ? detect_ms * (uint64_t)1000000 : UINT64_MAX;
}

void worker_tx_retry(struct worker *worker)
{
	for (uint32_t p = 0; p < worker->n_txq && (worker->backlog | worker->lane_backlog) != 0; p++) {
		struct worker_txq *txq = &worker->txq[p];
		struct shape *shape = &worker->shapes[txq->port->index];
		uint32_t n = WORKER_BACKLOG - txq->head < txq->count ? WORKER_BACKLOG - txq->head : txq->count;

		if (n == 0)
			continue;
		n = send_burst(txq, &txq->backlog[txq->head], n);
		backlog_take(worker, txq, n);
		worker->work += n;
		if (n != 0) {
			txq->stuck_ns = worker->now_ns;
		} else if (worker->now_ns - txq->stuck_ns > stuck_ns(worker, txq)) {
			backlog_drop(worker, txq);
			if (txq->lane == 0)
				shape_drop(worker, shape);
			else
				shape_flush(worker, shape, txq->priority);
		}
	}
}

static void make_lane(struct worker *worker, const struct port *port, uint8_t lane, uint8_t priority)
{
	struct worker_txq *txq = worker_txq(worker, port, lane);

	txq->port = port;
	txq->port_id = port->id;
	txq->queue = port_pfc_queue(worker->index, worker->roced->n_workers, lane);
	txq->lane = lane;
	txq->priority = priority;
}

int worker_tx_init(struct worker *worker)
{
	const struct roced *roced = worker->roced;

	for (uint32_t p = 0; p < roced->n_ports; p++)
		worker->n_txq += roced->ports[p].pfc.n_lanes;
	worker->txq = calloc(worker->n_txq, sizeof(worker->txq[0]));
	if (worker->txq == NULL)
		return -ENOMEM;
	for (uint32_t p = 0; p < roced->n_ports; p++) {
		const struct port *port = &roced->ports[p];

		make_lane(worker, port, 0, 0);
		for (uint8_t prio = 0; prio < QOS_PRIORITIES; prio++) {
			if (port->pfc.lane_of[prio] != 0)
				make_lane(worker, port, port->pfc.lane_of[prio], prio);
		}
	}
	return 0;
}

void worker_tx_fini(struct worker *worker)
{
	for (uint32_t p = 0; worker->txq != NULL && p < worker->n_txq; p++)
		backlog_drop(worker, &worker->txq[p]);
	free(worker->txq);
	worker->txq = NULL;
}
