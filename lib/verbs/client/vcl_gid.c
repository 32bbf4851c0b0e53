/* SPDX-License-Identifier: BSD-3-Clause */
/* The GID table of a port, and addresses of peers derived from GIDs and received headers. */
#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/ip.h>
#include <stdlib.h>
#include <string.h>

#include "vcl_ibv.h"
#include "vcl_private.h"

int vcl_query_gids(struct ibv_context *ctx, struct vc_reply *reply)
{
	struct vc_request req = {.op = VC_QUERY_GIDS};
	int err = vcl_call(&vcl_context(ctx)->conn, &req, reply);

	if (err == 0 && reply->gids.n > VC_MAX_GIDS)
		reply->gids.n = VC_MAX_GIDS;
	return err;
}

static bool is_zero(const uint8_t gid[16])
{
	static const uint8_t zero[16];

	return memcmp(gid, zero, sizeof(zero)) == 0;
}

/* One entry of the table; an index inside it that holds no address reads as zero. */
static int query_one(struct ibv_context *ctx, uint32_t port, uint32_t index, struct vc_gid *gid)
{
	struct vc_reply reply;
	int err;

	if (port != VCL_PORT || index >= VC_MAX_GIDS)
		return -EINVAL;
	err = vcl_query_gids(ctx, &reply);
	if (err != 0)
		return err;
	memset(gid, 0, sizeof(*gid));
	if (index < reply.gids.n)
		*gid = reply.gids.gid[index];
	else if (index >= vcl_context(ctx)->attr.gid_count)
		return -EINVAL;
	return 0;
}

int ibv_query_gid(struct ibv_context *context, uint8_t port_num, int index, union ibv_gid *gid)
{
	struct vc_gid one;
	int err = query_one(context, port_num, (uint32_t)index, &one);

	if (err != 0) {
		errno = -err;
		return -1;
	}
	memcpy(gid->raw, one.gid, sizeof(one.gid));
	return 0;
}

static void fill_entry(struct ibv_context *ctx, uint32_t index, const struct vc_gid *gid, struct ibv_gid_entry *entry)
{
	const char *netdev = vcl_context(ctx)->attr.netdev;

	memset(entry, 0, sizeof(*entry));
	memcpy(entry->gid.raw, gid->gid, sizeof(gid->gid));
	entry->gid_index = index;
	entry->port_num = VCL_PORT;
	entry->gid_type = gid->type;
	entry->ndev_ifindex = netdev[0] != '\0' ? if_nametoindex(netdev) : 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num, uint32_t gid_index,
	struct ibv_gid_entry *entry, uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry full;
	struct vc_gid one;
	int err;

	if (flags != 0 || entry_size < sizeof(full))
		return vcl_errno(-EOPNOTSUPP);
	err = query_one(context, port_num, gid_index, &one);
	if (err == 0 && is_zero(one.gid))
		err = -ENODATA;
	if (err != 0)
		return vcl_errno(err);
	fill_entry(context, gid_index, &one, &full);
	memset(entry, 0, entry_size);
	memcpy(entry, &full, sizeof(full));
	return 0;
}

/* Returns how many entries were filled in, or a negative errno. */
ssize_t _ibv_query_gid_table(struct ibv_context *context, struct ibv_gid_entry *entries, size_t max_entries,
	uint32_t flags, size_t entry_size)
{
	struct ibv_gid_entry full;
	struct vc_reply reply;
	ssize_t n = 0;
	uint32_t i;
	int err;

	if (flags != 0 || entry_size < sizeof(full))
		return -EOPNOTSUPP;
	err = vcl_query_gids(context, &reply);
	if (err != 0)
		return err;
	for (i = 0; i < reply.gids.n; i++) {
		if (is_zero(reply.gids.gid[i].gid))
			continue;
		if ((size_t)n == max_entries)
			return -EINVAL;
		fill_entry(context, i, &reply.gids.gid[i], &full);
		memset((char *)entries + (size_t)n * entry_size, 0, entry_size);
		memcpy((char *)entries + (size_t)n * entry_size, &full, sizeof(full));
		n++;
	}
	return n;
}

/* The private call of ibv_devinfo: 0 = InfiniBand or RoCE v1, 1 = RoCE v2. */
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index, int *type)
{
	struct vc_gid one;
	int err = query_one(context, port_num, index, &one);

	if (err != 0) {
		errno = -err;
		return -1;
	}
	*type = one.type == IBV_GID_TYPE_ROCE_V2 ? 1 : 0;
	return 0;
}

/* ---- address vectors ---- */

void vcl_av_from_attr(struct vc_av *av, const struct ibv_ah_attr *attr)
{
	memset(av, 0, sizeof(*av));
	memcpy(av->dgid, attr->grh.dgid.raw, sizeof(av->dgid));
	av->flow_label = attr->grh.flow_label;
	av->sgid_index = attr->grh.sgid_index;
	av->hop_limit = attr->grh.hop_limit;
	av->traffic_class = attr->grh.traffic_class;
	av->sl = attr->sl;
}

void vcl_av_to_attr(struct ibv_ah_attr *attr, const struct vc_av *av)
{
	memset(attr, 0, sizeof(*attr));
	memcpy(attr->grh.dgid.raw, av->dgid, sizeof(av->dgid));
	attr->grh.flow_label = av->flow_label;
	attr->grh.sgid_index = av->sgid_index;
	attr->grh.hop_limit = av->hop_limit;
	attr->grh.traffic_class = av->traffic_class;
	attr->sl = av->sl;
	attr->is_global = 1;
	attr->port_num = VCL_PORT;
}

/* Source, destination and class of the IP header that lies in the 40 bytes before a UD message: an IPv6
 * header fills them, an IPv4 header the last 20 (annex A17). */
static int read_grh(const struct ibv_grh *grh, uint8_t src[16], uint8_t dst[16], uint32_t *flow, uint8_t *tclass)
{
	static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
	const uint8_t *raw = (const uint8_t *)grh, *ip4 = raw + 20;
	uint32_t word;

	*flow = 0;
	if (raw[0] >> 4 == 6) {
		memcpy(&word, raw, sizeof(word));
		*flow = ntohl(word) & 0xfffff;
		*tclass = (uint8_t)(ntohl(word) >> 20);
		memcpy(src, grh->sgid.raw, 16);
		memcpy(dst, grh->dgid.raw, 16);
		return 0;
	}
	if (ip4[0] >> 4 != 4)
		return -EINVAL;
	*tclass = ip4[1];
	memcpy(src, mapped, sizeof(mapped));
	memcpy(src + 12, ip4 + 12, 4);
	memcpy(dst, mapped, sizeof(mapped));
	memcpy(dst + 12, ip4 + 16, 4);
	return 0;
}

int ibv_init_ah_from_wc(struct ibv_context *context, uint8_t port_num, struct ibv_wc *wc, struct ibv_grh *grh,
	struct ibv_ah_attr *ah_attr)
{
	struct vc_reply reply;
	struct vc_av av = {.hop_limit = 0xff, .sl = wc->sl};
	uint8_t dst[16];
	uint32_t i;
	int err;

	if (port_num != VCL_PORT || (wc->wc_flags & IBV_WC_GRH) == 0) {
		errno = EINVAL;
		return -1;
	}
	err = read_grh(grh, av.dgid, dst, &av.flow_label, &av.traffic_class);
	if (err == 0)
		err = vcl_query_gids(context, &reply);
	for (i = 0; err == 0 && memcmp(reply.gids.gid[i].gid, dst, sizeof(dst)) != 0;)
		if (++i >= reply.gids.n)
			err = -EADDRNOTAVAIL;
	if (err != 0) {
		errno = -err;
		return -1;
	}
	av.sgid_index = (uint8_t)i;
	vcl_av_to_attr(ah_attr, &av);
	return 0;
}

struct ibv_ah *ibv_create_ah_from_wc(struct ibv_pd *pd, struct ibv_wc *wc, struct ibv_grh *grh, uint8_t port_num)
{
	struct ibv_ah_attr attr;

	return ibv_init_ah_from_wc(pd->context, port_num, wc, grh, &attr) == 0 ? ibv_create_ah(pd, &attr) : NULL;
}

/* The Ethernet address of a GID, where it follows from the GID; the daemon resolves all others itself.
 * Returns 0 or a negative errno. */
int ibv_resolve_eth_l2_from_gid(struct ibv_context *context, struct ibv_ah_attr *attr, uint8_t eth_mac[6],
	uint16_t *vid)
{
	const uint8_t *gid = attr->grh.dgid.raw;

	(void)context;
	if (gid[0] == 0xff) {
		eth_mac[0] = eth_mac[1] = 0x33;
		memcpy(eth_mac + 2, gid + 12, 4);
	} else if (gid[0] == 0xfe && gid[1] == 0x80 && gid[11] == 0xff && gid[12] == 0xfe) {
		memcpy(eth_mac, gid + 8, 3);
		memcpy(eth_mac + 3, gid + 13, 3);
		eth_mac[0] ^= 2;
	} else {
		return -EHOSTUNREACH;
	}
	if (vid != NULL)
		*vid = 0xffff; /* none */
	return 0;
}
