/* SPDX-License-Identifier: BSD-3-Clause */
/* Changes of an id's state, its timer and its events. */
#include "cm_internal.h"

#include <errno.h>

/* Longest time a peer's figures can keep an id in timewait: 4.3 s per part. */
#define TIMEWAIT_MAX_CODE 20

uint64_t cm_code_ns(uint8_t code)
{
	return 4096ull << (code & 31);
}

/* The codes are powers of two, so the sum of there, back and the peer's delay is about one more
 * than the larger of them; Linux reckons the same way. */
uint8_t cm_ack_timeout(uint8_t lifetime, uint8_t ack_delay)
{
	uint8_t larger = lifetime > ack_delay ? lifetime : ack_delay;

	return larger < 31 ? (uint8_t)(larger + 1) : 31;
}

static bool counts_half_open(const struct cm_id *id, enum cm_state state)
{
	return id->passive &&
	       (state == CM_REQ_RCVD || state == CM_REP_SENT || state == CM_SIDR_REQ_RCVD);
}

void cm_set_state(struct cm_id *id, enum cm_state state)
{
	struct cm *cm = id->cm;
	bool half_open = counts_half_open(id, state);

	if (half_open && !id->half_open) {
		cm->stats.half_open++;
		if (id->listener)
			id->listener->pending++;
	}
	if (!half_open && id->half_open) {
		cm->stats.half_open--;
		if (id->listener)
			id->listener->pending--;
	}
	id->half_open = half_open;
	id->state = (uint8_t)state;
	if (!half_open)
		cm_child_detach(id);
}

void cm_reset(struct cm_id *id)
{
	base_timer_stop(&id->cm->wheel, &id->timer);
	cm_table_remove(id);
	cm_set_state(id, CM_IDLE);
	cm_renew_local_id(id);
	id->passive = false;
	id->sidr = false;
	id->mra_sent = false;
	id->params_known = false;
	id->remote_id = 0;
}

void cm_raise(struct cm_id *id, struct cm_event *ev)
{
	struct cm *cm = id->cm;

	if (id->orphan)
		return;
	ev->id = id;
	ev->cookie = id->cookie;
	ev->service_id = id->service_id;
	ev->qp = id->qp;
	ev->peer_responder_resources = id->peer_responder_resources;
	ev->peer_initiator_depth = id->peer_initiator_depth;
	ev->peer_flow_control = id->peer_flow_control;
	cm->ops->event(cm->env, ev);
}

void cm_end(struct cm_id *id, struct cm_event *ev)
{
	cm_reset(id);
	if (id->orphan)
		cm_slot_free(id);
	else
		cm_raise(id, ev);
}

static void restart_timer(struct cm_id *id, uint64_t now_ns)
{
	base_timer_start(&id->cm->wheel, &id->timer, now_ns + id->timeout_ms * CM_MS_NS);
}

void cm_start_retries(struct cm_id *id, uint32_t timeout_ms, uint64_t now_ns)
{
	id->retries_left = id->max_retries;
	id->timeout_ms = timeout_ms;
	restart_timer(id, now_ns);
}

/* IBTA vol. 1, 12.9.8.4: twice the packet lifetime and the peer's ACK delay. The ACK timeout code
 * has one packet lifetime there and back in it. */
static uint64_t timewait_ns(const struct cm_id *id)
{
	uint8_t both_ways = cm_min8(id->qp.ack_timeout, TIMEWAIT_MAX_CODE);
	uint8_t ack_delay = cm_min8(id->cm->config.target_ack_delay, TIMEWAIT_MAX_CODE);

	return cm_code_ns(both_ways) + cm_code_ns(ack_delay);
}

void cm_enter_timewait(struct cm_id *id, struct cm_event *ev, uint64_t now_ns)
{
	cm_set_state(id, CM_TIMEWAIT);
	id->was_connected = true;
	base_timer_start(&id->cm->wheel, &id->timer, now_ns + timewait_ns(id));
	cm_raise(id, ev);
}

/* All repeats went unanswered. The peer may have a half of the connection: the REJ frees it
 * (12.9.8.5). */
static void give_up(struct cm_id *id, uint64_t now_ns)
{
	struct cm_event ev = {.type = CM_EVENT_UNREACHABLE};

	id->cm->stats.timeouts++;
	if (id->state == CM_DREQ_SENT) {
		ev.type = CM_EVENT_DISCONNECTED;
		cm_enter_timewait(id, &ev, now_ns);
		return;
	}
	if (id->state != CM_SIDR_REQ_SENT)
		cm_send_rej(id, CM_REJ_TIMEOUT, NULL, 0);
	cm_end(id, &ev);
}

void cm_timer_expired(struct base_timer *timer, void *arg, uint64_t now_ns)
{
	struct cm_event ev = {.type = CM_EVENT_TIMEWAIT_EXIT};
	struct cm_id *id = arg;

	(void)timer;
	switch (id->state) {
	case CM_REQ_SENT:
	case CM_REP_SENT:
	case CM_DREQ_SENT:
	case CM_SIDR_REQ_SENT:
		if (!id->retries_left) {
			give_up(id, now_ns);
			return;
		}
		id->retries_left--;
		id->cm->stats.retransmits++;
		cm_send_raw(id->cm, &id->qp.path, id->mad);
		restart_timer(id, now_ns);
		return;
	case CM_TIMEWAIT:
		cm_end(id, &ev);
		return;
	default:
		return;
	}
}
