/* SPDX-License-Identifier: BSD-3-Clause */
/* What impairments do to the bytes of a RoCE packet. Pure; the frame is contiguous and may be written to. */
#ifndef RF_EDIT_H
#define RF_EDIT_H

#include "rf_rule.h"

/* Marks, damages or renumbers a parsed frame as the rule says; other actions leave it alone. */
void rf_edit(uint8_t *frame, const struct wire_pkt *pkt, const struct rf_rule *rule);

#endif
