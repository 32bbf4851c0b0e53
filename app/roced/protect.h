/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Associations, in the main thread: with whom keys are agreed on, the datagrams for that, and orders to the workers. What is
 * said between the ends is lib/crypt's (crypt_assoc.h).
 */
#ifndef PROTECT_H
#define PROTECT_H

#include "config.h"
#include "wire_frame.h"

struct roced;
struct protect;
struct rte_mbuf;

/* What is said of an address; NULL: nothing. */
const struct config_protect *protect_policy(const struct config_protection *config, const struct wire_addr *peer);

/* Reads keys and certificates. 0; -EINVAL, told to the log. */
int protect_init(struct roced *roced);
/* The workers do not run any more. */
void protect_fini(struct roced *roced);

/* Something is to be sent to that address: keys are agreed on if they are to be. */
void protect_need(struct roced *roced, uint32_t device, const struct wire_addr *local, const struct wire_addr *peer);
/* A frame to the control port, or one whose SPI nobody knows (WIRE_KIND_PSP). */
void protect_rx(struct roced *roced, struct rte_mbuf *m);
/* Does what is due; when to call again. */
uint64_t protect_tick(struct roced *roced, uint64_t now_ns);

#endif
