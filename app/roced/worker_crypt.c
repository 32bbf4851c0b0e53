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

static bool fill(struct worker_crypt *wc, const struct config *config, const char *device)
{
	if (device[0] != '\0') {
		wc->crypt.cipher = &crypt_cryptodev_cipher;
		wc->crypt.cipher_ctx = device_open(device);
	} else {
		wc->crypt.cipher = &crypt_simd_cipher;
		wc->crypt.cipher_ctx = crypt_simd_new(NULL);
	}
	if (wc->crypt.cipher_ctx == NULL)
		return false;
	wc->crypt.port = (uint16_t)config->protection.port;
	wc->crypt.table = crypt_table_new(WORKER_RX_SAS);
	wc->pairs = crypt_pairs_new(WORKER_PAIRS);
	return wc->crypt.table != NULL && wc->pairs != NULL;
}

struct worker_crypt *worker_crypt_new(const struct config *config, uint32_t index)
{
	struct worker_crypt *wc = calloc(1, sizeof(*wc));

	if (wc != NULL && !fill(wc, config, config->workers[index].crypto)) {
		worker_crypt_free(wc);
		wc = NULL;
	}
	return wc;
}

int worker_crypt_init(struct worker *worker)
{
	if (worker->roced->config.protection.n_peers == 0)
		return 0;
	worker->crypt = worker_crypt_new(&worker->roced->config, worker->index);
	return worker->crypt != NULL ? 0 : -EINVAL;
}

void worker_crypt_free(struct worker_crypt *wc)
{
	if (wc == NULL)
		return;
	crypt_pairs_free(wc->pairs);
	crypt_table_free(wc->crypt.table);
	if (wc->crypt.cipher == &crypt_cryptodev_cipher)
		crypt_cryptodev_free(wc->crypt.cipher_ctx);
	else
		crypt_simd_free(wc->crypt.cipher_ctx);
	free(wc);
}

void worker_crypt_fini(struct worker *worker)
{
	worker_crypt_free(worker->crypt);
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
