/* SPDX-License-Identifier: BSD-3-Clause */
/* Event channels and ids of clients: made, destroyed, moved; and the link to lib/cm. */
#include <endian.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "vd_cm.h"

#define MAX_CONNECTIONS 16384u
#define MAX_HALF_OPEN   1024u
/* Long enough for a program to listen again, short beside the seconds after which a peer repeats itself. */
#define LISTENER_WAIT_MS 200

static int send_mad(void *env, const struct cm_path *path, const uint8_t mad[CM_MAD_BYTES])
{
	struct vd *vd = env;
	const struct vd_device *device = path->dev;

	static_assert(CM_MAD_BYTES == VD_MAD_BYTES, "one kind of MAD");
	vd->env.send_mad(
		vd->env_arg, (uint32_t)(device - vd->devices), &path->local, &path->remote, mad);
	return 0;
}

int vd_cm_start(struct vd *vd)
{
	static const struct cm_ops ops = {.send_mad = send_mad, .event = vd_cm_handle};
	uint64_t ids = (uint64_t)vd->limits.max_sessions * vd->limits.max_cm_ids;
	struct vc_device_attr attr;
	struct cm_config config;
	int err;

	vd->cm = calloc(1, sizeof(*vd->cm));
	if (vd->cm == NULL)
		return -ENOMEM;
	TAILQ_INIT(&vd->cm->bound);
	vd_device_attr(vd, 0, &attr);
	cm_config_default(&config);
	config.max_ids = ids < MAX_CONNECTIONS ? (uint32_t)ids : MAX_CONNECTIONS;
	config.max_half_open = MAX_HALF_OPEN;
	config.response_timeout_ms = vd->limits.cm_timeout_ms;
	config.sidr_timeout_ms = vd->limits.cm_timeout_ms;
	config.listener_wait_ms = LISTENER_WAIT_MS;
	config.ca_guid = be64toh(attr.node_guid);
	config.seed = vd_random(vd);
	err = cm_create(&config, &ops, vd, vd_now(vd), &vd->cm->cm);
	if (err != 0) {
		free(vd->cm);
		vd->cm = NULL;
	}
	return err;
}

void vd_cm_stop(struct vd *vd)
{
	if (vd->cm == NULL)
		return;
	cm_destroy(vd->cm->cm);
	free(vd->cm);
	vd->cm = NULL;
}

void vd_rx_mad(struct vd *vd, uint32_t device, const struct wire_addr *src,
	const struct wire_addr *dst, const uint8_t *mad, size_t n)
{
	struct cm_path path = {.local = *dst, .remote = *src};

	if (device >= vd->n_devices)
		return;
	path.dev = &vd->devices[device];
	cm_rx(vd->cm->cm, &path, mad, n, vd_now(vd));
}

void vd_advance(struct vd *vd)
{
	cm_advance(vd->cm->cm, vd_now(vd));
}

uint64_t vd_timeout_ns(const struct vd *vd)
{
	uint64_t next_ns = cm_next_ns(vd->cm->cm);
	uint64_t now_ns = vd->env.now_ns(vd->env_arg);

	if (next_ns == UINT64_MAX)
		return UINT64_MAX;
	return next_ns > now_ns ? next_ns - now_ns : 0;
}

/* ---- channels ---- */

int vd_op_cm_create_channel(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cm_channel *channel = calloc(1, sizeof(*channel));
	int err, theirs;

	(void)request;
	if (channel == NULL)
		return -ENOMEM;
	TAILQ_INIT(&channel->queue);
	channel->vd = session->vd;
	channel->watch.ready = vd_cm_channel_ready;
	channel->watch.arg = channel;
	err = vd_notify_pair(&channel->watch.fd, &theirs);
	if (err != 0)
		goto free_channel;
	err = vd_watch_add(session->vd, &channel->watch, 0);
	if (err == 0)
		err = vd_table_add(&session->cm_channels, channel, &channel->handle);
	if (err != 0)
		goto close_pair;
	session->vd->stats.cm_channels++;
	vd_answer_fd(answer, theirs, true);
	answer->reply.cm.handle = channel->handle;
	return 0;

close_pair:
	vd_watch_del(session->vd, &channel->watch);
	close(theirs);
free_channel:
	free(channel);
	return err;
}

static void free_channel(struct vd_session *session, struct vd_cm_channel *channel)
{
	vd_table_del(&session->cm_channels, channel->handle);
	vd_watch_del(session->vd, &channel->watch);
	session->vd->stats.cm_channels--;
	free(channel);
}

int vd_op_cm_destroy_channel(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cm_channel *channel = vd_table_get(&session->cm_channels, request->object.handle);

	(void)answer;
	if (channel == NULL)
		return -EINVAL;
	if (channel->refs != 0)
		return -EBUSY;
	free_channel(session, channel);
	return 0;
}

/* ---- ids ---- */

struct vd_cm_id *vd_cm_id_get(struct vd_session *session, uint32_t handle)
{
	return vd_table_get(&session->cm_ids, handle);
}

struct vd_cm_id *vd_cm_id_new(
	struct vd_session *session, struct vd_cm_channel *channel, uint32_t ps, uint32_t qp_type)
{
	struct vd_cm_id *id = calloc(1, sizeof(*id));

	if (id == NULL)
		return NULL;
	if (vd_table_add(&session->cm_ids, id, &id->handle) != 0) {
		free(id);
		return NULL;
	}
	TAILQ_INIT(&id->joins);
	id->session = session;
	id->channel = channel;
	id->ps = ps;
	id->qp_type = qp_type;
	channel->refs++;
	session->vd->stats.cm_ids++;
	return id;
}

void vd_cm_id_free(struct vd_cm_id *id)
{
	struct vd *vd = id->session->vd;

	vd_resolve_cancel(vd, id);
	if (id->step == VD_CM_LISTENING) {
		vd->stats.cm_listeners--;
		vd_discharge(id->session, VD_RES_LISTENERS, 1);
	}
	/* Tells the peer what it has to know: REJ or DREQ. */
	if (id->cm != NULL)
		cm_id_destroy(vd->cm->cm, id->cm, vd_now(vd));
	vd_cm_leave_all(id);
	vd_cm_unbind(id);
	vd_cm_drop_events(id);
	vd_table_del(&id->session->cm_ids, id->handle);
	id->channel->refs--;
	vd->stats.cm_ids--;
	free(id);
}

int vd_op_cm_create_id(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cm_channel *channel =
		vd_table_get(&session->cm_channels, request->cm_create_id.channel);
	struct vd_cm_id *id;

	switch (request->cm_create_id.ps) {
	case VC_PS_TCP:
	case VC_PS_UDP:
	case VC_PS_IB:
		break;
	case VC_PS_IPOIB:
		return -EOPNOTSUPP;
	default:
		return -EINVAL;
	}
	if (channel == NULL)
		return -EINVAL;
	id = vd_cm_id_new(
		session, channel, request->cm_create_id.ps, request->cm_create_id.qp_type);
	if (id == NULL)
		return -ENOMEM;
	id->cookie = request->cm_create_id.cookie;
	id->has_owner = true;
	answer->reply.cm.handle = id->handle;
	return 0;
}

int vd_op_cm_destroy_id(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cm_id *id = vd_cm_id_get(session, request->object.handle);

	if (id == NULL)
		return -EINVAL;
	answer->reply.cm.handle = id->handle;
	answer->reply.cm.events = id->events;
	vd_cm_id_free(id);
	return 0;
}

int vd_op_cm_migrate(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vd_cm_id *id = vd_cm_id_get(session, request->cm_migrate.id);
	struct vd_cm_channel *channel =
		vd_table_get(&session->cm_channels, request->cm_migrate.channel);

	if (id == NULL || channel == NULL)
		return -EINVAL;
	vd_cm_move_events(id, channel);
	id->channel->refs--;
	channel->refs++;
	id->channel = channel;
	id->cookie = request->cm_migrate.cookie;
	id->has_owner = true;
	answer->reply.cm.handle = id->handle;
	/* So many must be taken from the old channel before nothing more of this id comes there. */
	answer->reply.cm.events = id->events;
	return 0;
}

int vd_op_cm_query_id(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	const struct vd_cm_id *id = vd_cm_id_get(session, request->object.handle);
	struct vc_reply *reply = &answer->reply;

	if (id == NULL)
		return -EINVAL;
	reply->cm.handle = id->handle;
	reply->cm.events = id->events;
	reply->cm.ps = id->ps;
	vd_cm_fill_addr(id, &reply->cm.src, &reply->cm.dst, reply->cm.device);
	memcpy(reply->cm.sgid, id->src.b, sizeof(reply->cm.sgid));
	if (id->has_dst)
		memcpy(reply->cm.dgid, id->dst.b, sizeof(reply->cm.dgid));
	return 0;
}

void vd_cm_session_free(struct vd_session *session)
{
	struct vd_cm_channel *channel;
	struct vd_cm_id *id;
	uint32_t i;

	for (i = 0; (id = vd_table_next(&session->cm_ids, &i)) != NULL;)
		vd_cm_id_free(id);
	for (i = 0; (channel = vd_table_next(&session->cm_channels, &i)) != NULL;)
		free_channel(session, channel);
}
