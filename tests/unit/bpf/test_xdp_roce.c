/* SPDX-License-Identifier: BSD-3-Clause */
/* The XDP program, frame by frame, in the kernel that will run it (BPF_PROG_TEST_RUN): what is a frame, and who gets it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <linux/if_xdp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "xdp_load.h"

#ifndef SOL_XDP
#define SOL_XDP 283
#endif

#define FRAME_MAX 2048

/* ---- frames, as their parts ---- */

#define MACS        "\x02\x00\x00\x00\x00\x01" "\x02\x00\x00\x00\x00\x02"
#define CTAG        "\x81\x00" "\x60\x07"
#define STAG        "\x88\xa8" "\x00\x05"
#define T_IP4       "\x08\x00"
#define T_IP6       "\x86\xdd"
#define T_ARP       "\x08\x06"
#define FRAG_NONE   "\x40\x00" /* DF */
#define FRAG_FIRST  "\x20\x00"
#define FRAG_LAST   "\x00\xb9"
#define IGMP        "\x02"
#define TCP         "\x06"
#define UDP         "\x11"
#define ADDRS4      "\x0a\x4d\x00\x01" "\x0a\x4d\x00\x02"
#define IP4(ihl, total, frag, proto) ihl "\x00" total "\x00\x00" frag "\x40" proto "\x00\x00" ADDRS4
#define IP4_UDP     IP4("\x45", "\x00\x1c", FRAG_NONE, UDP)
#define OPTIONS4    "\x94\x04\x00\x00" /* router alert */
#define ADDR6       "\xfd\x77\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01"
#define IP6(length, next) "\x60\x00\x00\x00" length next "\x40" ADDR6 ADDR6
#define HOP         "\x00"
#define ROUTING     "\x2b"
#define FRAGMENT6   "\x2c"
#define ICMP6       "\x3a"
#define DESTOPTS    "\x3c"
#define EXT(next)   next "\x00" "\x05\x02\x00\x00\x01\x00"
#define EXT16(next) next "\x01" "\x05\x02\x00\x00\x01\x0a\x00\x00\x00\x00\x00\x00\x00\x00"
#define UDP_TO(port) "\xc0\x00" port "\x00\x08" "\x00\x00"
#define UDP_LENGTH(length) "\xc0\x00" ROCE length "\x00\x00"
#define ROCE        "\x12\xb7"
#define PORT_999    "\x03\xe7"
#define PORT_1000   "\x03\xe8"
#define PORT_1063   "\x04\x27"
#define PORT_1064   "\x04\x28"
#define PORT_4793   "\x12\xb9"
#define REST8       "\x00\x00\x00\x00\x00\x00\x00"
#define ICMP6_OF(type) type REST8

enum { PLAIN, PROTECTED, ALL };

static const struct xdp_roce_settings settings[] = {
	[PLAIN] = {.all = 0},
	[PROTECTED] = {.protected_port = 1000, .n_protected_ports = 64, .keys_port = 4793},
	[ALL] = {.all = 1},
};

#define F(bytes) (const uint8_t *)(bytes), sizeof(bytes) - 1
#define TO_US    XDP_REDIRECT
#define KERNEL   XDP_PASS

static const struct row {
	const char *name;
	const uint8_t *frame;
	size_t n;
	int set;
	enum xdp_roce_kind kind;
	uint32_t action;
} rows[] = {
	/* RoCE */
	{"v2, IPv4", F(MACS T_IP4 IP4_UDP UDP_TO(ROCE)), PLAIN, XDP_ROCE_V2, TO_US},
	{"v2, IPv6", F(MACS T_IP6 IP6("\x00\x08", UDP) UDP_TO(ROCE)), PLAIN, XDP_ROCE_V2, TO_US},
	{"v2, IPv4, tag", F(MACS CTAG T_IP4 IP4_UDP UDP_TO(ROCE)), PLAIN, XDP_ROCE_V2, TO_US},
	{"v2, IPv6, tag", F(MACS CTAG T_IP6 IP6("\x00\x08", UDP) UDP_TO(ROCE)), PLAIN, XDP_ROCE_V2, TO_US},
	{"v2, IPv4, two tags", F(MACS STAG CTAG T_IP4 IP4_UDP UDP_TO(ROCE)), PLAIN, XDP_ROCE_V2, TO_US},
	{"v2, IPv6, two tags", F(MACS STAG CTAG T_IP6 IP6("\x00\x08", UDP) UDP_TO(ROCE)), PLAIN, XDP_ROCE_V2, TO_US},
	{"v2, three tags", F(MACS STAG CTAG CTAG T_IP4 IP4_UDP UDP_TO(ROCE)), PLAIN, XDP_ROCE_OTHER, KERNEL},
	{"v2, IPv4 options", F(MACS T_IP4 IP4("\x46", "\x00\x20", FRAG_NONE, UDP) OPTIONS4 UDP_TO(ROCE)), PLAIN,
		XDP_ROCE_V2, TO_US},
	{"v2, most IPv4 options", F(MACS T_IP4 IP4("\x4f", "\x00\x44", FRAG_NONE, UDP) OPTIONS4 OPTIONS4 OPTIONS4
		OPTIONS4 OPTIONS4 OPTIONS4 OPTIONS4 OPTIONS4 OPTIONS4 OPTIONS4 UDP_TO(ROCE)), PLAIN, XDP_ROCE_V2, TO_US},
	{"the port where options are", F(MACS T_IP4 IP4("\x47", "\x00\x24", FRAG_NONE, UDP) UDP_TO(ROCE) UDP_TO(PORT_999)),
		PLAIN, XDP_ROCE_OTHER, KERNEL},
	{"v2, Ethernet padding", F(MACS T_IP4 IP4_UDP UDP_TO(ROCE) REST8 REST8), PLAIN, XDP_ROCE_V2, TO_US},
	{"v2, IPv6 hop-by-hop", F(MACS T_IP6 IP6("\x00\x10", HOP) EXT(UDP) UDP_TO(ROCE)), PLAIN, XDP_ROCE_V2, TO_US},
	{"v2, IPv6 extensions, one of 16 bytes", F(MACS T_IP6 IP6("\x00\x28", HOP) EXT(DESTOPTS) EXT16(ROUTING) EXT(UDP)
		UDP_TO(ROCE)), PLAIN, XDP_ROCE_V2, TO_US},
	{"v2, more IPv6 extensions than we follow", F(MACS T_IP6 IP6("\x00\x30", DESTOPTS) EXT(DESTOPTS) EXT(DESTOPTS)
		EXT(DESTOPTS) EXT(DESTOPTS) EXT(UDP) UDP_TO(ROCE)), PLAIN, XDP_ROCE_OTHER, KERNEL},
	{"v1", F(MACS "\x89\x15" REST8), PLAIN, XDP_ROCE_V1, TO_US},
	{"v1, tag", F(MACS CTAG "\x89\x15" REST8), PLAIN, XDP_ROCE_V1, TO_US},
	{"pause", F("\x01\x80\xc2\x00\x00\x01" "\x02\x00\x00\x00\x00\x02" "\x88\x08" "\x01\x01" REST8), PLAIN,
		XDP_ROCE_MAC_CONTROL, TO_US},
	/* protection: 64 ports from the first on, and that of keys */
	{"protected, off", F(MACS T_IP4 IP4_UDP UDP_TO(PORT_1000)), PLAIN, XDP_ROCE_OTHER, KERNEL},
	{"keys, off", F(MACS T_IP4 IP4_UDP UDP_TO(PORT_4793)), PLAIN, XDP_ROCE_OTHER, KERNEL},
	{"port 0, off", F(MACS T_IP4 IP4_UDP UDP_TO("\x00\x00")), PLAIN, XDP_ROCE_OTHER, KERNEL},
	{"below", F(MACS T_IP4 IP4_UDP UDP_TO(PORT_999)), PROTECTED, XDP_ROCE_OTHER, KERNEL},
	{"first", F(MACS T_IP4 IP4_UDP UDP_TO(PORT_1000)), PROTECTED, XDP_ROCE_PROTECTED, TO_US},
	{"last", F(MACS T_IP6 IP6("\x00\x08", UDP) UDP_TO(PORT_1063)), PROTECTED, XDP_ROCE_PROTECTED, TO_US},
	{"above", F(MACS T_IP4 IP4_UDP UDP_TO(PORT_1064)), PROTECTED, XDP_ROCE_OTHER, KERNEL},
	{"keys", F(MACS CTAG T_IP4 IP4_UDP UDP_TO(PORT_4793)), PROTECTED, XDP_ROCE_KEYS, TO_US},
	{"RoCE beside it", F(MACS T_IP4 IP4_UDP UDP_TO(ROCE)), PROTECTED, XDP_ROCE_V2, TO_US},
	/* what both hear */
	{"ARP", F(MACS T_ARP REST8 REST8 REST8 REST8), PLAIN, XDP_ROCE_NEIGHBOUR, KERNEL},
	{"ARP, tag", F(MACS CTAG T_ARP REST8 REST8 REST8 REST8), PLAIN, XDP_ROCE_NEIGHBOUR, KERNEL},
	{"neighbour solicitation", F(MACS T_IP6 IP6("\x00\x08", ICMP6) ICMP6_OF("\x87")), PLAIN, XDP_ROCE_NEIGHBOUR, KERNEL},
	{"neighbour advertisement", F(MACS T_IP6 IP6("\x00\x08", ICMP6) ICMP6_OF("\x88")), PLAIN, XDP_ROCE_NEIGHBOUR,
		KERNEL},
	{"IGMP query", F(MACS T_IP4 IP4("\x46", "\x00\x20", FRAG_NONE, IGMP) OPTIONS4 "\x11" REST8), PLAIN,
		XDP_ROCE_GROUP_QUERY, KERNEL},
	{"IGMP report", F(MACS T_IP4 IP4("\x46", "\x00\x20", FRAG_NONE, IGMP) OPTIONS4 "\x22" REST8), PLAIN, XDP_ROCE_OTHER,
		KERNEL},
	{"MLD query", F(MACS T_IP6 IP6("\x00\x10", HOP) EXT(ICMP6) ICMP6_OF("\x82")), PLAIN, XDP_ROCE_GROUP_QUERY, KERNEL},
	/* the kernel's */
	{"TCP to port 4791", F(MACS T_IP4 IP4("\x45", "\x00\x1c", FRAG_NONE, TCP) UDP_TO(ROCE)), PLAIN, XDP_ROCE_OTHER, KERNEL},
	{"UDP from port 4791", F(MACS T_IP4 IP4_UDP ROCE PORT_999 "\x00\x08" "\x00\x00"), PLAIN, XDP_ROCE_OTHER, KERNEL},
	{"echo, IPv4", F(MACS T_IP4 IP4("\x45", "\x00\x1c", FRAG_NONE, "\x01") "\x08" REST8), PLAIN, XDP_ROCE_OTHER, KERNEL},
	{"echo, IPv6", F(MACS T_IP6 IP6("\x00\x08", ICMP6) ICMP6_OF("\x80")), PLAIN, XDP_ROCE_OTHER, KERNEL},
	{"LLDP", F(MACS "\x88\xcc" REST8), PLAIN, XDP_ROCE_OTHER, KERNEL},
	/* fragments: no port in any but the first, so none is taken */
	{"first fragment", F(MACS T_IP4 IP4("\x45", "\x00\x1c", FRAG_FIRST, UDP) UDP_TO(ROCE)), PLAIN, XDP_ROCE_FRAGMENT,
		KERNEL},
	{"last fragment", F(MACS T_IP4 IP4("\x45", "\x00\x1c", FRAG_LAST, UDP) UDP_TO(ROCE)), PLAIN, XDP_ROCE_FRAGMENT, KERNEL},
	{"fragment, tag", F(MACS CTAG T_IP4 IP4("\x45", "\x00\x1c", FRAG_FIRST, UDP) UDP_TO(ROCE)), PLAIN, XDP_ROCE_FRAGMENT,
		KERNEL},
	{"IPv6 fragment", F(MACS T_IP6 IP6("\x00\x10", FRAGMENT6) EXT(UDP) UDP_TO(ROCE)), PLAIN, XDP_ROCE_FRAGMENT, KERNEL},
	{"IPv6 fragment, an option in front", F(MACS T_IP6 IP6("\x00\x18", DESTOPTS) EXT(FRAGMENT6) EXT(UDP) UDP_TO(ROCE)),
		PLAIN, XDP_ROCE_FRAGMENT, KERNEL},
	/* headers that lie or end early */
	{"tag without type", F(MACS "\x81\x00\x00"), PLAIN, XDP_ROCE_MALFORMED, KERNEL},
	{"second tag without type", F(MACS STAG "\x81\x00\x00"), PLAIN, XDP_ROCE_MALFORMED, KERNEL},
	{"IPv4 header cut", F(MACS T_IP4 "\x45\x00\x00\x1c\x00\x00\x40\x00\x40\x11"), PLAIN, XDP_ROCE_MALFORMED, KERNEL},
	{"IPv4 of version 5", F(MACS T_IP4 IP4("\x55", "\x00\x1c", FRAG_NONE, UDP) UDP_TO(ROCE)), PLAIN, XDP_ROCE_MALFORMED,
		KERNEL},
	{"IPv4 header of 16 bytes", F(MACS T_IP4 IP4("\x44", "\x00\x1c", FRAG_NONE, UDP) UDP_TO(ROCE)), PLAIN,
		XDP_ROCE_MALFORMED, KERNEL},
	{"IPv4 header behind its packet", F(MACS T_IP4 IP4("\x4f", "\x00\x1c", FRAG_NONE, UDP) UDP_TO(ROCE)), PLAIN,
		XDP_ROCE_MALFORMED, KERNEL},
	{"TCP, IPv4 header behind its packet", F(MACS T_IP4 IP4("\x46", "\x00\x14", FRAG_NONE, TCP) OPTIONS4 REST8), PLAIN,
		XDP_ROCE_MALFORMED, KERNEL},
	{"IPv4 longer than the frame", F(MACS T_IP4 IP4("\x45", "\x00\x1d", FRAG_NONE, UDP) UDP_TO(ROCE)), PLAIN,
		XDP_ROCE_MALFORMED, KERNEL},
	{"IPv4 packet that ends in UDP's header", F(MACS T_IP4 IP4("\x45", "\x00\x1b", FRAG_NONE, UDP) UDP_TO(ROCE)), PLAIN,
		XDP_ROCE_MALFORMED, KERNEL},
	{"UDP length 7", F(MACS T_IP4 IP4_UDP UDP_LENGTH("\x00\x07")), PLAIN, XDP_ROCE_MALFORMED, KERNEL},
	{"IPv6 header cut", F(MACS T_IP6 "\x60\x00\x00\x00\x00\x08\x11\x40" ADDR6), PLAIN, XDP_ROCE_MALFORMED, KERNEL},
	{"IPv6 of version 4", F(MACS T_IP6 "\x40\x00\x00\x00\x00\x08\x11\x40" ADDR6 ADDR6 UDP_TO(ROCE)), PLAIN,
		XDP_ROCE_MALFORMED, KERNEL},
	{"IPv6 longer than the frame", F(MACS T_IP6 IP6("\x00\x09", UDP) UDP_TO(ROCE)), PLAIN, XDP_ROCE_MALFORMED, KERNEL},
	{"IPv6 packet that ends in UDP's header", F(MACS T_IP6 IP6("\x00\x07", UDP) UDP_TO(ROCE)), PLAIN, XDP_ROCE_MALFORMED,
		KERNEL},
	{"IPv6 extension behind the packet", F(MACS T_IP6 IP6("\x00\x08", HOP) "\x11\xff" "\x00\x00\x00\x00\x00\x00"), PLAIN,
		XDP_ROCE_MALFORMED, KERNEL},
	{"IPv6 extension and UDP where Ethernet padding is", F(MACS T_IP6 IP6("\x00\x08", HOP) EXT16(UDP) UDP_TO(ROCE)), PLAIN,
		XDP_ROCE_MALFORMED, KERNEL},
	{"IPv6 extension without the rest", F(MACS T_IP6 IP6("\x00\x02", HOP) "\x11\x00"), PLAIN, XDP_ROCE_MALFORMED, KERNEL},
	{"ICMPv6 cut", F(MACS T_IP6 IP6("\x00\x04", ICMP6) "\x87\x00\x00\x00"), PLAIN, XDP_ROCE_MALFORMED, KERNEL},
	/* all of the interface */
	{"all: RoCE", F(MACS T_IP4 IP4_UDP UDP_TO(ROCE)), ALL, XDP_ROCE_V2, TO_US},
	{"all: ARP", F(MACS T_ARP REST8 REST8 REST8 REST8), ALL, XDP_ROCE_NEIGHBOUR, TO_US},
	{"all: TCP", F(MACS T_IP4 IP4("\x45", "\x00\x1c", FRAG_NONE, TCP) UDP_TO(ROCE)), ALL, XDP_ROCE_OTHER, TO_US},
	{"all: fragment", F(MACS T_IP4 IP4("\x45", "\x00\x1c", FRAG_FIRST, UDP) UDP_TO(ROCE)), ALL, XDP_ROCE_FRAGMENT, TO_US},
	{"all: malformed", F(MACS T_IP4 IP4("\x44", "\x00\x1c", FRAG_NONE, UDP) UDP_TO(ROCE)), ALL, XDP_ROCE_MALFORMED, TO_US},
};

#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* ---- the kernel ---- */

static struct bpf_object *object;
static int prog_fd, counts_fd, settings_fd, xsks_fd, socket_fd;
static struct ring_buffer *ring;

static struct {
	uint32_t n, bytes;
	uint8_t frame[XDP_ROCE_COPY_BYTES];
} copied;

static int on_copy(void *arg, void *data, size_t n)
{
	const struct xdp_roce_copy *copy = data;

	(void)arg;
	assert_int_equal(n, sizeof(*copy));
	copied.n++;
	copied.bytes = copy->bytes;
	memcpy(copied.frame, copy->frame, sizeof(copied.frame));
	return 0;
}

static int map_fd(const char *name)
{
	return bpf_object__find_map_fd_by_name(object, name);
}

/* A socket with a ring is enough for the map; where the frames would go is not asked here. */
static int open_socket(void)
{
	int fd = socket(AF_XDP, SOCK_RAW, 0), entries = 64;

	if (fd >= 0 && setsockopt(fd, SOL_XDP, XDP_RX_RING, &entries, sizeof(entries)) != 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void set(const struct xdp_roce_settings *to)
{
	uint32_t first = 0;

	assert_int_equal(bpf_map_update_elem(settings_fd, &first, to, BPF_ANY), 0);
}

static void read_counts(uint64_t sums[XDP_ROCE_KINDS])
{
	int n_cpus = libbpf_num_possible_cpus();
	uint64_t of_cpus[1024];

	assert_in_range(n_cpus, 1, 1024);
	for (uint32_t kind = 0; kind < XDP_ROCE_KINDS; kind++) {
		assert_int_equal(bpf_map_lookup_elem(counts_fd, &kind, of_cpus), 0);
		sums[kind] = 0;
		for (int cpu = 0; cpu < n_cpus; cpu++)
			sums[kind] += of_cpus[cpu];
	}
}

/* Runs the program once; what it has counted meanwhile. */
static uint32_t run(const uint8_t *frame, size_t n, uint64_t counted[XDP_ROCE_KINDS])
{
	uint64_t before[XDP_ROCE_KINDS];
	uint8_t out[FRAME_MAX];
	LIBBPF_OPTS(bpf_test_run_opts, opts, .data_in = frame, .data_size_in = (uint32_t)n, .data_out = out,
		.data_size_out = sizeof(out), .repeat = 1);

	read_counts(before);
	assert_int_equal(bpf_prog_test_run_opts(prog_fd, &opts), 0);
	assert_int_equal(opts.data_size_out, n);
	assert_memory_equal(out, frame, n);
	read_counts(counted);
	for (uint32_t kind = 0; kind < XDP_ROCE_KINDS; kind++)
		counted[kind] -= before[kind];
	return opts.retval;
}

static uint64_t sum_of_frames(const uint64_t counted[XDP_ROCE_KINDS])
{
	uint64_t sum = 0;

	for (uint32_t kind = 0; kind < XDP_ROCE_FRAMES; kind++)
		sum += counted[kind];
	return sum;
}

static int with_socket(void **state)
{
	uint32_t queue = 0;

	(void)state;
	return bpf_map_update_elem(xsks_fd, &queue, &socket_fd, BPF_ANY);
}

static int without_socket(void **state)
{
	uint32_t queue = 0;

	(void)state;
	return bpf_map_delete_elem(xsks_fd, &queue);
}

/* ---- tests ---- */

static void frames_go_where_they_belong(void **state)
{
	uint64_t counted[XDP_ROCE_KINDS];
	int wrong = 0;

	(void)state;
	for (size_t r = 0; r < N_ROWS; r++) {
		const struct row *row = &rows[r];
		uint32_t action;

		set(&settings[row->set]);
		action = run(row->frame, row->n, counted);
		ring_buffer__consume(ring);
		if (action == row->action && counted[row->kind] == 1 && sum_of_frames(counted) == 1)
			continue;
		wrong++;
		printf("%s: action %u, not %u; %s counted %lu times of %lu\n", row->name, action, row->action,
			xdp_roce_kind_name(row->kind), (unsigned long)counted[row->kind],
			(unsigned long)sum_of_frames(counted));
	}
	assert_int_equal(wrong, 0);
}

/* Of any frame any beginning is taken or passed, as one kind; and it is never redirected as RoCE v2 without its UDP header. */
static void frames_may_end_anywhere(void **state)
{
	uint64_t counted[XDP_ROCE_KINDS];

	(void)state;
	for (size_t r = 0; r < N_ROWS; r++) {
		set(&settings[rows[r].set]);
		for (size_t n = 14; n < rows[r].n; n++) {
			uint32_t action = run(rows[r].frame, n, counted);

			assert_true(action == XDP_PASS || action == XDP_REDIRECT);
			assert_int_equal(sum_of_frames(counted), 1);
			assert_true(counted[XDP_ROCE_V2] == 0 || n >= 14 + 20 + 8);
		}
		ring_buffer__consume(ring);
	}
}

static void nobody_has_the_queue(void **state)
{
	static const uint8_t frame[] = MACS T_IP4 IP4_UDP UDP_TO(ROCE);
	uint64_t counted[XDP_ROCE_KINDS];

	(void)state;
	set(&settings[PLAIN]);
	assert_int_equal(run(frame, sizeof(frame) - 1, counted), XDP_PASS);
	assert_int_equal(counted[XDP_ROCE_V2], 1);
	assert_int_equal(counted[XDP_ROCE_NO_SOCKET], 1);
}

static void only_what_both_hear_is_copied(void **state)
{
	uint64_t counted[XDP_ROCE_KINDS];

	(void)state;
	for (size_t r = 0; r < N_ROWS; r++) {
		const struct row *row = &rows[r];
		bool both = row->set != ALL && row->kind >= XDP_ROCE_REDIRECTED && row->kind < XDP_ROCE_COPIED;

		set(&settings[row->set]);
		memset(&copied, 0, sizeof(copied));
		run(row->frame, row->n, counted);
		ring_buffer__consume(ring);
		assert_int_equal(copied.n, both ? 1 : 0);
		assert_int_equal(counted[XDP_ROCE_COPY_LOST], 0);
		if (both) {
			assert_int_equal(copied.bytes, row->n);
			assert_memory_equal(copied.frame, row->frame, row->n);
		}
	}
}

static void long_frames_are_copied_in_part(void **state)
{
	uint8_t frame[1500] = MACS T_ARP;
	uint64_t counted[XDP_ROCE_KINDS];

	(void)state;
	for (size_t i = 14; i < sizeof(frame); i++)
		frame[i] = (uint8_t)i;
	set(&settings[PLAIN]);
	memset(&copied, 0, sizeof(copied));
	assert_int_equal(run(frame, sizeof(frame), counted), XDP_PASS);
	ring_buffer__consume(ring);
	assert_int_equal(copied.n, 1);
	assert_int_equal(copied.bytes, XDP_ROCE_COPY_BYTES);
	assert_memory_equal(copied.frame, frame, XDP_ROCE_COPY_BYTES);
}

/* Whoever floods us with ARP costs copies, and no frames. */
static void copies_that_nobody_takes_are_lost(void **state)
{
	static const uint8_t frame[] = MACS T_ARP REST8 REST8 REST8 REST8;
	uint64_t counted[XDP_ROCE_KINDS];
	uint32_t kept = 0;

	(void)state;
	set(&settings[PLAIN]);
	do {
		assert_int_equal(run(frame, sizeof(frame) - 1, counted), XDP_PASS);
		kept += counted[XDP_ROCE_COPY_LOST] == 0;
	} while (counted[XDP_ROCE_COPY_LOST] == 0 && kept < 10000);
	assert_int_equal(counted[XDP_ROCE_NEIGHBOUR], 1);
	assert_in_range(kept, 100, 1000);
	memset(&copied, 0, sizeof(copied));
	ring_buffer__consume(ring);
	assert_int_equal(copied.n, kept);
	run(frame, sizeof(frame) - 1, counted);
	assert_int_equal(counted[XDP_ROCE_COPY_LOST], 0);
	ring_buffer__consume(ring);
}

static void kinds_have_names(void **state)
{
	(void)state;
	for (uint32_t kind = 0; kind < XDP_ROCE_KINDS; kind++) {
		assert_non_null(xdp_roce_kind_name(kind));
		for (uint32_t other = 0; other < kind; other++)
			assert_string_not_equal(xdp_roce_kind_name(kind), xdp_roce_kind_name(other));
	}
	assert_null(xdp_roce_kind_name(XDP_ROCE_KINDS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(frames_go_where_they_belong, with_socket),
		cmocka_unit_test_setup(frames_may_end_anywhere, with_socket),
		cmocka_unit_test_setup(only_what_both_hear_is_copied, with_socket),
		cmocka_unit_test_setup(long_frames_are_copied_in_part, with_socket),
		cmocka_unit_test_setup(copies_that_nobody_takes_are_lost, with_socket),
		cmocka_unit_test_setup(nobody_has_the_queue, without_socket),
		cmocka_unit_test(kinds_have_names),
	};
	int rc = xdp_load(&object);

	if (rc != 0)
		return rc;
	socket_fd = open_socket();
	if (socket_fd < 0) {
		printf("skipped: the kernel has no AF_XDP sockets for this process: %s\n", strerror(errno));
		return SKIPPED;
	}
	prog_fd = bpf_program__fd(bpf_object__find_program_by_name(object, XDP_ROCE_PROGRAM));
	counts_fd = map_fd("counts");
	settings_fd = map_fd("settings");
	xsks_fd = map_fd("xsks_map");
	ring = ring_buffer__new(map_fd("copies"), on_copy, NULL, NULL);
	rc = ring == NULL ? EXIT_FAILURE : cmocka_run_group_tests(tests, NULL, NULL);
	ring_buffer__free(ring);
	close(socket_fd);
	bpf_object__close(object);
	return rc;
}
