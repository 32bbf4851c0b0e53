/* SPDX-License-Identifier: BSD-3-Clause */
#include "tunnel_world.h"

#include <rte_mempool.h>

#include "fuzz.h"
#include "log.h"
#include "protect.h"
#include "wire_addr.h"

#define MS_NS 1000000u

size_t roced_route_off = offsetof(struct rte_mbuf, dynfield1);
void (*world_emitted)(unsigned int s, struct rte_mbuf *m);

static struct side sides[2];
static struct config_port port_configs[2];
static struct path_neigh_entry neighbour;
static struct link far_link;
static uint64_t now_ns;
static uint32_t mbufs_out;

/* ---- mbufs of malloc, so that a byte beside one is found ---- */

static struct rte_mempool *the_pool(void);

static struct rte_mbuf *make_mbuf(uint32_t room)
{
	struct rte_mbuf *m = calloc(1, sizeof(*m) + sizeof(struct wire_pkt));

	FUZZ_CHECK(m != NULL);
	m->buf_addr = malloc(RTE_PKTMBUF_HEADROOM + room);
	FUZZ_CHECK(m->buf_addr != NULL);
	m->buf_len = (uint16_t)(RTE_PKTMBUF_HEADROOM + room);
	m->priv_size = sizeof(struct wire_pkt);
	m->pool = the_pool();
	rte_mbuf_refcnt_set(m, 1);
	/* As it is of one that was used before. */
	memset(m + 1, 0xa5, sizeof(struct wire_pkt));
	rte_pktmbuf_reset(m);
	mbufs_out++;
	return m;
}

static int pool_get(struct rte_mempool *mp, void **objs, unsigned int n)
{
	(void)mp;
	for (unsigned int i = 0; i < n; i++)
		objs[i] = make_mbuf(mp->elt_size);
	return 0;
}

static int pool_put(struct rte_mempool *mp, void *const *objs, unsigned int n)
{
	(void)mp;
	for (unsigned int i = 0; i < n; i++) {
		free(((struct rte_mbuf *)objs[i])->buf_addr);
		free(objs[i]);
		mbufs_out--;
	}
	return 0;
}

static int pool_alloc(struct rte_mempool *mp)
{
	(void)mp;
	return 0;
}

static unsigned int pool_count(const struct rte_mempool *mp)
{
	(void)mp;
	return 0;
}

static struct rte_mempool *the_pool(void)
{
	static const struct rte_mempool_ops ops = {.name = "malloc", .alloc = pool_alloc, .enqueue = pool_put, .dequeue = pool_get,
		.get_count = pool_count};
	/* As rte_mempool_get_priv() looks for it. */
	static struct {
		struct rte_mempool pool;
		struct rte_pktmbuf_pool_private private;
	} made = {.pool = {.ops_index = -1, .elt_size = 2048}, .private = {.mbuf_priv_size = sizeof(struct wire_pkt)}};

	if (made.pool.ops_index < 0)
		made.pool.ops_index = rte_mempool_register_ops(&ops);
	FUZZ_CHECK(made.pool.ops_index >= 0);
	return &made.pool;
}

uint32_t world_mbufs(void)
{
	return mbufs_out;
}

struct rte_mbuf *world_frame(uint32_t port, const uint8_t *data, uint32_t n)
{
	struct rte_mbuf *m = make_mbuf(n);

	memcpy(rte_pktmbuf_append(m, (uint16_t)n), data, n);
	m->port = (uint16_t)(WORLD_PORT_ID + port);
	return m;
}

/* ---- the daemon's other parts, as far as a gateway needs them ---- */

void worker_emit(struct worker *worker, struct rte_mbuf *m, enum route route)
{
	*roced_route(m) = (uint8_t)route;
	world_emitted(worker == &sides[1].worker, m);
}

struct rte_mbuf *worker_copy(const struct worker *worker, struct rte_mbuf *m)
{
	struct rte_mbuf *copy;

	(void)worker;
	copy = world_frame(0, rte_pktmbuf_mtod(m, const uint8_t *), m->data_len);
	*TP_PKT(copy) = *TP_PKT(m);
	copy->port = m->port;
	return copy;
}

struct link *link_hold_by(struct roced *roced, struct port *port, uint32_t device, const struct wire_addr *src,
	const struct wire_addr *dst)
{
	(void)device;
	(void)src;
	(void)dst;
	FUZZ_CHECK(port == &roced->ports[WORLD_FABRIC]);
	return &far_link;
}

void link_release(struct roced *roced, struct link *link)
{
	(void)roced;
	FUZZ_CHECK(link == &far_link);
}

/* The first peer of the configuration is the far gateway of IPv6. */
const struct config_protect *protect_policy(const struct config_protection *config, uint32_t devices, const struct wire_addr *peer)
{
	(void)devices;
	return config->n_peers != 0 && memcmp(&config->peers[0].network.addr, peer, sizeof(*peer)) == 0 ? &config->peers[0] : NULL;
}

void log_line(int level, const char *fmt, ...)
{
	(void)level;
	(void)fmt;
}

/* ---- two gateways ---- */

static void set_prefix(struct config_prefix *prefix, const char *text, uint32_t len)
{
	FUZZ_CHECK(wire_addr_read(text, &prefix->addr));
	prefix->len = len;
}

static void configure(unsigned int s, const struct world_options *options)
{
	static const char *const address[2][2] = {{"10.99.0.2", "fd99::2"}, {"10.99.0.1", "fd99::1"}};
	static const char *const network[2][2] = {{"10.1.2.0", "fd01:2::"}, {"10.1.1.0", "fd01:1::"}};
	struct config *config = &sides[s].roced.config;
	struct config_gateway *gateway = &config->gateway;

	*gateway = (struct config_gateway){.device = "d", .host_mask = 1u << WORLD_HOSTS, .bridge = true, .port = WIRE_TUNNEL_PORT, .paths = 4,
		.base_rtt_us = 50, .silence_us = 5000, .report_us = 200, .report_packets = 8, .scheduler = {.kind = PATH_SCHED_WEIGHTED},
		.max_flows = options->narrow ? 3 : 64, .max_flows_per_host = options->narrow ? 2 : 64,
		.flow_idle_ms = options->ageing ? WORLD_IDLE_NS / MS_NS : 3600000, .reorder_packets = options->narrow ? 3 : 64,
		.reorder_us = WORLD_WAIT_NS / 1000, .flowlet_us = 500, .max_pairs = 4, .cnp_proxy = options->proxy, .cnp_interval_us = 50,
		.n_direct = 1, .n_remotes = WORLD_REMOTES};
	set_prefix(&gateway->direct[0], "10.1.3.0", 24);
	for (uint32_t r = 0; r < WORLD_REMOTES; r++) {
		set_prefix(&gateway->remotes[r].address, address[s][r], r == 0 ? 32 : 128);
		gateway->remotes[r].n_networks = 1;
		set_prefix(&gateway->remotes[r].networks[0], network[s][r], r == 0 ? 24 : 64);
	}
	config->devices[0].port_index = WORLD_FABRIC;
	config->protection.n_peers = options->required;
	config->protection.peers[0].network = gateway->remotes[1].address;
	config->protection.peers[0].policy = CONFIG_PROTECT_REQUIRED;
}

static void set_port(struct roced *roced, uint32_t p, unsigned int s)
{
	static const char *const own[2][2] = {{"10.99.0.1", "fd99::1"}, {"10.99.0.2", "fd99::2"}};
	struct port *port = &roced->ports[p];

	port_configs[p].mtu = p == WORLD_HOSTS ? 1200 : 1100;
	port_configs[p].mbufs = 1024;
	port->config = &port_configs[p];
	port->index = p;
	port->id = (uint16_t)(WORLD_PORT_ID + p);
	memcpy(port->mac, (uint8_t[]){2, 0, 0, 0, (uint8_t)p, 0}, 6);
	roced->port_by_id[port->id] = port;
	for (uint32_t i = 0; p == WORLD_FABRIC && i < 2; i++) {
		FUZZ_CHECK(wire_addr_read(own[s][i], &port->addrs[i].addr));
		memcpy(port->addrs[i].mac, port->mac, 6);
		port->n_addrs = i + 1;
	}
}

/* An announcement of each host that has been seen, by ARP or of IPv6. */
static void seen_hosts(unsigned int s)
{
	for (uint8_t h = 1; h <= 2; h++) {
		uint8_t arp[42] = {[5] = 1, [6] = 2, [10] = (uint8_t)(16 + s), [11] = h, [12] = 8, [13] = 6, [15] = 1, [16] = 8, [18] = 6, [19] = 4,
			[21] = 1, [28] = 10, [29] = 1, [30] = (uint8_t)(1 + s), [31] = h};
		uint8_t six[54] = {[5] = 1, [6] = 2, [10] = (uint8_t)(16 + s), [11] = h, [12] = 0x86, [13] = 0xdd, [14] = 0x60, [20] = 59,
			[22] = 0xfd, [23] = 1, [25] = (uint8_t)(1 + s), [37] = h};

		(void)world_receive(s, world_frame(WORLD_HOSTS, arp, sizeof(arp)), false);
		(void)world_receive(s, world_frame(WORLD_HOSTS, six, sizeof(six)), false);
	}
}

static void make_side(unsigned int s, const struct world_options *options)
{
	struct side *side = &sides[s];

	memset(side, 0, sizeof(*side));
	side->roced.seed = 77 + s;
	side->roced.tx_pool = the_pool();
	side->roced.n_ports = 2;
	side->roced.n_workers = options->two_workers ? 2 : 1;
	configure(s, options);
	set_port(&side->roced, WORLD_HOSTS, s);
	set_port(&side->roced, WORLD_FABRIC, s);
	FUZZ_CHECK(gateway_init(&side->roced) == 0);
	gateway_find_remotes(&side->roced);
	side->worker.roced = &side->roced;
	side->worker.now_ns = now_ns;
	FUZZ_CHECK(gateway_worker_init(&side->worker) == 0);
	side->gw = side->worker.gateway;
	seen_hosts(s);
}

struct side *world_side(unsigned int s)
{
	return &sides[s];
}

void world_make(const struct world_options *options)
{
	now_ns = 1000 * (uint64_t)MS_NS;
	far_link.entry = &neighbour;
	for (unsigned int s = 0; s < 2; s++)
		make_side(s, options);
	/* Both fabric ports have that address. */
	neighbour.mac = options->no_way ? 0 : PATH_NEIGH_MAC_VALID | 0x020000000100u;
}

void world_end(void)
{
	for (unsigned int s = 0; s < 2; s++) {
		gateway_worker_fini(&sides[s].worker);
		gateway_fini(&sides[s].roced);
	}
}

/* ---- time ---- */

uint64_t world_now(void)
{
	return now_ns;
}

static void run_timers(void)
{
	for (unsigned int s = 0; s < 2; s++) {
		struct worker *worker = &sides[s].worker;

		worker->now_ns = now_ns;
		gateway_tick(worker);
		/* Else the worker would never sleep. */
		FUZZ_CHECK(gateway_next_ns(worker) > now_ns);
	}
}

void world_go_on(uint64_t ns)
{
	uint64_t until_ns = now_ns + RTE_MIN(ns, 20ull * MS_NS);

	for (;;) {
		uint64_t next_ns = RTE_MIN(gateway_next_ns(&sides[0].worker), gateway_next_ns(&sides[1].worker));

		if (next_ns > until_ns)
			break;
		now_ns = RTE_MAX(next_ns, now_ns);
		run_timers();
	}
	world_jump(until_ns - now_ns);
}

void world_jump(uint64_t ns)
{
	now_ns += ns;
	run_timers();
}

/* ---- frames ---- */

static void host_addr(struct wire_addr *addr, bool six, uint32_t network, uint32_t host)
{
	const uint8_t v6[16] = {0xfd, 1, [3] = (uint8_t)network, [15] = (uint8_t)host};
	const uint8_t v4[4] = {10, 1, (uint8_t)network, (uint8_t)host};

	if (six)
		memcpy(addr, v6, sizeof(*addr));
	else
		wire_addr_from_v4(addr, v4);
}

void world_packet(uint8_t *frame, unsigned int s, const uint8_t how[4], struct world_packet *packet)
{
	static const uint8_t opcodes[8] = {WIRE_RC_SEND_ONLY, WIRE_RC_WRITE_ONLY, WIRE_RC_READ_RESP_ONLY, WIRE_RC_SEND_MIDDLE,
		WIRE_UC_SEND_FIRST, WIRE_UD_SEND_ONLY, WIRE_RC_SEND_FIRST, WIRE_RC_SEND_LAST};
	uint8_t kind = how[0], who = how[1] & 7, host = (how[1] >> 3) % 3;
	bool six = (kind & 1) != 0;
	struct wire_l2l3 net = {.dmac = {2, 0, 0, 0, 9, 9}, .smac = {2, 0, 0, 0, (uint8_t)(16 + s), 1}};
	struct wire_pkt pkt = {.kind = WIRE_KIND_ROCE_V2, .l3_version = six ? 6 : 4, .opcode = opcodes[kind >> 1 & 7], .dqpn = who & 3,
		.psn = how[2], .ack_req = 1, .tos = kind >> 4 & 7, .ttl = 64, .ip_frag = 0x4000, .pkey = 0xffff,
		.udp_sport = (uint16_t)(0xc000 + (who >> 2))};

	host_addr(&net.src, six, 1 + s, 1);
	host_addr(&net.dst, six, world_is_direct(how) ? 3 : 2 - s, 1u + host);
	pkt.payload_bytes = (uint16_t)(WORLD_ID_BYTES + how[3] * 4u);
	wire_write(frame, &net, &pkt);
	memset(frame + pkt.payload_off, how[3], pkt.payload_bytes);
	memcpy(frame + pkt.payload_off, &packet->id, WORLD_ID_BYTES);
	wire_seal(frame, &pkt);
	packet->flow = (((host * 8u + who) * 2 + six) * 2 + (pkt.tos >> 2)) * 2 + s;
	packet->l3 = pkt.l3_off;
	packet->bytes = pkt.frame_bytes;
}

enum gateway_verdict world_receive(unsigned int s, struct rte_mbuf *m, bool opened)
{
	struct worker *worker = &sides[s].worker;
	enum gateway_verdict verdict;
	uint64_t drops = 0;

	for (uint32_t d = 0; d < BASE_DROP_COUNT; d++)
		drops += worker->counters.drops[d];
	worker->now_ns = now_ns;
	*roced_route(m) = opened ? ROUTE_OPENED : ROUTE_TX;
	verdict = gateway_classify(worker, m);
	switch (verdict) {
	case GATEWAY_ENCAP:
		gateway_encap(worker, m);
		return verdict;
	case GATEWAY_DECAP:
		gateway_decap(worker, m);
		return verdict;
	case GATEWAY_BRIDGE:
		if (gateway_bridge(worker, m))
			break;
		return verdict;
	case GATEWAY_DROP:
		for (uint32_t d = 0; d < BASE_DROP_COUNT; d++)
			drops -= worker->counters.drops[d];
		FUZZ_CHECK(drops == UINT64_MAX);
		break;
	case GATEWAY_HANDOFF:
	case GATEWAY_NOT:
		break;
	}
	rte_pktmbuf_free(m);
	return verdict;
}
