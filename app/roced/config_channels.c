/* SPDX-License-Identifier: BSD-3-Clause */
/* What belongs together in channels, and between them and the ports. */
#include <string.h>

#include "config_schema.h"

#define N_PCPS         8
#define CONFIG(reader) ((const struct config *)(reader)->base)

static void check_channel(struct config_reader *reader, uint32_t c, uint64_t *dscp, uint64_t *pcp)
{
	const struct config_channel *channel = &CONFIG(reader)->channels[c];

	for (uint32_t d = 0; d < c; d++) {
		if (channel->name[0] != '\0' && !strcmp(channel->name, CONFIG(reader)->channels[d].name))
			config_error(reader, &channel->at, "channels[%u].name: \"%s\" is used by channels[%u] too", c,
				channel->name, d);
	}
	if ((channel->dscp & *dscp) != 0)
		config_error(reader, &channel->at, "channels[%u].dscp: %d is of another channel too", c,
			__builtin_ctzll(channel->dscp & *dscp));
	if ((channel->pcp & *pcp) != 0)
		config_error(reader, &channel->at, "channels[%u].pcp: %d is of another channel too", c,
			__builtin_ctzll(channel->pcp & *pcp));
	*dscp |= channel->dscp;
	*pcp |= channel->pcp;
	if (channel->ceiling_mbps != 0 && channel->guaranteed_mbps > channel->ceiling_mbps)
		config_error(reader, &channel->at, "channels[%u].guaranteed_mbps: %u is above ceiling_mbps, %u", c,
			channel->guaranteed_mbps, channel->ceiling_mbps);
	if (channel->ecn_min_kbytes > channel->ecn_max_kbytes)
		config_error(reader, &channel->at, "channels[%u].ecn_min_kbytes: %u is above ecn_max_kbytes, %u", c,
			channel->ecn_min_kbytes, channel->ecn_max_kbytes);
}

/* A port that tells channels apart by tags must find what it has tagged in the same one again. */
static void check_tags(struct config_reader *reader, uint32_t p)
{
	const struct config *config = CONFIG(reader);

	for (uint32_t c = 0; c < config->n_channels && config->ports[p].trust_pcp; c++) {
		const struct config_channel *channel = &config->channels[c];

		if (channel->send_pcp < N_PCPS && (channel->pcp & 1ull << channel->send_pcp) == 0)
			config_error(reader, &channel->at,
				"channels[%u].send_pcp: %u is not among its pcp, and ports[%u].trust_pcp tells channels apart by that", c,
				channel->send_pcp, p);
	}
}

/* Against the rates of a port, and the priorities that it is told to pause. */
static void check_port_channels(struct config_reader *reader, uint32_t p)
{
	const struct config *config = CONFIG(reader);
	const struct config_port *port = &config->ports[p];
	uint64_t guaranteed_mbps = 0, pfc = port->pfc, send = port->pfc_send;

	for (uint32_t c = 0; c < config->n_channels; c++) {
		guaranteed_mbps += config->channels[c].guaranteed_mbps;
		pfc &= ~(1ull << config->channels[c].priority);
		send &= ~(1ull << config->channels[c].priority);
	}
	if (port->rate_mbps != 0 && guaranteed_mbps > port->rate_mbps)
		config_error(reader, &port->at, "ports[%u].rate_mbps: %u is less than channels are guaranteed, %llu", p,
			port->rate_mbps, (unsigned long long)guaranteed_mbps);
	if (pfc != 0)
		config_error(reader, &port->at, "ports[%u].pfc: no channel has priority %d", p, __builtin_ctzll(pfc));
	if (send != 0)
		config_error(reader, &port->at, "ports[%u].pfc_send: no channel has priority %d", p, __builtin_ctzll(send));
	if (port->pfc_mode == CONFIG_PFC_HARDWARE && (port->pfc | port->pfc_send) == 0)
		config_error(reader, &port->at, "ports[%u].pfc_mode: \"hardware\" needs priorities in pfc or pfc_send", p);
	if (port->pfc_mode == CONFIG_PFC_HARDWARE && __builtin_popcountll(port->pfc_send) > 1)
		config_error(reader, &port->at,
			"ports[%u].pfc_send: with pfc_mode \"hardware\" must be one priority, a receive queue has no more", p);
	if (port->pfc_send == 0 && (port->pfc_buffer_kbytes | port->pfc_headroom_kbytes) != 0)
		config_error(reader, &port->at, "ports[%u].pfc_%s_kbytes: needs priorities in pfc_send, nothing is paused else", p,
			port->pfc_buffer_kbytes != 0 ? "buffer" : "headroom");
	if (port->pfc_buffer_kbytes != 0 && port->pfc_headroom_kbytes >= port->pfc_buffer_kbytes)
		config_error(reader, &port->at, "ports[%u].pfc_headroom_kbytes: %u is not below pfc_buffer_kbytes, %u", p,
			port->pfc_headroom_kbytes, port->pfc_buffer_kbytes);
}

void config_check_channels(struct config_reader *reader)
{
	uint64_t dscp = 0, pcp = 0;

	for (uint32_t c = 0; c < CONFIG(reader)->n_channels; c++)
		check_channel(reader, c, &dscp, &pcp);
	for (uint32_t p = 0; p < CONFIG(reader)->n_ports; p++) {
		check_port_channels(reader, p);
		check_tags(reader, p);
	}
}
