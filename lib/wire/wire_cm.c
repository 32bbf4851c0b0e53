/* SPDX-License-Identifier: BSD-3-Clause */
#include "wire_cm.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#define MAD_BASE_VERSION 1
#define CM_CLASS_VERSION 2
#define N_TYPES          (WIRE_CM_APR - WIRE_CM_REQ + 1)

static_assert(sizeof(struct wire_addr) == 16, "GIDs are 16 bytes");

/* F(union member, field, byte in the CM message, bit from the most significant, width in bits) */
#define F(member, fld, byte, bitoff, width)                                                        \
	{.name = #fld,                                                                             \
		.struct_off = offsetof(struct wire_cm_##member, fld),                              \
		.size_bytes = sizeof(((struct wire_cm_##member *)0)->fld),                         \
		.byte_off = (byte),                                                                \
		.bit = (bitoff),                                                                   \
		.width_bits = (width)}

static const struct wire_cm_field req_fields[] = {
	F(req, local_comm_id, 0, 0, 32),
	F(req, vendor_id, 5, 0, 24),
	F(req, service_id, 8, 0, 64),
	F(req, local_ca_guid, 16, 0, 64),
	F(req, local_qkey, 28, 0, 32),
	F(req, local_qpn, 32, 0, 24),
	F(req, responder_resources, 35, 0, 8),
	F(req, local_eecn, 36, 0, 24),
	F(req, initiator_depth, 39, 0, 8),
	F(req, remote_eecn, 40, 0, 24),
	F(req, remote_cm_response_timeout, 43, 0, 5),
	F(req, transport_type, 43, 5, 2),
	F(req, flow_control, 43, 7, 1),
	F(req, starting_psn, 44, 0, 24),
	F(req, local_cm_response_timeout, 47, 0, 5),
	F(req, retry_count, 47, 5, 3),
	F(req, pkey, 48, 0, 16),
	F(req, path_mtu, 50, 0, 4),
	F(req, rdc_exists, 50, 4, 1),
	F(req, rnr_retry_count, 50, 5, 3),
	F(req, max_cm_retries, 51, 0, 4),
	F(req, srq, 51, 4, 1),
	F(req, extended_transport_type, 51, 5, 3),
	F(req, primary.local_lid, 52, 0, 16),
	F(req, primary.remote_lid, 54, 0, 16),
	F(req, primary.local_gid, 56, 0, 128),
	F(req, primary.remote_gid, 72, 0, 128),
	F(req, primary.flow_label, 88, 0, 20),
	F(req, primary.packet_rate, 91, 2, 6),
	F(req, primary.traffic_class, 92, 0, 8),
	F(req, primary.hop_limit, 93, 0, 8),
	F(req, primary.sl, 94, 0, 4),
	F(req, primary.subnet_local, 94, 4, 1),
	F(req, primary.local_ack_timeout, 95, 0, 5),
	F(req, alternate.local_lid, 96, 0, 16),
	F(req, alternate.remote_lid, 98, 0, 16),
	F(req, alternate.local_gid, 100, 0, 128),
	F(req, alternate.remote_gid, 116, 0, 128),
	F(req, alternate.flow_label, 132, 0, 20),
	F(req, alternate.packet_rate, 135, 2, 6),
	F(req, alternate.traffic_class, 136, 0, 8),
	F(req, alternate.hop_limit, 137, 0, 8),
	F(req, alternate.sl, 138, 0, 4),
	F(req, alternate.subnet_local, 138, 4, 1),
	F(req, alternate.local_ack_timeout, 139, 0, 5),
	F(req, sap_supported, 139, 5, 1),
};

static const struct wire_cm_field mra_fields[] = {
	F(mra, local_comm_id, 0, 0, 32),
	F(mra, remote_comm_id, 4, 0, 32),
	F(mra, message_mraed, 8, 0, 2),
	F(mra, service_timeout, 9, 0, 5),
};

static const struct wire_cm_field rej_fields[] = {
	F(rej, local_comm_id, 0, 0, 32),
	F(rej, remote_comm_id, 4, 0, 32),
	F(rej, message_rejected, 8, 0, 2),
	F(rej, rejected_info_length, 9, 0, 7),
	F(rej, reason, 10, 0, 16),
	F(rej, ari, 12, 0, 576),
};

static const struct wire_cm_field rep_fields[] = {
	F(rep, local_comm_id, 0, 0, 32),
	F(rep, remote_comm_id, 4, 0, 32),
	F(rep, local_qkey, 8, 0, 32),
	F(rep, local_qpn, 12, 0, 24),
	F(rep, vendor_id_h, 15, 0, 8),
	F(rep, local_eecn, 16, 0, 24),
	F(rep, vendor_id_m, 19, 0, 8),
	F(rep, starting_psn, 20, 0, 24),
	F(rep, vendor_id_l, 23, 0, 8),
	F(rep, responder_resources, 24, 0, 8),
	F(rep, initiator_depth, 25, 0, 8),
	F(rep, target_ack_delay, 26, 0, 5),
	F(rep, failover_accepted, 26, 5, 2),
	F(rep, flow_control, 26, 7, 1),
	F(rep, rnr_retry_count, 27, 0, 3),
	F(rep, srq, 27, 3, 1),
	F(rep, local_ca_guid, 28, 0, 64),
};

static const struct wire_cm_field rtu_fields[] = {
	F(rtu, local_comm_id, 0, 0, 32),
	F(rtu, remote_comm_id, 4, 0, 32),
};

static const struct wire_cm_field dreq_fields[] = {
	F(dreq, local_comm_id, 0, 0, 32),
	F(dreq, remote_comm_id, 4, 0, 32),
	F(dreq, remote_qpn, 8, 0, 24),
};

static const struct wire_cm_field drep_fields[] = {
	F(drep, local_comm_id, 0, 0, 32),
	F(drep, remote_comm_id, 4, 0, 32),
};

static const struct wire_cm_field sidr_req_fields[] = {
	F(sidr_req, request_id, 0, 0, 32),
	F(sidr_req, pkey, 4, 0, 16),
	F(sidr_req, service_id, 8, 0, 64),
};

static const struct wire_cm_field sidr_rep_fields[] = {
	F(sidr_rep, request_id, 0, 0, 32),
	F(sidr_rep, status, 4, 0, 8),
	F(sidr_rep, info_length, 5, 0, 8),
	F(sidr_rep, vendor_id_h, 6, 0, 16),
	F(sidr_rep, qpn, 8, 0, 24),
	F(sidr_rep, vendor_id_l, 11, 0, 8),
	F(sidr_rep, service_id, 12, 0, 64),
	F(sidr_rep, qkey, 20, 0, 32),
	F(sidr_rep, info, 24, 0, 576),
};

static const struct wire_cm_field lap_fields[] = {
	F(lap, local_comm_id, 0, 0, 32),
	F(lap, remote_comm_id, 4, 0, 32),
	F(lap, remote_qpn, 12, 0, 24),
	F(lap, remote_cm_response_timeout, 15, 0, 5),
	F(lap, alternate.local_lid, 20, 0, 16),
	F(lap, alternate.remote_lid, 22, 0, 16),
	F(lap, alternate.local_gid, 24, 0, 128),
	F(lap, alternate.remote_gid, 40, 0, 128),
	F(lap, alternate.flow_label, 56, 0, 20),
	F(lap, alternate.traffic_class, 59, 0, 8),
	F(lap, alternate.hop_limit, 60, 0, 8),
	F(lap, alternate.packet_rate, 61, 2, 6),
	F(lap, alternate.sl, 62, 0, 4),
	F(lap, alternate.subnet_local, 62, 4, 1),
	F(lap, alternate.local_ack_timeout, 63, 0, 5),
};

static const struct wire_cm_field apr_fields[] = {
	F(apr, local_comm_id, 0, 0, 32),
	F(apr, remote_comm_id, 4, 0, 32),
	F(apr, info_length, 8, 0, 8),
	F(apr, ar_status, 9, 0, 8),
	F(apr, info, 12, 0, 576),
};

/* Where private data lies in each message, and how much fits. */
#define T(id, member, priv_off, priv_bytes)                                                        \
	[WIRE_CM_##id - WIRE_CM_REQ] = {#id, member##_fields,                                      \
		sizeof(member##_fields) / sizeof(member##_fields[0]), priv_off, priv_bytes}

static const struct type_info {
	const char *name;
	const struct wire_cm_field *fields;
	size_t n_fields;
	uint8_t private_off;
	uint8_t private_bytes;
} types[N_TYPES] = {
	T(REQ, req, 140, WIRE_CM_REQ_PRIVATE_BYTES),
	T(MRA, mra, 10, 222),
	T(REJ, rej, 84, WIRE_CM_REJ_PRIVATE_BYTES),
	T(REP, rep, 36, WIRE_CM_REP_PRIVATE_BYTES),
	T(RTU, rtu, 8, 224),
	T(DREQ, dreq, 12, 220),
	T(DREP, drep, 8, 224),
	T(SIDR_REQ, sidr_req, 16, WIRE_CM_SIDR_REQ_PRIVATE_BYTES),
	T(SIDR_REP, sidr_rep, 96, WIRE_CM_SIDR_REP_PRIVATE_BYTES),
	T(LAP, lap, 64, 168),
	T(APR, apr, 84, 148),
};

static const struct type_info *type_info(unsigned int type)
{
	return type >= WIRE_CM_REQ && type <= WIRE_CM_APR ? &types[type - WIRE_CM_REQ] : NULL;
}

static uint64_t get_be(const uint8_t *p, size_t n)
{
	uint64_t v = 0;
	size_t i;

	for (i = 0; i < n; i++)
		v = v << 8 | p[i];
	return v;
}

static void put_be(uint8_t *p, size_t n, uint64_t v)
{
	size_t i;

	for (i = n; i-- > 0; v >>= 8)
		p[i] = (uint8_t)v;
}

/* A number's bytes on the wire, how far it is shifted up in them, and its mask before shifting. A field
 * that starts within a byte ends within it, or fills what is left of it and of the bytes after. */
struct span {
	size_t bytes;
	unsigned int shift;
	uint64_t mask;
};

static struct span span_of(const struct wire_cm_field *fld)
{
	unsigned int bits = (unsigned int)fld->bit + fld->width_bits;
	struct span span;

	span.bytes = (bits + 7) / 8;
	span.shift = (unsigned int)(span.bytes * 8 - bits);
	span.mask = fld->width_bits == 64 ? UINT64_MAX : (UINT64_C(1) << fld->width_bits) - 1;
	return span;
}

static uint64_t load_number(const uint8_t *at, size_t size)
{
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;

	switch (size) {
	case 1:
		return *at;
	case 2:
		memcpy(&v16, at, sizeof(v16));
		return v16;
	case 4:
		memcpy(&v32, at, sizeof(v32));
		return v32;
	default:
		memcpy(&v64, at, sizeof(v64));
		return v64;
	}
}

static void store_number(uint8_t *at, size_t size, uint64_t v)
{
	uint16_t v16 = (uint16_t)v;
	uint32_t v32 = (uint32_t)v;

	switch (size) {
	case 1:
		*at = (uint8_t)v;
		break;
	case 2:
		memcpy(at, &v16, sizeof(v16));
		break;
	case 4:
		memcpy(at, &v32, sizeof(v32));
		break;
	default:
		memcpy(at, &v, sizeof(v));
	}
}

static bool is_array(const struct wire_cm_field *fld)
{
	return fld->width_bits > 64;
}

/* Moves one field from the message at cm to the struct at base, and clears it at cm. */
static void take_field(const struct wire_cm_field *fld, uint8_t *cm, uint8_t *base)
{
	uint8_t *wire = cm + fld->byte_off;
	struct span span;
	uint64_t v;

	if (is_array(fld)) {
		memcpy(base + fld->struct_off, wire, fld->size_bytes);
		memset(wire, 0, fld->size_bytes);
		return;
	}
	span = span_of(fld);
	v = get_be(wire, span.bytes);
	store_number(base + fld->struct_off, fld->size_bytes, v >> span.shift & span.mask);
	put_be(wire, span.bytes, v & ~(span.mask << span.shift));
}

static void give_field(const struct wire_cm_field *fld, const uint8_t *base, uint8_t *cm)
{
	uint8_t *wire = cm + fld->byte_off;
	struct span span;
	uint64_t v;

	if (is_array(fld)) {
		memcpy(wire, base + fld->struct_off, fld->size_bytes);
		return;
	}
	span = span_of(fld);
	v = get_be(wire, span.bytes) & ~(span.mask << span.shift);
	v |= (load_number(base + fld->struct_off, fld->size_bytes) & span.mask) << span.shift;
	put_be(wire, span.bytes, v);
}

void wire_mad_decode(const uint8_t *mad, struct wire_mad *hdr)
{
	hdr->base_version = mad[0];
	hdr->mgmt_class = mad[1];
	hdr->class_version = mad[2];
	hdr->method = mad[3];
	hdr->status = (uint16_t)get_be(mad + 4, 2);
	hdr->class_specific = (uint16_t)get_be(mad + 6, 2);
	hdr->tid = get_be(mad + 8, 8);
	hdr->attr_id = (uint16_t)get_be(mad + 16, 2);
	hdr->resv = (uint16_t)get_be(mad + 18, 2);
	hdr->attr_mod = (uint32_t)get_be(mad + 20, 4);
}

void wire_mad_encode(const struct wire_mad *hdr, uint8_t *mad)
{
	mad[0] = hdr->base_version;
	mad[1] = hdr->mgmt_class;
	mad[2] = hdr->class_version;
	mad[3] = hdr->method;
	put_be(mad + 4, 2, hdr->status);
	put_be(mad + 6, 2, hdr->class_specific);
	put_be(mad + 8, 8, hdr->tid);
	put_be(mad + 16, 2, hdr->attr_id);
	put_be(mad + 18, 2, hdr->resv);
	put_be(mad + 20, 4, hdr->attr_mod);
}

int wire_cm_decode(const uint8_t *mad, size_t n, struct wire_cm_msg *msg)
{
	const struct type_info *info;
	struct wire_mad hdr;
	size_t i;

	if (n != WIRE_MAD_BYTES)
		return -EMSGSIZE;
	wire_mad_decode(mad, &hdr);
	if (hdr.base_version != MAD_BASE_VERSION || hdr.mgmt_class != WIRE_MAD_CLASS_CM ||
		hdr.class_version != CM_CLASS_VERSION || hdr.method != WIRE_MAD_METHOD_SEND)
		return -EPROTO;
	info = type_info(hdr.attr_id);
	if (!info)
		return -ENOTSUP;
	memset(msg, 0, sizeof(*msg));
	msg->type = (enum wire_cm_type)hdr.attr_id;
	msg->tid = hdr.tid;
	msg->attr_mod = hdr.attr_mod;
	msg->status = hdr.status;
	msg->class_specific = hdr.class_specific;
	msg->mad_resv = hdr.resv;
	memcpy(msg->reserved, mad + WIRE_MAD_HDR_BYTES, WIRE_CM_BYTES);
	msg->private_bytes = info->private_bytes;
	memcpy(msg->private_data, msg->reserved + info->private_off, info->private_bytes);
	memset(msg->reserved + info->private_off, 0, info->private_bytes);
	for (i = 0; i < info->n_fields; i++)
		take_field(&info->fields[i], msg->reserved, (uint8_t *)&msg->req);
	return 0;
}

void wire_cm_encode(const struct wire_cm_msg *msg, uint8_t mad[WIRE_MAD_BYTES])
{
	const struct type_info *info = type_info(msg->type);
	struct wire_mad hdr = {
		.base_version = MAD_BASE_VERSION,
		.mgmt_class = WIRE_MAD_CLASS_CM,
		.class_version = CM_CLASS_VERSION,
		.method = WIRE_MAD_METHOD_SEND,
		.status = msg->status,
		.class_specific = msg->class_specific,
		.tid = msg->tid,
		.attr_id = (uint16_t)msg->type,
		.resv = msg->mad_resv,
		.attr_mod = msg->attr_mod,
	};
	uint8_t *cm = mad + WIRE_MAD_HDR_BYTES;
	size_t bytes = msg->private_bytes;
	size_t i;

	wire_mad_encode(&hdr, mad);
	memcpy(cm, msg->reserved, WIRE_CM_BYTES);
	if (!info)
		return;
	for (i = 0; i < info->n_fields; i++)
		give_field(&info->fields[i], (const uint8_t *)&msg->req, cm);
	if (bytes > info->private_bytes)
		bytes = info->private_bytes;
	memset(cm + info->private_off, 0, info->private_bytes);
	memcpy(cm + info->private_off, msg->private_data, bytes);
}

size_t wire_cm_private_bytes(enum wire_cm_type type)
{
	const struct type_info *info = type_info(type);

	return info ? info->private_bytes : 0;
}

static void hello_addr_decode(const uint8_t *p, uint8_t ip_version, struct wire_addr *addr)
{
	memcpy(addr->b, p, 16);
	if (ip_version != 4)
		return;
	memset(addr->b, 0, 10);
	memset(addr->b + 10, 0xff, 2);
}

static void hello_addr_encode(const struct wire_addr *addr, uint8_t ip_version, uint8_t *p)
{
	memcpy(p, addr->b, 16);
	if (ip_version == 4)
		memset(p, 0, 12);
}

int wire_cm_hello_decode(const uint8_t *data, size_t n, struct wire_cm_hello *hello)
{
	if (n < WIRE_CM_HELLO_BYTES)
		return -EPROTO;
	hello->cma_version = data[0];
	hello->ip_version = data[1] >> 4;
	if (hello->cma_version != 0 || (hello->ip_version != 4 && hello->ip_version != 6))
		return -EPROTO;
	hello->sport = (uint16_t)get_be(data + 2, 2);
	hello_addr_decode(data + 4, hello->ip_version, &hello->src);
	hello_addr_decode(data + 20, hello->ip_version, &hello->dst);
	return 0;
}

void wire_cm_hello_encode(const struct wire_cm_hello *hello, uint8_t data[WIRE_CM_HELLO_BYTES])
{
	data[0] = hello->cma_version;
	data[1] = (uint8_t)(hello->ip_version << 4);
	put_be(data + 2, 2, hello->sport);
	hello_addr_encode(&hello->src, hello->ip_version, data + 4);
	hello_addr_encode(&hello->dst, hello->ip_version, data + 20);
}

const char *wire_cm_type_name(enum wire_cm_type type)
{
	const struct type_info *info = type_info(type);

	return info ? info->name : "?";
}

const char *wire_cm_rej_name(uint16_t reason)
{
	switch (reason) {
#define REJ_CASE(id, code, str)                                                                    \
	case code:                                                                                 \
		return str;
		WIRE_CM_REJ_LIST(REJ_CASE)
#undef REJ_CASE
	default:
		return "?";
	}
}

const struct wire_cm_field *wire_cm_fields(enum wire_cm_type type, size_t *n)
{
	const struct type_info *info = type_info(type);

	*n = info ? info->n_fields : 0;
	return info ? info->fields : NULL;
}

uint64_t wire_cm_field_value(const struct wire_cm_msg *msg, const struct wire_cm_field *fld)
{
	return is_array(fld) ? 0 : load_number(wire_cm_field_data(msg, fld), fld->size_bytes);
}

const uint8_t *wire_cm_field_data(const struct wire_cm_msg *msg, const struct wire_cm_field *fld)
{
	return (const uint8_t *)&msg->req + fld->struct_off;
}
