/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of interfaces, MTUs, routes, neighbours and GIDs. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "doctor.h"
#include "wire_addr.h"

static const struct wire_addr no_addr;

/* ---- link ---- */

static bool tells_down(const struct doctor_facts *facts, const char *port)
{
	for (uint32_t p = 0; p < facts->n_ports; p++) {
		if (!strcmp(facts->ports[p].name, port))
			return !facts->ports[p].up;
	}
	return false;
}

void doctor_check_link(const struct doctor_facts *facts, struct doctor_report *report)
{
	static const char nothing[] = "nothing is sent or received by a port whose link is down";

	for (uint32_t p = 0; p < facts->config->n_ports; p++) {
		const char *port = facts->config->ports[p].name;
		const struct doctor_iface *iface = &facts->ifaces[p];

		if (iface->wanted && !iface->there) {
			doctor_do(doctor_add(report, DOCTOR_PROBLEM, port,
					  "the port's driver works on that interface and cannot start without it",
					  "there is no network interface \"%s\" here", iface->name),
				"make the interface, or name another one in ports[].device; is the daemon in another "
				"network namespace?");
		} else if (iface->there && iface->up == 0) {
			doctor_do(doctor_add(report, DOCTOR_PROBLEM, port, nothing, "the interface %s is down",
					  iface->name),
				"ip link set dev %s up", iface->name);
		} else if (iface->there && iface->carrier == 0) {
			doctor_do(doctor_add(report, DOCTOR_PROBLEM, port, nothing,
					  "the interface %s is up and has no carrier", iface->name),
				"look at the cable, and at the other end: its interface may be down");
		} else if (tells_down(facts, port)) {
			doctor_do(doctor_add(report, DOCTOR_PROBLEM, port, nothing,
					  "the daemon says that the port is down"),
				"look at its peer: a memif or vhost-user peer may not have been started, a cable may "
				"be out");
		}
	}
}

/* ---- mtu ---- */

static void check_iface_mtu(const struct doctor_facts *facts, uint32_t p, struct doctor_report *report)
{
	const struct config_port *port = &facts->config->ports[p];
	const struct doctor_iface *iface = &facts->ifaces[p];

	if (iface->there && iface->mtu > 0 && (uint32_t)iface->mtu < port->mtu)
		doctor_do(doctor_add(report, DOCTOR_PROBLEM, port->name,
				  "packets longer than the interface's MTU are dropped there, and their sender hears "
				  "nothing of it: small messages work,"
				  " large ones time out",
				  "ports[].mtu is %u, the interface %s has %d", port->mtu, iface->name, iface->mtu),
			"ip link set dev %s mtu %u, or set ports[].mtu to %d and leave out devices[].mtu", iface->name,
			port->mtu, iface->mtu);
	if (iface->peer_there && iface->peer_mtu > 0 && (uint32_t)iface->peer_mtu < port->mtu)
		doctor_do(doctor_add(report, DOCTOR_PROBLEM, port->name,
				  "the kernel drops what is longer than the MTU of the end that receives it",
				  "ports[].mtu is %u, the other end of the veth pair of %s has %d", port->mtu,
				  iface->name, iface->peer_mtu),
			"give both ends of the pair an MTU of %u", port->mtu);
}

/* Programs get the largest MTU of RDMA that fits into the port's. */
static void check_device_mtu(const struct doctor_facts *facts, uint32_t d, struct doctor_report *report)
{
	const struct config_device *device = &facts->config->devices[d];
	const struct config_port *port = &facts->config->ports[device->port_index];
	uint32_t most = port->mtu - config_protection_bytes(facts->config, d), mtu = 4096, least = 0;

	while (mtu > 256 && mtu + 84 > most)
		mtu /= 2;
	if (device->mtu == 0 && mtu < 4096)
		doctor_do(doctor_add(report, DOCTOR_NOTE, device->name,
				  "packets of 4096 bytes cost the least; a peer with a larger MTU uses this one's",
				  "its path MTU is %u, which is what the port's MTU of %u holds", mtu, port->mtu),
			"if the network carries it: ports[].mtu = 4200, and on all hosts and switches between");
	for (uint32_t p = 0; p < device->n_planes; p++)
		least = facts->config->ports[device->planes[p].port_index].mtu > port->mtu ? 1 : least;
	if (least != 0)
		doctor_do(doctor_add(report, DOCTOR_NOTE, device->name, "all ports of a device use one path MTU",
				  "a plane has a port with a larger MTU than the device's own, %u", port->mtu),
			"give them the same, if the networks carry it");
}

static void check_path_mtu(const struct doctor_host *host, struct doctor_report *report)
{
	if (!host->tried || host->short_answered == 0 || host->long_answered != 0 || host->long_sent == 0)
		return;
	doctor_do(doctor_add(report, DOCTOR_PROBLEM, host->address,
			  "something between has a smaller MTU and drops what is longer: connections come up, small "
			  "messages work, large ones time out",
			  "packets of 48 bytes are answered, the %" PRIu64 " of %" PRIu64
			  " bytes are not (%s by port %s)",
			  host->long_sent, host->long_bytes, host->device, host->port),
		"raise the MTU of switches, bridges, veth ends and the peer to %" PRIu64
		" or more, or set devices[].mtu to what they carry: 1024 for 1500",
		host->long_bytes);
}

void doctor_check_mtu(const struct doctor_facts *facts, struct doctor_report *report)
{
	for (uint32_t p = 0; p < facts->config->n_ports; p++)
		check_iface_mtu(facts, p, report);
	for (uint32_t d = 0; d < facts->config->n_devices; d++)
		check_device_mtu(facts, d, report);
	for (uint32_t i = 0; i < facts->n_hosts; i++)
		check_path_mtu(&facts->hosts[i], report);
}

/* ---- route ---- */

static void no_route(struct doctor_report *report, const char *what, const struct wire_addr *addr)
{
	char text[WIRE_ADDR_TEXT_BYTES];

	wire_addr_print(addr, text);
	doctor_do(doctor_add(report, DOCTOR_PROBLEM, text,
			  "the daemon does not use the kernel's routes: connections there fail with \"network "
			  "unreachable\"",
			  "%s is in no network of a device, and no device has a router for %s", what,
			  wire_addr_is_v4(addr) ? "IPv4" : "IPv6"),
		"set devices[].%s to the router's address, or correct the prefix length in devices[].addresses",
		wire_addr_is_v4(addr) ? "gateway4" : "gateway6");
}

/* A network of many hosts is reached when its first address is; one that holds a device's own is. */
static bool network_reached(const struct config *config, const struct config_prefix *network)
{
	if (doctor_has_route(config, &network->addr))
		return true;
	for (uint32_t d = 0; d < config->n_devices; d++) {
		for (uint32_t i = 0; i < config->devices[d].n_addrs; i++) {
			if (wire_addr_is_v4(&network->addr) == wire_addr_is_v4(&config->devices[d].addrs[i].addr) &&
				wire_addr_same_network(&network->addr, &config->devices[d].addrs[i].addr,
					wire_addr_prefix(&network->addr, network->len)))
				return true;
		}
	}
	return false;
}

void doctor_check_route(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct config *config = facts->config;

	for (uint32_t i = 0; i < facts->n_hosts; i++) {
		if (!doctor_has_route(config, &facts->hosts[i].addr))
			no_route(report, facts->hosts[i].address, &facts->hosts[i].addr);
	}
	for (uint32_t i = 0; i < config->gateway.n_remotes && config->gateway.device[0] != '\0'; i++) {
		if (!doctor_has_route(config, &config->gateway.remotes[i].address.addr))
			no_route(report, "the far gateway", &config->gateway.remotes[i].address.addr);
	}
	for (uint32_t i = 0; i < config->multipath.n_peers; i++) {
		if (!network_reached(config, &config->multipath.peers[i].network))
			no_route(report, "a network of multipath.peers", &config->multipath.peers[i].network.addr);
	}
	for (uint32_t i = 0; i < config->protection.n_peers; i++) {
		if (config->protection.peers[i].policy != CONFIG_PROTECT_OFF &&
			!network_reached(config, &config->protection.peers[i].network))
			no_route(report, "a network of protection.peers", &config->protection.peers[i].network.addr);
	}
}

/* ---- neighbour ---- */

static void check_host(const struct doctor_host *host, struct doctor_report *report)
{
	if (!host->tried)
		return;
	if (!strcmp(host->neighbour, "silent"))
		doctor_do(doctor_add(report, DOCTOR_PROBLEM, host->address,
				  "without its link address nothing can be sent there: connections fail with \"no "
				  "route to host\"",
				  "nobody answers for %s on port %s (asked from %s)", host->next_hop, host->port,
				  host->local),
			"is the peer's daemon running and its link up; are both in one network, VLAN and prefix? On "
			"Soft-RoCE hosts:"
			" is arp on for the interface?");
	else if (!strcmp(host->neighbour, "asking"))
		doctor_do(doctor_add(report, DOCTOR_WARNING, host->address,
				  "without its link address nothing can be sent there",
				  "%s has not answered yet on port %s", host->next_hop, host->port),
			"run it again");
	else if (host->complete && host->short_sent != 0 && host->short_answered == 0 && host->long_answered == 0)
		doctor_do(doctor_add(report, DOCTOR_WARNING, host->address,
				  "either it does not answer echo requests, which RoCE does not need, or packets get "
				  "lost on the way",
				  "its neighbour %s is known, but none of %" PRIu64 " echo requests is answered",
				  host->next_hop, host->short_sent + host->long_sent),
			"look whether a firewall drops ICMP, and whether the way back is right");
	else if (host->no_echo && !strcmp(host->neighbour, "known"))
		doctor_do(doctor_add(report, DOCTOR_NOTE, host->address,
				  "the kernel has the address too, and gets the answers",
				  "path and MTU to it were not tried, port %s is shared with the kernel", host->port),
			"ping -M do -s %" PRIu64 " %s", host->long_bytes - 28, host->address);
}

void doctor_check_neighbour(const struct doctor_facts *facts, struct doctor_report *report)
{
	for (uint32_t i = 0; i < facts->n_hosts; i++)
		check_host(&facts->hosts[i], report);
	for (uint32_t i = 0; i < facts->n_neighbours; i++) {
		const struct doctor_neighbour *n = &facts->neighbours[i];
		bool told = n->users == 0 || strcmp(n->state, "down") != 0;

		for (uint32_t h = 0; h < facts->n_hosts && !told; h++)
			told = facts->hosts[h].tried && !strcmp(facts->hosts[h].next_hop, n->address);
		if (!told)
			doctor_do(doctor_add(report, DOCTOR_PROBLEM, n->address,
					  "connections and tunnels that go by it wait, and what they send is dropped "
					  "(no_neighbour)",
					  "%" PRIu64 " use this neighbour on port %s, and it does not answer", n->users,
					  n->port),
				"look whether that host is up and in this network and VLAN; it is asked again every 10 "
				"s");
	}
}

/* ---- gid ---- */

static bool has_family(const struct config *config, bool v4)
{
	for (uint32_t d = 0; d < config->n_devices; d++) {
		for (uint32_t i = 0; i < config->devices[d].n_addrs; i++) {
			if (wire_addr_is_v4(&config->devices[d].addrs[i].addr) == v4)
				return true;
		}
	}
	return false;
}

void doctor_check_gid(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct config *config = facts->config;

	for (uint32_t d = 0; d < config->n_devices; d++) {
		if (config->devices[d].n_addrs == 0)
			doctor_do(doctor_add(report, DOCTOR_WARNING, config->devices[d].name,
					  "programs reach peers by a GID of the peer's kind: IPv4 ones by IPv4. GID 0 "
					  "reaches this link only, and most programs"
					  " that go by addresses do not take it",
					  "its only GID is 0, the link-local IPv6 one"),
				"list its addresses in devices[].addresses");
	}
	for (uint32_t i = 0; i < facts->n_hosts; i++) {
		bool v4 = wire_addr_is_v4(&facts->hosts[i].addr), local = facts->hosts[i].addr.b[0] == 0xfe;

		if (!local && memcmp(&facts->hosts[i].addr, &no_addr, sizeof(no_addr)) != 0 && !has_family(config, v4))
			doctor_do(doctor_add(report, DOCTOR_PROBLEM, facts->hosts[i].address,
					  "a connection needs GIDs of one kind at both ends",
					  "no device has an %s address, so no GID of the type that reaches it",
					  v4 ? "IPv4" : "IPv6"),
				"add one to devices[].addresses; the GID index (-x, -g) follows the order of the list, "
				"from 1 on");
	}
	for (uint32_t p = 0; p < config->n_ports; p++) {
		const struct doctor_iface *iface = &facts->ifaces[p];

		if (iface->there && iface->rdma[0] != '\0')
			doctor_do(doctor_add(report, DOCTOR_WARNING, config->ports[p].name,
					  "both take packets to UDP port 4791; the kernel's device has GIDs of RoCE v1 "
					  "beside those of v2, and roced speaks v2 only",
					  "the kernel has an RDMA device, %s, on the interface %s too", iface->rdma,
					  iface->name),
				"rdma link delete %s, or let programs of the two use different addresses", iface->rdma);
	}
}

/* ---- offload ---- */

static bool is_software(const char *driver)
{
	static const char *const names[] = {"veth", "tun", "bridge", "virtio_net", "macvlan", "ipvlan", "dummy"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(driver, names[i]))
			return true;
	}
	return false;
}

static void check_checksum(const char *port, const struct doctor_iface *iface, struct doctor_report *report)
{
	static const char why[] = "a virtual interface has no hardware to fill in checksums: the kernel's packets "
				  "cross it without, and who reads them raw, "
				  "as roced does, drops them as damaged (ip_length, ip_header)";

	if (is_software(iface->driver) && iface->tx_checksum == 1)
		doctor_do(doctor_add(report, DOCTOR_WARNING, port, why,
				  "the interface %s (%s) leaves transmit checksums to hardware", iface->name,
				  iface->driver),
			"ethtool -K %s tx off, and the same at the other end", iface->name);
	if (iface->peer_there && iface->peer_tx_checksum == 1)
		doctor_do(doctor_add(report, DOCTOR_WARNING, port, why,
				  "the other end of the veth pair of %s leaves transmit checksums to hardware",
				  iface->name),
			"ethtool -K INTERFACE tx off there");
}

void doctor_check_offload(const struct doctor_facts *facts, struct doctor_report *report)
{
	for (uint32_t p = 0; p < facts->config->n_ports; p++) {
		const struct doctor_iface *iface = &facts->ifaces[p];
		const char *port = facts->config->ports[p].name;

		if (!iface->there)
			continue;
		check_checksum(port, iface, report);
		if (is_software(iface->driver) && (iface->tso == 1 || iface->gso == 1) && iface->tx_checksum == 1)
			doctor_do(doctor_add(report, DOCTOR_NOTE, port,
					  "the kernel's TCP and UDP packets may come longer than the MTU, and are cut "
					  "off (truncated)",
					  "the interface %s leaves cutting of packets to hardware (%s%s)", iface->name,
					  iface->tso == 1 ? "tso " : "", iface->gso == 1 ? "gso" : ""),
				"ethtool -K %s tso off gso off", iface->name);
		if (iface->lro == 1)
			doctor_do(doctor_add(report, DOCTOR_WARNING, port,
					  "packets that were put together are longer than the MTU and are cut off",
					  "the interface %s puts packets together as they come (large receive offload)",
					  iface->name),
				"ethtool -K %s lro off", iface->name);
	}
}
