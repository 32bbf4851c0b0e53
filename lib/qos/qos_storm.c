/* SPDX-License-Identifier: BSD-3-Clause */
#include "qos_storm.h"

static bool begins(struct qos_storm *s, const struct qos_storm_config *config, const struct qos_pause *pause, int p,
	bool moves, uint64_t now_ns)
{
	if (moves)
		s->free_ns[p] = now_ns;
	else if (pause->since_ns[p] > s->free_ns[p])
		s->free_ns[p] = pause->since_ns[p];
	return now_ns - s->free_ns[p] >= config->detect_ns;
}

uint8_t qos_storm_look(struct qos_storm *s, const struct qos_storm_config *config, const struct qos_pause *pause,
	uint8_t backlogged, uint8_t sent, uint64_t now_ns)
{
	uint8_t changed = 0;

	for (int p = 0; config->detect_ns != 0 && p < QOS_PRIORITIES; p++) {
		uint8_t bit = (uint8_t)(1u << p);

		if ((s->storming & bit) != 0) {
			if (now_ns - pause->heard_ns[p] < config->restore_ns)
				continue;
			s->restored[p]++;
			s->free_ns[p] = now_ns;
		} else {
			if (!begins(s, config, pause, p, (pause->paused & backlogged & ~sent & bit) == 0, now_ns))
				continue;
			s->detected[p]++;
		}
		changed |= bit;
	}
	s->storming ^= changed;
	return changed;
}
