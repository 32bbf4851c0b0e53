/* SPDX-License-Identifier: BSD-3-Clause */
/* Captures: begin, write, end. Main thread. */
#include "capture_internal.h"

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

#define SECOND_NS   1000000000u
#define RINGS_BYTES (16u << 20) /* of all workers together */
#define RING_LEAST  (512u << 10)
#define LAST_NS     (5ull * SECOND_NS) /* the reader has for the rest */

static struct capture_state *state_of(struct roced *roced)
{
	if (roced->capture == NULL)
		roced->capture = calloc(1, sizeof(*roced->capture));
	return roced->capture;
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
		struct capture_worker *cw =
			aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(sizeof(*cw), RTE_CACHE_LINE_SIZE));

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
	const char *kind = plain ? "packets as they are before protection and tunnels are put on, and after they are "
				   "taken off: not what is on the wire"
			   : capture->want.decrypt ? "what is neither protected nor in a tunnel"
						   : "as on the wire";
	char name[CONFIG_NAME_BYTES + 8], description[CAPTURE_FILE_TEXT];

	snprintf(name, sizeof(name), "%s%s", port->config->name, plain ? " plain" : "");
	snprintf(description, sizeof(description), "port of roced on %.*s: %s", CONFIG_TEXT_BYTES, port->config->device,
		kind);
	(plain ? capture->spec.plain_iface : capture->spec.wire_iface)[port->index] = (uint8_t)capture->n_ifaces++;
	capture->out_to += capture_file_interface(
		capture->out + capture->out_to, name, description, port->mac, capture->want.snaplen);
}

/* Section and interfaces, which the reader has before any packet. */
static void write_head(const struct roced *roced, struct capture *capture)
{
	capture->out_to = capture_file_section(capture->out, "roced " ROCED_VERSION,
		capture->want.decrypt ? "decrypted: interfaces called \"plain\" show packets without protection and "
					"tunnels, as nobody sees them on the wire"
				      : "");
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

/* Whoever opened it may have looked already. */
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
	capture->until_ns =
		capture->want.seconds != 0 ? capture->begun_ns + capture->want.seconds * SECOND_NS : UINT64_MAX;
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
	struct epoll_event event = {
		.events = 0, .data.fd = want->fd}; /* its reader's end is told whether asked for or not */
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

uint64_t capture_sum(const struct capture *capture, bool missed, uint32_t iface)
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
	struct capture *capture = capture_running(roced);
	struct capture_told *told = &roced->capture->last;

	if (capture == NULL)
		return;
	told->packets = capture->packets;
	told->bytes = capture->bytes;
	told->missed = 0;
	for (uint32_t i = 0; i < capture->n_ifaces; i++)
		told->missed += capture_sum(capture, true, i);
}

void capture_finish(struct roced *roced)
{
	struct capture *capture = capture_running(roced);

	update(roced);
	roced->capture->last.running = false;
	log_line(LOG_NOTICE, "the capture ends (%s): %lu packets, %lu missed", roced->capture->last.end,
		(unsigned long)roced->capture->last.packets, (unsigned long)roced->capture->last.missed);
	epoll_ctl(roced->epoll_fd, EPOLL_CTL_DEL, capture->want.fd, NULL);
	destroy(capture);
	roced->capture->now = NULL;
}

/* Workers take no more from now on. */
void capture_stop_taking(struct roced *roced, const char *end, uint64_t now_ns)
{
	struct capture *capture = capture_running(roced);

	if (capture == NULL || capture->ending)
		return;
	attach_all(roced, capture, false);
	capture->ending = true;
	capture->last_ns = now_ns + LAST_NS;
	roced->capture->last.end = end;
}

void capture_end(struct roced *roced)
{
	capture_stop_taking(roced, "asked to", clock_now_ns());
}

/* ---- the rest ---- */

bool capture_is_pipe(const struct roced *roced, int fd)
{
	const struct capture *capture = capture_running(roced);

	return capture != NULL && capture->want.fd == fd;
}

void capture_reader_gone(struct roced *roced)
{
	if (capture_running(roced) == NULL)
		return;
	capture_stop_taking(roced, "its reader is gone", clock_now_ns());
	capture_finish(roced);
}

void capture_tell(struct roced *roced, struct capture_told *told)
{
	memset(told, 0, sizeof(*told));
	told->end = "";
	if (roced->capture == NULL)
		return;
	update(roced);
	*told = roced->capture->last;
}

void capture_fini(struct roced *roced)
{
	if (capture_running(roced) != NULL) {
		capture_stop_taking(roced, "the daemon ends", clock_now_ns());
		(void)capture_tick(roced, clock_now_ns());
	}
	if (capture_running(roced) != NULL)
		capture_finish(roced);
	free(roced->capture);
	roced->capture = NULL;
}
