/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captured packets on their way from a worker to the main thread: a ring of bytes with one writer and one reader, which
 * takes all its memory when it is made. What does not fit is not taken, and its writer counts it.
 */
#ifndef CAPTURE_RING_H
#define CAPTURE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct capture_record {
	uint64_t ns;         /* monotonic */
	uint32_t bytes;      /* captured; they follow in the ring */
	uint32_t wire_bytes; /* of the whole frame */
	uint32_t queue;
	uint8_t iface; /* number of the file's interface */
	uint8_t out;   /* 1: it was sent */
	uint8_t pad[2];
};

struct capture_ring {
	uint8_t *data;
	uint64_t bytes;                     /* a power of two */
	_Alignas(64) _Atomic uint64_t head; /* the writer's: bytes ever written */
	_Alignas(64) _Atomic uint64_t tail; /* the reader's: bytes ever taken */
};

/* Makes one of at least so many bytes. 0 or -ENOMEM. */
int capture_ring_make(struct capture_ring *ring, uint64_t bytes);
void capture_ring_free(struct capture_ring *ring);

/* The writer: a record whose bytes are those of the parts together. False: there is no room. */
bool capture_ring_put(
	struct capture_ring *ring, const struct capture_record *record, const struct iovec *parts, unsigned n_parts);

/* The reader: the oldest record, which stays. False: there is none. */
bool capture_ring_peek(const struct capture_ring *ring, struct capture_record *record);
/* And its bytes, which go. */
void capture_ring_take(struct capture_ring *ring, const struct capture_record *record, void *to);

#endif
