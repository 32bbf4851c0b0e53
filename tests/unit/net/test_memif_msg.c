/* SPDX-License-Identifier: BSD-3-Clause */
/* memif's arguments, and what a peer may say when: whatever the driver would not survive is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "net_memif.h"
#include "net_memif_msg.h"

#define LOG2       4u
#define RING_BYTES (NET_MEMIF_RING_BYTES + (NET_MEMIF_DESC_BYTES << LOG2))
#define C2S        1

struct said {
	struct net_memif_msg msg;
	bool no_fd;
	const char *refused;       /* NULL: passes */
};

#define SAY_INIT {.type = NET_MEMIF_INIT}
#define REGION(i, bytes) {.type = NET_MEMIF_ADD_REGION, .add_region = {.index = (i), .size = (bytes)}}
#define RING(c2s, i, reg, at, log) \
	{.type = NET_MEMIF_ADD_RING, \
		.add_ring = {.flags = (c2s), .index = (i), .region = (reg), .offset = (at), .log2 = (log)}}
#define OTHER(t) {.type = (t)}

static int file_fd;        /* of 4096 bytes */

static void hear_all(struct net_memif_talk *talk, const struct said *said, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const char *refused = net_memif_hear(talk, &said[i].msg, said[i].no_fd ? -1 : file_fd);

		if (said[i].refused == NULL)
			assert_null(refused);
		else
			assert_string_equal(refused, said[i].refused);
	}
}

static void test_client_shakes_hands(void **state)
{
	static const struct said said[] = {
		{.msg = REGION(0, 4096), .refused = "Unexpected message"},
		{.msg = OTHER(NET_MEMIF_CONNECT), .refused = "Unexpected message"},
		{.msg = SAY_INIT},
		{.msg = SAY_INIT, .refused = "Unexpected message"},
		{.msg = OTHER(NET_MEMIF_ACK)},
		{.msg = RING(C2S, 0, 0, 0, LOG2), .refused = "Invalid ring"},
		{.msg = REGION(0, 4096), .no_fd = true, .refused = "Missing region fd"},
		{.msg = REGION(1, 4096), .refused = "Invalid region index"},
		{.msg = REGION(0, 4097), .refused = "Invalid region size"},
		{.msg = REGION(0, UINT64_MAX), .refused = "Invalid region size"},
		{.msg = REGION(0, 0), .refused = "Invalid region size"},
		{.msg = REGION(0, 4096)},
		{.msg = OTHER(NET_MEMIF_CONNECT), .refused = "Not enough rings"},
		{.msg = RING(C2S, 0, 0, 0, LOG2), .no_fd = true, .refused = "Missing interrupt fd"},
		{.msg = RING(C2S, 0, 1, 0, LOG2), .refused = "Invalid ring"},
		{.msg = RING(C2S, 0, 0, 0, 15), .refused = "Invalid ring"},
		{.msg = RING(C2S, 0, 0, 4096 - RING_BYTES + 1, LOG2), .refused = "Invalid ring"},
		{.msg = RING(C2S, 0, 0, UINT32_MAX, LOG2), .refused = "Invalid ring"},
		{.msg = RING(C2S, 2, 0, 0, LOG2), .refused = "Invalid ring index"},
		{.msg = RING(C2S, 0, 0, 4096 - RING_BYTES, LOG2)},
		{.msg = RING(C2S, 0, 0, 0, LOG2), .refused = "Invalid ring index"},
		{.msg = RING(C2S, 1, 0, 0, LOG2)},
		{.msg = OTHER(NET_MEMIF_CONNECT), .refused = "Not enough rings"},
		{.msg = RING(0, 0, 0, RING_BYTES, LOG2)},
		{.msg = OTHER(NET_MEMIF_CONNECTED), .refused = "Unexpected message"},
		{.msg = OTHER(77), .refused = "Unexpected message"},
		{.msg = OTHER(NET_MEMIF_CONNECT)},
		{.msg = OTHER(NET_MEMIF_CONNECT), .refused = "Unexpected message"},
		{.msg = REGION(1, 4096), .refused = "Unexpected message"},
	};
	struct net_memif_talk talk = {.server = true, .n_c2s = 2, .n_s2c = 1};

	(void)state;
	hear_all(&talk, said, sizeof(said) / sizeof(said[0]));
}

static void test_server_shakes_hands(void **state)
{
	static const struct said before[] = {
		{.msg = OTHER(NET_MEMIF_ACK), .refused = "Unexpected message"},
		{.msg = OTHER(NET_MEMIF_CONNECTED), .refused = "Unexpected message"},
		{.msg = {.type = NET_MEMIF_HELLO, .hello = {.max_c2s_ring = 1, .max_s2c_ring = 0}},
			.refused = "Not enough rings"},
		{.msg = {.type = NET_MEMIF_HELLO, .hello = {.max_c2s_ring = 255, .max_s2c_ring = 1}}},
		{.msg = {.type = NET_MEMIF_HELLO, .hello = {.max_c2s_ring = 255, .max_s2c_ring = 1}},
			.refused = "Unexpected message"},
		{.msg = OTHER(NET_MEMIF_ACK)},
		{.msg = SAY_INIT, .refused = "Unexpected message"},
		{.msg = OTHER(NET_MEMIF_CONNECTED), .refused = "Unexpected message"},
	};
	static const struct said after[] = {
		{.msg = OTHER(NET_MEMIF_CONNECTED)},
		{.msg = OTHER(NET_MEMIF_CONNECTED), .refused = "Unexpected message"},
		{.msg = OTHER(NET_MEMIF_HELLO), .refused = "Unexpected message"},
	};
	struct net_memif_talk talk = {.n_c2s = 2, .n_s2c = 2};

	(void)state;
	hear_all(&talk, before, sizeof(before) / sizeof(before[0]));
	talk.connect_sent = true;
	hear_all(&talk, after, sizeof(after) / sizeof(after[0]));
}

/* What a peer says goes to the log. */
static void test_reason_is_printable(void **state)
{
	struct net_memif_msg msg;
	char reason[NET_MEMIF_TEXT_BYTES];

	(void)state;
	net_memif_make_disconnect(&msg, "a\nb\x1b[c");
	net_memif_reason(&msg, reason);
	assert_string_equal(reason, "a?b?[c");
	memset(msg.disconnect.reason, 'x', sizeof(msg.disconnect.reason));
	net_memif_reason(&msg, reason);
	assert_int_equal(strlen(reason), sizeof(reason) - 1);
}

static void test_arguments(void **state)
{
	struct net_memif_args args;
	char out[128], msg[NET_MSG_BYTES];

	(void)state;
	assert_false(net_memif_args("net_tap0,role=client", &args));
	assert_true(net_memif_args("net_memif0", &args));
	assert_string_equal(args.name, "/run/memif.sock");
	assert_true(args.client && args.abstract);
	assert_true(net_memif_args("net_memif1,role=server,id=7,socket=/x/y,socket-abstract=no,owner-uid=5", &args));
	assert_string_equal(args.name, "/x/y");
	assert_false(args.client || args.abstract);
	assert_int_equal(args.id, 7);
	assert_int_equal(args.uid, 5);
	assert_int_equal(args.gid, UINT32_MAX);
	assert_int_equal(net_memif_redirect("net_memif1,role=server,socket=/x/y,id=7,socket-abstract=yes,owner-gid=1", "/z",
		out, sizeof(out)), 0);
	assert_string_equal(out, "net_memif1,role=server,id=7,socket=/z,socket-abstract=no");
	assert_int_equal(net_memif_redirect("net_memif1,id=7", "/z", out, 30), -36);
	assert_int_equal(net_memif_check("net_memif0,socket-abstract=maybe", msg), -22);
	assert_int_equal(net_memif_check("net_memif0,socket=", msg), -22);
	assert_true(net_memif_same("net_memif0,role=server,id=1", "net_memif1,id=1,role=server"));
	assert_false(net_memif_same("net_memif0,role=server,id=1", "net_memif1,id=1"));
	assert_false(net_memif_same("net_memif0,role=server,id=1", "net_memif1,id=2,role=server"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_client_shakes_hands),
		cmocka_unit_test(test_server_shakes_hands),
		cmocka_unit_test(test_reason_is_printable),
		cmocka_unit_test(test_arguments),
	};

	file_fd = memfd_create("region", MFD_CLOEXEC);
	if (ftruncate(file_fd, 4096) != 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
