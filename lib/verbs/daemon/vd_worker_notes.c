/* SPDX-License-Identifier: BSD-3-Clause */
/* Notifications to clients, see vd_worker_notes.h. */
#include <sys/epoll.h>
#include <sys/socket.h>

#include "vd_worker_notes.h"

#define RETRY_POLLS 32 /* a full socket costs a system call only this often */
#define RETRY_NOTES 64 /* tried in one poll */
#define SEND_BURST  16 /* messages of one note in one go */

static void lost(struct vd_worker *worker, uint32_t n)
{
	_Atomic uint64_t *counter = &worker->counters.events_lost;

	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + n,
		memory_order_relaxed);
}

/* 0: sent, -EAGAIN: full, others: nobody can ever read it. */
static int put(int fd, const void *msg, size_t bytes)
{
	if (send(fd, msg, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
		return 0;
	return errno == EWOULDBLOCK || errno == ENOBUFS || errno == ENOMEM ? -EAGAIN : -errno;
}

/* Wakes the worker once when the socket has room again. */
static void wait_room(struct vd_worker *worker, int fd)
{
	struct epoll_event ev = {.events = EPOLLOUT | EPOLLET | EPOLLONESHOT};

	if (epoll_ctl(worker->epoll_fd, EPOLL_CTL_MOD, fd, &ev) != 0)
		(void)epoll_ctl(worker->epoll_fd, EPOLL_CTL_ADD, fd, &ev);
}

/* False: the socket is full. */
static bool send_comp(struct vd_worker *worker, struct vd_note *note)
{
	const struct vc_comp_msg msg = {.cq_cookie = note->cookie};

	for (int i = 0; i < SEND_BURST && note->comp_count > 0; i++) {
		int err = put(note->comp_fd, &msg, sizeof(msg));

		if (err == -EAGAIN) {
			wait_room(worker, note->comp_fd);
			return false;
		}
		if (err != 0) {
			lost(worker, note->comp_count);
			note->comp_count = 0;
			return true;
		}
		note->comp_count--;
	}
	return note->comp_count == 0;
}

static bool send_async(struct vd_worker *worker, struct vd_note *note)
{
	int fd = note->session->async_fd;

	while (note->async_mask != 0) {
		uint32_t type = (uint32_t)__builtin_ctz(note->async_mask);
		const struct vc_async_msg msg = {.type = type, .cookie = note->cookie};
		int err = put(fd, &msg, sizeof(msg));

		if (err == -EAGAIN) {
			wait_room(worker, fd);
			return false;
		}
		if (err != 0)
			lost(worker, 1);
		note->async_mask &= note->async_mask - 1;
	}
	return true;
}

static void flush(struct vd_worker *worker, struct vd_note *note)
{
	bool comp_done = send_comp(worker, note);

	if (send_async(worker, note) && comp_done) {
		vd_note_forget(worker, note);
		return;
	}
	if (note->queued)
		TAILQ_REMOVE(&worker->notes, note, link);
	note->queued = true;
	TAILQ_INSERT_TAIL(&worker->notes, note, link);
}

void vd_note_comp(struct vd_worker *worker, struct vd_note *note)
{
	if (note->comp_fd < 0)
		return;
	if (note->comp_count == UINT32_MAX) {
		lost(worker, 1);
		return;
	}
	note->comp_count++;
	if (!note->queued) /* else its turn comes, in order */
		flush(worker, note);
}

void vd_note_async(struct vd_worker *worker, struct vd_note *note, enum ibv_event_type type)
{
	note->async_mask |= 1u << type;
	if (!note->queued)
		flush(worker, note);
}

void vd_notes_retry(struct vd_worker *worker)
{
	struct vd_note *last = TAILQ_LAST(&worker->notes, vd_notes);

	if (!worker->retry_now && ++worker->retry_tick % RETRY_POLLS != 0)
		return;
	worker->retry_now = false;
	for (int i = 0; i < RETRY_NOTES; i++) {
		struct vd_note *note = TAILQ_FIRST(&worker->notes);

		if (note == NULL)
			return;
		flush(worker, note);
		if (note == last)
			return;
	}
	worker->retry_now = true; /* the rest at the next poll */
}

void vd_note_forget(struct vd_worker *worker, struct vd_note *note)
{
	if (note->queued)
		TAILQ_REMOVE(&worker->notes, note, link);
	note->queued = false;
	note->comp_count = 0;
	note->async_mask = 0;
}
