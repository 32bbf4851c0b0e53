/* SPDX-License-Identifier: BSD-3-Clause */
/* Whose program an interface has, and what becomes of it when a process ends: on a veth in a namespace of our own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/if_link.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xdp_load.h"

static const struct xdp_roce_settings nothing;
static struct bpf_object *object;
static int prog_fd;
static unsigned int ifindex;

/* As DPDK's driver does it. */
static void driver_attaches(void)
{
	assert_int_equal(bpf_xdp_attach((int)ifindex, prog_fd, XDP_FLAGS_UPDATE_IF_NOEXIST, NULL), 0);
}

static uint32_t attached(void)
{
	uint32_t id = 0;

	assert_int_equal(bpf_xdp_query_id((int)ifindex, 0, &id), 0);
	return id;
}

/* The kernel takes a link away behind its last descriptor, a moment later when a process was killed. */
static void is_free_soon(void)
{
	for (int i = 0; i < 200 && attached() != 0; i++)
		usleep(10000);
	assert_int_equal(attached(), 0);
}

static int all_off(void **state)
{
	(void)state;
	(void)bpf_xdp_detach((int)ifindex, 0, NULL);
	return attached() == 0 ? 0 : -1;
}

static void a_free_interface_is_clear(void **state)
{
	char name[XDP_ROCE_NAME_BYTES];

	(void)state;
	assert_int_equal(xdp_roce_clear(ifindex, name), 0);
	assert_string_equal(name, "");
}

static void a_program_that_is_taken_goes_when_it_is_released(void **state)
{
	struct xdp_roce *xdp = NULL;
	char name[XDP_ROCE_NAME_BYTES];

	(void)state;
	driver_attaches();
	assert_int_equal(xdp_roce_take(ifindex, &nothing, &xdp), 0);
	assert_int_not_equal(attached(), 0);
	assert_int_equal(xdp_roce_clear(ifindex, name), -EBUSY);
	assert_string_equal(name, XDP_ROCE_PROGRAM);
	assert_int_not_equal(attached(), 0);
	xdp_roce_release(xdp);
	is_free_soon();
}

static void a_program_that_is_taken_goes_with_its_process(void **state)
{
	int fds[2], status;
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(pipe(fds), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct xdp_roce *xdp = NULL;

		driver_attaches();
		byte = (char)xdp_roce_take(ifindex, &nothing, &xdp);
		(void)!write(fds[1], &byte, 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(byte, 0);
	assert_int_not_equal(attached(), 0);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	is_free_soon();
	close(fds[0]);
	close(fds[1]);
}

/* Killed between the driver's attaching and our taking. */
static void a_program_that_was_left_is_cleared(void **state)
{
	char name[XDP_ROCE_NAME_BYTES];

	(void)state;
	driver_attaches();
	assert_int_equal(xdp_roce_clear(ifindex, name), 0);
	assert_int_equal(attached(), 0);
}

static void a_program_of_others_stays(void **state)
{
	static const struct bpf_insn pass[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = XDP_PASS},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int fd = bpf_prog_load(BPF_PROG_TYPE_XDP, "firewall", "BSD", pass, 2, NULL);
	struct xdp_roce *xdp = NULL;
	char name[XDP_ROCE_NAME_BYTES];
	uint32_t id;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(bpf_xdp_attach((int)ifindex, fd, 0, NULL), 0);
	id = attached();
	assert_int_equal(xdp_roce_clear(ifindex, name), -EEXIST);
	assert_string_equal(name, "firewall");
	assert_int_equal(xdp_roce_take(ifindex, &nothing, &xdp), -ENOENT);
	assert_int_equal(attached(), id);
	close(fd);
}

static void nothing_is_taken_from_a_free_interface(void **state)
{
	struct xdp_roce *xdp = NULL;

	(void)state;
	assert_int_equal(xdp_roce_take(ifindex, &nothing, &xdp), -ENOENT);
	assert_null(xdp);
}

static void the_mode_stays(void **state)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	struct xdp_roce *xdp = NULL;

	(void)state;
	assert_int_equal(bpf_xdp_attach((int)ifindex, prog_fd, XDP_FLAGS_SKB_MODE, NULL), 0);
	assert_int_equal(xdp_roce_take(ifindex, &nothing, &xdp), 0);
	assert_int_equal(bpf_xdp_query((int)ifindex, 0, &query), 0);
	assert_int_equal(query.attach_mode, XDP_ATTACHED_SKB);
	xdp_roce_release(xdp);
	is_free_soon();
}

static void the_file_is_the_program(void **state)
{
	char path[XDP_ROCE_PATH_BYTES];
	struct bpf_object *other;
	int fd = xdp_roce_file(path);

	(void)state;
	assert_true(fd >= 0);
	other = bpf_object__open_file(path, NULL);
	assert_non_null(other);
	/* the driver takes the first one */
	assert_string_equal(bpf_program__name(bpf_object__next_program(other, NULL)), XDP_ROCE_PROGRAM);
	assert_non_null(bpf_object__find_map_by_name(other, "xsks_map"));
	bpf_object__close(other);
	close(fd);
}

struct heard {
	uint32_t n;
	size_t bytes;
};

static void hear(void *arg, const uint8_t *frame, size_t n)
{
	struct heard *heard = arg;

	assert_int_equal(frame[12] << 8 | frame[13], 0x0806);
	heard->n++;
	heard->bytes = n;
}

/* No more are handed on than was asked for, the others are there next time. */
static void copies_and_counts_are_told(void **state)
{
	static const uint8_t arp[60] = {[0] = 0xff, [12] = 0x08, [13] = 0x06};
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = arp, .data_size_in = sizeof(arp), .repeat = 5);
	struct xdp_roce *xdp = NULL;
	struct heard heard = {0};
	uint64_t counts[XDP_ROCE_KINDS], before[XDP_ROCE_KINDS];

	(void)state;
	driver_attaches();
	assert_int_equal(xdp_roce_take(ifindex, &nothing, &xdp), 0);
	assert_int_equal(xdp_roce_counts(xdp, before), 0);
	xdp_roce_serve(xdp, 1000, hear, &heard);
	heard.n = 0;
	assert_int_equal(bpf_prog_test_run_opts(prog_fd, &opts), 0);
	assert_int_equal(xdp_roce_counts(xdp, counts), 0);
	assert_true(counts[XDP_ROCE_NEIGHBOUR] - before[XDP_ROCE_NEIGHBOUR] >= 5);
	assert_int_equal(poll(&(struct pollfd){.fd = xdp_roce_fd(xdp), .events = POLLIN}, 1, 1000), 1);
	xdp_roce_serve(xdp, 2, hear, &heard);
	assert_int_equal(heard.n, 2);
	assert_int_equal(poll(&(struct pollfd){.fd = xdp_roce_fd(xdp), .events = POLLIN}, 1, 1000), 1);
	xdp_roce_serve(xdp, 1000, hear, &heard);
	assert_int_equal(heard.n, 5);
	assert_int_equal(heard.bytes, sizeof(arp));
	xdp_roce_release(xdp);
	is_free_soon();
}

static int make_interface(void)
{
	/* quiet: what the kernel sends by itself would be counted */
	if (unshare(CLONE_NEWNET) != 0 ||
		system("ip link add name xdp0 type veth peer name xdp1 2>/dev/null && ip link set dev xdp0 arp off") != 0)
		return -1;
	ifindex = if_nametoindex("xdp0");
	return ifindex != 0 ? 0 : -1;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_free_interface_is_clear, all_off),
		cmocka_unit_test_setup(a_program_that_is_taken_goes_when_it_is_released, all_off),
		cmocka_unit_test_setup(a_program_that_is_taken_goes_with_its_process, all_off),
		cmocka_unit_test_setup(a_program_that_was_left_is_cleared, all_off),
		cmocka_unit_test_setup_teardown(a_program_of_others_stays, all_off, all_off),
		cmocka_unit_test_setup(nothing_is_taken_from_a_free_interface, all_off),
		cmocka_unit_test_setup(the_mode_stays, all_off),
		cmocka_unit_test(the_file_is_the_program),
		cmocka_unit_test_setup(copies_and_counts_are_told, all_off),
	};
	int rc;

	if (make_interface() != 0) {
		printf("skipped: no network namespace with a veth can be made here\n");
		return SKIPPED;
	}
	rc = xdp_load(&object);
	if (rc != 0)
		return rc;
	prog_fd = bpf_program__fd(bpf_object__find_program_by_name(object, XDP_ROCE_PROGRAM));
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	bpf_object__close(object);
	return rc;
}
