/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Describes one captured frame field by field.
 */
#ifndef DESCRIBE_H
#define DESCRIBE_H

#include "emit.h"

struct describe_frame {
	const uint8_t *data;
	size_t bytes;      /* captured */
	size_t wire_bytes; /* as sent; more than bytes when the capture cut the frame */
};

enum describe_icrc {
	DESCRIBE_ICRC_NONE, /* no ICRC to check: not RoCE, or cut */
	DESCRIBE_ICRC_OK,
	DESCRIBE_ICRC_BAD,
};

/* Writes what the frame says into the open record e. */
enum describe_icrc describe(struct emit *e, const struct describe_frame *frame);

#endif
