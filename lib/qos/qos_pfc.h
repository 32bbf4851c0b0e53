/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Priority-based flow control, the receiver's side (IEEE 802.1Q, 36): when a priority has more in the receive buffer than
 * its share, the sender is told to pause it (XOFF), and told to go on (XON) when it has less again.
 *
 * The buffer is a minimum for each lossless priority, headroom for what each one's sender has on its way when it is
 * paused, and a part that all share. A priority may use alpha of what is left of that part (dynamic threshold, Choudhury
 * and Hahne 1998).
 */
#ifndef QOS_PFC_H
#define QOS_PFC_H

#include <stdbool.h>
#include <stdint.h>

#include "qos_pause.h"

struct qos_pfc_config {
	uint8_t priorities;      /* bit p: priority p is lossless */
	uint8_t alpha_shift;     /* alpha is 2^-alpha_shift; 4: 1/16 */
	uint64_t buffer_bytes;   /* in all */
	uint32_t min_bytes;      /* of each lossless priority */
	uint32_t headroom_bytes; /* of each, see qos_pfc_headroom_bytes() */
	uint64_t rate_bps;       /* of the link, not 0 */
	uint16_t quanta;         /* a pause asks for; not 0 */
};

struct qos_pfc {
	const struct qos_pfc_config *config;
	uint64_t shared_bytes;   /* of the buffer */
	uint64_t shared_used;
	uint64_t reserved_bytes; /* see qos_pfc_reserve() */
	uint64_t bytes[QOS_PRIORITIES];
	uint8_t xoff;            /* bit p: the sender was told to pause priority p */
	uint8_t untold;          /* priorities whose state the sender has not been told */
	uint64_t told_ns[QOS_PRIORITIES];
	uint64_t xoff_sent[QOS_PRIORITIES], xon_sent[QOS_PRIORITIES];
};

/* What still comes after XOFF was decided: both ways of the link, a packet that was being sent at each end and the
 * frame itself, and what the sender takes to obey (IEEE 802.1Q, annex N). */
uint32_t qos_pfc_headroom_bytes(uint64_t rate_bps, uint32_t propagation_ns, uint32_t packet_bytes, uint32_t response_ns);

/* 0 or -EINVAL: minima and headroom are more than the buffer, or a number is 0 that may not be. */
int qos_pfc_init(struct qos_pfc *pfc, const struct qos_pfc_config *config);
/* A packet of priority p came into the buffer, left it. */
void qos_pfc_in(struct qos_pfc *pfc, uint8_t p, uint32_t bytes);
void qos_pfc_out(struct qos_pfc *pfc, uint8_t p, uint32_t bytes);
/* It has so many bytes there now: for who does not see each packet come and go. */
void qos_pfc_set(struct qos_pfc *pfc, uint8_t p, uint64_t bytes);
/* So much of the shared part is taken by what counts for no priority. It leaves less for all, but pauses nobody by itself:
 * for packets that wait for others of their own priority, which would be paused with it. Limits are those of the next
 * call of one of the functions above. */
void qos_pfc_reserve(struct qos_pfc *pfc, uint64_t bytes);
/* Whether a PFC frame is to be sent now: *named and quanta are its fields. It counts as sent. */
bool qos_pfc_due(struct qos_pfc *pfc, uint64_t now_ns, uint8_t *named, uint16_t quanta[QOS_PRIORITIES]);
/* It could not be sent. */
static inline void qos_pfc_untold(struct qos_pfc *pfc, uint8_t named)
{
	pfc->untold = (uint8_t)(pfc->untold | named);
}

/* When a pause has to be asked for again, UINT64_MAX: never. */
uint64_t qos_pfc_next_ns(const struct qos_pfc *pfc);

#endif
