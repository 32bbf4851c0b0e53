/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions: one per connection to the socket, from accept to the death of its process. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <syslog.h>
#include <unistd.h>

#include "vd_internal.h"

#define REQUEST_BURST 16 /* requests of one session served in one go */
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

#define HEADER_BYTES offsetof(struct vc_request, hello)
#define UP_TO(member)                                                                              \
	(offsetof(struct vc_request, member) + sizeof(((struct vc_request *)0)->member))

static vd_op_fn hello_verbs, hello_cm;

enum need { NEED_NOTHING, NEED_NEW, NEED_VERBS, NEED_CM };

static const struct op {
	vd_op_fn *fn;
	enum need need;
	size_t bytes; /* shorter requests are refused */
} ops[] = {
	[VC_HELLO_VERBS] = {hello_verbs, NEED_NEW, UP_TO(hello)},
	[VC_HELLO_CM] = {hello_cm, NEED_NEW, UP_TO(hello)},
	[VC_LIST_DEVICES] = {vd_op_list_devices, NEED_NOTHING, HEADER_BYTES},
	[VC_QUERY_DEVICE] = {vd_op_query_device, NEED_VERBS, HEADER_BYTES},
	[VC_QUERY_PORT] = {vd_op_query_device, NEED_VERBS, HEADER_BYTES},
	[VC_QUERY_GIDS] = {vd_op_query_gids, NEED_VERBS, HEADER_BYTES},
	[VC_ALLOC_PD] = {vd_op_alloc_pd, NEED_VERBS, HEADER_BYTES},
	[VC_DEALLOC_PD] = {vd_op_dealloc_pd, NEED_VERBS, UP_TO(object)},
	[VC_REG_MR] = {vd_op_reg_mr, NEED_VERBS, UP_TO(reg_mr)},
	[VC_DEREG_MR] = {vd_op_dereg_mr, NEED_VERBS, UP_TO(object)},
	[VC_CREATE_COMP_CHANNEL] = {vd_op_create_comp_channel, NEED_VERBS, HEADER_BYTES},
	[VC_DESTROY_COMP_CHANNEL] = {vd_op_destroy_comp_channel, NEED_VERBS, UP_TO(object)},
	[VC_CREATE_CQ] = {vd_op_create_cq, NEED_VERBS, UP_TO(create_cq)},
	[VC_RESIZE_CQ] = {vd_op_resize_cq, NEED_VERBS, UP_TO(resize_cq)},
	[VC_DESTROY_CQ] = {vd_op_destroy_cq, NEED_VERBS, UP_TO(object)},
	[VC_CREATE_QP] = {vd_op_create_qp, NEED_VERBS, UP_TO(create_qp)},
	[VC_MODIFY_QP] = {vd_op_modify_qp, NEED_VERBS, UP_TO(modify_qp)},
	[VC_QUERY_QP] = {vd_op_query_qp, NEED_VERBS, UP_TO(object)},
	[VC_DESTROY_QP] = {vd_op_destroy_qp, NEED_VERBS, UP_TO(object)},
	[VC_CREATE_AH] = {vd_op_create_ah, NEED_VERBS, UP_TO(create_ah)},
	[VC_DESTROY_AH] = {vd_op_destroy_ah, NEED_VERBS, UP_TO(object)},
	[VC_CREATE_SRQ] = {vd_op_create_srq, NEED_VERBS, UP_TO(create_srq)},
	[VC_MODIFY_SRQ] = {vd_op_modify_srq, NEED_VERBS, UP_TO(modify_srq)},
	[VC_QUERY_SRQ] = {vd_op_query_srq, NEED_VERBS, UP_TO(object)},
	[VC_DESTROY_SRQ] = {vd_op_destroy_srq, NEED_VERBS, UP_TO(object)},
	[VC_ALLOC_MW] = {vd_op_alloc_mw, NEED_VERBS, UP_TO(alloc_mw)},
	[VC_DEALLOC_MW] = {vd_op_dealloc_mw, NEED_VERBS, UP_TO(object)},
	[VC_ATTACH_MCAST] = {vd_op_attach_mcast, NEED_VERBS, UP_TO(mcast)},
	[VC_DETACH_MCAST] = {vd_op_detach_mcast, NEED_VERBS, UP_TO(mcast)},
	[VC_REREG_MR] = {vd_op_rereg_mr, NEED_VERBS, UP_TO(rereg_mr)},
	[VC_OPEN_XRCD] = {vd_op_open_xrcd, NEED_VERBS, UP_TO(open_xrcd)},
	[VC_CLOSE_XRCD] = {vd_op_close_xrcd, NEED_VERBS, UP_TO(object)},
	[VC_OPEN_QP] = {vd_op_open_qp, NEED_VERBS, UP_TO(open_qp)},
	[VC_CM_CREATE_CHANNEL] = {vd_op_cm_create_channel, NEED_CM, HEADER_BYTES},
	[VC_CM_DESTROY_CHANNEL] = {vd_op_cm_destroy_channel, NEED_CM, UP_TO(object)},
	[VC_CM_CREATE_ID] = {vd_op_cm_create_id, NEED_CM, UP_TO(cm_create_id)},
	[VC_CM_DESTROY_ID] = {vd_op_cm_destroy_id, NEED_CM, UP_TO(object)},
	[VC_CM_BIND] = {vd_op_cm_bind, NEED_CM, UP_TO(cm_bind)},
	[VC_CM_LISTEN] = {vd_op_cm_listen, NEED_CM, UP_TO(cm_bind)},
	[VC_CM_RESOLVE_ADDR] = {vd_op_cm_resolve_addr, NEED_CM, UP_TO(cm_resolve)},
	[VC_CM_RESOLVE_ROUTE] = {vd_op_cm_resolve_route, NEED_CM, UP_TO(cm_resolve)},
	[VC_CM_CONNECT] = {vd_op_cm_connect, NEED_CM, UP_TO(cm_conn)},
	[VC_CM_ACCEPT] = {vd_op_cm_accept, NEED_CM, UP_TO(cm_conn)},
	[VC_CM_REJECT] = {vd_op_cm_reject, NEED_CM, UP_TO(cm_conn)},
	[VC_CM_ESTABLISH] = {vd_op_cm_establish, NEED_CM, UP_TO(object)},
	[VC_CM_DISCONNECT] = {vd_op_cm_disconnect, NEED_CM, UP_TO(object)},
	[VC_CM_MIGRATE] = {vd_op_cm_migrate, NEED_CM, UP_TO(cm_migrate)},
	[VC_CM_INIT_QP_ATTR] = {vd_op_cm_init_qp_attr, NEED_CM, UP_TO(cm_init_attr)},
	[VC_CM_QUERY_ID] = {vd_op_cm_query_id, NEED_CM, UP_TO(object)},
	[VC_CM_JOIN_MCAST] = {vd_op_cm_join_mcast, NEED_CM, UP_TO(cm_mcast)},
	[VC_CM_LEAVE_MCAST] = {vd_op_cm_leave_mcast, NEED_CM, UP_TO(cm_mcast)},
};

/* ---- answers ---- */

void vd_answer_fd(struct vd_answer *answer, int fd, bool close_fd)
{
	answer->fds[answer->reply.n_fds] = fd;
	answer->close_fd[answer->reply.n_fds] = close_fd;
	answer->reply.n_fds++;
}

static void send_answer(struct vd_session *session, struct vd_answer *answer)
{
	union {
		struct cmsghdr align;
		uint8_t bytes[CMSG_SPACE(sizeof(int) * VD_REPLY_FDS)];
	} control = {0};
	struct iovec iov = {.iov_base = &answer->reply, .iov_len = sizeof(answer->reply)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	uint32_t n = answer->reply.n_fds;

	if (n > 0) {
		struct cmsghdr *cmsg;

		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * n);
		memcpy(CMSG_DATA(cmsg), answer->fds, sizeof(int) * n);
	}
	/* A client that does not read its answers would have to be waited for: end it. */
	if (sendmsg(session->sock.fd, &msg, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		session->doomed = true;
	for (uint32_t i = 0; i < n; i++) {
		if (answer->close_fd[i])
			close(answer->fds[i]);
	}
}

static void finish(struct vd_session *session, const struct vc_request *request,
	struct vd_answer *answer, int status)
{
	struct vd *vd = session->vd;

	answer->reply.op = request->op;
	answer->reply.seq = request->seq;
	answer->reply.status = status;
	switch (status) {
	case -EINVAL:
	case -EBADMSG:
	case -ENOSYS:
	case -ENOTCONN:
	case -EISCONN:
	case -EPROTONOSUPPORT:
		vd->stats.bad_requests++;
		break;
	default:
		break;
	}
	session->busy = false;
	send_answer(session, answer);
}

void vd_answer_later(struct vd_session *session, const struct vc_request *request, int status,
	struct vd_answer *answer)
{
	finish(session, request, answer, status);
	if (session->serving)
		return;
	if (session->doomed)
		vd_session_kill(session);
	else
		vd_watch_mod(session->vd, &session->sock, EPOLLIN);
}

int vd_notify_pair(int *ours, int *theirs)
{
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
		return -errno;
	*ours = fds[0];
	*theirs = fds[1];
	return 0;
}

/* ---- requests ---- */

static int check_request(
	const struct vd_session *session, const struct vc_request *request, size_t n, int flags)
{
	const struct op *op;

	if (n < HEADER_BYTES || (flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		return -EBADMSG; /* too short, too long, or with descriptors nobody asked for */
	if (request->op >= sizeof(ops) / sizeof(ops[0]) || ops[request->op].fn == NULL)
		return -ENOSYS;
	op = &ops[request->op];
	if (n < op->bytes)
		return -EBADMSG;
	if (op->need == NEED_NEW && session->kind != VD_KIND_NEW)
		return -EISCONN;
	if ((op->need == NEED_VERBS && session->kind != VD_KIND_VERBS) ||
		(op->need == NEED_CM && session->kind != VD_KIND_CM))
		return -ENOTCONN;
	return 0;
}

/* Serves one request; false: no more now. */
static bool serve_one(struct vd_session *session)
{
	struct vc_request request = {0};
	struct iovec iov = {.iov_base = &request, .iov_len = sizeof(request)};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct vd_answer answer = {0};
	ssize_t n = recvmsg(session->sock.fd, &msg, MSG_DONTWAIT);
	int status;

	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			session->doomed = true;
		return false;
	}
	session->vd->stats.requests++;
	session->busy = true;
	status = check_request(session, &request, (size_t)n, msg.msg_flags);
	if (status == 0)
		status = ops[request.op].fn(session, &request, &answer);
	if (status != VD_DEFERRED)
		finish(session, &request, &answer, status);
	return !session->busy && !session->doomed;
}

static void sock_ready(struct vd_watch *watch, uint32_t events)
{
	struct vd_session *session = watch->arg;

	session->serving = true;
	session->took_long = false;
	if ((events & (EPOLLHUP | EPOLLERR)) != 0)
		session->doomed = true;
	for (int i = 0; i < REQUEST_BURST && !session->busy && !session->doomed && !session->took_long; i++) {
		if (!serve_one(session))
			break;
	}
	session->serving = false;
	if (session->doomed)
		vd_session_kill(session);
	else if (session->busy)
		vd_watch_mod(session->vd, &session->sock, 0); /* hang-ups are still told */
}

static void process_ready(struct vd_watch *watch, uint32_t events)
{
	(void)events;
	vd_session_kill(watch->arg);
}

/* ---- hello ---- */

static int check_hello(const struct vc_request *request)
{
	if (request->hello.magic != VC_MAGIC)
		return -EINVAL;
	return request->hello.version == VC_VERSION ? 0 : -EPROTONOSUPPORT;
}

/* Whoever connects and then runs a set-uid program must not get hold of what is that one's. Such a program is not
 * dumpable, and then this file is root's. To be looked at after an open: had the process ended since, what was
 * opened would be gone with it. */
int vd_session_check_process(const struct vd_session *session)
{
	struct pollfd process = {.fd = session->process.fd, .events = POLLIN};
	struct stat st;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)session->pid);
	if (stat(path, &st) != 0)
		return -errno;
	if (st.st_uid != session->uid)
		return -EACCES;
	return poll(&process, 1, 0) != 0 ? -ESRCH : 0;
}

/* The client's address space, as it is now: after an exec() the descriptor reads nothing. */
static int open_memory(struct vd_session *session)
{
	char path[32];
	int err;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)session->pid);
	session->mem_fd = open(path, O_RDWR | O_CLOEXEC);
	if (session->mem_fd < 0)
		return -errno;
	err = vd_session_check_process(session);
	if (err != 0) {
		close(session->mem_fd);
		session->mem_fd = -1;
	}
	return err;
}

/* Programs have no words for this, so the log must. */
static int reach_memory(struct vd_session *session)
{
	int err = open_memory(session);

	if (err != 0)
		vd_logf(session->vd, LOG_WARNING,
			"no access to the memory of process %d of user %u: %s (needs CAP_SYS_PTRACE, and for other "
			"users' programs CAP_DAC_OVERRIDE)",
			(int)session->pid, (unsigned int)session->uid, strerror(-err));
	return err;
}

static void attach_call(void *arg)
{
	struct vd_session *session = arg;

	vd_worker_attach(&session->vd->workers[session->worker], session);
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void stop_wakeups(struct vd_session *session)
{
	if (session->wake_fd < 0)
		return;
	/* The client holds it too, so closing ours would not take it off the list. */
	(void)epoll_ctl(session->vd->workers[session->worker].epoll_fd, EPOLL_CTL_DEL,
		session->wake_fd, NULL);
	close_fd(&session->wake_fd);
}

static int watch_wakeups(struct vd_session *session)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET};

	session->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (session->wake_fd < 0)
		return -errno;
	if (epoll_ctl(session->vd->workers[session->worker].epoll_fd, EPOLL_CTL_ADD,
		    session->wake_fd, &ev) != 0)
		return -errno;
	return 0;
}

static void session_tables(struct vd_session *session)
{
	vd_table_init(&session->pds, session, VD_RES_PDS);
	vd_table_init(&session->mrs, session, VD_RES_MRS);
	vd_table_init(&session->mws, session, VD_RES_MWS);
	vd_table_init(&session->cqs, session, VD_RES_CQS);
	vd_table_init(&session->srqs, session, VD_RES_SRQS);
	vd_table_init(&session->qps, session, VD_RES_QPS);
	vd_table_init(&session->xrcds, session, VD_RES_PDS);
	vd_table_init(&session->ahs, session, VD_RES_AHS);
	vd_table_init(&session->comp_channels, session, VD_RES_CHANNELS);
	vd_table_init(&session->cm_channels, session, VD_RES_CHANNELS);
	vd_table_init(&session->cm_ids, session, VD_RES_CM_IDS);
}

static int hello_verbs(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd *vd = session->vd;
	int shm_fd = -1, theirs = -1;
	int err = check_hello(request);

	if (err == 0)
		err = vd_device_find(vd, request->hello.device, &session->device);
	if (err == 0)
		err = reach_memory(session);
	if (err != 0)
		return err;
	session->worker = vd->next_worker;
	err = vd_shm_create(&session->shm, vd->limits.shm_bytes, &shm_fd);
	if (err == 0)
		err = watch_wakeups(session);
	if (err == 0)
		err = vd_notify_pair(&session->async_fd, &theirs);
	if (err != 0) {
		close_fd(&session->mem_fd);
		stop_wakeups(session);
		if (session->shm.base != NULL)
			close_fd(&shm_fd);
		vd_shm_destroy(&session->shm);
		return err;
	}
	vd->next_worker = (vd->next_worker + 1) % vd->n_workers;
	session->kind = VD_KIND_VERBS;
	vd->stats.contexts++;
	vd_call(session, attach_call, session);
	vd_answer_fd(answer, shm_fd, true);
	vd_answer_fd(answer, session->wake_fd, false);
	vd_answer_fd(answer, theirs, true);
	answer->reply.hello.shm_bytes = session->shm.bytes;
	answer->reply.hello.version = VC_VERSION;
	answer->reply.hello.num_comp_vectors = 1;
	vd_device_attr(vd, session->device, &answer->reply.hello.attr);
	return 0;
}

static int hello_cm(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	int err = check_hello(request);
	uint32_t first = 0;

	if (err != 0)
		return err;
	session->kind = VD_KIND_CM;
	answer->reply.hello.version = VC_VERSION;
	(void)vd_device_find(session->vd, "", &first);
	vd_device_attr(session->vd, first, &answer->reply.hello.attr);
	return 0;
}

/* ---- life ---- */

static int find_slot(struct vd *vd, uint32_t *slot)
{
	uint32_t i;

	for (i = 0; i < vd->limits.max_sessions; i++) {
		if (vd->slots_used[i] == 0) {
			*slot = i;
			return 0;
		}
	}
	return -EAGAIN;
}

/* A descriptor of the process at the other end, and who it is. */
static int identify(struct vd_session *session)
{
	struct ucred cred;
	socklen_t n = sizeof(cred);
	int fd;

	if (getsockopt(session->sock.fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) != 0)
		return -errno;
	if (cred.pid <= 0)
		return -ESRCH; /* of a process namespace we cannot see into */
	session->pid = cred.pid;
	session->uid = cred.uid;
	n = sizeof(fd);
	/* From the socket where the kernel can (6.5): a process ID may have been used again
	 * meanwhile. */
	if (getsockopt(session->sock.fd, SOL_SOCKET, SO_PEERPIDFD, &fd, &n) != 0)
		fd = (int)syscall(SYS_pidfd_open, cred.pid, 0);
	if (fd < 0)
		return -errno;
	session->process.fd = fd;
	return 0;
}

/* Whatever it asks first, this is the answer: programs then know why. */
static void tell_refusal(int fd, int err)
{
	const struct vc_reply reply = {.op = VC_REFUSED, .status = err};

	(void)send(fd, &reply, sizeof(reply), MSG_DONTWAIT | MSG_NOSIGNAL);
}

static int session_start(struct vd *vd, int fd)
{
	struct vd_session *session = calloc(1, sizeof(*session));
	int err;

	if (session == NULL) {
		close(fd);
		return -ENOMEM;
	}
	session->vd = vd;
	session->mem_fd = session->wake_fd = session->async_fd = -1;
	session->sock = (struct vd_watch){.fd = fd, .ready = sock_ready, .arg = session};
	session->process = (struct vd_watch){.fd = -1, .ready = process_ready, .arg = session};
	session_tables(session);
	err = identify(session);
	if (err == 0)
		err = vd_user_enter(session);
	if (err == 0)
		err = find_slot(vd, &session->slot);
	if (err == 0)
		err = vd_watch_add(vd, &session->sock, EPOLLIN);
	if (err == 0)
		err = vd_watch_add(vd, &session->process, EPOLLIN);
	if (err != 0) {
		tell_refusal(fd, err);
		vd_user_leave(session);
		vd_watch_del(vd, &session->sock);
		vd_watch_del(vd, &session->process);
		free(session);
		return err;
	}
	vd->slots_used[session->slot] = 1;
	vd->stats.sessions++;
	TAILQ_INSERT_TAIL(&vd->sessions, session, link);
	return 0;
}

/* Out of descriptors: with the spare one the caller is told by a closed connection, not left
 * waiting. */
static void refuse_one(struct vd *vd)
{
	close_fd(&vd->spare_fd);
	vd->spare_fd = accept4(vd->listener.fd, NULL, NULL, SOCK_CLOEXEC);
	close_fd(&vd->spare_fd);
	vd->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

void vd_session_accept(struct vd_watch *watch, uint32_t events)
{
	struct vd *vd = watch->arg;
	int fd = accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int err;

	(void)events;
	if (fd < 0) {
		err = -errno;
		if (err != -EMFILE && err != -ENFILE)
			return; /* gone already */
		refuse_one(vd);
	} else {
		err = session_start(vd, fd);
	}
	if (err == 0)
		return;
	vd->stats.refused_sessions++;
	vd_logf(vd, LOG_WARNING, "client refused: %s", strerror(-err));
}

void vd_session_kill(struct vd_session *session)
{
	struct vd *vd = session->vd;
	struct vd_resolving *resolving;

	TAILQ_REMOVE(&vd->sessions, session, link);
	vd_watch_del(vd, &session->sock);
	vd_watch_del(vd, &session->process);
	TAILQ_FOREACH(resolving, &vd->resolvings, link)
	{
		if (resolving->session == session)
			resolving->session = NULL;
	}
	if (session->kind == VD_KIND_VERBS) {
		vd_objects_free(session);
		vd->stats.contexts--;
	} else if (session->kind == VD_KIND_CM) {
		vd_cm_session_free(session);
	}
	vd_table_fini(&session->pds);
	vd_table_fini(&session->mrs);
	vd_table_fini(&session->mws);
	vd_table_fini(&session->cqs);
	vd_table_fini(&session->srqs);
	vd_table_fini(&session->qps);
	vd_table_fini(&session->xrcds);
	vd_table_fini(&session->ahs);
	vd_table_fini(&session->comp_channels);
	vd_table_fini(&session->cm_channels);
	vd_table_fini(&session->cm_ids);
	close_fd(&session->mem_fd);
	stop_wakeups(session);
	close_fd(&session->async_fd);
	vd_shm_destroy(&session->shm);
	vd->slots_used[session->slot] = 0;
	vd->stats.sessions--;
	vd_user_leave(session);
	free(session);
}
