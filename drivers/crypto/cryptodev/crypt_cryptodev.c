/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_cryptodev.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_crypto.h>
#include <rte_cryptodev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "crypt_cryptodev_internal.h"

#define QUEUE_PAIR   0
#define DESCRIPTORS  256u
#define SESSIONS     2u /* of a key: to seal and to open */

static int algorithm_of(enum crypt_suite suite, enum rte_crypto_aead_algorithm *algorithm)
{
	if (suite == CRYPT_AES_128_GCM || suite == CRYPT_AES_256_GCM) {
		*algorithm = RTE_CRYPTO_AEAD_AES_GCM;
		return 1;
	}
#ifdef HAVE_SM4_GCM
	if (suite == CRYPT_SM4_GCM) {
		*algorithm = RTE_CRYPTO_AEAD_SM4_GCM;
		return 1;
	}
#endif
	return 0;
}

static int knows(const void *ctx, enum crypt_suite suite)
{
	const struct cryptodev_ctx *dev = ctx;
	const struct rte_cryptodev_symmetric_capability *capability;
	struct rte_cryptodev_sym_capability_idx idx = {.type = RTE_CRYPTO_SYM_XFORM_AEAD};

	if (!algorithm_of(suite, &idx.algo.aead))
		return 0;
	capability = rte_cryptodev_sym_capability_get(dev->id, &idx);
	return capability != NULL &&
		rte_cryptodev_sym_capability_check_aead(capability, (uint16_t)crypt_suite_key_bytes(suite), CRYPT_TAG_BYTES,
			CRYPT_CRYPTODEV_AAD, CRYPT_NONCE_BYTES) == 0;
}

/* ---- keys ---- */

static void *new_session(struct cryptodev_ctx *dev, enum crypt_suite suite, const uint8_t *raw,
	enum rte_crypto_aead_operation op)
{
	struct rte_crypto_sym_xform xform = {
		.type = RTE_CRYPTO_SYM_XFORM_AEAD,
		.aead = {
			.op = op,
			.key = {.data = raw, .length = (uint16_t)crypt_suite_key_bytes(suite)},
			.iv = {.offset = CRYPTODEV_IV_OFFSET, .length = CRYPT_NONCE_BYTES},
			.digest_length = CRYPT_TAG_BYTES,
			.aad_length = CRYPT_CRYPTODEV_AAD,
		},
	};

	(void)algorithm_of(suite, &xform.aead.algo);
	return rte_cryptodev_sym_session_create(dev->id, &xform, dev->sessions);
}

static void key_free(void *ctx, struct crypt_key *key)
{
	struct cryptodev_ctx *dev = ctx;

	if (key == NULL)
		return;
	/* What a session holds of the key is the driver's to wipe: DPDK's do. */
	if (key->seal != NULL)
		(void)rte_cryptodev_sym_session_free(dev->id, key->seal);
	if (key->open != NULL)
		(void)rte_cryptodev_sym_session_free(dev->id, key->open);
	free(key);
}

static struct crypt_key *key_new(void *ctx, enum crypt_suite suite, const uint8_t *raw)
{
	struct crypt_key *key;

	if (!knows(ctx, suite)) {
		errno = ENOTSUP;
		return NULL;
	}
	key = calloc(1, sizeof(*key));
	if (key == NULL)
		return NULL;
	key->seal = new_session(ctx, suite, raw, RTE_CRYPTO_AEAD_OP_ENCRYPT);
	key->open = new_session(ctx, suite, raw, RTE_CRYPTO_AEAD_OP_DECRYPT);
	if (key->seal == NULL || key->open == NULL) {
		key_free(ctx, key);
		errno = ENOMEM;
		return NULL;
	}
	return key;
}

/* ---- bursts ---- */

static int fits(const struct crypt_job *job)
{
	return job->aad_bytes == CRYPT_CRYPTODEV_AAD && job->n_segs <= CRYPT_CRYPTODEV_SEGS;
}

static int by_cpu(const struct cryptodev_ctx *dev, const struct crypt_job *job)
{
	return dev->cpu && (job->n_segs == 1 || !dev->no_cpu_chains);
}

/* What a device refuses to do on this CPU because it is in several segments goes by its queue; nothing was touched. */
static unsigned int run_cpu(struct cryptodev_ctx *dev, struct crypt_job *jobs, unsigned int n, int sealing)
{
	unsigned int good = cryptodev_run_cpu(dev, jobs, n, sealing);

	for (unsigned int i = 0; i < n && good < n; i++) {
		if (jobs[i].status != -ENOTSUP || jobs[i].n_segs == 1)
			continue;
		dev->no_cpu_chains = true;
		good += cryptodev_run_queue(dev, &jobs[i], 1, sealing);
	}
	return good;
}

/* Whether the job goes with the first one: by the same path, and on this CPU with the same key. */
static int together(const struct cryptodev_ctx *dev, const struct crypt_job *first, const struct crypt_job *job)
{
	return fits(job) && by_cpu(dev, job) == by_cpu(dev, first) && (!by_cpu(dev, job) || job->key == first->key);
}

static unsigned int run(struct cryptodev_ctx *dev, struct crypt_job *jobs, unsigned int n, int sealing)
{
	unsigned int good = 0, many;

	for (; n > 0; jobs += many, n -= many) {
		many = 1;
		if (!fits(&jobs[0])) {
			jobs[0].status = -ENOTSUP;
			continue;
		}
		while (many < n && many < CRYPTODEV_BURST && together(dev, &jobs[0], &jobs[many]))
			many++;
		good += by_cpu(dev, &jobs[0]) ? run_cpu(dev, jobs, many, sealing) : cryptodev_run_queue(dev, jobs, many, sealing);
	}
	return good;
}

static unsigned int seal(void *ctx, struct crypt_job *jobs, unsigned int n)
{
	return run(ctx, jobs, n, 1);
}

/* Drivers find a tag wrong when they have deciphered, and leave what they have. */
static void wipe_text(const struct crypt_job *job)
{
	for (uint16_t s = 0; s < job->n_segs; s++) {
		if (job->segs[s].bytes > 0)
			explicit_bzero(job->segs[s].data, job->segs[s].bytes);
	}
}

static unsigned int open_jobs(void *ctx, struct crypt_job *jobs, unsigned int n)
{
	unsigned int good = run(ctx, jobs, n, 0);

	for (unsigned int i = 0; i < n && good < n; i++) {
		if (jobs[i].status == -EBADMSG || jobs[i].status == -EIO)
			wipe_text(&jobs[i]);
	}
	return good;
}

const struct crypt_cipher crypt_cryptodev_cipher = {
	.name = "cryptodev",
	.knows = knows,
	.key_new = key_new,
	.key_free = key_free,
	.seal = seal,
	.open = open_jobs,
};

/* ---- the device ---- */

static int choose_path(struct cryptodev_ctx *dev, enum crypt_cryptodev_path path)
{
	struct rte_cryptodev_info info;

	rte_cryptodev_info_get(dev->id, &info);
	dev->cpu = path != CRYPT_CRYPTODEV_QUEUE && (info.feature_flags & RTE_CRYPTODEV_FF_SYM_CPU_CRYPTO) != 0;
	/* That of openssl says that it takes chains, and takes none with AEAD (DPDK 22.11). */
	dev->chains = (info.feature_flags & RTE_CRYPTODEV_FF_IN_PLACE_SGL) != 0 && strcmp(info.driver_name, "crypto_openssl") != 0;
	return path == CRYPT_CRYPTODEV_CPU && !dev->cpu ? -ENOTSUP : 0;
}

static int make_pools(struct cryptodev_ctx *dev, uint32_t max_keys)
{
	char name[RTE_MEMPOOL_NAMESIZE];

	snprintf(name, sizeof(name), "crypt_keys_%u", dev->id);
	dev->sessions = rte_cryptodev_sym_session_pool_create(name, SESSIONS * max_keys,
		rte_cryptodev_sym_get_private_session_size(dev->id), 0, 0, SOCKET_ID_ANY);
	snprintf(name, sizeof(name), "crypt_ops_%u", dev->id);
	dev->ops = rte_crypto_op_pool_create(name, RTE_CRYPTO_OP_TYPE_SYMMETRIC, DESCRIPTORS, 0,
		CRYPTODEV_PRIVATE_BYTES, SOCKET_ID_ANY);
	snprintf(name, sizeof(name), "crypt_mbufs_%u", dev->id);
	/* They hold nothing: their buffers are the jobs' segments. */
	dev->mbufs = rte_pktmbuf_pool_create(name, CRYPTODEV_BURST * CRYPT_CRYPTODEV_SEGS - 1, 0, 0, 0, SOCKET_ID_ANY);
	if (!dev->chains)
		dev->linear = rte_zmalloc("crypt_linear", (size_t)CRYPTODEV_BURST * CRYPTODEV_LINEAR_BYTES, RTE_CACHE_LINE_SIZE);
	return dev->sessions != NULL && dev->ops != NULL && dev->mbufs != NULL && (dev->chains || dev->linear != NULL) ? 0 : -ENOMEM;
}

static int start(struct cryptodev_ctx *dev)
{
	struct rte_cryptodev_qp_conf qp = {.nb_descriptors = DESCRIPTORS, .mp_session = dev->sessions};
	int rc = rte_cryptodev_queue_pair_setup(dev->id, QUEUE_PAIR, &qp, SOCKET_ID_ANY);

	if (rc == 0)
		rc = rte_cryptodev_start(dev->id);
	dev->started = rc == 0;
	return rc;
}

static int configure(struct cryptodev_ctx *dev)
{
	struct rte_cryptodev_config config = {.socket_id = rte_cryptodev_socket_id(dev->id), .nb_queue_pairs = 1,
		.ff_disable = RTE_CRYPTODEV_FF_ASYMMETRIC_CRYPTO | RTE_CRYPTODEV_FF_SECURITY};

	return rte_cryptodev_configure(dev->id, &config);
}

void *crypt_cryptodev_new(const char *device, enum crypt_cryptodev_path path, uint32_t max_keys)
{
	int id = rte_cryptodev_get_dev_id(device), rc;
	struct cryptodev_ctx *dev;

	if (id < 0) {
		errno = ENODEV;
		return NULL;
	}
	dev = calloc(1, sizeof(*dev));
	if (dev == NULL)
		return NULL;
	dev->id = (uint8_t)id;
	rc = choose_path(dev, path);
	if (rc == 0 && !knows(dev, CRYPT_AES_128_GCM) && !knows(dev, CRYPT_AES_256_GCM) && !knows(dev, CRYPT_SM4_GCM))
		rc = -ENOTSUP;
	if (rc == 0)
		rc = configure(dev);
	if (rc == 0)
		rc = make_pools(dev, max_keys);
	if (rc == 0)
		rc = start(dev);
	if (rc != 0) {
		crypt_cryptodev_free(dev);
		errno = -rc;
		return NULL;
	}
	return dev;
}

void crypt_cryptodev_free(void *ctx)
{
	struct cryptodev_ctx *dev = ctx;

	if (dev == NULL)
		return;
	if (dev->started)
		rte_cryptodev_stop(dev->id);
	rte_mempool_free(dev->sessions);
	rte_mempool_free(dev->ops);
	rte_mempool_free(dev->mbufs);
	rte_free(dev->linear);
	free(dev);
}

int crypt_cryptodev_is_cpu(const void *ctx)
{
	return ((const struct cryptodev_ctx *)ctx)->cpu;
}
