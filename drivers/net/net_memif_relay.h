/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside: ports, sockets and connections. net_memif.c makes connections, net_memif_relay.c moves and ends them. */
#ifndef NET_MEMIF_RELAY_H
#define NET_MEMIF_RELAY_H

#include "net_memif.h"
#include "net_memif_msg.h"

#define NET_MEMIF_MAX_PORTS 32u
#define NET_MEMIF_MAX_CONNS 64u

enum net_memif_phase {
	NET_MEMIF_FREE,
	NET_MEMIF_SHAKING,
	NET_MEMIF_SETTLING,      /* client: the server has agreed, the driver is about to say that the link is up */
	NET_MEMIF_UP,            /* workers may use the port */
	NET_MEMIF_ENDING,        /* the driver has been told and will close its end when it has let go */
};

/* A message that the other side has no room for. */
struct net_memif_slot {
	bool full;
	int fd;
	struct net_memif_msg msg;
};

struct net_memif_conn {
	struct net_memif *memif;
	struct net_memif_socket *socket;
	struct net_memif_port *port;       /* NULL: a server's peer has not said which */
	enum net_memif_phase phase;
	uint32_t age_s;
	int peer_fd, driver_fd;
	uint32_t peer_events, driver_events;   /* that epoll waits for */
	bool waits;                        /* its INIT waits for the port's last connection to end */
	struct net_memif_slot to_peer, to_driver;
	struct net_memif_talk talk;
};

/* Where the driver listens and, for it, we; or, of one client, where it dials. */
struct net_memif_socket {
	struct net_memif_args args;
	int listen_fd;                     /* server: in place of the driver; client: for the driver */
	bool paused;                       /* nobody is accepted until the timer says so */
	char file[16];                     /* the driver's socket, in our directory */
	char path[64];                     /* the same, with the directory */
};

struct net_memif_port {
	struct net_memif *memif;
	struct net_memif_socket *socket;
	struct net_memif_conn *conn;
	struct net_memif_args args;
	uint32_t n_rx, n_tx;
	void *arg;
	bool said;                         /* in this second why a connection ended */
	char reason[NET_MEMIF_TEXT_BYTES]; /* said last */
};

struct net_memif {
	const struct net_memif_ops *ops;
	char dir[256];
	int dir_fd, epoll_fd, timer_fd;
	bool timer_runs;
	bool freed;                        /* a connection, and one may have waited for that */
	uint32_t n_ports, n_sockets;
	struct net_memif_port ports[NET_MEMIF_MAX_PORTS];
	struct net_memif_socket sockets[NET_MEMIF_MAX_PORTS];
	struct net_memif_conn conns[NET_MEMIF_MAX_CONNS];
};

/* ---- net_memif.c ---- */

enum { NET_MEMIF_ON_TIMER, NET_MEMIF_ON_SOCKET, NET_MEMIF_ON_CONN };

/* Waits for events on fd as kind and index; have: those it waits for now. */
void net_memif_watch(struct net_memif *memif, int fd, uint32_t want, uint32_t *have, uint32_t kind, uint32_t index);
/* Has the timer look at what no descriptor tells of. */
void net_memif_timer(struct net_memif *memif);

/* ---- net_memif_relay.c ---- */

/* Takes both descriptors; port: NULL until a server's peer says which. NULL: too many. */
struct net_memif_conn *net_memif_join(struct net_memif *memif, struct net_memif_socket *socket,
	struct net_memif_port *port, int peer_fd, int driver_fd);
/* Passes on what is there, some messages of it. */
void net_memif_move(struct net_memif_conn *conn);
/* Client: looks whether the driver has the link up. */
void net_memif_settle(struct net_memif_conn *conn);
/* Keeps the workers away and has the driver let go. reason: what the peer is told, NULL: nothing. */
void net_memif_end(struct net_memif_conn *conn, const char *reason);
/* Closes both ends, at once; tells nobody. */
void net_memif_close(struct net_memif_conn *conn);

#endif
