/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests that came before their listener. A program that serves one peer after another destroys its
 * listener and makes it again, and its next peer may ask in between. Refusing at once would end that peer;
 * staying silent would have it repeat itself only after seconds. So a few such requests wait, for a
 * short time, and are looked at again.
 */
#include <string.h>

#include "cm_internal.h"

#define AGAIN_NS (5 * CM_MS_NS)

static uint32_t request_id(const struct wire_cm_msg *msg)
{
	return msg->type == WIRE_CM_REQ ? msg->req.local_comm_id : msg->sidr_req.request_id;
}

static struct cm_wait *find(struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg)
{
	unsigned int i;

	for (i = 0; i < CM_WAITS; i++) {
		struct cm_wait *wait = &cm->waits[i];

		if (wait->used && wait->msg.type == msg->type && request_id(&wait->msg) == request_id(msg) &&
			cm_same_ends(&wait->path, path))
			return wait;
	}
	return NULL;
}

static struct cm_wait *take(struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns)
{
	unsigned int i;

	for (i = 0; i < CM_WAITS; i++) {
		struct cm_wait *wait = &cm->waits[i];

		if (wait->used)
			continue;
		wait->used = true;
		wait->until_ns = now_ns + cm->config.listener_wait_ms * CM_MS_NS;
		wait->path = *path;
		wait->msg = *msg;
		cm->stats.waited++;
		return wait;
	}
	return NULL;
}

bool cm_wait_for_listener(
	struct cm *cm, const struct cm_path *path, const struct wire_cm_msg *msg, uint64_t now_ns)
{
	struct cm_wait *wait = find(cm, path, msg);

	if (!cm->config.listener_wait_ms)
		return false;
	if (!wait)
		wait = take(cm, path, msg, now_ns);
	if (!wait || now_ns >= wait->until_ns)
		return false;
	if (!wait->timer.armed)
		base_timer_start(&cm->wheel, &wait->timer, now_ns + AGAIN_NS);
	return true;
}

/* As if it had come now; then it waits on, or is done with. */
static void look_again(struct base_timer *timer, void *arg, uint64_t now_ns)
{
	struct cm_wait *wait = arg;
	const struct wire_cm_msg msg = wait->msg;

	if (msg.type == WIRE_CM_REQ)
		cm_rx_req(wait->cm, &wait->path, &msg, now_ns);
	else
		cm_rx_sidr_req(wait->cm, &wait->path, &msg, now_ns);
	if (!timer->armed)
		wait->used = false;
}

void cm_wait_init(struct cm *cm)
{
	unsigned int i;

	for (i = 0; i < CM_WAITS; i++) {
		cm->waits[i].cm = cm;
		base_timer_init(&cm->waits[i].timer, look_again, &cm->waits[i]);
	}
}
