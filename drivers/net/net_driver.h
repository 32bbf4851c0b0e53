/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each kind of DPDK port needs and can do: one row a driver. Configuration checks ask it before
 * anything is started, port set-up asks it for sizes. Pure: looks at texts and numbers only.
 */
#ifndef NET_DRIVER_H
#define NET_DRIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NET_MSG_BYTES 256

/* What a port is asked to be. */
struct net_need {
	const char *device;       /* "net_tap0,iface=tap0" or "0000:01:00.0" */
	uint32_t mtu_bytes;       /* largest IP packet */
	uint32_t n_rx_queues, n_tx_queues;
};

struct net_driver {
	const char *prefix;       /* "net_tap"; NULL: PCI */
	uint32_t max_mtu_bytes;   /* 0: the driver tells when it runs */
	uint32_t max_room_bytes;  /* largest data room of a receive buffer, headroom included; 0: any */
	bool equal_queues;        /* as many receive as transmit queues */
	bool takes_all;           /* no receive filter: whatever the other side sends arrives */
	bool kernel_mac;          /* the kernel's end has the same link address, so ours must be another */
	const char *iface_arg;    /* argument that names a network interface */
	bool iface_exists;        /* which must be there already */
	bool xdp;                 /* has AF_XDP sockets, and so an XDP program */
	const char *queues_arg;   /* argument that sets the number of queues */
	const char *const *args;  /* all known arguments, NULL at the end */
	/* More checks; 0 or -EINVAL with what is wrong and what would be right in msg. */
	int (*check)(const struct net_need *need, char msg[NET_MSG_BYTES]);
};

/* The driver of a device text; NULL when there is none. */
const struct net_driver *net_driver_find(const char *device);

/* Whether text is a PCI address ("0000:01:00.0", "01:00.0"), maybe with arguments behind a comma. */
bool net_is_pci(const char *device);

/* 0 when the device text can serve the need; -EINVAL with an explanation in msg. */
int net_driver_check(const struct net_need *need, char msg[NET_MSG_BYTES]);

/* Room for a frame that receive buffers of the device must have (without headroom). */
uint32_t net_driver_frame_room(const char *device, uint32_t mtu_bytes);

/* Copies the value of an argument ("iface") of a device text; false when it has none or out is too small. */
bool net_driver_arg(const char *device, const char *name, char *out, size_t n);

/* Whether a device text says itself where its XDP program comes from. */
bool net_driver_has_prog(const char *device);

/* The part in front of the first comma: the name DPDK gives the port of a virtual device. */
void net_device_name(const char *device, char *out, size_t n);

#endif
