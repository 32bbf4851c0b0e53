/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of the group gateway. */
#include <string.h>

#include "config_schema.h"
#include "crypt_msg.h"
#include "wire_addr.h"

static bool has_vlan(const struct config_gateway *gateway, uint32_t vlan)
{
	return (gateway->host_vlans[vlan / 64] >> vlan % 64 & 1) != 0;
}

static uint32_t count_vlans(const struct config_gateway *gateway)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < CONFIG_VLANS / 64; i++)
		n += (uint32_t)__builtin_popcountll(gateway->host_vlans[i]);
	return n;
}

static void check_host_vlans(struct config_reader *reader, const struct config_gateway *gateway)
{
	const struct config *config = config_of(reader);
	const struct config_at at = {0};

	if (count_vlans(gateway) > CONFIG_MAX_HOST_VLANS)
		config_error(reader, &at, "gateway.host_vlans: has %u VLANs, must be %u at most", count_vlans(gateway),
			CONFIG_MAX_HOST_VLANS);
	for (uint32_t d = 0; d < config->n_devices; d++) {
		const struct config_device *device = &config->devices[d];

		if (strcmp(device->port, config->devices[gateway->device_index].port) == 0 && device->vlan != 0 &&
			has_vlan(gateway, device->vlan))
			config_error(reader, &at,
				"gateway.host_vlans: %u is the VLAN of devices[%u], hosts need one of their own",
				device->vlan, d);
	}
}

static void check_host_ports(struct config_reader *reader, struct config_gateway *gateway)
{
	const struct config *config = config_of(reader);
	const struct config_at at = {0};

	for (uint32_t i = 0; i < gateway->n_host_ports; i++) {
		int port = config_find_port(config, gateway->host_ports[i]);

		if (gateway->host_ports[i][0] == '\0')
			continue; /* it could not be read */
		if (port < 0) {
			config_error(reader, &at, "gateway.host_ports[%u]: there is no port \"%s\"", i,
				gateway->host_ports[i]);
			continue;
		}
		gateway->host_mask |= 1u << port;
		for (uint32_t d = 0; d < config->n_devices; d++) {
			if (strcmp(config->devices[d].port, gateway->host_ports[i]) == 0)
				config_error(reader, &at,
					"gateway.host_ports[%u]: \"%s\" is the port of devices[%u], hosts need one of "
					"their own",
					i, gateway->host_ports[i], d);
		}
	}
	/* What could not be read is not missing. */
	if (gateway->n_host_ports == 0 && count_vlans(gateway) == 0 && reader->n_errors == 0)
		config_error(reader, &at,
			"gateway.host_ports: a gateway without hosts does nothing, name their ports, or host_vlans");
}

static bool is_host(const struct config_prefix *prefix)
{
	return prefix->len == (wire_addr_is_v4(&prefix->addr) ? 32u : 128u);
}

static void check_networks(struct config_reader *reader, const struct config_gateway *gateway, uint32_t r)
{
	const struct config_remote *remote = &gateway->remotes[r];

	for (uint32_t i = 0; i < remote->n_networks; i++) {
		for (uint32_t s = 0; s <= r; s++) {
			for (uint32_t k = 0; k < (s < r ? gateway->remotes[s].n_networks : i); k++) {
				if (config_same_network(&remote->networks[i], &gateway->remotes[s].networks[k]))
					config_error(reader, &remote->at,
						"gateway.remotes[%u].networks[%u]: stands at remotes[%u] too", r, i, s);
			}
		}
	}
}

static void check_remote(struct config_reader *reader, const struct config_gateway *gateway, uint32_t r)
{
	const struct config_device *device = &config_of(reader)->devices[gateway->device_index];
	const struct config_remote *remote = &gateway->remotes[r];
	bool v4 = wire_addr_is_v4(&remote->address.addr), has = false;

	if (remote->address.len == 0)
		return; /* it could not be read */
	if (!is_host(&remote->address))
		config_error(reader, &remote->at,
			"gateway.remotes[%u].address: a network, must be the address of one host", r);
	for (uint32_t i = 0; i < device->n_addrs; i++)
		has |= wire_addr_is_v4(&device->addrs[i].addr) == v4;
	if (!has)
		config_error(reader, &remote->at,
			"gateway.remotes[%u].address: device \"%s\" has no address of IPv%d to send from", r,
			device->name, v4 ? 4 : 6);
	for (uint32_t s = 0; s < r; s++) {
		if (config_same_network(&gateway->remotes[s].address, &remote->address))
			config_error(reader, &remote->at,
				"gateway.remotes[%u].address: is that of remotes[%u] too", r, s);
	}
	check_networks(reader, gateway, r);
}

static bool overlap(const struct config_prefix *a, const struct config_prefix *b)
{
	uint32_t bits_a = wire_addr_prefix(&a->addr, a->len), bits_b = wire_addr_prefix(&b->addr, b->len);

	return wire_addr_same_network(&a->addr, &b->addr, bits_a < bits_b ? bits_a : bits_b);
}

static void check_direct_network(struct config_reader *reader, const struct config_gateway *gateway, uint32_t i)
{
	const struct config_at at = {0};

	for (uint32_t k = 0; k < i; k++) {
		if (overlap(&gateway->direct[i], &gateway->direct[k]))
			config_error(reader, &at,
				"gateway.direct[%u]: overlaps with direct[%u], give one of the two", i, k);
	}
	for (uint32_t r = 0; r < gateway->n_remotes; r++) {
		for (uint32_t k = 0; k < gateway->remotes[r].n_networks; k++) {
			if (overlap(&gateway->direct[i], &gateway->remotes[r].networks[k]))
				config_error(reader, &at,
					"gateway.direct[%u]: overlaps with remotes[%u].networks[%u], a host is behind "
					"a far gateway or not",
					i, r, k);
		}
	}
}

/* What protection asks of the hosts of a network: the longest entry around it. NULL: nothing. Of any device: packets of hosts come from none. */
static const struct config_protect *policy_of(const struct config_protection *protection, const struct config_prefix *network)
{
	uint32_t most = 0, network_bits = wire_addr_prefix(&network->addr, network->len);
	const struct config_protect *best = NULL;

	for (uint32_t i = 0; i < protection->n_peers; i++) {
		const struct config_prefix *around = &protection->peers[i].network;
		uint32_t bits = wire_addr_prefix(&around->addr, around->len);

		if (bits > network_bits || !wire_addr_same_network(&around->addr, &network->addr, bits) ||
			(best != NULL && bits <= most))
			continue;
		best = &protection->peers[i];
		most = bits;
	}
	return best;
}

/* Nobody is there to agree on keys with a host in front of which there is no gateway, nor for the hosts here. */
static void check_direct_policy(struct config_reader *reader, const struct config_gateway *gateway, uint32_t i)
{
	const struct config_protection *protection = &config_of(reader)->protection;
	const struct config_protect *policy = policy_of(protection, &gateway->direct[i]);
	char text[WIRE_ADDR_TEXT_BYTES];

	if (policy != NULL && policy->policy == CONFIG_PROTECT_REQUIRED)
		config_error(reader, &policy->at, "protection.peers[%u].policy: \"required\" for gateway.direct[%u], whose hosts have no gateway that "
			"could open what is protected: give %s/%u an entry of its own with policy \"off\", or name its gateway in gateway.remotes",
			(unsigned int)(policy - protection->peers), i, wire_addr_print(&gateway->direct[i].addr, text), gateway->direct[i].len);
}

int config_required_in_direct(const struct config *config, uint32_t p)
{
	const struct config_protect *peer = &config->protection.peers[p];
	uint32_t bits = wire_addr_prefix(&peer->network.addr, peer->network.len);

	for (uint32_t i = 0; i < config->gateway.n_direct; i++) {
		const struct config_prefix *direct = &config->gateway.direct[i];

		if (peer->policy == CONFIG_PROTECT_REQUIRED && bits > wire_addr_prefix(&direct->addr, direct->len) && overlap(&peer->network, direct))
			return (int)i;
	}
	return -1;
}

static void check_direct(struct config_reader *reader, const struct config_gateway *gateway)
{
	const struct config_at at = {0};

	for (uint32_t i = 0; i < gateway->n_direct; i++) {
		check_direct_network(reader, gateway, i);
		check_direct_policy(reader, gateway, i);
	}
	if (gateway->n_direct != 0 && !gateway->bridge)
		config_error(reader, &at, "gateway.direct: goes over the bridge, so gateway.bridge must be true");
}

/* Hosts' frames have the link addresses of others, and so have those that a bridge passes on. */
static void take_all_frames(struct config *config, const struct config_gateway *gateway)
{
	int fabric = config_find_port(config, config->devices[gateway->device_index].port);

	for (uint32_t p = 0; p < config->n_ports; p++) {
		if ((gateway->host_mask >> p & 1) != 0)
			config->ports[p].promiscuous = true;
	}
	if (fabric >= 0 && (gateway->bridge || count_vlans(gateway) != 0))
		config->ports[fabric].promiscuous = true;
}

static bool ranges_meet(uint32_t a, uint32_t b)
{
	return a - b < CRYPT_MSG_LANES || b - a < CRYPT_MSG_LANES;
}

void config_check_gateway(struct config_reader *reader)
{
	struct config *config = config_of(reader);
	struct config_gateway *gateway = &config->gateway;
	const struct config_at at = {0};

	if (gateway->device[0] == '\0') {
		if (gateway->n_host_ports != 0 || count_vlans(gateway) != 0 || gateway->n_remotes != 0 ||
			gateway->n_direct != 0)
			config_error(reader, &at,
				"gateway.device: missing, name the device whose addresses tunnels have");
		return;
	}
	while (gateway->device_index < config->n_devices &&
		strcmp(config->devices[gateway->device_index].name, gateway->device) != 0)
		gateway->device_index++;
	if (gateway->device_index == config->n_devices) {
		config_error(reader, &at, "gateway.device: there is no device \"%s\"", gateway->device);
		return;
	}
	check_host_ports(reader, gateway);
	check_host_vlans(reader, gateway);
	for (uint32_t r = 0; r < gateway->n_remotes; r++) {
		/* else it was wrong, and that was said, or its place is free: config_align() */
		if (gateway->remotes[r].n_networks != 0)
			check_remote(reader, gateway, r);
	}
	check_direct(reader, gateway);
	take_all_frames(config, gateway);
	if (ranges_meet(gateway->port, config->protection.port) ||
		config->protection.control_port - gateway->port < CRYPT_MSG_LANES ||
		WIRE_ROCE_PORT - gateway->port < CRYPT_MSG_LANES)
		config_error(reader, &at,
			"gateway.port: one of the %u ports from %u on is RoCE's, or of the group protection",
			(unsigned int)CRYPT_MSG_LANES, gateway->port);
}
