/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagram services of clients (IBTA vol. 1, 12.11: service ID resolution), as librdmacm expects them:
 * the answer to a request tells queue pair, Q_Key and address, and nothing follows it.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "world.h"

#define PORT      7174
#define UDP_QKEY  0x01234567u /* RDMA_UDP_QKEY */
#define GRH_BYTES 40

/* One process: its connection manager and its verbs context with a datagram queue pair. */
struct host {
	struct wx_world *w;
	struct wx_client cm, verbs;
	uint32_t channel, pd, key;
	int fd;
	struct wx_cq cq;
	struct wx_qp qp;
	uint8_t buf[4096];
};

struct two {
	struct wx_world *w;
	struct host server, client;
};

static void host_start(struct wx_world *w, struct host *h)
{
	struct vc_request request = {.op = VC_CM_CREATE_CHANNEL};
	struct vc_reply reply;
	int fds[3];

	h->w = w;
	wx_connect(w, &h->cm);
	wx_hello_cm(&h->cm);
	assert_int_equal(wx_call_raw(&h->cm, &request, sizeof(request), &reply, fds), 0);
	h->channel = reply.cm.handle;
	h->fd = fds[0];
	wx_connect(w, &h->verbs);
	wx_hello(&h->verbs);
	h->pd = wx_pd(&h->verbs);
	h->key = wx_mr(&h->verbs, h->pd, h->buf, sizeof(h->buf), NULL);
	wx_make_cq(&h->verbs, 64, 0, 0, &h->cq);
	wx_make_qp_of(&h->verbs, h->pd, &h->cq, IBV_QPT_UD, &h->qp);
}

static void host_stop(struct host *h)
{
	close(h->fd);
	wx_close(&h->cm);
	wx_close(&h->verbs);
}

static int setup(void **state)
{
	struct two *t = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->w = wx_new(&(struct vd_limits){.max_cm_ids = 8, .shm_bytes = 8u << 20});
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

static uint32_t new_id(struct host *h, uint64_t cookie, uint32_t ps, enum ibv_qp_type type)
{
	struct vc_request request = {.op = VC_CM_CREATE_ID,
		.cm_create_id = {.cookie = cookie, .channel = h->channel, .ps = ps, .qp_type = type}};
	struct vc_reply reply;

	assert_int_equal(wx_call(&h->cm, &request, &reply), 0);
	return reply.cm.handle;
}

static struct vc_cm_event expect_event(struct host *h, uint64_t cookie, uint32_t type, int status)
{
	struct vc_cm_event event;

	wx_pump(h->w);
	assert_int_equal(recv(h->fd, &event, sizeof(event), MSG_DONTWAIT), sizeof(event));
	assert_int_equal(event.type, type);
	assert_int_equal(event.status, status);
	assert_int_equal(event.id_cookie, cookie);
	return event;
}

static void expect_no_event(struct host *h)
{
	struct vc_cm_event event;

	wx_pump(h->w);
	assert_int_equal(recv(h->fd, &event, sizeof(event), MSG_DONTWAIT), -1);
}

static struct vc_sockaddr in4(uint8_t host, uint16_t port)
{
	return (struct vc_sockaddr){
		.family = AF_INET, .port = htons(port), .addr = {192, 0, 2, host}};
}

static uint32_t listener_of(
	struct host *h, uint64_t cookie, uint32_t ps, enum ibv_qp_type type, uint16_t port)
{
	uint32_t id = new_id(h, cookie, ps, type);
	struct vc_request request = {
		.op = VC_CM_BIND, .cm_bind = {.id = id, .src = in4(1, port)}};

	assert_int_equal(wx_call(&h->cm, &request, NULL), 0);
	request.op = VC_CM_LISTEN;
	assert_int_equal(wx_call(&h->cm, &request, NULL), 0);
	return id;
}

static uint32_t resolved(
	struct host *h, uint64_t cookie, uint32_t ps, enum ibv_qp_type type, uint16_t port)
{
	uint32_t id = new_id(h, cookie, ps, type);
	struct vc_request request = {
		.op = VC_CM_RESOLVE_ADDR, .cm_resolve = {.id = id, .dst = in4(1, port)}};

	assert_int_equal(wx_call(&h->cm, &request, NULL), 0);
	expect_event(h, cookie, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	request.op = VC_CM_RESOLVE_ROUTE;
	assert_int_equal(wx_call(&h->cm, &request, NULL), 0);
	expect_event(h, cookie, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return id;
}

static struct vc_request conn(enum vc_op op, uint32_t id, uint32_t qpn, const char *text)
{
	struct vc_request request = {.op = op, .cm_conn = {.id = id}};

	request.cm_conn.param.qpn = qpn;
	request.cm_conn.param.private_bytes = (uint32_t)strlen(text);
	memcpy(request.cm_conn.param.private_data, text, strlen(text));
	return request;
}

static int conn_call(struct host *h, enum vc_op op, uint32_t id, uint32_t qpn, const char *text)
{
	struct vc_request request = conn(op, id, qpn, text);

	return wx_call(&h->cm, &request, NULL);
}

/* INIT, RTR and RTS with what the connection manager says. */
static void bring_up(struct host *h, uint32_t id)
{
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		struct vc_request request = {
			.op = VC_CM_INIT_QP_ATTR, .cm_init_attr = {.id = id, .state = state}};
		struct vc_reply reply;

		assert_int_equal(wx_call(&h->cm, &request, &reply), 0);
		assert_int_equal(wx_modify(&h->qp, &reply.qp_attr), 0);
	}
}

/* The event's parameters are all a sender needs. */
static void send_text(struct host *from, struct host *to, const struct vc_cm_event *event)
{
	struct vc_request request = {
		.op = VC_CREATE_AH, .create_ah = {.pd = from->pd, .av = event->av}};
	struct tp_sge sink = {(uintptr_t)to->buf, sizeof(to->buf), to->key};
	struct tp_send_wqe wqe = {
		.opcode = TP_WR_SEND, .flags = TP_SEND_INLINE, .inline_bytes = 5};
	const struct tp_cqe *cqe;
	struct vc_reply reply;

	assert_int_equal(wx_call(&from->verbs, &request, &reply), 0);
	wqe.ud.ah = reply.ah.number;
	wqe.ud.qpn = event->param.qpn;
	wqe.ud.qkey = event->param.qkey;
	wx_post_recv(&to->qp, 1, 1, &sink);
	wx_post(&from->qp, &wqe, NULL, "hello");
	wx_pump(from->w);
	cqe = wx_poll(&to->cq);
	assert_non_null(cqe);
	assert_int_equal(cqe->status, TP_WC_SUCCESS);
	assert_int_equal(cqe->src_qpn, from->qp.qpn);
	assert_memory_equal(to->buf + GRH_BYTES, "hello", 5);
}

/* The whole way of udaddy; both ends at one daemon. */
static void service_is_found_and_spoken_to(void **state)
{
	struct two *t = *state;
	uint32_t l = listener_of(&t->server, 10, VC_PS_UDP, IBV_QPT_UD, PORT);
	uint32_t c = resolved(&t->client, 20, VC_PS_UDP, IBV_QPT_UD, PORT), s;
	struct vc_request accept;
	struct vc_cm_event event;
	struct vc_reply reply;

	bring_up(&t->client, c);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, t->client.qp.qpn, "question"), 0);
	event = expect_event(&t->server, 10, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	s = event.new_id;
	assert_int_equal(event.param.qp_type, IBV_QPT_UD);
	assert_memory_equal(event.param.private_data, "question", 8);
	assert_int_equal(event.param.private_bytes, 180); /* all that a SIDR_REQ has room for */
	assert_int_equal(ntohs(event.src.port), PORT);
	assert_int_equal(event.dst.addr[3], 1);
	assert_string_equal(event.device, "roced0");
	bring_up(&t->server, s);
	accept = conn(VC_CM_ACCEPT, s, t->server.qp.qpn, "answer");
	accept.cm_conn.cookie = 11;
	assert_int_equal(wx_call(&t->server.cm, &accept, NULL), 0);
	event = expect_event(&t->client, 20, RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(event.param.qpn, t->server.qp.qpn);
	assert_int_equal(event.param.qkey, UDP_QKEY);
	assert_int_equal(event.param.qp_type, IBV_QPT_UD);
	assert_memory_equal(event.param.private_data, "answer", 6);
	assert_int_equal(event.param.private_bytes, 136);
	assert_int_equal(event.av.sgid_index, 1);
	assert_memory_equal(event.av.dgid + 12, "\xc0\x00\x02\x01", 4);
	send_text(&t->client, &t->server, &event);
	expect_no_event(&t->server);
	expect_no_event(&t->client);
	assert_int_equal(wx_object(&t->client.cm, VC_CM_DESTROY_ID, c, &reply), 0);
	assert_int_equal(reply.cm.events, 3);
	assert_int_equal(wx_object(&t->server.cm, VC_CM_DESTROY_ID, s, NULL), 0);
	assert_int_equal(wx_object(&t->server.cm, VC_CM_DESTROY_ID, l, &reply), 0);
	assert_int_equal(reply.cm.events, 1);
}

static void accept_may_name_a_qkey(void **state)
{
	struct two *t = *state;
	uint32_t c;
	struct vc_request accept;
	struct vc_cm_event event;

	listener_of(&t->server, 10, VC_PS_IB, IBV_QPT_UD, PORT);
	c = resolved(&t->client, 20, VC_PS_IB, IBV_QPT_UD, PORT);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	event = expect_event(&t->server, 10, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	accept = conn(VC_CM_ACCEPT, event.new_id, t->server.qp.qpn, "");
	accept.cm_conn.param.qkey = 0x777;
	assert_int_equal(wx_call(&t->server.cm, &accept, NULL), 0);
	event = expect_event(&t->client, 20, RDMA_CM_EVENT_ESTABLISHED, 0);
	assert_int_equal(event.param.qkey, 0x777);
}

/* librdmacm tells refusals of a datagram service as unreachable, with the SIDR status. */
static void refusals_tell_their_status(void **state)
{
	struct two *t = *state;
	struct vc_cm_event event;
	uint32_t c;

	c = resolved(&t->client, 20, VC_PS_UDP, IBV_QPT_UD, PORT);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	wx_pass(t->w, 1000 * WX_MS);
	expect_event(&t->client, 20, RDMA_CM_EVENT_UNREACHABLE, 1); /* nobody there: unsupported */
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), -EINVAL);

	listener_of(&t->server, 10, VC_PS_UDP, IBV_QPT_UD, PORT);
	c = resolved(&t->client, 21, VC_PS_UDP, IBV_QPT_UD, PORT);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	event = expect_event(&t->server, 10, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	assert_int_equal(conn_call(&t->server, VC_CM_REJECT, event.new_id, 0, "no"), 0);
	event = expect_event(&t->client, 21, RDMA_CM_EVENT_UNREACHABLE, 2);
	assert_memory_equal(event.param.private_data, "no", 2);

	/* A request whose id is destroyed unanswered is refused as well. */
	c = resolved(&t->client, 22, VC_PS_UDP, IBV_QPT_UD, PORT);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	event = expect_event(&t->server, 10, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	assert_int_equal(wx_object(&t->server.cm, VC_CM_DESTROY_ID, event.new_id, NULL), 0);
	expect_event(&t->client, 22, RDMA_CM_EVENT_UNREACHABLE, 2);
}

/* In the IB port space either kind may ask for a service: only its own is served. */
static void kinds_of_service_do_not_mix(void **state)
{
	struct two *t = *state;
	uint32_t c;

	listener_of(&t->server, 10, VC_PS_IB, IBV_QPT_RC, PORT);
	listener_of(&t->server, 11, VC_PS_IB, IBV_QPT_UD, PORT + 1);
	c = resolved(&t->client, 20, VC_PS_IB, IBV_QPT_UD, PORT);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	expect_event(&t->client, 20, RDMA_CM_EVENT_UNREACHABLE, 1);
	c = resolved(&t->client, 21, VC_PS_IB, IBV_QPT_RC, PORT + 1);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, t->client.qp.qpn, ""), 0);
	expect_event(&t->client, 21, RDMA_CM_EVENT_REJECTED, 8); /* invalid service ID */
	expect_no_event(&t->server);
}

static void lost_messages_are_repeated(void **state)
{
	struct two *t = *state;
	struct vc_cm_event event;
	uint32_t c;

	listener_of(&t->server, 10, VC_PS_UDP, IBV_QPT_UD, PORT);
	c = resolved(&t->client, 20, VC_PS_UDP, IBV_QPT_UD, PORT);
	t->w->drop_mads = 1;
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	expect_no_event(&t->server);
	wx_pass(t->w, 6000 * WX_MS);
	event = expect_event(&t->server, 10, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	/* The answer is lost: the repeated question brings it again, without another event. */
	t->w->drop_mads = 1;
	assert_int_equal(
		conn_call(&t->server, VC_CM_ACCEPT, event.new_id, t->server.qp.qpn, ""), 0);
	expect_no_event(&t->client);
	wx_pass(t->w, 6000 * WX_MS);
	expect_event(&t->client, 20, RDMA_CM_EVENT_ESTABLISHED, 0);
	expect_no_event(&t->server);
}

static void nobody_answers(void **state)
{
	struct two *t = *state;
	uint32_t c = resolved(&t->client, 20, VC_PS_UDP, IBV_QPT_UD, PORT);

	t->w->drop_mads = UINT32_MAX;
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	for (int i = 0; i < 20; i++)
		wx_pass(t->w, 5000 * WX_MS);
	expect_event(&t->client, 20, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
}

static void server_without_room_refuses(void **state)
{
	struct two *t = *state;
	uint32_t c;

	listener_of(&t->server, 10, VC_PS_UDP, IBV_QPT_UD, PORT);
	for (uint64_t i = 1; i < 8; i++)
		new_id(&t->server, i, VC_PS_UDP, IBV_QPT_UD);
	c = resolved(&t->client, 20, VC_PS_UDP, IBV_QPT_UD, PORT);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	expect_event(&t->client, 20, RDMA_CM_EVENT_UNREACHABLE, 2);
	expect_no_event(&t->server);
}

static void client_dies_while_asking(void **state)
{
	struct two *t = *state;
	struct vc_cm_event event;
	uint32_t c;

	listener_of(&t->server, 10, VC_PS_UDP, IBV_QPT_UD, PORT);
	c = resolved(&t->client, 20, VC_PS_UDP, IBV_QPT_UD, PORT);
	assert_int_equal(conn_call(&t->client, VC_CM_CONNECT, c, 0, ""), 0);
	event = expect_event(&t->server, 10, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	host_stop(&t->client);
	assert_int_equal(
		conn_call(&t->server, VC_CM_ACCEPT, event.new_id, t->server.qp.qpn, ""), 0);
	wx_pass(t->w, 5000 * WX_MS);
	expect_no_event(&t->server);
	host_start(t->w, &t->client);
}

static void wrong_values_and_wrong_order(void **state)
{
	struct two *t = *state;
	struct host *h = &t->client;
	struct vc_request request;
	uint32_t c = resolved(h, 20, VC_PS_UDP, IBV_QPT_UD, PORT);
	struct vc_cm_event event;

	request = conn(VC_CM_CONNECT, c, 0, "");
	request.cm_conn.param.private_bytes = 181;
	assert_int_equal(wx_call(&h->cm, &request, NULL), -EINVAL);
	request.cm_conn.param.private_bytes = UINT32_MAX;
	assert_int_equal(wx_call(&h->cm, &request, NULL), -EINVAL);
	assert_int_equal(conn_call(h, VC_CM_ACCEPT, c, h->qp.qpn, ""), -EINVAL);
	assert_int_equal(conn_call(h, VC_CM_REJECT, c, 0, ""), -EINVAL);
	listener_of(&t->server, 10, VC_PS_UDP, IBV_QPT_UD, PORT);
	assert_int_equal(conn_call(h, VC_CM_CONNECT, c, 0, ""), 0);
	/* The one who asked cannot answer, and there is nothing to establish or to end. */
	assert_int_equal(conn_call(h, VC_CM_ACCEPT, c, h->qp.qpn, ""), -EINVAL);
	assert_int_equal(wx_object(&h->cm, VC_CM_ESTABLISH, c, NULL), -EINVAL);
	assert_int_equal(wx_object(&h->cm, VC_CM_DISCONNECT, c, NULL), -EINVAL);
	event = expect_event(&t->server, 10, RDMA_CM_EVENT_CONNECT_REQUEST, 0);
	request = conn(VC_CM_ACCEPT, event.new_id, t->server.qp.qpn, "");
	request.cm_conn.param.private_bytes = 137;
	assert_int_equal(wx_call(&t->server.cm, &request, NULL), -EINVAL);
	assert_int_equal(conn_call(&t->server, VC_CM_ACCEPT, event.new_id, 1, ""), -EINVAL);
	assert_int_equal(conn_call(&t->server, VC_CM_ACCEPT, event.new_id, 1u << 24, ""), -EINVAL);
	assert_int_equal(
		conn_call(&t->server, VC_CM_ACCEPT, event.new_id, t->server.qp.qpn, ""), 0);
	/* Once is enough. */
	assert_int_equal(
		conn_call(&t->server, VC_CM_ACCEPT, event.new_id, t->server.qp.qpn, ""), -EINVAL);
	assert_int_equal(conn_call(&t->server, VC_CM_REJECT, event.new_id, 0, ""), -EINVAL);
	expect_event(h, 20, RDMA_CM_EVENT_ESTABLISHED, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(service_is_found_and_spoken_to),
		TEST(accept_may_name_a_qkey),
		TEST(refusals_tell_their_status),
		TEST(kinds_of_service_do_not_mix),
		TEST(lost_messages_are_repeated),
		TEST(nobody_answers),
		TEST(server_without_room_refuses),
		TEST(client_dies_while_asking),
		TEST(wrong_values_and_wrong_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
