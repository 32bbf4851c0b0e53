/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What two roceds agree to beyond the specification. REQ offers, REP takes what is offered or says nothing; each of
 * them binds who sent it, so no third message is needed: the active side has agreed before the passive one can say
 * so. The offer is behind the consumer's private data and is not shown to the other consumer.
 */
#include <string.h>

#include "cm_internal.h"

void cm_ext_put(struct wire_cm_msg *msg, struct cm_ext *ext)
{
	const struct wire_cm_ext wire = {.flags = ext->flags, .psn_ring = ext->psn_ring, .planes = ext->planes};

	if (ext->flags != 0 && wire_cm_ext_fits(msg->type, msg->private_bytes))
		wire_cm_ext_put(msg, &wire);
	else
		*ext = (struct cm_ext){0};
}

void cm_ext_get(const struct wire_cm_msg *msg, uint8_t *private_data, struct cm_event *ev, struct cm_ext *ext)
{
	struct wire_cm_ext wire;

	*ext = (struct cm_ext){0};
	if (wire_cm_ext_get(msg, &wire) != 0)
		return;
	*ext = (struct cm_ext){.flags = wire.flags & CM_EXT_ALL, .psn_ring = wire.psn_ring, .planes = wire.planes};
	memcpy(private_data, ev->private_data, ev->private_bytes);
	memset(private_data + ev->private_bytes - WIRE_CM_EXT_BYTES, 0, WIRE_CM_EXT_BYTES);
	ev->private_data = private_data;
}

struct cm_ext cm_ext_common(const struct cm_ext *own, const struct cm_ext *peer)
{
	struct cm_ext both = {.flags = own->flags & peer->flags, .psn_ring = own->psn_ring};

	/* Who keeps less than is sent would lose what it cannot keep, again and again. */
	if (peer->psn_ring != own->psn_ring)
		both.flags = 0;
	/* The others are worth nothing without. */
	if ((both.flags & CM_EXT_SACK) == 0)
		both.flags = 0;
	if (both.flags == 0)
		return (struct cm_ext){0};
	both.planes = own->planes < peer->planes ? own->planes : peer->planes;
	return both;
}
