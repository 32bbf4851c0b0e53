/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What queue pairs take from the configuration when they are connected, and refer to as long as they are: schedulers,
 * congestion controllers, peers. A reload makes a new one; the old one stays until no queue pair refers to it.
 */
#ifndef TUNING_H
#define TUNING_H

#include "roced.h"

struct tuning {
	struct tuning *older;              /* still referred to */
	struct path_sched_config plain;    /* see multipath_plain() */
	struct cc_config plain_cc;         /* see congestion_init(); rate_bps 0: there is none */
	struct cc_dcqcn_params dcqcn;
	struct cc_model model;
	struct cc_config agreed_cc[VD_MAX_DEVICES][VD_MTUS]; /* see congestion_agreed() */
	struct vd_multipath multipath;
};

/* What a configuration says, with the running ports. NULL: why says why not. */
struct tuning *tuning_new(const struct roced *roced, const struct config *config, char *why, size_t n);
/* The controllers of device d; NULL: the transport's window. */
const struct cc_config *tuning_cc(const struct tuning *tuning, const struct config *config, uint32_t d);
/* As the transport takes it. */
void tuning_of_tp(const struct tuning *tuning, const struct config *config, struct tp_tuning *out);
/* From now on it is that one; the workers stand still. Those before stay behind it. */
void tuning_use(struct roced *roced, struct tuning *tuning);
/* Frees those that nobody refers to any more. The workers run. */
void tuning_collect(struct roced *roced);
/* All; the transports are gone. */
void tuning_free(struct tuning *tuning);

#endif
