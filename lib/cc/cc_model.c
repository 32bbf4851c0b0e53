/* SPDX-License-Identifier: BSD-3-Clause */
/* What a model is made of, and what it says. */
#include "cc_model.h"

#include <errno.h>

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
		if (tree->feature[i] >= CC_FEATURES || tree->threshold[i] < -CC_MODEL_MAX || tree->threshold[i] > CC_MODEL_MAX)
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

/* Which way is added, not jumped: what comes is not to be foreseen. */
static inline int32_t leaf_of(const struct cc_model_tree *tree, const int32_t *features)
{
	uint32_t at = 0;

	for (uint32_t d = 0; d < tree->depth; d++)
		at = 2 * at + 1 + (features[tree->feature[at]] > tree->threshold[at]);
	return tree->leaf[at - ((1u << tree->depth) - 1)];
}

int32_t cc_model_sum(const struct cc_model *model, const int32_t features[CC_FEATURES])
{
	int32_t sum = 0;

	for (uint32_t i = 0; i < model->n_trees; i++)
		sum += leaf_of(&model->trees[i], features);
	return sum;
}
