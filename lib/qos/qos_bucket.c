/* SPDX-License-Identifier: BSD-3-Clause */
#include "qos_bucket.h"

#include <string.h>

#define NS_PER_S      1000000000u
#define BITS          8u
#define BURST_PACKETS 2u

void qos_bucket_set(struct qos_bucket *b, uint64_t rate_bps, uint32_t burst_bytes)
{
	if (rate_bps == 0) {
		b->byte_cost = 0;
		return;
	}
	rate_bps = rate_bps < QOS_MIN_RATE_BPS ? QOS_MIN_RATE_BPS :
		rate_bps > QOS_MAX_RATE_BPS ? QOS_MAX_RATE_BPS : rate_bps;
	b->byte_cost = ((uint64_t)8 * NS_PER_S << QOS_FRACTION_BITS) / rate_bps;
	b->burst_ns = (uint64_t)((unsigned __int128)burst_bytes * b->byte_cost >> QOS_FRACTION_BITS);
}

void qos_bucket_init(struct qos_bucket *b, uint64_t rate_bps, uint32_t burst_bytes)
{
	memset(b, 0, sizeof(*b));
	qos_bucket_set(b, rate_bps, burst_bytes);
}

uint32_t qos_burst_bytes(uint64_t rate_bps, uint32_t packet_bytes, uint32_t burst_ns)
{
	uint64_t ns = burst_ns != 0 ? burst_ns : QOS_BURST_NS;
	uint64_t bytes = (uint64_t)((unsigned __int128)rate_bps * ns / BITS / NS_PER_S) + BURST_PACKETS * packet_bytes;

	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

uint32_t qos_bucket_bytes(const struct qos_bucket *b, uint64_t now_ns)
{
	uint64_t until_ns = now_ns + b->burst_ns, bytes;

	if (b->byte_cost == 0)
		return UINT32_MAX;
	if (b->even_ns >= until_ns)
		return 0;
	until_ns -= b->even_ns > now_ns ? b->even_ns : now_ns;
	bytes = (uint64_t)(((unsigned __int128)until_ns << QOS_FRACTION_BITS) / b->byte_cost);
	return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}
