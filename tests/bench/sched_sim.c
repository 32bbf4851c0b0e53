/* SPDX-License-Identifier: BSD-3-Clause */
#include "sched_sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define DATA_PRIORITY 3
#define ACK_PRIORITY  6
#define HOLE_PASSES   3u
#define CHUNK         4096u
#define US_NS         1000u
#define NSCC_AVERAGE  0.0125
#define NSCC_NS       12000.0

struct flow;

/* One packet on its way, or its acknowledgement. */
struct sent {
	TAILQ_ENTRY(sent) all, same_ev;
	struct flow *flow;
	uint64_t at_ns, order;
	uint32_t number;
	uint8_t ev, passes;
	bool again, ce, outstanding, probe;
};

TAILQ_HEAD(sent_list, sent);

struct chunk {
	struct chunk *next;
	struct sent sent[CHUNK];
};

struct flow {
	struct sim *sim;
	uint32_t src, dst;
	struct path_sched sched;
	struct sent_list all, by_ev[PATH_SCHED_MAX_EVS];
	uint32_t next, n_packets, n_acked, n_arrived, n_again, highest, in_flight;
	uint32_t *again;               /* packets to send again */
	bool *acked, *arrived;
	uint64_t order, last_send_ns, timer_ns;
	double window, average_ns;
	uint64_t lowered_ns;
	uint8_t last_ev;
	uint64_t arrived_ns, done_ns;
};

struct sim {
	const struct sched_sim_config *config;
	struct fabric *fabric;
	struct flow *flows;
	uint32_t *flow_of;             /* host: number of its flow */
	uint32_t n_flows, n_done, cut_link;
	uint64_t now_ns, base_ns, mended_packets;
	uint32_t packet_bytes, max_window;
	uint64_t random;
	struct chunk *chunks;
	uint32_t chunk_used;
	struct sched_sim_result *out;
};

static void *need(void *p)
{
	if (p == NULL) {
		fputs("sched_sim: no memory\n", stderr);
		abort();
	}
	return p;
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

static uint64_t draw(struct sim *sim)
{
	return mix(sim->random += 0x9e3779b97f4a7c15u);
}

static struct sent *take(struct sim *sim)
{
	if (sim->chunks == NULL || sim->chunk_used == CHUNK) {
		struct chunk *chunk = need(malloc(sizeof(*chunk)));

		chunk->next = sim->chunks;
		sim->chunks = chunk;
		sim->chunk_used = 0;
	}
	return &sim->chunks->sent[sim->chunk_used++];
}

/* What ECMP looks at: addresses and the source port. */
static uint32_t hash(const struct sim *sim, uint32_t src, uint32_t dst, uint8_t ev)
{
	return (uint32_t)mix(mix(sim->config->seed + src) ^ mix((uint64_t)dst << 8 | ev));
}

/* ---- the window: some of NSCC, enough for queues not to overflow for good ---- */

static void window_acked(struct flow *f, bool ecn, uint64_t rtt_ns)
{
	struct sim *sim = f->sim;
	double base = (double)sim->base_ns, mss = sim->packet_bytes;
	double d = (double)rtt_ns - base;

	f->average_ns += (d - f->average_ns) * NSCC_AVERAGE;
	if (!ecn)
		f->window += mss * mss / f->window * base / NSCC_NS * (d < base ? 4 * (base - d) / NSCC_NS : 5);
	if (ecn && d >= base && f->average_ns > base && sim->now_ns - f->lowered_ns >= sim->base_ns) {
		double by = 1 - 0.8 * (f->average_ns - base) / f->average_ns;

		f->window *= by > 0.5 ? by : 0.5;
		f->lowered_ns = sim->now_ns;
	}
	f->window = f->window < mss ? mss : f->window > sim->max_window ? sim->max_window : f->window;
}

static void window_lost(struct flow *f)
{
	struct sim *sim = f->sim;

	if (f->average_ns < (double)sim->base_ns / 2 || sim->now_ns - f->lowered_ns < sim->base_ns)
		return;
	f->window = f->window > 2 * sim->packet_bytes ? f->window / 2 : sim->packet_bytes;
	f->lowered_ns = sim->now_ns;
}

/* ---- sending ---- */

static void timer(void *env, void *arg, uint64_t now_ps);

static uint64_t rto_ns(const struct flow *f)
{
	uint64_t rtt4_ns = 4 * (f->sim->base_ns + (f->average_ns > 0 ? (uint64_t)f->average_ns : 0));

	if (f->in_flight <= 3 && rtt4_ns < 100 * US_NS)
		return 100 * US_NS;
	return rtt4_ns > 320 * US_NS ? rtt4_ns : 320 * US_NS;
}

static void arm(struct flow *f)
{
	const struct sent *first = TAILQ_FIRST(&f->all);

	if (first == NULL || f->timer_ns != 0)
		return;
	f->timer_ns = first->at_ns + rto_ns(f);
	if (fabric_at(f->sim->fabric, f->timer_ns, timer, f) != 0)
		need(NULL);
}

static uint32_t bytes_of(const struct sim *sim, const struct flow *f, uint32_t number)
{
	uint32_t payload = sim->config->payload_bytes;

	if (number + 1 == f->n_packets)
		payload = (uint32_t)(sim->config->flow_bytes - (uint64_t)number * payload);
	return payload + sim->config->header_bytes;
}

static void put_out(struct flow *f, uint32_t number, uint8_t ev, bool again, bool probe)
{
	struct sim *sim = f->sim;
	struct sent *sent = take(sim);
	struct fabric_packet packet = {.src = f->src, .dst = f->dst, .flow = hash(sim, f->src, f->dst, ev),
		.bytes = bytes_of(sim, f, number), .priority = DATA_PRIORITY, .ect = true, .user = sent};

	*sent = (struct sent){.flow = f, .at_ns = sim->now_ns, .order = f->order++, .number = number, .ev = ev,
		.again = again, .probe = probe, .outstanding = true};
	if (!probe) {
		TAILQ_INSERT_TAIL(&f->all, sent, all);
		TAILQ_INSERT_TAIL(&f->by_ev[ev], sent, same_ev);
		f->in_flight++;
		f->last_send_ns = sim->now_ns;
		sim->out->packets++;
		sim->out->resent += again;
		sim->out->moves += f->last_ev != ev;
		f->last_ev = ev;
	}
	if (fabric_send(sim->fabric, &packet, sim->now_ns) != 0)
		need(NULL);
	arm(f);
}

static bool send_one(struct flow *f)
{
	struct sim *sim = f->sim;
	struct path_sched_view view = {.now_ns = sim->now_ns, .last_send_ns = f->last_send_ns,
		.in_flight_bytes = f->in_flight * sim->packet_bytes, .message_packets = f->n_packets,
		.message_at = f->next};
	uint32_t number;
	bool again = false;
	uint8_t ev;

	while (f->n_again != 0 && f->acked[f->again[f->n_again - 1]])
		f->n_again--;
	if (f->n_again == 0 && f->next == f->n_packets)
		return false;
	if ((f->in_flight + 1) * (double)sim->packet_bytes > f->window && f->in_flight != 0)
		return false;
	ev = path_sched_pick(&f->sched, &view);
	if (f->n_again != 0) {
		number = f->again[--f->n_again];
		again = true;
	} else {
		number = f->next++;
	}
	put_out(f, number, ev, again, false);
	return true;
}

static void probe(struct flow *f)
{
	const struct sent *first = TAILQ_FIRST(&f->all);
	uint8_t ev;

	if (first != NULL && path_sched_probe(&f->sched, f->sim->now_ns, &ev))
		put_out(f, first->number, ev, true, true);
}

/* One packet is on the wire and at most one waits. */
static void try_send(struct flow *f)
{
	probe(f);
	while (fabric_queued_bytes(f->sim->fabric, f->src) < f->sim->packet_bytes &&
		!path_sched_holds(&f->sched, f->in_flight * f->sim->packet_bytes) && send_one(f))
		continue;
}

static void start(void *env, void *arg, uint64_t now_ps)
{
	((struct sim *)env)->now_ns = (now_ps + FABRIC_PS_PER_NS - 1) / FABRIC_PS_PER_NS;
	try_send(arg);
}

/* ---- loss ---- */

static void forget(struct sent *sent)
{
	struct flow *f = sent->flow;

	sent->outstanding = false;
	TAILQ_REMOVE(&f->all, sent, all);
	TAILQ_REMOVE(&f->by_ev[sent->ev], sent, same_ev);
	f->in_flight--;
}

static void send_again(struct sent *sent)
{
	struct flow *f = sent->flow;

	forget(sent);
	if (f->n_again == f->n_packets) /* acknowledged ones are only taken off the end */
		need(NULL);
	if (!f->acked[sent->number])
		f->again[f->n_again++] = sent->number;
}

static void hole(struct sent *sent)
{
	struct flow *f = sent->flow;

	path_sched_lost(&f->sched, sent->ev, f->sim->now_ns);
	send_again(sent);
}

/* Passed by three later packets on its EV, or by a window on any. */
static void find_holes(struct flow *f, const struct sent *acked)
{
	uint64_t most = (uint64_t)(f->window * 1.5), passed;
	struct sent *s, *next;

	most = most > f->sim->max_window ? f->sim->max_window : most;
	most = most < 5u * f->sim->packet_bytes ? 5u * f->sim->packet_bytes : most;
	passed = most / f->sim->packet_bytes;
	for (s = TAILQ_FIRST(&f->by_ev[acked->ev]); s != NULL && s->order < acked->order; s = next) {
		next = TAILQ_NEXT(s, same_ev);
		if (++s->passes >= HOLE_PASSES)
			hole(s);
	}
	if (f->sim->config->sched.keep_order)
		return;
	while ((s = TAILQ_FIRST(&f->all)) != NULL && s->order + passed < acked->order)
		hole(s);
}

static void timer(void *env, void *arg, uint64_t now_ps)
{
	struct flow *f = arg;
	struct sent *s;
	uint64_t rto = rto_ns(f);

	f->sim->now_ns = (now_ps + FABRIC_PS_PER_NS - 1) / FABRIC_PS_PER_NS;
	(void)env;
	f->timer_ns = 0;
	while ((s = TAILQ_FIRST(&f->all)) != NULL && s->at_ns + rto <= f->sim->now_ns) {
		path_sched_timeout(&f->sched, s->ev, f->sim->now_ns);
		window_lost(f);
		send_again(s);
	}
	arm(f);
	try_send(f);
}

/* ---- arrival ---- */

static void arrived(struct sent *sent, const struct fabric_packet *data)
{
	struct flow *f = sent->flow;
	struct sim *sim = f->sim;
	struct fabric_packet ack = {.src = f->dst, .dst = f->src, .flow = hash(sim, f->dst, f->src, sent->ev),
		.bytes = sim->config->ack_bytes, .priority = ACK_PRIORITY, .user = sent};

	sent->ce = data->ce;
	if (!sent->again && !sent->probe) {
		sim->out->reordered += sent->number < f->highest;
		f->highest = sent->number > f->highest ? sent->number : f->highest;
	}
	if (!f->arrived[sent->number]) {
		f->arrived[sent->number] = true;
		if (++f->n_arrived == f->n_packets)
			f->arrived_ns = sim->now_ns;
	} else {
		sim->out->spurious += !sent->probe;
	}
	if (fabric_send(sim->fabric, &ack, sim->now_ns) != 0)
		need(NULL);
}

static void acknowledged(struct sent *sent)
{
	struct flow *f = sent->flow;
	struct sim *sim = f->sim;
	uint64_t rtt_ns = sim->now_ns - sent->at_ns;

	path_sched_acked(&f->sched, sent->ev, sent->ce, (uint32_t)rtt_ns, sim->now_ns);
	if (!sent->probe)
		window_acked(f, sent->ce, rtt_ns);
	if (!f->acked[sent->number]) {
		f->acked[sent->number] = true;
		if (++f->n_acked == f->n_packets) {
			f->done_ns = sim->now_ns;
			sim->n_done++;
		}
	}
	if (sent->probe)
		return;
	find_holes(f, sent);
	if (sent->outstanding)
		forget(sent);
	try_send(f);
}

static void on_deliver(void *env, const struct fabric_packet *packet, uint64_t now_ns)
{
	struct sent *sent = packet->user;

	((struct sim *)env)->now_ns = now_ns;
	if (packet->dst == sent->flow->dst)
		arrived(sent, packet);
	else
		acknowledged(sent);
}

static void on_lose(void *env, const struct fabric_packet *packet, enum fabric_loss why)
{
	struct sim *sim = env;
	const struct sent *sent = packet->user;

	if (why == FABRIC_LOSS_LINK && packet->dst == sent->flow->dst && !sent->probe)
		sim->out->on_cut++;
}

static void on_ready(void *env, uint32_t host, uint64_t now_ns)
{
	struct sim *sim = env;

	sim->now_ns = now_ns;
	if (sim->flow_of[host] != UINT32_MAX)
		try_send(&sim->flows[sim->flow_of[host]]);
}

static const struct fabric_ops ops = {.deliver = on_deliver, .lose = on_lose, .ready = on_ready};

/* ---- faults ---- */

static uint64_t over_cut(const struct sim *sim)
{
	struct fabric_port_stats up, down;

	if (fabric_link_stats(sim->fabric, sim->cut_link, 0, &up) != 0 ||
		fabric_link_stats(sim->fabric, sim->cut_link, 1, &down) != 0)
		return 0;
	return up.tx_packets + down.tx_packets;
}

static void set_cut(void *env, void *arg, uint64_t now_ps)
{
	struct sim *sim = env;
	struct fabric_fault fault = {.cut = arg != NULL};

	if (fabric_set_fault(sim->fabric, sim->cut_link, &fault, now_ps / FABRIC_PS_PER_NS) != 0)
		need(NULL);
	if (arg == NULL)
		sim->mended_packets = over_cut(sim);
}

static void set_faults(struct sim *sim)
{
	const struct sched_sim_config *c = sim->config;
	struct fabric_fault slow = {.rate_percent = c->slow_percent};

	for (uint32_t leaf = 0; leaf < c->fabric.leaves; leaf++) {
		for (uint32_t spine = 0; spine < c->slow_spines; spine++) {
			if (fabric_set_fault(sim->fabric, fabric_leaf_link(sim->fabric, leaf, spine), &slow, 0) != 0)
				need(NULL);
		}
	}
	if (c->cut_spine == UINT32_MAX)
		return;
	sim->cut_link = fabric_leaf_link(sim->fabric, 0, c->cut_spine);
	if (fabric_at(sim->fabric, c->cut_ns, set_cut, sim) != 0 ||
		(c->mended_ns != 0 && fabric_at(sim->fabric, c->mended_ns, set_cut, NULL) != 0))
		need(NULL);
}

/* ---- a run ---- */

void sched_sim_default(struct sched_sim_config *config)
{
	*config = (struct sched_sim_config){
		.flow_bytes = 2000000,
		.slow_percent = 25,
		.cut_spine = UINT32_MAX,
		.payload_bytes = 4096,
		.header_bytes = 64 - FABRIC_WIRE_BYTES,
		.ack_bytes = 64 - FABRIC_WIRE_BYTES,
		.limit_ns = 20000000,
	};
	fabric_config_default(&config->fabric);
	config->fabric.sw.queue_bytes = 400000;
	config->fabric.sw.ecn.min_bytes = 25000;
	config->fabric.sw.ecn.max_bytes = 100000;
	config->fabric.sw.ecn.max_permille = 1000;
	path_sched_config_default(&config->sched);
}

/* A random permutation in which nobody sends to itself. */
static void pair_up(struct sim *sim, uint32_t hosts)
{
	for (uint32_t i = 0; i < hosts; i++)
		sim->flows[i].src = sim->flows[i].dst = i;
	for (uint32_t i = hosts - 1; i > 0; i--) {
		uint32_t j = (uint32_t)(draw(sim) % i), dst = sim->flows[i].dst;

		sim->flows[i].dst = sim->flows[j].dst;
		sim->flows[j].dst = dst;
	}
}

static void make_flow(struct sim *sim, struct flow *f)
{
	const struct sched_sim_config *c = sim->config;

	f->sim = sim;
	f->n_packets = (uint32_t)((c->flow_bytes + c->payload_bytes - 1) / c->payload_bytes);
	f->again = need(calloc(f->n_packets, sizeof(*f->again)));
	f->acked = need(calloc(f->n_packets, sizeof(*f->acked)));
	f->arrived = need(calloc(f->n_packets, sizeof(*f->arrived)));
	f->window = sim->max_window;
	f->last_ev = PATH_SCHED_NO_EV;
	TAILQ_INIT(&f->all);
	for (uint32_t ev = 0; ev < PATH_SCHED_MAX_EVS; ev++)
		TAILQ_INIT(&f->by_ev[ev]);
	path_sched_init(&f->sched, &c->sched, draw(sim));
	if (fabric_at(sim->fabric, 0, start, f) != 0)
		need(NULL);
}

static void make(struct sim *sim)
{
	const struct sched_sim_config *c = sim->config;
	struct fabric_config fabric = c->fabric;
	uint32_t hosts;

	fabric.seed = c->seed;
	if (c->idle_core)
		fabric.leaf_link.rate_mbps *= 50;
	if (fabric_create(&fabric, &ops, sim, 0, &sim->fabric) != 0)
		need(NULL);
	hosts = fabric_n_hosts(sim->fabric);
	sim->packet_bytes = c->payload_bytes + c->header_bytes;
	sim->base_ns = fabric_idle_ns(sim->fabric, 0, hosts - 1, sim->packet_bytes) +
		fabric_idle_ns(sim->fabric, hosts - 1, 0, c->ack_bytes);
	sim->max_window = (uint32_t)(sim->base_ns * (fabric.host_link.rate_mbps / 1000) / 8 * 3 / 2);
	sim->n_flows = c->n_flows != 0 ? c->n_flows : hosts;
	sim->flows = need(calloc(hosts, sizeof(*sim->flows)));
	sim->flow_of = need(malloc(hosts * sizeof(*sim->flow_of)));
	pair_up(sim, hosts);
	for (uint32_t i = 0; i < hosts; i++)
		sim->flow_of[i] = i < sim->n_flows ? i : UINT32_MAX;
	for (uint32_t i = 0; i < sim->n_flows; i++)
		make_flow(sim, &sim->flows[i]);
	set_faults(sim);
}

static void conclude(struct sim *sim)
{
	struct sched_sim_result *out = sim->out;
	struct fabric_port_stats stats;

	out->complete = sim->n_done == sim->n_flows;
	for (uint32_t i = 0; i < sim->n_flows; i++) {
		const struct flow *f = &sim->flows[i];

		out->max_ns = f->arrived_ns > out->max_ns ? f->arrived_ns : out->max_ns;
		out->acked_max_ns = f->done_ns > out->acked_max_ns ? f->done_ns : out->acked_max_ns;
		out->mean_ns += f->arrived_ns / sim->n_flows;
	}
	if (!out->complete)
		out->max_ns = out->acked_max_ns = sim->config->limit_ns;
	fabric_stats(sim->fabric, &stats);
	out->marked = stats.marked;
	out->dropped = stats.lost[FABRIC_LOSS_BUFFER];
	out->max_queue_bytes = stats.max_queue_bytes;
	if (sim->config->cut_spine != UINT32_MAX)
		out->after_mended = over_cut(sim) - sim->mended_packets;
}

static void end(struct sim *sim)
{
	fabric_destroy(sim->fabric);
	for (uint32_t i = 0; i < sim->n_flows; i++) {
		free(sim->flows[i].again);
		free(sim->flows[i].acked);
		free(sim->flows[i].arrived);
	}
	while (sim->chunks != NULL) {
		struct chunk *chunk = sim->chunks;

		sim->chunks = chunk->next;
		free(chunk);
	}
	free(sim->flows);
	free(sim->flow_of);
}

void sched_sim_run(const struct sched_sim_config *config, struct sched_sim_result *out)
{
	struct sim sim = {.config = config, .random = mix(config->seed ^ 0x5eed), .out = out};

	memset(out, 0, sizeof(*out));
	make(&sim);
	while (sim.n_done < sim.n_flows && fabric_next_ns(sim.fabric) <= config->limit_ns)
		fabric_advance(sim.fabric, fabric_next_ns(sim.fabric));
	conclude(&sim);
	end(&sim);
}
