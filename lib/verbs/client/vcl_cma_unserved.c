/* SPDX-License-Identifier: BSD-3-Clause */
/* What librdmacm has and we do not: the names are there so that programs start, the calls say that they are not
 * served. */
#include <errno.h>

/* int, ssize_t and off_t are all returned where a long is. */
#define NOT_SERVED(name)                                                                                               \
	long name(void);                                                                                               \
	long name(void)                                                                                                \
	{                                                                                                              \
		errno = EOPNOTSUPP;                                                                                    \
		return -1;                                                                                             \
	}

NOT_SERVED(repoll_create)
NOT_SERVED(repoll_ctl)
NOT_SERVED(repoll_wait)

/* Newer than the headers of rdma-core 44: an address resolved aside, and events a program sends itself. */
NOT_SERVED(rdma_resolve_addrinfo)
NOT_SERVED(rdma_query_addrinfo)
NOT_SERVED(rdma_write_cm_event)
