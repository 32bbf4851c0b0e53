/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups (IBTA vol. 1, 10.5.2; annex A17: a group's GID is its IP address). The port is a member
 * while anybody needs the group; the worker knows which of its queue pairs want a copy.
 */
#include <stdlib.h>

#include "vd_mcast.h"

bool vd_addr_is_group(const struct wire_addr *addr)
{
	return wire_addr_is_v4(addr) ? (addr->b[12] & 0xf0) == 0xe0 : addr->b[0] == 0xff;
}

/* ---- memberships of ports ---- */

struct vd_group {
	TAILQ_ENTRY(vd_group) link;
	uint32_t device, refs;
	struct wire_addr addr;
};

int vd_group_get(
	struct vd *vd, uint32_t device, const struct wire_addr *addr, struct vd_group **out)
{
	struct vd_group *group;
	int err;

	if (vd->env.join_group == NULL)
		return -EOPNOTSUPP;
	if (!vd_addr_is_group(addr))
		return -EINVAL;
	TAILQ_FOREACH(group, &vd->groups, link)
	{
		if (group->device == device && vd_addr_equal(&group->addr, addr))
			break;
	}
	if (group == NULL) {
		group = calloc(1, sizeof(*group));
		if (group == NULL)
			return -ENOMEM;
		group->device = device;
		group->addr = *addr;
		err = vd->env.join_group(vd->env_arg, device, addr);
		if (err != 0) {
			free(group);
			return err;
		}
		TAILQ_INSERT_TAIL(&vd->groups, group, link);
		vd->stats.groups++;
	}
	group->refs++;
	*out = group;
	return 0;
}

void vd_group_put(struct vd *vd, struct vd_group *group)
{
	if (--group->refs != 0)
		return;
	vd->env.leave_group(vd->env_arg, group->device, &group->addr);
	TAILQ_REMOVE(&vd->groups, group, link);
	vd->stats.groups--;
	free(group);
}

/* ---- memberships of queue pairs ---- */

/* A group's own bits are in its last bytes, those of most IPv6 ones too. */
static uint32_t bucket_of(const struct wire_addr *addr)
{
	return (addr->b[15] ^ addr->b[14]) % VD_MEMBER_BUCKETS;
}

struct member_call {
	struct vd_worker *worker;
	struct vd_member *member;
};

static void add_call(void *arg)
{
	const struct member_call *call = arg;
	struct vd_member *member = call->member;

	LIST_INSERT_HEAD(
		&call->worker->members[bucket_of(&member->group->addr)], member, bucket_link);
}

static void remove_call(void *arg)
{
	const struct member_call *call = arg;

	LIST_REMOVE(call->member, bucket_link);
}

void vd_worker_forget_members(struct vd_qp *qp)
{
	struct vd_member *member;

	TAILQ_FOREACH(member, &qp->members, qp_link)
	LIST_REMOVE(member, bucket_link);
}

uint32_t vd_worker_members(struct vd_worker *worker, uint32_t device, const struct wire_addr *group,
	vd_member_fn fn, void *arg)
{
	const struct vd_member *member;
	uint32_t n = 0;

	LIST_FOREACH(member, &worker->members[bucket_of(group)], bucket_link)
	{
		if (member->group->device != device || !vd_addr_equal(&member->group->addr, group))
			continue;
		fn(arg, member->qp->qpn);
		n++;
	}
	return n;
}

static struct vd_member *find_member(const struct vd_qp *qp, const uint8_t gid[16])
{
	struct vd_member *member;

	TAILQ_FOREACH(member, &qp->members, qp_link)
	{
		if (memcmp(member->group->addr.b, gid, sizeof(member->group->addr.b)) == 0)
			break;
	}
	return member;
}

static void free_member(struct vd_session *session, struct vd_member *member)
{
	TAILQ_REMOVE(&member->qp->members, member, qp_link);
	vd_group_put(session->vd, member->group);
	vd_discharge(session, VD_RES_GROUPS, 1);
	session->vd->stats.members--;
	free(member);
}

void vd_members_free(struct vd_qp *qp)
{
	struct vd_member *member;

	while ((member = TAILQ_FIRST(&qp->members)) != NULL)
		free_member(qp->session, member);
}

int vd_op_attach_mcast(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_qp *qp = vd_table_get(&session->qps, request->mcast.qp);
	struct member_call call = {.worker = &session->vd->workers[session->worker]};
	struct wire_addr addr;
	int err;

	(void)answer;
	if (qp == NULL || qp->type != TP_QPT_UD)
		return -EINVAL;
	if (find_member(qp, request->mcast.gid) != NULL)
		return 0;
	err = vd_charge(session, VD_RES_GROUPS, 1);
	if (err != 0)
		return err;
	call.member = calloc(1, sizeof(*call.member));
	if (call.member == NULL) {
		err = -ENOMEM;
		goto discharge;
	}
	memcpy(addr.b, request->mcast.gid, sizeof(addr.b));
	err = vd_group_get(session->vd, session->device, &addr, &call.member->group);
	if (err != 0)
		goto free_member;
	call.member->qp = qp;
	TAILQ_INSERT_TAIL(&qp->members, call.member, qp_link);
	session->vd->stats.members++;
	vd_call(session, add_call, &call);
	return 0;

free_member:
	free(call.member);
discharge:
	vd_discharge(session, VD_RES_GROUPS, 1);
	return err;
}

int vd_op_detach_mcast(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_qp *qp = vd_table_get(&session->qps, request->mcast.qp);
	struct member_call call = {.worker = &session->vd->workers[session->worker]};

	(void)answer;
	if (qp == NULL)
		return -EINVAL;
	call.member = find_member(qp, request->mcast.gid);
	if (call.member == NULL)
		return -EINVAL;
	vd_call(session, remove_call, &call);
	free_member(session, call.member);
	return 0;
}
