/* SPDX-License-Identifier: BSD-3-Clause */
/* The IP CM service's hello at the start of REQ and SIDR_REQ private data (IBTA vol. 1, annex
 * A11.3.2). */
#include "cm_internal.h"

#include <errno.h>

#define IP_SERVICE_PREFIX                                                                          \
	1 /* service IDs 0x0000000001PPxxxx: IP protocol or port space, and port */

bool cm_service_has_hello(uint64_t service_id)
{
	return service_id >> 24 == IP_SERVICE_PREFIX;
}

uint16_t cm_hello_put(struct wire_cm_msg *msg, const struct cm_hello *hello)
{
	struct wire_cm_hello wire = {.cma_version = 0};

	if (!hello->present)
		return 0;
	wire.ip_version = hello->ipv6 ? 6 : 4;
	wire.sport = hello->src_port;
	wire.src = hello->src;
	wire.dst = hello->dst;
	wire_cm_hello_encode(&wire, msg->private_data);
	return WIRE_CM_HELLO_BYTES;
}

int cm_hello_get(const struct wire_cm_msg *msg, uint64_t service_id, struct cm_event *ev)
{
	struct wire_cm_hello wire;

	ev->private_data = msg->private_data;
	ev->private_bytes = msg->private_bytes;
	if (!cm_service_has_hello(service_id))
		return 0;
	if (wire_cm_hello_decode(msg->private_data, msg->private_bytes, &wire))
		return -EPROTO;
	ev->private_data += WIRE_CM_HELLO_BYTES;
	ev->private_bytes = (uint16_t)(ev->private_bytes - WIRE_CM_HELLO_BYTES);
	ev->hello.present = true;
	ev->hello.ipv6 = wire.ip_version == 6;
	ev->hello.src = wire.src;
	ev->hello.dst = wire.dst;
	ev->hello.src_port = wire.sport;
	ev->hello.dst_port = (uint16_t)service_id;
	return 0;
}
