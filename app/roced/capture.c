/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures: begin, write, end. Main thread. */
#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "gateway.h"
#include "log.h"

#define SECOND_NS    1000000000u
#define TICK_NS      5000000u          /* workers wake nobody for a capture */
#define RINGS_BYTES  (16u << 20)       /* of all workers together */
#define RING_LEAST   (512u << 10)
#define OUT_BYTES    (256u << 10)
#define TICK_BYTES   (1u << 20)        /* written in one go, so that clients are not kept waiting */
#define LAST_NS      (5ull * SECOND_NS) /* the reader has for the rest */

struct capture {
	struct capture_spec spec;
	struct capture_want want;
	bool ending, tail;                 /* no more is taken; what it came to is written behind the packets */
	uint64_t until_ns, begun_ns, last_ns;
	uint64_t real_ns;                  /* real time is the monotonic one and this */
	uint32_t n_ifaces, n_workers;
	uint64_t packets, bytes;
	size_t out_from, out_to;
	struct capture_worker *workers[VD_MAX_WORKERS];
	uint8_t out[OUT_BYTES];
};

struct capture_state {
	struct capture *now;
	struct capture_told last;
};

static struct capture_state *state_of(struct roced *roced)
{
	if (roced->capture == NULL)
		roced->capture = calloc(1, sizeof(*roced->capture));
	return roced->capture;
}

static struct capture *running(const struct roced *roced)
{
	return roced->capture != NULL ? roced->capture->now : NULL;
}

/* ---- workers ---- */

struct attach {
	struct worker *worker;
	struct capture_worker *capture;
};

static void attach(void *arg)
{
	const struct attach *attach = arg;

	attach->worker->capture = attach->capture;
}

static void attach_all(struct roced *roced, struct capture *capture, bool on)
{
	for (uint32_t w = 0; w < capture->n_workers; w++) {
		struct attach call = {roced->workers[w], on ? capture->workers[w] : NULL};

		worker_call(roced->workers[w], attach, &call);
	}
}

static void destroy(struct capture *capture)
{
	if (capture == NULL)
		return;
	for (uint32_t w = 0; w < VD_MAX_WORKERS; w++) {
		if (capture->workers[w] != NULL)
			capture_ring_free(&capture->workers[w]->ring);
		free(capture->workers[w]);
	}
	close(capture->want.fd);
	free(capture);
}

static int make_workers(const struct roced *roced, struct capture *capture)
{
	uint64_t bytes = RTE_MAX(RINGS_BYTES / roced->n_workers, (uint32_t)RING_LEAST);

	for (uint32_t w = 0; w < roced->n_workers; w++) {
		struct capture_worker *cw = aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(sizeof(*cw), RTE_CACHE_LINE_SIZE));

		if (cw == NULL)
			return -ENOMEM;
		memset(cw, 0, sizeof(*cw));
		capture->workers[w] = cw;
		cw->spec = &capture->spec;
		if (capture_ring_make(&cw->ring, bytes) != 0)
			return -ENOMEM;
		capture->n_workers = w + 1;
	}
	return 0;
}

/* ---- begin ---- */

static void set_filter(const struct roced *roced, const struct capture_want *want, struct capture_filter *filter)
{
	struct vd_qp_peer peer;

	filter->by_qp = want->by_qp;
	filter->qpn = want->qpn;
	if (!want->by_qp || vd_find_peer(roced->vd, want->qpn, &peer) != 0)
		return;
	filter->ours = true;
	filter->peer_qpn = peer.qpn;
	filter->n_peers = RTE_MIN(peer.n_addrs, CAPTURE_PEER_ADDRS);
	memcpy(filter->peers, peer.addrs, filter->n_peers * sizeof(peer.addrs[0]));
}

static void set_spec(const struct roced *roced, const struct capture_want *want, struct capture_spec *spec)
{
	const struct config *config = &roced->config;

	spec->decrypt = want->decrypt;
	spec->snaplen = want->snaplen;
	if (config->protection.n_peers != 0) {
		spec->protected_port = config->protection.port;
		spec->n_protected_ports = CRYPT_MSG_LANES;
	}
	if (roced->gateway != NULL) {
		spec->tunnel_port = config->gateway.port;
		spec->n_tunnel_ports = GATEWAY_LANES;
	}
	set_filter(roced, want, &spec->filter);
}

static void add_iface(struct capture *capture, const struct port *port, bool plain)
{
	const char *kind = plain ?
		"packets as they are before protection and tunnels are put on, and after they are taken off: not what is on the wire" :
		capture->want.decrypt ? "what is neither protected nor in a tunnel" : "as on the wire";
	char name[CONFIG_NAME_BYTES + 8], description[CAPTURE_FILE_TEXT];

	snprintf(name, sizeof(name), "%s%s", port->config->name, plain ? " plain" : "");
	snprintf(description, sizeof(description), "port of roced on %.*s: %s", CONFIG_TEXT_BYTES, port->config->device, kind);
	(plain ? capture->spec.plain_iface : capture->spec.wire_iface)[port->index] = (uint8_t)capture->n_ifaces++;
	capture->out_to += capture_file_interface(capture->out + capture->out_to, name, description, port->mac, capture->want.snaplen);
}

/* Section and interfaces, which the reader has before any packet. */
static void write_head(const struct roced *roced, struct capture *capture)
{
	capture->out_to = capture_file_section(capture->out, "roced " ROCED_VERSION, capture->want.decrypt ?
		"decrypted: interfaces called \"plain\" show packets without protection and tunnels, as nobody sees them on the wire" : "");
	memset(capture->spec.wire_iface, CAPTURE_NO_IFACE, sizeof(capture->spec.wire_iface));
	memset(capture->spec.plain_iface, CAPTURE_NO_IFACE, sizeof(capture->spec.plain_iface));
	for (uint32_t p = 0; p < roced->n_ports; p++) {
		if (capture->want.ports != 0 && (capture->want.ports >> p & 1) == 0)
			continue;
		add_iface(capture, &roced->ports[p], false);
		if (capture->want.decrypt)
			add_iface(capture, &roced->ports[p], true);
	}
}

static int check_pipe(int fd)
{
	int flags = fcntl(fd, F_GETFL);
	struct stat st;

	if (flags < 0 || fstat(fd, &st) != 0 || !S_ISFIFO(st.st_mode) || (flags & O_ACCMODE) == O_RDONLY)
		return -EINVAL;
	return fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 ? 0 : -EINVAL;
}

static void set_times(struct capture *capture)
{
	struct timespec real;

	clock_gettime(CLOCK_REALTIME, &real);
	capture->begun_ns = clock_now_ns();
	capture->real_ns = (uint64_t)real.tv_sec * SECOND_NS + (uint64_t)real.tv_nsec - capture->begun_ns;
	capture->until_ns = capture->want.seconds != 0 ? capture->begun_ns + capture->want.seconds * SECOND_NS : UINT64_MAX;
}

static int fail(struct capture *capture, int fd, char why[CAPTURE_WHY_BYTES], const char *text, int rc)
{
	snprintf(why, CAPTURE_WHY_BYTES, "%s", text);
	if (capture != NULL)
		destroy(capture);
	else
		close(fd);
	return rc;
}

int capture_begin(struct roced *roced, const struct capture_want *want, char why[CAPTURE_WHY_BYTES])
{
	struct epoll_event event = {.events = 0, .data.fd = want->fd}; /* its reader's end is told whether asked for or not */
	struct capture_state *state = state_of(roced);
	struct capture *capture;

	if (state == NULL)
		return fail(NULL, want->fd, why, "no memory", -ENOMEM);
	if (state->now != NULL)
		return fail(NULL, want->fd, why, "another capture runs", -EBUSY);
	if (check_pipe(want->fd) != 0)
		return fail(NULL, want->fd, why, "the descriptor is no pipe that can be written to", -EINVAL);
	capture = calloc(1, sizeof(*capture));
	if (capture == NULL)
		return fail(NULL, want->fd, why, "no memory", -ENOMEM);
	capture->want = *want;
	set_spec(roced, want, &capture->spec);
	write_head(roced, capture);
	if (make_workers(roced, capture) != 0)
		return fail(capture, want->fd, why, "no memory for what waits to be written", -ENOMEM);
	if (epoll_ctl(roced->epoll_fd, EPOLL_CTL_ADD, want->fd, &event) != 0)
		return fail(capture, want->fd, why, "the pipe cannot be watched", -errno);
	set_times(capture);
	state->now = capture;
	state->last = (struct capture_told){.running = true, .captures = state->last.captures + 1, .end = ""};
	attach_all(roced, capture, true);
	log_line(LOG_NOTICE, "a capture begins%s", want->decrypt ? ", of decrypted packets" : "");
	return 0;
}

/* ---- end ---- */

static uint64_t sum(const struct capture *capture, bool missed, uint32_t iface)
{
	uint64_t n = 0;

	for (uint32_t w = 0; w < capture->n_workers; w++) {
		struct capture_worker *cw = capture->workers[w];

		n += atomic_load_explicit(missed ? &cw->missed[iface] : &cw->taken[iface], memory_order_relaxed);
	}
	return n;
}

static void update(struct roced *roced)
{
	struct capture *capture = running(roced);
	struct capture_told *told = &roced->capture->last;

	if (capture == NULL)
		return;
	told->packets = capture->packets;
	told->bytes = capture->bytes;
	told->missed = 0;
	for (uint32_t i = 0; i < capture->n_ifaces; i++)
		told->missed += sum(capture, true, i);
}

static void finish(struct roced *roced)
{
	struct capture *capture = running(roced);

	update(roced);
	roced->capture->last.running = false;
	log_line(LOG_NOTICE, "the capture ends (%s): %lu packets, %lu missed", roced->capture->last.end,
		(unsigned long)roced->capture->last.packets, (unsigned long)roced->capture->last.missed);
	epoll_ctl(roced->epoll_fd, EPOLL_CTL_DEL, capture->want.fd, NULL);
	destroy(capture);
	roced->capture->now = NULL;
}

/* Workers take no more from now on. */
static void stop_taking(struct roced *roced, const char *end, uint64_t now_ns)
{
	struct capture *capture = running(roced);

	if (capture == NULL || capture->ending)
		return;
	attach_all(roced, capture, false);
	capture->ending = true;
	capture->last_ns = now_ns + LAST_NS;
	roced->capture->last.end = end;
}

void capture_end(struct roced *roced)
{
	stop_taking(roced, "asked to", clock_now_ns());
}

/* ---- writing ---- */

/* Writes what is in out. False: the reader takes no more now, or is gone. */
static bool flush(struct roced *roced, struct capture *capture)
{
	while (capture->out_from < capture->out_to) {
		ssize_t n = write(capture->want.fd, capture->out + capture->out_from, capture->out_to - capture->out_from);

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
		struct capture_file_packet packet = {.iface = record.iface, .queue = record.queue, .ns = record.ns + capture->real_ns,
			.bytes = record.bytes, .wire_bytes = record.wire_bytes, .out = record.out != 0};

		if (OUT_BYTES - capture->out_to < record.bytes + CAPTURE_FILE_EXTRA)
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
		struct capture_file_stats stats = {.iface = i, .start_ns = capture->begun_ns + capture->real_ns, .end_ns = now_ns + capture->real_ns,
			.taken = sum(capture, false, i), .missed = sum(capture, true, i)};

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
		if (running(roced) == NULL)
			return false;
	}
	return (capture->tail && capture->out_to == 0) || now_ns >= capture->last_ns;
}

uint64_t capture_tick(struct roced *roced, uint64_t now_ns)
{
	struct capture *capture = running(roced);
	uint64_t from;
	bool more = true;

	if (capture == NULL)
		return UINT64_MAX;
	if (now_ns >= capture->until_ns)
		stop_taking(roced, "time is over", now_ns);
	from = capture->bytes;
	while (more && capture->bytes - from < TICK_BYTES) {
		more = fill(capture);
		if (!flush(roced, capture))
			break;
	}
	if (running(roced) == NULL)
		return UINT64_MAX;
	if (is_enough(capture))
		stop_taking(roced, "enough packets", now_ns);
	if (capture->ending && is_over(roced, capture, now_ns))
		finish(roced);
	return running(roced) != NULL ? now_ns + TICK_NS : UINT64_MAX;
}

/* ---- the rest ---- */

bool capture_is_pipe(const struct roced *roced, int fd)
{
	const struct capture *capture = running(roced);

	return capture != NULL && capture->want.fd == fd;
}

void capture_reader_gone(struct roced *roced)
{
	if (running(roced) == NULL)
		return;
	stop_taking(roced, "its reader is gone", clock_now_ns());
	finish(roced);
}

void capture_tell(const struct roced *roced, struct capture_told *told)
{
	memset(told, 0, sizeof(*told));
	told->end = "";
	if (roced->capture == NULL)
		return;
	update((struct roced *)(uintptr_t)roced);
	*told = roced->capture->last;
}

void capture_fini(struct roced *roced)
{
	if (running(roced) != NULL) {
		stop_taking(roced, "the daemon ends", clock_now_ns());
		(void)capture_tick(roced, clock_now_ns());
	}
	if (running(roced) != NULL)
		finish(roced);
	free(roced->capture);
	roced->capture = NULL;
}
