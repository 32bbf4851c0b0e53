/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_mem.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096u

static size_t whole_pages(size_t bytes)
{
	return (bytes + PAGE_BYTES - 1) & ~(size_t)(PAGE_BYTES - 1);
}

void *crypt_mem_new(size_t bytes)
{
	size_t pages = whole_pages(bytes);
	void *memory = aligned_alloc(PAGE_BYTES, pages);

	if (memory == NULL)
		return NULL;
	/* Both are as good as the limits of the process allow. */
	(void)mlock(memory, pages);
	(void)madvise(memory, pages, MADV_DONTDUMP);
	memset(memory, 0, pages);
	return memory;
}

void crypt_mem_free(void *memory, size_t bytes)
{
	size_t pages = whole_pages(bytes);

	if (memory == NULL)
		return;
	explicit_bzero(memory, pages);
	(void)madvise(memory, pages, MADV_DODUMP);
	(void)munlock(memory, pages);
	free(memory);
}

bool crypt_mem_may_lock(size_t bytes)
{
	void *memory = aligned_alloc(PAGE_BYTES, whole_pages(bytes));
	bool may = memory != NULL && mlock(memory, whole_pages(bytes)) == 0;

	if (may)
		(void)munlock(memory, whole_pages(bytes));
	free(memory);
	return may;
}
