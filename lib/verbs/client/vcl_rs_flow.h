/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flow control of a stream, without a device: the receive ring whose halves are given to the peer in turn, the credits
 * that both sides count in 16 bits, and the send ring. Counts of bytes never wrap; positions are counts modulo size.
 */
#ifndef RS_FLOW_H
#define RS_FLOW_H

#include <stdbool.h>
#include <stdint.h>

/* ---- receive side ---- */

struct rs_recv_flow {
	uint32_t size;                 /* of the ring, even */
	uint64_t given, arrived, read; /* bytes: read <= arrived <= given <= read + size */
	uint16_t depth;                /* of the receive queue */
	uint16_t msgs;                 /* that took a credit */
	uint16_t told;                 /* msgs when the peer was last told its limit */
};

/* The connection's private data gives the first half away. */
static inline void rs_recv_init(struct rs_recv_flow *f, uint32_t size, uint16_t depth)
{
	*f = (struct rs_recv_flow){.size = size, .given = size / 2, .depth = depth};
}

static inline uint32_t rs_recv_avail(const struct rs_recv_flow *f)
{
	return (uint32_t)(f->arrived - f->read);
}

/* A message of so many bytes arrived. False: the peer wrote more than it was given, or nothing. */
static inline bool rs_recv_data(struct rs_recv_flow *f, uint32_t bytes)
{
	if (bytes == 0 || bytes > f->given - f->arrived)
		return false;
	f->arrived += bytes;
	f->msgs++;
	return true;
}

static inline bool rs_recv_half_free(const struct rs_recv_flow *f)
{
	return f->given - f->read <= f->size / 2;
}

/* Is there something to tell: a free half, or that half of the credits are back? */
static inline bool rs_recv_update_due(const struct rs_recv_flow *f)
{
	return rs_recv_half_free(f) || (uint16_t)(f->msgs - f->told) >= f->depth / 2;
}

/* What an update says: messages the peer may have sent in all. */
static inline uint16_t rs_recv_limit(struct rs_recv_flow *f)
{
	f->told = f->msgs;
	return (uint16_t)(f->msgs + f->depth);
}

/* Gives away the next half: returns its offset. */
static inline uint32_t rs_recv_give(struct rs_recv_flow *f)
{
	uint32_t at = (uint32_t)(f->given % f->size);

	f->given += f->size / 2;
	return at;
}

/* The next readable bytes that lie together, at most want; skip of them are to be passed over. */
static inline uint32_t rs_recv_span(const struct rs_recv_flow *f, uint32_t skip, uint32_t want, uint32_t *at)
{
	uint32_t left = rs_recv_avail(f) - skip, to_end;

	*at = (uint32_t)((f->read + skip) % f->size);
	to_end = f->size - *at;
	left = left < want ? left : want;
	return left < to_end ? left : to_end;
}

/* ---- send side ---- */

struct rs_send_flow {
	uint32_t size;          /* of the ring */
	uint64_t filled, freed; /* bytes copied into it, and completed */
	uint16_t msgs, limit;   /* that took a credit; that may */
	uint32_t slots;         /* free places in the send queue, beside those for control */
	uint32_t ctrl_slots;    /* free places for control */
};

#define RS_CTRL_SLOTS 4

static inline void rs_send_init(struct rs_send_flow *f, uint32_t size, uint32_t depth)
{
	*f = (struct rs_send_flow){.size = size, .slots = depth - RS_CTRL_SLOTS, .ctrl_slots = RS_CTRL_SLOTS};
}

static inline uint32_t rs_send_free(const struct rs_send_flow *f)
{
	return f->size - (uint32_t)(f->filled - f->freed);
}

/* Credit is for the peer's receive queue: a peer that grants more than it has only delays itself. */
static inline bool rs_send_credit(const struct rs_send_flow *f)
{
	return f->msgs != f->limit;
}

/* The next free bytes that lie together, at most want. */
static inline uint32_t rs_send_span(const struct rs_send_flow *f, uint32_t want, uint32_t *at)
{
	uint32_t left = rs_send_free(f), to_end;

	*at = (uint32_t)(f->filled % f->size);
	to_end = f->size - *at;
	left = left < want ? left : want;
	return left < to_end ? left : to_end;
}

#endif
