/* SPDX-License-Identifier: BSD-3-Clause */
/* What two ends agree to beyond the specification (docs/wire.md): offered in REQ, taken in REP, seen by no consumer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cm_world.h"
#include "wire_cm_ext.h"

#define RING        256
#define REQ_EXT_AT  (CM_MAD_BYTES - WIRE_CM_EXT_BYTES) /* private data ends the message */
#define MAD_TYPE    17

static const struct cm_ext offer = {.flags = CM_EXT_SACK, .psn_ring = RING};
static const uint8_t zeros[CM_REP_PRIVATE_BYTES];

static struct world *w;

static int setup(void **state)
{
	(void)state;
	w = world_new(NULL);
	world_listen(w, SIDE_B, 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	world_free(w);
	return 0;
}

static void connect_with(struct cm_ext a, struct cm_ext b, struct cm_qp_params *pa, struct cm_qp_params *pb)
{
	struct cm_id *ida, *idb;

	w->node[SIDE_A].ext = a;
	w->node[SIDE_B].ext = b;
	world_connect(w, &ida, &idb);
	assert_int_equal(cm_id_state(ida), CM_ESTABLISHED);
	assert_int_equal(cm_id_state(idb), CM_ESTABLISHED);
	assert_int_equal(cm_id_qp_params(ida, pa), 0);
	assert_int_equal(cm_id_qp_params(idb, pb), 0);
}

/* The consumers see their own bytes and zeros behind them. */
static void assert_not_shown(void)
{
	const struct seen_event *req = world_last(w, SIDE_B, CM_EVENT_CONNECT_REQUEST);
	const struct seen_event *rep = world_last(w, SIDE_A, CM_EVENT_CONNECT_RESPONSE);

	assert_int_equal(req->ev.private_bytes, CM_REQ_PRIVATE_BYTES - CM_HELLO_BYTES);
	assert_string_equal((const char *)req->private_data, "request");
	assert_memory_equal(req->private_data + 8, zeros, CM_REQ_PRIVATE_BYTES - CM_HELLO_BYTES - 8);
	assert_int_equal(rep->ev.private_bytes, CM_REP_PRIVATE_BYTES);
	assert_string_equal((const char *)rep->private_data, "reply");
	assert_memory_equal(rep->private_data + 6, zeros, CM_REP_PRIVATE_BYTES - 6);
}

static void test_both_agree(void **state)
{
	struct cm_qp_params pa, pb;

	(void)state;
	connect_with(offer, offer, &pa, &pb);
	assert_int_equal(pa.ext.flags, CM_EXT_SACK);
	assert_int_equal(pb.ext.flags, CM_EXT_SACK);
	assert_int_equal(pa.ext.psn_ring, RING);
	assert_int_equal(world_last(w, SIDE_B, CM_EVENT_CONNECT_REQUEST)->ev.qp.ext.flags, CM_EXT_SACK);
	assert_int_equal(world_last(w, SIDE_A, CM_EVENT_CONNECT_RESPONSE)->ev.qp.ext.flags, CM_EXT_SACK);
	assert_not_shown();
}

/* Who does not want it, or wants another thing, is not made to; both come to the same. */
static void test_no_agreement(void **state)
{
	static const struct {
		struct cm_ext a, b;
	} cases[] = {
		{{0}, {0}},
		{{.flags = CM_EXT_SACK, .psn_ring = RING}, {0}},
		{{.flags = CM_EXT_SACK, .psn_ring = RING}, {.flags = CM_EXT_MERGE, .psn_ring = RING}},
		{{.flags = CM_EXT_MERGE, .psn_ring = RING}, {.flags = CM_EXT_MERGE, .psn_ring = RING}},
		{{0}, {.flags = CM_EXT_SACK, .psn_ring = RING}},
		{{.flags = CM_EXT_SACK, .psn_ring = RING}, {.flags = CM_EXT_SACK, .psn_ring = RING / 2}},
		{{.flags = CM_EXT_SACK, .psn_ring = RING / 2}, {.flags = CM_EXT_SACK, .psn_ring = RING}},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct cm_qp_params pa, pb;

		connect_with(cases[i].a, cases[i].b, &pa, &pb);
		assert_int_equal(pa.ext.flags, 0);
		assert_int_equal(pb.ext.flags, 0);
		assert_not_shown();
	}
}

/* What one has and the other has not is left out. */
static void test_what_both_have(void **state)
{
	struct cm_ext more = offer, less = offer;
	struct cm_qp_params pa, pb;

	(void)state;
	more.flags |= CM_EXT_MERGE;
	connect_with(more, less, &pa, &pb);
	assert_int_equal(pa.ext.flags, CM_EXT_SACK);
	assert_int_equal(pb.ext.flags, CM_EXT_SACK);
	connect_with(less, more, &pa, &pb);
	assert_int_equal(pa.ext.flags, CM_EXT_SACK);
	assert_int_equal(pb.ext.flags, CM_EXT_SACK);
	connect_with(more, more, &pa, &pb);
	assert_int_equal(pa.ext.flags, CM_EXT_SACK | CM_EXT_MERGE);
	assert_int_equal(pb.ext.flags, CM_EXT_SACK | CM_EXT_MERGE);
}

/* Of planes there are as many as both have. */
static void test_lesser_number_of_planes(void **state)
{
	struct cm_ext more = offer, less = offer;
	struct cm_qp_params pa, pb;

	(void)state;
	more.planes = 3;
	less.planes = 1;
	connect_with(more, less, &pa, &pb);
	assert_int_equal(pa.ext.planes, 1);
	assert_int_equal(pb.ext.planes, 1);
	connect_with(less, more, &pa, &pb);
	assert_int_equal(pa.ext.planes, 1);
	assert_int_equal(pb.ext.planes, 1);
	connect_with(more, offer, &pa, &pb);
	assert_int_equal(pa.ext.planes, 0);
	assert_int_equal(pb.ext.planes, 0);
	assert_int_equal(pb.ext.flags, CM_EXT_SACK);
}

static uint8_t sent_req[CM_MAD_BYTES], sent_rep[CM_MAD_BYTES];

static void keep_sent(uint8_t mad[CM_MAD_BYTES])
{
	if (mad[MAD_TYPE] == WIRE_CM_REQ)
		memcpy(sent_req, mad, CM_MAD_BYTES);
	if (mad[MAD_TYPE] == WIRE_CM_REP)
		memcpy(sent_rep, mad, CM_MAD_BYTES);
}

/* A side that was not offered anything puts nothing into its REP, and one that has nothing to offer nothing into REQ: a
 * foreign peer's bytes stay as they would be. */
static void test_nothing_without_offer(void **state)
{
	struct cm_qp_params pa, pb;

	(void)state;
	w->tamper = keep_sent;
	connect_with((struct cm_ext){0}, offer, &pa, &pb);
	assert_memory_equal(sent_req + REQ_EXT_AT, zeros, WIRE_CM_EXT_BYTES);
	assert_memory_equal(sent_rep + REQ_EXT_AT, zeros, WIRE_CM_EXT_BYTES);
	connect_with(offer, offer, &pa, &pb);
	assert_memory_equal(sent_req + REQ_EXT_AT, "rced\1\1\1\0\0\0\0\0", 12);
	assert_memory_equal(sent_rep + REQ_EXT_AT, "rced\1\1\1\0\0\0\0\0", 12);
}

/* Private data that goes as far as the offer has priority, and arrives as it is. */
static void test_no_room(void **state)
{
	static const uint8_t full[CM_REQ_PRIVATE_BYTES - CM_HELLO_BYTES] = {
		[CM_REQ_EXT_PRIVATE_BYTES - CM_HELLO_BYTES] = 9};
	struct cm_connect_params params;
	struct cm_qp_params pa, pb;
	struct cm_id *id;

	(void)state;
	w->node[SIDE_A].ext = w->node[SIDE_B].ext = offer;
	for (uint16_t n = CM_REQ_EXT_PRIVATE_BYTES - CM_HELLO_BYTES; n <= sizeof(full); n++) {
		bool fits = n <= CM_REQ_EXT_PRIVATE_BYTES - CM_HELLO_BYTES;

		world_params(w, SIDE_A, &params);
		params.private_data = full;
		params.private_bytes = n;
		id = cm_id_create(w->node[SIDE_A].cm, w);
		assert_int_equal(cm_connect(w->node[SIDE_A].cm, id, &params, w->now_ns), 0);
		world_run(w, MS_NS);
		assert_int_equal(cm_id_qp_params(id, &pa), 0);
		assert_int_equal(pa.ext.flags, fits ? CM_EXT_SACK : 0);
		assert_memory_equal(world_last(w, SIDE_B, CM_EVENT_CONNECT_REQUEST)->private_data, full, n);
	}
	for (uint16_t n = CM_REP_EXT_PRIVATE_BYTES; n <= CM_REP_PRIVATE_BYTES; n++) {
		w->node[SIDE_B].rep_bytes = n;
		connect_with(offer, offer, &pa, &pb);
		assert_int_equal(pa.ext.flags, n == CM_REP_EXT_PRIVATE_BYTES ? CM_EXT_SACK : 0);
		assert_int_equal(pb.ext.flags, pa.ext.flags);
	}
	assert_int_equal(world_last(w, SIDE_A, CM_EVENT_CONNECT_RESPONSE)->private_data[CM_REP_PRIVATE_BYTES - 1], 7);
}

/* Lost and doubled messages change nothing. */
static void test_repeated(void **state)
{
	struct cm_config config;
	struct cm_qp_params pa, pb;
	struct cm_id *a;

	(void)state;
	world_free(w);
	cm_config_default(&config);
	config.response_timeout_ms = 10;
	w = world_new(&config);
	world_listen(w, SIDE_B, 0);
	w->node[SIDE_A].ext = w->node[SIDE_B].ext = offer;
	world_rule(w, SIDE_A, WIRE_CM_REQ, RULE_LOSE, 1);
	world_rule(w, SIDE_B, WIRE_CM_REP, RULE_LOSE, 1);
	world_rule(w, SIDE_A, WIRE_CM_RTU, RULE_LOSE, 1);
	world_rule(w, SIDE_B, WIRE_CM_REP, RULE_DOUBLE, 1);
	world_connect(w, &a, NULL);
	world_run(w, SECOND_NS);
	assert_int_equal(cm_id_state(a), CM_ESTABLISHED);
	assert_int_equal(cm_id_state(w->node[SIDE_B].last_new), CM_ESTABLISHED);
	assert_int_equal(cm_id_qp_params(a, &pa), 0);
	assert_int_equal(cm_id_qp_params(w->node[SIDE_B].last_new, &pb), 0);
	assert_int_equal(pa.ext.flags, CM_EXT_SACK);
	assert_int_equal(pb.ext.flags, CM_EXT_SACK);
}

/* ---- hostile ---- */

static size_t flip_at;
static uint8_t flip_type;

static void flip(uint8_t mad[CM_MAD_BYTES])
{
	if (mad[MAD_TYPE] == flip_type)
		mad[REQ_EXT_AT + flip_at] ^= 0x40;
}

/* An offer any byte of which is not right is none. */
static void test_damaged(void **state)
{
	struct cm_qp_params pa, pb;

	(void)state;
	w->tamper = flip;
	for (flip_at = 0; flip_at < WIRE_CM_EXT_BYTES; flip_at++) {
		flip_type = WIRE_CM_REQ;
		connect_with(offer, offer, &pa, &pb);
		assert_int_equal(pa.ext.flags, 0);
		assert_int_equal(pb.ext.flags, 0);
		flip_type = WIRE_CM_REP;
		connect_with(offer, offer, &pa, &pb);
		assert_int_equal(pa.ext.flags, 0);
	}
}

/* An end that knows how it is done, and lies: its block has the right check. */
static struct wire_cm_ext lie;
static enum wire_cm_type lie_in;

static void tell_lie(uint8_t mad[CM_MAD_BYTES])
{
	struct wire_cm_msg msg;

	assert_int_equal(wire_cm_decode(mad, CM_MAD_BYTES, &msg), 0);
	if (msg.type != lie_in)
		return;
	msg.private_bytes = (uint16_t)(wire_cm_private_bytes(lie_in) - WIRE_CM_EXT_BYTES);
	wire_cm_ext_put(&msg, &lie);
	wire_cm_encode(&msg, mad);
}

/* Numbers are taken for no more than this end has: no flag that it does not know, no other ring, no plane too many. */
static void test_lies(void **state)
{
	static const struct cm_ext none;
	static const struct {
		struct wire_cm_ext lie;
		uint8_t flags, planes;
	} cases[] = {
		{{.flags = 0xff, .psn_ring = RING, .planes = 255}, CM_EXT_SACK, 1},
		{{.flags = 0xfe, .psn_ring = RING, .planes = 255}, 0, 0},
		{{.flags = 0, .psn_ring = RING}, 0, 0},
		{{.flags = 0xff, .psn_ring = 0}, 0, 0},
		{{.flags = 0xff, .psn_ring = UINT16_MAX}, 0, 0},
		{{.flags = 0xff, .psn_ring = RING - 1}, 0, 0},
	};
	struct cm_ext own = offer;
	struct cm_qp_params pa, pb;

	(void)state;
	own.planes = 1;
	w->tamper = tell_lie;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		lie = cases[i].lie;
		lie_in = WIRE_CM_REQ;
		connect_with(own, own, &pa, &pb);
		assert_int_equal(pb.ext.flags, cases[i].flags);
		assert_int_equal(pb.ext.planes, cases[i].planes);
		lie_in = WIRE_CM_REP;
		connect_with(own, own, &pa, &pb);
		assert_int_equal(pa.ext.flags, cases[i].flags);
		assert_int_equal(pa.ext.planes, cases[i].planes);
		/* nor is anything taken that was not offered, or is not wanted */
		connect_with(none, own, &pa, &pb);
		assert_int_equal(pa.ext.flags, 0);
		lie_in = WIRE_CM_REQ;
		connect_with(own, none, &pa, &pb);
		assert_int_equal(pb.ext.flags, 0);
	}
}

/* A consumer that sends back what it got, all of it, has not agreed. */
static void test_echo(void **state)
{
	struct wire_cm_msg req = {.type = WIRE_CM_REQ}, rep = {.type = WIRE_CM_REP};
	const struct wire_cm_ext ext = {.flags = WIRE_CM_EXT_SACK, .psn_ring = RING, .planes = 2};
	struct wire_cm_ext got;
	size_t at = CM_REP_PRIVATE_BYTES - WIRE_CM_EXT_BYTES;

	(void)state;
	req.req.local_comm_id = rep.rep.remote_comm_id = 5;
	wire_cm_ext_put(&req, &ext);
	assert_int_equal(req.private_bytes, CM_REQ_PRIVATE_BYTES);
	assert_int_equal(wire_cm_ext_get(&req, &got), 0);
	assert_int_equal(got.flags, WIRE_CM_EXT_SACK);
	assert_int_equal(got.psn_ring, RING);
	rep.private_bytes = CM_REP_PRIVATE_BYTES;
	memcpy(rep.private_data, req.private_data, CM_REQ_PRIVATE_BYTES);
	assert_int_equal(wire_cm_ext_get(&rep, &got), -ENOENT);
	memcpy(rep.private_data + at, req.private_data + CM_REQ_PRIVATE_BYTES - WIRE_CM_EXT_BYTES, WIRE_CM_EXT_BYTES);
	assert_int_equal(wire_cm_ext_get(&rep, &got), -ENOENT);
	assert_int_equal(got.flags, 0);
	/* nor does the answer of one connection hold for another one */
	rep = (struct wire_cm_msg){.type = WIRE_CM_REP};
	rep.rep.local_comm_id = 1;
	rep.rep.remote_comm_id = 2;
	rep.rep.local_qpn = 3;
	wire_cm_ext_put(&rep, &ext);
	assert_int_equal(wire_cm_ext_get(&rep, &got), 0);
	rep.rep.remote_comm_id = 9;
	assert_int_equal(wire_cm_ext_get(&rep, &got), -ENOENT);
}

/* Other messages have none, and short private data is looked at no further than it goes. */
static void test_elsewhere(void **state)
{
	struct wire_cm_msg msg = {.type = WIRE_CM_RTU, .private_bytes = CM_RTU_PRIVATE_BYTES};
	struct wire_cm_ext got;

	(void)state;
	assert_int_equal(wire_cm_ext_get(&msg, &got), -ENOENT);
	msg.type = WIRE_CM_REQ;
	msg.private_bytes = WIRE_CM_EXT_BYTES - 1;
	assert_int_equal(wire_cm_ext_get(&msg, &got), -ENOENT);
	assert_false(wire_cm_ext_fits(WIRE_CM_SIDR_REQ, 0));
	assert_true(wire_cm_ext_fits(WIRE_CM_REQ, CM_REQ_EXT_PRIVATE_BYTES));
	assert_false(wire_cm_ext_fits(WIRE_CM_REQ, CM_REQ_EXT_PRIVATE_BYTES + 1));
	assert_true(wire_cm_ext_fits(WIRE_CM_REP, CM_REP_EXT_PRIVATE_BYTES));
	assert_false(wire_cm_ext_fits(WIRE_CM_REP, CM_REP_EXT_PRIVATE_BYTES + 1));
}

#define TEST(f) cmocka_unit_test_setup_teardown(test_##f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(both_agree),
		TEST(no_agreement),
		TEST(what_both_have),
		TEST(lesser_number_of_planes),
		TEST(nothing_without_offer),
		TEST(no_room),
		TEST(repeated),
		TEST(damaged),
		TEST(lies),
		TEST(echo),
		TEST(elsewhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
