/* SPDX-License-Identifier: BSD-3-Clause */
#include "qos_pause.h"

static void begin(struct qos_pause *p, int prio, uint64_t now_ns)
{
	if ((p->paused & 1u << prio) != 0)
		return;
	p->paused = (uint8_t)(p->paused | 1u << prio);
	p->since_ns[prio] = now_ns;
}

static void end(struct qos_pause *p, int prio, uint64_t now_ns)
{
	if ((p->paused & 1u << prio) == 0)
		return;
	p->paused = (uint8_t)(p->paused & ~(1u << prio));
	p->paused_ns[prio] += now_ns - p->since_ns[prio];
}

bool qos_pause_take(
	struct qos_pause *p, const struct wire_pause *frame, uint8_t enabled, uint64_t rate_bps, uint64_t now_ns)
{
	uint8_t before = p->paused;

	if (frame->kind == WIRE_PAUSE_UNKNOWN)
		return false;
	for (int prio = 0; prio < QOS_PRIORITIES; prio++) {
		if ((frame->named & enabled & 1u << prio) == 0)
			continue;
		p->frames[prio]++;
		if (frame->quanta[prio] == 0) {
			end(p, prio, now_ns);
			continue;
		}
		begin(p, prio, now_ns);
		p->heard_ns[prio] = now_ns;
		p->end_ns[prio] = now_ns + wire_pause_ns(frame->quanta[prio], rate_bps);
	}
	return p->paused != before;
}

bool qos_pause_expire(struct qos_pause *p, uint64_t now_ns)
{
	uint8_t before = p->paused;

	for (int prio = 0; p->paused >> prio != 0; prio++) {
		if ((p->paused & 1u << prio) != 0 && p->end_ns[prio] <= now_ns)
			end(p, prio, p->end_ns[prio]);
	}
	return p->paused != before;
}

uint64_t qos_pause_next_ns(const struct qos_pause *p)
{
	uint64_t next_ns = UINT64_MAX;

	for (int prio = 0; p->paused >> prio != 0; prio++) {
		if ((p->paused & 1u << prio) != 0 && p->end_ns[prio] < next_ns)
			next_ns = p->end_ns[prio];
	}
	return next_ns;
}
