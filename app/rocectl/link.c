/* SPDX-License-Identifier: BSD-3-Clause */
#include "link.h"

#include <pcap/pcap.h>
#include <string.h>

#define ETH_BYTES       14
#define ETHERTYPE_OFF   12
#define ETHERTYPE_BYTES 2

/* How a link header becomes an Ethernet header. */
struct link_type {
	int dlt;
	uint8_t hdr_bytes; /* of the capture's own header, which is taken off */
	int8_t proto_off;  /* of the EtherType in it; -1: from the IP version */
};

static const struct link_type link_types[] = {
	{DLT_EN10MB, 0, 0},
	{DLT_LINUX_SLL, 16, 14},
	{DLT_LINUX_SLL2, 20, 0},
	{DLT_RAW, 0, -1},
	{DLT_IPV4, 0, -1},
	{DLT_IPV6, 0, -1},
};

static const struct link_type *find(int dlt)
{
	size_t i;

	for (i = 0; i < sizeof(link_types) / sizeof(link_types[0]); i++) {
		if (link_types[i].dlt == dlt)
			return &link_types[i];
	}
	return NULL;
}

bool link_supported(int dlt)
{
	return find(dlt) != NULL;
}

static size_t at_most(size_t n, size_t max)
{
	return n < max ? n : max;
}

static void put_ethertype(
	const struct link_type *type, const uint8_t *data, size_t caplen, uint8_t *at)
{
	if (type->proto_off >= 0) {
		memcpy(at, data + type->proto_off, ETHERTYPE_BYTES);
		return;
	}
	if (caplen > 0 && data[0] >> 4 == 6)
		memcpy(at, "\x86\xdd", ETHERTYPE_BYTES);
	else
		memcpy(at, "\x08\x00", ETHERTYPE_BYTES);
}

void link_to_ethernet(int dlt, const uint8_t *data, size_t caplen, size_t len, struct link_frame *frame)
{
	const struct link_type *type = find(dlt);
	size_t front = dlt == DLT_EN10MB ? 0 : ETH_BYTES;

	if (len < caplen)
		len = caplen;
	if (front) {
		memset(frame->data, 0, ETH_BYTES);
		if (!type || caplen < type->hdr_bytes) {
			/* Cut within its own link header: nothing of the packet is known. */
			caplen = 0;
		} else {
			put_ethertype(type, data, caplen, frame->data + ETHERTYPE_OFF);
			data += type->hdr_bytes;
			caplen -= type->hdr_bytes;
			len -= type->hdr_bytes;
		}
	}
	frame->has_macs = !front;
	frame->bytes = at_most(front + caplen, LINK_FRAME_MAX);
	frame->wire_bytes = front + len;
	memcpy(frame->data + front, data, frame->bytes - front);
	memset(frame->data + frame->bytes, 0, at_most(frame->wire_bytes, LINK_FRAME_MAX) - frame->bytes);
}
