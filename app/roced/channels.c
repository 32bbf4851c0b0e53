/* SPDX-License-Identifier: BSD-3-Clause */
#include "channels.h"

#include <string.h>

#include "wire_ecn.h"

#define MBPS          ((uint64_t)1000000)
#define KBYTE         1000u
#define NS_PER_US     1000u
#define ETH_OVERHEAD  18u  /* header and one VLAN tag */
#define ETH_BYTES     14u
#define VLAN_BYTES    4u
#define IP4_BYTES     20u
#define IP6_BYTES     40u
#define TYPE_IP4      0x0800
#define TYPE_IP6      0x86dd
#define TYPE_VLAN     0x8100
#define TCI_NOT_PCP   0x1f    /* of the tag's first octet */
#define PCP_SHIFT     5
#define DEFAULT_QUEUE (1024u * KBYTE)
#define MIN_BPS       MBPS  /* what lib/qos takes */

/* A worker's part of a rate. */
static uint64_t part(uint32_t mbps, uint32_t n_workers)
{
	uint64_t bps = mbps * MBPS / n_workers;

	return mbps != 0 && bps < MIN_BPS ? MIN_BPS : bps;
}

static void init_class(const struct config_channel *channel, uint32_t n_workers, struct qos_class *class)
{
	*class = (struct qos_class){
		.priority = (uint8_t)channel->priority,
		.tags = channel->send_pcp < QOS_PRIORITIES,
		.pcp = (uint8_t)channel->send_pcp,
		.strict = channel->strict,
		.weight = (uint16_t)channel->weight,
		.guaranteed_bps = part(channel->guaranteed_mbps, n_workers),
		.ceiling_bps = part(channel->ceiling_mbps, n_workers),
		.queue_bytes = channel->queue_kbytes * KBYTE,
		.red = {channel->ecn_min_kbytes * KBYTE, channel->ecn_max_kbytes * KBYTE, channel->ecn_max_permille},
	};
}

static void map(uint64_t set, uint32_t n, uint8_t class, uint8_t *class_of)
{
	for (uint32_t i = 0; i < n; i++) {
		if ((set & 1ull << i) != 0)
			class_of[i] = class;
	}
}

bool channels_init(const struct config *config, const struct config_port *port, uint32_t n_workers,
	struct qos_config *qos)
{
	memset(qos, 0, sizeof(*qos));
	if (config->n_channels == 0 && port->rate_mbps == 0)
		return false;
	qos->trust_pcp = port->trust_pcp;
	qos->rate_bps = part(port->rate_mbps, n_workers);
	qos->packet_bytes = port->mtu + ETH_OVERHEAD;
	qos->burst_ns = config->burst_us * NS_PER_US;
	qos->n_classes = 1;
	qos->classes[0] = (struct qos_class){.weight = 1, .queue_bytes = DEFAULT_QUEUE};
	for (uint8_t c = 0; c < config->n_channels; c++) {
		init_class(&config->channels[c], n_workers, &qos->classes[c]);
		map(config->channels[c].dscp, QOS_DSCPS, c, qos->class_of_dscp);
		map(config->channels[c].pcp, QOS_PRIORITIES, c, qos->class_of_pcp);
		qos->n_classes = (uint8_t)(c + 1);
	}
	return true;
}

static uint16_t get16(const uint8_t *p)
{
	return (uint16_t)(p[0] << 8 | p[1]);
}

uint8_t channels_class(const struct qos_config *qos, const uint8_t *frame, size_t n, const uint8_t **ip,
	uint8_t *version)
{
	size_t off = ETH_BYTES;
	uint16_t type = n >= off ? get16(frame + off - 2) : 0, tci = 0;
	bool tagged = type == TYPE_VLAN && n >= off + VLAN_BYTES;

	if (tagged) {
		tci = get16(frame + off);
		off += VLAN_BYTES;
		type = get16(frame + off - 2);
	}
	*version = type == TYPE_IP4 && n >= off + IP4_BYTES ? 4 : type == TYPE_IP6 && n >= off + IP6_BYTES ? 6 : 0;
	*ip = *version != 0 ? frame + off : NULL;
	return qos_class_of(qos, *ip != NULL ? wire_traffic_class(*ip, *version) : 0, tagged, tci);
}

void channels_tag(const struct qos_class *class, uint8_t *frame, size_t n)
{
	if (class->tags && n >= ETH_BYTES + VLAN_BYTES && get16(frame + ETH_BYTES - 2) == TYPE_VLAN)
		frame[ETH_BYTES] = (uint8_t)((frame[ETH_BYTES] & TCI_NOT_PCP) | class->pcp << PCP_SHIFT);
}
