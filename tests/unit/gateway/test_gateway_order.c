/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * gateway_pairs.h: whatever moves, nothing overtakes. A worker takes in turns what hosts have sent and what has come
 * back; a network of paths whose delays change from packet to packet, but by less than flowlet_ns; a far end that
 * acknowledges, and one that does not. Each flow has to arrive in the order in which it was sent, what is sent again
 * included as long as it has not arrived before.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <inttypes.h>

#include "gateway_pairs.h"

#define US      UINT64_C(1000)
#define MS      (1000 * US)
#define FLOWLET (500 * US)
#define SILENCE (20 * MS)
#define PATHS   8u
#define FLOWS   12u
#define WINDOW  16u
#define TIMEOUT (5 * MS)
#define FLYING  4096u
#define SOME    1000u /* parts of chances */

static const struct wire_addr host_a = {.b = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1}};
static const struct wire_addr host_b = {.b = {[10] = 0xff, [11] = 0xff, [12] = 10, [14] = 2, [15] = 2}};

/* How it goes. */
struct life {
	uint32_t lost;           /* of SOME */
	uint64_t differ_ns;      /* the most that two packets' delays differ */
	uint64_t turn_ns;        /* the longest usual turn of the worker */
	uint32_t stalls;         /* turns of SOME that last longer */
	uint64_t stall_ns;       /* at most */
};

enum kind { REQUESTS, DATAGRAMS, ANSWERS, UNRELIABLE, KINDS };

/* What one host sends to a queue pair of the other, and what that has of it. */
struct flow {
	enum kind kind;
	uint32_t next, acked, expected; /* PSNs */
	uint64_t send_ns, sent_ns;
	uint64_t serial, came;   /* transmissions */
	bool refused;            /* a NAK has been sent for what is missing */
};

struct frame {
	uint64_t at_ns;          /* when it arrives */
	uint64_t serial;
	uint32_t flow, psn;
	uint8_t syndrome;        /* of answers */
};

/* In order of at_ns by insertion. */
struct queue {
	uint32_t n;
	struct frame frames[FLYING];
};

struct world {
	const struct life *life;
	struct gateway_pairs *p;
	struct flow flows[FLOWS];
	struct queue hosts, there, back; /* at the gateway's hosts' port; on the way; at its other port */
	uint64_t path_ns[PATHS], back_ns;
	uint16_t first;
	uint64_t overtaken;
};

static uint64_t below(uint64_t most)
{
	return most == 0 ? 0 : ((uint64_t)random() << 31 ^ (uint64_t)random()) % most;
}

static void queue_put(struct queue *q, struct frame f)
{
	uint32_t i = q->n++;

	assert_in_range(q->n, 1, FLYING);
	for (; i > 0 && q->frames[i - 1].at_ns > f.at_ns; i--)
		q->frames[i] = q->frames[i - 1];
	q->frames[i] = f;
}

static bool queue_get(struct queue *q, uint64_t now_ns, struct frame *f)
{
	if (q->n == 0 || q->frames[0].at_ns > now_ns)
		return false;
	*f = q->frames[0];
	memmove(q->frames, q->frames + 1, --q->n * sizeof(q->frames[0]));
	return true;
}

/* ---- hosts ---- */

static void host_sends(struct world *w, uint32_t i, uint64_t now_ns)
{
	struct flow *f = &w->flows[i];

	queue_put(&w->hosts, (struct frame){.at_ns = now_ns, .flow = i, .psn = f->next, .serial = ++f->serial});
	f->next++;
	f->sent_ns = now_ns;
	/* A burst goes on, or there is a pause, about as long as a flowlet's. */
	f->send_ns = now_ns + (below(4) != 0 ? 1 + below(5 * US) : below(3 * FLOWLET));
}

static void hosts_send(struct world *w, uint64_t now_ns)
{
	for (uint32_t i = 0; i < FLOWS; i++) {
		struct flow *f = &w->flows[i];

		while (f->send_ns <= now_ns && (f->kind != REQUESTS || f->next - f->acked < WINDOW))
			host_sends(w, i, f->send_ns > f->sent_ns ? f->send_ns : f->sent_ns + 1);
		if (f->kind == REQUESTS && f->next != f->acked && now_ns - f->sent_ns > TIMEOUT)
			f->next = f->acked;
	}
}

/* Go-back-N. */
static void host_hears(struct flow *f, const struct frame *answer, uint64_t now_ns)
{
	if ((int32_t)(answer->psn - f->acked) >= 0)
		f->acked = answer->syndrome == 0x60 ? answer->psn : answer->psn + 1;
	if (answer->syndrome == 0x60 || (int32_t)(f->acked - f->next) > 0)
		f->next = f->acked;
	if (f->send_ns < now_ns)
		f->send_ns = now_ns;
}

/* ---- the far end ---- */

static void arrives(struct world *w, const struct frame *f)
{
	struct flow *flow = &w->flows[f->flow];
	struct frame answer = {.flow = f->flow, .psn = f->psn, .syndrome = 0x1f};
	/* What has arrived and been acknowledged already may be sent again, and who hears that goes on elsewhere. */
	bool again = flow->kind == REQUESTS && (int32_t)(f->psn - flow->expected) < 0;

	w->overtaken += f->serial < flow->came && !again;
	flow->came = f->serial > flow->came ? f->serial : flow->came;
	if (flow->kind != REQUESTS)
		return;
	if ((int32_t)(f->psn - flow->expected) > 0) {
		if (flow->refused)
			return;
		flow->refused = true;
		answer.psn = flow->expected;
		answer.syndrome = 0x60;
	} else if (f->psn == flow->expected) {
		flow->expected++;
		flow->refused = false;
	} else {
		answer.psn = flow->expected - 1;
	}
	answer.at_ns = f->at_ns + 10 * US + below(20 * US);
	if (answer.at_ns < w->back_ns)
		answer.at_ns = w->back_ns;
	w->back_ns = answer.at_ns;
	if (below(SOME) >= w->life->lost)
		queue_put(&w->back, answer);
}

/* ---- the gateway ---- */

static uint8_t opcode_of(const struct world *w, const struct frame *f)
{
	static const uint8_t opcodes[KINDS] = {
		WIRE_RC_SEND_ONLY, WIRE_UD_SEND_ONLY, WIRE_RC_READ_RESP_MIDDLE, WIRE_UC_SEND_FIRST};

	return opcodes[w->flows[f->flow].kind];
}

/* By a path that keeps the order of what is on it. */
static void leaves(struct world *w, const struct frame *f, uint8_t path, uint64_t now_ns)
{
	struct frame on_way = *f;

	on_way.at_ns = now_ns + 20 * US + below(w->life->differ_ns);
	if (on_way.at_ns < w->path_ns[path])
		on_way.at_ns = w->path_ns[path];
	w->path_ns[path] = on_way.at_ns;
	if (below(SOME) >= w->life->lost)
		queue_put(&w->there, on_way);
}

static void send(struct world *w, const struct frame *f, uint64_t now_ns, uint64_t end_ns)
{
	const struct wire_pkt pkt = {.opcode = opcode_of(w, f),
		.dqpn = 100 + f->flow,
		.psn = (1000000 * (f->flow + 1) + f->psn) & 0xffffff,
		.ack_req = 1,
		.udp_sport = 7};
	uint16_t sport = gateway_pairs_send(w->p, &host_a, &host_b, &pkt, now_ns);
	struct gateway_pairs_told told;

	assert_true(gateway_pairs_tell(w->p, 1, &told));
	assert_in_range(sport, told.sport, told.sport + PATHS - 1);
	leaves(w, f, (uint8_t)(sport - told.sport), end_ns);
}

static void hear(struct world *w, const struct frame *f, uint64_t now_ns)
{
	const struct wire_pkt pkt = {.opcode = WIRE_RC_ACK,
		.dqpn = 200 + f->flow,
		.psn = (1000000 * (f->flow + 1) + f->psn) & 0xffffff,
		.syndrome = f->syndrome,
		.hdrs = WIRE_HDR_AETH};

	gateway_pairs_hear(w->p, &host_b, &host_a, &pkt, now_ns);
	host_hears(&w->flows[f->flow], f, now_ns);
}

/* What is there when it begins has left when it ends, and one time is told of all of it: that of its beginning. */
static uint64_t turn(struct world *w, uint64_t now_ns)
{
	const struct life *life = w->life;
	bool stall = below(SOME) < life->stalls;
	uint64_t end_ns = now_ns + 500 + below(stall ? life->stall_ns : life->turn_ns);
	struct frame f;

	hosts_send(w, now_ns);
	gateway_pairs_turn(w->p, now_ns);
	while (queue_get(&w->hosts, now_ns, &f))
		send(w, &f, now_ns, end_ns);
	while (queue_get(&w->back, now_ns, &f))
		hear(w, &f, now_ns);
	while (queue_get(&w->there, end_ns, &f))
		arrives(w, &f);
	return end_ns;
}

static struct gateway_pairs *make_pairs(void)
{
	struct gateway_pairs_config config = {.max_pairs = 4,
		.max_flows = 64,
		.max_flows_per_host = 64,
		.idle_ns = 100000 * MS,
		.flowlet_ns = FLOWLET,
		.silence_ns = SILENCE,
		.key = {{1, 2}}};

	path_sched_config_default(&config.sched);
	path_sched_config_base(&config.sched, 50000);
	config.sched.kind = PATH_SCHED_WEIGHTED;
	config.sched.n_evs = PATHS;
	return gateway_pairs_new(&config);
}

/* So many packets were overtaken in @ns. */
static uint64_t run(const struct life *life, uint64_t ns, struct gateway_pairs_stats *stats)
{
	static struct world w;
	uint64_t now_ns = 5000 * MS, end_ns = now_ns + ns;

	w = (struct world){.life = life, .p = make_pairs()};
	assert_non_null(w.p);
	for (uint32_t i = 0; i < FLOWS; i++)
		w.flows[i] = (struct flow){.kind = (enum kind)(i % KINDS), .send_ns = now_ns, .sent_ns = now_ns};
	while (now_ns < end_ns)
		now_ns = turn(&w, now_ns);
	gateway_pairs_get_stats(w.p, stats);
	gateway_pairs_free(w.p);
	return w.overtaken;
}

/* ---- tests ---- */

static void in_order(const struct life *life, uint64_t moves)
{
	for (unsigned int seed = 1; seed <= 10; seed++) {
		struct gateway_pairs_stats stats;
		uint64_t overtaken;

		srandom(seed);
		overtaken = run(life, 300 * MS, &stats);
		print_message("seed %u: moves %" PRIu64 ", matched %" PRIu64 ", losses %" PRIu64 ", silences %" PRIu64
			      ", overtaken %" PRIu64 "\n",
			seed, stats.moves, stats.matched, stats.losses, stats.silences, overtaken);
		assert_int_equal(overtaken, 0);
		assert_true(stats.moves >= moves);
	}
}

static void paths_that_differ_by_less_than_flowlet(void **state)
{
	const struct life life = {.differ_ns = FLOWLET - 20 * US, .turn_ns = 3 * US};

	(void)state;
	in_order(&life, 300);
}

static void and_lose_packets(void **state)
{
	const struct life life = {.differ_ns = FLOWLET - 20 * US, .turn_ns = 3 * US, .lost = 10};

	(void)state;
	in_order(&life, 300);
}

/* A worker whose CPU others have for a while sends after that what it has read before. */
static void a_worker_that_stalls(void **state)
{
	const struct life life = {.differ_ns = FLOWLET - 40 * US, .turn_ns = 3 * US, .stalls = 2, .stall_ns = 4 * MS};

	(void)state;
	in_order(&life, 50);
}

/* The same for longer than a path may be silent. */
static void stalls_are_no_silence(void **state)
{
	const struct life life = {.differ_ns = FLOWLET - 40 * US, .turn_ns = 3 * US, .stalls = 1, .stall_ns = 60 * MS};

	(void)state;
	in_order(&life, 20);
}

/* That the test sees it: what is overtaken where paths differ by more. */
static void paths_that_differ_by_more(void **state)
{
	const struct life life = {.differ_ns = 4 * FLOWLET, .turn_ns = 3 * US};
	struct gateway_pairs_stats stats;

	(void)state;
	srandom(1);
	assert_true(run(&life, 300 * MS, &stats) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(paths_that_differ_by_less_than_flowlet),
		cmocka_unit_test(and_lose_packets),
		cmocka_unit_test(a_worker_that_stalls),
		cmocka_unit_test(stalls_are_no_silence),
		cmocka_unit_test(paths_that_differ_by_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
