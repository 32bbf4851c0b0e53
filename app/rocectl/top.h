/* SPDX-License-Identifier: BSD-3-Clause */
/* What rocectl top shows: rates between two looks at the daemon. */
#ifndef TOP_H
#define TOP_H

#include <stdbool.h>

#include "table.h"

#define TOP_MAX_PORTS    8
#define TOP_MAX_WORKERS  64
#define TOP_MAX_QPS      32
#define TOP_MAX_PATHS    64
#define TOP_HISTORY      30 /* looks that a sparkline shows */

/* Of a port or a queue pair, a second. */
struct top_rate {
	double rx_bps, tx_bps, rx_pps, tx_pps;
};

struct top_port {
	char name[WATCH_TEXT_BYTES];
	bool up;
	struct top_rate rate;
	double lost_pps;           /* missed, without buffer, with errors */
};

struct top_worker {
	uint64_t worker;
	double busy;               /* share, 0..1 */
};

struct top_path {
	uint64_t udp_port;
	double pps;
	uint64_t rtt_ns, ecn_percent;
	bool alive;
};

struct top_qp {
	uint64_t qpn, pid, rtt_ns;
	char peer[WATCH_TEXT_BYTES], device[WATCH_TEXT_BYTES], type[WATCH_TEXT_BYTES];
	struct top_rate rate;
	double resent_pps, marked_pps;
	uint32_t n_history;
	double history[TOP_HISTORY]; /* bits a second sent, oldest first */
	uint32_t n_paths;
	struct top_path paths[TOP_MAX_PATHS]; /* most packets first */
};

struct top_picture {
	double seconds;            /* between the looks */
	uint64_t uptime_s;
	uint32_t n_ports, n_workers, n_qps, all_qps;
	struct top_port ports[TOP_MAX_PORTS];
	struct top_worker workers[TOP_MAX_WORKERS];
	struct top_qp qps[TOP_MAX_QPS]; /* most bits first */
};

#define TOP_MAX_TRACKS 1024 /* queue pairs that are remembered from look to look */

/* What a queue pair sent at the last looks. */
struct top_track {
	uint64_t qpn;
	bool used, seen;
	uint32_t n;
	double history[TOP_HISTORY];
	uint64_t path_sent[TOP_MAX_PATHS];
	bool has_paths;            /* as of the last look */
};

/* One look. */
struct top_look {
	double at_s;
	struct table ports, workers, qps, daemon;
};

struct top {
	int fd;                    /* of the daemon's telemetry */
	struct top_look before;
	struct top_track tracks[TOP_MAX_TRACKS];
};

/* The first look, which shows nothing. top is zero but for fd. 0 or a negative errno, and top_end() is due either way. */
int top_begin(struct top *top);
/* What has happened since the last look; the paths of most_qps queue pairs are asked for. 0 or a negative errno. */
int top_look(struct top *top, uint32_t most_qps, struct top_picture *picture);
void top_end(struct top *top);

/* For people; utf8: with the blocks that a terminal has. most_paths: shown of one queue pair. */
void top_draw(const struct top_picture *picture, bool utf8, uint32_t most_paths);
/* One object in one line. */
void top_print_json(const struct top_picture *picture);

#endif
