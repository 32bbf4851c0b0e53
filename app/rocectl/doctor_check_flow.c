/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of classes, pauses, marks, paths and what peers agree to. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "doctor.h"
#include "wire_addr.h"

#define BUSY_PACKETS 10000u /* that a queue pair has sent before it says something of its paths */
#define MANY_LOST    1000u  /* of so many packets one was sent again */

static const struct config_channel *channel_of_dscp(const struct config *config, uint32_t dscp)
{
	for (uint32_t c = 0; c < config->n_channels; c++) {
		if ((config->channels[c].dscp >> dscp & 1) != 0)
			return &config->channels[c];
	}
	return config->n_channels != 0 ? &config->channels[0] : NULL;
}

static uint64_t paused_priorities(const struct config *config)
{
	uint64_t set = 0;

	for (uint32_t p = 0; p < config->n_ports; p++)
		set |= config->ports[p].pfc | config->ports[p].pfc_send;
	return set;
}

/* ---- dscp ---- */

static void check_channel(const struct config *config, uint32_t c, struct doctor_report *report)
{
	const struct config_channel *channel = &config->channels[c];
	bool paused = (paused_priorities(config) >> channel->priority & 1) != 0, by_tag = false;

	for (uint32_t p = 0; p < config->n_ports; p++)
		by_tag |= config->ports[p].trust_pcp;
	if (c != 0 && channel->dscp == 0 && !(by_tag && channel->pcp != 0))
		doctor_do(doctor_add(report, DOCTOR_WARNING, channel->name,
				  "a packet is of the channel that lists its DSCP (or, with ports[].trust_pcp, its "
				  "tag's priority), all others are of the first",
				  "no packet ever is of this channel: it lists no DSCP%s",
				  channel->pcp != 0 ? ", and ports[].trust_pcp is off" : ""),
			"list the DSCPs of its packets in channels[].dscp: DSCP = traffic class / 4");
	for (uint32_t dscp = 0; dscp < 64; dscp++) {
		if ((channel->dscp >> dscp & 1) == 0 || !paused || dscp / 8 == channel->priority)
			continue;
		doctor_do(doctor_add(report, DOCTOR_NOTE, channel->name,
				  "switches map DSCP to priority by DSCP / 8 unless they are told otherwise; then they "
				  "pause another priority than this host does",
				  "DSCP %u has priority %u here, most switches begin with %u", dscp, channel->priority,
				  dscp / 8),
			"see that switches and peers map DSCP %u to priority %u, or use DSCPs %u to %u", dscp,
			channel->priority, channel->priority * 8, channel->priority * 8 + 7);
		break;
	}
}

static void check_tags(const struct config *config, uint32_t p, struct doctor_report *report)
{
	bool tagged = false;

	for (uint32_t d = 0; d < config->n_devices; d++)
		tagged |= config->devices[d].vlan != 0;
	if (config->ports[p].trust_pcp && !tagged)
		doctor_do(doctor_add(report, DOCTOR_WARNING, config->ports[p].name,
				  "untagged frames have no priority code point: their DSCP says the channel",
				  "trust_pcp is on, but no device has a vlan"),
			"give devices[].vlan, or turn trust_pcp off and list DSCPs");
}

void doctor_check_dscp(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct config *config = facts->config;
	const struct config_channel *cnp = channel_of_dscp(config, config->congestion.cnp_dscp);

	for (uint32_t c = 0; c < config->n_channels; c++)
		check_channel(config, c, report);
	for (uint32_t p = 0; p < config->n_ports; p++)
		check_tags(config, p, report);
	if (cnp != NULL && config->congestion.cnp_gap_us != 0 && (paused_priorities(config) >> cnp->priority & 1) != 0)
		doctor_do(doctor_add(report, DOCTOR_WARNING, cnp->name,
				  "when the priority is paused, so are the notifications that would make senders go "
				  "slower, and the pause spreads",
				  "notifications (DSCP %u) are of this channel, whose priority %u is paused",
				  config->congestion.cnp_dscp, cnp->priority),
			"give notifications a channel of their own: dscp = [ %u ], strict = true, and a priority that "
			"is not in pfc or pfc_send",
			config->congestion.cnp_dscp);
}

/* ---- pfc ---- */

static bool loses(const struct doctor_facts *facts)
{
	uint64_t sent = doctor_counter(facts, "tx_pkts"), again = doctor_counter(facts, "retransmits");

	return sent > BUSY_PACKETS && again > sent / MANY_LOST;
}

static void pfc_is_off(const struct doctor_facts *facts, const char *port, struct doctor_report *report)
{
	static const char why[] = "without pauses full queues drop packets: peers that agreed to selective repeat get "
				  "those again, all others"
				  " (hardware, Soft-RoCE) everything from the first lost one on";
	struct doctor_finding *finding;

	if (loses(facts))
		finding = doctor_add(report, DOCTOR_WARNING, port, why,
			"PFC is off, and packets are lost: %" PRIu64 " of %" PRIu64 " were sent again",
			doctor_counter(facts, "retransmits"), doctor_counter(facts, "tx_pkts"));
	else
		finding = doctor_add(report, DOCTOR_NOTE, port, why, "PFC is off");
	doctor_do(finding, "if peers keep order and switches are set up for it: a channel with a priority of its own, "
			   "and that in pfc and"
			   " pfc_send of the port");
}

void doctor_check_pfc(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct config *config = facts->config;

	for (uint32_t p = 0; p < config->n_ports; p++) {
		const struct config_port *port = &config->ports[p];

		if (port->pfc == 0 && port->pfc_send == 0)
			pfc_is_off(facts, port->name, report);
		else if ((port->pfc == 0) != (port->pfc_send == 0))
			doctor_do(doctor_add(report, DOCTOR_WARNING, port->name,
					  "a priority is lossless only if both ends of each link ask for pauses and "
					  "follow them",
					  port->pfc != 0 ? "pauses are followed and never asked for (pfc_send is empty)"
							 : "pauses are asked for and not followed (pfc is empty)"),
				"list the same priorities in pfc and pfc_send");
	}
	if (doctor_counter(facts, "pfc_storm") != 0)
		doctor_do(doctor_add(report, DOCTOR_PROBLEM, "pfc",
				  "a neighbour that never ends a pause holds up everybody whose packets queue behind",
				  "%" PRIu64 " packets were dropped since a neighbour paused without end",
				  doctor_counter(facts, "pfc_storm")),
			"find who pauses (rocectl shows pauses by port and priority) and restart it: a stuck host or a "
			"loop of pauses between switches");
}

/* ---- ecn ---- */

void doctor_check_ecn(const struct doctor_facts *facts, struct doctor_report *report)
{
	const struct config *config = facts->config;
	bool marks = false;

	for (uint32_t c = 0; c < config->n_channels; c++)
		marks |= config->channels[c].ecn_max_kbytes != 0;
	if (config->congestion.cnp_gap_us == 0)
		doctor_do(doctor_add(report, DOCTOR_WARNING, "congestion",
				  "senders hear of congestion by notifications; without them only loss slows them down",
				  "no notifications (CNP) are sent: cnp_gap_us is 0"),
			"set congestion.cnp_gap_us to 50 or leave it out");
	if (!config->congestion.follow_cnps)
		doctor_do(doctor_add(report, DOCTOR_WARNING, "congestion",
				  "peers that keep order cannot slow this host down but by losing packets",
				  "notifications (CNP) are not followed: follow_cnps is false"),
			"set congestion.follow_cnps to true or leave it out");
	if (paused_priorities(config) != 0 && !marks)
		doctor_do(doctor_add(report, DOCTOR_NOTE, "channels",
				  "with pauses alone queues fill up before anybody goes slower, and pauses spread "
				  "through the network",
				  "PFC is on and this host marks nothing that waits to be sent (ECN)"),
			"set ecn_min_kbytes and ecn_max_kbytes of the paused channels, and mark at the switches below "
			"the queue at which they pause");
}

/* ---- entropy ---- */

static uint32_t most_planes(const struct config *config)
{
	uint32_t most = 1;

	for (uint32_t d = 0; d < config->n_devices; d++)
		most = config->devices[d].n_planes + 1 > most ? config->devices[d].n_planes + 1 : most;
	return most;
}

static void check_fixed(const struct config *config, struct doctor_report *report)
{
	static const char why[] = "switches choose among equal paths by the UDP source port: with one port all packets "
				  "take one path, and a bad path is not left";

	if (config->multipath.plain.evs == 1)
		doctor_do(doctor_add(report, DOCTOR_WARNING, "multipath", why,
				  "towards peers that agreed to nothing each queue pair stays on one UDP source port: "
				  "plain.evs is 1"),
			"leave out multipath.plain.evs");
	if (config->multipath.evs < 4 * most_planes(config) &&
		(config->multipath.negotiate || config->multipath.n_peers != 0))
		doctor_do(doctor_add(report, DOCTOR_WARNING, "multipath", why,
				  "queue pairs that spray have %u UDP source port%s for %u port%s",
				  config->multipath.evs, config->multipath.evs == 1 ? "" : "s", most_planes(config),
				  most_planes(config) == 1 ? "" : "s"),
			"leave out multipath.evs (64), or give it four times the number of paths");
	if (!config->multipath.negotiate && config->multipath.n_peers == 0)
		doctor_do(
			doctor_add(report, DOCTOR_NOTE, "multipath",
				"each queue pair takes one path at a time, also to peers that could use several",
				"several paths are neither offered (negotiate is false) nor agreed by list (no peers)"),
			"set multipath.negotiate to true, or list the networks of hosts with roced in multipath.peers");
	if (config->gateway.device[0] != '\0' && config->gateway.paths == 1)
		doctor_do(doctor_add(report, DOCTOR_WARNING, "gateway", why,
				  "tunnels have one UDP source port: gateway.paths is 1"),
			"leave out gateway.paths, or give it four times the number of paths");
}

void doctor_check_entropy(const struct doctor_facts *facts, struct doctor_report *report)
{
	check_fixed(facts->config, report);
	for (uint32_t i = 0; i < facts->n_qps; i++) {
		const struct doctor_qp *qp = &facts->qps[i];
		char subject[DOCTOR_NAME_BYTES];

		snprintf(subject, sizeof(subject), "qp %#" PRIx64, qp->qpn);
		if (!qp->in_order && qp->evs > 1 && qp->sent > BUSY_PACKETS && qp->evs_used == 1)
			doctor_do(doctor_add(report, DOCTOR_WARNING, subject,
					  "it could use several paths, and its packets share the fate of one",
					  "all of its %" PRIu64 " packets to %s went by one of %" PRIu64
					  " UDP source ports",
					  qp->sent, qp->peer, qp->evs),
				"leave out multipath.scheduler, or set it to adaptive");
		if (qp->evs > 1 && qp->sent > BUSY_PACKETS && qp->evs_alive * 4 < qp->evs)
			doctor_do(doctor_add(report, DOCTOR_WARNING, subject,
					  "a path is given up when packets get lost on it again and again",
					  "only %" PRIu64 " of its %" PRIu64 " paths to %s are alive", qp->evs_alive,
					  qp->evs, qp->peer),
				"rocectl paths %#" PRIx64 " shows which; look for a cut or lossy link", qp->qpn);
	}
}

/* ---- extension ---- */

static bool is_listed(const struct config *config, const char *peer)
{
	struct wire_addr addr;

	if (config == NULL || !wire_addr_read(peer, &addr))
		return false;
	for (uint32_t i = 0; i < config->multipath.n_peers; i++) {
		const struct config_prefix *network = &config->multipath.peers[i].network;

		if (config->multipath.peers[i].without_cm &&
			wire_addr_is_v4(&network->addr) == wire_addr_is_v4(&addr) &&
			wire_addr_same_network(&network->addr, &addr, wire_addr_prefix(&network->addr, network->len)))
			return true;
	}
	return false;
}

void doctor_check_extension(const struct doctor_facts *facts, struct doctor_report *report)
{
	uint64_t offered = doctor_counter(facts, "multipath_offered"),
		 agreed = doctor_counter(facts, "multipath_agreed");

	if (doctor_counter(facts, "unagreed") != 0)
		doctor_do(doctor_add(report, DOCTOR_PROBLEM, "multipath",
				  "one end sprays packets over paths and the other one wants them in order: such "
				  "connections fail or crawl",
				  "%" PRIu64 " packets came as one end sends them to a peer that agreed, to a queue "
					     "pair that did not, or the other way round",
				  doctor_counter(facts, "unagreed")),
			"let multipath.peers of both daemons list each other, or neither");
	if (offered > agreed)
		doctor_do(doctor_add(report, DOCTOR_NOTE, "multipath",
				  "a peer that does not know the extension (hardware, Soft-RoCE, or roced with "
				  "multipath.negotiate = false) gets its packets in order",
				  "of %" PRIu64 " connections that offered several paths %" PRIu64 " were agreed to",
				  offered, agreed),
			"nothing, if those peers do not run roced; else look at multipath.negotiate and "
			"devices[].multipath there");
	if (doctor_counter(facts, "multipath_mismatches") != 0)
		doctor_do(doctor_add(report, DOCTOR_WARNING, "multipath",
				  "a program brought its queue pair up in another way than its connection agreed",
				  "%" PRIu64 " connections agreed to several paths and do not use them",
				  doctor_counter(facts, "multipath_mismatches")),
			"docs/multipath.md tells what such programs do");
	for (uint32_t i = 0; i < facts->n_qps; i++) {
		if (facts->qps[i].in_order && is_listed(facts->config, facts->qps[i].peer))
			doctor_do(doctor_add(report, DOCTOR_NOTE, facts->qps[i].peer,
					  "a connection by the connection manager goes by what both ends said there",
					  "is in multipath.peers, but queue pair %#" PRIx64 " to it keeps order",
					  facts->qps[i].qpn),
				"look whether roced runs there, and lists this host");
	}
}
