/* SPDX-License-Identifier: BSD-3-Clause */
/* Resolutions on their way: they end in a call of done(), or without one when who asked has died.
 */
#include <stdlib.h>

#include "vd_internal.h"

static void resolved(void *cb_arg, int status, void *link)
{
	struct vd_resolving *resolving = cb_arg;
	struct vd *vd = resolving->vd;

	TAILQ_REMOVE(&vd->resolvings, resolving, link);
	vd->stats.resolving--;
	if (resolving->session == NULL)
		vd_release_link(vd, link);
	else
		resolving->done(resolving, status, link);
	free(resolving);
}

int vd_resolve(struct vd_session *session, uint32_t device, const struct wire_addr *src,
	const struct wire_addr *dst,
	void (*done)(struct vd_resolving *resolving, int status, void *link), void *obj,
	const struct vc_request *request)
{
	struct vd_resolving *resolving = calloc(1, sizeof(*resolving));
	struct vd *vd = session->vd;

	if (resolving == NULL)
		return -ENOMEM;
	resolving->vd = vd;
	resolving->session = session;
	resolving->done = done;
	resolving->obj = obj;
	resolving->request = *request;
	TAILQ_INSERT_TAIL(&vd->resolvings, resolving, link);
	vd->stats.resolving++;
	vd->env.resolve(vd->env_arg, device, src, dst, resolved, resolving);
	return 0;
}

void vd_resolve_cancel(struct vd *vd, const void *obj)
{
	struct vd_resolving *resolving;

	TAILQ_FOREACH(resolving, &vd->resolvings, link)
	{
		if (resolving->obj == obj)
			resolving->session = NULL;
	}
}
