/* SPDX-License-Identifier: BSD-3-Clause */
#include "base_drop.h"

static const struct {
	const char *name;
	const char *help;
} reasons[BASE_DROP_COUNT] = {
#define BASE_DROP_ROW(id, str, text) [BASE_DROP_##id] = {str, text},
	BASE_DROP_LIST(BASE_DROP_ROW)
#undef BASE_DROP_ROW
};

const char *base_drop_name(enum base_drop reason)
{
	return (unsigned int)reason < BASE_DROP_COUNT ? reasons[reason].name : "?";
}

const char *base_drop_help(enum base_drop reason)
{
	return (unsigned int)reason < BASE_DROP_COUNT ? reasons[reason].help : "?";
}
