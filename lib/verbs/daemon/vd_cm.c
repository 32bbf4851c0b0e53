/* SPDX-License-Identifier: BSD-3-Clause */
/* Connection management for clients: not served yet, so hello is refused and nothing is ever due. */
#include "vd_internal.h"

int vd_cm_start(struct vd *vd)
{
	vd->cm = NULL;
	return 0;
}

void vd_cm_stop(struct vd *vd)
{
	vd->cm = NULL;
}

void vd_rx_mad(struct vd *vd, uint32_t device, const struct wire_addr *src, const struct wire_addr *dst,
	const uint8_t *mad, size_t n)
{
	(void)vd, (void)device, (void)src, (void)dst, (void)mad, (void)n;
}

void vd_advance(struct vd *vd)
{
	(void)vd;
}

uint64_t vd_timeout_ns(const struct vd *vd)
{
	(void)vd;
	return UINT64_MAX;
}
