/* SPDX-License-Identifier: BSD-3-Clause */
/* Where there is no libbpf, or no compiler for the program. */
#include <errno.h>

#include "xdp_roce.h"

bool xdp_roce_built(void)
{
	return false;
}

int xdp_roce_clear(unsigned int ifindex, char name[XDP_ROCE_NAME_BYTES])
{
	(void)ifindex;
	(void)name;
	return -ENOTSUP;
}

int xdp_roce_file(char path[XDP_ROCE_PATH_BYTES])
{
	(void)path;
	return -ENOTSUP;
}

int xdp_roce_take(unsigned int ifindex, const struct xdp_roce_settings *settings, struct xdp_roce **xdp)
{
	(void)ifindex;
	(void)settings;
	(void)xdp;
	return -ENOTSUP;
}

void xdp_roce_release(struct xdp_roce *xdp)
{
	(void)xdp;
}

int xdp_roce_counts(const struct xdp_roce *xdp, uint64_t counts[XDP_ROCE_KINDS])
{
	(void)xdp;
	(void)counts;
	return -ENOTSUP;
}

int xdp_roce_fd(const struct xdp_roce *xdp)
{
	(void)xdp;
	return -1;
}

void xdp_roce_serve(struct xdp_roce *xdp, uint32_t most, void (*fn)(void *arg, const uint8_t *frame, size_t n), void *arg)
{
	(void)xdp;
	(void)most;
	(void)fn;
	(void)arg;
}
