/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_sack.h"

#include <arpa/inet.h>
#include <string.h>

void wire_sack_put(uint8_t *p, const struct wire_sack_echo *echo)
{
	uint32_t word = htonl(echo->echo);
	uint16_t port = htons(echo->udp_sport), wait = htons(echo->wait);

	memcpy(p, &word, sizeof(word));
	memcpy(p + 4, &port, sizeof(port));
	memcpy(p + 6, &wait, sizeof(wait));
}

void wire_sack_get(const uint8_t *p, struct wire_sack_echo *echo)
{
	uint32_t word;
	uint16_t port, wait;

	memcpy(&word, p, sizeof(word));
	memcpy(&port, p + 4, sizeof(port));
	memcpy(&wait, p + 6, sizeof(wait));
	*echo = (struct wire_sack_echo){.echo = ntohl(word), .udp_sport = ntohs(port), .wait = ntohs(wait)};
}
