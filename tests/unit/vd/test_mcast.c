/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multicast groups through the client contract (IBTA vol. 1, 10.5.2): queue pairs that are attached get a
 * copy each, the port is a member as long as anybody needs it, and ids join as librdmacm expects.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

#define BUF       1024
#define GROUP_QPN 0xffffffu

/* Three clients with a datagram queue pair each; the first and the third share a worker. */
struct scene {
	struct wx_world *w;
	struct wx_client c[3];
	uint32_t pd[3], key[3];
	struct wx_cq cq[3];
	struct wx_qp qp[3];
	uint8_t buf[3][BUF];
};

static int setup(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->w = wx_new(&(struct vd_limits){.max_groups = 4});
	for (int i = 0; i < 3; i++) {
		wx_connect(s->w, &s->c[i]);
		wx_hello(&s->c[i]);
		s->pd[i] = wx_pd(&s->c[i]);
		s->key[i] = wx_mr(&s->c[i], s->pd[i], s->buf[i], BUF, NULL);
		wx_make_cq(&s->c[i], 16, 0, 0, &s->cq[i]);
		wx_make_qp_of(&s->c[i], s->pd[i], &s->cq[i], IBV_QPT_UD, &s->qp[i]);
		wx_up(&s->qp[i], 0);
	}
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	for (int i = 0; i < 3; i++)
		wx_close(&s->c[i]);
	wx_expect_empty(s->w);
	wx_free(s->w);
	free(s);
	return 0;
}

static int call(struct wx_qp *qp, enum vc_op op, const struct wire_addr *group)
{
	struct vc_request request = {.op = op, .mcast = {.qp = qp->handle}};

	memcpy(request.mcast.gid, group->b, sizeof(group->b));
	return wx_call(qp->c, &request, NULL);
}

static int attach(struct wx_qp *qp, uint8_t i)
{
	struct wire_addr group;

	wx_group4(i, &group);
	return call(qp, VC_ATTACH_MCAST, &group);
}

static int detach(struct wx_qp *qp, uint8_t i)
{
	struct wire_addr group;

	wx_group4(i, &group);
	return call(qp, VC_DETACH_MCAST, &group);
}

/* From the second client; every queue pair has room for it. */
static void send_to(struct scene *s, uint8_t i)
{
	struct tp_send_wqe wqe = {.opcode = TP_WR_SEND,
		.flags = TP_SEND_INLINE,
		.inline_bytes = 5,
		.ud = {.qpn = GROUP_QPN, .qkey = WX_QKEY}};
	struct wire_addr group;

	for (int k = 0; k < 3; k++) {
		struct tp_sge sge = {(uintptr_t)s->buf[k], BUF, s->key[k]};

		wx_post_recv(&s->qp[k], i, 1, &sge);
	}
	wx_group4(i, &group);
	wx_make_ah_to(&s->c[1], s->pd[1], &group, NULL, &wqe.ud.ah);
	wx_post(&s->qp[1], &wqe, NULL, "hello");
	wx_pump(s->w);
}

static bool got_it(struct scene *s, int i)
{
	const struct tp_cqe *cqe = wx_poll(&s->cq[i]);

	if (cqe == NULL)
		return false;
	assert_int_equal(cqe->status, TP_WC_SUCCESS);
	assert_int_equal(cqe->src_qpn, s->qp[1].qpn);
	assert_memory_equal(s->buf[i] + 40, "hello", 5);
	return true;
}

static void members_get_a_copy_each(void **state)
{
	struct scene *s = *state;
	struct wire_addr group;

	assert_int_equal(attach(&s->qp[0], 1), 0);
	assert_int_equal(attach(&s->qp[2], 1), 0);
	assert_int_equal(attach(&s->qp[1], 2), 0);
	assert_int_equal(s->w->joins, 2);
	wx_group4(2, &group);
	assert_memory_equal(&s->w->joined, &group, sizeof(group));
	send_to(s, 1);
	assert_true(got_it(s, 0));
	assert_false(got_it(s, 1));
	assert_true(got_it(s, 2));
	assert_int_equal(detach(&s->qp[0], 1), 0);
	assert_int_equal(s->w->leaves, 0);
	send_to(s, 1);
	assert_false(got_it(s, 0));
	assert_true(got_it(s, 2));
	assert_int_equal(detach(&s->qp[2], 1), 0);
	assert_int_equal(s->w->leaves, 1);
	send_to(s, 1);
	assert_false(got_it(s, 2));
	send_to(s, 2);
	assert_true(got_it(s, 1));
}

static void only_datagram_queue_pairs_and_groups(void **state)
{
	struct scene *s = *state;
	struct wire_addr addr;
	struct wx_qp rc, none = s->qp[0];

	wx_make_qp_of(&s->c[0], s->pd[0], &s->cq[0], IBV_QPT_RC, &rc);
	assert_int_equal(attach(&rc, 1), -EINVAL);
	none.handle += 0x10000;
	assert_int_equal(attach(&none, 1), -EINVAL);
	wx_addr4(0, &addr);
	assert_int_equal(call(&s->qp[0], VC_ATTACH_MCAST, &addr), -EINVAL);
	memset(&addr, 0, sizeof(addr));
	assert_int_equal(call(&s->qp[0], VC_ATTACH_MCAST, &addr), -EINVAL);
	assert_int_equal(detach(&s->qp[0], 1), -EINVAL);
	assert_int_equal(s->w->joins, 0);
	addr = (struct wire_addr){.b = {0xff, 0x15, [15] = 9}};
	assert_int_equal(call(&s->qp[0], VC_ATTACH_MCAST, &addr), 0);
	assert_memory_equal(&s->w->joined, &addr, sizeof(addr));
}

/* As the kernel does it: twice is once, and an attached queue pair stays. */
static void attached_twice_and_destroyed(void **state)
{
	struct scene *s = *state;

	assert_int_equal(attach(&s->qp[0], 1), 0);
	assert_int_equal(attach(&s->qp[0], 1), 0);
	send_to(s, 1);
	assert_true(got_it(s, 0));
	assert_false(got_it(s, 0));
	assert_int_equal(wx_object(&s->c[0], VC_DESTROY_QP, s->qp[0].handle, NULL), -EBUSY);
	assert_int_equal(detach(&s->qp[0], 1), 0);
	assert_int_equal(wx_object(&s->c[0], VC_DESTROY_QP, s->qp[0].handle, NULL), 0);
}

static void limits_and_failures(void **state)
{
	struct scene *s = *state;
	struct vd_stats stats;

	s->w->join_error = -ENOSPC;
	assert_int_equal(attach(&s->qp[0], 1), -ENOSPC);
	s->w->join_error = 0;
	for (uint8_t i = 0; i < 4; i++)
		assert_int_equal(attach(&s->qp[0], i), 0);
	assert_int_equal(attach(&s->qp[0], 4), -ENOMEM);
	assert_int_equal(s->c[0].attr.max_mcast_grp, 4);
	assert_int_equal(attach(&s->qp[1], 3), 0);
	wx_stats(s->w, &stats);
	assert_int_equal(stats.groups, 4);
	assert_int_equal(stats.members, 5);
}

static void wrong_qkey_reaches_no_member(void **state)
{
	struct scene *s = *state;
	struct vc_qp_attr attr = {.mask = IBV_QP_STATE | IBV_QP_QKEY, .state = IBV_QPS_RTS, .qkey = 5};

	assert_int_equal(attach(&s->qp[0], 1), 0);
	assert_int_equal(attach(&s->qp[2], 1), 0);
	assert_int_equal(wx_modify(&s->qp[0], &attr), 0);
	send_to(s, 1);
	assert_false(got_it(s, 0));
	assert_true(got_it(s, 2));
}

/* ---- ids ---- */

struct ids {
	struct wx_client cm;
	uint32_t channel;
	int fd;
};

static void ids_start(struct scene *s, struct ids *ids)
{
	struct vc_request request = {.op = VC_CM_CREATE_CHANNEL};
	struct vc_reply reply;
	int fds[3];

	wx_connect(s->w, &ids->cm);
	wx_hello_cm(&ids->cm);
	assert_int_equal(wx_call_raw(&ids->cm, &request, sizeof(request), &reply, fds), 0);
	ids->channel = reply.cm.handle;
	ids->fd = fds[0];
}

static void ids_stop(struct ids *ids)
{
	close(ids->fd);
	wx_close(&ids->cm);
}

static uint32_t new_id(struct ids *ids, uint32_t ps, enum ibv_qp_type type)
{
	struct vc_request request = {.op = VC_CM_CREATE_ID,
		.cm_create_id = {.cookie = 20, .channel = ids->channel, .ps = ps, .qp_type = type}};
	struct vc_reply reply;

	assert_int_equal(wx_call(&ids->cm, &request, &reply), 0);
	return reply.cm.handle;
}

static struct vc_cm_event expect_event(struct scene *s, struct ids *ids, uint32_t type)
{
	struct vc_cm_event event;

	wx_pump(s->w);
	assert_int_equal(recv(ids->fd, &event, sizeof(event), MSG_DONTWAIT), sizeof(event));
	assert_int_equal(event.type, type);
	assert_int_equal(event.status, 0);
	assert_int_equal(event.id_cookie, 20);
	return event;
}

static struct vc_sockaddr group_addr(uint8_t i)
{
	return (struct vc_sockaddr){.family = AF_INET, .addr = {239, 1, 1, i}};
}

static int join(struct ids *ids, enum vc_op op, uint32_t id, struct vc_sockaddr addr)
{
	struct vc_request request = {
		.op = op, .cm_mcast = {.id = id, .addr = addr, .cookie = 77}};

	return wx_call(&ids->cm, &request, NULL);
}

/* The way of mckey: resolve the group, join, attach, send. */
static void id_joins_a_group(void **state)
{
	struct scene *s = *state;
	struct ids ids;
	struct vc_request request = {.op = VC_CM_RESOLVE_ADDR};
	struct vc_cm_event event;
	struct wire_addr group;
	uint32_t id;

	ids_start(s, &ids);
	id = new_id(&ids, VC_PS_UDP, IBV_QPT_UD);
	request.cm_resolve.id = id;
	request.cm_resolve.dst = group_addr(1);
	assert_int_equal(wx_call(&ids.cm, &request, NULL), 0);
	event = expect_event(s, &ids, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_string_equal(event.device, "roced0");
	assert_int_equal(join(&ids, VC_CM_JOIN_MCAST, id, group_addr(1)), 0);
	event = expect_event(s, &ids, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_int_equal(event.mcast_cookie, 77);
	assert_int_equal(event.param.qpn, GROUP_QPN);
	assert_int_equal(event.param.qkey, 0x01234567);
	assert_int_equal(event.av.sgid_index, 1);
	wx_group4(1, &group);
	assert_memory_equal(event.av.dgid, group.b, sizeof(group.b));
	assert_int_equal(s->w->joins, 1);
	/* One membership of the port for both. */
	assert_int_equal(attach(&s->qp[0], 1), 0);
	assert_int_equal(s->w->joins, 1);
	assert_int_equal(join(&ids, VC_CM_JOIN_MCAST, id, group_addr(1)), -EADDRINUSE);
	assert_int_equal(join(&ids, VC_CM_LEAVE_MCAST, id, group_addr(1)), 0);
	assert_int_equal(join(&ids, VC_CM_LEAVE_MCAST, id, group_addr(1)), -EADDRNOTAVAIL);
	assert_int_equal(s->w->leaves, 0);
	assert_int_equal(detach(&s->qp[0], 1), 0);
	assert_int_equal(s->w->leaves, 1);
	/* What it has not left it leaves with its id. */
	assert_int_equal(join(&ids, VC_CM_JOIN_MCAST, id, group_addr(2)), 0);
	assert_int_equal(wx_object(&ids.cm, VC_CM_DESTROY_ID, id, NULL), 0);
	assert_int_equal(s->w->leaves, 2);
	ids_stop(&ids);
}

static void bad_joins(void **state)
{
	struct scene *s = *state;
	struct vc_sockaddr six = {.family = AF_INET6, .addr = {0xff, 0x15, [15] = 1}};
	struct vc_sockaddr mapped = {
		.family = AF_INET6, .addr = {[10] = 0xff, [11] = 0xff, [12] = 239, [15] = 1}};
	struct vc_request bind = {.op = VC_CM_BIND, .cm_bind.src = {.family = AF_INET, .addr = {192, 0, 2, 1}}};
	struct ids ids;
	uint32_t id, rc;

	ids_start(s, &ids);
	id = new_id(&ids, VC_PS_UDP, IBV_QPT_UD);
	assert_int_equal(join(&ids, VC_CM_JOIN_MCAST, id, group_addr(1)), -EINVAL); /* no device yet */
	bind.cm_bind.id = id;
	assert_int_equal(wx_call(&ids.cm, &bind, NULL), 0);
	assert_int_equal(join(&ids, VC_CM_JOIN_MCAST, id, six), -EINVAL);
	assert_int_equal(join(&ids, VC_CM_JOIN_MCAST, id, bind.cm_bind.src), -EINVAL);
	assert_int_equal(join(&ids, VC_CM_LEAVE_MCAST, id, group_addr(1)), -EADDRNOTAVAIL);
	rc = new_id(&ids, VC_PS_TCP, IBV_QPT_RC);
	bind.cm_bind.id = rc;
	assert_int_equal(wx_call(&ids.cm, &bind, NULL), 0);
	assert_int_equal(join(&ids, VC_CM_JOIN_MCAST, rc, group_addr(1)), -EINVAL);
	/* An IPv4 group in the clothes of the other family. */
	bind.cm_bind.id = new_id(&ids, VC_PS_UDP, IBV_QPT_UD);
	bind.cm_bind.src =
		(struct vc_sockaddr){.family = AF_INET6, .addr = {0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
	assert_int_equal(wx_call(&ids.cm, &bind, NULL), 0);
	assert_int_equal(join(&ids, VC_CM_JOIN_MCAST, bind.cm_bind.id, mapped), -EINVAL);
	assert_int_equal(join(&ids, VC_CM_JOIN_MCAST, bind.cm_bind.id, six), 0);
	for (uint8_t i = 1; i <= 3; i++)
		assert_int_equal(join(&ids, VC_CM_JOIN_MCAST, id, group_addr(i)), 0);
	assert_int_equal(join(&ids, VC_CM_JOIN_MCAST, id, group_addr(4)), -ENOMEM); /* max_groups */
	assert_int_equal(s->w->joins, 4);
	/* The process dies: everything is left. */
	ids_stop(&ids);
	assert_int_equal(s->w->leaves, 4);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(members_get_a_copy_each),
		TEST(only_datagram_queue_pairs_and_groups),
		TEST(attached_twice_and_destroyed),
		TEST(limits_and_failures),
		TEST(wrong_qkey_reaches_no_member),
		TEST(id_joins_a_group),
		TEST(bad_joins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
