/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel for AES-NI, SSE4.1 and PCLMULQDQ: one block a vector. */
#include <rte_cpuflags.h>

#define SIMD_BITS 128
#include "simd_vec.h"

static int runs(void)
{
	return rte_cpu_get_flag_enabled(RTE_CPUFLAG_SSE4_1) == 1 &&
		rte_cpu_get_flag_enabled(RTE_CPUFLAG_AES) == 1 &&
		rte_cpu_get_flag_enabled(RTE_CPUFLAG_PCLMULQDQ) == 1;
}

static void blocks(const struct crypt_key *key, uint8_t *to, unsigned int n)
{
	kernel_stream(key, to, n);
}

const struct simd_kernel simd_sse = {
	.name = "sse",
	.runs = runs,
	.prepare = prepare,
	.seal = engine_seal,
	.open = engine_open,
	.blocks = blocks,
};
