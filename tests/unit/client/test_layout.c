/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sizes and offsets that programs compiled against rdma-core 44 on x86-64 rely on. They are those of the
 * public headers, so this fails to compile when the headers the libraries were built with differ. Newer
 * headers may let some structs grow: at the end where the library makes the struct or is told its size, and
 * at the front of verbs_context, which programs reach from the ibv_context at its end.
 */
#include <assert.h>
#include <stddef.h>

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>

#define SIZE(type, bytes) static_assert(sizeof(struct type) == (bytes), #type)
#define MIN_SIZE(type, bytes) static_assert(sizeof(struct type) >= (bytes), #type)
#define AT(type, member, bytes) static_assert(offsetof(struct type, member) == (bytes), #type "." #member)
#define BEFORE_CONTEXT(member, bytes) \
	static_assert(offsetof(struct verbs_context, context) - offsetof(struct verbs_context, member) == (bytes), \
		"verbs_context." #member)

SIZE(ibv_device, 664);
SIZE(ibv_context_ops, 256);
SIZE(ibv_context, 328);
MIN_SIZE(verbs_context, 648);
SIZE(ibv_pd, 16);
SIZE(ibv_mr, 48);
SIZE(ibv_cq, 128);
SIZE(ibv_cq_ex, 288);
SIZE(ibv_qp, 160);
MIN_SIZE(ibv_qp_ex, 352);
SIZE(ibv_srq, 128);
SIZE(ibv_ah, 24);
SIZE(ibv_comp_channel, 16);
SIZE(ibv_wc, 48);
SIZE(ibv_send_wr, 128);
SIZE(ibv_recv_wr, 32);
MIN_SIZE(ibv_port_attr, 52);
SIZE(ibv_device_attr, 232);
SIZE(ibv_device_attr_ex, 400);
SIZE(ibv_qp_attr, 144);
SIZE(ibv_qp_init_attr, 64);
SIZE(ibv_qp_init_attr_ex, 136);
SIZE(ibv_gid_entry, 32);
SIZE(ibv_async_event, 16);
SIZE(rdma_cm_id, 416);
SIZE(rdma_event_channel, 4);
SIZE(rdma_cm_event, 80);
SIZE(rdma_conn_param, 24);
SIZE(rdma_ud_param, 56);
SIZE(rdma_addrinfo, 96);
SIZE(rdma_route, 312);

AT(ibv_device, name, 24);
AT(ibv_device, dev_name, 88);
AT(ibv_device, ibdev_path, 408);
AT(ibv_context, cmd_fd, 264);
AT(ibv_context, async_fd, 268);
AT(ibv_context, num_comp_vectors, 272);
AT(ibv_context, abi_compat, 320);
AT(ibv_context_ops, poll_cq, 88);
AT(ibv_context_ops, req_notify_cq, 96);
AT(ibv_context_ops, post_send, 200);
AT(ibv_context_ops, post_recv, 208);
BEFORE_CONTEXT(query_port, 320);
BEFORE_CONTEXT(create_cq_ex, 120);
BEFORE_CONTEXT(query_device_ex, 104);
BEFORE_CONTEXT(create_qp_ex, 56);
BEFORE_CONTEXT(sz, 8);
AT(ibv_qp_ex, wr_atomic_write, 344);
AT(ibv_qp, handle, 48);
AT(ibv_qp, qp_num, 52);
AT(ibv_qp, state, 56);
AT(ibv_qp, events_completed, 152);
AT(ibv_cq, cqe, 28);
AT(ibv_cq, comp_events_completed, 120);
AT(ibv_mr, lkey, 36);
AT(ibv_mr, rkey, 40);
AT(ibv_comp_channel, fd, 8);
AT(ibv_port_attr, flags, 47);
AT(ibv_port_attr, port_cap_flags2, 48);
AT(rdma_cm_id, verbs, 0);
AT(rdma_cm_id, channel, 8);
AT(rdma_cm_id, qp, 24);
AT(rdma_cm_id, ps, 344);
AT(rdma_cm_id, port_num, 348);
AT(rdma_cm_id, event, 352);
AT(rdma_cm_id, pd, 400);
AT(rdma_cm_id, qp_type, 408);

int main(void)
{
	return 0;
}
