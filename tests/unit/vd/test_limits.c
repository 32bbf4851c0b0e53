/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What one user's programs may take together (docs/configuration.md, user_limits), and what each of them (limits): who asks
 * for more is told so by ENOMEM, the log says which limit of whom, others are served, and what is given back or dies
 * counts no more.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

#define USER  4711
#define OTHER 4712

static const struct vd_user_limits limits = {.max_sessions = 4,
	.max_pds = 4,
	.max_mrs = 3,
	.max_mws = 2,
	.max_cqs = 4,
	.max_srqs = 2,
	.max_qps = 3,
	.max_ahs = 2,
	.max_groups = 2,
	.max_channels = 3,
	.max_cm_ids = 3,
	.max_listeners = 1,
	.registered_bytes = 1u << 20,
	.ring_bytes = 256u << 10};

static const struct vd_limits client_limits = {.max_pds = 4,
	.max_mrs = 3,
	.max_mws = 2,
	.max_cqs = 4,
	.max_srqs = 2,
	.max_qps = 3,
	.max_ahs = 2,
	.registered_bytes = 1u << 20,
	.shm_bytes = 1u << 20};

static uint8_t memory[2u << 20];

/* A client that has one of what the others need. */
struct program {
	struct wx_client c;
	uid_t uid;
	uint32_t pd;
	struct wx_cq cq;
};

struct scene {
	struct wx_world *w;
	struct program p[3]; /* two of one user, one of another */
};

static void start(struct wx_world *w, uid_t uid, struct program *p)
{
	p->uid = uid;
	wx_connect_as(w, uid, &p->c);
	wx_hello_as(&p->c, uid);
	p->pd = wx_pd(&p->c);
	wx_make_cq(&p->c, 16, 0, 0, &p->cq);
}

static int setup_with(void **state, const struct vd_limits *of_client, const struct vd_user_limits *of_user)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	if (geteuid() != 0)
		return 0;
	s->w = wx_new_for(of_client, of_user);
	for (int i = 0; i < 3; i++)
		start(s->w, i < 2 ? USER : OTHER, &s->p[i]);
	*state = s;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, NULL, &limits);
}

static int setup_clients(void **state)
{
	return setup_with(state, &client_limits, NULL);
}

static int setup_memory(void **state)
{
	return setup_with(state, &(struct vd_limits){.shm_bytes = 1u << 20}, NULL);
}

static int teardown(void **state)
{
	struct scene *s = *state;

	if (s == NULL)
		return 0;
	for (int i = 0; i < 3; i++)
		wx_close(&s->p[i].c);
	wx_expect_empty(s->w);
	wx_free(s->w);
	free(s);
	return 0;
}

#define NEED_ROOT(state)                                                                           \
	do {                                                                                       \
		if (*(state) == NULL)                                                              \
			skip();                                                                    \
	} while (0)

/* ---- one of each kind; 0 or the errno, handle for taking it back ---- */

typedef int make_fn(struct program *p, uint32_t *handle);

static int make_pd(struct program *p, uint32_t *handle)
{
	struct vc_reply reply;
	int err = wx_object(&p->c, VC_ALLOC_PD, 0, &reply);

	*handle = reply.object.handle;
	return err;
}

static int register_bytes(struct program *p, uint64_t bytes, uint32_t *handle)
{
	struct vc_request request = {.op = VC_REG_MR,
		.reg_mr = {.pd = p->pd, .addr = (uintptr_t)memory, .bytes = bytes}};
	struct vc_reply reply;
	int err = wx_call(&p->c, &request, &reply);

	*handle = reply.mr.handle;
	return err;
}

static int make_mr(struct program *p, uint32_t *handle)
{
	return register_bytes(p, 1, handle);
}

static int make_half_mib(struct program *p, uint32_t *handle)
{
	return register_bytes(p, 1u << 19, handle);
}

static int make_mw(struct program *p, uint32_t *handle)
{
	struct vc_request request = {.op = VC_ALLOC_MW, .alloc_mw = {.pd = p->pd, .type = IBV_MW_TYPE_1}};
	struct vc_reply reply;
	int err = wx_call(&p->c, &request, &reply);

	*handle = reply.mr.handle;
	return err;
}

static int make_cq_of(struct program *p, uint32_t depth, uint32_t *handle)
{
	struct vc_request request = {.op = VC_CREATE_CQ, .create_cq.depth = depth};
	struct vc_reply reply;
	int err = wx_call(&p->c, &request, &reply);

	*handle = reply.cq.handle;
	return err;
}

static int make_cq(struct program *p, uint32_t *handle)
{
	return make_cq_of(p, 1, handle);
}

/* Of 68 KiB, one with 2048 entries of 132 KiB. */
static int make_deep_cq(struct program *p, uint32_t *handle)
{
	return make_cq_of(p, 1024, handle);
}

static int make_srq(struct program *p, uint32_t *handle)
{
	struct vc_request request = {.op = VC_CREATE_SRQ, .create_srq = {.pd = p->pd, .max_wr = 1, .max_sge = 1}};
	struct vc_reply reply;
	int err = wx_call(&p->c, &request, &reply);

	*handle = reply.srq.handle;
	return err;
}

static int make_qp(struct program *p, uint32_t *handle)
{
	struct vc_request request;
	struct vc_reply reply;
	int err;

	wx_create_qp_request(p->pd, &p->cq, 1, &request);
	err = wx_call(&p->c, &request, &reply);
	*handle = reply.qp.handle;
	return err;
}

static int make_ah(struct program *p, uint32_t *handle)
{
	struct vc_request request = {
		.op = VC_CREATE_AH, .create_ah = {.pd = p->pd, .av = {.sgid_index = 1, .hop_limit = 64}}};
	struct wire_addr dst;
	struct vc_reply reply;
	int err;

	wx_addr4(0, &dst);
	memcpy(request.create_ah.av.dgid, dst.b, sizeof(dst.b));
	err = wx_call(&p->c, &request, &reply);
	*handle = reply.ah.handle;
	return err;
}

static const struct kind {
	const char *what;
	make_fn *make;
	enum vc_op take_back;
	uint32_t most; /* of the user, beside what it has from its start */
	uint32_t own;  /* what a program has from its start */
} kinds[] = {
	{"protection domains", make_pd, VC_DEALLOC_PD, 2, 1},
	{"memory regions", make_mr, VC_DEREG_MR, 3, 0},
	{"registered bytes", make_half_mib, VC_DEREG_MR, 2, 0},
	{"memory windows", make_mw, VC_DEALLOC_MW, 2, 0},
	{"completion queues", make_cq, VC_DESTROY_CQ, 2, 1},
	{"shared receive queues", make_srq, VC_DESTROY_SRQ, 2, 0},
	{"queue pairs", make_qp, VC_DESTROY_QP, 3, 0},
	{"address handles", make_ah, VC_DESTROY_AH, 2, 0},
};

static uint64_t at_limit(struct wx_world *w)
{
	struct vd_stats stats;

	wx_stats(w, &stats);
	return stats.at_limit;
}

/* Both programs of the user take in turns until it has all it may have. */
static void use_up(struct scene *s, make_fn *make, uint32_t most, uint32_t *handles)
{
	for (uint32_t i = 0; i < most; i++)
		assert_int_equal(make(&s->p[i % 2], &handles[i]), 0);
}

static void each_kind_has_its_limit(void **state)
{
	struct scene *s = *state;
	uint32_t handles[8], other, more;

	NEED_ROOT(state);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		const struct kind *kind = &kinds[k];
		uint64_t before = at_limit(s->w);

		print_message("%s\n", kind->what);
		use_up(s, kind->make, kind->most, handles);
		assert_int_equal(at_limit(s->w), before);
		/* more is too much, for each of its programs; the other user does not feel it */
		assert_int_equal(kind->make(&s->p[0], &more), -ENOMEM);
		assert_int_equal(kind->make(&s->p[1], &more), -ENOMEM);
		assert_int_equal(at_limit(s->w), before + 2);
		assert_int_equal(kind->make(&s->p[2], &other), 0);
		assert_int_equal(wx_object(&s->p[2].c, kind->take_back, other, NULL), 0);
		/* what one program gives back the other may have */
		assert_int_equal(wx_object(&s->p[0].c, kind->take_back, handles[0], NULL), 0);
		assert_int_equal(kind->make(&s->p[1], &more), 0);
		assert_int_equal(wx_object(&s->p[1].c, kind->take_back, more, NULL), 0);
		for (uint32_t i = 1; i < kind->most; i++)
			assert_int_equal(wx_object(&s->p[i % 2].c, kind->take_back, handles[i], NULL), 0);
	}
}

/* With limits of each program the other one of the same user does not feel it. */
static void each_client_has_its_limit(void **state)
{
	struct scene *s = *state;
	uint32_t handles[8], other, more;

	NEED_ROOT(state);
	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++) {
		const struct kind *kind = &kinds[k];
		uint32_t most = kind->most + kind->own;

		print_message("%s\n", kind->what);
		for (uint32_t i = 0; i < most; i++)
			assert_int_equal(kind->make(&s->p[0], &handles[i]), 0);
		assert_int_equal(kind->make(&s->p[0], &more), -ENOMEM);
		assert_int_equal(kind->make(&s->p[1], &other), 0);
		assert_int_equal(wx_object(&s->p[1].c, kind->take_back, other, NULL), 0);
		assert_int_equal(wx_object(&s->p[0].c, kind->take_back, handles[0], NULL), 0);
		assert_int_equal(kind->make(&s->p[0], &handles[0]), 0);
		for (uint32_t i = 0; i < most; i++)
			assert_int_equal(wx_object(&s->p[0].c, kind->take_back, handles[i], NULL), 0);
	}
}

/* Queues of 1024 entries until a program's shared memory is full; as many each time, so nothing is left behind. */
static uint32_t fill_with_queues(struct program *p)
{
	uint32_t handles[16], n = 0;
	int err;

	while ((err = make_deep_cq(p, &handles[n])) == 0)
		assert_true(++n < 16);
	assert_int_equal(err, -ENOMEM);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(wx_object(&p->c, VC_DESTROY_CQ, handles[i], NULL), 0);
	return n;
}

static void a_clients_shared_memory_has_an_end(void **state)
{
	struct scene *s = *state;
	uint32_t n;

	NEED_ROOT(state);
	n = fill_with_queues(&s->p[0]);
	/* of 68 KiB each */
	assert_in_range(n, 8, 15);
	assert_int_equal(fill_with_queues(&s->p[0]), n);
	assert_int_equal(fill_with_queues(&s->p[1]), n);
}

static void queues_are_counted_by_size(void **state)
{
	struct scene *s = *state;
	uint32_t deep, more, other;
	struct vc_request request = {.op = VC_RESIZE_CQ, .resize_cq.depth = 2048};

	NEED_ROOT(state);
	assert_int_equal(make_cq_of(&s->p[0], 2048, &deep), 0);
	assert_int_equal(make_cq_of(&s->p[1], 2048, &more), -ENOMEM);
	assert_int_equal(make_deep_cq(&s->p[1], &more), 0);
	/* both queues are there while one takes the other's place */
	request.resize_cq.handle = more;
	assert_int_equal(wx_call(&s->p[1].c, &request, NULL), -ENOMEM);
	assert_int_equal(make_cq_of(&s->p[2], 2048, &other), 0);
	assert_int_equal(wx_object(&s->p[0].c, VC_DESTROY_CQ, deep, NULL), 0);
	assert_int_equal(wx_call(&s->p[1].c, &request, NULL), 0);
}

/* A refused one leaves nothing behind: the same works when there is room. */
static void regions_are_counted_by_size(void **state)
{
	struct scene *s = *state;
	uint32_t half, rest;

	NEED_ROOT(state);
	assert_int_equal(register_bytes(&s->p[0], (1u << 20) + 1, &half), -ENOMEM);
	assert_int_equal(register_bytes(&s->p[0], 1u << 19, &half), 0);
	for (int i = 0; i < 5; i++)
		assert_int_equal(register_bytes(&s->p[1], (1u << 19) + 1, &rest), -ENOMEM);
	assert_int_equal(register_bytes(&s->p[1], 1u << 19, &rest), 0);
}

static int change(struct program *p, uint32_t mr, uint32_t flags, uint32_t access, uint64_t bytes)
{
	struct vc_request request = {.op = VC_REREG_MR,
		.rereg_mr = {.handle = mr,
			.flags = flags,
			.pd = p->pd,
			.access = access,
			.addr = (uintptr_t)memory,
			.bytes = bytes}};

	return wx_call(&p->c, &request, NULL);
}

/* Changing a region takes what it grows by, and gives what it shrinks by, even at the limit. */
static void changes_of_regions_are_counted(void **state)
{
	const uint32_t size = IBV_REREG_MR_CHANGE_TRANSLATION, rights = IBV_REREG_MR_CHANGE_ACCESS;
	struct scene *s = *state;
	uint32_t all, rest;

	NEED_ROOT(state);
	assert_int_equal(register_bytes(&s->p[0], 1u << 20, &all), 0);
	assert_int_equal(change(&s->p[0], all, IBV_REREG_MR_CHANGE_PD, 0, 0), 0);
	assert_int_equal(change(&s->p[0], all, rights, IBV_ACCESS_LOCAL_WRITE, 0), 0);
	assert_int_equal(change(&s->p[0], all, size, 0, (1u << 20) + 1), -ENOMEM);
	assert_int_equal(register_bytes(&s->p[1], 1, &rest), -ENOMEM);
	assert_int_equal(change(&s->p[0], all, size, 0, 1u << 19), 0);
	assert_int_equal(register_bytes(&s->p[1], 1u << 19, &rest), 0);
	assert_int_equal(change(&s->p[0], all, size, 0, (1u << 19) + 1), -ENOMEM);
	/* Memory on demand takes nothing. */
	assert_int_equal(change(&s->p[0], all, rights, IBV_ACCESS_ON_DEMAND, 0), 0);
	assert_int_equal(change(&s->p[1], rest, size, 0, 1u << 20), 0);
	assert_int_equal(change(&s->p[0], all, rights, 0, 0), -ENOMEM);
	assert_int_equal(wx_object(&s->p[1].c, VC_DEREG_MR, rest, NULL), 0);
	assert_int_equal(change(&s->p[0], all, rights, 0, 0), 0);
	assert_int_equal(register_bytes(&s->p[1], (1u << 19) + 1, &rest), -ENOMEM);
	assert_int_equal(register_bytes(&s->p[1], 1u << 19, &rest), 0);
}

static void the_dead_hold_nothing(void **state)
{
	struct scene *s = *state;
	uint32_t handles[8];

	NEED_ROOT(state);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(make_qp(&s->p[0], &handles[i]), 0);
	assert_int_equal(make_half_mib(&s->p[0], &handles[3]), 0);
	assert_int_equal(make_deep_cq(&s->p[0], &handles[4]), 0);
	assert_int_equal(make_qp(&s->p[1], &handles[5]), -ENOMEM);
	wx_close(&s->p[0].c);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(make_qp(&s->p[1], &handles[i]), 0);
	assert_int_equal(register_bytes(&s->p[1], 1u << 20, &handles[3]), 0);
	start(s->w, USER, &s->p[0]);
}

static void attach(struct program *p, uint32_t qp, uint8_t i, int expected)
{
	struct vc_request request = {.op = VC_ATTACH_MCAST, .mcast.qp = qp};
	struct wire_addr group;

	wx_group4(i, &group);
	memcpy(request.mcast.gid, group.b, sizeof(group.b));
	assert_int_equal(wx_call(&p->c, &request, NULL), expected);
}

static void memberships_are_counted(void **state)
{
	struct scene *s = *state;
	struct wx_qp qp[3];

	NEED_ROOT(state);
	for (int i = 0; i < 3; i++)
		wx_make_qp_of(&s->p[i].c, s->p[i].pd, &s->p[i].cq, IBV_QPT_UD, &qp[i]);
	attach(&s->p[0], qp[0].handle, 1, 0);
	attach(&s->p[1], qp[1].handle, 1, 0);
	attach(&s->p[0], qp[0].handle, 2, -ENOMEM);
	attach(&s->p[2], qp[2].handle, 2, 0);
}

/* ---- connection management ---- */

static int make_id(struct wx_client *c, uint32_t channel, uint32_t *id)
{
	struct vc_request request = {.op = VC_CM_CREATE_ID,
		.cm_create_id = {.cookie = 1, .channel = channel, .ps = VC_PS_TCP, .qp_type = IBV_QPT_RC}};
	struct vc_reply reply;
	int err = wx_call(c, &request, &reply);

	*id = reply.cm.handle;
	return err;
}

static int listen_on(struct wx_client *c, uint32_t id, uint16_t port)
{
	struct vc_request request = {.op = VC_CM_BIND, .cm_bind = {.id = id}};

	request.cm_bind.src = (struct vc_sockaddr){.family = AF_INET, .port = htons(port)};
	if (wx_call(c, &request, NULL) != 0)
		return -1;
	request = (struct vc_request){.op = VC_CM_LISTEN, .cm_bind = {.id = id, .backlog = 1}};
	return wx_call(c, &request, NULL);
}

static void cm_channel(struct wx_client *c, uint32_t *handle, int *fd)
{
	struct vc_request request = {.op = VC_CM_CREATE_CHANNEL};
	struct vc_reply reply;
	int fds[3];

	assert_int_equal(wx_call_raw(c, &request, sizeof(request), &reply, fds), 0);
	*handle = reply.cm.handle;
	*fd = fds[0];
}

static void ids_and_listeners(void **state)
{
	struct scene *s = *state;
	struct wx_client c;
	uint32_t channel, id[4];
	int fd;

	NEED_ROOT(state);
	wx_connect_as(s->w, USER, &c);
	wx_hello_cm(&c);
	cm_channel(&c, &channel, &fd);
	for (int i = 0; i < 3; i++)
		assert_int_equal(make_id(&c, channel, &id[i]), 0);
	assert_int_equal(make_id(&c, channel, &id[3]), -ENOMEM);
	assert_int_equal(listen_on(&c, id[0], 7001), 0);
	assert_int_equal(listen_on(&c, id[1], 7002), -ENOMEM);
	assert_int_equal(wx_object(&c, VC_CM_DESTROY_ID, id[0], NULL), 0);
	/* the second one is bound already */
	assert_int_equal(listen_on(&c, id[2], 7003), 0);
	close(fd);
	wx_close(&c);
}

/* ---- sessions ---- */

static void expect_refusal(struct wx_client *c, int status)
{
	struct vc_request request = {.op = VC_HELLO_CM, .hello = {VC_MAGIC, VC_VERSION, ""}};
	struct vc_reply reply;
	int fds[3];

	(void)send(c->sock, &request, sizeof(request), MSG_NOSIGNAL);
	assert_true(wx_recv(c, &reply, fds));
	assert_int_equal(reply.op, VC_REFUSED);
	assert_int_equal(reply.status, status);
	assert_false(wx_recv(c, &reply, fds));
	close(c->sock);
}

static void sessions_have_a_limit(void **state)
{
	struct scene *s = *state;
	struct wx_client c[4];
	struct vd_stats stats;

	NEED_ROOT(state);
	wx_connect_as(s->w, USER, &c[0]);
	wx_connect_as(s->w, USER, &c[1]);
	wx_connect_as(s->w, USER, &c[2]);
	expect_refusal(&c[2], -EAGAIN);
	wx_connect_as(s->w, OTHER, &c[3]);
	wx_hello_cm(&c[3]);
	wx_hello_cm(&c[0]);
	wx_stats(s->w, &stats);
	assert_int_equal(stats.sessions, 6);
	assert_int_equal(stats.refused_sessions, 1);
	wx_close(&c[0]);
	wx_connect_as(s->w, USER, &c[2]);
	wx_hello_cm(&c[2]);
	for (int i = 1; i < 4; i++)
		wx_close(&c[i]);
}

/* One who harms others loses what it has, and is not let in for a minute. */
static void a_user_is_shut_out(void **state)
{
	struct scene *s = *state;
	struct wx_client c;
	struct vd_stats stats;

	NEED_ROOT(state);
	assert_int_equal(vd_shut_out(s->w->vd, USER), 2);
	wx_stats(s->w, &stats);
	assert_int_equal(stats.sessions, 1);
	wx_connect_as(s->w, USER, &c);
	expect_refusal(&c, -EACCES);
	wx_pass(s->w, 61000 * WX_MS);
	for (int i = 0; i < 2; i++) {
		wx_close(&s->p[i].c);
		start(s->w, USER, &s->p[i]);
	}
}

/* ---- what is said ---- */

static void the_log_tells_once_a_minute(void **state)
{
	struct scene *s = *state;
	uint32_t handles[8], more, lines = s->w->log_lines;

	NEED_ROOT(state);
	use_up(s, make_qp, 3, handles);
	for (int i = 0; i < 20; i++)
		assert_int_equal(make_qp(&s->p[i % 2], &more), -ENOMEM);
	assert_int_equal(s->w->log_lines, lines + 1);
	use_up(s, make_mw, 2, handles);
	assert_int_equal(make_mw(&s->p[0], &more), -ENOMEM);
	assert_int_equal(s->w->log_lines, lines + 2);
	wx_pass(s->w, 61000 * WX_MS);
	assert_int_equal(make_qp(&s->p[0], &more), -ENOMEM);
	assert_int_equal(s->w->log_lines, lines + 3);
}

static void the_device_tells_what_one_may_have(void **state)
{
	struct scene *s = *state;
	const struct vc_device_attr *attr = &s->p[0].c.attr;

	NEED_ROOT(state);
	assert_int_equal(attr->max_qp, limits.max_qps);
	assert_int_equal(attr->max_cq, limits.max_cqs);
	assert_int_equal(attr->max_srq, limits.max_srqs);
	assert_int_equal(attr->max_mr, limits.max_mrs);
	assert_int_equal(attr->max_mw, limits.max_mws);
	assert_int_equal(attr->max_pd, limits.max_pds);
	assert_int_equal(attr->max_ah, limits.max_ahs);
	assert_int_equal(attr->max_mcast_grp, limits.max_groups);
	assert_int_equal(attr->max_mr_bytes, limits.registered_bytes);
}

#define TEST(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_kind_has_its_limit),
		cmocka_unit_test_setup_teardown(each_client_has_its_limit, setup_clients, teardown),
		cmocka_unit_test_setup_teardown(a_clients_shared_memory_has_an_end, setup_memory, teardown),
		TEST(queues_are_counted_by_size),
		TEST(regions_are_counted_by_size),
		TEST(changes_of_regions_are_counted),
		TEST(the_dead_hold_nothing),
		TEST(memberships_are_counted),
		TEST(ids_and_listeners),
		TEST(sessions_have_a_limit),
		TEST(a_user_is_shut_out),
		TEST(the_log_tells_once_a_minute),
		TEST(the_device_tells_what_one_may_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
