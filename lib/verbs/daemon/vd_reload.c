/* SPDX-License-Identifier: BSD-3-Clause */
/* What changes while there are clients. */
#include <sys/stat.h>
#include <unistd.h>

#include "vd_cm.h"
#include "vd_mcast.h"

/* What clients have stays theirs, also where it is more than they would get now. */
void vd_set_limits(struct vd *vd, const struct vd_limits *limits, const struct vd_user_limits *user_limits)
{
	uint32_t max_sessions = vd->limits.max_sessions;

	vd->limits = *limits;
	vd_fill_limits(&vd->limits);
	vd->limits.max_sessions = max_sessions;
	vd_set_user_limits(vd, user_limits);
}

int vd_set_socket_rights(struct vd *vd, mode_t mode, gid_t gid)
{
	/* As when it was made, a wider mode must not be there for the wrong group. */
	if (chmod(vd->socket_path, 0) != 0 || chown(vd->socket_path, (uid_t)-1, gid != (gid_t)-1 ? gid : getegid()) != 0 ||
		chmod(vd->socket_path, mode != 0 ? mode : 0660) != 0)
		return -errno;
	return 0;
}

void vd_set_multipath(struct vd *vd, const struct vd_multipath *multipath)
{
	vd->multipath = multipath;
}

/* ---- devices ---- */

static bool has_id_on(const struct vd_session *session, uint32_t device)
{
	const struct vd_cm_id *id;

	for (uint32_t i = 0; (id = vd_table_next(&session->cm_ids, &i)) != NULL;) {
		if (id->has_device && id->device == device)
			return true;
	}
	return false;
}

uint32_t vd_device_users(const struct vd *vd, uint32_t device, pid_t *pid)
{
	const struct vd_session *session;
	uint32_t n = 0;

	TAILQ_FOREACH(session, &vd->sessions, link)
	{
		if (session->kind == VD_KIND_VERBS ? session->device != device : !has_id_on(session, device))
			continue;
		*pid = session->pid;
		n++;
	}
	return n;
}

uint32_t vd_device_room(const struct vd_device *device)
{
	struct vd_device all = *device;

	all.max_mtu_bytes = 0;
	return 128u << vd_device_mtu(&all);
}

void vd_set_device(struct vd *vd, uint32_t device, const struct vd_device *to)
{
	vd->devices[device] = *to;
	if (device >= vd->n_devices)
		vd->n_devices = device + 1;
}

bool vd_device_there(const struct vd *vd, uint32_t device)
{
	return device < vd->n_devices && vd->devices[device].name[0] != '\0';
}
