/* SPDX-License-Identifier: BSD-3-Clause */
/* Management datagrams: CM messages field by field from the codec's own table. */
#include <arpa/inet.h>

#include "describe.h"
#include "wire_cm.h"

#define IP_CM_PREFIX 1 /* service id >> 24 of the RDMA IP CM service */

static void describe_hello(struct emit *e, const struct wire_cm_msg *msg)
{
	struct wire_cm_hello hello;
	uint64_t service_id;

	if (msg->type == WIRE_CM_REQ)
		service_id = msg->req.service_id;
	else if (msg->type == WIRE_CM_SIDR_REQ)
		service_id = msg->sidr_req.service_id;
	else
		return;
	if (service_id >> 24 != IP_CM_PREFIX ||
		wire_cm_hello_decode(msg->private_data, msg->private_bytes, &hello))
		return;
	emit_open(e, "hello");
	emit_num(e, "ip_version", hello.ip_version);
	emit_addr(e, "src", &hello.src);
	emit_num(e, "sport", hello.sport);
	emit_addr(e, "dst", &hello.dst);
	emit_num(e, "dport", service_id & 0xffff);
	emit_close(e);
}

/* Text leaves zero fields out: a REQ has 46 of them. JSON has all. */
static void describe_field(
	struct emit *e, const struct wire_cm_msg *msg, const struct wire_cm_field *fld)
{
	const uint8_t *data = wire_cm_field_data(msg, fld);
	size_t i;

	for (i = 0; i < fld->size_bytes && !data[i]; i++)
		;
	if (i == fld->size_bytes && !e->json)
		return;
	if (fld->width_bits < 16)
		emit_num(e, fld->name, wire_cm_field_value(msg, fld));
	else if (fld->width_bits <= 64)
		emit_hex(e, fld->name, wire_cm_field_value(msg, fld), fld->width_bits / 4);
	else if (fld->size_bytes == sizeof(struct wire_addr))
		emit_addr(e, fld->name, (const struct wire_addr *)data);
	else
		emit_bytes(e, fld->name, data, fld->size_bytes);
}

static void describe_cm(struct emit *e, const struct wire_cm_msg *msg)
{
	const struct wire_cm_field *fields;
	size_t n_fields;
	size_t i;

	fields = wire_cm_fields(msg->type, &n_fields);
	emit_open(e, "cm");
	emit_word(e, "type", wire_cm_type_name(msg->type));
	emit_hex(e, "tid", msg->tid, 16);
	if (msg->type == WIRE_CM_REJ)
		emit_str(e, "reason_name", wire_cm_rej_name(msg->rej.reason));
	for (i = 0; i < n_fields; i++)
		describe_field(e, msg, &fields[i]);
	describe_hello(e, msg);
	if (e->json)
		emit_bytes(e, "private_data", msg->private_data, msg->private_bytes);
	emit_close(e);
}

bool describe_mad(struct emit *e, const uint8_t *mad, size_t n)
{
	struct wire_cm_msg msg;
	struct wire_mad hdr;

	if (n != WIRE_MAD_BYTES)
		return false;
	wire_mad_decode(mad, &hdr);
	if (hdr.mgmt_class == WIRE_MAD_CLASS_CM) {
		if (wire_cm_decode(mad, n, &msg))
			return false;
		describe_cm(e, &msg);
		return true;
	}
	emit_open(e, "mad");
	emit_hex(e, "class", hdr.mgmt_class, 2);
	emit_hex(e, "method", hdr.method, 2);
	emit_hex(e, "attr_id", hdr.attr_id, 4);
	emit_hex(e, "tid", hdr.tid, 16);
	emit_close(e);
	return true;
}
