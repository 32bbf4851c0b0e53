/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memif 2.0's control messages, in the machine's byte order, and what a peer may say when. Numbers are those of
 * the protocol: "client to server" rings carry what the client sends.
 */
#ifndef NET_MEMIF_MSG_H
#define NET_MEMIF_MSG_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#define NET_MEMIF_MAX_REGIONS  256u
#define NET_MEMIF_MAX_LOG2     14u
#define NET_MEMIF_RING_BYTES   128u   /* in front of the descriptors */
#define NET_MEMIF_DESC_BYTES   16u

enum net_memif_type {
	NET_MEMIF_ACK = 1,
	NET_MEMIF_HELLO,
	NET_MEMIF_INIT,
	NET_MEMIF_ADD_REGION,
	NET_MEMIF_ADD_RING,
	NET_MEMIF_CONNECT,
	NET_MEMIF_CONNECTED,
	NET_MEMIF_DISCONNECT,
};

struct net_memif_msg {
	uint16_t type;
	union {
		uint8_t bytes[126];
		struct __attribute__((packed)) {
			uint8_t name[32];
			uint16_t min_version, max_version;
			uint16_t max_region, max_s2c_ring, max_c2s_ring;    /* largest index */
			uint8_t max_log2;
		} hello;
		struct __attribute__((packed)) {
			uint16_t version;
			uint32_t id;
			uint8_t mode, secret[24], name[32];
		} init;
		struct __attribute__((packed)) {
			uint16_t index;
			uint64_t size;
		} add_region;
		struct __attribute__((packed)) {
			uint16_t flags;                     /* bit 0: client to server */
			uint16_t index, region;
			uint32_t offset;
			uint8_t log2;
			uint16_t private_bytes;
		} add_ring;
		struct __attribute__((packed)) {
			uint32_t code;
			char reason[96];
		} disconnect;
	};
} __attribute__((packed));

static_assert(sizeof(struct net_memif_msg) == 128, "as the protocol has it");

/* What a peer has said so far. Zero it, set the first four. */
struct net_memif_talk {
	bool server;                 /* our end */
	bool connect_sent;           /* client: the driver has asked for the link */
	uint32_t n_c2s, n_s2c;       /* rings our driver has queues for, at most 64 */
	bool greeted, connected;     /* HELLO or INIT came; CONNECT or CONNECTED came */
	uint64_t c2s, s2c;           /* rings that were added */
	uint32_t n_regions;
	uint64_t region_bytes[NET_MEMIF_MAX_REGIONS];
};

/*
 * Whether the driver may see the next message of the peer, with its descriptor (-1: none came along): NULL, or the
 * reason why not. A DISCONNECT is not looked at. Remembers what was said.
 */
const char *net_memif_hear(struct net_memif_talk *talk, const struct net_memif_msg *msg, int fd);

/* A DISCONNECT with its reason. */
void net_memif_make_disconnect(struct net_memif_msg *msg, const char *reason);
/* The reason in a DISCONNECT, without what is not printable. */
void net_memif_reason(const struct net_memif_msg *msg, char out[96]);

#endif
