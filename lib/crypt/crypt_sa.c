/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_sa.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crypt_mem.h"

static bool params_ok(const struct crypt_sa_params *params)
{
	uint32_t window = params->window_packets;

	return params->spi != 0 && crypt_suite_key_bytes(params->suite) != 0 && (window == 0 || crypt_replay_window_ok(window)) &&
		params->hard_packets <= CRYPT_HARD_PACKETS && params->hard_bytes <= CRYPT_HARD_BYTES;
}

/* The addresses as an IP header has them, source first. */
static bool bind_addrs(struct crypt_rx_sa *sa, const struct crypt_sa_params *params)
{
	static const struct wire_addr any;
	bool v4 = wire_addr_is_v4(&params->from);

	if (memcmp(&params->from, &any, sizeof(any)) == 0 && memcmp(&params->to, &any, sizeof(any)) == 0)
		return true;
	if (v4 != wire_addr_is_v4(&params->to))
		return false;
	sa->addr_bytes = v4 ? 8 : 32;
	memcpy(sa->addrs, params->from.b + (v4 ? 12 : 0), sa->addr_bytes / 2u);
	memcpy(sa->addrs + sa->addr_bytes / 2u, params->to.b + (v4 ? 12 : 0), sa->addr_bytes / 2u);
	return true;
}

static struct crypt_key *new_key(const struct crypt_cipher *cipher, void *ctx, const struct crypt_sa_params *params)
{
	struct crypt_key *key;

	if (!params_ok(params)) {
		errno = EINVAL;
		return NULL;
	}
	key = cipher->key_new(ctx, params->suite, params->key);
	crypt_mem_wipe_stack();
	return key;
}

/* On the thread that used it, so that nothing of it is left on its stack either. */
static void free_key(const struct crypt_cipher *cipher, void *ctx, struct crypt_key *key)
{
	cipher->key_free(ctx, key);
	crypt_mem_wipe_stack();
}

struct crypt_tx_sa *crypt_tx_sa_new(const struct crypt_cipher *cipher, void *ctx, const struct crypt_sa_params *params)
{
	struct crypt_key *key = new_key(cipher, ctx, params);
	struct crypt_tx_sa *sa = key != NULL ? calloc(1, sizeof(*sa)) : NULL;

	if (sa == NULL) {
		if (key != NULL)
			free_key(cipher, ctx, key);
		return NULL;
	}
	*sa = (struct crypt_tx_sa){
		.key = key,
		.own_key = key,
		.cipher = cipher,
		.cipher_ctx = ctx,
		.next = 1,
		.hard_packets = params->hard_packets != 0 ? params->hard_packets : CRYPT_HARD_PACKETS,
		.hard_bytes = params->hard_bytes != 0 ? params->hard_bytes : CRYPT_HARD_BYTES,
		.spi = params->spi,
		.epoch = params->epoch,
		.lane = params->lane,
		.suite = (uint8_t)params->suite,
	};
	return sa;
}

void crypt_tx_sa_free(struct crypt_tx_sa *sa)
{
	if (sa == NULL)
		return;
	free_key(sa->cipher, sa->cipher_ctx, sa->own_key);
	free(sa);
}

struct crypt_rx_sa *crypt_rx_sa_new(const struct crypt_cipher *cipher, void *ctx, const struct crypt_sa_params *params)
{
	uint32_t window = params->window_packets != 0 ? params->window_packets : CRYPT_REPLAY_DEFAULT;
	struct crypt_key *key = new_key(cipher, ctx, params);
	struct crypt_rx_sa *sa = key != NULL ? calloc(1, sizeof(*sa)) : NULL;
	uint64_t *words = sa != NULL ? calloc(crypt_replay_words(window), sizeof(*words)) : NULL;

	if (words == NULL) {
		free(sa);
		if (key != NULL)
			free_key(cipher, ctx, key);
		return NULL;
	}
	*sa = (struct crypt_rx_sa){
		.key = key,
		.own_key = key,
		.cipher = cipher,
		.cipher_ctx = ctx,
		.spi = params->spi,
		.epoch = params->epoch,
		.lane = params->lane,
		.suite = (uint8_t)params->suite,
	};
	crypt_replay_init(&sa->replay, words, window);
	if (!bind_addrs(sa, params)) {
		crypt_rx_sa_free(sa);
		errno = EINVAL;
		return NULL;
	}
	return sa;
}

void crypt_rx_sa_free(struct crypt_rx_sa *sa)
{
	if (sa == NULL)
		return;
	free_key(sa->cipher, sa->cipher_ctx, sa->own_key);
	free(sa->replay.words);
	free(sa);
}
