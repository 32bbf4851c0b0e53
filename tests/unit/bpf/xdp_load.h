/* SPDX-License-Identifier: BSD-3-Clause */
/* For the tests of the XDP program: the program in the kernel, as DPDK's driver would load it. */
#ifndef XDP_LOAD_H
#define XDP_LOAD_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "xdp_roce.h"
#include "xdp_roce_object.h"

#define SKIPPED 77 /* for meson */

static inline int no_words(enum libbpf_print_level level, const char *format, va_list args)
{
	(void)level;
	(void)format;
	(void)args;
	return 0;
}

/* 0, or whether the test is skipped for want of rights, with the reason, or has failed. */
static inline int xdp_load(struct bpf_object **object)
{
	libbpf_print_fn_t words = libbpf_set_print(no_words);
	int rc;

	*object = bpf_object__open_mem(xdp_roce_object, xdp_roce_object_bytes, NULL);
	rc = *object == NULL ? -errno : bpf_object__load(*object);
	if (rc == 0)
		return 0;
	if (rc == -EPERM || rc == -ENOSYS) {
		printf("skipped: the kernel lets this process load no BPF program: %s\n", strerror(-rc));
		return SKIPPED;
	}
	libbpf_set_print(words);
	(void)bpf_object__load(*object); /* again, with the verifier's words */
	printf("the program is not loaded: %s\n", strerror(-rc));
	return EXIT_FAILURE;
}

#endif
