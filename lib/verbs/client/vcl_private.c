/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Names that provider libraries import from libibverbs. A program linked to a provider needs all of them
 * to start; the calls a provider makes on its way in are real, the others belong to devices we never
 * hand out and report that. So do public calls that headers of rdma-core 44 do not declare yet.
 */
#include <errno.h>
#include <stddef.h>

#include "vcl_private.h"

bool verbs_allow_disassociate_destroy;

void VCL_REGISTER_DRIVER(const void *ops)
{
	(void)ops;
}

void __verbs_log(void *context, uint32_t level, const char *format, ...)
{
	(void)context;
	(void)level;
	(void)format;
}

int ibv_read_ibdev_sysfs_file(char *buf, size_t size, void *sysfs_dev, const char *format, ...)
{
	(void)buf;
	(void)size;
	(void)sysfs_dev;
	(void)format;
	return -1;
}

/* Whatever the arguments: the caller passes them in registers or cleans up its own stack. */
#define NO_DEVICE(name)                    \
	int name(void);                    \
	int name(void)                     \
	{                                  \
		errno = EOPNOTSUPP;        \
		return EOPNOTSUPP;         \
	}

#define NO_DEVICE_POINTER(name)            \
	void *name(void);                  \
	void *name(void)                   \
	{                                  \
		errno = EOPNOTSUPP;        \
		return NULL;               \
	}

#define NO_DEVICE_FD(name)                 \
	int name(void);                    \
	int name(void)                     \
	{                                  \
		errno = EOPNOTSUPP;        \
		return -1;                 \
	}

#define NOTHING(name)                      \
	void name(void);                   \
	void name(void)                    \
	{                                  \
	}


unsigned int __ioctl_final_num_attrs(unsigned int n, void *link);
unsigned int __ioctl_final_num_attrs(unsigned int n, void *link)
{
	(void)link;
	return n;
}

NO_DEVICE_POINTER(_verbs_init_and_alloc_context)
NO_DEVICE(execute_ioctl)
NO_DEVICE(ibv_cmd_advise_mr)
NO_DEVICE(ibv_cmd_alloc_dm)
NO_DEVICE(ibv_cmd_alloc_dmah)
NO_DEVICE(ibv_cmd_alloc_mw)
NO_DEVICE(ibv_cmd_alloc_pd)
NO_DEVICE(ibv_cmd_attach_mcast)
NO_DEVICE(ibv_cmd_close_xrcd)
NO_DEVICE(ibv_cmd_create_ah)
NO_DEVICE(ibv_cmd_create_comp_cntr)
NO_DEVICE(ibv_cmd_create_counters)
NO_DEVICE(ibv_cmd_create_cq)
NO_DEVICE(ibv_cmd_create_cq_ex)
NO_DEVICE(ibv_cmd_create_cq_ex2)
NO_DEVICE(ibv_cmd_create_flow)
NO_DEVICE(ibv_cmd_create_flow_action_esp)
NO_DEVICE(ibv_cmd_create_qp)
NO_DEVICE(ibv_cmd_create_qp_ex)
NO_DEVICE(ibv_cmd_create_qp_ex2)
NO_DEVICE(ibv_cmd_create_rwq_ind_table)
NO_DEVICE(ibv_cmd_create_srq)
NO_DEVICE(ibv_cmd_create_srq_ex)
NO_DEVICE(ibv_cmd_create_wq)
NO_DEVICE(ibv_cmd_dealloc_mw)
NO_DEVICE(ibv_cmd_dealloc_pd)
NO_DEVICE(ibv_cmd_dereg_mr)
NO_DEVICE(ibv_cmd_destroy_ah)
NO_DEVICE(ibv_cmd_destroy_comp_cntr)
NO_DEVICE(ibv_cmd_destroy_counters)
NO_DEVICE(ibv_cmd_destroy_cq)
NO_DEVICE(ibv_cmd_destroy_flow)
NO_DEVICE(ibv_cmd_destroy_flow_action)
NO_DEVICE(ibv_cmd_destroy_qp)
NO_DEVICE(ibv_cmd_destroy_rwq_ind_table)
NO_DEVICE(ibv_cmd_destroy_srq)
NO_DEVICE(ibv_cmd_destroy_wq)
NO_DEVICE(ibv_cmd_detach_mcast)
NO_DEVICE_FD(ibv_cmd_export_dmabuf_fd)
NO_DEVICE(ibv_cmd_free_dm)
NO_DEVICE(ibv_cmd_free_dmah)
NO_DEVICE(ibv_cmd_get_context)
NO_DEVICE(ibv_cmd_inc_comp_cntr)
NO_DEVICE(ibv_cmd_inc_err_comp_cntr)
NO_DEVICE(ibv_cmd_modify_cq)
NO_DEVICE(ibv_cmd_modify_flow_action_esp)
NO_DEVICE(ibv_cmd_modify_qp)
NO_DEVICE(ibv_cmd_modify_qp_ex)
NO_DEVICE(ibv_cmd_modify_srq)
NO_DEVICE(ibv_cmd_modify_wq)
NO_DEVICE(ibv_cmd_open_qp)
NO_DEVICE(ibv_cmd_open_xrcd)
NO_DEVICE(ibv_cmd_poll_cq)
NO_DEVICE(ibv_cmd_post_recv)
NO_DEVICE(ibv_cmd_post_send)
NO_DEVICE(ibv_cmd_post_srq_recv)
NO_DEVICE(ibv_cmd_qp_attach_comp_cntr)
NO_DEVICE(ibv_cmd_query_comp_cntr_caps)
NO_DEVICE(ibv_cmd_query_context)
NO_DEVICE(ibv_cmd_query_device_any)
NO_DEVICE(ibv_cmd_query_mr)
NO_DEVICE(ibv_cmd_query_port)
NO_DEVICE(ibv_cmd_query_port_speed)
NO_DEVICE(ibv_cmd_query_qp)
NO_DEVICE(ibv_cmd_query_srq)
NO_DEVICE(ibv_cmd_read_comp_cntr)
NO_DEVICE(ibv_cmd_read_counters)
NO_DEVICE(ibv_cmd_read_err_comp_cntr)
NO_DEVICE(ibv_cmd_reg_dm_mr)
NO_DEVICE(ibv_cmd_reg_dmabuf_mr)
NO_DEVICE(ibv_cmd_reg_mr)
NO_DEVICE(ibv_cmd_reg_mr_ex)
NO_DEVICE(ibv_cmd_req_notify_cq)
NO_DEVICE(ibv_cmd_rereg_mr)
NO_DEVICE(ibv_cmd_resize_cq)
NO_DEVICE(ibv_cmd_set_comp_cntr)
NO_DEVICE(ibv_cmd_set_err_comp_cntr)
NO_DEVICE_POINTER(ibv_dmabuf_heap_alloc)
NO_DEVICE(ibv_dmabuf_heap_cc_shared_init)
NOTHING(ibv_dmabuf_heap_destroy)
NOTHING(ibv_dmabuf_heap_free)
NOTHING(verbs_init_cq)
NO_DEVICE_POINTER(verbs_open_device)
NOTHING(verbs_set_ops)
NOTHING(verbs_uninit_context)

/* Public ones: DMA handles, completion counters. */
NO_DEVICE(_ibv_query_comp_cntr_caps)
NO_DEVICE_POINTER(ibv_alloc_dmah)
NO_DEVICE_POINTER(ibv_create_comp_cntr)
NO_DEVICE(ibv_dealloc_dmah)
NO_DEVICE(ibv_destroy_comp_cntr)
NO_DEVICE_FD(ibv_dm_export_dmabuf_fd)
NO_DEVICE(ibv_inc_comp_cntr)
NO_DEVICE(ibv_inc_err_comp_cntr)
NO_DEVICE(ibv_qp_attach_comp_cntr)
NO_DEVICE(ibv_read_comp_cntr)
NO_DEVICE(ibv_read_err_comp_cntr)
NO_DEVICE_POINTER(ibv_reg_mr_ex)
NO_DEVICE(ibv_set_comp_cntr)
NO_DEVICE(ibv_set_err_comp_cntr)
