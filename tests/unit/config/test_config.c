/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The configuration file: what is wrong in it is said with line and remedy, all of it at once; what is
 * right is read with its defaults; every example in config/ is right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "load.h"
#include "net_driver.h"

#define EAL     "eal = { args = []; };\n"
#define WORKERS "workers = ( { lcore = 1; } );\n"
#define PORTS   "ports = ( { name = \"p0\"; device = \"net_tap0\"; } );\n"
#define DEVICES "devices = ( { name = \"d0\"; port = \"p0\"; addresses = [ \"10.0.0.1\", \"fd00::1\" ]; } );\n"
/* A port or a device with more keys. */
#define PORT(more)   "ports = ( { name = \"p0\"; " more " } );\n"
/* A device with a second port, on line 6. */
#define PLANES(plane) \
	EAL WORKERS "ports = ( { name = \"p0\"; device = \"net_tap0\"; }, { name = \"p1\"; device = \"net_tap1\"; } );\n" \
	"devices = ( { name = \"d0\"; port = \"p0\"; addresses = [ \"10.0.0.1/24\" ];\n" \
	"planes = (\n{ " plane " } ); } );\n"
#define DEVICE(more) "devices = ( { name = \"d0\"; port = \"p0\"; " more " } );\n"

struct bad {
	const char *text;
	unsigned line; /* 0: what is wrong is not on one */
	const char *want;
	unsigned n_errors;
};

static const struct bad bad_cases[] = {
	/* syntax */
	{"eal = {\n", 2, "syntax error", 1},
	{EAL "eal = { args = []; };\n" WORKERS PORTS DEVICES, 2, "duplicate setting name", 1},
	/* unknown keys, with the nearest */
	{PLANES("port = \"p2\"; addresses = [ \"10.1.0.1/24\" ];"), 6,
		"devices[0].planes[0].port: there is no port \"p2\", there is \"p0\", \"p1\"", 1},
	{PLANES("port = \"p0\"; addresses = [ \"10.1.0.1/24\" ];"), 6, "is the device's own port, a plane is another one", 1},
	{PLANES("port = \"p1\"; addresses = [ \"10.1.0.2/24\" ];"), 6,
		"addresses[0]: must have the prefix length and the host part of one of the device's addresses", 1},
	{PLANES("port = \"p1\"; addresses = [ \"10.1.0.1/16\" ];"), 6, "must have the prefix length and the host part", 1},
	{PLANES("port = \"p1\"; addresses = [ \"10.0.0.1/24\" ];"), 6,
		"is in the network of devices[0].addresses[0], each plane must have its own", 1},
	{PLANES("port = \"p1\";"), 6, "addresses", 1},
	{PLANES("port = \"p1\"; addresses = [ \"10.1.0.1/24\" ]; }, { port = \"p1\"; addresses = [ \"10.2.0.1/24\" ];"), 6,
		"devices[0].planes[1].port: is the port of planes[0] too", 1},
	{EAL WORKERS PORTS DEVICES "limit = { };\n", 5, "unknown key 'limit', did you mean 'limits'?", 1},
	{EAL "workers = ( { lcore = 1; cpu = \"0\"; } );\n" PORTS DEVICES, 2,
		"workers[0]: unknown key 'cpu', did you mean 'cpus'?", 1},
	{EAL WORKERS PORTS DEVICES "control = { frobnicate = 1; };\n", 5,
		"control: unknown key 'frobnicate', known are: socket, group, mode, telemetry", 1},
	{EAL WORKERS PORTS DEVICES "limits = { max_sendwr = 1; };\n", 5, "did you mean 'max_send_wr'?", 1},
	/* channels */
	{EAL WORKERS PORTS DEVICES "channels = (\n{ name = \"a\"; dscp = [ 26 ]; },\n{ name = \"b\"; dscp = [ 3, 26 ]; } );\n", 7,
		"channels[1].dscp: 26 is of another channel too", 1},
	{EAL WORKERS PORTS DEVICES "channels = (\n{ name = \"a\"; pcp = [ 3 ]; },\n{ name = \"b\"; pcp = [ 3 ]; } );\n", 7,
		"channels[1].pcp: 3 is of another channel too", 1},
	{EAL WORKERS PORTS DEVICES "channels = (\n{ name = \"a\"; },\n{ name = \"a\"; } );\n", 7,
		"channels[1].name: \"a\" is used by channels[0] too", 1},
	{EAL WORKERS PORTS DEVICES "channels = (\n{ name = \"a\"; dscp = [ 64 ]; } );\n", 6,
		"channels[0].dscp[0]: 64 is out of range, must be 0 to 63", 1},
	{EAL WORKERS PORTS DEVICES "channels = (\n{ name = \"a\"; dscp = 26; } );\n", 6,
		"channels[0].dscp: must be an array of numbers", 1},
	{EAL WORKERS PORTS DEVICES "channels = (\n{ name = \"a\"; dscp = [ \"26\" ]; } );\n", 6, "channels[0].dscp[0]: must be", 1},
	{EAL WORKERS PORTS DEVICES "channels = (\n{ name = \"a\"; guaranteed_mbps = 20; ceiling_mbps = 10; } );\n", 6,
		"channels[0].guaranteed_mbps: 20 is above ceiling_mbps, 10", 1},
	{EAL WORKERS PORTS DEVICES "channels = (\n{ name = \"a\"; ecn_min_kbytes = 20; ecn_max_kbytes = 10; } );\n", 6,
		"channels[0].ecn_min_kbytes: 20 is above ecn_max_kbytes, 10", 1},
	{EAL WORKERS PORT("device = \"net_tap0\"; rate_mbps = 10;") DEVICES
		"channels = ( { name = \"a\"; guaranteed_mbps = 8; }, { name = \"b\"; guaranteed_mbps = 3; } );\n", 3,
		"ports[0].rate_mbps: 10 is less than channels are guaranteed, 11", 1},
	{EAL WORKERS PORT("device = \"net_tap0\"; pfc = [ 0, 3 ];") DEVICES "channels = ( { name = \"a\"; } );\n", 3,
		"ports[0].pfc: no channel has priority 3", 1},
	{EAL WORKERS PORT("device = \"net_tap0\"; pfc_send = [ 0, 3 ];") DEVICES "channels = ( { name = \"a\"; } );\n", 3,
		"ports[0].pfc_send: no channel has priority 3", 1},
	{EAL WORKERS PORT("device = \"net_tap0\"; pfc_buffer_kbytes = 50;") DEVICES, 3,
		"ports[0].pfc_buffer_kbytes: needs priorities in pfc_send, nothing is paused else", 1},
	{EAL WORKERS PORT("device = \"net_tap0\"; pfc_headroom_kbytes = 50;") DEVICES, 3,
		"ports[0].pfc_headroom_kbytes: needs priorities in pfc_send, nothing is paused else", 1},
	{EAL WORKERS PORT("device = \"net_tap0\"; trust_pcp = true;") DEVICES
		"channels = (\n{ name = \"a\"; pcp = [ 0, 1 ]; send_pcp = 1; },\n{ name = \"b\"; pcp = [ 3 ]; send_pcp = 4; } );\n", 7,
		"channels[1].send_pcp: 4 is not among its pcp, and ports[0].trust_pcp tells channels apart by that", 1},
	{EAL WORKERS PORTS DEVICES "channels = (\n{ name = \"a\"; send_pcp = 9; } );\n", 6,
		"channels[0].send_pcp: 9 is out of range, must be 0 to 8", 1},
	{EAL WORKERS PORT("device = \"net_tap0\"; pfc_send = [ 0 ]; pfc_buffer_kbytes = 50; pfc_headroom_kbytes = 50;") DEVICES
		"channels = ( { name = \"a\"; } );\n", 3,
		"ports[0].pfc_headroom_kbytes: 50 is not below pfc_buffer_kbytes, 50", 1},
	{EAL WORKERS PORT("device = \"net_tap0\"; pfc_mode = \"hardware\";") DEVICES, 3,
		"ports[0].pfc_mode: \"hardware\" needs priorities in pfc or pfc_send", 1},
	{EAL WORKERS PORT("device = \"net_tap0\"; pfc_mode = \"hardware\"; pfc_send = [ 0, 3 ];") DEVICES
		"channels = ( { name = \"a\"; }, { name = \"b\"; priority = 3; } );\n", 3,
		"ports[0].pfc_send: with pfc_mode \"hardware\" must be one priority", 1},
	{EAL WORKERS PORT("device = \"net_tap0\"; pfc = [ 8 ];") DEVICES "channels = ( { name = \"a\"; } );\n", 3,
		"ports[0].pfc[0]: 8 is out of range, must be 0 to 7", 1},
	/* missing keys */
	{EAL PORTS DEVICES, 1, "key 'workers' is missing: a list", 1},
	{EAL WORKERS "ports = (\n { device = \"net_tap0\"; } );\n" DEVICES, 4, "ports[0]: key 'name' is missing", 1},
	{EAL WORKERS "ports = ( { name = \"p0\"; } );\n" DEVICES, 3, "ports[0]: key 'device' is missing", 1},
	/* types */
	{EAL "workers = ( { lcore = \"1\"; } );\n" PORTS DEVICES, 2, "workers[0].lcore: must be a number", 1},
	{EAL "workers = { lcore = 1; };\n" PORTS DEVICES, 2, "workers: must be a list", 1},
	{EAL "workers = ( 1 );\n" PORTS DEVICES, 2, "workers[0]: must be a group", 1},
	{"eal = 1;\n" WORKERS PORTS DEVICES, 1, "eal: must be a group", 1},
	{"eal = { args = \"-m\"; };\n" WORKERS PORTS DEVICES, 1, "eal.args: must be an array of texts", 1},
	{"eal = { args = [ 1 ]; };\n" WORKERS PORTS DEVICES, 1, "eal.args[0]: must be a text", 1},
	{EAL WORKERS PORT("device = \"net_tap0\"; promiscuous = 1;") DEVICES, 3,
		"ports[0].promiscuous: must be true or false", 1},
	/* ranges */
	{EAL "workers = ( { lcore = 128; } );\n" PORTS DEVICES, 2,
		"workers[0].lcore: 128 is out of range, must be 0 to 127", 1},
	{EAL "workers = ( { lcore = -1; } );\n" PORTS DEVICES, 2, "-1 is out of range, must be 0 to 127", 1},
	{EAL WORKERS PORTS DEVICES "limits = { shm_bytes = 99999999999999L; };\n", 5,
		"limits.shm_bytes: 99999999999999 is out of range, must be 1048576 to 1099511627776 bytes", 1},
	{EAL WORKERS PORTS DEVICES "limits = { inline_bytes = 257; };\n", 5, "must be 1 to 256 bytes", 1},
	/* numbers that libconfig cuts: 1 and 0 would be left of them */
	{EAL "workers = ( { lcore = 4294967297; } );\n" PORTS DEVICES, 2,
		"4294967297: a number above 2147483647 needs an L at its end", 1},
	{EAL WORKERS PORTS DEVICES "/* 9999999999 */ # 9999999999\nlimits = { shm_bytes = 4294967296; };\n", 6,
		"4294967296: a number above 2147483647 needs an L", 1},
	{EAL WORKERS PORTS DEVICES "limits = { shm_bytes = 99999999999999999999L; };\n", 5,
		"99999999999999999999L: no number may be so large", 1},
	{EAL WORKERS PORTS DEVICES "limits = { shm_bytes = 0x100000000; };\n", 5,
		"0x100000000: a number above 4294967295 needs an L", 1},
	/* include files */
	{EAL WORKERS PORTS DEVICES "@include \"/\"\n", 5, "/: cannot read: it is a directory", 1},
	{EAL WORKERS PORTS DEVICES "@include \"/nonexistent\"\n", 5, "/nonexistent: cannot read: No such file", 1},
	{EAL WORKERS PORT("device = \"net_tap0\"; mtu = 100;") DEVICES, 3, "must be 576 to 9600 bytes", 1},
	{EAL WORKERS PORTS DEVICE("mtu = 1000;"), 4, "1000 is no RDMA MTU, must be 256, 512, 1024, 2048 or 4096", 1},
	{EAL WORKERS PORTS DEVICE("mtu = 8192;"), 4, "must be 256 to 4096", 1},
	{EAL WORKERS PORTS DEVICE("vlan = 4095;"), 4, "must be 0 to 4094", 1},
	{EAL WORKERS "ports = ( );\n" DEVICES, 3, "ports: has 0 entries, must have 1 to 8", 2},
	/* values */
	{EAL "workers = ( { lcore = 1; cpus = \"1-\"; } );\n" PORTS DEVICES, 2, "must be CPU numbers", 1},
	{EAL "workers = ( { lcore = 1; cpus = \"3-1\"; } );\n" PORTS DEVICES, 2, "must be CPU numbers", 1},
	{EAL "workers = ( { lcore = 1; cpus = \"1,\"; } );\n" PORTS DEVICES, 2, "must be CPU numbers", 1},
	{EAL WORKERS PORTS DEVICES "control = { mode = \"rw\"; };\n", 5, "must be a file mode like", 1},
	{EAL WORKERS PORTS DEVICES "control = { mode = \"0800\"; };\n", 5, "must be a file mode like", 1},
	{EAL WORKERS PORTS DEVICES "control = {\n group = \"no-such-group\"; };\n", 6,
		"control.group: \"no-such-group\" is wrong, must be the name of a group of this system, or a number", 1},
	{EAL WORKERS PORTS DEVICES "control = { group = \"4294967295\"; };\n", 5, "must be the name of a group", 1},
	{EAL WORKERS PORTS DEVICES "user_limits = { max_qps = 0; };\n", 5, "must be 1 to 1048576", 1},
	{EAL WORKERS PORTS DEVICES "control = { socket = \"\"; };\n", 5, "must be a text that is not empty", 1},
	{EAL WORKERS PORTS DEVICE("addresses = [ \"10.0.0.300\" ];"), 4,
		"devices[0].addresses[0]: \"10.0.0.300\" is wrong, must be an address like", 1},
	{EAL WORKERS PORTS DEVICE("addresses = [ \"10.0.0.1/33\" ];"), 4, "a prefix length of 1 to 32", 1},
	{EAL WORKERS PORTS DEVICE("addresses = [ \"10.0.0.255/24\" ];"), 4,
		"devices[0].addresses[0]: \"10.0.0.255/24\" is wrong, must be a host's address", 1},
	{EAL WORKERS PORTS DEVICE("addresses = [ \"10.0.0.128/25\" ];"), 4,
		"must be a host's address, not the network's", 1},
	{EAL WORKERS PORTS DEVICE("addresses = [ \"fd00::1/\" ];"), 4, "a prefix length of 1 to 128", 1},
	{EAL WORKERS PORTS DEVICE("addresses = [ \"224.0.0.1\" ];"), 4, "must be a unicast address", 1},
	{EAL WORKERS PORTS DEVICE("addresses = [ \"ff02::1\" ];"), 4, "must be a unicast address", 1},
	{EAL WORKERS PORTS DEVICE("addresses = [ \"::\" ];"), 4, "must be a unicast address", 1},
	{EAL WORKERS PORTS DEVICE("gateway4 = \"fd00::1\";"), 4, "must be an IPv4 address", 1},
	{EAL WORKERS PORTS DEVICE("gateway6 = \"10.0.0.1\";"), 4, "must be an IPv6 address", 1},
	{EAL WORKERS PORTS DEVICE("mac = \"01:00:00:00:00:01\";"), 4, "must be a unicast link address", 1},
	{EAL WORKERS PORTS DEVICE("mac = \"02:00:00:00:00\";"), 4, "must be a unicast link address", 1},
	{EAL WORKERS "ports = ( { name = \"p 0\"; device = \"net_tap0\"; } );\n" DEVICES, 3,
		"must be letters, digits, '-', '_' and '.'", 1},
	/* several paths */
	{EAL WORKERS PORTS DEVICES "congestion = {\n controller = \"fastest\"; };\n", 6,
		"congestion.controller: \"fastest\" is wrong, must be one of window, none, dcqcn, timely", 1},
	{EAL WORKERS PORTS DEVICES "congestion = {\n controller = \"learned\"; };\n", 0,
		"congestion.model: is missing, must be the file of a model as tools/train-cc writes it", 1},
	{EAL WORKERS PORTS DEVICES "congestion = {\n controller = \"learned\"; model = \"not.there\"; };\n", 0,
		"not.there: cannot read: No such file or directory", 1},
	{EAL WORKERS PORTS DEVICES "congestion = {\n controller = \"learned\"; model = \"/proc/version\"; };\n", 1,
		"/proc/version:1: ", 1},
	{EAL WORKERS PORTS DEVICES "protection = { psk_file = \"k\";\n peers = ( { network = \"10.0.0.0/24\"; policy = \"sometimes\"; } ); };\n", 6,
		"protection.peers[0].policy: \"sometimes\" is wrong, must be one of off, optional and required", 1},
	{EAL WORKERS PORTS DEVICES "protection = { suites = [ \"rot13\" ]; };\n", 5,
		"protection.suites[0]: \"rot13\" is wrong, must be one of aes-128-gcm, aes-256-gcm and sm4-gcm", 1},
	{EAL WORKERS PORTS DEVICES "protection = { suites = [ \"sm4-gcm\", \"sm4-gcm\" ]; };\n", 0,
		"protection.suites: sm4-gcm stands there twice", 1},
	{EAL WORKERS PORTS DEVICES "protection = { peers = ( { network = \"10.0.0.0/24\"; } ); };\n", 0,
		"protection.peers: nobody can prove anything: give psk_file", 1},
	{EAL WORKERS PORTS DEVICES "protection = { psk_file = \"k\";\n peers = ( { network = \"10.0.0.0/24\"; devices = [ \"roced9\" ]; } ); };\n", 6,
		"protection.peers[0].devices: there is no device \"roced9\"", 1},
	{EAL WORKERS PORTS DEVICES "protection = { psk_file = \"k\";\n peers = ( { network = \"10.0.0.0/24\"; devices = [ \"d0\" ]; },\n"
		"{ network = \"10.0.0.0/24\"; policy = \"off\"; } ); };\n", 7, "protection.peers[1]: is the network of protection.peers[0] too", 1},
	{EAL WORKERS PORTS DEVICES "protection = { cert_file = \"a\"; key_file = \"b\"; };\n", 0,
		"protection: cert_file, key_file and ca_file go together", 1},
	{EAL WORKERS PORTS DEVICES "protection = { window_packets = 1000; };\n", 0,
		"protection.window_packets: 1000 is no power of two", 1},
	{EAL WORKERS PORTS DEVICES "protection = { control_port = 1063; };\n", 0,
		"protection.control_port: 1063 is one of the 64 ports from protection.port on", 1},
	{EAL WORKERS PORTS DEVICES "protection = { control_port = 4791; };\n", 0,
		"protection.control_port: 4791 is that of RoCE packets", 1},
	{EAL WORKERS PORTS DEVICES "protection = { port = 4728; };\n", 0,
		"protection.port: of the 64 ports from 4728 on one is that of RoCE packets, 4791", 1},
	{EAL WORKERS PORTS DEVICES "protection = { psk_file = \"k\";\n peers = ( { network = \"10.0.0.0/24\"; names = [ \"a\" ]; } ); };\n", 6,
		"protection.peers[0].names: only a certificate has names, give cert_file, key_file and ca_file", 1},
	{EAL WORKERS PORTS DEVICES "protection = { cert_file = \"a\"; key_file = \"b\"; ca_file = \"c\";\n"
		"peers = ( { network = \"10.0.0.0/24\"; psk_id = \"a\"; } ); };\n", 6,
		"protection.peers[0].psk_id: there are no pre-shared keys, give psk_file", 1},
	{EAL WORKERS PORT("device = \"net_af_packet0,iface=e,framesz=8192,blocksz=65536\"; mtu = 4200;") DEVICE("mtu = 4096;")
		"protection = { psk_file = \"k\"; peers = ( { network = \"10.0.0.0/24\"; } ); };\n", 4,
		"devices[0].mtu: 4096 needs a port MTU of 4220 with protection, port \"p0\" has 4200", 1},
	{EAL WORKERS PORTS DEVICES "multipath = { merge_bytes = 0; merge_wait_us = 5; };\n", 0,
		"multipath.merge_wait_us: 5 waits for nothing, merge_bytes is 0", 1},
	{EAL WORKERS PORTS DEVICES "multipath = {\n scheduler = \"best\"; };\n", 6,
		"multipath.scheduler: \"best\" is wrong, must be one of adaptive, ecmp, round_robin", 1},
	{EAL WORKERS PORTS DEVICES "multipath = { evs = 65; };\n", 5,
		"multipath.evs: 65 is out of range, must be 1 to 64", 1},
	{EAL WORKERS PORTS DEVICES "multipath = { peers = \"10.0.0.0/24\"; };\n", 5,
		"multipath.peers: must be an array of networks", 1},
	{EAL WORKERS PORTS DEVICES "multipath = { peers = [ \"10.0.0.1/24\" ]; };\n", 5,
		"multipath.peers[0]: \"10.0.0.1/24\" is wrong, must be a network: no bits set behind", 1},
	{EAL WORKERS PORTS DEVICES "multipath = { peers = [ \"10.0.0.0/33\", \"fd00::/129\", \"ten\" ]; };\n", 5,
		"multipath.peers[2]: \"ten\" is wrong, must be a network like", 3},
	{EAL WORKERS PORTS DEVICES "multipath = { peers = ( \"10.0.0.0/24\", \"10.0.0.0/16\",\n"
				   "  { network = \"10.0.0.0/24\"; evs = 8; } ); };\n", 6,
		"multipath.peers[2]: is the network of multipath.peers[0] too, give it once", 1},
	{EAL WORKERS PORTS DEVICES "multipath = { max_held = 100000; };\n", 0,
		"multipath.max_held: 100000 is more than three quarters of ports[].mbufs for all workers, must be ", 1},
	{EAL WORKERS PORTS DEVICES "multipath = { peers = [ \"0.0.0.0/0\" ]; };\n", 5, "a prefix length of 1 to 32", 1},
	{EAL WORKERS PORTS DEVICES "multipath = { peers = [ \"224.0.0.0/4\" ]; };\n", 5,
		"a network of hosts' unicast", 1},
	{EAL WORKERS PORTS DEVICES "multipath = { peers = ( { network = \"10.0.0.0/24\"; evs = 65; } ); };\n", 5,
		"multipath.peers[0].evs: 65 is out of range, must be 1 to 64", 1},
	{EAL WORKERS PORTS DEVICES "multipath = { peers = ( \"10.0.0.0/24\", { evs = 8; } ); };\n", 5,
		"multipath.peers[1]: key 'network' is missing", 1},
	{EAL WORKERS PORTS DEVICES "multipath = { peers = ( 5, { network = \"ten\"; schedule = \"reps\"; } ); };\n", 5,
		"multipath.peers[1]: unknown key 'schedule', did you mean 'scheduler'?", 3},
	{EAL WORKERS PORTS DEVICES "multipath = { plain = { evs = 9; }; };\n", 5,
		"multipath.plain.evs: 9 is out of range, must be 1 to 8", 1},
	{EAL WORKERS PORTS DEVICES "multipath = { negotiate = \"on\"; };\n", 5,
		"multipath.negotiate: must be true or false", 1},
	{EAL WORKERS PORTS DEVICES "multipath = { negociate = true; };\n", 5, "did you mean 'negotiate'?", 1},
	/* references and uniqueness */
	{EAL WORKERS PORTS "devices = ( { name = \"d0\"; port = \"p1\"; } );\n", 4,
		"devices[0].port: there is no port \"p1\", there is \"p0\"", 1},
	{EAL "workers = ( { lcore = 1; rx = ( { port = \"q\"; } ); } );\n" PORTS DEVICES, 2,
		"workers[0].rx[0].port: there is no port \"q\", there is \"p0\"", 2},
	{EAL "workers = ( { lcore = 1; }, { lcore = 1; } );\n" PORTS DEVICES, 2,
		"workers[1].lcore: 1 is used by workers[0] too", 1},
	{EAL "workers = ( { lcore = 1; rx = ( { port = \"p0\"; }, { port = \"p0\"; } ); } );\n" PORTS DEVICES, 2,
		"workers[0].rx[1]: queue 0 of port \"p0\" is polled twice", 1},
	{EAL "workers = ( { lcore = 1; rx = ( { port = \"p0\"; queue = 1; } ); } );\n" PORTS DEVICES, 3,
		"queues of \"p0\" must be polled from 0 on, queue 0 is not", 1},
	{EAL WORKERS
		"ports = ( { name = \"p\"; device = \"net_tap0\"; },\n { name = \"p\"; device = \"net_tap0\"; } );\n"
		"devices = ( { name = \"d\"; port = \"p\"; } );\n",
		4, "ports[1].name: \"p\" is used by ports[0] too", 4},
	{EAL WORKERS
		"ports = ( { name = \"p0\"; device = \"net_memif0,role=server\"; },\n"
		" { name = \"q\"; device = \"net_memif1,role=server\"; } );\n" DEVICES,
		4, "ports[0] has the same role on this socket, give another id", 1},
	{EAL WORKERS PORTS "devices = ( { name = \"d\"; port = \"p0\"; },\n { name = \"d\"; port = \"p0\"; } );\n", 5,
		"devices[1].name: \"d\" is used by devices[0] too", 1},
	{EAL WORKERS PORTS DEVICE("addresses = [ \"10.0.0.1/24\", \"10.0.0.1/8\" ];"), 4,
		"devices[0].addresses[1]: is devices[0].addresses[0] too", 1},
	{EAL WORKERS PORTS DEVICE("addresses = [ \"10.0.0.1\" ]; gateway4 = \"10.0.1.1\";"), 4,
		"devices[0].gateway4: must be in the network of one of the device's addresses", 1},
	{EAL WORKERS PORTS DEVICE("addresses = [ \"10.0.0.1\" ]; gateway4 = \"10.0.0.1\";"), 4,
		"is the device's own address", 1},
	{EAL WORKERS PORTS DEVICE("priority = 3;"), 4, "devices[0].priority: needs a vlan", 1},
	/* sizes that belong together */
	{EAL WORKERS PORTS DEVICE("mtu = 4096;"), 4, "4096 needs a port MTU of 4180, port \"p0\" has 1500", 1},
	{EAL WORKERS PORT("device = \"net_af_packet0,iface=e\"; mtu = 4200;") DEVICES, 3,
		"framesz=2048 does not hold an MTU of 4200, give framesz=8192,blocksz=65536", 1},
	{EAL WORKERS PORT("device = \"net_af_packet0,iface=e,framesz=8192\"; mtu = 4200;") DEVICES, 3,
		"blocksz=4096 must be a multiple of 4096 and of framesz=8192", 1},
	{EAL WORKERS PORT("device = \"net_af_packet0\";") DEVICES, 3, "needs iface=NAME", 1},
#ifndef NET_NEWER_ARGS
	{EAL WORKERS PORT("device = \"net_af_packet0,iface=e,fanout_mode=lb\";") DEVICES, 3,
		"unknown argument 'fanout_mode', net_af_packet takes: iface, qpairs,", 1},
#endif
	{EAL WORKERS PORT("device = \"net_af_xdp0,iface=e\"; mtu = 4200;") DEVICES, 3, "cannot carry an MTU of 4200",
		1},
	{EAL WORKERS PORT("device = \"net_tap0\"; xdp = \"all\";") DEVICES, 3, "ports[0].xdp: is for net_af_xdp", 1},
	{EAL WORKERS PORT("device = \"net_af_xdp0,iface=e,xdp_prog=/p.o\"; xdp = \"all\";") DEVICES, 3,
		"ports[0].xdp: the device has a program of its own", 1},
	{EAL WORKERS PORT("device = \"net_af_xdp0,iface=e\"; xdp = \"some\";") DEVICES, 3, "must be one of roce and all", 1},
	{EAL WORKERS PORT("device = \"net_tap0\"; mtu = 4200;") DEVICES, 3, "cannot carry an MTU of 4200, at most 1500",
		1},
	{EAL WORKERS PORT("device = \"net_memif0,role=boss\";") DEVICES, 3, "role=boss must be server or client", 1},
	{EAL WORKERS PORT("device = \"net_memif0,socket-abstract=maybe\";") DEVICES, 3,
		"socket-abstract=maybe must be yes or no", 1},
	{EAL WORKERS PORT("device = \"net_memif0\"; mtu = 4200;") DEVICES, 3, "give bsize=8192", 1},
	{EAL WORKERS PORT("device = \"net_virtio_user0\";") DEVICES, 3, "needs path=/dev/vhost-net", 1},
	{EAL WORKERS PORT("device = \"net_pcap0\";") DEVICES, 3, "needs rx_pcap=FILE", 1},
	{EAL WORKERS PORT("device = \"net_tap0,ifcae=t\";") DEVICES, 3,
		"unknown argument 'ifcae', net_tap takes: iface", 1},
	{EAL WORKERS PORT("device = \"eth0\";") DEVICES, 3, "is no PCI address and none of net_af_packetN", 1},
	{EAL "workers = ( { lcore = 1; }, { lcore = 2; } );\n" PORT("device = \"net_af_packet0,iface=e\";") DEVICES, 3,
		"has 1 queue pairs, but the workers need 2: give qpairs=2", 1},
	{EAL "workers = ( { lcore = 1; }, { lcore = 2; rx = ( { port = \"p0\"; } ); } );\n" PORTS DEVICES, 2,
		"queue 0 of port \"p0\" is polled twice", 2},
};

static void test_bad_files(void **state)
{
	static struct config config;
	int failures = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(bad_cases) / sizeof(bad_cases[0]); i++) {
		const struct bad *bad = &bad_cases[i];
		char line[32];
		unsigned n;
		char *out = load(bad->text, &config, &n);

		snprintf(line, sizeof(line), bad->line != 0 ? ":%u: " : ": ", bad->line);
		if (strstr(out, bad->want) == NULL || strstr(out, line) == NULL || n != bad->n_errors)
			print_error("case %zu, failure %d: want %u errors, line %u and \"%s\", got %u:\n%s", i,
				++failures, bad->n_errors, bad->line, bad->want, n, out);
		free(out);
	}
	assert_int_equal(failures, 0);
}

static void test_all_errors_are_reported(void **state)
{
	static struct config config;
	unsigned n;
	char *out;

	(void)state;
	out = load("eal = { argz = []; };\n"
		   "workers = ( { lcore = 500; },\n"
		   "            { lcore = 2; cpus = \"x\"; } );\n"
		   "ports = ( { name = \"p0\"; device = \"net_tap0\"; mtu = 1; } );\n"
		   "devices = ( { name = \"d0\"; port = \"nope\"; } );\n", &config, &n);
	assert_int_equal(n, 5);
	assert_non_null(strstr(out, ":1: eal: unknown key 'argz', did you mean 'args'?"));
	assert_non_null(strstr(out, ":2: workers[0].lcore: 500"));
	assert_non_null(strstr(out, ":3: workers[1].cpus: \"x\""));
	assert_non_null(strstr(out, ":4: ports[0].mtu: 1 "));
	assert_non_null(strstr(out, ":5: devices[0].port: there is no port \"nope\""));
	free(out);
}

static void test_missing_file(void **state)
{
	static struct config config;
	char *out = NULL;
	size_t bytes;
	FILE *err = open_memstream(&out, &bytes);

	(void)state;
	assert_int_equal(config_load("/nonexistent/roced.conf", &config, err), 1);
	fclose(err);
	assert_non_null(strstr(out, "/nonexistent/roced.conf: cannot read: No such file"));
	free(out);
}

static void test_defaults(void **state)
{
	static const uint8_t v4[16] = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1};
	static struct config config;
	unsigned n;
	char *out = load(WORKERS PORTS DEVICES, &config, &n);

	(void)state;
	assert_string_equal(out, "");
	assert_int_equal(n, 0);
	assert_string_equal(config.control.socket, VC_DEFAULT_SOCKET);
	assert_int_equal(config.control.mode, 0660);
	assert_false(config.control.group.given);
	assert_int_equal(config.user_limits.max_sessions, 256);
	assert_true(config.user_limits.ring_bytes == 8ull << 30);
	assert_int_equal(config.limits.max_send_wr, 4096);
	assert_int_equal(config.limits.max_recv_wr, 8192);
	assert_int_equal(config.limits.cm_timeout_ms, 5000);
	assert_int_equal(config.limits.max_inline_bytes, 256);
	assert_int_equal(config.limits.shm_bytes, 1u << 30);
	assert_int_equal(config.workers[0].idle_sleep_us, 200);
	assert_int_equal(config.workers[0].n_rx, 1);
	assert_string_equal(config.workers[0].rx[0].port, "p0");
	assert_int_equal(config.ports[0].mtu, 1500);
	assert_int_equal(config.ports[0].n_rx_queues, 1);
	/* an address without a length: 24 and 64 */
	assert_int_equal(config.devices[0].n_addrs, 2);
	assert_memory_equal(config.devices[0].addrs[0].addr.b, v4, 16);
	assert_int_equal(config.devices[0].addrs[0].len, 24);
	assert_int_equal(config.devices[0].addrs[1].len, 64);
	assert_true(config.devices[0].multipath && config.multipath.negotiate && config.multipath.move_on_timeout);
	assert_int_equal(config.multipath.n_peers, 0);
	assert_int_equal(config.multipath.scheduler.kind, PATH_SCHED_ADAPTIVE);
	assert_false(config.congestion.controller.given);
	assert_int_equal(config.multipath.plain.scheduler.kind, PATH_SCHED_ADAPTIVE);
	assert_int_equal(config.multipath.plain.evs, TP_PLAIN_EVS);
	assert_int_equal(config.multipath.evs, 64);
	free(out);
}

static void test_values(void **state)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0xab, 1};
	static struct config config;
	unsigned n;
	char *out = load("workers = ( { lcore = 3; cpus = \"0-1,4\"; }, { lcore = 4; idle_sleep_us = 0; } );\n"
			 "ports = ( { name = \"p0\"; device = \"net_tap0\"; promiscuous = true; } );\n"
			 "devices = ( { name = \"d0\"; port = \"p0\"; addresses = (\"10.1.2.3/16\");\n"
			 "  gateway4 = \"10.1.0.1\"; gateway6 = \"fe80::1\"; mtu = 1024; vlan = 7; priority = 5;\n"
			 "  mac = \"02:00:00:00:aB:01\"; } );\n"
			 "control = { mode = \"0640\"; group = \"root\"; };\n"
			 "multipath = { negotiate = false; scheduler = \"reps\"; evs = 16;\n"
			 "  peers = [ \"10.1.0.0/16\", \"fd77::/64\", \"10.2.3.4\" ]; };\n"
			 "limits = { shm_bytes = 8589934592L; };\n", &config, &n);

	(void)state;
	assert_string_equal(out, "");
	assert_int_equal(n, 0);
	assert_string_equal(config.workers[0].cpus, "0-1,4");
	assert_int_equal(config.workers[1].rx[0].queue, 1);
	assert_int_equal(config.ports[0].n_rx_queues, 2);
	assert_true(config.ports[0].promiscuous);
	assert_int_equal(config.devices[0].addrs[0].len, 16);
	assert_int_equal(config.devices[0].gateway4.b[13], 1);
	assert_int_equal(config.devices[0].gateway6.b[0], 0xfe);
	assert_memory_equal(config.devices[0].mac, mac, 6);
	assert_int_equal(config.devices[0].vlan, 7);
	assert_int_equal(config.control.mode, 0640);
	assert_true(config.control.group.given);
	assert_int_equal(config.control.group.gid, 0);
	assert_true(config.limits.shm_bytes == 8589934592ull);
	assert_false(config.multipath.negotiate);
	assert_int_equal(config.multipath.scheduler.kind, PATH_SCHED_REPS);
	assert_int_equal(config.multipath.evs, 16);
	assert_int_equal(config.multipath.n_peers, 3);
	assert_int_equal(config.multipath.peers[0].network.len, 16);
	assert_int_equal(config.multipath.peers[1].network.len, 64);
	assert_int_equal(config.multipath.peers[2].network.len, 32);
	assert_int_equal(config.multipath.peers[2].network.addr.b[15], 4);
	free(out);
}

/* Networks and groups of what is different for them, mixed. */
static void test_peers(void **state)
{
	static struct config config;
	unsigned n;
	char *out = load(WORKERS PORTS DEVICES
			 "multipath = { evs = 32; plain = { scheduler = \"flowlet\"; evs = 4; };\n"
			 "  peers = ( \"10.1.0.0/16\",\n"
			 "    { network = \"10.1.2.0/24\"; scheduler = \"reps\"; evs = 16; planes = 2; },\n"
			 "    { network = \"fd77::/64\"; without_cm = false; } ); };\n", &config, &n);
	const struct config_peers *peers = config.multipath.peers;

	(void)state;
	assert_string_equal(out, "");
	assert_int_equal(config.multipath.n_peers, 3);
	assert_int_equal(peers[0].network.len, 16);
	assert_false(peers[0].scheduler.given);
	assert_int_equal(peers[0].evs, 0);
	assert_int_equal(peers[0].planes, TP_MAX_PLANES);
	assert_true(peers[0].without_cm);
	assert_int_equal(peers[1].network.len, 24);
	assert_true(peers[1].scheduler.given);
	assert_int_equal(peers[1].scheduler.kind, PATH_SCHED_REPS);
	assert_int_equal(peers[1].evs, 16);
	assert_int_equal(peers[1].planes, 2);
	assert_int_equal(peers[2].network.addr.b[1], 0x77);
	assert_false(peers[2].without_cm);
	assert_int_equal(config.multipath.plain.scheduler.kind, PATH_SCHED_FLOWLET);
	assert_int_equal(config.multipath.plain.evs, 4);
	free(out);
}

static void test_examples(void **state)
{
	static struct config config;
	const char *dir = getenv("ROCED_CONFIG_DIR");
	struct dirent *entry;
	unsigned n_files = 0;
	DIR *d;

	(void)state;
	assert_non_null(dir);
	d = opendir(dir);
	assert_non_null(d);
	while ((entry = readdir(d)) != NULL) {
		size_t len = strlen(entry->d_name);
		char path[512];

		if (len < 6 || strcmp(entry->d_name + len - 5, ".conf") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		assert_int_equal(config_load(path, &config, stderr), 0);
		n_files++;
	}
	closedir(d);
	assert_true(n_files >= 9);
}

static void test_driver_texts(void **state)
{
	char value[16];

	(void)state;
	assert_true(net_is_pci("0000:01:00.0"));
	assert_true(net_is_pci("01:00.0,representor=0"));
	assert_false(net_is_pci("01:00"));
	assert_false(net_is_pci("net_tap0"));
	assert_null(net_driver_find("net_tapestry"));
	assert_true(net_driver_arg("net_tap0,iface=x,mac=fixed", "mac", value, sizeof(value)));
	assert_string_equal(value, "fixed");
	assert_false(net_driver_arg("net_tap0,iface=x", "face", value, sizeof(value)));
	net_device_name("net_tap0,iface=x", value, sizeof(value));
	assert_string_equal(value, "net_tap0");
	/* header, VLAN tag and CRC; a slot of af_packet's ring; virtio's own header */
	assert_int_equal(net_driver_frame_room("net_tap0", 1500), 1522);
	assert_int_equal(net_driver_frame_room("net_af_packet0,iface=x,framesz=8192", 4200), 8192);
	assert_int_equal(net_driver_frame_room("net_virtio_user0,path=x", 4200), 4222 + 12);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad_files),
		cmocka_unit_test(test_all_errors_are_reported),
		cmocka_unit_test(test_missing_file),
		cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_peers),
		cmocka_unit_test(test_examples),
		cmocka_unit_test(test_driver_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
