/* SPDX-License-Identifier: BSD-3-Clause */
/* What an association does: it gives keys to workers, and sends datagrams. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "link_route.h"
#include "protect_internal.h"
#include "wire_addr.h"
#include "worker_crypt.h"

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

	o->rx = crypt_table_take(o->worker->crypt->crypt.table, o->spi);
	if (o->rx != NULL)
		protect_add_rx(&o->a->past, o->rx);
	crypt_rx_sa_free(o->rx);
}

static void set_tx(void *arg)
{
	struct order *o = arg;
	struct worker_crypt *wc = o->worker->crypt;
	struct crypt_pair *pair = o->params != NULL ? crypt_pairs_make(wc->pairs, &o->a->local, &o->a->peer) :
		crypt_pairs_find(wc->pairs, &o->a->local, &o->a->peer);

	o->rc = pair == NULL && o->params != NULL ? -ENOSPC : 0;
	if (pair == NULL)
		return;
	pair->required = o->a->policy->policy == CONFIG_PROTECT_REQUIRED;
	if (o->params != NULL) {
		o->tx = crypt_tx_sa_new(wc->crypt.cipher, wc->crypt.cipher_ctx, o->params);
		o->rc = o->tx == NULL ? -errno : 0;
		if (o->tx == NULL)
			return;
	}
	if (pair->tx != NULL)
		protect_add_tx(&o->a->past, pair->tx);
	crypt_tx_sa_free(pair->tx);
	pair->tx = o->tx;
}

struct forgotten {
	struct worker *worker;
	const struct wire_addr *local, *peer;
};

static void forget(void *arg)
{
	const struct forgotten *f = arg;

	crypt_pairs_drop(f->worker->crypt->pairs, f->local, f->peer);
}

void protect_forget(struct worker *worker, const struct wire_addr *local, const struct wire_addr *peer)
{
	struct forgotten f = {.worker = worker, .local = local, .peer = peer};

	worker_call(worker, forget, &f);
}

static int ops_rx_add(void *ctx, const struct crypt_sa_params *params)
{
	struct association *a = ctx;
	struct roced *roced = a->protect->roced;
	uint32_t w = params->lane % roced->n_workers;
	struct crypt_sa_params bound = *params;
	struct order o = {.a = a, .worker = roced->workers[w], .params = &bound};

	if (a->n_rx == PROTECT_RX)
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
		status == 0 ? link_source(link->port, d->device, &d->local) : NULL;
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
	link_resolve_keys(d->roced, a->port, d->device, &d->local, &d->peer, datagram_resolved, d);
	a->protect->emitting = false;
}

const struct crypt_assoc_ops protect_ops = {
	.emit = ops_emit,
	.rx_add = ops_rx_add,
	.tx_use = ops_tx_use,
	.tx_stop = ops_tx_stop,
	.rx_drop = ops_rx_drop,
	.spi_used = ops_spi_used,
	.wall_s = ops_wall_s,
	.say = protect_say,
};
