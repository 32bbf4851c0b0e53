/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any clients of the daemon. The input is a row of steps of STEP_BYTES each: what is done, which of the hostile
 * sessions does it, and values. Fields are mostly picked from what the session has got, so that scripts get deep,
 * and any value can come anywhere. Beside them two honest sessions transfer (vd_honest.c); after the script
 * everything of the hostile ones must be gone: objects, shared memory, descriptors.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "vd_honest.h"

#define STEP_BYTES 16
#define MAX_STEPS  160
#define N_HOSTILE  3
#define N_KEPT     8 /* of each kind of object; older ones are forgotten, not released */
#define TURNS      3 /* after each step */
#define END_TURNS  400
/* What clients register lies in here: the first half is memory, the second half faults when it is touched. */
#define ARENA_BYTES 32768u
#define SHM_BYTES   (2u << 20)

enum action {
	DO_HELLO,
	DO_PD,
	DO_MR,
	DO_CHANNEL,
	DO_CQ,
	DO_QP,
	DO_UP,
	DO_MODIFY,
	DO_AH,
	DO_SRQ,
	DO_MW,
	DO_OBJECT, /* release, query: requests that only name an object */
	DO_RAW,
	DO_STORE,
	DO_SEND,
	DO_RECV,
	DO_INDEX,
	DO_BELL,
	DO_CQ_SIDE,
	DO_CM,
	DO_CM_CONN,
	DO_CM_READ,
	DO_CLOSE,
	DO_DISCONNECT,
	DO_TIME,
	DO_RESOLVE,
	DO_MOOD,
	DO_PASS_FD,
	DO_TRANSFER,
	DO_MCAST,
	DO_REREG,
	DO_XRC,
	DO_HOLE,
	DO_SHUFFLE,
	N_ACTIONS,
};

enum kind { PD, MR, MW, CQ, SRQ, QP, AH, CHANNEL, CM_CHANNEL, CM_ID, XRCD, N_KINDS };

struct object {
	uint32_t handle, number; /* key, queue pair number, number for work requests */
	int fd;
	uint32_t slot, depth[2], slot_bytes[2];
	uint64_t ring[2]; /* send or only, receive */
	enum ibv_qp_type type;
};

struct hostile {
	struct wx_client c;
	bool deaf; /* leaves answers where they are */
	struct object objects[N_KINDS][N_KEPT];
	uint32_t n[N_KINDS];
	enum ibv_qp_type type; /* of the queue pair asked for last */
};

struct step {
	uint8_t action, who, v[STEP_BYTES - 2];
};

struct stage {
	struct wx_world *w;
	struct fx_honest honest;
	struct hostile hostile[N_HOSTILE];
};

static uint8_t *arena;
static int arena_fd = -1; /* its first half */

static uint32_t v16(const struct step *s, int at)
{
	return (uint32_t)(s->v[at] | s->v[at + 1] << 8);
}

static uint32_t v32(const struct step *s, int at)
{
	return v16(s, at) | v16(s, at + 2) << 16;
}

static uint64_t v64(const struct step *s, int at)
{
	return v32(s, at) | (uint64_t)v32(s, at + 4) << 32;
}

/* ---- what sessions have ---- */

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static struct object *pick(struct hostile *h, enum kind kind, uint8_t choice)
{
	uint32_t n = h->n[kind] < N_KEPT ? h->n[kind] : N_KEPT;

	return n == 0 ? NULL : &h->objects[kind][choice % n];
}

/* Mostly one of the session's own; sometimes another's, none or nonsense. */
static uint32_t handle(struct stage *st, struct hostile *h, enum kind kind, uint8_t choice)
{
	struct object *object;

	if (choice >= 0xf8)
		return choice == 0xff ? UINT32_MAX : choice - 0xf8u;
	if (choice >= 0xe0)
		h = &st->hostile[choice % N_HOSTILE];
	object = pick(h, kind, choice);
	return object == NULL ? choice & 3u : object->handle;
}

/* Of memory: its own, a window, another session's, the victim's, that of those who are to be left alone. */
static uint32_t key(struct stage *st, struct hostile *h, uint8_t choice)
{
	struct object *object = pick(h, (choice & 0x40) != 0 ? MW : MR, choice & 0x1f);

	if (choice >= 0xfc)
		return st->honest.end[choice & 1].key;
	if (choice >= 0xf0)
		return st->honest.victim_key;
	if (choice >= 0xe0)
		object = pick(&st->hostile[choice % N_HOSTILE], MR, choice >> 2);
	return object == NULL ? choice : object->number;
}

static uint64_t address(struct stage *st, const struct step *s, int at)
{
	uint32_t offset = v16(s, at);

	if (offset >= 0xff00)
		return (uintptr_t)st->honest.victim_memory + (offset & 0xff);
	if (offset >= 0xfe00)
		return UINT64_MAX - (offset & 0xff);
	if (offset >= 0xfd00)
		return (uintptr_t)st->honest.end[offset & 1].memory + (offset & 0xfe);
	return (uintptr_t)arena + offset % ARENA_BYTES;
}

static struct object *keep(struct hostile *h, enum kind kind, uint32_t handle_, uint32_t number)
{
	struct object *object = &h->objects[kind][h->n[kind] % N_KEPT];

	if (h->n[kind]++ >= N_KEPT)
		close_fd(&object->fd);
	*object = (struct object){.handle = handle_, .number = number, .fd = -1};
	return object;
}

static struct object *find(struct hostile *h, enum kind kind, uint32_t handle_)
{
	for (uint32_t i = 0; i < h->n[kind] && i < N_KEPT; i++) {
		if (h->objects[kind][i].handle == handle_)
			return &h->objects[kind][i];
	}
	return NULL;
}

static void keep_queues(struct hostile *h, const struct vc_reply *reply)
{
	struct object *object;

	if (reply->op == VC_CREATE_QP || reply->op == VC_OPEN_QP) {
		object = keep(h, QP, reply->qp.handle, reply->qp.qpn);
		object->slot = reply->qp.slot;
		object->type = reply->op == VC_OPEN_QP ? IBV_QPT_XRC_RECV : h->type;
		object->ring[0] = reply->qp.sq_offset;
		object->depth[0] = reply->qp.sq_depth;
		object->slot_bytes[0] = reply->qp.sq_slot_bytes;
		object->ring[1] = reply->qp.rq_offset;
		object->depth[1] = reply->qp.rq_depth;
		object->slot_bytes[1] = reply->qp.rq_slot_bytes;
	} else if (reply->op == VC_CREATE_SRQ || reply->op == VC_MODIFY_SRQ) {
		object = find(h, SRQ, reply->srq.handle);
		if (object == NULL)
			object = keep(h, SRQ, reply->srq.handle, reply->srq.number);
		object->ring[1] = reply->srq.offset;
		object->depth[1] = reply->srq.depth;
		object->slot_bytes[1] = reply->srq.slot_bytes;
	} else {
		object = reply->op == VC_RESIZE_CQ ? find(h, CQ, reply->cq.handle) : NULL;
		if (object == NULL)
			object = keep(h, CQ, reply->cq.handle, 0);
		object->ring[0] = reply->cq.offset;
		object->depth[0] = reply->cq.depth;
		object->slot_bytes[0] = sizeof(struct tp_cqe);
	}
}

static void keep_context(struct hostile *h, const struct vc_reply *reply, int fds[3])
{
	h->c.shm_fd = fds[0];
	h->c.wake_fd = fds[1];
	h->c.async_fd = fds[2];
	h->c.shm_bytes = reply->hello.shm_bytes;
	h->c.shm = mmap(NULL, h->c.shm_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fds[0], 0);
	FUZZ_CHECK(h->c.shm != MAP_FAILED);
}

/* What an answer brings. */
static void learn(struct hostile *h, const struct vc_reply *reply, int fds[3])
{
	switch (reply->op) {
	case VC_HELLO_VERBS:
		keep_context(h, reply, fds);
		return;
	case VC_ALLOC_PD:
		keep(h, PD, reply->object.handle, 0);
		return;
	case VC_REG_MR:
		keep(h, MR, reply->mr.handle, reply->mr.key);
		return;
	case VC_ALLOC_MW:
		keep(h, MW, reply->mr.handle, reply->mr.key);
		return;
	case VC_CREATE_AH:
		keep(h, AH, reply->ah.handle, reply->ah.number);
		return;
	case VC_CREATE_COMP_CHANNEL:
		keep(h, CHANNEL, reply->object.handle, 0)->fd = fds[0];
		return;
	case VC_CM_CREATE_CHANNEL:
		keep(h, CM_CHANNEL, reply->cm.handle, 0)->fd = fds[0];
		return;
	case VC_CM_CREATE_ID:
		keep(h, CM_ID, reply->cm.handle, 0);
		return;
	case VC_OPEN_XRCD:
		keep(h, XRCD, reply->object.handle, 0);
		return;
	case VC_CREATE_QP:
	case VC_OPEN_QP:
	case VC_CREATE_SRQ:
	case VC_MODIFY_SRQ:
	case VC_CREATE_CQ:
	case VC_RESIZE_CQ:
		keep_queues(h, reply);
		return;
	default:
		FUZZ_CHECK(reply->n_fds == 0);
	}
}

static void read_answers(struct hostile *h)
{
	struct vc_reply reply;
	int fds[3] = {-1, -1, -1};

	while (!h->deaf && h->c.sock >= 0 && wx_recv(&h->c, &reply, fds)) {
		FUZZ_CHECK(reply.status <= 0 && reply.status > -4096);
		FUZZ_CHECK(reply.status == 0 || reply.n_fds == 0);
		if (reply.status == 0)
			learn(h, &reply, fds);
	}
}

/* ---- requests ---- */

/* What is no memory of the session's: the arena, things that cannot be mapped, and numbers of nothing. A memfd of an
 * honest session would be its own, as it lives in the same process. */
static uint32_t file_number(const struct stage *st, const struct hostile *h, uint32_t choice)
{
	const int fds[] = {arena_fd, arena_fd, h->c.sock, h->c.wake_fd, st->hostile[0].c.async_fd, -2, 1 << 30};

	return (uint32_t)fds[choice % (sizeof(fds) / sizeof(fds[0]))] + 1;
}

/*
 * Two things hostile sessions may not do, because they live in one process with the honest ones and at one address:
 * to register what is not theirs, and to pretend to be the peer of an honest queue pair.
 */
static void confine(struct stage *st, struct vc_request *request)
{
	bool change = request->op == VC_REREG_MR;
	uint64_t *addr = change ? &request->rereg_mr.addr : &request->reg_mr.addr;
	uint64_t *n = change ? &request->rereg_mr.bytes : &request->reg_mr.bytes;
	uint64_t at = *addr - (uintptr_t)arena;

	if (request->op == VC_MODIFY_QP && fx_is_honest_qpn(&st->honest, request->modify_qp.attr.dest_qpn & 0xffffff))
		request->modify_qp.attr.dest_qpn = st->honest.victim.qpn;
	if (request->op != VC_REG_MR && !change)
		return;
	if (!change && request->reg_mr.mem_fd != 0)
		request->reg_mr.mem_fd = file_number(st, &st->hostile[request->seq % N_HOSTILE], request->reg_mr.mem_fd);
	if (at >= ARENA_BYTES)
		*addr = (uintptr_t)arena + (at %= ARENA_BYTES);
	/* What wraps around has to be refused. */
	if (*n <= UINT64_MAX - *addr)
		*n %= ARENA_BYTES - at + 1;
}

static void turn(struct stage *st)
{
	for (int i = 0; i < TURNS; i++)
		wx_turn(st->w);
	for (int i = 0; i < N_HOSTILE; i++)
		read_answers(&st->hostile[i]);
}

static void request_bytes(struct stage *st, struct hostile *h, struct vc_request *request, size_t n)
{
	confine(st, request);
	request->seq = ++h->c.seq;
	(void)send(h->c.sock, request, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	turn(st);
}

static void ask(struct stage *st, struct hostile *h, struct vc_request *request)
{
	request_bytes(st, h, request, sizeof(*request));
}

static void nobody(struct hostile *h)
{
	memset(h, 0, sizeof(*h));
	h->c.sock = h->c.shm_fd = h->c.wake_fd = h->c.async_fd = -1;
}

static void disconnect(struct hostile *h)
{
	close_fd(&h->c.sock);
	close_fd(&h->c.shm_fd);
	close_fd(&h->c.wake_fd);
	close_fd(&h->c.async_fd);
	if (h->c.shm != NULL)
		munmap(h->c.shm, h->c.shm_bytes);
	for (int kind = 0; kind < N_KINDS; kind++) {
		for (uint32_t i = 0; i < h->n[kind] && i < N_KEPT; i++)
			close_fd(&h->objects[kind][i].fd);
	}
	nobody(h);
}

static void do_hello(struct stage *st, struct hostile *h, const struct step *s)
{
	struct vc_request request = {.op = VC_HELLO_VERBS, .hello = {VC_MAGIC, VC_VERSION, "roced0"}};

	if ((s->v[0] & 1) != 0)
		request.op = VC_HELLO_CM;
	if (s->v[0] >= 0xf0)
		((uint8_t *)&request)[v16(s, 1) % sizeof(request)] = s->v[3];
	if (h->c.sock < 0) {
		disconnect(h);
		wx_connect(st->w, &h->c);
	}
	ask(st, h, &request);
}

static void do_mr(struct stage *st, struct hostile *h, const struct step *s)
{
	struct vc_request request = {.op = VC_REG_MR,
		.reg_mr = {.pd = handle(st, h, PD, s->v[0]),
			.access = s->v[1],
			.addr = address(st, s, 2),
			.bytes = v16(s, 4)}};

	if ((s->v[7] & 1) != 0) {
		request.reg_mr.mem_fd = s->v[8] + 1u;
		request.reg_mr.mem_offset = s->v[9] < 0xe0 ? v16(s, 10) & 0x3fff : UINT64_MAX - v16(s, 10);
	}
	if ((s->v[7] & 2) != 0)
		request.reg_mr.access |= IBV_ACCESS_ON_DEMAND;
	request.reg_mr.iova = s->v[6] < 0xe0 ? request.reg_mr.addr : v64(s, 6);
	if (s->v[1] >= 0xf0)
		request.reg_mr.bytes = UINT64_MAX - s->v[4];
	ask(st, h, &request);
}

static void do_rereg(struct stage *st, struct hostile *h, const struct step *s)
{
	struct vc_request request = {.op = VC_REREG_MR,
		.rereg_mr = {.handle = handle(st, h, MR, s->v[0]),
			.flags = s->v[1] < 0xe0 ? s->v[1] & 7 : s->v[1],
			.pd = handle(st, h, PD, s->v[2]),
			.access = s->v[3] | (s->v[10] & 1u ? IBV_ACCESS_ON_DEMAND : 0),
			.addr = address(st, s, 4),
			.bytes = v16(s, 6)}};

	if (s->v[8] >= 0xf0)
		request.rereg_mr.bytes = UINT64_MAX - s->v[9];
	ask(st, h, &request);
}

/* The regions that are mapped lose pages. */
static void do_hole(struct stage *st, const struct step *s)
{
	uint32_t at = v16(s, 0) % (ARENA_BYTES / 2), n = 1 + v16(s, 2) % (ARENA_BYTES / 2);

	if (fallocate(arena_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, n) == 0 && (s->v[4] & 1) != 0)
		memset(arena, 0, ARENA_BYTES / 2);
	turn(st);
}

/* Frames under way change places. */
static void do_shuffle(struct stage *st, const struct step *s)
{
	for (uint32_t i = 0; i < 8 && st->w->n_frames > 1; i++) {
		struct rte_mbuf **a = &st->w->frames[s->v[i] % st->w->n_frames];
		struct rte_mbuf **b = &st->w->frames[(s->v[i] >> 4) % st->w->n_frames], *m = *a;

		*a = *b;
		*b = m;
	}
	turn(st);
}

/* Domains of files that all sessions have, of odd ones, and of none; targets by any number. */
static void do_xrc(struct stage *st, struct hostile *h, const struct step *s)
{
	static const int oflags[] = {O_CREAT, O_CREAT, O_CREAT, O_CREAT | O_EXCL, 0, O_TRUNC};
	struct vc_request request = {.op = VC_OPEN_XRCD};
	struct object *qp;

	if ((s->v[0] & 3) == 1) {
		request.op = VC_CLOSE_XRCD;
		request.object.handle = handle(st, h, XRCD, s->v[1]);
	} else if ((s->v[0] & 3) == 2) {
		qp = pick(&st->hostile[s->v[2] % N_HOSTILE], QP, s->v[3]);
		request.op = VC_OPEN_QP;
		request.open_qp.xrcd = handle(st, h, XRCD, s->v[1]);
		request.open_qp.qpn = qp == NULL || s->v[3] >= 0xe0 ? v32(s, 4) : qp->number;
		request.open_qp.cookie = s->v[8];
	} else {
		request.open_xrcd.fd = s->v[1] < 0x80 ? arena_fd : (int)file_number(st, h, s->v[1]) - 1;
		request.open_xrcd.oflags = (uint32_t)oflags[s->v[2] % 6];
		if (s->v[1] >= 0xf0)
			request.open_xrcd.fd = s->v[1] == 0xff ? (int)v32(s, 4) : -1;
	}
	ask(st, h, &request);
}

static void do_cq(struct stage *st, struct hostile *h, const struct step *s)
{
	struct vc_request request = {.op = VC_CREATE_CQ,
		.create_cq = {.depth = v16(s, 0) & 0x1ff,
			.channel = s->v[2] < 0x80 ? 0 : handle(st, h, CHANNEL, s->v[2] & 0x7f),
			.cookie = v32(s, 3),
			.vector = s->v[7] >> 7}};

	if ((s->v[8] & 1) != 0) {
		request = (struct vc_request){.op = VC_RESIZE_CQ};
		request.resize_cq.handle = handle(st, h, CQ, s->v[2]);
		request.resize_cq.depth = v16(s, 0) & 0x1ff;
	}
	ask(st, h, &request);
}

static void do_qp(struct stage *st, struct hostile *h, const struct step *s)
{
	static const uint8_t types[] = {
		IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RC, IBV_QPT_XRC_SEND, IBV_QPT_XRC_RECV, IBV_QPT_UC, IBV_QPT_UD};
	struct vc_request request = {.op = VC_CREATE_QP};

	request.create_qp.pd = handle(st, h, PD, s->v[0]);
	request.create_qp.send_cq = handle(st, h, CQ, s->v[1]);
	request.create_qp.recv_cq = handle(st, h, CQ, s->v[2]);
	request.create_qp.type = s->v[3] < 0xf8 ? types[s->v[3] & 7] : s->v[3];
	request.create_qp.sq_sig_all = s->v[4] >> 7;
	request.create_qp.max_send_wr = s->v[4] & 0x3f;
	request.create_qp.max_recv_wr = s->v[5] & 0x3f;
	request.create_qp.max_send_sge = s->v[6] & 0x0f;
	request.create_qp.max_recv_sge = s->v[6] >> 4;
	request.create_qp.max_inline_bytes = s->v[7];
	if ((s->v[8] & 1) != 0)
		request.create_qp.srq = handle(st, h, SRQ, s->v[9]);
	if (request.create_qp.type == IBV_QPT_XRC_RECV || (s->v[8] & 0x30) == 0x30)
		request.create_qp.xrcd = handle(st, h, XRCD, s->v[9]);
	if ((s->v[8] & 0xc0) == 0xc0)
		((uint8_t *)&request)[8 + v16(s, 10) % (sizeof(request.create_qp))] = s->v[12];
	request.create_qp.cookie = v32(s, 10);
	h->type = (enum ibv_qp_type)request.create_qp.type;
	ask(st, h, &request);
}

/* The number of a queue pair to talk to: the victim's, one's own, another session's. */
static uint32_t peer(struct stage *st, struct hostile *h, uint8_t choice)
{
	struct object *object;

	if (choice < 0x60)
		return st->honest.victim.qpn;
	if (choice >= 0xfe)
		return 0xffffff; /* of groups */
	if (choice >= 0xc0)
		h = &st->hostile[choice % N_HOSTILE];
	object = pick(h, QP, choice & 0x1f);
	return object == NULL ? choice : object->number;
}

static void modify(struct stage *st, struct hostile *h, const struct object *qp, uint32_t state, uint32_t dest,
	const struct step *s)
{
	struct vc_request request = {.op = VC_MODIFY_QP, .modify_qp = {.handle = qp->handle}};
	struct wx_qp as = {.type = qp->type};

	wx_attr_of(&as, &request.modify_qp.attr, (enum ibv_qp_state)state, dest);
	if (s != NULL && (s->v[3] & 1) != 0)
		((uint8_t *)&request.modify_qp.attr)[v16(s, 4) % sizeof(request.modify_qp.attr)] = s->v[6];
	if (s != NULL && (s->v[3] & 2) != 0)
		request.modify_qp.attr.mask ^= 1u << (s->v[7] & 31);
	ask(st, h, &request);
}

static void do_up(struct stage *st, struct hostile *h, const struct step *s)
{
	struct object *qp = pick(h, QP, s->v[0]);
	uint32_t dest = peer(st, h, s->v[1]);

	if (qp == NULL)
		return;
	for (uint32_t state = IBV_QPS_INIT; state <= IBV_QPS_INIT + (s->v[2] < 0xc0 ? 2 : s->v[2] & 1); state++)
		modify(st, h, qp, state, dest, NULL);
	if (dest == st->honest.victim.qpn)
		fx_victim_faces(&st->honest, qp->number, qp->type);
}

static void do_modify(struct stage *st, struct hostile *h, const struct step *s)
{
	struct object *qp = pick(h, QP, s->v[0]);

	if (qp != NULL)
		modify(st, h, qp, s->v[1] & 7, peer(st, h, s->v[2]), s);
}

static void do_ah(struct stage *st, struct hostile *h, const struct step *s)
{
	struct vc_request request = {.op = VC_CREATE_AH, .create_ah = {.pd = handle(st, h, PD, s->v[0])}};
	struct wire_addr dst;

	wx_addr4(s->v[1] & 3, &dst);
	if (s->v[1] >= 0xe0)
		wx_group4(s->v[1] & 3, &dst);
	memcpy(request.create_ah.av.dgid, dst.b, sizeof(dst.b));
	request.create_ah.av.sgid_index = s->v[2] < 0xc0 ? 1 : s->v[2] & 0x1f;
	if (s->v[3] >= 0xe0)
		((uint8_t *)&request.create_ah.av)[s->v[4] % sizeof(request.create_ah.av)] = s->v[5];
	ask(st, h, &request);
}

static void do_srq(struct stage *st, struct hostile *h, const struct step *s)
{
	struct vc_request request = {.op = VC_CREATE_SRQ};

	if ((s->v[0] & 1) != 0) {
		request.op = VC_MODIFY_SRQ;
		request.modify_srq.handle = handle(st, h, SRQ, s->v[1]);
		request.modify_srq.mask = s->v[2] & 3;
		request.modify_srq.max_wr = s->v[3] < 0xf0 ? s->v[3] : v32(s, 4);
		request.modify_srq.limit = v16(s, 4) & 0x7f;
	} else {
		request.create_srq.pd = handle(st, h, PD, s->v[1]);
		request.create_srq.max_wr = s->v[2] & 0x7f;
		request.create_srq.max_sge = s->v[3] & 0x1f;
		request.create_srq.cookie = v32(s, 4);
		if ((s->v[8] & 1) != 0) {
			request.create_srq.xrcd = handle(st, h, XRCD, s->v[9]);
			request.create_srq.cq = handle(st, h, CQ, s->v[10]);
		}
	}
	ask(st, h, &request);
}

static void do_mw(struct stage *st, struct hostile *h, const struct step *s)
{
	struct vc_request request = {.op = VC_ALLOC_MW, .alloc_mw = {handle(st, h, PD, s->v[0]), s->v[1] & 3}};

	ask(st, h, &request);
}

static void do_object(struct stage *st, struct hostile *h, const struct step *s)
{
	static const struct {
		uint8_t op, kind;
	} ops[] = {{VC_DEALLOC_PD, PD}, {VC_DEREG_MR, MR}, {VC_DESTROY_COMP_CHANNEL, CHANNEL}, {VC_DESTROY_CQ, CQ},
		{VC_QUERY_QP, QP}, {VC_DESTROY_QP, QP}, {VC_DESTROY_AH, AH}, {VC_QUERY_SRQ, SRQ}, {VC_DESTROY_SRQ, SRQ},
		{VC_DEALLOC_MW, MW}, {VC_CM_DESTROY_CHANNEL, CM_CHANNEL}, {VC_CM_DESTROY_ID, CM_ID},
		{VC_CM_DISCONNECT, CM_ID}, {VC_CM_ESTABLISH, CM_ID}, {VC_CM_QUERY_ID, CM_ID}, {VC_CLOSE_XRCD, XRCD}};
	size_t i = s->v[0] % (sizeof(ops) / sizeof(ops[0]));
	struct vc_request request = {.op = ops[i].op};

	request.object.handle = handle(st, h, (enum kind)ops[i].kind, s->v[1]);
	ask(st, h, &request);
}

/* Any bytes, any number of them. */
static void do_raw(struct stage *st, struct hostile *h, const struct step *s)
{
	struct vc_request request[2];
	uint8_t *bytes = (uint8_t *)request;
	uint32_t x = v32(s, 4);
	size_t n = sizeof(*request);

	for (size_t i = 0; i < sizeof(request); i++) {
		x = x * 1664525 + 1013904223;
		bytes[i] = (s->v[1] & 1) != 0 ? (uint8_t)(x >> 24) : s->v[8];
	}
	request->op = s->v[0] % 96;
	if (s->v[1] >= 0x80)
		n = v16(s, 2) % sizeof(request);
	if ((s->v[1] & 2) != 0)
		memcpy(bytes + 8 + v16(s, 9) % (sizeof(*request) - 12), &s->v[10], 4);
	request_bytes(st, h, request, n);
}

/* ---- shared memory ---- */

static void store(struct hostile *h, uint64_t at, const void *from, size_t n)
{
	if (h->c.shm == NULL || n > h->c.shm_bytes || at > h->c.shm_bytes - n)
		return;
	memcpy((uint8_t *)h->c.shm + at, from, n);
}

static void load(struct hostile *h, uint64_t at, void *to, size_t n)
{
	memset(to, 0, n);
	if (h->c.shm != NULL && n <= h->c.shm_bytes && at <= h->c.shm_bytes - n)
		memcpy(to, (uint8_t *)h->c.shm + at, n);
}

/* Into a queue of its own, or anywhere. */
static void do_store(struct stage *st, struct hostile *h, const struct step *s)
{
	static const enum kind kinds[] = {QP, QP, CQ, SRQ};
	struct object *object = pick(h, kinds[s->v[0] & 3], s->v[1]);
	uint64_t at = v32(s, 2) % SHM_BYTES;
	size_t n = 1u << (s->v[0] >> 2 & 3);

	if (object != NULL && s->v[0] < 0xc0)
		at = object->ring[s->v[0] & 1] + v32(s, 2) % (sizeof(struct vc_queue) + 4096);
	for (uint32_t i = 0; i <= (uint32_t)s->v[1] >> 4; i++)
		store(h, at + i * 8, &s->v[6], n);
	turn(st);
}

static void bell(struct hostile *h, const struct object *qp)
{
	if (h->c.shm != NULL)
		h->c.shm->doorbell[qp->slot / 64 % (VC_MAX_QPS / 64)] |= 1ull << (qp->slot % 64);
}

static void make_sges(struct stage *st, struct hostile *h, const struct step *s, uint8_t *to, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		struct tp_sge sge = {.addr = address(st, s, 8) + i * 64,
			.bytes = v16(s, 10) & 0x1fff,
			.lkey = key(st, h, (uint8_t)(s->v[12] + i))};

		if (s->v[11] == 0xff)
			sge.bytes = UINT32_MAX - i;
		memcpy(to + i * sizeof(sge), &sge, sizeof(sge));
	}
}

static void make_send(struct stage *st, struct hostile *h, const struct step *s, struct tp_send_wqe *wqe)
{
	struct object *ah = pick(h, AH, s->v[5] & 0x3f);
	struct object *srq = pick(&st->hostile[s->v[3] >> 5 & 1], SRQ, s->v[4] & 0x1f);

	*wqe = (struct tp_send_wqe){.wr_id = v64(s, 0),
		.opcode = s->v[1] < 0xf0 ? s->v[1] % 12 : s->v[1],
		.num_sge = s->v[2] & 3,
		.flags = (uint16_t)(s->v[3] & 0x0f),
		.remote_addr = address(st, s, 4),
		.rkey = key(st, h, s->v[6]),
		.imm = v32(s, 6),
		.srqn = srq == NULL ? s->v[4] : srq->number};
	if ((wqe->flags & TP_SEND_INLINE) != 0) {
		wqe->num_sge = 0;
		wqe->inline_bytes = s->v[2];
	}
	if (s->v[3] >= 0xf0) {
		wqe->num_sge = s->v[2];
		wqe->inline_bytes = v32(s, 8);
	}
	wqe->atomic.compare_add = v64(s, 5);
	if (wqe->opcode == TP_WR_BIND_MW) {
		wqe->rkey = key(st, h, (uint8_t)(s->v[6] | 0x40)) ^ (s->v[3] >> 7);
		wqe->bind.bytes = v16(s, 10) & 0x3fff;
		wqe->bind.mr_key = key(st, h, s->v[12]);
		wqe->bind.access = s->v[7] & 0x3f;
	} else if ((s->v[3] & 0x10) != 0) {
		wqe->ud.ah = ah == NULL ? s->v[5] : ah->number;
		wqe->ud.qpn = peer(st, h, s->v[6]);
		wqe->ud.qkey = s->v[7] < 0xc0 ? WX_QKEY : s->v[7];
	} else if (wqe->opcode == TP_WR_SEND_INV || wqe->opcode == TP_WR_LOCAL_INV) {
		wqe->imm = key(st, h, s->v[6]);
	}
}

/* Posts copies of a work request; how many more or fewer the index tells is in v[13]. */
static void post(
	struct hostile *h, const struct object *qp, int receive, const uint8_t *wqe, size_t n, const struct step *s)
{
	uint64_t ring = qp->ring[receive];
	uint32_t prod, copies = 1 + (s->v[13] & 7);

	load(h, ring, &prod, sizeof(prod));
	if (qp->depth[receive] == 0)
		return;
	for (uint32_t i = 0; i < copies; i++) {
		uint32_t slot = (prod + i) & (qp->depth[receive] - 1);

		store(h, ring + sizeof(struct vc_queue) + (uint64_t)slot * qp->slot_bytes[receive], wqe,
			n < qp->slot_bytes[receive] ? n : qp->slot_bytes[receive]);
	}
	prod += copies;
	if (s->v[13] >= 0xf8)
		prod += s->v[13];
	store(h, ring, &prod, sizeof(prod));
	bell(h, qp);
}

static void do_send(struct stage *st, struct hostile *h, const struct step *s)
{
	uint8_t slot[sizeof(struct tp_send_wqe) + 4 * sizeof(struct tp_sge)];
	struct object *qp = pick(h, QP, s->v[0]);
	struct tp_send_wqe wqe;

	if (qp == NULL)
		return;
	make_send(st, h, s, &wqe);
	memcpy(slot, &wqe, sizeof(wqe));
	make_sges(st, h, s, slot + sizeof(wqe), 4);
	post(h, qp, 0, slot, sizeof(slot), s);
	turn(st);
}

static void do_recv(struct stage *st, struct hostile *h, const struct step *s)
{
	uint8_t slot[sizeof(struct tp_recv_wqe) + 4 * sizeof(struct tp_sge)];
	struct object *queue = pick(h, (s->v[1] & 1) != 0 ? SRQ : QP, s->v[0]);
	struct tp_recv_wqe wqe = {.wr_id = v32(s, 2), .num_sge = s->v[6] < 0xf0 ? s->v[6] & 3 : v32(s, 3)};

	if (queue == NULL)
		return;
	memcpy(slot, &wqe, sizeof(wqe));
	make_sges(st, h, s, slot + sizeof(wqe), 4);
	post(h, queue, 1, slot, sizeof(slot), s);
	turn(st);
}

/* Lies about how far it is. */
static void do_index(struct stage *st, struct hostile *h, const struct step *s)
{
	static const enum kind kinds[] = {QP, QP, SRQ, CQ};
	struct object *object = pick(h, kinds[s->v[0] & 3], s->v[1]);
	uint64_t at;
	uint32_t value;

	if (object == NULL)
		return;
	at = object->ring[s->v[2] & 1] + (s->v[3] < 0xe0 ? 0 : 64);
	load(h, at, &value, sizeof(value));
	value = s->v[3] < 0x40 ? v32(s, 4) : value + (uint32_t)(int8_t)s->v[4];
	store(h, at, &value, sizeof(value));
	if (object->depth[0] != 0)
		bell(h, object);
	turn(st);
}

static void do_bell(struct stage *st, struct hostile *h, const struct step *s)
{
	uint64_t value = v64(s, 2);

	if (h->c.shm != NULL)
		h->c.shm->doorbell[s->v[0] % (VC_MAX_QPS / 64)] |= value;
	/* Nearly as much as it takes blocks whoever adds to it. */
	if (s->v[1] >= 0xc0)
		value = UINT64_MAX - 1;
	else if ((s->v[1] & 1) != 0)
		value = 1;
	if (h->c.wake_fd >= 0)
		(void)!write(h->c.wake_fd, &value, sizeof(value));
	for (int i = 0; i < WX_WORKERS; i++)
		vd_worker_sleep(st->w->worker[i].vd, (s->v[1] & 2) != 0);
	turn(st);
}

static void do_cq_side(struct stage *st, struct hostile *h, const struct step *s)
{
	struct object *cq = pick(h, CQ, s->v[0]);
	uint32_t cons, armed = s->v[1] < 0xf0 ? s->v[1] % 3 : v32(s, 2);

	if (cq == NULL)
		return;
	load(h, cq->ring[0], &cons, sizeof(cons));
	cons += s->v[6] & 0x3f;
	store(h, cq->ring[0], &cons, sizeof(cons));
	store(h, cq->ring[0] + offsetof(struct vc_cq, armed), &armed, sizeof(armed));
	turn(st);
}

/* ---- connection management ---- */

static struct vc_sockaddr near(const struct step *s, int at)
{
	struct vc_sockaddr a = {.family = AF_INET, .port = (uint16_t)(0x100 * (s->v[at] & 3)), .addr = {192, 0, 2, 1}};

	a.addr[3] = (uint8_t)(1 + (s->v[at] >> 2 & 3));
	if (s->v[at] >= 0xf0)
		((uint8_t *)&a)[s->v[at + 1] % sizeof(a)] = s->v[at + 2];
	return a;
}

static void do_cm(struct stage *st, struct hostile *h, const struct step *s)
{
	static const uint16_t spaces[] = {VC_PS_TCP, VC_PS_UDP, VC_PS_TCP, VC_PS_IB, VC_PS_IPOIB, 0};
	static const uint8_t ops[] = {VC_CM_CREATE_CHANNEL, VC_CM_CREATE_ID, VC_CM_CREATE_ID, VC_CM_BIND, VC_CM_LISTEN,
		VC_CM_RESOLVE_ADDR, VC_CM_RESOLVE_ROUTE, VC_CM_MIGRATE, VC_CM_INIT_QP_ATTR};
	struct vc_request request = {.op = ops[s->v[0] % sizeof(ops)]};

	request.object.handle = handle(st, h, CM_ID, s->v[1]); /* the first field of most */
	switch (request.op) {
	case VC_CM_CREATE_ID:
		request.cm_create_id.channel = handle(st, h, CM_CHANNEL, s->v[1]);
		request.cm_create_id.ps = spaces[s->v[2] % 6];
		request.cm_create_id.qp_type = s->v[3] < 0xc0 ? IBV_QPT_RC + (s->v[2] & 1) * 2u : s->v[3];
		request.cm_create_id.cookie = v32(s, 4);
		break;
	case VC_CM_BIND:
	case VC_CM_LISTEN:
		request.cm_bind.backlog = s->v[2];
		request.cm_bind.src = near(s, 3);
		break;
	case VC_CM_RESOLVE_ADDR:
	case VC_CM_RESOLVE_ROUTE:
		request.cm_resolve.timeout_ms = v16(s, 6);
		request.cm_resolve.dst = near(s, 3);
		if ((s->v[2] & 1) != 0)
			request.cm_resolve.src = near(s, 8);
		break;
	case VC_CM_MIGRATE:
		request.cm_migrate.channel = handle(st, h, CM_CHANNEL, s->v[2]);
		break;
	case VC_CM_INIT_QP_ATTR:
		request.cm_init_attr.state = s->v[2] & 7;
		break;
	default:
		break;
	}
	ask(st, h, &request);
}

static void do_cm_conn(struct stage *st, struct hostile *h, const struct step *s)
{
	static const uint8_t ops[] = {VC_CM_CONNECT, VC_CM_ACCEPT, VC_CM_CONNECT, VC_CM_REJECT};
	struct vc_request request = {.op = ops[s->v[0] & 3]};
	struct vc_conn_param *param = &request.cm_conn.param;

	request.cm_conn.id = handle(st, h, CM_ID, s->v[1]);
	request.cm_conn.cookie = v32(s, 2);
	param->qpn = peer(st, &st->hostile[s->v[6] % N_HOSTILE], s->v[7]);
	param->private_bytes = s->v[8] < 0xe0 ? s->v[8] & 0x3f : v32(s, 8);
	param->responder_resources = param->initiator_depth = s->v[9];
	param->retry_count = param->rnr_retry_count = s->v[10];
	param->qp_type = s->v[11] < 0xc0 ? IBV_QPT_RC : s->v[11] & 7;
	param->qkey = s->v[12];
	ask(st, h, &request);
}

/* Queue pairs and ids come to groups and leave them. */
static void do_mcast(struct stage *st, struct hostile *h, const struct step *s)
{
	static const uint8_t ops[] = {VC_ATTACH_MCAST, VC_DETACH_MCAST, VC_CM_JOIN_MCAST, VC_CM_LEAVE_MCAST};
	struct vc_request request = {.op = ops[s->v[0] & 3]};
	struct wire_addr group;

	wx_group4(s->v[2] & 3, &group);
	if (s->v[3] >= 0xe0)
		group.b[s->v[3] & 15] = s->v[4];
	if ((s->v[0] & 2) == 0) {
		request.mcast.qp = handle(st, h, QP, s->v[1]);
		memcpy(request.mcast.gid, group.b, sizeof(group.b));
	} else {
		request.cm_mcast.id = handle(st, h, CM_ID, s->v[1]);
		request.cm_mcast.addr.family = s->v[5] < 0xe0 ? AF_INET : s->v[5];
		memcpy(request.cm_mcast.addr.addr, group.b + 12, 4);
	}
	ask(st, h, &request);
}

/* Takes events; a request for a connection brings an id. */
static void do_cm_read(struct stage *st, struct hostile *h, const struct step *s)
{
	struct object *channel = pick(h, CM_CHANNEL, s->v[0]);
	struct vc_cm_event event;

	for (int i = 0; channel != NULL && channel->fd >= 0 && i <= s->v[1]; i++) {
		if (recv(channel->fd, &event, sizeof(event), MSG_DONTWAIT) != (ssize_t)sizeof(event))
			break;
		FUZZ_CHECK(event.param.private_bytes <= VC_MAX_PRIVATE);
		if (event.type == RDMA_CM_EVENT_CONNECT_REQUEST)
			keep(h, CM_ID, event.new_id, 0);
	}
	turn(st);
}

/* ---- descriptors, time ---- */

static void do_close(struct stage *st, struct hostile *h, const struct step *s)
{
	struct object *channel = pick(h, (s->v[0] & 1) != 0 ? CHANNEL : CM_CHANNEL, s->v[1]);
	int *const fds[] = {
		&h->c.shm_fd, &h->c.wake_fd, &h->c.async_fd, channel == NULL ? &h->c.async_fd : &channel->fd};

	if (s->v[2] >= 0xe0)
		(void)shutdown(h->c.sock, s->v[2] % 3);
	else if (s->v[2] >= 0xc0)
		close_fd(&h->c.sock); /* the rest stays open */
	else if (s->v[2] >= 0xa0)
		(void)shutdown(*fds[2 + (s->v[0] & 1)], s->v[2] % 3);
	else
		close_fd(fds[s->v[0] & 3]);
	turn(st);
}

static void do_time(struct stage *st, const struct step *s)
{
	for (int i = 0; i <= (s->v[2] & 7); i++) {
		st->w->now_ns += (s->v[3] & 1) != 0 ? v16(s, 0) * WX_MS : v16(s, 0) * 1000ull;
		turn(st);
	}
}

static void do_resolve(struct stage *st, const struct step *s)
{
	st->w->resolve = (enum wx_resolve)(s->v[0] % 3);
	if (st->w->n_pending > 0 && (s->v[1] & 1) != 0)
		wx_resolved(st->w, s->v[2] % st->w->n_pending, (s->v[1] & 6) == 0 ? -EHOSTUNREACH : 0);
	turn(st);
}

static void do_mood(struct stage *st, struct hostile *h, const struct step *s)
{
	h->deaf = (s->v[0] & 1) != 0;
	st->w->drop_frames = (s->v[0] & 6) == 6;
	st->w->drop_mads = s->v[1] >= 0xc0 ? s->v[1] & 7 : 0;
	if (s->v[2] >= 0xc0)
		vd_set_port_state(st->w->vd, 0, (s->v[2] & 1) != 0);
	turn(st);
}

/* Descriptors where none belong, its own socket among them. */
static void do_pass_fd(struct stage *st, struct hostile *h, const struct step *s)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * 2)];
	} control = {0};
	struct vc_request request = {.op = VC_LIST_DEVICES, .seq = ++h->c.seq};
	int fds[2] = {h->c.sock, (s->v[0] & 1) != 0 ? h->c.async_fd : h->c.sock};
	struct iovec iov = {&request, sizeof(request)};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(c), fds, sizeof(fds));
	(void)sendmsg(h->c.sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	if ((s->v[0] & 2) == 0)
		turn(st);
}

static void (*const acts[N_ACTIONS])(struct stage *, struct hostile *, const struct step *) = {[DO_HELLO] = do_hello,
	[DO_PD] = NULL,
	[DO_MR] = do_mr,
	[DO_CHANNEL] = NULL,
	[DO_CQ] = do_cq,
	[DO_QP] = do_qp,
	[DO_UP] = do_up,
	[DO_MODIFY] = do_modify,
	[DO_AH] = do_ah,
	[DO_SRQ] = do_srq,
	[DO_MW] = do_mw,
	[DO_OBJECT] = do_object,
	[DO_RAW] = do_raw,
	[DO_STORE] = do_store,
	[DO_SEND] = do_send,
	[DO_RECV] = do_recv,
	[DO_INDEX] = do_index,
	[DO_BELL] = do_bell,
	[DO_CQ_SIDE] = do_cq_side,
	[DO_CM] = do_cm,
	[DO_CM_CONN] = do_cm_conn,
	[DO_CM_READ] = do_cm_read,
	[DO_CLOSE] = do_close,
	[DO_MOOD] = do_mood,
	[DO_PASS_FD] = do_pass_fd,
	[DO_MCAST] = do_mcast,
	[DO_REREG] = do_rereg,
	[DO_XRC] = do_xrc};

static void play(struct stage *st, const struct step *s)
{
	struct hostile *h = &st->hostile[s->who % N_HOSTILE];
	struct vc_request request = {.op = VC_ALLOC_PD};

	switch (s->action % N_ACTIONS) {
	case DO_CHANNEL:
		request.op = VC_CREATE_COMP_CHANNEL;
		/* fall through */
	case DO_PD:
		ask(st, h, &request);
		break;
	case DO_DISCONNECT:
		disconnect(h);
		turn(st);
		break;
	case DO_TIME:
		do_time(st, s);
		break;
	case DO_RESOLVE:
		do_resolve(st, s);
		break;
	case DO_HOLE:
		do_hole(st, s);
		break;
	case DO_SHUFFLE:
		do_shuffle(st, s);
		break;
	case DO_TRANSFER:
		fx_honest_transfer(&st->honest);
		break;
	default:
		acts[s->action % N_ACTIONS](st, h, s);
	}
}

/* ---- the whole ---- */

int __real_socketpair(int domain, int type, int protocol, int fds[2]);
int __wrap_socketpair(int domain, int type, int protocol, int fds[2]);

/* The channels of clients are full after a few messages, so that scripts get that far. */
int __wrap_socketpair(int domain, int type, int protocol, int fds[2])
{
	int bytes = 1, rc = __real_socketpair(domain, type, protocol, fds);

	if (rc == 0)
		FUZZ_CHECK(setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof(bytes)) == 0);
	return rc;
}

static unsigned int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	FUZZ_CHECK(dir != NULL);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static void check_same(const struct vd_stats *is, const struct vd_stats *was)
{
	FUZZ_CHECK(is->sessions == was->sessions && is->contexts == was->contexts && is->pds == was->pds);
	FUZZ_CHECK(is->mrs == was->mrs && is->mws == was->mws && is->cqs == was->cqs && is->srqs == was->srqs);
	FUZZ_CHECK(is->qps == was->qps && is->ahs == was->ahs && is->comp_channels == was->comp_channels);
	FUZZ_CHECK(is->cm_channels == was->cm_channels && is->cm_ids == was->cm_ids);
	FUZZ_CHECK(is->cm_listeners == was->cm_listeners && is->resolving == was->resolving);
	FUZZ_CHECK(is->groups == was->groups && is->members == was->members);
	FUZZ_CHECK(is->shm_bytes_used == was->shm_bytes_used && is->xrcds == was->xrcds);
	FUZZ_CHECK(is->mrs_mapped == was->mrs_mapped);
}

static void end_hostile(struct stage *st)
{
	for (int i = 0; i < N_HOSTILE; i++)
		disconnect(&st->hostile[i]);
	st->w->resolve = WX_RESOLVE_NOW;
	for (int i = 0; i < END_TURNS && (i < TURNS || st->w->n_pending > 0 || st->w->n_frames > 0); i++) {
		wx_turn(st->w);
		if (st->w->n_pending > 0)
			wx_resolved(st->w, 0, (i & 1) != 0 ? -ECANCELED : 0);
	}
	FUZZ_CHECK(st->w->n_pending == 0);
}

static void make_arena(void)
{
	int fd = memfd_create("arena", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	FUZZ_CHECK(fd >= 0 && ftruncate(fd, ARENA_BYTES / 2) == 0);
	FUZZ_CHECK(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
	/* Beyond the end of the file there is nothing to map. */
	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	FUZZ_CHECK(arena != MAP_FAILED);
	arena_fd = fd;
}

/* Few of each, so that scripts come to the limits. */
static const struct vd_limits limits = {.max_qps = 8,
	.max_cqs = 8,
	.max_srqs = 4,
	.max_mrs = 8,
	.max_mws = 8,
	.max_pds = 4,
	.max_groups = 4,
	.max_ahs = 8,
	.max_channels = 6,
	.max_cm_ids = 8,
	.max_sessions = 16,
	.max_cqe = 256,
	.max_send_wr = 64,
	.max_recv_wr = 64,
	.max_srq_wr = 128,
	.shm_bytes = SHM_BYTES};

static void run(const uint8_t *data, size_t size)
{
	struct vd_stats before, after;
	struct fx_honest late;
	struct stage st = {.w = wx_new(&limits)};
	struct step s;
	unsigned int fds;

	fx_honest_start(st.w, &st.honest);
	for (int i = 0; i < N_HOSTILE; i++)
		nobody(&st.hostile[i]);
	fx_honest_transfer(&st.honest);
	wx_stats(st.w, &before);
	fds = count_fds();
	for (int i = 0; i < MAX_STEPS && size >= sizeof(s); i++, data += sizeof(s), size -= sizeof(s)) {
		memcpy(&s, data, sizeof(s));
		play(&st, &s);
	}
	fx_honest_transfer(&st.honest);
	end_hostile(&st);
	fx_honest_transfer(&st.honest);
	wx_stats(st.w, &after);
	check_same(&after, &before);
	FUZZ_CHECK(count_fds() == fds);
	fx_honest_start(st.w, &late);
	fx_honest_transfer(&late);
	fx_honest_end(&late);
	fx_honest_end(&st.honest);
	wx_expect_empty(st.w);
	wx_free(st.w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	unsigned int fds;

	if (arena == NULL) {
		setenv("CMOCKA_TEST_ABORT", "1", 1);
		make_arena();
	}
	fds = count_fds();
	memset(arena, 0, ARENA_BYTES / 2);
	run(data, size);
	FUZZ_CHECK(count_fds() == fds);
	return 0;
}

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed);

/* Keeps steps where they are: changes one, or takes one out, or puts in one of its own or a copy. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed)
{
	size_t n = size / STEP_BYTES, at = n == 0 ? 0 : seed / 64 % n;
	uint8_t *step = data + at * STEP_BYTES;

	size = n * STEP_BYTES;
	if (seed % 8 < 3 && size + STEP_BYTES <= max_size) {
		memmove(step + STEP_BYTES, step, size - at * STEP_BYTES);
		size += STEP_BYTES;
		if (n == 0 || seed % 8 != 0) {
			for (int i = 0; i < STEP_BYTES; i++)
				step[i] = (uint8_t)((seed = seed * 1664525 + 1013904223) >> 24);
			step[0] %= N_ACTIONS;
		}
	} else if (seed % 8 == 3 && n > 1) {
		memmove(step, step + STEP_BYTES, size - (at + 1) * STEP_BYTES);
		size -= STEP_BYTES;
	} else if (n > 0) {
		(void)LLVMFuzzerMutate(step, STEP_BYTES, STEP_BYTES);
	}
	return size;
}
