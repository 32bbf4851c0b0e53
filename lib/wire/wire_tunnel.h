/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What gateways say to each other: UDP to a port of theirs, then a header of 16 bytes, then an IP packet of a host, or what the
 * receiver has measured of the sender's paths. docs/wire.md has the picture. Protected as any packet between them (wire_psp.h).
 */
#ifndef WIRE_TUNNEL_H
#define WIRE_TUNNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_TUNNEL_PORT         4794 /* UDP destination port of lane 0 unless configured otherwise */
#define WIRE_TUNNEL_BYTES        16u
#define WIRE_TUNNEL_REPORT_BYTES 20u  /* of one path in a report */
#define WIRE_TUNNEL_TICK_NS      16u  /* unit of times */
#define WIRE_TUNNEL_FLOWS        (1u << 24)

enum wire_tunnel_type {
	WIRE_TUNNEL_PACKET, /* an IP packet follows */
	WIRE_TUNNEL_REPORT, /* struct wire_tunnel_report's follow */
	WIRE_TUNNEL_PROBE,  /* nothing follows: how is this path? */
	WIRE_TUNNEL_TYPES
};

struct wire_tunnel {
	uint8_t type;       /* enum wire_tunnel_type */
	uint8_t path;       /* the sender's number for the path; a report: how many follow */
	uint16_t path_seq;  /* counts what this lane has sent on the path */
	uint32_t sent;      /* the sender's clock, in WIRE_TUNNEL_TICK_NS; a report: the receiver's */
	uint32_t flow;      /* below WIRE_TUNNEL_FLOWS; 0: of none, it need not wait for others */
	uint8_t generation; /* of the flow's number: another one is another flow */
	uint32_t seq;       /* counts the flow's packets, from 0 */
};

/* Of one path, since the receiver began. */
struct wire_tunnel_report {
	uint8_t path;
	uint16_t path_seq;  /* the highest that has come */
	uint32_t packets;   /* that have come */
	uint32_t marked;    /* of those, with CE */
	uint32_t echo;      /* `sent` of the one with path_seq */
	uint32_t held;      /* how long ago it came, in WIRE_TUNNEL_TICK_NS */
};

/* 16 bytes. */
void wire_tunnel_write(uint8_t *to, const struct wire_tunnel *t);
/* Reads a header with n bytes of it and what follows at hand. False: fewer than that, another version, or a type, a flow or a
 * number of reports that cannot be. */
bool wire_tunnel_read(const uint8_t *from, size_t n, struct wire_tunnel *t);

/* 20 bytes. */
void wire_tunnel_write_report(uint8_t *to, const struct wire_tunnel_report *r);
void wire_tunnel_read_report(const uint8_t *from, struct wire_tunnel_report *r);

#endif
