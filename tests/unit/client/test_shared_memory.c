/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions in shared memory: the daemon is offered the memfd that they lie in, and nothing for others. */
#include "env.h"

static uint8_t shared[64];

/* What lib/alloc has in a program that runs on it. */
int roced_alloc_find(const void *addr, size_t bytes, int *fd, uint64_t *offset);

int roced_alloc_find(const void *addr, size_t bytes, int *fd, uint64_t *offset)
{
	uintptr_t at = (uintptr_t)addr - (uintptr_t)shared;

	if (at >= sizeof(shared) || bytes > sizeof(shared) - at)
		return -ENOENT;
	*fd = 1234;
	*offset = 0x500000000ull + at;
	return 0;
}

static void test_shared_memory_is_offered(void **state)
{
	struct env *env = *state;
	struct ibv_mr *mr;

	assert_int_equal(env->fake->mem_fd, 0);
	mr = ibv_reg_mr(env->pd, shared + 8, 16, IBV_ACCESS_LOCAL_WRITE);
	assert_non_null(mr);
	assert_int_equal(env->fake->mem_fd, 1235);
	assert_int_equal(env->fake->mem_offset, 0x500000008ull);
	assert_int_equal(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(env->pd, env->buf, sizeof(env->buf), 0);
	assert_non_null(mr);
	assert_int_equal(env->fake->mem_fd, 0);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_shared_memory_is_offered, env_setup, env_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
