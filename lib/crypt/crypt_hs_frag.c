/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_hs_frag.h"

#include <openssl/crypto.h>
#include <string.h>

#define SPACE_BYTES ((size_t)CRYPT_MSG_FRAGMENTS * CRYPT_MSG_FRAGMENT_BYTES)

void crypt_frag_reset(struct crypt_frag *frag)
{
	OPENSSL_clear_free(frag->body, SPACE_BYTES);
	*frag = (struct crypt_frag){0};
}

static bool is_same(const struct crypt_frag *frag, const struct crypt_msg_header *header)
{
	return frag->body && frag->from == header->from && frag->type == header->type &&
	       frag->fragments == header->fragments;
}

bool crypt_frag_add(struct crypt_frag *frag, const struct crypt_msg_header *header, const uint8_t *body, size_t bytes,
	struct crypt_msg_bytes *whole)
{
	size_t at = (size_t)header->fragment * CRYPT_MSG_FRAGMENT_BYTES;
	bool is_last = header->fragment + 1 == header->fragments;

	if (header->fragments == 1) {
		*whole = (struct crypt_msg_bytes){body, bytes};
		return true;
	}
	if (at + bytes > CRYPT_MSG_BODY_BYTES || bytes == 0)
		return false;
	if (!is_same(frag, header)) {
		crypt_frag_reset(frag);
		frag->body = OPENSSL_malloc(SPACE_BYTES);
		if (!frag->body)
			return false;
		frag->from = header->from;
		frag->type = header->type;
		frag->fragments = header->fragments;
	}
	if ((frag->have & 1u << header->fragment) == 0) {
		memcpy(frag->body + at, body, bytes);
		frag->have |= 1u << header->fragment;
		if (is_last)
			frag->bytes = at + bytes;
	}
	if (frag->have != (1u << frag->fragments) - 1)
		return false;
	/* Complete: what comes next begins anew, so that a wrong piece does not stay. */
	frag->have = 0;
	*whole = (struct crypt_msg_bytes){frag->body, frag->bytes};
	return true;
}
