/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts behind a gateway: at which port and link address an IP address was seen. Learnt from what hosts send; read by
 * all workers without a lock, written by any, seldom. Of fixed size: among addresses that fall into one set the one
 * seen longest ago goes.
 */
#ifndef GATEWAY_HOSTS_H
#define GATEWAY_HOSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "wire_frame.h"

struct gateway_host {
	struct wire_addr addr;
	uint8_t mac[6];
	uint8_t port;              /* index */
	bool has_vlan;
	uint16_t vlan_tci;         /* of its frames */
};

struct gateway_hosts;

/* NULL: no memory. seed: nobody should know it. */
struct gateway_hosts *gateway_hosts_new(uint64_t seed);
void gateway_hosts_free(struct gateway_hosts *hosts);
/* It was seen there. Any thread. */
void gateway_hosts_learn(struct gateway_hosts *hosts, const struct gateway_host *host, uint64_t now_ns);
/* False: it was not seen. Any thread. */
bool gateway_hosts_find(const struct gateway_hosts *hosts, const struct wire_addr *addr, struct gateway_host *host);

#endif
