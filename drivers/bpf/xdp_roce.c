/* SPDX-License-Identifier: BSD-3-Clause */
#include "xdp_roce.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <linux/if_link.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "xdp_roce_object.h"

#define MAX_MAPS 8

struct xdp_roce {
	int prog_fd, link_fd;
	int counts_fd, settings_fd, copies_fd;
	int n_cpus;
	struct ring_buffer *ring;
	/* of one xdp_roce_serve() */
	uint32_t left;
	void (*fn)(void *arg, const uint8_t *frame, size_t n);
	void *arg;
};

/* The program of an interface. */
struct attached {
	int prog_fd;               /* -1: there is none */
	__u32 mode_flags;          /* XDP_FLAGS_*_MODE */
	struct bpf_prog_info info;
	__u32 map_ids[MAX_MAPS];
};

bool xdp_roce_built(void)
{
	return true;
}

int xdp_roce_file(char path[XDP_ROCE_PATH_BYTES])
{
	int fd = memfd_create(XDP_ROCE_PROGRAM, MFD_CLOEXEC), rc;
	ssize_t n;

	if (fd < 0)
		return -errno;
	n = write(fd, xdp_roce_object, xdp_roce_object_bytes);
	if (n == (ssize_t)xdp_roce_object_bytes) {
		snprintf(path, XDP_ROCE_PATH_BYTES, "/proc/self/fd/%d", fd);
		return fd;
	}
	rc = n < 0 ? -errno : -EIO;
	close(fd);
	return rc;
}

/* ---- what is attached ---- */

static int find(unsigned int ifindex, struct attached *at)
{
	LIBBPF_OPTS(bpf_xdp_query_opts, query);
	__u32 bytes = sizeof(at->info);
	int rc;

	memset(at, 0, sizeof(*at));
	at->prog_fd = -1;
	rc = bpf_xdp_query((int)ifindex, 0, &query);
	if (rc != 0)
		return rc;
	if (query.attach_mode == XDP_ATTACHED_NONE)
		return 0;
	/* a program for each of several modes: which one libbpf does not tell in prog_id, and none is ours */
	if (query.prog_id == 0)
		return -EEXIST;
	at->mode_flags = query.attach_mode == XDP_ATTACHED_SKB ? XDP_FLAGS_SKB_MODE :
		query.attach_mode == XDP_ATTACHED_HW ? XDP_FLAGS_HW_MODE : XDP_FLAGS_DRV_MODE;
	at->prog_fd = bpf_prog_get_fd_by_id(query.prog_id);
	if (at->prog_fd < 0)
		return at->prog_fd;
	at->info.map_ids = (__u64)(uintptr_t)at->map_ids;
	at->info.nr_map_ids = MAX_MAPS;
	rc = bpf_obj_get_info_by_fd(at->prog_fd, &at->info, &bytes);
	if (rc != 0)
		close(at->prog_fd);
	return rc;
}

static bool is_ours(const struct attached *at)
{
	return at->prog_fd >= 0 && strcmp(at->info.name, XDP_ROCE_PROGRAM) == 0;
}

/* Just this program, and not one that came meanwhile. */
static int detach(unsigned int ifindex, const struct attached *at)
{
	LIBBPF_OPTS(bpf_xdp_attach_opts, opts, .old_prog_fd = at->prog_fd);

	return bpf_xdp_detach((int)ifindex, at->mode_flags, &opts);
}

int xdp_roce_clear(unsigned int ifindex, char name[XDP_ROCE_NAME_BYTES])
{
	struct attached at;
	int rc = find(ifindex, &at);

	name[0] = '\0';
	if (rc != 0 || at.prog_fd < 0)
		return rc;
	snprintf(name, XDP_ROCE_NAME_BYTES, "%s", at.info.name);
	/* the kernel lets nobody detach what a link holds, so a living process keeps its own */
	rc = is_ours(&at) ? detach(ifindex, &at) : -EEXIST;
	close(at.prog_fd);
	return rc;
}

/* ---- taking over ---- */

static int find_map(const struct attached *at, const char *name)
{
	for (__u32 i = 0; i < at->info.nr_map_ids && i < MAX_MAPS; i++) {
		struct bpf_map_info info = {0};
		__u32 bytes = sizeof(info);
		int fd = bpf_map_get_fd_by_id(at->map_ids[i]);

		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &info, &bytes) == 0 && strcmp(info.name, name) == 0)
			return fd;
		close(fd);
	}
	return -ENOENT;
}

/* Between the two the kernel has all frames; nobody sends or receives yet. */
static int change_to_link(unsigned int ifindex, const struct attached *at)
{
	LIBBPF_OPTS(bpf_link_create_opts, opts, .flags = at->mode_flags);
	int rc = detach(ifindex, at);

	return rc != 0 ? rc : bpf_link_create(at->prog_fd, (int)ifindex, BPF_XDP, &opts);
}

static int on_copy(void *arg, void *data, size_t n)
{
	struct xdp_roce *xdp = arg;
	const struct xdp_roce_copy *copy = data;

	if (n >= sizeof(*copy) && copy->bytes <= sizeof(copy->frame))
		xdp->fn(xdp->arg, copy->frame, copy->bytes);
	/* negative: no more for now */
	return --xdp->left == 0 ? -EAGAIN : 0;
}

static int open_maps(struct xdp_roce *xdp, const struct attached *at, const struct xdp_roce_settings *settings)
{
	__u32 first = 0;

	xdp->counts_fd = find_map(at, "counts");
	xdp->settings_fd = find_map(at, "settings");
	xdp->copies_fd = find_map(at, "copies");
	xdp->n_cpus = libbpf_num_possible_cpus();
	if (xdp->counts_fd < 0 || xdp->settings_fd < 0 || xdp->copies_fd < 0 || xdp->n_cpus <= 0)
		return -ENOENT;
	xdp->ring = ring_buffer__new(xdp->copies_fd, on_copy, xdp, NULL);
	if (xdp->ring == NULL)
		return -errno;
	return bpf_map_update_elem(xdp->settings_fd, &first, settings, BPF_ANY);
}

int xdp_roce_take(unsigned int ifindex, const struct xdp_roce_settings *settings, struct xdp_roce **out)
{
	struct xdp_roce *xdp = calloc(1, sizeof(*xdp));
	struct attached at;
	int rc;

	if (xdp == NULL)
		return -ENOMEM;
	xdp->prog_fd = xdp->link_fd = xdp->counts_fd = xdp->settings_fd = xdp->copies_fd = -1;
	rc = find(ifindex, &at);
	if (rc == 0)
		xdp->prog_fd = at.prog_fd;
	if (rc == 0 && !is_ours(&at))
		rc = -ENOENT;
	if (rc == 0)
		rc = open_maps(xdp, &at, settings);
	if (rc == 0) {
		xdp->link_fd = change_to_link(ifindex, &at);
		rc = xdp->link_fd < 0 ? xdp->link_fd : 0;
	}
	if (rc == 0)
		*out = xdp;
	else
		xdp_roce_release(xdp);
	return rc;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void xdp_roce_release(struct xdp_roce *xdp)
{
	if (xdp == NULL)
		return;
	ring_buffer__free(xdp->ring);
	close_fd(xdp->link_fd);
	close_fd(xdp->prog_fd);
	close_fd(xdp->counts_fd);
	close_fd(xdp->settings_fd);
	close_fd(xdp->copies_fd);
	free(xdp);
}

/* ---- in use ---- */

int xdp_roce_counts(const struct xdp_roce *xdp, uint64_t counts[XDP_ROCE_KINDS])
{
	uint64_t *of_cpus = calloc((size_t)xdp->n_cpus, sizeof(*of_cpus));
	int rc = of_cpus == NULL ? -ENOMEM : 0;

	for (__u32 kind = 0; kind < XDP_ROCE_KINDS && rc == 0; kind++) {
		rc = bpf_map_lookup_elem(xdp->counts_fd, &kind, of_cpus);
		counts[kind] = 0;
		for (int cpu = 0; cpu < xdp->n_cpus && rc == 0; cpu++)
			counts[kind] += of_cpus[cpu];
	}
	free(of_cpus);
	return rc;
}

int xdp_roce_fd(const struct xdp_roce *xdp)
{
	return ring_buffer__epoll_fd(xdp->ring);
}

void xdp_roce_serve(struct xdp_roce *xdp, uint32_t most, void (*fn)(void *arg, const uint8_t *frame, size_t n), void *arg)
{
	xdp->left = most;
	xdp->fn = fn;
	xdp->arg = arg;
	(void)ring_buffer__consume(xdp->ring);
}
