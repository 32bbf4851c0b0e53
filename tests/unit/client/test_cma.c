/* SPDX-License-Identifier: BSD-3-Clause */
/* librdmacm: ids, events, connections and endpoints, against the fake daemon's connection manager. */
#include "env.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <sys/wait.h>
#include <time.h>

#define PORT "7471"

long repoll_create(void); /* newer than the headers */

static int setup(void **state)
{
	*state = fake_start();
	return 0;
}

static int teardown(void **state)
{
	/* The default protection and XRC domains are the library's, for the life of the process. */
	assert_true(fake_objects(*state) <= 2);
	fake_stop(*state);
	return 0;
}

static struct rdma_cm_event *expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event;

	assert_int_equal(rdma_get_cm_event(channel, &event), 0);
	assert_string_equal(rdma_event_str(event->event), rdma_event_str(type));
	return event;
}

static void expect_and_ack(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
	assert_int_equal(rdma_ack_cm_event(expect(channel, type)), 0);
}

static struct sockaddr_in address(uint8_t first, uint16_t port)
{
	struct sockaddr_in sin = {.sin_family = AF_INET, .sin_port = htons(port)};

	sin.sin_addr.s_addr = htonl((uint32_t)first << 24 | 1);
	return sin;
}

static struct rdma_cm_id *resolved_in(struct rdma_event_channel *channel, enum rdma_port_space ps)
{
	struct sockaddr_in dst = address(10, 7471);
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, NULL, ps), 0);
	assert_int_equal(rdma_resolve_addr(id, NULL, (struct sockaddr *)&dst, 2000), 0);
	expect_and_ack(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
	assert_non_null(id->pd); /* rdma_create_qp(3): a domain is there with the device */
	assert_int_equal(rdma_resolve_route(id, 2000), 0);
	expect_and_ack(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	return id;
}

/* A resolved id on a channel of its own. */
static struct rdma_cm_id *resolved(struct rdma_event_channel *channel)
{
	return resolved_in(channel, RDMA_PS_TCP);
}

static struct rdma_cm_id *listening_in(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps)
{
	struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(7471)};
	struct rdma_cm_id *id;

	assert_int_equal(rdma_create_id(channel, &id, context, ps), 0);
	assert_int_equal(rdma_bind_addr(id, (struct sockaddr *)&any), 0);
	assert_null(id->verbs); /* any device */
	assert_int_equal(rdma_listen(id, 4), 0);
	assert_int_equal(ntohs(rdma_get_src_port(id)), 7471);
	return id;
}

static struct rdma_cm_id *listening(struct rdma_event_channel *channel, void *context)
{
	return listening_in(channel, context, RDMA_PS_TCP);
}

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_RC};

	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_non_null(id->send_cq_channel);
	assert_ptr_equal(attr.recv_cq, id->recv_cq);
	assert_int_equal(id->qp->state, IBV_QPS_INIT);
}

/* What an id learns by resolving: device, both addresses, GIDs and a path. */
static void test_resolve(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = resolved(channel), *bad;
	struct sockaddr_in dst = address(11, 1);
	struct rdma_cm_event *event;
	uint8_t tos = 0x40;

	(void)state;
	assert_string_equal(ibv_get_device_name(id->verbs->device), FAKE_DEVICE);
	assert_int_equal(id->port_num, 1);
	assert_int_equal(ntohs(rdma_get_dst_port(id)), 7471);
	assert_int_equal(ntohs(rdma_get_src_port(id)), 40000);
	assert_int_equal(((struct sockaddr_in *)rdma_get_local_addr(id))->sin_addr.s_addr, htonl(0x0a000001));
	assert_int_equal(id->route.addr.addr.ibaddr.dgid.raw[12], 10);
	assert_int_equal(id->route.num_paths, 1);
	assert_int_equal(id->route.path_rec->mtu, IBV_MTU_1024);
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	assert_int_equal(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 2), -1);
	assert_int_equal(errno, EINVAL);

	assert_int_equal(rdma_create_id(channel, &bad, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(bad, NULL, (struct sockaddr *)&dst, 2000), 0);
	event = expect(channel, RDMA_CM_EVENT_ADDR_ERROR);
	assert_int_equal(event->status, -ENETUNREACH);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_destroy_id(bad), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

/* A connection with QPs on the ids: the active side sees only that it is established. */
static void test_connect(void **state)
{
	struct rdma_event_channel *ca = rdma_create_event_channel(), *cp = rdma_create_event_channel();
	struct rdma_conn_param param = {.private_data = "hello", .private_data_len = 6, .responder_resources = 3,
		.initiator_depth = 2, .retry_count = 5, .rnr_retry_count = 6};
	struct rdma_cm_id *listener = listening(cp, ca), *active = resolved(ca), *passive;
	struct rdma_cm_event *event;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;

	(void)state;
	make_qp(active);
	assert_int_equal(rdma_connect(active, &param), 0);
	event = expect(cp, RDMA_CM_EVENT_CONNECT_REQUEST);
	passive = event->id;
	assert_ptr_equal(event->listen_id, listener);
	assert_ptr_equal(passive->context, ca); /* the listener's */
	assert_ptr_equal(passive->verbs, active->verbs); /* one context a process and device */
	assert_int_equal(event->param.conn.private_data_len, 6);
	assert_string_equal(event->param.conn.private_data, "hello");
	assert_int_equal(event->param.conn.responder_resources, 3);
	assert_int_equal(event->param.conn.qp_num, active->qp->qp_num);
	rdma_ack_cm_event(event);
	make_qp(passive);
	assert_int_equal(rdma_accept(passive, NULL), 0);
	assert_int_equal(passive->qp->state, IBV_QPS_RTS);
	event = expect(ca, RDMA_CM_EVENT_ESTABLISHED);
	assert_ptr_equal(event->id, active);
	rdma_ack_cm_event(event);
	expect_and_ack(cp, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(ibv_query_qp(active->qp, &attr, 0, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(attr.dest_qp_num, passive->qp->qp_num);

	assert_int_equal(rdma_disconnect(active), 0);
	assert_int_equal(active->qp->state, IBV_QPS_ERR);
	expect_and_ack(ca, RDMA_CM_EVENT_DISCONNECTED);
	expect_and_ack(cp, RDMA_CM_EVENT_DISCONNECTED);
	rdma_destroy_qp(active);
	rdma_destroy_qp(passive);
	assert_int_equal(rdma_destroy_id(active), 0);
	assert_int_equal(rdma_destroy_id(passive), 0);
	assert_int_equal(rdma_destroy_id(listener), 0);
	rdma_destroy_event_channel(ca);
	rdma_destroy_event_channel(cp);
}

static void make_datagram_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {.cap = {4, 4, 1, 1, 0}, .qp_type = IBV_QPT_UD}, init;
	struct ibv_qp_attr now;

	assert_int_equal(rdma_create_qp(id, NULL, &attr), 0);
	assert_int_equal(id->qp->state, IBV_QPS_RTS); /* needs nobody to be ready */
	assert_int_equal(ibv_query_qp(id->qp, &now, 0, &init), 0);
	assert_int_equal(now.qkey, RDMA_UDP_QKEY);
}

/* Annex A11, IB 12.11 (SIDR): a service is asked for its queue pair, and answers with number, key and way. */
static void test_datagram_service(void **state)
{
	struct rdma_event_channel *ca = rdma_create_event_channel(), *cp = rdma_create_event_channel();
	struct rdma_conn_param param = {.private_data = "who", .private_data_len = 4};
	struct rdma_cm_id *listener = listening_in(cp, NULL, RDMA_PS_UDP), *active = resolved_in(ca, RDMA_PS_UDP);
	struct rdma_cm_id *passive, *refused;
	struct rdma_cm_event *event;

	(void)state;
	assert_int_equal(active->qp_type, IBV_QPT_UD);
	make_datagram_qp(active);
	assert_int_equal(rdma_connect(active, &param), 0);
	event = expect(cp, RDMA_CM_EVENT_CONNECT_REQUEST);
	passive = event->id;
	assert_int_equal(passive->qp_type, IBV_QPT_UD);
	assert_int_equal(event->param.ud.private_data_len, 4);
	assert_string_equal(event->param.ud.private_data, "who");
	rdma_ack_cm_event(event);
	make_datagram_qp(passive);
	param.private_data = "me";
	param.private_data_len = 3;
	assert_int_equal(rdma_accept(passive, &param), 0); /* waits for nothing */
	event = expect(ca, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(event->param.ud.qp_num, passive->qp->qp_num);
	assert_int_equal(event->param.ud.qkey, RDMA_UDP_QKEY);
	assert_int_equal(event->param.ud.ah_attr.is_global, 1);
	assert_int_equal(event->param.ud.ah_attr.port_num, 1);
	assert_int_equal(event->param.ud.ah_attr.grh.sgid_index, 1);
	assert_int_equal(event->param.ud.ah_attr.grh.dgid.raw[12], 10);
	assert_string_equal(event->param.ud.private_data, "me");
	rdma_ack_cm_event(event);
	assert_int_equal(active->qp->state, IBV_QPS_RTS);
	/* A refusal leaves the queue pair usable for others. */
	assert_int_equal(rdma_connect(active, NULL), 0);
	event = expect(cp, RDMA_CM_EVENT_CONNECT_REQUEST);
	assert_int_equal(rdma_reject(event->id, NULL, 0), 0);
	expect_and_ack(ca, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(active->qp->state, IBV_QPS_RTS);
	refused = event->id;
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_destroy_id(refused), 0);
	rdma_destroy_qp(active);
	rdma_destroy_qp(passive);
	assert_int_equal(rdma_destroy_id(active), 0);
	assert_int_equal(rdma_destroy_id(passive), 0);
	assert_int_equal(rdma_destroy_id(listener), 0);
	rdma_destroy_event_channel(ca);
	rdma_destroy_event_channel(cp);
}

static struct sockaddr_in group(uint8_t last)
{
	struct sockaddr_in sin = {.sin_family = AF_INET};

	sin.sin_addr.s_addr = htonl(239u << 24 | last);
	return sin;
}

/* A join ends in an event with the way to the group; the queue pair is attached unless it only sends. */
static void test_multicast(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = resolved_in(channel, RDMA_PS_UDP);
	struct sockaddr_in one = group(1), two = group(2), taken = group(9), none = group(3);
	struct rdma_cm_join_mc_attr_ex attr = {.addr = (struct sockaddr *)&two,
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER};
	struct rdma_cm_event *event;

	make_datagram_qp(id);
	assert_int_equal(rdma_join_multicast(id, (struct sockaddr *)&one, channel), 0);
	event = expect(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_ptr_equal(event->param.ud.private_data, channel);
	assert_int_equal(event->param.ud.qp_num, 0xffffff);
	assert_int_equal(event->param.ud.qkey, RDMA_UDP_QKEY);
	assert_int_equal(event->param.ud.ah_attr.is_global, 1);
	assert_memory_equal(event->param.ud.ah_attr.grh.dgid.raw + 10, ((uint8_t[]){0xff, 0xff, 239, 0, 0, 1}), 6);
	rdma_ack_cm_event(event);
	assert_int_equal(fake_attached(*state), 1);
	assert_int_equal(rdma_join_multicast_ex(id, &attr, NULL), 0);
	expect_and_ack(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_int_equal(fake_attached(*state), 1);
	assert_int_equal(rdma_join_multicast(id, (struct sockaddr *)&taken, NULL), -1);
	assert_int_equal(errno, EADDRINUSE);
	attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
	assert_int_equal(rdma_join_multicast_ex(id, &attr, NULL), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_leave_multicast(id, (struct sockaddr *)&one), 0);
	assert_int_equal(fake_attached(*state), 0);
	assert_int_equal(rdma_leave_multicast(id, (struct sockaddr *)&one), -1);
	assert_int_equal(errno, EADDRNOTAVAIL);
	/* An event of a group left before it was read does not reach the program: the next one does. */
	assert_int_equal(rdma_join_multicast(id, (struct sockaddr *)&none, NULL), 0);
	assert_int_equal(rdma_leave_multicast(id, (struct sockaddr *)&none), 0);
	assert_int_equal(rdma_join_multicast(id, (struct sockaddr *)&one, state), 0);
	event = expect(channel, RDMA_CM_EVENT_MULTICAST_JOIN);
	assert_ptr_equal(event->param.ud.private_data, state);
	rdma_ack_cm_event(event);
	rdma_destroy_qp(id); /* with a membership, which it takes along */
	assert_int_equal(rdma_leave_multicast(id, (struct sockaddr *)&one), 0);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

/* Queue pairs made on an id take its shared queue, and rdma_post_recv() posts there. */
static void test_srq(void **state)
{
	struct ibv_srq_init_attr attr = {.attr = {.max_wr = 2, .max_sge = 1}};
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = resolved(channel), *unresolved;
	char buf[8];
	struct ibv_mr *mr;

	(void)state;
	assert_int_equal(rdma_create_id(channel, &unresolved, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_create_srq(unresolved, NULL, &attr), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_destroy_id(unresolved), 0);
	assert_int_equal(rdma_create_srq(id, NULL, &attr), 0);
	assert_non_null(id->srq);
	assert_int_equal(rdma_create_srq(id, NULL, &attr), -1); /* it has one */
	make_qp(id);
	assert_ptr_equal(id->qp->srq, id->srq);
	mr = rdma_reg_msgs(id, buf, sizeof(buf));
	assert_non_null(mr);
	assert_int_equal(rdma_post_recv(id, NULL, buf, sizeof(buf), mr), 0);
	assert_int_equal(rdma_post_recv(id, NULL, buf, sizeof(buf), mr), 0);
	assert_int_equal(rdma_post_recv(id, NULL, buf, sizeof(buf), mr), -1);
	assert_int_equal(errno, ENOMEM);
	assert_int_equal(rdma_dereg_mr(mr), 0);
	rdma_destroy_qp(id);
	rdma_destroy_srq(id);
	assert_null(id->srq);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

/* A program that moves its QPs itself sees the response and completes the handshake. */
static void test_connect_without_qp(void **state)
{
	struct rdma_event_channel *ca = rdma_create_event_channel(), *cp = rdma_create_event_channel();
	struct rdma_conn_param param = {.qp_num = 0x77, .responder_resources = 1};
	struct rdma_cm_id *listener = listening(cp, NULL), *active = resolved(ca), *passive;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
	struct rdma_cm_event *event;
	int mask = 0;

	(void)state;
	assert_int_equal(rdma_connect(active, &param), 0);
	event = expect(cp, RDMA_CM_EVENT_CONNECT_REQUEST);
	passive = event->id;
	assert_int_equal(event->param.conn.qp_num, 0x77);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_init_qp_attr(passive, &attr, &mask), 0);
	assert_int_equal(attr.dest_qp_num, 0x77);
	assert_true((mask & IBV_QP_AV) != 0);
	assert_int_equal(attr.ah_attr.is_global, 1);
	param.qp_num = 0x88;
	assert_int_equal(rdma_accept(passive, &param), 0);
	event = expect(ca, RDMA_CM_EVENT_CONNECT_RESPONSE);
	assert_int_equal(event->param.conn.qp_num, 0x88);
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_establish(active), 0);
	expect_and_ack(cp, RDMA_CM_EVENT_ESTABLISHED);
	param.responder_resources = 17; /* the device has 16 */
	assert_int_equal(rdma_connect(active, &param), -1);
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_destroy_id(passive), 0);
	assert_int_equal(rdma_destroy_id(active), 0);
	assert_int_equal(rdma_destroy_id(listener), 0);
	rdma_destroy_event_channel(ca);
	rdma_destroy_event_channel(cp);
}

/* A refusal carries the reason and the peer's data; one by a listener that is gone comes too. */
static void test_reject(void **state)
{
	struct rdma_event_channel *ca = rdma_create_event_channel(), *cp = rdma_create_event_channel();
	struct rdma_cm_id *listener = listening(cp, NULL), *active = resolved(ca), *passive;
	struct rdma_cm_event *event;

	(void)state;
	make_qp(active);
	assert_int_equal(rdma_connect(active, NULL), 0);
	event = expect(cp, RDMA_CM_EVENT_CONNECT_REQUEST);
	passive = event->id;
	rdma_ack_cm_event(event);
	assert_int_equal(rdma_reject(passive, "no", 3), 0);
	assert_int_equal(rdma_destroy_id(passive), 0);
	event = expect(ca, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(event->status, 28); /* IB table 109: by the consumer */
	assert_string_equal(event->param.conn.private_data, "no");
	assert_int_equal(active->qp->state, IBV_QPS_ERR);
	rdma_ack_cm_event(event);
	rdma_destroy_qp(active);
	assert_int_equal(rdma_destroy_id(active), 0);

	active = resolved(ca);
	assert_int_equal(rdma_connect(active, NULL), 0); /* its request stays unread */
	assert_int_equal(rdma_destroy_id(listener), 0);
	rdma_destroy_event_channel(cp);
	expect_and_ack(ca, RDMA_CM_EVENT_REJECTED);
	assert_int_equal(rdma_destroy_id(active), 0);
	rdma_destroy_event_channel(ca);
}

static void *destroy(void *id)
{
	assert_int_equal(rdma_destroy_id(id), 0);
	return NULL;
}

/* rdma_destroy_id returns only when the id's events are acknowledged. */
static void test_destroy_waits_for_acks(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = resolved(channel);
	struct rdma_cm_event *event;
	struct timespec soon;
	pthread_t thread;

	(void)state;
	assert_int_equal(rdma_resolve_route(id, 1), 0);
	event = expect(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	pthread_create(&thread, NULL, destroy, id);
	clock_gettime(CLOCK_REALTIME, &soon);
	soon.tv_sec += 1;
	soon.tv_nsec = 0;
	assert_int_equal(pthread_timedjoin_np(thread, NULL, &soon), ETIMEDOUT);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	rdma_destroy_event_channel(channel);
}

/* ---- endpoints, as in rdma_server and rdma_client ---- */

static struct rdma_cm_id *make_endpoint(const char *node, int flags)
{
	struct rdma_addrinfo hints = {.ai_flags = flags, .ai_port_space = RDMA_PS_TCP}, *res;
	struct ibv_qp_init_attr attr = {.cap = {1, 1, 1, 1, 16}, .sq_sig_all = 1};
	struct rdma_cm_id *id;

	assert_int_equal(rdma_getaddrinfo(node, PORT, &hints, &res), 0);
	assert_int_equal(rdma_create_ep(&id, res, NULL, &attr), 0);
	rdma_freeaddrinfo(res);
	return id;
}

static void *run_server(void *arg)
{
	struct rdma_cm_id *listener = arg, *id;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	char msg[16];

	assert_int_equal(rdma_get_request(listener, &id), 0);
	mr = rdma_reg_msgs(id, msg, sizeof(msg));
	assert_non_null(mr);
	assert_int_equal(rdma_post_recv(id, NULL, msg, sizeof(msg), mr), 0);
	assert_int_equal(rdma_accept(id, NULL), 0);
	assert_int_equal(rdma_get_recv_comp(id, &wc), 1);
	assert_string_equal(msg, "to the server");
	assert_int_equal(rdma_post_send(id, NULL, msg, sizeof(msg), NULL, IBV_SEND_INLINE), 0);
	assert_int_equal(rdma_get_send_comp(id, &wc), 1);
	assert_int_equal(rdma_disconnect(id), 0);
	assert_int_equal(rdma_dereg_mr(mr), 0);
	rdma_destroy_ep(id);
	return NULL;
}

static void test_endpoints(void **state)
{
	struct rdma_cm_id *listener = make_endpoint(NULL, RAI_PASSIVE), *id;
	char out[16] = "to the server", in[16] = "";
	struct ibv_mr *mr;
	pthread_t thread;
	struct ibv_wc wc;

	(void)state;
	assert_int_equal(rdma_listen(listener, 0), 0);
	pthread_create(&thread, NULL, run_server, listener);
	id = make_endpoint("10.0.0.1", 0);
	mr = rdma_reg_msgs(id, in, sizeof(in));
	assert_int_equal(rdma_post_recv(id, NULL, in, sizeof(in), mr), 0);
	assert_int_equal(rdma_connect(id, NULL), 0);
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ESTABLISHED);
	assert_int_equal(rdma_post_send(id, NULL, out, sizeof(out), NULL, IBV_SEND_INLINE), 0);
	assert_int_equal(rdma_get_send_comp(id, &wc), 1);
	assert_int_equal(rdma_get_recv_comp(id, &wc), 1);
	assert_string_equal(in, out);
	assert_int_equal(rdma_disconnect(id), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(rdma_dereg_mr(mr), 0);
	rdma_destroy_ep(id);
	rdma_destroy_ep(listener);
}

/* A synchronous call reports the event's failure as its own. */
static void test_synchronous_failures(void **state)
{
	struct rdma_cm_id *id = make_endpoint("10.0.0.1", 0); /* nobody listens there */
	struct sockaddr_in dst = address(11, 1);
	struct rdma_cm_id *other;

	(void)state;
	assert_int_equal(rdma_connect(id, NULL), -1);
	assert_int_equal(errno, ECONNREFUSED);
	rdma_destroy_ep(id);
	assert_int_equal(rdma_create_id(NULL, &other, NULL, RDMA_PS_TCP), 0);
	assert_int_equal(rdma_resolve_addr(other, NULL, (struct sockaddr *)&dst, 1), -1);
	assert_int_equal(errno, ENETUNREACH);
	assert_int_equal(rdma_destroy_id(other), 0);
}

/* An id changes its channel; from a synchronous one it becomes asynchronous. */
static void test_migrate(void **state)
{
	struct rdma_event_channel *first = rdma_create_event_channel(), *second = rdma_create_event_channel();
	struct rdma_cm_id *id = resolved(first);

	(void)state;
	assert_int_equal(rdma_migrate_id(id, second), 0);
	rdma_destroy_event_channel(first);
	assert_int_equal(rdma_resolve_route(id, 1), 0);
	expect_and_ack(second, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(rdma_migrate_id(id, NULL), 0);
	rdma_destroy_event_channel(second);
	assert_int_equal(rdma_resolve_route(id, 1), 0); /* waits by itself now */
	assert_int_equal(id->event->event, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(rdma_destroy_id(id), 0);
}

static void test_getaddrinfo(void **state)
{
	struct sockaddr_in src = address(10, 0);
	struct rdma_addrinfo hints = {.ai_flags = RAI_NUMERICHOST, .ai_qp_type = IBV_QPT_UD,
		.ai_src_addr = (struct sockaddr *)&src, .ai_src_len = sizeof(src)}, *res;

	(void)state;
	assert_int_equal(rdma_getaddrinfo("10.0.0.7", PORT, &hints, &res), 0);
	assert_int_equal(res->ai_port_space, RDMA_PS_UDP);
	assert_int_equal(res->ai_family, AF_INET);
	assert_int_equal(((struct sockaddr_in *)res->ai_dst_addr)->sin_port, htons(7471));
	assert_memory_equal(res->ai_src_addr, &src, sizeof(src));
	rdma_freeaddrinfo(res);
	assert_int_equal(rdma_getaddrinfo("not numeric", PORT, &hints, &res), EAI_NONAME);
	/* Without names the hints are the answer; a source alone is enough. */
	assert_int_equal(rdma_getaddrinfo(NULL, NULL, &hints, &res), 0);
	assert_memory_equal(res->ai_src_addr, &src, sizeof(src));
	assert_null(res->ai_dst_addr);
	rdma_freeaddrinfo(res);
	hints.ai_src_len = 0;
	assert_int_equal(rdma_getaddrinfo(NULL, NULL, &hints, &res), EAI_NONAME);
	assert_int_equal(rdma_getaddrinfo("::1", PORT, NULL, &res), 0);
	assert_int_equal(res->ai_family, AF_INET6);
	assert_int_equal(res->ai_qp_type, IBV_QPT_RC);
	rdma_freeaddrinfo(res);
}

static void test_devices_and_unsupported(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct ibv_srq_init_attr_ex srq = {.comp_mask = IBV_SRQ_INIT_ATTR_TYPE, .srq_type = IBV_SRQT_TM};
	struct rdma_cm_id *id = resolved(channel);
	struct ibv_context **list;
	int n;

	(void)state;
	list = rdma_get_devices(&n);
	assert_int_equal(n, 1);
	assert_ptr_equal(list[0], id->verbs);
	assert_null(list[1]);
	rdma_free_devices(list);
	assert_int_equal(rdma_join_multicast(id, NULL, NULL), -1); /* of datagram ids */
	assert_int_equal(errno, EINVAL);
	assert_int_equal(rdma_create_srq_ex(id, &srq), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	/* One that the device refuses leaves nothing but the default domain. */
	srq = (struct ibv_srq_init_attr_ex){.comp_mask = IBV_SRQ_INIT_ATTR_TYPE, .srq_type = IBV_SRQT_XRC};
	assert_int_equal(rdma_create_srq_ex(id, &srq), -1);
	assert_int_equal(errno, EINVAL);
	assert_null(id->recv_cq);
	assert_int_equal(repoll_create(), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

/* A child works on a connection of its own; the parent's goes on. */
static void test_fork(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel(), *own;
	struct rdma_cm_id *id = resolved(channel);
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0) {
		struct rdma_cm_id *mine;

		if (rdma_resolve_route(id, 1) != -1 || errno != EIO)
			_exit(1);
		own = rdma_create_event_channel();
		if (own == NULL || rdma_create_id(own, &mine, NULL, RDMA_PS_TCP) != 0 || rdma_destroy_id(mine) != 0)
			_exit(2);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(rdma_resolve_route(id, 1), 0);
	expect_and_ack(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

/* Each id of a channel is told once that its device has gone. */
static void expect_removal(struct rdma_event_channel *channel, const struct rdma_cm_id *id)
{
	struct rdma_cm_event *event = expect(channel, RDMA_CM_EVENT_DEVICE_REMOVAL);

	assert_ptr_equal(event->id, id);
	assert_int_equal(event->status, -EIO);
	assert_int_equal(rdma_ack_cm_event(event), 0);
	assert_int_equal(rdma_get_cm_event(channel, &event), -1);
	assert_int_equal(errno, EIO);
}

/* The daemon dies: whoever waits is told, all can be destroyed, and a new daemon is found. */
static void test_daemon_dies(void **state)
{
	struct rdma_event_channel *channel = rdma_create_event_channel();
	struct rdma_cm_id *id = resolved(channel);

	fake_stop(*state);
	expect_removal(channel, id);
	assert_int_equal(rdma_connect(id, NULL), -1);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
	assert_null(rdma_create_event_channel());
	assert_int_equal(errno, ENODEV);
	*state = fake_start();
	channel = rdma_create_event_channel();
	assert_non_null(channel);
	id = resolved(channel);
	assert_int_equal(rdma_destroy_id(id), 0);
	rdma_destroy_event_channel(channel);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_resolve, setup, teardown),
		cmocka_unit_test_setup_teardown(test_connect, setup, teardown),
		cmocka_unit_test_setup_teardown(test_connect_without_qp, setup, teardown),
		cmocka_unit_test_setup_teardown(test_datagram_service, setup, teardown),
		cmocka_unit_test_setup_teardown(test_multicast, setup, teardown),
		cmocka_unit_test_setup_teardown(test_srq, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reject, setup, teardown),
		cmocka_unit_test_setup_teardown(test_destroy_waits_for_acks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_endpoints, setup, teardown),
		cmocka_unit_test_setup_teardown(test_synchronous_failures, setup, teardown),
		cmocka_unit_test_setup_teardown(test_migrate, setup, teardown),
		cmocka_unit_test_setup_teardown(test_getaddrinfo, setup, teardown),
		cmocka_unit_test_setup_teardown(test_devices_and_unsupported, setup, teardown),
		cmocka_unit_test_setup_teardown(test_fork, setup, teardown),
		cmocka_unit_test_setup_teardown(test_daemon_dies, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
