/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_launch.h>
#include <rte_lcore.h>
#include <rte_pause.h>

#include "clock.h"
#include "gateway.h"
#include "group.h"
#include "log.h"
#include "nodes.h"
#include "prompt.h"
#include "rx_watch.h"
#include "shape.h"
#include "tuning.h"
#include "worker_crypt.h"

#define MAX_QPS      65536
#define MAX_MRS      131072
#define MAX_AHS      65536
/* An idle worker spins this long and then sleeps, longer each time. It does not yield: next to a program that
 * spins, that costs a whole tick of the scheduler, while the end of a sleep preempts the program. */
#define SPIN_NS      30000u
#define SLEEP_MIN_NS 10000u

/* ---- what the transport asks for ---- */

static struct rte_mbuf *pkt_alloc(void *env)
{
	struct worker *worker = env;

	return rte_pktmbuf_alloc(worker->roced->tx_pool);
}

static void pkt_keep(void *env, struct rte_mbuf *m)
{
	struct worker *worker = env;

	if (worker->watches != NULL)
		rx_watch_kept(worker, m, true);
	rte_mbuf_refcnt_update(m, 1);
}

static void pkt_free(void *env, struct rte_mbuf *m)
{
	struct worker *worker = env;

	if (worker->watches != NULL)
		rx_watch_kept(worker, m, false);
	rte_pktmbuf_free(m);
}

void worker_flush_emit(struct worker *worker)
{
	struct rte_node *node = worker->node;

	if (node == NULL || worker->n_emit == 0)
		return;
	rte_node_enqueue(worker->graph, node, worker->egress_edge, (void **)worker->emit, (uint16_t)worker->n_emit);
	worker->n_emit = 0;
}

void worker_emit(struct worker *worker, struct rte_mbuf *m, enum route route)
{
	*roced_route(m) = (uint8_t)route;
	if (worker->n_emit == WORKER_EMIT)
		worker_flush_emit(worker);
	if (worker->n_emit == WORKER_EMIT) {
		worker_discard(worker, m, BASE_DROP_RING_FULL);
		return;
	}
	worker->emit[worker->n_emit++] = m;
}

struct rte_mbuf *worker_copy(const struct worker *worker, struct rte_mbuf *m)
{
	struct rte_mbuf *copy = rte_pktmbuf_alloc(worker->roced->tx_pool);
	char *at = copy != NULL ? rte_pktmbuf_append(copy, m->data_len) : NULL;

	if (at == NULL) {
		rte_pktmbuf_free(copy);
		return NULL;
	}
	memcpy(at, rte_pktmbuf_mtod(m, const char *), m->data_len);
	*TP_PKT(copy) = *TP_PKT(m);
	copy->port = m->port;
	return copy;
}

/* What goes to a group goes to the members here as well; without any, there are no groups. */
static void emit_to_members(struct worker *worker, struct rte_mbuf *m)
{
	struct rte_mbuf *copy = worker->n_groups != 0 ? worker_copy(worker, m) : NULL;

	if (copy != NULL)
		worker_emit(worker, copy, ROUTE_LOOP);
}

/* Link addresses are filled in here and not later, since the link may be given back once the transport
 * has forgotten it. */
static void pkt_emit(void *env, const struct tp_av *av, struct rte_mbuf *m)
{
	struct worker *worker = env;
	const struct link *link = av->link;
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

	if (link == NULL || (link->entry != NULL && !path_neigh_mac(link->entry, frame))) {
		worker_discard(worker, m, BASE_DROP_NO_NEIGHBOUR);
		return;
	}
	if (link->entry == NULL)
		memcpy(frame, link->mac, sizeof(link->mac));
	m->port = link->port->id;
	if (TP_PKT(m)->dqpn == GROUP_QPN)
		emit_to_members(worker, m);
	worker_emit(worker, m, link->entry == NULL ? ROUTE_LOOP : ROUTE_TX);
}

/* ---- sleeping and being called ---- */

void worker_wake(struct worker *worker)
{
	/* Pairs with the fence in sleep_now(): either we see it asleep or it sees what we stored before. */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&worker->asleep, memory_order_relaxed))
		eventfd_write(worker->wake_fd, 1);
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem) != 0)
		;
}

static void post_call(struct worker *worker, struct worker_call_msg *msg)
{
	sem_init(&msg->done, 0, 0);
	atomic_store_explicit(&worker->call, msg, memory_order_release);
	worker_wake(worker);
}

static void end_call(struct worker_call_msg *msg)
{
	wait_for(&msg->done);
	sem_destroy(&msg->done);
}

void worker_call(struct worker *worker, void (*fn)(void *arg), void *arg)
{
	struct worker_call_msg msg = {.fn = fn, .arg = arg};

	if (!atomic_load(&worker->running) || worker->held) {
		worker->now_ns = clock_now_ns();
		fn(arg);
		return;
	}
	post_call(worker, &msg);
	end_call(&msg);
}

static void hold_here(void *arg)
{
	struct worker *worker = arg;

	sem_post(&worker->held_here);
	wait_for(&worker->go_on);
	worker->now_ns = clock_now_ns();
}

void workers_hold(struct roced *roced)
{
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		struct worker *worker = roced->workers[w];

		sem_init(&worker->held_here, 0, 0);
		sem_init(&worker->go_on, 0, 0);
		worker->hold = (struct worker_call_msg){.fn = hold_here, .arg = worker};
		post_call(worker, &worker->hold);
	}
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		wait_for(&roced->workers[w]->held_here);
		roced->workers[w]->held = true;
	}
}

void workers_release(struct roced *roced)
{
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		struct worker *worker = roced->workers[w];

		worker->held = false;
		sem_post(&worker->go_on);
	}
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		struct worker *worker = roced->workers[w];

		end_call(&worker->hold);
		sem_destroy(&worker->held_here);
		sem_destroy(&worker->go_on);
	}
}

static void serve_call(struct worker *worker)
{
	struct worker_call_msg *msg;

	if (atomic_load_explicit(&worker->call, memory_order_relaxed) == NULL)
		return;
	msg = atomic_exchange_explicit(&worker->call, NULL, memory_order_acquire);
	msg->fn(msg->arg);
	worker->work++;
	worker->counters.calls++;
	sem_post(&msg->done);
}

static void vd_sleep(struct worker *worker, bool sleep)
{
	if (worker->vd_asleep == sleep || atomic_load_explicit(&worker->quiet, memory_order_relaxed))
		return;
	vd_worker_sleep(worker->vd, sleep);
	worker->vd_asleep = sleep;
}

static bool something_waits(const struct worker *worker)
{
	if (atomic_load_explicit(&worker->call, memory_order_relaxed) != NULL || !rte_ring_empty(worker->from_main) ||
		tp_has_work(worker->tp) || worker->n_emit != 0 || (worker->backlog | worker->lane_backlog) != 0 ||
		atomic_load_explicit(&worker->quit, memory_order_relaxed))
		return true;
	for (uint32_t w = 0; w < worker->roced->n_workers; w++) {
		if (worker->from_worker[w] != NULL && !rte_ring_empty(worker->from_worker[w]))
			return true;
	}
	return false;
}

static void wait_fds(struct worker *worker, uint64_t ns)
{
	bool quiet = atomic_load_explicit(&worker->quiet, memory_order_relaxed);
	struct pollfd fds[2] = {
		{.fd = worker->wake_fd, .events = POLLIN},
		{.fd = quiet ? -1 : vd_worker_fd(worker->vd), .events = POLLIN},
	};
	struct timespec ts = {.tv_sec = 0, .tv_nsec = (long)ns};
	eventfd_t count;

	worker->counters.sleeps++;
	if (ppoll(fds, 2, &ts, NULL) <= 0)
		return;
	if ((fds[0].revents & POLLIN) != 0)
		eventfd_read(worker->wake_fd, &count);
	worker->sleep_ns = SLEEP_MIN_NS;
	if (fds[1].revents != 0)
		vd_sleep(worker, false);
}

static void sleep_now(struct worker *worker)
{
	uint64_t max_ns = (uint64_t)worker->roced->config.workers[worker->index].idle_sleep_us * 1000;
	uint64_t next_ns = RTE_MIN(tp_next_ns(worker->tp), shape_next_ns(worker)), ns = worker->sleep_ns;

	next_ns = RTE_MIN(next_ns, rx_watch_next_ns(worker));
	next_ns = RTE_MIN(next_ns, gateway_next_ns(worker));
	if (next_ns <= worker->now_ns)
		return;
	if (ns > max_ns)
		ns = max_ns;
	if (next_ns - worker->now_ns < ns)
		ns = next_ns - worker->now_ns;
	atomic_store_explicit(&worker->asleep, true, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	if (!something_waits(worker))
		wait_fds(worker, ns);
	atomic_store_explicit(&worker->asleep, false, memory_order_relaxed);
	if (worker->sleep_ns < max_ns)
		worker->sleep_ns *= 2;
}

/* After a walk: backs off when it found nothing to do. Clients are told before the first sleep, and looked
 * at once more, so that no doorbell is missed. */
static void back_off(struct worker *worker)
{
	uint64_t idle_ns;

	if (worker->work != 0) {
		worker->idle_since_ns = worker->now_ns;
		worker->sleep_ns = SLEEP_MIN_NS;
		vd_sleep(worker, false);
		return;
	}
	idle_ns = worker->now_ns - worker->idle_since_ns;
	if (idle_ns < SPIN_NS || worker->roced->config.workers[worker->index].idle_sleep_us == 0)
		rte_pause();
	else if (!worker->vd_asleep && !atomic_load_explicit(&worker->quiet, memory_order_relaxed))
		vd_sleep(worker, true);
	else
		sleep_now(worker);
}

/* The time since the last walk began is that walk's, and of the sleep behind it. */
static void begin_walk(struct worker *worker)
{
	uint64_t now_ns = clock_now_ns(), past_ns = now_ns - worker->now_ns;

	if (worker->work != 0)
		worker->counters.busy_ns += past_ns;
	else
		worker->counters.idle_ns += past_ns;
	worker->now_ns = now_ns;
	worker->work = 0;
}

static int worker_main(void *arg)
{
	struct worker *worker = arg;

	prompt_thread();
	worker->now_ns = clock_now_ns();
	worker->idle_since_ns = worker->now_ns;
	while (!atomic_load_explicit(&worker->quit, memory_order_relaxed)) {
		begin_walk(worker);
		rte_graph_walk(worker->graph);
		worker->node = NULL;
		worker->counters.walks++;
		rx_watch_look(worker);
		serve_call(worker);
		back_off(worker);
	}
	return 0;
}

int worker_start(struct worker *worker)
{
	int rc;

	atomic_store(&worker->quit, false);
	atomic_store(&worker->running, true);
	rc = rte_eal_remote_launch(worker_main, worker, worker->lcore);
	if (rc != 0) {
		atomic_store(&worker->running, false);
		log_line(LOG_ERR, "worker %u does not start: %s", worker->index, strerror(-rc));
	}
	return rc;
}

void worker_stop(struct worker *worker)
{
	if (worker == NULL || !atomic_load(&worker->running))
		return;
	atomic_store(&worker->quit, true);
	worker_wake(worker);
	rte_eal_wait_lcore(worker->lcore);
	atomic_store(&worker->running, false);
}

/* ---- making and freeing ---- */

static struct rte_ring *make_ring(const char *what, uint32_t a, uint32_t b)
{
	char name[RTE_RING_NAMESIZE];

	snprintf(name, sizeof(name), "%s_%u_%u", what, a, b);
	return rte_ring_create(name, WORKER_RING, SOCKET_ID_ANY, RING_F_SP_ENQ | RING_F_SC_DEQ);
}

static int make_rings(struct worker *worker)
{
	worker->from_main = make_ring("from_main", worker->index, 0);
	worker->to_main = make_ring("to_main", worker->index, 0);
	if (worker->from_main == NULL || worker->to_main == NULL)
		return -ENOMEM;
	for (uint32_t w = 0; w < worker->roced->n_workers; w++) {
		if (w == worker->index)
			continue;
		worker->from_worker[w] = make_ring("worker", w, worker->index);
		if (worker->from_worker[w] == NULL)
			return -ENOMEM;
	}
	return 0;
}

/* Unless the configuration says it: most buffers stay free for what arrives, whatever waits for its turn. */
static uint32_t may_be_held(const struct roced *roced)
{
	uint32_t least = UINT32_MAX;

	if (roced->config.multipath.max_held != 0)
		return roced->config.multipath.max_held;
	for (uint32_t i = 0; i < roced->config.n_ports; i++)
		least = RTE_MIN(least, roced->config.ports[i].mbufs);
	return least / 4 / roced->config.n_workers + 1;
}

static int make_tp(struct worker *worker)
{
	struct tp_tuning tuning;
	struct tp_config config;
	struct tp_ops ops = {
		.pkt_alloc = pkt_alloc, .pkt_emit = pkt_emit, .pkt_keep = pkt_keep, .pkt_free = pkt_free};

	tuning_of_tp(worker->roced->tuning, &worker->roced->config, &tuning);
	config = (struct tp_config){
		.max_qps = MAX_QPS,
		.max_mrs = MAX_MRS,
		.max_ahs = MAX_AHS,
		.qpn_base = worker->index << WORKER_QPN_SHIFT,
		.max_held = may_be_held(worker->roced),
		.min_rto_ns = tuning.min_rto_ns,
		.plain = tuning.plain,
		.move_on_timeout = tuning.move_on_timeout,
		.plain_cc = tuning.plain_cc,
		.cnp = tuning.cnp,
		.burst_ns = worker->roced->config.burst_us * 1000,
		.seed = worker->roced->seed + worker->index,
	};
	vd_worker_ops(&ops);
	worker->tp = tp_create(&config, &ops, worker, clock_now_ns());
	return worker->tp != NULL ? 0 : -ENOMEM;
}

static int make_graph(struct worker *worker)
{
	const char *names[NODES_MAX];
	char name[RTE_GRAPH_NAMESIZE];
	struct rte_graph_param param = {.socket_id = SOCKET_ID_ANY, .node_patterns = names};

	snprintf(name, sizeof(name), "worker_%u", worker->index);
	for (uint32_t i = 0; i < nodes_count; i++)
		names[i] = nodes_all[i]->name;
	param.nb_node_patterns = (uint16_t)nodes_count;
	worker->graph_id = rte_graph_create(name, &param);
	if (worker->graph_id == RTE_GRAPH_ID_INVALID)
		return rte_errno != 0 ? -rte_errno : -ENOMEM;
	worker->graph_made = true;
	worker->graph = rte_graph_lookup(name);
	for (uint32_t i = 0; i < nodes_count; i++) {
		struct rte_node *node = rte_graph_node_get_by_name(name, nodes_all[i]->name);

		memcpy(node->ctx, &worker, sizeof(worker));
	}
	return 0;
}

static int make_queues(struct worker *worker)
{
	struct roced *roced = worker->roced;
	const struct config_worker *config = &roced->config.workers[worker->index];

	worker->n_rxq = config->n_rx;
	for (uint32_t r = 0; r < config->n_rx; r++) {
		worker->rxq[r].port = &roced->ports[config_find_port(&roced->config, config->rx[r].port)];
		worker->rxq[r].port_id = worker->rxq[r].port->id;
		worker->rxq[r].queue = (uint16_t)config->rx[r].queue;
	}
	return worker_tx_init(worker);
}

int worker_create(struct roced *roced, uint32_t index)
{
	struct worker *worker =
		aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(sizeof(*worker), RTE_CACHE_LINE_SIZE));
	int rc;

	if (worker == NULL)
		return -ENOMEM;
	memset(worker, 0, sizeof(*worker));
	worker->roced = roced;
	worker->index = index;
	worker->lcore = roced->config.workers[index].lcore;
	roced->workers[index] = worker;
	worker->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = worker->wake_fd < 0 ? -errno : 0;
	if (rc == 0)
		rc = make_queues(worker);
	if (rc == 0)
		rc = make_rings(worker);
	if (rc == 0)
		rc = make_tp(worker);
	if (rc == 0)
		rc = shape_init(worker);
	if (rc == 0)
		rc = worker_crypt_init(worker);
	if (rc == 0)
		rc = gateway_worker_init(worker);
	if (rc == 0)
		rc = rx_watch_init(worker);
	if (rc == 0)
		rc = make_graph(worker);
	if (rc != 0)
		log_line(LOG_ERR, "worker %u cannot be made: %s", index, strerror(-rc));
	return rc;
}

static void free_ring(struct rte_ring *ring)
{
	void *m;

	while (ring != NULL && rte_ring_sc_dequeue(ring, &m) == 0)
		rte_pktmbuf_free(m);
	rte_ring_free(ring);
}

void worker_destroy(struct worker *worker)
{
	if (worker == NULL)
		return;
	for (uint32_t i = 0; i < worker->n_emit; i++)
		rte_pktmbuf_free(worker->emit[i]);
	worker_tx_fini(worker);
	if (worker->graph_made)
		rte_graph_destroy(worker->graph_id);
	gateway_worker_fini(worker);
	worker_crypt_fini(worker);
	shape_fini(worker);
	tp_destroy(worker->tp);
	rx_watch_fini(worker);
	free_ring(worker->from_main);
	free_ring(worker->to_main);
	for (uint32_t w = 0; w < VD_MAX_WORKERS; w++)
		free_ring(worker->from_worker[w]);
	if (worker->wake_fd >= 0)
		close(worker->wake_fd);
	free(worker);
}
