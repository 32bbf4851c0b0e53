/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A worker's transmit queues at a NIC that follows pauses by itself (IEEE 802.1Qbb, ethdev's flow control of queues): each
 * such priority has a queue of its own, and one that is paused holds up nothing but its channel.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <rte_ethdev.h>

#include "shape.h"

#define PORT_ID   5u
#define N_QUEUES  6u    /* three lanes of two workers */
#define WORKER_1  1u
#define MS_NS     1000000u
#define FRAMES    2000u

static struct {
	uint32_t room[N_QUEUES];              /* frames that a queue still takes */
	uint32_t sent[N_QUEUES];
	uint8_t last[N_QUEUES];               /* number of the last frame */
	uint32_t held, flushed, dropped;      /* by shape_*(): bit p: priority p */
} nic;

static struct roced roced;
static struct worker *worker;
static struct shape shape;
static struct rte_mbuf frames[FRAMES];

/* ---- what a driver does ---- */

static uint16_t take(void *queue, struct rte_mbuf **pkts, uint16_t n)
{
	uint32_t q = (uint32_t)(uintptr_t)queue, k = RTE_MIN((uint32_t)n, nic.room[q]);

	for (uint32_t i = 0; i < k; i++)
		nic.last[q] = (uint8_t)(pkts[i] - frames);
	nic.room[q] -= k;
	nic.sent[q] += k;
	return (uint16_t)k;
}

/* ---- what the channels do ---- */

uint8_t shape_priority(const struct shape *s, const struct rte_mbuf *m)
{
	assert_ptr_equal(s, &shape);
	return (uint8_t)m->hash.usr;
}

void shape_hold(struct shape *s, uint8_t priority, bool hold)
{
	assert_ptr_equal(s, &shape);
	nic.held = hold ? nic.held | 1u << priority : nic.held & ~(1u << priority);
}

void shape_flush(struct worker *w, struct shape *s, uint8_t priority)
{
	(void)w;
	(void)s;
	nic.flushed |= 1u << priority;
}

void shape_drop(struct worker *w, struct shape *s)
{
	(void)w;
	(void)s;
	nic.dropped++;
}

/* One more holds each frame, so those that were freed have one holder left. */
static uint32_t freed(void)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < FRAMES; i++)
		n += rte_mbuf_refcnt_read(&frames[i]) == 1;
	return n;
}

/* ---- tests ---- */

/* Priorities 3 and 5 have lanes 1 and 2, all others lane 0. */
static int start(void **state)
{
	static void *queues[N_QUEUES];

	(void)state;
	memset(&nic, 0, sizeof(nic));
	for (uint32_t i = 0; i < FRAMES; i++)
		frames[i] = (struct rte_mbuf){.refcnt = 2, .nb_segs = 1};
	for (uint32_t q = 0; q < N_QUEUES; q++) {
		nic.room[q] = FRAMES;
		queues[q] = (void *)(uintptr_t)q;
	}
	rte_eth_fp_ops[PORT_ID].tx_pkt_burst = take;
	rte_eth_fp_ops[PORT_ID].txq.data = queues;
	memset(&roced, 0, sizeof(roced));
	roced.n_ports = 1;
	roced.n_workers = 2;
	roced.config.pfc.detect_ms = 200;
	roced.ports[0] = (struct port){.id = PORT_ID, .lane_base = 1, .pfc = {.hardware = true, .n_lanes = 3, .lane_of = {[3] = 1, [5] = 2}}};
	worker = calloc(1, sizeof(*worker));
	assert_non_null(worker);
	worker->roced = &roced;
	worker->index = WORKER_1;
	worker->shapes = &shape;
	worker->now_ns = MS_NS;
	assert_int_equal(worker_tx_init(worker), 0);
	return 0;
}

static int stop(void **state)
{
	(void)state;
	worker_tx_fini(worker);
	free(worker);
	return 0;
}

/* Sends frames first to first + n - 1, of that priority. */
static void send_frames(uint32_t first, uint32_t n, uint8_t priority)
{
	struct rte_mbuf *pkts[FRAMES];

	for (uint32_t i = 0; i < n; i++) {
		frames[first + i].hash.usr = priority;
		pkts[i] = &frames[first + i];
	}
	worker_tx(worker, &roced.ports[0], pkts, n);
}

static void each_priority_has_its_queue(void **state)
{
	struct rte_mbuf *pkts[8];
	const uint8_t priorities[8] = {0, 0, 3, 3, 3, 5, 7, 3};

	(void)state;
	for (uint32_t i = 0; i < 8; i++) {
		frames[i].hash.usr = priorities[i];
		pkts[i] = &frames[i];
	}
	worker_tx(worker, &roced.ports[0], pkts, 8);
	/* Queue of lane and worker: port_pfc_queue(). The other worker's are left alone. */
	assert_int_equal(nic.sent[1], 3);
	assert_int_equal(nic.sent[3], 4);
	assert_int_equal(nic.sent[5], 1);
	assert_int_equal(nic.sent[0] + nic.sent[2] + nic.sent[4], 0);
	assert_int_equal(nic.last[1], 6);
	assert_int_equal(nic.last[3], 7);
}

static void a_paused_one_holds_up_its_channel_alone(void **state)
{
	(void)state;
	nic.room[3] = 4;
	send_frames(0, 10, 3);
	assert_int_equal(nic.sent[3], 4);
	assert_int_equal(nic.held, 1u << 3);
	assert_int_equal(worker->backlog, 0);
	assert_int_equal(worker->lane_backlog, 6);
	/* Others go on, and what is of its own waits behind what waits. */
	nic.room[3] = 1;
	send_frames(10, 5, 0);
	send_frames(15, 5, 5);
	send_frames(20, 2, 3);
	assert_int_equal(nic.sent[1], 5);
	assert_int_equal(nic.sent[5], 5);
	assert_int_equal(nic.sent[3], 4);
	/* Its pause ends: all is sent, in order, and the channel goes on. */
	nic.room[3] = FRAMES;
	worker_tx_retry(worker);
	assert_int_equal(nic.sent[3], 12);
	assert_int_equal(nic.last[3], 21);
	assert_int_equal(nic.held, 0);
	assert_int_equal(worker->lane_backlog, 0);
	assert_int_equal(freed(), 0);
}

/* Nothing is dropped before pfc.detect_ms, which is longer than a queue without pauses may be stuck. */
static void a_storm_loses_what_waits_for_it(void **state)
{
	(void)state;
	nic.room[3] = 0;
	send_frames(0, 10, 3);
	worker->now_ns += 199 * MS_NS;
	worker_tx_retry(worker);
	assert_int_equal(freed(), 0);
	worker->now_ns += 2 * MS_NS;
	worker_tx_retry(worker);
	assert_int_equal(freed(), 10);
	assert_int_equal(worker->counters.drops[BASE_DROP_PFC_STORM], 10);
	assert_int_equal(worker->counters.drops[BASE_DROP_TX_FULL], 0);
	assert_int_equal(nic.flushed, 1u << 3);
	assert_int_equal(nic.held, 0);
	assert_int_equal(nic.dropped, 0);
}

static void without_a_watchdog_it_waits_for_ever(void **state)
{
	(void)state;
	roced.config.pfc.detect_ms = 0;
	nic.room[3] = 0;
	send_frames(0, 10, 3);
	worker->now_ns += 3600000ull * MS_NS;
	worker_tx_retry(worker);
	assert_int_equal(freed(), 0);
	nic.room[3] = FRAMES;
	worker_tx_retry(worker);
	assert_int_equal(nic.sent[3], 10);
}

/* The queue of all others is not paused: when it is stuck, its frames are counted as such. */
static void a_stuck_port_is_no_storm(void **state)
{
	(void)state;
	nic.room[1] = 0;
	send_frames(0, 10, 0);
	assert_int_equal(worker->backlog, 10);
	assert_int_equal(nic.held, 0);
	worker->now_ns += 101 * MS_NS;
	worker_tx_retry(worker);
	assert_int_equal(worker->counters.drops[BASE_DROP_TX_FULL], 10);
	assert_int_equal(nic.dropped, 1);
	assert_int_equal(worker->backlog, 0);
}

static void a_full_backlog_is_counted(void **state)
{
	(void)state;
	nic.room[3] = 0;
	send_frames(0, WORKER_BACKLOG + 7, 3);
	assert_int_equal(worker->lane_backlog, WORKER_BACKLOG);
	assert_int_equal(freed(), 7);
	assert_int_equal(worker->counters.drops[BASE_DROP_TX_FULL], 7);
	nic.room[3] = FRAMES;
	worker_tx_retry(worker);
	worker_tx_retry(worker);
	assert_int_equal(nic.sent[3], WORKER_BACKLOG);
	assert_int_equal(nic.last[3], (uint8_t)(WORKER_BACKLOG - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_priority_has_its_queue, start, stop),
		cmocka_unit_test_setup_teardown(a_paused_one_holds_up_its_channel_alone, start, stop),
		cmocka_unit_test_setup_teardown(a_storm_loses_what_waits_for_it, start, stop),
		cmocka_unit_test_setup_teardown(without_a_watchdog_it_waits_for_ever, start, stop),
		cmocka_unit_test_setup_teardown(a_stuck_port_is_no_storm, start, stop),
		cmocka_unit_test_setup_teardown(a_full_backlog_is_counted, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
