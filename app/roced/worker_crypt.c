/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker_crypt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "crypt_simd.h"
#include "protect.h"

int worker_crypt_init(struct worker *worker)
{
	const struct config_protection *config = &worker->roced->config.protection;
	struct worker_crypt *wc;

	if (config->n_peers == 0)
		return 0;
	wc = calloc(1, sizeof(*wc));
	if (wc == NULL)
		return -ENOMEM;
	worker->crypt = wc;
	wc->crypt.cipher = &crypt_simd_cipher;
	wc->crypt.cipher_ctx = crypt_simd_new(NULL);
	wc->crypt.port = (uint16_t)config->port;
	wc->crypt.table = crypt_table_new(WORKER_RX_SAS);
	return wc->crypt.cipher_ctx != NULL && wc->crypt.table != NULL ? 0 : -ENOMEM;
}

void worker_crypt_fini(struct worker *worker)
{
	struct worker_crypt *wc = worker->crypt;

	if (wc == NULL)
		return;
	for (uint32_t i = 0; i < WORKER_PAIRS; i++)
		crypt_tx_sa_free(wc->pairs[i].tx);
	crypt_table_free(wc->crypt.table);
	crypt_simd_free(wc->crypt.cipher_ctx);
	free(wc);
	worker->crypt = NULL;
}

static uint32_t home(const struct wire_addr *local, const struct wire_addr *peer)
{
	uint32_t a[4], b[4];

	memcpy(a, local->b, sizeof(a));
	memcpy(b, peer->b, sizeof(b));
	return ((a[0] ^ a[3]) * 0x85ebca6bu ^ (b[0] ^ b[1] ^ b[2] ^ b[3]) * 0x9e3779b1u) >> 16 & (WORKER_PAIRS - 1);
}

struct worker_pair *worker_crypt_pair(struct worker_crypt *wc, const struct wire_addr *local, const struct wire_addr *peer,
	bool make)
{
	uint32_t i = home(local, peer);

	for (; wc->pairs[i].used; i = (i + 1) & (WORKER_PAIRS - 1)) {
		if (memcmp(&wc->pairs[i].peer, peer, sizeof(*peer)) == 0 && memcmp(&wc->pairs[i].local, local, sizeof(*local)) == 0)
			return &wc->pairs[i];
	}
	if (!make || wc->n_pairs == WORKER_PAIRS / 2)
		return NULL;
	wc->n_pairs++;
	wc->pairs[i] = (struct worker_pair){.used = true, .local = *local, .peer = *peer};
	return &wc->pairs[i];
}

bool worker_crypt_required(const struct worker *worker, const struct wire_addr *peer)
{
	const struct config_protect *policy = protect_policy(&worker->roced->config.protection, peer);

	return policy != NULL && policy->policy == CONFIG_PROTECT_REQUIRED;
}
