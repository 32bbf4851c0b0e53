/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Associations, in the main thread: with whom keys are agreed on, the datagrams for that, and orders to the workers. What is
 * said between the ends is lib/crypt's (crypt_assoc.h).
 */
#ifndef PROTECT_H
#define PROTECT_H

#include "config.h"
#include "port.h"
#include "wire_frame.h"

struct roced;
struct protect;
struct rte_mbuf;

/* ---- for all threads ---- */

/* Devices that have that address on the port, a bit each; 0: none. */
uint32_t protect_devices(const struct port *port, const struct wire_addr *local);
/* What is said of a peer of one of those devices; NULL: nothing. */
const struct config_protect *protect_policy(const struct config_protection *config, uint32_t devices, const struct wire_addr *peer);

/* ---- in the main thread ---- */

/* Reads keys and certificates; the workers are there and do not run yet. 0; -EINVAL, told to the log. */
int protect_init(struct roced *roced);
/* The workers do not run any more. */
void protect_fini(struct roced *roced);

/* Something is to be sent to that address, which is not our own: keys are agreed on if they are to be. */
void protect_need(struct roced *roced, struct port *port, uint32_t device, const struct wire_addr *local, const struct wire_addr *peer);
/* A frame to the control port, or one whose SPI nobody knows (WIRE_KIND_PSP). */
void protect_rx(struct roced *roced, struct rte_mbuf *m);
/* Does what is due; when to call again. */
uint64_t protect_tick(struct roced *roced, uint64_t now_ns);

/* ---- protect_tell.c ---- */

/* What SAs have counted. */
struct protect_counts {
	uint64_t tx_packets, tx_bytes, rx_packets, rx_bytes, wrong_tags, replayed, too_old;
};

/* An association as people are told of it; never a key. */
struct protect_told {
	struct wire_addr local, peer;
	char device[CONFIG_NAME_BYTES];
	const char *state, *suite, *method; /* "": there are no keys */
	uint64_t tx_epoch, rx_epoch, tx_spi, rx_spi, lanes, peer_lanes, age_s;
	struct protect_counts counts;
	uint64_t handshakes, rekeys, refused, ignored;
	char why[128];             /* there are none; "": not known */
};

/* Those from number `from` on, most at most. Returns how many; *all becomes how many there are. */
uint32_t protect_tell(struct roced *roced, uint32_t from, struct protect_told *told, uint32_t most, uint32_t *all);

struct protect_rekeyed {
	uint64_t started, under_way, without_keys;
};

/* New keys now, with that peer, or with all (NULL). */
void protect_rekey(struct roced *roced, const struct wire_addr *peer, struct protect_rekeyed *result);

#endif
