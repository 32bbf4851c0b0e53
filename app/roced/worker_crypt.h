/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a worker knows of protection: its sending keys by pair of addresses, its receiving ones by SPI, and what may go plain. All
 * of it is the worker's own; the main thread changes it by worker_call().
 */
#ifndef WORKER_CRYPT_H
#define WORKER_CRYPT_H

#include "crypt_protect.h"
#include "worker.h"

#define WORKER_PAIRS   1024u /* of addresses, a power of two; half of it is used at most */
#define WORKER_RX_SAS  4096u

/* A pair of addresses for which there is a policy. */
struct worker_pair {
	bool used, required;
	struct wire_addr local, peer;
	struct crypt_tx_sa *tx;      /* NULL: no keys */
};

struct worker_crypt {
	struct crypt_worker crypt;
	uint32_t n_pairs;
	struct worker_pair pairs[WORKER_PAIRS];
	uint64_t told_unknown_ns;
};

/* Nothing, if no peer is to be protected. 0 or -ENOMEM. */
int worker_crypt_init(struct worker *worker);
void worker_crypt_fini(struct worker *worker);

/* ---- in the worker ---- */

/* The pair, made if it is not there. NULL: there are too many. */
struct worker_pair *worker_crypt_pair(struct worker_crypt *wc, const struct wire_addr *local, const struct wire_addr *peer,
	bool make);
/* The pair goes, and its key. */
void worker_crypt_forget(struct worker_crypt *wc, const struct wire_addr *local, const struct wire_addr *peer);
/* Whether nothing plain is taken from that address, or sent to it, by the device that local is of; a group is of all devices. */
bool worker_crypt_required(const struct worker *worker, const struct port *port, const struct wire_addr *local,
	const struct wire_addr *peer);

#endif
