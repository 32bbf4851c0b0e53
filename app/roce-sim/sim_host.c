/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A host: what lib/transport asks of its environment, and when it is called. As a network card does, a host sends
 * while its link has room for little more than one packet, so requests and acknowledgements do not queue up in
 * front of it and what is sent next is decided late.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sim_internal.h"

#define TX_PKTS    2       /* sent at a time: one on the wire, one behind it */
#define LOOK_NS    4096    /* between two looks at the timers when something happens: a tick of theirs */
#define RETRY_NS   1000    /* until a host that could not send for want of buffers tries again */
#define MAX_MRS    4
#define PD         1
#define ECT0       0x02
#define ALL_ACCESS (TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE | TP_ACCESS_REMOTE_READ | TP_ACCESS_REMOTE_ATOMIC)
#define NO_BYTES   (1ull << 46) /* of a region that is not there */

static uint64_t to_ns(uint64_t ps)
{
	return (ps + FABRIC_PS_PER_NS - 1) / FABRIC_PS_PER_NS;
}

/* ---- what the transport asks ---- */

static struct rte_mbuf *op_alloc(void *env)
{
	struct sim_host *host = env;
	uint32_t most = host->net->config.max_buffers;

	if (most != 0 && host->n_buffers >= most)
		return NULL;
	return sim_buffer_take(host);
}

/* What switches look at to choose among equal ways: addresses, and the ports of UDP. */
static uint32_t flow_hash(const struct sim_host *from, const struct sim_host *to, uint16_t sport)
{
	uint64_t hash = sim_mix((uint64_t)from->id << 32 | to->id);

	return (uint32_t)sim_mix(hash ^ ((uint64_t)sport << 16 | WIRE_ROCE_PORT));
}

static bool is_ack(const struct wire_pkt *pkt)
{
	return pkt->opcode == WIRE_RC_SACK || pkt->opcode == WIRE_RC_ACK;
}

static void op_emit(void *env, const struct tp_av *av, struct rte_mbuf *m)
{
	struct sim_host *host = env;
	struct sim_net *net = host->net;
	const struct sim_host *to = av->link;
	const struct wire_pkt *pkt = TP_PKT(m);
	struct fabric_packet packet = {
		.src = host->id,
		.dst = to->id,
		.flow = flow_hash(host, to, pkt->udp_sport),
		.bytes = m->data_len,
		.priority = is_ack(pkt) ? net->config.ack_priority : net->config.priority,
		.ect = (pkt->tos & ECT0) != 0,
		.user = m,
	};

	if (fabric_send(net->fabric, &packet, net->now_ns) != 0)
		sim_buffer_give(net, m);
	else
		host->sending = true;
}

static int op_read(void *env, void *as, uint64_t va, void *dst, size_t bytes)
{
	const struct sim_host *host = as;

	(void)env;
	if (host->mem == NULL)
		return 0;
	if (va + bytes > host->net->config.mem_bytes)
		return -EFAULT;
	memcpy(dst, host->mem + va, bytes);
	return 0;
}

static int op_write(void *env, void *as, uint64_t va, const void *src, size_t bytes)
{
	const struct sim_host *host = as;

	(void)env;
	if (host->mem == NULL)
		return 0;
	if (va + bytes > host->net->config.mem_bytes)
		return -EFAULT;
	memcpy(host->mem + va, src, bytes);
	return 0;
}

static int op_send_fetch(void *env, void *cookie, struct tp_send_wqe *slot, uint32_t slot_bytes)
{
	struct sim_qp *qp = cookie;

	(void)env;
	(void)slot_bytes;
	return qp->user->send_fetch(qp, slot);
}

static int op_recv_fetch(void *env, void *cookie, struct tp_recv_wqe *slot, uint32_t slot_bytes)
{
	struct sim_qp *qp = cookie;

	(void)env;
	(void)slot_bytes;
	return qp->user->recv_fetch(qp, slot);
}

static void op_retire(void *env, void *cookie, uint32_t count)
{
	(void)env;
	(void)cookie;
	(void)count;
}

static int op_complete(void *env, void *cq_cookie, const struct tp_cqe *cqe)
{
	const struct sim_cq *cq = cq_cookie;

	(void)env;
	if (cq->receives)
		cq->qp->user->received(cq->qp, cqe);
	else
		cq->qp->user->sent(cq->qp, cqe);
	return 0;
}

static void op_event(void *env, void *cookie, enum tp_event event)
{
	(void)env;
	(void)cookie;
	(void)event;
}

static void op_keep(void *env, struct rte_mbuf *m)
{
	(void)env;
	sim_buffer_keep(m);
}

static void op_free(void *env, struct rte_mbuf *m)
{
	const struct sim_host *host = env;

	sim_buffer_give(host->net, m);
}

const struct tp_ops sim_host_ops = {
	.pkt_alloc = op_alloc,
	.pkt_emit = op_emit,
	.mem_read = op_read,
	.mem_write = op_write,
	.send_fetch = op_send_fetch,
	.recv_fetch = op_recv_fetch,
	.send_retire = op_retire,
	.complete = op_complete,
	.event = op_event,
	.pkt_keep = op_keep,
	.pkt_free = op_free,
};

/* ---- when the transport is called ---- */

static void on_timer(void *env, void *arg, uint64_t now_ps);

static void set_timer(struct sim_host *host, uint64_t at_ns)
{
	if (at_ns >= host->timer_ns)
		return;
	if (fabric_at(host->net->fabric, at_ns, on_timer, host) == 0)
		host->timer_ns = at_ns;
}

/* Events cannot be taken back: one that was replaced by an earlier one finds that it is not meant. */
static void on_timer(void *env, void *arg, uint64_t now_ps)
{
	struct sim_host *host = arg;
	uint64_t now_ns = to_ns(now_ps), next_ns;

	(void)env;
	if (now_ns != host->timer_ns)
		return;
	host->net->now_ns = now_ns;
	host->timer_ns = UINT64_MAX;
	tp_advance(host->tp, now_ns);
	if (tp_has_work(host->tp)) {
		sim_host_work(host, now_ns);
		return;
	}
	next_ns = tp_next_ns(host->tp);
	if (next_ns != UINT64_MAX)
		set_timer(host, next_ns > now_ns ? next_ns : now_ns + LOOK_NS);
}

static void on_retry(void *env, void *arg, uint64_t now_ps)
{
	struct sim_host *host = arg;

	(void)env;
	host->retry_due = false;
	host->net->now_ns = to_ns(now_ps);
	sim_host_work(host, host->net->now_ns);
}

void sim_host_work(struct sim_host *host, uint64_t now_ns)
{
	/* A turn may flush or complete work without sending. */
	for (uint32_t turns = 0; !host->sending && tp_has_work(host->tp) && turns < SIM_BURST; turns++)
		(void)tp_tx(host->tp, TX_PKTS, now_ns);
	if (!host->sending && !host->retry_due && tp_has_work(host->tp))
		host->retry_due = fabric_at(host->net->fabric, now_ns + RETRY_NS, on_retry, host) == 0;
	/* Finding the next timer out means looking through the wheel, so not for every packet. */
	set_timer(host, now_ns + LOOK_NS);
}

void sim_host_ready(struct sim_host *host, uint64_t now_ns)
{
	host->sending = false;
	if (tp_has_work(host->tp))
		sim_host_work(host, now_ns);
}

static void take_in(struct sim_host *host, uint64_t now_ns)
{
	uint32_t n = host->n_rx;

	host->n_rx = 0;
	tp_rx(host->tp, host->rx, n, now_ns);
	for (uint32_t i = 0; i < n; i++)
		sim_buffer_give(host->net, host->rx[i]);
	sim_host_work(host, now_ns);
}

static void on_poll(void *env, void *arg, uint64_t now_ps)
{
	struct sim_host *host = arg;

	(void)env;
	host->rx_due = false;
	host->net->now_ns = to_ns(now_ps);
	take_in(host, host->net->now_ns);
}

void sim_host_receive(struct sim_host *host, struct rte_mbuf *m, uint64_t now_ns)
{
	uint64_t poll_ns = host->net->config.poll_ns;

	host->rx[host->n_rx++] = m;
	if (poll_ns != 0 && host->n_rx < SIM_BURST && !host->rx_due)
		host->rx_due = fabric_at(host->net->fabric, now_ns + poll_ns, on_poll, host) == 0;
	if (!host->rx_due || host->n_rx == SIM_BURST)
		take_in(host, now_ns);
}

/* ---- life ---- */

static void set_address(struct sim_host *host)
{
	uint8_t *b = host->addr.b;

	memset(b, 0, sizeof(host->addr.b));
	if (host->net->config.l3_version == 6) {
		b[0] = 0xfd;
	} else {
		b[10] = b[11] = 0xff;
		b[12] = 10;
	}
	b[13] = (uint8_t)(host->id >> 16);
	b[14] = (uint8_t)(host->id >> 8);
	b[15] = (uint8_t)host->id;
}

int sim_host_init(struct sim_host *host, struct sim_net *net, uint32_t id)
{
	const struct tp_config config = {
		.max_qps = net->config.max_qps,
		.max_mrs = MAX_MRS,
		.max_ahs = net->config.max_ahs,
		.window_pkts = net->config.window_pkts,
		.max_held = net->config.max_held,
		.sack_wait_ns = net->config.sack_wait_ns,
		.plain = net->config.plain,
		.move_on_timeout = net->config.move_on_timeout,
		.seed = sim_mix(net->config.seed ^ ((uint64_t)id << 32)),
	};
	struct tp_mr_attr mr = {.pd = PD, .access = ALL_ACCESS, .iova = SIM_IOVA, .bytes = NO_BYTES, .as = host};

	host->net = net;
	host->id = id;
	host->timer_ns = UINT64_MAX;
	set_address(host);
	if (net->config.checked) {
		mr.bytes = net->config.mem_bytes;
		host->mem = calloc(1, net->config.mem_bytes);
		if (host->mem == NULL)
			return -ENOMEM;
	}
	host->tp = tp_create(&config, &sim_host_ops, host, net->now_ns);
	if (host->tp == NULL) {
		sim_host_fini(host);
		return -ENOMEM;
	}
	return tp_mr_create(host->tp, &mr, &host->key);
}

void sim_host_fini(struct sim_host *host)
{
	for (uint32_t i = 0; i < host->n_rx; i++)
		sim_buffer_give(host->net, host->rx[i]);
	host->n_rx = 0;
	tp_destroy(host->tp);
	free(host->mem);
	host->tp = NULL;
	host->mem = NULL;
}
