/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The worker's side: doorbells, the queues in shared memory, clients' memory, notifications. Runs
 * in the worker's thread only, but for making and freeing its state.
 *
 * A client can write to all of its shared memory at any time. So an index is loaded once, a work
 * request is copied once, and only the copies are looked at.
 */
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "vd_internal.h"
#include "vd_worker_notes.h"

#define DRAIN_EVENTS 16
#define DRAIN_ROUNDS 32

static struct vd_worker *worker_of(void *env)
{
	return *(struct vd_worker **)env;
}

static void count(_Atomic uint64_t *counter)
{
	/* One writer, so no locked instruction is needed. */
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
		memory_order_relaxed);
}

/* ---- memory of clients ---- */

static int mem_read(void *env, void *as, uint64_t va, void *dst, size_t bytes)
{
	const struct vd_session *session = as;
	struct vd_reach *reach = &worker_of(env)->reach;
	uint8_t *to = dst;

	vd_reach_begin(reach, session);
	while (bytes > 0 && va <= INT64_MAX) {
		ssize_t n = pread(session->mem_fd, to, bytes, (off_t)va);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		to += n;
		va += (uint64_t)n;
		bytes -= (size_t)n;
	}
	vd_reach_end(reach);
	if (bytes == 0)
		return 0;
	count(&worker_of(env)->counters.copy_faults);
	return -EFAULT;
}

static int mem_write(void *env, void *as, uint64_t va, const void *src, size_t bytes)
{
	const struct vd_session *session = as;
	struct vd_reach *reach = &worker_of(env)->reach;
	const uint8_t *from = src;

	vd_reach_begin(reach, session);
	while (bytes > 0 && va <= INT64_MAX) {
		ssize_t n = pwrite(session->mem_fd, from, bytes, (off_t)va);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		from += n;
		va += (uint64_t)n;
		bytes -= (size_t)n;
	}
	vd_reach_end(reach);
	if (bytes == 0)
		return 0;
	count(&worker_of(env)->counters.copy_faults);
	return -EFAULT;
}

/* ---- queues ---- */

static void break_qp(struct vd_worker *worker, struct vd_qp *qp)
{
	count(&worker->counters.bad_indices);
	qp->broken = true;
	if (qp->listed)
		return;
	/* The transport calls us here and must not be called back: vd_worker_poll() does the rest.
	 */
	qp->listed = true;
	TAILQ_INSERT_TAIL(&worker->broken, qp, broken_link);
}

/* Where the next work request lies; 0: none, -EINVAL: the client's index is impossible. */
static int next_slot(struct vd_ring *ring, const uint8_t **slot)
{
	uint32_t prod = __atomic_load_n(&ring->queue->prod, __ATOMIC_ACQUIRE);

	if (prod - ring->cons > ring->depth || prod - ring->cons < ring->fetched - ring->cons)
		return -EINVAL;
	if (prod == ring->fetched)
		return 0;
	*slot = ring->slots + (size_t)(ring->fetched++ & (ring->depth - 1)) * ring->slot_bytes;
	return 1;
}

/* The same of a queue pair's queue: NULL: none, or it is broken. */
static const uint8_t *next_of_qp(struct vd_worker *worker, struct vd_qp *qp, struct vd_ring *ring)
{
	const uint8_t *slot = NULL;

	if (!qp->broken && next_slot(ring, &slot) < 0)
		break_qp(worker, qp);
	return slot;
}

/* Copies from memory that changes under us; the compiler may not read the source again afterwards.
 */
static void copy_once(void *to, const void *from, size_t bytes)
{
	memcpy(to, from, bytes);
	__asm__ volatile("" ::: "memory");
}

static int send_fetch(void *env, void *qp_cookie, struct tp_send_wqe *slot, uint32_t slot_bytes)
{
	struct vd_worker *worker = worker_of(env);
	struct vd_qp *qp = qp_cookie;
	const uint8_t *from = next_of_qp(worker, qp, &qp->sq);
	size_t body;
	bool ok;

	if (from == NULL)
		return 0;
	copy_once(slot, from, sizeof(*slot));
	if ((slot->flags & TP_SEND_INLINE) != 0) {
		body = slot->inline_bytes;
		ok = slot->num_sge == 0 && slot->inline_bytes <= qp->max_inline_bytes;
	} else {
		body = slot->num_sge * sizeof(struct tp_sge);
		ok = slot->num_sge <= qp->max_send_sge;
	}
	if (!ok || sizeof(*slot) + body > slot_bytes) {
		/* Completes in its turn, with an error and the client's own wr_id. */
		count(&worker->counters.bad_wqes);
		slot->num_sge = 0;
		slot->inline_bytes = 0;
		return -EINVAL;
	}
	copy_once(slot + 1, from + sizeof(*slot), body);
	return 1;
}

/* Copies a receive work request, whose slot is free at once. */
static int take_recv(struct vd_worker *worker, struct vd_ring *ring, uint32_t max_sge,
	const uint8_t *from, struct tp_recv_wqe *slot, uint32_t slot_bytes)
{
	struct tp_sge *sge = (struct tp_sge *)(slot + 1);
	int rc = 1;

	copy_once(slot, from, sizeof(*slot));
	if (slot->num_sge > max_sge || sizeof(*slot) + slot->num_sge * sizeof(*sge) > slot_bytes) {
		count(&worker->counters.bad_wqes);
		slot->num_sge = 0;
		rc = -EINVAL;
	} else {
		copy_once(sge, from + sizeof(*slot), slot->num_sge * sizeof(*sge));
	}
	ring->cons = ring->fetched;
	__atomic_store_n(&ring->queue->cons, ring->cons, __ATOMIC_RELEASE);
	return rc;
}

static int recv_fetch(void *env, void *qp_cookie, struct tp_recv_wqe *slot, uint32_t slot_bytes)
{
	struct vd_worker *worker = worker_of(env);
	struct vd_qp *qp = qp_cookie;
	const uint8_t *from = next_of_qp(worker, qp, &qp->rq);

	if (from == NULL)
		return 0;
	return take_recv(worker, &qp->rq, qp->max_recv_sge, from, slot, slot_bytes);
}

static void send_retire(void *env, void *qp_cookie, uint32_t n)
{
	struct vd_qp *qp = qp_cookie;

	(void)env;
	qp->sq.cons += n;
	__atomic_store_n(&qp->sq.queue->cons, qp->sq.cons, __ATOMIC_RELEASE);
}

static int cq_full(struct vd_worker *worker, struct vd_cq *cq, uint32_t used)
{
	count(used > cq->depth ? &worker->counters.bad_indices : &worker->counters.cq_overflows);
	if (!cq->broken) {
		cq->broken = true;
		vd_note_async(worker, &cq->note, IBV_EVENT_CQ_ERR);
	}
	return -ENOSPC;
}

static int complete(void *env, void *cq_cookie, const struct tp_cqe *cqe)
{
	struct vd_worker *worker = worker_of(env);
	struct vd_cq *cq = cq_cookie;
	uint32_t used = cq->prod - __atomic_load_n(&cq->ring->cons, __ATOMIC_ACQUIRE);
	struct tp_cqe *slot = &cq->slots[cq->prod & (cq->depth - 1)];
	uint32_t armed;

	if (used >= cq->depth)
		return cq_full(worker, cq, used);
	memcpy(slot, cqe, offsetof(struct tp_cqe, seq));
	slot->timestamp_ns = cqe->timestamp_ns;
	cq->prod++;
	__atomic_store_n(&slot->seq, cq->prod, __ATOMIC_RELEASE);
	/* The client arms and then polls once more; we publish and then look whether it is armed.
	 * The fence keeps one of the two from missing the other. */
	atomic_thread_fence(memory_order_seq_cst);
	armed = __atomic_load_n(&cq->ring->armed, __ATOMIC_RELAXED);
	if (armed != VC_ARM_ANY && !(armed == VC_ARM_SOLICITED && cqe->solicited != 0))
		return 0;
	if (__atomic_exchange_n(&cq->ring->armed, VC_ARM_NONE, __ATOMIC_ACQ_REL) != VC_ARM_NONE)
		vd_note_comp(worker, &cq->note);
	return 0;
}

static void event(void *env, void *qp_cookie, enum tp_event event_type)
{
	static const enum ibv_event_type types[] = {
		[TP_EVENT_QP_FATAL] = IBV_EVENT_QP_FATAL,
		[TP_EVENT_QP_REQ_ERR] = IBV_EVENT_QP_REQ_ERR,
		[TP_EVENT_QP_ACCESS_ERR] = IBV_EVENT_QP_ACCESS_ERR,
		[TP_EVENT_COMM_EST] = IBV_EVENT_COMM_EST,
		[TP_EVENT_SQ_DRAINED] = IBV_EVENT_SQ_DRAINED,
		[TP_EVENT_LAST_WQE] = IBV_EVENT_QP_LAST_WQE_REACHED,
	};
	struct vd_qp *qp = qp_cookie, *handle;

	if (qp->type != TP_QPT_XRC_TGT) {
		vd_note_async(worker_of(env), &qp->note, types[event_type]);
		return;
	}
	TAILQ_FOREACH(handle, &((struct vd_target *)qp)->handles, target_link)
	vd_note_async(worker_of(env), &handle->note, types[event_type]);
}

/* ---- shared receive queues ---- */

static void break_srq(struct vd_worker *worker, struct vd_srq *srq)
{
	if (srq->broken)
		return;
	srq->broken = true;
	count(&worker->counters.bad_indices);
	vd_note_async(worker, &srq->note, IBV_EVENT_SRQ_ERR);
}

/* IBTA vol. 1, 10.2.9: queue pairs that need something of a queue in error go to error themselves. */
static int srq_fetch(void *env, void *srq_cookie, struct tp_recv_wqe *slot, uint32_t slot_bytes)
{
	struct vd_worker *worker = worker_of(env);
	struct vd_srq *srq = srq_cookie;
	const uint8_t *from = NULL;
	int rc = srq->broken ? -EINVAL : next_slot(&srq->ring, &from);

	if (rc > 0)
		return take_recv(worker, &srq->ring, srq->max_sge, from, slot, slot_bytes);
	if (rc < 0)
		break_srq(worker, srq);
	return rc;
}

static uint32_t srq_posted(void *env, void *srq_cookie)
{
	struct vd_srq *srq = srq_cookie;
	uint32_t posted = __atomic_load_n(&srq->ring.queue->prod, __ATOMIC_ACQUIRE) - srq->ring.cons;

	if (posted <= srq->ring.depth)
		return posted;
	break_srq(worker_of(env), srq);
	return 0;
}

static void srq_event(void *env, void *srq_cookie, enum tp_event event_type)
{
	struct vd_srq *srq = srq_cookie;

	if (event_type == TP_EVENT_SRQ_LIMIT)
		vd_note_async(worker_of(env), &srq->note, IBV_EVENT_SRQ_LIMIT_REACHED);
}

void vd_worker_ops(struct tp_ops *ops)
{
	ops->mem_read = mem_read;
	ops->mem_write = mem_write;
	ops->send_fetch = send_fetch;
	ops->recv_fetch = recv_fetch;
	ops->send_retire = send_retire;
	ops->complete = complete;
	ops->event = event;
	ops->srq_fetch = srq_fetch;
	ops->srq_posted = srq_posted;
	ops->srq_event = srq_event;
}

/* ---- polling ---- */

static uint32_t ring_bells(struct vd_session *session, struct tp *tp)
{
	struct vc_shm_header *header = vd_shm_header(&session->shm);
	uint32_t n = 0;

	for (uint32_t w = 0; w < session->bell_words; w++) {
		uint64_t bits;

		if (__atomic_load_n(&header->doorbell[w], __ATOMIC_RELAXED) == 0)
			continue;
		/* Sees all that the client stored before it set the bits. */
		for (bits = __atomic_exchange_n(&header->doorbell[w], 0, __ATOMIC_SEQ_CST);
			bits != 0; bits &= bits - 1) {
			struct vd_qp *qp = session->bell[w * 64 + (uint32_t)__builtin_ctzll(bits)];

			if (qp == NULL)
				continue;
			tp_qp_kick(tp, qp->tp_qp);
			n++;
		}
	}
	return n;
}

/* Queue pairs whose client wrote an impossible index end in the error state. */
static void fail_broken(struct vd_worker *worker, struct tp *tp)
{
	struct tp_qp_attr attr = {.state = TP_QPS_ERR};
	struct vd_qp *qp;

	while ((qp = TAILQ_FIRST(&worker->broken)) != NULL) {
		TAILQ_REMOVE(&worker->broken, qp, broken_link);
		qp->listed = false;
		if (!qp->broken)
			continue;
		/* No timers are started on the way to the error state, so no time is needed. */
		(void)tp_qp_modify(tp, qp->tp_qp, &attr, TP_QP_STATE, 0);
		tp_qp_kick(tp, qp->tp_qp);
		vd_note_async(worker, &qp->note, IBV_EVENT_QP_FATAL);
	}
}

uint32_t vd_worker_poll(struct vd_worker *worker, struct tp *tp)
{
	struct vd_session *session;
	uint32_t n = 0;

	TAILQ_FOREACH(session, &worker->sessions, worker_link)
	n += ring_bells(session, tp);
	if (!TAILQ_EMPTY(&worker->broken))
		fail_broken(worker, tp);
	if (!TAILQ_EMPTY(&worker->notes))
		vd_notes_retry(worker);
	return n;
}

int vd_worker_fd(const struct vd_worker *worker)
{
	return worker->epoll_fd;
}

static void set_need_wakeup(struct vd_session *session, bool sleeping)
{
	__atomic_store_n(
		&vd_shm_header(&session->shm)->need_wakeup, sleeping ? 1 : 0, __ATOMIC_RELAXED);
}

void vd_worker_sleep(struct vd_worker *worker, bool sleeping)
{
	struct epoll_event events[DRAIN_EVENTS];
	struct vd_session *session;

	if (worker->sleeping == sleeping)
		return;
	worker->sleeping = sleeping;
	worker->retry_now = true;
	TAILQ_FOREACH(session, &worker->sessions, worker_link)
	set_need_wakeup(session, sleeping);
	if (sleeping) {
		/* The client sets its bit and then reads need_wakeup: either it sees ours, or the
		 * poll that follows sees its bit. */
		atomic_thread_fence(memory_order_seq_cst);
		return;
	}
	/* The descriptors are edge triggered, so taking the events is enough. Reading the eventfds
	 * would let a client block us: it shares their file flags. */
	for (int i = 0; i < DRAIN_ROUNDS; i++) {
		if (epoll_wait(worker->epoll_fd, events, DRAIN_EVENTS, 0) < DRAIN_EVENTS)
			break;
	}
}

/* ---- sessions come and go ---- */

void vd_worker_attach(struct vd_worker *worker, struct vd_session *session)
{
	TAILQ_INSERT_TAIL(&worker->sessions, session, worker_link);
	set_need_wakeup(session, worker->sleeping);
	atomic_thread_fence(memory_order_seq_cst);
}

void vd_worker_detach(struct vd_worker *worker, struct vd_session *session)
{
	TAILQ_REMOVE(&worker->sessions, session, worker_link);
}

void vd_worker_forget_cq(struct vd_worker *worker, struct vd_cq *cq)
{
	vd_note_forget(worker, &cq->note);
}

void vd_worker_forget_srq(struct vd_worker *worker, struct vd_srq *srq)
{
	vd_note_forget(worker, &srq->note);
}

void vd_worker_forget_qp(struct vd_worker *worker, struct vd_qp *qp)
{
	qp->session->bell[qp->slot] = NULL;
	if (qp->listed)
		TAILQ_REMOVE(&worker->broken, qp, broken_link);
	qp->listed = false;
	vd_note_forget(worker, &qp->note);
}

void vd_worker_leave_target(struct vd_worker *worker, struct tp *tp, struct vd_qp *handle)
{
	struct vd_target *target = handle->target;

	vd_note_forget(worker, &handle->note);
	TAILQ_REMOVE(&target->handles, handle, target_link);
	if (TAILQ_EMPTY(&target->handles))
		tp_qp_destroy(tp, target->real.tp_qp);
}

static void ring_reset(struct vd_ring *ring)
{
	ring->cons = __atomic_load_n(&ring->queue->prod, __ATOMIC_ACQUIRE);
	ring->fetched = ring->cons;
	__atomic_store_n(&ring->queue->cons, ring->cons, __ATOMIC_RELEASE);
}

void vd_worker_reset_qp(struct vd_qp *qp)
{
	if (qp->sq.queue != NULL)
		ring_reset(&qp->sq);
	if (qp->rq.queue != NULL)
		ring_reset(&qp->rq);
	qp->broken = false;
}
