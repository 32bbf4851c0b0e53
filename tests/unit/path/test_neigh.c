/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The neighbour table of a port against a scripted link: what it sends is parsed as a receiver
 * would, and answers are real frames. ARP as of RFC 826, neighbour discovery as of RFC 4861, 7.2
 * and 7.3.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "path_neigh.h"

#define SECOND_NS 1000000000ull
#define MS_NS     1000000ull
#define ENTRIES   8
#define FRAMES    64

/* What the port sent, and what was said of it. */
struct link {
	struct path_neigh *table;
	uint64_t now_ns;
	struct wire_nd_msg sent[FRAMES];
	unsigned int n_sent;
	bool answers; /* a station with peer_mac answers every request at once */
	uint8_t peer_mac[6];
	unsigned int n_changed;
};

struct waiter {
	struct path_neigh_wait wait;
	unsigned int calls;
	int status;
};

static struct link lk;
static int dev_cookie;

static const struct wire_nd_from us4 = {
	.mac = {2, 0, 0, 0, 0, 1}, .addr = {{[10] = 0xff, 0xff, 10, 0, 0, 1}}};
static const struct wire_nd_from us6 = {.mac = {2, 0, 0, 0, 0, 1}, .addr = {{0xfd, 0, [15] = 1}}};
static const struct wire_addr peer4 = {{[10] = 0xff, 0xff, 10, 0, 0, 2}};
static const struct wire_addr peer6 = {{0xfd, 0, [15] = 2}};
static const uint8_t mac_b[6] = {2, 0, 0, 0, 0, 0xb};
static const uint8_t mac_c[6] = {2, 0, 0, 0, 0, 0xc};

static void parse(const uint8_t *frame, size_t n, struct wire_nd_msg *msg)
{
	struct wire_pkt pkt;

	wire_parse(frame, n, &pkt);
	assert_int_equal(wire_nd_parse(frame, n, &pkt, msg), BASE_DROP_NONE);
}

static void emit(void *env, void *dev, const uint8_t *frame, size_t n)
{
	assert_ptr_equal(env, &lk);
	assert_ptr_equal(dev, &dev_cookie);
	assert_true(lk.n_sent < FRAMES);
	parse(frame, n, &lk.sent[lk.n_sent++]);
}

static void changed(void *env, struct path_neigh_entry *entry)
{
	(void)env;
	(void)entry;
	lk.n_changed++;
}

static const struct path_neigh_ops ops = {.emit = emit, .changed = changed};

static int setup(void **state)
{
	struct path_neigh_config config;

	(void)state;
	memset(&lk, 0, sizeof(lk));
	memcpy(lk.peer_mac, mac_b, 6);
	lk.now_ns = 1000 * SECOND_NS;
	path_neigh_config_default(&config);
	config.max_entries = ENTRIES;
	assert_int_equal(path_neigh_create(&config, &ops, &lk, lk.now_ns, &lk.table), 0);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	path_neigh_destroy(lk.table);
	return 0;
}

/* The answer of the station at mac to a request, as a frame. */
static void answer(const struct wire_nd_msg *request, const uint8_t *mac)
{
	struct wire_nd_from from = {.addr = request->target};
	uint8_t frame[WIRE_ND_FRAME_MAX];
	struct wire_nd_msg msg;
	size_t n;

	memcpy(from.mac, mac, 6);
	from.has_vlan = request->has_vlan != 0;
	from.vlan_tci = request->vlan_tci;
	n = wire_nd_build_reply(frame, &from, request);
	parse(frame, n, &msg);
	path_neigh_rx(lk.table, &msg, false, lk.now_ns);
}

/* The station at mac says unasked who it is. */
static void announce(const struct wire_addr *addr, const uint8_t *mac)
{
	struct wire_nd_from from = {.addr = *addr};
	uint8_t frame[WIRE_ND_FRAME_MAX];
	struct wire_nd_msg msg;
	size_t n;

	memcpy(from.mac, mac, 6);
	n = wire_nd_build_announce(frame, &from);
	parse(frame, n, &msg);
	path_neigh_rx(lk.table, &msg, false, lk.now_ns);
}

/* The station at mac asks for target. */
static void asks(const struct wire_addr *addr, const uint8_t *mac, const struct wire_addr *target,
	bool for_us)
{
	struct wire_nd_from from = {.addr = *addr};
	uint8_t frame[WIRE_ND_FRAME_MAX];
	struct wire_nd_msg msg;
	size_t n;

	memcpy(from.mac, mac, 6);
	n = wire_nd_build_request(frame, &from, target, NULL);
	parse(frame, n, &msg);
	path_neigh_rx(lk.table, &msg, for_us, lk.now_ns);
}

/* Time passes; when the station lives it answers what is sent. */
static void pass(uint64_t ns)
{
	uint64_t end_ns = lk.now_ns + ns;
	unsigned int answered = lk.n_sent;
	unsigned int steps;

	for (steps = 0; steps < 10000; steps++) {
		uint64_t next_ns = path_neigh_next_ns(lk.table);

		if (next_ns <= lk.now_ns)
			next_ns = lk.now_ns + 4096;
		if (next_ns > end_ns)
			break;
		lk.now_ns = next_ns;
		path_neigh_advance(lk.table, lk.now_ns);
		while (lk.answers && answered < lk.n_sent)
			answer(&lk.sent[answered++], lk.peer_mac);
	}
	assert_true(steps < 10000);
	lk.now_ns = end_ns;
}

static void done(struct path_neigh_wait *wait, struct path_neigh_entry *entry, int status)
{
	struct waiter *waiter = wait->arg;
	uint8_t mac[6];

	assert_int_equal(path_neigh_mac(entry, mac), status == 0);
	waiter->calls++;
	waiter->status = status;
}

static struct path_neigh_entry *get(const struct wire_nd_from *from, const struct wire_addr *dst)
{
	struct path_neigh_entry *entry;

	assert_int_equal(path_neigh_get(lk.table, &dev_cookie, from, dst, lk.now_ns, &entry), 0);
	return entry;
}

static void resolve(struct path_neigh_entry *entry, struct waiter *waiter)
{
	memset(waiter, 0, sizeof(*waiter));
	waiter->wait.done = done;
	waiter->wait.arg = waiter;
	path_neigh_resolve(lk.table, entry, &waiter->wait, lk.now_ns);
}

static void expect_mac(const struct path_neigh_entry *entry, const uint8_t *mac)
{
	uint8_t now[6];

	assert_true(path_neigh_mac(entry, now));
	assert_memory_equal(now, mac, 6);
}

static void expect_none(const struct path_neigh_entry *entry)
{
	uint8_t mac[6];

	assert_false(path_neigh_mac(entry, mac));
}

static struct path_neigh_entry *resolved(
	const struct wire_nd_from *from, const struct wire_addr *dst)
{
	struct path_neigh_entry *entry = get(from, dst);
	struct waiter waiter;

	resolve(entry, &waiter);
	answer(&lk.sent[lk.n_sent - 1], mac_b);
	assert_int_equal(waiter.calls, 1);
	assert_int_equal(waiter.status, 0);
	expect_mac(entry, mac_b);
	return entry;
}

static struct path_neigh_stats stats(void)
{
	struct path_neigh_stats out;

	path_neigh_get_stats(lk.table, &out);
	return out;
}

/* RFC 826: a broadcast request for the address, from ours. */
static void test_arp(void **state)
{
	struct path_neigh_entry *entry = get(&us4, &peer4);
	struct waiter first;
	struct waiter second;

	(void)state;
	assert_int_equal(lk.n_sent, 0);
	expect_none(entry);
	resolve(entry, &first);
	resolve(entry, &second);
	assert_int_equal(lk.n_sent, 1);
	assert_int_equal(lk.sent[0].kind, WIRE_ND_ARP_REQUEST);
	assert_false(lk.sent[0].unicast);
	assert_memory_equal(&lk.sent[0].src, &us4.addr, 16);
	assert_memory_equal(&lk.sent[0].target, &peer4, 16);
	assert_int_equal(first.calls, 0);
	answer(&lk.sent[0], mac_b);
	assert_int_equal(first.calls, 1);
	assert_int_equal(second.calls, 1);
	assert_int_equal(second.status, 0);
	expect_mac(entry, mac_b);
	/* Known: at once and without a packet. */
	resolve(entry, &first);
	assert_int_equal(first.calls, 1);
	assert_int_equal(lk.n_sent, 1);
	assert_int_equal(lk.n_changed, 1);
}

/* RFC 4861, 7.2.2: a solicitation to the solicited-node group. */
static void test_nd(void **state)
{
	struct path_neigh_entry *entry = resolved(&us6, &peer6);

	(void)state;
	assert_int_equal(lk.sent[0].kind, WIRE_ND_SOLICIT);
	assert_int_equal(lk.sent[0].dst.b[0], 0xff);
	assert_true(lk.sent[0].has_lladdr);
	assert_memory_equal(&lk.sent[0].target, &peer6, 16);
	path_neigh_put(lk.table, entry, lk.now_ns);
}

static void test_no_answer(void **state)
{
	struct path_neigh_entry *entry = get(&us4, &peer4);
	uint64_t start_ns = lk.now_ns;
	struct waiter waiter;

	(void)state;
	resolve(entry, &waiter);
	pass(2 * SECOND_NS + 500 * MS_NS);
	assert_int_equal(lk.n_sent, 3);
	assert_int_equal(waiter.calls, 0);
	pass(SECOND_NS);
	assert_int_equal(waiter.calls, 1);
	assert_int_equal(waiter.status, -EHOSTUNREACH);
	assert_int_equal(lk.n_sent, 3);
	expect_none(entry);
	/* Asked again while it is held, until it is there. */
	pass(10 * SECOND_NS);
	assert_int_equal(lk.n_sent, 4);
	answer(&lk.sent[3], mac_b);
	expect_mac(entry, mac_b);
	assert_int_equal(waiter.calls, 1);
	assert_true(lk.now_ns - start_ns < 14 * SECOND_NS);
}

/* A late second request gets the answer that the first lost. */
static void test_second_try(void **state)
{
	struct path_neigh_entry *entry = get(&us4, &peer4);
	struct waiter waiter;

	(void)state;
	resolve(entry, &waiter);
	lk.answers = true;
	pass(1100 * MS_NS);
	assert_int_equal(lk.n_sent, 2);
	assert_int_equal(waiter.calls, 1);
	expect_mac(entry, mac_b);
}

/* RFC 4861, 7.3: a held entry is asked for by unicast before it is dropped, and used meanwhile. */
static void test_ageing(void **state)
{
	struct path_neigh_entry *entry = resolved(&us4, &peer4);

	(void)state;
	lk.answers = true;
	pass(95 * SECOND_NS);
	assert_int_equal(lk.n_sent, 4);
	assert_true(lk.sent[1].unicast);
	expect_mac(entry, mac_b);
	assert_int_equal(lk.n_changed, 1);
	/* It dies: 3 by unicast, 3 by broadcast, then the address goes. */
	lk.answers = false;
	pass(31 * SECOND_NS);
	expect_mac(entry, mac_b);
	pass(5 * SECOND_NS);
	expect_none(entry);
	assert_int_equal(lk.n_sent, 10);
	assert_true(lk.sent[6].unicast);
	assert_false(lk.sent[7].unicast);
	assert_int_equal(lk.n_changed, 2);
	assert_int_equal(stats().failures, 1);
}

/* Behind the same address is another station: the broadcast finds it. */
static void test_replaced_station(void **state)
{
	struct path_neigh_entry *entry = resolved(&us6, &peer6);
	unsigned int i;

	(void)state;
	for (i = 0; i < 36 && (lk.n_sent < 5); i++)
		pass(SECOND_NS);
	assert_int_equal(lk.n_sent, 5);
	assert_false(lk.sent[4].unicast);
	answer(&lk.sent[4], mac_c);
	expect_mac(entry, mac_c);
	assert_int_equal(stats().mac_changes, 1);
}

/* Gratuitous ARP and unsolicited advertisements change an address (RFC 5227, 3; RFC 4861, 7.2.6),
 * and the new one is asked back. */
static void test_announced_move(void **state)
{
	const struct wire_nd_from *from[2] = {&us4, &us6};
	const struct wire_addr *peer[2] = {&peer4, &peer6};
	unsigned int i;

	(void)state;
	for (i = 0; i < 2; i++) {
		struct path_neigh_entry *entry = resolved(from[i], peer[i]);
		unsigned int sent = lk.n_sent;

		/* Not within the lock time of the answer. */
		announce(peer[i], mac_c);
		expect_mac(entry, mac_b);
		assert_int_equal(stats().rx_refused, i + 1);
		pass(2 * SECOND_NS);
		announce(peer[i], mac_b);
		assert_int_equal(lk.n_sent, sent);
		announce(peer[i], mac_c);
		expect_mac(entry, mac_c);
		assert_int_equal(lk.n_sent, sent + 1);
		assert_true(lk.sent[sent].unicast);
		answer(&lk.sent[sent], mac_c);
		pass(20 * SECOND_NS);
		assert_int_equal(lk.n_sent, sent + 1);
		path_neigh_put(lk.table, entry, lk.now_ns);
	}
}

/* A false announcement does not last: its owner does not answer, the true one does. */
static void test_false_announcement(void **state)
{
	struct path_neigh_entry *entry = resolved(&us4, &peer4);
	unsigned int i;

	(void)state;
	pass(2 * SECOND_NS);
	announce(&peer4, mac_c);
	expect_mac(entry, mac_c);
	for (i = 0; i < 5 && lk.n_sent < 5; i++)
		pass(SECOND_NS);
	assert_false(lk.sent[4].unicast);
	answer(&lk.sent[4], mac_b);
	expect_mac(entry, mac_b);
}

/* RFC 4861, 7.2.3: a neighbour that asks for us says where it is; asking for others says nothing.
 */
static void test_requests(void **state)
{
	struct path_neigh_entry *entry = get(&us4, &peer4);
	const struct wire_addr other = {{[10] = 0xff, 0xff, 10, 0, 0, 77}};
	struct waiter waiter;

	(void)state;
	asks(&peer4, mac_c, &us4.addr, true);
	expect_none(entry);
	resolve(entry, &waiter);
	asks(&peer4, mac_c, &other, false);
	assert_int_equal(waiter.calls, 0);
	asks(&peer4, mac_c, &us4.addr, true);
	assert_int_equal(waiter.calls, 1);
	expect_mac(entry, mac_c);
	/* Not proven yet: it is asked back. */
	assert_int_equal(lk.n_sent, 2);
	assert_true(lk.sent[1].unicast);
}

/* The same of a solicitation, whose source option has the address; without that it says nothing. */
static void test_solicitations(void **state)
{
	struct path_neigh_entry *entry = get(&us6, &peer6);
	struct wire_nd_msg msg = {.kind = WIRE_ND_SOLICIT, .src = peer6, .target = us6.addr};
	struct waiter waiter;

	(void)state;
	resolve(entry, &waiter);
	path_neigh_rx(lk.table, &msg, true, lk.now_ns);
	expect_none(entry);
	asks(&peer6, mac_c, &peer6, false);
	expect_none(entry);
	asks(&peer6, mac_c, &us6.addr, true);
	assert_int_equal(waiter.calls, 1);
	expect_mac(entry, mac_c);
	/* Nor does an advertisement without an address tell one, or an echo anything. */
	path_neigh_put(lk.table, entry, lk.now_ns);
	entry = get(&us6, &peer6);
	resolve(entry, &waiter);
	msg = (struct wire_nd_msg){.kind = WIRE_ND_ADVERT,
		.solicited = 1,
		.unicast = 1,
		.override = 1,
		.src = peer6,
		.dst = us6.addr,
		.target = peer6};
	path_neigh_rx(lk.table, &msg, false, lk.now_ns);
	msg.kind = WIRE_ND_ECHO6;
	path_neigh_rx(lk.table, &msg, true, lk.now_ns);
	assert_int_equal(waiter.calls, 0);
	assert_int_equal(stats().rx_ignored, 4);
}

/* A known neighbour nobody holds moves: it is forgotten, and asked for when it is needed. */
static void test_move_unheld(void **state)
{
	struct path_neigh_entry *entry = resolved(&us4, &peer4);

	(void)state;
	path_neigh_put(lk.table, entry, lk.now_ns);
	pass(2 * SECOND_NS);
	announce(&peer4, mac_c);
	assert_int_equal(stats().entries, 0);
	assert_int_equal(lk.n_sent, 1);
	assert_int_equal(path_neigh_next_ns(lk.table), UINT64_MAX);
	resolved(&us4, &peer4);
}

/* No entries come from the link, whatever it says. */
static void test_flood(void **state)
{
	struct wire_addr who = peer4;
	unsigned int i;

	(void)state;
	for (i = 0; i < 1000; i++) {
		who.b[14] = (uint8_t)(i >> 8);
		who.b[15] = (uint8_t)i;
		announce(&who, mac_c);
		asks(&who, mac_c, &us4.addr, true);
		announce(&peer6, mac_c);
	}
	assert_int_equal(stats().entries, 0);
	assert_int_equal(stats().rx_ignored, 3000);
	assert_int_equal(lk.n_sent, 0);
}

/* Group, zero and our own link address are no neighbour's; nor does an answer count that we did not
 * ask for from that address, or on another VLAN. */
static void test_impossible(void **state)
{
	static const uint8_t group[6] = {3, 0, 0, 0, 0, 9};
	static const uint8_t zero[6];
	struct path_neigh_entry *entry = get(&us4, &peer4);
	struct wire_nd_msg request;
	struct wire_nd_msg reply;
	struct waiter waiter;

	(void)state;
	resolve(entry, &waiter);
	/* The parser lets no group through; the table does not rely on it. */
	reply = (struct wire_nd_msg){.kind = WIRE_ND_ARP_REPLY,
		.has_lladdr = 1,
		.override = 1,
		.solicited = 1,
		.unicast = 1,
		.src = peer4,
		.dst = us4.addr,
		.target = peer4};
	memcpy(reply.lladdr, group, sizeof(group));
	path_neigh_rx(lk.table, &reply, false, lk.now_ns);
	answer(&lk.sent[0], zero);
	answer(&lk.sent[0], us4.mac);
	assert_int_equal(stats().rx_refused, 3);
	request = lk.sent[0];
	request.has_vlan = 1;
	request.vlan_tci = 7;
	answer(&request, mac_c);
	assert_int_equal(stats().rx_ignored, 1);
	assert_int_equal(waiter.calls, 0);
	expect_none(entry);
	/* VLAN 0 is no VLAN. */
	request.vlan_tci = 0x6000;
	answer(&request, mac_b);
	assert_int_equal(waiter.calls, 1);
}

/* A reply to all, or to another address of ours, is no answer to our request: it is asked back. */
static void test_not_our_answer(void **state)
{
	struct path_neigh_entry *entry = get(&us4, &peer4);
	struct wire_nd_msg reply = {.kind = WIRE_ND_ARP_REPLY,
		.has_lladdr = 1,
		.override = 1,
		.solicited = 1,
		.unicast = 1,
		.src = peer4,
		.dst = peer4,
		.target = peer4};
	struct waiter waiter;
	unsigned int sent;

	(void)state;
	memcpy(reply.lladdr, mac_b, 6);
	resolve(entry, &waiter);
	path_neigh_rx(lk.table, &reply, false, lk.now_ns);
	expect_mac(entry, mac_b);
	assert_int_equal(lk.n_sent, 2);
	assert_true(lk.sent[1].unicast);
	pass(2 * SECOND_NS);
	/* Believed once, and then not another one for the lock time. */
	reply.dst = us4.addr;
	reply.unicast = 0;
	memcpy(reply.lladdr, mac_c, 6);
	sent = lk.n_sent;
	path_neigh_rx(lk.table, &reply, false, lk.now_ns);
	expect_mac(entry, mac_c);
	assert_int_equal(lk.n_sent, sent + 1);
	assert_int_equal(stats().rx_refused, 0);
	memcpy(reply.lladdr, mac_b, 6);
	path_neigh_rx(lk.table, &reply, false, lk.now_ns + SECOND_NS / 2);
	expect_mac(entry, mac_c);
	assert_int_equal(stats().rx_refused, 1);
}

/* Our own link address changes: the next request is sent from the new one. */
static void test_new_source_mac(void **state)
{
	struct wire_nd_from from = us4;
	struct path_neigh_entry *entry = get(&from, &peer4);
	struct waiter waiter;

	(void)state;
	memcpy(from.mac, mac_c, 6);
	assert_ptr_equal(get(&from, &peer4), entry);
	resolve(entry, &waiter);
	assert_memory_equal(lk.sent[0].lladdr, mac_c, 6);
}

/* RFC 4861, 7.2.5: an advertisement without override confirms or casts doubt, but does not replace.
 */
static void test_no_override(void **state)
{
	struct path_neigh_entry *entry = resolved(&us6, &peer6);
	struct wire_nd_msg msg = {
		.kind = WIRE_ND_ADVERT, .has_lladdr = 1, .src = peer6, .target = peer6};

	(void)state;
	msg.dst = us6.addr;
	memcpy(msg.lladdr, mac_c, 6);
	pass(2 * SECOND_NS);
	path_neigh_rx(lk.table, &msg, false, lk.now_ns);
	expect_mac(entry, mac_b);
	assert_int_equal(lk.n_sent, 2);
	assert_true(lk.sent[1].unicast);
	/* Solicited, but of another station and without override: ignored; without an address:
	 * confirms. */
	msg.solicited = 1;
	msg.unicast = 1;
	path_neigh_rx(lk.table, &msg, false, lk.now_ns);
	expect_mac(entry, mac_b);
	msg.has_lladdr = 0;
	path_neigh_rx(lk.table, &msg, false, lk.now_ns);
	pass(20 * SECOND_NS);
	assert_int_equal(lk.n_sent, 2);
	expect_mac(entry, mac_b);
}

/* A released entry stays known till it expires, silently; an unanswered one goes at once. */
static void test_release(void **state)
{
	struct path_neigh_entry *entry = resolved(&us4, &peer4);
	struct path_neigh_entry *again;
	struct waiter waiter;

	(void)state;
	path_neigh_put(lk.table, entry, lk.now_ns);
	pass(10 * SECOND_NS);
	again = get(&us4, &peer4);
	assert_ptr_equal(again, entry);
	expect_mac(again, mac_b);
	path_neigh_hold(again);
	path_neigh_put(lk.table, again, lk.now_ns);
	path_neigh_put(lk.table, again, lk.now_ns);
	pass(25 * SECOND_NS);
	assert_int_equal(stats().entries, 0);
	assert_int_equal(lk.n_sent, 1);
	entry = get(&us4, &peer4);
	resolve(entry, &waiter);
	path_neigh_cancel(&waiter.wait);
	path_neigh_put(lk.table, entry, lk.now_ns);
	assert_int_equal(stats().entries, 0);
	assert_int_equal(path_neigh_next_ns(lk.table), UINT64_MAX);
	assert_int_equal(waiter.calls, 0);
	path_neigh_put(lk.table, NULL, lk.now_ns);
}

static void test_full(void **state)
{
	struct path_neigh_entry *entries[ENTRIES];
	struct path_neigh_entry *extra;
	struct wire_addr dst = peer4;
	unsigned int i;

	(void)state;
	for (i = 0; i < ENTRIES; i++) {
		dst.b[15] = (uint8_t)(10 + i);
		entries[i] = resolved(&us4, &dst);
	}
	assert_int_equal(
		path_neigh_get(lk.table, &dev_cookie, &us4, &peer4, lk.now_ns, &extra), -ENOSPC);
	assert_int_equal(stats().table_full, 1);
	/* Of those nobody holds the oldest gives way. */
	path_neigh_put(lk.table, entries[3], lk.now_ns);
	path_neigh_put(lk.table, entries[1], lk.now_ns);
	extra = get(&us4, &peer4);
	assert_ptr_equal(extra, entries[3]);
	expect_none(extra);
	dst.b[15] = 11;
	expect_mac(get(&us4, &dst), mac_b);
	assert_int_equal(stats().entries, ENTRIES);
}

/* What needs no question: groups, ourselves, and what is set by hand. */
static void test_without_asking(void **state)
{
	static const struct wire_addr group4 = {{[10] = 0xff, 0xff, 239, 129, 2, 3}};
	static const struct wire_addr group6 = {{0xff, 0x0e, [14] = 5, 6}};
	static const uint8_t mac4[6] = {1, 0, 0x5e, 1, 2, 3};
	static const uint8_t mac6[6] = {0x33, 0x33, 0, 0, 5, 6};
	static const struct wire_addr none4 = {{[10] = 0xff, 0xff}};
	static const struct wire_addr none6 = {{0}};
	struct path_neigh_entry *entry = get(&us4, &peer4);
	struct path_neigh_entry *bad;
	struct waiter waiter;

	(void)state;
	expect_mac(get(&us4, &group4), mac4);
	expect_mac(get(&us6, &group6), mac6);
	expect_mac(get(&us4, &us4.addr), us4.mac);
	assert_int_equal(lk.n_sent, 0);
	resolve(entry, &waiter);
	path_neigh_pin(lk.table, entry, mac_c);
	assert_int_equal(waiter.calls, 1);
	pass(100 * SECOND_NS);
	announce(&peer4, mac_b);
	expect_mac(entry, mac_c);
	assert_int_equal(lk.n_sent, 1);
	assert_int_equal(path_neigh_get(lk.table, &dev_cookie, &us4, &peer6, 0, &bad), -EINVAL);
	assert_int_equal(path_neigh_get(lk.table, &dev_cookie, &us6, &peer4, 0, &bad), -EINVAL);
	assert_int_equal(path_neigh_get(lk.table, &dev_cookie, &us4, &none4, 0, &bad), -EINVAL);
	assert_int_equal(path_neigh_get(lk.table, &dev_cookie, &us6, &none6, 0, &bad), -EINVAL);
}

/* A waiter that gives everything back, and one that waits anew, from within the call. */
static struct path_neigh_entry *held[2];

static void done_and_put(struct path_neigh_wait *wait, struct path_neigh_entry *entry, int status)
{
	(void)entry;
	(void)status;
	(void)wait;
	path_neigh_put(lk.table, held[0], lk.now_ns);
	path_neigh_put(lk.table, held[1], lk.now_ns);
}

static void done_and_again(struct path_neigh_wait *wait, struct path_neigh_entry *entry, int status)
{
	struct waiter *waiter = wait->arg;

	waiter->calls++;
	waiter->status = status;
	path_neigh_resolve(lk.table, entry, wait, lk.now_ns);
}

static void test_callbacks(void **state)
{
	struct wire_nd_from us4_second = us4;
	struct path_neigh_wait put_all = {.done = done_and_put};
	struct waiter again = {.wait = {.done = done_and_again, .arg = &again}};

	(void)state;
	us4_second.addr.b[15] = 9;
	held[0] = get(&us4, &peer4);
	held[1] = get(&us4_second, &peer4);
	path_neigh_resolve(lk.table, held[0], &put_all, lk.now_ns);
	path_neigh_resolve(lk.table, held[1], &again.wait, lk.now_ns);
	path_neigh_cancel(&again.wait);
	answer(&lk.sent[0], mac_b);
	pass(40 * SECOND_NS);
	assert_int_equal(stats().entries, 0);
	held[0] = get(&us4, &peer4);
	path_neigh_resolve(lk.table, held[0], &again.wait, lk.now_ns);
	pass(3500 * MS_NS);
	assert_int_equal(again.calls, 1);
	assert_int_equal(again.status, -EHOSTUNREACH);
	pass(3 * SECOND_NS);
	assert_int_equal(again.calls, 2);
	path_neigh_cancel(&again.wait);
}

static void count_info(void *arg, const struct path_neigh_info *info)
{
	unsigned int *n = arg;

	(*n)++;
	assert_string_equal(info->state, "reachable");
	assert_true(info->mac_valid);
	assert_int_equal(info->refs, 1);
	assert_memory_equal(&info->dst, &peer4, 16);
}

static void test_foreach_and_config(void **state)
{
	struct path_neigh_config config;
	struct path_neigh *table;
	unsigned int n = 0;

	(void)state;
	resolved(&us4, &peer4);
	path_neigh_foreach(lk.table, count_info, &n);
	assert_int_equal(n, 1);
	path_neigh_config_default(&config);
	config.max_entries = 0;
	assert_int_equal(path_neigh_create(&config, &ops, &lk, 0, &table), -EINVAL);
	path_neigh_config_default(&config);
	config.tries = 0;
	assert_int_equal(path_neigh_create(&config, &ops, &lk, 0, &table), -EINVAL);
	path_neigh_config_default(&config);
	config.retry_ns = 0;
	assert_int_equal(path_neigh_create(&config, &ops, &lk, 0, &table), -EINVAL);
	path_neigh_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_arp, setup, teardown),
		cmocka_unit_test_setup_teardown(test_nd, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_second_try, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ageing, setup, teardown),
		cmocka_unit_test_setup_teardown(test_replaced_station, setup, teardown),
		cmocka_unit_test_setup_teardown(test_announced_move, setup, teardown),
		cmocka_unit_test_setup_teardown(test_false_announcement, setup, teardown),
		cmocka_unit_test_setup_teardown(test_requests, setup, teardown),
		cmocka_unit_test_setup_teardown(test_solicitations, setup, teardown),
		cmocka_unit_test_setup_teardown(test_move_unheld, setup, teardown),
		cmocka_unit_test_setup_teardown(test_flood, setup, teardown),
		cmocka_unit_test_setup_teardown(test_impossible, setup, teardown),
		cmocka_unit_test_setup_teardown(test_not_our_answer, setup, teardown),
		cmocka_unit_test_setup_teardown(test_new_source_mac, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_override, setup, teardown),
		cmocka_unit_test_setup_teardown(test_release, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_without_asking, setup, teardown),
		cmocka_unit_test_setup_teardown(test_callbacks, setup, teardown),
		cmocka_unit_test_setup_teardown(test_foreach_and_config, setup, teardown),
	};

	return cmocka_run_group_tests_name("path-neigh", tests, NULL, NULL);
}
