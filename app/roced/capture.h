/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Captures of packets (docs/capture.md), one at a time. A worker whose `capture` is not NULL copies what the filter
 * takes into a ring of its own; the main thread takes it out, makes pcapng of it and writes that to a pipe, without
 * ever waiting: what the reader does not take in time fills the rings, and what these do not hold is missed and
 * counted. All memory is taken when a capture begins.
 *
 * capture.c (main thread) begins, writes and ends; capture_tap.c (workers) takes packets.
 */
#ifndef CAPTURE_H
#define CAPTURE_H

#include "capture_file.h"
#include "capture_filter.h"
#include "capture_ring.h"
#include "worker.h"

#define CAPTURE_MAX_SNAPLEN 65535u
#define CAPTURE_NO_IFACE    UINT8_MAX
#define CAPTURE_WHY_BYTES   128

/* Where in the graph a packet is taken. */
enum capture_point {
	CAPTURE_CAME,    /* from the port, as on the wire */
	CAPTURE_GOES,    /* to the port, as on the wire */
	CAPTURE_OPENED,  /* after its protection was taken off */
	CAPTURE_CLOSING, /* before it is protected */
};

/* What is asked for. */
struct capture_want {
	int fd;         /* a pipe to write to */
	uint32_t ports; /* a bit for each; 0: all */
	bool by_qp;
	uint32_t qpn;
	bool decrypt;     /* protected packets, and those of tunnels, as they are without that */
	uint32_t snaplen; /* bytes of each packet, 1 to CAPTURE_MAX_SNAPLEN */
	uint64_t count;   /* packets after which it ends; 0: any number */
	uint64_t seconds; /* and time; 0: any */
};

/* What workers read of it; fixed while they have it. */
struct capture_spec {
	struct capture_filter filter;
	bool decrypt;
	uint32_t snaplen;
	uint8_t wire_iface[CONFIG_MAX_PORTS], plain_iface[CONFIG_MAX_PORTS]; /* CAPTURE_NO_IFACE: not this port */
	uint32_t protected_port, n_protected_ports;                          /* UDP destination ports; none: 0 */
	uint32_t tunnel_port, n_tunnel_ports;
};

/* A worker's part. */
struct capture_worker {
	const struct capture_spec *spec;
	struct capture_ring ring;
	_Atomic uint64_t taken[2 * CONFIG_MAX_PORTS],
		missed[2 * CONFIG_MAX_PORTS]; /* by interface; the worker writes */
};

/* What the last capture, or the one that runs, came to. */
struct capture_told {
	bool running;
	uint64_t captures;               /* ever begun */
	uint64_t packets, bytes, missed; /* written, and not taken for lack of room */
	const char *end;                 /* why it ended; "": it runs, or there was none */
};

/* Begins one; takes the descriptor, also when it fails. 0; -EBUSY, -ENOMEM, -EINVAL, with what is wrong in why. */
int capture_begin(struct roced *roced, const struct capture_want *want, char why[CAPTURE_WHY_BYTES]);
/* Takes no more packets; what was taken is still written. */
void capture_end(struct roced *roced);
void capture_tell(struct roced *roced, struct capture_told *told);
/* Writes what there is. When to call it again, UINT64_MAX: no capture runs. */
uint64_t capture_tick(struct roced *roced, uint64_t now_ns);
/* Whether the descriptor is the pipe, whose reader is gone then. */
bool capture_is_pipe(const struct roced *roced, int fd);
void capture_reader_gone(struct roced *roced);
/* Workers do not run any more. */
void capture_fini(struct roced *roced);

/* ---- in workers, when worker->capture is not NULL ---- */
void capture_take(
	struct worker *worker, enum capture_point point, uint32_t queue, struct rte_mbuf *const *pkts, uint32_t n);

#endif
