/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer's address in the network of each plane follows from the one that is known. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "vd_internal.h"

struct world {
	struct vd vd;
	struct vd_session session;
	int links[TP_MAX_PLANES]; /* held, by plane */
	uint32_t fail;            /* this plane's link cannot be had; UINT32_MAX: all can */
};

static struct wire_addr addr(const char *text)
{
	struct wire_addr a = {.b = {[10] = 0xff, [11] = 0xff}};

	if (inet_pton(AF_INET, text, &a.b[12]) != 1)
		assert_int_equal(inet_pton(AF_INET6, text, a.b), 1);
	return a;
}

static void *hold_link(void *arg, uint32_t device, uint32_t plane, const struct wire_addr *src, const struct wire_addr *dst)
{
	struct world *w = arg;

	(void)src;
	(void)dst;
	assert_int_equal(device, 0);
	if (plane == w->fail)
		return NULL;
	w->links[plane]++;
	return &w->links[plane];
}

static void release_link(void *arg, void *link)
{
	(void)arg;
	--*(int *)link;
}

static void gid(struct vd_gid *out, const char *text, uint32_t len)
{
	*out = (struct vd_gid){addr(text), len};
}

/* Two planes, both with an IPv4 address, the second one with IPv6 too. */
static void begin(struct world *w)
{
	struct vd_device *d = &w->vd.devices[0];

	memset(w, 0, sizeof(*w));
	w->fail = UINT32_MAX;
	w->session.vd = &w->vd;
	w->vd.env.hold_link = hold_link;
	w->vd.env.release_link = release_link;
	w->vd.env_arg = w;
	gid(&d->gids[0], "10.0.1.77", 26);
	gid(&d->gids[1], "fd00::1:7", 64);
	d->n_gids = 2;
	d->n_planes = 2;
	gid(&d->planes[0].addrs[0], "10.9.3.141", 26);
	d->planes[0].n_addrs = 1;
	d->planes[0].mac[5] = 1;
	gid(&d->planes[1].addrs[0], "192.168.0.13", 26);
	gid(&d->planes[1].addrs[1], "fd01::1:7", 64);
	d->planes[1].n_addrs = 2;
	d->planes[1].mac[5] = 2;
}

static uint32_t hold(struct world *w, const char *src, const char *dst, uint32_t n, struct tp_av *planes, void **links)
{
	struct tp_av av = {.net = {.src = addr(src), .dst = addr(dst)}, .ttl = 9};

	memset(links, 0, (TP_MAX_PLANES - 1) * sizeof(*links));
	return vd_planes_hold(&w->session, &av, n, planes, links);
}

static void host_parts_stay(void **state)
{
	struct tp_av planes[TP_MAX_PLANES - 1];
	void *links[TP_MAX_PLANES - 1];
	struct wire_addr want;
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(hold(&w, "10.0.1.77", "10.0.1.100", 3, planes, links), 2);
	want = addr("10.9.3.141");
	assert_memory_equal(&planes[0].net.src, &want, sizeof(want));
	want = addr("10.9.3.164");
	assert_memory_equal(&planes[0].net.dst, &want, sizeof(want));
	want = addr("192.168.0.36");
	assert_memory_equal(&planes[1].net.dst, &want, sizeof(want));
	assert_int_equal(planes[1].net.smac[5], 2);
	assert_int_equal(planes[1].ttl, 9);
	assert_ptr_equal(planes[1].link, links[1]);
	vd_planes_release(&w.vd, links);
	assert_int_equal(w.links[0] | w.links[1], 0);
}

static void no_more_than_both_have(void **state)
{
	struct tp_av planes[TP_MAX_PLANES - 1];
	void *links[TP_MAX_PLANES - 1];
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(hold(&w, "10.0.1.77", "10.0.1.100", 0, planes, links), 0);
	assert_int_equal(hold(&w, "10.0.1.77", "10.0.1.100", 1, planes, links), 1);
	assert_int_equal(w.links[1], 0);
}

/* Behind a router nothing says where the peer's other ports are. */
static void other_networks_have_no_planes(void **state)
{
	struct tp_av planes[TP_MAX_PLANES - 1];
	void *links[TP_MAX_PLANES - 1];
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(hold(&w, "10.0.1.77", "10.0.1.128", 2, planes, links), 0);
	assert_int_equal(hold(&w, "10.0.1.78", "10.0.1.100", 2, planes, links), 0);
}

/* Both ends count planes from the first: one that lacks the family, or whose link cannot be had, leaves none. */
static void all_or_none(void **state)
{
	struct tp_av planes[TP_MAX_PLANES - 1];
	void *links[TP_MAX_PLANES - 1];
	struct world w;

	(void)state;
	begin(&w);
	assert_int_equal(hold(&w, "fd00::1:7", "fd00::1:8", 2, planes, links), 0);
	w.fail = 1;
	assert_int_equal(hold(&w, "10.0.1.77", "10.0.1.100", 2, planes, links), 0);
	assert_int_equal(w.links[0] | w.links[1], 0);
	gid(&w.vd.devices[0].planes[0].addrs[1], "fd02::1:7", 64);
	w.vd.devices[0].planes[0].n_addrs = 2;
	w.fail = UINT32_MAX;
	assert_int_equal(hold(&w, "fd00::1:7", "fd00::1:8", 2, planes, links), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_parts_stay),
		cmocka_unit_test(no_more_than_both_have),
		cmocka_unit_test(other_networks_have_no_planes),
		cmocka_unit_test(all_or_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
