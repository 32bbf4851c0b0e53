/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_protect.h"

#include <errno.h>
#include <string.h>

#include "crypt_burst.h"

#define UDP_BYTES 8u
#define NUMBER    4u /* of the packet, in a nonce */

static enum base_drop verdict_drop(struct crypt_rx_sa *sa, uint64_t number)
{
	switch (crypt_replay_check(&sa->replay, number)) {
	case CRYPT_REPLAY_AGAIN:
		sa->replayed++;
		return BASE_DROP_REPLAYED;
	case CRYPT_REPLAY_OLD:
		sa->too_old++;
		return BASE_DROP_TOO_OLD;
	case CRYPT_REPLAY_NEW:
	default:
		return BASE_DROP_NONE;
	}
}

/* Whom the SA is with: its key must not speak for other addresses (as RFC 4301, 5.2, asks of selectors). */
static bool is_of_peer(const struct crypt_rx_sa *sa, const uint8_t *ip, uint8_t version)
{
	if (sa->addr_bytes == 0)
		return true;
	if (sa->addr_bytes != (version == 6 ? 32u : 8u))
		return false;
	return memcmp(ip + (version == 6 ? 8u : 12u), sa->addrs, sa->addr_bytes) == 0;
}

/* All that can be said of a packet without its key. */
static enum base_drop look(const struct crypt_worker *worker, const struct rte_mbuf *m, struct wire_udp_at *at,
	struct wire_psp *psp, struct crypt_rx_sa **found)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	enum base_drop reason = wire_udp_find(frame, m->data_len, m->pkt_len, at);
	struct crypt_rx_sa *sa;

	if (reason != BASE_DROP_NONE)
		return reason;
	/* At least a UDP header is protected, and the PSP header is at hand. */
	if (at->end - at->l4 < (int)(UDP_BYTES + WIRE_PSP_OVERHEAD) || m->data_len < at->l4 + WIRE_PSP_PUSH)
		return BASE_DROP_TRUNCATED;
	if (!wire_psp_read(frame + at->l4 + UDP_BYTES, psp))
		return BASE_DROP_PSP_HEADER;
	*found = sa = crypt_table_find(worker->table, psp->spi);
	if (sa == NULL)
		return BASE_DROP_UNKNOWN_SPI;
	if (psp->version != crypt_burst_version(sa->suite))
		return BASE_DROP_PSP_HEADER;
	if (!is_of_peer(sa, frame + at->l3, at->version))
		return BASE_DROP_WRONG_PEER;
	return verdict_drop(sa, psp->number);
}

static enum base_drop prepare(struct crypt_worker *worker, struct rte_mbuf *m, uint8_t i, struct crypt_rx_sa **found)
{
	struct wire_udp_at *at = &worker->at[i];
	struct crypt_job *job;
	struct wire_psp psp;
	enum base_drop reason;
	const void *icv;
	uint16_t n_segs;

	*found = NULL;
	reason = look(worker, m, at, &psp, found);
	if (reason != BASE_DROP_NONE)
		return reason;
	/* A driver may attach memory of its own. */
	if (!crypt_burst_may_write(m, true))
		return BASE_DROP_SHARED;
	n_segs = crypt_burst_segs(worker->segs[i], m, at->l4 + WIRE_PSP_PUSH, (uint32_t)(at->end - at->l4) - WIRE_PSP_OVERHEAD);
	if (n_segs == 0)
		return BASE_DROP_NO_ROOM;
	job = crypt_burst_add(worker, (*found)->key, &(*found)->mark, i);
	*job = (struct crypt_job){
		.key = (*found)->key,
		.segs = worker->segs[i],
		.n_segs = n_segs,
		.aad = rte_pktmbuf_mtod_offset(m, const uint8_t *, at->l4 + UDP_BYTES),
		.aad_bytes = WIRE_PSP_BYTES,
		.tag = worker->tags[i],
	};
	crypt_nonce(psp.spi, psp.number, job->nonce);
	/* Cut into segments or not, the tag is one piece for the backend. */
	icv = rte_pktmbuf_read(m, at->end - WIRE_PSP_ICV_BYTES, WIRE_PSP_ICV_BYTES, worker->tags[i]);
	if (icv != worker->tags[i])
		memcpy(worker->tags[i], icv, WIRE_PSP_ICV_BYTES);
	return BASE_DROP_NONE;
}

static uint64_t number_of(const struct crypt_job *job)
{
	uint64_t number;

	memcpy(&number, job->nonce + NUMBER, sizeof(number));
	return __builtin_bswap64(number);
}

/* Keeps so many bytes; segments behind them go back to their pool. */
static void keep(struct rte_mbuf *m, uint32_t bytes)
{
	struct rte_mbuf *last = m, *next;

	m->pkt_len = bytes;
	while (bytes > last->data_len) {
		bytes -= last->data_len;
		last = last->next;
	}
	last->data_len = (uint16_t)bytes;
	next = last->next;
	last->next = NULL;
	while (next != NULL) {
		struct rte_mbuf *seg = next;

		next = seg->next;
		m->nb_segs--;
		rte_pktmbuf_free_seg(seg);
	}
}

/* Takes the headers and the ICV off, and padding behind it. */
static void strip(struct rte_mbuf *m, const struct wire_udp_at *at)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);

	wire_udp_resize(frame + at->l3, at->version, -(int)WIRE_PSP_OVERHEAD);
	memmove(frame + WIRE_PSP_PUSH, frame, at->l4);
	keep(m, at->end - WIRE_PSP_ICV_BYTES);
	(void)rte_pktmbuf_adj(m, WIRE_PSP_PUSH);
}

static enum base_drop finish(const struct crypt_job *job, struct rte_mbuf *m, const struct wire_udp_at *at, struct crypt_rx_sa *sa)
{
	enum base_drop reason;

	if (job->status != 0) {
		sa->wrong_tags += job->status == -EBADMSG;
		return job->status == -EBADMSG ? BASE_DROP_WRONG_TAG : BASE_DROP_CRYPTO;
	}
	/* Its like may be in the same burst. */
	reason = verdict_drop(sa, number_of(job));
	if (reason != BASE_DROP_NONE)
		return reason;
	crypt_replay_accept(&sa->replay, number_of(job));
	sa->packets++;
	strip(m, at);
	sa->bytes += m->pkt_len;
	return BASE_DROP_NONE;
}

unsigned int crypt_unprotect(struct crypt_worker *worker, struct rte_mbuf **pkts, struct crypt_rx_sa **sas, unsigned int n,
	enum base_drop *reasons)
{
	struct crypt_job *jobs;
	unsigned int good = 0;

	crypt_burst_begin(worker);
	for (unsigned int i = 0; i < n; i++)
		reasons[i] = prepare(worker, pkts[i], (uint8_t)i, &sas[i]);
	if (worker->n_jobs == 0)
		return 0;
	jobs = crypt_burst_sort(worker);
	(void)worker->cipher->open(worker->cipher_ctx, jobs, worker->n_jobs);
	for (unsigned int j = 0; j < worker->n_jobs; j++) {
		unsigned int i = worker->order[j];

		reasons[i] = finish(&jobs[j], pkts[i], &worker->at[i], sas[i]);
		good += reasons[i] == BASE_DROP_NONE;
	}
	return good;
}

bool crypt_is_protected(const uint8_t *frame, size_t n, uint16_t base, uint16_t n_lanes, uint16_t *lane)
{
	uint16_t port = wire_udp_dport(frame, n);

	*lane = (uint16_t)(port - base);
	return port != 0 && *lane < n_lanes;
}
