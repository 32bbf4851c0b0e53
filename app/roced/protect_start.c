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

static bool all_know(struct worker_crypt *const *crypts, uint32_t n_workers, enum crypt_suite suite)
{
	for (uint32_t w = 0; w < n_workers; w++) {
		const struct crypt_worker *crypt = &crypts[w]->crypt;

		if (!crypt->cipher->knows(crypt->cipher_ctx, suite))
			return false;
	}
	return true;
}

/* What is configured has to work; of the default, what does. */
static int choose_suites(const struct config *config, struct worker_crypt *const *crypts, struct protect_set *set, char why[PROTECT_WHY])
{
	static const enum crypt_suite usual[] = {CRYPT_AES_256_GCM, CRYPT_SM4_GCM};
	bool told = config->protection.n_suites != 0;
	const enum crypt_suite *from = told ? config->protection.suites : usual;
	uint32_t n = told ? config->protection.n_suites : RTE_DIM(usual);

	for (uint32_t i = 0; i < n; i++) {
		if (all_know(crypts, config->n_workers, from[i])) {
			set->suites[set->n_suites++] = (uint8_t)from[i];
		} else if (told) {
			(void)snprintf(why, PROTECT_WHY, "protection.suites: a worker's crypto device (workers[].crypto) has no %s",
				crypt_suite_name(from[i]));
			return -EINVAL;
		}
	}
	if (set->n_suites != 0)
		return 0;
	(void)snprintf(why, PROTECT_WHY, "protection: a worker's crypto device (workers[].crypto) has neither aes-256-gcm nor sm4-gcm");
	return -EINVAL;
}

/* A peer whose key is not there could never be spoken to. */
static int check_ids(const struct config_protection *config, const struct protect_set *set, char why[PROTECT_WHY])
{
	for (uint32_t i = 0; i < config->n_peers; i++) {
		const char *id = config->peers[i].psk_id;

		if (id[0] == '\0' || crypt_cred_psk(set->cred, id) != NULL)
			continue;
		(void)snprintf(why, PROTECT_WHY, "protection.peers[%u].psk_id: %.150s has no line with the ID \"%.100s\"", i, config->psk_file, id);
		return -EINVAL;
	}
	return 0;
}

void protect_stamp(const struct config_protection *config, struct protect_stamp stamps[4])
{
	const char *files[4] = {config->psk_file, config->cert_file, config->key_file, config->ca_file};
	struct stat st;

	for (int i = 0; i < 4; i++) {
		stamps[i] = (struct protect_stamp){0};
		if (files[i][0] == '\0' || stat(files[i], &st) != 0)
			continue;
		stamps[i] = (struct protect_stamp){.dev = st.st_dev, .ino = st.st_ino, .bytes = st.st_size, .changed = st.st_ctim};
	}
}

int protect_set_load(const struct config *config, struct worker_crypt *const *crypts, struct protect_set *set, char why[PROTECT_WHY])
{
	const struct config_protection *p = &config->protection;
	struct crypt_cred_config files = {.psk_file = or_null(p->psk_file), .cert_file = or_null(p->cert_file), .key_file = or_null(p->key_file),
		.ca_file = or_null(p->ca_file)};
	struct crypt_error error;
	int rc;

	*set = (struct protect_set){0};
	/* Before they are read: what is written meanwhile is noticed by the next reload. */
	protect_stamp(p, set->stamps);
	set->cred = crypt_cred_load(&files, &error);
	if (set->cred == NULL) {
		(void)snprintf(why, PROTECT_WHY, "protection: %s", error.text);
		return -EINVAL;
	}
	rc = check_ids(p, set, why);
	if (rc == 0)
		rc = choose_suites(config, crypts, set, why);
	if (rc != 0)
		protect_set_free(set);
	return rc;
}

void protect_set_free(struct protect_set *set)
{
	crypt_cred_free(set->cred);
	set->cred = NULL;
}

struct protect *protect_new(struct roced *roced, const struct protect_set *set)
{
	struct protect *p = calloc(1, sizeof(*p));
	struct crypt_gate_config gate;

	if (p == NULL)
		return NULL;
	p->roced = roced;
	crypt_gate_config_default(&gate);
	p->gate = crypt_gate_new(&gate);
	if (p->gate == NULL) {
		free(p);
		return NULL;
	}
	p->set = *set;
	if (!crypt_mem_may_lock(LOCK_BYTES))
		log_line(LOG_WARNING, "protection: keys are in memory that may be swapped out: let roced lock memory"
			" (RLIMIT_MEMLOCK, CAP_IPC_LOCK)");
	return p;
}

int protect_init(struct roced *roced)
{
	struct worker_crypt *crypts[VD_MAX_WORKERS];
	char why[PROTECT_WHY];
	struct protect_set set;

	if (roced->config.protection.n_peers == 0)
		return 0;
	for (uint32_t w = 0; w < roced->n_workers; w++)
		crypts[w] = roced->workers[w]->crypt;
	if (protect_set_load(&roced->config, crypts, &set, why) != 0) {
		log_line(LOG_ERR, "%s", why);
		return -EINVAL;
	}
	roced->protect = protect_new(roced, &set);
	if (roced->protect == NULL)
		protect_set_free(&set);
	return roced->protect != NULL ? 0 : -ENOMEM;
}

void protect_free(struct protect *p)
{
	if (p == NULL)
		return;
	while (p->n != 0)
		protect_drop(p, p->n - 1);
	crypt_gate_free(p->gate);
	protect_set_free(&p->set);
	free(p);
}

void protect_fini(struct roced *roced)
{
	protect_free(roced->protect);
	roced->protect = NULL;
}
