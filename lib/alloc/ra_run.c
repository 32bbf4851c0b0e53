/* SPDX-License-Identifier: BSD-3-Clause */
#include "ra_run.h"

#define RUN_FREE  0x80000000u
#define RUN_DIRTY 0x40000000u
#define RUN_LAST  0x20000000u /* the last page of a run of several */
#define RUN_PAGES 0x1fffffffu

static uint32_t bin_of(uint32_t n)
{
	return 31 - (uint32_t)__builtin_clz(n);
}

static void set(struct ra_arena *arena, uint32_t page, uint32_t n, uint32_t flags)
{
	if (n > 1)
		arena->pages[page + n - 1].state = n | flags | RUN_LAST;
	arena->pages[page].state = n | flags;
}

void ra_run_clear(struct ra_arena *arena, uint32_t page, uint32_t n)
{
	arena->pages[page].state = 0;
	arena->pages[page + n - 1].state = 0;
}

static void link_in(struct ra_arena *arena, uint32_t page, uint32_t n)
{
	uint32_t *head = &arena->bins[bin_of(n)];

	arena->pages[page].prev = 0;
	arena->pages[page].next = *head;
	if (*head != 0)
		arena->pages[*head - 1].prev = page + 1;
	*head = page + 1;
}

static void link_out(struct ra_arena *arena, uint32_t page, uint32_t n)
{
	struct ra_page *p = &arena->pages[page];

	if (p->prev != 0)
		arena->pages[p->prev - 1].next = p->next;
	else
		arena->bins[bin_of(n)] = p->next;
	if (p->next != 0)
		arena->pages[p->next - 1].prev = p->prev;
}

uint32_t ra_run_pages(const struct ra_arena *arena, uint32_t page)
{
	return arena->pages[page].state & RUN_PAGES;
}

uint32_t ra_run_used(const struct ra_arena *arena, uint32_t page)
{
	uint32_t state = page < arena->top ? arena->pages[page].state : 0;

	return (state & (RUN_FREE | RUN_LAST)) == 0 ? state & RUN_PAGES : 0;
}

uint32_t ra_run_start(const struct ra_arena *arena, uint32_t page)
{
	while (arena->pages[page].state == 0)
		page--;
	if ((arena->pages[page].state & RUN_LAST) != 0)
		page -= (arena->pages[page].state & RUN_PAGES) - 1;
	return page;
}

void ra_run_use(struct ra_arena *arena, uint32_t page, uint32_t n)
{
	uint32_t old = arena->pages[page].state & RUN_PAGES;

	if (old > 1)
		arena->pages[page + old - 1].state = 0;
	set(arena, page, n, 0);
}

/* A free run that ends or starts beside ours is taken out of its bin; its flags. */
static uint32_t absorb(struct ra_arena *arena, uint32_t page, uint32_t n)
{
	uint32_t flags = arena->pages[page].state & RUN_DIRTY;

	link_out(arena, page, n);
	ra_run_clear(arena, page, n);
	return flags;
}

void ra_run_give(struct ra_arena *arena, uint32_t page, uint32_t n, bool dirty)
{
	uint32_t flags = dirty ? RUN_DIRTY : 0, more;

	ra_run_clear(arena, page, n);
	if (page > 0 && (arena->pages[page - 1].state & RUN_FREE) != 0) {
		more = arena->pages[page - 1].state & RUN_PAGES;
		page -= more;
		n += more;
		flags |= absorb(arena, page, more);
	}
	if (page + n < arena->top && (arena->pages[page + n].state & RUN_FREE) != 0) {
		more = arena->pages[page + n].state & RUN_PAGES;
		flags |= absorb(arena, page + n, more);
		n += more;
	}
	set(arena, page, n, flags | RUN_FREE);
	link_in(arena, page, n);
}

static uint32_t find(const struct ra_arena *arena, uint32_t n)
{
	/* In its own bin some are too short: a few are looked at. In those above all will do. */
	uint32_t at = arena->bins[bin_of(n)];

	for (int i = 0; at != 0 && i < 8; i++) {
		if (ra_run_pages(arena, at - 1) >= n)
			return at;
		at = arena->pages[at - 1].next;
	}
	for (uint32_t bin = bin_of(n) + 1; bin < RA_BINS; bin++) {
		if (arena->bins[bin] != 0)
			return arena->bins[bin];
	}
	return 0;
}

bool ra_run_take(struct ra_arena *arena, uint32_t n, uint32_t *page, uint32_t *got, bool *zeroed)
{
	uint32_t at = find(arena, n);

	if (at == 0)
		return false;
	*page = at - 1;
	*got = ra_run_pages(arena, *page);
	*zeroed = (absorb(arena, *page, *got) & RUN_DIRTY) == 0;
	return true;
}
