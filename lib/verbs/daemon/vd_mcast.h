/* SPDX-License-Identifier: BSD-3-Clause */
/* Multicast groups: who is a member of which, see vd_mcast.c. */
#ifndef VD_MCAST_H
#define VD_MCAST_H

#include "vd_internal.h"

/* A queue pair's membership of a group. The list at the worker is the worker's. */
struct vd_member {
	LIST_ENTRY(vd_member) bucket_link;
	TAILQ_ENTRY(vd_member) qp_link;
	struct vd_qp *qp;
	struct vd_group *group;
};

bool vd_addr_is_group(const struct wire_addr *addr);
/* A share in the port's membership, which begins with the first one. -EOPNOTSUPP: the daemon has no
 * multicast, -EINVAL: not a group's address, or what joining said. */
int vd_group_get(
	struct vd *vd, uint32_t device, const struct wire_addr *addr, struct vd_group **group);
/* Gives it back; the membership ends with the last one. */
void vd_group_put(struct vd *vd, struct vd_group *group);

/* In the worker's thread: no more copies for the queue pair. */
void vd_worker_forget_members(struct vd_qp *qp);
/* Afterwards: frees its memberships. */
void vd_members_free(struct vd_qp *qp);

#endif
