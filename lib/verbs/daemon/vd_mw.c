/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory windows: made unbound; what is bound to where is between work requests and the transport. */
#include <stdlib.h>

#include "vd_internal.h"

struct mw_call {
	struct vd_session *session;
	struct vd_mw *mw;
	enum tp_mw_type type;
	int err;
};

static void create_call(void *arg)
{
	struct mw_call *call = arg;
	struct vd_mw *mw = call->mw;

	call->err = tp_mw_create(vd_tp(call->session), mw->pd->number, call->type, &mw->rkey);
}

static void destroy_call(void *arg)
{
	struct mw_call *call = arg;

	(void)tp_mw_destroy(vd_tp(call->session), call->mw->rkey);
}

int vd_op_alloc_mw(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_pd *pd = vd_table_get(&session->pds, request->alloc_mw.pd);
	struct mw_call call = {
		.session = session, .type = (enum tp_mw_type)request->alloc_mw.type};
	struct vd_mw *mw;
	int err;

	if (pd == NULL ||
		(request->alloc_mw.type != TP_MW_TYPE_1 && request->alloc_mw.type != TP_MW_TYPE_2))
		return -EINVAL;
	mw = calloc(1, sizeof(*mw));
	if (mw == NULL)
		return -ENOMEM;
	mw->pd = pd;
	err = vd_table_add(&session->mws, mw, &mw->handle);
	if (err != 0)
		goto free_mw;
	call.mw = mw;
	vd_call(session, create_call, &call);
	err = call.err;
	if (err != 0)
		goto del_handle;
	pd->refs++;
	session->vd->stats.mws++;
	answer->reply.mr.handle = mw->handle;
	answer->reply.mr.key = mw->rkey;
	return 0;

del_handle:
	vd_table_del(&session->mws, mw->handle);
free_mw:
	free(mw);
	return err;
}

int vd_op_dealloc_mw(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_mw *mw = vd_table_get(&session->mws, request->object.handle);
	struct mw_call call = {.session = session, .mw = mw};

	(void)answer;
	if (mw == NULL)
		return -EINVAL;
	vd_call(session, destroy_call, &call);
	vd_table_del(&session->mws, mw->handle);
	mw->pd->refs--;
	session->vd->stats.mws--;
	free(mw);
	return 0;
}
