/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures: what workers took becomes pcapng and goes to the reader. Main thread. */
#include <errno.h>
#include <unistd.h>

#include "capture_internal.h"

#define TICK_NS    5000000u   /* workers wake nobody for a capture */
#define TICK_BYTES (1u << 20) /* written in one go, so that clients are not kept waiting */

/* Writes what is in out. False: the reader takes no more now, or is gone. */
static bool flush(struct roced *roced, struct capture *capture)
{
	while (capture->out_from < capture->out_to) {
		ssize_t n =
			write(capture->want.fd, capture->out + capture->out_from, capture->out_to - capture->out_from);

		if (n < 0 && errno != EAGAIN && errno != EINTR)
			capture_reader_gone(roced);
		if (n <= 0)
			return false;
		capture->out_from += (size_t)n;
		capture->bytes += (uint64_t)n;
	}
	capture->out_from = capture->out_to = 0;
	return true;
}

/* Of all workers' oldest records the oldest one. NULL: there is none. */
static struct capture_ring *oldest(struct capture *capture, struct capture_record *record)
{
	struct capture_ring *found = NULL;

	for (uint32_t w = 0; w < capture->n_workers; w++) {
		struct capture_record other;

		if (!capture_ring_peek(&capture->workers[w]->ring, &other) || (found != NULL && other.ns >= record->ns))
			continue;
		*record = other;
		found = &capture->workers[w]->ring;
	}
	return found;
}

static bool is_enough(const struct capture *capture)
{
	return capture->want.count != 0 && capture->packets >= capture->want.count;
}

/* Moves records to out, as many as fit. False: there are no more. */
static bool fill(struct capture *capture)
{
	struct capture_record record;
	struct capture_ring *ring;

	while (!is_enough(capture) && (ring = oldest(capture, &record)) != NULL) {
		struct capture_file_packet packet = {.iface = record.iface,
			.queue = record.queue,
			.ns = record.ns + capture->real_ns,
			.bytes = record.bytes,
			.wire_bytes = record.wire_bytes,
			.out = record.out != 0};

		if (CAPTURE_OUT_BYTES - capture->out_to < record.bytes + CAPTURE_FILE_EXTRA)
			return true;
		capture_ring_take(ring, &record, capture->out + capture->out_to + CAPTURE_FILE_DATA);
		capture->out_to += capture_file_packet(capture->out + capture->out_to, &packet, NULL);
		capture->packets++;
	}
	return false;
}

/* What each interface came to, behind the last packet. */
static void write_tail(struct capture *capture, uint64_t now_ns)
{
	for (uint32_t i = 0; i < capture->n_ifaces; i++) {
		struct capture_file_stats stats = {.iface = i,
			.start_ns = capture->begun_ns + capture->real_ns,
			.end_ns = now_ns + capture->real_ns,
			.taken = capture_sum(capture, false, i),
			.missed = capture_sum(capture, true, i)};

		capture->out_to += capture_file_stats(capture->out + capture->out_to, &stats,
			stats.missed != 0 ? "some packets are missing: they came faster than they were written" : "");
	}
}

/* Of what ends: the tail, when all else is written. True: nothing is left to do, or no time. */
static bool is_over(struct roced *roced, struct capture *capture, uint64_t now_ns)
{
	struct capture_record record;

	if (!capture->tail && capture->out_to == 0 && (is_enough(capture) || oldest(capture, &record) == NULL)) {
		capture->tail = true;
		write_tail(capture, now_ns);
		(void)flush(roced, capture);
		if (capture_running(roced) == NULL)
			return false;
	}
	return (capture->tail && capture->out_to == 0) || now_ns >= capture->last_ns;
}

uint64_t capture_tick(struct roced *roced, uint64_t now_ns)
{
	struct capture *capture = capture_running(roced);
	uint64_t from;
	bool more = true;

	if (capture == NULL)
		return UINT64_MAX;
	if (now_ns >= capture->until_ns)
		capture_stop_taking(roced, "time is over", now_ns);
	from = capture->bytes;
	while (more && capture->bytes - from < TICK_BYTES) {
		more = fill(capture);
		if (!flush(roced, capture))
			break;
	}
	if (capture_running(roced) == NULL)
		return UINT64_MAX;
	if (is_enough(capture))
		capture_stop_taking(roced, "enough packets", now_ns);
	if (capture->ending && is_over(roced, capture, now_ns))
		capture_finish(roced);
	return capture_running(roced) != NULL ? now_ns + TICK_NS : UINT64_MAX;
}
