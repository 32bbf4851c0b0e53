/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the learned controller was taught: an ensemble of small regression trees in integers. Each looks at a few of
 * what is known of the network and ends in a leaf; the sum of the leaves is how much the window changes. tools/train-cc
 * writes a model as text, docs/congestion.md has the format.
 */
#ifndef CC_MODEL_H
#define CC_MODEL_H

#include <stddef.h>
#include <stdint.h>

#define CC_MODEL_VERSION   1
#define CC_MODEL_TREES     20u
#define CC_MODEL_DEPTH     4u
#define CC_MODEL_SPLITS    ((1u << CC_MODEL_DEPTH) - 1)
#define CC_MODEL_LEAVES    (1u << CC_MODEL_DEPTH)
#define CC_MODEL_ONE       1024       /* 1 of what is a part */
#define CC_MODEL_MAX       (1 << 20)  /* features and thresholds are within +- */
#define CC_MODEL_MAX_LEAF  1024       /* leaves are within +- */
#define CC_MODEL_TEXT_MAX  65536u     /* bytes of a text */

/* What a split can look at. Parts are of 1024. */
enum cc_feature {
	CC_F_DELAY,    /* median of the last nine delays, of the target */
	CC_F_LATEST,   /* the latest delay, of the target */
	CC_F_TREND,    /* by how much the median is above that of a round trip ago, of the target */
	CC_F_MARKED,   /* part of the packets that came marked, EWMA 1/16 */
	CC_F_LOST,     /* bytes lost since the last decision, of the window */
	CC_F_RATE,     /* bytes acknowledged since the last decision, of what the link carries in that time */
	CC_F_WINDOW,   /* the window, of the bandwidth-delay product */
	CC_F_ALL,      /* the windows of all senders, if the receiver's others have the same, of that product */
	CC_F_SENDERS,  /* how many the receiver counts, not a part; 0: not told */
	CC_FEATURES,
};

/* A split: whether a feature is above a threshold. In one word without a sign, so that a step down a tree is a load, a
 * comparison and an addition with carry. */
#define CC_MODEL_BIAS (2 * CC_MODEL_MAX)
#define CC_SPLIT(feature, threshold) ((uint32_t)((threshold) + CC_MODEL_BIAS) << 8 | (uint32_t)(feature))

/* A whole binary tree: below the n-th split are the 2 n-th, if the feature is not above the threshold, and the next, where
 * the first is n = 1. Leaves follow from left to right. */
struct cc_model_tree {
	uint32_t split[CC_MODEL_SPLITS]; /* CC_SPLIT() */
	int16_t leaf[CC_MODEL_LEAVES];  /* part of the window, of 1024 */
	uint32_t depth;                 /* 1..CC_MODEL_DEPTH: 2^depth - 1 splits and 2^depth leaves are used */
};

struct cc_model {
	uint32_t first_packets;         /* window before the first acknowledgement, 1..65536; 0: the largest */
	uint32_t share_percent;         /* all senders of a receiver together have so much of the product, 1..1000 */
	uint32_t n_trees;               /* 1..CC_MODEL_TREES */
	struct cc_model_tree trees[CC_MODEL_TREES];
};

struct cc_model_error {
	unsigned int line;              /* of the text; 0: none in particular */
	char what[160];                 /* what is wrong, and what would be right */
};

/* "delay"; NULL: no such feature. */
const char *cc_feature_name(enum cc_feature feature);

/* Reads a model from so many bytes of text, which may be anything and need not end in 0. 0; -EINVAL: *error says what
 * is wrong first, and *model has no meaning. */
int cc_model_parse(struct cc_model *model, const char *text, size_t bytes, struct cc_model_error *error);

/* 0 or -EINVAL: a number is out of range. What was parsed is right. */
int cc_model_check(const struct cc_model *model);

/* Sum of the leaves that these features lead to. The model has been checked. */
int32_t cc_model_sum(const struct cc_model *model, const int32_t features[CC_FEATURES]);

#endif
