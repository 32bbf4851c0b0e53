/* SPDX-License-Identifier: BSD-3-Clause */
/* memif's sockets: sequenced packets, here never blocking, with one descriptor a message at most. */
#ifndef NET_MEMIF_SOCKET_H
#define NET_MEMIF_SOCKET_H

#include "net_memif.h"
#include "net_memif_msg.h"

/* All: a descriptor or 0, or a negative errno. */

/* A socket that a killed program left in the file system is replaced. */
int net_memif_listen(const struct net_memif_args *args);
int net_memif_connect(const char *name, bool abstract);
int net_memif_accept(int listen_fd);

/* 1: a message, with its descriptor in *fd, the caller's now, or -1; 0: the other end has closed; -EAGAIN: nothing
 * there; -EBADMSG: no message of the protocol's size. More descriptors than one are not taken. */
int net_memif_recv(int from, struct net_memif_msg *msg, int *fd);
/* fd: sent along, -1: none; stays the caller's. -EAGAIN: no room now. */
int net_memif_send(int to, const struct net_memif_msg *msg, int fd);

#endif
