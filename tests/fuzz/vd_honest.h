/* SPDX-License-Identifier: BSD-3-Clause */
/* Honest sessions beside the hostile ones of fuzz_vd.c: what they have and do has to stay right. */
#ifndef VD_HONEST_H
#define VD_HONEST_H

#include "fuzz.h"
#include "world.h"

#define HONEST_BYTES 16384
#define VICTIM_BYTES 8192
#define VICTIM_RECVS 16

struct fx_end {
	struct wx_client c;
	struct wx_cq cq;
	struct wx_qp qp;
	uint8_t *memory, *expected; /* HONEST_BYTES each */
	uint32_t key;
};

/* A pair at two workers that hostile sessions have no right to reach, and a queue pair that they may connect to. */
struct fx_honest {
	struct wx_world *w;
	struct fx_end end[2];
	uint32_t round;
	struct wx_cq victim_cq;
	struct wx_qp victim;
	uint8_t *victim_memory;
	uint32_t victim_key;
};

void fx_honest_start(struct wx_world *w, struct fx_honest *h);
void fx_honest_end(struct fx_honest *h);
/* A send, a write and a read: every completion and every byte of both sides is right. */
void fx_honest_transfer(struct fx_honest *h);
/* The victim answers the queue pair with this number from now on. */
void fx_victim_faces(struct fx_honest *h, uint32_t qpn, enum ibv_qp_type type);
bool fx_is_honest_qpn(const struct fx_honest *h, uint32_t qpn);

#endif
