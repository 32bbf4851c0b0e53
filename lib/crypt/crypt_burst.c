/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_burst.h"

#include <string.h>

void crypt_burst_begin(struct crypt_worker *worker)
{
	worker->n_jobs = 0;
	worker->n_groups = 0;
	worker->n_runs = 0;
}

struct crypt_job *crypt_burst_add(struct crypt_worker *worker, const struct crypt_key *key, uint8_t *mark, uint8_t i)
{
	uint8_t n = worker->n_jobs++;

	/* The mark is of this burst if the group it names has this key: nothing needs to be cleared between bursts. */
	if (*mark >= worker->n_groups || worker->groups[*mark] != key) {
		*mark = worker->n_groups++;
		worker->groups[*mark] = key;
		worker->group_jobs[*mark] = 0;
	}
	worker->group_jobs[*mark]++;
	if (n == 0 || worker->group_of[n - 1] != *mark)
		worker->n_runs++;
	worker->group_of[n] = *mark;
	worker->order[n] = i;
	return &worker->jobs[n];
}

/* Counting sort by group. */
struct crypt_job *crypt_burst_sort(struct crypt_worker *worker)
{
	uint8_t order[CRYPT_BURST], next[CRYPT_BURST], at = 0;

	if (worker->n_runs == worker->n_groups)
		return worker->jobs;
	for (uint8_t g = 0; g < worker->n_groups; g++) {
		next[g] = at;
		at = (uint8_t)(at + worker->group_jobs[g]);
	}
	for (uint8_t j = 0; j < worker->n_jobs; j++) {
		uint8_t to = next[worker->group_of[j]]++;

		worker->sorted[to] = worker->jobs[j];
		order[to] = worker->order[j];
	}
	memcpy(worker->order, order, worker->n_jobs);
	return worker->sorted;
}

uint16_t crypt_burst_segs(struct crypt_seg segs[CRYPT_MAX_SEGS], struct rte_mbuf *m, uint32_t from, uint32_t bytes)
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

bool crypt_burst_may_write(const struct rte_mbuf *m, bool attached)
{
	for (; m != NULL; m = m->next) {
		if (rte_mbuf_refcnt_read(m) != 1 || RTE_MBUF_CLONED(m))
			return false;
		if (RTE_MBUF_HAS_EXTBUF(m) &&
			(rte_mbuf_ext_refcnt_read(m->shinfo) != 1 || (!attached && !RTE_MBUF_HAS_PINNED_EXTBUF(m))))
			return false;
	}
	return true;
}

uint8_t crypt_burst_version(uint8_t suite)
{
	static const uint8_t versions[CRYPT_SUITES] = {
		[CRYPT_AES_128_GCM] = WIRE_PSP_AES_128_GCM,
		[CRYPT_AES_256_GCM] = WIRE_PSP_AES_256_GCM,
		[CRYPT_SM4_GCM] = WIRE_PSP_SM4_GCM,
	};

	return versions[suite];
}
