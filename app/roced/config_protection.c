/* SPDX-License-Identifier: BSD-3-Clause */
/* What belongs together in protection, and between it and the devices. */
#include <string.h>

#include "config_schema.h"
#include "crypt_msg.h"
#include "wire_addr.h"
#include "wire_frame.h"
#include "wire_psp.h"

bool config_same_network(const struct config_prefix *a, const struct config_prefix *b)
{
	return a->len != 0 && a->len == b->len && memcmp(a->addr.b, b->addr.b, sizeof(a->addr.b)) == 0;
}

uint32_t config_protection_bytes(const struct config *config, uint32_t d)
{
	for (uint32_t i = 0; i < config->protection.n_peers; i++) {
		const struct config_protect *peer = &config->protection.peers[i];

		if (peer->policy != CONFIG_PROTECT_OFF && (peer->device_mask & 1u << d) != 0)
			return WIRE_PSP_OVERHEAD;
	}
	return 0;
}

static void check_protected_devices(struct config_reader *reader, uint32_t i)
{
	struct config *config = config_of(reader);
	struct config_protect *peer = &config->protection.peers[i];
	uint32_t d;

	peer->device_mask = peer->n_devices == 0 ? UINT32_MAX : 0;
	for (uint32_t k = 0; k < peer->n_devices; k++) {
		for (d = 0; d < config->n_devices && strcmp(config->devices[d].name, peer->devices[k]) != 0; d++)
			;
		if (d < config->n_devices)
			peer->device_mask |= 1u << d;
		else
			config_error(reader, &peer->at, "protection.peers[%u].devices: there is no device \"%s\"", i, peer->devices[k]);
	}
}

/* What a peer is to prove needs something here, or it would be passed over. */
static void check_protected_proof(struct config_reader *reader, uint32_t i)
{
	const struct config_protection *p = &config_of(reader)->protection;
	const struct config_protect *peer = &p->peers[i];

	if (peer->n_names != 0 && p->cert_file[0] == '\0')
		config_error(reader, &peer->at, "protection.peers[%u].names: only a certificate has names, give cert_file, key_file and ca_file",
			i);
	if (peer->psk_id[0] != '\0' && p->psk_file[0] == '\0')
		config_error(reader, &peer->at, "protection.peers[%u].psk_id: there are no pre-shared keys, give psk_file", i);
}

void config_check_protected_peers(struct config_reader *reader)
{
	const struct config_protection *p = &config_of(reader)->protection;
	const struct config_at at = {0};
	bool any = false;

	for (uint32_t i = 0; i < p->n_peers; i++) {
		check_protected_devices(reader, i);
		check_protected_proof(reader, i);
		any |= p->peers[i].policy != CONFIG_PROTECT_OFF;
		for (uint32_t k = 0; k < i; k++) {
			if (config_same_network(&p->peers[i].network, &p->peers[k].network) &&
				(p->peers[i].device_mask & p->peers[k].device_mask) != 0)
				config_error(reader, &p->peers[i].at, "protection.peers[%u]: is the network of protection.peers[%u] too", i, k);
		}
	}
	if (any && p->psk_file[0] == '\0' && p->cert_file[0] == '\0')
		config_error(reader, &at, "protection.peers: nobody can prove anything: give psk_file, or cert_file, key_file and ca_file");
}

void config_check_protection(struct config_reader *reader)
{
	const struct config_protection *p = &config_of(reader)->protection;
	int n_files = (p->cert_file[0] != '\0') + (p->key_file[0] != '\0') + (p->ca_file[0] != '\0');
	const struct config_at at = {0};

	if (n_files != 0 && n_files != 3)
		config_error(reader, &at, "protection: cert_file, key_file and ca_file go together");
	if ((p->window_packets & (p->window_packets - 1)) != 0)
		config_error(reader, &at, "protection.window_packets: %u is no power of two", p->window_packets);
	if (p->control_port - p->port < CRYPT_MSG_LANES)
		config_error(reader, &at, "protection.control_port: %u is one of the %u ports from protection.port on", p->control_port,
			(unsigned int)CRYPT_MSG_LANES);
	if (p->control_port == WIRE_ROCE_PORT)
		config_error(reader, &at, "protection.control_port: %u is that of RoCE packets", p->control_port);
	if (WIRE_ROCE_PORT - p->port < CRYPT_MSG_LANES)
		config_error(reader, &at, "protection.port: of the %u ports from %u on one is that of RoCE packets, %u",
			(unsigned int)CRYPT_MSG_LANES, p->port, (unsigned int)WIRE_ROCE_PORT);
	for (uint32_t i = 0; i < p->n_suites; i++) {
		for (uint32_t k = 0; k < i; k++) {
			if (p->suites[i] == p->suites[k])
				config_error(reader, &at, "protection.suites: %s stands there twice", crypt_suite_name(p->suites[i]));
		}
	}
}
