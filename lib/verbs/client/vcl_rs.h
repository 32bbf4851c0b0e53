/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rsockets: the sockets of <rdma/rsocket.h> over the library's own verbs and connection manager.
 *
 * There is no thread behind a socket: whoever calls moves it on. One lock guards a socket and is never held over a
 * wait, so that one thread can send while another receives. Functions here return 0 or a negative errno; the calls of
 * the API turn that into -1 and errno.
 */
#ifndef RS_H
#define RS_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "vcl_rs_flow.h"
#include "vcl_rs_wire.h"

#define RS_NEVER INT64_MAX /* a deadline */

enum rs_state {
	RS_IDLE,
	RS_BOUND,
	RS_LISTENING,
	RS_RESOLVING_ADDR,
	RS_RESOLVING_ROUTE,
	RS_CONNECTING,
	RS_ACCEPTING,
	RS_CONNECTED,
	RS_ENDED,  /* in order */
	RS_FAILED, /* rs->err says how */
};

struct rs_options {
	int send_bytes, recv_bytes;
	int send_depth, recv_depth, inline_bytes, iomap_entries;
	int nodelay, maxseg, reuse_addr, oob_inline, v6_only;
	int keepalive, keep_idle_s, keep_interval_s, keep_count;
	struct linger linger;
};

/* A thread that sleeps until a socket moves on. Whoever moves it writes to the thread's eventfd. */
struct rs_waiter {
	struct rs_waiter *next;
	int event_fd;
};

/* A connection asked for at a listener, not yet accepted. */
struct rs_request {
	struct rs_request *next;
	struct rdma_cm_id *id;
	struct rs_peer peer;
	bool valid; /* its private data are what we can work with */
};

/* What we offer the peer to map, and what the program mapped for itself only (index < 0). */
struct rs_mapping {
	struct rs_mapping *next;
	struct ibv_mr *mr;
	void *buf;
	size_t bytes;
	uint64_t offset;
	int index;
	bool untold; /* the peer does not know of it yet */
};

/* Memory that the peer writes. */
struct rs_tables {
	struct rs_sge sgl[2];
	struct rs_iomap iomap[];
};

struct rs_stream {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id;
	struct rs_request *requests; /* oldest first */
	struct ibv_comp_channel *comp;
	struct ibv_cq *recv_cq, *send_cq; /* two, as one's own sends should not wake who waits for the peer */
	bool recv_armed, send_armed;      /* a completion will raise an event that nobody has read */
	uint32_t idle;                    /* times nothing was found; the CM is looked at now and then */

	uint8_t *send_buf, *recv_buf;
	struct rs_tables *tables;
	uint32_t iomap_entries; /* in tables */
	struct ibv_mr *send_mr, *recv_mr, *tables_mr;
	struct rs_recv_flow in;
	struct rs_send_flow out;
	uint32_t send_depth, recv_depth, inline_bytes;
	uint32_t unposted; /* receives to post again */

	struct rs_peer peer;
	uint32_t peer_entry;  /* of its target table, to be written next */
	struct rs_sge target; /* where the next byte goes */
	uint32_t target_next; /* entry of our table that follows */
	bool target_news;     /* an update came since that entry was found empty */

	struct rs_mapping *mappings;
	bool peer_done, self_done; /* no more data from it; from us */
	int64_t heard_ns;          /* with keepalive */
};

struct rs_dgram;

struct rs_sock {
	int fd; /* its number for the program, a descriptor of ours */
	int family, type;
	uint32_t refs;        /* table lock */
	pthread_mutex_t lock; /* all below */
	int nonblock;
	struct rs_options opt;
	enum rs_state state;
	int err; /* positive errno of a failure */
	bool closing;
	struct rs_waiter *waiters;
	struct rs_stream st;
	struct rs_dgram *dg;
};

static inline int64_t rs_result(int64_t negative)
{
	if (negative >= 0)
		return negative;
	errno = (int)-negative;
	return -1;
}

/* ---- vcl_rs_table.c: numbers to sockets ---- */
struct rs_sock *rs_sock_new(int family, int type, const struct rs_options *opt);
/* Gives the socket its number. The table holds a reference. 0 or a negative errno. */
int rs_table_add(struct rs_sock *rs);
/* The socket of a number with a reference, or NULL: not ours. */
struct rs_sock *rs_get(int fd);
/* The same, locked; NULL with errno EBADF. */
struct rs_sock *rs_get_locked(int fd);
void rs_put(struct rs_sock *rs);
void rs_unlock_put(struct rs_sock *rs);

/* ---- vcl_rs_wait.c ---- */
int64_t rs_now_ns(void);
/* The calling thread's eventfd or a negative errno. */
int rs_thread_event(void);
void rs_waiter_add(struct rs_sock *rs, struct rs_waiter *w);
void rs_waiter_remove(struct rs_sock *rs, struct rs_waiter *w);
/* Tells other threads that the socket moved on. */
void rs_wake(struct rs_sock *rs);
/* Moves the socket on: completions, events of the connection manager if asked, messages over UDP. */
void rs_process(struct rs_sock *rs, bool thoroughly);
/* Before sleep: true when completions were not armed and the caller must look once more. */
bool rs_arm(struct rs_sock *rs);
/* Descriptors whose readiness means that there is something to process; at most 2. */
int rs_fds(const struct rs_sock *rs, struct pollfd *fds);
/* After sleep. */
void rs_disarm(struct rs_sock *rs);
/* Processes, and waits if need be, until ready() holds or the socket is closed (-EBADF). */
int rs_wait_until(struct rs_sock *rs, bool (*ready)(struct rs_sock *), bool nonblock, int64_t deadline_ns);
void rs_fail(struct rs_sock *rs, int err);

/* ---- vcl_rs_conn.c: a stream's connection ---- */
int rs_stream_open(struct rs_sock *rs);
void rs_stream_free(struct rs_sock *rs);
void rs_cm_process(struct rs_sock *rs);
bool rs_is_connecting(const struct rs_sock *rs);

/* ---- vcl_rs_qp.c: a stream's queues and memory ---- */
int rs_qp_make(struct rs_sock *rs);
void rs_qp_free(struct rs_sock *rs);
void rs_qp_describe(const struct rs_sock *rs, struct rs_conn_data *out);
void rs_qp_connected(struct rs_sock *rs, const struct rs_peer *peer);
int rs_qp_post_recvs(struct rs_sock *rs);

/* ---- vcl_rs_cq.c: what a stream posts and completes ---- */
#define RS_WR_RECV (1ull << 63)
void rs_cq_process(struct rs_sock *rs);
/* Posts a write of at most one element; imm is told to the peer unless its operation is RS_OP_WRITE. */
int rs_post_write(struct rs_sock *rs, uint32_t imm, uint32_t ring_bytes, struct ibv_sge *sge, bool is_inline,
	uint64_t addr, uint32_t key);
/* Tells the peer of free halves and credits, if due and possible. */
void rs_send_updates(struct rs_sock *rs);
int rs_send_ctrl(struct rs_sock *rs, enum rs_ctrl what);
/* The connection is gone. */
void rs_lost(struct rs_sock *rs);
/* With keepalive: when the next is due, else RS_NEVER; and sends one that is. */
int64_t rs_keepalive_due_ns(const struct rs_sock *rs);
void rs_keepalive(struct rs_sock *rs);

/* ---- vcl_rs_data.c: a stream's bytes ---- */
bool rs_readable(struct rs_sock *rs); /* bytes, an end or a failure */
bool rs_writable(struct rs_sock *rs); /* room, an end or a failure */
ssize_t rs_stream_recv(struct rs_sock *rs, const struct iovec *iov, int n, int flags);
ssize_t rs_stream_send(struct rs_sock *rs, const struct iovec *iov, int n, int flags);
/* Puts bytes into the send ring, or inline, and posts them for a place at the peer. Bytes taken or -errno. */
ssize_t rs_stream_put(struct rs_sock *rs, const void *buf, uint32_t want, enum rs_op op, uint64_t addr, uint32_t key);
bool rs_has_room(const struct rs_sock *rs);
/* Only a completed send lets it go on. */
bool rs_awaits_sends(const struct rs_sock *rs);
int rs_why_not_writable(const struct rs_sock *rs);
int rs_stream_shutdown(struct rs_sock *rs, int how);

/* ---- vcl_rs_iomap.c ---- */
/* Tells the peer of new mappings, as credits allow. */
void rs_tell_mappings(struct rs_sock *rs);
void rs_free_mappings(struct rs_sock *rs);

/* ---- vcl_rs_dgram.c, vcl_rs_dgram_qp.c ---- */
int rs_dgram_open(struct rs_sock *rs);
void rs_dgram_free(struct rs_sock *rs);
int rs_dgram_connect(struct rs_sock *rs, const struct sockaddr *addr, socklen_t addrlen);
void rs_dgram_process(struct rs_sock *rs, bool thoroughly);
bool rs_dgram_arm(struct rs_sock *rs);
void rs_dgram_disarm(struct rs_sock *rs);
int rs_dgram_fd(const struct rs_sock *rs);
bool rs_dgram_readable(const struct rs_sock *rs);
bool rs_dgram_writable(const struct rs_sock *rs);
ssize_t rs_dgram_recv(struct rs_sock *rs, const struct iovec *iov, int n, int flags, struct sockaddr *src,
	socklen_t *addrlen, int *msg_flags);
ssize_t rs_dgram_send(
	struct rs_sock *rs, const struct iovec *iov, int n, int flags, const struct sockaddr *dst, socklen_t addrlen);

/* ---- vcl_rs_opt.c ---- */
extern const struct rs_options rs_default_options;

/* ---- vcl_rs_addr.c ---- */
/* As getsockname() stores an address: cut to *bytes, which becomes its whole length. */
void rs_store_addr(const struct sockaddr *from, struct sockaddr *to, socklen_t *bytes);
socklen_t rs_addr_bytes(const struct sockaddr *addr);

#endif
