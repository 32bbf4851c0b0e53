/* SPDX-License-Identifier: BSD-3-Clause */
/* How datagram sockets find each other's queue pairs: ordinary UDP messages with a header in front. */
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "vcl_rs_dgram.h"

#define MAX_WAITING 256 /* datagrams that came over UDP and nobody has read */
#define MAX_AT_ONCE 16  /* taken from UDP in one go */

bool rs_dg_same(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	const struct sockaddr_in6 *a6 = (const void *)a, *b6 = (const void *)b;
	const struct sockaddr_in *a4 = (const void *)a, *b4 = (const void *)b;

	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET6)
		return a6->sin6_port == b6->sin6_port &&
		       memcmp(&a6->sin6_addr, &b6->sin6_addr, sizeof(a6->sin6_addr)) == 0;
	return a4->sin_port == b4->sin_port && a4->sin_addr.s_addr == b4->sin_addr.s_addr;
}

/* ---- peers ---- */

static void free_peer(struct rs_dg_peer *peer)
{
	if (peer->ah != NULL)
		(void)ibv_destroy_ah(peer->ah);
	free(peer);
}

void rs_dg_free_peers(struct rs_dgram *dg)
{
	struct rs_dg_peer *peer;

	while ((peer = dg->peers) != NULL) {
		dg->peers = peer->next;
		free_peer(peer);
	}
}

/* Anyone can send us a message with a new source: the peers kept are bounded, and the oldest goes. */
static void drop_oldest(struct rs_dgram *dg)
{
	struct rs_dg_peer **at = &dg->peers, *oldest;

	while ((*at)->next != NULL)
		at = &(*at)->next;
	oldest = *at;
	*at = NULL;
	free_peer(oldest);
	dg->n_peers--;
}

/* The address from which the kernel would send there, with our port. 0 or a negative errno. */
static int source_for(const struct rs_sock *rs, const struct sockaddr_storage *to, struct sockaddr_storage *src)
{
	struct sockaddr_storage bound;
	socklen_t bytes = sizeof(bound), src_bytes = sizeof(*src);
	int err = 0, probe;

	if (getsockname(rs->fd, (struct sockaddr *)&bound, &bytes) != 0)
		return -errno;
	probe = socket(to->ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (probe < 0)
		return -errno;
	if (connect(probe, (const struct sockaddr *)to, rs_addr_bytes((const struct sockaddr *)to)) != 0 ||
		getsockname(probe, (struct sockaddr *)src, &src_bytes) != 0)
		err = -errno;
	close(probe);
	((struct sockaddr_in *)src)->sin_port = ((struct sockaddr_in *)&bound)->sin_port;
	if (to->ss_family == AF_INET6 && !IN6_IS_ADDR_UNSPECIFIED(&((struct sockaddr_in6 *)&bound)->sin6_addr))
		((struct sockaddr_in6 *)src)->sin6_addr = ((struct sockaddr_in6 *)&bound)->sin6_addr;
	else if (to->ss_family == AF_INET && ((struct sockaddr_in *)&bound)->sin_addr.s_addr != INADDR_ANY)
		((struct sockaddr_in *)src)->sin_addr = ((struct sockaddr_in *)&bound)->sin_addr;
	return err;
}

struct rs_dg_peer *rs_dg_peer(struct rs_sock *rs, const struct sockaddr_storage *addr)
{
	struct sockaddr_storage src = {0};
	struct rs_dg_peer **at, *peer;

	for (at = &rs->dg->peers; (peer = *at) != NULL; at = &peer->next) {
		if (!rs_dg_same(&peer->addr, addr))
			continue;
		*at = peer->next; /* to the front */
		goto found;
	}
	peer = calloc(1, sizeof(*peer));
	if (peer == NULL)
		return NULL;
	peer->addr = *addr;
	if (source_for(rs, addr, &src) == 0)
		peer->qp = rs_dg_qp_for(rs, &src);
	if (rs->dg->n_peers++ >= RS_DG_MAX_PEERS)
		drop_oldest(rs->dg);
found:
	peer->next = rs->dg->peers;
	rs->dg->peers = peer;
	return peer;
}

/* ---- messages ---- */

static size_t fill_header(const struct rs_dg_peer *peer, enum rs_op op, struct rs_udp_header *h)
{
	const struct sockaddr_storage *src = &peer->qp->src;

	*h = (struct rs_udp_header){
		.tag = htonl(RS_UDP_TAG), .op = (uint8_t)op, .qpn = htonl(peer->qp->id->qp->qp_num)};
	if (src->ss_family == AF_INET6) {
		h->version = 6;
		h->length = RS_UDP_V6_BYTES;
		memcpy(h->addr, &((const struct sockaddr_in6 *)src)->sin6_addr, 16);
	} else {
		h->version = 4;
		h->length = RS_UDP_V4_BYTES;
		memcpy(h->addr, &((const struct sockaddr_in *)src)->sin_addr, 4);
	}
	return h->length;
}

ssize_t rs_dg_udp_send(struct rs_sock *rs, const struct rs_dg_peer *peer, const struct iovec *iov, int n, enum rs_op op)
{
	struct rs_udp_header h;
	struct iovec all[16] = {{&h, fill_header(peer, op, &h)}};
	struct msghdr msg = {.msg_iov = all, .msg_iovlen = (size_t)n + 1};
	ssize_t rc;

	if (n > 15)
		return -EMSGSIZE;
	if (n != 0)
		memcpy(all + 1, iov, (size_t)n * sizeof(*iov));
	if (rs->dg->connected.ss_family == 0) {
		msg.msg_name = (void *)(uintptr_t)&peer->addr;
		msg.msg_namelen = rs_addr_bytes((const struct sockaddr *)&peer->addr);
	}
	rc = sendmsg(rs->fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (rc < 0)
		return -errno;
	return rc - h.length;
}

/* What the peer says of its queue pair. Its address is the datagram's source. */
static void learn(struct rs_dg_peer *peer, uint32_t qpn)
{
	if (peer->ah == NULL)
		peer->ah = rs_dg_qp_ah(peer->qp, &peer->addr);
	peer->qpn = qpn;
}

static void deliver(struct rs_dgram *dg, const struct sockaddr_storage *src, const void *data, size_t bytes)
{
	struct rs_dg_msg *msg = dg->n_udp_msgs < MAX_WAITING ? calloc(1, sizeof(*msg) + bytes) : NULL;

	if (msg == NULL)
		return;
	msg->src = *src;
	msg->bytes = (uint32_t)bytes;
	memcpy(msg->data, data, bytes);
	dg->n_udp_msgs++;
	rs_dg_enqueue(dg, msg);
}

static void take(struct rs_sock *rs, const uint8_t *msg, size_t bytes, const struct sockaddr_storage *src)
{
	struct rs_udp_header h;
	struct rs_dg_peer *peer;

	if (!rs_udp_header_parse(msg, bytes, rs->family, &h))
		return;
	peer = rs_dg_peer(rs, src);
	if (peer == NULL || peer->qp == NULL)
		return;
	learn(peer, h.qpn);
	if (h.op != RS_OP_DATA)
		return;
	(void)rs_dg_udp_send(rs, peer, NULL, 0, RS_OP_CTRL);
	deliver(rs->dg, src, msg + h.length, bytes - h.length);
}

void rs_dg_udp_process(struct rs_sock *rs)
{
	uint8_t buf[RS_UDP_V6_BYTES + RS_DG_SLOT_BYTES];
	struct sockaddr_storage src;
	socklen_t src_bytes;
	ssize_t n;
	int i;

	for (i = 0; i < MAX_AT_ONCE; i++) {
		src_bytes = sizeof(src);
		memset(&src, 0, sizeof(src));
		n = recvfrom(rs->fd, buf, sizeof(buf), MSG_DONTWAIT, (struct sockaddr *)&src, &src_bytes);
		if (n < 0)
			return;
		take(rs, buf, (size_t)n, &src);
		rs_wake(rs);
	}
}
