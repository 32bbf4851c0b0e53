/* SPDX-License-Identifier: BSD-3-Clause */
#include "rg_run.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_pause.h>

#include "clock.h"
#include "log.h"
#include "net_memif.h"

#define US_PS        1000000u
#define MS_NS        1000000u
#define SECOND_NS    1000000000u
#define SPIN_NS      30000u      /* when nothing moves it spins this long and then sleeps, longer each time */
#define SLEEP_MIN_NS 10000u
#define LINK_WAIT_NS (10ull * SECOND_NS)
#define POOL_CACHE   256u
#define ETH_OVERHEAD 18u         /* header and one VLAN tag */

/* ---- life ---- */

static void follow(struct port *port)
{
	if (port_poll_link(port))
		log_line(LOG_NOTICE, "port \"%s\" is %s", port->config->name, port->up ? "up" : "down");
}

static int start_port(struct rg_run *run, uint32_t p)
{
	struct rg_port *port = &run->ports[p];
	int rc;

	port->config = &run->config->ports[p];
	port->stats = &run->tx[p];
	port->port.config = &port->config->port;
	port->port.index = p;
	port->port.n_tx_queues = 1;
	port->port.owner = &run->owner;
	rc = port_open(&port->port);
	return rc == 0 ? port_start(&port->port) : rc;
}

static int make_pool(struct rg_run *run)
{
	uint32_t n = run->config->tx_mbufs;

	for (uint32_t p = 0; p < run->config->n_ports; p++) {
		const struct config_port *port = &run->config->ports[p].port;

		n += port->tx_descriptors;
		run->room = RTE_MAX(run->room, port->mtu + ETH_OVERHEAD);
	}
	run->pool = rte_pktmbuf_pool_create("tx", n, POOL_CACHE, 0, (uint16_t)(RTE_PKTMBUF_HEADROOM + run->room),
		SOCKET_ID_ANY);
	if (run->pool != NULL)
		return 0;
	log_line(LOG_ERR, "no memory for %u buffers to send (less tx_mbufs, or more with -m in eal.args): %s", n,
		rte_strerror(rte_errno));
	return -ENOMEM;
}

static int start_flow(struct rg_run *run, uint32_t f)
{
	const struct rg_flow_config *config = &run->config->flows[f];
	uint32_t p = config->port_index, q = run->config->n_ports == 2 ? 1 - p : p;
	char msg[256];
	int rc = rg_flow_init(&run->flows[f], config, f, run->config->seed, run->ports[p].port.mac,
		run->ports[q].port.mac,
		msg, sizeof(msg));

	run->flows[f].room = run->room;
	if (rc != 0)
		log_line(LOG_ERR, "flow \"%s\": %s", config->name, msg);
	return rc;
}

int rg_run_init(struct rg_run *run, const struct rg_config *config, int signal_fd)
{
	int rc = 0;

	run->config = config;
	run->signal_fd = signal_fd;
	run->receives = config->role != RG_TX;
	run->owner = (struct port_owner){.run_path = config->run_path, .follow = follow};
	while (rc == 0 && run->n_ports < config->n_ports)
		rc = start_port(run, run->n_ports++);
	if (rc == 0)
		rc = make_pool(run);
	if (rc == 0)
		rc = rg_sink_init(&run->sink, config);
	while (rc == 0 && config->role != RG_RX && run->n_flows < config->n_flows)
		rc = start_flow(run, run->n_flows++);
	return rc;
}

void rg_run_fini(struct rg_run *run)
{
	for (uint32_t f = 0; f < run->n_flows; f++)
		rg_flow_fini(&run->flows[f]);
	rg_sink_fini(&run->sink);
	for (uint32_t p = 0; p < run->n_ports; p++)
		rg_port_drop(&run->ports[p]);
	for (uint32_t p = 0; p < run->n_ports; p++)
		port_close(&run->ports[p].port);
	net_memif_destroy(run->owner.memif);
	rte_mempool_free(run->pool);
}

/* ---- what is due now and then ---- */

static bool signalled(const struct rg_run *run)
{
	struct signalfd_siginfo info;

	return read(run->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info);
}

static void each_second(struct rg_run *run)
{
	for (uint32_t p = 0; p < run->n_ports; p++) {
		follow(&run->ports[p].port);
		rg_port_announce(&run->ports[p], run->pool);
	}
	if (run->owner.memif != NULL)
		net_memif_tick(run->owner.memif);
}

static void tell(const struct rg_run *run)
{
	uint64_t sent = 0, received = 0, bad = 0;

	for (uint32_t p = 0; p < run->n_ports; p++) {
		sent += run->tx[p].frames;
		received += run->rx[p].frames;
		for (uint32_t why = 1; why < BASE_DROP_COUNT; why++)
			bad += run->rx[p].malformed[why];
	}
	log_line(LOG_INFO, "%llu ms: %llu frames sent, %llu received, %llu of them malformed",
		(unsigned long long)((run->now_ns - run->began_ns) / MS_NS), (unsigned long long)sent,
		(unsigned long long)received, (unsigned long long)bad);
}

/* Each millisecond, and at once when a signal may be there. */
static void look_around(struct rg_run *run)
{
	if (run->now_ns < run->slow_ns)
		return;
	run->slow_ns = run->now_ns + MS_NS;
	if (signalled(run))
		run->end = RG_END_SIGNAL;
	if (run->owner.memif != NULL)
		net_memif_serve(run->owner.memif);
	if (run->now_ns >= run->second_ns) {
		run->second_ns = run->now_ns + SECOND_NS;
		each_second(run);
	}
	if (run->config->report_ms != 0 && run->now_ns >= run->report_ns && run->began_ns != 0) {
		run->report_ns = run->now_ns + run->config->report_ms * MS_NS;
		tell(run);
	}
}

int rg_run_wait(struct rg_run *run)
{
	uint64_t until_ns = clock_now_ns() + LINK_WAIT_NS;

	for (;;) {
		uint32_t p = 0;

		run->now_ns = clock_now_ns();
		look_around(run);
		while (p < run->n_ports && run->ports[p].port.up)
			p++;
		if (run->end != RG_GOES_ON)
			return -EINTR;
		/* who only receives is there before who sends */
		if (p == run->n_ports || run->config->role == RG_RX)
			return 0;
		if (run->now_ns > until_ns) {
			log_line(LOG_ERR, "port \"%s\" is down", run->ports[p].config->port.name);
			return -ENETDOWN;
		}
		follow(&run->ports[p].port);
		usleep(1000);
	}
}

/* ---- sending ---- */

static uint64_t stamp_ns(const struct rg_run *run)
{
	struct timespec ts;

	if (run->config->clock == RG_MONOTONIC)
		return clock_now_ns();
	clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * SECOND_NS + (uint64_t)ts.tv_nsec;
}

static bool is_due(struct rg_run *run, uint32_t f)
{
	const struct rg_flow_config *config = run->flows[f].config;
	uint64_t since_ns = run->now_ns - run->began_ns;

	if (run->flows[f].due != 0)
		return true;
	if (config->pcap[0] != '\0' && config->rate_mbps == 0 && config->rate_pps == 0)
		return since_ns >= config->start_ms * MS_NS + run->flows[f].replay.next_at_ns;
	return rg_pace_due(&run->paces[f], since_ns * 1000);
}

static void send_one(struct rg_run *run, uint32_t f, struct rg_port *port, struct rte_mbuf *m)
{
	struct rg_flow *flow = &run->flows[f];
	bool added = flow->due != 0;
	uint32_t bytes = rg_flow_next(flow, stamp_ns(run), rte_pktmbuf_mtod(m, uint8_t *));

	rg_port_put(port, m, bytes);
	/* what a fault adds comes on top of the rate */
	if (!added && run->paces[f].left != 0)
		rg_pace_sent(&run->paces[f], bytes != 0 ? bytes : flow->config->mtu);
}

/* Up to a burst of a flow. Whether there was anything to send. */
static bool send_flow(struct rg_run *run, uint32_t f)
{
	struct rg_port *port = &run->ports[run->flows[f].config->port_index];
	bool any = false;

	while (!rg_flow_done(&run->flows[f]) && is_due(run, f)) {
		struct rte_mbuf *m = rg_port_room(port, run->pool);

		any = true;
		if (m == NULL)
			break;
		send_one(run, f, port, m);
	}
	run->flow_ns[f] = rg_flow_done(&run->flows[f]) || !any ? run->flow_ns[f] :
		run->now_ns - run->began_ns - run->flows[f].config->start_ms * MS_NS;
	return any;
}

/* Whether a flow is not at its end yet. */
static bool send_all(struct rg_run *run, bool *moved)
{
	bool more = false;

	for (uint32_t i = 0; i < run->n_flows; i++) {
		uint32_t f = (run->first + i) % run->n_flows;

		*moved |= send_flow(run, f);
		more |= !rg_flow_done(&run->flows[f]);
		rg_port_flush(&run->ports[run->flows[f].config->port_index]);
	}
	/* so that no flow finds the port's room taken each time */
	run->first = run->n_flows != 0 ? (run->first + 1) % run->n_flows : 0;
	for (uint32_t p = 0; p < run->n_ports; p++) {
		rg_port_flush(&run->ports[p]);
		more |= run->n_flows != 0 && run->ports[p].n_out != 0;
	}
	return more;
}

/* ---- receiving ---- */

static void take(struct rg_run *run, uint32_t p, struct rte_mbuf *m, uint64_t now_ns)
{
	struct rg_port *port = &run->ports[p];
	const uint8_t *frame;
	struct wire_pkt pkt;

	if (m->nb_segs > 1 && rte_pktmbuf_linearize(m) != 0) {
		run->rx[p].frames++;
		run->rx[p].malformed[BASE_DROP_NO_MBUF]++;
		return;
	}
	frame = rte_pktmbuf_mtod(m, const uint8_t *);
	rg_sink_take(&run->sink, &run->rx[p], frame, m->pkt_len, now_ns, &pkt);
	if (pkt.kind == WIRE_KIND_ARP || pkt.kind == WIRE_KIND_ICMP4 || pkt.kind == WIRE_KIND_ICMP6)
		rg_port_answer(port, run->pool, frame, m->pkt_len, &pkt);
}

static bool receive(struct rg_run *run, uint32_t p)
{
	struct rte_mbuf *burst[RG_BURST];
	uint64_t now_ns;
	uint16_t n;

	if (atomic_load_explicit(&run->ports[p].port.off, memory_order_relaxed))
		return false;
	n = rte_eth_rx_burst(run->ports[p].port.id, 0, burst, RG_BURST);
	if (n == 0)
		return false;
	now_ns = stamp_ns(run);
	for (uint16_t i = 0; i < n; i++)
		take(run, p, burst[i], now_ns);
	rte_pktmbuf_free_bulk(burst, n);
	return true;
}

/* ---- the loop ---- */

static void sleep_now(struct rg_run *run)
{
	uint64_t max_ns = (uint64_t)run->config->idle_sleep_us * 1000, ns = RTE_MIN(run->sleep_ns, max_ns);
	struct pollfd fd = {.fd = run->signal_fd, .events = POLLIN};
	struct timespec ts = {.tv_nsec = (long)ns};

	if (ppoll(&fd, 1, &ts, NULL) > 0)
		run->slow_ns = 0;
	if (run->sleep_ns < max_ns)
		run->sleep_ns *= 2;
}

/* Never while there is something left to send: what is due next may be due soon. */
static void back_off(struct rg_run *run, bool moved)
{
	if (moved || (run->n_flows != 0 && run->ended_ns == 0)) {
		run->idle_since_ns = run->now_ns;
		run->sleep_ns = SLEEP_MIN_NS;
	} else if (run->now_ns - run->idle_since_ns < SPIN_NS || run->config->idle_sleep_us == 0) {
		rte_pause();
	} else {
		sleep_now(run);
	}
}

static void look_at_end(struct rg_run *run, bool more)
{
	uint64_t drain_ns = run->config->role == RG_BOTH ? run->config->drain_ms * MS_NS : 0;
	bool over = run->config->duration_ms != 0 && run->now_ns - run->began_ns >= run->config->duration_ms * MS_NS;

	if (run->config->role == RG_RX) {
		if (over && run->end == RG_GOES_ON)
			run->end = RG_END_DURATION;
		return;
	}
	if (run->ended_ns == 0 && (!more || over))
		run->ended_ns = run->now_ns;
	if (run->ended_ns != 0 && run->now_ns - run->ended_ns >= drain_ns && run->end == RG_GOES_ON)
		run->end = more ? RG_END_DURATION : RG_END_COUNT;
}

void rg_run(struct rg_run *run)
{
	bool more = true;

	run->began_ns = run->now_ns = clock_now_ns();
	run->report_ns = run->began_ns + run->config->report_ms * MS_NS;
	run->sleep_ns = SLEEP_MIN_NS;
	for (uint32_t f = 0; f < run->n_flows; f++) {
		const struct rg_flow_config *config = run->flows[f].config;

		rg_pace_init(&run->paces[f], config->rate_mbps, config->rate_pps, config->burst,
			config->start_ms * MS_NS * 1000,
			(uint64_t)run->config->catch_up_us * US_PS);
	}
	while (run->end == RG_GOES_ON) {
		bool moved = false;

		run->now_ns = clock_now_ns();
		if (run->ended_ns == 0)
			more = send_all(run, &moved);
		for (uint32_t p = 0; p < run->n_ports; p++) {
			moved |= receive(run, p);
			rg_port_flush(&run->ports[p]);
		}
		look_around(run);
		look_at_end(run, more);
		back_off(run, moved);
	}
}

void rg_run_results(struct rg_run *run, struct rg_results *results)
{
	static const char *const names[] = {"", "count", "duration", "signal"};

	*results = (struct rg_results){
		.config = run->config,
		.ended_by = names[run->end],
		.ns = run->now_ns - run->began_ns,
		.flows = run->n_flows != 0 ? run->flows : NULL,
		.paces = run->paces,
		.flow_ns = run->flow_ns,
		.sink = run->receives ? &run->sink : NULL,
		.rx = run->rx,
		.tx = run->tx,
	};
}
