/* SPDX-License-Identifier: BSD-3-Clause */
#include "cm_host.h"

#include <arpa/inet.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void new_channel(struct host *h, uint32_t *channel, int *fd)
{
	struct vc_request request = {.op = VC_CM_CREATE_CHANNEL};
	struct vc_reply reply;
	int fds[3];

	assert_int_equal(wx_call_raw(&h->cm, &request, sizeof(request), &reply, fds), 0);
	assert_int_equal(reply.n_fds, 1);
	*channel = reply.cm.handle;
	*fd = fds[0];
}

void host_start(struct wx_world *w, struct host *h)
{
	memset(h, 0, sizeof(*h));
	h->w = w;
	wx_connect(w, &h->cm);
	wx_hello_cm(&h->cm);
	new_channel(h, &h->channel, &h->fd);
	wx_connect(w, &h->verbs);
	wx_hello(&h->verbs);
	h->pd = wx_pd(&h->verbs);
	h->key = wx_mr(&h->verbs, h->pd, h->buf, sizeof(h->buf), NULL);
	wx_make_cq(&h->verbs, 64, 0, 0, &h->cq);
	wx_make_qp(&h->verbs, h->pd, &h->cq, 16, &h->qp);
}

void host_stop(struct host *h)
{
	close(h->fd);
	wx_close(&h->cm);
	wx_close(&h->verbs);
}

uint32_t new_id_of(struct host *h, uint64_t cookie, uint32_t ps, enum ibv_qp_type type)
{
	struct vc_request request = {.op = VC_CM_CREATE_ID};
	struct vc_reply reply;

	request.cm_create_id.cookie = cookie;
	request.cm_create_id.channel = h->channel;
	request.cm_create_id.ps = ps;
	request.cm_create_id.qp_type = type;
	assert_int_equal(wx_call(&h->cm, &request, &reply), 0);
	return reply.cm.handle;
}

uint32_t new_id(struct host *h, uint64_t cookie, uint32_t ps)
{
	return new_id_of(h, cookie, ps, IBV_QPT_RC);
}

/* 192.0.2.(host) or with host 0 any address. */
struct vc_sockaddr in4(uint8_t host, uint16_t port)
{
	struct vc_sockaddr addr = {.family = AF_INET, .port = htons(port)};

	if (host != 0)
		memcpy(addr.addr, (uint8_t[]){192, 0, 2, host}, 4);
	return addr;
}

int bind_to(struct host *h, uint32_t id, struct vc_sockaddr addr, struct vc_reply *reply)
{
	struct vc_request request = {.op = VC_CM_BIND, .cm_bind = {.id = id, .src = addr}};

	return wx_call(&h->cm, &request, reply);
}

int listen_on(struct host *h, uint32_t id, uint32_t backlog)
{
	struct vc_request request = {.op = VC_CM_LISTEN, .cm_bind = {.id = id, .backlog = backlog}};

	return wx_call(&h->cm, &request, NULL);
}

int resolve_addr(struct host *h, uint32_t id, struct vc_sockaddr dst)
{
	struct vc_request request = {
		.op = VC_CM_RESOLVE_ADDR, .cm_resolve = {.id = id, .timeout_ms = 2000, .dst = dst}};

	return wx_call(&h->cm, &request, NULL);
}

int resolve_route(struct host *h, uint32_t id)
{
	struct vc_request request = {
		.op = VC_CM_RESOLVE_ROUTE, .cm_resolve = {.id = id, .timeout_ms = 2000}};

	return wx_call(&h->cm, &request, NULL);
}

int conn_call(struct host *h, enum vc_op op, uint32_t id, uint64_t cookie, const char *text)
{
	struct vc_request request = {.op = op, .cm_conn = {.id = id, .cookie = cookie}};
	struct vc_conn_param *param = &request.cm_conn.param;

	param->qpn = h->qp.qpn;
	param->responder_resources = 5;
	param->initiator_depth = 3;
	param->retry_count = 6;
	param->rnr_retry_count = 7;
	param->private_bytes = (uint32_t)strlen(text);
	memcpy(param->private_data, text, strlen(text));
	return wx_call(&h->cm, &request, NULL);
}

bool take_event(int fd, struct vc_cm_event *event)
{
	return recv(fd, event, sizeof(*event), MSG_DONTWAIT) == (ssize_t)sizeof(*event);
}

struct vc_cm_event expect_event(struct host *h, uint64_t cookie, uint32_t type, int status)
{
	struct vc_cm_event event;

	wx_pump(h->w);
	assert_true(take_event(h->fd, &event));
	assert_int_equal(event.type, type);
	assert_int_equal(event.status, status);
	assert_int_equal(event.id_cookie, cookie);
	return event;
}

void expect_no_event(struct host *h)
{
	struct vc_cm_event event;

	wx_pump(h->w);
	assert_false(take_event(h->fd, &event));
}

uint32_t listener(struct host *h, uint64_t cookie, uint8_t addr, uint16_t port)
{
	uint32_t id = new_id(h, cookie, VC_PS_TCP);

	assert_int_equal(bind_to(h, id, in4(addr, port), NULL), 0);
	assert_int_equal(listen_on(h, id, 0), 0);
	return id;
}

uint32_t resolved(struct host *h, uint64_t cookie, uint16_t port)
{
	uint32_t id = new_id(h, cookie, VC_PS_TCP);

	assert_int_equal(resolve_addr(h, id, in4(1, port)), 0);
	expect_event(h, cookie, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	assert_int_equal(resolve_route(h, id), 0);
	expect_event(h, cookie, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return id;
}

struct vc_qp_attr qp_attr(struct host *h, uint32_t id, enum ibv_qp_state state)
{
	struct vc_request request = {
		.op = VC_CM_INIT_QP_ATTR, .cm_init_attr = {.id = id, .state = state}};
	struct vc_reply reply;

	assert_int_equal(wx_call(&h->cm, &request, &reply), 0);
	assert_int_equal(reply.qp_attr.state, state);
	return reply.qp_attr;
}

/* As librdmacm does it: all attributes from the connection manager. */
void bring_up(struct host *h, uint32_t id)
{
	struct vc_qp_attr again = qp_attr(h, id, IBV_QPS_INIT);

	assert_int_equal(wx_modify(&h->qp, &again), 0);
	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		struct vc_qp_attr attr = qp_attr(h, id, state);

		assert_int_equal(wx_modify(&h->qp, &attr), 0);
	}
}

void send_text(struct host *from, struct host *to, const char *text)
{
	struct tp_sge source = {(uintptr_t)from->buf, (uint32_t)strlen(text), from->key};
	struct tp_sge sink = {(uintptr_t)to->buf + 2048, 100, to->key};
	const struct tp_cqe *cqe;

	memcpy(from->buf, text, strlen(text));
	wx_post_recv(&to->qp, 1, 1, &sink);
	wx_post(&from->qp,
		&(struct tp_send_wqe){
			.wr_id = 2, .opcode = TP_WR_SEND, .num_sge = 1, .flags = TP_SEND_SIGNALED},
		&source, NULL);
	wx_pump(from->w);
	cqe = wx_poll(&to->cq);
	assert_non_null(cqe);
	assert_int_equal(cqe->status, TP_WC_SUCCESS);
	cqe = wx_poll(&from->cq);
	assert_non_null(cqe);
	assert_int_equal(cqe->status, TP_WC_SUCCESS);
	assert_memory_equal(to->buf + 2048, text, strlen(text));
}
