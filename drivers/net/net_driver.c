/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net_driver.h"
#include "net_memif.h"

#define ETH_OVERHEAD        18    /* Ethernet header and one VLAN tag */
#define ETH_CRC             4
#define AF_PACKET_OVERHEAD  110   /* TPACKET2 header and alignment in front of the frame, in each ring slot */
#define AF_PACKET_FRAMESZ   2048  /* the driver's defaults */
#define AF_PACKET_BLOCKSZ   4096
#define VIRTIO_OVERHEAD     12    /* virtio_net_hdr with num_buffers; the driver counts it to the frame */
#define TAP_MTU             1500  /* DPDK lets the driver have no larger one, and it sends no larger frames */
#define PAGE_BYTES          4096
/* AF_XDP keeps a whole buffer, headers of pool and mbuf included, in one page. */
#define AF_XDP_ROOM         3584
#define AF_XDP_MTU          3200

static uint32_t arg_number(const char *device, const char *name, uint32_t dflt)
{
	char text[32], *end;
	unsigned long value;

	if (!net_driver_arg(device, name, text, sizeof(text)))
		return dflt;
	value = strtoul(text, &end, 0);
	return end == text || *end != '\0' || value > UINT32_MAX ? 0 : (uint32_t)value;
}

static uint32_t power_of_two(uint32_t n)
{
	uint32_t p = 1;

	while (p < n)
		p *= 2;
	return p;
}

uint32_t net_driver_frame_room(const char *device, uint32_t mtu_bytes)
{
	uint32_t room = mtu_bytes + ETH_OVERHEAD + ETH_CRC;

	/* af_packet wants buffers as large as the slots of its ring, whatever the MTU. */
	if (strncmp(device, "net_af_packet", strlen("net_af_packet")) == 0) {
		uint32_t framesz = arg_number(device, "framesz", AF_PACKET_FRAMESZ);

		if (framesz > room)
			room = framesz;
	}
	if (strncmp(device, "net_virtio_user", strlen("net_virtio_user")) == 0)
		room += VIRTIO_OVERHEAD;
	return room;
}

static int need_iface(const struct net_need *need, char msg[NET_MSG_BYTES])
{
	char iface[64];

	if (net_driver_arg(need->device, "iface", iface, sizeof(iface)) && iface[0] != '\0')
		return 0;
	snprintf(msg, NET_MSG_BYTES, "needs iface=NAME, the network interface it works on");
	return -EINVAL;
}

/* Frames longer than a slot of the ring are cut or refused by the driver, without a word. */
static int check_af_packet(const struct net_need *need, char msg[NET_MSG_BYTES])
{
	uint32_t framesz = arg_number(need->device, "framesz", AF_PACKET_FRAMESZ);
	uint32_t blocksz = arg_number(need->device, "blocksz", AF_PACKET_BLOCKSZ);
	uint32_t want = power_of_two(need->mtu_bytes + ETH_OVERHEAD + AF_PACKET_OVERHEAD);

	if (need_iface(need, msg) != 0)
		return -EINVAL;
	if (framesz < need->mtu_bytes + ETH_OVERHEAD + AF_PACKET_OVERHEAD) {
		snprintf(msg, NET_MSG_BYTES, "framesz=%u does not hold an MTU of %u, give framesz=%u,blocksz=%u",
			framesz, need->mtu_bytes, want, want * 8);
		return -EINVAL;
	}
	if (framesz % 16 != 0 || blocksz == 0 || blocksz % PAGE_BYTES != 0 || blocksz % framesz != 0) {
		snprintf(msg, NET_MSG_BYTES,
			"blocksz=%u must be a multiple of %d and of framesz=%u, give blocksz=%u", blocksz, PAGE_BYTES,
			framesz, want * 8);
		return -EINVAL;
	}
	return 0;
}

static int check_tap(const struct net_need *need, char msg[NET_MSG_BYTES])
{
	char iface[64];

	if (!net_driver_arg(need->device, "iface", iface, sizeof(iface)) || strlen(iface) <= 15)
		return 0;
	snprintf(msg, NET_MSG_BYTES, "iface=%s is too long, an interface name has at most 15 characters", iface);
	return -EINVAL;
}

static int check_virtio_user(const struct net_need *need, char msg[NET_MSG_BYTES])
{
	char path[128];

	if (net_driver_arg(need->device, "path", path, sizeof(path)))
		return 0;
	snprintf(msg, NET_MSG_BYTES, "needs path=/dev/vhost-net or path=SOCKET of a vhost-user back end");
	return -EINVAL;
}

static int check_pcap(const struct net_need *need, char msg[NET_MSG_BYTES])
{
	static const char *const rx[] = {"rx_pcap", "rx_iface", "rx_iface_in", "iface", NULL};
	char value[128];

	for (int i = 0; rx[i] != NULL; i++) {
		if (net_driver_arg(need->device, rx[i], value, sizeof(value)))
			return 0;
	}
	snprintf(msg, NET_MSG_BYTES, "needs rx_pcap=FILE and tx_pcap=FILE, or iface=NAME");
	return -EINVAL;
}

static int check_memif(const struct net_need *need, char msg[NET_MSG_BYTES])
{
	uint32_t bsize = arg_number(need->device, "bsize", 2048);

	if (net_memif_check(need->device, msg) != 0)
		return -EINVAL;
	if (bsize < need->mtu_bytes + ETH_OVERHEAD) {
		snprintf(msg, NET_MSG_BYTES, "bsize=%u does not hold an MTU of %u, give bsize=%u", bsize,
			need->mtu_bytes, power_of_two(need->mtu_bytes + ETH_OVERHEAD));
		return -EINVAL;
	}
	return 0;
}

#define ARGS(...) (const char *const[]){__VA_ARGS__, NULL}
/* Arguments that DPDK 22.11 does not know: its drivers refuse them with "Operation not permitted". */
#ifdef NET_NEWER_ARGS
#define NEWER(...) , __VA_ARGS__
#else
#define NEWER(...)
#endif

static const struct net_driver drivers[] = {
	{.prefix = "net_af_packet", .max_mtu_bytes = 65000, .equal_queues = true, .iface_arg = "iface",
		.iface_exists = true, .queues_arg = "qpairs", .check = check_af_packet,
		.args = ARGS("iface", "qpairs", "blocksz", "framesz", "framecnt", "qdisc_bypass" NEWER("fanout_mode"))},
	{.prefix = "net_af_xdp", .max_mtu_bytes = AF_XDP_MTU, .max_room_bytes = AF_XDP_ROOM, .equal_queues = true,
		.iface_arg = "iface", .iface_exists = true, .queues_arg = "queue_count", .xdp = true, .check = need_iface,
		.args = ARGS("iface", "start_queue", "queue_count", "shared_umem", "xdp_prog", "busy_budget",
			"force_copy" NEWER("use_cni", "dp_path"))},
	{.prefix = "net_tap", .max_mtu_bytes = TAP_MTU, .equal_queues = true, .takes_all = true, .kernel_mac = true,
		.iface_arg = "iface", .check = check_tap,
		.args = ARGS("iface", "remote", "mac" NEWER("persist"))},
	{.prefix = "net_memif", .max_mtu_bytes = 9000, .takes_all = true, .check = check_memif,
		.args = ARGS("id", "role", "bsize", "rsize", "socket", "mac", "secret", "zero-copy",
			"socket-abstract", "owner-uid", "owner-gid")},
	{.prefix = "net_ring", .takes_all = true, .equal_queues = true, .args = ARGS("nodeaction", "internal", "ring")},
	{.prefix = "net_virtio_user", .max_mtu_bytes = 9600, .equal_queues = true, .iface_arg = "iface",
		.queues_arg = "queues", .check = check_virtio_user,
		.args = ARGS("path", "mac", "cq", "queue_size", "queues", "iface", "server", "mrg_rxbuf", "in_order",
			"packed_vq", "speed", "vectorized")},
	{.prefix = "net_pcap", .takes_all = true, .check = check_pcap,
		.args = ARGS("rx_pcap", "tx_pcap", "rx_iface", "rx_iface_in", "tx_iface", "iface", "phy_mac",
			"infinite_rx")},
};

static const struct net_driver pci_driver;

bool net_is_pci(const char *device)
{
	unsigned domain, bus, dev, fn;
	int n = 0;

	if (sscanf(device, "%4x:%2x:%2x.%1x%n", &domain, &bus, &dev, &fn, &n) != 4 || n == 0) {
		n = 0;
		if (sscanf(device, "%2x:%2x.%1x%n", &bus, &dev, &fn, &n) != 3 || n == 0)
			return false;
	}
	return device[n] == '\0' || device[n] == ',';
}

const struct net_driver *net_driver_find(const char *device)
{
	if (net_is_pci(device))
		return &pci_driver;
	for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]); i++) {
		const char *c = device + strlen(drivers[i].prefix);

		if (strncmp(device, drivers[i].prefix, strlen(drivers[i].prefix)) != 0)
			continue;
		while (isdigit((unsigned char)*c))
			c++;
		if (*c == '\0' || *c == ',')
			return &drivers[i];
	}
	return NULL;
}

void net_device_name(const char *device, char *out, size_t n)
{
	snprintf(out, n, "%.*s", (int)strcspn(device, ","), device);
}

bool net_driver_arg(const char *device, const char *name, char *out, size_t n)
{
	size_t len = strlen(name);

	for (const char *c = strchr(device, ','); c != NULL; c = strchr(c, ',')) {
		size_t bytes;

		c++;
		if (strncmp(c, name, len) != 0 || c[len] != '=')
			continue;
		bytes = strcspn(c + len + 1, ",");
		if (bytes >= n)
			return false;
		memcpy(out, c + len + 1, bytes);
		out[bytes] = '\0';
		return true;
	}
	return false;
}

bool net_driver_has_prog(const char *device)
{
	/* the latter two: a device plugin of Kubernetes has attached it */
	static const char *const names[] = {"xdp_prog", "use_cni", "use_pinned_map"};
	char value[128];

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (net_driver_arg(device, names[i], value, sizeof(value)))
			return true;
	}
	return false;
}

static int unknown_arg(const struct net_driver *driver, const char *arg, size_t n, char msg[NET_MSG_BYTES])
{
	size_t used = (size_t)snprintf(msg, NET_MSG_BYTES, "unknown argument '%.*s', %s takes: ", (int)n, arg,
		driver->prefix);

	for (size_t i = 0; driver->args[i] != NULL && used < NET_MSG_BYTES; i++)
		used += (size_t)snprintf(msg + used, NET_MSG_BYTES - used, "%s%s", i == 0 ? "" : ", ",
			driver->args[i]);
	return -EINVAL;
}

static int check_args(const struct net_driver *driver, const char *device, char msg[NET_MSG_BYTES])
{
	if (driver->args == NULL)
		return 0;
	for (const char *c = strchr(device, ','); c != NULL; c = strchr(c, ',')) {
		size_t n;
		bool known = false;

		c++;
		n = strcspn(c, "=,");
		for (size_t i = 0; driver->args[i] != NULL && !known; i++)
			known = strlen(driver->args[i]) == n && !strncmp(c, driver->args[i], n);
		if (!known)
			return unknown_arg(driver, c, n, msg);
	}
	return 0;
}

static int check_queues(const struct net_driver *driver, const struct net_need *need, char msg[NET_MSG_BYTES])
{
	uint32_t queues;

	if (driver->equal_queues && need->n_rx_queues != need->n_tx_queues) {
		snprintf(msg, NET_MSG_BYTES,
			"%u receive queues are polled but %u workers need a transmit queue each, and this driver has "
			"them in pairs: let every worker poll one queue", need->n_rx_queues, need->n_tx_queues);
		return -EINVAL;
	}
	if (driver->queues_arg == NULL)
		return 0;
	queues = arg_number(need->device, driver->queues_arg, 1);
	if (queues == need->n_tx_queues)
		return 0;
	snprintf(msg, NET_MSG_BYTES, "has %u queue pairs, but the workers need %u: give %s=%u", queues,
		need->n_tx_queues, driver->queues_arg, need->n_tx_queues);
	return -EINVAL;
}

int net_driver_check(const struct net_need *need, char msg[NET_MSG_BYTES])
{
	const struct net_driver *driver = net_driver_find(need->device);
	int rc;

	if (driver == NULL) {
		size_t used = (size_t)snprintf(msg, NET_MSG_BYTES, "is no PCI address and none of");

		for (size_t i = 0; i < sizeof(drivers) / sizeof(drivers[0]) && used < NET_MSG_BYTES; i++)
			used += (size_t)snprintf(msg + used, NET_MSG_BYTES - used, "%s %sN", i == 0 ? "" : ",",
				drivers[i].prefix);
		return -EINVAL;
	}
	rc = check_args(driver, need->device, msg);
	if (rc == 0 && driver->max_mtu_bytes != 0 && need->mtu_bytes > driver->max_mtu_bytes) {
		snprintf(msg, NET_MSG_BYTES, "cannot carry an MTU of %u, at most %u", need->mtu_bytes,
			driver->max_mtu_bytes);
		rc = -EINVAL;
	}
	if (rc == 0 && driver->check != NULL)
		rc = driver->check(need, msg);
	if (rc == 0)
		rc = check_queues(driver, need, msg);
	return rc;
}
