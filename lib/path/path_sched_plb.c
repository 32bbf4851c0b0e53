/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protective Load Balancing (SIGCOMM 2022). A round trip in which at least plb_marked_percent of the packets were
 * marked is congested. The flow moves after plb_rounds such rounds in a row, after plb_idle_rounds if nothing is
 * outstanding, and on a timeout.
 */
#include "path_sched_internal.h"

static void move(struct path_sched *s)
{
	s->rounds = 0;
	s->current = path_random_ev(s, s->current);
}

static uint8_t pick(struct path_sched *s, const struct path_sched_view *view)
{
	uint8_t enough = view->in_flight_bytes == 0 ? s->config->plb_idle_rounds : s->config->plb_rounds;

	if (path_dead(s, s->current) || s->rounds >= enough)
		move(s);
	return s->current;
}

static void end_round(struct path_sched *s, uint64_t now_ns)
{
	uint64_t rtt_ns = (uint64_t)s->ev[s->current].srtt << s->rtt_shift;

	if (s->marked * 100u < (uint32_t)s->config->plb_marked_percent * s->acked)
		s->rounds = 0;
	else if (s->rounds < UINT8_MAX)
		s->rounds++;
	s->acked = s->marked = 0;
	s->until_ns = now_ns + (rtt_ns > s->config->base_rtt_ns ? rtt_ns : s->config->base_rtt_ns);
}

/* Packets that were sent before the flow moved say nothing of where it is. */
static void acked(struct path_sched *s, uint8_t ev, bool ecn, uint64_t now_ns)
{
	if (ev != s->current)
		return;
	if (s->acked < UINT16_MAX) {
		s->acked++;
		s->marked = (uint16_t)(s->marked + ecn);
	}
	if (s->until_ns == 0)
		s->until_ns = now_ns + s->config->base_rtt_ns;
	if (now_ns >= s->until_ns)
		end_round(s, now_ns);
}

const struct path_sched_rules path_sched_plb = {.name = "plb", .pick = pick, .acked = acked};
