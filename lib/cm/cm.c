/* SPDX-License-Identifier: BSD-3-Clause */
/* Creation, time and what can be asked of ids. */
#include "cm.h"

#include <errno.h>
#include <stdlib.h>

#include "cm_internal.h"

#define IDS_MAX      (1u << CM_INDEX_BITS)
#define CODE_MAX     31
#define LIFETIME_MAX 30 /* the ACK timeout is one more */
#define RETRIES_MAX  15

void cm_config_default(struct cm_config *config)
{
	*config = (struct cm_config){
		.max_ids = 1024,
		.max_half_open = 256,
		.response_timeout_ms = 5000,
		.sidr_timeout_ms = 4096,
		.max_retries = 15,
		.packet_lifetime = 16,
		.mra_service_timeout = 24,
		.target_ack_delay = 15,
	};
}

static int check_config(const struct cm_config *config)
{
	if (!config->max_ids || config->max_ids > IDS_MAX || !config->max_half_open)
		return -EINVAL;
	if (!config->response_timeout_ms || !config->sidr_timeout_ms)
		return -EINVAL;
	if (config->max_retries > RETRIES_MAX || config->packet_lifetime > LIFETIME_MAX ||
		config->mra_service_timeout > CODE_MAX || config->target_ack_delay > CODE_MAX)
		return -EINVAL;
	return 0;
}

static int take_memory(struct cm *cm)
{
	uint32_t buckets = 1;

	while (buckets < cm->config.max_ids)
		buckets *= 2;
	cm->bucket_mask = buckets - 1;
	cm->ids = calloc(cm->config.max_ids, sizeof(*cm->ids));
	cm->by_remote = calloc(buckets, sizeof(*cm->by_remote));
	cm->by_qpn = calloc(buckets, sizeof(*cm->by_qpn));
	cm->listeners = calloc(buckets, sizeof(*cm->listeners));
	return cm->ids && cm->by_remote && cm->by_qpn && cm->listeners ? 0 : -ENOMEM;
}

int cm_create(const struct cm_config *config, const struct cm_ops *ops, void *env, uint64_t now_ns,
	struct cm **out)
{
	struct cm *cm;
	uint32_t i;

	if (check_config(config))
		return -EINVAL;
	cm = calloc(1, sizeof(*cm));
	if (!cm)
		return -ENOMEM;
	cm->config = *config;
	cm->ops = ops;
	cm->env = env;
	cm->key = cm_mix(config->seed ^ cm_mix(config->ca_guid));
	if (take_memory(cm)) {
		cm_destroy(cm);
		return -ENOMEM;
	}
	TAILQ_INIT(&cm->free_ids);
	TAILQ_INIT(&cm->orphans);
	base_wheel_init(&cm->wheel, now_ns);
	cm_wait_init(cm);
	for (i = 0; i < config->max_ids; i++) {
		cm->ids[i].cm = cm;
		cm->ids[i].index = i;
		/* A restarted daemon does not begin with the communication IDs of the last one. */
		cm->ids[i].generation = (uint32_t)cm_mix(cm->key ^ i);
		TAILQ_INSERT_TAIL(&cm->free_ids, &cm->ids[i], queue);
	}
	*out = cm;
	return 0;
}

void cm_destroy(struct cm *cm)
{
	if (!cm)
		return;
	free(cm->ids);
	free(cm->by_remote);
	free(cm->by_qpn);
	free(cm->listeners);
	free(cm);
}

struct cm_id *cm_id_create(struct cm *cm, void *cookie)
{
	struct cm_id *id = cm_slot_take(cm);

	if (id)
		id->cookie = cookie;
	return id;
}

void cm_id_set_cookie(struct cm_id *id, void *cookie)
{
	id->cookie = cookie;
}

void *cm_id_cookie(const struct cm_id *id)
{
	return id->cookie;
}

enum cm_state cm_id_state(const struct cm_id *id)
{
	return (enum cm_state)id->state;
}

const char *cm_state_name(enum cm_state state)
{
	static const char *const names[] = {
		[CM_IDLE] = "idle",
		[CM_LISTEN] = "listen",
		[CM_REQ_SENT] = "req_sent",
		[CM_REQ_RCVD] = "req_rcvd",
		[CM_REP_SENT] = "rep_sent",
		[CM_REP_RCVD] = "rep_rcvd",
		[CM_ESTABLISHED] = "established",
		[CM_DREQ_SENT] = "dreq_sent",
		[CM_TIMEWAIT] = "timewait",
		[CM_REJ_SENT] = "rej_sent",
		[CM_SIDR_REQ_SENT] = "sidr_req_sent",
		[CM_SIDR_REQ_RCVD] = "sidr_req_rcvd",
		[CM_SIDR_REP_SENT] = "sidr_rep_sent",
	};

	if ((size_t)state >= sizeof(names) / sizeof(names[0]))
		return "?";
	return names[state];
}

int cm_id_qp_params(const struct cm_id *id, struct cm_qp_params *out)
{
	if (!id->params_known)
		return -EINVAL;
	*out = id->qp;
	return 0;
}

void cm_advance(struct cm *cm, uint64_t now_ns)
{
	base_wheel_advance(&cm->wheel, now_ns);
}

uint64_t cm_next_ns(const struct cm *cm)
{
	return base_wheel_next_ns(&cm->wheel);
}

void cm_get_stats(const struct cm *cm, struct cm_stats *out)
{
	*out = cm->stats;
}
