/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The daemon's configuration. One table (config_schema.c) says which keys there are, of which type, range
 * and unit, with which default; the parser, --check, --print-config-help and docs/configuration.md follow
 * it. config_load() gives either a configuration every part of which was checked, or all errors at once,
 * each with file and line and what would be right.
 */
#ifndef CONFIG_H
#define CONFIG_H

#include "cc.h"
#include "crypt_cipher.h"
#include "config_read.h"
#include "vd.h"
#include "wire_frame.h"

#define CONFIG_NAME_BYTES   VC_NAME_BYTES
#define CONFIG_MAX_EAL_ARGS 32
#define CONFIG_MAX_WORKERS  VD_MAX_WORKERS
#define CONFIG_MAX_PORTS    8
#define CONFIG_VLANS        4096
#define CONFIG_MAX_HOST_VLANS 64
#define CONFIG_MAX_RX       16
#define CONFIG_MAX_PEERS    VD_MAX_PEERS
#define CONFIG_MAX_CHANNELS 8
#define CONFIG_MAX_NAMES    4
#define CONFIG_MAX_REMOTES  32
#define CONFIG_MAX_NETWORKS 16
#define CONFIG_MAX_METRICS_ROWS 4096
#define CONFIG_MAX_ADDRS    (VC_MAX_GIDS - 1) /* one GID is the link-local address */

/* What lines of the log are. */
enum config_log { CONFIG_LOG_TEXT, CONFIG_LOG_FIELDS };

struct config_rx {
	struct config_at at;
	char port[CONFIG_NAME_BYTES];
	uint32_t queue;
};

struct config_worker {
	struct config_at at;
	uint32_t lcore;
	char cpus[CONFIG_TEXT_BYTES];      /* "": the CPU of the lcore's number */
	uint32_t n_rx;
	struct config_rx rx[CONFIG_MAX_RX]; /* never empty: without any, queue = worker of all ports */
	char crypto[CONFIG_TEXT_BYTES];    /* its DPDK crypto device; "": roced's own ciphers */
	uint32_t idle_sleep_us;
};

/* Who follows and sends pauses: see port_pfc.h. */
enum config_pfc_mode { CONFIG_PFC_AUTO, CONFIG_PFC_SOFTWARE, CONFIG_PFC_HARDWARE };

/* Which frames of an interface with AF_XDP sockets come here: docs/af_xdp.md. */
enum config_xdp_mode { CONFIG_XDP_ALL, CONFIG_XDP_ROCE };

struct config_xdp {
	bool given;
	enum config_xdp_mode mode;         /* of another device: no matter */
};

struct config_port {
	struct config_at at;
	char name[CONFIG_NAME_BYTES];
	char device[CONFIG_TEXT_BYTES];
	uint32_t mtu;
	bool promiscuous;
	uint32_t rx_descriptors, tx_descriptors;
	uint32_t mbufs;
	uint32_t rate_mbps;                /* 0: what it takes */
	bool trust_pcp;
	uint64_t pfc;                      /* bit p: pauses of priority p are followed */
	uint64_t pfc_send;                 /* bit p: the neighbour is asked to pause it */
	uint32_t pfc_buffer_kbytes, pfc_headroom_kbytes; /* 0: computed */
	uint32_t cable_m, pfc_response_us;
	enum config_pfc_mode pfc_mode;
	struct config_xdp xdp;
	uint32_t n_rx_queues;              /* from the workers' rx lists */
};

struct config_prefix {
	struct wire_addr addr;
	uint32_t len;                      /* 0..32 for IPv4 */
};

struct config_plane {
	struct config_at at;
	char port[CONFIG_NAME_BYTES];
	uint32_t n_addrs;
	struct config_prefix addrs[VD_PLANE_ADDRS];
	uint32_t port_index;
};

struct config_device {
	struct config_at at;
	char name[CONFIG_NAME_BYTES];
	char port[CONFIG_NAME_BYTES];
	char netdev[CONFIG_NAME_BYTES];
	uint32_t n_addrs;
	struct config_prefix addrs[CONFIG_MAX_ADDRS];
	struct wire_addr gateway4, gateway6; /* all zero: none */
	uint32_t mtu;                      /* 0: what the port allows */
	uint32_t vlan;                     /* 0: untagged */
	uint32_t priority;
	uint32_t reorder_packets, reorder_us;
	bool multipath;
	uint32_t n_planes;
	struct config_plane planes[TP_MAX_PLANES - 1];
	uint8_t mac[6];                    /* all zero: the port's */
	uint32_t port_index;
};

struct config_scheduler {
	bool given;
	enum path_sched_kind kind;
};

/* Hosts of a network, and what is different for them. */
struct config_peers {
	struct config_at at;
	struct config_prefix network;
	struct config_scheduler scheduler; /* not given: as for all */
	uint32_t evs;                      /* 0: as for all */
	uint32_t planes;
	bool without_cm, merge;
};

enum config_policy { CONFIG_PROTECT_OFF, CONFIG_PROTECT_OPTIONAL, CONFIG_PROTECT_REQUIRED };

/* Hosts of a network, and how what goes to and comes from them is protected: docs/protection.md. */
struct config_protect {
	struct config_at at;
	struct config_prefix network;
	enum config_policy policy;
	char psk_id[CONFIG_TEXT_BYTES];    /* "": the first key, and any of the peer's */
	uint32_t n_names;
	char names[CONFIG_MAX_NAMES][CONFIG_TEXT_BYTES]; /* in its certificate; none: any */
	uint32_t n_devices;
	char devices[VD_MAX_DEVICES][CONFIG_NAME_BYTES]; /* none: all */
	uint32_t device_mask;              /* the same, a bit each */
};

struct config_protection {
	char psk_file[CONFIG_TEXT_BYTES], cert_file[CONFIG_TEXT_BYTES], key_file[CONFIG_TEXT_BYTES], ca_file[CONFIG_TEXT_BYTES];
	uint32_t n_suites;
	enum crypt_suite suites[CRYPT_SUITES];
	uint32_t port, control_port, window_packets, rekey_ms, drain_ms;
	uint64_t rekey_mbytes;
	uint32_t n_peers;
	struct config_protect peers[CONFIG_MAX_PEERS];
};

/* A far gateway, and the hosts behind it. */
struct config_remote {
	struct config_at at;
	struct config_prefix address;      /* one host */
	uint32_t n_networks;
	struct config_prefix networks[CONFIG_MAX_NETWORKS];
};

/* Between hosts that know nothing of it: docs/gateway.md. */
struct config_gateway {
	char device[CONFIG_NAME_BYTES];    /* "": there is none */
	uint32_t device_index;
	uint32_t n_host_ports;
	char host_ports[CONFIG_MAX_PORTS][CONFIG_NAME_BYTES];
	uint32_t host_mask;                /* the same, a bit each */
	uint64_t host_vlans[CONFIG_VLANS / 64]; /* a bit each */
	bool bridge;
	uint32_t port, paths, base_rtt_us, silence_us, report_us, report_packets;
	struct config_scheduler scheduler;
	uint32_t max_flows, max_flows_per_host, flow_idle_ms, reorder_packets, reorder_us;
	uint32_t flowlet_us, max_pairs;
	uint32_t n_direct;
	struct config_prefix direct[CONFIG_MAX_NETWORKS];
	bool cnp_proxy;
	uint32_t cnp_interval_us;
	uint32_t n_remotes;
	struct config_remote remotes[CONFIG_MAX_REMOTES];
};

/* A traffic class of all ports: docs/channels.md. */
struct config_channel {
	struct config_at at;
	char name[CONFIG_NAME_BYTES];
	uint64_t dscp, pcp;                /* sets */
	uint32_t priority;
	uint32_t send_pcp;                 /* above 7: the device's */
	bool strict;
	uint32_t weight;
	uint32_t guaranteed_mbps, ceiling_mbps; /* 0: none */
	uint32_t queue_kbytes;
	uint32_t ecn_min_kbytes, ecn_max_kbytes, ecn_max_permille;
};

/* Of connections whose peers agreed to selective repeat. */
struct config_controller {
	bool given;                        /* else it is the transport's window */
	enum cc_kind kind;
};

struct config_congestion {
	struct config_controller controller;
	char model_name[CONFIG_TEXT_BYTES];
	struct cc_model model;             /* of the learned controller */
	uint32_t base_rtt_us, target_us;   /* 0: see the table of keys */
	uint32_t cnp_gap_us, cnp_peer_gap_us, cnp_dscp;
	bool follow_cnps;
	uint32_t rate_mbps;                /* 0: the fastest port's; for controllers: the device's ports' */
};

/* As struct cc_dcqcn_params, but for rates, and times of the same units. */
struct config_dcqcn {
	uint32_t g_1024, alpha_period_ns, initial_alpha_1024, cut_period_ns, least_percent;
	bool clamp_target, clamp_after_timer, cut_on_loss;
	uint32_t increase_timer_ns, increase_bytes, fast_steps;
	uint32_t first_mbps, add_mbps, hyper_mbps, min_mbps;
};

/* The watchdog of pauses. */
struct config_pfc {
	uint32_t detect_ms, restore_ms;
	bool forward;
};

/* See docs/multipath.md. */
struct config_multipath {
	bool negotiate, move_on_timeout;
	uint32_t n_peers;
	struct config_peers peers[CONFIG_MAX_PEERS];
	struct config_scheduler scheduler;
	struct {
		struct config_scheduler scheduler;
		uint32_t evs;
	} plain;
	uint32_t merge_bytes, merge_wait_us;
	uint32_t evs, base_rtt_us, flowlet_gap_us, losses_dead, probe_us, freeze_us;
	uint32_t min_rto_us;
	uint32_t max_held;                 /* 0: a quarter of the ports' buffers */
};

/* Where somebody is served. */
struct config_listen {
	struct wire_addr addr;
	uint32_t port;                     /* 0: nobody is */
};

/* docs/metrics.md */
struct config_metrics {
	struct config_listen listen;
	uint32_t max_rows;
};

/* A group of users, by name or number. */
struct config_group {
	bool given;
	uint32_t gid;
};

struct config {
	uint32_t n_eal_args;
	char eal_args[CONFIG_MAX_EAL_ARGS][CONFIG_TEXT_BYTES];
	char main_cpus[CONFIG_TEXT_BYTES]; /* "": all the process may use */
	uint32_t tx_mbufs;
	struct {
		char socket[108];
		struct config_group group;
		uint32_t mode;
		bool telemetry;
		uint32_t log;              /* enum config_log */
	} control;
	uint32_t n_workers;
	struct config_worker workers[CONFIG_MAX_WORKERS];
	uint32_t n_ports;
	struct config_port ports[CONFIG_MAX_PORTS];
	uint32_t n_devices;
	struct config_device devices[VD_MAX_DEVICES];
	struct config_multipath multipath;
	uint32_t n_channels;
	struct config_channel channels[CONFIG_MAX_CHANNELS];
	struct config_congestion congestion;
	struct config_dcqcn dcqcn;
	struct config_pfc pfc;
	struct config_protection protection;
	struct config_gateway gateway;
	struct config_metrics metrics;
	struct vd_limits limits;
	uint32_t burst_us;
	struct vd_user_limits user_limits;
	char files[CONFIG_MAX_FILES][CONFIG_TEXT_BYTES]; /* names the config_at point to */
};

/* Reads and checks the file at path. Writes one line per error to err, "FILE:LINE: where: what". Returns
 * the number of errors; *config is usable only when it is 0. */
unsigned config_load(const char *path, struct config *config, FILE *err);

/* Prints the table of keys; markdown: as the table of docs/configuration.md. */
void config_print_help(FILE *out, bool markdown);

/* Checks name and device of port p against those before it, and the device against what its driver needs. */
void config_check_port(struct config_reader *reader, const struct config_port *const *ports, uint32_t p,
	uint32_t n_tx_queues);

/* Reads text of type CONFIG_LISTEN; empty: no port. */
bool config_listen_parse(const char *text, struct config_listen *listen);

/* Index of a port or -1. */
int config_find_port(const struct config *config, const char *name);

/* Index of the direct network that peers[p] is a part of and requires protection in, which hosts here cannot have; -1: none. */
int config_required_in_direct(const struct config *config, uint32_t p);

/* Bytes that protection adds to packets of device d; 0: none of its peers is to be protected. */
uint32_t config_protection_bytes(const struct config *config, uint32_t d);

#endif
