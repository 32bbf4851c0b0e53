/* SPDX-License-Identifier: BSD-3-Clause */
/* Request packets on their way through a responder: a chain of checks, each with one verdict. */
#ifndef TP_RESP_H
#define TP_RESP_H

#include "tp_internal.h"

enum tp_verdict {
	TP_V_OK = 0,         /* so that checks are chained by ?: */
	TP_V_DONE,           /* dealt with already */
	TP_V_DUPLICATE,
	TP_V_AHEAD,          /* first packet ahead of the expected PSN */
	TP_V_STILL_AHEAD,
	TP_V_RNR,
	TP_V_INV_REQ,
	TP_V_TOO_LONG,       /* for the receive work request */
	TP_V_REM_ACCESS,
	TP_V_MEM_FAULT,
	TP_V_RECV_MEM,       /* receive work request names memory that may not be written */
	TP_V_RECV_BAD,       /* receive work request is malformed */
	TP_V_BAD_INVALIDATE,
	TP_V_BAD_SRQ,        /* XRC: no such shared receive queue in the domain */
};

/* One request packet on its way through the chain. */
struct tp_request {
	struct tp_qp *qp;
	const struct wire_pkt *pkt;
	const uint8_t *payload;
	const struct wire_opinfo *info;
	const struct tp_mr *mr;
};

/* Judges one request and does what the verdict says. */
enum tp_verdict tp_resp_take(struct tp_qp *qp, const struct wire_pkt *pkt, const uint8_t *frame);

/* Annex A14: finds the shared receive queue that an XRC request names. */
enum tp_verdict tp_xrc_check_srq(struct tp_request *r);
/* 9.7.4.1.3: does the queue pair allow the operation. */
enum tp_verdict tp_msg_check_operation(struct tp_request *r);
/* 9.7.4.1.4: a receive work request, where the message uses one. */
enum tp_verdict tp_msg_check_receive(struct tp_request *r);
/* 9.7.4.1.6: payload against the place in the message, pad count and MTU, message against its RETH. */
enum tp_verdict tp_msg_check_length(struct tp_request *r);
/* 9.7.4.1.5: R_Key, rights and range. */
enum tp_verdict tp_msg_check_target(struct tp_request *r);
/* Places the payload of a SEND or WRITE and completes the message with its last packet. */
enum tp_verdict tp_msg_execute(struct tp_request *r);

#endif
