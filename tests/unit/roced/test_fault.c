/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that goes away under an access: the access goes on, the flag tells, and what lies beside it stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fault.h"

#define PAGE  4096u
#define PAGES 4u

static uint8_t *make(int *fd)
{
	uint8_t *base;

	*fd = memfd_create("test", MFD_CLOEXEC);
	assert_int_equal(ftruncate(*fd, PAGES * PAGE), 0);
	base = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, *fd, 0);
	assert_ptr_not_equal(base, MAP_FAILED);
	memset(base, 0x5a, PAGES * PAGE);
	return base;
}

static void test_access_goes_on(void **state)
{
	uint8_t out[PAGES * PAGE];
	uint32_t fault = 0;
	uint8_t *base;
	int fd;

	(void)state;
	assert_int_equal(fault_start(), 0); /* cmocka has handlers of its own */
	base = make(&fd);
	assert_int_equal(fault_watch(base, PAGES * PAGE, PAGE, &fault), 0);
	memcpy(out, base, sizeof(out));
	assert_int_equal(fault, 0);
	assert_int_equal(ftruncate(fd, 2 * PAGE), 0);
	memcpy(out, base, sizeof(out));
	assert_int_equal(fault, 1);
	assert_int_equal(out[2 * PAGE - 1], 0x5a);
	assert_int_equal(out[2 * PAGE], 0);
	memset(base + 2 * PAGE, 1, 2 * PAGE);
	/* What is left is still the client's. */
	base[0] = 7;
	assert_int_equal(pread(fd, out, 1, 0), 1);
	assert_int_equal(out[0], 7);
	fault_forget(base);
	munmap(base, PAGES * PAGE);
	close(fd);
}

static void test_slots_are_used_again(void **state)
{
	uint32_t fault = 0;
	uint8_t *base;
	int fd;

	(void)state;
	assert_int_equal(fault_start(), 0);
	base = make(&fd);
	for (uint32_t i = 0; i < FAULT_MAX_MAPS; i++)
		assert_int_equal(fault_watch((void *)(uintptr_t)((i + 1) * PAGE), PAGE, PAGE, &fault), 0);
	assert_int_not_equal(fault_watch(base, PAGE, PAGE, &fault), 0);
	fault_forget((void *)(uintptr_t)(77 * PAGE));
	assert_int_equal(fault_watch(base, PAGES * PAGE, PAGE, &fault), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(base[3 * PAGE], 0);
	assert_int_equal(fault, 1);
	fault_forget(base);
	for (uint32_t i = 0; i < FAULT_MAX_MAPS; i++)
		fault_forget((void *)(uintptr_t)((i + 1) * PAGE));
	munmap(base, PAGES * PAGE);
	close(fd);
}

/* A fault of our own is one. */
static void test_other_faults_end_the_process(void **state)
{
	uint8_t *base;
	int fd, status;
	pid_t pid;

	(void)state;
	base = make(&fd);
	pid = fork();
	if (pid == 0) {
		if (fault_start() == 0 && ftruncate(fd, 0) == 0)
			base[0] = 1;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
	munmap(base, PAGES * PAGE);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_access_goes_on),
		cmocka_unit_test(test_slots_are_used_again),
		cmocka_unit_test(test_other_faults_end_the_process),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
