/* SPDX-License-Identifier: BSD-3-Clause */
/* libibverbs' control path: what programs see of devices and objects, and of a daemon that goes. */
#include "env.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>

const char *ibv_get_sysfs_path(void);
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);
int ibv_query_gid_type(struct ibv_context *context, uint8_t port_num, unsigned int index, int *type);

/* ibv_get_device_list: the daemon's devices; none, and no error, without a daemon. */
static void test_device_list(void **state)
{
	struct env *env = *state;
	struct ibv_device **list;
	char text[32];
	int n = -1;

	list = ibv_get_device_list(&n);
	assert_int_equal(n, 1);
	assert_null(list[1]);
	assert_string_equal(ibv_get_device_name(list[0]), FAKE_DEVICE);
	assert_int_equal(ibv_get_device_guid(list[0]), htobe64(FAKE_GUID));
	assert_int_equal(ibv_get_device_index(list[0]), 0);
	assert_int_equal(list[0]->node_type, IBV_NODE_CA);
	assert_ptr_equal(list[0], env->context->device); /* the same object every time */
	assert_int_equal(ibv_read_sysfs_file(list[0]->ibdev_path, "node_guid", text, sizeof(text)), 19);
	assert_string_equal(text, "0200:c0ff:fe00:0001");
	assert_int_equal(ibv_read_sysfs_file(list[0]->ibdev_path, "board_id", text, sizeof(text)), 5);
	assert_int_equal(ibv_read_sysfs_file(list[0]->ibdev_path, "node_guid", text, 19), -1); /* no room for the end */
	assert_int_equal(ibv_read_sysfs_file(list[0]->ibdev_path, "nothing", text, sizeof(text)), -1);
	ibv_free_device_list(list);

	setenv("ROCED_SOCKET", "/nowhere/roced.sock", 1);
	list = ibv_get_device_list(&n);
	assert_non_null(list);
	assert_int_equal(n, 0);
	ibv_free_device_list(list);
}

/* Newer than the headers of rdma-core 44. */
struct ibv_buf;
int ibv_query_port_speed(struct ibv_context *context, uint32_t port_num, uint64_t *port_speed);
const char *ibv_wr_opcode_str(enum ibv_wr_opcode opcode);
void *ibv_alloc_buf(struct ibv_pd *pd, size_t size, struct ibv_buf **buf);
void ibv_free_buf(struct ibv_buf *buf);
struct ibv_mr *ibv_reg_buf_mr(struct ibv_pd *pd, struct ibv_buf *buf, void *addr, size_t length, int access);

static void test_queries(void **state)
{
	struct env *env = *state;
	struct ibv_device_attr_ex ex;
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	uint64_t speed = 0;
	__be16 pkey;

	assert_int_equal(ibv_query_device(env->context, &attr), 0);
	assert_int_equal(attr.max_cqe, FAKE_MAX_CQE);
	assert_int_equal(attr.phys_port_cnt, 1);
	assert_int_equal(attr.atomic_cap, IBV_ATOMIC_HCA);
	assert_int_equal(ibv_query_device_ex(env->context, NULL, &ex), 0);
	assert_memory_equal(&ex.orig_attr, &attr, sizeof(attr));

	assert_int_equal(ibv_query_port(env->context, 1, &port), 0);
	assert_int_equal(port.state, IBV_PORT_ACTIVE);
	assert_int_equal(port.active_mtu, IBV_MTU_1024);
	assert_int_equal(port.link_layer, IBV_LINK_LAYER_ETHERNET);
	assert_int_equal(port.gid_tbl_len, 3);
	assert_int_equal(port.active_width, 2); /* 4x */
	assert_int_equal(port.active_speed, 32); /* EDR: 100 Gbit/s in all */
	assert_int_equal(ibv_query_port(env->context, 2, &port), EINVAL);

	assert_int_equal(ibv_query_port_speed(env->context, 1, &speed), 0);
	assert_int_equal(speed, 1000); /* 100 Gbit/s in units of 100 Mbit/s */
	assert_int_equal(ibv_query_port_speed(env->context, 2, &speed), EINVAL);

	assert_int_equal(ibv_query_pkey(env->context, 1, 0, &pkey), 0);
	assert_int_equal(ntohs(pkey), 0xffff);
	assert_int_equal(ibv_query_pkey(env->context, 1, 1, &pkey), -1);
}

/* The symbol, which old programs call, knows the struct without its last members. */
static void test_query_port_symbol_keeps_to_old_size(void **state)
{
	struct env *env = *state;
	struct {
		struct ibv_port_attr attr;
		uint8_t after[16];
	} old;

	memset(&old, 0xa5, sizeof(old));
	assert_int_equal((ibv_query_port)(env->context, 1, (struct _compat_ibv_port_attr *)(void *)&old), 0);
	assert_int_equal(old.attr.state, IBV_PORT_ACTIVE);
	for (size_t i = offsetof(struct ibv_port_attr, port_cap_flags2); i < sizeof(old); i++)
		assert_int_equal(((uint8_t *)&old)[i], 0xa5);
}

static void test_gids(void **state)
{
	static const uint8_t v4[16] = {[10] = 0xff, 0xff, 10, 0, 0, 1};
	struct env *env = *state;
	struct ibv_gid_entry entries[3];
	union ibv_gid gid;
	int type;

	assert_int_equal(ibv_query_gid(env->context, 1, 1, &gid), 0);
	assert_memory_equal(gid.raw, v4, 16);
	assert_int_equal(ibv_query_gid(env->context, 1, 2, &gid), 0); /* empty, and inside the table */
	assert_int_equal(ibv_query_gid(env->context, 1, 3, &gid), -1);
	assert_int_equal(ibv_query_gid_type(env->context, 1, 1, &type), 0);
	assert_int_equal(type, 1);
	assert_int_equal(ibv_query_gid_ex(env->context, 1, 1, &entries[0], 0), 0);
	assert_int_equal(entries[0].gid_type, IBV_GID_TYPE_ROCE_V2);
	assert_int_equal(entries[0].ndev_ifindex, 1); /* lo */
	assert_int_equal(ibv_query_gid_ex(env->context, 1, 2, &entries[0], 0), ENODATA);
	assert_int_equal(ibv_query_gid_table(env->context, entries, 3, 0), 2);
	assert_int_equal(entries[1].gid_index, 1);
	assert_int_equal(ibv_query_gid_table(env->context, entries, 1, 0), -EINVAL);
}

/* IB 10.6.3.1, 11.2.7: remote writes and atomics need local write; memory must be what is claimed. */
static void test_memory_regions(void **state)
{
	struct env *env = *state;
	char *page = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(env->pd, env->buf, sizeof(env->buf), IBV_ACCESS_LOCAL_WRITE);

	assert_non_null(mr);
	assert_ptr_equal(mr->addr, env->buf);
	assert_int_equal(mr->length, sizeof(env->buf));
	assert_int_equal(mr->lkey, mr->rkey);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_null(ibv_reg_mr(env->pd, env->buf, 64, IBV_ACCESS_REMOTE_WRITE));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(env->pd, env->buf, 64, 1 << 8)); /* FLUSH */
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(ibv_reg_mr(env->pd, env->buf, 0, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_mr(env->pd, page, 4096, IBV_ACCESS_LOCAL_WRITE)); /* not ours to write */
	assert_int_equal(errno, EFAULT);
	mr = ibv_reg_mr(env->pd, page, 4096, IBV_ACCESS_REMOTE_READ);
	assert_non_null(mr);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_int_equal(munmap(page + 4096, 4096), 0);
	assert_null(ibv_reg_mr(env->pd, page, 8192, IBV_ACCESS_REMOTE_READ)); /* ends in a hole */
	assert_int_equal(errno, EFAULT);
	munmap(page, 4096);
}

/* ibv_alloc_buf(3): at least page aligned; regions of it must lie in it. */
static void test_allocated_buffers(void **state)
{
	struct env *env = *state;
	struct ibv_buf *buf = NULL;
	struct ibv_mr *mr;
	char *addr = ibv_alloc_buf(env->pd, 10000, &buf);

	assert_non_null(addr);
	assert_non_null(buf);
	assert_int_equal((uintptr_t)addr % (size_t)sysconf(_SC_PAGESIZE), 0);
	memset(addr, 1, 10000);
	mr = ibv_reg_buf_mr(env->pd, buf, addr + 1, 9999, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_ptr_equal(mr->addr, addr + 1);
	assert_int_equal(mr->length, 9999);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	assert_null(ibv_reg_buf_mr(env->pd, buf, addr + 1, 10000, 0)); /* one byte too many */
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_buf_mr(env->pd, buf, addr - 1, 1, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_reg_buf_mr(env->pd, buf, addr + 1, SIZE_MAX, 0));
	assert_int_equal(errno, EINVAL);
	ibv_free_buf(buf);
	assert_null(ibv_alloc_buf(env->pd, 0, &buf));
	assert_int_equal(errno, EINVAL);
}

static void test_limits_and_unsupported(void **state)
{
	struct env *env = *state;
	struct ibv_qp_init_attr attr = {.send_cq = env->cq, .recv_cq = env->cq, .qp_type = IBV_QPT_RAW_PACKET,
		.cap = {1, 1, 1, 1, 0}};
	struct ibv_qp_init_attr_ex ex = {.send_cq = env->cq, .recv_cq = env->cq, .qp_type = IBV_QPT_RC,
		.cap = {1, 1, 1, 1, 0}, .pd = env->pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_TSO};
	struct ibv_send_wr wr = {.opcode = IBV_WR_LOCAL_INV}, *bad;
	struct ibv_cq *cq;

	assert_null(ibv_create_cq(env->context, FAKE_MAX_CQE + 1, NULL, NULL, 0));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_cq(env->context, 1, NULL, NULL, 1)); /* one vector: 0 */
	cq = ibv_create_cq(env->context, FAKE_MAX_CQE, NULL, NULL, 0);
	assert_non_null(cq);
	assert_int_equal(cq->cqe, FAKE_MAX_CQE); /* the largest power of two exactly */
	assert_int_equal(ibv_destroy_cq(cq), 0);
	assert_null(ibv_create_qp(env->pd, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(ibv_create_qp_ex(env->context, &ex));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_null(ibv_qp_to_qp_ex(env->a));
	/* A device that says it has no windows has none, and invalidates nothing. */
	assert_null(ibv_alloc_mw(env->pd, IBV_MW_TYPE_1));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), EOPNOTSUPP);
}

/* Address handles need a GRH; one made from a completion takes the sender of the IP header (annex A17). */
static void test_address_handles(void **state)
{
	struct env *env = *state;
	struct ibv_wc wc = {.wc_flags = IBV_WC_GRH};
	uint8_t grh[40] = {[20] = 0x45, [36] = 10, 0, 0, 1};
	struct ibv_ah_attr attr = {.port_num = 1};
	struct ibv_ah *ah;

	memcpy(grh + 32, (uint8_t[]){10, 0, 0, 9}, 4);
	assert_null(ibv_create_ah(env->pd, &attr));
	assert_int_equal(ibv_init_ah_from_wc(env->context, 1, &wc, (struct ibv_grh *)(void *)grh, &attr), 0);
	assert_int_equal(attr.grh.sgid_index, 1);
	assert_int_equal(attr.grh.dgid.raw[15], 9);
	ah = ibv_create_ah_from_wc(env->pd, &wc, (struct ibv_grh *)(void *)grh, 1);
	assert_non_null(ah);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	grh[39] = 77; /* came to an address that is not ours */
	assert_int_equal(ibv_init_ah_from_wc(env->context, 1, &wc, (struct ibv_grh *)(void *)grh, &attr), -1);
}

/* An event counts at its queue pair, and none is delivered for one that is gone. */
static void test_async_events(void **state)
{
	struct env *env = *state;
	struct ibv_async_event event;

	fake_raise(env->fake, env->a->qp_num, IBV_EVENT_COMM_EST);
	assert_int_equal(ibv_get_async_event(env->context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_COMM_EST);
	assert_ptr_equal(event.element.qp, env->a);
	ibv_ack_async_event(&event);
	assert_int_equal(env->a->events_completed, 1);

	fake_raise(env->fake, env->b->qp_num, IBV_EVENT_QP_FATAL);
	assert_int_equal(ibv_destroy_qp(env->b), 0);
	env->b = NULL;
	fcntl(env->context->async_fd, F_SETFL, O_NONBLOCK);
	assert_int_equal(ibv_get_async_event(env->context, &event), -1);
	assert_int_equal(errno, EAGAIN);
}

static void *destroy_a(void *arg)
{
	struct env *env = arg;

	assert_int_equal(ibv_destroy_qp(env->a), 0);
	return NULL;
}

/* ibv_destroy_qp returns only when all events of the queue pair are acknowledged. */
static void test_destroy_waits_for_acks(void **state)
{
	struct env *env = *state;
	struct timespec soon;
	struct ibv_async_event event;
	pthread_t thread;

	fake_raise(env->fake, env->a->qp_num, IBV_EVENT_COMM_EST);
	assert_int_equal(ibv_get_async_event(env->context, &event), 0);
	pthread_create(&thread, NULL, destroy_a, env);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_nsec += 50 * 1000 * 1000;
	soon.tv_sec += soon.tv_nsec / 1000000000;
	soon.tv_nsec %= 1000000000;
	assert_int_equal(pthread_timedjoin_np(thread, NULL, &soon), ETIMEDOUT);
	ibv_ack_async_event(&event);
	assert_int_equal(pthread_join(thread, NULL), 0);
	env->a = NULL;
}

/* A daemon that dies: an event, errors everywhere, no wait, and cleaning up works. */
static void test_daemon_dies(void **state)
{
	struct env *env = *state;
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad = NULL;
	struct ibv_async_event event;
	struct ibv_wc wc;
	void *cookie;
	int i, n = 0;

	fake_stop(env->fake);
	env->fake = NULL;
	/* A program that only polls shared memory learns of it too. */
	for (i = 0; i < 5000 && (n = ibv_poll_cq(env->cq, 1, &wc)) == 0; i++)
		usleep(1000);
	assert_int_equal(n, -1);
	assert_int_equal(ibv_post_send(env->a, &wr, &bad), EIO);
	assert_ptr_equal(bad, &wr);
	assert_int_equal(ibv_req_notify_cq(env->cq, 0), EIO);
	assert_null(ibv_alloc_pd(env->context));
	assert_int_equal(errno, EIO);
	assert_int_equal(ibv_get_cq_event(env->channel, &env->cq, &cookie), -1);
	assert_int_equal(errno, EIO);
	assert_int_equal(ibv_get_async_event(env->context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_get_async_event(env->context, &event), -1);
	assert_int_equal(errno, EIO);
}

static int child_of(struct env *env)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad;
	struct ibv_recv_wr rwr = {0}, *rbad;
	struct ibv_wc wc;

	if (ibv_poll_cq(env->cq, 1, &wc) != -1 || ibv_post_send(env->a, &wr, &bad) != EIO)
		return 1;
	if (ibv_post_recv(env->a, &rwr, &rbad) != EIO || ibv_req_notify_cq(env->cq, 0) != EIO)
		return 2;
	if (ibv_alloc_pd(env->context) != NULL || errno != EIO)
		return 3;
	if (ibv_destroy_qp(env->a) != 0 || ibv_destroy_qp(env->b) != 0 || ibv_destroy_cq(env->cq) != 0)
		return 4;
	return ibv_close_device(env->context) == 0 ? 0 : 5;
}

/* A forked child can neither use nor disturb what its parent has open. */
static void test_fork(void **state)
{
	struct env *env = *state;
	int status;
	pid_t pid;

	assert_int_equal(ibv_fork_init(), 0);
	assert_int_equal(ibv_is_fork_initialized(), IBV_FORK_UNNEEDED);
	pid = fork();
	if (pid == 0)
		_exit(child_of(env));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	env_exchange(env, 1);
}

static void test_strings_and_rates(void **state)
{
	(void)state;
	assert_string_equal(ibv_wc_status_str(IBV_WC_RNR_RETRY_EXC_ERR), "RNR retry counter exceeded");
	assert_string_equal(ibv_wc_status_str(12345), "unknown");
	assert_string_equal(ibv_event_type_str(IBV_EVENT_DEVICE_FATAL), "device fatal error");
	assert_string_equal(ibv_event_type_str(-1), "unknown");
	assert_string_equal(ibv_wr_opcode_str(IBV_WR_RDMA_READ), "rdma-read");
	assert_string_equal(ibv_wr_opcode_str((enum ibv_wr_opcode)13), "unknown");
	assert_string_equal(ibv_port_state_str(IBV_PORT_ACTIVE), "active");
	assert_string_equal(ibv_node_type_str(IBV_NODE_CA), "InfiniBand channel adapter");
	assert_int_equal(ibv_rate_to_mult(IBV_RATE_10_GBPS), 4);
	assert_int_equal(mult_to_ibv_rate(4), IBV_RATE_10_GBPS);
	assert_int_equal(ibv_rate_to_mbps(IBV_RATE_100_GBPS), 103125);
	assert_int_equal(mbps_to_ibv_rate(103125), IBV_RATE_100_GBPS);
	assert_int_equal(mbps_to_ibv_rate(1), IBV_RATE_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_device_list, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_queries, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_query_port_symbol_keeps_to_old_size, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_gids, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_memory_regions, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_allocated_buffers, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_limits_and_unsupported, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_address_handles, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_async_events, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_destroy_waits_for_acks, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_daemon_dies, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_fork, env_setup, env_teardown),
		cmocka_unit_test(test_strings_and_rates),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
