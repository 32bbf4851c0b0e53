/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Soft-RoCE sends to a group reaches the queue pairs that are attached to it (IBTA vol. 1, 10.5.2; annex A17 for
 * the GRH of IPv4). Usage: test_vd_mcast_captures FILE... Each holds datagrams of one queue pair to one group.
 */
#include <stdlib.h>

#include <pcap/pcap.h>

#include "world.h"

#define GROUP_QPN  0xffffffu
#define GRH_BYTES  40
#define BUF_BYTES  8192
#define FRAMES_MAX 16

struct capture {
	uint8_t frame[FRAMES_MAX][BUF_BYTES];
	size_t frame_bytes[FRAMES_MAX];
	struct wire_pkt pkt[FRAMES_MAX];
	uint32_t n;
};

static char **files;

static void load(struct capture *c, const char *file)
{
	char error[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = pcap_open_offline(file, error);
	struct pcap_pkthdr *hdr;
	const uint8_t *frame;

	c->n = 0;
	if (pcap == NULL)
		fail_msg("%s: %s", file, error);
	while (pcap_next_ex(pcap, &hdr, &frame) == 1) {
		assert_true(c->n < FRAMES_MAX && hdr->caplen <= BUF_BYTES);
		memcpy(c->frame[c->n], frame, hdr->caplen);
		c->frame_bytes[c->n] = hdr->caplen;
		assert_int_equal(wire_parse(frame, hdr->caplen, &c->pkt[c->n]), BASE_DROP_NONE);
		assert_int_equal(c->pkt[c->n++].dqpn, GROUP_QPN);
	}
	pcap_close(pcap);
	assert_int_not_equal(c->n, 0);
}

static int attach(struct wx_qp *qp, enum vc_op op, const struct wire_addr *group)
{
	struct vc_request request = {.op = op, .mcast = {.qp = qp->handle}};

	memcpy(request.mcast.gid, group->b, sizeof(group->b));
	return wx_call(qp->c, &request, NULL);
}

static void bring_up(struct wx_qp *qp, uint32_t qkey)
{
	struct vc_qp_attr attr;

	for (enum ibv_qp_state state = IBV_QPS_INIT; state <= IBV_QPS_RTS; state++) {
		wx_attr_of(qp, &attr, state, 0);
		attr.qkey = qkey;
		assert_int_equal(wx_modify(qp, &attr), 0);
	}
}

static void check_copy(const struct capture *c, uint32_t i, struct wx_cq *cq, const uint8_t *buf)
{
	const struct wire_pkt *pkt = &c->pkt[i];
	const uint8_t *l3 = c->frame[i] + pkt->l3_off;
	const struct tp_cqe *cqe = wx_poll(cq);

	assert_non_null(cqe);
	assert_int_equal(cqe->status, TP_WC_SUCCESS);
	assert_int_equal(cqe->wr_id, i);
	assert_int_equal(cqe->bytes, GRH_BYTES + pkt->payload_bytes);
	assert_int_equal(cqe->src_qpn, pkt->sqpn);
	assert_true((cqe->flags & TP_WC_GRH) != 0);
	if ((pkt->hdrs & WIRE_HDR_IMMDT) != 0)
		assert_int_equal(cqe->imm, pkt->imm);
	/* An IPv4 header is the second half of the space for a GRH. */
	if (pkt->l3_version == 4)
		assert_memory_equal(buf + 20, l3, 20);
	else
		assert_memory_equal(buf, l3, GRH_BYTES);
	assert_memory_equal(buf + GRH_BYTES, c->frame[i] + pkt->payload_off, pkt->payload_bytes);
}

static void replay(const struct capture *c)
{
	static uint8_t buf[FRAMES_MAX][BUF_BYTES];
	struct wx_world *w = wx_new(NULL);
	struct wx_client client;
	struct wx_cq cq;
	struct wx_qp qp;
	struct wire_addr group;
	uint32_t pd, key;

	wire_dst(c->frame[0], &c->pkt[0], &group);
	wx_connect(w, &client);
	wx_hello(&client);
	pd = wx_pd(&client);
	key = wx_mr(&client, pd, buf, sizeof(buf), NULL);
	wx_make_cq(&client, FRAMES_MAX, 0, 0, &cq);
	wx_make_qp_of(&client, pd, &cq, IBV_QPT_UD, &qp);
	bring_up(&qp, c->pkt[0].qkey);
	assert_int_equal(attach(&qp, VC_ATTACH_MCAST, &group), 0);
	for (uint32_t i = 0; i < c->n; i++) {
		struct tp_sge sge = {(uintptr_t)buf[i], BUF_BYTES, key};

		wx_post_recv(&qp, i, 1, &sge);
		wx_inject_frame(w, c->frame[i], c->frame_bytes[i]);
	}
	wx_pump(w);
	for (uint32_t i = 0; i < c->n; i++)
		check_copy(c, i, &cq, buf[i]);
	assert_null(wx_poll(&cq));
	/* Nothing comes after leaving. */
	assert_int_equal(attach(&qp, VC_DETACH_MCAST, &group), 0);
	wx_post_recv(&qp, c->n, 1, &(struct tp_sge){(uintptr_t)buf[0], BUF_BYTES, key});
	wx_inject_frame(w, c->frame[0], c->frame_bytes[0]);
	wx_pump(w);
	assert_null(wx_poll(&cq));
	wx_close(&client);
	wx_expect_empty(w);
	wx_free(w);
}

static void members_take_linux_datagrams(void **state)
{
	static struct capture capture;

	(void)state;
	for (char **file = files; *file != NULL; file++) {
		print_message("%s\n", *file);
		load(&capture, *file);
		replay(&capture);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(members_take_linux_datagrams)};

	if (argc < 2)
		return 2;
	files = argv + 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
