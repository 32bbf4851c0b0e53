/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A token bucket, kept as the time at which what was sent would have been sent at the rate (the generic cell rate
 * algorithm, ITU-T I.371): no division and no refill, and exact over any time. What is sent may be ahead of that
 * by the burst; a packet is let go while it is not, so at most one packet goes beyond.
 */
#ifndef QOS_BUCKET_H
#define QOS_BUCKET_H

#include <stdbool.h>
#include <stdint.h>

#define QOS_FRACTION_BITS 24
#define QOS_MIN_RATE_BPS  ((uint64_t)1000 * 1000)
#define QOS_MAX_RATE_BPS  ((uint64_t)1600 * 1000 * 1000 * 1000)

struct qos_bucket {
	uint64_t even_ns;      /* when what was sent is paid for */
	uint64_t byte_cost;    /* ns << QOS_FRACTION_BITS; 0: no limit */
	uint64_t burst_ns;
	uint32_t fraction;     /* of even_ns */
};

/* Full at any time. rate_bps 0: no limit; else what is out of range is brought into it. burst_bytes: what may be
 * sent at once after a pause. */
void qos_bucket_init(struct qos_bucket *b, uint64_t rate_bps, uint32_t burst_bytes);
/* Another rate from now on; what was sent stays sent. */
void qos_bucket_set(struct qos_bucket *b, uint64_t rate_bps, uint32_t burst_bytes);

static inline bool qos_bucket_limits(const struct qos_bucket *b)
{
	return b->byte_cost != 0;
}

/* When the next packet may go; in the past: at once. */
static inline uint64_t qos_bucket_ready_ns(const struct qos_bucket *b)
{
	return b->even_ns > b->burst_ns ? b->even_ns - b->burst_ns : 0;
}

static inline bool qos_bucket_ready(const struct qos_bucket *b, uint64_t now_ns)
{
	return b->byte_cost == 0 || b->even_ns <= now_ns + b->burst_ns;
}

/* bytes were sent; at most 2^26 at once. */
static inline void qos_bucket_take(struct qos_bucket *b, uint32_t bytes, uint64_t now_ns)
{
	uint64_t cost = b->fraction + bytes * b->byte_cost;

	if (b->byte_cost == 0)
		return;
	if (b->even_ns < now_ns) {
		b->even_ns = now_ns;
		cost -= b->fraction;
	}
	b->even_ns += cost >> QOS_FRACTION_BITS;
	b->fraction = (uint32_t)(cost & ((1u << QOS_FRACTION_BITS) - 1));
}

#define QOS_BURST_NS 8000u

/* What burst_ns carry, and two packets. 0: QOS_BURST_NS, for users that come every few microseconds, or by the timing wheel,
 * whose slots of 4 us may be one late. Whoever comes later than burst_ns stays below the rate. */
uint32_t qos_burst_bytes(uint64_t rate_bps, uint32_t packet_bytes, uint32_t burst_ns);

/* How many bytes may be sent at once, one packet beyond them too; UINT32_MAX: no limit. */
uint32_t qos_bucket_bytes(const struct qos_bucket *b, uint64_t now_ns);

#endif
