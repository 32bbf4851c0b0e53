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

#define CRYPT_MAX_LANES 64u
#define CRYPT_BURST    64u
#define CRYPT_MAX_SEGS 8u   /* of one mbuf */

/* What a worker needs to protect; its memory is the caller's. All fields of the first part are set before use. */
struct crypt_worker {
	const struct crypt_cipher *cipher;
	void *cipher_ctx;
	uint16_t port;          /* UDP destination port of lane 0; lane l has the l-th after it */
	struct crypt_table *table; /* of receiving SAs */

	struct crypt_job jobs[CRYPT_BURST];
	struct crypt_seg segs[CRYPT_BURST][CRYPT_MAX_SEGS];
	uint8_t order[CRYPT_BURST]; /* job to packet */
	uint8_t tags[CRYPT_BURST][CRYPT_TAG_BYTES];
};

/*
 * Protects n packets, at most CRYPT_BURST; sas[i] is packet i's SA, of this worker's lane, or NULL: it is not protected and
 * stays as it is. reasons[i] becomes BASE_DROP_NONE, or why the packet must be dropped (its bytes have no meaning then):
 * NO_ROOM (headroom, or tailroom of its last segment, or more than CRYPT_MAX_SEGS), SA_SPENT, CRYPTO, or what
 * wire_udp_find() says. Headers and nothing else must be in the first segment at least as far as the UDP header; no segment
 * may be shared with anybody. Returns how many are to be sent.
 */
unsigned int crypt_protect(struct crypt_worker *worker, struct rte_mbuf **pkts, struct crypt_tx_sa **sas, unsigned int n,
	enum base_drop *reasons);

/*
 * The reverse, of n packets that crypt_is_protected() says are protected. reasons[i] becomes BASE_DROP_NONE and the packet
 * is what the peer protected, with the outer one's traffic class and hop limit; or why not. sas[i] is the SA that its
 * SPI names, NULL: none. A number is accepted only once its packet has proved to be right. Returns how many are good.
 */
unsigned int crypt_unprotect(struct crypt_worker *worker, struct rte_mbuf **pkts, struct crypt_rx_sa **sas, unsigned int n,
	enum base_drop *reasons);

/* Whether a frame of which n bytes are at hand goes to the UDP port of a lane, of n_lanes from base on; *lane is which. */
bool crypt_is_protected(const uint8_t *frame, size_t n, uint16_t base, uint16_t n_lanes, uint16_t *lane);

#endif
