/* SPDX-License-Identifier: BSD-3-Clause */
/* A burst by a DPDK crypto device: on this CPU, or by its queue pair. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cryptodev.h>
#include <rte_cycles.h>
#include <rte_mbuf.h>

#include "crypt_cryptodev_internal.h"

#define QUEUE_PAIR 0
#define WAIT_MS    100u /* for a device that does not answer; it is given nothing more then, for it still has what it has */

static unsigned int count_good(const struct crypt_job *jobs, unsigned int n)
{
	unsigned int good = 0;

	for (unsigned int i = 0; i < n; i++)
		good += jobs[i].status == 0;
	return good;
}

/* ---- on this CPU ---- */

/* Drivers say it with either sign. */
static int16_t cpu_status(int32_t status)
{
	switch (abs(status)) {
	case 0:
		return 0;
	case EBADMSG:
		return -EBADMSG;
	case ENOTSUP:
		return -ENOTSUP;
	default:
		return -EIO;
	}
}

unsigned int cryptodev_run_cpu(struct cryptodev_ctx *dev, struct crypt_job *jobs, unsigned int n, int sealing)
{
	struct rte_crypto_va_iova_ptr iv[CRYPTODEV_BURST] = {0}, digest[CRYPTODEV_BURST] = {0}, aad[CRYPTODEV_BURST] = {0};
	struct rte_crypto_vec parts[CRYPTODEV_BURST][CRYPT_CRYPTODEV_SEGS];
	struct rte_crypto_sgl sgl[CRYPTODEV_BURST];
	int32_t status[CRYPTODEV_BURST];
	struct rte_crypto_sym_vec vec = {.num = n, .src_sgl = sgl, .iv = iv, .digest = digest, .aad = aad, .status = status};
	const union rte_crypto_sym_ofs none = {.raw = 0};
	uint8_t aads[CRYPTODEV_BURST][CRYPT_CRYPTODEV_AAD];

	for (unsigned int i = 0; i < n; i++) {
		for (uint16_t s = 0; s < jobs[i].n_segs; s++)
			parts[i][s] = (struct rte_crypto_vec){.base = jobs[i].segs[s].data, .len = jobs[i].segs[s].bytes,
				.tot_len = jobs[i].segs[s].bytes};
		sgl[i] = (struct rte_crypto_sgl){.vec = parts[i], .num = jobs[i].n_segs};
		memcpy(aads[i], jobs[i].aad, CRYPT_CRYPTODEV_AAD);
		iv[i].va = jobs[i].nonce;
		digest[i].va = jobs[i].tag;
		aad[i].va = aads[i];
		status[i] = EIO;
	}
	(void)rte_cryptodev_sym_cpu_crypto_process(dev->id, sealing ? jobs[0].key->seal : jobs[0].key->open, none, &vec);
	for (unsigned int i = 0; i < n; i++)
		jobs[i].status = cpu_status(status[i]);
	return count_good(jobs, n);
}

/* ---- by its queue pair ---- */

/* An mbuf around memory that is not its own. */
static struct rte_mbuf *shell(struct cryptodev_ctx *dev, void *data, uint32_t bytes)
{
	struct rte_mbuf *m = bytes <= UINT16_MAX ? rte_pktmbuf_alloc(dev->mbufs) : NULL;

	if (m == NULL)
		return NULL;
	m->buf_addr = data;
	rte_mbuf_iova_set(m, rte_mem_virt2iova(data));
	m->buf_len = (uint16_t)bytes;
	m->data_off = 0;
	m->data_len = (uint16_t)bytes;
	m->pkt_len = bytes;
	return m;
}

/* The job's segments as a chain. NULL: there are no mbufs left, or a segment is too long for one. */
static struct rte_mbuf *chain_of(struct cryptodev_ctx *dev, const struct crypt_job *job)
{
	struct rte_mbuf *first = NULL, *last = NULL;

	for (uint16_t s = 0; s < job->n_segs; s++) {
		struct rte_mbuf *m = shell(dev, job->segs[s].data, job->segs[s].bytes);

		if (m == NULL) {
			rte_pktmbuf_free(first);
			return NULL;
		}
		if (first == NULL) {
			first = m;
		} else {
			last->next = m;
			first->pkt_len += m->pkt_len;
			first->nb_segs++;
		}
		last = m;
	}
	return first;
}

static uint8_t *linear_of(struct cryptodev_ctx *dev, unsigned int number)
{
	return dev->linear + (size_t)number * CRYPTODEV_LINEAR_BYTES;
}

/* For devices that take one segment: a copy, which take_back() takes apart again. */
static struct rte_mbuf *copy_of(struct cryptodev_ctx *dev, const struct crypt_job *job, unsigned int number)
{
	uint32_t bytes = 0;

	for (uint16_t s = 0; s < job->n_segs; s++) {
		if (job->segs[s].bytes > CRYPTODEV_LINEAR_BYTES - bytes)
			return NULL;
		memcpy(linear_of(dev, number) + bytes, job->segs[s].data, job->segs[s].bytes);
		bytes += job->segs[s].bytes;
	}
	return shell(dev, linear_of(dev, number), bytes);
}

static void copy_back(struct cryptodev_ctx *dev, const struct crypt_job *job, unsigned int number)
{
	const uint8_t *from = linear_of(dev, number);

	for (uint16_t s = 0; s < job->n_segs; from += job->segs[s].bytes, s++)
		memcpy(job->segs[s].data, from, job->segs[s].bytes);
}

static int prepare(struct cryptodev_ctx *dev, struct crypt_job *job, struct rte_crypto_op *op, unsigned int number, int sealing)
{
	struct rte_mbuf *m = job->n_segs == 1 || dev->chains ? chain_of(dev, job) : copy_of(dev, job, number);

	if (m == NULL)
		return -ENOTSUP;
	op->sym->m_src = m;
	op->sym->m_dst = NULL;
	op->sym->aead.data.offset = 0;
	op->sym->aead.data.length = m->pkt_len;
	op->sym->aead.digest.data = job->tag;
	op->sym->aead.digest.phys_addr = rte_mem_virt2iova(job->tag);
	/* Drivers do not write it, and their interface does not say so. */
	op->sym->aead.aad.data = (uint8_t *)(uintptr_t)job->aad;
	op->sym->aead.aad.phys_addr = rte_mem_virt2iova(job->aad);
	memcpy(rte_crypto_op_ctod_offset(op, uint8_t *, CRYPTODEV_IV_OFFSET), job->nonce, CRYPT_NONCE_BYTES);
	return rte_crypto_op_attach_sym_session(op, sealing ? job->key->seal : job->key->open);
}

/* Which job an operation is of is told by its place in the burst, which the nonce is followed by. */
static uint8_t *number_at(struct rte_crypto_op *op)
{
	return rte_crypto_op_ctod_offset(op, uint8_t *, CRYPTODEV_IV_OFFSET + CRYPT_NONCE_BYTES);
}

/* A driver that refuses an operation does not take those behind it either: it is passed over. How many it took or refused. */
static unsigned int give(struct cryptodev_ctx *dev, struct crypt_job *jobs, struct rte_crypto_op **ops, unsigned int n,
	unsigned int *refused)
{
	unsigned int sent = rte_cryptodev_enqueue_burst(dev->id, QUEUE_PAIR, ops, (uint16_t)n);

	if (sent == n || ops[sent]->status == RTE_CRYPTO_OP_STATUS_NOT_PROCESSED || ops[sent]->status == RTE_CRYPTO_OP_STATUS_SUCCESS)
		return sent;
	jobs[*number_at(ops[sent])].status = -EIO;
	rte_pktmbuf_free(ops[sent]->sym->m_src);
	rte_crypto_op_free(ops[sent]);
	++*refused;
	return sent + 1;
}

static int16_t status_of(const struct rte_crypto_op *op)
{
	if (op->status == RTE_CRYPTO_OP_STATUS_SUCCESS)
		return 0;
	return op->status == RTE_CRYPTO_OP_STATUS_AUTH_FAILED ? -EBADMSG : -EIO;
}

static void take_back(struct cryptodev_ctx *dev, struct crypt_job *jobs, struct rte_crypto_op **done, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		uint8_t number = *number_at(done[i]);

		jobs[number].status = status_of(done[i]);
		if (done[i]->sym->m_src->buf_addr == linear_of(dev, number))
			copy_back(dev, &jobs[number], number);
		rte_pktmbuf_free(done[i]->sym->m_src);
		rte_crypto_op_free(done[i]);
	}
}

unsigned int cryptodev_run_queue(struct cryptodev_ctx *dev, struct crypt_job *jobs, unsigned int n, int sealing)
{
	struct rte_crypto_op *ops[CRYPTODEV_BURST], *back[CRYPTODEV_BURST];
	uint64_t until = rte_get_timer_cycles() + rte_get_timer_hz() / 1000 * WAIT_MS;
	unsigned int n_ops = 0, sent = 0, done = 0;

	for (unsigned int i = 0; i < n; i++) {
		struct rte_crypto_op *op = dev->stuck ? NULL : rte_crypto_op_alloc(dev->ops, RTE_CRYPTO_OP_TYPE_SYMMETRIC);
		int rc = op != NULL ? prepare(dev, &jobs[i], op, i, sealing) : -ENOMEM;

		jobs[i].status = (int16_t)(rc != 0 ? rc : -EIO);
		if (rc != 0) {
			if (op != NULL)
				rte_crypto_op_free(op);
			continue;
		}
		*number_at(op) = (uint8_t)i;
		ops[n_ops++] = op;
	}
	while (done < n_ops && rte_get_timer_cycles() < until) {
		uint16_t k;

		if (sent < n_ops)
			sent += give(dev, jobs, ops + sent, n_ops - sent, &done);
		k = rte_cryptodev_dequeue_burst(dev->id, QUEUE_PAIR, back, CRYPTODEV_BURST);
		take_back(dev, jobs, back, k);
		done += k;
	}
	dev->stuck = dev->stuck || done < sent;
	/* What was not taken is not in the device. */
	for (; sent < n_ops; sent++) {
		rte_pktmbuf_free(ops[sent]->sym->m_src);
		rte_crypto_op_free(ops[sent]);
	}
	return count_good(jobs, n);
}
