/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random requests by seed: most fields hold something that could be right, so that they get deep.
 * Every request is answered, and in the end everything is released.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

#define CLIENTS  4
#define REQUESTS 6000

static uint8_t memory[4096];

struct dice {
	uint64_t x;
};

static uint32_t roll(struct dice *d, uint32_t below)
{
	d->x ^= d->x << 13;
	d->x ^= d->x >> 7;
	d->x ^= d->x << 17;
	return (uint32_t)(d->x >> 24) % below;
}

static uint32_t word(struct dice *d)
{
	static const uint32_t likely[] = {0, 1, 2, 3, 4, 5, 6, 16, 64, VC_PS_TCP, VC_PS_UDP,
		VC_PS_IB, AF_INET, AF_INET6, 0xffff, 0x80000000, 0xffffffff};

	switch (roll(d, 8)) {
	case 0:
		return roll(d, 0xffffffff);
	case 1:
	case 2:
		return roll(d, 4) << 16 | (1 + roll(d, 6)); /* a handle */
	default:
		return likely[roll(d, sizeof(likely) / sizeof(likely[0]))];
	}
}

static uint32_t operation(struct dice *d, bool cm)
{
	if (roll(d, 50) == 0)
		return roll(d, 100);
	if (cm)
		return VC_CM_CREATE_CHANNEL + roll(d, VC_CM_LEAVE_MCAST - VC_CM_CREATE_CHANNEL + 1);
	return VC_LIST_DEVICES + roll(d, VC_OPEN_QP - VC_LIST_DEVICES + 1);
}

/* What random words hardly ever hit. */
static void help(struct dice *d, struct vc_request *request)
{
	const struct vc_sockaddr near = {.family = AF_INET,
		.port = (uint16_t)(0x100 * roll(d, 4)),
		.addr = {192, 0, 2, (uint8_t)(1 + roll(d, 3))}};
	static const uint8_t mapped[16] = {[10] = 0xff, [11] = 0xff, [12] = 192, [14] = 2, [15] = 1};
	struct vc_qp_attr *attr = &request->modify_qp.attr;
	struct wx_qp qp = {0};
	struct wire_addr group;

	switch (request->op) {
	case VC_REG_MR:
		request->reg_mr.addr = request->reg_mr.iova = (uintptr_t)memory;
		request->reg_mr.bytes = sizeof(memory);
		request->reg_mr.access = roll(d, 128);
		break;
	case VC_REREG_MR:
		request->rereg_mr.addr = (uintptr_t)memory;
		request->rereg_mr.bytes = 1 + roll(d, sizeof(memory));
		request->rereg_mr.flags = roll(d, 9);
		request->rereg_mr.access = roll(d, 128);
		break;
	case VC_CREATE_QP:
		request->create_qp.type = roll(d, 3) == 0 ? IBV_QPT_XRC_SEND + roll(d, 2) : IBV_QPT_RC + roll(d, 3);
		request->create_qp.max_send_wr = roll(d, 64);
		request->create_qp.max_recv_wr = roll(d, 64);
		request->create_qp.max_send_sge = request->create_qp.max_recv_sge = roll(d, 17);
		request->create_qp.max_inline_bytes = roll(d, 257);
		request->create_qp.srq = roll(d, 2) * request->create_qp.srq;
		break;
	case VC_MODIFY_QP:
		qp.type = IBV_QPT_RC + roll(d, 3);
		wx_attr_of(&qp, attr, roll(d, 8), 2 + roll(d, 100));
		break;
	case VC_ALLOC_MW:
		request->alloc_mw.type = roll(d, 4);
		break;
	case VC_ATTACH_MCAST:
	case VC_DETACH_MCAST:
		wx_group4((uint8_t)roll(d, 3), &group);
		memcpy(request->mcast.gid, group.b, sizeof(group.b));
		break;
	case VC_OPEN_XRCD:
		request->open_xrcd.fd = (int32_t)roll(d, 4) - 1;
		request->open_xrcd.oflags = O_CREAT;
		break;
	case VC_MODIFY_SRQ:
		request->modify_srq.mask = roll(d, 4);
		request->modify_srq.max_wr = roll(d, 64);
		request->modify_srq.limit = roll(d, 64);
		break;
	case VC_CREATE_SRQ:
		request->create_srq.xrcd = roll(d, 2) * request->create_srq.xrcd;
		request->create_srq.max_wr = roll(d, 64);
		request->create_srq.max_sge = roll(d, 17);
		break;
	case VC_CREATE_AH:
		request->create_ah.av = (struct vc_av){.sgid_index = 1};
		memcpy(request->create_ah.av.dgid, mapped, sizeof(mapped));
		break;
	case VC_CM_JOIN_MCAST:
	case VC_CM_LEAVE_MCAST:
		request->cm_mcast.addr =
			(struct vc_sockaddr){.family = AF_INET, .addr = {239, 1, 1, (uint8_t)roll(d, 3)}};
		break;
	case VC_CM_BIND:
		request->cm_bind.src = near;
		break;
	case VC_CM_RESOLVE_ADDR:
		request->cm_resolve.src.family = 0;
		request->cm_resolve.dst = near;
		break;
	case VC_CM_CONNECT:
	case VC_CM_ACCEPT:
	case VC_CM_REJECT:
		request->cm_conn.param.qpn = 2 + roll(d, 1000);
		request->cm_conn.param.private_bytes = roll(d, 60);
		break;
	default:
		break;
	}
}

static void one_request(
	struct dice *d, struct wx_client *c, bool cm, int kept[64], uint32_t *n_kept)
{
	struct vc_request request;
	struct vc_reply reply;
	int fds[3];

	for (size_t i = 0; i < sizeof(request) / sizeof(uint32_t); i++)
		((uint32_t *)(void *)&request)[i] = word(d);
	request.op = operation(d, cm);
	if (roll(d, 8) != 0)
		help(d, &request);
	c->w->resolve = roll(d, 5) == 0 ? WX_RESOLVE_FAIL : WX_RESOLVE_NOW;
	(void)wx_call_raw(c, &request, sizeof(request), &reply, fds);
	assert_true(reply.status <= 0);
	for (uint32_t i = 0; i < reply.n_fds; i++) {
		/* Some channels stay open, unread; others are closed at once. */
		if (*n_kept < 64 && roll(d, 2) == 0)
			kept[(*n_kept)++] = fds[i];
		else
			close(fds[i]);
	}
}

static void run(uint64_t seed)
{
	struct wx_world *w = wx_new(&(struct vd_limits){.max_qps = 6,
		.max_cqs = 6,
		.max_srqs = 6,
		.max_mws = 6,
		.max_mrs = 6,
		.max_pds = 6,
		.max_ahs = 6,
		.max_channels = 6,
		.max_cm_ids = 6,
		.max_cqe = 256,
		.max_send_wr = 64,
		.max_recv_wr = 64,
		.shm_bytes = 4u << 20});
	struct dice d = {seed * 0x9e3779b97f4a7c15u + 88172645463325252u};
	struct wx_client c[CLIENTS];
	uint32_t n_kept = 0;
	int kept[64];

	for (int i = 0; i < CLIENTS; i++) {
		wx_connect(w, &c[i]);
		if (i < 2)
			wx_hello(&c[i]);
		else
			wx_hello_cm(&c[i]);
	}
	for (int i = 0; i < REQUESTS; i++) {
		uint32_t k = roll(&d, CLIENTS);

		one_request(&d, &c[k], k >= 2, kept, &n_kept);
		if (roll(&d, 200) == 0)
			wx_pass(w, 10000 * WX_MS);
	}
	for (uint32_t i = 0; i < n_kept; i++)
		close(kept[i]);
	for (int i = 0; i < CLIENTS; i++) {
		assert_int_equal(wx_object(&c[i], VC_LIST_DEVICES, 0, NULL), 0);
		wx_close(&c[i]);
	}
	wx_expect_empty(w);
	wx_free(w);
}

static void random_requests(void **state)
{
	const char *wish = getenv("VD_SEED");

	(void)state;
	if (wish != NULL) {
		run(strtoull(wish, NULL, 0));
		return;
	}
	for (uint64_t seed = 1; seed <= 5; seed++) {
		printf("seed %u\n", (unsigned)seed);
		run(seed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(random_requests)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
