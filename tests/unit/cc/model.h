/* SPDX-License-Identifier: BSD-3-Clause */
/* A model that grows while nothing waits and shrinks while something does. */
#ifndef TEST_CC_MODEL_H
#define TEST_CC_MODEL_H

#include "cc_model.h"

static const struct cc_model some_model = {
	.first_packets = 4, .share_percent = 150, .n_trees = 1,
	.trees = {{.depth = 1, .split = {CC_SPLIT(CC_F_DELAY, 512)}, .leaf = {40, -80}}},
};

#endif
