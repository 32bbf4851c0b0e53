/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that no public header declares but rdma-core's tools and provider libraries make. Programs that
 * link to a provider (perftest and UCX to libmlx5) bind all of them at start.
 */
#ifndef VCL_PRIVATE_H
#define VCL_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ibv_context;
struct ibv_ah_attr;

extern bool verbs_allow_disassociate_destroy;

const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t eth_mac[6],
	uint16_t *vid);
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index, int *type);
/* A provider announces itself when it is loaded, to the private interface it was built for. We drive no
 * hardware, so it is never asked for a device. */
#define VCL_JOIN(name, number) name##number
#define VCL_WITH_NUMBER(name, number) VCL_JOIN(name, number)
#define VCL_REGISTER_DRIVER VCL_WITH_NUMBER(verbs_register_driver_, VCL_PRIVATE_ABI)
void VCL_REGISTER_DRIVER(const void *ops);
void __verbs_log(void *context, uint32_t level, const char *format, ...);
int ibv_read_ibdev_sysfs_file(char *buf, size_t size, void *sysfs_dev, const char *format, ...);

#endif
