/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clients' connection management as librdmacm expects it of a kernel whose queue pairs belong to
 * the user: events and their numbers, ports, the attributes of each state, and connections between
 * two clients of one daemon.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cm_host.h"

struct two {
	struct wx_world *w;
	struct host server, client;
};

static int setup(void **state)
{
	struct two *t = calloc(1, sizeof(*t));

	t->w = wx_new(&(struct vd_limits){.max_cm_ids = 64, .shm_bytes = 8u << 20});
	host_start(t->w, &t->server);
	host_start(t->w, &t->client);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct two *t = *state;

	host_stop(&t->server);
	host_stop(&t->client);
	wx_expect_empty(t->w);
	wx_free(t->w);
	free(t);
	return 0;
}

/* The whole way of rping: both sides up, data, an orderly end. */
static void connect_and_disconnect(void **state)
{
	struct two *t = *state;
	uint32_t l = listener(&t->server, 10, 0, 7174), c = resolved(&t->client, 20, 7174), s;
	struct vc_cm_event event;
	struct vc_reply reply;
	struct vc_qp_attr passive, active;

	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, "hello"), 0);
	event = expect_event(&t->server, 10, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	s = event.new_id;
	assert_int_not_equal(s, 0);
	assert_memory_equal(event.param.private_data, "hello", 5);
	assert_int_equal(event.param.private_bytes, 56); /* all that a REQ has room for */
	assert_int_equal(event.param.qpn, t->client.qp.qpn);
	assert_int_equal(event.param.responder_resources, 3); /* what the peer will initiate */
	assert_int_equal(event.param.initiator_depth, 5);
	assert_int_equal(ntohs(event.src.port), 7174);
	assert_int_equal(event.src.addr[3], 1);
	assert_string_equal(event.device, "roced0");
	/* Before it accepts. */
	passive = qp_attr(&t->server, s, IBV_QPS_RTR);
	assert_int_equal(passive.dest_qpn, t->client.qp.qpn);
	assert_int_equal(passive.max_dest_rd_atomic, 3);
	bring_up(&t->server, s);
	assert_int_equal(conn_call(&t->server, VC_CM_ACCEPT, s, 11, "welcome"), 0);
	event = expect_event(&t->client, 20, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	assert_memory_equal(event.param.private_data, "welcome", 7);
	assert_int_equal(event.param.qpn, t->server.qp.qpn);
	active = qp_attr(&t->client, c, IBV_QPS_RTR);
	assert_int_equal(active.dest_qpn, t->server.qp.qpn);
	/* What one starts with the other expects. */
	assert_int_equal(active.rq_psn, qp_attr(&t->server, s, IBV_QPS_RTS).sq_psn);
	assert_int_equal(passive.rq_psn, qp_attr(&t->client, c, IBV_QPS_RTS).sq_psn);
	assert_int_equal(active.av.flow_label, passive.av.flow_label);
	bring_up(&t->client, c);
	expect_no_event(&t->server);
	assert_int_equal(wx_object(&t->client.cm, VC_CM_ESTABLISH, c, NULL), 0);
	expect_event(&t->server, 11, RDMA_CM_EVENT_ESTABLISHED, 0);
	expect_no_event(&t->client);

	send_text(&t->client, &t->server, "ping");
	send_text(&t->server, &t->client, "pong");

	assert_int_equal(wx_object(&t->client.cm, VC_CM_DISCONNECT, c, NULL), 0);
	expect_event(&t->server, 11, RDMA_CM_EVENT_DISCONNECTED, 0);
	expect_event(&t->client, 20, RDMA_CM_EVENT_DISCONNECTED, 0);
	assert_int_equal(
		wx_object(&t->server.cm, VC_CM_DISCONNECT, s, NULL), 0); /* too, as rping does */
	wx_pass(t->w, 60000 * WX_MS);
	expect_event(&t->client, 20, RDMA_CM_EVENT_TIMEWAIT_EXIT, 0);
	/* So many events were delivered of each; a request counts for its listener. */
	assert_int_equal(wx_object(&t->client.cm, VC_CM_DESTROY_ID, c, &reply), 0);
	assert_int_equal(reply.cm.events, 5);
	assert_int_equal(wx_object(&t->server.cm, VC_CM_DESTROY_ID, l, &reply), 0);
	assert_int_equal(reply.cm.events, 1);
	assert_int_equal(wx_object(&t->server.cm, VC_CM_DESTROY_ID, s, NULL), 0);
	assert_int_equal(wx_object(&t->server.cm, VC_CM_DESTROY_ID, s, NULL), -EINVAL);
}

/* IBTA vol. 1, 12.6.5: the request says which service; table 91: it has fewer attributes. */
static void unreliable_connection(void **state)
{
	struct two *t = *state;
	uint32_t l = new_id_of(&t->server, 10, VC_PS_IB, IBV_QPT_UC), c, s;
	struct vc_cm_event event;

	wx_make_qp_of(&t->server.verbs, t->server.pd, &t->server.cq, IBV_QPT_UC, &t->server.qp);
	wx_make_qp_of(&t->client.verbs, t->client.pd, &t->client.cq, IBV_QPT_UC, &t->client.qp);
	assert_int_equal(bind_to(&t->server, l, in4(1, 7174), NULL), 0);
	assert_int_equal(listen_on(&t->server, l, 0), 0);
	c = new_id_of(&t->client, 20, VC_PS_IB, IBV_QPT_UC);
	assert_int_equal(resolve_addr(&t->client, c, in4(1, 7174)), 0);
	expect_event(&t->client, 20, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(resolve_route(&t->client, c), 0);
	expect_event(&t->client, 20, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	event = expect_event(&t->server, 10, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	assert_int_equal(event.param.qp_type, IBV_QPT_UC);
	s = event.new_id;
	bring_up(&t->server, s);
	assert_int_equal(conn_call(&t->server, VC_CM_ACCEPT, s, 11, ""), 0);
	expect_event(&t->client, 20, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	bring_up(&t->client, c);
	assert_int_equal(wx_object(&t->client.cm, VC_CM_ESTABLISH, c, NULL), 0);
	expect_event(&t->server, 11, RDMA_CM_EVENT_ESTABLISHED, 0);
	send_text(&t->client, &t->server, "ping");
	send_text(&t->server, &t->client, "pong");
}

static void lost_messages_are_repeated(void **state)
{
	struct two *t = *state;
	uint32_t c;

	listener(&t->server, 10, 1, 7174);
	c = resolved(&t->client, 20, 7174);
	t->w->drop_mads = 2;
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	expect_no_event(&t->server);
	assert_true(vd_timeout_ns(t->w->vd) <= 5000 * WX_MS);
	wx_pass(t->w, 20000 * WX_MS);
	expect_event(&t->server, 10, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
}

static void nobody_answers(void **state)
{
	struct two *t = *state;
	uint32_t c = resolved(&t->client, 20, 7174);

	t->w->drop_mads = UINT32_MAX;
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	for (int i = 0; i < 20; i++)
		wx_pass(t->w, 10000 * WX_MS);
	expect_event(&t->client, 20, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	t->w->drop_mads = 0;
}

static void rejections(void **state)
{
	struct two *t = *state;
	uint32_t c = resolved(&t->client, 20, 7174);
	struct vc_cm_event event;

	/* No listener, nor one soon: invalid service ID (12.6.7.2). */
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	wx_pass(t->w, 1000 * WX_MS);
	expect_event(&t->client, 20, RDMA_CM_EVENT_REJECTED, 8);
	/* The consumer says no. */
	listener(&t->server, 10, 0, 7174);
	c = resolved(&t->client, 21, 7174);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	event = expect_event(&t->server, 10, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	assert_int_equal(conn_call(&t->server, VC_CM_REJECT, event.new_id, 0, "no"), 0);
	assert_int_equal(conn_call(&t->server, VC_CM_ACCEPT, event.new_id, 0, ""), -EINVAL);
	event = expect_event(&t->client, 21, RDMA_CM_EVENT_REJECTED, 28);
	assert_memory_equal(event.param.private_data, "no", 2);
}

static void death_of_the_peer_is_told(void **state)
{
	struct two *t = *state;
	struct host h;
	uint32_t c = 0, s;
	struct vc_cm_event event;

	host_start(t->w, &h);
	listener(&t->server, 10, 0, 7174);
	c = resolved(&h, 20, 7174);
	assert_int_equal(conn_call(&h, VC_CM_CONNECT, c, 0, ""), 0);
	event = expect_event(&t->server, 10, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	s = event.new_id;
	bring_up(&t->server, s);
	assert_int_equal(conn_call(&t->server, VC_CM_ACCEPT, s, 11, ""), 0);
	expect_event(&h, 20, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	assert_int_equal(wx_object(&h.cm, VC_CM_ESTABLISH, c, NULL), 0);
	expect_event(&t->server, 11, RDMA_CM_EVENT_ESTABLISHED, 0);
	host_stop(&h);
	expect_event(&t->server, 11, RDMA_CM_EVENT_DISCONNECTED, 0);
}

static void ports(void **state)
{
	struct two *t = *state;
	uint32_t a = new_id(&t->server, 1, VC_PS_TCP), b = new_id(&t->client, 2, VC_PS_TCP);
	uint32_t c = new_id(&t->client, 3, VC_PS_TCP), d = new_id(&t->client, 4, VC_PS_UDP);
	struct vc_reply reply;

	/* One port, two addresses; then all addresses of it are taken. */
	assert_int_equal(bind_to(&t->server, a, in4(1, 5000), NULL), 0);
	assert_int_equal(bind_to(&t->client, b, in4(1, 5000), NULL), -EADDRINUSE);
	assert_int_equal(bind_to(&t->client, b, in4(2, 5000), NULL), 0);
	assert_int_equal(bind_to(&t->client, c, in4(0, 5000), NULL), -EADDRINUSE);
	/* Another port space. */
	assert_int_equal(bind_to(&t->client, d, in4(0, 5000), NULL), 0);
	assert_int_equal(bind_to(&t->client, c, in4(9, 5000), NULL), -EADDRNOTAVAIL);
	assert_int_equal(
		bind_to(&t->client, c, (struct vc_sockaddr){.family = 77}, NULL), -EAFNOSUPPORT);
	/* Any free one. */
	assert_int_equal(bind_to(&t->client, c, in4(1, 0), &reply), 0);
	assert_in_range(ntohs(reply.cm.src.port), 32768, 60999);
	assert_string_equal(reply.cm.device, "roced0");
	assert_int_equal(bind_to(&t->client, c, in4(1, 0), NULL), -EINVAL);
	/* Free again after the end. */
	assert_int_equal(wx_object(&t->server.cm, VC_CM_DESTROY_ID, a, NULL), 0);
	assert_int_equal(wx_object(&t->client.cm, VC_CM_DESTROY_ID, b, NULL), 0);
	listener(&t->server, 5, 0, 5000);
	b = new_id(&t->client, 6, VC_PS_TCP);
	assert_int_equal(bind_to(&t->client, b, in4(1, 5000), NULL), -EADDRINUSE);
}

/* A loopback address names no device: it can be bound, and leads nowhere. */
static void loopback(void **state)
{
	const struct vc_sockaddr local6 = {.family = AF_INET6, .addr = {[15] = 1}};
	struct two *t = *state;
	struct host *h = &t->client;
	uint32_t a = new_id(h, 1, VC_PS_TCP), b = new_id(h, 2, VC_PS_TCP);
	struct vc_sockaddr local4 = in4(0, 0);
	struct vc_reply reply;

	memcpy(local4.addr, (uint8_t[]){127, 0, 0, 1}, 4);
	assert_int_equal(bind_to(h, a, local4, &reply), 0);
	assert_string_equal(reply.cm.device, "");
	assert_memory_equal(reply.cm.src.addr, local4.addr, 4);
	assert_int_equal(resolve_addr(h, a, in4(1, 1)), 0);
	expect_event(h, 1, RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH);
	assert_int_equal(bind_to(h, b, local6, &reply), 0);
	assert_string_equal(reply.cm.device, "");
}

static void address_resolution(void **state)
{
	struct two *t = *state;
	struct host *h = &t->client;
	uint32_t id = new_id(h, 1, VC_PS_TCP);
	struct vc_sockaddr far = in4(0, 1);
	struct vc_cm_event event;
	struct vc_reply reply;

	/* No route: told by an event. */
	memcpy(far.addr, (uint8_t[]){198, 51, 100, 1}, 4);
	assert_int_equal(resolve_addr(h, id, far), 0);
	expect_event(h, 1, RDMA_CM_EVENT_ADDR_ERROR, -ENETUNREACH);
	/* Nobody there. */
	t->w->resolve = WX_RESOLVE_FAIL;
	assert_int_equal(resolve_addr(h, id, in4(77, 1)), 0);
	expect_event(h, 1, RDMA_CM_EVENT_ADDR_ERROR, -EHOSTUNREACH);
	assert_int_equal(resolve_route(h, id), -EINVAL);
	/* It comes later; meanwhile no second one. */
	t->w->resolve = WX_RESOLVE_LATER;
	assert_int_equal(resolve_addr(h, id, in4(77, 1)), 0);
	assert_int_equal(resolve_addr(h, id, in4(77, 1)), -EINVAL);
	expect_no_event(h);
	wx_resolved(t->w, 0, 0);
	event = expect_event(h, 1, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(event.src.addr[3], 1);
	assert_int_equal(event.dst.addr[3], 77);
	assert_string_equal(event.device, "roced0");
	assert_int_equal(t->w->links, 0);
	assert_int_equal(wx_object(&h->cm, VC_CM_QUERY_ID, id, &reply), 0);
	assert_int_equal(reply.cm.sgid[15], 1);
	assert_int_equal(reply.cm.dgid[15], 77);
	/* Destroyed while it is asked for. */
	id = new_id(h, 2, VC_PS_UDP);
	assert_int_equal(resolve_addr(h, id, in4(78, 1)), 0);
	assert_int_equal(wx_object(&h->cm, VC_CM_DESTROY_ID, id, NULL), 0);
	wx_resolved(t->w, 0, 0);
	expect_no_event(h);
	t->w->resolve = WX_RESOLVE_NOW;
}

static void requests_whose_peer_has_gone(void **state)
{
	struct two *t = *state;
	struct vc_cm_event event;
	struct vd_stats stats;
	uint32_t l = listener(&t->server, 10, 0, 7174), n = 0, id;

	for (uint32_t i = 0; i < 60; i++) {
		id = resolved(&t->client, 100 + i, 7174);
		assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, id, 0, ""), 0);
		/* Every queue pair of the peer can be in one connection only, so the id is ended
		 * again. */
		assert_int_equal(wx_object(&t->client.cm, VC_CM_DESTROY_ID, id, NULL), 0);
		wx_pump(t->w);
		n++;
	}
	wx_stats(t->w, &stats);
	assert_int_equal(stats.cm_ids, 1 + n);
	n = 0;
	while (take_event(t->server.fd, &event)) {
		if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST) {
			/* The peer has gone meanwhile. */
			assert_int_equal(
				conn_call(&t->server, VC_CM_ACCEPT, event.new_id, 1, ""), -EINVAL);
			assert_int_equal(
				wx_object(&t->server.cm, VC_CM_DESTROY_ID, event.new_id, NULL), 0);
			n++;
		}
	}
	assert_int_equal(n, 60);
	assert_int_equal(wx_object(&t->server.cm, VC_CM_DESTROY_ID, l, NULL), 0);
	wx_stats(t->w, &stats);
	assert_int_equal(stats.cm_ids, 0);
	assert_int_equal(stats.cm_listeners, 0);
}

/* More events than a socket holds: kept, in order. */
static void full_channel_keeps_events(void **state)
{
	struct two *t = *state;
	struct host *h = &t->client;
	uint32_t id = new_id(h, 9, VC_PS_TCP), sent = 900, got = 0;
	struct vc_sockaddr far = in4(0, 1);
	struct vc_cm_event event;
	struct vc_reply reply;

	memcpy(far.addr, (uint8_t[]){198, 51, 100, 1}, 4);
	for (uint32_t i = 0; i < sent; i++) {
		far.port = htons((uint16_t)(i + 1));
		assert_int_equal(resolve_addr(h, id, far), 0);
	}
	while (take_event(h->fd, &event)) {
		got++;
		assert_int_equal(ntohs(event.dst.port), got);
	}
	assert_in_range(got, 1, sent - 1);
	for (int i = 0; i < 1000 && got < sent; i++) {
		vd_dispatch(t->w->vd);
		while (take_event(h->fd, &event)) {
			got++;
			assert_int_equal(ntohs(event.dst.port), got);
		}
	}
	assert_int_equal(got, sent);
	assert_int_equal(wx_object(&h->cm, VC_CM_DESTROY_ID, id, &reply), 0);
	assert_int_equal(reply.cm.events, sent);
}

/* A client may guess the handle of a request it was not told of yet: take it, and end everything.
 */
static void requests_that_were_guessed(void **state)
{
	struct two *t = *state;
	struct vc_request request = {.op = VC_CM_MIGRATE};
	struct vc_sockaddr far = in4(0, 1);
	uint32_t l, filler = new_id(&t->server, 9, VC_PS_TCP), c, guess;

	memcpy(far.addr, (uint8_t[]){198, 51, 100, 1}, 4);
	l = listener(&t->server, 10, 0, 7174);
	for (uint32_t i = 0; i < 600; i++)
		assert_int_equal(resolve_addr(&t->server, filler, far), 0);
	c = resolved(&t->client, 20, 7174);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	guess = l + 1;
	request.cm_migrate.id = guess;
	request.cm_migrate.channel = t->server.channel;
	request.cm_migrate.cookie = 3;
	assert_int_equal(wx_call(&t->server.cm, &request, NULL), 0);
	/* Its own event follows its request in the queue. */
	assert_int_equal(wx_object(&t->client.cm, VC_CM_DESTROY_ID, c, NULL), 0);
	wx_pump(t->w);
	assert_int_equal(wx_object(&t->server.cm, VC_CM_DESTROY_ID, l, NULL), 0);
	assert_int_equal(wx_object(&t->server.cm, VC_CM_DESTROY_ID, guess, NULL), -EINVAL);
	assert_int_equal(wx_object(&t->server.cm, VC_CM_DESTROY_ID, filler, NULL), 0);
}

static void migration_moves_events(void **state)
{
	struct two *t = *state;
	struct host *h = &t->client;
	struct vc_request request = {.op = VC_CM_MIGRATE};
	struct vc_reply reply;
	struct vc_cm_event event;
	uint32_t id = new_id(h, 1, VC_PS_TCP), other;
	int fd;

	new_channel(h, &other, &fd);
	assert_int_equal(resolve_addr(h, id, in4(1, 1)), 0);
	request.cm_migrate.id = id;
	request.cm_migrate.channel = other;
	request.cm_migrate.cookie = 2;
	assert_int_equal(wx_call(&h->cm, &request, &reply), 0);
	assert_int_equal(reply.cm.events, 1);
	expect_event(h, 1, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(resolve_route(h, id), 0);
	expect_no_event(h);
	assert_true(take_event(fd, &event));
	assert_int_equal(event.id_cookie, 2);
	assert_int_equal(wx_object(&h->cm, VC_CM_DESTROY_CHANNEL, other, NULL), -EBUSY);
	assert_int_equal(wx_object(&h->cm, VC_CM_DESTROY_ID, id, NULL), 0);
	assert_int_equal(wx_object(&h->cm, VC_CM_DESTROY_CHANNEL, other, NULL), 0);
	close(fd);
}

static void wrong_order_and_wrong_values(void **state)
{
	static const enum vc_op ops[] = {VC_CM_DESTROY_ID, VC_CM_BIND, VC_CM_LISTEN,
		VC_CM_RESOLVE_ADDR, VC_CM_RESOLVE_ROUTE, VC_CM_CONNECT, VC_CM_ACCEPT, VC_CM_REJECT,
		VC_CM_ESTABLISH, VC_CM_DISCONNECT, VC_CM_MIGRATE, VC_CM_INIT_QP_ATTR,
		VC_CM_QUERY_ID, VC_CM_DESTROY_CHANNEL};
	struct two *t = *state;
	struct host *h = &t->client;
	struct vc_request request;
	uint32_t id = new_id(h, 1, VC_PS_TCP);

	for (size_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		request = (struct vc_request){.op = ops[i], .object.handle = 0xdead0001};
		assert_int_equal(wx_call(&h->cm, &request, NULL), -EINVAL);
		assert_int_equal(wx_call(&h->verbs, &request, NULL), -ENOTCONN);
	}
	for (size_t i = 4; i < 10; i++) {
		request = (struct vc_request){.op = ops[i], .object.handle = id};
		assert_int_equal(wx_call(&h->cm, &request, NULL), -EINVAL);
	}
	request = (struct vc_request){
		.op = VC_CM_CREATE_ID, .cm_create_id = {.channel = h->channel, .ps = VC_PS_IPOIB}};
	assert_int_equal(wx_call(&h->cm, &request, NULL), -EOPNOTSUPP);
	request.cm_create_id.ps = 0x999;
	assert_int_equal(wx_call(&h->cm, &request, NULL), -EINVAL);
	request.cm_create_id.ps = VC_PS_TCP;
	request.cm_create_id.channel = t->server.channel + 1;
	assert_int_equal(wx_call(&h->cm, &request, NULL), -EINVAL);
	/* Private data that no message has room for, queue pair numbers that cannot be. */
	id = resolved(h, 3, 7174);
	request = (struct vc_request){.op = VC_CM_CONNECT, .cm_conn = {.id = id}};
	request.cm_conn.param.qpn = h->qp.qpn;
	request.cm_conn.param.private_bytes = 57;
	assert_int_equal(wx_call(&h->cm, &request, NULL), -EINVAL);
	request.cm_conn.param.private_bytes = 0xffffffff;
	assert_int_equal(wx_call(&h->cm, &request, NULL), -EINVAL);
	request.cm_conn.param.private_bytes = 0;
	request.cm_conn.param.qpn = 1;
	assert_int_equal(wx_call(&h->cm, &request, NULL), -EINVAL);
	request.cm_conn.param.qpn = 1u << 24;
	assert_int_equal(wx_call(&h->cm, &request, NULL), -EINVAL);
}

static struct vc_sockaddr in6(uint8_t last, uint16_t port)
{
	struct vc_sockaddr addr = {.family = AF_INET6, .port = htons(port)};

	if (last != 0)
		memcpy(addr.addr, (uint8_t[16]){0x20, 0x01, 0x0d, 0xb8, [15] = last}, 16);
	return addr;
}

static uint32_t resolved6(struct host *h, uint64_t cookie, uint16_t port)
{
	uint32_t id = new_id(h, cookie, VC_PS_TCP);

	assert_int_equal(resolve_addr(h, id, in6(1, port)), 0);
	expect_event(h, cookie, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(resolve_route(h, id), 0);
	expect_event(h, cookie, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return id;
}

/* A listener on :: takes both families, one on 0.0.0.0 IPv4 only. */
static void address_families(void **state)
{
	struct two *t = *state;
	uint32_t id = new_id(&t->server, 10, VC_PS_TCP);
	struct vc_cm_event event;

	assert_int_equal(bind_to(&t->server, id, in6(0, 7174), NULL), 0);
	assert_int_equal(listen_on(&t->server, id, 0), 0);
	listener(&t->server, 11, 0, 7175);
	id = resolved6(&t->client, 20, 7174);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, id, 0, "six"), 0);
	event = expect_event(&t->server, 10, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	assert_int_equal(event.src.family, AF_INET6);
	assert_int_equal(event.src.addr[15], 1);
	assert_int_equal(event.dst.family, AF_INET6);
	assert_memory_equal(event.param.private_data, "six", 3);
	assert_int_equal(qp_attr(&t->server, event.new_id, IBV_QPS_RTR).av.sgid_index, 3);
	assert_int_equal(conn_call(&t->server, VC_CM_REJECT, event.new_id, 0, ""), 0);
	expect_event(&t->client, 20, RDMA_CM_EVENT_REJECTED, 28);
	id = resolved(&t->client, 21, 7174);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, id, 0, ""), 0);
	event = expect_event(&t->server, 10, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	assert_int_equal(event.src.family, AF_INET);
	assert_int_equal(conn_call(&t->server, VC_CM_REJECT, event.new_id, 0, ""), 0);
	expect_event(&t->client, 21, RDMA_CM_EVENT_REJECTED, 28);
	id = resolved6(&t->client, 22, 7175);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, id, 0, ""), 0);
	expect_event(&t->client, 22, RDMA_CM_EVENT_REJECTED, 8);
	expect_no_event(&t->server);
}

static void source_of_the_clients_choice(void **state)
{
	struct two *t = *state;
	struct host *h = &t->client;
	struct vc_request request = {.op = VC_CM_RESOLVE_ADDR};
	struct vc_cm_event event;

	request.cm_resolve.id = new_id(h, 1, VC_PS_TCP);
	request.cm_resolve.dst = in4(77, 1);
	request.cm_resolve.src = in6(1, 0);
	assert_int_equal(wx_call(&h->cm, &request, NULL), -EINVAL); /* of another family */
	request.cm_resolve.src = in4(88, 0);
	assert_int_equal(wx_call(&h->cm, &request, NULL), -EADDRNOTAVAIL); /* not ours */
	request.cm_resolve.src = in4(2, 4444);
	assert_int_equal(wx_call(&h->cm, &request, NULL), 0);
	event = expect_event(h, 1, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(event.src.addr[3], 2);
	assert_int_equal(ntohs(event.src.port), 4444);
	assert_int_equal(t->w->resolved_src.b[15], 2);
}

/* A server out of ids: no resources (12.6.7.2), and nothing is left of the request. */
static void too_many_ids(void **state)
{
	struct two *t = *state;
	uint32_t c = resolved(&t->client, 20, 7174);
	struct vd_stats stats;

	listener(&t->server, 10, 0, 7174);
	for (int i = 1; i < 64; i++)
		new_id(&t->server, 1, VC_PS_TCP);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	expect_event(&t->client, 20, RDMA_CM_EVENT_REJECTED, 3);
	expect_no_event(&t->server);
	wx_stats(t->w, &stats);
	assert_int_equal(stats.cm_ids, 64 + 1);
}

/* The client closed its end of the channel: the request is refused, not kept for nobody. */
static void closed_channel(void **state)
{
	struct two *t = *state;
	uint32_t c = resolved(&t->client, 20, 7174);
	struct vd_stats stats;

	listener(&t->server, 10, 0, 7174);
	close(t->server.fd);
	t->server.fd = dup(t->client.fd);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	wx_pump(t->w);
	wx_stats(t->w, &stats);
	assert_int_equal(stats.cm_ids, 2);
	assert_int_equal(stats.events_lost, 1);
	/* Still served, and the descriptor is not watched in vain. */
	assert_int_equal(wx_object(&t->server.cm, VC_LIST_DEVICES, 0, NULL), 0);
}

static void noise_for_queue_pair_one(void **state)
{
	struct two *t = *state;
	uint64_t x = 88172645463325252u;
	uint8_t mad[VD_MAD_BYTES];
	struct wire_addr a, b;

	listener(&t->server, 9, 0, 7000);
	wx_addr4(0, &a);
	wx_addr4(8, &b);
	for (int i = 0; i < 2000; i++) {
		for (size_t k = 0; k < sizeof(mad); k++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			mad[k] = (uint8_t)(x >> 56);
		}
		if (i % 2 == 0)
			memcpy(mad, (uint8_t[]){1, 7, 2, 3}, 4);
		vd_rx_mad(t->w->vd, i % 50 == 0 ? 7 : 0, &b, &a, mad,
			i % 3 == 0 ? x % (sizeof(mad) + 1) : sizeof(mad));
	}
	wx_pump(t->w);
	connect_and_disconnect((void *[]){t});
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(connect_and_disconnect),
		TEST(unreliable_connection),
		TEST(lost_messages_are_repeated),
		TEST(nobody_answers),
		TEST(rejections),
		TEST(death_of_the_peer_is_told),
		TEST(ports),
		TEST(loopback),
		TEST(address_resolution),
		TEST(requests_whose_peer_has_gone),
		TEST(full_channel_keeps_events),
		TEST(requests_that_were_guessed),
		TEST(migration_moves_events),
		TEST(wrong_order_and_wrong_values),
		TEST(address_families),
		TEST(source_of_the_clients_choice),
		TEST(too_many_ids),
		TEST(closed_channel),
		TEST(noise_for_queue_pair_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
