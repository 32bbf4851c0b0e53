/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport services side by side (IBTA vol. 1, table 38). */
#include "tp_internal.h"

#define WR(name) (1u << TP_WR_##name)

enum {
	SENDS = WR(SEND) | WR(SEND_IMM),
	WRITES = WR(WRITE) | WR(WRITE_IMM),
	LOCAL = WR(LOCAL_INV) | WR(BIND_MW),
};

static const struct tp_type types[] = {
	[TP_QPT_RC] = {
		.service = WIRE_SERVICE_RC,
		.wrs = SENDS | WRITES | LOCAL | WR(SEND_INV) | WR(READ) | WR(CMP_SWAP) | WR(FETCH_ADD) |
			WR(ATOMIC_WRITE),
		.acknowledged = true,
		.connected = true,
		.send = tp_req_send,
		.rx = tp_resp_rx,
	},
	[TP_QPT_XRC_INI] = {
		.service = WIRE_SERVICE_XRC,
		.wrs = SENDS | WRITES | LOCAL | WR(SEND_INV) | WR(READ) | WR(CMP_SWAP) | WR(FETCH_ADD),
		.acknowledged = true,
		.connected = true,
		.xrc = true,
		.send = tp_req_send,
	},
	[TP_QPT_XRC_TGT] = {
		.service = WIRE_SERVICE_XRC,
		.acknowledged = true,
		.connected = true,
		.xrc = true,
		.rx = tp_resp_rx,
	},
	[TP_QPT_UC] = {
		.service = WIRE_SERVICE_UC,
		.wrs = SENDS | WRITES | LOCAL,
		.connected = true,
		.send = tp_req_send,
		.rx = tp_uc_rx,
	},
	[TP_QPT_UD] = {
		.service = WIRE_SERVICE_UD,
		.wrs = SENDS,
		.send = tp_ud_send,
		.rx = tp_ud_rx,
	},
};

const struct tp_type *tp_type_of(enum tp_qp_type type)
{
	if ((size_t)type >= sizeof(types) / sizeof(types[0]) || (types[type].send == NULL && types[type].rx == NULL))
		return NULL;
	return &types[type];
}
