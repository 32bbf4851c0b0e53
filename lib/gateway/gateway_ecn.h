/* SPDX-License-Identifier: BSD-3-Clause */
/* Explicit congestion notification through a tunnel: RFC 6040. The outer header gets the inner one's field (its normal
 * mode). */
#ifndef GATEWAY_ECN_H
#define GATEWAY_ECN_H

#include <stdint.h>

#define GATEWAY_ECN_NOT_ECT 0u
#define GATEWAY_ECN_ECT1    1u
#define GATEWAY_ECN_ECT0    2u
#define GATEWAY_ECN_CE      3u
#define GATEWAY_ECN_DROP    4u /* the packet must not be passed on */

/* What a packet leaves the tunnel with, by both headers' fields as it arrived: RFC 6040, figure 4. */
static inline uint8_t gateway_ecn_leave(uint8_t inner, uint8_t outer)
{
	static const uint8_t table[4][4] = {
		/* outer: Not-ECT, ECT(1), ECT(0), CE */
		[GATEWAY_ECN_NOT_ECT] = {
			GATEWAY_ECN_NOT_ECT, GATEWAY_ECN_NOT_ECT, GATEWAY_ECN_NOT_ECT, GATEWAY_ECN_DROP},
		[GATEWAY_ECN_ECT1] = {GATEWAY_ECN_ECT1, GATEWAY_ECN_ECT1, GATEWAY_ECN_ECT1, GATEWAY_ECN_CE},
		[GATEWAY_ECN_ECT0] = {GATEWAY_ECN_ECT0, GATEWAY_ECN_ECT1, GATEWAY_ECN_ECT0, GATEWAY_ECN_CE},
		[GATEWAY_ECN_CE] = {GATEWAY_ECN_CE, GATEWAY_ECN_CE, GATEWAY_ECN_CE, GATEWAY_ECN_CE},
	};

	return table[inner & 3][outer & 3];
}

#endif
