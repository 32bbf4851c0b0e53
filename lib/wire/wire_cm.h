/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Management datagrams of the communication manager (IBTA vol. 1, 12.6 and 13.4): the MAD header, the CM
 * messages and the RDMA IP CM hello at the start of REQ and SIDR_REQ private data (annex A11). Where each
 * field lies is said once, in the table of wire_cm.c, which decoding, encoding and printing share.
 * All numbers are in host byte order.
 */
#ifndef WIRE_CM_H
#define WIRE_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire_frame.h"

#define WIRE_MAD_BYTES         256
#define WIRE_MAD_HDR_BYTES     24
#define WIRE_CM_BYTES          (WIRE_MAD_BYTES - WIRE_MAD_HDR_BYTES)
#define WIRE_MAD_CLASS_CM      0x07
#define WIRE_MAD_METHOD_SEND   0x03
#define WIRE_GSI_QPN           1
#define WIRE_GSI_QKEY          0x80010000u
#define WIRE_CM_HELLO_BYTES    36
#define WIRE_CM_ARI_BYTES      72
#define WIRE_CM_PRIVATE_MAX    224 /* RTU, DREP */
#define WIRE_CM_REQ_PRIVATE_BYTES      92
#define WIRE_CM_REP_PRIVATE_BYTES      196
#define WIRE_CM_REJ_PRIVATE_BYTES      148
#define WIRE_CM_SIDR_REQ_PRIVATE_BYTES 216
#define WIRE_CM_SIDR_REP_PRIVATE_BYTES 136

/* The header every MAD starts with. */
struct wire_mad {
	uint8_t base_version;
	uint8_t mgmt_class;
	uint8_t class_version;
	uint8_t method;
	uint16_t status;
	uint16_t class_specific;
	uint64_t tid;
	uint16_t attr_id;
	uint16_t resv;
	uint32_t attr_mod;
};

/* CM messages; the values are the attribute ids. */
enum wire_cm_type {
	WIRE_CM_REQ = 0x10,
	WIRE_CM_MRA = 0x11,
	WIRE_CM_REJ = 0x12,
	WIRE_CM_REP = 0x13,
	WIRE_CM_RTU = 0x14,
	WIRE_CM_DREQ = 0x15,
	WIRE_CM_DREP = 0x16,
	WIRE_CM_SIDR_REQ = 0x17,
	WIRE_CM_SIDR_REP = 0x18,
	WIRE_CM_LAP = 0x19,
	WIRE_CM_APR = 0x1a,
};

/* REQ transport service type, and the extended one that EXT refers to (annex A14). */
enum { WIRE_CM_TRANSPORT_RC = 0, WIRE_CM_TRANSPORT_UC = 1, WIRE_CM_TRANSPORT_RD = 2, WIRE_CM_TRANSPORT_EXT = 3 };
enum { WIRE_CM_EXTENDED_XRC = 1 };

/* Which message a REJ or MRA speaks of. */
enum { WIRE_CM_ABOUT_REQ = 0, WIRE_CM_ABOUT_REP = 1, WIRE_CM_ABOUT_OTHER = 2 };

/* REJ reasons (IBTA vol. 1, table 12.6.7.2), X(enum suffix, code, name). */
#define WIRE_CM_REJ_LIST(X)                                                                        \
	X(NO_QP, 1, "no_qp")                                                                       \
	X(NO_EEC, 2, "no_eec")                                                                     \
	X(NO_RESOURCES, 3, "no_resources")                                                         \
	X(TIMEOUT, 4, "timeout")                                                                   \
	X(UNSUPPORTED, 5, "unsupported")                                                           \
	X(INVALID_COMM_ID, 6, "invalid_comm_id")                                                   \
	X(INVALID_COMM_INSTANCE, 7, "invalid_comm_instance")                                       \
	X(INVALID_SERVICE_ID, 8, "invalid_service_id")                                             \
	X(INVALID_TRANSPORT, 9, "invalid_transport")                                               \
	X(STALE_CONN, 10, "stale_conn")                                                            \
	X(RDC_NOT_EXIST, 11, "rdc_not_exist")                                                      \
	X(INVALID_GID, 12, "invalid_gid")                                                          \
	X(INVALID_LID, 13, "invalid_lid")                                                          \
	X(INVALID_SL, 14, "invalid_sl")                                                            \
	X(INVALID_TRAFFIC_CLASS, 15, "invalid_traffic_class")                                      \
	X(INVALID_HOP_LIMIT, 16, "invalid_hop_limit")                                              \
	X(INVALID_PACKET_RATE, 17, "invalid_packet_rate")                                          \
	X(INVALID_ALT_GID, 18, "invalid_alt_gid")                                                  \
	X(INVALID_ALT_LID, 19, "invalid_alt_lid")                                                  \
	X(INVALID_ALT_SL, 20, "invalid_alt_sl")                                                    \
	X(INVALID_ALT_TRAFFIC_CLASS, 21, "invalid_alt_traffic_class")                              \
	X(INVALID_ALT_HOP_LIMIT, 22, "invalid_alt_hop_limit")                                      \
	X(INVALID_ALT_PACKET_RATE, 23, "invalid_alt_packet_rate")                                  \
	X(PORT_CM_REDIRECT, 24, "port_cm_redirect")                                                \
	X(PORT_REDIRECT, 25, "port_redirect")                                                      \
	X(INVALID_MTU, 26, "invalid_mtu")                                                          \
	X(INSUFFICIENT_RESP_RESOURCES, 27, "insufficient_resp_resources")                          \
	X(CONSUMER, 28, "consumer")                                                                \
	X(RNR_RETRY, 29, "rnr_retry")                                                              \
	X(DUPLICATE_LOCAL_COMM_ID, 30, "duplicate_local_comm_id")                                  \
	X(INVALID_CLASS_VERSION, 31, "invalid_class_version")                                      \
	X(INVALID_FLOW_LABEL, 32, "invalid_flow_label")                                            \
	X(INVALID_ALT_FLOW_LABEL, 33, "invalid_alt_flow_label")                                    \
	X(VENDOR_OPTION, 35, "vendor_option")

enum wire_cm_rej_reason {
#define WIRE_CM_REJ_ENUM(id, code, str) WIRE_CM_REJ_##id = (code),
	WIRE_CM_REJ_LIST(WIRE_CM_REJ_ENUM)
#undef WIRE_CM_REJ_ENUM
};

enum wire_cm_sidr_status {
	WIRE_CM_SIDR_OK = 0,
	WIRE_CM_SIDR_UNSUPPORTED = 1,
	WIRE_CM_SIDR_REJECT = 2,
	WIRE_CM_SIDR_NO_QP = 3,
	WIRE_CM_SIDR_REDIRECT = 4,
	WIRE_CM_SIDR_BAD_VERSION = 5,
};

/* Timeouts are codes: 4.096 us * 2^code. */
struct wire_cm_path {
	uint16_t local_lid;
	uint16_t remote_lid;
	struct wire_addr local_gid;
	struct wire_addr remote_gid;
	uint32_t flow_label;
	uint8_t packet_rate;
	uint8_t traffic_class;
	uint8_t hop_limit;
	uint8_t sl;
	uint8_t subnet_local;
	uint8_t local_ack_timeout;
};

struct wire_cm_req {
	uint32_t local_comm_id;
	uint32_t vendor_id;
	uint64_t service_id;
	uint64_t local_ca_guid;
	uint32_t local_qkey;
	uint32_t local_qpn;
	uint32_t local_eecn;
	uint32_t remote_eecn;
	uint32_t starting_psn;
	uint16_t pkey;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t remote_cm_response_timeout;
	uint8_t transport_type;
	uint8_t flow_control;
	uint8_t local_cm_response_timeout;
	uint8_t retry_count;
	uint8_t path_mtu; /* 1..5: 256..4096 */
	uint8_t rdc_exists;
	uint8_t rnr_retry_count;
	uint8_t max_cm_retries;
	uint8_t srq;
	uint8_t extended_transport_type;
	uint8_t sap_supported;
	struct wire_cm_path primary;
	struct wire_cm_path alternate;
};

struct wire_cm_mra {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t message_mraed; /* WIRE_CM_ABOUT_... */
	uint8_t service_timeout;
};

struct wire_cm_rej {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint16_t reason;          /* enum wire_cm_rej_reason */
	uint8_t message_rejected; /* WIRE_CM_ABOUT_... */
	uint8_t rejected_info_length;
	uint8_t ari[WIRE_CM_ARI_BYTES];
};

struct wire_cm_rep {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint32_t local_qkey;
	uint32_t local_qpn;
	uint32_t local_eecn;
	uint32_t starting_psn;
	uint64_t local_ca_guid;
	uint8_t vendor_id_h;
	uint8_t vendor_id_m;
	uint8_t vendor_id_l;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t target_ack_delay;
	uint8_t failover_accepted;
	uint8_t flow_control;
	uint8_t rnr_retry_count;
	uint8_t srq;
};

struct wire_cm_rtu {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
};

struct wire_cm_dreq {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint32_t remote_qpn;
};

struct wire_cm_drep {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
};

struct wire_cm_sidr_req {
	uint32_t request_id;
	uint16_t pkey;
	uint64_t service_id;
};

struct wire_cm_sidr_rep {
	uint32_t request_id;
	uint8_t status; /* enum wire_cm_sidr_status */
	uint8_t info_length;
	uint16_t vendor_id_h;
	uint8_t vendor_id_l;
	uint32_t qpn;
	uint64_t service_id;
	uint32_t qkey;
	uint8_t info[WIRE_CM_ARI_BYTES];
};

struct wire_cm_lap {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint32_t remote_qpn;
	uint8_t remote_cm_response_timeout;
	struct wire_cm_path alternate;
};

struct wire_cm_apr {
	uint32_t local_comm_id;
	uint32_t remote_comm_id;
	uint8_t info_length;
	uint8_t ar_status;
	uint8_t info[WIRE_CM_ARI_BYTES];
};

/* One CM message. Zero it before filling it in to send. */
struct wire_cm_msg {
	enum wire_cm_type type;
	uint64_t tid;
	uint32_t attr_mod; /* REQ, REP: vendor of the ECE option, else 0 */
	uint16_t status;
	uint16_t class_specific;
	uint16_t mad_resv;
	union {
		struct wire_cm_req req;
		struct wire_cm_mra mra;
		struct wire_cm_rej rej;
		struct wire_cm_rep rep;
		struct wire_cm_rtu rtu;
		struct wire_cm_dreq dreq;
		struct wire_cm_drep drep;
		struct wire_cm_sidr_req sidr_req;
		struct wire_cm_sidr_rep sidr_rep;
		struct wire_cm_lap lap;
		struct wire_cm_apr apr;
		/* What all but SIDR messages start with; a REQ has no remote one. */
		struct {
			uint32_t local_comm_id;
			uint32_t remote_comm_id;
		} ids;
	};
	/* Decoding always gives the whole private data area of the type; encoding takes at most that
	 * much and pads with zero. */
	uint16_t private_bytes;
	uint8_t private_data[WIRE_CM_PRIVATE_MAX];
	/* Bits received in reserved places, so that decode and encode are inverse. */
	uint8_t reserved[WIRE_CM_BYTES];
};

/* RDMA IP CM hello (IBTA vol. 1, annex A11). Addresses are as everywhere (IPv4 as ::ffff:a.b.c.d); on
 * the wire the hello has IPv4 addresses in the last four of 16 otherwise zero bytes. */
struct wire_cm_hello {
	uint8_t cma_version; /* 0 */
	uint8_t ip_version;  /* 4 or 6 */
	uint16_t sport;
	struct wire_addr src;
	struct wire_addr dst;
};

/* MAD header at the first 24 bytes of mad. */
void wire_mad_decode(const uint8_t *mad, struct wire_mad *hdr);
void wire_mad_encode(const struct wire_mad *hdr, uint8_t *mad);

/* Decodes a CM MAD of n bytes. Returns 0; -EMSGSIZE when n is not 256; -EPROTO when it is no CM
 * message (class, versions or method; hdr fields of *msg are then undefined); -ENOTSUP when the
 * attribute id is unknown. */
int wire_cm_decode(const uint8_t *mad, size_t n, struct wire_cm_msg *msg);

/* Encodes a message; msg->type must be one of enum wire_cm_type. Field values are cut to their width. */
void wire_cm_encode(const struct wire_cm_msg *msg, uint8_t mad[WIRE_MAD_BYTES]);

/* Bytes of private data a type of message has room for, 0 for an unknown type. */
size_t wire_cm_private_bytes(enum wire_cm_type type);

/* Hello at the first WIRE_CM_HELLO_BYTES of private data. Decoding returns 0, or -EPROTO when n is too short or the
 * versions are unknown. */
int wire_cm_hello_decode(const uint8_t *data, size_t n, struct wire_cm_hello *hello);
void wire_cm_hello_encode(const struct wire_cm_hello *hello, uint8_t data[WIRE_CM_HELLO_BYTES]);

/* "REQ", ...; "?" for what is none. */
const char *wire_cm_type_name(enum wire_cm_type type);

/* "consumer", ...; "?" for an undefined reason. */
const char *wire_cm_rej_name(uint16_t reason);

/* One row of the field table: a field of width_bits at bit (from the most significant) of byte byte_off
 * of the CM message, kept at struct_off of the type's struct in size_bytes bytes (number up to 8, else
 * array of bytes). */
struct wire_cm_field {
	const char *name;
	uint16_t struct_off;
	uint8_t size_bytes;
	uint8_t byte_off;
	uint8_t bit;
	uint16_t width_bits;
};

/* The fields of a message type in order, for printing; *n is set to 0 for an unknown type. */
const struct wire_cm_field *wire_cm_fields(enum wire_cm_type type, size_t *n);

/* Value of a numeric field (up to 8 bytes) of a decoded message; fld from wire_cm_fields(msg->type). */
uint64_t wire_cm_field_value(const struct wire_cm_msg *msg, const struct wire_cm_field *fld);

/* The bytes of a field that is an array (GIDs, additional information). */
const uint8_t *wire_cm_field_data(const struct wire_cm_msg *msg, const struct wire_cm_field *fld);

#endif
