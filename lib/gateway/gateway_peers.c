/* SPDX-License-Identifier: BSD-3-Clause */
#include "gateway_peers.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "wire_opcode.h"

#define MAX_PEERS  (1u << 20)
#define WAYS       4u
#define TICK_SHIFT 20             /* ns to ticks of a question */
#define KEY_BYTES  (2 * sizeof(struct wire_addr) + sizeof(uint32_t))
#define ACK_KIND   0x60           /* of a syndrome; 0: an acknowledgement that is no NAK (IBTA vol. 1, 9.7.5.2) */
#define ASKED_TICKS (GATEWAY_PEERS_ANSWER_NS >> TICK_SHIFT)

_Static_assert(offsetof(struct gateway_peers_packet, psn) == KEY_BYTES, "no gaps");

/* A question is one word, so that it is read and written whole: whom (24 bits; 0: several), what else the hash says
 * (24), when (16). */
#define QUESTION(qpn, check, tick) ((uint64_t)(qpn) << 40 | (uint64_t)(check) << 16 | (uint64_t)(tick))
#define QUESTION_QPN(q)            ((uint32_t)((q) >> 40))
#define QUESTION_CHECK(q)          ((uint32_t)((q) >> 16) & 0xffffffu)
#define QUESTION_TICK(q)           ((uint16_t)(q))

/* Who sends to a queue pair: what else the hash says (32 bits), the sender's queue pair (24), answers in a row that
 * said so (8). */
#define PEER(check, qpn, hits) ((uint64_t)(check) << 32 | (uint64_t)(qpn) << 8 | (uint64_t)(hits))
#define PEER_CHECK(w)          ((uint32_t)((w) >> 32))
#define PEER_QPN(w)            ((uint32_t)((w) >> 8) & 0xffffffu)
#define PEER_HITS(w)           ((uint32_t)(w) & 0xffu)

struct peer {
	_Atomic uint64_t word;         /* 0: free */
	_Atomic uint64_t confirmed_ns;
	_Atomic uint64_t notified_ns;  /* 0: never */
};

struct gateway_peers {
	struct gateway_peers_config config;
	uint32_t set_mask, question_mask;
	struct peer *sets;             /* WAYS of each */
	_Atomic uint64_t *questions;
};

#define LOAD(at)         atomic_load_explicit(at, memory_order_relaxed)
#define STORE(at, value) atomic_store_explicit(at, value, memory_order_relaxed)

struct gateway_peers *gateway_peers_new(const struct gateway_peers_config *config)
{
	struct gateway_peers *peers;
	uint32_t sets = 1;

	if (config->max == 0 || config->max > MAX_PEERS || config->idle_ns == 0)
		return NULL;
	while (sets * WAYS < config->max)
		sets *= 2;
	peers = calloc(1, sizeof(*peers));
	if (peers == NULL)
		return NULL;
	peers->config = *config;
	peers->set_mask = sets - 1;
	peers->question_mask = sets * WAYS - 1;
	peers->sets = calloc((size_t)sets * WAYS, sizeof(peers->sets[0]));
	peers->questions = calloc((size_t)sets * WAYS, sizeof(peers->questions[0]));
	if (peers->sets == NULL || peers->questions == NULL) {
		gateway_peers_free(peers);
		return NULL;
	}
	return peers;
}

void gateway_peers_free(struct gateway_peers *peers)
{
	if (peers == NULL)
		return;
	free(peers->sets);
	free(peers->questions);
	free(peers);
}

/* ---- who sends to a queue pair ---- */

static uint64_t hash_of(
	const struct gateway_peers *peers, const struct wire_addr *src, const struct wire_addr *dst, uint32_t number)
{
	struct gateway_peers_packet key = {.src = *src, .dst = *dst, .dqpn = number};

	return base_siphash(&peers->config.key, &key, KEY_BYTES);
}

static struct peer *find(const struct gateway_peers *peers, uint64_t hash)
{
	struct peer *set = &peers->sets[((uint32_t)hash & peers->set_mask) * WAYS];

	for (uint32_t i = 0; i < WAYS; i++) {
		uint64_t word = LOAD(&set[i].word);

		if (word != 0 && PEER_CHECK(word) == (uint32_t)(hash >> 32))
			return &set[i];
	}
	return NULL;
}

/* Its place, or that of whom was confirmed longest ago. */
static struct peer *find_or_make(const struct gateway_peers *peers, uint64_t hash)
{
	struct peer *set = &peers->sets[((uint32_t)hash & peers->set_mask) * WAYS], *at = find(peers, hash);

	if (at != NULL)
		return at;
	at = set;
	for (uint32_t i = 1; i < WAYS; i++) {
		if (LOAD(&set[i].confirmed_ns) < LOAD(&at->confirmed_ns))
			at = &set[i];
	}
	STORE(&at->word, 0);
	STORE(&at->notified_ns, 0);
	return at;
}

static bool is_fresh(const struct peer *peer, uint64_t now_ns)
{
	return peer != NULL && PEER_HITS(LOAD(&peer->word)) >= GATEWAY_PEERS_BELIEVED &&
	       now_ns - LOAD(&peer->confirmed_ns) < GATEWAY_PEERS_CONFIRM_NS;
}

static void confirm(const struct gateway_peers *peers, uint64_t hash, uint32_t qpn, uint32_t hits, uint64_t now_ns)
{
	struct peer *peer = find_or_make(peers, hash);

	STORE(&peer->word, PEER(hash >> 32, qpn, hits));
	STORE(&peer->confirmed_ns, now_ns);
}

/* An answer to p->dqpn came from this queue pair of p->src. */
static void learn(
	struct gateway_peers *peers, const struct gateway_peers_packet *p, uint64_t hash, uint32_t qpn, uint64_t now_ns)
{
	const struct peer *known = find(peers, hash);
	uint64_t word = known != NULL ? LOAD(&known->word) : 0;
	uint32_t hits = word != 0 && PEER_QPN(word) == qpn ? PEER_HITS(word) : 0;

	hits = hits < GATEWAY_PEERS_BELIEVED ? hits + 1 : hits;
	confirm(peers, hash, qpn, hits, now_ns);
	/* So the other way is known, too. */
	if (hits == GATEWAY_PEERS_BELIEVED)
		confirm(peers, hash_of(peers, &p->dst, &p->src, qpn), p->dqpn, hits, now_ns);
}

/* ---- questions: requests that an answer may come to ---- */

static uint16_t tick_of(uint64_t now_ns)
{
	return (uint16_t)(now_ns >> TICK_SHIFT);
}

static bool is_asked(uint64_t question, uint64_t hash, uint64_t now_ns)
{
	return question != 0 && QUESTION_CHECK(question) == (uint32_t)(hash >> 40) &&
	       (uint16_t)(tick_of(now_ns) - QUESTION_TICK(question)) <= ASKED_TICKS;
}

static _Atomic uint64_t *question_of(struct gateway_peers *peers, uint64_t hash)
{
	return &peers->questions[(uint32_t)hash & peers->question_mask];
}

/* PSNs are told from numbers of queue pairs by a bit that neither has. */
static uint64_t question_hash(
	const struct gateway_peers *peers, const struct wire_addr *from, const struct wire_addr *to, uint32_t psn)
{
	return hash_of(peers, from, to, psn | 1u << 31);
}

static void ask(struct gateway_peers *peers, const struct gateway_peers_packet *p, uint64_t now_ns)
{
	uint64_t hash = question_hash(peers, &p->src, &p->dst, p->psn), there;
	_Atomic uint64_t *question = question_of(peers, hash);
	uint32_t whom = p->dqpn;

	there = LOAD(question);
	if (is_asked(there, hash, now_ns) && QUESTION_QPN(there) != whom)
		whom = 0;
	STORE(question, QUESTION(whom, hash >> 40, tick_of(now_ns)));
}

static void answer(
	struct gateway_peers *peers, const struct gateway_peers_packet *p, uint64_t peer_hash, uint64_t now_ns)
{
	uint64_t hash = question_hash(peers, &p->dst, &p->src, p->psn), there;
	_Atomic uint64_t *question = question_of(peers, hash);

	there = LOAD(question);
	if (!is_asked(there, hash, now_ns) || QUESTION_QPN(there) == 0)
		return;
	STORE(question, 0);
	learn(peers, p, peer_hash, QUESTION_QPN(there), now_ns);
}

/* The PSN of a READ's first packet is its request's, those of others are of their own. */
static bool is_first_answer(const struct wire_opinfo *info, uint8_t syndrome)
{
	if (wire_op_is(info, WIRE_OP_READ_RESP))
		return wire_op_is(info, WIRE_OP_START);
	return (syndrome & ACK_KIND) == 0;
}

void gateway_peers_see(struct gateway_peers *peers, const struct gateway_peers_packet *p, uint64_t now_ns)
{
	const struct wire_opinfo *info = wire_opinfo(p->opcode);
	uint64_t hash;

	/* What is not reliable has no answers. */
	if (info->name == NULL || (info->service != WIRE_SERVICE_RC && info->service != WIRE_SERVICE_XRC))
		return;
	hash = hash_of(peers, &p->src, &p->dst, p->dqpn);
	if (is_fresh(find(peers, hash), now_ns))
		return;
	if (!wire_op_is(info, WIRE_OP_RESPONSE))
		ask(peers, p, now_ns);
	else if (is_first_answer(info, p->syndrome))
		answer(peers, p, hash, now_ns);
}

/* ---- marks ---- */

enum gateway_peers_verdict gateway_peers_mark(
	struct gateway_peers *peers, const struct gateway_peers_packet *p, uint64_t now_ns, uint32_t *qpn)
{
	struct peer *peer = find(peers, hash_of(peers, &p->src, &p->dst, p->dqpn));
	uint64_t word = peer != NULL ? LOAD(&peer->word) : 0, before;

	if (PEER_HITS(word) < GATEWAY_PEERS_BELIEVED || now_ns - LOAD(&peer->confirmed_ns) > peers->config.idle_ns)
		return GATEWAY_PEERS_UNKNOWN;
	*qpn = PEER_QPN(word);
	before = LOAD(&peer->notified_ns);
	if (before != 0 && now_ns - before < peers->config.gap_ns)
		return GATEWAY_PEERS_EARLY;
	/* Another worker that has a packet of the same flow may have been quicker. */
	if (!atomic_compare_exchange_strong_explicit(&peer->notified_ns, &before, now_ns, memory_order_relaxed,
		memory_order_relaxed))
		return GATEWAY_PEERS_EARLY;
	return GATEWAY_PEERS_NOTIFY;
}
