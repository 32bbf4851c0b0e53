/* SPDX-License-Identifier: BSD-3-Clause */
/* Workers take packets for a capture. */
#include "capture.h"
#include "clock.h"
#include "wire_psp.h"

#define MAX_PARTS  8u /* segments of a packet that are copied, the header of what was in a tunnel counted */
#define ETH_BYTES  14u
#define MACS_BYTES 12u

/* What a frame's UDP destination port says, as long as a capture looks into protected packets and tunnels. */
enum kind { PLAIN, PROTECTED, TUNNEL };

static enum kind kind_of(const struct capture_spec *spec, const struct rte_mbuf *m)
{
	uint32_t port = wire_udp_dport(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);

	if (port - spec->protected_port < spec->n_protected_ports)
		return PROTECTED;
	return port - spec->tunnel_port < spec->n_tunnel_ports ? TUNNEL : PLAIN;
}

/* The packet's bytes behind the first `skip`, cut to `most`, as parts behind those that are there. Their sum. */
static uint32_t add_parts(
	struct iovec *parts, unsigned *n_parts, const struct rte_mbuf *m, uint32_t skip, uint32_t most)
{
	uint32_t sum = 0;

	for (; m != NULL && sum < most && *n_parts < MAX_PARTS; m = m->next) {
		uint32_t n = m->data_len > skip ? m->data_len - skip : 0;

		n = RTE_MIN(n, most - sum);
		if (n != 0)
			parts[(*n_parts)++] = (struct iovec){rte_pktmbuf_mtod_offset(m, uint8_t *, skip), n};
		skip = m->data_len > skip ? 0 : skip - m->data_len;
		sum += n;
	}
	return sum;
}

static void put(struct capture_worker *cw, struct capture_record *record, const struct iovec *parts, unsigned n_parts)
{
	bool fits = capture_ring_put(&cw->ring, record, parts, n_parts);
	_Atomic uint64_t *counter = &cw->taken[record->iface];

	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
	if (fits)
		return;
	counter = &cw->missed[record->iface];
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1, memory_order_relaxed);
}

/* A frame as it is. */
static void take_frame(struct capture_worker *cw, struct capture_record *record, const struct rte_mbuf *m)
{
	const struct capture_spec *spec = cw->spec;
	struct iovec parts[MAX_PARTS];
	unsigned n_parts = 0;

	if (!capture_filter_takes(
		    &spec->filter, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len, m->pkt_len, record->out))
		return;
	record->wire_bytes = m->pkt_len;
	record->bytes = add_parts(parts, &n_parts, m, 0, spec->snaplen);
	put(cw, record, parts, n_parts);
}

/* What is in a tunnel, with a header of Ethernet in front that has the tunnel's link addresses. False: nothing is. */
static bool take_tunnelled(struct capture_worker *cw, struct capture_record *record, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	const struct capture_spec *spec = cw->spec;
	struct iovec parts[MAX_PARTS];
	unsigned n_parts = 1;
	struct wire_udp_at at;
	uint8_t head[ETH_BYTES + WIRE_UDP_MAX_HDR_BYTES + 32]; /* enough for the filter */
	size_t off, n;

	if (wire_udp_find(frame, m->data_len, m->pkt_len, &at) != BASE_DROP_NONE)
		return false;
	off = capture_tunnel_packet(frame, m->data_len, at.l4);
	if (off == 0)
		return false;
	n = RTE_MIN(sizeof(head) - ETH_BYTES, m->data_len - off);
	memcpy(head, frame, MACS_BYTES);
	head[MACS_BYTES] = frame[off] >> 4 == 4 ? 0x08 : 0x86;
	head[MACS_BYTES + 1] = frame[off] >> 4 == 4 ? 0x00 : 0xdd;
	memcpy(head + ETH_BYTES, frame + off, n);
	record->wire_bytes = ETH_BYTES + at.end - (uint32_t)off;
	if (!capture_filter_takes(&spec->filter, head, ETH_BYTES + n, record->wire_bytes, record->out))
		return true;
	parts[0] = (struct iovec){head, RTE_MIN(ETH_BYTES, spec->snaplen)};
	record->bytes = (uint32_t)parts[0].iov_len;
	record->bytes += add_parts(
		parts, &n_parts, m, (uint32_t)off, RTE_MIN(spec->snaplen, record->wire_bytes) - record->bytes);
	put(cw, record, parts, n_parts);
	return true;
}

static void take_one(struct capture_worker *cw, struct capture_record *record, enum capture_point point, uint32_t port,
	const struct rte_mbuf *m)
{
	const struct capture_spec *spec = cw->spec;
	enum kind kind = spec->decrypt ? kind_of(spec, m) : PLAIN;

	record->iface = spec->wire_iface[port];
	if (record->iface == CAPTURE_NO_IFACE)
		return;
	/* it is shown, or was, as it is without */
	if (kind == PROTECTED)
		return;
	if (kind == TUNNEL || point == CAPTURE_OPENED || point == CAPTURE_CLOSING)
		record->iface = spec->plain_iface[port];
	if (kind != TUNNEL || !take_tunnelled(cw, record, m))
		take_frame(cw, record, m);
}

void capture_take(
	struct worker *worker, enum capture_point point, uint32_t queue, struct rte_mbuf *const *pkts, uint32_t n)
{
	struct capture_worker *cw = worker->capture;
	struct capture_record record = {
		.ns = clock_now_ns(), .queue = queue, .out = point == CAPTURE_GOES || point == CAPTURE_CLOSING};

	if (!cw->spec->decrypt && (point == CAPTURE_OPENED || point == CAPTURE_CLOSING))
		return;
	for (uint32_t i = 0; i < n; i++)
		take_one(cw, &record, point, worker->roced->port_by_id[pkts[i]->port]->index, pkts[i]);
}
