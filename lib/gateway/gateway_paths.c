/* SPDX-License-Identifier: BSD-3-Clause */
#include "gateway_paths.h"

#include <string.h>

#define SILENT_RTTS 4u   /* so many round trips without a report are a loss */
#define REBOOT_NS   5000000000u /* a machine takes longer to start anew */
#define MAX_TOLD    128u /* packets of one report that the scheduler hears of one by one */

/* ---- the sender's end ---- */

void gateway_tx_init(struct gateway_tx *tx, const struct path_sched_config *config, uint64_t silence_ns, uint64_t seed)
{
	memset(tx, 0, sizeof(*tx));
	path_sched_init(&tx->sched, config, seed);
	tx->silence_ns = silence_ns;
}

static void leave(struct gateway_tx *tx, uint8_t p, uint64_t now_ns, struct wire_tunnel *t)
{
	struct gateway_tx_path *path = &tx->path[p];

	path->seq++;
	path->sent++;
	if ((tx->waiting & 1ull << p) == 0) {
		tx->waiting |= 1ull << p;
		path->since_ns = now_ns;
		path->silent = false;
	}
	t->path = p;
	t->path_seq = path->seq;
	t->sent = (uint32_t)(now_ns / WIRE_TUNNEL_TICK_NS);
}

void gateway_tx_packet(struct gateway_tx *tx, uint64_t now_ns, struct wire_tunnel *t)
{
	const struct path_sched_view view = {.now_ns = now_ns, .last_send_ns = tx->last_send_ns};

	leave(tx, path_sched_pick(&tx->sched, &view), now_ns, t);
	tx->last_send_ns = now_ns;
}

void gateway_tx_packet_fixed(struct gateway_tx *tx, uint64_t hash, uint64_t now_ns, struct wire_tunnel *t)
{
	uint8_t n = tx->sched.config->n_evs, p = (uint8_t)(hash % n);

	for (uint8_t i = 0; i < n && !path_sched_alive(&tx->sched, p); i++)
		p = (uint8_t)((p + 1) % n);
	leave(tx, p, now_ns, t);
	tx->last_send_ns = now_ns;
}

bool gateway_tx_probe(struct gateway_tx *tx, uint64_t now_ns, struct wire_tunnel *t)
{
	uint8_t p;

	if (!path_sched_probe(&tx->sched, now_ns, &p))
		return false;
	*t = (struct wire_tunnel){.type = WIRE_TUNNEL_PROBE};
	leave(tx, p, now_ns, t);
	return true;
}

static uint32_t rtt_of(struct gateway_tx *tx, const struct wire_tunnel_report *report, uint64_t now_ns)
{
	uint32_t ticks = (uint32_t)(now_ns / WIRE_TUNNEL_TICK_NS) - report->echo - report->held;
	uint64_t rtt_ns = (uint64_t)ticks * WIRE_TUNNEL_TICK_NS;

	/* Longer than half of what the clock can tell apart: it was set, or the report is of another time. */
	if (ticks > INT32_MAX / 16)
		return 0;
	rtt_ns = rtt_ns != 0 ? rtt_ns : 1;
	tx->srtt_ns = tx->srtt_ns == 0 ? (uint32_t)rtt_ns : (uint32_t)((7 * (uint64_t)tx->srtt_ns + rtt_ns) / 8);
	return (uint32_t)rtt_ns;
}

void gateway_tx_report(struct gateway_tx *tx, const struct wire_tunnel_report *report, uint64_t now_ns)
{
	struct gateway_tx_path *path = &tx->path[report->path % PATH_SCHED_MAX_EVS];
	uint16_t moved = (uint16_t)(report->path_seq - path->told), ahead = (uint16_t)(path->seq - report->path_seq);
	uint32_t came = report->packets - path->packets, marked = report->marked - path->marked, lost;
	bool known = path->known;
	uint32_t rtt_ns;

	if (report->path >= tx->sched.config->n_evs || ahead > INT16_MAX) {
		tx->bad_reports++;
		return;
	}
	tx->reports++;
	path->known = true;
	path->told = report->path_seq;
	path->packets = report->packets;
	path->marked = report->marked;
	rtt_ns = rtt_of(tx, report, now_ns);
	/* A receiver that began anew, or the first report: its counters have no beginning. */
	if (!known || came > UINT16_MAX) {
		came = 1;
		marked = 0;
		moved = 1;
	}
	lost = moved <= INT16_MAX && moved > came ? moved - came : 0;
	path->lost += lost;
	/* Marks among the others, as they were on the way, not all at the beginning. */
	for (uint32_t i = 0; i < came && i < MAX_TOLD; i++) {
		bool mark = (uint64_t)(i + 1) * marked / came != (uint64_t)i * marked / came;

		path_sched_acked(&tx->sched, report->path, mark, i == 0 ? rtt_ns : 0, now_ns);
	}
	for (uint32_t i = 0; i < lost && i < MAX_TOLD; i++)
		path_sched_lost(&tx->sched, report->path, now_ns);
	path->since_ns = now_ns;
	path->silent = false;
	if (ahead == 0)
		tx->waiting &= ~(1ull << report->path);
}

static uint64_t silence(const struct gateway_tx *tx)
{
	uint64_t ns = (uint64_t)tx->srtt_ns * SILENT_RTTS;

	return ns > tx->silence_ns ? ns : tx->silence_ns;
}

void gateway_tx_tick(struct gateway_tx *tx, uint64_t now_ns)
{
	uint64_t after_ns = silence(tx);

	for (uint64_t left = tx->waiting; left != 0; left &= left - 1) {
		uint8_t p = (uint8_t)__builtin_ctzll(left);
		struct gateway_tx_path *path = &tx->path[p];

		if (path->silent || now_ns - path->since_ns < after_ns)
			continue;
		path->silent = true;
		path_sched_timeout(&tx->sched, p, now_ns);
		/* What comes next is waited for anew. */
		tx->waiting &= ~(1ull << p);
	}
}

uint64_t gateway_tx_next_ns(const struct gateway_tx *tx, uint64_t now_ns)
{
	uint64_t next_ns = path_sched_next_ns(&tx->sched, now_ns), after_ns = silence(tx);

	for (uint64_t left = tx->waiting; left != 0; left &= left - 1) {
		uint64_t due_ns = tx->path[__builtin_ctzll(left)].since_ns + after_ns;

		next_ns = due_ns < next_ns ? due_ns : next_ns;
	}
	return next_ns;
}

/* ---- the receiver's end ---- */

/* Whether it left after the one that is reported so far. A sender that began anew counts from the beginning, so its
 * clock says it and not its count, which only orders what left within one tick; where not even the clock goes on, a
 * long silence tells. */
static bool is_newer(const struct gateway_rx_path *path, const struct wire_tunnel *t, uint64_t now_ns)
{
	int32_t later = (int32_t)(t->sent - path->echo);

	if (!path->seen || now_ns - path->came_ns > REBOOT_NS)
		return true;
	return later > 0 || (later == 0 && (int16_t)(t->path_seq - path->seq) > 0);
}

void gateway_rx_packet(struct gateway_rx *rx, const struct wire_tunnel *t, bool marked, uint64_t now_ns)
{
	struct gateway_rx_path *path = &rx->path[t->path % PATH_SCHED_MAX_EVS];

	if (t->path >= PATH_SCHED_MAX_EVS)
		return;
	path->packets++;
	path->marked += marked;
	if (is_newer(path, t, now_ns)) {
		path->seen = true;
		path->seq = t->path_seq;
		path->echo = t->sent;
		path->came_ns = now_ns;
	}
	if (rx->n_news++ == 0)
		rx->since_ns = now_ns;
	rx->news |= 1ull << t->path;
}

uint8_t gateway_rx_report(struct gateway_rx *rx, uint64_t now_ns, uint8_t *to, uint8_t room)
{
	uint8_t n = 0;

	for (; rx->news != 0 && n < room; rx->news &= rx->news - 1, n++) {
		uint8_t p = (uint8_t)__builtin_ctzll(rx->news);
		const struct gateway_rx_path *path = &rx->path[p];
		struct wire_tunnel_report report = {.path = p,
			.path_seq = path->seq,
			.packets = path->packets,
			.marked = path->marked,
			.echo = path->echo,
			.held = (uint32_t)((now_ns - path->came_ns) / WIRE_TUNNEL_TICK_NS)};

		wire_tunnel_write_report(to + n * WIRE_TUNNEL_REPORT_BYTES, &report);
	}
	rx->n_news = 0;
	rx->since_ns = now_ns;
	return n;
}

