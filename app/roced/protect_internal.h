/* SPDX-License-Identifier: BSD-3-Clause */
/* Associations; private to protect*.c, and of the main thread. */
#ifndef PROTECT_INTERNAL_H
#define PROTECT_INTERNAL_H

#include <sys/stat.h>

#include "crypt_assoc.h"
#include "protect.h"
#include "roced.h"
#include "worker_crypt.h"
#include "wire_addr.h"

#define PROTECT_RENEW_NS 30000000000ull /* that peers have for their new proofs */
#define PROTECT_ASSOCS WORKER_PAIRS
#define PROTECT_RX     (CRYPT_MSG_LANES * 24u) /* receiving SAs of one: so many generations are drained at most */

/* A receiving SA, as the main thread remembers it. The SA itself is its worker's. */
struct rx_note {
	uint32_t spi;
	uint32_t worker;
	const struct crypt_rx_sa *sa;
	bool seen;
	uint64_t packets;
};

struct association {
	struct protect *protect;
	struct crypt_assoc *assoc;
	struct port *port;                  /* where local is */
	uint32_t device;
	struct wire_addr local, peer;
	char text[WIRE_ADDR_TEXT_BYTES];    /* the peer's address */
	const char *names[CONFIG_MAX_NAMES];
	const struct config_protect *policy;
	bool started;
	uint64_t next_ns;
	uint64_t used_ns;                   /* when something was last to be sent or came */
	uint64_t heard_ns;                  /* when a good packet last came, as far as was looked */
	bool unanswered;                    /* a handshake or a rekey was given up */
	uint64_t renew_ns;                  /* keys that are older are of proofs of before: PROTECT_RENEW_NS later they go; 0: none are */
	struct protect_counts past;         /* of SAs that are gone */
	struct protect_counts told;         /* what alarms know of */
	uint32_t n_rx;
	struct rx_note rx[PROTECT_RX];
	const struct crypt_tx_sa *tx[VD_MAX_WORKERS];
};

/* Which file it was: when it is another one, or was written since, something here differs. */
struct protect_stamp {
	dev_t dev;
	ino_t ino;
	off_t bytes;
	struct timespec changed;
};

/* What a configuration says of proofs and ciphers. */
struct protect_set {
	struct crypt_cred *cred;
	struct protect_stamp stamps[4];     /* of psk_file, cert_file, key_file and ca_file */
	uint8_t suites[CRYPT_SUITES];       /* that all workers know, the best one first */
	uint8_t n_suites;
};

struct protect {
	struct roced *roced;
	struct protect_set set;
	struct crypt_gate *gate;
	uint64_t look_ns;
	bool emitting;                      /* what is sent for an association needs none */
	uint64_t drops[BASE_DROP_COUNT];    /* of all workers, what alarms know of */
	uint32_t n;
	struct association *assocs[PROTECT_ASSOCS];
};

/* ---- protect.c ---- */
/* Association number i goes, with its keys; the last one takes its number. */
void protect_drop(struct protect *p, uint32_t i);
/* What its policy says. roced->config is what counts. */
void protect_make_config(struct association *a, struct crypt_assoc_config *out);
/* Begins anew, without keys. */
void protect_restart(struct association *a, uint64_t now_ns);

/* ---- protect_start.c ---- */
#define PROTECT_WHY 512
/* Reads files and chooses suites, by what the workers' ciphers know: crypts, one of each. 0 or -EINVAL, and why. */
int protect_set_load(const struct config *config, struct worker_crypt *const *crypts, struct protect_set *set, char why[PROTECT_WHY]);
void protect_set_free(struct protect_set *set);
/* For a daemon that has none; takes over *set. NULL: no memory, and the set is the caller's still. */
struct protect *protect_new(struct roced *roced, const struct protect_set *set);
void protect_free(struct protect *p);
/* The files that are there now. */
void protect_stamp(const struct config_protection *config, struct protect_stamp stamps[4]);

/* ---- protect_keys.c: orders to workers, and datagrams ---- */
extern const struct crypt_assoc_ops protect_ops;
/* The worker's entry of a pair of addresses without keys goes. */
void protect_forget(struct worker *worker, const struct wire_addr *local, const struct wire_addr *peer);

/* ---- protect_watch.c: what is counted, and what alarms are made of ---- */
/* What workers have counted. They write it while it is read, a number at a time. */
void protect_look(struct association *a, uint64_t now_ns);
/* What they have dropped of nobody's. */
void protect_look_drops(struct protect *p, uint64_t now_ns);
void protect_counts(const struct association *a, struct protect_counts *counts);
void protect_add_tx(struct protect_counts *counts, const struct crypt_tx_sa *sa);
void protect_add_rx(struct protect_counts *counts, const struct crypt_rx_sa *sa);
/* For people: of an association, to the log and the alarms. */
void protect_say(void *ctx, enum crypt_event event, const char *text);
/* There is no room for one more. */
void protect_say_full(struct protect *p, const char *peer);

#endif
