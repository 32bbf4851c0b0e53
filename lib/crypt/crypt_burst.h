/* SPDX-License-Identifier: BSD-3-Clause */
/* Internal to lib/crypt: what protecting a burst and taking the protection off have in common. */
#ifndef CRYPT_BURST_H
#define CRYPT_BURST_H

#include "crypt_protect.h"

/* Begins a burst: it has no jobs yet. */
void crypt_burst_begin(struct crypt_worker *worker);

/*
 * The next job, of packet i and of key; *mark is a byte of its SA that only this uses. Jobs keep the order of packets. Its segments are
 * worker->segs[i].
 */
struct crypt_job *crypt_burst_add(struct crypt_worker *worker, const struct crypt_key *key, uint8_t *mark, uint8_t i);

/* The jobs with those of one key together and in the order of their packets; worker->order says which packet each is of. */
struct crypt_job *crypt_burst_sort(struct crypt_worker *worker);

/* Bytes from `from` on as segments; how many. 0: more than CRYPT_MAX_SEGS, or the packet has fewer bytes. */
uint16_t crypt_burst_segs(struct crypt_seg segs[CRYPT_MAX_SEGS], struct rte_mbuf *m, uint32_t from, uint32_t bytes);

/*
 * Whether all segments, and the memory that they stand for, have no other holder, so that ciphering in place ruins nobody's packet.
 * attached: memory that is not of the mbuf's pool will do.
 */
bool crypt_burst_may_write(const struct rte_mbuf *m, bool attached);

/* The wire's version of a suite. */
uint8_t crypt_burst_version(uint8_t suite);

#endif
