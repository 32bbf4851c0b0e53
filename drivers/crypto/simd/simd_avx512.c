/* SPDX-License-Identifier: BSD-3-Clause */
/* The kernel for AVX-512 with VAES, VPCLMULQDQ and GFNI: four blocks a vector. */
#include <rte_cpuflags.h>

#define SIMD_BITS 512
#include "simd_vec.h"

/* DPDK asks the CPU; whether the system keeps its wide registers when threads change is the compiler's to ask (XGETBV). */
static int runs(void)
{
	return __builtin_cpu_supports("avx512f") && rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX512F) == 1 &&
		rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX512BW) == 1 &&
		rte_cpu_get_flag_enabled(RTE_CPUFLAG_AVX512VL) == 1 &&
		rte_cpu_get_flag_enabled(RTE_CPUFLAG_GFNI) == 1 &&
		rte_cpu_get_flag_enabled(RTE_CPUFLAG_AES) == 1 &&
		rte_cpu_get_flag_enabled(RTE_CPUFLAG_VAES) == 1 &&
		rte_cpu_get_flag_enabled(RTE_CPUFLAG_VPCLMULQDQ) == 1;
}

static void blocks(const struct crypt_key *key, uint8_t *to, unsigned int n)
{
	kernel_stream(key, to, n);
}

const struct simd_kernel simd_avx512 = {
	.name = "avx512",
	.runs = runs,
	.prepare = prepare,
	.seal = engine_seal,
	.open = engine_open,
	.blocks = blocks,
};
