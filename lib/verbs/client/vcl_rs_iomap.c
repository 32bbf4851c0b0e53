/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that peers write directly: mapped, told of, and written. */
#include <stdlib.h>
#include <string.h>

#include "vcl_rs.h"

/* ---- ours ---- */

void rs_free_mappings(struct rs_sock *rs)
{
	struct rs_mapping *m;

	while ((m = rs->st.mappings) != NULL) {
		rs->st.mappings = m->next;
		(void)ibv_dereg_mr(m->mr);
		free(m);
	}
}

/* The lowest entry of the peer's table that is free, or a negative errno. */
static int free_entry(const struct rs_stream *st)
{
	const struct rs_mapping *m;
	int i;

	for (i = 0; i < (int)st->peer.iomap_entries; i++) {
		for (m = st->mappings; m != NULL && m->index != i; m = m->next)
			;
		if (m == NULL)
			return i;
	}
	return -ENOBUFS;
}

static int add_mapping(struct rs_sock *rs, void *buf, size_t bytes, int prot, uint64_t offset)
{
	unsigned int access = IBV_ACCESS_LOCAL_WRITE | (prot == PROT_WRITE ? IBV_ACCESS_REMOTE_WRITE : 0u);
	struct rs_mapping *m = calloc(1, sizeof(*m));

	if (m == NULL)
		return -ENOMEM;
	*m = (struct rs_mapping){.buf = buf, .bytes = bytes, .offset = offset, .index = -1};
	if (prot == PROT_WRITE) {
		m->index = free_entry(&rs->st);
		m->untold = true;
		if (m->index < 0) {
			free(m);
			return -ENOBUFS;
		}
	}
	m->mr = ibv_reg_mr(rs->st.id->pd, buf, bytes, access);
	if (m->mr == NULL) {
		free(m);
		return -errno;
	}
	m->next = rs->st.mappings;
	rs->st.mappings = m;
	return 0;
}

off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
	struct rs_sock *rs = rs_get_locked(socket);
	int err;

	if (rs == NULL)
		return -1;
	if (offset == -1)
		offset = (off_t)(uintptr_t)buf;
	if (rs->type != SOCK_STREAM)
		err = -EOPNOTSUPP;
	else if (rs->state != RS_CONNECTED && rs->state != RS_ACCEPTING)
		err = rs_why_not_writable(rs);
	else if (len == 0 || len > UINT32_MAX || flags != 0 || (prot != PROT_WRITE && prot != PROT_NONE))
		err = -EINVAL;
	else
		err = add_mapping(rs, buf, len, prot, (uint64_t)offset);
	if (err == 0) {
		rs_process(rs, false);
		rs_tell_mappings(rs);
	}
	rs_unlock_put(rs);
	return err == 0 ? offset : rs_result(err);
}

/* The peer is not told: what it still writes there is refused, and ends its connection. */
int riounmap(int socket, void *buf, size_t len)
{
	struct rs_sock *rs = rs_get_locked(socket);
	struct rs_mapping **at, *m;

	if (rs == NULL)
		return -1;
	for (at = &rs->st.mappings; (m = *at) != NULL; at = &m->next)
		if (m->buf == buf && m->bytes == len)
			break;
	if (m != NULL) {
		*at = m->next;
		(void)ibv_dereg_mr(m->mr);
		free(m);
	}
	rs_unlock_put(rs);
	return (int)rs_result(m != NULL ? 0 : -EINVAL);
}

/* A told mapping takes a credit and a place in the send queue, as data does. */
static void tell(struct rs_sock *rs, struct rs_mapping *m)
{
	struct rs_stream *st = &rs->st;
	struct rs_iomap entry = {m->offset, {(uintptr_t)m->buf, m->mr->rkey, (uint32_t)m->bytes}};
	struct ibv_sge sge = {.addr = (uintptr_t)&entry, .length = sizeof(entry)};
	uint64_t table = st->peer.sgl.addr + st->peer.sgl.length * sizeof(struct rs_sge);

	if (st->peer.swap)
		entry = rs_iomap_swap(entry);
	if (rs_post_write(rs, rs_imm(RS_OP_IOMAP, (uint32_t)m->index), 0, &sge, true,
		    table + (uint64_t)m->index * sizeof(entry), st->peer.sgl.key) != 0)
		return;
	m->untold = false;
	st->out.slots--;
	st->out.msgs++;
}

void rs_tell_mappings(struct rs_sock *rs)
{
	struct rs_mapping *m;

	for (m = rs->st.mappings; m != NULL; m = m->next)
		if (m->untold && rs->state == RS_CONNECTED && rs->st.out.slots != 0 && rs_send_credit(&rs->st.out))
			tell(rs, m);
}

/* ---- the peer's ---- */

/* What the peer mapped at an offset: its entry of our table, copied once. */
static bool find_remote(const struct rs_stream *st, uint64_t offset, struct rs_iomap *out)
{
	const volatile struct rs_iomap *entry;
	uint32_t i;

	for (i = 0; i < st->iomap_entries; i++) {
		entry = &st->tables->iomap[i];
		out->offset = entry->offset;
		out->sge.length = entry->sge.length;
		out->sge.addr = entry->sge.addr;
		out->sge.key = entry->sge.key;
		if (offset >= out->offset && offset - out->offset < out->sge.length)
			return true;
	}
	return false;
}

static bool can_write_direct(struct rs_sock *rs)
{
	return rs->state != RS_CONNECTED || rs->st.self_done || rs_has_room(rs);
}

/* One message into the peer's mapping. Bytes or a negative errno. */
static ssize_t write_some(struct rs_sock *rs, const uint8_t *buf, size_t bytes, uint64_t offset, bool nonblock)
{
	struct rs_iomap map;
	uint64_t skip;
	int err = rs_wait_until(rs, can_write_direct, nonblock, RS_NEVER);

	if (err != 0)
		return err;
	if (rs->state != RS_CONNECTED || rs->st.self_done)
		return rs_why_not_writable(rs);
	rs_tell_mappings(rs);
	if (!rs_has_room(rs))
		return 0;
	if (!find_remote(&rs->st, offset, &map))
		return -EINVAL;
	skip = offset - map.offset;
	if (bytes > map.sge.length - skip)
		bytes = map.sge.length - skip;
	return rs_stream_put(rs, buf, (uint32_t)bytes, RS_OP_WRITE, map.sge.addr + skip, map.sge.key);
}

size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
	struct rs_sock *rs = rs_get_locked(socket);
	size_t done = 0;
	ssize_t n = 0;

	if (rs == NULL)
		return (size_t)-1;
	if (rs->type != SOCK_STREAM)
		n = -EOPNOTSUPP;
	while (n >= 0 && done < count) {
		n = write_some(rs, (const uint8_t *)buf + done, count - done, (uint64_t)offset + done,
			rs->nonblock || (flags & MSG_DONTWAIT) != 0);
		done += n > 0 ? (size_t)n : 0;
	}
	rs_unlock_put(rs);
	return done != 0 ? done : (size_t)rs_result(n);
}
