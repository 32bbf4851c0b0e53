/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_protect.h"

#include <errno.h>
#include <string.h>

#define UDP_BYTES 8u
#define SPORT     0u
#define DPORT     2u
#define LENGTH    4u

static const uint8_t version_of[CRYPT_SUITES] = {
	[CRYPT_AES_128_GCM] = WIRE_PSP_AES_128_GCM,
	[CRYPT_AES_256_GCM] = WIRE_PSP_AES_256_GCM,
	[CRYPT_SM4_GCM] = WIRE_PSP_SM4_GCM,
};

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

/* ---- bursts ---- */

/* Job number `at` is of packet i: jobs are kept in the order of their keys, and packets of one key in theirs. */
static struct crypt_job *insert(struct crypt_worker *worker, unsigned int n_jobs, const struct crypt_key *key, uint8_t i)
{
	unsigned int at = n_jobs;

	while (at > 0 && (uintptr_t)worker->jobs[at - 1].key > (uintptr_t)key) {
		worker->jobs[at] = worker->jobs[at - 1];
		worker->order[at] = worker->order[at - 1];
		at--;
	}
	worker->order[at] = i;
	return &worker->jobs[at];
}

/* From `from` on and for `bytes`, as segments. How many; 0: more than CRYPT_MAX_SEGS, or fewer bytes. */
static uint16_t list_segs(struct crypt_seg segs[CRYPT_MAX_SEGS], struct rte_mbuf *m, uint32_t from, uint32_t bytes)
{
	uint16_t n = 0;

	for (; m != NULL && bytes != 0; m = m->next) {
		uint32_t here;

		if (from >= m->data_len) {
			from -= m->data_len;
			continue;
		}
		if (n == CRYPT_MAX_SEGS)
			return 0;
		here = RTE_MIN((uint32_t)m->data_len - from, bytes);
		segs[n++] = (struct crypt_seg){rte_pktmbuf_mtod_offset(m, uint8_t *, from), here};
		bytes -= here;
		from = 0;
	}
	return bytes == 0 ? n : 0;
}

/* ---- to protected ---- */

static void write_headers(uint8_t *outer, const uint8_t *inner, uint16_t dport, uint32_t udp_bytes, const struct crypt_tx_sa *sa)
{
	const struct wire_psp psp = {.version = version_of[sa->suite], .spi = sa->spi, .number = sa->next};

	/* The source port is the packet's own: it is the entropy of its path. */
	memcpy(outer + SPORT, inner + SPORT, 2);
	put16(outer + DPORT, dport);
	put16(outer + LENGTH, udp_bytes);
	put16(outer + 6, 0);
	wire_psp_write(outer + UDP_BYTES, &psp);
}

static enum base_drop prepare(struct crypt_worker *worker, struct rte_mbuf *m, struct crypt_tx_sa *sa, unsigned int n_jobs,
	uint8_t i)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *), *icv;
	struct wire_udp_at at;
	enum base_drop reason = wire_udp_find(frame, m->data_len, m->pkt_len, &at);
	struct crypt_job *job;
	uint32_t text;
	uint16_t n_segs;

	if (reason != BASE_DROP_NONE)
		return reason;
	if (crypt_tx_sa_spent(sa)) {
		sa->refused++;
		return BASE_DROP_SA_SPENT;
	}
	text = (uint32_t)(at.end - at.l4);
	n_segs = list_segs(worker->segs[i], m, at.l4, text);
	/* Padding behind the packet would have to go before the ICV comes: what we send has none. */
	if (n_segs == 0 || at.end != m->pkt_len || rte_pktmbuf_headroom(m) < WIRE_PSP_PUSH)
		return BASE_DROP_NO_ROOM;
	icv = (uint8_t *)rte_pktmbuf_append(m, WIRE_PSP_ICV_BYTES);
	if (icv == NULL)
		return BASE_DROP_NO_ROOM;
	frame = (uint8_t *)rte_pktmbuf_prepend(m, WIRE_PSP_PUSH);
	memmove(frame, frame + WIRE_PSP_PUSH, at.l4);
	wire_udp_resize(frame + at.l3, at.version, WIRE_PSP_OVERHEAD);
	write_headers(frame + at.l4, frame + at.l4 + WIRE_PSP_PUSH, (uint16_t)(worker->port + sa->lane), text + WIRE_PSP_OVERHEAD,
		sa);
	job = insert(worker, n_jobs, sa->key, i);
	*job = (struct crypt_job){
		.key = sa->key,
		.segs = worker->segs[i],
		.n_segs = n_segs,
		.aad = frame + at.l4 + UDP_BYTES,
		.aad_bytes = WIRE_PSP_BYTES,
		.tag = icv,
	};
	crypt_nonce(sa->spi, sa->next++, job->nonce);
	sa->bytes += text;
	return BASE_DROP_NONE;
}

unsigned int crypt_protect(struct crypt_worker *worker, struct rte_mbuf **pkts, struct crypt_tx_sa **sas, unsigned int n,
	enum base_drop *reasons)
{
	unsigned int n_jobs = 0, good = 0;

	for (unsigned int i = 0; i < n; i++) {
		reasons[i] = sas[i] != NULL ? prepare(worker, pkts[i], sas[i], n_jobs, (uint8_t)i) : BASE_DROP_NONE;
		n_jobs += sas[i] != NULL && reasons[i] == BASE_DROP_NONE;
		good += reasons[i] == BASE_DROP_NONE;
	}
	if (n_jobs == 0 || worker->cipher->seal(worker->cipher_ctx, worker->jobs, n_jobs) == n_jobs)
		return good;
	for (unsigned int j = 0; j < n_jobs; j++) {
		if (worker->jobs[j].status != 0) {
			reasons[worker->order[j]] = BASE_DROP_CRYPTO;
			good--;
		}
	}
	return good;
}

/* ---- and back ---- */

static enum base_drop verdict_drop(struct crypt_rx_sa *sa, enum crypt_replay_verdict verdict)
{
	if (verdict == CRYPT_REPLAY_AGAIN) {
		sa->replayed++;
		return BASE_DROP_REPLAYED;
	}
	if (verdict == CRYPT_REPLAY_OLD) {
		sa->too_old++;
		return BASE_DROP_TOO_OLD;
	}
	return BASE_DROP_NONE;
}

static enum base_drop read_one(struct crypt_worker *worker, struct rte_mbuf *m, unsigned int n_jobs, uint8_t i,
	struct crypt_rx_sa **found)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct wire_udp_at at;
	enum base_drop reason = wire_udp_find(frame, m->data_len, m->pkt_len, &at);
	struct crypt_rx_sa *sa;
	struct crypt_job *job;
	struct wire_psp psp;
	const void *icv;
	uint32_t text;
	uint16_t n_segs;

	*found = NULL;
	if (reason != BASE_DROP_NONE)
		return reason;
	/* At least a UDP header is protected, and the PSP header is at hand. */
	if (at.end - at.l4 < (int)(UDP_BYTES + WIRE_PSP_OVERHEAD) || m->data_len < at.l4 + WIRE_PSP_PUSH)
		return BASE_DROP_TRUNCATED;
	if (!wire_psp_read(frame + at.l4 + UDP_BYTES, &psp))
		return BASE_DROP_PSP_HEADER;
	*found = sa = crypt_table_find(worker->table, psp.spi);
	if (sa == NULL)
		return BASE_DROP_UNKNOWN_SPI;
	if (psp.version != version_of[sa->suite])
		return BASE_DROP_PSP_HEADER;
	reason = verdict_drop(sa, crypt_replay_check(&sa->replay, psp.number));
	if (reason != BASE_DROP_NONE)
		return reason;
	text = (uint32_t)(at.end - at.l4) - WIRE_PSP_OVERHEAD;
	n_segs = list_segs(worker->segs[i], m, at.l4 + WIRE_PSP_PUSH, text);
	if (n_segs == 0)
		return BASE_DROP_NO_ROOM;
	job = insert(worker, n_jobs, sa->key, i);
	*job = (struct crypt_job){
		.key = sa->key,
		.segs = worker->segs[i],
		.n_segs = n_segs,
		.aad = frame + at.l4 + UDP_BYTES,
		.aad_bytes = WIRE_PSP_BYTES,
		.tag = worker->tags[i],
	};
	crypt_nonce(psp.spi, psp.number, job->nonce);
	/* Cut into segments or not, the tag is one piece for the backend. */
	icv = rte_pktmbuf_read(m, at.end - WIRE_PSP_ICV_BYTES, WIRE_PSP_ICV_BYTES, worker->tags[i]);
	if (icv != worker->tags[i])
		memcpy(worker->tags[i], icv, WIRE_PSP_ICV_BYTES);
	return BASE_DROP_NONE;
}

static uint64_t number_of(const struct crypt_job *job)
{
	uint64_t number;

	memcpy(&number, job->nonce + 4, sizeof(number));
	return __builtin_bswap64(number);
}

/* Takes the headers and the ICV off. */
static void strip(struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *);
	struct wire_udp_at at;

	/* It was found before. */
	(void)wire_udp_find(frame, m->data_len, m->pkt_len, &at);
	wire_udp_resize(frame + at.l3, at.version, -(int)WIRE_PSP_OVERHEAD);
	memmove(frame + WIRE_PSP_PUSH, frame, at.l4);
	(void)rte_pktmbuf_trim(m, (uint16_t)(m->pkt_len - at.end + WIRE_PSP_ICV_BYTES));
	(void)rte_pktmbuf_adj(m, WIRE_PSP_PUSH);
}

static enum base_drop finish(const struct crypt_job *job, struct rte_mbuf *m, struct crypt_rx_sa *sa)
{
	enum base_drop reason;

	if (job->status != 0) {
		sa->wrong_tags += job->status == -EBADMSG;
		return job->status == -EBADMSG ? BASE_DROP_WRONG_TAG : BASE_DROP_CRYPTO;
	}
	/* Its like may be in the same burst. */
	reason = verdict_drop(sa, crypt_replay_check(&sa->replay, number_of(job)));
	if (reason != BASE_DROP_NONE)
		return reason;
	crypt_replay_accept(&sa->replay, number_of(job));
	sa->packets++;
	strip(m);
	sa->bytes += m->pkt_len;
	return BASE_DROP_NONE;
}

unsigned int crypt_unprotect(struct crypt_worker *worker, struct rte_mbuf **pkts, struct crypt_rx_sa **sas, unsigned int n,
	enum base_drop *reasons)
{
	unsigned int n_jobs = 0, good = 0;

	for (unsigned int i = 0; i < n; i++) {
		reasons[i] = read_one(worker, pkts[i], n_jobs, (uint8_t)i, &sas[i]);
		n_jobs += reasons[i] == BASE_DROP_NONE;
	}
	if (n_jobs == 0)
		return 0;
	(void)worker->cipher->open(worker->cipher_ctx, worker->jobs, n_jobs);
	for (unsigned int j = 0; j < n_jobs; j++) {
		unsigned int i = worker->order[j];

		reasons[i] = finish(&worker->jobs[j], pkts[i], sas[i]);
		good += reasons[i] == BASE_DROP_NONE;
	}
	return good;
}

bool crypt_is_protected(const uint8_t *frame, size_t n, uint16_t base, uint16_t n_lanes, uint16_t *lane)
{
	size_t l3 = n >= 18 && get16(frame + 12) == 0x8100 ? 18 : 14, l4 = 0;

	if (n >= l3 + 28 && get16(frame + l3 - 2) == 0x0800 && frame[l3] == 0x45 && frame[l3 + 9] == 17)
		l4 = l3 + 20;
	else if (n >= l3 + 48 && get16(frame + l3 - 2) == 0x86dd && frame[l3 + 6] == 17)
		l4 = l3 + 40;
	if (l4 == 0)
		return false;
	*lane = (uint16_t)(get16(frame + l4 + DPORT) - base);
	return *lane < n_lanes;
}
