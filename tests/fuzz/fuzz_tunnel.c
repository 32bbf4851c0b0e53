/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two gateways, and between them whatever may happen: packets of hosts are delayed, overtake each other, are lost, doubled,
 * marked or damaged, and any other bytes come in at all ports. An input is a byte of how the gateways are, and then steps,
 * each a byte of what is to be done and some of how.
 *
 * Promised: what is not damaged comes out of a tunnel as it went in, to the last bit but its ECN field, no more often than it
 * arrived, and in the order of its flow unless the gateway counts something as late; nothing is held for longer than
 * reorder_us; what a gateway sends is well-formed; and each mbuf is somebody's.
 */
#include "fuzz.h"
#include "tunnel_world.h"
#include "wire_addr.h"
#include "wire_ecn.h"
#include "wire_icrc.h"
#include "wire_psp.h"

#define MAX_SENT    400u
#define MAX_FLYING  400u
#define MAX_PACKET  1400u
#define DIRECT      UINT32_MAX

enum step { HOST, HOST_RAW, FABRIC_RAW, TUNNEL_RAW, DELIVER, TIME, JUMP, DELIVER_ALL, STEPS };
enum fate { WHOLE, TWICE, MARKED, LOST, FLIPPED, CUT, FATES };

struct sent {
	uint32_t flow, bytes;
	uint32_t arrived, passed;  /* at the far gateway, and out of it */
	uint64_t arrived_ns;
	uint8_t ip[MAX_PACKET];    /* the packet from its IP header on */
};

struct flying {
	struct rte_mbuf *m;
	unsigned int to;
};

static const uint8_t *in, *in_end;
static struct sent sent[MAX_SENT];
static struct flying flying[MAX_FLYING];
static uint32_t n_sent, n_flying;
static uint32_t last_passed[WORLD_FLOWS]; /* of a flow, plus one */
static bool damaged;   /* or made up: something may be what it seems not to be */
static bool jumped;
static bool ageing;

static uint8_t next8(void)
{
	return in < in_end ? *in++ : 0;
}

static uint16_t next16(void)
{
	uint8_t high = next8();

	return (uint16_t)(high << 8 | next8());
}

/* Bytes of the input, no more than there are. */
static uint32_t next_bytes(uint32_t most, const uint8_t **bytes)
{
	uint32_t n = RTE_MIN(most, (uint32_t)(in_end - in));

	*bytes = in;
	in += n;
	return n;
}

/* ---- what a gateway sends ---- */

static void check_header(const uint8_t *at, size_t n)
{
	struct wire_tunnel t, again;
	uint8_t bytes[WIRE_TUNNEL_BYTES], report_bytes[WIRE_TUNNEL_REPORT_BYTES];
	struct wire_tunnel_report report, report_again;

	if (!wire_tunnel_read(at, n, &t))
		return;
	wire_tunnel_write(bytes, &t);
	FUZZ_CHECK(memcmp(bytes, at, sizeof(bytes)) == 0);
	FUZZ_CHECK(wire_tunnel_read(bytes, t.type == WIRE_TUNNEL_REPORT ? n : sizeof(bytes), &again));
	for (uint32_t i = 0; t.type == WIRE_TUNNEL_REPORT && i < t.path; i++) {
		wire_tunnel_read_report(at + WIRE_TUNNEL_BYTES + i * WIRE_TUNNEL_REPORT_BYTES, &report);
		wire_tunnel_write_report(report_bytes, &report);
		wire_tunnel_read_report(report_bytes, &report_again);
		FUZZ_CHECK(report.path == report_again.path && report.path_seq == report_again.path_seq && report.packets == report_again.packets &&
			report.marked == report_again.marked && report.echo == report_again.echo && report.held == report_again.held);
	}
}

static void to_fabric(unsigned int s, struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	uint32_t lane = (uint32_t)wire_udp_dport(frame, m->data_len) - WIRE_TUNNEL_PORT;
	struct wire_udp_at at;
	struct wire_tunnel t;

	if (TP_PKT(m)->kind == WIRE_KIND_TUNNEL && lane < GATEWAY_LANES) {
		FUZZ_CHECK(wire_udp_find(frame, m->data_len, m->pkt_len, &at) == BASE_DROP_NONE && at.end == m->pkt_len);
		FUZZ_CHECK(wire_tunnel_read(frame + at.l4 + 8, (size_t)(at.end - at.l4 - 8), &t));
		check_header(frame + at.l4 + 8, (size_t)(at.end - at.l4 - 8));
		FUZZ_CHECK(m->pkt_len - at.l3 <= 1100);
	}
	if (n_flying == MAX_FLYING) {
		rte_pktmbuf_free(m);
		return;
	}
	flying[n_flying++] = (struct flying){.m = m, .to = 1 - s};
}

/* ---- what comes out of tunnels ---- */

/* Which packet of a host it is. */
static uint32_t id_of(const uint8_t *frame, const struct wire_pkt *pkt)
{
	uint32_t id;

	FUZZ_CHECK(pkt->payload_bytes >= WORLD_ID_BYTES);
	memcpy(&id, frame + pkt->payload_off, sizeof(id));
	return id;
}

static void check_order(unsigned int s, const struct sent *was)
{
	const struct side *from = world_side(1 - s), *to = world_side(s);
	struct gateway_reorder_stats stats;
	uint32_t id = (uint32_t)(was - sent);

	gateway_reorder_get_stats(to->gw->reorder, &stats);
	FUZZ_CHECK(stats.missing <= MAX_SENT * MAX_SENT);
	if (stats.late == 0 && from->gw->counters.unordered == 0 && !ageing)
		FUZZ_CHECK(id + 1 >= last_passed[was->flow]);
	last_passed[was->flow] = RTE_MAX(last_passed[was->flow], id + 1);
}

static void to_host(unsigned int s, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct wire_pkt pkt;
	struct sent *was;
	uint32_t after, id;
	bool known_host;

	if (damaged || wire_parse(frame, m->data_len, &pkt) != BASE_DROP_NONE || pkt.kind != WIRE_KIND_ROCE_V2 || pkt.opcode == WIRE_CNP)
		return;
	FUZZ_CHECK(wire_icrc_ok(frame, &pkt));
	id = id_of(frame, &pkt);
	if (id == DIRECT)
		return;
	FUZZ_CHECK(id < n_sent);
	was = &sent[id];
	FUZZ_CHECK(m->pkt_len - pkt.l3_off == was->bytes);
	after = pkt.l3_version == 4 ? 12 : 2; /* what is before has the ECN field and the checksum */
	FUZZ_CHECK(memcmp(frame + pkt.l3_off + after, was->ip + after, was->bytes - after) == 0);
	FUZZ_CHECK(++was->passed <= was->arrived);
	known_host = frame[pkt.l4_off - 1] != 3;
	if (!jumped && known_host)
		FUZZ_CHECK(world_now() - was->arrived_ns <= WORLD_WAIT_NS);
	check_order(s, was);
}

static void emitted(unsigned int s, struct rte_mbuf *m)
{
	if (m->port == WORLD_PORT_ID + WORLD_FABRIC) {
		to_fabric(s, m);
		return;
	}
	FUZZ_CHECK(m->port == WORLD_PORT_ID + WORLD_HOSTS && m->data_len == m->pkt_len);
	to_host(s, m);
	rte_pktmbuf_free(m);
}

/* ---- steps ---- */

static void step_host(unsigned int s)
{
	uint8_t how[4], frame[MAX_PACKET + 64];
	struct sent *new = &sent[n_sent];
	struct world_packet packet;

	if (n_sent == MAX_SENT)
		return;
	for (int i = 0; i < 4; i++)
		how[i] = next8();
	packet.id = world_is_direct(how) ? DIRECT : n_sent;
	world_packet(frame, s, how, &packet);
	*new = (struct sent){.flow = packet.flow, .bytes = packet.bytes - packet.l3};
	memcpy(new->ip, frame + packet.l3, new->bytes);
	n_sent += packet.id != DIRECT;
	FUZZ_CHECK((world_receive(s, world_frame(WORLD_HOSTS, frame, packet.bytes), false) == GATEWAY_ENCAP) == (packet.id != DIRECT));
}

static void step_raw(unsigned int s, uint32_t port)
{
	uint8_t how = next8();
	const uint8_t *bytes;
	uint32_t n = next_bytes(next16() % 2048, &bytes);
	struct rte_mbuf *m = world_frame(port, bytes, n);

	damaged = true;
	/* To us: else most is the bridge's. */
	if ((how & 1) != 0 && n >= 6 && port == WORLD_FABRIC)
		memcpy(rte_pktmbuf_mtod(m, uint8_t *), world_side(s)->roced.ports[WORLD_FABRIC].mac, 6);
	(void)world_receive(s, m, (how & 2) != 0);
}

/* A mark by a switch. */
static void mark(uint8_t *frame, uint32_t n)
{
	struct wire_udp_at at;

	if (wire_udp_find(frame, n, n, &at) == BASE_DROP_NONE)
		wire_set_ecn(frame + at.l3, at.version, 3);
}

/* Anything behind headers that are right. */
static void step_tunnel(unsigned int s)
{
	uint8_t how = next8(), frame[WIRE_UDP_MAX_HDR_BYTES + 2048];
	uint16_t sport = (uint16_t)(0xc000 + next8()), lane = (uint16_t)(how >> 2 & 7);
	const struct gateway_remote *from = &world_side(s)->gw->shared->remotes[how & 1];
	struct wire_l2l3 net = {.src = from->addr, .dst = from->local};
	const uint8_t *data;
	uint32_t n = next_bytes(next16() % 2048, &data);

	damaged = true;
	memcpy(net.dmac, world_side(s)->roced.ports[WORLD_FABRIC].mac, 6);
	n = (uint32_t)wire_udp_write(frame, &net, sport, (uint16_t)(WIRE_TUNNEL_PORT + lane), data, n);
	if ((how & 32) != 0)
		mark(frame, n);
	(void)world_receive(s, world_frame(WORLD_FABRIC, frame, n), (how & 2) != 0);
}

/* Notes when a packet of a host arrives, which a tunnel's frame may hold. */
static void note_arrival(const uint8_t *frame, uint32_t n)
{
	uint8_t inner[14 + MAX_PACKET] = {[12] = 0x08};
	uint32_t from, bytes, id;
	struct wire_udp_at at;
	struct wire_pkt pkt;

	if (wire_udp_find(frame, n, n, &at) != BASE_DROP_NONE)
		return;
	from = at.l4 + 8u + WIRE_TUNNEL_BYTES;
	bytes = at.end > from ? RTE_MIN(at.end - from, MAX_PACKET) : 0;
	memcpy(inner + 14, frame + from, bytes);
	if (inner[14] >> 4 == 6)
		memcpy(inner + 12, (uint8_t[]){0x86, 0xdd}, 2);
	if (wire_parse(inner, 14 + bytes, &pkt) != BASE_DROP_NONE || pkt.kind != WIRE_KIND_ROCE_V2 || pkt.payload_bytes < WORLD_ID_BYTES)
		return;
	id = id_of(inner, &pkt);
	if (id >= n_sent)
		return;
	sent[id].arrived++;
	sent[id].arrived_ns = world_now();
}

static void arrive(unsigned int s, struct rte_mbuf *m)
{
	note_arrival(rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
	m->port = WORLD_PORT_ID + WORLD_FABRIC;
	(void)world_receive(s, m, true);
}

static void step_deliver(uint32_t i, enum fate fate)
{
	struct flying f = flying[i];
	uint32_t n = f.m->data_len, at = fate == FLIPPED || fate == CUT ? next16() % n : 0;
	uint8_t *frame = rte_pktmbuf_mtod(f.m, uint8_t *);
	struct rte_mbuf *copy = world_frame(WORLD_FABRIC, frame, n);

	if (fate == TWICE) {
		arrive(f.to, copy);
		return;
	}
	memmove(&flying[i], &flying[i + 1], (--n_flying - i) * sizeof(flying[0]));
	rte_pktmbuf_free(f.m);
	frame = rte_pktmbuf_mtod(copy, uint8_t *);
	switch (fate) {
	case MARKED:
		mark(frame, n);
		break;
	case FLIPPED:
		frame[at] ^= (uint8_t)(1u << (next8() & 7));
		damaged = true;
		break;
	case CUT:
		rte_pktmbuf_trim(copy, (uint16_t)at);
		damaged = true;
		break;
	case LOST:
		rte_pktmbuf_free(copy);
		return;
	default:
		break;
	}
	arrive(f.to, copy);
}

static void do_step(void)
{
	uint8_t what = next8();
	unsigned int s = what >> 7;
	uint32_t i;

	switch ((enum step)(what % STEPS)) {
	case HOST:
		step_host(s);
		break;
	case HOST_RAW:
		step_raw(s, WORLD_HOSTS);
		break;
	case FABRIC_RAW:
		step_raw(s, WORLD_FABRIC);
		break;
	case TUNNEL_RAW:
		step_tunnel(s);
		break;
	case DELIVER:
		i = next8();
		if (n_flying != 0)
			step_deliver(i % n_flying, (enum fate)((what >> 3 & 15) % FATES));
		break;
	case TIME:
		world_go_on((uint64_t)(next8() + 1) << (what >> 3 & 15));
		break;
	case JUMP:
		jumped = true;
		world_jump((uint64_t)(next8() + 1) << (12 + (what >> 3 & 15)));
		break;
	case DELIVER_ALL:
		for (uint32_t n = n_flying; n > 0 && n_flying != 0; n--)
			step_deliver(0, WHOLE);
		break;
	default:
		break;
	}
}

/* ---- all of it ---- */

static void free_flying(void)
{
	while (n_flying > 0)
		rte_pktmbuf_free(flying[--n_flying].m);
}

/* What waits for something that does not come waits no longer, and nothing is left. */
static void check_end(void)
{
	struct gateway_reorder_stats stats;

	jumped = true;
	for (int i = 0; i < 3; i++)
		world_jump(300000000);
	for (unsigned int s = 0; s < 2; s++) {
		gateway_reorder_get_stats(world_side(s)->gw->reorder, &stats);
		FUZZ_CHECK(stats.held == 0 && world_side(s)->gw->n_waiting == 0);
	}
	free_flying();
	FUZZ_CHECK(world_mbufs() == 0);
	world_end();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world_options options;
	uint8_t how;

	if (size < 2)
		return 0;
	check_header(data, size);
	in = data;
	in_end = data + size;
	how = next8();
	options = (struct world_options){.ageing = how & 1, .proxy = how & 2, .required = how & 4, .two_workers = how & 8, .narrow = how & 16,
		.no_way = how & 32};
	n_sent = n_flying = 0;
	memset(last_passed, 0, sizeof(last_passed));
	damaged = jumped = false;
	ageing = options.ageing;
	world_emitted = emitted;
	world_make(&options);
	/* What hosts were seen by. */
	free_flying();
	while (in < in_end)
		do_step();
	check_end();
	return 0;
}
