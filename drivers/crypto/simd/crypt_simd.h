/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef CRYPT_SIMD_H
#define CRYPT_SIMD_H

#include "crypt_cipher.h"

/*
 * The ciphers of lib/crypt on the CPU's own instructions. Kernels, best last: "portable" (any CPU), "sse" (AES-NI, SSE4.1,
 * PCLMULQDQ), "avx2" (VAES and VPCLMULQDQ on 256 bits), "avx512" (the same on 512 bits, and GFNI). None of them has a load, a branch or an address that depends on a key or a text. They know all suites.
 */

extern const struct crypt_cipher crypt_simd_cipher;

/*
 * A context for crypt_simd_cipher's calls, with the kernel of that name, or the best one that this CPU runs if @kernel is
 * NULL. The caller frees it with crypt_simd_free(), after its keys. NULL with errno set: EINVAL for an unknown kernel,
 * ENOTSUP for one that this CPU or build does not run, ENOMEM.
 */
void *crypt_simd_new(const char *kernel);
void crypt_simd_free(void *ctx);

/* The name of the @i-th kernel, best last; NULL after the last. Whether it runs here is crypt_simd_new()'s to say. */
const char *crypt_simd_kernel(unsigned int i);

/* The name of the kernel that @ctx uses. */
const char *crypt_simd_kernel_of(const void *ctx);

#endif
