/* SPDX-License-Identifier: BSD-3-Clause */
/* Which transitions of a queue pair are legal and with which attributes. */
#ifndef TP_MODIFY_H
#define TP_MODIFY_H

#include "tp_internal.h"

/* State the queue pair is to be in after tp_qp_modify(qp, attr, mask). */
enum tp_qp_state tp_modify_next(const struct tp_qp *qp, const struct tp_qp_attr *attr, uint32_t mask);
/* 0, or -EINVAL: transition, missing or superfluous attribute, or a value out of range. */
int tp_modify_check(const struct tp_qp *qp, const struct tp_qp_attr *attr, uint32_t mask);

#endif
