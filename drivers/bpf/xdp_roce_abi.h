/* SPDX-License-Identifier: BSD-3-Clause */
/* What the XDP program and the daemon share: maps' contents. Compiled for both, so no more than the kernel's types. */
#ifndef XDP_ROCE_ABI_H
#define XDP_ROCE_ABI_H

#include <linux/types.h>

#define XDP_ROCE_PROGRAM "roced_xdp" /* its name in the kernel */
#define XDP_ROCE_COPY_BYTES 256u     /* of a frame, at most */

/* What a frame is: docs/af_xdp.md. Each frame counts as one kind; behind XDP_ROCE_FRAMES is what happened to it besides. */
enum xdp_roce_kind {
	/* redirected */
	XDP_ROCE_V2,                 /* UDP port 4791 */
	XDP_ROCE_V1,                 /* EtherType 0x8915 */
	XDP_ROCE_MAC_CONTROL,        /* EtherType 0x8808: pauses */
	XDP_ROCE_PROTECTED,          /* UDP port of protected packets */
	XDP_ROCE_KEYS,               /* UDP port where keys are agreed on */
	XDP_ROCE_REDIRECTED,         /* so many kinds */
	/* passed, and copied to the daemon */
	XDP_ROCE_NEIGHBOUR = XDP_ROCE_REDIRECTED, /* ARP; solicitations and advertisements of neighbour discovery */
	XDP_ROCE_GROUP_QUERY,        /* of IGMP and MLD */
	XDP_ROCE_COPIED,             /* up to here */
	/* passed */
	XDP_ROCE_FRAGMENT = XDP_ROCE_COPIED, /* IPv4 or IPv6 */
	XDP_ROCE_MALFORMED,          /* headers that lie, or end behind the frame */
	XDP_ROCE_OTHER,
	XDP_ROCE_FRAMES,             /* the sum of those before it are all frames */
	XDP_ROCE_NO_SOCKET = XDP_ROCE_FRAMES, /* to be redirected, but nobody has the queue: passed */
	XDP_ROCE_COPY_LOST,          /* no room for the copy; the frame itself was passed */
	XDP_ROCE_KINDS,
};

/* The only entry of the map "settings", in host byte order. All zero: RoCE only, nothing is protected. */
struct xdp_roce_settings {
	__u32 all;                   /* 1: every frame is redirected and none copied */
	__u16 protected_port;        /* the first of them */
	__u16 n_protected_ports;     /* 0: none */
	__u16 keys_port;             /* 0: none */
	__u16 reserved;
};

/* A record of the map "copies". */
struct xdp_roce_copy {
	__u32 bytes;                 /* that are in frame */
	__u32 reserved;
	__u8 frame[XDP_ROCE_COPY_BYTES];
};

#endif
