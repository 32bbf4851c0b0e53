/* SPDX-License-Identifier: BSD-3-Clause */
/* rdma_getaddrinfo(): names to addresses of an RDMA service. Errors are those of getaddrinfo(3). */
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "vcl_cma.h"

void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
	struct rdma_addrinfo *next;

	for (; res != NULL; res = next) {
		next = res->ai_next;
		free(res->ai_src_addr);
		free(res->ai_dst_addr);
		free(res->ai_src_canonname);
		free(res->ai_dst_canonname);
		free(res->ai_route);
		free(res->ai_connect);
		free(res);
	}
}

static int copy_addr(const struct sockaddr *from, socklen_t bytes, struct sockaddr **to, socklen_t *to_bytes)
{
	if (from == NULL || bytes == 0)
		return 0;
	*to = malloc(bytes);
	if (*to == NULL)
		return EAI_MEMORY;
	memcpy(*to, from, bytes);
	*to_bytes = bytes;
	return 0;
}

/* Queue pair type and port space imply each other; without a wish it is a connection. */
static void choose_service(const struct rdma_addrinfo *hints, struct rdma_addrinfo *res)
{
	int type = hints->ai_qp_type, ps = hints->ai_port_space;

	if (type == 0)
		type = ps == RDMA_PS_UDP || ps == RDMA_PS_IPOIB ? IBV_QPT_UD : IBV_QPT_RC;
	if (ps == 0)
		ps = type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
	res->ai_qp_type = type;
	res->ai_port_space = ps;
}

static int make_result(const struct rdma_addrinfo *hints, const struct addrinfo *found, struct rdma_addrinfo **out)
{
	struct rdma_addrinfo *res = calloc(1, sizeof(*res));
	int err;

	if (res == NULL)
		return EAI_MEMORY;
	res->ai_flags = hints->ai_flags;
	choose_service(hints, res);
	if ((hints->ai_flags & RAI_PASSIVE) != 0) {
		err = copy_addr(found->ai_addr, found->ai_addrlen, &res->ai_src_addr, &res->ai_src_len);
	} else {
		err = copy_addr(found->ai_addr, found->ai_addrlen, &res->ai_dst_addr, &res->ai_dst_len);
		if (err == 0)
			err = copy_addr(hints->ai_src_addr, hints->ai_src_len, &res->ai_src_addr, &res->ai_src_len);
	}
	res->ai_family = found->ai_family;
	if (err != 0) {
		rdma_freeaddrinfo(res);
		return err;
	}
	*out = res;
	return 0;
}

/*
 * Without names the hints' addresses are the answer; for a passive side there is only the source. An active one
 * may know its source alone: pyverbs makes the address of a multicast group so.
 */
static int from_hints(const struct rdma_addrinfo *hints, struct rdma_addrinfo **out)
{
	bool passive = (hints->ai_flags & RAI_PASSIVE) != 0;
	struct addrinfo given = {
		.ai_addr = passive ? hints->ai_src_addr : hints->ai_dst_addr,
		.ai_addrlen = passive ? hints->ai_src_len : hints->ai_dst_len,
	};
	const struct sockaddr *any = given.ai_addrlen != 0 ? given.ai_addr : NULL;

	if (any == NULL && hints->ai_src_len != 0)
		any = hints->ai_src_addr;
	if (any == NULL)
		return EAI_NONAME;
	given.ai_family = any->sa_family;
	return make_result(hints, &given, out);
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
	struct rdma_addrinfo **res)
{
	static const struct rdma_addrinfo none;
	struct addrinfo ask = {.ai_socktype = SOCK_STREAM}, *found, *ai;
	struct rdma_addrinfo **tail = res;
	int err;

	*res = NULL;
	if (hints == NULL)
		hints = &none;
	if (node == NULL && service == NULL)
		return from_hints(hints, res);
	if ((hints->ai_flags & RAI_PASSIVE) != 0)
		ask.ai_flags |= AI_PASSIVE;
	if ((hints->ai_flags & RAI_NUMERICHOST) != 0)
		ask.ai_flags |= AI_NUMERICHOST;
	if ((hints->ai_flags & RAI_FAMILY) != 0)
		ask.ai_family = hints->ai_family == AF_INET6 ? AF_INET6 : AF_INET;
	err = getaddrinfo(node, service, &ask, &found);
	if (err != 0)
		return err;
	for (ai = found; ai != NULL && err == 0; ai = ai->ai_next) {
		if (ai->ai_family != AF_INET && ai->ai_family != AF_INET6)
			continue;
		err = make_result(hints, ai, tail);
		if (err == 0)
			tail = &(*tail)->ai_next;
	}
	freeaddrinfo(found);
	if (err != 0) {
		rdma_freeaddrinfo(*res);
		*res = NULL;
	}
	return err;
}
