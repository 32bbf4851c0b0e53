/* SPDX-License-Identifier: BSD-3-Clause */
#include "qos_pfc.h"

#include <errno.h>
#include <string.h>

#define PFC_FRAME_BYTES 84u /* with preamble, FCS and gap */
#define BITS            8u
#define NS_PER_S        1000000000u
#define REFRESH_PART    2u  /* a pause is asked for again when half of it is over */
#define MAX_HEADROOM    (1u << 30)

static uint64_t bytes_in(uint64_t rate_bps, uint64_t ns)
{
	return (uint64_t)((unsigned __int128)rate_bps * ns / BITS / NS_PER_S);
}

uint32_t qos_pfc_headroom_bytes(uint64_t rate_bps, uint32_t propagation_ns, uint32_t packet_bytes, uint32_t response_ns)
{
	uint64_t bytes = bytes_in(rate_bps, (uint64_t)2 * propagation_ns + response_ns) + 2 * (uint64_t)packet_bytes +
		PFC_FRAME_BYTES;

	return bytes < MAX_HEADROOM ? (uint32_t)bytes : MAX_HEADROOM;
}

int qos_pfc_init(struct qos_pfc *pfc, const struct qos_pfc_config *config)
{
	uint64_t own = ((uint64_t)config->min_bytes + config->headroom_bytes) *
		(uint32_t)__builtin_popcount(config->priorities);

	if (config->rate_bps == 0 || config->quanta == 0 || config->alpha_shift > 16 || own >= config->buffer_bytes)
		return -EINVAL;
	memset(pfc, 0, sizeof(*pfc));
	pfc->config = config;
	pfc->shared_bytes = config->buffer_bytes - own;
	return 0;
}

static uint64_t shared_of(const struct qos_pfc *pfc, uint64_t bytes)
{
	return bytes > pfc->config->min_bytes ? bytes - pfc->config->min_bytes : 0;
}

/* What a priority may use of the shared part now. */
static uint64_t limit(const struct qos_pfc *pfc)
{
	uint64_t left = pfc->shared_bytes > pfc->shared_used ? pfc->shared_bytes - pfc->shared_used : 0;

	return left >> pfc->config->alpha_shift;
}

static void set_bytes(struct qos_pfc *pfc, uint8_t p, uint64_t bytes)
{
	pfc->shared_used += shared_of(pfc, bytes);
	pfc->shared_used -= shared_of(pfc, pfc->bytes[p]);
	pfc->bytes[p] = bytes;
}

static void tell(struct qos_pfc *pfc, uint8_t p, bool xoff)
{
	uint8_t bit = (uint8_t)(1u << p);

	pfc->xoff = (uint8_t)(xoff ? pfc->xoff | bit : pfc->xoff & ~bit);
	pfc->untold |= bit;
}

static void look_off(struct qos_pfc *pfc, uint8_t p)
{
	if ((pfc->config->priorities & ~pfc->xoff & 1u << p) != 0 && shared_of(pfc, pfc->bytes[p]) > limit(pfc))
		tell(pfc, p, true);
}

/* Half of the limit lies between off and on, lest they alternate packet by packet. */
static void look_on(struct qos_pfc *pfc, uint8_t p)
{
	if ((pfc->xoff & 1u << p) != 0 && shared_of(pfc, pfc->bytes[p]) <= limit(pfc) / 2)
		tell(pfc, p, false);
}

void qos_pfc_in(struct qos_pfc *pfc, uint8_t p, uint32_t bytes)
{
	set_bytes(pfc, p, pfc->bytes[p] + bytes);
	look_off(pfc, p);
}

void qos_pfc_out(struct qos_pfc *pfc, uint8_t p, uint32_t bytes)
{
	set_bytes(pfc, p, pfc->bytes[p] > bytes ? pfc->bytes[p] - bytes : 0);
	look_on(pfc, p);
}

void qos_pfc_set(struct qos_pfc *pfc, uint8_t p, uint64_t bytes)
{
	set_bytes(pfc, p, bytes);
	if ((pfc->xoff & 1u << p) != 0)
		look_on(pfc, p);
	else
		look_off(pfc, p);
}

void qos_pfc_reserve(struct qos_pfc *pfc, uint64_t bytes)
{
	pfc->shared_used += bytes;
	pfc->shared_used -= pfc->reserved_bytes;
	pfc->reserved_bytes = bytes;
}

static uint64_t refresh_ns(const struct qos_pfc *pfc)
{
	return wire_pause_ns(pfc->config->quanta, pfc->config->rate_bps) / REFRESH_PART;
}

bool qos_pfc_due(struct qos_pfc *pfc, uint64_t now_ns, uint8_t *named, uint16_t quanta[QOS_PRIORITIES])
{
	uint64_t again_ns = refresh_ns(pfc);

	*named = pfc->untold;
	for (uint8_t p = 0; p < QOS_PRIORITIES; p++) {
		if ((pfc->xoff & 1u << p) != 0 && now_ns - pfc->told_ns[p] >= again_ns)
			*named = (uint8_t)(*named | 1u << p);
		quanta[p] = (pfc->xoff & 1u << p) != 0 ? pfc->config->quanta : 0;
		if ((*named & 1u << p) == 0)
			continue;
		pfc->told_ns[p] = now_ns;
		pfc->xoff_sent[p] += quanta[p] != 0;
		pfc->xon_sent[p] += quanta[p] == 0;
	}
	pfc->untold = 0;
	return *named != 0;
}

uint64_t qos_pfc_next_ns(const struct qos_pfc *pfc)
{
	uint64_t next_ns = pfc->untold != 0 ? 0 : UINT64_MAX, again_ns = refresh_ns(pfc);

	for (uint8_t p = 0; p < QOS_PRIORITIES; p++) {
		if ((pfc->xoff & 1u << p) != 0 && pfc->told_ns[p] + again_ns < next_ns)
			next_ns = pfc->told_ns[p] + again_ns;
	}
	return next_ns;
}
