/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames for the tests of protection: what they were, and as mbufs cut into segments anywhere. */
#ifndef FRAMES_H
#define FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include <rte_mbuf.h>

#include "crypt_protect.h"

#define MAX_FRAME 4400u
#define MAX_CUTS  9u
#define HEADROOM  128u
#define ROOM      (HEADROOM + MAX_FRAME + 64u)
#define N_FRAMES  CRYPT_BURST

/* A frame, and the memory of its mbuf's segments. */
struct frame {
	struct rte_mbuf seg[MAX_CUTS + 1];
	uint8_t room[MAX_CUTS + 1][ROOM];
	uint8_t before[MAX_FRAME];
	uint32_t bytes;
};

extern struct frame frames[N_FRAMES];
/* Segments that were given back to their pool. */
extern uint32_t frames_freed;

void put16(uint8_t *p, uint32_t v);
/* Writes a frame of UDP over IP with so many bytes behind the UDP header. Returns its length. */
uint32_t frame_write(uint8_t *f, uint32_t text, bool six, bool vlan);
/* Frame i as an mbuf, cut at n places, which ascend. */
struct rte_mbuf *frame_cut(uint32_t i, const uint32_t *cuts, uint32_t n);
/* The same of one segment; and a new frame of so many bytes behind the UDP header. */
struct rte_mbuf *frame_whole(uint32_t i);
struct rte_mbuf *frame_make(uint32_t i, uint32_t text, bool six, bool vlan);
/* Makes what m holds frame i's bytes. */
void frame_take(uint32_t i, const struct rte_mbuf *m);
/* Fails the test unless m holds frame i's bytes, and its lengths and segments agree. */
void frame_is(const struct rte_mbuf *m, uint32_t i);

#endif
