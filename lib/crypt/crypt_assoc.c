/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_assoc.h"

#include <errno.h>
#include <string.h>

#include "crypt_assoc_internal.h"
#include "crypt_mem.h"

#define SECOND_NS 1000000000ull
#define HOUR_NS   (3600 * SECOND_NS)

void crypt_assoc_config_default(struct crypt_assoc_config *config)
{
	*config = (struct crypt_assoc_config){
		.window_packets = 16384,
		.soft_bytes = 4ull << 40,
		.hard_bytes = 8ull << 40,
		.soft_packets = 1ull << 47,
		.hard_packets = 1ull << 48,
		.soft_ns = HOUR_NS,
		.handshake_ns = 23 * HOUR_NS,
		.hard_ns = 24 * HOUR_NS,
		.drain_ns = SECOND_NS,
		.retry_ns = SECOND_NS / 4,
		.tries = 8,
		.pause_ns = 30 * SECOND_NS,
		.half_open_ns = 30 * SECOND_NS,
		.ping_ns = SECOND_NS,
		.silence_ns = 5 * SECOND_NS,
		.suspect_ns = 5 * SECOND_NS,
	};
}

/* What credentials there are for decides what can be offered. */
static int check_methods(struct crypt_assoc_config *config, struct crypt_error *error)
{
	struct crypt_hs_config *hs = &config->hs;

	/* A key with the peer's address as its ID is this peer's, and no other is good enough then. */
	if (!hs->psk_id && crypt_cred_psk(hs->cred, config->peer))
		hs->psk_id = config->peer;
	/* Names are a certificate's: a key that others have, too, must not stand in for it. */
	if (hs->n_peer_names != 0 && !hs->psk_id)
		hs->methods &= CRYPT_METHOD_CERT;
	if (crypt_cred_psks(hs->cred) == 0)
		hs->methods &= (uint8_t)~CRYPT_METHOD_PSK;
	if (!crypt_cred_has_cert(hs->cred))
		hs->methods &= (uint8_t)~CRYPT_METHOD_CERT;
	hs->methods &= CRYPT_METHOD_PSK | CRYPT_METHOD_CERT;
	if (hs->methods == 0) {
		crypt_error_set(
			error, "there are no credentials for any way of authentication that is allowed with this peer");
		return -EINVAL;
	}
	if ((hs->methods & CRYPT_METHOD_PSK) != 0 && hs->psk_id && !crypt_cred_psk(hs->cred, hs->psk_id)) {
		crypt_error_set(error, "the file of pre-shared keys has no line with the ID \"%s\"", hs->psk_id);
		return -EINVAL;
	}
	return 0;
}

static int check_config(struct crypt_assoc_config *config, struct crypt_error *error)
{
	struct crypt_hs_config *hs = &config->hs;

	crypt_error_set(error, "%s", "a figure of the association's configuration is out of range");
	if (hs->n_suites == 0 || hs->n_suites > CRYPT_SUITES || hs->lanes == 0 || hs->lanes > CRYPT_MSG_LANES)
		return -EINVAL;
	for (unsigned int i = 0; i < hs->n_suites; i++)
		if (hs->suites[i] >= CRYPT_SUITES)
			return -EINVAL;
	if (hs->local_id.bytes == 0 || hs->local_id.bytes > CRYPT_MSG_ID_BYTES ||
		hs->peer_id.bytes > CRYPT_MSG_ID_BYTES)
		return -EINVAL;
	if (config->tries == 0 || config->retry_ns == 0 || config->soft_bytes == 0 ||
		config->hard_bytes < config->soft_bytes)
		return -EINVAL;
	if (config->hard_bytes > CRYPT_HARD_BYTES || config->hard_packets > CRYPT_HARD_PACKETS)
		return -EINVAL;
	if (config->soft_packets == 0 || config->hard_packets < config->soft_packets || config->soft_ns == 0)
		return -EINVAL;
	if (config->handshake_ns == 0 || config->hard_ns < config->handshake_ns || config->ping_ns == 0)
		return -EINVAL;
	return check_methods(config, error);
}

struct crypt_assoc *crypt_assoc_new(const struct crypt_assoc_config *config, struct crypt_gate *gate,
	const struct crypt_assoc_ops *ops, void *ctx, struct crypt_error *error)
{
	struct crypt_assoc *assoc = crypt_mem_new(sizeof(*assoc));

	if (!assoc) {
		crypt_error_set(error, "no memory for an association");
		return NULL;
	}
	assoc->config = *config;
	if (check_config(&assoc->config, error)) {
		crypt_mem_free(assoc, sizeof(*assoc));
		return NULL;
	}
	if ((assoc->config.hs.methods & CRYPT_METHOD_CERT) != 0 && !ops->wall_s) {
		crypt_error_set(error, "certificates need the time of day (wall_s)");
		crypt_mem_free(assoc, sizeof(*assoc));
		return NULL;
	}
	if (assoc->config.drain_ns < SECOND_NS)
		assoc->config.drain_ns = SECOND_NS;
	assoc->gate = gate;
	assoc->ops = ops;
	assoc->ctx = ctx;
	assoc->unheard_ns = CRYPT_NEVER;
	crypt_bucket_init(&assoc->notices, SECOND_NS / 2, 4);
	crypt_bucket_init(&assoc->hints, SECOND_NS, 1);
	crypt_bucket_init(&assoc->suspects, config->suspect_ns, 1);
	crypt_bucket_init(&assoc->work, SECOND_NS / 10, 16);
	for (unsigned int i = 0; i < CRYPT_EVENTS; i++)
		crypt_bucket_init(&assoc->said[i], SECOND_NS, 3);
	return assoc;
}

int crypt_assoc_check(const struct crypt_assoc_config *config, struct crypt_error *error)
{
	struct crypt_assoc_config copy = *config;

	return check_config(&copy, error);
}

static void end_handshakes(struct crypt_assoc *assoc)
{
	crypt_attempt_end(assoc);
	for (unsigned int i = 0; i < CRYPT_HALF_OPEN; i++)
		crypt_half_end(assoc, &assoc->halves[i]);
}

int crypt_assoc_configure(struct crypt_assoc *assoc, const struct crypt_assoc_config *config, struct crypt_error *error)
{
	struct crypt_assoc_config copy = *config;
	int ret = check_config(&copy, error);

	if (ret)
		return ret;
	/* They refer to what the old one refers to. */
	end_handshakes(assoc);
	assoc->config = copy;
	if (assoc->config.drain_ns < SECOND_NS)
		assoc->config.drain_ns = SECOND_NS;
	return 0;
}

void crypt_assoc_free(struct crypt_assoc *assoc)
{
	if (!assoc)
		return;
	end_handshakes(assoc);
	crypt_assoc_end(assoc, 0);
	crypt_mem_free(assoc, sizeof(*assoc));
}

int crypt_assoc_start(struct crypt_assoc *assoc, uint64_t now_ns)
{
	if (assoc->started)
		return -EALREADY;
	assoc->started = true;
	if (!assoc->now.up)
		crypt_attempt_begin(assoc, now_ns);
	return 0;
}

int crypt_assoc_handshake_now(struct crypt_assoc *assoc, uint64_t now_ns)
{
	return crypt_attempt_begin(assoc, now_ns);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t session_next(const struct crypt_assoc *assoc)
{
	const struct crypt_session *now = &assoc->now;
	uint64_t next = earlier(now->born_ns + assoc->config.hard_ns, crypt_rekey_due(assoc));

	next = earlier(next, now->tx_retry_ns);
	next = earlier(next, now->ask.on ? now->ask.next_ns : CRYPT_NEVER);
	next = earlier(next, now->ping.on ? now->ping.next_ns : CRYPT_NEVER);
	return earlier(next, assoc->unheard_ns != CRYPT_NEVER ? assoc->ping_due_ns : CRYPT_NEVER);
}

static uint64_t next_call(const struct crypt_assoc *assoc)
{
	uint64_t next = earlier(crypt_attempt_due(assoc), assoc->now.up ? session_next(assoc) : CRYPT_NEVER);

	for (unsigned int i = 0; i < CRYPT_HALF_OPEN; i++)
		if (assoc->halves[i].hs)
			next = earlier(next, assoc->halves[i].born_ns + assoc->config.half_open_ns);
	for (unsigned int i = 0; i < CRYPT_RX_GENERATIONS; i++)
		if (assoc->gens[i].lanes != 0)
			next = earlier(next, assoc->gens[i].drop_ns);
	return next;
}

uint64_t crypt_assoc_tick(struct crypt_assoc *assoc, uint64_t now_ns)
{
	struct crypt_session *now = &assoc->now;

	if (now->up && now_ns >= now->born_ns + assoc->config.hard_ns) {
		crypt_assoc_say(assoc, CRYPT_EVENT_EXPIRED, now_ns,
			"the working key is %llu h old and the peer has not answered "
			"the wish for a new one; %s until it does",
			(unsigned long long)(assoc->config.hard_ns / HOUR_NS),
			assoc->config.plain ? "what is sent is plain" : "nothing is sent");
		crypt_attempt_end(assoc);
		crypt_assoc_end(assoc, now_ns);
	}
	if (now->up && now_ns >= now->tx_retry_ns)
		crypt_assoc_tx_apply(assoc, now_ns);
	crypt_assoc_rx_expire(assoc, false, now_ns);
	crypt_half_tick(assoc, now_ns);
	crypt_attempt_tick(assoc, now_ns);
	crypt_rekey_tick(assoc, now_ns);
	return next_call(assoc);
}

void crypt_assoc_status(const struct crypt_assoc *assoc, struct crypt_assoc_status *status)
{
	const struct crypt_session *now = &assoc->now;

	*status = assoc->count;
	status->established = now->up;
	status->handshake = assoc->attempt.hs != NULL;
	for (unsigned int i = 0; i < CRYPT_HALF_OPEN; i++)
		status->handshake = status->handshake || assoc->halves[i].hs;
	for (unsigned int i = 0; i < CRYPT_RX_GENERATIONS; i++)
		status->rx_generations += assoc->gens[i].lanes != 0 ? 1 : 0;
	if (!now->up)
		return;
	status->rekeying = now->rekey.on;
	status->initiator = now->r.initiator;
	status->suite = now->r.suite;
	status->method = now->r.method;
	status->generation = now->r.generation;
	status->tx_epoch = now->tx_epoch;
	status->rx_epoch = now->rx_epoch;
	status->tx_spi_base = now->tx_base;
	status->rx_spi_base = now->rx_base;
	status->lanes = now->r.lanes;
	status->peer_lanes = now->r.peer_lanes;
	status->born_ns = now->born_ns;
}

bool crypt_assoc_has_keys(const struct crypt_assoc *assoc)
{
	for (unsigned int i = 0; i < CRYPT_RX_GENERATIONS; i++)
		if (assoc->gens[i].lanes != 0)
			return true;
	return assoc->now.up;
}

bool crypt_assoc_is_idle(const struct crypt_assoc *assoc)
{
	for (unsigned int i = 0; i < CRYPT_HALF_OPEN; i++)
		if (assoc->halves[i].hs)
			return false;
	return !assoc->started && !assoc->wanted && !assoc->attempt.hs && !crypt_assoc_has_keys(assoc);
}

bool crypt_assoc_begins(const uint8_t *datagram, size_t bytes)
{
	struct crypt_msg_header header;
	int ret = crypt_msg_get_header(&header, datagram, bytes);

	return (!ret || ret == -EPROTO) && header.type == CRYPT_MSG_INIT;
}
