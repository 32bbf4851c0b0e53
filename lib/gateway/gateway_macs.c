/* SPDX-License-Identifier: BSD-3-Clause */
#include "gateway_macs.h"

#include <stddef.h>
#include <string.h>

static uint64_t key_of(const uint8_t mac[GATEWAY_MAC_BYTES])
{
	uint64_t key = 0;

	if ((mac[0] & 1) == 0)
		memcpy(&key, mac, GATEWAY_MAC_BYTES);
	return key;
}

static uint32_t set_of(const struct gateway_macs *macs, uint64_t key)
{
	uint64_t x = (key ^ macs->seed) * 0xbf58476d1ce4e5b9u;

	x = (x ^ (x >> 31)) * 0x94d049bb133111ebu;
	return (uint32_t)(x >> 40) % GATEWAY_MACS_SETS;
}

void gateway_macs_learn(struct gateway_macs *macs, const uint8_t mac[GATEWAY_MAC_BYTES], uint32_t port, uint64_t now_ns)
{
	uint64_t key = key_of(mac);
	struct gateway_mac *set, *at;

	if (key == 0)
		return;
	set = macs->sets[set_of(macs, key)];
	at = &set[0];
	for (uint32_t i = 0; i < GATEWAY_MACS_WAYS; i++) {
		if (set[i].key == key) {
			at = &set[i];
			break;
		}
		if (set[i].seen_ns < at->seen_ns)
			at = &set[i];
	}
	*at = (struct gateway_mac){.key = key, .seen_ns = now_ns, .port = port};
}

uint32_t gateway_macs_find(const struct gateway_macs *macs, const uint8_t mac[GATEWAY_MAC_BYTES], uint64_t now_ns)
{
	uint64_t key = key_of(mac);
	const struct gateway_mac *set;

	if (key == 0)
		return GATEWAY_NO_PORT;
	set = macs->sets[set_of(macs, key)];
	for (uint32_t i = 0; i < GATEWAY_MACS_WAYS; i++) {
		if (set[i].key == key)
			return now_ns - set[i].seen_ns <= GATEWAY_MACS_AGE_NS ? set[i].port : GATEWAY_NO_PORT;
	}
	return GATEWAY_NO_PORT;
}
