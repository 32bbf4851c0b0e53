/* SPDX-License-Identifier: BSD-3-Clause */
#include "backends.h"

#include <stdio.h>

#include "crypt_simd.h"

struct backend backends[MAX_BACKENDS];
uint32_t n_backends;

void backends_open(void)
{
	for (unsigned int i = 0; crypt_simd_kernel(i) != NULL; i++) {
		void *ctx = crypt_simd_new(crypt_simd_kernel(i));
		struct backend *b = &backends[n_backends];

		printf("kernel %s: %s\n", crypt_simd_kernel(i), ctx != NULL ? "is tested" : "does not run here");
		if (ctx == NULL)
			continue;
		(void)snprintf(b->name, sizeof(b->name), "%s", crypt_simd_kernel(i));
		b->cipher = &crypt_simd_cipher;
		b->ctx = ctx;
		n_backends++;
	}
}

void backends_close(void)
{
	while (n_backends != 0)
		crypt_simd_free(backends[--n_backends].ctx);
}
