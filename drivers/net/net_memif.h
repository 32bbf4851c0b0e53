/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memif ports: between the driver's control channel and the peer's. DPDK's driver maps and unmaps a peer's memory in a
 * thread of its own, whenever the peer says so, while workers copy from it. So the driver is given a socket of ours
 * instead of the peer's, and messages are passed on here, in one thread, which can have the workers keep away first:
 * they may use the port between up() and hold(), and at no other time.
 *
 * A message that no peer should send, and that the driver does not survive, is not passed on; the connection ends.
 * What lies in the rings is read by the driver alone, which trusts it: a peer of memif shares memory and is trusted as
 * a NIC is.
 */
#ifndef NET_MEMIF_H
#define NET_MEMIF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/un.h>

#include "net_driver.h"

#define NET_MEMIF_TEXT_BYTES 96    /* reasons, as in the message that has them */
#define NET_MEMIF_NAME_BYTES sizeof(((struct sockaddr_un *)0)->sun_path)

/* What the device text says of the control channel; what it leaves out is as in the driver. */
struct net_memif_args {
	char name[NET_MSG_BYTES];      /* of the socket, cut if longer */
	bool abstract;
	bool client;
	uint32_t id;
	uint32_t uid, gid;             /* owner of a socket in the file system, UINT32_MAX: who makes it */
};

/* ---- net_memif_args.c: texts only ---- */

/* False when the device is of another kind. */
bool net_memif_args(const char *device, struct net_memif_args *args);
/* 0, or -EINVAL with an explanation in msg: what no driver would be told. */
int net_memif_check(const char *device, char msg[NET_MSG_BYTES]);
/* Whether two devices would be the same end of the same connection. */
bool net_memif_same(const char *device_a, const char *device_b);
/* The device text with another socket, in the file system; -ENAMETOOLONG when out is too small. */
int net_memif_redirect(const char *device, const char *socket, char *out, size_t n);

/* ---- net_memif.c ---- */

struct net_memif;
struct net_memif_port;

/* All are called in the thread that calls this library, with the port's arg. */
struct net_memif_ops {
	/* Has the driver of a client dial its socket, once more if it has before. 0 or a negative errno. */
	int (*start)(void *arg);
	/* Whether the driver says that the link is up. */
	bool (*is_up)(void *arg);
	/* The link is up: workers may use the port. */
	void (*up)(void *arg);
	/* Returns when no worker uses the port and none will. May come twice. */
	void (*hold)(void *arg);
	/* The driver has let go of the connection. */
	void (*down)(void *arg);
	/* Why a connection ended, at most one a second and no reason twice in a row: we refuse the peer, or it us. */
	void (*ended)(void *arg, bool by_peer, const char *reason);
};

/*
 * Makes what all ports of the process share. dir: a directory to make, or left by an earlier process, for the driver's
 * sockets, which nobody else must reach; ours until net_memif_destroy(). 0 or a negative errno.
 */
int net_memif_create(const char *dir, const struct net_memif_ops *ops, struct net_memif **out);
/* After the devices are closed. Ends all connections, removes the sockets. */
void net_memif_destroy(struct net_memif *memif);

/*
 * Adds a port before its device is made: a server's socket is there afterwards, as with the driver. n_rx, n_tx: its
 * queues, at most 64. driver_device: room for n bytes of the text to make the device with. 0 or a negative errno
 * (-EADDRINUSE: somebody serves that socket). The port lives as long as memif.
 */
int net_memif_add(struct net_memif *memif, const char *device, uint32_t n_rx, uint32_t n_tx, void *arg,
	char *driver_device, size_t n, struct net_memif_port **out);
bool net_memif_is_client(const struct net_memif_port *port);
/* Tries once to reach a client's peer; -EISCONN when it is connected. Otherwise net_memif_tick() does. */
int net_memif_dial(struct net_memif_port *port);

/* Readable when net_memif_serve() has something to do; that never waits. */
int net_memif_fd(const struct net_memif *memif);
void net_memif_serve(struct net_memif *memif);
/* Once a second: dials, and ends handshakes that do not. */
void net_memif_tick(struct net_memif *memif);

#endif
