/* SPDX-License-Identifier: BSD-3-Clause */
/* A pair that has agreed to selective repeat, over paths of different delays. */
#ifndef SR_KIT_H
#define SR_KIT_H

#include "base_psn.h"
#include "harness.h"

#define MTU   256u
#define PSN   0xfffff0u              /* soon wraps */
#define DST   (HX_MEM_BYTES / 2)
#define US    1000u

static inline struct hx_world *make_with(struct hx_options o, hx_script script)
{
	struct hx_world *w;

	o.mtu = MTU;
	o.psn = PSN;
	if (o.timeout == 0)
		o.timeout = 14;
	w = hx_new(&o);
	w->rng = 0x9e3779b97f4a7c15u;
	w->script = script;
	hx_fill(w->side[0].mem, DST, 1);
	hx_fill(w->side[1].mem, DST, 2);
	return w;
}

static inline struct hx_world *make(hx_script script)
{
	struct hx_options o = {.ext = true, .n_paths = 4, .path_ns = {0, 2 * US, 5 * US, 40 * US}};

	return make_with(o, script);
}

/* hx_run() stops the clock when nothing is left to do. */
static inline void pass_time(struct hx_world *w, uint64_t ns)
{
	uint64_t end_ns = w->now_ns + ns;

	hx_run(w, ns);
	w->now_ns = RTE_MAX(w->now_ns, end_ns);
}

static inline const struct tp_counters *counters(const struct hx_world *w, int side)
{
	return tp_counters(w->side[side].tp);
}

static inline void expect_written(struct hx_world *w, uint64_t id, uint32_t bytes)
{
	hx_expect(&w->side[0].send_cq, id, TP_WC_SUCCESS);
	assert_memory_equal(w->side[1].mem + DST, w->side[0].mem, bytes);
}

#endif
