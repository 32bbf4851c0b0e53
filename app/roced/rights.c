/* SPDX-License-Identifier: BSD-3-Clause */
#include "rights.h"

#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static bool has_capability(unsigned int number)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3] = {0};

	return syscall(SYS_capget, &header, data) == 0 && (data[number / 32].effective & (1u << number % 32)) != 0;
}

static bool is_in_group(gid_t gid)
{
	int n = getgroups(0, NULL);
	gid_t *groups = n > 0 ? calloc((size_t)n, sizeof(*groups)) : NULL;
	bool is_in = gid == getegid();

	n = groups != NULL ? getgroups(n, groups) : 0;
	for (int i = 0; i < n; i++)
		is_in |= groups[i] == gid;
	free(groups);
	return is_in;
}

bool rights_socket(const struct config_group *group, char why[RIGHTS_TEXT_BYTES])
{
	gid_t gid = (gid_t)group->gid;

	if (!group->given || is_in_group(gid) || has_capability(CAP_CHOWN))
		return true;
	snprintf(why, RIGHTS_TEXT_BYTES,
		"control.group: the socket cannot be given to group %u, which the daemon is not in: give SupplementaryGroups= in its"
		" service, or CAP_CHOWN", (unsigned int)gid);
	return false;
}
