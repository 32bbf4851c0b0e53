/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who holds how much. Everything a client makes is charged to its session and to its user, the numeric id that
 * the kernel vouches for, and both have limits: one user's programs cannot take what others need.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <syslog.h>

#include "vd_internal.h"

#define LOG_PAUSE_NS   60000000000ull /* of each kind of thing of each user */
#define REFUSAL_NS     60000000000ull

static const struct {
	const char *what, *key;
} names[VD_RES_COUNT] = {
	[VD_RES_SESSIONS] = {"sessions", "max_sessions"},
	[VD_RES_PDS] = {"protection domains", "max_pds"},
	[VD_RES_MRS] = {"memory regions", "max_mrs"},
	[VD_RES_MWS] = {"memory windows", "max_mws"},
	[VD_RES_CQS] = {"completion queues", "max_cqs"},
	[VD_RES_SRQS] = {"shared receive queues", "max_srqs"},
	[VD_RES_QPS] = {"queue pairs", "max_qps"},
	[VD_RES_AHS] = {"address handles", "max_ahs"},
	[VD_RES_GROUPS] = {"multicast memberships", "max_groups"},
	[VD_RES_CHANNELS] = {"channels", "max_channels"},
	[VD_RES_CM_IDS] = {"connection ids", "max_cm_ids"},
	[VD_RES_LISTENERS] = {"listeners", "max_listeners"},
	[VD_RES_REGISTERED_BYTES] = {"registered bytes", "registered_bytes"},
	[VD_RES_RING_BYTES] = {"bytes of queues", "ring_bytes"},
};

/* ---- users ---- */

static struct vd_user *find_user(const struct vd *vd, uid_t uid)
{
	struct vd_user *user;

	LIST_FOREACH(user, &vd->users, link)
	{
		if (user->uid == uid)
			break;
	}
	return user;
}

static uint64_t now_ns(struct vd *vd)
{
	return vd->env.now_ns(vd->env_arg);
}

static bool was_logged_lately(struct vd *vd, uint64_t logged_ns)
{
	return logged_ns != 0 && now_ns(vd) - logged_ns < LOG_PAUSE_NS;
}

/* One without sessions is forgotten, unless it is still refused, or could fill the log by coming again. */
static void forget_user(struct vd *vd, struct vd_user *user)
{
	if (user->n_sessions != 0 || user->refused_until_ns > now_ns(vd) ||
		was_logged_lately(vd, user->last_logged_ns))
		return;
	LIST_REMOVE(user, link);
	free(user);
}

static void forget_old_users(struct vd *vd)
{
	struct vd_user *user, *next;

	for (user = LIST_FIRST(&vd->users); user != NULL; user = next) {
		next = LIST_NEXT(user, link);
		forget_user(vd, user);
	}
}

static struct vd_user *make_user(struct vd *vd, uid_t uid)
{
	struct vd_user *user = find_user(vd, uid);

	if (user != NULL)
		return user;
	forget_old_users(vd);
	user = calloc(1, sizeof(*user));
	if (user == NULL)
		return NULL;
	user->uid = uid;
	LIST_INSERT_HEAD(&vd->users, user, link);
	return user;
}

int vd_user_enter(struct vd_session *session)
{
	struct vd *vd = session->vd;
	struct vd_user *user = make_user(vd, session->uid);
	int err;

	if (user == NULL)
		return -ENOMEM;
	if (user->refused_until_ns > now_ns(vd))
		return -EACCES;
	user->n_sessions++;
	session->user = user;
	err = vd_charge(session, VD_RES_SESSIONS, 1);
	if (err == 0)
		return 0;
	vd_user_leave(session);
	return -EAGAIN;
}

void vd_user_leave(struct vd_session *session)
{
	struct vd_user *user = session->user;

	if (user == NULL)
		return;
	for (uint32_t r = 0; r < VD_RES_COUNT; r++)
		user->used[r] -= session->used[r];
	user->n_sessions--;
	session->user = NULL;
	forget_user(session->vd, user);
}

void vd_users_free(struct vd *vd)
{
	struct vd_user *user;

	while ((user = LIST_FIRST(&vd->users)) != NULL) {
		LIST_REMOVE(user, link);
		free(user);
	}
}

/* ---- charges ---- */

/* Programs are told by an errno only, so the log says which limit of whom. */
static int at_limit(struct vd_session *session, enum vd_resource res, bool of_user)
{
	struct vd_user *user = session->user;
	struct vd *vd = session->vd;
	uint64_t limit = of_user ? vd->user_limit[res] : vd->client_limit[res];

	vd->stats.at_limit++;
	if (was_logged_lately(vd, user->logged_ns[res]))
		return -ENOMEM;
	user->logged_ns[res] = user->last_logged_ns = now_ns(vd);
	vd_logf_rare(vd, LOG_WARNING, "user %u is at its limit of %" PRIu64 " %s%s (%s.%s), asked by process %d",
		(unsigned int)user->uid, limit, names[res].what, of_user ? "" : " for one client",
		of_user ? "user_limits" : "limits", names[res].key, (int)session->pid);
	return -ENOMEM;
}

int vd_charge(struct vd_session *session, enum vd_resource res, uint64_t n)
{
	const struct vd *vd = session->vd;
	struct vd_user *user = session->user;

	/* A limit may have been lowered since. */
	if (session->used[res] > vd->client_limit[res] || n > vd->client_limit[res] - session->used[res])
		return at_limit(session, res, false);
	if (user->used[res] > vd->user_limit[res] || n > vd->user_limit[res] - user->used[res])
		return at_limit(session, res, true);
	session->used[res] += n;
	user->used[res] += n;
	return 0;
}

void vd_discharge(struct vd_session *session, enum vd_resource res, uint64_t n)
{
	session->used[res] -= n;
	session->user->used[res] -= n;
}

uint64_t vd_limit(const struct vd *vd, enum vd_resource res)
{
	uint64_t client = vd->client_limit[res], user = vd->user_limit[res];

	return client < user ? client : user;
}

/* ---- limits ---- */

static void set_client_limits(struct vd *vd)
{
	const struct vd_limits *limits = &vd->limits;

	vd->client_limit[VD_RES_SESSIONS] = 1;
	vd->client_limit[VD_RES_PDS] = limits->max_pds;
	vd->client_limit[VD_RES_MRS] = limits->max_mrs;
	vd->client_limit[VD_RES_MWS] = limits->max_mws;
	vd->client_limit[VD_RES_CQS] = limits->max_cqs;
	vd->client_limit[VD_RES_SRQS] = limits->max_srqs;
	vd->client_limit[VD_RES_QPS] = limits->max_qps;
	vd->client_limit[VD_RES_AHS] = limits->max_ahs;
	vd->client_limit[VD_RES_GROUPS] = limits->max_groups;
	vd->client_limit[VD_RES_CHANNELS] = limits->max_channels;
	vd->client_limit[VD_RES_CM_IDS] = limits->max_cm_ids;
	vd->client_limit[VD_RES_LISTENERS] = limits->max_listeners;
	vd->client_limit[VD_RES_REGISTERED_BYTES] = limits->registered_bytes;
	vd->client_limit[VD_RES_RING_BYTES] = limits->shm_bytes;
}

static uint64_t or_default(uint64_t value, uint64_t fallback)
{
	return value != 0 ? value : fallback;
}

void vd_set_user_limits(struct vd *vd, const struct vd_user_limits *limits)
{
	uint64_t *to = vd->user_limit;

	set_client_limits(vd);
	to[VD_RES_SESSIONS] = or_default(limits->max_sessions, 256);
	to[VD_RES_PDS] = or_default(limits->max_pds, 8192);
	to[VD_RES_MRS] = or_default(limits->max_mrs, 32768);
	to[VD_RES_MWS] = or_default(limits->max_mws, 32768);
	to[VD_RES_CQS] = or_default(limits->max_cqs, 16384);
	to[VD_RES_SRQS] = or_default(limits->max_srqs, 4096);
	to[VD_RES_QPS] = or_default(limits->max_qps, 16384);
	to[VD_RES_AHS] = or_default(limits->max_ahs, 32768);
	to[VD_RES_GROUPS] = or_default(limits->max_groups, 1024);
	to[VD_RES_CHANNELS] = or_default(limits->max_channels, 4096);
	to[VD_RES_CM_IDS] = or_default(limits->max_cm_ids, 4096);
	to[VD_RES_LISTENERS] = or_default(limits->max_listeners, 1024);
	to[VD_RES_REGISTERED_BYTES] = or_default(limits->registered_bytes, 4ull << 40);
	to[VD_RES_RING_BYTES] = or_default(limits->ring_bytes, 8ull << 30);
}

/* ---- users that do harm ---- */

bool vd_access_now(const struct vd *vd, uint32_t who, struct vd_access *access)
{
	const struct vd_reach *reach = who < vd->n_workers ? &vd->workers[who].reach : &vd->reach;
	uint64_t seq = atomic_load_explicit(&reach->seq, memory_order_acquire);

	access->number = seq;
	access->pid = atomic_load_explicit(&reach->pid, memory_order_relaxed);
	access->uid = atomic_load_explicit(&reach->uid, memory_order_relaxed);
	atomic_thread_fence(memory_order_acquire);
	return (seq & 1) != 0 && atomic_load_explicit(&reach->seq, memory_order_relaxed) == seq;
}

uint32_t vd_shut_out(struct vd *vd, uid_t uid)
{
	struct vd_user *user = make_user(vd, uid);
	struct vd_session *session, *next;
	uint32_t n = 0;

	if (user != NULL)
		user->refused_until_ns = now_ns(vd) + REFUSAL_NS;
	for (session = TAILQ_FIRST(&vd->sessions); session != NULL; session = next) {
		next = TAILQ_NEXT(session, link);
		if (session->uid != uid)
			continue;
		vd_session_kill(session);
		n++;
	}
	return n;
}
