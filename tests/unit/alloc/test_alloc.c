/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of a program that runs on shared memory: it behaves as libc's and the kernel's own does, at the edges between
 * the two as well, in many threads and in children.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "roced_alloc.h"

#define PAGE    4096u
#define LARGE   65536u
#define THREADS 4
#define ROUNDS  20000
#define LIVE    64

static bool is_shared(const void *ptr, size_t bytes)
{
	uint64_t offset;
	int fd;

	return roced_alloc_find(ptr, bytes, &fd, &offset) == 0;
}

static bool is_zero(const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (p[i] != 0)
			return false;
	}
	return true;
}

static void large_and_aligned_memory_is_shared(void **state)
{
	void *p;

	(void)state;
	p = malloc(LARGE - 1);
	assert_false(is_shared(p, 1));
	free(p);
	p = malloc(LARGE);
	assert_true(is_shared(p, LARGE));
	free(p);
	assert_int_equal(posix_memalign(&p, PAGE, 100), 0);
	assert_true(is_shared(p, 100));
	free(p);
	p = aligned_alloc(64, LARGE);
	assert_true(is_shared(p, LARGE));
	free(p);
	p = memalign(2u << 20, 3u << 20);
	assert_int_equal((uintptr_t)p % (2u << 20), 0);
	assert_true(is_shared(p, 3u << 20));
	free(p);
	assert_int_equal(posix_memalign(&p, 24, 100), EINVAL);
	assert_false(is_shared(&p, sizeof(p)));
}

/* Where a region lies in the memfd is where its bytes are. */
static void find_tells_the_place(void **state)
{
	uint8_t *p = roced_alloc(3 * PAGE);
	uint64_t offset;
	int fd, seals;
	char c = 0;

	(void)state;
	assert_true(is_zero(p, 3 * PAGE));
	p[PAGE + 5] = 'x';
	assert_int_equal(roced_alloc_find(p + PAGE + 5, 1, &fd, &offset), 0);
	assert_int_equal(pread(fd, &c, 1, (off_t)offset), 1);
	assert_int_equal(c, 'x');
	seals = fcntl(fd, F_GET_SEALS);
	assert_true((seals & F_SEAL_SHRINK) != 0);
	assert_int_equal(roced_alloc_find(p, SIZE_MAX, &fd, &offset), -ENOENT);
	roced_free(p);
	roced_free(NULL);
}

static void zeroed_memory_is_zero(void **state)
{
	volatile size_t too_many = SIZE_MAX / 2; /* unknown to the compiler, which has its own opinion */

	(void)state;
	for (int i = 0; i < 50; i++) {
		size_t n = LARGE + (size_t)i * 5000;
		uint8_t *p = malloc(n), *q;

		memset(p, 0xff, n);
		free(p);
		p = calloc(1, n);
		assert_true(is_zero(p, n));
		memset(p, 0xff, n);
		q = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		assert_true(is_shared(q, n));
		assert_true(is_zero(q, n));
		memset(q, 0xff, n);
		free(p);
		munmap(q, n);
	}
	errno = 0;
	assert_null(calloc(too_many, 3));
	assert_null(malloc(too_many));
	assert_null(reallocarray(NULL, too_many, 3));
}

static void realloc_keeps_the_bytes(void **state)
{
	static const size_t sizes[] = {10, 1000, LARGE - 1, LARGE, 3 * LARGE, 40 * LARGE, 2 * LARGE, LARGE, 500,
		7 * LARGE, 1};
	uint8_t *p = NULL;
	size_t old = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		p = realloc(p, sizes[i]);
		assert_non_null(p);
		assert_true(malloc_usable_size(p) >= sizes[i]);
		for (size_t k = 0; k < old && k < sizes[i]; k++)
			assert_int_equal(p[k], (uint8_t)(k * 7 + i - 1));
		for (size_t k = 0; k < sizes[i]; k++)
			p[k] = (uint8_t)(k * 7 + i);
		old = sizes[i];
	}
	free(p);
}

static void mappings_end_in_parts(void **state)
{
	uint8_t *p = mmap(NULL, 64 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *q;

	(void)state;
	memset(p, 1, 64 * PAGE);
	assert_int_equal(munmap(p + 8 * PAGE, 4 * PAGE), 0);
	assert_int_equal(munmap(p, PAGE), 0);
	assert_int_equal(munmap(p + 4 * PAGE, 10 * PAGE), 0); /* what is gone already is in it */
	assert_int_equal(p[3 * PAGE], 1);
	assert_int_equal(p[14 * PAGE], 1);
	q = mremap(p + 14 * PAGE, 50 * PAGE, 100 * PAGE, MREMAP_MAYMOVE);
	assert_int_equal(q[49 * PAGE], 1);
	assert_true(is_zero(q + 50 * PAGE, 50 * PAGE));
	assert_ptr_equal(mremap(q, 100 * PAGE, 20 * PAGE, 0), q);
	/* Private memory that is not wanted reads as zeros. */
	assert_int_equal(madvise(q, 20 * PAGE, MADV_DONTNEED), 0);
	assert_true(is_zero(q, 20 * PAGE));
	assert_int_equal(munmap(q, 20 * PAGE), 0);
	assert_int_equal(munmap(p + PAGE, 3 * PAGE), 0);
	/* Memory of other kinds is the kernel's. */
	p = mmap(NULL, LARGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_false(is_shared(p, 1));
	assert_int_equal(munmap(p, LARGE), 0);
}

static void *churn(void *arg)
{
	uint32_t seed = (uint32_t)(uintptr_t)arg;
	uint8_t *live[LIVE] = {NULL};
	size_t bytes[LIVE];

	for (int i = 0; i < ROUNDS; i++) {
		uint32_t r = (seed = seed * 1664525u + 1013904223u) >> 8, k = r % LIVE;

		if (live[k] != NULL) {
			if (live[k][0] != (uint8_t)k || live[k][bytes[k] - 1] != (uint8_t)k)
				return (void *)"spoilt";
			free(live[k]);
			live[k] = NULL;
			continue;
		}
		bytes[k] = 1 + (r >> 6) % (r % 5 == 0 ? 2000000 : 150000);
		live[k] = r % 3 == 0 ? memalign(PAGE << (r % 4), bytes[k]) : malloc(bytes[k]);
		if (live[k] == NULL)
			return (void *)"none";
		live[k][0] = live[k][bytes[k] - 1] = (uint8_t)k;
	}
	for (int k = 0; k < LIVE; k++)
		free(live[k]);
	return NULL;
}

static void threads_do_not_meet(void **state)
{
	pthread_t threads[THREADS];
	void *said;

	(void)state;
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)), 0);
	/* Children while they run. */
	for (int i = 0; i < 5; i++) {
		int status;
		pid_t pid = fork();

		if (pid == 0)
			_exit(churn((void *)(uintptr_t)77) == NULL ? 0 : 1);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	for (int i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &said), 0);
		assert_null(said);
	}
}

/* fork(2): the child has what there was, and from then on each has its own. */
static void children_have_their_own(void **state)
{
	uint8_t *p = malloc(10 * LARGE), *q = malloc(LARGE);
	int pipes[2], status;
	char c;
	pid_t pid;

	(void)state;
	memset(p, 1, 10 * LARGE);
	assert_int_equal(pipe(pipes), 0);
	free(q);
	pid = fork();
	if (pid == 0) {
		bool ok = read(pipes[0], &c, 1) == 1 && p[0] == 1 && p[10 * LARGE - 1] == 1;

		p[1] = 3;
		q = malloc(5 * LARGE);
		memset(q, 9, 5 * LARGE);
		ok = ok && is_shared(p, LARGE) && is_shared(q, LARGE);
		free(p);
		_exit(ok ? 0 : 1);
	}
	p[0] = 2;
	assert_int_equal(write(pipes[1], "", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(p[1], 1);
	free(p);
	close(pipes[0]);
	close(pipes[1]);
	assert_int_equal(system("exec true"), 0);
}

/* shmget(2) with SHM_HUGETLB: shared with children, as the kernel's is, and gone when the last one lets go. */
static void huge_segments(void **state)
{
	int id = shmget(IPC_PRIVATE, 5 * LARGE, SHM_HUGETLB | IPC_CREAT | 0600), status;
	struct shmid_ds ds;
	uint8_t *p;
	pid_t pid;

	(void)state;
	assert_true(id >= 0);
	p = shmat(id, NULL, 0);
	assert_ptr_not_equal(p, (void *)-1);
	assert_true(is_shared(p + 100, 4 * LARGE));
	assert_int_equal(shmctl(id, IPC_STAT, &ds), 0);
	assert_int_equal(ds.shm_nattch, 1);
	assert_int_equal(shmctl(id, IPC_RMID, NULL), 0);
	pid = fork();
	if (pid == 0) {
		p[7] = 7;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(p[7], 7);
	assert_int_equal(shmdt(p), 0);
	assert_false(is_shared(p, 1));
	assert_int_equal(shmdt(p), -1);
	assert_ptr_equal(shmat(id, NULL, 0), (void *)-1);
}

/* A program may close all descriptors, and open others by the same numbers. */
static void closed_descriptors(void **state)
{
	uint8_t *p = malloc(LARGE);
	uint64_t offset;
	int fd, status;
	pid_t pid;

	(void)state;
	p[0] = 5;
	pid = fork();
	if (pid == 0) {
		bool ok = roced_alloc_find(p, LARGE, &fd, &offset) == 0;

		close(fd);
		ok = ok && dup2(STDERR_FILENO, fd) == fd && roced_alloc_find(p, LARGE, &fd, &offset) != 0;
		if (fork() == 0)
			_exit(p[0] == 5 ? 0 : 1);
		wait(&status);
		_exit(ok && status == 0 && fcntl(fd, F_GETFD) >= 0 ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(large_and_aligned_memory_is_shared),
		cmocka_unit_test(find_tells_the_place),
		cmocka_unit_test(zeroed_memory_is_zero),
		cmocka_unit_test(realloc_keeps_the_bytes),
		cmocka_unit_test(mappings_end_in_parts),
		cmocka_unit_test(threads_do_not_meet),
		cmocka_unit_test(children_have_their_own),
		cmocka_unit_test(huge_segments),
		cmocka_unit_test(closed_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
