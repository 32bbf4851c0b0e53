/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a worker knows of protection: its sending keys by pair of addresses, its receiving ones by SPI, and what may go plain. All
 * of it is the worker's own; the main thread changes it by worker_call().
 */
#ifndef WORKER_CRYPT_H
#define WORKER_CRYPT_H

#include "crypt_pairs.h"
#include "crypt_protect.h"
#include "worker.h"

#define WORKER_PAIRS   512u /* of addresses */
#define WORKER_RX_SAS  4096u

struct worker_crypt {
	struct crypt_worker crypt;
	struct crypt_pairs *pairs;
	uint64_t told_unknown_ns;
};

/* That of the worker with that index; NULL: told to the log, or no memory. */
struct worker_crypt *worker_crypt_new(const struct config *config, uint32_t index);
/* NULL is fine. */
void worker_crypt_free(struct worker_crypt *wc);
/* Nothing, if no peer is to be protected. 0 or -EINVAL. */
int worker_crypt_init(struct worker *worker);
void worker_crypt_fini(struct worker *worker);

/* ---- in the worker ---- */

/* Whether nothing plain is taken from that address, or sent to it, by the device that local is of; a group is of all devices. */
bool worker_crypt_required(const struct worker *worker, const struct port *port, const struct wire_addr *local,
	const struct wire_addr *peer);

#endif
