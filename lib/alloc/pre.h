/* SPDX-License-Identifier: BSD-3-Clause */
/* The preloaded half: calls of libc that give out memory, answered from shared memory where that is right. */
#ifndef PRE_H
#define PRE_H

#include "ra_shared.h"

#define PRE_MIN_BYTES 65536u /* from this size on memory is shared */

#endif
