/* SPDX-License-Identifier: BSD-3-Clause */
/* The frames of a capture file, one after the other; libpcap reads it. */
#ifndef RG_REPLAY_H
#define RG_REPLAY_H

#include <stdbool.h>
#include <stdint.h>

struct rg_replay {
	const char *path;
	bool loop;
	void *pcap;                /* pcap_t */
	const uint8_t *next;       /* frame, libpcap's until the one behind it is read; NULL: the end */
	uint32_t next_bytes;
	uint64_t next_at_ns;       /* since the first frame of the file */
	uint64_t first_ns, loop_ns; /* of the file's clock; what the loops before took */
	uint64_t cut;              /* frames that the capture had cut short */
	bool broken;               /* the file ended in an error */
};

/* Opens the file, which must be of Ethernet frames. 0 or a negative errno with what was wrong in msg. */
int rg_replay_open(struct rg_replay *replay, const char *path, bool loop, char *msg, uint32_t n);
void rg_replay_close(struct rg_replay *replay);

/* Copies the next frame, room bytes of it at most, and steps on; its length, 0 at the end. */
uint32_t rg_replay_take(struct rg_replay *replay, uint8_t *frame, uint32_t room);

#endif
