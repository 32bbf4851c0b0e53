/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One requester, one responder, one RC queue pair, some messages: the traffic of a conformance scenario. Says how the
 * first work request that failed did so, how many completed, and whether the bytes of those are right at the other
 * end. What a scenario expects is no business of this program: it ends with 0 whenever it could tell.
 *
 * Memory of each end: [ in, a slot a message | out, a slot a message | counter ]. SENDs and WRITEs go from the
 * requester's out to the responder's in, READs from the responder's out to the requester's in, atomics to the
 * responder's counter and back to in.
 */
#include <endian.h>
#include <getopt.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

#define MESSAGES_MAX 64
#define OPS_MAX      8
#define GUARD        0xa5
#define READS        8

enum op { SEND, SEND_IMM, WRITE, WRITE_IMM, READ, CAS, FAA, N_OPS };

static const struct {
	const char *name;
	enum ibv_wr_opcode code;
	bool takes_receive, has_payload;
} ops[N_OPS] = {
	[SEND] = {"send", IBV_WR_SEND, true, true},
	[SEND_IMM] = {"send_imm", IBV_WR_SEND_WITH_IMM, true, true},
	[WRITE] = {"write", IBV_WR_RDMA_WRITE, false, true},
	[WRITE_IMM] = {"write_imm", IBV_WR_RDMA_WRITE_WITH_IMM, true, true},
	[READ] = {"read", IBV_WR_RDMA_READ, false, false},
	[CAS] = {"cas", IBV_WR_ATOMIC_CMP_AND_SWP, false, false},
	[FAA] = {"faa", IBV_WR_ATOMIC_FETCH_AND_ADD, false, false},
};

/* Options of a number each. */
enum {
	GID, MTU, SIZE, COUNT, TIMEOUT, RETRY, RNR_RETRY, RNR_TIMER, RECV_DELAY, RECVS, PSN, TCLASS, GAP, SETTLE, PORT, LIMIT,
	BAD_RKEY, N_NUMBERS,
};

static const struct {
	const char *name, *help;
	uint32_t dflt, max;
} numbers[N_NUMBERS] = {
	[GID] = {"gid", "GID index", 1, 255},
	[MTU] = {"mtu", "path MTU in bytes", 1024, 4096},
	[SIZE] = {"size", "bytes of a message", 4096, 1 << 20},
	[COUNT] = {"count", "messages, all posted at once", 4, MESSAGES_MAX},
	[TIMEOUT] = {"timeout", "ACK timeout, 4.096 us x 2^N", 14, 31},
	[RETRY] = {"retry", "retry_cnt", 7, 7},
	[RNR_RETRY] = {"rnr-retry", "rnr_retry", 7, 7},
	[RNR_TIMER] = {"rnr-timer", "min_rnr_timer of the responder", 12, 31},
	[RECV_DELAY] = {"recv-delay", "ms until the responder posts receives", 0, 60000},
	[RECVS] = {"recvs", "receives that it posts at most", MESSAGES_MAX, MESSAGES_MAX},
	[PSN] = {"psn", "first PSN of the requester", 100, 0xffffff},
	[TCLASS] = {"tclass", "traffic class", 0, 255},
	[GAP] = {"gap", "wait for each message, then so many ms before the next", 0, 10000},
	[SETTLE] = {"settle", "ms from the last completion to the look at the bytes", 20, 10000},
	[PORT] = {"port", "TCP port of the side channel", 18900, 65535},
	[LIMIT] = {"limit", "give up after so many seconds", 30, 600},
	[BAD_RKEY] = {"bad-rkey", "1: a wrong R_Key", 0, 1},
};

/* What one end must know of the other; big endian on the wire. */
struct hello {
	uint8_t gid[16];
	uint32_t qpn, psn, rkey;
	uint64_t addr;
};

/* What the requester tells when it is done, and what the responder answers. */
struct result {
	uint32_t status, completed, right, received;
};

struct end {
	const char *device, *host;
	uint32_t n[N_NUMBERS];
	enum op list[OPS_MAX];
	uint32_t n_ops;
	int sock;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	uint8_t *memory;
	size_t bytes;
	struct hello peer;
};

static enum op op_of(const struct end *e, uint32_t message)
{
	return e->list[message % e->n_ops];
}

static uint8_t *in_slot(const struct end *e, uint32_t message)
{
	return e->memory + (size_t)message * e->n[SIZE];
}

static uint8_t *out_slot(const struct end *e, uint32_t message)
{
	return in_slot(e, e->n[COUNT] + message);
}

static uint64_t *counter(const struct end *e)
{
	return (uint64_t *)(void *)(e->memory + e->bytes - 64);
}

static uint64_t at_peer(const struct end *e, const uint8_t *here)
{
	return e->peer.addr + (uint64_t)(here - e->memory);
}

static uint8_t byte_of(uint32_t message, uint32_t at)
{
	return (uint8_t)(message * 37 + at * 7 + at / 251);
}

static void sleep_ms(uint32_t ms)
{
	struct timespec ts = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	nanosleep(&ts, NULL);
}

/* ---- side channel ---- */

static void tell(const struct end *e, const void *what, size_t n)
{
	MUST(send(e->sock, what, n, MSG_NOSIGNAL) == (ssize_t)n);
}

static void hear(const struct end *e, void *what, size_t n)
{
	MUST(recv(e->sock, what, n, MSG_WAITALL) == (ssize_t)n);
}

static int listen_once(const struct addrinfo *ai)
{
	int one = 1, client, fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	MUST(fd >= 0);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	MUST(bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, 1) == 0);
	client = accept(fd, NULL, NULL);
	close(fd);
	return client;
}

static int dial(const struct addrinfo *ai)
{
	for (int i = 0; i < 100; i++) {
		int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd >= 0 && connect(fd, ai->ai_addr, ai->ai_addrlen) == 0)
			return fd;
		close(fd);
		sleep_ms(100);
	}
	return -1;
}

static void open_side_channel(struct end *e)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE, .ai_family = AF_INET}, *ai;
	char port[8];

	snprintf(port, sizeof(port), "%u", e->n[PORT]);
	MUST(getaddrinfo(e->host, port, &hints, &ai) == 0);
	e->sock = e->host == NULL ? listen_once(ai) : dial(ai);
	MUST(e->sock >= 0);
	freeaddrinfo(ai);
}

/* ---- the queue pair ---- */

static void make_qp(struct end *e)
{
	struct ibv_qp_init_attr attr = {.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = MESSAGES_MAX, .max_recv_wr = MESSAGES_MAX, .max_send_sge = 1, .max_recv_sge = 1}};
	unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		IBV_ACCESS_REMOTE_ATOMIC;

	e->context = must_open_device(e->device);
	e->bytes = ((size_t)e->n[COUNT] * e->n[SIZE] * 2 + 63) / 64 * 64 + 64;
	e->memory = aligned_alloc(4096, (e->bytes + 4095) / 4096 * 4096);
	MUST(e->memory != NULL);
	memset(e->memory, GUARD, e->bytes);
	*counter(e) = 0;
	for (uint32_t m = 0; m < e->n[COUNT]; m++) {
		for (uint32_t i = 0; i < e->n[SIZE]; i++)
			out_slot(e, m)[i] = byte_of(m, i);
	}
	MUST((e->pd = ibv_alloc_pd(e->context)) != NULL);
	MUST((e->cq = ibv_create_cq(e->context, 2 * MESSAGES_MAX, NULL, NULL, 0)) != NULL);
	MUST((e->mr = ibv_reg_mr(e->pd, e->memory, e->bytes, access)) != NULL);
	attr.send_cq = attr.recv_cq = e->cq;
	MUST((e->qp = ibv_create_qp(e->pd, &attr)) != NULL);
}

static void exchange_hello(struct end *e)
{
	struct hello mine = {.qpn = htobe32(e->qp->qp_num), .psn = htobe32(e->n[PSN]), .rkey = htobe32(e->mr->rkey),
		.addr = htobe64((uint64_t)(uintptr_t)e->memory)};
	union ibv_gid gid;

	MUST(ibv_query_gid(e->context, 1, (int)e->n[GID], &gid) == 0);
	memcpy(mine.gid, gid.raw, 16);
	tell(e, &mine, sizeof(mine));
	hear(e, &e->peer, sizeof(e->peer));
	e->peer.qpn = be32toh(e->peer.qpn);
	e->peer.psn = be32toh(e->peer.psn);
	e->peer.rkey = be32toh(e->peer.rkey);
	e->peer.addr = be64toh(e->peer.addr);
}

static void connect_qp(struct end *e)
{
	unsigned access = (unsigned)(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = access};
	struct ibv_qp_attr rtr = {.qp_state = IBV_QPS_RTR, .dest_qp_num = e->peer.qpn, .rq_psn = e->peer.psn,
		.max_dest_rd_atomic = READS, .min_rnr_timer = (uint8_t)e->n[RNR_TIMER],
		.ah_attr = {.is_global = 1, .port_num = 1}};
	struct ibv_qp_attr rts = {.qp_state = IBV_QPS_RTS, .sq_psn = e->n[PSN], .timeout = (uint8_t)e->n[TIMEOUT],
		.retry_cnt = (uint8_t)e->n[RETRY], .rnr_retry = (uint8_t)e->n[RNR_RETRY], .max_rd_atomic = READS};

	rtr.path_mtu = IBV_MTU_256;
	while (rtr.path_mtu < IBV_MTU_4096 && (128u << rtr.path_mtu) < e->n[MTU])
		rtr.path_mtu++;
	memcpy(rtr.ah_attr.grh.dgid.raw, e->peer.gid, 16);
	rtr.ah_attr.grh.sgid_index = (uint8_t)e->n[GID];
	rtr.ah_attr.grh.hop_limit = 64;
	rtr.ah_attr.grh.traffic_class = (uint8_t)e->n[TCLASS];
	MUST(ibv_modify_qp(e->qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) == 0);
	MUST(ibv_modify_qp(e->qp, &rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) == 0);
	MUST(ibv_modify_qp(e->qp, &rts, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		IBV_QP_MAX_QP_RD_ATOMIC) == 0);
}

/* ---- the requester ---- */

static void post(const struct end *e, uint32_t m, uint32_t n_atomics)
{
	enum op op = op_of(e, m);
	bool atomic = op == CAS || op == FAA;
	struct ibv_sge sge = {.addr = (uintptr_t)(ops[op].has_payload ? out_slot(e, m) : in_slot(e, m)),
		.length = atomic ? 8 : e->n[SIZE], .lkey = e->mr->lkey};
	struct ibv_send_wr wr = {.wr_id = m, .sg_list = &sge, .num_sge = 1, .opcode = ops[op].code,
		.send_flags = IBV_SEND_SIGNALED, .imm_data = htobe32(m)}, *bad;
	uint32_t rkey = e->peer.rkey ^ (e->n[BAD_RKEY] != 0 ? 0x5a5a00 : 0);

	if (atomic) {
		wr.wr.atomic.remote_addr = at_peer(e, (const uint8_t *)counter(e));
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = op == CAS ? n_atomics : 1;
		wr.wr.atomic.swap = (uint64_t)n_atomics + 1;
	} else {
		wr.wr.rdma.remote_addr = at_peer(e, op == READ ? out_slot(e, m) : in_slot(e, m));
		wr.wr.rdma.rkey = rkey;
	}
	MUST(ibv_post_send(e->qp, &wr, &bad) == 0);
}

/* Waits for the next completion, which has to be that of message m. */
static enum ibv_wc_status complete(const struct end *e, uint32_t m)
{
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(e->cq, 1, &wc)) == 0)
		sleep_ms(1);
	MUST(n == 1);
	MUST(wc.wr_id == m);
	return wc.status;
}

static struct result request_all(const struct end *e)
{
	struct result result = {.status = IBV_WC_SUCCESS};
	uint32_t n_atomics = 0, posted = 0;

	for (uint32_t m = 0; m < e->n[COUNT]; m++) {
		for (; posted < (e->n[GAP] != 0 ? m + 1 : e->n[COUNT]); posted++) {
			post(e, posted, n_atomics);
			n_atomics += op_of(e, posted) == CAS || op_of(e, posted) == FAA;
		}
		result.status = complete(e, m);
		if (result.status != IBV_WC_SUCCESS)
			break;
		result.completed++;
		sleep_ms(e->n[GAP]);
	}
	return result;
}

static const char *status_name(uint32_t status)
{
	static const char *const names[] = {
		[IBV_WC_SUCCESS] = "SUCCESS",
		[IBV_WC_LOC_LEN_ERR] = "LOC_LEN_ERR",
		[IBV_WC_LOC_QP_OP_ERR] = "LOC_QP_OP_ERR",
		[IBV_WC_LOC_PROT_ERR] = "LOC_PROT_ERR",
		[IBV_WC_WR_FLUSH_ERR] = "WR_FLUSH_ERR",
		[IBV_WC_BAD_RESP_ERR] = "BAD_RESP_ERR",
		[IBV_WC_REM_INV_REQ_ERR] = "REM_INV_REQ_ERR",
		[IBV_WC_REM_ACCESS_ERR] = "REM_ACCESS_ERR",
		[IBV_WC_REM_OP_ERR] = "REM_OP_ERR",
		[IBV_WC_RETRY_EXC_ERR] = "RETRY_EXC_ERR",
		[IBV_WC_RNR_RETRY_EXC_ERR] = "RNR_RETRY_EXC_ERR",
	};

	return status < sizeof(names) / sizeof(names[0]) && names[status] != NULL ? names[status] : "OTHER";
}

/* ---- what both look at ---- */

static bool slot_is_right(const struct end *e, uint32_t m)
{
	for (uint32_t i = 0; i < e->n[SIZE]; i++) {
		if (in_slot(e, m)[i] != byte_of(m, i)) {
			fprintf(stderr, "rc_case: message %u, byte %u is wrong\n", m, i);
			return false;
		}
	}
	return true;
}

static bool slot_is_guard(const struct end *e, uint32_t m)
{
	for (uint32_t i = 0; i < e->n[SIZE]; i++) {
		if (in_slot(e, m)[i] != GUARD)
			return false;
	}
	return true;
}

/* Of the messages that completed at the requester: READs and what atomics returned, there. */
static bool returned_right(const struct end *e, uint32_t completed)
{
	uint64_t n_atomics = 0, old;

	for (uint32_t m = 0; m < completed; m++) {
		enum op op = op_of(e, m);

		if (op == READ && !slot_is_right(e, m))
			return false;
		if (op != CAS && op != FAA)
			continue;
		memcpy(&old, in_slot(e, m), sizeof(old));
		if (old != n_atomics++) {
			fprintf(stderr, "rc_case: atomic %u returned %" PRIu64 "\n", m, old);
			return false;
		}
	}
	return true;
}

/* The others at the responder, and that nothing came of what was not allowed. */
static bool arrived_right(const struct end *e, uint32_t completed)
{
	uint64_t n_atomics = 0;

	for (uint32_t m = 0; m < e->n[COUNT]; m++) {
		enum op op = op_of(e, m);

		if (ops[op].has_payload && m < completed && !slot_is_right(e, m))
			return false;
		if (e->n[BAD_RKEY] != 0 && (op == WRITE || op == WRITE_IMM) && !slot_is_guard(e, m))
			return false;
		n_atomics += m < completed && (op == CAS || op == FAA);
	}
	/* each once, however often its request came */
	if (completed == e->n[COUNT] && *counter(e) != n_atomics) {
		fprintf(stderr, "rc_case: the counter is %" PRIu64 ", not %" PRIu64 "\n", *counter(e), n_atomics);
		return false;
	}
	return true;
}

static void request(struct end *e)
{
	struct result mine, theirs;
	struct timespec begin, end;
	char go;

	hear(e, &go, 1);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	mine = request_all(e);
	clock_gettime(CLOCK_MONOTONIC, &end);
	sleep_ms(e->n[SETTLE]);
	mine.right = returned_right(e, mine.completed);
	tell(e, &mine, sizeof(mine));
	hear(e, &theirs, sizeof(theirs));
	printf("status %s\ncompleted %u\nreceived %u\ndata %s\nms %ld\n", status_name(mine.status), mine.completed,
		theirs.received, mine.right && theirs.right ? "right" : "wrong",
		(end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000);
}

/* ---- the responder ---- */

static void post_receives(const struct end *e)
{
	uint32_t posted = 0;

	for (uint32_t m = 0; m < e->n[COUNT] && posted < e->n[RECVS]; m++) {
		struct ibv_sge sge = {.addr = (uintptr_t)in_slot(e, m), .length = e->n[SIZE], .lkey = e->mr->lkey};
		struct ibv_recv_wr wr = {.wr_id = m, .sg_list = &sge, .num_sge = op_of(e, m) != WRITE_IMM}, *bad;

		if (!ops[op_of(e, m)].takes_receive)
			continue;
		MUST(ibv_post_recv(e->qp, &wr, &bad) == 0);
		posted++;
	}
}

/* Receives that completed well: each once, in the order of the messages. */
static uint32_t poll_receives(const struct end *e, bool *in_order)
{
	uint32_t n = 0, last = 0;
	struct ibv_wc wc;

	while (ibv_poll_cq(e->cq, 1, &wc) == 1) {
		if (wc.status != IBV_WC_SUCCESS)
			continue;
		*in_order &= n == 0 || wc.wr_id > last;
		last = (uint32_t)wc.wr_id;
		n++;
	}
	return n;
}

static void respond(struct end *e)
{
	struct result theirs, mine = {0};
	bool in_order = true;
	char go = 1;

	if (e->n[RECV_DELAY] == 0)
		post_receives(e);
	tell(e, &go, 1);
	if (e->n[RECV_DELAY] != 0) {
		sleep_ms(e->n[RECV_DELAY]);
		post_receives(e);
	}
	hear(e, &theirs, sizeof(theirs));
	mine.received = poll_receives(e, &in_order);
	mine.right = arrived_right(e, theirs.completed) && in_order;
	tell(e, &mine, sizeof(mine));
}

/* ---- options ---- */

static void usage(void)
{
	fputs("usage: rc_case --device NAME [--op OP[,OP]...] [options] [HOST]      (responder without HOST)\n"
	      "  --op: send, send_imm, write, write_imm, read, cas, faa; several take turns\n", stderr);
	for (int i = 0; i < N_NUMBERS; i++)
		fprintf(stderr, "  --%s N: %s (default %u)\n", numbers[i].name, numbers[i].help, numbers[i].dflt);
	exit(2);
}

static void take_ops(struct end *e, char *text)
{
	char *save = NULL;

	e->n_ops = 0;
	for (char *word = strtok_r(text, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save)) {
		uint32_t op = 0;

		while (op < N_OPS && strcmp(word, ops[op].name) != 0)
			op++;
		if (op == N_OPS || e->n_ops == OPS_MAX)
			usage();
		e->list[e->n_ops++] = (enum op)op;
	}
	if (e->n_ops == 0)
		usage();
}

static void take_number(struct end *e, int i, const char *text)
{
	char *end;
	unsigned long value = strtoul(text, &end, 0);

	if (*text == '\0' || *end != '\0' || value > numbers[i].max)
		usage();
	e->n[i] = (uint32_t)value;
}

static void parse(struct end *e, int argc, char **argv)
{
	struct option options[N_NUMBERS + 3] = {{"device", 1, NULL, 1000}, {"op", 1, NULL, 1001}};
	int c;

	for (int i = 0; i < N_NUMBERS; i++) {
		options[i + 2] = (struct option){numbers[i].name, 1, NULL, i};
		e->n[i] = numbers[i].dflt;
	}
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 1000)
			e->device = optarg;
		else if (c == 1001)
			take_ops(e, optarg);
		else if (c < N_NUMBERS)
			take_number(e, c, optarg);
		else
			usage();
	}
	if (optind < argc)
		e->host = argv[optind];
	if (e->device == NULL || e->n[SIZE] < 8 || e->n[COUNT] == 0)
		usage();
}

int main(int argc, char **argv)
{
	struct end e = {.list = {SEND}, .n_ops = 1};

	parse(&e, argc, argv);
	alarm(e.n[LIMIT]);
	make_qp(&e);
	open_side_channel(&e);
	exchange_hello(&e);
	connect_qp(&e);
	if (e.host != NULL)
		request(&e);
	else
		respond(&e);
	close(e.sock);
	MUST(ibv_destroy_qp(e.qp) == 0 && ibv_dereg_mr(e.mr) == 0 && ibv_destroy_cq(e.cq) == 0);
	MUST(ibv_dealloc_pd(e.pd) == 0 && ibv_close_device(e.context) == 0);
	free(e.memory);
	return 0;
}
