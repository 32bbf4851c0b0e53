/* SPDX-License-Identifier: BSD-3-Clause */
/* The UD queue pairs of a datagram socket. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "vcl_rs_dgram.h"

#define MAX_SLOTS 1024
#define HOP_LIMIT 64
#define WR_RECV   (1ull << 63)

static int make_memory(struct rs_dg_qp *qp)
{
	const int local = IBV_ACCESS_LOCAL_WRITE;
	struct ibv_pd *pd = qp->id->pd;

	qp->send_buf = calloc(qp->n_send, RS_DG_SLOT_BYTES);
	qp->recv_buf = calloc(qp->n_recv, RS_DG_RECV_BYTES);
	qp->msgs = calloc(qp->n_recv, sizeof(*qp->msgs));
	qp->free_send = calloc(qp->n_send, sizeof(*qp->free_send));
	if (qp->send_buf == NULL || qp->recv_buf == NULL || qp->msgs == NULL || qp->free_send == NULL)
		return -ENOMEM;
	for (qp->n_free = 0; qp->n_free < qp->n_send; qp->n_free++)
		qp->free_send[qp->n_free] = qp->n_free;
	qp->send_mr = ibv_reg_mr(pd, qp->send_buf, (size_t)qp->n_send * RS_DG_SLOT_BYTES, local);
	qp->recv_mr = ibv_reg_mr(pd, qp->recv_buf, (size_t)qp->n_recv * RS_DG_RECV_BYTES, local);
	return qp->send_mr == NULL || qp->recv_mr == NULL ? -errno : 0;
}

static int make_queues(struct rs_sock *rs, struct rs_dg_qp *qp)
{
	struct ibv_qp_init_attr attr = {
		.cap = {.max_send_wr = qp->n_send, .max_recv_wr = qp->n_recv, .max_send_sge = 1, .max_recv_sge = 1},
		.qp_type = IBV_QPT_UD,
		.sq_sig_all = 1};
	struct epoll_event ev = {.events = EPOLLIN};

	qp->comp = ibv_create_comp_channel(qp->id->verbs);
	if (qp->comp == NULL || fcntl(qp->comp->fd, F_SETFL, fcntl(qp->comp->fd, F_GETFL) | O_NONBLOCK) != 0)
		return -errno;
	qp->cq = ibv_create_cq(qp->id->verbs, (int)(qp->n_send + qp->n_recv), qp, qp->comp, 0);
	if (qp->cq == NULL)
		return -errno;
	attr.send_cq = attr.recv_cq = qp->cq;
	if (rdma_create_qp(qp->id, qp->id->pd, &attr) != 0 ||
		epoll_ctl(rs->dg->epoll_fd, EPOLL_CTL_ADD, qp->comp->fd, &ev) != 0)
		return -errno;
	return 0;
}

/* Which of the device's GIDs is the address, and what a packet holds. */
static int learn_port(struct rs_dg_qp *qp)
{
	const union ibv_gid *own = &qp->id->route.addr.addr.ibaddr.sgid;
	struct ibv_port_attr port;
	union ibv_gid gid;
	int i, err = -ibv_query_port(qp->id->verbs, qp->id->port_num, &port);

	if (err != 0)
		return err;
	qp->mtu_bytes = 128u << port.active_mtu;
	for (i = 0; i < port.gid_tbl_len; i++) {
		if (ibv_query_gid(qp->id->verbs, qp->id->port_num, i, &gid) != 0 || memcmp(&gid, own, sizeof(gid)) != 0)
			continue;
		qp->sgid_index = (uint8_t)i;
		return 0;
	}
	return -EADDRNOTAVAIL;
}

static int make(struct rs_sock *rs, struct rs_dg_qp *qp)
{
	struct sockaddr_storage any_port = qp->src;
	struct ibv_device_attr dev;
	uint32_t most, i;
	int err;

	/* The port is the UDP socket's; queue pairs have none, so the connection manager's name space is not touched.
	 */
	((struct sockaddr_in *)&any_port)->sin_port = 0;
	if (rdma_create_id(NULL, &qp->id, rs, RDMA_PS_UDP) != 0 ||
		rdma_bind_addr(qp->id, (struct sockaddr *)&any_port) != 0)
		return -errno;
	if (qp->id->verbs == NULL)
		return -ENODEV;
	err = -ibv_query_device(qp->id->verbs, &dev);
	if (err == 0)
		err = learn_port(qp);
	if (err != 0)
		return err;
	most = dev.max_qp_wr < MAX_SLOTS ? (uint32_t)dev.max_qp_wr : MAX_SLOTS;
	qp->n_send = (uint32_t)rs->opt.send_depth < most ? (uint32_t)rs->opt.send_depth | 1 : most;
	qp->n_recv = (uint32_t)rs->opt.recv_depth < most ? (uint32_t)rs->opt.recv_depth | 1 : most;
	err = make_memory(qp);
	if (err == 0)
		err = make_queues(rs, qp);
	for (i = 0; err == 0 && i < qp->n_recv; i++)
		err = rs_dg_qp_repost(qp, i);
	return err;
}

static bool is_same_host(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	return a->ss_family == AF_INET6 ? memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0
					: a4->sin_addr.s_addr == b4->sin_addr.s_addr;
}

struct rs_dg_qp *rs_dg_qp_for(struct rs_sock *rs, const struct sockaddr_storage *src)
{
	struct rs_dg_qp *qp;

	for (qp = rs->dg->qps; qp != NULL; qp = qp->next)
		if (is_same_host(&qp->src, src))
			return qp;
	qp = rs->dg->n_qps < RS_DG_MAX_QPS ? calloc(1, sizeof(*qp)) : NULL;
	if (qp == NULL)
		return NULL;
	qp->src = *src;
	if (make(rs, qp) != 0) {
		rs_dg_qp_free(qp);
		return NULL;
	}
	rs->dg->n_qps++;
	qp->next = rs->dg->qps;
	rs->dg->qps = qp;
	return qp;
}

void rs_dg_qp_free(struct rs_dg_qp *qp)
{
	if (qp->id != NULL && qp->id->qp != NULL)
		rdma_destroy_qp(qp->id);
	if (qp->cq != NULL)
		(void)ibv_destroy_cq(qp->cq);
	if (qp->comp != NULL)
		(void)ibv_destroy_comp_channel(qp->comp);
	if (qp->send_mr != NULL)
		(void)ibv_dereg_mr(qp->send_mr);
	if (qp->recv_mr != NULL)
		(void)ibv_dereg_mr(qp->recv_mr);
	if (qp->id != NULL)
		(void)rdma_destroy_id(qp->id);
	free(qp->send_buf);
	free(qp->recv_buf);
	free(qp->msgs);
	free(qp->free_send);
	free(qp);
}

/* ---- messages ---- */

int rs_dg_qp_repost(struct rs_dg_qp *qp, uint32_t slot)
{
	struct ibv_sge sge = {.addr = (uintptr_t)(qp->recv_buf + (size_t)slot * RS_DG_RECV_BYTES),
		.length = RS_DG_RECV_BYTES,
		.lkey = qp->recv_mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = WR_RECV | slot, .sg_list = &sge, .num_sge = 1}, *bad;

	return -ibv_post_recv(qp->id->qp, &wr, &bad);
}

/* True: a datagram for the program is in the slot. */
static bool arrived(struct rs_sock *rs, struct rs_dg_qp *qp, uint32_t slot, uint32_t bytes)
{
	const uint8_t *data = qp->recv_buf + (size_t)slot * RS_DG_RECV_BYTES + RS_DG_GRH_BYTES;
	struct rs_dg_msg *msg = &qp->msgs[slot];
	uint8_t header;

	if (bytes < RS_DG_GRH_BYTES)
		return false;
	bytes -= RS_DG_GRH_BYTES;
	header = rs_dg_header_parse(data, bytes, &msg->src);
	if (header == 0 || msg->src.ss_family != rs->family)
		return false;
	if (rs->dg->connected.ss_family != 0 && !rs_dg_same(&rs->dg->connected, &msg->src))
		return false;
	msg->qp = qp;
	msg->slot = slot;
	msg->offset = RS_DG_GRH_BYTES + header;
	msg->bytes = bytes - header;
	rs_dg_enqueue(rs->dg, msg);
	return true;
}

void rs_dg_qp_process(struct rs_sock *rs, struct rs_dg_qp *qp)
{
	struct ibv_wc wc[16];
	uint32_t slot;
	int i, n;

	do {
		n = ibv_poll_cq(qp->cq, 16, wc);
		for (i = 0; i < n; i++) {
			slot = (uint32_t)wc[i].wr_id;
			if ((wc[i].wr_id & WR_RECV) == 0)
				qp->free_send[qp->n_free++] = slot;
			else if (wc[i].status != IBV_WC_SUCCESS || !arrived(rs, qp, slot, wc[i].byte_len))
				(void)rs_dg_qp_repost(qp, slot); /* dropped, as datagrams are */
		}
		if (n > 0)
			rs_wake(rs);
	} while (n == 16);
	if (n < 0)
		rs_fail(rs, EIO);
}

struct ibv_ah *rs_dg_qp_ah(struct rs_dg_qp *qp, const struct sockaddr_storage *to)
{
	struct ibv_ah_attr attr = {.is_global = 1,
		.port_num = qp->id->port_num,
		.grh = {.sgid_index = qp->sgid_index, .hop_limit = HOP_LIMIT}};
	const struct sockaddr_in6 *in6 = (const void *)to;
	const struct sockaddr_in *in4 = (const void *)to;

	if (to->ss_family == AF_INET6) {
		memcpy(&attr.grh.dgid, &in6->sin6_addr, sizeof(attr.grh.dgid));
	} else {
		attr.grh.dgid.raw[10] = attr.grh.dgid.raw[11] = 0xff; /* an IPv4-mapped address */
		memcpy(attr.grh.dgid.raw + 12, &in4->sin_addr, sizeof(in4->sin_addr));
	}
	return ibv_create_ah(qp->id->pd, &attr);
}

ssize_t rs_dg_qp_send(struct rs_dg_qp *qp, const struct rs_dg_peer *peer, const struct iovec *iov, int n, size_t bytes)
{
	struct ibv_sge sge = {.lkey = qp->send_mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .wr.ud = {.ah = peer->ah, .remote_qpn = peer->qpn, .remote_qkey = RDMA_UDP_QKEY}},
			   *bad;
	struct rs_dg_header header;
	uint32_t slot;
	uint8_t *at;
	int i, err;

	slot = qp->free_send[qp->n_free - 1];
	at = qp->send_buf + (size_t)slot * RS_DG_SLOT_BYTES;
	sge.addr = (uintptr_t)at;
	sge.length = rs_dg_header_fill(&header, &qp->src) + (uint32_t)bytes;
	memcpy(at, &header, header.length);
	at += header.length;
	for (i = 0; i < n; i++) {
		if (iov[i].iov_len != 0)
			memcpy(at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	wr.wr_id = slot;
	err = ibv_post_send(qp->id->qp, &wr, &bad);
	if (err != 0)
		return -err;
	qp->n_free--;
	return (ssize_t)bytes;
}
