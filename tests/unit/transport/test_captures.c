/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Real datagrams and unreliable connections of Soft-RoCE, in both roles: a queue pair of the number that they
 * were sent to takes the frames, and one that is given the same work has to send the same packets. Usage:
 * test_tp_captures FILE... Each holds messages to one queue pair; packets to others are left out.
 */
#include <pcap/pcap.h>

#include "harness.h"

#define MAX_FRAMES 32
#define MAX_BYTES  2048
#define SLOT       8192u              /* of the receive of message i, from i * SLOT on */
#define SRC_OFF    (HX_MEM_BYTES / 2) /* message i lies at SRC_OFF + i * SLOT */
#define GRH        40

struct message {
	enum tp_wr_opcode opcode;
	uint32_t bytes, imm;
	uint64_t va;
	uint32_t first;               /* frame that starts it */
	uint8_t data[SLOT];
};

struct capture {
	uint8_t frame[MAX_FRAMES][MAX_BYTES];
	size_t frame_bytes[MAX_FRAMES];
	struct wire_pkt pkt[MAX_FRAMES];
	uint32_t n_frames, n_messages;
	struct message message[MAX_FRAMES];
	struct wire_addr addrs[2];
	enum tp_qp_type type;
};

static char **files;
static const char *running;

/* ---- the file ---- */

static void take_frame(struct capture *c, const uint8_t *frame, size_t n)
{
	struct wire_pkt *pkt = &c->pkt[c->n_frames];

	assert_int_equal(wire_parse(frame, n, pkt), BASE_DROP_NONE);
	if (c->n_frames != 0 && pkt->dqpn != c->pkt[0].dqpn)
		return;
	assert_true(c->n_frames + 1 < MAX_FRAMES && pkt->frame_bytes <= MAX_BYTES);
	memcpy(c->frame[c->n_frames], frame, pkt->frame_bytes);
	c->frame_bytes[c->n_frames++] = pkt->frame_bytes;
}

static void collect_message(struct capture *c, uint32_t i)
{
	const struct wire_pkt *pkt = &c->pkt[i];
	const struct wire_opinfo *info = wire_opinfo(pkt->opcode);
	struct message *msg = &c->message[c->n_messages];
	bool imm = (pkt->hdrs & WIRE_HDR_IMMDT) != 0;

	if (wire_op_is(info, WIRE_OP_START)) {
		msg->first = i;
		msg->va = pkt->va;
	}
	assert_true(msg->bytes + pkt->payload_bytes <= SLOT - GRH);
	memcpy(msg->data + msg->bytes, c->frame[i] + pkt->payload_off, pkt->payload_bytes);
	msg->bytes += pkt->payload_bytes;
	if (!wire_op_is(info, WIRE_OP_END))
		return;
	msg->imm = pkt->imm;
	if (wire_op_is(info, WIRE_OP_WRITE))
		msg->opcode = imm ? TP_WR_WRITE_IMM : TP_WR_WRITE;
	else
		msg->opcode = imm ? TP_WR_SEND_IMM : TP_WR_SEND;
	c->n_messages++;
}

static void load(struct capture *c, const char *file)
{
	char error[PCAP_ERRBUF_SIZE];
	pcap_t *pcap = pcap_open_offline(file, error);
	struct pcap_pkthdr *hdr;
	const uint8_t *frame;

	memset(c, 0, sizeof(*c));
	if (pcap == NULL)
		fail_msg("%s: %s", file, error);
	while (pcap_next_ex(pcap, &hdr, &frame) == 1)
		take_frame(c, frame, hdr->caplen);
	pcap_close(pcap);
	assert_int_not_equal(c->n_frames, 0);
	for (uint32_t i = 0; i < c->n_frames; i++)
		collect_message(c, i);
	wire_src(c->frame[0], &c->pkt[0], &c->addrs[0]);
	wire_dst(c->frame[0], &c->pkt[0], &c->addrs[1]);
	c->type = wire_opinfo(c->pkt[0].opcode)->service == WIRE_SERVICE_UC ? TP_QPT_UC : TP_QPT_UD;
}

/* ---- the queue pairs ---- */

static struct hx_world *new_world(const struct capture *c)
{
	struct hx_options o = {
		.type = c->type,
		.mtu = 1024,
		.psn = c->pkt[0].psn,
		.l3_version = c->pkt[0].l3_version,
		.qpn = {c->type == TP_QPT_UD ? c->pkt[0].sqpn : 5, c->pkt[0].dqpn},
		.addrs = c->addrs,
	};
	struct hx_world *w = hx_new(&o);

	memset(w->side[1].mem, 0x5a, HX_MEM_BYTES);
	for (uint32_t i = 0; i < c->n_messages; i++) {
		struct hx_piece piece = {i * SLOT, SLOT};

		hx_recv(&w->side[1].qps[0], &piece, 1);
		memcpy(w->side[0].mem + SRC_OFF + i * SLOT, c->message[i].data, c->message[i].bytes);
	}
	return w;
}

/* A region of the responder for a WRITE to va: WRITEs go to the upper half. */
static uint32_t target(struct hx_world *w, uint64_t va)
{
	struct tp_mr_attr attr = {.pd = HX_PD, .access = TP_ACCESS_LOCAL_WRITE | TP_ACCESS_REMOTE_WRITE, .iova = va,
		.bytes = SLOT, .direct = w->side[1].mem + SRC_OFF};
	uint32_t key;

	assert_int_equal(tp_mr_create(w->side[1].tp, &attr, &key), 0);
	return key;
}

static void check_grh(const struct capture *c, const struct message *msg, const uint8_t *grh, bool as_captured)
{
	const uint8_t *ip = c->frame[msg->first] + c->pkt[msg->first].l3_off;
	uint8_t zeros[20] = {0};

	if (c->pkt[0].l3_version == 6) {
		assert_memory_equal(grh + 8, ip + 8, 32);
	} else {
		assert_memory_equal(grh, zeros, 20);
		assert_memory_equal(grh + 32, ip + 12, 8);
	}
	if (as_captured && c->pkt[0].l3_version == 6)
		assert_memory_equal(grh, ip, 40);
	else if (as_captured)
		assert_memory_equal(grh + 20, ip, 20);
}

static void check_message(const struct capture *c, struct hx_world *w, uint32_t i, uint32_t *recv, bool as_captured)
{
	const struct message *msg = &c->message[i];
	uint32_t grh = c->type == TP_QPT_UD ? GRH : 0;
	const uint8_t *at = w->side[1].mem + *recv * SLOT;
	const struct tp_cqe *cqe;

	if (msg->opcode == TP_WR_WRITE)
		return;
	cqe = hx_poll(&w->side[1].recv_cq);
	assert_int_equal(cqe->status, TP_WC_SUCCESS);
	assert_int_equal(cqe->wr_id, 0x4ecf0000u + *recv);
	assert_int_equal(cqe->bytes, grh + msg->bytes);
	assert_int_equal(cqe->flags, (grh != 0 ? TP_WC_GRH : 0) | (msg->opcode != TP_WR_SEND ? TP_WC_WITH_IMM : 0));
	if (msg->opcode != TP_WR_SEND)
		assert_int_equal(cqe->imm, msg->imm);
	if (grh != 0) {
		assert_int_equal(cqe->src_qpn, c->pkt[0].sqpn);
		check_grh(c, msg, at, as_captured);
	}
	if (msg->opcode == TP_WR_WRITE_IMM)
		at = w->side[1].mem + SRC_OFF;
	assert_memory_equal(at + grh, msg->data, msg->bytes);
	(*recv)++;
}

/* ---- as the receiver ---- */

/* The R_Key of a WRITE is the only thing that has to be changed. */
static void inject(const struct capture *c, struct hx_world *w, uint32_t i)
{
	struct wire_pkt pkt = c->pkt[i];
	struct wire_l2l3 net = {.src = c->addrs[0], .dst = c->addrs[1]};

	if ((pkt.hdrs & WIRE_HDR_RETH) == 0) {
		hx_inject_frame(w, 1, c->frame[i], c->frame_bytes[i]);
		return;
	}
	pkt.rkey = target(w, pkt.va);
	hx_inject_raw(w, 1, pkt, &net, c->frame[i] + pkt.payload_off, pkt.payload_bytes);
}

static void replay(const struct capture *c)
{
	struct hx_world *w = new_world(c);
	uint32_t recv = 0, done = 0;

	for (uint32_t i = 0; i < c->n_frames; i++) {
		inject(c, w, i);
		if (!wire_op_is(wire_opinfo(c->pkt[i].opcode), WIRE_OP_END))
			continue;
		if (c->type == TP_QPT_UD && c->pkt[i].qkey != HX_QKEY)
			assert_int_equal(tp_counters(w->side[1].tp)->drops[BASE_DROP_QKEY], done + 1);
		else
			check_message(c, w, done, &recv, true);
		done++;
	}
	assert_int_equal(done, c->n_messages);
	assert_int_equal(w->side[1].emitted, 0);
	hx_expect_none(w);
	hx_free(w);
}

/* ---- as the sender ---- */

#define SAME(field) assert_int_equal(ours->field, theirs->field)

static void check_packet(const struct wire_pkt *ours, const struct wire_pkt *theirs)
{
	SAME(opcode);
	SAME(hdrs);
	SAME(psn);
	SAME(dqpn);
	SAME(pad);
	SAME(payload_bytes);
	SAME(frame_bytes);
	SAME(pkey);
	SAME(solicited);
	SAME(migreq);
	SAME(ack_req);
	SAME(tver);
	SAME(fecn);
	SAME(becn);
	SAME(ip_frag);
	SAME(flow_label);
	SAME(udp_csum);
	SAME(qkey);
	SAME(sqpn);
	SAME(deth_resv);
	SAME(imm);
	SAME(va);
	SAME(dma_bytes);
}

static void post(const struct capture *c, struct hx_world *w, uint32_t i)
{
	const struct message *msg = &c->message[i];
	const struct wire_pkt *pkt = &c->pkt[msg->first];
	struct hx_piece piece = {SRC_OFF + i * SLOT, msg->bytes};
	struct tp_send_wqe wqe = {.opcode = (uint8_t)msg->opcode, .imm = msg->imm, .remote_addr = msg->va};

	if ((pkt->hdrs & WIRE_HDR_RETH) != 0)
		wqe.rkey = target(w, msg->va);
	if (c->type == TP_QPT_UD) {
		wqe.ud.ah = w->side[0].ah;
		wqe.ud.qpn = pkt->dqpn;
		wqe.ud.qkey = pkt->qkey;
	}
	hx_post(&w->side[0].qps[0], &wqe, &piece, 1);
}

static void send_alike(const struct capture *c)
{
	struct hx_world *w = new_world(c);
	uint32_t recv = 0;

	for (uint32_t i = 0; i < c->n_messages; i++) {
		post(c, w, i);
		hx_run(w, HX_MS);
		assert_int_equal(hx_poll(&w->side[0].send_cq)->status, TP_WC_SUCCESS);
		if (c->type != TP_QPT_UD || c->pkt[0].qkey == HX_QKEY)
			check_message(c, w, i, &recv, false);
	}
	assert_int_equal(w->n_log, c->n_frames);
	for (uint32_t i = 0; i < c->n_frames; i++)
		check_packet(&w->log[i].pkt, &c->pkt[i]);
	hx_free(w);
}

static void test_files(void **state)
{
	static struct capture capture;

	(void)state;
	for (char **file = files; *file != NULL; file++) {
		running = *file;
		load(&capture, *file);
		replay(&capture);
		send_alike(&capture);
	}
	running = NULL;
}

static int tell_file(void **state)
{
	(void)state;
	if (running != NULL)
		print_message("failed with %s\n", running);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_files, tell_file),
	};

	if (argc < 2)
		return 2;
	files = argv + 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
