/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_addr.h"

#include <arpa/inet.h>

bool wire_addr_read(const char *text, struct wire_addr *addr)
{
	*addr = (struct wire_addr){.b = {[10] = 0xff, [11] = 0xff}};
	if (inet_pton(AF_INET, text, &addr->b[12]) == 1)
		return true;
	return inet_pton(AF_INET6, text, addr->b) == 1 && !wire_addr_is_v4(addr);
}

const char *wire_addr_print(const struct wire_addr *addr, char *text)
{
	if (wire_addr_is_v4(addr))
		return inet_ntop(AF_INET, &addr->b[12], text, WIRE_ADDR_TEXT_BYTES);
	return inet_ntop(AF_INET6, addr->b, text, WIRE_ADDR_TEXT_BYTES);
}

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
