/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long a WRITE of 8 bytes to oneself takes from posting to its completion, when the daemon's worker is awake and
 * after so long without work that it sleeps. Prints the medians, "name value unit" a line.
 *
 * usage: bench_wake DEVICE GID-INDEX TIMES IDLE-US
 */
#include <unistd.h>

#include "../tools/loop.h"
#include "bench_clock.h"

#define MAX_TIMES  1000u
#define LIMIT_S    120u
#define GIVE_UP_NS 5e9

struct scene {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
};

static void open_scene(struct scene *s, const char *device, int gid_index)
{
	static uint64_t memory[2];
	struct ibv_context *context = must_open_device(device);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};
	const unsigned int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;

	MUST(pd != NULL);
	s->cq = init.send_cq = init.recv_cq = ibv_create_cq(context, 16, NULL, NULL, 0);
	MUST(s->cq != NULL);
	s->qp = ibv_create_qp(pd, &init);
	s->mr = ibv_reg_mr(pd, memory, sizeof(memory), (int)access);
	MUST(s->qp != NULL && s->mr != NULL);
	connect_to_itself(s->qp, gid_index, access);
}

/* ns from posting to the completion. */
static double write_once(struct scene *s)
{
	struct ibv_sge sge = {.addr = (uintptr_t)s->mr->addr, .length = 8, .lkey = s->mr->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				   .num_sge = 1,
				   .opcode = IBV_WR_RDMA_WRITE,
				   .send_flags = IBV_SEND_SIGNALED,
				   .wr.rdma = {.remote_addr = sge.addr + 8, .rkey = s->mr->rkey}},
			   *bad;
	double began = now_ns();
	struct ibv_wc wc;
	int n;

	MUST(ibv_post_send(s->qp, &wr, &bad) == 0);
	while ((n = ibv_poll_cq(s->cq, 1, &wc)) == 0)
		MUST(now_ns() - began < GIVE_UP_NS);
	MUST(n == 1 && wc.status == IBV_WC_SUCCESS);
	return now_ns() - began;
}

int main(int argc, char **argv)
{
	static double asleep[MAX_TIMES], awake[MAX_TIMES];
	unsigned int times, idle_us;
	struct scene s;

	if (argc != 5) {
		fputs("usage: bench_wake DEVICE GID-INDEX TIMES IDLE-US\n", stderr);
		return 2;
	}
	alarm(LIMIT_S);
	times = (unsigned int)strtoul(argv[3], NULL, 10);
	idle_us = (unsigned int)strtoul(argv[4], NULL, 10);
	MUST(times > 0 && times <= MAX_TIMES);
	open_scene(&s, argv[1], (int)strtol(argv[2], NULL, 10));
	write_once(&s);
	for (unsigned int i = 0; i < times; i++) {
		usleep(idle_us);
		asleep[i] = write_once(&s);
		write_once(&s);
		awake[i] = write_once(&s);
	}
	printf("asleep %.1f ns\nawake %.1f ns\n", median(asleep, times), median(awake, times));
	return 0;
}
