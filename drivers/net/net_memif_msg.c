/* SPDX-License-Identifier: BSD-3-Clause */
#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "net_memif_msg.h"

static uint64_t all_of(uint32_t n)
{
	return n >= 64 ? UINT64_MAX : (1ull << n) - 1;
}

/* The driver would make fewer rings and poll the others all the same, at an address that is not theirs. */
static const char *hear_hello(struct net_memif_talk *talk, const struct net_memif_msg *msg)
{
	if (talk->greeted)
		return "Unexpected message";
	if (msg->hello.max_c2s_ring + 1u < talk->n_c2s || msg->hello.max_s2c_ring + 1u < talk->n_s2c)
		return "Not enough rings";
	talk->greeted = true;
	return NULL;
}

/* Beyond the end of the file there is nothing to map, and to touch it is fatal. */
static const char *hear_region(struct net_memif_talk *talk, const struct net_memif_msg *msg, int fd)
{
	struct stat st;

	if (msg->add_region.index != talk->n_regions || talk->n_regions == NET_MEMIF_MAX_REGIONS)
		return "Invalid region index";
	if (fd < 0)
		return "Missing region fd";
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || msg->add_region.size == 0 ||
		msg->add_region.size > (uint64_t)st.st_size)
		return "Invalid region size";
	talk->region_bytes[talk->n_regions++] = msg->add_region.size;
	return NULL;
}

static const char *hear_ring(struct net_memif_talk *talk, const struct net_memif_msg *msg, int fd)
{
	bool c2s = (msg->add_ring.flags & 1) != 0;
	uint64_t *rings = c2s ? &talk->c2s : &talk->s2c;
	uint64_t end;

	if (msg->add_ring.index >= (c2s ? talk->n_c2s : talk->n_s2c) || (*rings & 1ull << msg->add_ring.index) != 0)
		return "Invalid ring index";
	if (fd < 0)
		return "Missing interrupt fd";
	if (msg->add_ring.region >= talk->n_regions || msg->add_ring.log2 > NET_MEMIF_MAX_LOG2)
		return "Invalid ring";
	end = (uint64_t)msg->add_ring.offset + NET_MEMIF_RING_BYTES +
	      ((uint64_t)NET_MEMIF_DESC_BYTES << msg->add_ring.log2);
	if (end > talk->region_bytes[msg->add_ring.region])
		return "Invalid ring";
	*rings |= 1ull << msg->add_ring.index;
	return NULL;
}

static const char *hear_connect(struct net_memif_talk *talk)
{
	if (talk->c2s != all_of(talk->n_c2s) || talk->s2c != all_of(talk->n_s2c))
		return "Not enough rings";
	talk->connected = true;
	return NULL;
}

static const char *hear_client(struct net_memif_talk *talk, const struct net_memif_msg *msg, int fd)
{
	if (msg->type == NET_MEMIF_INIT && !talk->greeted) {
		talk->greeted = true;
		return NULL;
	}
	if (!talk->greeted)
		return "Unexpected message";
	switch (msg->type) {
	case NET_MEMIF_ACK:
		return NULL;
	case NET_MEMIF_ADD_REGION:
		return hear_region(talk, msg, fd);
	case NET_MEMIF_ADD_RING:
		return hear_ring(talk, msg, fd);
	case NET_MEMIF_CONNECT:
		return hear_connect(talk);
	default:
		return "Unexpected message";
	}
}

static const char *hear_server(struct net_memif_talk *talk, const struct net_memif_msg *msg)
{
	if (msg->type == NET_MEMIF_HELLO)
		return hear_hello(talk, msg);
	if (msg->type == NET_MEMIF_ACK && talk->greeted)
		return NULL;
	if (msg->type != NET_MEMIF_CONNECTED || !talk->connect_sent)
		return "Unexpected message";
	talk->connected = true;
	return NULL;
}

const char *net_memif_hear(struct net_memif_talk *talk, const struct net_memif_msg *msg, int fd)
{
	/* the link is up, and there is nothing left to say but goodbye */
	if (talk->connected)
		return "Unexpected message";
	return talk->server ? hear_client(talk, msg, fd) : hear_server(talk, msg);
}

void net_memif_make_disconnect(struct net_memif_msg *msg, const char *reason)
{
	memset(msg, 0, sizeof(*msg));
	msg->type = NET_MEMIF_DISCONNECT;
	snprintf(msg->disconnect.reason, sizeof(msg->disconnect.reason), "%s", reason);
}

void net_memif_reason(const struct net_memif_msg *msg, char out[96])
{
	size_t n = 0;

	while (n < sizeof(msg->disconnect.reason) - 1 && msg->disconnect.reason[n] != '\0') {
		out[n] = isprint((unsigned char)msg->disconnect.reason[n]) ? msg->disconnect.reason[n] : '?';
		n++;
	}
	out[n] = '\0';
}
