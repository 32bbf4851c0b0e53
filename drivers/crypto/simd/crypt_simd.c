/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_simd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crypt_mem.h"
#include "simd_kernel.h"

/* Contexts, keys, and the choice of a kernel; see simd_kernel.h and simd_engine.h for the work. */

struct simd_ctx {
	struct simd_scratch scratch;
	const struct simd_kernel *kernel;
};

static const struct simd_kernel *const kernels[] = {
	&simd_portable,
#ifdef SIMD_X86
	&simd_sse,
	&simd_avx2,
	&simd_avx512,
#endif
};
#define N_KERNELS (sizeof(kernels) / sizeof(kernels[0]))

static const char *const names[] = { "portable", "sse", "avx2", "avx512" };

static const struct simd_kernel *find_kernel(const char *name)
{
	for (size_t i = 0; i < N_KERNELS; i++)
		if (strcmp(kernels[i]->name, name) == 0)
			return kernels[i];
	for (unsigned int i = 0; crypt_simd_kernel(i) != NULL; i++)
		if (strcmp(crypt_simd_kernel(i), name) == 0) {
			errno = ENOTSUP;
			return NULL;
		}
	errno = EINVAL;
	return NULL;
}

static const struct simd_kernel *best_kernel(void)
{
	size_t i = N_KERNELS - 1;

	while (i > 0 && !kernels[i]->runs())
		i--;
	return kernels[i];
}

void *crypt_simd_new(const char *kernel)
{
	const struct simd_kernel *found = kernel != NULL ? find_kernel(kernel) : best_kernel();
	struct simd_ctx *ctx;

	if (found == NULL)
		return NULL;
	if (!found->runs()) {
		errno = ENOTSUP;
		return NULL;
	}
	ctx = crypt_mem_new(sizeof(*ctx));
	if (ctx == NULL)
		return NULL;
	ctx->kernel = found;
	return ctx;
}

void crypt_simd_free(void *ctx)
{
	crypt_mem_free(ctx, sizeof(struct simd_ctx));
}

const char *crypt_simd_kernel(unsigned int i)
{
	return i < sizeof(names) / sizeof(names[0]) ? names[i] : NULL;
}

const struct simd_kernel *crypt_simd_kernel_in(const void *ctx)
{
	return ((const struct simd_ctx *)ctx)->kernel;
}

const char *crypt_simd_kernel_of(const void *ctx)
{
	return crypt_simd_kernel_in(ctx)->name;
}

static int knows(const void *ctx, enum crypt_suite suite)
{
	(void)ctx;
	return crypt_suite_key_bytes(suite) > 0;
}

static struct crypt_key *key_new(void *ctx, enum crypt_suite suite, const uint8_t *raw)
{
	struct crypt_key *key;

	if (!knows(ctx, suite)) {
		errno = ENOTSUP;
		return NULL;
	}
	key = crypt_mem_new(sizeof(*key));
	if (key == NULL)
		return NULL;
	key->suite = suite;
	((struct simd_ctx *)ctx)->kernel->prepare(key, raw);
	return key;
}

static void key_free(void *ctx, struct crypt_key *key)
{
	(void)ctx;
	crypt_mem_free(key, sizeof(*key));
}

/* How many neighbours from the first job on have its key. */
static unsigned int neighbours(const struct crypt_job *jobs, unsigned int n)
{
	unsigned int i = 1;

	while (i < n && i < SIMD_GROUP && jobs[i].key == jobs[0].key)
		i++;
	return i;
}

static unsigned int seal(void *ctx, struct crypt_job *jobs, unsigned int n)
{
	struct simd_ctx *simd = ctx;
	unsigned int good = 0, many;

	for (; n > 0; jobs += many, n -= many) {
		many = neighbours(jobs, n);
		good += simd->kernel->seal(&simd->scratch, jobs, many);
	}
	return good;
}

static unsigned int open_jobs(void *ctx, struct crypt_job *jobs, unsigned int n)
{
	struct simd_ctx *simd = ctx;
	unsigned int good = 0, many;

	for (; n > 0; jobs += many, n -= many) {
		many = neighbours(jobs, n);
		good += simd->kernel->open(&simd->scratch, jobs, many);
	}
	return good;
}

const struct crypt_cipher crypt_simd_cipher = {
	.name = "simd",
	.knows = knows,
	.key_new = key_new,
	.key_free = key_free,
	.seal = seal,
	.open = open_jobs,
};
