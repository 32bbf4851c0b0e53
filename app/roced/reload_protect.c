/* SPDX-License-Identifier: BSD-3-Clause */
/* Reload of protection: policies, and what hosts prove themselves with. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "log.h"
#include "protect_internal.h"
#include "reload.h"

/* What becomes of an association. */
enum fate {
	KEEP,      /* nothing is different for it, but maybe the place of its policy */
	CONFIGURE, /* other numbers; its keys stay */
	RENEW,     /* other proofs: a new handshake beside its keys, which end soon */
	DROP,
};

struct prepared {
	bool other_files;
	bool fresh;                /* there was no protection */
	struct protect *protect;   /* fresh: the new one */
	struct worker_crypt *crypts[VD_MAX_WORKERS]; /* the same */
	struct protect_set set;    /* else: in the place of the old one; after finish() the old one */
	uint32_t n;
	enum fate fates[PROTECT_ASSOCS];
};

static bool same_files(const struct reload *reload)
{
	const struct protect *p = reload->roced->protect;
	struct protect_stamp stamps[4];

	protect_stamp(&reload->config->protection, stamps);
	return memcmp(stamps, p->set.stamps, sizeof(stamps)) == 0;
}

/* ---- where there was none ---- */

static int prepare_fresh(struct reload *reload, struct prepared *prepared)
{
	struct roced *roced = reload->roced;
	char why[PROTECT_WHY];

	prepared->fresh = true;
	for (uint32_t p = 0; p < roced->n_ports; p++) {
		if (roced->ports[p].xdp != NULL)
			reload_refuse(reload, "protection.peers: port \"%s\" is of AF_XDP and was told at the start that nothing is protected: needs a restart",
				roced->ports[p].config->name);
	}
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		prepared->crypts[w] = worker_crypt_new(reload->config, w);
		if (prepared->crypts[w] == NULL)
			return -ENOMEM;
	}
	if (protect_set_load(reload->config, prepared->crypts, &prepared->set, why) != 0) {
		reload_refuse(reload, "%s", why);
		return 0;
	}
	prepared->protect = protect_new(roced, &prepared->set);
	if (prepared->protect == NULL)
		return -ENOMEM;
	prepared->set.cred = NULL;
	return 0;
}

/* ---- where there is one ---- */

static bool same_proofs(const struct config_protect *a, const struct config_protect *b)
{
	if (strcmp(a->psk_id, b->psk_id) != 0 || a->n_names != b->n_names)
		return false;
	for (uint32_t i = 0; i < a->n_names; i++) {
		if (strcmp(a->names[i], b->names[i]) != 0)
			return false;
	}
	return true;
}

static enum fate fate_of(const struct reload *reload, const struct prepared *prepared, const struct association *a)
{
	const struct config_protect *policy = protect_policy(&reload->config->protection, 1u << a->device, &a->peer);

	if (policy == NULL || policy->policy == CONFIG_PROTECT_OFF || reload->config->devices[a->device].name[0] == '\0')
		return DROP;
	if (prepared->other_files || reload_touches(reload, "protection.suites") || !same_proofs(policy, a->policy))
		return RENEW;
	return reload_touches(reload, "protection") ? CONFIGURE : KEEP;
}

static int prepare_set(struct reload *reload, struct prepared *prepared)
{
	struct worker_crypt *crypts[VD_MAX_WORKERS];
	char why[PROTECT_WHY];

	for (uint32_t w = 0; w < reload->roced->n_workers; w++)
		crypts[w] = reload->roced->workers[w]->crypt;
	if (protect_set_load(reload->config, crypts, &prepared->set, why) != 0)
		reload_refuse(reload, "%s", why);
	return 0;
}

static bool names_others(const struct reload *reload)
{
	return reload_touches(reload, "protection.psk_file") || reload_touches(reload, "protection.cert_file") ||
		reload_touches(reload, "protection.key_file") || reload_touches(reload, "protection.ca_file");
}

static int prepare_other(struct reload *reload, struct prepared *prepared)
{
	const struct protect *p = reload->roced->protect;

	prepared->other_files = !same_files(reload);
	if (prepared->other_files && !names_others(reload)) {
		fputs("protection: other keys or certificates in files\n", reload->out);
		reload->files++;
	}
	prepared->n = p->n;
	for (uint32_t i = 0; i < p->n; i++)
		prepared->fates[i] = fate_of(reload, prepared, p->assocs[i]);
	/* Nobody is to be protected: what is there is not looked at. */
	return reload->config->protection.n_peers != 0 ? prepare_set(reload, prepared) : 0;
}

static int prepare(struct reload *reload, void **out)
{
	const struct roced *roced = reload->roced;
	bool wanted = reload->config->protection.n_peers != 0;
	struct prepared *prepared;

	if (roced->protect == NULL ? !wanted : !reload_touches(reload, "protection") && !reload_touches(reload, "devices") && same_files(reload))
		return 0;
	prepared = calloc(1, sizeof(*prepared));
	if (prepared == NULL)
		return -ENOMEM;
	*out = prepared;
	return roced->protect == NULL ? prepare_fresh(reload, prepared) : prepare_other(reload, prepared);
}

/* ---- the workers stand still ---- */

/* What may go plain is the new configuration's business at once. */
static void set_required(const struct reload *reload, const struct association *a)
{
	const struct config_protect *policy = protect_policy(&reload->config->protection, 1u << a->device, &a->peer);

	for (uint32_t w = 0; w < reload->roced->n_workers; w++) {
		struct crypt_pair *pair = crypt_pairs_find(reload->roced->workers[w]->crypt->pairs, &a->local, &a->peer);

		if (pair != NULL)
			pair->required = policy != NULL && policy->policy == CONFIG_PROTECT_REQUIRED;
	}
}

static void commit(struct reload *reload, void *arg)
{
	struct prepared *prepared = arg;
	struct roced *roced = reload->roced;

	for (uint32_t i = 0; prepared != NULL && i < prepared->n; i++)
		set_required(reload, roced->protect->assocs[i]);
	if (prepared == NULL || !prepared->fresh)
		return;
	for (uint32_t w = 0; w < roced->n_workers; w++) {
		roced->workers[w]->crypt = prepared->crypts[w];
		prepared->crypts[w] = NULL;
	}
	roced->protect = prepared->protect;
	prepared->protect = NULL;
}

/* ---- they run again, and roced->config is the new one ---- */

static void configure(struct association *a, enum fate fate, uint64_t now_ns)
{
	struct crypt_assoc_config config;
	struct crypt_error error;

	a->policy = protect_policy(&a->protect->roced->config.protection, 1u << a->device, &a->peer);
	protect_make_config(a, &config);
	if (crypt_assoc_configure(a->assoc, &config, &error) != 0) {
		/* A peer whose ways to prove itself are gone. */
		protect_say(a, CRYPT_EVENT_PROBLEM, error.text);
		protect_restart(a, now_ns);
		return;
	}
	if (fate == RENEW && (a->started || crypt_assoc_has_keys(a->assoc))) {
		a->renew_ns = now_ns;
		(void)crypt_assoc_handshake_now(a->assoc, now_ns);
	} else if (a->started && !crypt_assoc_has_keys(a->assoc)) {
		(void)crypt_assoc_handshake_now(a->assoc, now_ns);
	}
	a->next_ns = crypt_assoc_tick(a->assoc, now_ns);
}

static bool is_there(const struct association *a)
{
	return (protect_devices(a->port, &a->local) & 1u << a->device) != 0;
}

static void finish(struct reload *reload, void *arg)
{
	struct prepared *prepared = arg;
	struct protect *p = reload->roced->protect;
	struct protect_set old;
	uint64_t now_ns = clock_now_ns();

	if (prepared == NULL)
		return;
	old = p->set;
	if (prepared->set.cred != NULL)
		p->set = prepared->set;
	/* From the last one on: who goes gives its place to the last one. */
	for (uint32_t i = prepared->n; i-- > 0;) {
		if (prepared->fates[i] == DROP || !is_there(p->assocs[i]))
			protect_drop(p, i);
		else
			configure(p->assocs[i], prepared->fates[i], now_ns);
	}
	link_need_keys(reload->roced);
	/* Of associations that are there nothing refers to the old ones any more. */
	if (prepared->set.cred != NULL)
		prepared->set = old;
}

static void undo(struct reload *reload, void *arg)
{
	struct prepared *prepared = arg;

	if (prepared == NULL)
		return;
	protect_free(prepared->protect);
	for (uint32_t w = 0; w < reload->roced->n_workers; w++)
		worker_crypt_free(prepared->crypts[w]);
	protect_set_free(&prepared->set);
	free(prepared);
}

const struct reload_part reload_protect = {prepare, commit, finish, undo};
