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
			errno == ENOTSUP ? "it has neither AES-GCM nor SM4-GCM with a nonce of 12 and a tag of 16 bytes" : strerror(errno));
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
	wc->pairs = crypt_pairs_new(WORKER_PAIRS);
	return wc->crypt.cipher_ctx != NULL && wc->crypt.table != NULL && wc->pairs != NULL ? 0 : -ENOMEM;
}

void worker_crypt_fini(struct worker *worker)
{
	struct worker_crypt *wc = worker->crypt;

	if (wc == NULL)
		return;
	crypt_pairs_free(wc->pairs);
	crypt_table_free(wc->crypt.table);
	if (wc->crypt.cipher == &crypt_cryptodev_cipher)
		crypt_cryptodev_free(wc->crypt.cipher_ctx);
	else
		crypt_simd_free(wc->crypt.cipher_ctx);
	free(wc);
	worker->crypt = NULL;
}

bool worker_crypt_required(const struct worker *worker, const struct port *port, const struct wire_addr *local,
	const struct wire_addr *peer)
{
	uint32_t devices = protect_devices(port, local);
	const struct config_protect *policy =
		protect_policy(&worker->roced->config.protection, devices != 0 ? devices : UINT32_MAX, peer);

	return policy != NULL && policy->policy == CONFIG_PROTECT_REQUIRED;
}
