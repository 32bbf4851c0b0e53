/* SPDX-License-Identifier: BSD-3-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>
#include <rte_mempool.h>

#include "frames.h"
#include "wire_arp_nd.h"

struct frame frames[N_FRAMES];
uint32_t frames_freed;

/* ---- a pool that counts what comes back ---- */

static int pool_alloc(struct rte_mempool *mp)
{
	(void)mp;
	return 0;
}

static void pool_free(struct rte_mempool *mp)
{
	(void)mp;
}

static int pool_put(struct rte_mempool *mp, void *const *objs, unsigned int n)
{
	(void)mp;
	(void)objs;
	frames_freed += n;
	return 0;
}

static int pool_get(struct rte_mempool *mp, void **objs, unsigned int n)
{
	(void)mp;
	(void)objs;
	(void)n;
	return -ENOBUFS;
}

static unsigned int pool_count(const struct rte_mempool *mp)
{
	(void)mp;
	return 0;
}

static const struct rte_mempool_ops pool_ops = {
	.name = "frames",
	.alloc = pool_alloc,
	.free = pool_free,
	.enqueue = pool_put,
	.dequeue = pool_get,
	.get_count = pool_count,
};

static struct rte_mempool *the_pool(void)
{
	/* As rte_mempool_get_priv() looks for it. */
	static struct {
		struct rte_mempool pool;
		struct rte_pktmbuf_pool_private private;
	} made = {.pool.ops_index = -1};

	if (made.pool.ops_index < 0)
		made.pool.ops_index = rte_mempool_register_ops(&pool_ops);
	assert_true(made.pool.ops_index >= 0);
	return &made.pool;
}

/* ---- frames ---- */

void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

uint32_t frame_write(uint8_t *f, uint32_t text, bool six, bool vlan)
{
	uint32_t l3 = vlan ? 18 : 14, l4 = l3 + (six ? 40 : 20), udp = 8 + text;

	memset(f, 0, l4 + udp);
	memcpy(f, (uint8_t[]){2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}, 12);
	if (vlan)
		memcpy(f + 12, (uint8_t[]){0x81, 0x00, 0x60, 42}, 4);
	put16(f + l3 - 2, six ? 0x86dd : 0x0800);
	if (six) {
		memcpy(f + l3, (uint8_t[]){0x60, 0x20, 0, 7}, 4);
		put16(f + l3 + 4, udp);
		f[l3 + 6] = 17;
		f[l3 + 7] = 64;
		f[l3 + 23] = 1;
		f[l3 + 39] = 2;
	} else {
		memcpy(f + l3, (uint8_t[]){0x45, 0x6a}, 2);
		put16(f + l3 + 2, 20 + udp);
		memcpy(f + l3 + 6, (uint8_t[]){0x40, 0, 64, 17}, 4);
		memcpy(f + l3 + 12, (uint8_t[]){10, 0, 0, 1, 10, 0, 0, 2}, 8);
		put16(f + l3 + 10, wire_csum_fold(wire_csum_add(0, f + l3, 20)));
	}
	put16(f + l4, 0xc001);
	put16(f + l4 + 2, 4791);
	put16(f + l4 + 4, udp);
	for (uint32_t i = 0; i < text; i++)
		f[l4 + 8 + i] = (uint8_t)(i * 7 + text);
	return l4 + udp;
}

struct rte_mbuf *frame_cut(uint32_t i, const uint32_t *cuts, uint32_t n)
{
	struct frame *f = &frames[i];
	uint32_t from = 0;

	for (uint32_t s = 0; s <= n; s++) {
		uint32_t to = s < n ? cuts[s] : f->bytes;

		f->seg[s] = (struct rte_mbuf){.buf_addr = f->room[s],
			.buf_len = ROOM,
			.data_off = HEADROOM,
			.data_len = (uint16_t)(to - from),
			.refcnt = 1,
			.nb_segs = 1,
			.pool = the_pool(),
			.next = s < n ? &f->seg[s + 1] : NULL};
		memcpy(f->room[s] + HEADROOM, f->before + from, to - from);
		from = to;
	}
	f->seg[0].nb_segs = (uint16_t)(n + 1);
	f->seg[0].pkt_len = f->bytes;
	return &f->seg[0];
}

struct rte_mbuf *frame_whole(uint32_t i)
{
	return frame_cut(i, NULL, 0);
}

struct rte_mbuf *frame_make(uint32_t i, uint32_t text, bool six, bool vlan)
{
	frames[i].bytes = frame_write(frames[i].before, text, six, vlan);
	return frame_whole(i);
}

void frame_take(uint32_t i, const struct rte_mbuf *m)
{
	uint8_t *to = frames[i].before;

	frames[i].bytes = m->pkt_len;
	for (; m != NULL; m = m->next) {
		memcpy(to, rte_pktmbuf_mtod(m, const void *), m->data_len);
		to += m->data_len;
	}
}

void frame_is(const struct rte_mbuf *m, uint32_t i)
{
	uint32_t at = 0, n = 0;

	assert_int_equal(m->pkt_len, frames[i].bytes);
	for (const struct rte_mbuf *s = m; s != NULL; s = s->next) {
		assert_true(at + s->data_len <= frames[i].bytes);
		assert_memory_equal(rte_pktmbuf_mtod(s, const void *), frames[i].before + at, s->data_len);
		at += s->data_len;
		n++;
	}
	assert_int_equal(at, frames[i].bytes);
	assert_int_equal(n, m->nb_segs);
}
