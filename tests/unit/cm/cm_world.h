/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two cms back to back under a virtual clock. What one sends goes through a script that loses,
 * doubles or holds back messages by their type; every event is kept. How the two ends react is set
 * by their modes.
 */
#ifndef CM_WORLD_H
#define CM_WORLD_H

#include "cm.h"
#include "wire_cm.h"

#define WORLD_EVENTS  128
#define WORLD_QUEUE   256
#define WORLD_RULES   8
#define WORLD_NEWS    256
#define WORLD_PRIVATE 224
#define MS_NS         1000000ull
#define SECOND_NS     1000000000ull
#define SERVICE       cm_service_id(CM_PS_TCP, 7174)

enum { SIDE_A, SIDE_B };

enum rule_what { RULE_LOSE, RULE_DOUBLE };

/* The next times messages of this type from this side are lost or doubled. */
struct rule {
	int from;
	enum wire_cm_type type;
	enum rule_what what;
	unsigned int times;
};

struct seen_event {
	struct cm_event ev;
	uint64_t at_ns;
	uint8_t private_data[WORLD_PRIVATE];
};

enum req_mode { REQ_ACCEPT, REQ_REJECT, REQ_HOLD, REQ_DESTROY };
enum rep_mode { REP_ESTABLISH, REP_REJECT, REP_HOLD, REP_DESTROY };

struct node {
	struct world *world;
	struct cm *cm;
	int side;
	struct wire_addr addr;
	enum req_mode on_req;
	enum rep_mode on_rep;
	bool destroy_on_disconnect;
	uint32_t next_qpn;
	struct cm_ext ext;              /* offered and taken */
	uint16_t rep_bytes;             /* of private data in REP; 0: as it is */
	struct cm_id *last_new;         /* id of the last *_REQUEST */
	struct cm_id *news[WORLD_NEWS]; /* of all of them */
	unsigned int n_news;
	struct seen_event seen[WORLD_EVENTS];
	unsigned int n_seen;
	unsigned int sent[0x20]; /* by type */
};

struct packet {
	int from;
	struct cm_path path;
	uint8_t mad[CM_MAD_BYTES];
};

struct world {
	struct node node[2];
	uint64_t now_ns;
	struct packet queue[WORLD_QUEUE];
	unsigned int head;
	unsigned int tail;
	struct rule rules[WORLD_RULES];
	unsigned int n_rules;
	bool cut; /* nothing arrives */
	void (*tamper)(uint8_t mad[CM_MAD_BYTES]); /* what is on its way is changed */
	bool send_fails;
	uint64_t seed; /* not 0: a third of the messages is lost, doubled or swapped at random */
};

/* The same numbers for the same seed, so that a failure can be repeated. */
uint32_t world_random(uint64_t *seed);
/* config NULL: defaults. */
struct world *world_new(const struct cm_config *config);
void world_free(struct world *w);
void world_rule(
	struct world *w, int from, enum wire_cm_type type, enum rule_what what, unsigned int times);
/* Delivers what is on its way and runs timers up to now + ns. */
void world_run(struct world *w, uint64_t ns);
/* Hands a MAD to side as if its peer had sent it. */
void world_inject(struct world *w, int to, const uint8_t mad[CM_MAD_BYTES]);
struct cm_path world_path(struct world *w, int from);
void world_params(struct world *w, int from, struct cm_connect_params *params);
/* B listens, A connects; run until quiet. *a and *b are the two ends; *b may be NULL. */
void world_connect(struct world *w, struct cm_id **a, struct cm_id **b);
struct cm_id *world_listen(struct world *w, int side, uint32_t backlog);
/* How many events of a type side has seen, and the last of them (NULL when none). */
unsigned int world_count(const struct world *w, int side, enum cm_event_type type);
const struct seen_event *world_last(const struct world *w, int side, enum cm_event_type type);
struct cm_stats world_stats(const struct world *w, int side);

#endif
