/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TP_PROTECTED_H
#define TP_PROTECTED_H

#include <stdint.h>

#include "crypt_cipher.h"

/* WRITEs between two endpoints (tp_world.h) that protect what they send, beside ones that do not. A line "name value
 * unit" for each round and size: cycles of a message that protection adds, and those of them that are the cipher's. */
void tp_protected(enum crypt_suite suite, uint32_t messages, uint32_t rounds);

#endif
