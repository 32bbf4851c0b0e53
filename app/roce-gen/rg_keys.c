/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of keys. */
#include "rg_config.h"

#define F(s, f)        offsetof(struct s, f), sizeof(((struct s *)0)->f), 0
#define L(s, f, count) offsetof(struct s, f), sizeof(((struct s *)0)->f[0]), offsetof(struct s, count)
#define GROUP          0, 0, 0
#define C(f)           F(rg_config, f)
#define P(f)           F(rg_port_config, f)
#define W(f)           F(rg_flow_config, f)
#define X(f)           F(rg_fault_config, f)
#define N(path, at, min, max, dflt, unit, help) {path, CONFIG_UINT, at, min, max, dflt, unit, help}
#define MS             (1ull << 40)
#define U24            0xffffffu
#define MAX_MBPS       8000000u
#define MAX_SIZE       (1u << 30)

const struct config_key rg_keys[] = {
	{"eal", CONFIG_GROUP_OF, GROUP, 0, 1, "", "", "DPDK's environment"},
	{"eal.args", CONFIG_TEXTS, L(rg_config, eal_args, n_eal_args), 0, CONFIG_MAX_EAL_ARGS, "", "",
		"EAL options, one word each; lcores, devices and file names are set by roce-gen"},
	{"eal.main_cpus", CONFIG_CPUS, C(main_cpus), 0, 0, "", "",
		"CPUs of the one thread; default: all the process may use"},

	{"role", CONFIG_CHOICE, C(role), 0, 0, NULL, "tx|rx|both", "send flows, receive, or both in one process"},
	N("seed", C(seed), 0, INT64_MAX, "1", "",
		"of sizes and of faults by chance; the same seed sends the same frames"),
	N("duration_ms", C(duration_ms), 0, MS, "0", "ms",
		"then it ends; 0: when all flows have sent their count, or never"),
	N("drain_ms", C(drain_ms), 0, 60000, "200", "ms", "with `both`: for what is under way when the last flow ends"),
	N("report_ms", C(report_ms), 0, MS, "0", "ms",
		"between two lines on standard error that tell how it goes; 0: none"),
	{"strict", CONFIG_BOOLEAN, C(strict), 0, 1, "false", "",
		"status 3 when the sink saw anything lost, late, twice, damaged or malformed, or less than was sent"},
	{"clock", CONFIG_CHOICE, C(clock), 0, 0, "monotonic", "monotonic|realtime",
		"of the payloads' times; realtime for two hosts whose clocks agree"},
	N("streams", C(streams), 1, 1u << 20, "4096", "",
		"queue pairs that the sink keeps account of (about 1 to 2 KB each)"),
	N("tx_mbufs", C(tx_mbufs), 512, 4194304, "2048", "buffers",
		"packet buffers for sending, beside tx_descriptors of each port"),
	N("idle_sleep_us", C(idle_sleep_us), 0, 100000, "100", "us",
		"longest sleep between two looks at the ports when nothing comes and nothing is to be sent; 0: never sleep"),
	N("catch_up_us", C(catch_up_us), 0, 10000000, "1000", "us",
		"of its rate that a flow makes up for when it could not send in time"),
	{"run_path", CONFIG_TEXT, C(run_path), 1, 90, "/run/roced/gen", "",
		"what memif ports need lies beside this path"},

	{"ports", CONFIG_LIST_OF, L(rg_config, ports, n_ports), 1, RG_MAX_PORTS, NULL, "", "DPDK ports"},
	{"ports[].name", CONFIG_NAME, P(port.name), 0, 0, NULL, "", "what flows and results call it"},
	{"ports[].device", CONFIG_TEXT, P(port.device), 1, CONFIG_TEXT_BYTES - 1, NULL, "",
		"PCI address or virtual device, as in roced's configuration"},
	N("ports[].mtu", P(port.mtu), 576, 9600, "1500", "bytes", "largest IP packet"),
	N("ports[].rx_descriptors", P(port.rx_descriptors), 64, 32768, "1024", "", "of its receive queue"),
	N("ports[].tx_descriptors", P(port.tx_descriptors), 64, 32768, "1024", "", "of its transmit queue"),
	N("ports[].mbufs", P(port.mbufs), 512, 4194304, "4096", "buffers", "packet buffers for receiving"),
	{"ports[].addresses", CONFIG_PREFIXES, L(rg_port_config, addrs, n_addrs), 0, CONFIG_MAX_ADDRS, "", "",
		"it answers ARP, neighbour discovery and ping for these, and announces them each second"},

	{"flows", CONFIG_LIST_OF, L(rg_config, flows, n_flows), 0, RG_MAX_FLOWS, "", "",
		"what is sent; for the sink, how it calls what it receives"},
	{"flows[].name", CONFIG_NAME, W(name), 0, 0, NULL, "", "what results call it"},
	{"flows[].port", CONFIG_NAME, W(port), 0, 0, "", "", "port it is sent by; default: the first"},
	{"flows[].opcodes", CONFIG_TEXTS, L(rg_flow_config, opcodes, n_opcodes), 0, RG_MAX_OPCODES, "", "",
		"one each message, in turn; default RC_RDMA_WRITE: see below"},
	{"flows[].pcap", CONFIG_TEXT, W(pcap), 0, CONFIG_TEXT_BYTES - 1, "", "",
		"file whose frames are sent as they are; at the times recorded, or at rate_mbps or rate_pps"},
	{"flows[].loop", CONFIG_BOOLEAN, W(loop), 0, 1, "false", "", "from the start again at the end of the file"},
	{"flows[].sizes", CONFIG_LIST_OF, L(rg_flow_config, sizes, n_sizes), 0, RG_MAX_SIZES, "", "",
		"of messages; default: 1024 bytes"},
	N("flows[].sizes[].bytes", F(rg_size, bytes), 0, MAX_SIZE, NULL, "bytes", "the size"),
	N("flows[].sizes[].to", F(rg_size, to_bytes), 0, MAX_SIZE, "0", "bytes",
		"any from `bytes` to this; 0: `bytes`"),
	N("flows[].sizes[].weight", F(rg_size, weight), 0, 1000000, "0", "",
		"how often by chance, in proportion; all 0: the sizes in turn"),
	{"flows[].mtu", CONFIG_RDMA_MTU, W(mtu), 256, 4096, "1024", "bytes", "most payload of a packet"},
	N("flows[].start_ms", W(start_ms), 0, MS, "0", "ms", "when it begins"),
	N("flows[].count", W(count), 0, INT64_MAX, "0", "packets", "then it ends; 0: with duration_ms or a signal"),
	N("flows[].rate_mbps", W(rate_mbps), 0, MAX_MBPS, "0", "Mb/s",
		"mean rate on the wire, 24 bytes a frame for preamble, FCS and gap included; 0: no bound"),
	N("flows[].rate_pps", W(rate_pps), 0, 1000000000, "0", "packets/s", "mean rate in packets instead"),
	N("flows[].burst", W(burst), 1, RG_MAX_BURST, "1", "packets", "that go back to back"),
	N("flows[].qps", W(qps), 1, RG_MAX_QPS, "1", "", "queue pairs, one packet each in turn"),
	N("flows[].first_qpn", W(first_qpn), 0, U24, "17", "", "destination QPN of the first; the others follow"),
	N("flows[].first_psn", W(first_psn), 0, U24, "0", "", "of each queue pair"),
	{"flows[].src", CONFIG_NETWORK, W(src), 0, 0, "", "",
		"source address; of a network, a host for each queue pair in turn"},
	{"flows[].dst", CONFIG_NETWORK, W(dst), 0, 0, "", "", "destination address, the same way"},
	{"flows[].smac", CONFIG_MAC, W(smac), 0, 0, "", "", "source link address; default: the port's"},
	{"flows[].dmac", CONFIG_MAC, W(dmac), 0, 0, "", "",
		"destination link address; default, with two ports: the other one's"},
	N("flows[].vlan", W(vlan), 0, 4094, "0", "", "VLAN; 0: no tag"),
	N("flows[].pcp", W(pcp), 0, 7, "0", "", "priority of the tag"),
	N("flows[].dscp", W(dscp), 0, 63, "26", "", "of the IP header"),
	N("flows[].ecn", W(ecn), 0, 3, "2", "", "of the IP header: 0 not capable, 1 ECT(1), 2 ECT(0), 3 CE"),
	N("flows[].ttl", W(ttl), 1, 255, "64", "", "or hop limit"),
	{"flows[].sport_policy", CONFIG_CHOICE, W(sport_policy), 0, 0, "qp", "fixed|qp|spray",
		"UDP source port: sport_first; a hash of the QPN; or each packet the next one of the range"},
	N("flows[].sport_first", W(sport_first), 0, UINT16_MAX, "49152", "", "first UDP source port"),
	N("flows[].sport_count", W(sport_count), 1, 65536, "16384", "", "how many there are from it on"),
	N("flows[].pkey", W(pkey), 0, UINT16_MAX, "65535", "", "P_Key"),
	N("flows[].qkey", W(qkey), 0, UINT32_MAX, "286331153", "", "Q_Key of datagrams"),
	N("flows[].source_qpn", W(source_qpn), 0, U24, "1", "", "source QPN of datagrams"),
	N("flows[].rkey", W(rkey), 0, UINT32_MAX, "0", "", "R_Key of WRITE, READ and ATOMIC"),
	N("flows[].va", W(va), 0, INT64_MAX, "0", "", "their address"),
	N("flows[].syndrome", W(syndrome), 0, 255, "31", "", "of acknowledgements; 31: ACK, unlimited credits"),
	{"flows[].ack_req", CONFIG_BOOLEAN, W(ack_req), 0, 1, "true", "",
		"the last packet of a message asks for an acknowledgement"},
	{"flows[].pfc_priorities", CONFIG_BITS, W(pfc_priorities), 0, 7, "", "", "of its PFC frames"},
	N("flows[].pfc_quanta", W(pfc_quanta), 0, UINT16_MAX, "65535", "quanta",
		"each of these is paused for, 512 bit times each"),

	{"flows[].faults", CONFIG_LIST_OF, L(rg_flow_config, faults, n_faults), 0, RG_MAX_FAULTS, "", "",
		"what is wrong with its packets"},
	{"flows[].faults[].kind", CONFIG_CHOICE, X(kind), 0, 0, NULL, RG_FAULT_NAMES, "see below"},
	N("flows[].faults[].every", X(every), 0, INT64_MAX, "0", "packets", "each so manieth packet"),
	N("flows[].faults[].ppm", X(ppm), 0, 1000000, "0", "ppm", "or so many of a million, by chance"),
	N("flows[].faults[].amount", X(amount), 0, 65535, "0", "",
		"psn_gap: PSNs left out (0: 1); truncate: bytes cut off (0: by chance); bad_opcode: the opcode (0: 31)"),
};

const size_t rg_n_keys = sizeof(rg_keys) / sizeof(rg_keys[0]);

void rg_config_help(FILE *out, bool markdown)
{
	config_print_keys(out, rg_keys, rg_n_keys, markdown);
}
