/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages that are longer than a datagram, put together again: one message at a time, its memory bounded. */
#ifndef CRYPT_HS_FRAG_H
#define CRYPT_HS_FRAG_H

#include "crypt_msg.h"

/* Zero it before its first use. */
struct crypt_frag {
	uint8_t *body; /* taken with the first piece, CRYPT_MSG_FRAGMENTS pieces long */
	uint64_t from;
	uint8_t type;
	uint8_t fragments;
	uint32_t have; /* a bit a fragment */
	size_t bytes;  /* of the whole; known with the last fragment */
};

/*
 * Takes a fragment. True: the message is whole, at *@whole till the next call. Another message of the same sender, or
 * of another one, replaces what was there.
 */
bool crypt_frag_add(struct crypt_frag *frag, const struct crypt_msg_header *header, const uint8_t *body, size_t bytes,
	struct crypt_msg_bytes *whole);
/* Wipes and frees what there is. */
void crypt_frag_reset(struct crypt_frag *frag);

#endif
