/* SPDX-License-Identifier: BSD-3-Clause */
/* A client that speaks the contract by hand. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "world.h"

#define MAX_FDS 3

void wx_connect(struct wx_world *w, struct wx_client *c)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};

	memset(c, 0, sizeof(*c));
	c->w = w;
	c->shm_fd = c->wake_fd = c->async_fd = -1;
	c->sock = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	memcpy(addr.sun_path, w->path, sizeof(addr.sun_path));
	assert_int_equal(connect(c->sock, (struct sockaddr *)&addr, sizeof(addr)), 0);
	vd_dispatch(w->vd);
}

/* The files of a process in /proc are its effective user's only while it may be dumped. */
static void become(uid_t uid)
{
	assert_int_equal(seteuid(uid), 0);
	assert_int_equal(prctl(PR_SET_DUMPABLE, 1), 0);
}

void wx_connect_as(struct wx_world *w, uid_t uid, struct wx_client *c)
{
	become(uid);
	wx_connect(w, c);
	become(0);
}

void wx_hello_as(struct wx_client *c, uid_t uid)
{
	become(uid);
	wx_hello(c);
	become(0);
}

void wx_send(struct wx_client *c, struct vc_request *request)
{
	request->seq = ++c->seq;
	assert_int_equal(send(c->sock, request, sizeof(*request), MSG_NOSIGNAL), sizeof(*request));
}

bool wx_recv(struct wx_client *c, struct vc_reply *reply, int fds[3])
{
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(sizeof(int) * MAX_FDS)];
	} control;
	struct iovec iov = {.iov_base = reply, .iov_len = sizeof(*reply)};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *cmsg;
	uint32_t n = 0;

	memset(reply, 0, sizeof(*reply));
	if (recvmsg(c->sock, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != (ssize_t)sizeof(*reply))
		return false;
	cmsg = CMSG_FIRSTHDR(&msg);
	if (cmsg != NULL) {
		n = (uint32_t)((cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int));
		memcpy(fds, CMSG_DATA(cmsg), n * sizeof(int));
	}
	assert_int_equal(reply->n_fds, n);
	return true;
}

int wx_call_raw(
	struct wx_client *c, const void *request, size_t n, struct vc_reply *reply, int fds[3])
{
	assert_int_equal(send(c->sock, request, n, MSG_NOSIGNAL), n);
	for (int i = 0; i < 100; i++) {
		wx_pump(c->w);
		if (wx_recv(c, reply, fds))
			return reply->status;
	}
	fail_msg("no reply");
	return 0;
}

int wx_call(struct wx_client *c, struct vc_request *request, struct vc_reply *reply)
{
	struct vc_reply here;
	int fds[MAX_FDS];

	if (reply == NULL)
		reply = &here;
	request->seq = ++c->seq;
	wx_call_raw(c, request, sizeof(*request), reply, fds);
	assert_int_equal(reply->seq, request->seq);
	assert_int_equal(reply->op, request->op);
	assert_int_equal(reply->n_fds, 0);
	return reply->status;
}

int wx_object(struct wx_client *c, enum vc_op op, uint32_t handle, struct vc_reply *reply)
{
	struct vc_request request = {.op = op, .object.handle = handle};

	return wx_call(c, &request, reply);
}

void wx_hello(struct wx_client *c)
{
	struct vc_request request = {
		.op = VC_HELLO_VERBS, .hello = {VC_MAGIC, VC_VERSION, "roced0"}};
	struct vc_reply reply;
	int fds[MAX_FDS];

	assert_int_equal(wx_call_raw(c, &request, sizeof(request), &reply, fds), 0);
	assert_int_equal(reply.n_fds, 3);
	c->shm_fd = fds[0];
	c->wake_fd = fds[1];
	c->async_fd = fds[2];
	c->shm_bytes = reply.hello.shm_bytes;
	c->attr = reply.hello.attr;
	c->shm = mmap(NULL, c->shm_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->shm_fd, 0);
	assert_ptr_not_equal(c->shm, MAP_FAILED);
	assert_int_equal(c->shm->magic, VC_MAGIC);
	assert_int_equal(c->shm->version, VC_VERSION);
	assert_int_equal(c->shm->shm_bytes, c->shm_bytes);
}

void wx_hello_cm(struct wx_client *c)
{
	struct vc_request request = {.op = VC_HELLO_CM, .hello = {VC_MAGIC, VC_VERSION, ""}};

	assert_int_equal(wx_call(c, &request, NULL), 0);
}

void wx_close(struct wx_client *c)
{
	close(c->sock);
	if (c->shm != NULL)
		munmap(c->shm, c->shm_bytes);
	if (c->shm_fd >= 0) {
		close(c->shm_fd);
		close(c->wake_fd);
		close(c->async_fd);
	}
	wx_pump(c->w);
}

/* ---- objects ---- */

uint32_t wx_pd(struct wx_client *c)
{
	struct vc_reply reply;

	assert_int_equal(wx_object(c, VC_ALLOC_PD, 0, &reply), 0);
	return reply.object.handle;
}

uint32_t wx_mr(struct wx_client *c, uint32_t pd, void *addr, size_t bytes, uint32_t *handle)
{
	struct vc_request request = {.op = VC_REG_MR};
	struct vc_reply reply;

	request.reg_mr.pd = pd;
	request.reg_mr.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	request.reg_mr.addr = request.reg_mr.iova = (uintptr_t)addr;
	request.reg_mr.bytes = bytes;
	assert_int_equal(wx_call(c, &request, &reply), 0);
	if (handle != NULL)
		*handle = reply.mr.handle;
	return reply.mr.key;
}

void wx_channel(struct wx_client *c, uint32_t *handle, int *fd)
{
	struct vc_request request = {.op = VC_CREATE_COMP_CHANNEL};
	struct vc_reply reply;
	int fds[MAX_FDS];

	assert_int_equal(wx_call_raw(c, &request, sizeof(request), &reply, fds), 0);
	assert_int_equal(reply.n_fds, 1);
	*handle = reply.object.handle;
	*fd = fds[0];
}

void wx_make_cq(
	struct wx_client *c, uint32_t depth, uint32_t channel, uint64_t cookie, struct wx_cq *cq)
{
	struct vc_request request = {.op = VC_CREATE_CQ,
		.create_cq = {.depth = depth, .channel = channel, .cookie = cookie}};
	struct vc_reply reply;

	assert_int_equal(wx_call(c, &request, &reply), 0);
	*cq = (struct wx_cq){.c = c, .handle = reply.cq.handle, .depth = reply.cq.depth};
	cq->ring = (struct vc_cq *)((uint8_t *)c->shm + reply.cq.offset);
	cq->slots = (struct tp_cqe *)(cq->ring + 1);
}

const struct tp_cqe *wx_poll(struct wx_cq *cq)
{
	struct tp_cqe *cqe = &cq->slots[cq->cons & (cq->depth - 1)];

	if (__atomic_load_n(&cqe->seq, __ATOMIC_ACQUIRE) != cq->cons + 1)
		return NULL;
	cq->cons++;
	__atomic_store_n(&cq->ring->cons, cq->cons, __ATOMIC_RELEASE);
	return cqe;
}

void wx_create_qp_request(
	uint32_t pd, const struct wx_cq *cq, uint32_t wr, struct vc_request *request)
{
	*request = (struct vc_request){.op = VC_CREATE_QP};
	request->create_qp.pd = pd;
	request->create_qp.send_cq = request->create_qp.recv_cq = cq->handle;
	request->create_qp.type = IBV_QPT_RC;
	request->create_qp.max_send_wr = request->create_qp.max_recv_wr = wr;
	request->create_qp.max_send_sge = request->create_qp.max_recv_sge = 2;
	request->create_qp.max_inline_bytes = 64;
	request->create_qp.cookie = 0xc00c1e;
}

void wx_make_qp(
	struct wx_client *c, uint32_t pd, const struct wx_cq *cq, uint32_t wr, struct wx_qp *qp)
{
	struct vc_request request;

	wx_create_qp_request(pd, cq, wr, &request);
	wx_make_qp_as(c, &request, qp);
}

void wx_make_qp_of(struct wx_client *c, uint32_t pd, const struct wx_cq *cq, enum ibv_qp_type type,
	struct wx_qp *qp)
{
	struct vc_request request;

	wx_create_qp_request(pd, cq, 16, &request);
	request.create_qp.type = type;
	wx_make_qp_as(c, &request, qp);
}

void wx_make_ah(struct wx_client *c, uint32_t pd, uint8_t i, uint32_t *handle, uint32_t *number)
{
	struct wire_addr dst;

	wx_addr4(i, &dst);
	wx_make_ah_to(c, pd, &dst, handle, number);
}

void wx_make_ah_to(struct wx_client *c, uint32_t pd, const struct wire_addr *dst, uint32_t *handle,
	uint32_t *number)
{
	struct vc_request request = {.op = VC_CREATE_AH, .create_ah = {.pd = pd, .av.sgid_index = 1}};
	struct vc_reply reply;

	memcpy(request.create_ah.av.dgid, dst->b, sizeof(dst->b));
	assert_int_equal(wx_call(c, &request, &reply), 0);
	if (handle != NULL)
		*handle = reply.ah.handle;
	*number = reply.ah.number;
}

void wx_make_qp_as(struct wx_client *c, struct vc_request *request, struct wx_qp *qp)
{
	struct vc_reply reply;

	assert_int_equal(wx_call(c, request, &reply), 0);
	*qp = (struct wx_qp){
		.c = c,
		.handle = reply.qp.handle,
		.qpn = reply.qp.qpn,
		.slot = reply.qp.slot,
		.sq_depth = reply.qp.sq_depth,
		.rq_depth = reply.qp.rq_depth,
		.sq_slot_bytes = reply.qp.sq_slot_bytes,
		.rq_slot_bytes = reply.qp.rq_slot_bytes,
		.type = (enum ibv_qp_type)request->create_qp.type,
		.sq = (struct vc_queue *)((uint8_t *)c->shm + reply.qp.sq_offset),
		.rq = request->create_qp.srq != 0
			      ? NULL
			      : (struct vc_queue *)((uint8_t *)c->shm + reply.qp.rq_offset),
	};
}

void wx_attr(struct vc_qp_attr *attr, enum ibv_qp_state state, uint32_t dest_qpn)
{
	struct wire_addr dst;

	wx_addr4(0, &dst);
	*attr = (struct vc_qp_attr){.mask = IBV_QP_STATE, .state = state, .port = 1};
	switch (state) {
	case IBV_QPS_INIT:
		attr->mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
		attr->access =
			IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
		break;
	case IBV_QPS_RTR:
		attr->mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			      IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
		attr->path_mtu = IBV_MTU_1024;
		attr->dest_qpn = dest_qpn;
		attr->max_dest_rd_atomic = 4;
		attr->min_rnr_timer = 12;
		attr->av.sgid_index = 1;
		memcpy(attr->av.dgid, dst.b, sizeof(attr->av.dgid));
		break;
	case IBV_QPS_RTS:
		attr->mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
			      IBV_QP_MAX_QP_RD_ATOMIC;
		attr->timeout = 14;
		attr->retry_cnt = attr->rnr_retry = 6;
		attr->max_rd_atomic = 4;
		break;
	default:
		break;
	}
}

void wx_attr_of(const struct wx_qp *qp, struct vc_qp_attr *attr, enum ibv_qp_state state,
	uint32_t dest_qpn)
{
	static const uint32_t ud = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_SQ_PSN;
	static const uint32_t rc_only = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER |
					IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					IBV_QP_MAX_QP_RD_ATOMIC;

	wx_attr(attr, state, dest_qpn);
	if (qp->type == IBV_QPT_UC)
		attr->mask &= ~rc_only;
	if (qp->type == IBV_QPT_XRC_SEND)
		attr->mask &= ~(uint32_t)(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	if (qp->type == IBV_QPT_XRC_RECV)
		attr->mask &= ~(uint32_t)(IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC);
	if (qp->type != IBV_QPT_UD)
		return;
	attr->mask &= ud;
	if (state == IBV_QPS_INIT)
		attr->mask |= IBV_QP_QKEY;
	attr->qkey = WX_QKEY;
}

int wx_modify(struct wx_qp *qp, const struct vc_qp_attr *attr)
{
	struct vc_request request = {.op = VC_MODIFY_QP};

	request.modify_qp.handle = qp->handle;
	request.modify_qp.attr = *attr;
	return wx_call(qp->c, &request, NULL);
}

void wx_up(struct wx_qp *qp, uint32_t dest_qpn)
{
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		struct vc_qp_attr attr;

		wx_attr_of(qp, &attr, state, dest_qpn);
		assert_int_equal(wx_modify(qp, &attr), 0);
	}
}

void wx_ring(struct wx_qp *qp)
{
	uint64_t one = 1;

	__atomic_fetch_or(
		&qp->c->shm->doorbell[qp->slot / 64], 1ull << (qp->slot % 64), __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&qp->c->shm->need_wakeup, __ATOMIC_SEQ_CST) != 0)
		assert_int_equal(write(qp->c->wake_fd, &one, sizeof(one)), sizeof(one));
}

void wx_post(
	struct wx_qp *qp, const struct tp_send_wqe *wqe, const struct tp_sge *sge, const void *data)
{
	uint8_t *slot = (uint8_t *)(qp->sq + 1) +
			(size_t)(qp->sq_prod & (qp->sq_depth - 1)) * qp->sq_slot_bytes;

	memcpy(slot, wqe, sizeof(*wqe));
	if (sge != NULL)
		memcpy(slot + sizeof(*wqe), sge, wqe->num_sge * sizeof(*sge));
	if (data != NULL)
		memcpy(slot + sizeof(*wqe), data, wqe->inline_bytes);
	__atomic_store_n(&qp->sq->prod, ++qp->sq_prod, __ATOMIC_RELEASE);
	wx_ring(qp);
}

void wx_post_recv(struct wx_qp *qp, uint64_t wr_id, uint32_t num_sge, const struct tp_sge *sge)
{
	const struct tp_recv_wqe wqe = {.wr_id = wr_id, .num_sge = num_sge};
	uint8_t *slot = (uint8_t *)(qp->rq + 1) +
			(size_t)(qp->rq_prod & (qp->rq_depth - 1)) * qp->rq_slot_bytes;

	memcpy(slot, &wqe, sizeof(wqe));
	if (sge != NULL)
		memcpy(slot + sizeof(wqe), sge, num_sge * sizeof(*sge));
	__atomic_store_n(&qp->rq->prod, ++qp->rq_prod, __ATOMIC_RELEASE);
	wx_ring(qp);
}

void wx_make_srq(struct wx_client *c, uint32_t pd, uint32_t wr, uint64_t cookie, struct wx_srq *srq)
{
	struct vc_request request = {.op = VC_CREATE_SRQ,
		.create_srq = {.pd = pd, .max_wr = wr, .max_sge = 2, .cookie = cookie}};
	struct vc_reply reply;

	assert_int_equal(wx_call(c, &request, &reply), 0);
	*srq = (struct wx_srq){
		.c = c,
		.handle = reply.srq.handle,
		.depth = reply.srq.depth,
		.slot_bytes = reply.srq.slot_bytes,
		.ring = (struct vc_queue *)((uint8_t *)c->shm + reply.srq.offset),
	};
}

void wx_post_srq(struct wx_srq *srq, uint64_t wr_id, uint32_t num_sge, const struct tp_sge *sge)
{
	const struct tp_recv_wqe wqe = {.wr_id = wr_id, .num_sge = num_sge};
	uint8_t *slot = (uint8_t *)(srq->ring + 1) +
			(size_t)(srq->prod & (srq->depth - 1)) * srq->slot_bytes;

	memcpy(slot, &wqe, sizeof(wqe));
	if (sge != NULL)
		memcpy(slot + sizeof(wqe), sge, num_sge * sizeof(*sge));
	__atomic_store_n(&srq->ring->prod, ++srq->prod, __ATOMIC_RELEASE);
}

int wx_srq_limit(struct wx_srq *srq, uint32_t limit)
{
	struct vc_request request = {.op = VC_MODIFY_SRQ,
		.modify_srq = {.handle = srq->handle, .mask = IBV_SRQ_LIMIT, .limit = limit}};

	return wx_call(srq->c, &request, NULL);
}
