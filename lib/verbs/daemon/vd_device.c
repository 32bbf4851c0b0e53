/* SPDX-License-Identifier: BSD-3-Clause */
/* What clients are told about devices, ports and GIDs. */
#include "vd_internal.h"

/* IPv6, UDP, BTH, the largest extended headers and ICRC: what Linux reserves of the port's MTU too.
 */
#define HEADER_BYTES 80
#define CAP_FLAGS                                                                                  \
	(IBV_DEVICE_CURR_QP_STATE_MOD | IBV_DEVICE_PORT_ACTIVE_EVENT | IBV_DEVICE_SYS_IMAGE_GUID | \
		IBV_DEVICE_RC_RNR_NAK_GEN | IBV_DEVICE_MEM_WINDOW |                                \
		IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS |               \
		IBV_DEVICE_SRQ_RESIZE | IBV_DEVICE_XRC)
#define MAX_MR_BYTES (1ull << 47)

bool vd_addr_is_zero(const struct wire_addr *addr)
{
	static const struct wire_addr zero;

	return memcmp(addr, &zero, sizeof(zero)) == 0;
}

bool vd_addr_equal(const struct wire_addr *a, const struct wire_addr *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}

int vd_device_find(const struct vd *vd, const char *name, uint32_t *device)
{
	for (uint32_t i = 0; i < vd->n_devices; i++) {
		if (!vd_device_there(vd, i) || (name[0] != '\0' && strncmp(name, vd->devices[i].name, VC_NAME_BYTES) != 0))
			continue;
		*device = i;
		return 0;
	}
	return -ENODEV;
}

uint32_t vd_device_mtu(const struct vd_device *device)
{
	uint32_t most = device->max_mtu_bytes == 0 ? 4096 : device->max_mtu_bytes;
	uint32_t code = IBV_MTU_4096;

	while (code > IBV_MTU_256 &&
		((128u << code) > most || (128u << code) + HEADER_BYTES > device->port_mtu_bytes))
		code--;
	return code;
}

/* EUI-64 of the port's MAC, as Linux makes the node GUID of RoCE devices; big endian. */
static uint64_t node_guid(const uint8_t mac[6])
{
	const uint8_t eui[8] = {mac[0] ^ 2, mac[1], mac[2], 0xff, 0xfe, mac[3], mac[4], mac[5]};
	uint64_t guid;

	memcpy(&guid, eui, sizeof(guid));
	return guid;
}

void vd_device_attr(const struct vd *vd, uint32_t device, struct vc_device_attr *attr)
{
	const struct vd_device *dev = &vd->devices[device];
	const struct vd_limits *limits = &vd->limits;
	uint64_t bytes = vd_limit(vd, VD_RES_REGISTERED_BYTES);

	memset(attr, 0, sizeof(*attr));
	memcpy(attr->name, dev->name, sizeof(attr->name));
	memcpy(attr->netdev, dev->netdev, sizeof(attr->netdev));
	memcpy(attr->mac, dev->mac, sizeof(attr->mac));
	attr->node_guid = node_guid(dev->mac);
	attr->max_mr_bytes = bytes < MAX_MR_BYTES ? bytes : MAX_MR_BYTES;
	attr->max_qp = (uint32_t)vd_limit(vd, VD_RES_QPS);
	attr->max_send_wr = limits->max_send_wr;
	attr->max_recv_wr = limits->max_recv_wr;
	attr->max_qp_wr = limits->max_send_wr < limits->max_recv_wr ? limits->max_send_wr
								    : limits->max_recv_wr;
	attr->max_sge = limits->max_sge;
	attr->max_cq = (uint32_t)vd_limit(vd, VD_RES_CQS);
	attr->max_srq = (uint32_t)vd_limit(vd, VD_RES_SRQS);
	attr->max_srq_wr = limits->max_srq_wr;
	attr->max_srq_sge = limits->max_sge;
	attr->cap_flags = CAP_FLAGS;
	attr->max_cqe = limits->max_cqe;
	attr->max_mr = (uint32_t)vd_limit(vd, VD_RES_MRS);
	if (vd->env.join_group != NULL) {
		attr->max_mcast_grp = (uint32_t)vd_limit(vd, VD_RES_GROUPS);
		attr->max_mcast_qp_attach = (uint32_t)vd_limit(vd, VD_RES_GROUPS);
	}
	attr->max_mw = (uint32_t)vd_limit(vd, VD_RES_MWS);
	attr->max_pd = (uint32_t)vd_limit(vd, VD_RES_PDS);
	attr->max_ah = (uint32_t)vd_limit(vd, VD_RES_AHS);
	attr->max_qp_rd_atomic = limits->max_rd_atomic;
	attr->max_qp_init_rd_atomic = limits->max_rd_atomic;
	attr->max_inline_bytes = limits->max_inline_bytes;
	attr->max_mtu = IBV_MTU_4096;
	attr->active_mtu = vd_device_mtu(dev);
	attr->gid_count = dev->n_gids;
	attr->port_state = vd->port_up[device] ? IBV_PORT_ACTIVE : IBV_PORT_DOWN;
	attr->speed_mbps = dev->speed_mbps;
}

int vd_op_list_devices(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	struct vc_reply *reply = &answer->reply;
	struct vd *vd = session->vd;

	(void)request;
	static_assert(
		sizeof(reply->devices.attr) / sizeof(reply->devices.attr[0]) >= VD_MAX_DEVICES,
		"all fit");
	for (uint32_t i = 0; i < vd->n_devices; i++) {
		if (vd_device_there(vd, i))
			vd_device_attr(vd, i, &reply->devices.attr[reply->devices.n++]);
	}
	return 0;
}

/* Of the port too: a device has one. */
int vd_op_query_device(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	(void)request;
	vd_device_attr(session->vd, session->device, &answer->reply.device);
	return 0;
}

int vd_op_query_gids(
	struct vd_session *session, const struct vc_request *request, struct vd_answer *answer)
{
	const struct vd_device *dev = &session->vd->devices[session->device];
	struct vc_reply *reply = &answer->reply;

	(void)request;
	reply->gids.n = dev->n_gids;
	for (uint32_t i = 0; i < dev->n_gids; i++) {
		struct vc_gid *gid = &reply->gids.gid[i];

		memcpy(gid->gid, dev->gids[i].addr.b, sizeof(gid->gid));
		gid->type = 2; /* RoCE v2 */
		gid->prefix_len = dev->gids[i].prefix_len;
	}
	return 0;
}
