/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What rsockets put on the wire, as rdma-core's "rsocket Protocol and Design Guide" describes it: private data of a
 * connection, immediate data of a stream, the tables that a peer writes, headers of datagrams. Nothing but layouts and
 * arithmetic: tests use it without a device.
 */
#ifndef RS_WIRE_H
#define RS_WIRE_H

#include <arpa/inet.h>
#include <assert.h>
#include <endian.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define RS_VERSION 1

/* ---- immediate data ---- */

/* Bits 31:29. */
enum rs_op {
	RS_OP_DATA = 0,  /* bytes written into the receive buffer */
	RS_OP_WRITE = 2, /* never sent: names a direct write in a work request's id */
	RS_OP_SGL = 4,   /* credit limit; an entry of the target table may be new */
	RS_OP_IOMAP = 6, /* index of a new entry of the iomap table */
	RS_OP_CTRL = 7,  /* enum rs_ctrl */
};

enum rs_ctrl { RS_CTRL_DISCONNECT = 0, RS_CTRL_KEEPALIVE = 1, RS_CTRL_SHUTDOWN = 2 };

#define RS_VALUE_MASK 0x1fffffffu

static inline uint32_t rs_imm(enum rs_op op, uint32_t value)
{
	return (uint32_t)op << 29 | (value & RS_VALUE_MASK);
}

static inline enum rs_op rs_imm_op(uint32_t imm)
{
	return (enum rs_op)(imm >> 29);
}

static inline uint32_t rs_imm_value(uint32_t imm)
{
	return imm & RS_VALUE_MASK;
}

/* ---- tables in registered memory, written by the peer in the owner's byte order ---- */

struct rs_sge {
	uint64_t addr;
	uint32_t key;
	uint32_t length;
};

struct rs_iomap {
	uint64_t offset; /* what the peer's program calls the first byte */
	struct rs_sge sge;
};

static_assert(sizeof(struct rs_sge) == 16 && sizeof(struct rs_iomap) == 24, "wire layout");

static inline struct rs_sge rs_sge_swap(struct rs_sge in)
{
	return (struct rs_sge){__builtin_bswap64(in.addr), __builtin_bswap32(in.key), __builtin_bswap32(in.length)};
}

static inline struct rs_iomap rs_iomap_swap(struct rs_iomap in)
{
	return (struct rs_iomap){__builtin_bswap64(in.offset), rs_sge_swap(in.sge)};
}

/* ---- private data of a connection: integers in network byte order ---- */

#define RS_CONN_BIG_ENDIAN 0x01 /* byte order of the sender's tables */
#define RS_CONN_IOMAP      0x02 /* iomap_size counts */

struct rs_conn_data {
	uint8_t version;
	uint8_t flags;
	uint16_t credits;
	uint8_t reserved[3];
	uint8_t iomap_size;       /* rs_scale() of the number of entries, which follow the target table */
	struct rs_sge target_sgl; /* length: entries */
	struct rs_sge data_buf;   /* the first target */
};

static_assert(sizeof(struct rs_conn_data) == 40, "wire layout");

/* What a peer says of itself, in our byte order. */
struct rs_peer {
	bool swap; /* its byte order is not ours */
	uint16_t credits;
	uint32_t iomap_entries;
	struct rs_sge sgl, buf;
};

/* Numbers above 128 go in steps of 256: the top bit says so. */
static inline uint8_t rs_scale(uint32_t value)
{
	if (value <= 0x80)
		return (uint8_t)value;
	return (uint8_t)(0x80 | (value >> 8 < 0x7f ? value >> 8 : 0x7f));
}

static inline uint32_t rs_unscale(uint8_t scaled)
{
	return scaled <= 0x80 ? scaled : (uint32_t)(scaled & 0x7f) << 8;
}

static inline bool rs_is_big_endian(void)
{
	return __BYTE_ORDER == __BIG_ENDIAN;
}

static inline struct rs_sge rs_sge_net(struct rs_sge in)
{
	return rs_is_big_endian() ? in : rs_sge_swap(in);
}

static inline void rs_conn_data_fill(struct rs_conn_data *out, const struct rs_peer *self)
{
	memset(out, 0, sizeof(*out));
	out->version = RS_VERSION;
	out->flags = (uint8_t)(RS_CONN_IOMAP | (rs_is_big_endian() ? RS_CONN_BIG_ENDIAN : 0));
	out->credits = htons(self->credits);
	out->iomap_size = rs_scale(self->iomap_entries);
	out->target_sgl = rs_sge_net(self->sgl);
	out->data_buf = rs_sge_net(self->buf);
}

/* False: not what a stream can work with. A target table of one entry would be overwritten while in use. */
static inline bool rs_conn_data_parse(const void *private_data, uint32_t bytes, struct rs_peer *out)
{
	struct rs_conn_data in;

	if (private_data == NULL || bytes < sizeof(in))
		return false;
	memcpy(&in, private_data, sizeof(in));
	out->swap = ((in.flags & RS_CONN_BIG_ENDIAN) != 0) != rs_is_big_endian();
	out->credits = ntohs(in.credits);
	out->iomap_entries = (in.flags & RS_CONN_IOMAP) != 0 ? rs_unscale(in.iomap_size) : 0;
	out->sgl = rs_sge_net(in.target_sgl);
	out->buf = rs_sge_net(in.data_buf);
	return in.version == RS_VERSION && out->sgl.length >= 2;
}

/* ---- datagrams ---- */

#define RS_UDP_TAG      0x55555555u
#define RS_UDP_V4_BYTES 16
#define RS_UDP_V6_BYTES 28
#define RS_DG_V4_BYTES  8
#define RS_DG_V6_BYTES  24

/* Before what goes over UDP, until the peer's queue pair is known; network byte order. */
struct rs_udp_header {
	uint32_t tag;
	uint8_t version; /* of IP */
	uint8_t op;      /* RS_OP_DATA, or RS_OP_CTRL in an answer */
	uint8_t length;  /* of this header */
	uint8_t reserved;
	uint32_t qpn;     /* the sender's */
	uint8_t addr[16]; /* the sender's; four bytes in version 4 */
};

/* Before what goes over queue pairs: the source as the program knows it. */
struct rs_dg_header {
	uint8_t version;
	uint8_t length;
	uint16_t port;
	uint8_t addr[20]; /* version 4: four bytes; version 6: flow information, then the address */
};

static_assert(sizeof(struct rs_udp_header) == RS_UDP_V6_BYTES && sizeof(struct rs_dg_header) == RS_DG_V6_BYTES, "wire");

/* True: a well-formed header of one of the family in the first bytes of a message. */
static inline bool rs_udp_header_parse(const void *msg, size_t bytes, int family, struct rs_udp_header *out)
{
	size_t want = family == AF_INET6 ? RS_UDP_V6_BYTES : RS_UDP_V4_BYTES;

	if (bytes < want)
		return false;
	memset(out, 0, sizeof(*out));
	memcpy(out, msg, want);
	out->qpn = ntohl(out->qpn) & 0xffffff;
	return out->tag == htonl(RS_UDP_TAG) && out->length == want && out->version == (family == AF_INET6 ? 6 : 4) &&
	       (out->op == RS_OP_DATA || out->op == RS_OP_CTRL);
}

static inline uint8_t rs_dg_header_fill(struct rs_dg_header *out, const struct sockaddr_storage *src)
{
	const struct sockaddr_in6 *in6 = (const void *)src;
	const struct sockaddr_in *in4 = (const void *)src;

	memset(out, 0, sizeof(*out));
	if (src->ss_family == AF_INET6) {
		out->version = 6;
		out->length = RS_DG_V6_BYTES;
		out->port = in6->sin6_port;
		memcpy(out->addr, &in6->sin6_flowinfo, 4);
		memcpy(out->addr + 4, &in6->sin6_addr, 16);
	} else {
		out->version = 4;
		out->length = RS_DG_V4_BYTES;
		out->port = in4->sin_port;
		memcpy(out->addr, &in4->sin_addr, 4);
	}
	return out->length;
}

/* The source in front of a datagram. 0: malformed; else the header's bytes. */
static inline uint8_t rs_dg_header_parse(const void *msg, size_t bytes, struct sockaddr_storage *src)
{
	struct sockaddr_in6 *in6 = (void *)src;
	struct sockaddr_in *in4 = (void *)src;
	struct rs_dg_header h = {0};

	memcpy(&h, msg, bytes < sizeof(h) ? bytes : sizeof(h));
	memset(src, 0, sizeof(*src));
	if (bytes < RS_DG_V4_BYTES || h.length > bytes)
		return 0;
	if (h.version == 4 && h.length == RS_DG_V4_BYTES) {
		in4->sin_family = AF_INET;
		in4->sin_port = h.port;
		memcpy(&in4->sin_addr, h.addr, 4);
		return h.length;
	}
	if (h.version == 6 && h.length == RS_DG_V6_BYTES) {
		in6->sin6_family = AF_INET6;
		in6->sin6_port = h.port;
		memcpy(&in6->sin6_flowinfo, h.addr, 4);
		memcpy(&in6->sin6_addr, h.addr + 4, 16);
		return h.length;
	}
	return 0;
}

#endif
