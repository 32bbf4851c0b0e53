/* SPDX-License-Identifier: BSD-3-Clause */
/* Sockets over RDMA, and what else librdmacm has and we do not: the names are there so that programs start,
 * the calls say that they are not served. */
#include <errno.h>

/* int, ssize_t and off_t are all returned where a long is. */
#define NOT_SERVED(name)                   \
	long name(void);                   \
	long name(void)                    \
	{                                  \
		errno = EOPNOTSUPP;        \
		return -1;                 \
	}

NOT_SERVED(rsocket)
NOT_SERVED(rbind)
NOT_SERVED(rlisten)
NOT_SERVED(raccept)
NOT_SERVED(rconnect)
NOT_SERVED(rshutdown)
NOT_SERVED(rclose)
NOT_SERVED(rrecv)
NOT_SERVED(rrecvfrom)
NOT_SERVED(rrecvmsg)
NOT_SERVED(rsend)
NOT_SERVED(rsendto)
NOT_SERVED(rsendmsg)
NOT_SERVED(rread)
NOT_SERVED(rreadv)
NOT_SERVED(rwrite)
NOT_SERVED(rwritev)
NOT_SERVED(rpoll)
NOT_SERVED(rselect)
NOT_SERVED(rgetpeername)
NOT_SERVED(rgetsockname)
NOT_SERVED(rsetsockopt)
NOT_SERVED(rgetsockopt)
NOT_SERVED(rfcntl)
NOT_SERVED(riomap)
NOT_SERVED(riounmap)
NOT_SERVED(riowrite)
NOT_SERVED(repoll_create)
NOT_SERVED(repoll_ctl)
NOT_SERVED(repoll_wait)

/* Newer than the headers of rdma-core 44: an address resolved aside, and events a program sends itself. */
NOT_SERVED(rdma_resolve_addrinfo)
NOT_SERVED(rdma_query_addrinfo)
NOT_SERVED(rdma_write_cm_event)
