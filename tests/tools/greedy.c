/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Takes all it can get of one thing and says how many that were, what the device promised and which error ended it:
 * "N of PROMISED: ERROR". Then it keeps them until its standard input ends.
 *
 * usage: greedy DEVICE pds|cqs|qps|mrs|mws|srqs|bytes|sessions     bytes: regions of 1 MiB
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#define MOST (1 << 16)
#define MIB  (1u << 20)

struct hand {
	struct ibv_device *device;
	struct ibv_context *context;
	struct ibv_device_attr attr;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	void *memory;
};

static void *take_pd(struct hand *h)
{
	return ibv_alloc_pd(h->context);
}

static void *take_cq(struct hand *h)
{
	return ibv_create_cq(h->context, 1, NULL, NULL, 0);
}

static void *take_qp(struct hand *h)
{
	struct ibv_qp_init_attr init = {.send_cq = h->cq,
		.recv_cq = h->cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1}};

	return ibv_create_qp(h->pd, &init);
}

static void *take_mr(struct hand *h)
{
	return ibv_reg_mr(h->pd, h->memory, 4096, IBV_ACCESS_LOCAL_WRITE);
}

static void *take_bytes(struct hand *h)
{
	return ibv_reg_mr(h->pd, h->memory, MIB, IBV_ACCESS_LOCAL_WRITE);
}

static void *take_mw(struct hand *h)
{
	return ibv_alloc_mw(h->pd, IBV_MW_TYPE_1);
}

static void *take_srq(struct hand *h)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 1, .max_sge = 1}};

	return ibv_create_srq(h->pd, &init);
}

static void *take_session(struct hand *h)
{
	return ibv_open_device(h->device);
}

static const struct kind {
	const char *name;
	void *(*take)(struct hand *h);
	size_t promise; /* where the device's attributes tell the limit; 0: nowhere */
} kinds[] = {
	{"pds", take_pd, offsetof(struct ibv_device_attr, max_pd)},
	{"cqs", take_cq, offsetof(struct ibv_device_attr, max_cq)},
	{"qps", take_qp, offsetof(struct ibv_device_attr, max_qp)},
	{"mrs", take_mr, offsetof(struct ibv_device_attr, max_mr)},
	{"mws", take_mw, offsetof(struct ibv_device_attr, max_mw)},
	{"srqs", take_srq, offsetof(struct ibv_device_attr, max_srq)},
	{"bytes", take_bytes, 0},
	{"sessions", take_session, 0},
};

static int fail(const char *what)
{
	fprintf(stderr, "greedy: %s: %s\n", what, strerror(errno));
	return 1;
}

static int open_hand(struct hand *h, const char *name)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	if (list == NULL)
		return fail("ibv_get_device_list");
	for (int i = 0; list[i] != NULL; i++) {
		if (strcmp(ibv_get_device_name(list[i]), name) == 0)
			h->device = list[i];
	}
	h->context = h->device != NULL ? ibv_open_device(h->device) : NULL;
	if (h->context == NULL)
		return fail("ibv_open_device");
	if (posix_memalign(&h->memory, 4096, MIB) != 0)
		return fail("memory");
	memset(h->memory, 1, MIB);
	h->pd = ibv_alloc_pd(h->context);
	h->cq = ibv_create_cq(h->context, 1, NULL, NULL, 0);
	if (h->pd == NULL || h->cq == NULL || ibv_query_device(h->context, &h->attr) != 0)
		return fail("the first objects");
	return 0;
}

int main(int argc, char **argv)
{
	const struct kind *kind = NULL;
	struct hand h = {0};
	int n = 0, promise = 0;
	char c;

	for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(argv[2], kinds[i].name) == 0)
			kind = &kinds[i];
	}
	if (kind == NULL) {
		fputs("usage: greedy DEVICE pds|cqs|qps|mrs|mws|srqs|bytes|sessions\n", stderr);
		return 2;
	}
	if (open_hand(&h, argv[1]) != 0)
		return 1;
	while (n < MOST && kind->take(&h) != NULL)
		n++;
	if (kind->promise != 0)
		memcpy(&promise, (const char *)&h.attr + kind->promise, sizeof(promise));
	printf("%d of %d: %s\n", n, promise, n < MOST ? strerror(errno) : "no end");
	fflush(stdout);
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
