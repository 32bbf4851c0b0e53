/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program whose memory keeps whoever reads it waiting: it is mapped from a file system that the program serves
 * itself (FUSE) and whose READ it answers late or never, or a userfaultfd handles its faults and nobody does.
 *
 * usage: stall HOW WHEN DEVICE GID-INDEX UID      (root; goes on as user UID)
 *   HOW    fuse   READs are never answered
 *          slow   each takes a fifth of a second
 *          uffd   faults are never resolved
 *   WHEN   register   the memory is like that when it is registered
 *          send       it becomes so afterwards, and then messages are sent from it
 * Says "registered: ERROR" or "sent: STATUS of the first completion", or "dead" when its device went away.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <infiniband/verbs.h>
#include <linux/fuse.h>
#include <linux/userfaultfd.h>

#include "loop.h"
#include "must.h"

#define BYTES   (1u << 20)
#define SLOW_US 200000
#define LIFE_S  40
#define FILE_ID 2

/* ---- a file system with one file ---- */

struct server {
	int fd;
	int slow;
};

static void answer(const struct server *s, uint64_t unique, int error, const void *body, size_t n)
{
	static char out[1 << 18];
	struct fuse_out_header header = {
		.len = (uint32_t)(sizeof(header) + n), .error = error, .unique = unique};

	memcpy(out, &header, sizeof(header));
	if (n != 0)
		memcpy(out + sizeof(header), body, n);
	if (write(s->fd, out, header.len) < 0 && errno != ENOENT)
		perror("stall: answer");
}

static struct fuse_attr attr_of(uint64_t node)
{
	return (struct fuse_attr){.ino = node,
		.nlink = 1,
		.size = BYTES,
		.mode = node == FUSE_ROOT_ID ? S_IFDIR | 0755 : S_IFREG | 0666};
}

static void answer_read(const struct server *s, const struct fuse_in_header *in)
{
	static const char zeros[1 << 17];
	const struct fuse_read_in *read_in = (const void *)(in + 1);

	if (!s->slow)
		return;
	usleep(SLOW_US);
	answer(s, in->unique, 0, zeros, read_in->size < sizeof(zeros) ? read_in->size : sizeof(zeros));
}

static void serve_one(const struct server *s, const struct fuse_in_header *in)
{
	struct fuse_init_out init = {.major = 7, .minor = 31, .max_write = 4096};
	struct fuse_entry_out entry = {
		.nodeid = FILE_ID, .entry_valid = 1000, .attr_valid = 1000, .attr = attr_of(FILE_ID)};
	struct fuse_attr_out attr = {.attr_valid = 1000, .attr = attr_of(in->nodeid)};
	struct fuse_open_out open_out = {.fh = 1};

	switch (in->opcode) {
	case FUSE_INIT:
		answer(s, in->unique, 0, &init, sizeof(init));
		break;
	case FUSE_LOOKUP:
		answer(s, in->unique, 0, &entry, sizeof(entry));
		break;
	case FUSE_GETATTR:
		answer(s, in->unique, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
		answer(s, in->unique, 0, &open_out, sizeof(open_out));
		break;
	case FUSE_READ:
		answer_read(s, in);
		break;
	case FUSE_INTERRUPT:
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
		break;
	default:
		answer(s, in->unique, -ENOSYS, NULL, 0);
	}
}

/* In a process of its own: one that waits for itself could not be killed. Ends with the other one, and with the
 * connection. */
static void serve(int fd, int slow)
{
	static char buf[1 << 18] __attribute__((aligned(16)));
	const struct server s = {fd, slow};
	pid_t pid = fork();

	MUST(pid >= 0);
	if (pid != 0)
		return;
	MUST(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0);
	alarm(LIFE_S);
	while (read(fd, buf, sizeof(buf)) > 0)
		serve_one(&s, (const void *)buf);
	_exit(0);
}

/* In a mount namespace of our own, owned by the user as fusermount would make it. */
static int open_fuse(int slow, unsigned int uid)
{
	char dir[] = "/tmp/roced-stall-XXXXXX", path[64], options[128];
	int dev, fd;

	MUST(unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	MUST(mkdtemp(dir) != NULL);
	dev = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	MUST(dev >= 0);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=%u,group_id=%u,allow_other", dev, uid, uid);
	MUST(mount("stall", dir, "fuse", 0, options) == 0);
	serve(dev, slow);
	close(dev);
	snprintf(path, sizeof(path), "%s/file", dir);
	fd = open(path, O_RDWR | O_CLOEXEC);
	MUST(fd >= 0 && umount2(dir, MNT_DETACH) == 0 && rmdir(dir) == 0);
	return fd;
}

static int open_uffd(void)
{
	struct uffdio_api api = {.api = UFFD_API};
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	MUST(fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0);
	return fd;
}

static void lay_trap(void *memory, int fuse_fd, int uffd)
{
	struct uffdio_register range = {
		.range = {.start = (uintptr_t)memory, .len = BYTES}, .mode = UFFDIO_REGISTER_MODE_MISSING};
	int flags = MAP_PRIVATE | MAP_FIXED | (fuse_fd < 0 ? MAP_ANONYMOUS : 0);

	MUST(mmap(memory, BYTES, PROT_READ | PROT_WRITE, flags, fuse_fd, 0) == memory);
	if (uffd >= 0)
		MUST(ioctl(uffd, UFFDIO_REGISTER, &range) == 0);
}

/* ---- the client ---- */

/* libibverbs touches memory before it registers it, and would wait itself. */
int madvise(void *addr, size_t bytes, int advice)
{
	(void)addr;
	(void)bytes;
	(void)advice;
	return 0;
}

static void send_from(struct ibv_pd *pd, struct ibv_mr *mr, int gid_index)
{
	struct ibv_cq *cq = ibv_create_cq(pd->context, 16, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {.send_cq = cq,
		.recv_cq = cq,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1}};
	struct ibv_sge sge = {.addr = (uintptr_t)mr->addr, .length = BYTES, .lkey = mr->lkey};
	struct ibv_send_wr wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED}, *bad;
	struct ibv_qp *qp = cq != NULL ? ibv_create_qp(pd, &init) : NULL;
	struct ibv_wc wc;
	int n;

	MUST(qp != NULL);
	connect_to_itself(qp, gid_index, 0);
	MUST(ibv_post_send(qp, &wr, &bad) == 0);
	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0)
		usleep(1000);
	puts(n < 0 ? "dead" : "sent:");
	if (n > 0)
		puts(ibv_wc_status_str(wc.status));
}

int main(int argc, char **argv)
{
	int fuse_fd = -1, uffd = -1, at_once, gid_index;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	unsigned int uid;
	void *memory;

	if (argc != 6) {
		fputs("usage: stall fuse|slow|uffd register|send DEVICE GID-INDEX UID\n", stderr);
		return 2;
	}
	alarm(LIFE_S);
	setvbuf(stdout, NULL, _IOLBF, 0);
	at_once = argv[2][0] == 'r';
	gid_index = (int)strtol(argv[4], NULL, 10);
	uid = (unsigned int)strtoul(argv[5], NULL, 10);
	if (strcmp(argv[1], "uffd") == 0)
		uffd = open_uffd();
	else
		fuse_fd = open_fuse(argv[1][0] == 's', uid);
	MUST(setresuid(uid, uid, uid) == 0 && prctl(PR_SET_DUMPABLE, 1) == 0);
	memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	MUST(memory != MAP_FAILED);
	context = must_open_device(argv[3]);
	pd = ibv_alloc_pd(context);
	MUST(pd != NULL);
	if (at_once)
		lay_trap(memory, fuse_fd, uffd);
	mr = ibv_reg_mr(pd, memory, BYTES, IBV_ACCESS_LOCAL_WRITE);
	if (at_once) {
		printf("registered: %s\n", mr != NULL ? "yes" : strerror(errno));
		return 0;
	}
	MUST(mr != NULL);
	lay_trap(memory, fuse_fd, uffd);
	send_from(pd, mr, gid_index);
	return 0;
}
