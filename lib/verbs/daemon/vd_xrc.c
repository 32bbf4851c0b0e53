/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * XRC domains and XRC target queue pairs (IBTA vol. 1, annex A14): what processes share. A domain is known by a file,
 * and having the file open is the right to open the domain. All that is in a domain lives at one worker, that of
 * the first context that opened it; as a context is at one worker too, one that opens the domain later moves there,
 * which it can while it has no objects.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <syslog.h>
#include <unistd.h>

#include "vd_internal.h"

/* ---- domains ---- */

/* The file that the client has open as fd. No file system is asked: it may be the client's own (FUSE) and keep us
 * waiting. So the descriptor is one for the path only, and what is known about the file will do. */
static int find_file(const struct vd_session *session, int fd, struct vd_xrcd *file)
{
	struct vd_file open_as;
	struct statx st;
	char path[48];
	int err;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)session->pid, fd);
	file->fd = open(path, O_PATH | O_CLOEXEC);
	if (file->fd < 0)
		return errno == ENOENT ? -EBADF : -errno;
	err = vd_file_check(session, (uint32_t)fd, file->fd, &open_as);
	/* A path descriptor can be had of files that the client may not open. */
	if (err == 0 && (open_as.flags & O_PATH) != 0)
		err = -EBADF;
	if (err == 0)
		err = vd_session_check_process(session);
	if (err == 0 && statx(file->fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_INO, &st) != 0)
		err = -errno;
	if (err != 0) {
		close(file->fd);
		return err;
	}
	file->dev = (uint64_t)st.stx_dev_major << 32 | st.stx_dev_minor;
	file->ino = st.stx_ino;
	return 0;
}

static struct vd_xrcd *find_domain(const struct vd_session *session, const struct vd_xrcd *file)
{
	struct vd_xrcd *xrcd;

	LIST_FOREACH(xrcd, &session->vd->xrcds, link)
	{
		if (xrcd->fd >= 0 && xrcd->device == session->device && xrcd->dev == file->dev &&
			xrcd->ino == file->ino)
			return xrcd;
	}
	return NULL;
}

/* A new domain; *file has the descriptor, which is its own from then on. */
static struct vd_xrcd *new_domain(struct vd_session *session, const struct vd_xrcd *file)
{
	struct vd *vd = session->vd;
	struct vd_xrcd *xrcd = malloc(sizeof(*xrcd));

	if (xrcd == NULL)
		return NULL;
	*xrcd = *file;
	xrcd->device = session->device;
	xrcd->worker = session->worker;
	/* It would take a client very long to come round to a number that is in use. */
	if (++vd->last_xrcd == 0)
		vd->last_xrcd = 1;
	xrcd->number = vd->last_xrcd;
	LIST_INIT(&xrcd->targets);
	LIST_INSERT_HEAD(&vd->xrcds, xrcd, link);
	vd->stats.xrcds++;
	return xrcd;
}

void vd_xrcd_put(struct vd *vd, struct vd_xrcd *xrcd)
{
	if (--xrcd->refs != 0)
		return;
	LIST_REMOVE(xrcd, link);
	if (xrcd->fd >= 0)
		close(xrcd->fd);
	vd->stats.xrcds--;
	free(xrcd);
}

/* The file's domain or, as Linux does it, -EAGAIN: there is none and O_CREAT is not set, -EINVAL: there is one and
 * O_EXCL is. */
static int choose_domain(struct vd_session *session, const struct vc_request *request, struct vd_xrcd **out)
{
	uint32_t oflags = request->open_xrcd.oflags;
	struct vd_xrcd file = {.fd = -1};
	int err = 0;

	*out = NULL;
	if (request->open_xrcd.fd != -1) {
		err = find_file(session, request->open_xrcd.fd, &file);
		if (err != 0)
			return err;
		*out = find_domain(session, &file);
		if (*out == NULL && (oflags & O_CREAT) == 0)
			err = -EAGAIN;
		else if (*out != NULL && (oflags & O_EXCL) != 0)
			err = -EINVAL;
	}
	if (err == 0 && *out == NULL) {
		*out = new_domain(session, &file);
		if (*out != NULL)
			return 0;
		err = -ENOMEM;
	}
	if (file.fd >= 0)
		close(file.fd);
	return err;
}

/* ---- moving a context ---- */

static void attach_call(void *arg)
{
	struct vd_session *session = arg;

	vd_worker_attach(&session->vd->workers[session->worker], session);
}

static void detach_call(void *arg)
{
	struct vd_session *session = arg;

	vd_worker_detach(&session->vd->workers[session->worker], session);
}

/* Notifications that wait for room in a socket do so at the worker. */
static bool has_notes(const struct vd_session *session)
{
	const struct vd_cq *cq;
	uint32_t i;

	for (i = 0; (cq = vd_table_next(&session->cqs, &i)) != NULL;) {
		if (cq->note.queued)
			return true;
	}
	return false;
}

/* It is of the worker that is left, which has no queue pair of the context any more. */
static void drop_shaper_call(void *arg)
{
	struct vd_session *session = arg;

	if (session->shaper != NULL)
		(void)tp_shaper_destroy(vd_tp(session), session->shaper);
	session->shaper = NULL;
}

/* Takes a context that has nothing at its worker to another one. -EBUSY: it has. */
static int move(struct vd_session *session, uint32_t worker)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
	struct vd_worker *workers = session->vd->workers;

	if ((session->mrs.live | session->mws.live | session->srqs.live | session->qps.live |
		    session->ahs.live | session->xrcds.live) != 0)
		return -EBUSY;
	if (epoll_ctl(workers[worker].epoll_fd, EPOLL_CTL_ADD, session->wake_fd, &ev) != 0)
		return -errno;
	vd_call(session, detach_call, session);
	/* From here on nobody adds one. */
	if (has_notes(session)) {
		vd_call(session, attach_call, session);
		(void)epoll_ctl(workers[worker].epoll_fd, EPOLL_CTL_DEL, session->wake_fd, NULL);
		return -EBUSY;
	}
	(void)epoll_ctl(workers[session->worker].epoll_fd, EPOLL_CTL_DEL, session->wake_fd, NULL);
	vd_call(session, drop_shaper_call, session);
	session->worker = worker;
	vd_call(session, attach_call, session);
	return 0;
}

/* Brings the context to where the domain is. */
static int settle(struct vd_session *session, const struct vd_xrcd *xrcd)
{
	int err;

	if (session->worker == xrcd->worker)
		return 0;
	err = move(session, xrcd->worker);
	if (err == 0)
		return 0;
	vd_logf(session->vd, LOG_WARNING,
		"process %d cannot open an XRC domain that is served by another worker: it has objects already",
		(int)session->pid);
	return -EXDEV;
}

/* ---- open and close ---- */

int vd_op_open_xrcd(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_xrcd_open *open;
	struct vd_xrcd *xrcd;
	int err;

	if ((request->open_xrcd.oflags & ~(uint32_t)(O_CREAT | O_EXCL)) != 0 || request->open_xrcd.fd < -1)
		return -EINVAL;
	err = choose_domain(session, request, &xrcd);
	if (err != 0)
		return err;
	xrcd->refs++;
	err = settle(session, xrcd);
	if (err != 0)
		goto put;
	err = -ENOMEM;
	open = calloc(1, sizeof(*open));
	if (open == NULL)
		goto put;
	err = vd_table_add(&session->xrcds, open, &open->handle);
	if (err != 0) {
		free(open);
		goto put;
	}
	open->xrcd = xrcd;
	answer->reply.object.handle = open->handle;
	return 0;

put:
	vd_xrcd_put(session->vd, xrcd);
	return err;
}

int vd_op_close_xrcd(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_xrcd_open *open = vd_table_get(&session->xrcds, request->object.handle);

	(void)answer;
	if (open == NULL)
		return -EINVAL;
	if (open->refs != 0)
		return -EBUSY;
	vd_table_del(&session->xrcds, open->handle);
	vd_xrcd_put(session->vd, open->xrcd);
	free(open);
	return 0;
}

/* ---- target queue pairs ---- */

struct target_call {
	struct vd_session *session;
	struct vd_target *target;
	struct vd_qp *handle;
	struct tp_qp_init init;
	int err;
};

static void create_call(void *arg)
{
	struct target_call *call = arg;
	struct vd_qp *real = &call->target->real;

	call->err = tp_qp_create(vd_tp(call->session), &call->init, &real->tp_qp, &real->qpn);
	if (call->err == 0)
		tp_qp_set_rate(vd_tp(call->session), real->tp_qp, call->session->vd->limits.qp_mbps * VD_MBPS);
}

static int new_target(struct vd_session *session, struct vd_xrcd *xrcd, struct vd_target **out)
{
	const struct vd_device *device = &session->vd->devices[session->device];
	struct target_call call = {.session = session, .target = calloc(1, sizeof(struct vd_target))};

	if (call.target == NULL)
		return -ENOMEM;
	call.target->real.type = TP_QPT_XRC_TGT;
	TAILQ_INIT(&call.target->handles);
	call.init = (struct tp_qp_init){
		.type = TP_QPT_XRC_TGT,
		.xrcd = xrcd->number,
		.reorder_pkts = device->reorder_pkts,
		.reorder_ns = device->reorder_ns,
		.cookie = &call.target->real,
	};
	vd_call(session, create_call, &call);
	if (call.err != 0) {
		free(call.target);
		return call.err;
	}
	LIST_INSERT_HEAD(&xrcd->targets, call.target, link);
	*out = call.target;
	return 0;
}

static void join_call(void *arg)
{
	struct target_call *call = arg;

	TAILQ_INSERT_TAIL(&call->target->handles, call->handle, target_link);
}

static struct vd_qp *new_handle(struct vd_session *session, uint64_t cookie)
{
	struct vd_qp *qp = calloc(1, sizeof(*qp));

	if (qp == NULL)
		return NULL;
	qp->session = session;
	qp->type = TP_QPT_XRC_TGT;
	TAILQ_INIT(&qp->members);
	qp->note.session = session;
	qp->note.cookie = cookie;
	qp->note.comp_fd = -1;
	if (vd_table_add(&session->qps, qp, &qp->handle) != 0) {
		free(qp);
		return NULL;
	}
	qp->slot = vd_handle_index(qp->handle);
	return qp;
}

static void join(struct vd_qp *qp, struct vd_xrcd_open *open, struct vd_target *target, struct vd_answer *answer)
{
	struct target_call call = {.target = target, .handle = qp};

	qp->xrcd = open;
	qp->target = target;
	qp->qpn = target->real.qpn;
	open->refs++;
	target->refs++;
	vd_call(qp->session, join_call, &call);
	qp->session->vd->stats.qps++;
	answer->reply.qp.handle = qp->handle;
	answer->reply.qp.qpn = qp->qpn;
	answer->reply.qp.slot = qp->slot;
}

int vd_target_create(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_xrcd_open *open = vd_table_get(&session->xrcds, request->create_qp.xrcd);
	struct vd_target *target = NULL;
	struct vd_qp *qp;
	int err;

	if (open == NULL)
		return -EINVAL;
	qp = new_handle(session, request->create_qp.cookie);
	if (qp == NULL)
		return -ENOMEM;
	err = new_target(session, open->xrcd, &target);
	if (err != 0) {
		vd_table_del(&session->qps, qp->handle);
		free(qp);
		return err;
	}
	join(qp, open, target, answer);
	return 0;
}

static struct vd_target *find_target(const struct vd_xrcd *xrcd, uint32_t qpn)
{
	struct vd_target *target;

	LIST_FOREACH(target, &xrcd->targets, link)
	{
		if (target->real.qpn == qpn)
			return target;
	}
	return NULL;
}

int vd_op_open_qp(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_xrcd_open *open = vd_table_get(&session->xrcds, request->open_qp.xrcd);
	struct vd_target *target = open != NULL ? find_target(open->xrcd, request->open_qp.qpn) : NULL;
	struct vd_qp *qp;

	if (target == NULL)
		return -EINVAL;
	qp = new_handle(session, request->open_qp.cookie);
	if (qp == NULL)
		return -ENOMEM;
	join(qp, open, target, answer);
	return 0;
}

void vd_target_put(struct vd_session *session, struct vd_qp *handle)
{
	struct vd_target *target = handle->target;

	handle->xrcd->refs--;
	if (--target->refs != 0)
		return;
	LIST_REMOVE(target, link);
	vd_release_link(session->vd, target->real.link);
	free(target);
}
