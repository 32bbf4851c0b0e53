/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory that clients offer as a memfd: what is mapped is that memfd whatever the client's addresses say, what
 * cannot be is reached as ever, and nothing that a client does with its file hurts anybody else.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "world.h"

#define PAGE  4096u
#define BYTES (4 * PAGE)
#define IOVA  0x70000000ull
#define RW                                                                                         \
	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/* Two clients, each with a memfd; `plain` is other memory, at the addresses that the requests name. */
struct scene {
	struct wx_world *w;
	struct wx_client c[2];
	uint32_t pd[2];
	struct wx_cq cq[2];
	struct wx_qp qp[2];
	int fd[2];
	uint8_t *mem[2];
	uint8_t plain[2][BYTES] __attribute__((aligned(PAGE)));
};

static int make_memfd(unsigned int seals, off_t bytes)
{
	int fd = memfd_create("client", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, bytes), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static int setup(void **state)
{
	struct scene *s = aligned_alloc(PAGE, (sizeof(*s) + PAGE - 1) & ~(size_t)(PAGE - 1));

	assert_non_null(s);
	memset(s, 0, sizeof(*s));
	s->w = wx_new(&(struct vd_limits){.mapped_bytes = 4 * BYTES});
	for (int i = 0; i < 2; i++) {
		s->fd[i] = make_memfd(F_SEAL_SHRINK, BYTES);
		s->mem[i] = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd[i], 0);
		assert_ptr_not_equal(s->mem[i], MAP_FAILED);
		memset(s->mem[i], 0x11 * (i + 1), BYTES);
		memset(s->plain[i], 0xee, BYTES);
		wx_connect(s->w, &s->c[i]);
		wx_hello(&s->c[i]);
		s->pd[i] = wx_pd(&s->c[i]);
		wx_make_cq(&s->c[i], 64, 0, 0, &s->cq[i]);
		wx_make_qp(&s->c[i], s->pd[i], &s->cq[i], 16, &s->qp[i]);
	}
	wx_up(&s->qp[0], s->qp[1].qpn);
	wx_up(&s->qp[1], s->qp[0].qpn);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct scene *s = *state;

	for (int i = 0; i < 2; i++) {
		wx_close(&s->c[i]);
		munmap(s->mem[i], BYTES);
		close(s->fd[i]);
	}
	wx_expect_empty(s->w);
	assert_int_equal(s->w->maps, 0);
	wx_free(s->w);
	free(s);
	return 0;
}

/* A region that offers [offset, offset + bytes) of fd. */
static int offer(struct scene *s, int i, int fd, uint64_t offset, uint64_t bytes, struct vc_reply *reply)
{
	struct vc_request request = {.op = VC_REG_MR};

	request.reg_mr.pd = s->pd[i];
	request.reg_mr.access = RW;
	request.reg_mr.addr = (uintptr_t)s->plain[i];
	request.reg_mr.bytes = bytes;
	request.reg_mr.iova = IOVA;
	request.reg_mr.mem_fd = (uint32_t)fd + 1;
	request.reg_mr.mem_offset = offset;
	return wx_call(&s->c[i], &request, reply);
}

static uint32_t mapped(struct scene *s, int i, uint64_t offset, uint64_t bytes)
{
	struct vc_reply reply;

	assert_int_equal(offer(s, i, s->fd[i], offset, bytes, &reply), 0);
	assert_int_equal(reply.mr.mapped, 1);
	return reply.mr.key;
}

static enum tp_wc_status run(struct scene *s, uint8_t opcode, uint32_t lkey, uint32_t rkey, uint32_t bytes)
{
	const struct tp_send_wqe wqe = {.opcode = opcode,
		.num_sge = 1,
		.flags = TP_SEND_SIGNALED,
		.remote_addr = IOVA,
		.rkey = rkey,
		.atomic = {.compare_add = 5}};
	const struct tp_sge sge = {IOVA, bytes, lkey};
	const struct tp_cqe *cqe;

	wx_post(&s->qp[0], &wqe, &sge, NULL);
	wx_pump(s->w);
	cqe = wx_poll(&s->cq[0]);
	assert_non_null(cqe);
	return cqe->status;
}

static void data_is_the_memfds(void **state)
{
	struct scene *s = *state;
	uint32_t lkey = mapped(s, 0, 24, 2 * PAGE), rkey = mapped(s, 1, PAGE + 8, 2 * PAGE);
	struct vd_stats stats;
	uint64_t value;

	assert_int_equal(run(s, TP_WR_WRITE, lkey, rkey, 5000), TP_WC_SUCCESS);
	assert_memory_equal(s->mem[1] + PAGE + 8, s->mem[0] + 24, 5000);
	assert_int_equal(s->mem[1][PAGE + 7], 0x22);
	assert_int_equal(s->mem[1][PAGE + 8 + 5000], 0x22);
	memset(s->mem[1] + PAGE + 8, 0x33, 100);
	assert_int_equal(run(s, TP_WR_READ, lkey, rkey, 100), TP_WC_SUCCESS);
	assert_int_equal(s->mem[0][24 + 99], 0x33);
	value = 40;
	memcpy(s->mem[1] + PAGE + 8, &value, sizeof(value));
	assert_int_equal(run(s, TP_WR_FETCH_ADD, lkey, rkey, 8), TP_WC_SUCCESS);
	memcpy(&value, s->mem[1] + PAGE + 8, sizeof(value));
	assert_int_equal(value, 45);
	memcpy(&value, s->mem[0] + 24, sizeof(value));
	assert_int_equal(value, 40);
	for (uint32_t i = 0; i < BYTES; i++)
		assert_int_equal(s->plain[0][i] & s->plain[1][i], 0xee);
	wx_stats(s->w, &stats);
	assert_int_equal(stats.mrs_mapped, 2);
	assert_int_equal(stats.regs_mapped, 2);
	assert_int_equal(stats.map_refusals, 0);
}

static void a_mapping_ends_with_its_region(void **state)
{
	struct scene *s = *state;
	struct vc_reply reply;

	assert_int_equal(offer(s, 0, s->fd[0], 0, BYTES, &reply), 0);
	assert_int_equal(s->w->maps, 1);
	assert_int_equal(wx_object(&s->c[0], VC_DEREG_MR, reply.mr.handle, NULL), 0);
	assert_int_equal(s->w->maps, 0);
	/* and with its client */
	mapped(s, 0, 0, PAGE);
	mapped(s, 0, 0, PAGE);
	assert_int_equal(s->w->maps, 2);
	wx_close(&s->c[0]);
	assert_int_equal(s->w->maps, 0);
	wx_connect(s->w, &s->c[0]);
	wx_hello(&s->c[0]);
}

/* Registered, but in the way that there was before. */
static void refused(struct scene *s, int fd, uint64_t offset, uint64_t bytes)
{
	struct vc_reply reply;
	struct vd_stats before, after;

	wx_stats(s->w, &before);
	assert_int_equal(offer(s, 0, fd, offset, bytes, &reply), 0);
	assert_int_equal(reply.mr.mapped, 0);
	wx_stats(s->w, &after);
	assert_int_equal(after.map_refusals, before.map_refusals + 1);
	assert_int_equal(after.mrs_mapped, before.mrs_mapped);
	assert_int_equal(wx_object(&s->c[0], VC_DEREG_MR, reply.mr.handle, NULL), 0);
}

static void only_sealed_memfds_are_mapped(void **state)
{
	struct scene *s = *state;
	char name[] = "/tmp/memfd:XXXXXX";
	int fd, pipes[2];

	refused(s, 999999, 0, PAGE);
	refused(s, (int)0xfffffffe, 0, PAGE);
	fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	refused(s, fd, 0, PAGE);
	close(fd);
	fd = mkstemp(name);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	refused(s, fd, 0, PAGE);
	(void)unlink(name);
	close(fd);
	assert_int_equal(pipe(pipes), 0);
	refused(s, pipes[0], 0, PAGE);
	close(pipes[0]);
	close(pipes[1]);
	fd = make_memfd(0, BYTES);
	assert_int_equal(pwrite(fd, s->plain[0], BYTES, 0), BYTES);
	refused(s, fd, 0, PAGE);
	close(fd);
	/* Not writable: by nobody, or not by us. */
	fd = make_memfd(0, BYTES);
	assert_int_equal(pwrite(fd, s->plain[0], BYTES, 0), BYTES);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_WRITE), 0);
	refused(s, fd, 0, PAGE);
	close(fd);
}

/* The daemon may open any memfd for writing; somebody who gave a client his to read has not given more. */
static void only_what_the_client_may_write_is_mapped(void **state)
{
	static const int flags[] = {O_RDONLY, O_WRONLY, O_PATH};
	struct scene *s = *state;
	char path[32];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd[0]);
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		int fd = open(path, flags[i] | O_CLOEXEC);

		assert_true(fd >= 0);
		refused(s, fd, 0, PAGE);
		close(fd);
	}
	mapped(s, 0, 0, PAGE);
}

static void ranges_lie_in_the_memfd(void **state)
{
	struct scene *s = *state;

	refused(s, s->fd[0], 1, BYTES);
	refused(s, s->fd[0], BYTES, 1);
	refused(s, s->fd[0], UINT64_MAX, 1);
	refused(s, s->fd[0], UINT64_MAX - PAGE + 1, PAGE);
	mapped(s, 0, BYTES - 1, 1);
}

/* Whatever a client's memfd has not in it would be on our account. */
static void holes_are_not_mapped(void **state)
{
	struct scene *s = *state;
	int fd = make_memfd(F_SEAL_SHRINK, BYTES);

	refused(s, fd, 0, PAGE);
	assert_int_equal(pwrite(fd, "x", 1, 0), 1);
	refused(s, fd, 0, PAGE + 1);
	refused(s, fd, PAGE - 1, 2);
	close(fd);
}

static void limits_are_kept(void **state)
{
	struct scene *s = *state;
	struct vc_reply reply;

	for (int i = 0; i < 4; i++)
		mapped(s, 0, 0, BYTES);
	refused(s, s->fd[0], 0, 1);
	mapped(s, 1, 0, BYTES); /* of each context */
	wx_close(&s->c[0]);
	wx_connect(s->w, &s->c[0]);
	wx_hello(&s->c[0]);
	s->pd[0] = wx_pd(&s->c[0]);
	mapped(s, 0, 0, BYTES);
	s->w->map_error = -ENOSPC;
	refused(s, s->fd[0], 0, 1);
	s->w->map_error = 0;
	/* Nor is what is wrong made right by a memfd. */
	assert_int_equal(offer(s, 0, s->fd[0], 0, 0, &reply), -EINVAL);
	s->pd[0] = 0;
	assert_int_equal(offer(s, 0, s->fd[0], 0, 1, &reply), -EINVAL);
}

/* The file cannot shrink; holes are filled again. */
static void truncation_and_holes(void **state)
{
	struct scene *s = *state;
	uint32_t lkey = mapped(s, 0, 0, BYTES), rkey = mapped(s, 1, 0, BYTES);

	assert_int_equal(ftruncate(s->fd[1], PAGE), -1);
	assert_int_equal(madvise(s->mem[1], BYTES, MADV_REMOVE), 0);
	assert_int_equal(run(s, TP_WR_WRITE, lkey, rkey, 5000), TP_WC_SUCCESS);
	assert_memory_equal(s->mem[1], s->mem[0], 5000);
	assert_int_equal(s->mem[1][5000], 0);
}

/* 9.7.5.2.4: what cannot be reached any more is a remote operational error; the neighbour goes on. */
static void a_fault_fails_the_operation(void **state)
{
	struct scene *s = *state;
	uint32_t lkey = mapped(s, 0, 0, BYTES), rkey = mapped(s, 1, 0, BYTES);
	struct vd_stats stats;

	assert_int_equal(run(s, TP_WR_WRITE, lkey, rkey, 8), TP_WC_SUCCESS);
	*s->w->last_fault = 1;
	assert_int_equal(run(s, TP_WR_WRITE, lkey, rkey, 8), TP_WC_REM_OP_ERR);
	wx_stats(s->w, &stats);
	assert_int_equal(stats.map_faults, 1);
	wx_close(&s->c[1]);
	wx_stats(s->w, &stats);
	assert_int_equal(stats.map_faults, 1);
	wx_connect(s->w, &s->c[1]);
	wx_hello(&s->c[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(data_is_the_memfds, setup, teardown),
		cmocka_unit_test_setup_teardown(a_mapping_ends_with_its_region, setup, teardown),
		cmocka_unit_test_setup_teardown(only_sealed_memfds_are_mapped, setup, teardown),
		cmocka_unit_test_setup_teardown(only_what_the_client_may_write_is_mapped, setup, teardown),
		cmocka_unit_test_setup_teardown(ranges_lie_in_the_memfd, setup, teardown),
		cmocka_unit_test_setup_teardown(holes_are_not_mapped, setup, teardown),
		cmocka_unit_test_setup_teardown(limits_are_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(truncation_and_holes, setup, teardown),
		cmocka_unit_test_setup_teardown(a_fault_fails_the_operation, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
