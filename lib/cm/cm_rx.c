/* SPDX-License-Identifier: BSD-3-Clause */
/* Receiving: which message it is, and whose. */
#include "cm_internal.h"

#include <errno.h>

static void dispatch(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns)
{
	switch (msg->type) {
	case WIRE_CM_REQ:
		cm_rx_req(cm, path, msg, now_ns);
		break;
	case WIRE_CM_MRA:
		cm_rx_mra(cm, path, msg, now_ns);
		break;
	case WIRE_CM_REJ:
		cm_rx_rej(cm, path, msg, now_ns);
		break;
	case WIRE_CM_REP:
		cm_rx_rep(cm, path, msg, now_ns);
		break;
	case WIRE_CM_RTU:
		cm_rx_rtu(cm, path, msg);
		break;
	case WIRE_CM_DREQ:
		cm_rx_dreq(cm, path, msg, now_ns);
		break;
	case WIRE_CM_DREP:
		cm_rx_drep(cm, path, msg, now_ns);
		break;
	case WIRE_CM_SIDR_REQ:
		cm_rx_sidr_req(cm, path, msg, now_ns);
		break;
	case WIRE_CM_SIDR_REP:
		cm_rx_sidr_rep(cm, path, msg);
		break;
	case WIRE_CM_LAP: /* alternate paths: none on RoCE */
	case WIRE_CM_APR:
	default:
		cm->stats.rx_unsupported++;
		break;
	}
}

void cm_rx(struct cm *cm, const struct cm_path *path, const uint8_t *mad, size_t n, uint64_t now_ns)
{
	struct wire_cm_msg msg;
	int ret;

	cm->stats.rx_mads++;
	ret = wire_cm_decode(mad, n, &msg);
	if (ret == -ENOTSUP)
		cm->stats.rx_unsupported++;
	else if (ret)
		cm->stats.rx_malformed++;
	else
		dispatch(cm, path, &msg, now_ns);
}
