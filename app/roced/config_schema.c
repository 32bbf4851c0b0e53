/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of configuration keys. */
#include "config_schema.h"

/* Field f of struct s; the same for lists and arrays with their count. */
#define F(s, f)           offsetof(struct s, f), sizeof(((struct s *)0)->f), 0
#define L(s, f, count)    offsetof(struct s, f), sizeof(((struct s *)0)->f[0]), offsetof(struct s, count)
#define GROUP             0, 0, 0
#define LIMIT(f)          offsetof(struct config, limits.f), sizeof(((struct vd_limits *)0)->f), 0

const struct config_key config_keys[] = {
	{"eal", CONFIG_GROUP_OF, GROUP, 0, 1, "", "", "DPDK's environment"},
	{"eal.args", CONFIG_TEXTS, L(config, eal_args, n_eal_args), 0, CONFIG_MAX_EAL_ARGS, "", "",
		"EAL options, one word each; lcores, devices and file names are set by roced"},
	{"eal.main_cpus", CONFIG_CPUS, F(config, main_cpus), 0, 0, "", "",
		"CPUs of the main thread; default: all the process may use"},
	{"eal.tx_mbufs", CONFIG_UINT, F(config, tx_mbufs), 1024, 4194304, "8192", "buffers",
		"packet buffers for sending, shared by all workers (about 4.7 KiB each)"},

	{"control", CONFIG_GROUP_OF, GROUP, 0, 1, "", "", "socket the programs connect to"},
	{"control.socket", CONFIG_TEXT, F(config, control.socket), 1, 107, VC_DEFAULT_SOCKET, "",
		"path of the Unix socket; its directory is made when it is missing"},
	{"control.group", CONFIG_NAME, F(config, control.group), 0, 0, "", "",
		"group that owns the socket; default: left alone"},
	{"control.mode", CONFIG_MODE, F(config, control.mode), 0, 0777, "0666", "octal",
		"permissions of the socket"},

	{"workers", CONFIG_LIST_OF, L(config, workers, n_workers), 1, CONFIG_MAX_WORKERS, NULL, "",
		"threads that move packets, one graph each"},
	{"workers[].lcore", CONFIG_UINT, F(config_worker, lcore), 0, 127, NULL, "",
		"DPDK lcore number"},
	{"workers[].cpus", CONFIG_CPUS, F(config_worker, cpus), 0, 0, "", "",
		"CPUs the thread may run on, \"2\" or \"0-1\"; default: the CPU of the lcore's number"},
	{"workers[].rx", CONFIG_LIST_OF, L(config_worker, rx, n_rx), 0, CONFIG_MAX_RX, "", "",
		"receive queues it polls; default: of every port the queue of the worker's place in the list"},
	{"workers[].rx[].port", CONFIG_NAME, F(config_rx, port), 0, 0, NULL, "", "name of a port"},
	{"workers[].rx[].queue", CONFIG_UINT, F(config_rx, queue), 0, 63, "0", "", "queue number"},
	{"workers[].idle_sleep_us", CONFIG_UINT, F(config_worker, idle_sleep_us), 0, 100000, "200", "us",
		"longest sleep between two looks at the ports when idle; 0: never sleep"},

	{"ports", CONFIG_LIST_OF, L(config, ports, n_ports), 1, CONFIG_MAX_PORTS, NULL, "", "DPDK ports"},
	{"ports[].name", CONFIG_NAME, F(config_port, name), 0, 0, NULL, "", "what the rest of the file calls it"},
	{"ports[].device", CONFIG_TEXT, F(config_port, device), 1, CONFIG_TEXT_BYTES - 1, NULL, "",
		"PCI address, or virtual device: net_tap, net_af_packet, net_af_xdp, net_memif, net_ring, "
		"net_virtio_user, net_pcap; with arguments, as DPDK takes them"},
	{"ports[].mtu", CONFIG_UINT, F(config_port, mtu), 576, 9600, "1500", "bytes", "largest IP packet"},
	{"ports[].promiscuous", CONFIG_BOOLEAN, F(config_port, promiscuous), 0, 1, "false", "",
		"receive frames for other link addresses too"},
	{"ports[].rx_descriptors", CONFIG_UINT, F(config_port, rx_descriptors), 64, 32768, "1024", "",
		"of each receive queue"},
	{"ports[].tx_descriptors", CONFIG_UINT, F(config_port, tx_descriptors), 64, 32768, "1024", "",
		"of each transmit queue"},
	{"ports[].mbufs", CONFIG_UINT, F(config_port, mbufs), 512, 4194304, "8192", "buffers",
		"packet buffers for receiving"},

	{"devices", CONFIG_LIST_OF, L(config, devices, n_devices), 1, VD_MAX_DEVICES, NULL, "",
		"RDMA devices: one set of addresses on one port"},
	{"devices[].name", CONFIG_NAME, F(config_device, name), 0, 0, NULL, "", "what ibv_devices prints"},
	{"devices[].port", CONFIG_NAME, F(config_device, port), 0, 0, NULL, "", "name of a port"},
	{"devices[].addresses", CONFIG_PREFIXES, L(config_device, addrs, n_addrs), 0, CONFIG_MAX_ADDRS, "", "",
		"IP addresses with prefix length (24 and 64 when left out), in GID order after the link-local one"},
	{"devices[].gateway4", CONFIG_ADDR4, F(config_device, gateway4), 0, 0, "", "", "IPv4 router"},
	{"devices[].gateway6", CONFIG_ADDR6, F(config_device, gateway6), 0, 0, "", "", "IPv6 router"},
	{"devices[].mtu", CONFIG_RDMA_MTU, F(config_device, mtu), 256, 4096, "", "bytes",
		"largest path MTU: 256, 512, 1024, 2048 or 4096; default: what the port's MTU allows"},
	{"devices[].vlan", CONFIG_UINT, F(config_device, vlan), 0, 4094, "0", "", "VLAN id; 0: untagged"},
	{"devices[].priority", CONFIG_UINT, F(config_device, priority), 0, 7, "0", "",
		"IEEE 802.1p priority in the VLAN tag"},
	{"devices[].mac", CONFIG_MAC, F(config_device, mac), 0, 0, "", "", "link address; default: the port's"},
	{"devices[].netdev", CONFIG_NAME, F(config_device, netdev), 0, 0, "", "",
		"network interface shown to programs; default: that of the port's device, if it has one"},

	{"limits", CONFIG_GROUP_OF, GROUP, 0, 1, "", "", "what one client may take"},
	{"limits.max_sessions", CONFIG_UINT, LIMIT(max_sessions), 1, 4096, "256", "",
		"connections of all clients"},
	{"limits.max_qps", CONFIG_UINT, LIMIT(max_qps), 1, VC_MAX_QPS, "1024", "", "queue pairs of a context"},
	{"limits.max_cqs", CONFIG_UINT, LIMIT(max_cqs), 1, 65536, "1024", "", "completion queues of a context"},
	{"limits.max_srqs", CONFIG_UINT, LIMIT(max_srqs), 1, 65534, "256", "", "shared receive queues of a context"},
	{"limits.max_mrs", CONFIG_UINT, LIMIT(max_mrs), 1, 1048576, "4096", "", "memory regions of a context"},
	{"limits.max_mws", CONFIG_UINT, LIMIT(max_mws), 1, 65534, "4096", "", "memory windows of a context"},
	{"limits.max_pds", CONFIG_UINT, LIMIT(max_pds), 1, 65536, "256", "", "protection domains of a context"},
	{"limits.max_ahs", CONFIG_UINT, LIMIT(max_ahs), 1, 1048576, "4096", "", "address handles of a context"},
	{"limits.max_groups", CONFIG_UINT, LIMIT(max_groups), 1, 65534, "64", "",
		"multicast memberships of a context's queue pairs"},
	{"limits.max_channels", CONFIG_UINT, LIMIT(max_channels), 1, 65536, "256", "",
		"completion or event channels of a session"},
	{"limits.max_cm_ids", CONFIG_UINT, LIMIT(max_cm_ids), 1, 65536, "1024", "",
		"connection ids of a session"},
	{"limits.max_send_wr", CONFIG_UINT, LIMIT(max_send_wr), 1, 65536, "4096", "",
		"send work requests of a queue pair"},
	{"limits.max_recv_wr", CONFIG_UINT, LIMIT(max_recv_wr), 1, 65536, "8192", "",
		"receive work requests of a queue pair"},
	{"limits.max_srq_wr", CONFIG_UINT, LIMIT(max_srq_wr), 1, 65536, "32768", "",
		"work requests of a shared receive queue"},
	{"limits.max_cqe", CONFIG_UINT, LIMIT(max_cqe), 1, 4194304, "262144", "",
		"entries of a completion queue"},
	{"limits.max_sge", CONFIG_UINT, LIMIT(max_sge), 1, TP_MAX_SGE, "16", "",
		"scatter/gather elements of a work request"},
	{"limits.inline_bytes", CONFIG_UINT, LIMIT(max_inline_bytes), 1, TP_MAX_INLINE_BYTES, "256", "bytes",
		"inline data of a send work request"},
	{"limits.max_rd_atomic", CONFIG_UINT, LIMIT(max_rd_atomic), 1, 128, "128", "",
		"outstanding READs and atomics of a queue pair, each way"},
	{"limits.cm_timeout_ms", CONFIG_UINT, LIMIT(cm_timeout_ms), 10, 600000, "5000", "ms",
		"wait for an answer of the peer's connection manager"},
	{"limits.shm_bytes", CONFIG_UINT, LIMIT(shm_bytes), 1048576, 1ull << 40, "1073741824", "bytes",
		"address space of a context's queues; memory is taken only as they are made"},
};

const size_t config_n_keys = sizeof(config_keys) / sizeof(config_keys[0]);

void config_print_help(FILE *out, bool markdown)
{
	config_print_keys(out, config_keys, config_n_keys, markdown);
}
