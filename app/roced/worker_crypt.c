/* SPDX-License-Identifier: BSD-3-Clause */
#include "worker_crypt.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cryptodev.h>
#include <rte_dev.h>

#include "crypt_cryptodev.h"
#include "crypt_simd.h"
#include "log.h"
#include "protect.h"

/* One that is not there yet is made, if it is of software: those have names. */
static void *device_open(const char *name)
{
	void *ctx;
	int rc = 0;

	if (rte_cryptodev_get_dev_id(name) < 0 && strncmp(name, "crypto_", 7) == 0)
		rc = rte_eal_hotplug_add("vdev", name, "");
	if (rc != 0) {
		log_line(LOG_ERR, "workers[].crypto: %s: %s", name, strerror(-rc));
		return NULL;
	}
	ctx = crypt_cryptodev_new(name, CRYPT_CRYPTODEV_ANY, WORKER_RX_SAS + WORKER_PAIRS);
	if (ctx == NULL)
		log_line(LOG_ERR, "workers[].crypto: %s: %s", name,
			errno == ENODEV ? "there is no crypto device of that name" :
			errno == ENOTSUP ? "it has no AES-GCM with a nonce of 12 and a tag of 16 bytes" : strerror(errno));
	return ctx;
}

int worker_crypt_init(struct worker *worker)
{
	const struct config_protection *config = &worker->roced->config.protection;
	const char *device = worker->roced->config.workers[worker->index].crypto;
	struct worker_crypt *wc;

	if (config->n_peers == 0)
		return 0;
	wc = calloc(1, sizeof(*wc));
	if (wc == NULL)
		return -ENOMEM;
	worker->crypt = wc;
	if (device[0] != '\0') {
		wc->crypt.cipher = &crypt_cryptodev_cipher;
		wc->crypt.cipher_ctx = device_open(device);
		if (wc->crypt.cipher_ctx == NULL)
			return -EINVAL;
	} else {
		wc->crypt.cipher = &crypt_simd_cipher;
		wc->crypt.cipher_ctx = crypt_simd_new(NULL);
	}
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
	if (wc->crypt.cipher == &crypt_cryptodev_cipher)
		crypt_cryptodev_free(wc->crypt.cipher_ctx);
	else
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

void worker_crypt_forget(struct worker_crypt *wc, const struct wire_addr *local, const struct wire_addr *peer)
{
	struct worker_pair *pair = worker_crypt_pair(wc, local, peer, false);
	uint32_t hole, i;

	if (pair == NULL)
		return;
	crypt_tx_sa_free(pair->tx);
	wc->n_pairs--;
	/* Those behind it that were put there because it was in their way come nearer to their places (Knuth, 6.4, algorithm R). */
	hole = (uint32_t)(pair - wc->pairs);
	for (i = (hole + 1) & (WORKER_PAIRS - 1); wc->pairs[i].used; i = (i + 1) & (WORKER_PAIRS - 1)) {
		uint32_t at = home(&wc->pairs[i].local, &wc->pairs[i].peer);

		if (((i - at) & (WORKER_PAIRS - 1)) < ((i - hole) & (WORKER_PAIRS - 1)))
			continue;
		wc->pairs[hole] = wc->pairs[i];
		hole = i;
	}
	wc->pairs[hole] = (struct worker_pair){0};
}

bool worker_crypt_required(const struct worker *worker, const struct port *port, const struct wire_addr *local,
	const struct wire_addr *peer)
{
	uint32_t devices = protect_devices(port, local);
	const struct config_protect *policy =
		protect_policy(&worker->roced->config.protection, devices != 0 ? devices : UINT32_MAX, peer);

	return policy != NULL && policy->policy == CONFIG_PROTECT_REQUIRED;
}
