/* SPDX-License-Identifier: BSD-3-Clause */
#include "fault.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

struct mapping {
	_Atomic uintptr_t base; /* 0: free; stored last */
	uint64_t bytes, page_bytes;
	uint32_t *fault;
};

/* Of the process, as its signal handlers are. Written by the main thread, read by whoever faults. */
static struct mapping mappings[FAULT_MAX_MAPS];
static _Atomic uint32_t n_slots; /* those behind have never been used */
static uint32_t first_free;      /* none before it */

static const struct mapping *mapping_at(uintptr_t addr)
{
	uint32_t n = atomic_load_explicit(&n_slots, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++) {
		const struct mapping *m = &mappings[i];
		uintptr_t base = atomic_load_explicit(&m->base, memory_order_acquire);

		if (base != 0 && addr - base < m->bytes)
			return m;
	}
	return NULL;
}

/* mmap() is a plain system call, so it may be made here. */
static void on_sigbus(int signal_number, siginfo_t *info, void *context)
{
	uintptr_t addr = (uintptr_t)info->si_addr;
	const struct mapping *m = mapping_at(addr);
	int saved = errno;

	(void)context;
	if (m != NULL) {
		void *page = (uint8_t *)info->si_addr - (addr & (m->page_bytes - 1));

		if (mmap(page, m->page_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == page) {
			__atomic_store_n(m->fault, 1, __ATOMIC_RELAXED);
			errno = saved;
			return;
		}
	}
	/* The access is made again, and this time it ends the process. */
	(void)signal(signal_number, SIG_DFL);
	errno = saved;
}

int fault_start(void)
{
	struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};

	return sigaction(SIGBUS, &action, NULL) == 0 ? 0 : -errno;
}

int fault_watch(void *base, uint64_t bytes, uint64_t page_bytes, uint32_t *fault)
{
	uint32_t n = atomic_load_explicit(&n_slots, memory_order_relaxed), i = first_free;
	struct mapping *m;

	while (i < n && atomic_load_explicit(&mappings[i].base, memory_order_relaxed) != 0)
		i++;
	if (i == FAULT_MAX_MAPS)
		return -ENOSPC;
	m = &mappings[i];
	m->bytes = bytes;
	m->page_bytes = page_bytes;
	m->fault = fault;
	atomic_store_explicit(&m->base, (uintptr_t)base, memory_order_release);
	if (i == n)
		atomic_store_explicit(&n_slots, n + 1, memory_order_release);
	first_free = i + 1;
	return 0;
}

void fault_forget(const void *base)
{
	uint32_t n = atomic_load_explicit(&n_slots, memory_order_relaxed);

	for (uint32_t i = 0; i < n; i++) {
		if (atomic_load_explicit(&mappings[i].base, memory_order_relaxed) != (uintptr_t)base)
			continue;
		atomic_store_explicit(&mappings[i].base, 0, memory_order_release);
		if (i < first_free)
			first_free = i;
		return;
	}
}
