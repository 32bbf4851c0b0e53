/* SPDX-License-Identifier: BSD-3-Clause */
/* Packets between the hosts and the fabric, their buffers, and the clock. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim_internal.h"
#include "wire_ecn.h"

#define HEADROOM   128
#define BUF_BYTES  (HEADROOM + WIRE_MAX_HDR_BYTES + 4096 + 8)
#define HEADER_BYTES 74u /* of a WRITE ONLY over IPv4, with its ICRC */
#define ACK_BYTES  78u    /* of an RC_SACK that tells of one packet */

/* A packet buffer: an mbuf as DPDK lays it out, in plain memory. */
struct sim_buffer {
	struct rte_mbuf mbuf;
	struct wire_pkt pkt;      /* the mbuf's private area */
	struct sim_buffer *next;
	struct sim_host *host;    /* that made it; NULL: has arrived, and is kept */
	uint32_t users;           /* the fabric or who receives it, and who keeps it */
	uint8_t data[BUF_BYTES];
};

static_assert(offsetof(struct sim_buffer, pkt) == sizeof(struct rte_mbuf), "the private area follows the mbuf");

uint64_t sim_random(struct sim_net *net, uint64_t below)
{
	return sim_mix(net->random += 0x9e3779b97f4a7c15u) % below;
}

/* ---- buffers: last in, first out, so that few of them stay in cache ---- */

struct rte_mbuf *sim_buffer_take(struct sim_host *host)
{
	struct sim_net *net = host->net;
	struct sim_buffer *buffer = net->free;

	if (buffer != NULL) {
		net->free = buffer->next;
	} else {
		buffer = calloc(1, sizeof(*buffer));
		if (buffer == NULL)
			return NULL;
		buffer->mbuf.priv_size = sizeof(struct wire_pkt);
		buffer->mbuf.buf_addr = buffer->data;
		buffer->mbuf.buf_len = BUF_BYTES;
	}
	buffer->mbuf.data_off = HEADROOM;
	buffer->mbuf.data_len = 0;
	buffer->mbuf.pkt_len = 0;
	buffer->host = host;
	buffer->users = 1;
	host->n_buffers++;
	net->n_buffers++;
	return &buffer->mbuf;
}

void sim_buffer_give(struct sim_net *net, struct rte_mbuf *m)
{
	struct sim_buffer *buffer = (struct sim_buffer *)(void *)m;

	if (--buffer->users != 0)
		return;
	if (buffer->host != NULL)
		buffer->host->n_buffers--;
	net->n_buffers--;
	buffer->next = net->free;
	net->free = buffer;
}

void sim_buffer_keep(struct rte_mbuf *m)
{
	struct sim_buffer *buffer = (struct sim_buffer *)(void *)m;

	buffer->users++;
	/* It has left the fabric, so its sender has room for another. */
	if (buffer->host != NULL)
		buffer->host->n_buffers--;
	buffer->host = NULL;
}

/* ---- what the fabric asks ---- */

static void set_ce(struct rte_mbuf *m)
{
	struct wire_pkt *pkt = TP_PKT(m);

	pkt->tos |= WIRE_ECN_MASK;
	wire_set_ce(rte_pktmbuf_mtod(m, uint8_t *) + pkt->l3_off, pkt->l3_version);
}

static void flip_a_bit(struct sim_net *net, struct rte_mbuf *m)
{
	const struct wire_pkt *pkt = TP_PKT(m);
	uint64_t bit = sim_random(net, (uint64_t)(m->data_len - pkt->l3_off) * 8);

	rte_pktmbuf_mtod(m, uint8_t *)[pkt->l3_off + bit / 8] ^= (uint8_t)(1u << bit % 8);
}

/* What a port and the classifier do. */
static bool good_frame(struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct wire_pkt *pkt = TP_PKT(m);

	return wire_parse(frame, m->data_len, pkt) == BASE_DROP_NONE && pkt->kind == WIRE_KIND_ROCE_V2 &&
		wire_icrc_ok(frame, pkt);
}

static void note(struct sim_net *net, const struct fabric_packet *packet, uint64_t now_ns)
{
	const struct wire_pkt *pkt = TP_PKT((struct rte_mbuf *)packet->user);

	net->delivered++;
	net->delivered_bytes += packet->bytes;
	net->digest = sim_mix(net->digest ^ now_ns);
	net->digest = sim_mix(net->digest ^ ((uint64_t)packet->src << 32 | packet->dst));
	net->digest = sim_mix(net->digest ^ ((uint64_t)pkt->psn << 32 | (uint64_t)pkt->opcode << 24 | pkt->dqpn));
	net->digest ^= (uint64_t)packet->ce << 1 | packet->corrupt;
}

static void on_deliver(void *env, const struct fabric_packet *packet, uint64_t now_ns)
{
	struct sim_net *net = env;
	struct rte_mbuf *m = packet->user;
	bool good = !packet->corrupt;

	net->now_ns = now_ns;
	note(net, packet, now_ns);
	if (packet->ce)
		set_ce(m);
	if (net->config.checked) {
		if (packet->corrupt)
			flip_a_bit(net, m);
		good = good_frame(m);
	}
	if (!good) {
		net->bad_frames++;
		sim_buffer_give(net, m);
		return;
	}
	sim_host_receive(&net->hosts[packet->dst], m, now_ns);
}

static void on_lose(void *env, const struct fabric_packet *packet, enum fabric_loss why)
{
	(void)why;
	sim_buffer_give(env, packet->user);
}

static void *on_copy(void *env, const struct fabric_packet *packet)
{
	const struct sim_buffer *from = packet->user;
	struct rte_mbuf *m = sim_buffer_take(from->host);

	(void)env;
	if (m == NULL)
		return NULL;
	m->data_len = from->mbuf.data_len;
	m->pkt_len = from->mbuf.pkt_len;
	*TP_PKT(m) = from->pkt;
	memcpy(rte_pktmbuf_mtod(m, void *), rte_pktmbuf_mtod(&from->mbuf, const void *), m->data_len);
	return m;
}

static void on_ready(void *env, uint32_t host, uint64_t now_ns)
{
	struct sim_net *net = env;

	net->now_ns = now_ns;
	sim_host_ready(&net->hosts[host], now_ns);
}

static const struct fabric_ops fabric_ops = {
	.deliver = on_deliver,
	.lose = on_lose,
	.copy = on_copy,
	.ready = on_ready,
};

/* ---- life ---- */

int sim_net_create(const struct sim_config *config, struct sim_net **out)
{
	struct sim_net *net = calloc(1, sizeof(*net));
	int rc;

	if (net == NULL)
		return -ENOMEM;
	net->config = *config;
	net->random = sim_mix(config->seed + 1);
	rc = fabric_create(&config->fabric, &fabric_ops, net, 0, &net->fabric);
	if (rc != 0)
		goto out;
	rc = -ENOMEM;
	net->hosts = calloc(fabric_n_hosts(net->fabric), sizeof(*net->hosts));
	if (net->hosts == NULL)
		goto out;
	for (; net->n_hosts < fabric_n_hosts(net->fabric); net->n_hosts++) {
		rc = sim_host_init(&net->hosts[net->n_hosts], net, net->n_hosts);
		if (rc != 0)
			goto out;
	}
	*out = net;
	return 0;
out:
	sim_net_destroy(net);
	return rc;
}

void sim_net_destroy(struct sim_net *net)
{
	struct sim_buffer *buffer;

	if (net == NULL)
		return;
	fabric_destroy(net->fabric);
	for (uint32_t i = 0; i < net->n_hosts; i++)
		sim_host_fini(&net->hosts[i]);
	while ((buffer = net->free) != NULL) {
		net->free = buffer->next;
		free(buffer);
	}
	free(net->hosts);
	free(net);
}

void sim_net_run(struct sim_net *net, uint64_t until_ns, bool (*stop)(void *arg), void *arg)
{
	while (stop == NULL || !stop(arg)) {
		uint64_t next_ns = fabric_next_ns(net->fabric);

		if (next_ns > until_ns || next_ns == UINT64_MAX)
			break;
		net->now_ns = next_ns;
		fabric_advance(net->fabric, next_ns);
	}
}

uint64_t sim_net_base_ns(const struct sim_net *net, uint32_t mtu)
{
	/* No two hosts are farther from each other. */
	uint32_t last = net->n_hosts - 1;

	return fabric_idle_ns(net->fabric, 0, last, mtu + HEADER_BYTES) + fabric_idle_ns(net->fabric, last, 0, ACK_BYTES);
}

void sim_net_counters(const struct sim_net *net, struct tp_counters *sum)
{
	const size_t n = sizeof(*sum) / sizeof(uint64_t);
	uint64_t *to = (uint64_t *)(void *)sum;

	static_assert(sizeof(*sum) % sizeof(uint64_t) == 0, "counters only");
	memset(sum, 0, sizeof(*sum));
	for (uint32_t h = 0; h < net->n_hosts; h++) {
		const uint64_t *from = (const uint64_t *)(const void *)tp_counters(net->hosts[h].tp);

		for (size_t i = 0; i < n; i++)
			to[i] += from[i];
	}
}
