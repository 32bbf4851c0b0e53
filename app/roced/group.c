/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups of ports: the workers are told which frames to take, and routers and switches that there
 * is a listener, by IGMPv3 (RFC 3376) and MLDv2 (RFC 3810): at join and leave, when a router asks, and every
 * minute without being asked, in case a question was lost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "group.h"
#include "wire_arp_nd.h"

#define REPEAT_NS    60000000000u
#define SOON_NS      1000000000u
#define SOON_REPORTS 2             /* RFC 3376 8.1: a report may get lost */
#define FRAME_BYTES  128
#define MIN_BYTES    60
#define IP_PROTO_IGMP  2
#define IP_PROTO_ICMP6 58
#define IGMP_QUERY   0x11
#define MLD_QUERY    130
#define TO_EXCLUDE   4             /* record types: join and leave */
#define TO_INCLUDE   3
#define IS_EXCLUDE   2             /* still there */

struct group {
	TAILQ_ENTRY(group) link;
	uint32_t device;
	struct wire_addr addr;
	uint64_t next_ns;
	uint32_t reports;
};

struct group_call {
	struct worker *worker;
	struct worker_group group;
	int err;
};

/* ---- at the workers ---- */

static void add_call(void *arg)
{
	struct group_call *call = arg;
	struct worker *worker = call->worker;

	call->err = worker->n_groups < WORKER_GROUPS ? 0 : -ENOSPC;
	if (call->err == 0)
		worker->groups[worker->n_groups++] = call->group;
}

static void remove_call(void *arg)
{
	struct group_call *call = arg;
	struct worker *worker = call->worker;

	for (uint32_t i = 0; i < worker->n_groups; i++) {
		if (worker->groups[i].device != call->group.device ||
			memcmp(&worker->groups[i].addr, &call->group.addr, sizeof(call->group.addr)) != 0)
			continue;
		worker->groups[i] = worker->groups[--worker->n_groups];
		return;
	}
}

/* ---- reports ---- */

static uint8_t *put_ether(uint8_t *at, const struct vd_device *dev, const struct wire_addr *dst, bool v4)
{
	(void)wire_mcast_mac(dst, at);
	memcpy(at + 6, dev->mac, 6);
	at += 12;
	if (dev->has_vlan) {
		memcpy(at, (uint8_t[]){0x81, 0, (uint8_t)(dev->vlan_tci >> 8), (uint8_t)dev->vlan_tci}, 4);
		at += 4;
	}
	memcpy(at, v4 ? (uint8_t[]){0x08, 0x00} : (uint8_t[]){0x86, 0xdd}, 2);
	return at + 2;
}

static void put_sum(uint8_t *at, uint32_t sum)
{
	uint16_t folded = wire_csum_fold(sum);

	memcpy(at, (uint8_t[]){(uint8_t)(folded >> 8), (uint8_t)folded}, 2);
}

/* RFC 3376 4.2: to 224.0.0.22, with the router alert option. */
static size_t build_igmp(uint8_t *frame, const struct vd_device *dev, const struct wire_addr *src,
	const struct wire_addr *group, uint8_t record)
{
	static const struct wire_addr routers = {.b = {[10] = 0xff, [11] = 0xff, [12] = 224, [15] = 22}};
	uint8_t *ip = put_ether(frame, dev, &routers, true), *igmp = ip + 24;

	memcpy(ip, (uint8_t[]){0x46, 0xc0, 0, 40, 0, 0, 0x40, 0, 1, 2, 0, 0}, 12);
	memcpy(ip + 12, src->b + 12, 4);
	memcpy(ip + 16, routers.b + 12, 4);
	memcpy(ip + 20, (uint8_t[]){0x94, 4, 0, 0}, 4);
	put_sum(ip + 10, wire_csum_add(0, ip, 24));
	memcpy(igmp, (uint8_t[]){0x22, 0, 0, 0, 0, 0, 0, 1, record, 0, 0, 0}, 12);
	memcpy(igmp + 12, group->b + 12, 4);
	put_sum(igmp + 2, wire_csum_add(0, igmp, 16));
	return (size_t)(igmp + 16 - frame);
}

/* RFC 3810 5.2: to ff02::16 from the link-local address, router alert in a hop-by-hop header. */
static size_t build_mld(uint8_t *frame, const struct vd_device *dev, const struct wire_addr *src,
	const struct wire_addr *group, uint8_t record)
{
	static const struct wire_addr routers = {.b = {0xff, 0x02, [15] = 0x16}};
	static const uint8_t pseudo[8] = {0, 0, 0, 28, 0, 0, 0, 58};
	uint8_t *ip = put_ether(frame, dev, &routers, false), *icmp = ip + 48;
	uint32_t sum;

	memcpy(ip, (uint8_t[]){0x60, 0, 0, 0, 0, 36, 0, 1}, 8);
	memcpy(ip + 8, src->b, 16);
	memcpy(ip + 24, routers.b, 16);
	memcpy(ip + 40, (uint8_t[]){58, 0, 5, 2, 0, 0, 1, 0}, 8);
	memcpy(icmp, (uint8_t[]){143, 0, 0, 0, 0, 0, 0, 1, record, 0, 0, 0}, 12);
	memcpy(icmp + 12, group->b, 16);
	sum = wire_csum_add(wire_csum_add(0, pseudo, sizeof(pseudo)), ip + 8, 32);
	put_sum(icmp + 2, wire_csum_add(sum, icmp, 28));
	return (size_t)(icmp + 28 - frame);
}

/* The first of the device's addresses of a family; link-local ones come first. */
static const struct wire_addr *first_addr(const struct vd_device *dev, bool v4)
{
	for (uint32_t i = 0; i < dev->n_gids; i++) {
		if (wire_addr_is_v4(&dev->gids[i].addr) == v4)
			return &dev->gids[i].addr;
	}
	return NULL;
}

static void report(struct roced *roced, const struct group *group, uint8_t record)
{
	const struct vd_device *dev = &roced->devices[group->device];
	struct port *port = &roced->ports[roced->config.devices[group->device].port_index];
	bool v4 = wire_addr_is_v4(&group->addr);
	const struct wire_addr *src = first_addr(dev, v4);
	uint8_t frame[FRAME_BYTES] = {0};
	size_t n;

	if (src == NULL)
		return;
	n = v4 ? build_igmp(frame, dev, src, &group->addr, record)
	       : build_mld(frame, dev, src, &group->addr, record);
	link_send_frame(roced, port, frame, n < MIN_BYTES ? MIN_BYTES : n);
}

/* ---- what lib/verbs asks for ---- */

static void tell_workers(struct roced *roced, const struct group *group, uint32_t n, void (*fn)(void *arg), int *err)
{
	struct group_call call = {.group = {.device = group->device, .addr = group->addr}};

	for (uint32_t w = 0; w < n && call.err == 0; w++) {
		call.worker = roced->workers[w];
		worker_call(call.worker, fn, &call);
	}
	*err = call.err;
}

int group_join(struct roced *roced, uint32_t device, const struct wire_addr *addr)
{
	struct group *group;
	int err;

	if (first_addr(&roced->devices[device], wire_addr_is_v4(addr)) == NULL)
		return -EADDRNOTAVAIL;
	group = calloc(1, sizeof(*group));
	if (group == NULL)
		return -ENOMEM;
	group->device = device;
	group->addr = *addr;
	/* All have the same groups, so the first one that is full is the first of all. */
	tell_workers(roced, group, roced->n_workers, add_call, &err);
	if (err != 0) {
		free(group);
		return err;
	}
	TAILQ_INSERT_TAIL(&roced->groups, group, link);
	group->reports = 1;
	group->next_ns = clock_now_ns() + SOON_NS;
	report(roced, group, TO_EXCLUDE);
	return 0;
}

void group_leave(struct roced *roced, uint32_t device, const struct wire_addr *addr)
{
	struct group *group;
	int err;

	TAILQ_FOREACH(group, &roced->groups, link) {
		if (group->device == device && memcmp(&group->addr, addr, sizeof(*addr)) == 0)
			break;
	}
	if (group == NULL)
		return;
	tell_workers(roced, group, roced->n_workers, remove_call, &err);
	report(roced, group, TO_INCLUDE);
	TAILQ_REMOVE(&roced->groups, group, link);
	free(group);
}

/* ---- queries ---- */

struct query {
	bool has_vlan, v4, general;
	uint16_t vlan_tci;
	struct wire_addr group;
};

/* RFC 3376 4.1; from the link only, so with a TTL of 1. */
static bool parse_igmp(const uint8_t *ip, size_t n, struct query *query)
{
	const uint8_t *igmp;
	size_t header;

	if (n < 20 || ip[0] >> 4 != 4 || ip[8] != 1 || ip[9] != IP_PROTO_IGMP)
		return false;
	header = (ip[0] & 15u) * 4;
	if (header < 20 || n < header + 8)
		return false;
	igmp = ip + header;
	if (igmp[0] != IGMP_QUERY)
		return false;
	query->v4 = true;
	query->group = (struct wire_addr){.b = {[10] = 0xff, [11] = 0xff}};
	memcpy(query->group.b + 12, igmp + 4, 4);
	query->general = memcmp(igmp + 4, (uint8_t[4]){0}, 4) == 0;
	return true;
}

/* RFC 3810 5.1, behind the hop-by-hop header with the router alert. */
static bool parse_mld(const uint8_t *ip, size_t n, struct query *query)
{
	const uint8_t *icmp = ip + 48;

	if (n < 48 + 24 || ip[0] >> 4 != 6 || ip[6] != 0 || ip[7] != 1 || ip[40] != IP_PROTO_ICMP6 || ip[41] != 0 ||
		icmp[0] != MLD_QUERY)
		return false;
	memcpy(query->group.b, icmp + 8, 16);
	query->general = memcmp(icmp + 8, (uint8_t[16]){0}, 16) == 0;
	return true;
}

static bool parse_query(const uint8_t *frame, size_t n, struct query *query)
{
	size_t at = 12;
	uint32_t type;

	memset(query, 0, sizeof(*query));
	if (n < 18)
		return false;
	type = (uint32_t)frame[at] << 8 | frame[at + 1];
	if (type == 0x8100) {
		query->has_vlan = true;
		query->vlan_tci = (uint16_t)(frame[at + 2] << 8 | frame[at + 3]);
		at += 4;
		type = (uint32_t)frame[at] << 8 | frame[at + 1];
	}
	at += 2;
	if (type == 0x0800)
		return parse_igmp(frame + at, n - at, query);
	return type == 0x86dd && parse_mld(frame + at, n - at, query);
}

bool group_is_query(const uint8_t *frame, size_t n)
{
	struct query query;

	return parse_query(frame, n, &query);
}

/* The answers wait for group_advance(), so that no flood of questions makes more than one a second. */
void group_rx_query(struct roced *roced, const struct port *port, const uint8_t *frame, size_t n)
{
	struct query query;
	struct group *group;

	if (!parse_query(frame, n, &query))
		return;
	TAILQ_FOREACH(group, &roced->groups, link) {
		bool asked = query.general ? wire_addr_is_v4(&group->addr) == query.v4
					   : memcmp(&group->addr, &query.group, sizeof(group->addr)) == 0;

		if (asked && group_device_has(roced, group->device, port, query.has_vlan, query.vlan_tci))
			group->next_ns = 0;
	}
}

/* ---- time ---- */

void group_advance(struct roced *roced, uint64_t now_ns)
{
	struct group *group;

	TAILQ_FOREACH(group, &roced->groups, link) {
		bool soon = group->reports < SOON_REPORTS;

		if (now_ns < group->next_ns)
			continue;
		report(roced, group, soon ? TO_EXCLUDE : IS_EXCLUDE);
		group->reports++;
		group->next_ns = now_ns + REPEAT_NS;
	}
}
