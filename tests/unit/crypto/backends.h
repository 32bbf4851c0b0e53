/* SPDX-License-Identifier: BSD-3-Clause */
/* All cipher backends that run here. */
#ifndef BACKENDS_H
#define BACKENDS_H

#include <errno.h>

#include "crypt_cipher.h"

#define MAX_BACKENDS 8u

struct backend {
	char name[32];
	const struct crypt_cipher *cipher;
	void *ctx;
};

extern struct backend backends[MAX_BACKENDS];
extern uint32_t n_backends;

/* Says which there are, and which not. */
void backends_open(void);
void backends_close(void);

#endif
