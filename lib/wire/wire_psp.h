/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protected packets: the header of PSP (PSP Architecture Specification 1.0, Google, 2022) between a UDP header and the cipher
 * text, and the packet's version and sizes around it. Versions 0 and 1 are PSP's AES-128-GCM and AES-256-GCM, 8 is private:
 * SM4-GCM. Transport mode only: what follows is the packet's own UDP header. docs/wire.md has the picture.
 */
#ifndef WIRE_PSP_H
#define WIRE_PSP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base_drop.h"
#include "wire_frame.h"

#define WIRE_PSP_PORT      1000 /* UDP destination port, IANA; and of lane 0 unless configured otherwise */
#define WIRE_PSP_BYTES     16u
#define WIRE_PSP_ICV_BYTES 16u
/* What protection adds to a packet: UDP header, PSP header, ICV. */
#define WIRE_PSP_PUSH      (8u + WIRE_PSP_BYTES)
#define WIRE_PSP_OVERHEAD  (WIRE_PSP_PUSH + WIRE_PSP_ICV_BYTES)

#define WIRE_PSP_AES_128_GCM 0
#define WIRE_PSP_AES_256_GCM 1
#define WIRE_PSP_SM4_GCM     8

#define WIRE_UDP_MAX_HDR_BYTES (18u + 40u + 8u) /* Ethernet with a tag, IPv6, UDP */

struct wire_psp {
	uint8_t version;
	uint32_t spi;
	uint64_t number;    /* of the packet: PSP's initialization vector */
};

/* 16 bytes. */
void wire_psp_write(uint8_t *to, const struct wire_psp *psp);
/* Reads 16 bytes. False: the next header is not UDP, there are extensions, a crypt offset, a virtualization cookie, a drop
 * or sample bit, or the bit that is always one is not. */
bool wire_psp_read(const uint8_t *from, struct wire_psp *psp);

/* Where things are in a frame that holds a UDP packet. */
struct wire_udp_at {
	uint16_t l3, l4;    /* offsets */
	uint16_t end;       /* of the packet; behind it is Ethernet padding */
	uint8_t version;    /* of IP */
};

/* Finds the UDP header of a frame whose first n bytes are at hand, and whose length is frame_bytes. The reason why not: no
 * UDP over IP, options or a fragment, a checksum of IPv4 that is wrong, lengths that disagree, or fewer than n bytes
 * of headers. */
enum base_drop wire_udp_find(const uint8_t *frame, size_t n, size_t frame_bytes, struct wire_udp_at *at);
/* The UDP destination port of a frame of which n bytes are at hand, and of which nothing else is checked; 0: it is not UDP over IP, or
 * too little is at hand. */
uint16_t wire_udp_dport(const uint8_t *frame, size_t n);
/* Addresses of a frame that wire_udp_find() has looked at. */
void wire_udp_addrs(const uint8_t *frame, const struct wire_udp_at *at, struct wire_addr *src, struct wire_addr *dst);
/* Lays out a frame of UDP with data behind it, which may be there already; without a checksum over IPv4, which RFC 768 allows, and
 * with one over IPv6. to has room for WIRE_UDP_MAX_HDR_BYTES more than the data. Returns its length. */
size_t wire_udp_write(uint8_t *to, const struct wire_l2l3 *net, uint16_t sport, uint16_t dport, const void *data, size_t bytes);
/* Adds so many bytes, or takes them off, in the lengths of the IP header, and sets IPv4's checksum anew. */
void wire_udp_resize(uint8_t *ip, uint8_t version, int bytes);

#endif
