/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two ends exchange SEND, WRITE, READ and atomics of many sizes over several RC QPs at once and
 * check every byte, the bytes next to them, and that each work request completes once, in order.
 *
 * Both ends run the same phases in lockstep over a TCP side channel: a barrier separates posting
 * of receives, sending, and checking. Memory of one end:
 *
 *	per QP:  [ outgoing slots | incoming slots ]        plus one page of atomic counters
 *
 * Slot contents are a function of (phase, sender, QP, slot, offset), so neither end has to tell
 * the other what it sent. Incoming slots are filled with a guard value before each phase.
 */
#include <endian.h>
#include <errno.h>
#include <getopt.h>
#include <infiniband/verbs.h>
#include <inttypes.h>
#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define QPS_MAX	      8
#define SLOTS	      16	 /* messages in flight on a QP in one phase, at most */
#define GUARD_BYTES   64	 /* checked before and after each message */
#define GUARD	      0xa5
#define PAGE	      4096
#define ATOMICS	      64	 /* atomics of one QP in one phase */
#define READS_MAX     8		 /* outstanding READs and atomics */
#define ADD_COUNTER   QPS_MAX	 /* index of the counter all QPs add to */
#define SETTLE_US     20000	 /* a stray completion shows within this time */
#define QUIET_POLLS   200

enum op { OP_SEND, OP_SEND_IMM, OP_WRITE, OP_WRITE_IMM, OP_READ, OP_COUNT };

static const char *const op_names[] = {"SEND", "SEND_IMM", "WRITE", "WRITE_IMM", "READ"};

static const enum ibv_wr_opcode op_codes[] = {IBV_WR_SEND, IBV_WR_SEND_WITH_IMM,
	IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ};

static const size_t all_sizes[] = {1, 2, 3, 4, 7, 8, 63, 64, 65, 255, 256, 257, 1023, 1024, 1025,
	2048, 4095, 4096, 4097, 12345, 65535, 65536, 65537, 262144, 1048576, 1048579, 8388608};

/* What one end must know of the other; big endian on the wire. */
struct hello {
	uint8_t gid[16];
	uint32_t qpn[QPS_MAX], psn[QPS_MAX];
	uint32_t rkey, qps;
	uint64_t addr, max_bytes, seed;
};

struct options {
	const char *device, *host, *port;
	int gid_index, mtu_bytes, qps, rounds, timeout_s;
	size_t max_bytes;
	uint64_t seed;
	bool events, skip_atomics;
};

struct verify {
	struct options opt;
	int sock;
	bool server;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp[QPS_MAX];
	struct hello mine, peer;
	uint8_t *memory;
	size_t half_bytes, total_bytes; /* outgoing or incoming part of a QP; everything */
	size_t size, slots, stride;	/* of the running phase */
	uint32_t phase;
	uint64_t sent_next[QPS_MAX], recv_next[QPS_MAX]; /* wr_id that must complete next */
	uint64_t sent_posted[QPS_MAX], recv_posted[QPS_MAX];
	uint64_t messages, bytes;
	const char *stage;
};

static struct verify *running; /* for the alarm handler only */

__attribute__((noreturn, format(printf, 2, 3))) static void fail(
	const struct verify *v, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "rdma_verify: FAIL phase %" PRIu32 " (%s, %zu bytes): ", v->phase,
		v->stage ? v->stage : "setup", v->size);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

static void on_alarm(int sig)
{
	const struct verify *v = running;
	int i;

	(void)sig;
	/* not async-signal-safe, but the process ends here and the state is what one wants to see */
	fprintf(stderr, "rdma_verify: FAIL timeout in phase %" PRIu32 " (%s, %zu bytes)\n", v->phase,
		v->stage ? v->stage : "setup", v->size);
	for (i = 0; i < v->opt.qps; i++)
		fprintf(stderr, "  qp %d: sends %" PRIu64 " of %" PRIu64 ", receives %" PRIu64
				" of %" PRIu64 "\n", i, v->sent_next[i], v->sent_posted[i],
			v->recv_next[i], v->recv_posted[i]);
	_exit(3);
}

/* ------------------------------------------------------------------ side channel */

static void exchange(struct verify *v, const void *out, void *in, size_t len)
{
	size_t done = 0;
	ssize_t n;

	if (send(v->sock, out, len, MSG_NOSIGNAL) != (ssize_t)len)
		fail(v, "side channel: send: %s", strerror(errno));
	while (done < len) {
		n = recv(v->sock, (uint8_t *)in + done, len - done, 0);
		if (n <= 0)
			fail(v, "side channel: peer gone");
		done += (size_t)n;
	}
}

/* Wait for the other end; both must be at the same place. */
static void barrier(struct verify *v, uint32_t place)
{
	uint32_t out[2] = {htobe32(v->phase), htobe32(place)}, in[2];

	exchange(v, out, in, sizeof(out));
	if (memcmp(out, in, sizeof(out)) != 0)
		fail(v, "ends out of step: %" PRIu32 "/%" PRIu32 " and %" PRIu32 "/%" PRIu32,
			v->phase, place, be32toh(in[0]), be32toh(in[1]));
}

static int listen_once(const struct addrinfo *ai)
{
	int one = 1, fd, client = -1;

	fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) == 0 && listen(fd, 1) == 0)
		client = accept(fd, NULL, NULL);
	close(fd);
	return client;
}

static int connect_retry(const struct addrinfo *ai)
{
	int fd, i;

	for (i = 0; i < 100; i++) {
		fd = socket(ai->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, ai->ai_addr, ai->ai_addrlen) == 0)
			return fd;
		if (fd >= 0)
			close(fd);
		usleep(100000);
	}
	return -1;
}

static void open_side_channel(struct verify *v)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *ai;
	int rc;

	v->server = v->opt.host == NULL;
	if (v->server)
		hints.ai_family = AF_INET; /* a passive socket needs one family */
	rc = getaddrinfo(v->opt.host, v->opt.port, &hints, &ai);
	if (rc != 0)
		fail(v, "%s: %s", v->opt.host ? v->opt.host : "any", gai_strerror(rc));
	v->sock = v->server ? listen_once(ai) : connect_retry(ai);
	if (v->sock < 0)
		fail(v, "side channel: %s", strerror(errno));
	freeaddrinfo(ai);
}

/* ------------------------------------------------------------------ memory layout */

static uint64_t mix(uint64_t z)
{
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* Start of the sequence that fills a slot. */
static uint64_t slot_key(const struct verify *v, bool from_server, int qp, size_t slot)
{
	return mix(v->mine.seed ^ ((uint64_t)v->phase << 32) ^ ((uint64_t)from_server << 24) ^
		   ((uint64_t)qp << 16) ^ slot);
}

static uint8_t *outgoing(const struct verify *v, int qp)
{
	return v->memory + (size_t)qp * 2 * v->half_bytes;
}

static uint8_t *incoming(const struct verify *v, int qp)
{
	return outgoing(v, qp) + v->half_bytes;
}

static uint64_t *counters(const struct verify *v)
{
	return (uint64_t *)(void *)(v->memory + v->total_bytes - PAGE);
}

/* Message start within its half: behind the guard, at an address of any alignment. */
static size_t slot_offset(const struct verify *v, size_t slot)
{
	return slot * v->stride + GUARD_BYTES + (slot * 7 + v->phase) % 61;
}

static uint64_t remote_addr(const struct verify *v, const uint8_t *local)
{
	return v->peer.addr + (uint64_t)(local - v->memory);
}

static void fill(uint8_t *p, size_t len, uint64_t key)
{
	uint64_t word;
	size_t i, n;

	for (i = 0; i < len; i += n) {
		word = mix(key + i / 8);
		n = len - i < 8 ? len - i : 8;
		memcpy(p + i, &word, n);
	}
}

static void check_bytes(const struct verify *v, const uint8_t *p, uint64_t key, int qp, size_t slot)
{
	uint64_t word;
	size_t i, n;

	for (i = 0; i < v->size; i += n) {
		word = mix(key + i / 8);
		n = v->size - i < 8 ? v->size - i : 8;
		if (memcmp(p + i, &word, n) != 0)
			fail(v, "qp %d message %zu: wrong data at offset %zu", qp, slot, i);
	}
}

static void check_guard(const struct verify *v, const uint8_t *p, size_t len, int qp, size_t slot)
{
	size_t i;

	for (i = 0; i < len; i++)
		if (p[i] != GUARD)
			fail(v, "qp %d message %zu: byte outside the message changed", qp, slot);
}

static void check_incoming(struct verify *v)
{
	size_t slot, at, end;
	int qp;

	for (qp = 0; qp < v->opt.qps; qp++) {
		const uint8_t *base = incoming(v, qp);

		for (slot = 0; slot < v->slots; slot++) {
			at = slot_offset(v, slot);
			end = at + v->size;
			check_guard(v, base + slot * v->stride, at - slot * v->stride, qp, slot);
			check_bytes(v, base + at, slot_key(v, !v->server, qp, slot), qp, slot);
			check_guard(v, base + end, (slot + 1) * v->stride - end, qp, slot);
		}
	}
}

/* Give the phase its geometry and both halves of every QP their starting contents. */
static void prepare(struct verify *v, size_t size)
{
	size_t slot;
	int qp;

	v->size = size;
	v->stride = size + 2 * GUARD_BYTES + 64;
	v->slots = v->half_bytes / v->stride;
	if (v->slots > SLOTS)
		v->slots = SLOTS;
	for (qp = 0; qp < v->opt.qps; qp++) {
		memset(incoming(v, qp), GUARD, v->slots * v->stride);
		for (slot = 0; slot < v->slots; slot++)
			fill(outgoing(v, qp) + slot_offset(v, slot), size,
				slot_key(v, v->server, qp, slot));
	}
}

/* ------------------------------------------------------------------ verbs set-up */

static void open_device(struct verify *v)
{
	struct ibv_device **list;
	int n = 0, i;

	list = ibv_get_device_list(&n);
	for (i = 0; i < n && v->context == NULL; i++)
		if (v->opt.device == NULL ||
			strcmp(v->opt.device, ibv_get_device_name(list[i])) == 0)
			v->context = ibv_open_device(list[i]);
	if (list != NULL)
		ibv_free_device_list(list);
	if (v->context == NULL)
		fail(v, "no RDMA device%s%s", v->opt.device ? " " : "",
			v->opt.device ? v->opt.device : "");
}

static void create_resources(struct verify *v)
{
	unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC;
	int depth = v->opt.qps * (2 * SLOTS + ATOMICS), i;

	v->half_bytes = (v->opt.max_bytes + 2 * PAGE - 1) / PAGE * PAGE;
	v->total_bytes = (size_t)v->opt.qps * 2 * v->half_bytes + PAGE;
	v->memory = aligned_alloc(PAGE, v->total_bytes);
	v->pd = ibv_alloc_pd(v->context);
	if (v->memory == NULL || v->pd == NULL)
		fail(v, "no memory or protection domain");
	memset(v->memory, 0, v->total_bytes);
	if (v->opt.events)
		v->channel = ibv_create_comp_channel(v->context);
	v->cq = ibv_create_cq(v->context, depth, NULL, v->channel, 0);
	v->mr = ibv_reg_mr(v->pd, v->memory, v->total_bytes, access);
	if (v->cq == NULL || v->mr == NULL || (v->opt.events && v->channel == NULL))
		fail(v, "cannot create CQ, channel or MR: %s", strerror(errno));
	for (i = 0; i < v->opt.qps; i++) {
		struct ibv_qp_init_attr attr = {.send_cq = v->cq,
			.recv_cq = v->cq,
			.cap = {.max_send_wr = ATOMICS,
				.max_recv_wr = SLOTS,
				.max_send_sge = 2,
				.max_recv_sge = 2},
			.qp_type = IBV_QPT_RC};

		v->qp[i] = ibv_create_qp(v->pd, &attr);
		if (v->qp[i] == NULL)
			fail(v, "ibv_create_qp: %s", strerror(errno));
	}
}

static void exchange_hello(struct verify *v)
{
	struct hello out = {0}, *peer = &v->peer;
	union ibv_gid gid;
	int i;

	if (ibv_query_gid(v->context, 1, v->opt.gid_index, &gid) != 0)
		fail(v, "no GID of index %d", v->opt.gid_index);
	memcpy(v->mine.gid, gid.raw, sizeof(gid.raw));
	v->mine.seed = v->opt.seed;
	memcpy(out.gid, gid.raw, sizeof(gid.raw));
	for (i = 0; i < v->opt.qps; i++) {
		v->mine.psn[i] = (uint32_t)mix((uint64_t)getpid() * 64 + (uint64_t)i) & 0xffffff;
		/* one QP begins just before the PSN wraps */
		if (i == 0)
			v->mine.psn[i] = 0xfffff0;
		out.qpn[i] = htobe32(v->qp[i]->qp_num);
		out.psn[i] = htobe32(v->mine.psn[i]);
	}
	out.rkey = htobe32(v->mr->rkey);
	out.qps = htobe32((uint32_t)v->opt.qps);
	out.addr = htobe64((uint64_t)(uintptr_t)v->memory);
	out.max_bytes = htobe64(v->opt.max_bytes);
	out.seed = htobe64(v->opt.seed);
	exchange(v, &out, peer, sizeof(out));
	if (be32toh(peer->qps) != (uint32_t)v->opt.qps || be64toh(peer->seed) != v->opt.seed ||
		be64toh(peer->max_bytes) != v->opt.max_bytes)
		fail(v, "both ends need the same --qps, --seed and --max-size");
	for (i = 0; i < v->opt.qps; i++) {
		peer->qpn[i] = be32toh(peer->qpn[i]);
		peer->psn[i] = be32toh(peer->psn[i]);
	}
	peer->rkey = be32toh(peer->rkey);
	peer->addr = be64toh(peer->addr);
}

static enum ibv_mtu mtu_code(int bytes)
{
	enum ibv_mtu code = IBV_MTU_256;

	while (code < IBV_MTU_4096 && (128 << code) < bytes)
		code++;
	return code;
}

static void to_init(struct verify *v, int i)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC};

	if (ibv_modify_qp(v->qp[i], &attr,
		    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS) != 0)
		fail(v, "qp %d to INIT: %s", i, strerror(errno));
}

static void to_rtr(struct verify *v, int i)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_code(v->opt.mtu_bytes),
		.dest_qp_num = v->peer.qpn[i],
		.rq_psn = v->peer.psn[i],
		.max_dest_rd_atomic = READS_MAX,
		.min_rnr_timer = 12,
		.ah_attr = {.is_global = 1, .port_num = 1}};

	memcpy(attr.ah_attr.grh.dgid.raw, v->peer.gid, 16);
	attr.ah_attr.grh.sgid_index = (uint8_t)v->opt.gid_index;
	attr.ah_attr.grh.hop_limit = 64;
	if (ibv_modify_qp(v->qp[i], &attr,
		    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
			    IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER) != 0)
		fail(v, "qp %d to RTR: %s", i, strerror(errno));
}

static void to_rts(struct verify *v, int i)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTS,
		.sq_psn = v->mine.psn[i],
		.timeout = 14, /* 4.096 us x 2^14 = 67 ms */
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = READS_MAX};

	if (ibv_modify_qp(v->qp[i], &attr,
		    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC) != 0)
		fail(v, "qp %d to RTS: %s", i, strerror(errno));
}

/* ------------------------------------------------------------------ posting and completing */

#define RECV_FLAG (UINT64_C(1) << 63)

static uint64_t make_wr_id(int qp, uint64_t sequence)
{
	return (uint64_t)qp << 48 | sequence;
}

static void post_recv(struct verify *v, int qp, size_t slot, bool empty)
{
	struct ibv_sge sge = {.addr = (uint64_t)(uintptr_t)(incoming(v, qp) + slot_offset(v, slot)),
		.length = (uint32_t)v->size,
		.lkey = v->mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = RECV_FLAG | make_wr_id(qp, v->recv_posted[qp]++),
		.sg_list = &sge,
		.num_sge = empty ? 0 : 1},
			   *bad;

	if (ibv_post_recv(v->qp[qp], &wr, &bad) != 0)
		fail(v, "ibv_post_recv: %s", strerror(errno));
}

static void post(struct verify *v, int qp, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int rc;

	wr->wr_id = make_wr_id(qp, v->sent_posted[qp]++);
	wr->send_flags |= IBV_SEND_SIGNALED;
	rc = ibv_post_send(v->qp[qp], wr, &bad);
	if (rc != 0)
		fail(v, "ibv_post_send on qp %d: %s", qp, strerror(rc));
	v->messages++;
	v->bytes += v->size;
}

/* SEND, WRITE or READ of one slot; the message is given in two pieces where it has any middle. */
static void post_message(struct verify *v, enum op op, int qp, size_t slot)
{
	uint8_t *out = outgoing(v, qp) + slot_offset(v, slot);
	uint8_t *in = incoming(v, qp) + slot_offset(v, slot);
	uint8_t *local = op == OP_READ ? in : out;
	uint32_t first = (uint32_t)(slot % 2 ? v->size / 3 : v->size);
	struct ibv_sge sge[2] = {{(uint64_t)(uintptr_t)local, first, v->mr->lkey},
		{(uint64_t)(uintptr_t)local + first, (uint32_t)v->size - first, v->mr->lkey}};
	struct ibv_send_wr wr = {.sg_list = sge,
		.num_sge = first == v->size ? 1 : 2,
		.opcode = op_codes[op],
		.imm_data = htobe32((uint32_t)slot << 16 | (v->phase & 0xffff)),
		.wr.rdma = {.remote_addr = remote_addr(v, op == OP_READ ? out : in),
			.rkey = v->peer.rkey}};

	if (first == 0) {
		sge[0] = sge[1];
		wr.num_sge = 1;
	}
	if (op == OP_SEND && slot % 3 == 0)
		wr.send_flags = IBV_SEND_SOLICITED;
	post(v, qp, &wr);
}

static void check_recv(struct verify *v, const struct ibv_wc *wc, int qp, enum op op)
{
	uint32_t slot = (uint32_t)(v->recv_next[qp] - (v->recv_posted[qp] - v->slots));
	bool imm = op == OP_SEND_IMM || op == OP_WRITE_IMM;

	if (wc->opcode != (op == OP_WRITE_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV))
		fail(v, "receive completion has opcode %d", (int)wc->opcode);
	if (wc->byte_len != v->size)
		fail(v, "receive completion tells %" PRIu32 " bytes", wc->byte_len);
	if (imm != !!(wc->wc_flags & IBV_WC_WITH_IMM))
		fail(v, "receive completion has flags 0x%x", wc->wc_flags);
	if (imm && be32toh(wc->imm_data) != (slot << 16 | (v->phase & 0xffff)))
		fail(v, "immediate 0x%x on message %" PRIu32, be32toh(wc->imm_data), slot);
}

static void check_completion(struct verify *v, const struct ibv_wc *wc, enum op op)
{
	bool recv = wc->wr_id & RECV_FLAG;
	int qp = (int)((wc->wr_id & ~RECV_FLAG) >> 48);
	uint64_t sequence = wc->wr_id & 0xffffffffffff, *next;

	if (wc->status != IBV_WC_SUCCESS)
		fail(v, "completion of qp %d %s %" PRIu64 ": %s (vendor 0x%x)", qp,
			recv ? "receive" : "send", sequence, ibv_wc_status_str(wc->status),
			wc->vendor_err);
	if (qp >= v->opt.qps || wc->qp_num != v->qp[qp]->qp_num)
		fail(v, "completion names QP 0x%x, wr_id 0x%" PRIx64, wc->qp_num, wc->wr_id);
	next = recv ? &v->recv_next[qp] : &v->sent_next[qp];
	if (sequence != *next)
		fail(v, "qp %d %s: completion %" PRIu64 " came, %" PRIu64 " was due", qp,
			recv ? "receive" : "send", sequence, *next);
	if (sequence >= (recv ? v->recv_posted[qp] : v->sent_posted[qp]))
		fail(v, "qp %d: completion of something never posted", qp);
	if (recv)
		check_recv(v, wc, qp, op);
	++*next;
}

static uint64_t due(const struct verify *v)
{
	uint64_t n = 0;
	int i;

	for (i = 0; i < v->opt.qps; i++)
		n += v->sent_posted[i] - v->sent_next[i] + v->recv_posted[i] - v->recv_next[i];
	return n;
}

static void wait_event(struct verify *v)
{
	struct ibv_cq *cq;
	void *cookie;

	if (ibv_get_cq_event(v->channel, &cq, &cookie) != 0)
		fail(v, "ibv_get_cq_event: %s", strerror(errno));
	if (cq != v->cq)
		fail(v, "event of an unknown CQ");
	ibv_ack_cq_events(cq, 1);
}

static int poll_cq(struct verify *v, enum op op)
{
	struct ibv_wc wc[16];
	int n, i;

	n = ibv_poll_cq(v->cq, 16, wc);
	if (n < 0)
		fail(v, "ibv_poll_cq failed");
	for (i = 0; i < n; i++)
		check_completion(v, &wc[i], op);
	return n;
}

/* Collect all that is due; the alarm bounds the wait. */
static void complete_all(struct verify *v, enum op op)
{
	int quiet = 0;

	while (due(v) != 0) {
		if (poll_cq(v, op) > 0) {
			quiet = 0;
			continue;
		}
		if (++quiet < QUIET_POLLS)
			continue;
		if (!v->opt.events) {
			usleep(50);
			continue;
		}
		if (ibv_req_notify_cq(v->cq, 0) != 0)
			fail(v, "ibv_req_notify_cq: %s", strerror(errno));
		if (poll_cq(v, op) == 0)
			wait_event(v);
	}
}

/* ------------------------------------------------------------------ phases */

static void message_phase(struct verify *v, enum op op, size_t size)
{
	size_t slot;
	int qp;

	v->phase++;
	v->stage = op_names[op];
	prepare(v, size);
	if (op == OP_SEND || op == OP_SEND_IMM || op == OP_WRITE_IMM)
		for (slot = 0; slot < v->slots; slot++)
			for (qp = 0; qp < v->opt.qps; qp++)
				post_recv(v, qp, slot, op == OP_WRITE_IMM);
	barrier(v, 0);
	for (slot = 0; slot < v->slots; slot++)
		for (qp = 0; qp < v->opt.qps; qp++)
			post_message(v, op, qp, slot);
	complete_all(v, op);
	barrier(v, 1);
	check_incoming(v);
	barrier(v, 2);
}

static int compare_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void post_atomic(struct verify *v, int qp, bool cas, size_t j)
{
	uint64_t *result = (uint64_t *)(void *)outgoing(v, qp) + j;
	const uint64_t *target = counters(v) + (cas ? qp : ADD_COUNTER);
	struct ibv_sge sge = {(uint64_t)(uintptr_t)result, 8, v->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
		.num_sge = 1,
		.opcode = cas ? IBV_WR_ATOMIC_CMP_AND_SWP : IBV_WR_ATOMIC_FETCH_AND_ADD,
		.wr.atomic = {.remote_addr = remote_addr(v, (const uint8_t *)target),
			.rkey = v->peer.rkey,
			.compare_add = cas ? j : 1,
			.swap = j + 1}};

	*result = UINT64_MAX;
	post(v, qp, &wr);
}

/* Every QP has swapped its own counter step by step: old values are 0, 1, 2, ... */
static void check_cas(struct verify *v)
{
	int qp, j;

	for (qp = 0; qp < v->opt.qps; qp++) {
		const uint64_t *old = (const uint64_t *)(const void *)outgoing(v, qp);

		for (j = 0; j < ATOMICS; j++)
			if (old[j] != (uint64_t)j)
				fail(v, "qp %d swap %d returned %" PRIu64, qp, j, old[j]);
		if (counters(v)[qp] != ATOMICS)
			fail(v, "qp %d counter is %" PRIu64, qp, counters(v)[qp]);
	}
}

/* All QPs have added to one counter: together the old values are 0 .. total - 1, each once. */
static void check_faa(struct verify *v)
{
	uint64_t seen[QPS_MAX * ATOMICS];
	size_t total = (size_t)v->opt.qps * ATOMICS, i;
	int qp;

	for (qp = 0; qp < v->opt.qps; qp++)
		memcpy(seen + qp * ATOMICS, outgoing(v, qp), ATOMICS * sizeof(*seen));
	qsort(seen, total, sizeof(*seen), compare_u64);
	for (i = 0; i < total; i++)
		if (seen[i] != i)
			fail(v, "add number %zu returned %" PRIu64, i, seen[i]);
	if (counters(v)[ADD_COUNTER] != total)
		fail(v, "counter is %" PRIu64 ", not %zu", counters(v)[ADD_COUNTER], total);
}

static void atomic_phase(struct verify *v, bool cas)
{
	size_t j;
	int qp;

	v->phase++;
	v->stage = cas ? "CAS" : "FAA";
	v->size = 8;
	memset(counters(v), 0, PAGE);
	barrier(v, 0);
	for (j = 0; j < ATOMICS; j++)
		for (qp = 0; qp < v->opt.qps; qp++)
			post_atomic(v, qp, cas, j);
	complete_all(v, OP_COUNT);
	barrier(v, 1);
	if (cas)
		check_cas(v);
	else
		check_faa(v);
	barrier(v, 2);
}

/* WRITEs, READs and atomics on the same QPs in one burst: completion order across kinds. */
static void mixed_phase(struct verify *v, size_t size)
{
	size_t slot;
	int qp;

	v->phase++;
	v->stage = "mixed";
	prepare(v, size);
	memset(counters(v), 0, PAGE);
	barrier(v, 0);
	for (slot = 0; slot < v->slots; slot++) {
		for (qp = 0; qp < v->opt.qps; qp++) {
			/* both fill the same place with the same bytes, so the order is free */
			post_message(v, (slot + (size_t)qp) % 2 ? OP_READ : OP_WRITE, qp, slot);
			post_message(v, (slot + (size_t)qp) % 2 ? OP_WRITE : OP_READ, qp, slot);
		}
	}
	complete_all(v, OP_COUNT);
	barrier(v, 1);
	check_incoming(v);
	barrier(v, 2);
}

static void run_all(struct verify *v)
{
	size_t i;
	int op, round;

	for (round = 0; round < v->opt.rounds; round++) {
		for (i = 0; i < sizeof(all_sizes) / sizeof(*all_sizes); i++) {
			if (all_sizes[i] > v->opt.max_bytes)
				break;
			for (op = 0; op < OP_COUNT; op++)
				message_phase(v, (enum op)op, all_sizes[i]);
		}
		mixed_phase(v, 100);
		mixed_phase(v, 3000);
		if (v->opt.skip_atomics)
			continue;
		atomic_phase(v, true);
		atomic_phase(v, false);
	}
	v->stage = "end";
	usleep(SETTLE_US);
	if (poll_cq(v, OP_COUNT) != 0)
		fail(v, "completions left over");
	barrier(v, 3);
}

static void tear_down(struct verify *v)
{
	int i, rc = 0;

	for (i = 0; i < v->opt.qps; i++)
		rc |= ibv_destroy_qp(v->qp[i]);
	rc |= ibv_destroy_cq(v->cq);
	if (v->channel != NULL)
		rc |= ibv_destroy_comp_channel(v->channel);
	rc |= ibv_dereg_mr(v->mr);
	rc |= ibv_dealloc_pd(v->pd);
	rc |= ibv_close_device(v->context);
	free(v->memory);
	close(v->sock);
	if (rc != 0)
		fail(v, "tear-down failed");
}

static void usage(FILE *out)
{
	fputs("usage: rdma_verify [options] [HOST]      (server without HOST)\n"
	      "Exchange RC messages with a second rdma_verify and check every byte and completion.\n"
	      "  -d, --device NAME    RDMA device (default: first)\n"
	      "  -x, --gid N          GID index (default 0)\n"
	      "  -m, --mtu BYTES      path MTU 256..4096 (default 1024)\n"
	      "  -q, --qps N          queue pairs, 1..8 (default 8)\n"
	      "  -s, --max-size N     largest message in bytes (default 8388608)\n"
	      "  -n, --rounds N       times through all sizes and operations (default 1)\n"
	      "  -p, --port N         TCP port of the side channel (default 18900)\n"
	      "  -e, --events         sleep on a completion channel\n"
	      "  -t, --timeout N      give up after N seconds (default 120)\n"
	      "      --seed N         contents of the messages; same on both ends\n"
	      "      --no-atomics     leave out compare-and-swap and fetch-and-add\n",
		out);
}

static void parse(struct options *o, int argc, char **argv)
{
	static const struct option options[] = {{"device", 1, NULL, 'd'}, {"gid", 1, NULL, 'x'},
		{"mtu", 1, NULL, 'm'}, {"qps", 1, NULL, 'q'}, {"max-size", 1, NULL, 's'},
		{"rounds", 1, NULL, 'n'}, {"port", 1, NULL, 'p'}, {"events", 0, NULL, 'e'},
		{"timeout", 1, NULL, 't'}, {"seed", 1, NULL, 'S'}, {"no-atomics", 0, NULL, 'A'},
		{"help", 0, NULL, 'h'}, {0}};
	int opt;

	while ((opt = getopt_long(argc, argv, "d:x:m:q:s:n:p:et:h", options, NULL)) != -1) {
		switch (opt) {
		case 'd': o->device = optarg; break;
		case 'x': o->gid_index = atoi(optarg); break;
		case 'm': o->mtu_bytes = atoi(optarg); break;
		case 'q': o->qps = atoi(optarg); break;
		case 's': o->max_bytes = strtoul(optarg, NULL, 0); break;
		case 'n': o->rounds = atoi(optarg); break;
		case 'p': o->port = optarg; break;
		case 'e': o->events = true; break;
		case 't': o->timeout_s = atoi(optarg); break;
		case 'S': o->seed = strtoull(optarg, NULL, 0); break;
		case 'A': o->skip_atomics = true; break;
		default:
			usage(opt == 'h' ? stdout : stderr);
			exit(opt == 'h' ? 0 : 2);
		}
	}
	if (optind < argc)
		o->host = argv[optind];
	if (o->qps < 1 || o->qps > QPS_MAX || o->max_bytes < 1 || o->max_bytes > 8388608 ||
		o->rounds < 1 || o->timeout_s < 1) {
		usage(stderr);
		exit(2);
	}
}

int main(int argc, char **argv)
{
	static struct verify v = {.opt = {.port = "18900",
					  .mtu_bytes = 1024,
					  .qps = QPS_MAX,
					  .rounds = 1,
					  .timeout_s = 120,
					  .max_bytes = 8388608,
					  .seed = 1}};
	int i;

	parse(&v.opt, argc, argv);
	running = &v;
	signal(SIGALRM, on_alarm);
	alarm((unsigned int)v.opt.timeout_s);
	open_device(&v);
	create_resources(&v);
	open_side_channel(&v);
	exchange_hello(&v);
	for (i = 0; i < v.opt.qps; i++) {
		to_init(&v, i);
		to_rtr(&v, i);
		to_rts(&v, i);
	}
	barrier(&v, 0);
	run_all(&v);
	printf("rdma_verify: OK %" PRIu64 " messages, %" PRIu64 " bytes on %d QPs verified\n",
		v.messages, v.bytes, v.opt.qps);
	tear_down(&v);
	return 0;
}
