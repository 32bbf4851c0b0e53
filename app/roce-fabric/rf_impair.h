/* SPDX-License-Identifier: BSD-3-Clause */
/* Impairments between a port and the fabric: what rf_filter.h's rules say is done to packets here, in front of
 * their host's link. */
#ifndef RF_IMPAIR_H
#define RF_IMPAIR_H

#include "rf_net.h"

/* Takes a packet from one port's host to another's into the fabric, if no rule hits it, or does what the rule
 * says. Takes over a reference to the buffer, which is contiguous. */
void rf_impair(struct rf_net *net, struct rf_port *from, const struct rf_port *to, const struct rf_frame *frame,
	struct rte_mbuf *m);

/* Lets go on what was held for long enough. Whether there was any. */
bool rf_impair_step(struct rf_net *net);
/* When rf_impair_step() has something to do; UINT64_MAX: never. */
uint64_t rf_impair_next_ns(const struct rf_net *net);
/* Gives up what is held. */
void rf_impair_fini(struct rf_net *net);

#endif
