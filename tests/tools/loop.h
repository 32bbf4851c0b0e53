/* SPDX-License-Identifier: BSD-3-Clause */
/* For programs whose queue pair is its own peer. */
#ifndef LOOP_H
#define LOOP_H

#include <infiniband/verbs.h>

#include "must.h"

/* From RESET to RTS; access: what its remote may do, set of enum ibv_access_flags. */
static inline void connect_to_itself(struct ibv_qp *qp, int gid_index, unsigned int access)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access};

	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = qp->qp_num,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.sgid_index = (uint8_t)gid_index, .hop_limit = 64}}};
	MUST(ibv_query_gid(qp->context, 1, gid_index, &attr.ah_attr.grh.dgid) == 0);
	MUST(ibv_modify_qp(qp, &attr,
		     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7};
	MUST(ibv_modify_qp(qp, &attr,
		     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			     IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

#endif
