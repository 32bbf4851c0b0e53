/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_protect.h"

#include <string.h>

#include "crypt_burst.h"

#define UDP_BYTES 8u
#define SPORT     0u
#define DPORT     2u
#define LENGTH    4u
#define CHECKSUM  6u

static enum base_drop check(struct rte_mbuf *m, const struct wire_udp_at *at, struct crypt_tx_sa *sa)
{
	/* Padding behind the packet would have to go before the ICV comes: what we send has none. */
	if (at->end != m->pkt_len)
		return BASE_DROP_IP_LENGTH;
	/* Attached memory may be what a client wants to send again. */
	if (!crypt_burst_may_write(m, false))
		return BASE_DROP_SHARED;
	if (m->pkt_len + WIRE_PSP_OVERHEAD > UINT16_MAX || rte_pktmbuf_headroom(m) < WIRE_PSP_PUSH ||
		rte_pktmbuf_tailroom(rte_pktmbuf_lastseg(m)) < WIRE_PSP_ICV_BYTES)
		return BASE_DROP_NO_ROOM;
	if (crypt_tx_sa_spent(sa)) {
		sa->refused++;
		return BASE_DROP_SA_SPENT;
	}
	return BASE_DROP_NONE;
}

static void write_headers(uint8_t *outer, const uint8_t *inner, uint16_t dport, uint32_t udp_bytes, const struct crypt_tx_sa *sa)
{
	const struct wire_psp psp = {.version = crypt_burst_version(sa->suite), .spi = sa->spi, .number = sa->next};

	/* The source port is the packet's own: it is the entropy of its path. */
	memcpy(outer + SPORT, inner + SPORT, 2);
	outer[DPORT] = (uint8_t)(dport >> 8);
	outer[DPORT + 1] = (uint8_t)dport;
	outer[LENGTH] = (uint8_t)(udp_bytes >> 8);
	outer[LENGTH + 1] = (uint8_t)udp_bytes;
	memset(outer + CHECKSUM, 0, 2);
	wire_psp_write(outer + UDP_BYTES, &psp);
}

static enum base_drop prepare(struct crypt_worker *worker, struct rte_mbuf *m, struct crypt_tx_sa *sa, uint8_t i)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *), *icv;
	struct wire_udp_at at;
	enum base_drop reason = wire_udp_find(frame, m->data_len, m->pkt_len, &at);
	struct crypt_job *job;
	uint32_t text;
	uint16_t n_segs;

	if (reason == BASE_DROP_NONE)
		reason = check(m, &at, sa);
	if (reason != BASE_DROP_NONE)
		return reason;
	text = (uint32_t)(at.end - at.l4);
	n_segs = crypt_burst_segs(worker->segs[i], m, at.l4, text);
	if (n_segs == 0)
		return BASE_DROP_NO_ROOM;
	icv = (uint8_t *)rte_pktmbuf_append(m, WIRE_PSP_ICV_BYTES);
	frame = (uint8_t *)rte_pktmbuf_prepend(m, WIRE_PSP_PUSH);
	memmove(frame, frame + WIRE_PSP_PUSH, at.l4);
	wire_udp_resize(frame + at.l3, at.version, WIRE_PSP_OVERHEAD);
	write_headers(frame + at.l4, frame + at.l4 + WIRE_PSP_PUSH, (uint16_t)(worker->port + sa->lane), text + WIRE_PSP_OVERHEAD,
		sa);
	job = crypt_burst_add(worker, sa->key, &sa->mark, i);
	*job = (struct crypt_job){
		.key = sa->key,
		.segs = worker->segs[i],
		.n_segs = n_segs,
		.aad = frame + at.l4 + UDP_BYTES,
		.aad_bytes = WIRE_PSP_BYTES,
		.tag = icv,
	};
	/* A number is used up here, whatever becomes of its packet. */
	crypt_nonce(sa->spi, sa->next++, job->nonce);
	sa->bytes += text;
	return BASE_DROP_NONE;
}

unsigned int crypt_protect(struct crypt_worker *worker, struct rte_mbuf **pkts, struct crypt_tx_sa **sas, unsigned int n,
	enum base_drop *reasons)
{
	struct crypt_job *jobs;
	unsigned int good = 0;

	crypt_burst_begin(worker);
	for (unsigned int i = 0; i < n; i++) {
		reasons[i] = sas[i] != NULL ? prepare(worker, pkts[i], sas[i], (uint8_t)i) : BASE_DROP_NONE;
		good += reasons[i] == BASE_DROP_NONE;
	}
	if (worker->n_jobs == 0)
		return good;
	jobs = crypt_burst_sort(worker);
	if (worker->cipher->seal(worker->cipher_ctx, jobs, worker->n_jobs) == worker->n_jobs)
		return good;
	for (unsigned int j = 0; j < worker->n_jobs; j++) {
		if (jobs[j].status != 0) {
			reasons[worker->order[j]] = BASE_DROP_CRYPTO;
			good--;
		}
	}
	return good;
}
