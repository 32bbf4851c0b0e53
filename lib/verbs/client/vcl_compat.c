/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Version 1.0 of the ABI, of programs built before 2007 whose structs differ from all later ones: the
 * names are there so that everything links, and each call says that it is not supported.
 */
#include <errno.h>
#include <stddef.h>

#define OLD_POINTER(name)                                                  \
	void *old_##name(void);                                            \
	__attribute__((symver(#name "@IBVERBS_1.0"))) void *old_##name(void) \
	{                                                                  \
		errno = EOPNOTSUPP;                                        \
		return NULL;                                               \
	}

#define OLD_INT(name)                                                      \
	int old_##name(void);                                              \
	__attribute__((symver(#name "@IBVERBS_1.0"))) int old_##name(void) \
	{                                                                  \
		errno = EOPNOTSUPP;                                        \
		return EOPNOTSUPP;                                         \
	}

/* Of these a negative value is the error. */
#define OLD_NEGATIVE(name)                                                 \
	int old_##name(void);                                              \
	__attribute__((symver(#name "@IBVERBS_1.0"))) int old_##name(void) \
	{                                                                  \
		errno = EOPNOTSUPP;                                        \
		return -1;                                                 \
	}

OLD_INT(ibv_ack_async_event)
OLD_INT(ibv_ack_cq_events)
OLD_POINTER(ibv_alloc_pd)
OLD_INT(ibv_attach_mcast)
OLD_NEGATIVE(ibv_close_device)
OLD_POINTER(ibv_create_ah)
OLD_POINTER(ibv_create_cq)
OLD_POINTER(ibv_create_qp)
OLD_POINTER(ibv_create_srq)
OLD_INT(ibv_dealloc_pd)
OLD_INT(ibv_dereg_mr)
OLD_INT(ibv_destroy_ah)
OLD_INT(ibv_destroy_cq)
OLD_INT(ibv_destroy_qp)
OLD_INT(ibv_destroy_srq)
OLD_INT(ibv_detach_mcast)
OLD_INT(ibv_free_device_list)
OLD_NEGATIVE(ibv_get_async_event)
OLD_NEGATIVE(ibv_get_cq_event)
OLD_INT(ibv_get_device_guid)
OLD_POINTER(ibv_get_device_list)
OLD_POINTER(ibv_get_device_name)
OLD_INT(ibv_modify_qp)
OLD_INT(ibv_modify_srq)
OLD_POINTER(ibv_open_device)
OLD_INT(ibv_query_device)
OLD_NEGATIVE(ibv_query_gid)
OLD_NEGATIVE(ibv_query_pkey)
OLD_INT(ibv_query_port)
OLD_INT(ibv_query_qp)
OLD_INT(ibv_query_srq)
OLD_POINTER(ibv_reg_mr)
OLD_INT(ibv_resize_cq)

/* How providers registered before IBVERBS_PRIVATE_34: none of them can still be loaded. */
void old_ibv_register_driver(const char *name, void *init);
__attribute__((symver("ibv_register_driver@IBVERBS_1.1"))) void old_ibv_register_driver(const char *name, void *init)
{
	(void)name;
	(void)init;
}
