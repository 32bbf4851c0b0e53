/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One connection: the peer's end and the driver's. The driver unmaps memory only when its end is told to, which happens
 * in net_memif_end() alone, behind hold(); and it is through when it closes its end: then the port is free again.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net_memif_relay.h"
#include "net_memif_socket.h"

#define BURST 16   /* messages each way before others have their turn */

static void drop_slot(struct net_memif_slot *slot)
{
	if (slot->full && slot->fd >= 0)
		close(slot->fd);
	slot->full = false;
}

/* Whether the slot is empty now. A message to one who has gone is lost; that he has gone is seen when he is read. */
static bool flush(struct net_memif_slot *slot, int to)
{
	if (slot->full && net_memif_send(to, &slot->msg, slot->fd) == -EAGAIN)
		return false;
	drop_slot(slot);
	return true;
}

/* At the end nothing waits for a peer that does not read. */
static bool give_peer(struct net_memif_conn *conn)
{
	if (flush(&conn->to_peer, conn->peer_fd))
		return true;
	if (conn->phase != NET_MEMIF_ENDING)
		return false;
	drop_slot(&conn->to_peer);
	return true;
}

static void watch(struct net_memif_conn *conn)
{
	struct net_memif *memif = conn->memif;
	uint32_t index = (uint32_t)(conn - memif->conns), peer = 0, driver = 0;

	if (!conn->to_peer.full)
		driver |= EPOLLIN;
	else
		peer |= EPOLLOUT;
	if (conn->to_driver.full && !conn->waits)
		driver |= EPOLLOUT;
	if (!conn->to_driver.full)
		peer |= EPOLLIN;
	/* nothing is asked for when a peer that is not listened to may have gone: epoll says so again and again */
	if (conn->phase == NET_MEMIF_ENDING)
		peer = 0;
	net_memif_watch(memif, conn->peer_fd, peer, &conn->peer_events, NET_MEMIF_ON_CONN, index);
	net_memif_watch(memif, conn->driver_fd, driver, &conn->driver_events, NET_MEMIF_ON_CONN, index);
}

/* A client that is refused tries each second, and one line tells as much as many. */
static void say_ended(struct net_memif_conn *conn, bool by_peer, const char *reason)
{
	struct net_memif_port *port = conn->port;

	if (port == NULL || port->said || reason[0] == '\0' || strcmp(port->reason, reason) == 0)
		return;
	port->said = true;
	snprintf(port->reason, sizeof(port->reason), "%s", reason);
	conn->memif->ops->ended(port->arg, by_peer, reason);
}

struct net_memif_conn *net_memif_join(struct net_memif *memif, struct net_memif_socket *socket,
	struct net_memif_port *port, int peer_fd, int driver_fd)
{
	struct net_memif_conn *conn = memif->conns;

	while (conn < memif->conns + NET_MEMIF_MAX_CONNS && conn->phase != NET_MEMIF_FREE)
		conn++;
	if (conn == memif->conns + NET_MEMIF_MAX_CONNS) {
		close(peer_fd);
		close(driver_fd);
		return NULL;
	}
	memset(conn, 0, sizeof(*conn));
	conn->memif = memif;
	conn->socket = socket;
	conn->phase = NET_MEMIF_SHAKING;
	conn->peer_fd = peer_fd;
	conn->driver_fd = driver_fd;
	conn->talk.server = !socket->args.client;
	if (port != NULL) {
		conn->port = port;
		port->conn = conn;
		conn->talk.n_c2s = port->n_tx;
		conn->talk.n_s2c = port->n_rx;
	}
	watch(conn);
	return conn;
}

/* ---- the end ---- */

/* The driver closes a region's descriptor only when it has mapped the region, so it is let, with nobody looking. */
static void end_half_made(struct net_memif_conn *conn)
{
	struct net_memif_msg msg = {.type = NET_MEMIF_CONNECT};

	if (conn->talk.server && conn->talk.n_regions != 0 && !conn->talk.connected)
		(void)net_memif_send(conn->driver_fd, &msg, -1);
}

void net_memif_end(struct net_memif_conn *conn, const char *reason)
{
	struct net_memif_msg msg;

	if (conn->phase == NET_MEMIF_FREE || conn->phase == NET_MEMIF_ENDING)
		return;
	if (conn->phase == NET_MEMIF_UP)
		conn->memif->ops->hold(conn->port->arg);
	if (reason != NULL) {
		say_ended(conn, false, reason);
		net_memif_make_disconnect(&msg, reason);
		(void)net_memif_send(conn->peer_fd, &msg, -1);
	}
	conn->phase = NET_MEMIF_ENDING;
	(void)give_peer(conn);
	drop_slot(&conn->to_driver);
	conn->waits = false;
	end_half_made(conn);
	shutdown(conn->driver_fd, SHUT_WR);
	watch(conn);
}

void net_memif_close(struct net_memif_conn *conn)
{
	if (conn->phase == NET_MEMIF_FREE)
		return;
	(void)flush(&conn->to_peer, conn->peer_fd);
	drop_slot(&conn->to_peer);
	drop_slot(&conn->to_driver);
	close(conn->peer_fd);
	close(conn->driver_fd);
	conn->phase = NET_MEMIF_FREE;
	if (conn->port != NULL)
		conn->port->conn = NULL;
	conn->memif->freed = true;
}

/* The driver has closed its end. */
static void close_behind_driver(struct net_memif_conn *conn)
{
	struct net_memif_port *port = conn->port;

	if (conn->phase == NET_MEMIF_UP)
		conn->memif->ops->hold(port->arg);
	net_memif_close(conn);
	if (port != NULL)
		conn->memif->ops->down(port->arg);
}

/* ---- from the driver ---- */

static void go_up(struct net_memif_conn *conn)
{
	conn->phase = NET_MEMIF_UP;
	conn->port->reason[0] = '\0';
	conn->memif->ops->up(conn->port->arg);
}

void net_memif_settle(struct net_memif_conn *conn)
{
	if (conn->phase == NET_MEMIF_SETTLING && conn->memif->ops->is_up(conn->port->arg))
		go_up(conn);
}

/* Whether the peer is to have it. */
static bool hear_driver(struct net_memif_conn *conn, const struct net_memif_msg *msg)
{
	char reason[NET_MEMIF_TEXT_BYTES];

	if (msg->type == NET_MEMIF_DISCONNECT) {
		net_memif_reason(msg, reason);
		say_ended(conn, false, reason);
		return true;
	}
	if (conn->phase == NET_MEMIF_ENDING)
		return false;
	if (msg->type == NET_MEMIF_CONNECT)
		conn->talk.connect_sent = true;
	/* the driver says so behind the last step of its own */
	if (msg->type == NET_MEMIF_CONNECTED && conn->port != NULL)
		go_up(conn);
	return true;
}

static bool move_from_driver(struct net_memif_conn *conn)
{
	struct net_memif_slot *slot = &conn->to_peer;
	int rc;

	if (!give_peer(conn))
		return false;
	rc = net_memif_recv(conn->driver_fd, &slot->msg, &slot->fd);
	if (rc == -EAGAIN)
		return false;
	if (rc <= 0) {
		close_behind_driver(conn);
		return false;
	}
	slot->full = true;
	if (!hear_driver(conn, &slot->msg))
		drop_slot(slot);
	return give_peer(conn);
}

/* ---- from the peer ---- */

static struct net_memif_port *find_port(const struct net_memif_conn *conn, uint32_t id)
{
	struct net_memif *memif = conn->memif;

	for (uint32_t p = 0; p < memif->n_ports; p++) {
		if (memif->ports[p].socket == conn->socket && memif->ports[p].args.id == id)
			return &memif->ports[p];
	}
	return NULL;
}

/* A server's peer says which port it wants; the driver answers for those that do not exist. False: not yet. */
static bool find_free_port(struct net_memif_conn *conn, const char **refused)
{
	struct net_memif_port *port = find_port(conn, conn->to_driver.msg.init.id);

	if (port == NULL)
		return true;
	/* it may have gone, and we have not looked */
	if (port->conn != NULL && port->conn->phase != NET_MEMIF_ENDING)
		net_memif_move(port->conn);
	if (port->conn != NULL && port->conn->phase == NET_MEMIF_ENDING)
		return false;
	if (port->conn != NULL) {
		*refused = "Already connected";
		return true;
	}
	conn->port = port;
	port->conn = conn;
	conn->talk.n_c2s = port->n_rx;
	conn->talk.n_s2c = port->n_tx;
	return true;
}

/* What is in the slot has been heard and is passed on. */
static bool pass(struct net_memif_conn *conn)
{
	const struct net_memif_slot *slot = &conn->to_driver;
	const char *refused = NULL;

	if (conn->talk.server && slot->msg.type == NET_MEMIF_INIT && conn->port == NULL) {
		conn->waits = !find_free_port(conn, &refused);
		if (conn->waits)
			return false;
	}
	if (refused != NULL) {
		net_memif_end(conn, refused);
		return false;
	}
	return flush(&conn->to_driver, conn->driver_fd);
}

static void hear_peer(struct net_memif_conn *conn, const struct net_memif_msg *msg, int fd)
{
	char reason[NET_MEMIF_TEXT_BYTES];
	const char *refused;
	bool takes_fd = msg->type == NET_MEMIF_ADD_REGION || msg->type == NET_MEMIF_ADD_RING;

	if (msg->type == NET_MEMIF_DISCONNECT) {
		net_memif_reason(msg, reason);
		say_ended(conn, true, reason);
		net_memif_end(conn, NULL);
		return;
	}
	refused = fd >= 0 && !takes_fd ? "Unexpected descriptor" : net_memif_hear(&conn->talk, msg, fd);
	if (refused != NULL)
		net_memif_end(conn, refused);
	else if (msg->type == NET_MEMIF_CONNECTED)
		conn->phase = NET_MEMIF_SETTLING;
}

static bool move_from_peer(struct net_memif_conn *conn)
{
	struct net_memif_slot *slot = &conn->to_driver;
	int rc;

	if (conn->phase == NET_MEMIF_FREE || conn->phase == NET_MEMIF_ENDING || (slot->full && !pass(conn)))
		return false;
	rc = net_memif_recv(conn->peer_fd, &slot->msg, &slot->fd);
	if (rc == -EAGAIN)
		return false;
	if (rc <= 0) {
		net_memif_end(conn, rc == -EBADMSG ? "Invalid message size" : NULL);
		return false;
	}
	slot->full = true;
	hear_peer(conn, &slot->msg, slot->fd);
	if (conn->phase == NET_MEMIF_SETTLING)
		net_memif_timer(conn->memif);
	return slot->full && pass(conn);
}

void net_memif_move(struct net_memif_conn *conn)
{
	bool more = true;

	for (int n = 0; n < BURST && more && conn->phase != NET_MEMIF_FREE; n++) {
		more = move_from_driver(conn);
		more |= move_from_peer(conn);
	}
	if (conn->phase != NET_MEMIF_FREE)
		watch(conn);
}
