/* SPDX-License-Identifier: BSD-3-Clause */
/* Unreliable connections and datagrams, shared receive queues and groups, against the fake daemon. */
#include "env.h"

#define QKEY 0x11111111u

static struct ibv_qp *make_qp(struct env *env, enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {.send_cq = env->cq,
		.recv_cq = env->cq,
		.qp_type = type,
		.srq = srq,
		.cap = {ENV_SQ_DEPTH, srq == NULL ? ENV_RQ_DEPTH : 0, 2, srq == NULL ? 2 : 0, FAKE_INLINE}};
	struct ibv_qp *qp = ibv_create_qp(env->pd, &attr);

	assert_non_null(qp);
	assert_int_equal(attr.cap.max_recv_wr, srq == NULL ? ENV_RQ_DEPTH : 0);
	return qp;
}

static struct ibv_qp *make_ud(struct env *env)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY};
	struct ibv_qp *qp = make_qp(env, IBV_QPT_UD, NULL);

	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY), 0);
	env_to_state(qp, IBV_QPS_RTR, 0);
	env_to_state(qp, IBV_QPS_RTS, 0);
	return qp;
}

static struct ibv_ah *make_ah(struct env *env)
{
	struct ibv_ah_attr attr = {.is_global = 1,
		.port_num = 1,
		.grh = {.sgid_index = 1, .hop_limit = 7, .traffic_class = 0x68, .flow_label = 0x12345}};

	memset(attr.grh.dgid.raw + 10, 0xff, 2);
	memcpy(attr.grh.dgid.raw + 12, (uint8_t[]){10, 0, 0, 9}, 4);
	return ibv_create_ah(env->pd, &attr);
}

static int post_recv_bytes(struct env *env, struct ibv_qp *qp, uint64_t wr_id, uint32_t bytes)
{
	struct ibv_sge sge = {(uintptr_t)env->buf, bytes, env->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

static struct ibv_send_wr datagram(struct ibv_sge *sge, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct ibv_send_wr wr = {.wr_id = 5,
		.sg_list = sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND_WITH_IMM,
		.imm_data = htobe32(0xcafe),
		.send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE};

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	return wr;
}

/* IB 9.8.3, annex A17: a datagram names its peer, and lands behind 40 bytes of header space. */
static void test_datagram(void **state)
{
	struct env *env = *state;
	struct ibv_qp *from = make_ud(env), *to = make_ud(env);
	struct ibv_ah *ah = make_ah(env);
	char text[8] = "datagram";
	struct ibv_sge sge = {(uintptr_t)text, sizeof(text), 0};
	struct ibv_send_wr wr = datagram(&sge, ah, to->qp_num, QKEY), *bad;
	struct ibv_wc wc[2];

	assert_non_null(ah);
	assert_int_equal(post_recv_bytes(env, to, 9, FAKE_GRH_BYTES + 8), 0);
	assert_int_equal(ibv_post_send(from, &wr, &bad), 0);
	env_poll(env->cq, wc, 2);
	assert_int_equal(wc[0].wr_id, 9);
	assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
	assert_int_equal(wc[0].byte_len, FAKE_GRH_BYTES + 8);
	assert_int_equal(wc[0].wc_flags, IBV_WC_GRH | IBV_WC_WITH_IMM);
	assert_int_equal(wc[0].sl, TP_WC_L3_IP4); /* where UCX looks for the form of the address */
	assert_int_equal(wc[0].imm_data, htobe32(0xcafe));
	assert_int_equal(wc[0].src_qp, from->qp_num);
	assert_memory_equal(env->buf + FAKE_GRH_BYTES, text, sizeof(text));
	assert_int_equal(wc[1].wr_id, 5);
	/* Q_Key and peer are checked at the receiver: the sender sees success all the same. */
	wr.wr.ud.remote_qkey = QKEY + 1;
	assert_int_equal(ibv_post_send(from, &wr, &bad), 0);
	env_poll(env->cq, wc, 1);
	assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
	assert_int_equal(wc[0].wr_id, 5);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_qp(from), 0);
	assert_int_equal(ibv_destroy_qp(to), 0);
}

static void test_datagram_requests(void **state)
{
	struct env *env = *state;
	struct ibv_qp *qp = make_ud(env);
	struct ibv_ah *ah = make_ah(env);
	struct ibv_sge sge = {(uintptr_t)env->buf, 8, env->mr->lkey};
	struct ibv_send_wr wr = datagram(&sge, NULL, qp->qp_num, QKEY), *bad = NULL;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_ah_attr local = {.port_num = 1};

	assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL); /* to nobody */
	assert_ptr_equal(bad, &wr);
	wr.wr.ud.ah = ah;
	wr.opcode = IBV_WR_RDMA_WRITE; /* datagrams are messages only */
	assert_int_equal(ibv_post_send(qp, &wr, &bad), EINVAL);
	assert_null(ibv_create_ah(env->pd, &local)); /* RoCE has global addresses only */
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_QKEY, &init), 0);
	assert_int_equal(attr.qkey, QKEY);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(init.qp_type, IBV_QPT_UD);
	/* What an address handle says reaches the daemon. */
	assert_int_equal(env->fake->av.sgid_index, 1);
	assert_int_equal(env->fake->av.hop_limit, 7);
	assert_int_equal(env->fake->av.traffic_class, 0x68);
	assert_int_equal(env->fake->av.flow_label, 0x12345);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* Annex A17.4.5: the way back is read from the IP header, whose destination names our own GID. */
static void test_answer(void **state)
{
	struct env *env = *state;
	struct ibv_qp *qp = make_ud(env);
	struct ibv_ah *ah = make_ah(env), *back;
	struct ibv_sge sge = {(uintptr_t)env->buf + 64, 8, env->mr->lkey};
	struct ibv_send_wr wr = datagram(&sge, ah, qp->qp_num, QKEY), *bad;
	struct ibv_grh *grh = (struct ibv_grh *)(void *)env->buf;
	struct ibv_ah_attr attr;
	struct ibv_wc wc[2];

	assert_int_equal(post_recv_bytes(env, qp, 9, 64), 0);
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	env_poll(env->cq, wc, 2);
	assert_int_equal(ibv_init_ah_from_wc(env->context, 1, &wc[0], grh, &attr), 0);
	assert_int_equal(attr.is_global, 1);
	assert_int_equal(attr.grh.sgid_index, 1); /* 10.0.0.1 */
	assert_int_equal(attr.grh.traffic_class, 0x20);
	assert_memory_equal(attr.grh.dgid.raw + 10, ((uint8_t[]){0xff, 0xff, 10, 0, 0, 9}), 6);
	back = ibv_create_ah_from_wc(env->pd, &wc[0], grh, 1);
	assert_non_null(back);
	wr.wr.ud.ah = back;
	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
	env_poll(env->cq, wc, 1);
	/* A completion without header has no way back, nor has a header that went to someone else. */
	wc[0].wc_flags = 0;
	assert_int_equal(ibv_init_ah_from_wc(env->context, 1, &wc[0], grh, &attr), -1);
	assert_int_equal(errno, EINVAL);
	wc[0].wc_flags = IBV_WC_GRH;
	env->buf[FAKE_GRH_BYTES - 1] = 77;
	assert_null(ibv_create_ah_from_wc(env->pd, &wc[0], grh, 1));
	assert_int_equal(errno, EADDRNOTAVAIL);
	memset(env->buf, 0, FAKE_GRH_BYTES);
	assert_int_equal(ibv_init_ah_from_wc(env->context, 1, &wc[0], grh, &attr), -1);
	assert_int_equal(ibv_destroy_ah(back), 0);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

/* An IPv6 header fills the whole space; its flow label and class go into the answer. */
static void test_answer_ipv6(void **state)
{
	struct env *env = *state;
	struct ibv_grh grh = {.version_tclass_flow = htobe32(6u << 28 | 0xa5u << 20 | 0x54321)};
	struct ibv_wc wc = {.wc_flags = IBV_WC_GRH};
	struct ibv_ah_attr attr;

	assert_int_equal(ibv_query_gid(env->context, 1, 0, &grh.dgid), 0);
	memset(grh.sgid.raw, 0x5a, sizeof(grh.sgid.raw));
	assert_int_equal(ibv_init_ah_from_wc(env->context, 1, &wc, &grh, &attr), 0);
	assert_int_equal(attr.grh.sgid_index, 0);
	assert_int_equal(attr.grh.flow_label, 0x54321);
	assert_int_equal(attr.grh.traffic_class, 0xa5);
	assert_memory_equal(attr.grh.dgid.raw, grh.sgid.raw, 16);
}

/* IB 9.8.2: a message nobody waits for is lost, and the sender is not told; no reads, no atomics. */
static void test_unreliable_connection(void **state)
{
	struct env *env = *state;
	struct ibv_qp *from = make_qp(env, IBV_QPT_UC, NULL), *to = make_qp(env, IBV_QPT_UC, NULL);
	char text[8] = "unsure..";
	struct ibv_sge sge = {(uintptr_t)text, 8, 0};
	struct ibv_send_wr wr = {.sg_list = &sge,
				   .num_sge = 1,
				   .opcode = IBV_WR_SEND,
				   .wr_id = 1,
				   .send_flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE},
			   *bad;
	struct ibv_wc wc[2];

	for (int s = IBV_QPS_INIT; s <= IBV_QPS_RTS; s++) {
		env_to_state(from, s, to->qp_num);
		env_to_state(to, s, from->qp_num);
	}
	assert_int_equal(ibv_post_send(from, &wr, &bad), 0);
	env_poll(env->cq, wc, 1);
	assert_int_equal(wc[0].wr_id, 1);
	assert_int_equal(wc[0].status, IBV_WC_SUCCESS);
	assert_int_equal(env_post_recv(env, to, 2, 0), 0);
	assert_int_equal(ibv_post_send(from, &wr, &bad), 0);
	env_poll(env->cq, wc, 2);
	assert_int_equal(wc[0].wr_id, 2);
	assert_memory_equal(env->buf, text, sizeof(text));
	wr.opcode = IBV_WR_RDMA_READ;
	wr.send_flags = 0;
	assert_int_equal(ibv_post_send(from, &wr, &bad), EINVAL);
	wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	assert_int_equal(ibv_post_send(from, &wr, &bad), EINVAL);
	assert_int_equal(ibv_destroy_qp(from), 0);
	assert_int_equal(ibv_destroy_qp(to), 0);
}

/* ---- shared receive queues ---- */

static struct ibv_srq *make_srq(struct env *env, uint32_t depth)
{
	struct ibv_srq_init_attr attr = {.srq_context = env, .attr = {.max_wr = depth, .max_sge = 1}};
	struct ibv_srq *srq = ibv_create_srq(env->pd, &attr);

	assert_non_null(srq);
	assert_ptr_equal(srq->srq_context, env);
	assert_true(attr.attr.max_wr >= depth);
	return srq;
}

static int post_srq(struct env *env, struct ibv_srq *srq, uint64_t wr_id, uint32_t offset)
{
	struct ibv_sge sge = {(uintptr_t)env->buf + offset, 8, env->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad;

	return ibv_post_srq_recv(srq, &wr, &bad);
}

static void send_word(struct ibv_qp *qp, uint64_t word)
{
	struct ibv_sge sge = {(uintptr_t)&word, 8, 0};
	struct ibv_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE},
			   *bad;

	assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
}

static void connect_qps(struct ibv_qp *a, struct ibv_qp *b)
{
	for (int s = IBV_QPS_INIT; s <= IBV_QPS_RTS; s++) {
		env_to_state(a, s, b->qp_num);
		env_to_state(b, s, a->qp_num);
	}
}

/* IB 10.2.9: requests of one queue serve messages of several queue pairs, in the order posted. */
static void test_srq(void **state)
{
	struct env *env = *state;
	struct ibv_srq *srq = make_srq(env, 4);
	struct ibv_qp *from[2], *to[2];
	struct ibv_recv_wr rwr = {0}, *bad;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_wc wc[2];

	for (int i = 0; i < 2; i++) {
		from[i] = make_qp(env, IBV_QPT_RC, NULL);
		to[i] = make_qp(env, IBV_QPT_RC, srq);
		assert_ptr_equal(to[i]->srq, srq);
		connect_qps(from[i], to[i]);
	}
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(post_srq(env, srq, i, 8 * i), 0);
	assert_int_equal(post_srq(env, srq, 4, 0), ENOMEM); /* full */
	for (uint32_t i = 0; i < 4; i++) {
		send_word(from[i % 2], 100 + i);
		env_poll(env->cq, wc, 1);
		assert_int_equal(wc[0].wr_id, i);
		assert_int_equal(wc[0].qp_num, to[i % 2]->qp_num);
		assert_int_equal(*(uint64_t *)(void *)(env->buf + 8 * i), 100 + i);
	}
	assert_int_equal(post_srq(env, srq, 5, 0), 0);
	assert_int_equal(ibv_post_recv(to[0], &rwr, &bad), EINVAL); /* it has no queue of its own */
	assert_ptr_equal(bad, &rwr);
	assert_int_equal(ibv_query_qp(to[0], &attr, 0, &init), 0);
	assert_ptr_equal(init.srq, srq);
	assert_int_equal(ibv_destroy_srq(srq), EBUSY);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ibv_destroy_qp(from[i]), 0);
		assert_int_equal(ibv_destroy_qp(to[i]), 0);
	}
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* IB 10.2.9.1, 11.6.3.1.3: a limit is armed, and raises one event when fewer requests are left. */
static void test_srq_limit(void **state)
{
	struct env *env = *state;
	struct ibv_srq *srq = make_srq(env, 8);
	struct ibv_qp *from = make_qp(env, IBV_QPT_RC, NULL), *to = make_qp(env, IBV_QPT_RC, srq);
	struct ibv_srq_attr attr = {.srq_limit = 2};
	struct ibv_async_event event;
	struct ibv_wc wc[3];

	connect_qps(from, to);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 0);
	assert_int_equal(attr.max_wr, 8);
	assert_int_equal(attr.max_sge, 1);
	attr.srq_limit = 2;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	attr.srq_limit = 0;
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 2);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(post_srq(env, srq, i, 0), 0);
	for (uint32_t i = 0; i < 3; i++)
		send_word(from, i);
	env_poll(env->cq, wc, 3);
	assert_int_equal(ibv_get_async_event(env->context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.element.srq, srq);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(attr.srq_limit, 0); /* spent */
	attr.srq_limit = 9;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), EINVAL);
	assert_int_equal(ibv_destroy_qp(from), 0);
	assert_int_equal(ibv_destroy_qp(to), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0); /* would wait without the acknowledgement */
}

static void test_srq_creation(void **state)
{
	struct env *env = *state;
	struct ibv_srq_init_attr bad = {.attr = {.max_wr = 4, .max_sge = FAKE_MAX_SGE + 1}};
	struct ibv_srq_init_attr_ex ex = {.attr = {.max_wr = 4, .max_sge = 1},
		.pd = env->pd,
		.comp_mask = IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TYPE,
		.srq_type = IBV_SRQT_BASIC};
	struct ibv_device_attr attr;
	struct ibv_srq *srq;
	uint32_t number;

	assert_null(ibv_create_srq(env->pd, &bad));
	assert_int_equal(errno, EINVAL);
	srq = ibv_create_srq_ex(env->context, &ex);
	assert_non_null(srq);
	assert_int_equal(ibv_get_srq_num(srq, &number), EINVAL); /* XRC's only */
	assert_int_equal(ibv_destroy_srq(srq), 0);
	ex.srq_type = IBV_SRQT_XRC;
	ex.comp_mask |= IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
	assert_null(ibv_create_srq_ex(env->context, &ex)); /* of no domain */
	assert_int_equal(errno, EINVAL);
	ex.srq_type = IBV_SRQT_TM;
	assert_null(ibv_create_srq_ex(env->context, &ex));
	assert_int_equal(errno, EOPNOTSUPP);
	assert_int_equal(ibv_query_device(env->context, &attr), 0);
	assert_int_equal(attr.max_srq_wr, 512);
	assert_int_equal(attr.max_srq_sge, FAKE_MAX_SGE);
	assert_true((attr.device_cap_flags & IBV_DEVICE_UD_AV_PORT_ENFORCE) != 0);
}

/* IB 11.2.11: datagram queue pairs join groups; both forms of a multicast address name one. */
static void test_multicast(void **state)
{
	struct env *env = *state;
	union ibv_gid ip6 = {.raw = {0xff, 0x0e, [15] = 1}}, ip4 = {.raw = {[10] = 0xff, 0xff, 239, 1, 2, 3}};
	union ibv_gid one = {.raw = {[10] = 0xff, 0xff, 10, 1, 2, 3}};
	struct ibv_qp *qp = make_ud(env);

	assert_int_equal(ibv_attach_mcast(qp, &ip6, 0), 0);
	assert_int_equal(ibv_attach_mcast(qp, &ip4, 0), 0);
	assert_int_equal(ibv_attach_mcast(qp, &one, 0), EINVAL);
	assert_int_equal(ibv_attach_mcast(env->a, &ip6, 0), EINVAL); /* a connection */
	assert_int_equal(ibv_destroy_qp(qp), EBUSY);                 /* o10-2.2.3 */
	assert_int_equal(ibv_detach_mcast(qp, &ip4, 0), 0);
	assert_int_equal(ibv_detach_mcast(qp, &ip6, 0), 0);
	assert_int_equal(ibv_detach_mcast(qp, &ip6, 0), EINVAL);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_datagram, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_datagram_requests, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_answer, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_answer_ipv6, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_unreliable_connection, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_srq, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_srq_limit, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_srq_creation, env_setup, env_teardown),
		cmocka_unit_test_setup_teardown(test_multicast, env_setup, env_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
