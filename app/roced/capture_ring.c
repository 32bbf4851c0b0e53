/* SPDX-License-Identifier: BSD-3-Clause */
#include "capture_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_BYTES 4096u
#define ALIGN       8u

int capture_ring_make(struct capture_ring *ring, uint64_t bytes)
{
	memset(ring, 0, sizeof(*ring));
	for (ring->bytes = LEAST_BYTES; ring->bytes < bytes;)
		ring->bytes *= 2;
	ring->data = malloc(ring->bytes);
	return ring->data != NULL ? 0 : -ENOMEM;
}

void capture_ring_free(struct capture_ring *ring)
{
	free(ring->data);
	ring->data = NULL;
}

/* What a record takes in the ring, so that all begin aligned. */
static uint64_t room_of(uint64_t bytes)
{
	return sizeof(struct capture_record) + (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

static void copy_in(struct capture_ring *ring, uint64_t at, const void *from, size_t n)
{
	uint64_t off = at & (ring->bytes - 1), first = ring->bytes - off < n ? ring->bytes - off : n;

	memcpy(ring->data + off, from, first);
	if (first < n)
		memcpy(ring->data, (const uint8_t *)from + first, n - first);
}

static void copy_out(const struct capture_ring *ring, uint64_t at, void *to, size_t n)
{
	uint64_t off = at & (ring->bytes - 1), first = ring->bytes - off < n ? ring->bytes - off : n;

	memcpy(to, ring->data + off, first);
	if (first < n)
		memcpy((uint8_t *)to + first, ring->data, n - first);
}

bool capture_ring_put(
	struct capture_ring *ring, const struct capture_record *record, const struct iovec *parts, unsigned n_parts)
{
	uint64_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
	uint64_t at = head + sizeof(*record), room = room_of(record->bytes);

	if (room > ring->bytes - (head - atomic_load_explicit(&ring->tail, memory_order_acquire)))
		return false;
	copy_in(ring, head, record, sizeof(*record));
	for (unsigned i = 0; i < n_parts; i++) {
		copy_in(ring, at, parts[i].iov_base, parts[i].iov_len);
		at += parts[i].iov_len;
	}
	atomic_store_explicit(&ring->head, head + room, memory_order_release);
	return true;
}

bool capture_ring_peek(const struct capture_ring *ring, struct capture_record *record)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	if (atomic_load_explicit(&ring->head, memory_order_acquire) == tail)
		return false;
	copy_out(ring, tail, record, sizeof(*record));
	return true;
}

void capture_ring_take(struct capture_ring *ring, const struct capture_record *record, void *to)
{
	uint64_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);

	copy_out(ring, tail + sizeof(*record), to, record->bytes);
	atomic_store_explicit(&ring->tail, tail + room_of(record->bytes), memory_order_release);
}
