/* SPDX-License-Identifier: BSD-3-Clause */
/* What no single key shows: names that must exist or be unique, sizes that belong together. */
#include <string.h>

#include "config_model.h"
#include "config_schema.h"
#include "net_memif.h"
#include "wire_addr.h"

/* IPv6, UDP, BTH, RETH, immediate and ICRC around the payload: what an RDMA MTU needs of the port's. */
#define ROCE_OVERHEAD 84

/* A port whose name could not be read is reported already; what refers to it is not wrong as well. */
static bool all_ports_named(const struct config *config)
{
	for (uint32_t i = 0; i < config->n_ports; i++) {
		if (config->ports[i].name[0] == '\0')
			return false;
	}
	return true;
}

static void port_names(const struct config *config, char *out, size_t n)
{
	out[0] = '\0';
	for (uint32_t i = 0; i < config->n_ports; i++) {
		size_t used = strlen(out);

		snprintf(out + used, n - used, "%s\"%s\"", i == 0 ? "" : ", ", config->ports[i].name);
	}
}

static int find_port(struct config_reader *reader, const struct config_at *at, const char *who, const char *name)
{
	int port = config_find_port(config_of(reader), name);
	char names[512];

	if (port >= 0 || name[0] == '\0' || !all_ports_named(config_of(reader)))
		return port;
	port_names(config_of(reader), names, sizeof(names));
	config_error(reader, at, "%s: there is no port \"%s\", there is %s", who, name,
		names[0] != '\0' ? names : "none");
	return -1;
}

/* Every worker without a list polls its own queue of every port. */
static void default_rx(struct config *config, uint32_t w)
{
	struct config_worker *worker = &config->workers[w];

	for (uint32_t p = 0; worker->n_rx == 0 && p < config->n_ports; p++) {
		worker->rx[p].at = worker->at;
		memcpy(worker->rx[p].port, config->ports[p].name, CONFIG_NAME_BYTES);
		worker->rx[p].queue = w;
	}
	if (worker->n_rx == 0)
		worker->n_rx = config->n_ports;
}

static void check_worker(struct config_reader *reader, uint32_t w, uint64_t taken[CONFIG_MAX_PORTS])
{
	struct config_worker *worker = &config_of(reader)->workers[w];
	char who[64];

	for (uint32_t v = 0; v < w; v++) {
		const struct config_worker *other = &config_of(reader)->workers[v];

		if (other->lcore == worker->lcore)
			config_error(reader, &worker->at, "workers[%u].lcore: %u is used by workers[%u] too", w,
				worker->lcore, v);
		if (worker->crypto[0] != '\0' && strcmp(other->crypto, worker->crypto) == 0)
			config_error(reader, &worker->at, "workers[%u].crypto: %s is that of workers[%u], each needs its own", w,
				worker->crypto, v);
	}
	default_rx(config_of(reader), w);
	for (uint32_t r = 0; r < worker->n_rx; r++) {
		const struct config_rx *rx = &worker->rx[r];
		int port;

		snprintf(who, sizeof(who), "workers[%u].rx[%u].port", w, r);
		port = find_port(reader, &rx->at, who, rx->port);
		if (port < 0 || rx->queue > 63)
			continue;
		if ((taken[port] & (1ull << rx->queue)) != 0)
			config_error(reader, &rx->at, "workers[%u].rx[%u]: queue %u of port \"%s\" is polled twice", w,
				r, rx->queue, rx->port);
		taken[port] |= 1ull << rx->queue;
	}
}

/* Queues are 0 to n-1 and all of them are polled: a frame in another would never be seen. */
static void check_queues(struct config_reader *reader, uint32_t p, uint64_t taken)
{
	struct config_port *port = &config_of(reader)->ports[p];
	uint32_t n = 0;

	while (n < 64 && (taken & (1ull << n)) != 0)
		n++;
	port->n_rx_queues = n;
	if (port->name[0] == '\0')
		return;
	if (taken == 0)
		config_error(reader, &port->at, "ports[%u]: no worker polls \"%s\"", p, port->name);
	else if (n < 64 && (taken >> n) != 0)
		config_error(reader, &port->at, "ports[%u]: queues of \"%s\" must be polled from 0 on, queue %u is not",
			p, port->name, n);
}

void config_check_port(struct config_reader *reader, const struct config_port *const *ports, uint32_t p,
	uint32_t n_tx_queues)
{
	const struct config_port *port = ports[p];
	struct net_need need = {port->device, port->mtu, port->n_rx_queues, n_tx_queues};
	char msg[NET_MSG_BYTES], mine[CONFIG_TEXT_BYTES], other[CONFIG_TEXT_BYTES];

	net_device_name(port->device, mine, sizeof(mine));
	for (uint32_t q = 0; q < p; q++) {
		net_device_name(ports[q]->device, other, sizeof(other));
		if (port->name[0] != '\0' && !strcmp(port->name, ports[q]->name))
			config_error(
				reader, &port->at, "ports[%u].name: \"%s\" is used by ports[%u] too", p, port->name, q);
		if (mine[0] != '\0' && !strcmp(mine, other))
			config_error(reader, &port->at,
				"ports[%u].device: \"%s\" is used by ports[%u] too, give another number", p, mine, q);
		if (net_memif_same(port->device, ports[q]->device))
			config_error(reader, &port->at,
				"ports[%u].device: ports[%u] has the same role on this socket, give another id", p, q);
	}
	if (port->device[0] != '\0' && port->mtu != 0 && port->n_rx_queues != 0 &&
		net_driver_check(&need, msg) != 0)
		config_error(reader, &port->at, "ports[%u].device: \"%s\" %s", p, mine, msg);
}

static bool in_prefix(const struct config_prefix *prefix, const struct wire_addr *addr)
{
	return wire_addr_same_network(&prefix->addr, addr, wire_addr_prefix(&prefix->addr, prefix->len));
}

static void check_gateway(struct config_reader *reader, uint32_t d, const char *key, const struct wire_addr *gateway)
{
	static const struct wire_addr none;
	const struct config_device *device = &config_of(reader)->devices[d];

	if (memcmp(gateway, &none, sizeof(none)) == 0)
		return;
	if (gateway->b[0] == 0xfe && (gateway->b[1] & 0xc0) == 0x80)
		return;
	for (uint32_t i = 0; i < device->n_addrs; i++) {
		if (memcmp(gateway, &device->addrs[i].addr, sizeof(*gateway)) == 0) {
			config_error(reader, &device->at, "devices[%u].%s: is the device's own address", d, key);
			return;
		}
		if (in_prefix(&device->addrs[i], gateway))
			return;
	}
	config_error(reader, &device->at,
		"devices[%u].%s: must be in the network of one of the device's addresses", d, key);
}

/* Compares one address with the first n of another device (or of the same, those before it). */
static void check_addr_taken(struct config_reader *reader, uint32_t d, uint32_t i, uint32_t e, uint32_t n)
{
	const struct config_device *device = &config_of(reader)->devices[d], *other = &config_of(reader)->devices[e];

	for (uint32_t j = 0; j < n; j++) {
		if (memcmp(&device->addrs[i].addr, &other->addrs[j].addr, 16) == 0)
			config_error(reader, &device->at, "devices[%u].addresses[%u]: is devices[%u].addresses[%u] too",
				d, i, e, j);
	}
}

static void check_addrs(struct config_reader *reader, uint32_t d)
{
	const struct config *config = config_of(reader);

	for (uint32_t i = 0; i < config->devices[d].n_addrs; i++) {
		for (uint32_t e = 0; e < d; e++)
			check_addr_taken(reader, d, i, e, config->devices[e].n_addrs);
		check_addr_taken(reader, d, i, d, i);
	}
}

/* ---- planes ---- */

static bool same_host(const struct config_prefix *a, const struct config_prefix *b)
{
	return a->len == b->len && wire_addr_is_v4(&a->addr) == wire_addr_is_v4(&b->addr) &&
		wire_addr_same_host(&a->addr, &b->addr, wire_addr_prefix(&a->addr, a->len));
}

static void check_plane_addr(struct config_reader *reader, uint32_t d, uint32_t p, uint32_t i)
{
	const struct config_device *device = &config_of(reader)->devices[d];
	const struct config_plane *plane = &device->planes[p];
	bool found = false;

	for (uint32_t j = 0; j < device->n_addrs; j++) {
		found = found || same_host(&plane->addrs[i], &device->addrs[j]);
		if (in_prefix(&device->addrs[j], &plane->addrs[i].addr))
			config_error(reader, &plane->at,
				"devices[%u].planes[%u].addresses[%u]: is in the network of devices[%u].addresses[%u],"
				" each plane must have its own", d, p, i, d, j);
	}
	if (!found)
		config_error(reader, &plane->at,
			"devices[%u].planes[%u].addresses[%u]: must have the prefix length and the host part of one of"
			" the device's addresses", d, p, i);
	for (uint32_t q = 0; q < p; q++) {
		for (uint32_t j = 0; j < device->planes[q].n_addrs; j++) {
			if (in_prefix(&device->planes[q].addrs[j], &plane->addrs[i].addr))
				config_error(reader, &plane->at,
					"devices[%u].planes[%u].addresses[%u]: is in the network of planes[%u] too", d, p, i, q);
		}
	}
}

static void check_plane_port(struct config_reader *reader, uint32_t d, uint32_t p)
{
	struct config *config = config_of(reader);
	struct config_device *device = &config->devices[d];
	struct config_plane *plane = &device->planes[p];
	char who[64];
	int port;

	snprintf(who, sizeof(who), "devices[%u].planes[%u].port", d, p);
	port = find_port(reader, &plane->at, who, plane->port);
	if (port < 0)
		return;
	plane->port_index = (uint32_t)port;
	if (!strcmp(plane->port, device->port))
		config_error(reader, &plane->at, "%s: is the device's own port, a plane is another one", who);
	for (uint32_t q = 0; q < p; q++) {
		if (!strcmp(plane->port, device->planes[q].port))
			config_error(reader, &plane->at, "%s: is the port of planes[%u] too", who, q);
	}
	if (config->ports[port].mtu < config->ports[device->port_index].mtu)
		config_error(reader, &plane->at, "%s: its MTU of %u is below that of port \"%s\", %u", who,
			config->ports[port].mtu, device->port, config->ports[device->port_index].mtu);
}

static void check_device(struct config_reader *reader, uint32_t d)
{
	struct config *config = config_of(reader);
	uint32_t overhead;
	struct config_device *device = &config->devices[d];
	char who[64];
	int port;

	for (uint32_t e = 0; e < d; e++) {
		if (device->name[0] != '\0' && !strcmp(device->name, config->devices[e].name))
			config_error(reader, &device->at, "devices[%u].name: \"%s\" is used by devices[%u] too", d,
				device->name, e);
	}
	check_addrs(reader, d);
	check_gateway(reader, d, "gateway4", &device->gateway4);
	check_gateway(reader, d, "gateway6", &device->gateway6);
	if (device->vlan == 0 && device->priority != 0)
		config_error(reader, &device->at, "devices[%u].priority: needs a vlan, untagged frames have none", d);
	snprintf(who, sizeof(who), "devices[%u].port", d);
	port = find_port(reader, &device->at, who, device->port);
	if (port < 0)
		return;
	device->port_index = (uint32_t)port;
	overhead = ROCE_OVERHEAD + config_protection_bytes(config, d);
	if (config->ports[port].mtu != 0 && device->mtu + (device->mtu != 0 ? overhead : 0) > config->ports[port].mtu)
		config_error(reader, &device->at, "devices[%u].mtu: %u needs a port MTU of %u%s, port \"%s\" has %u", d,
			device->mtu, device->mtu + overhead, overhead > ROCE_OVERHEAD ? " with protection" : "", device->port,
			config->ports[port].mtu);
	for (uint32_t p = 0; p < device->n_planes; p++) {
		check_plane_port(reader, d, p);
		for (uint32_t i = 0; i < device->planes[p].n_addrs; i++)
			check_plane_addr(reader, d, p, i);
	}
}

static void check_peers(struct config_reader *reader)
{
	const struct config_multipath *multipath = &config_of(reader)->multipath;

	for (uint32_t i = 0; i < multipath->n_peers; i++) {
		for (uint32_t k = 0; k < i; k++) {
			if (config_same_network(&multipath->peers[i].network, &multipath->peers[k].network))
				config_error(reader, &multipath->peers[i].at,
					"multipath.peers[%u]: is the network of multipath.peers[%u] too, give it once", i, k);
		}
	}
}

/* A worker whose buffers all wait for their turn receives nothing, also not what they wait for. */
static void check_held(struct config_reader *reader)
{
	const struct config *config = config_of(reader);
	const struct config_at at = {0};
	uint32_t least = UINT32_MAX, most;

	for (uint32_t p = 0; p < config->n_ports; p++) {
		if (config->ports[p].mbufs < least)
			least = config->ports[p].mbufs;
	}
	most = config->n_workers != 0 ? least / 4 * 3 / config->n_workers : least;
	if (config->multipath.max_held > most)
		config_error(reader, &at,
			"multipath.max_held: %u is more than three quarters of ports[].mbufs for all workers, must be %u at most",
			config->multipath.max_held, most);
}

static void check_congestion(struct config_reader *reader)
{
	struct config_congestion *c = &config_of(reader)->congestion;

	if (c->controller.given && c->controller.kind == CC_LEARNED)
		config_load_model(reader, "congestion.model", c->model_name, &c->model);
}

static void check_merge(struct config_reader *reader)
{
	const struct config_multipath *multipath = &config_of(reader)->multipath;
	const struct config_at at = {0};

	if (multipath->merge_bytes == 0 && multipath->merge_wait_us != 0)
		config_error(reader, &at, "multipath.merge_wait_us: %u waits for nothing, merge_bytes is 0", multipath->merge_wait_us);
}

void config_check(struct config_reader *reader)
{
	struct config *config = config_of(reader);
	const struct config_port *ports[CONFIG_MAX_PORTS];
	uint64_t taken[CONFIG_MAX_PORTS] = {0};

	for (uint32_t p = 0; p < config->n_ports; p++)
		ports[p] = &config->ports[p];
	for (uint32_t w = 0; w < config->n_workers; w++)
		check_worker(reader, w, taken);
	for (uint32_t p = 0; p < config->n_ports; p++) {
		if (config->n_workers != 0)
			check_queues(reader, p, taken[p]);
		config_check_port(reader, ports, p, config->n_workers);
	}
	config_check_protected_peers(reader); /* first: it takes of the MTU of devices */
	for (uint32_t d = 0; d < config->n_devices; d++)
		check_device(reader, d);
	config_check_xdp(reader);
	check_peers(reader);
	check_merge(reader);
	config_check_protection(reader);
	check_congestion(reader);
	check_held(reader);
	config_check_channels(reader);
	config_check_gateway(reader);
}
