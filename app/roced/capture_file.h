/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Blocks of a pcapng file (draft-ietf-opsawg-pcapng), one after another: a section, its interfaces, packets, and what
 * each interface counted. Each function writes a block to out and returns its length, a multiple of 4. Texts longer
 * than CAPTURE_FILE_TEXT are cut. Pure.
 *
 * DPDK's own writer (rte_pcapng, 22.11) is not used: it calls interfaces by DPDK's numbers, has no place for packets as
 * they are before protection, and its times, which it makes from the processor's counter, are off by centuries.
 */
#ifndef CAPTURE_FILE_H
#define CAPTURE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_FILE_TEXT  480u
#define CAPTURE_FILE_BLOCK 2048u /* longest block but for packets */
#define CAPTURE_FILE_EXTRA 64u   /* what a packet's block has beside its bytes, at most */

/* The header of the file: who wrote it, and a comment. */
size_t capture_file_section(uint8_t *out, const char *application, const char *comment);
/* An Ethernet interface; they are numbered from 0 on in the order in which they are written. snaplen: bytes of a packet
 * that are kept. */
size_t capture_file_interface(
	uint8_t *out, const char *name, const char *description, const uint8_t mac[6], uint32_t snaplen);

struct capture_file_packet {
	uint32_t iface, queue;
	uint64_t ns;                /* since 1970 */
	uint32_t bytes, wire_bytes; /* of data, and of the whole frame */
	bool out;
};

/* A packet. data NULL: its bytes are there already, 28 bytes behind out. */
size_t capture_file_packet(uint8_t *out, const struct capture_file_packet *packet, const void *data);
#define CAPTURE_FILE_DATA 28u

struct capture_file_stats {
	uint32_t iface;
	uint64_t start_ns, end_ns; /* since 1970 */
	uint64_t taken, missed;    /* packets that were to be captured, and those of them that are not in the file */
};

size_t capture_file_stats(uint8_t *out, const struct capture_file_stats *stats, const char *comment);

#endif
