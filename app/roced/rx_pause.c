/* SPDX-License-Identifier: BSD-3-Clause */
#include "rx_pause.h"

#include <errno.h>

#include <rte_common.h>

#define ETH_OVERHEAD 18u        /* header and one VLAN tag */
#define KBYTE        1000u
#define NS_PER_M     5u         /* light in fibre or copper */
#define NS_PER_US    1000u
#define QUANTA       UINT16_MAX /* ended by XON; the longest, lest a late worker's pause ends by itself */
#define ALPHA_SHIFT  0u         /* a port has its room for itself: half of it starts a pause of the only priority */
#define OWN_PART     2u         /* of the room is for headroom, at most */

uint32_t rx_pause_headroom(const struct config_port *port, uint64_t rate_bps)
{
	if (port->pfc_headroom_kbytes != 0)
		return port->pfc_headroom_kbytes * KBYTE;
	return qos_pfc_headroom_bytes(rate_bps, port->cable_m * NS_PER_M, port->mtu + ETH_OVERHEAD,
		port->pfc_response_us * NS_PER_US);
}

int rx_pause_init(struct rx_pause *pause, const struct config_port *port, uint64_t rate_bps, const struct rx_room *room)
{
	uint32_t n = (uint32_t)__builtin_popcountll(port->pfc_send);
	uint32_t packets = RTE_MIN(RTE_MIN(room->queue, room->ring), room->spare);
	uint64_t headroom = rx_pause_headroom(port, rate_bps), most;

	pause->cell_bytes = port->mtu + ETH_OVERHEAD;
	pause->spare = room->spare;
	pause->config = (struct qos_pfc_config){
		.priorities = (uint8_t)port->pfc_send,
		.alpha_shift = ALPHA_SHIFT,
		.buffer_bytes = port->pfc_buffer_kbytes != 0 ? (uint64_t)port->pfc_buffer_kbytes * KBYTE :
			(uint64_t)packets * pause->cell_bytes,
		.rate_bps = rate_bps,
		.quanta = QUANTA,
	};
	most = pause->config.buffer_bytes / OWN_PART / n;
	pause->config.headroom_bytes = (uint32_t)RTE_MIN(headroom, most);
	if (qos_pfc_init(&pause->pfc, &pause->config) != 0)
		return -EINVAL;
	return headroom > most;
}

static uint32_t read_now(const _Atomic uint32_t *from)
{
	return atomic_load_explicit(from, memory_order_relaxed);
}

/* Receive queues are each worker's own, so the fullest one counts; what is between workers adds up. */
static uint32_t waiting(const struct rx_fill *const *fills, uint32_t n, int p)
{
	uint32_t most = 0, given = 0, taken = 0;

	/* Taken first: what is given meanwhile is then too much and not less than none. */
	for (uint32_t w = 0; w < n; w++)
		taken += read_now(&fills[w]->taken[p]);
	for (uint32_t w = 0; w < n; w++) {
		most = RTE_MAX(most, read_now(&fills[w]->queued[p]));
		given += read_now(&fills[w]->given[p]);
	}
	return most + ((int32_t)(given - taken) > 0 ? given - taken : 0);
}

void rx_pause_look(struct rx_pause *pause, const struct rx_fill *const *fills, uint32_t n)
{
	uint64_t room = pause->config.buffer_bytes / pause->cell_bytes, left;
	uint32_t kept = 0;

	for (uint32_t w = 0; w < n; w++)
		kept += read_now(&fills[w]->kept);
	/* Those that wait for others of their priority take buffers, and must not pause what they wait for. */
	left = pause->spare > kept ? pause->spare - kept : 0;
	qos_pfc_reserve(&pause->pfc, left < room ? (room - left) * pause->cell_bytes : 0);
	for (uint8_t p = 0; p < QOS_PRIORITIES; p++)
		qos_pfc_set(&pause->pfc, p, (uint64_t)waiting(fills, n, p) * pause->cell_bytes);
}
