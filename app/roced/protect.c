/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "clock.h"
#include "protect_internal.h"
#include "wire_addr.h"
#include "wire_arp_nd.h"
#include "wire_psp.h"
#include "worker_crypt.h"

#define LOOK_NS    200000000u /* between two looks at what workers have counted */
#define NS_PER_MS  1000000u
#define MBYTE      1000000u
#define SILENT_NS  10000000000ull /* a peer that has not been heard for so long and does not answer speaks no protection any more */

uint32_t protect_devices(const struct port *port, const struct wire_addr *local)
{
	uint32_t devices = 0;

	for (uint32_t i = 0; i < port->n_addrs; i++) {
		if (memcmp(&port->addrs[i].addr, local, sizeof(*local)) == 0)
			devices |= 1u << port->addrs[i].device;
	}
	return devices;
}

const struct config_protect *protect_policy(const struct config_protection *config, uint32_t devices, const struct wire_addr *peer)
{
	const struct config_protect *best = NULL;
	uint32_t most = 0;

	for (uint32_t i = 0; i < config->n_peers; i++) {
		const struct config_prefix *network = &config->peers[i].network;
		uint32_t bits = wire_addr_prefix(&network->addr, network->len);

		if ((config->peers[i].device_mask & devices) == 0 || !wire_addr_same_network(&network->addr, peer, bits) ||
			(best != NULL && bits <= most))
			continue;
		best = &config->peers[i];
		most = bits;
	}
	return best;
}

/* ---- associations ---- */

void protect_make_config(struct association *a, struct crypt_assoc_config *out)
{
	const struct config_protect *policy = a->policy;
	const struct config_protection *config = &a->protect->roced->config.protection;

	crypt_assoc_config_default(out);
	out->hs.cred = a->protect->set.cred;
	out->hs.n_suites = a->protect->set.n_suites;
	memcpy(out->hs.suites, a->protect->set.suites, sizeof(a->protect->set.suites));
	out->hs.methods = (uint8_t)((config->psk_file[0] != '\0' ? CRYPT_METHOD_PSK : 0) |
		(config->cert_file[0] != '\0' ? CRYPT_METHOD_CERT : 0));
	out->hs.lanes = (uint16_t)a->protect->roced->n_workers;
	out->hs.psk_id = policy->psk_id[0] != '\0' ? policy->psk_id : NULL;
	for (uint32_t i = 0; i < policy->n_names; i++)
		a->names[i] = policy->names[i];
	out->hs.peer_names = a->names;
	out->hs.n_peer_names = policy->n_names;
	out->hs.local_id = (struct crypt_msg_bytes){a->local.b, sizeof(a->local.b)};
	out->hs.peer_id = (struct crypt_msg_bytes){a->peer.b, sizeof(a->peer.b)};
	out->peer = a->text;
	out->addr = (struct crypt_msg_bytes){a->peer.b, sizeof(a->peer.b)};
	out->window_packets = config->window_packets;
	out->soft_ns = (uint64_t)config->rekey_ms * NS_PER_MS;
	out->soft_bytes = config->rekey_mbytes * MBYTE;
	out->drain_ns = (uint64_t)config->drain_ms * NS_PER_MS;
	out->plain = policy->policy == CONFIG_PROTECT_OPTIONAL;
}

static struct association *find(const struct protect *p, const struct wire_addr *local, const struct wire_addr *peer)
{
	for (uint32_t i = 0; i < p->n; i++) {
		if (memcmp(&p->assocs[i]->local, local, sizeof(*local)) == 0 && memcmp(&p->assocs[i]->peer, peer, sizeof(*peer)) == 0)
			return p->assocs[i];
	}
	return NULL;
}

void protect_drop(struct protect *p, uint32_t i)
{
	struct association *a = p->assocs[i];

	crypt_assoc_free(a->assoc);
	for (uint32_t w = 0; w < p->roced->n_workers; w++)
		protect_forget(p->roced->workers[w], &a->local, &a->peer);
	p->assocs[i] = p->assocs[--p->n];
	free(a);
}

/* The one that has been of no use longest; UINT32_MAX: all are. */
static uint32_t least_used(const struct protect *p, bool (*is_of_use)(const struct crypt_assoc *assoc))
{
	uint32_t best = UINT32_MAX;

	for (uint32_t i = 0; i < p->n; i++) {
		if (!is_of_use(p->assocs[i]->assoc) && (best == UINT32_MAX || p->assocs[i]->used_ns < p->assocs[best]->used_ns))
			best = i;
	}
	return best;
}

static bool is_busy(const struct crypt_assoc *assoc)
{
	return !crypt_assoc_is_idle(assoc);
}

/*
 * Anybody may begin to speak of keys with any address, and have us do so by asking for a connection: what has led to nothing gives
 * way to what comes next, first what nothing is tried for. What is required stays so without an association, and the next one who
 * wants to send to the peer begins anew.
 */
static bool make_room(struct protect *p, const char *peer)
{
	uint32_t best;

	if (p->n < PROTECT_ASSOCS)
		return true;
	best = least_used(p, is_busy);
	if (best == UINT32_MAX)
		best = least_used(p, crypt_assoc_has_keys);
	if (best != UINT32_MAX)
		protect_drop(p, best);
	else
		protect_say_full(p, peer);
	return best != UINT32_MAX;
}

static bool begin(struct association *a)
{
	struct crypt_assoc_config config;
	struct crypt_error error;

	protect_make_config(a, &config);
	a->assoc = crypt_assoc_new(&config, a->protect->gate, &protect_ops, a, &error);
	if (a->assoc == NULL)
		protect_say(a, CRYPT_EVENT_PROBLEM, error.text);
	return a->assoc != NULL;
}

static struct association *make(struct protect *p, struct port *port, uint32_t device, const struct wire_addr *local,
	const struct wire_addr *peer, const struct config_protect *policy)
{
	struct association *a = calloc(1, sizeof(*a));

	if (a == NULL)
		return NULL;
	a->protect = p;
	a->port = port;
	a->device = device;
	a->local = *local;
	a->peer = *peer;
	a->policy = policy;
	(void)wire_addr_print(peer, a->text);
	if (!make_room(p, a->text) || !begin(a)) {
		free(a);
		return NULL;
	}
	p->assocs[p->n++] = a;
	return a;
}

/* An address that another host can have. */
static bool may_be_peer(const struct port *port, const struct wire_addr *peer, const struct wire_udp_at *at, uint16_t tci)
{
	static const struct wire_addr any;
	size_t from = wire_addr_is_v4(peer) ? 12 : 0;
	uint8_t mac[6];

	return memcmp(peer->b + from, any.b, sizeof(any.b) - from) != 0 && !wire_mcast_mac(peer, mac) &&
		port_find_addr(port, peer, at->l3 == 18, tci) == NULL;
}

/* The association with a peer for which there is a policy; NULL: none, or too many. */
static struct association *get(struct protect *p, struct port *port, uint32_t device, const struct wire_addr *local,
	const struct wire_addr *peer)
{
	const struct config_protect *policy;
	struct association *a = find(p, local, peer);

	if (a == NULL) {
		policy = protect_policy(&p->roced->config.protection, 1u << device, peer);
		if (policy != NULL && policy->policy != CONFIG_PROTECT_OFF)
			a = make(p, port, device, local, peer, policy);
	}
	if (a != NULL)
		a->used_ns = clock_now_ns();
	return a;
}

void protect_need(struct roced *roced, struct port *port, uint32_t device, const struct wire_addr *local,
	const struct wire_addr *peer)
{
	struct association *a;

	if (roced->protect == NULL || roced->protect->emitting)
		return;
	a = get(roced->protect, port, device, local, peer);
	if (a == NULL || a->started)
		return;
	a->started = true;
	(void)crypt_assoc_start(a->assoc, clock_now_ns());
	a->next_ns = 0;
	eventfd_write(roced->punt_fd, 1);
}

void protect_rx(struct roced *roced, struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct port *port = roced->port_by_id[m->port];
	const struct port_addr *own;
	struct wire_addr local, peer;
	struct wire_udp_at at;
	struct association *a;
	struct wire_psp psp;
	uint64_t now_ns = clock_now_ns();
	uint16_t tci = 0;
	bool begins;

	if (roced->protect == NULL || wire_udp_find(frame, m->data_len, m->pkt_len, &at) != BASE_DROP_NONE)
		return;
	wire_udp_addrs(frame, &at, &peer, &local);
	if (at.l3 == 18)
		tci = (uint16_t)(frame[14] << 8 | frame[15]);
	own = port_find_addr(port, &local, at.l3 == 18, tci);
	a = own != NULL ? find(roced->protect, &local, &peer) : NULL;
	begins = TP_PKT(m)->kind != WIRE_KIND_KEYS || crypt_assoc_begins(frame + at.l4 + 8, (size_t)(at.end - at.l4) - 8);
	if (a == NULL && own != NULL && begins && may_be_peer(port, &peer, &at, tci))
		a = get(roced->protect, port, own->device, &local, &peer);
	if (a == NULL) {
		roced->counters.drops[BASE_DROP_NOT_OURS]++;
		return;
	}
	a->used_ns = now_ns;
	if (TP_PKT(m)->kind == WIRE_KIND_KEYS)
		crypt_assoc_receive(a->assoc, frame + at.l4 + 8, (size_t)(at.end - at.l4) - 8, now_ns);
	else if (at.end - at.l4 >= 8 + (int)WIRE_PSP_BYTES && wire_psp_read(frame + at.l4 + 8, &psp))
		crypt_assoc_unknown_spi(a->assoc, psp.spi, now_ns);
	a->next_ns = crypt_assoc_tick(a->assoc, now_ns);
}

/* ---- time ---- */

void protect_restart(struct association *a, uint64_t now_ns)
{
	struct crypt_assoc *old = a->assoc;

	if (!begin(a)) {
		a->assoc = old;
		return;
	}
	crypt_assoc_free(old);
	if (a->started)
		(void)crypt_assoc_start(a->assoc, now_ns);
	a->next_ns = crypt_assoc_tick(a->assoc, now_ns);
}

/*
 * The peer has keys no more, and answers no wish for new ones: what is optional goes plain, until it answers. Where protection is
 * required everything stays as it is.
 */
static void fall_back(struct association *a, uint64_t now_ns)
{
	a->unanswered = false;
	if (a->policy->policy == CONFIG_PROTECT_REQUIRED || now_ns - a->heard_ns < SILENT_NS)
		return;
	protect_restart(a, now_ns);
}

/* Whoever had proofs of before had time to show new ones. */
static void end_renewal(struct association *a, uint64_t now_ns)
{
	struct crypt_assoc_status status;

	crypt_assoc_status(a->assoc, &status);
	if (!status.established || status.born_ns >= a->renew_ns) {
		a->renew_ns = 0;
	} else if (now_ns - a->renew_ns >= PROTECT_RENEW_NS) {
		a->renew_ns = 0;
		protect_say(a, CRYPT_EVENT_PROBLEM, "the peer has not proved itself by what is configured now: its keys end");
		protect_restart(a, now_ns);
	}
}

uint64_t protect_tick(struct roced *roced, uint64_t now_ns)
{
	struct protect *p = roced->protect;
	uint64_t next_ns = UINT64_MAX;
	bool due;

	if (p == NULL)
		return UINT64_MAX;
	due = now_ns >= p->look_ns;
	if (due) {
		p->look_ns = now_ns + LOOK_NS;
		protect_look_drops(p, now_ns);
		alarm_age(&roced->alarms, now_ns);
	}
	for (uint32_t i = 0; i < p->n; i++) {
		struct association *a = p->assocs[i];

		if (due)
			protect_look(a, now_ns);
		if (due || now_ns >= a->next_ns)
			a->next_ns = crypt_assoc_tick(a->assoc, now_ns);
		if (a->unanswered)
			fall_back(a, now_ns);
		if (due && a->renew_ns != 0)
			end_renewal(a, now_ns);
		next_ns = RTE_MIN(next_ns, a->next_ns);
	}
	return RTE_MIN(next_ns, p->look_ns);
}
