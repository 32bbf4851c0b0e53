/* SPDX-License-Identifier: BSD-3-Clause */
#include "reach.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "wire_echo.h"
#include "worker.h"

#define ECHO_GAP_NS  200000000u   /* between two of one length */
#define FORGOTTEN_NS 10000000000u /* so long nobody has asked */
#define SEQ_LONG     0x8000u

struct trial {
	struct reach told;
	struct roced *roced;
	bool used, waits; /* waits: for its neighbour, whose callback has the trial */
	struct link *link;
	uint64_t asked_ns, sent_ns[2], next_ns;
	uint32_t answered_mask[2]; /* a bit for each sequence number: duplicates count once */
};

struct reach_trials {
	uint16_t id;
	struct trial trials[REACH_TRIALS];
};

static void forget(struct trial *trial)
{
	link_release(trial->roced, trial->link);
	memset(trial, 0, sizeof(*trial));
}

static void resolved(void *cb_arg, int status, void *link)
{
	struct trial *trial = cb_arg;

	trial->waits = false;
	trial->link = link;
	trial->told.neighbour = status == 0 ? REACH_KNOWN : REACH_SILENT;
}

static void begin(struct roced *roced, struct trial *trial, const struct wire_addr *addr)
{
	struct port *port;

	reach_find_way(roced, addr, &trial->told);
	trial->roced = roced;
	trial->used = true;
	if (trial->told.route == REACH_NO_ROUTE || trial->told.route == REACH_OURS)
		return;
	port = &roced->ports[trial->told.port];
	trial->told.no_echo = port->xdp != NULL && port->config->xdp.mode == CONFIG_XDP_ROCE;
	trial->told.neighbour = REACH_ASKING;
	trial->waits = true;
	link_resolve_by(roced, port, trial->told.device, &trial->told.local, addr, resolved, trial);
}

static struct trial *find(struct reach_trials *trials, const struct wire_addr *addr)
{
	for (uint32_t i = 0; i < REACH_TRIALS; i++) {
		if (trials->trials[i].used && memcmp(&trials->trials[i].told.addr, addr, sizeof(*addr)) == 0)
			return &trials->trials[i];
	}
	return NULL;
}

static struct trial *take_place(struct reach_trials *trials, uint64_t now_ns)
{
	for (uint32_t i = 0; i < REACH_TRIALS; i++) {
		struct trial *trial = &trials->trials[i];

		if (trial->used && !trial->waits && now_ns - trial->asked_ns > FORGOTTEN_NS)
			forget(trial);
		if (!trial->used)
			return trial;
	}
	return NULL;
}

/* One echo request of ip_bytes. */
static void send_one(struct trial *trial, uint32_t ip_bytes, uint16_t seq)
{
	struct roced *roced = trial->roced;
	struct port *port = &roced->ports[trial->told.port];
	const struct port_addr *from = NULL;
	struct rte_mbuf *m = rte_pktmbuf_alloc(roced->tx_pool);
	struct wire_nd_from nd_from = {.addr = trial->told.local};
	uint8_t mac[6];

	for (uint32_t i = 0; i < port->n_addrs && from == NULL; i++) {
		if (memcmp(&port->addrs[i].addr, &trial->told.local, sizeof(trial->told.local)) == 0)
			from = &port->addrs[i];
	}
	if (m == NULL || from == NULL || trial->link->entry == NULL || !path_neigh_mac(trial->link->entry, mac) ||
		rte_pktmbuf_tailroom(m) < ip_bytes + RTE_ETHER_HDR_LEN + RTE_VLAN_HLEN) {
		roced->counters.frames_lost++;
		rte_pktmbuf_free(m);
		return;
	}
	memcpy(nd_from.mac, from->mac, sizeof(nd_from.mac));
	nd_from.has_vlan = from->has_vlan;
	nd_from.vlan_tci = from->vlan_tci;
	m->data_len = (uint16_t)wire_echo_build(
		rte_pktmbuf_mtod(m, uint8_t *), &nd_from, &trial->told.addr, mac, roced->reach->id, seq, ip_bytes);
	m->pkt_len = m->data_len;
	m->port = port->id;
	*roced_route(m) = ROUTE_TX;
	link_send_mbuf(roced, m);
}

static bool wants_more(const struct reach *told)
{
	return (told->short_answered == 0 && told->short_sent < REACH_ECHOES) ||
	       (told->long_answered == 0 && told->long_sent < REACH_ECHOES);
}

/* Of both lengths, until one of each is answered. */
static void send_more(struct trial *trial, uint64_t now_ns)
{
	struct reach *told = &trial->told;

	if (told->short_answered == 0 && told->short_sent < REACH_ECHOES) {
		trial->sent_ns[0] = now_ns;
		send_one(trial, WIRE_ECHO_LEAST, (uint16_t)told->short_sent++);
	}
	if (told->long_answered == 0 && told->long_sent < REACH_ECHOES) {
		trial->sent_ns[1] = now_ns;
		send_one(trial, told->long_bytes, (uint16_t)(SEQ_LONG | told->long_sent++));
	}
	trial->next_ns = now_ns + ECHO_GAP_NS;
}

static void move_on(struct trial *trial, uint64_t now_ns)
{
	struct reach *told = &trial->told;

	if (told->neighbour == REACH_ASKING)
		return;
	if (told->neighbour == REACH_KNOWN && !told->no_echo) {
		if (now_ns < trial->next_ns && wants_more(told))
			return;
		if (wants_more(told)) {
			send_more(trial, now_ns);
			return;
		}
		/* the last ones have their time too */
		if ((told->short_answered == 0 || told->long_answered == 0) && now_ns < trial->next_ns)
			return;
	}
	told->done = true;
}

int reach_look(struct roced *roced, const struct wire_addr *addr, uint64_t now_ns, struct reach *out)
{
	struct trial *trial;

	if (roced->reach == NULL) {
		roced->reach = calloc(1, sizeof(*roced->reach));
		if (roced->reach == NULL)
			return -ENOMEM;
		roced->reach->id = (uint16_t)(roced->seed >> 16);
	}
	trial = find(roced->reach, addr);
	if (trial == NULL) {
		trial = take_place(roced->reach, now_ns);
		if (trial == NULL)
			return -EBUSY;
		begin(roced, trial, addr);
	}
	trial->asked_ns = now_ns;
	move_on(trial, now_ns);
	*out = trial->told;
	if (trial->told.done)
		forget(trial);
	return 0;
}

bool reach_rx(struct roced *roced, const struct port *port, const uint8_t *frame, const struct wire_pkt *pkt,
	const struct wire_nd_msg *msg, uint64_t now_ns)
{
	struct trial *trial = roced->reach != NULL ? find(roced->reach, &msg->src) : NULL;
	uint16_t id, seq;
	size_t ip_bytes;
	unsigned kind;

	if (trial == NULL || trial->told.port != port->index ||
		memcmp(&msg->dst, &trial->told.local, sizeof(msg->dst)) != 0)
		return false;
	wire_echo_read(frame, pkt, &id, &seq, &ip_bytes);
	kind = (seq & SEQ_LONG) != 0;
	seq &= SEQ_LONG - 1;
	if (id != roced->reach->id || seq >= (kind ? trial->told.long_sent : trial->told.short_sent) ||
		ip_bytes != (kind ? trial->told.long_bytes : WIRE_ECHO_LEAST) ||
		(trial->answered_mask[kind] & 1u << seq) != 0)
		return false;
	trial->answered_mask[kind] |= 1u << seq;
	if (kind)
		trial->told.long_answered++;
	else
		trial->told.short_answered++;
	/* of the one that was sent last, else its time is not known any more */
	if (seq + 1u == (kind ? trial->told.long_sent : trial->told.short_sent) &&
		(trial->told.rtt_ns == 0 || now_ns - trial->sent_ns[kind] < trial->told.rtt_ns))
		trial->told.rtt_ns = now_ns - trial->sent_ns[kind];
	return true;
}

void reach_fini(struct roced *roced)
{
	for (uint32_t i = 0; roced->reach != NULL && i < REACH_TRIALS; i++) {
		if (roced->reach->trials[i].used)
			forget(&roced->reach->trials[i]);
	}
	free(roced->reach);
	roced->reach = NULL;
}
