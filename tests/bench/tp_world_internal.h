/* SPDX-License-Identifier: BSD-3-Clause */
#ifndef TP_WORLD_INTERNAL_H
#define TP_WORLD_INTERNAL_H

#include "tp_world.h"

#define TW_HEADROOM 128
#define TW_BUFS     512
#define TW_SAMPLES  16384u
#define TW_REGION   (1u << 20) /* stays in the cache of a core or near it, like a busy buffer */

struct tw_end;

struct tw_qp {
	struct tw_end *end;
	struct tp_qp *qp;
	uint32_t qpn;
	uint64_t posted, fetched, retired;
};

struct tw_end {
	struct tw_world *world;
	struct tp *tp;
	struct tw_qp *qps;
	uint32_t key;
	uint8_t *mem;
	struct rte_mbuf *out[TW_BUFS];
	uint32_t n_out;
	uint64_t sent, received, retired, failed;
};

struct tw_world {
	struct tw_options o;
	struct tw_end end[2];
	uint32_t next_qp; /* whose turn it is */
	uint64_t now_ns;
	int mem_fd;
	struct rte_mbuf *free[TW_BUFS];
	uint32_t n_free;
	double ticks[2][TW_SAMPLES]; /* of turns, at either end */
};

#endif
