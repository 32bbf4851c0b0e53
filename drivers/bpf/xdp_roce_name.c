/* SPDX-License-Identifier: BSD-3-Clause */
#include "xdp_roce.h"

const char *xdp_roce_kind_name(uint32_t kind)
{
	static const char *const names[XDP_ROCE_KINDS] = {
		[XDP_ROCE_V2] = "roce_v2",
		[XDP_ROCE_V1] = "roce_v1",
		[XDP_ROCE_MAC_CONTROL] = "mac_control",
		[XDP_ROCE_PROTECTED] = "protected",
		[XDP_ROCE_KEYS] = "keys",
		[XDP_ROCE_NEIGHBOUR] = "neighbour",
		[XDP_ROCE_GROUP_QUERY] = "group_query",
		[XDP_ROCE_FRAGMENT] = "fragment",
		[XDP_ROCE_MALFORMED] = "malformed",
		[XDP_ROCE_OTHER] = "other",
		[XDP_ROCE_NO_SOCKET] = "no_socket",
		[XDP_ROCE_COPY_LOST] = "copy_lost",
	};

	return kind < XDP_ROCE_KINDS ? names[kind] : NULL;
}
