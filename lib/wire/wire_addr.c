/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_addr.h"

struct wire_addr wire_addr_move(const struct wire_addr *addr, const struct wire_addr *network, uint32_t bits)
{
	uint32_t bytes = bits / 8, rest = bits % 8;
	uint8_t mask = (uint8_t)(0xff00u >> rest);
	struct wire_addr moved = *addr;

	memcpy(moved.b, network->b, bytes);
	if (rest != 0)
		moved.b[bytes] = (uint8_t)((network->b[bytes] & mask) | (addr->b[bytes] & ~mask));
	return moved;
}

bool wire_addr_same_network(const struct wire_addr *a, const struct wire_addr *b, uint32_t bits)
{
	struct wire_addr moved = wire_addr_move(a, b, bits);

	return memcmp(&moved, a, sizeof(moved)) == 0;
}

bool wire_addr_same_host(const struct wire_addr *a, const struct wire_addr *b, uint32_t bits)
{
	struct wire_addr moved = wire_addr_move(a, b, bits);

	return memcmp(&moved, b, sizeof(moved)) == 0;
}
