/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory, life and end of checked pairs: see sim_check_internal.h. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_check_internal.h"

#define WORD sizeof(uint64_t)

/* Where an area begins, from the end's base. */
static uint64_t area_off(uint32_t max_bytes, enum area area)
{
	const uint64_t slot = max_bytes, bytes[] = {
		[AREA_SRC] = 2 * slot,
		[AREA_DST] = slot * SIM_CHECK_OPS,
		[AREA_READ] = slot * SIM_CHECK_OPS,
		[AREA_RECV] = (slot + SIM_CHECK_GRH) * SIM_CHECK_RECVS,
		[AREA_RESULT] = WORD * SIM_CHECK_OPS,
		[AREA_COUNTER] = WORD,
	};
	uint64_t off = 0;

	for (int i = 0; i < (int)area; i++)
		off += (bytes[i] + WORD - 1) / WORD * WORD;
	return off;
}

uint64_t sim_check_off(const struct sim_check_end *end, enum area area, uint32_t slot)
{
	const struct sim_check_pair *pair = sim_check_pair_of(end);
	uint64_t each = pair->max_bytes;

	if (area == AREA_RECV)
		each += SIM_CHECK_GRH;
	if (area == AREA_RESULT)
		each = WORD;
	return end->base + area_off(pair->max_bytes, area) + each * slot;
}

uint8_t *sim_check_at(const struct sim_check_end *end, enum area area, uint32_t slot)
{
	return end->qp->host->mem + sim_check_off(end, area, slot);
}

/* ---- breaches ---- */

void sim_check_breach(const struct sim_check_end *end, const char *fmt, ...)
{
	static const char *const names[] = {[TP_QPT_RC] = "RC", [TP_QPT_UC] = "UC", [TP_QPT_UD] = "UD"};
	struct sim_check *check = end->check;
	const struct sim_check_pair *pair = sim_check_pair_of(end);
	char what[120];
	va_list ap;

	if (check->breach[0] != '\0')
		return;
	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	snprintf(check->breach, sizeof(check->breach), "pair %u (%s), host %u to %u, at %llu ns: %s",
		(uint32_t)(pair - check->pairs), names[pair->type], end->qp->host->id, end->qp->peer->id,
		(unsigned long long)check->net->now_ns, what);
}

/* ---- life ---- */

uint64_t sim_check_mem_bytes(uint32_t max_bytes)
{
	return area_off(max_bytes, AREA_END);
}

int sim_check_create(struct sim_net *net, uint32_t n_pairs, struct sim_check *check)
{
	*check = (struct sim_check){.net = net, .n_pairs = n_pairs};
	check->pairs = calloc(n_pairs, sizeof(*check->pairs));
	check->used_bytes = calloc(net->n_hosts, sizeof(*check->used_bytes));
	if (check->pairs != NULL && check->used_bytes != NULL)
		return 0;
	sim_check_destroy(check);
	return -ENOMEM;
}

void sim_check_destroy(struct sim_check *check)
{
	free(check->pairs);
	free(check->used_bytes);
	check->pairs = NULL;
	check->used_bytes = NULL;
}

static int init_end(struct sim_check *check, struct sim_check_pair *pair, uint32_t e, uint32_t n_ops)
{
	struct sim_check_end *end = &pair->ends[e];
	struct sim_host *host = pair->qps[e].host;
	uint64_t bytes = sim_check_mem_bytes(pair->max_bytes);

	end->check = check;
	end->other = &pair->ends[!e];
	end->qp = &pair->qps[e];
	end->base = check->used_bytes[host->id];
	if (end->base + bytes > check->net->config.mem_bytes)
		return -ENOMEM;
	check->used_bytes[host->id] += bytes;
	end->qp->user = &sim_check_user;
	end->qp->owner = pair;
	end->n_ops = n_ops < SIM_CHECK_OPS ? n_ops : SIM_CHECK_OPS;
	for (uint64_t i = 0; i < 2ull * pair->max_bytes; i++)
		sim_check_at(end, AREA_SRC, 0)[i] = (uint8_t)(1 + sim_random(check->net, 255));
	return 0;
}

int sim_check_pair(struct sim_check *check, uint32_t i, uint32_t a, uint32_t b, const struct sim_qp_config *config,
	uint32_t n_ops, uint32_t max_bytes)
{
	struct sim_check_pair *pair = &check->pairs[i];
	int rc = sim_qp_pair(&check->net->hosts[a], &check->net->hosts[b], config, pair->qps);

	if (rc != 0)
		return rc;
	pair->type = config->type;
	pair->mtu = config->mtu;
	pair->max_bytes = max_bytes;
	pair->min_fail_ns = UINT64_MAX;
	for (uint32_t e = 0; e < 2 && rc == 0; e++)
		rc = init_end(check, pair, e, n_ops);
	for (uint32_t e = 0; e < 2 && rc == 0; e++) {
		for (uint32_t k = 0; k < pair->ends[e].n_ops; k++)
			sim_check_plan(&pair->ends[e], &pair->ends[e].ops[k]);
	}
	return rc;
}

/* Receive requests that an end needs: RC takes exactly one a message. */
static uint32_t recvs_of(const struct sim_check_end *end)
{
	return sim_check_pair_of(end)->type == TP_QPT_RC ? end->n_expected : (uint32_t)SIM_CHECK_RECVS;
}

static void post_rest(void *env, void *arg, uint64_t now_ps)
{
	struct sim_check *check = arg;

	(void)env;
	check->net->now_ns = (now_ps + FABRIC_PS_PER_NS - 1) / FABRIC_PS_PER_NS;
	for (uint32_t i = 0; i < 2 * check->n_pairs; i++) {
		struct sim_check_end *end = &check->pairs[i / 2].ends[i % 2];

		end->n_recvs = recvs_of(end);
		sim_qp_kick(end->qp);
	}
}

int sim_check_start(struct sim_check *check, uint64_t rest_ns)
{
	for (uint32_t i = 0; i < 2 * check->n_pairs; i++) {
		struct sim_check_end *end = &check->pairs[i / 2].ends[i % 2];

		end->n_recvs = sim_check_pair_of(end)->type == TP_QPT_RC ? recvs_of(end) / 2 : recvs_of(end);
	}
	for (uint32_t i = 0; i < 2 * check->n_pairs; i++)
		sim_qp_kick(check->pairs[i / 2].ends[i % 2].qp);
	return fabric_at(check->net->fabric, rest_ns, post_rest, check);
}

/* ---- the end ---- */

/* What was written is what was to be written, if perhaps not all of it. */
static void check_writes(const struct sim_check_end *end)
{
	const struct sim_check_pair *pair = sim_check_pair_of(end);

	for (uint32_t i = 0; i < end->n_ops; i++) {
		const struct sim_check_op *op = &end->ops[i];
		const uint8_t *have = sim_check_at(end->other, AREA_DST, i),
			      *want = sim_check_at(end, AREA_SRC, 0) + op->src;
		bool writes = op->opcode == TP_WR_WRITE || op->opcode == TP_WR_WRITE_IMM;

		for (uint32_t at = 0; at < pair->max_bytes; at++) {
			if (have[at] == 0 || (writes && at < op->bytes && have[at] == want[at]))
				continue;
			sim_check_breach(end, "slot %u: byte %u was written and should not have been", i, at);
			return;
		}
	}
}

static void check_counter(const struct sim_check_end *end)
{
	uint64_t counter, most = 0;

	memcpy(&counter, sim_check_at(end->other, AREA_COUNTER, 0), sizeof(counter));
	for (uint32_t i = 0; i < end->n_ops; i++)
		most += end->ops[i].opcode == TP_WR_FETCH_ADD;
	if (counter < end->n_added || counter > most || (!end->failed && counter != most))
		sim_check_breach(end, "the counter is %llu after %llu additions", (unsigned long long)counter,
			(unsigned long long)most);
}

static void check_end(const struct sim_check_end *end)
{
	enum tp_qp_type type = sim_check_pair_of(end)->type;
	bool whole = !end->failed && !end->other->failed;

	if (end->n_sent != end->n_ops) {
		sim_check_breach(end, "stuck: %u of %u work requests are complete", end->n_sent, end->n_ops);
		return;
	}
	if (type == TP_QPT_RC && (whole || end->failed) && end->n_received != recvs_of(end))
		sim_check_breach(end, "stuck: %u of %u receives are complete", end->n_received, recvs_of(end));
	if (type == TP_QPT_RC)
		check_counter(end);
	check_writes(end);
	for (uint32_t i = 0; i < end->n_ops; i++)
		end->check->n_lost += sim_check_takes_recv(&end->ops[i]) && !end->ops[i].arrived;
}

static bool broken(void *arg)
{
	return ((const struct sim_check *)arg)->breach[0] != '\0';
}

bool sim_check_run(struct sim_check *check, uint64_t limit_ns)
{
	sim_net_run(check->net, limit_ns, broken, check);
	for (uint32_t i = 0; i < 2 * check->n_pairs && !broken(check); i++)
		check_end(&check->pairs[i / 2].ends[i % 2]);
	if (!broken(check) && check->net->n_buffers != 0)
		snprintf(check->breach, sizeof(check->breach), "%llu packets are left over",
			(unsigned long long)check->net->n_buffers);
	return !broken(check);
}
