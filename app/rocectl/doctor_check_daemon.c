/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks of what the configuration and the daemon say of themselves. */
#include <inttypes.h>
#include <string.h>

#include "base_drop.h"
#include "doctor.h"

void doctor_check_config(const struct doctor_facts *facts, struct doctor_report *report)
{
	if (facts->config_errors != 0)
		doctor_do(doctor_add(report, DOCTOR_PROBLEM, "file", "the daemon does not start with it",
				  "%u error%s, the first: %s", facts->config_errors,
				  facts->config_errors == 1 ? "" : "s", facts->config_error),
			"roced -c %s --check", facts->file);
	else if (facts->file[0] == '\0')
		doctor_do(doctor_add(report, DOCTOR_NOTE, "file",
				  "most checks compare the machine with the configuration",
				  "no configuration file was found"),
			"rocectl doctor -c FILE");
	else if (facts->daemon && facts->file_is_newer == 1)
		doctor_do(doctor_add(report, DOCTOR_NOTE, "file",
				  "what is said here of the configuration may not be what runs",
				  "%s was changed after the daemon had started", facts->file),
			"reload or restart the daemon");
}

void doctor_check_daemon(const struct doctor_facts *facts, struct doctor_report *report)
{
	if (facts->daemon)
		return;
	if (facts->config != NULL && !facts->config->control.telemetry)
		doctor_do(doctor_add(report, DOCTOR_NOTE, "telemetry",
				  "neighbours, paths, alarms and drops are known to the daemon alone",
				  "the configuration has no telemetry, so the daemon was not asked"),
			"control.telemetry = true, and restart the daemon");
	else
		doctor_do(doctor_add(report, DOCTOR_NOTE, "telemetry",
				  "neighbours, paths, alarms and drops are known to the daemon alone",
				  "no daemon answers"),
			"start it; as root, or as the user who runs it, rocectl finds its socket, else: --socket PATH");
}

void doctor_check_alarms(const struct doctor_facts *facts, struct doctor_report *report)
{
	for (uint32_t i = 0; i < facts->n_alarms; i++) {
		const struct doctor_alarm *alarm = &facts->alarms[i];

		doctor_do(doctor_add(report, alarm->active ? DOCTOR_PROBLEM : DOCTOR_NOTE, alarm->subject,
				  "the daemon raises alarms for what somebody should look at: docs/telemetry.md has "
				  "the list",
				  "alarm %s, %" PRIu64 " times%s: %s", alarm->kind, alarm->count,
				  alarm->active ? "" : ", over now", alarm->text),
			"rocectl alarms; the log has the beginning");
	}
}

/* Drops that say something is wrong, and what. Others (not_ours, duplicate, ...) belong to a network. */
static const struct {
	enum base_drop reason;
	enum doctor_severity severity;
	const char *why, *todo;
} drops[] = {
	{BASE_DROP_TRUNCATED, DOCTOR_WARNING,
		"frames come cut off: something puts packets together or has a larger MTU",
		"compare the MTU of port and network; ethtool -K INTERFACE lro off gro off"},
	{BASE_DROP_IP_HEADER, DOCTOR_WARNING, "IP headers come damaged, or as fragments, which RoCE has none of",
		"look at checksum offloads at the sender (ethtool -k), and for a router that cuts packets"},
	{BASE_DROP_IP_LENGTH, DOCTOR_WARNING, "lengths disagree: somebody on the way changes packets",
		"look at offloads at the sender (ethtool -k)"},
	{BASE_DROP_ICRC, DOCTOR_WARNING,
		"packets were damaged on the way behind all checksums, or a middle box changes them",
		"look at cables, and for NAT or DSCP rewriting that touches covered fields"},
	{BASE_DROP_NO_NEIGHBOUR, DOCTOR_WARNING, "the next hop of a peer does not answer ARP or neighbour discovery",
		"rocectl doctor PEER"},
	{BASE_DROP_NO_MBUF, DOCTOR_PROBLEM, "all packet buffers are in use: nothing can be received",
		"raise ports[].mbufs or eal.tx_mbufs"},
	{BASE_DROP_TX_FULL, DOCTOR_WARNING, "the port took nothing for 100 ms, or more came than it takes",
		"look at the link; ports[].rate_mbps below its speed"},
	{BASE_DROP_CHANNEL_FULL, DOCTOR_WARNING, "more goes into a channel than it sends",
		"raise channels[].queue_kbytes, its weight or its ceiling"},
	{BASE_DROP_RING_FULL, DOCTOR_WARNING, "a worker or the main thread does not keep up",
		"rocectl doctor looks at CPUs; more workers, or CPUs of their own"},
	{BASE_DROP_PKEY, DOCTOR_WARNING, "peers send with a partition key other than the default",
		"set the peer's P_Key to 0xffff"},
	{BASE_DROP_PLAIN, DOCTOR_WARNING, "a peer that must protect its packets does not",
		"compare protection.peers of both ends"},
	{BASE_DROP_NO_SA, DOCTOR_WARNING, "a peer with which protection is required has agreed on no keys",
		"rocectl sas tells why"},
	{BASE_DROP_WRONG_TAG, DOCTOR_WARNING, "protected packets were forged or damaged", "rocectl alarms says whose"},
	{BASE_DROP_FRAGMENT, DOCTOR_WARNING, "a host of the gateway cuts its RoCE packets",
		"lower the host's RDMA MTU below its interface's"},
	{BASE_DROP_TUNNEL_MTU, DOCTOR_PROBLEM, "hosts send packets that do not fit into the tunnel, and do not arrive",
		"raise the MTU of the fabric's port, or lower that of the hosts"},
};

void doctor_check_drops(const struct doctor_facts *facts, struct doctor_report *report)
{
	for (size_t i = 0; i < sizeof(drops) / sizeof(drops[0]); i++) {
		const char *name = base_drop_name(drops[i].reason);
		uint64_t n = doctor_counter(facts, name);

		if (n != 0)
			doctor_do(doctor_add(report, drops[i].severity, name, drops[i].why,
					  "%" PRIu64 " packets were dropped since the start: %s", n,
					  base_drop_help(drops[i].reason)),
				"%s", drops[i].todo);
	}
}
