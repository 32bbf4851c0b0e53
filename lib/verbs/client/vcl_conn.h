/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client's control connection to the daemon (see verbs_contract.h). Both client libraries carry a copy.
 *
 * A connection belongs to the process that opened it: `alive` lies on a page that the kernel wipes in a
 * forked child, so a child sees it dead without a system call, as does everybody once the daemon is gone.
 */
#ifndef VCL_CONN_H
#define VCL_CONN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "verbs_contract.h"

#define VCL_MAX_FDS 4

struct vcl_conn {
	int fd;
	uint32_t seq;
	pthread_mutex_t lock;              /* one request at a time */
	uint32_t *alive;                   /* 1: usable; never back to 1 */
};

/* The socket's path: environment or default. */
const char *vcl_socket_path(void);
/* Connects to the daemon. 0 or a negative errno. */
int vcl_conn_open(struct vcl_conn *conn);
/* Closes the connection. In a forked child the parent's connection stays usable. */
void vcl_conn_close(struct vcl_conn *conn);
/* From now on all calls fail with -EIO. */
void vcl_conn_kill(struct vcl_conn *conn);

/*
 * Reads one message of exactly n bytes from an event socket, waiting as its flags say. 1: read, -1: errno tells.
 * 0: the daemon is gone. A socket also ends when the program destroys its object under a waiting reader; a
 * kernel device leaves such a reader waiting, and programs rely on it (they end with one blocked), so then
 * this does not return. control_fd is the connection's fd as it was before; nothing else is touched after the
 * wait, since the object may have been freed.
 */
int vcl_read_event(int fd, int control_fd, void *msg, size_t n);

static inline bool vcl_conn_alive(const struct vcl_conn *conn)
{
	return __atomic_load_n(conn->alive, __ATOMIC_RELAXED) != 0;
}

/*
 * Sends req (op and body set by the caller) and waits for its reply. Returns the reply's status, or -EIO
 * when the connection is dead. fds receives exactly n_fds descriptors of a successful reply (the caller
 * owns them); a reply with another number is an error.
 */
int vcl_call_fds(struct vcl_conn *conn, struct vc_request *req, struct vc_reply *reply, int *fds, uint32_t n_fds);
/* The same without descriptors; reply may be NULL. */
int vcl_call(struct vcl_conn *conn, struct vc_request *req, struct vc_reply *reply);
/* A request that consists of a handle. */
int vcl_call_handle(struct vcl_conn *conn, enum vc_op op, uint32_t handle, struct vc_reply *reply);

#endif
