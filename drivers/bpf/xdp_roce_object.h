/* SPDX-License-Identifier: BSD-3-Clause */
/* The compiled program, an ELF file for libbpf. */
#ifndef XDP_ROCE_OBJECT_H
#define XDP_ROCE_OBJECT_H

#include <stddef.h>

extern const unsigned char xdp_roce_object[];
extern const size_t xdp_roce_object_bytes;

#endif
