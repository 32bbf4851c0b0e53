/* SPDX-License-Identifier: BSD-3-Clause */
/* What a model is made of, and what it says. */
#include "cc_model.h"

#include <errno.h>

#define FEATURE(split) ((uint8_t)(split))

static const char *const names[CC_FEATURES] = {
	[CC_F_DELAY] = "delay",
	[CC_F_LATEST] = "latest",
	[CC_F_TREND] = "trend",
	[CC_F_MARKED] = "marked",
	[CC_F_LOST] = "lost",
	[CC_F_RATE] = "rate",
	[CC_F_WINDOW] = "window",
	[CC_F_ALL] = "all",
	[CC_F_SENDERS] = "senders",
};

const char *cc_feature_name(enum cc_feature feature)
{
	return (unsigned int)feature < CC_FEATURES ? names[feature] : NULL;
}

static int check_tree(const struct cc_model_tree *tree)
{
	if (tree->depth == 0 || tree->depth > CC_MODEL_DEPTH)
		return -EINVAL;
	for (uint32_t i = 0; i < (1u << tree->depth) - 1; i++) {
		int32_t threshold = (int32_t)(tree->split[i] >> 8) - CC_MODEL_BIAS;

		if (FEATURE(tree->split[i]) >= CC_FEATURES || threshold < -CC_MODEL_MAX || threshold > CC_MODEL_MAX)
			return -EINVAL;
	}
	for (uint32_t i = 0; i < 1u << tree->depth; i++) {
		if (tree->leaf[i] < -CC_MODEL_MAX_LEAF || tree->leaf[i] > CC_MODEL_MAX_LEAF)
			return -EINVAL;
	}
	return 0;
}

int cc_model_check(const struct cc_model *model)
{
	int rc = 0;

	if (model->first_packets > 65536 || model->share_percent == 0 || model->share_percent > 1000)
		return -EINVAL;
	if (model->n_trees == 0 || model->n_trees > CC_MODEL_TREES)
		return -EINVAL;
	for (uint32_t i = 0; i < model->n_trees && rc == 0; i++)
		rc = check_tree(&model->trees[i]);
	return rc;
}

/* The split or leaf below the n-th split. Which way is added, not jumped: what comes is not to be foreseen. Features are
 * as thresholds are in a word, so that the whole word can be compared: what is equal to the threshold is not above. */
static inline size_t below(const uint32_t *split, const uint32_t *features, size_t n)
{
	uint32_t word = split[n - 1];

	return n + n + (word < features[FEATURE(word)]);
}

/* One depth a case: as a loop it takes twice as long. */
static inline int32_t leaf_of(const struct cc_model_tree *tree, const uint32_t *features)
{
	const uint32_t *split = tree->split;
	size_t n = below(split, features, 1);

	switch (tree->depth) {
	case 1:
		return tree->leaf[n - 2];
	case 2:
		return tree->leaf[below(split, features, n) - 4];
	case 3:
		return tree->leaf[below(split, features, below(split, features, n)) - 8];
	default:
		n = below(split, features, below(split, features, below(split, features, n)));
		return tree->leaf[n - 16];
	}
}

int32_t cc_model_sum(const struct cc_model *model, const int32_t features[CC_FEATURES])
{
	uint32_t words[CC_FEATURES];
	int32_t sum = 0;

	for (uint32_t i = 0; i < CC_FEATURES; i++)
		words[i] = CC_SPLIT(0, features[i]);
	for (const struct cc_model_tree *tree = model->trees; tree < model->trees + model->n_trees; tree++)
		sum += leaf_of(tree, words);
	return sum;
}
