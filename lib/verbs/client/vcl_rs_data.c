/* SPDX-License-Identifier: BSD-3-Clause */
/* The bytes of a stream, and its ends. */
#include <string.h>

#include "vcl_rs.h"

#define MAX_MESSAGE_BYTES (64 * 1024)
#define LOW_WATER_BYTES   2048          /* with less room a socket is not writable */
#define LINGER_NS         10000000000ll /* for the last acknowledgements, unless SO_LINGER says */

/* ---- sending ---- */

/* Goes on to the next entry of our target table, when the peer has filled it. The peer can write there at any time:
 * what is used is a copy, and all it can point at is the peer's own memory. */
static void refresh_target(struct rs_stream *st)
{
	volatile struct rs_sge *entry = &st->tables->sgl[st->target_next];

	if (st->target.length != 0 || !st->target_news)
		return;
	st->target.length = entry->length;
	st->target.addr = entry->addr;
	st->target.key = entry->key;
	if (st->target.length == 0) {
		st->target_news = false;
		return;
	}
	entry->length = 0;
	st->target_next = (st->target_next + 1) % 2;
}

bool rs_has_room(const struct rs_sock *rs)
{
	const struct rs_send_flow *out = &rs->st.out;

	return out->slots != 0 && rs_send_free(out) >= LOW_WATER_BYTES;
}

bool rs_awaits_sends(const struct rs_sock *rs)
{
	return !rs_has_room(rs) || rs->st.out.ctrl_slots == 0 || rs->state != RS_CONNECTED || rs->st.self_done;
}

static bool can_send_data(struct rs_sock *rs)
{
	refresh_target(&rs->st);
	return rs->st.target.length != 0 && rs_send_credit(&rs->st.out) && rs_has_room(rs);
}

bool rs_writable(struct rs_sock *rs)
{
	if (rs_is_connecting(rs))
		return false;
	return rs->state != RS_CONNECTED || rs->st.self_done || can_send_data(rs);
}

int rs_why_not_writable(const struct rs_sock *rs)
{
	if (rs->state == RS_FAILED)
		return -rs->err;
	if (rs->state < RS_CONNECTED)
		return -ENOTCONN;
	return rs->state == RS_ENDED && !rs->st.self_done ? -ECONNRESET : -EPIPE;
}

ssize_t rs_stream_put(struct rs_sock *rs, const void *buf, uint32_t want, enum rs_op op, uint64_t addr, uint32_t key)
{
	struct rs_stream *st = &rs->st;
	bool is_inline = want <= st->inline_bytes;
	struct ibv_sge sge = {.addr = (uintptr_t)buf, .length = want};
	uint32_t at;
	int err;

	if (!is_inline) {
		sge.length = rs_send_span(&st->out, want < MAX_MESSAGE_BYTES ? want : MAX_MESSAGE_BYTES, &at);
		memcpy(st->send_buf + at, buf, sge.length);
		sge.addr = (uintptr_t)(st->send_buf + at);
		sge.lkey = st->send_mr->lkey;
	}
	err = rs_post_write(rs, rs_imm(op, op == RS_OP_WRITE ? 0 : sge.length), is_inline ? 0 : sge.length, &sge,
		is_inline, addr, key);
	if (err != 0)
		return err;
	st->out.slots--;
	st->out.filled += is_inline ? 0 : sge.length;
	return sge.length;
}

static ssize_t send_some(struct rs_sock *rs, const uint8_t *buf, size_t bytes)
{
	struct rs_stream *st = &rs->st;
	ssize_t n = rs_stream_put(rs, buf, bytes < st->target.length ? (uint32_t)bytes : st->target.length, RS_OP_DATA,
		st->target.addr, st->target.key);

	if (n < 0)
		return n;
	st->out.msgs++;
	st->target.addr += (uint64_t)n;
	st->target.length -= (uint32_t)n;
	return n;
}

static ssize_t send_buf(struct rs_sock *rs, const uint8_t *buf, size_t bytes, bool nonblock)
{
	size_t done = 0;
	ssize_t n = 0;

	while (done < bytes) {
		n = rs_wait_until(rs, rs_writable, nonblock, RS_NEVER);
		if (n == 0 && (rs->state != RS_CONNECTED || rs->st.self_done))
			n = rs_why_not_writable(rs);
		if (n == 0) {
			rs_tell_mappings(rs);
			n = can_send_data(rs) ? send_some(rs, buf + done, bytes - done) : 0;
		}
		if (n < 0)
			break;
		done += (size_t)n;
	}
	return done != 0 ? (ssize_t)done : n;
}

ssize_t rs_stream_send(struct rs_sock *rs, const struct iovec *iov, int n, int flags)
{
	bool nonblock = rs->nonblock || (flags & MSG_DONTWAIT) != 0;
	ssize_t done = 0, rc = 0;
	int i;

	if ((flags & MSG_OOB) != 0)
		return -EOPNOTSUPP;
	for (i = 0; i < n; i++) {
		rc = send_buf(rs, iov[i].iov_base, iov[i].iov_len, nonblock);
		if (rc < 0)
			break;
		done += rc;
		if ((size_t)rc < iov[i].iov_len)
			break;
	}
	return done != 0 ? done : rc;
}

/* ---- receiving ---- */

bool rs_readable(struct rs_sock *rs)
{
	if (rs_is_connecting(rs))
		return false;
	return rs->state != RS_CONNECTED || rs->st.peer_done || rs_recv_avail(&rs->st.in) != 0;
}

/* Nothing is there to read: an end, or why not. */
static int end_of_stream(const struct rs_sock *rs)
{
	if (rs->st.peer_done || rs->state == RS_ENDED)
		return 0;
	return rs->state == RS_FAILED ? -rs->err : -ENOTCONN;
}

/* Copies what is there after skip bytes. */
static size_t copy_out(const struct rs_stream *st, uint32_t skip, uint8_t *buf, size_t bytes)
{
	uint32_t want = bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX, at, n;
	size_t done = 0;

	while (done < want && (n = rs_recv_span(&st->in, skip + (uint32_t)done, want - (uint32_t)done, &at)) != 0) {
		memcpy(buf + done, st->recv_buf + at, n);
		done += n;
	}
	return done;
}

/* Takes what is there into the buffers after the first done bytes; the peer hears of the room. */
static size_t take(struct rs_sock *rs, const struct iovec *iov, int n, size_t done, bool peek)
{
	size_t before = 0, got = 0, part, skip;
	int i;

	for (i = 0; i < n; before += iov[i++].iov_len) {
		if (done + got >= before + iov[i].iov_len)
			continue;
		skip = done + got - before;
		part = copy_out(&rs->st, (uint32_t)got, (uint8_t *)iov[i].iov_base + skip, iov[i].iov_len - skip);
		got += part;
		if (part < iov[i].iov_len - skip)
			break;
	}
	if (!peek && got != 0) {
		rs->st.in.read += got;
		rs_send_updates(rs);
	}
	return got;
}

ssize_t rs_stream_recv(struct rs_sock *rs, const struct iovec *iov, int n, int flags)
{
	bool nonblock = rs->nonblock || (flags & MSG_DONTWAIT) != 0, peek = (flags & MSG_PEEK) != 0;
	size_t want = 0, done = 0;
	ssize_t rc;
	int i;

	if ((flags & MSG_OOB) != 0)
		return -EOPNOTSUPP;
	for (i = 0; i < n; i++)
		want += iov[i].iov_len;
	if (want == 0)
		return 0;
	do {
		rc = rs_wait_until(rs, rs_readable, nonblock, RS_NEVER);
		if (rc == 0 && rs_recv_avail(&rs->st.in) == 0)
			rc = end_of_stream(rs);
		else if (rc == 0)
			rc = (ssize_t)take(rs, iov, n, done, peek);
		if (rc > 0)
			done += (size_t)rc;
	} while (rc > 0 && done < want && (flags & MSG_WAITALL) != 0 && !peek);
	return done != 0 ? (ssize_t)done : rc;
}

/* ---- the end ---- */

static bool can_control(struct rs_sock *rs)
{
	return rs->state != RS_CONNECTED || rs->st.out.ctrl_slots != 0;
}

static bool is_all_sent(struct rs_sock *rs)
{
	const struct rs_stream *st = &rs->st;

	return rs->state == RS_FAILED ||
	       (st->out.ctrl_slots == RS_CTRL_SLOTS && st->out.slots == st->send_depth - RS_CTRL_SLOTS);
}

/* What was sent before is on its way in order, so the word for the end comes last. Then the queue pair must stay until
 * the peer has acknowledged all. */
static int say_end(struct rs_sock *rs, enum rs_ctrl what)
{
	int64_t linger_ns = rs->opt.linger.l_onoff ? rs->opt.linger.l_linger * 1000000000ll : LINGER_NS;
	int64_t deadline = rs_now_ns() + linger_ns;
	int err = rs_wait_until(rs, can_control, false, deadline);

	if (err != 0 || rs->state != RS_CONNECTED)
		return err;
	err = rs_send_ctrl(rs, what);
	rs->st.self_done = true;
	if (what == RS_CTRL_DISCONNECT || rs->st.peer_done)
		rs->state = err == 0 ? RS_ENDED : rs->state;
	if (err == 0 && what == RS_CTRL_DISCONNECT)
		(void)rs_wait_until(rs, is_all_sent, false, deadline);
	return err;
}

int rs_stream_shutdown(struct rs_sock *rs, int how)
{
	int err = 0;

	if (rs->state == RS_LISTENING || rs->state < RS_CONNECTED)
		return -ENOTCONN;
	if (rs->state != RS_CONNECTED)
		return 0;
	if (how == SHUT_RDWR)
		err = say_end(rs, RS_CTRL_DISCONNECT);
	else if (how == SHUT_WR && !rs->st.self_done)
		err = say_end(rs, RS_CTRL_SHUTDOWN);
	else if (how == SHUT_RD)
		rs->st.peer_done = true;
	rs_wake(rs);
	return err;
}

int rshutdown(int socket, int how)
{
	struct rs_sock *rs = rs_get_locked(socket);
	int err = 0;

	if (rs == NULL)
		return -1;
	if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
		err = -EINVAL;
	else if (rs->type == SOCK_DGRAM)
		err = shutdown(rs->fd, how) != 0 ? -errno : 0;
	else
		err = rs_stream_shutdown(rs, how);
	rs_unlock_put(rs);
	return (int)rs_result(err);
}
