/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys that receive, keys that send, and the session that they are of. */
#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

#include "crypt_assoc_internal.h"
#include "crypt_kdf.h"

#define TX_RETRY_NS 100000000ull
#define SPI_FIRST   256u /* below are reserved ones, as in RFC 4303, 2.1 */
#define SPI_TRIES   16

void crypt_session_order(const struct crypt_hs_result *result, uint8_t order[CRYPT_ORDER_BYTES])
{
	crypt_msg_put64(order, result->generation);
	memcpy(order + 8, result->nonce, CRYPT_MSG_NONCE_BYTES);
}

/* The parameters of one lane of one direction. */
static int make_params(const struct crypt_assoc *assoc, const struct crypt_hs_result *r, bool transmit, uint16_t lane,
	uint32_t epoch, uint32_t base, struct crypt_sa_params *params)
{
	const struct crypt_msg_bytes *own = &assoc->config.hs.local_id;
	struct crypt_kdf_input in = {
		.suite = r->suite,
		.initiator = r->initiator ? own->data : r->peer_id,
		.initiator_bytes = r->initiator ? own->bytes : r->peer_id_bytes,
		.responder = r->initiator ? r->peer_id : own->data,
		.responder_bytes = r->initiator ? r->peer_id_bytes : own->bytes,
		.direction = r->initiator == transmit ? CRYPT_TO_RESPONDER : CRYPT_TO_INITIATOR,
		.lane = lane,
		.epoch = epoch,
		.spi = base + lane,
	};

	memset(params, 0, sizeof(*params));
	params->suite = r->suite;
	params->spi = base + lane;
	params->lane = lane;
	params->epoch = epoch;
	if (transmit) {
		params->hard_packets = assoc->config.hard_packets;
		params->hard_bytes = assoc->config.hard_bytes;
	} else {
		params->window_packets = assoc->config.window_packets;
	}
	return crypt_kdf_session(r->working_key, &in, params->key);
}

static bool overlaps(const struct crypt_assoc *assoc, uint32_t base, uint16_t lanes)
{
	for (unsigned int i = 0; i < CRYPT_RX_GENERATIONS; i++) {
		const struct crypt_rx_gen *gen = &assoc->gens[i];

		if (gen->lanes != 0 && base < gen->base + gen->lanes && gen->base < base + lanes)
			return true;
	}
	return assoc->ops->spi_used && assoc->ops->spi_used(assoc->ctx, base, lanes);
}

uint32_t crypt_assoc_choose_spis(struct crypt_assoc *assoc, uint16_t lanes)
{
	uint32_t base;

	for (unsigned int i = 0; i < SPI_TRIES; i++) {
		if (crypt_prim_random(&base, sizeof(base)))
			return 0;
		if (base >= SPI_FIRST && base <= UINT32_MAX - CRYPT_MSG_LANES && !overlaps(assoc, base, lanes))
			return base;
	}
	return 0;
}

static void rx_drop(struct crypt_assoc *assoc, struct crypt_rx_gen *gen)
{
	for (uint16_t lane = 0; lane < gen->lanes; lane++)
		assoc->ops->rx_drop(assoc->ctx, gen->base + lane);
	*gen = (struct crypt_rx_gen){0};
}

/*
 * A free place. When there is none, that of the oldest keys of a handshake that the peer never confirmed; keys that
 * have been in use are never dropped for that.
 */
static struct crypt_rx_gen *rx_place(struct crypt_assoc *assoc)
{
	struct crypt_rx_gen *oldest = NULL;

	for (unsigned int i = 0; i < CRYPT_RX_GENERATIONS; i++) {
		struct crypt_rx_gen *gen = &assoc->gens[i];

		if (gen->lanes == 0)
			return gen;
		if (assoc->now.up && memcmp(gen->order, assoc->now.order, sizeof(gen->order)) == 0)
			continue;
		if (!gen->sure && (!oldest || memcmp(gen->order, oldest->order, sizeof(gen->order)) < 0))
			oldest = gen;
	}
	if (oldest)
		rx_drop(assoc, oldest);
	return oldest;
}

int crypt_assoc_rx_install(
	struct crypt_assoc *assoc, const struct crypt_hs_result *result, uint32_t epoch, uint32_t base)
{
	struct crypt_rx_gen *gen = rx_place(assoc);
	struct crypt_sa_params params;
	uint16_t lane;
	int ret = 0;

	if (!gen)
		return -ENOSPC;
	for (lane = 0; lane < result->peer_lanes && !ret; lane++) {
		ret = make_params(assoc, result, false, lane, epoch, base, &params);
		if (!ret)
			ret = assoc->ops->rx_add(assoc->ctx, &params);
	}
	OPENSSL_cleanse(&params, sizeof(params));
	if (ret) {
		/* The last one was not taken. */
		for (lane--; lane > 0; lane--)
			assoc->ops->rx_drop(assoc->ctx, base + lane - 1u);
		return ret;
	}
	*gen = (struct crypt_rx_gen){.base = base, .lanes = result->peer_lanes, .epoch = epoch, .drop_ns = CRYPT_NEVER};
	crypt_session_order(result, gen->order);
	return 0;
}

void crypt_assoc_rx_evidence(
	struct crypt_assoc *assoc, const uint8_t order[CRYPT_ORDER_BYTES], uint32_t epoch, uint64_t now_ns)
{
	for (unsigned int i = 0; i < CRYPT_RX_GENERATIONS; i++) {
		struct crypt_rx_gen *gen = &assoc->gens[i];
		int cmp = memcmp(gen->order, order, sizeof(gen->order));

		if (gen->lanes == 0)
			continue;
		if (cmp == 0)
			gen->sure = true;
		if (gen->drop_ns == CRYPT_NEVER && (cmp < 0 || (cmp == 0 && gen->epoch < epoch)))
			gen->drop_ns = now_ns + assoc->config.drain_ns;
	}
}

const struct crypt_rx_gen *crypt_assoc_rx_find(const struct crypt_assoc *assoc, uint32_t spi)
{
	for (unsigned int i = 0; i < CRYPT_RX_GENERATIONS; i++)
		if (spi - assoc->gens[i].base < assoc->gens[i].lanes)
			return &assoc->gens[i];
	return NULL;
}

void crypt_assoc_rx_expire(struct crypt_assoc *assoc, bool all, uint64_t now_ns)
{
	for (unsigned int i = 0; i < CRYPT_RX_GENERATIONS; i++)
		if (assoc->gens[i].lanes != 0 && (all || now_ns >= assoc->gens[i].drop_ns))
			rx_drop(assoc, &assoc->gens[i]);
}

void crypt_assoc_tx_apply(struct crypt_assoc *assoc, uint64_t now_ns)
{
	struct crypt_session *now = &assoc->now;
	struct crypt_sa_params params;
	int ret = 0;

	while (now->tx_lanes_done < now->r.lanes) {
		ret = make_params(assoc, &now->r, true, now->tx_lanes_done, now->tx_epoch, now->tx_base, &params);
		if (!ret)
			ret = assoc->ops->tx_use(assoc->ctx, &params);
		if (ret)
			break;
		now->tx_stopped &= ~(1ull << now->tx_lanes_done);
		assoc->last_number[now->tx_lanes_done] = 0;
		now->tx_lanes_done++;
	}
	OPENSSL_cleanse(&params, sizeof(params));
	now->tx_retry_ns = ret ? now_ns + TX_RETRY_NS : CRYPT_NEVER;
	if (ret)
		crypt_assoc_say(assoc, CRYPT_EVENT_PROBLEM, now_ns,
			"lane %u cannot take its new key (%s); it goes on with the "
			"one before, and is asked again",
			now->tx_lanes_done, strerror(-ret));
}

void crypt_assoc_tx_switch(struct crypt_assoc *assoc, uint32_t epoch, uint32_t base, uint64_t now_ns)
{
	struct crypt_session *now = &assoc->now;

	now->tx_epoch = epoch;
	now->tx_base = base;
	now->tx_since_ns = now_ns;
	now->tx_lanes_done = 0;
	crypt_assoc_tx_apply(assoc, now_ns);
}

bool crypt_assoc_is_newer(const struct crypt_assoc *assoc, const struct crypt_hs_result *result)
{
	uint8_t order[CRYPT_ORDER_BYTES];

	crypt_session_order(result, order);
	return !assoc->now.up || memcmp(order, assoc->now.order, sizeof(order)) > 0;
}

static int make_control_keys(struct crypt_session *now)
{
	static const char *const labels[] = {"roced control r", "roced control i"};
	bool sm = crypt_prim_is_sm(now->r.suite), own = now->r.initiator;
	int ret = crypt_prim_expand(sm, now->r.working_key, labels[own], NULL, now->control_tx);

	return ret ? ret : crypt_prim_expand(sm, now->r.working_key, labels[!own], NULL, now->control_rx);
}

void crypt_assoc_establish(struct crypt_assoc *assoc, const struct crypt_hs_result *result, uint64_t now_ns)
{
	struct crypt_session *now = &assoc->now;

	OPENSSL_cleanse(now, sizeof(*now));
	now->up = true;
	now->r = *result;
	now->born_ns = now_ns;
	now->rx_base = result->spi_base;
	crypt_session_order(result, now->order);
	if (make_control_keys(now)) {
		crypt_assoc_say(assoc, CRYPT_EVENT_PROBLEM, now_ns, "libcrypto could not make control keys");
		crypt_assoc_end(assoc, now_ns);
		return;
	}
	assoc->generation = result->generation;
	assoc->unheard_ns = CRYPT_NEVER;
	assoc->count.handshakes++;
	assoc->count.why[0] = 0;
	assoc->resume_ns = 0;
	assoc->wanted = false;
	crypt_assoc_tx_switch(assoc, 0, result->peer_spi_base, now_ns);
	crypt_assoc_say(assoc, CRYPT_EVENT_ESTABLISHED, now_ns,
		"protected with %s, authenticated by %s, %u lanes out, %u in", crypt_suite_name(result->suite),
		result->method == CRYPT_METHOD_PSK ? "pre-shared key" : "certificates", result->lanes,
		result->peer_lanes);
}

void crypt_assoc_end(struct crypt_assoc *assoc, uint64_t now_ns)
{
	if (assoc->now.up && assoc->ops->tx_stop)
		for (uint16_t lane = 0; lane < assoc->now.r.lanes; lane++)
			assoc->ops->tx_stop(assoc->ctx, lane);
	crypt_assoc_rx_expire(assoc, true, now_ns);
	OPENSSL_cleanse(&assoc->now, sizeof(assoc->now));
	assoc->wanted = false;
	assoc->unheard_ns = CRYPT_NEVER;
}
