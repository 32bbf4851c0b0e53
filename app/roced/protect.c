/* SPDX-License-Identifier: BSD-3-Clause */
#include "protect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "clock.h"
#include "crypt_assoc.h"
#include "link_route.h"
#include "log.h"
#include "wire_addr.h"
#include "wire_psp.h"
#include "worker_crypt.h"

#define MAX_ASSOCS 256u
#define LOOK_NS    200000000u /* between two looks at what workers have counted */
#define NS_PER_MS  1000000u
#define MBYTE      1000000u
#define MAX_RX     (CRYPT_MSG_LANES * 24u) /* receiving SAs of an association: so many generations are drained at most */

/* A receiving SA, as the main thread remembers it. The SA itself is its worker's. */
struct rx_note {
	uint32_t spi;
	uint32_t worker;
	const struct crypt_rx_sa *sa;
	bool seen;
	uint64_t packets;
};

struct association {
	struct protect *protect;
	struct crypt_assoc *assoc;
	uint32_t device;
	struct wire_addr local, peer;
	char text[64];                      /* the peer's address */
	const char *names[CONFIG_MAX_NAMES];
	bool required, started;
	uint64_t next_ns;
	uint32_t n_rx;
	struct rx_note rx[MAX_RX];
	const struct crypt_tx_sa *tx[VD_MAX_WORKERS];
};

struct protect {
	struct roced *roced;
	struct crypt_cred *cred;
	struct crypt_gate *gate;
	uint64_t look_ns;
	bool emitting;                      /* what is sent for an association needs none */
	uint32_t n;
	struct association *assocs[MAX_ASSOCS];
};

const struct config_protect *protect_policy(const struct config_protection *config, const struct wire_addr *peer)
{
	const struct config_protect *best = NULL;
	uint32_t most = 0;

	for (uint32_t i = 0; i < config->n_peers; i++) {
		const struct config_prefix *network = &config->peers[i].network;
		uint32_t bits = wire_addr_prefix(&network->addr, network->len);

		if (!wire_addr_same_network(&network->addr, peer, bits) || (best != NULL && bits <= most))
			continue;
		best = &config->peers[i];
		most = bits;
	}
	return best;
}

/* ---- orders to workers ---- */

struct order {
	struct association *a;
	struct worker *worker;
	const struct crypt_sa_params *params;
	uint32_t spi;
	struct crypt_rx_sa *rx;
	struct crypt_tx_sa *tx;
	int rc;
};

static void add_rx(void *arg)
{
	struct order *o = arg;
	struct worker_crypt *wc = o->worker->crypt;

	o->rx = crypt_rx_sa_new(wc->crypt.cipher, wc->crypt.cipher_ctx, o->params);
	o->rc = o->rx == NULL ? -errno : crypt_table_add(wc->crypt.table, o->rx);
	if (o->rc != 0)
		crypt_rx_sa_free(o->rx);
}

static void drop_rx(void *arg)
{
	struct order *o = arg;

	crypt_rx_sa_free(crypt_table_take(o->worker->crypt->crypt.table, o->spi));
}

static void set_tx(void *arg)
{
	struct order *o = arg;
	struct worker_crypt *wc = o->worker->crypt;
	struct worker_pair *pair = worker_crypt_pair(wc, &o->a->local, &o->a->peer, true);

	o->rc = pair == NULL ? -ENOSPC : 0;
	if (pair == NULL)
		return;
	pair->required = o->a->required;
	if (o->params != NULL) {
		o->tx = crypt_tx_sa_new(wc->crypt.cipher, wc->crypt.cipher_ctx, o->params);
		o->rc = o->tx == NULL ? -errno : 0;
		if (o->tx == NULL)
			return;
	}
	crypt_tx_sa_free(pair->tx);
	pair->tx = o->tx;
}

static int ops_rx_add(void *ctx, const struct crypt_sa_params *params)
{
	struct association *a = ctx;
	struct roced *roced = a->protect->roced;
	uint32_t w = params->lane % roced->n_workers;
	struct crypt_sa_params bound = *params;
	struct order o = {.a = a, .worker = roced->workers[w], .params = &bound};

	if (a->n_rx == MAX_RX)
		return -ENOSPC;
	/* A peer's keys are for its own address alone. */
	bound.from = a->peer;
	bound.to = a->local;
	worker_call(o.worker, add_rx, &o);
	explicit_bzero(&bound, sizeof(bound));
	if (o.rc == 0)
		a->rx[a->n_rx++] = (struct rx_note){.spi = params->spi, .worker = w, .sa = o.rx};
	return o.rc;
}

static int ops_tx_use(void *ctx, const struct crypt_sa_params *params)
{
	struct association *a = ctx;
	struct order o = {.a = a, .params = params};

	if (params->lane >= a->protect->roced->n_workers)
		return -EINVAL;
	o.worker = a->protect->roced->workers[params->lane];
	worker_call(o.worker, set_tx, &o);
	if (o.rc == 0)
		a->tx[params->lane] = o.tx;
	return o.rc;
}

static void ops_tx_stop(void *ctx, uint16_t lane)
{
	struct association *a = ctx;
	struct order o = {.a = a};

	if (lane >= a->protect->roced->n_workers)
		return;
	o.worker = a->protect->roced->workers[lane];
	a->tx[lane] = NULL;
	worker_call(o.worker, set_tx, &o);
}

static void ops_rx_drop(void *ctx, uint32_t spi)
{
	struct association *a = ctx;

	for (uint32_t i = 0; i < a->n_rx; i++) {
		struct order o = {.a = a, .spi = spi};

		if (a->rx[i].spi != spi)
			continue;
		o.worker = a->protect->roced->workers[a->rx[i].worker];
		worker_call(o.worker, drop_rx, &o);
		a->rx[i] = a->rx[--a->n_rx];
		return;
	}
}

static bool ops_spi_used(void *ctx, uint32_t base, uint16_t n)
{
	const struct association *own = ctx;
	const struct protect *p = own->protect;

	for (uint32_t k = 0; k < p->n; k++) {
		for (uint32_t i = 0; i < p->assocs[k]->n_rx; i++) {
			if (p->assocs[k]->rx[i].spi - base < n)
				return true;
		}
	}
	return false;
}

static int64_t ops_wall_s(void *ctx)
{
	(void)ctx;
	return (int64_t)time(NULL);
}

static void ops_say(void *ctx, enum crypt_event event, const char *text)
{
	const struct association *a = ctx;
	bool good = event == CRYPT_EVENT_ESTABLISHED || event == CRYPT_EVENT_REKEYED;

	log_line(good ? LOG_INFO : LOG_WARNING, "protection with %s: %s", a->text, text);
}

/* ---- datagrams ---- */

struct datagram {
	struct roced *roced;
	uint32_t device;
	struct wire_addr local, peer;
	size_t bytes;
	uint8_t data[];
};

static void datagram_resolved(void *arg, int status, void *cb_link)
{
	struct datagram *d = arg;
	struct roced *roced = d->roced;
	struct link *link = cb_link;
	const struct port_addr *from =
		status == 0 ? link_source(&roced->ports[roced->config.devices[d->device].port_index], d->device, &d->local) : NULL;
	struct wire_l2l3 net = {.src = d->local, .dst = d->peer};
	uint8_t frame[WIRE_UDP_MAX_HDR_BYTES + CRYPT_MSG_DATAGRAM_BYTES];
	uint16_t port = (uint16_t)roced->config.protection.control_port;

	if (from != NULL && link->entry != NULL && path_neigh_mac(link->entry, net.dmac)) {
		memcpy(net.smac, from->mac, sizeof(net.smac));
		net.has_vlan = from->has_vlan;
		net.vlan_tci = from->vlan_tci;
		link_send_frame(roced, link->port, frame, wire_udp_write(frame, &net, port, port, d->data, d->bytes));
	}
	link_release(roced, link);
	free(d);
}

static void ops_emit(void *ctx, const uint8_t *data, size_t bytes)
{
	struct association *a = ctx;
	struct datagram *d = bytes <= CRYPT_MSG_DATAGRAM_BYTES ? malloc(sizeof(*d) + bytes) : NULL;

	if (d == NULL)
		return;
	*d = (struct datagram){.roced = a->protect->roced, .device = a->device, .local = a->local, .peer = a->peer, .bytes = bytes};
	memcpy(d->data, data, bytes);
	a->protect->emitting = true;
	link_resolve(d->roced, d->device, &d->local, &d->peer, datagram_resolved, d);
	a->protect->emitting = false;
}

static const struct crypt_assoc_ops ops = {
	.emit = ops_emit,
	.rx_add = ops_rx_add,
	.tx_use = ops_tx_use,
	.tx_stop = ops_tx_stop,
	.rx_drop = ops_rx_drop,
	.spi_used = ops_spi_used,
	.wall_s = ops_wall_s,
	.say = ops_say,
};

/* ---- associations ---- */

static void make_config(struct association *a, const struct config_protect *policy, struct crypt_assoc_config *out)
{
	const struct config_protection *config = &a->protect->roced->config.protection;

	crypt_assoc_config_default(out);
	out->hs.cred = a->protect->cred;
	for (uint32_t i = 0; i < config->n_suites; i++)
		out->hs.suites[out->hs.n_suites++] = (uint8_t)config->suites[i];
	if (config->n_suites == 0) {
		out->hs.n_suites = 2;
		out->hs.suites[0] = CRYPT_AES_256_GCM;
		out->hs.suites[1] = CRYPT_SM4_GCM;
	}
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
}

static struct association *find(const struct protect *p, const struct wire_addr *local, const struct wire_addr *peer)
{
	for (uint32_t i = 0; i < p->n; i++) {
		if (memcmp(&p->assocs[i]->local, local, sizeof(*local)) == 0 && memcmp(&p->assocs[i]->peer, peer, sizeof(*peer)) == 0)
			return p->assocs[i];
	}
	return NULL;
}

/* The association with a peer for which there is a policy; NULL: none, or too many. */
static struct association *get(struct protect *p, uint32_t device, const struct wire_addr *local, const struct wire_addr *peer)
{
	const struct config_protect *policy = protect_policy(&p->roced->config.protection, peer);
	struct association *a = find(p, local, peer);
	struct crypt_assoc_config config;
	struct crypt_error error;

	if (a != NULL || policy == NULL || policy->policy == CONFIG_PROTECT_OFF || p->n == MAX_ASSOCS)
		return a;
	a = calloc(1, sizeof(*a));
	if (a == NULL)
		return NULL;
	a->protect = p;
	a->device = device;
	a->local = *local;
	a->peer = *peer;
	a->required = policy->policy == CONFIG_PROTECT_REQUIRED;
	if (wire_addr_is_v4(peer))
		(void)inet_ntop(AF_INET, peer->b + 12, a->text, sizeof(a->text));
	else
		(void)inet_ntop(AF_INET6, peer->b, a->text, sizeof(a->text));
	make_config(a, policy, &config);
	a->assoc = crypt_assoc_new(&config, p->gate, &ops, a, &error);
	if (a->assoc == NULL) {
		log_line(LOG_ERR, "protection with %s: %s", a->text, error.text);
		free(a);
		return NULL;
	}
	p->assocs[p->n++] = a;
	return a;
}

void protect_need(struct roced *roced, uint32_t device, const struct wire_addr *local, const struct wire_addr *peer)
{
	struct association *a;

	if (roced->protect == NULL || roced->protect->emitting)
		return;
	a = get(roced->protect, device, local, peer);
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
	const struct port *port = roced->port_by_id[m->port];
	const struct port_addr *own;
	struct wire_addr local, peer;
	struct wire_udp_at at;
	struct association *a;
	struct wire_psp psp;
	uint64_t now_ns = clock_now_ns();
	uint16_t tci = 0;

	if (roced->protect == NULL || wire_udp_find(frame, m->data_len, m->pkt_len, &at) != BASE_DROP_NONE)
		return;
	wire_udp_addrs(frame, &at, &peer, &local);
	if (at.l3 == 18)
		tci = (uint16_t)(frame[14] << 8 | frame[15]);
	own = port_find_addr(port, &local, at.l3 == 18, tci);
	a = own != NULL ? get(roced->protect, own->device, &local, &peer) : NULL;
	if (a == NULL) {
		roced->counters.drops[BASE_DROP_NOT_OURS]++;
		return;
	}
	if (TP_PKT(m)->kind == WIRE_KIND_KEYS)
		crypt_assoc_receive(a->assoc, frame + at.l4 + 8, (size_t)(at.end - at.l4) - 8, now_ns);
	else if (at.end - at.l4 >= 8 + (int)WIRE_PSP_BYTES && wire_psp_read(frame + at.l4 + 8, &psp))
		crypt_assoc_unknown_spi(a->assoc, psp.spi, now_ns);
	a->next_ns = crypt_assoc_tick(a->assoc, now_ns);
}

/* ---- time ---- */

/* What workers have counted. They write it while it is read, a number at a time. */
static void look(struct association *a, uint64_t now_ns)
{
	bool heard = false;

	for (uint32_t w = 0; w < a->protect->roced->n_workers; w++) {
		if (a->tx[w] != NULL)
			crypt_assoc_used(a->assoc, (uint16_t)w, a->tx[w]->spi, a->tx[w]->bytes, a->tx[w]->next - 1, now_ns);
	}
	/* rx_seen() may drop others, which moves them. */
	for (uint32_t i = 0; i < a->n_rx; i++) {
		uint64_t packets = a->rx[i].sa->packets;
		bool first = packets != 0 && !a->rx[i].seen;

		heard |= packets != a->rx[i].packets;
		a->rx[i].packets = packets;
		a->rx[i].seen |= first;
		if (first)
			crypt_assoc_rx_seen(a->assoc, a->rx[i].spi, now_ns);
	}
	if (heard)
		crypt_assoc_heard(a->assoc, now_ns);
}

uint64_t protect_tick(struct roced *roced, uint64_t now_ns)
{
	struct protect *p = roced->protect;
	uint64_t next_ns = UINT64_MAX;
	bool due;

	if (p == NULL || p->n == 0)
		return UINT64_MAX;
	due = now_ns >= p->look_ns;
	if (due)
		p->look_ns = now_ns + LOOK_NS;
	for (uint32_t i = 0; i < p->n; i++) {
		struct association *a = p->assocs[i];

		if (due)
			look(a, now_ns);
		if (due || now_ns >= a->next_ns)
			a->next_ns = crypt_assoc_tick(a->assoc, now_ns);
		next_ns = RTE_MIN(next_ns, a->next_ns);
	}
	return RTE_MIN(next_ns, p->look_ns);
}

/* ---- start and stop ---- */

static const char *or_null(const char *text)
{
	return text[0] != '\0' ? text : NULL;
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
	crypt_gate_config_default(&gate);
	p->gate = crypt_gate_new(&gate);
	return p->gate != NULL ? 0 : -ENOMEM;
}

void protect_fini(struct roced *roced)
{
	struct protect *p = roced->protect;

	if (p == NULL)
		return;
	for (uint32_t i = 0; i < p->n; i++) {
		crypt_assoc_free(p->assocs[i]->assoc);
		free(p->assocs[i]);
	}
	crypt_gate_free(p->gate);
	crypt_cred_free(p->cred);
	free(p);
	roced->protect = NULL;
}
