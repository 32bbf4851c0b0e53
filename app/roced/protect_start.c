/* SPDX-License-Identifier: BSD-3-Clause */
/* Protection's start and stop: files are read, suites chosen. */
#include <errno.h>
#include <stdlib.h>

#include "crypt_mem.h"
#include "log.h"
#include "protect_internal.h"
#include "worker_crypt.h"

#define LOCK_BYTES (1u << 20) /* keys of some peers: what a process without rights may lock is more or nothing */

static const char *or_null(const char *text)
{
	return text[0] != '\0' ? text : NULL;
}

static bool all_know(const struct roced *roced, enum crypt_suite suite)
{
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		const struct crypt_worker *crypt = &roced->workers[w]->crypt->crypt;

		if (!crypt->cipher->knows(crypt->cipher_ctx, suite))
			return false;
	}
	return true;
}

/* What is configured has to work; of the default, what does. */
static int choose_suites(struct protect *p)
{
	static const enum crypt_suite usual[] = {CRYPT_AES_256_GCM, CRYPT_SM4_GCM};
	const struct config_protection *config = &p->roced->config.protection;
	bool told = config->n_suites != 0;
	const enum crypt_suite *from = told ? config->suites : usual;
	uint32_t n = told ? config->n_suites : RTE_DIM(usual);

	for (uint32_t i = 0; i < n; i++) {
		if (all_know(p->roced, from[i])) {
			p->suites[p->n_suites++] = (uint8_t)from[i];
		} else if (told) {
			log_line(LOG_ERR, "protection.suites: a worker's crypto device (workers[].crypto) has no %s",
				crypt_suite_name(from[i]));
			return -EINVAL;
		}
	}
	if (p->n_suites != 0)
		return 0;
	log_line(LOG_ERR, "protection: a worker's crypto device (workers[].crypto) has neither aes-256-gcm nor sm4-gcm");
	return -EINVAL;
}

/* A peer whose key is not there could never be spoken to. */
static int check_ids(const struct protect *p)
{
	const struct config_protection *config = &p->roced->config.protection;

	for (uint32_t i = 0; i < config->n_peers; i++) {
		const char *id = config->peers[i].psk_id;

		if (id[0] == '\0' || crypt_cred_psk(p->cred, id) != NULL)
			continue;
		log_line(LOG_ERR, "protection.peers[%u].psk_id: %s has no line with the ID \"%s\"", i, config->psk_file, id);
		return -EINVAL;
	}
	return 0;
}

int protect_init(struct roced *roced)
{
	const struct config_protection *config = &roced->config.protection;
	struct crypt_cred_config files = {.psk_file = or_null(config->psk_file), .cert_file = or_null(config->cert_file),
		.key_file = or_null(config->key_file), .ca_file = or_null(config->ca_file)};
	struct crypt_gate_config gate;
	struct crypt_error error;
	struct protect *p;

	if (config->n_peers == 0)
		return 0;
	p = calloc(1, sizeof(*p));
	if (p == NULL)
		return -ENOMEM;
	p->roced = roced;
	roced->protect = p;
	p->cred = crypt_cred_load(&files, &error);
	if (p->cred == NULL) {
		log_line(LOG_ERR, "protection: %s", error.text);
		return -EINVAL;
	}
	if (check_ids(p) != 0)
		return -EINVAL;
	if (!crypt_mem_may_lock(LOCK_BYTES))
		log_line(LOG_WARNING, "protection: keys are in memory that may be swapped out: let roced lock memory"
			" (RLIMIT_MEMLOCK, CAP_IPC_LOCK)");
	crypt_gate_config_default(&gate);
	p->gate = crypt_gate_new(&gate);
	return p->gate != NULL ? choose_suites(p) : -ENOMEM;
}

void protect_fini(struct roced *roced)
{
	struct protect *p = roced->protect;

	if (p == NULL)
		return;
	while (p->n != 0)
		protect_drop(p, p->n - 1);
	crypt_gate_free(p->gate);
	crypt_cred_free(p->cred);
	free(p);
	roced->protect = NULL;
}
