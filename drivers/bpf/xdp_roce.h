/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The XDP program of a network interface whose AF_XDP sockets belong to DPDK (docs/af_xdp.md). DPDK's driver loads the program,
 * attaches it and puts its sockets into the map, all from a file that it is told of; then the program is taken over: what the
 * driver attached stays when a process dies, a link of ours does not.
 *
 * Order: xdp_roce_clear(), xdp_roce_file(), the driver's queues are set up, xdp_roce_take(), ..., xdp_roce_release(), the
 * driver closes. All by one thread, but for xdp_roce_counts().
 */
#ifndef XDP_ROCE_H
#define XDP_ROCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "xdp_roce_abi.h"

#define XDP_ROCE_PATH_BYTES 32
#define XDP_ROCE_NAME_BYTES 16

struct xdp_roce;

/* False: it was built without what is needed (libbpf and clang), and the other functions fail with -ENOTSUP. */
bool xdp_roce_built(void);

/* Name of a kind, for people and telemetry; NULL: no kind. */
const char *xdp_roce_kind_name(uint32_t kind);

/* Detaches a program of ours that a killed process left on the interface. 0: no program is attached now. -EEXIST: one of somebody
 * else is, with its name; -EBUSY: one of ours whose process is alive. */
int xdp_roce_clear(unsigned int ifindex, char name[XDP_ROCE_NAME_BYTES]);

/* A file with the program, in memory, and its path in this process. The descriptor, which the caller closes, or a negative
 * errno. */
int xdp_roce_file(char path[XDP_ROCE_PATH_BYTES]);

/* Takes over the program that the driver has attached to the interface, and sets it. -ENOENT: that is not ours. */
int xdp_roce_take(unsigned int ifindex, const struct xdp_roce_settings *settings, struct xdp_roce **xdp);

/* Detaches it. NULL does nothing. */
void xdp_roce_release(struct xdp_roce *xdp);

/* Frames by kind since it was attached, of all CPUs together. Any thread. */
int xdp_roce_counts(const struct xdp_roce *xdp, uint64_t counts[XDP_ROCE_KINDS]);

/* Readable when there are copies of frames. */
int xdp_roce_fd(const struct xdp_roce *xdp);

/* Calls back with up to `most` of the copies, which are cut to XDP_ROCE_COPY_BYTES; the frame is the callback's until it
 * returns. */
void xdp_roce_serve(struct xdp_roce *xdp, uint32_t most, void (*fn)(void *arg, const uint8_t *frame, size_t n), void *arg);

#endif
