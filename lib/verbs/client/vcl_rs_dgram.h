/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagram sockets: one UDP socket, and a UD queue pair per local address that was needed. */
#ifndef RS_DGRAM_H
#define RS_DGRAM_H

#include "vcl_rs.h"

#define RS_DG_SLOT_BYTES 2048 /* header and datagram */
#define RS_DG_GRH_BYTES  40
#define RS_DG_RECV_BYTES 2112 /* a slot after the GRH, aligned */
#define RS_DG_MAX_PEERS  1024
#define RS_DG_MAX_QPS    16

/* A datagram to be read: at a queue pair, or one that came over UDP in memory of its own. */
struct rs_dg_msg {
	struct rs_dg_msg *next;
	struct rs_dg_qp *qp; /* NULL: data holds it */
	uint32_t slot;
	struct sockaddr_storage src;
	uint32_t offset, bytes;
	uint8_t data[];
};

struct rs_dg_qp {
	struct rs_dg_qp *next;
	struct rdma_cm_id *id;
	struct sockaddr_storage src; /* its address, with the UDP socket's port */
	struct ibv_comp_channel *comp;
	struct ibv_cq *cq;
	bool armed;
	uint8_t sgid_index;
	uint32_t mtu_bytes;
	uint32_t n_send, n_recv;
	uint8_t *send_buf, *recv_buf;
	struct ibv_mr *send_mr, *recv_mr;
	struct rs_dg_msg *msgs; /* one per receive slot */
	uint32_t *free_send;    /* stack of slots */
	uint32_t n_free;
};

struct rs_dg_peer {
	struct rs_dg_peer *next; /* newest first */
	struct sockaddr_storage addr;
	struct rs_dg_qp *qp; /* NULL: no device for it */
	struct ibv_ah *ah;   /* NULL: over UDP so far */
	uint32_t qpn;
};

struct rs_dgram {
	int epoll_fd; /* the UDP socket and all completion channels */
	struct rs_dg_qp *qps;
	struct rs_dg_peer *peers;
	uint32_t n_peers, n_qps, n_udp_msgs;
	struct sockaddr_storage connected; /* family 0: not */
	struct rs_dg_msg *first, **last;   /* to be read */
};

/* ---- vcl_rs_dgram_qp.c ---- */
/* The queue pair for what leaves from an address, made on first use. NULL: no device has the address. */
struct rs_dg_qp *rs_dg_qp_for(struct rs_sock *rs, const struct sockaddr_storage *src);
void rs_dg_qp_free(struct rs_dg_qp *qp);
void rs_dg_qp_process(struct rs_sock *rs, struct rs_dg_qp *qp);
int rs_dg_qp_repost(struct rs_dg_qp *qp, uint32_t slot);
struct ibv_ah *rs_dg_qp_ah(struct rs_dg_qp *qp, const struct sockaddr_storage *to);
ssize_t rs_dg_qp_send(struct rs_dg_qp *qp, const struct rs_dg_peer *peer, const struct iovec *iov, int n, size_t bytes);

/* ---- vcl_rs_dgram_udp.c ---- */
struct rs_dg_peer *rs_dg_peer(struct rs_sock *rs, const struct sockaddr_storage *addr);
void rs_dg_free_peers(struct rs_dgram *dg);
ssize_t rs_dg_udp_send(
	struct rs_sock *rs, const struct rs_dg_peer *peer, const struct iovec *iov, int n, enum rs_op op);
void rs_dg_udp_process(struct rs_sock *rs);
bool rs_dg_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b);

/* ---- vcl_rs_dgram.c ---- */
void rs_dg_enqueue(struct rs_dgram *dg, struct rs_dg_msg *msg);

#endif
