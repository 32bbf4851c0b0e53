/* SPDX-License-Identifier: BSD-3-Clause */
/* One DPDK port: its device, buffers, queues and link. */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <rte_bus_pci.h>
#include <rte_dev.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_lcore.h>

#include "log.h"
#include "net_driver.h"
#include "net_memif.h"
#include "port.h"
#include "tp.h"

#define POOL_CACHE    256
#define ETH_OVERHEAD  18    /* header and one VLAN tag */

static int fail(const struct port *port, const char *what, int rc)
{
	log_line(LOG_ERR, "port \"%s\": %s: %s", port->config->name, what, strerror(rc < 0 ? -rc : rc));
	return rc < 0 ? rc : -rc;
}

static void full_pci_name(const char *device, char *out, size_t n)
{
	char name[64];

	net_device_name(device, name, sizeof(name));
	snprintf(out, n, "%s%s", strlen(name) < sizeof("0000:00:00.0") - 1 ? "0000:" : "", name);
}

/* The drivers' own words for this are hard to find among their other lines. */
static int check_iface(const struct port *port)
{
	const struct net_driver *driver = net_driver_find(port->config->device);
	char iface[CONFIG_TEXT_BYTES];

	if (!driver->iface_exists || !net_driver_arg(port->config->device, driver->iface_arg, iface, sizeof(iface)) ||
		if_nametoindex(iface) != 0)
		return 0;
	log_line(LOG_ERR, "port \"%s\": there is no network interface \"%s\"", port->config->name, iface);
	return -ENODEV;
}

/* Virtual devices are made now; PCI devices were named to the EAL and exist already. program_fd: see port_xdp_open(). */
static int probe(struct port *port, int *program_fd)
{
	const char *device = port->config->device;
	char name[CONFIG_TEXT_BYTES + 8], other[CONFIG_TEXT_BYTES + 128];
	struct net_memif_args memif;
	int rc;

	if (net_memif_args(device, &memif)) {
		rc = port_memif_open(port, other, sizeof(other));
		if (rc != 0)
			return rc;
		device = other;
	}
	if (net_is_pci(device)) {
		full_pci_name(device, name, sizeof(name));
	} else {
		rc = check_iface(port);
		if (rc == 0 && port->memif == NULL) {
			rc = port_xdp_open(port, other, sizeof(other), program_fd);
			device = other;
		}
		if (rc != 0)
			return rc;
		rc = rte_dev_probe(device);
		if (rc != 0)
			return fail(port, "the device cannot be made", rc);
		net_device_name(device, name, sizeof(name));
	}
	rc = rte_eth_dev_get_port_by_name(name, &port->id);
	if (rc != 0)
		return fail(port, net_is_pci(device) ? "no DPDK driver took the device (dpdk-devbind.py -s shows)" :
			"the device made no port", rc);
	port->opened = true;
	return 0;
}

static int make_pool(struct port *port)
{
	const struct net_driver *driver = net_driver_find(port->config->device);
	uint32_t frame = net_driver_frame_room(port->config->device, port->config->mtu), room, n = port->config->mbufs;
	uint32_t least = port->config->n_rx_queues * port->config->rx_descriptors + 1024;
	char name[RTE_MEMPOOL_NAMESIZE];

	room = RTE_PKTMBUF_HEADROOM + RTE_ALIGN_CEIL(frame, 64u);
	if (room < RTE_MBUF_DEFAULT_BUF_SIZE)
		room = RTE_MBUF_DEFAULT_BUF_SIZE;
	if (driver->max_room_bytes != 0 && room > driver->max_room_bytes)
		room = driver->max_room_bytes;
	if (n < least)
		n = least;
	snprintf(name, sizeof(name), "rx_%u", port->index);
	port->rx_pool = rte_pktmbuf_pool_create(name, n, POOL_CACHE,
		RTE_ALIGN_CEIL(sizeof(struct wire_pkt), RTE_CACHE_LINE_SIZE), (uint16_t)room,
		rte_eth_dev_socket_id(port->id));
	if (port->rx_pool == NULL)
		return fail(port, "no memory for receive buffers (less ports[].mbufs, or more with -m in eal.args)",
			rte_errno);
	return 0;
}

/* The MTU of a kernel interface below a virtual device. */
static int set_iface_mtu(const struct port *port)
{
	struct ifreq req = {.ifr_mtu = (int)port->config->mtu};
	int fd, rc = 0;

	if (port->netdev[0] == '\0')
		return 0;
	snprintf(req.ifr_name, sizeof(req.ifr_name), "%.*s", IFNAMSIZ - 1, port->netdev);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (ioctl(fd, SIOCGIFMTU, &req) == 0 && req.ifr_mtu < (int)port->config->mtu) {
		req.ifr_mtu = (int)port->config->mtu;
		if (ioctl(fd, SIOCSIFMTU, &req) != 0)
			rc = -errno;
	}
	close(fd);
	return rc;
}

static void find_netdev(struct port *port, const struct rte_eth_dev_info *info)
{
	const struct net_driver *driver = net_driver_find(port->config->device);
	char name[IF_NAMESIZE];

	if (driver->iface_arg != NULL &&
		net_driver_arg(port->config->device, driver->iface_arg, port->netdev, sizeof(port->netdev)))
		return;
	if (info->if_index != 0 && if_indextoname(info->if_index, name) != NULL)
		snprintf(port->netdev, sizeof(port->netdev), "%s", name);
}

static int configure(struct port *port, struct rte_eth_dev_info *info)
{
	const struct config_port *config = port->config;
	uint32_t n_tx = port->n_tx_queues * port->pfc.n_lanes;
	struct rte_eth_conf conf = {.rxmode.mq_mode = RTE_ETH_MQ_RX_NONE};
	int rc;

	if (config->n_rx_queues > info->max_rx_queues || n_tx > info->max_tx_queues) {
		log_line(LOG_ERR,
			"port \"%s\": %u receive and %u transmit queues are needed (one for each worker), the "
			"device has %u and %u",
			config->name, config->n_rx_queues, n_tx, info->max_rx_queues, info->max_tx_queues);
		return -EINVAL;
	}
	if (config->n_rx_queues > 1 && info->flow_type_rss_offloads != 0) {
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
		conf.rx_adv_conf.rss_conf.rss_hf = info->flow_type_rss_offloads & (RTE_ETH_RSS_IP | RTE_ETH_RSS_UDP);
	}
	/* Some virtual drivers name a maximum they do not keep to; the interface's own MTU decides there. */
	if (config->mtu <= info->max_mtu && config->mtu + ETH_OVERHEAD <= info->max_rx_pktlen)
		conf.rxmode.mtu = config->mtu;
	rc = rte_eth_dev_configure(port->id, (uint16_t)config->n_rx_queues, (uint16_t)n_tx, &conf);
	return rc != 0 ? fail(port, "it cannot be configured", rc) : 0;
}

static int setup_queues(struct port *port, struct rte_eth_dev_info *info)
{
	uint16_t n_rxd = (uint16_t)port->config->rx_descriptors, n_txd = (uint16_t)port->config->tx_descriptors;
	unsigned socket = (unsigned)rte_eth_dev_socket_id(port->id);
	int rc;

	rte_eth_dev_adjust_nb_rx_tx_desc(port->id, &n_rxd, &n_txd);
	port->rx_room = n_rxd;
	info->default_txconf.offloads = 0;
	for (uint16_t q = 0; q < port->config->n_rx_queues; q++) {
		rc = rte_eth_rx_queue_setup(port->id, q, n_rxd, socket, NULL, port->rx_pool);
		if (rc != 0)
			return fail(port, "a receive queue cannot be made", rc);
	}
	for (uint16_t q = 0; q < port->n_tx_queues * port->pfc.n_lanes; q++) {
		rc = rte_eth_tx_queue_setup(port->id, q, n_txd, socket, NULL);
		if (rc != 0)
			return fail(port, "a transmit queue cannot be made", rc);
	}
	return 0;
}

static int make(struct port *port, int *program_fd)
{
	struct rte_eth_dev_info info;
	struct rte_ether_addr mac;
	int rc;

	rc = probe(port, program_fd);
	if (rc != 0)
		return rc;
	rc = rte_eth_dev_info_get(port->id, &info);
	if (rc != 0)
		return fail(port, "the device tells nothing of itself", rc);
	find_netdev(port, &info);
	rc = make_pool(port);
	if (rc == 0)
		rc = port_pfc_choose(port, port->n_tx_queues, info.max_tx_queues);
	if (rc == 0)
		rc = configure(port, &info);
	if (rc == 0)
		rc = setup_queues(port, &info);
	if (rc == 0)
		rc = port_xdp_take(port);
	if (rc == 0)
		rc = port_pfc_set(port, port->n_tx_queues);
	if (rc != 0)
		return rc;
	rc = rte_eth_macaddr_get(port->id, &mac);
	if (rc != 0)
		return fail(port, "it has no link address", rc);
	memcpy(port->mac, mac.addr_bytes, sizeof(port->mac));
	/* Two hosts on one link must differ: a bridge would keep our frames, and link-local addresses collide. */
	if (net_driver_find(port->config->device)->kernel_mac)
		port->mac[5] ^= 1;
	return 0;
}

int port_open(struct port *port)
{
	int program_fd = -1, rc = make(port, &program_fd);

	/* the driver has read it, or never will */
	if (program_fd >= 0)
		close(program_fd);
	return rc;
}

static bool set_macs(struct port *port)
{
	bool all = false;

	for (uint32_t i = 0; i < port->n_addrs; i++) {
		struct rte_ether_addr mac;

		if (memcmp(port->addrs[i].mac, port->mac, sizeof(port->mac)) == 0)
			continue;
		memcpy(mac.addr_bytes, port->addrs[i].mac, sizeof(mac.addr_bytes));
		if (rte_eth_dev_mac_addr_add(port->id, &mac, 0) != 0)
			all = true;
	}
	return all;
}

static void take_all(const struct port *port)
{
	if (rte_eth_promiscuous_enable(port->id) != 0)
		log_line(LOG_NOTICE,
			"port \"%s\": the driver cannot be told to receive all frames; if peers do not reach "
			"this port, look there",
			port->config->name);
}

void port_set_macs(struct port *port)
{
	if (!net_driver_find(port->config->device)->takes_all && set_macs(port))
		take_all(port);
}

/* Frames for the devices' own link addresses and for multicast groups must come through. */
static void set_filters(struct port *port)
{
	bool all = port->config->promiscuous;

	if (net_driver_find(port->config->device)->takes_all)
		return;
	all |= set_macs(port);
	if (rte_eth_allmulticast_enable(port->id) != 0)
		all = true;
	if (all)
		take_all(port);
}

static int set_mtu(const struct port *port)
{
	uint16_t mtu = (uint16_t)port->config->mtu, now = 0;
	struct rte_eth_dev_info info;
	int rc = rte_eth_dev_info_get(port->id, &info);

	if (rc != 0)
		return rc;
	/* af_packet names the frame of a standard interface as its largest, and carries what the interface does. */
	if (port->config->mtu + ETH_OVERHEAD > info.max_rx_pktlen && port->netdev[0] != '\0')
		return set_iface_mtu(port);
	if (rte_eth_dev_get_mtu(port->id, &now) == 0 && now == mtu)
		return 0;
	rc = rte_eth_dev_set_mtu(port->id, mtu);
	/* rings, files: whatever fits in a buffer */
	return rc == -ENOTSUP ? 0 : rc;
}

int port_start(struct port *port)
{
	int rc = set_mtu(port);

	if (rc != 0)
		return fail(port, "its MTU cannot be set", rc);
	if (port->memif != NULL && net_memif_is_client(port->memif)) {
		port_memif_dial(port);
		return 0;
	}
	rc = rte_eth_dev_start(port->id);
	port->started = rc == 0;
	if (rc != 0)
		return fail(port, "it does not start", rc);
	set_filters(port);
	(void)rte_eth_dev_set_link_up(port->id);
	port_poll_link(port);
	return 0;
}

/* The carrier itself; IFF_RUNNING follows it up to a second later, too late for who starts a program once we are ready. */
static bool has_link(int fd, struct ifreq *req)
{
	struct ethtool_value link = {.cmd = ETHTOOL_GLINK};

	req->ifr_data = (void *)&link;
	if (ioctl(fd, SIOCETHTOOL, req) == 0)
		return link.data != 0;
	return ioctl(fd, SIOCGIFFLAGS, req) == 0 && (req->ifr_flags & IFF_RUNNING) != 0;
}

/* Drivers on an interface of the kernel say that they are up whatever the interface is. */
static bool carrier(const struct port *port)
{
	struct ifreq req = {0};
	bool up;
	int fd;

	if (!net_driver_find(port->config->device)->iface_exists)
		return true;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return true;
	snprintf(req.ifr_name, sizeof(req.ifr_name), "%.*s", IFNAMSIZ - 1, port->netdev);
	up = has_link(fd, &req);
	close(fd);
	return up;
}

bool port_poll_link(struct port *port)
{
	struct rte_eth_link link;
	bool up;

	if (rte_eth_link_get_nowait(port->id, &link) != 0)
		return false;
	up = link.link_status == RTE_ETH_LINK_UP && !atomic_load(&port->off) && carrier(port);
	port->speed_mbps = link.link_speed == RTE_ETH_SPEED_NUM_UNKNOWN ? 0 : link.link_speed;
	if (up == port->up)
		return false;
	port->up = up;
	return true;
}

void port_close(struct port *port)
{
	if (port->started)
		(void)rte_eth_dev_stop(port->id);
	port->started = false;
	port_xdp_release(port);
	if (port->opened)
		(void)rte_eth_dev_close(port->id);
	port->opened = false;
	rte_mempool_free(port->rx_pool);
	port->rx_pool = NULL;
}
