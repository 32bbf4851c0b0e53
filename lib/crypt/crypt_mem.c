/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_mem.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#define STACK_BYTES 16384u /* more than key schedules, ciphers and libcrypto's HMAC take */

/* A mapping of its own, whatever the size of a page is here: locking and hiding it touch nothing else. */
static void *map(size_t bytes)
{
	void *memory = bytes != 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) : MAP_FAILED;

	return memory != MAP_FAILED ? memory : NULL;
}

void *crypt_mem_new(size_t bytes)
{
	void *memory = map(bytes);

	if (memory == NULL)
		return NULL;
	/* Both are as good as the limits of the process allow. */
	(void)mlock(memory, bytes);
	(void)madvise(memory, bytes, MADV_DONTDUMP);
	return memory;
}

void crypt_mem_free(void *memory, size_t bytes)
{
	if (memory == NULL)
		return;
	explicit_bzero(memory, bytes);
	(void)munmap(memory, bytes);
}

/* A frame of its own, where those of the functions before were. */
__attribute__((noinline)) void crypt_mem_wipe_stack(void)
{
	uint8_t left[STACK_BYTES];

	explicit_bzero(left, sizeof(left));
}

bool crypt_mem_may_lock(size_t bytes)
{
	void *memory = map(bytes);
	bool may = memory != NULL && mlock(memory, bytes) == 0;

	if (memory != NULL)
		(void)munmap(memory, bytes);
	return may;
}
