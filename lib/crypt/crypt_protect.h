/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bursts of frames to protected frames and back, in place (docs/wire.md). Transport mode: UDP and PSP headers go between a
 * packet's IP header and its own UDP header, which is ciphered with all behind it. Link addresses, VLAN, IP addresses,
 * traffic class and hop limit stay as they are, so switches on the way may change what they do. One worker; no memory is taken.
 */
#ifndef CRYPT_PROTECT_H
#define CRYPT_PROTECT_H

#include <rte_mbuf.h>

#include "base_drop.h"
#include "crypt_sa.h"
#include "crypt_table.h"
#include "wire_psp.h"

#define CRYPT_BURST    64u
#define CRYPT_MAX_SEGS 8u   /* of one mbuf */

/* What a worker needs to protect; its memory is the caller's. All fields of the first part are set before use. */
struct crypt_worker {
	const struct crypt_cipher *cipher;
	void *cipher_ctx;
	uint16_t port;          /* UDP destination port of lane 0; lane l has the l-th after it */
	struct crypt_table *table; /* of receiving SAs */

	/* The burst at hand: jobs in the order of packets, then with those of one key together. */
	uint8_t n_jobs, n_groups, n_runs;
	uint8_t order[CRYPT_BURST];      /* job to packet */
	uint8_t group_of[CRYPT_BURST], group_jobs[CRYPT_BURST];
	const struct crypt_key *groups[CRYPT_BURST];
	struct crypt_job jobs[CRYPT_BURST], sorted[CRYPT_BURST];
	struct crypt_seg segs[CRYPT_BURST][CRYPT_MAX_SEGS];
	uint8_t tags[CRYPT_BURST][CRYPT_TAG_BYTES];
	struct wire_udp_at at[CRYPT_BURST]; /* of packets that are opened */
};

/*
 * Protects n packets, at most CRYPT_BURST; sas[i] is packet i's SA, of this worker's lane, or NULL: it is not protected and
 * stays as it is. reasons[i] becomes BASE_DROP_NONE, or why the packet must be dropped: NO_ROOM (headroom, tailroom of its last
 * segment, more than CRYPT_MAX_SEGS, or no room in the length fields), IP_LENGTH (also for padding behind the packet), SHARED (a segment
 * has another holder, or stands for memory that is not the mbuf's own: it is not ciphered in place), SA_SPENT, or what wire_udp_find()
 * says: the packet is as it was then; CRYPTO: its bytes have no meaning. The first segment has the headers up to the UDP header.
 * No checksum may be left to the port (no RTE_MBUF_F_TX_* of IP or UDP). Returns how many are to be sent.
 */
unsigned int crypt_protect(struct crypt_worker *worker, struct rte_mbuf **pkts, struct crypt_tx_sa **sas, unsigned int n,
	enum base_drop *reasons);

/*
 * The reverse, of n packets that crypt_is_protected() says are protected. reasons[i] becomes BASE_DROP_NONE and the packet
 * is what the peer protected, with the outer one's traffic class and hop limit; or why not. sas[i] is the SA that its
 * SPI names, NULL: none. A number is accepted only once its packet has proved to be right. Segments may end anywhere behind the PSP
 * header; those that held nothing but the ICV go back to their pool. Returns how many are good.
 */
unsigned int crypt_unprotect(struct crypt_worker *worker, struct rte_mbuf **pkts, struct crypt_rx_sa **sas, unsigned int n,
	enum base_drop *reasons);

/* Whether a frame of which n bytes are at hand goes to the UDP port of a lane, of n_lanes from base on; *lane is which. */
bool crypt_is_protected(const uint8_t *frame, size_t n, uint16_t base, uint16_t n_lanes, uint16_t *lane);

#endif
