/* SPDX-License-Identifier: BSD-3-Clause */
/* Protected packets as docs/wire.md lays them out: what is sent comes back as it was, each once, and nothing else does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crypt_simd.h"
#include "frames.h"
#include "wire_arp_nd.h"

#define SPI        0xa1b2c3d4u
static struct rte_mbuf *pkts[N_FRAMES];
static enum base_drop reasons[N_FRAMES];
static struct crypt_tx_sa *tx[N_FRAMES];
static struct crypt_rx_sa *rx[N_FRAMES];
static struct crypt_worker worker;
static struct crypt_sa_params params;
static struct crypt_tx_sa *sender;
static struct crypt_rx_sa *receiver;

static void same_as_before(uint32_t i)
{
	frame_is(pkts[i], i);
}

/* ---- ends ---- */

static int start(void **state)
{
	(void)state;
	params = (struct crypt_sa_params){.suite = CRYPT_AES_256_GCM, .spi = SPI, .lane = 2, .window_packets = 64, .key = {1, 2, 3}};
	worker = (struct crypt_worker){.cipher = &crypt_simd_cipher, .port = WIRE_PSP_PORT};
	worker.cipher_ctx = crypt_simd_new(NULL);
	worker.table = crypt_table_new(16);
	assert_non_null(worker.table);
	sender = crypt_tx_sa_new(worker.cipher, worker.cipher_ctx, &params);
	receiver = crypt_rx_sa_new(worker.cipher, worker.cipher_ctx, &params);
	assert_non_null(sender);
	assert_int_equal(crypt_table_add(worker.table, receiver), 0);
	for (uint32_t i = 0; i < N_FRAMES; i++)
		tx[i] = sender;
	return 0;
}

static int stop(void **state)
{
	(void)state;
	crypt_tx_sa_free(sender);
	crypt_table_free(worker.table);
	crypt_simd_free(worker.cipher_ctx);
	return 0;
}

static unsigned int protect(uint32_t n)
{
	return crypt_protect(&worker, pkts, tx, n, reasons);
}

static unsigned int unprotect(uint32_t n)
{
	return crypt_unprotect(&worker, pkts, rx, n, reasons);
}

/* ---- the format ---- */

static void header_byte_by_byte(void **state)
{
	static const uint8_t want[] = {
		0xc0, 0x01, 0x03, 0xea, 0x00, 0x5c, 0x00, 0x00, /* UDP: port of the path, 1000 + lane 2, 92 bytes, no checksum */
		17, 1, 0, 0x05,                                 /* next UDP, 8 bytes beyond 8, no crypt offset, version 1, 1 */
		0xa1, 0xb2, 0xc3, 0xd4,                         /* SPI */
		0, 0, 0, 0, 0, 0, 0, 1,                         /* first packet */
	};
	uint8_t *f;

	(void)state;
	pkts[0] = frame_make(0, 44, false, false);
	assert_int_equal(protect(1), 1);
	assert_int_equal(pkts[0]->pkt_len, frames[0].bytes + 40);
	f = rte_pktmbuf_mtod(pkts[0], uint8_t *);
	/* Link addresses, traffic class, addresses and hop limit are as before; lengths and checksum follow. */
	assert_memory_equal(f, frames[0].before, 16);
	assert_int_equal(f[16] << 8 | f[17], 20 + 8 + 44 + 40);
	assert_memory_equal(f + 18, frames[0].before + 18, 6);
	assert_memory_equal(f + 26, frames[0].before + 26, 8);
	assert_int_equal(wire_csum_fold(wire_csum_add(0, f + 14, 20)), 0);
	assert_memory_equal(f + 34, want, sizeof(want));
	assert_memory_not_equal(f + 34 + sizeof(want), frames[0].before + 34, 8);
	assert_int_equal(sender->next, 2);
	assert_int_equal(sender->bytes, 52);
}

/* Whatever else is in an IPv4 header: its checksum is what it would be if it were summed up anew. */
static void ipv4_checksums_follow_the_length(void **state)
{
	uint64_t x = 1;

	(void)state;
	for (uint32_t length = 28; length < 65536 - WIRE_PSP_OVERHEAD; length++) {
		uint8_t ip[20], want[20];

		for (size_t i = 0; i < sizeof(ip); i++) {
			x = x * 6364136223846793005u + 1442695040888963407u;
			/* Some with little in them, for sums at the ends of their range. */
			ip[i] = length % 16 == 0 ? (uint8_t)-(length % 32 / 16) : (uint8_t)(x >> 56);
		}
		put16(ip + 2, length);
		put16(ip + 10, 0);
		put16(ip + 10, wire_csum_fold(wire_csum_add(0, ip, 20)));
		memcpy(want, ip, sizeof(ip));
		put16(want + 2, length + WIRE_PSP_OVERHEAD);
		put16(want + 10, 0);
		put16(want + 10, wire_csum_fold(wire_csum_add(0, want, 20)));
		wire_udp_resize(ip, 4, WIRE_PSP_OVERHEAD);
		assert_memory_equal(ip, want, sizeof(ip));
	}
}

/* A header of which any bit changed is told from one that is right. */
static void ipv4_checksums_are_looked_at(void **state)
{
	struct wire_udp_at at;

	(void)state;
	pkts[0] = frame_make(0, 44, false, false);
	assert_int_equal(wire_udp_find(frames[0].before, frames[0].bytes, frames[0].bytes, &at), BASE_DROP_NONE);
	for (uint32_t bit = 14 * 8; bit < 34 * 8; bit++) {
		frames[0].before[bit / 8] ^= (uint8_t)(1u << bit % 8);
		assert_int_equal(wire_udp_find(frames[0].before, frames[0].bytes, frames[0].bytes, &at), BASE_DROP_IP_HEADER);
		frames[0].before[bit / 8] ^= (uint8_t)(1u << bit % 8);
	}
}

static void all_suites_have_their_version(void **state)
{
	static const uint8_t versions[CRYPT_SUITES] = {0, 1, 8};

	(void)state;
	for (int s = 0; s < CRYPT_SUITES; s++) {
		struct crypt_sa_params p = params;
		struct crypt_rx_sa *r;
		struct crypt_tx_sa *t;

		p.suite = (enum crypt_suite)s;
		p.spi = 100 + (uint32_t)s;
		t = crypt_tx_sa_new(worker.cipher, worker.cipher_ctx, &p);
		r = crypt_rx_sa_new(worker.cipher, worker.cipher_ctx, &p);
		assert_int_equal(crypt_table_add(worker.table, r), 0);
		tx[0] = t;
		pkts[0] = frame_make(0, 100, false, false);
		assert_int_equal(protect(1), 1);
		assert_int_equal(rte_pktmbuf_mtod(pkts[0], uint8_t *)[45] >> 2 & 15, versions[s]);
		assert_int_equal(unprotect(1), 1);
		same_as_before(0);
		crypt_tx_sa_free(t);
	}
}

static void any_frame_comes_back_as_it_was(void **state)
{
	static const uint32_t texts[] = {0, 1, 12, 15, 16, 17, 44, 256, 1024, 1500, 4096, 4176};

	(void)state;
	for (uint32_t t = 0; t < sizeof(texts) / sizeof(texts[0]); t++) {
		for (int kind = 0; kind < 4; kind++) {
			pkts[kind] = frame_make((uint32_t)kind, texts[t], (kind & 1) != 0, (kind & 2) != 0);
			rte_pktmbuf_mtod(pkts[kind], uint8_t *);
		}
		assert_int_equal(protect(4), 4);
		assert_int_equal(unprotect(4), 4);
		for (uint32_t kind = 0; kind < 4; kind++) {
			assert_ptr_equal(rx[kind], receiver);
			same_as_before(kind);
		}
	}
}

/* Wherever segments begin and end behind the UDP header. */
static void segments_do_not_matter(void **state)
{
	(void)state;
	for (uint32_t first = 42; first < 120; first += 5) {
		for (uint32_t second = first + 1; second < 150; second += 7) {
			frames[0].bytes = frame_write(frames[0].before, 150, false, false);
			pkts[0] = frame_cut(0, (uint32_t[]){first, second}, 2);
			assert_int_equal(protect(1), 1);
			/* The receiver gets it cut as it is, with the header at hand. */
			assert_int_equal(unprotect(1), 1);
			same_as_before(0);
		}
	}
}

/* What a switch changes on the way is not what was signed, and stays as it changed it. */
static void switches_may_change_traffic_class_and_hop_limit(void **state)
{
	uint8_t *f;

	(void)state;
	pkts[0] = frame_make(0, 64, false, false);
	assert_int_equal(protect(1), 1);
	f = rte_pktmbuf_mtod(pkts[0], uint8_t *);
	f[15] |= 3;
	f[22] -= 5;
	put16(f + 24, 0);
	put16(f + 24, wire_csum_fold(wire_csum_add(0, f + 14, 20)));
	assert_int_equal(unprotect(1), 1);
	f = rte_pktmbuf_mtod(pkts[0], uint8_t *);
	assert_int_equal(f[15], 0x6b);
	assert_int_equal(f[22], 59);
	assert_int_equal(wire_csum_fold(wire_csum_add(0, f + 14, 20)), 0);
	assert_memory_equal(f + 26, frames[0].before + 26, frames[0].bytes - 26);
}

/* Ethernet pads frames to 60 bytes. */
static void padding_is_not_the_packets(void **state)
{
	uint32_t real;

	(void)state;
	pkts[0] = frame_make(0, 12, false, false);
	assert_int_equal(protect(1), 1);
	real = pkts[0]->pkt_len;
	memset(rte_pktmbuf_append(pkts[0], 9), 0xee, 9);
	assert_int_equal(pkts[0]->pkt_len, real + 9);
	assert_int_equal(unprotect(1), 1);
	same_as_before(0);
}

static void others_of_a_burst_stay_plain(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 6; i++) {
		pkts[i] = frame_make(i, 64, false, false);
		tx[i] = i % 2 != 0 ? sender : NULL;
	}
	assert_int_equal(protect(6), 6);
	for (uint32_t i = 0; i < 6; i += 2)
		same_as_before(i);
	assert_int_equal(sender->next, 4);
}

/* ---- numbers ---- */

static void each_packet_comes_once_in_any_order(void **state)
{
	static struct frame copies[N_FRAMES];

	(void)state;
	for (uint32_t i = 0; i < N_FRAMES; i++)
		pkts[i] = frame_make(i, 100 + i, false, false);
	assert_int_equal(protect(N_FRAMES), N_FRAMES);
	for (uint32_t i = 0; i < N_FRAMES; i++) {
		frame_take(i, pkts[i]);
		copies[i] = frames[i];
	}
	/* By four paths: of each fourth the last come first; and each comes twice in the same burst, and again later. */
	for (int again = 0; again < 2; again++) {
		for (uint32_t path = 0; path < 4; path++) {
			for (uint32_t k = 0; k < 32; k++) {
				uint32_t which = N_FRAMES - 4 - k / 2 * 4 + path;

				frames[k] = copies[which];
				pkts[k] = frame_whole(k);
			}
			assert_int_equal(unprotect(32), again == 0 ? 16 : 0);
			for (uint32_t k = 0; k < 32; k++)
				assert_int_equal(reasons[k], again == 0 && k % 2 == 0 ? BASE_DROP_NONE : BASE_DROP_REPLAYED);
		}
	}
	assert_int_equal(receiver->packets, N_FRAMES);
	assert_int_equal(receiver->replayed, 3 * N_FRAMES);
}

static void what_is_too_old_is_told(void **state)
{
	(void)state;
	pkts[0] = frame_make(0, 64, false, false);
	assert_int_equal(protect(1), 1);
	frame_take(1, pkts[0]);
	sender->next = 1000;
	pkts[0] = frame_make(0, 64, false, false);
	assert_int_equal(protect(1), 1);
	assert_int_equal(unprotect(1), 1);
	pkts[0] = frame_whole(1);
	assert_int_equal(unprotect(1), 0);
	assert_int_equal(reasons[0], BASE_DROP_TOO_OLD);
	assert_int_equal(receiver->too_old, 1);
}

/* A forged number moves no window. */
static void a_wrong_tag_changes_nothing(void **state)
{
	uint8_t *f;

	(void)state;
	pkts[0] = frame_make(0, 64, false, false);
	assert_int_equal(protect(1), 1);
	f = rte_pktmbuf_mtod(pkts[0], uint8_t *);
	f[55] = 0x7f; /* of the packet number */
	assert_int_equal(unprotect(1), 0);
	assert_int_equal(reasons[0], BASE_DROP_WRONG_TAG);
	assert_int_equal(receiver->wrong_tags, 1);
	assert_int_equal(receiver->replay.top, 0);
	sender->next = 1;
	pkts[0] = frame_make(0, 64, false, false);
	assert_int_equal(protect(1), 1);
	assert_int_equal(unprotect(1), 1);
}

static void a_spent_key_sends_no_more(void **state)
{
	(void)state;
	sender->next = CRYPT_HARD_PACKETS - 1;
	for (uint32_t i = 0; i < 3; i++)
		pkts[i] = frame_make(i, 64, false, false);
	assert_int_equal(protect(3), 2);
	assert_int_equal(reasons[2], BASE_DROP_SA_SPENT);
	assert_int_equal(sender->refused, 1);
	/* Nothing of it was touched. */
	same_as_before(2);
	sender->next = 5;
	sender->bytes = CRYPT_HARD_BYTES - 1;
	for (uint32_t i = 0; i < 2; i++)
		pkts[i] = frame_make(i, 64, false, false);
	assert_int_equal(protect(2), 1);
	assert_int_equal(reasons[1], BASE_DROP_SA_SPENT);
}

/* ---- what is wrong ---- */

static void set(uint8_t *f, uint32_t at, uint8_t value)
{
	f[at] = value;
}

static void hostile_headers_are_told_apart(void **state)
{
	static const struct {
		uint32_t at;
		uint8_t value;
		enum base_drop reason;
	} cases[] = {
		{12, 0x88, BASE_DROP_NOT_ROCE}, {14, 0x46, BASE_DROP_IP_HEADER}, {20, 0x20, BASE_DROP_IP_HEADER},
		{24, 0xff, BASE_DROP_IP_HEADER}, {39, 0xff, BASE_DROP_IP_LENGTH}, {42, 6, BASE_DROP_PSP_HEADER},
		{43, 2, BASE_DROP_PSP_HEADER}, {44, 1, BASE_DROP_PSP_HEADER}, {44, 0x40, BASE_DROP_PSP_HEADER},
		{45, 0x04, BASE_DROP_PSP_HEADER}, {45, 0x07, BASE_DROP_PSP_HEADER}, {45, 0x45, BASE_DROP_PSP_HEADER},
		{45, 0x85, BASE_DROP_PSP_HEADER}, {45, 0x01, BASE_DROP_PSP_HEADER}, {45, 0x21, BASE_DROP_PSP_HEADER},
		{46, 0, BASE_DROP_UNKNOWN_SPI}, {49, 0, BASE_DROP_UNKNOWN_SPI}, {57, 0, BASE_DROP_TOO_OLD},
		{57, 9, BASE_DROP_WRONG_TAG}, {58, 0xff, BASE_DROP_WRONG_TAG}, {35, 0xff, BASE_DROP_NONE},
		{5, 9, BASE_DROP_NONE},
	};

	(void)state;
	for (uint32_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		sender->next = 1;
		pkts[0] = frame_make(0, 64, false, false);
		assert_int_equal(protect(1), 1);
		set(rte_pktmbuf_mtod(pkts[0], uint8_t *), cases[i].at, cases[i].value);
		(void)unprotect(1);
		assert_int_equal(reasons[0], cases[i].reason);
		memset(receiver->replay.words, 0, 2 * sizeof(uint64_t));
		receiver->replay.top = 0;
	}
}

static void every_length_that_is_too_short(void **state)
{
	(void)state;
	pkts[0] = frame_make(0, 64, false, false);
	assert_int_equal(protect(1), 1);
	frame_take(1, pkts[0]);
	for (uint32_t n = 0; n < frames[1].bytes; n++) {
		pkts[0] = frame_whole(1);
		pkts[0]->data_len = (uint16_t)n;
		pkts[0]->pkt_len = n;
		assert_int_equal(unprotect(1), 0);
	}
	/* Lengths that agree with each other and leave no room for headers and ICV. */
	for (uint32_t udp = 0; udp < 48; udp++) {
		uint8_t *f;

		frames[2].bytes = frame_write(frames[2].before, 80, false, false);
		pkts[0] = frame_whole(2);
		f = rte_pktmbuf_mtod(pkts[0], uint8_t *);
		put16(f + 16, 20 + udp);
		put16(f + 24, 0);
		put16(f + 24, wire_csum_fold(wire_csum_add(0, f + 14, 20)));
		put16(f + 38, udp);
		assert_int_equal(unprotect(1), 0);
	}
}

static void without_room_nothing_is_done(void **state)
{
	(void)state;
	pkts[0] = frame_make(0, 64, false, false);
	pkts[0]->data_off = 10;
	memcpy(frames[0].room[0] + 10, frames[0].before, frames[0].bytes);
	pkts[1] = frame_make(1, 64, false, false);
	pkts[1]->buf_len = (uint16_t)(HEADROOM + frames[1].bytes + 15);
	pkts[2] = frame_make(2, 64, false, false);
	assert_int_equal(protect(3), 1);
	assert_int_equal(reasons[0], BASE_DROP_NO_ROOM);
	assert_int_equal(reasons[1], BASE_DROP_NO_ROOM);
	assert_int_equal(reasons[2], BASE_DROP_NONE);
	same_as_before(0);
	same_as_before(1);
	pkts[0] = pkts[2];
	frames[0] = frames[2];
	assert_int_equal(unprotect(1), 1);
}

/* What another one holds is not ciphered in place: he would find cipher text where he left a packet. */
static void shared_buffers_stay_as_they_are(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		frames[i].bytes = frame_write(frames[i].before, 200, false, false);
		pkts[i] = frame_cut(i, (uint32_t[]){42, 100}, 2);
	}
	pkts[0]->refcnt = 2;
	pkts[1]->next->refcnt = 2;
	pkts[2]->next->next->ol_flags = RTE_MBUF_F_INDIRECT;
	assert_int_equal(protect(4), 1);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(reasons[i], BASE_DROP_SHARED);
		frame_is(pkts[i], i);
	}
	assert_int_equal(sender->next, 2);
	pkts[0] = pkts[3];
	pkts[0]->next->refcnt = 2;
	assert_int_equal(unprotect(1), 0);
	assert_int_equal(reasons[0], BASE_DROP_SHARED);
	assert_int_equal(receiver->replay.top, 0);
	pkts[0]->next->refcnt = 1;
	assert_int_equal(unprotect(1), 1);
	frame_is(pkts[0], 3);
}

/* A driver may attach memory of its own to what it received, if nobody else has it; what is sent from it may be anybody's. */
static void memory_of_a_driver_may_be_opened_only(void **state)
{
	struct rte_mbuf_ext_shared_info info = {.refcnt = 1};

	(void)state;
	pkts[0] = frame_make(0, 60, false, false);
	pkts[0]->ol_flags = RTE_MBUF_F_EXTERNAL;
	pkts[0]->shinfo = &info;
	assert_int_equal(protect(1), 0);
	assert_int_equal(reasons[0], BASE_DROP_SHARED);
	frame_is(pkts[0], 0);
	info.refcnt = 2;
	pkts[0]->ol_flags = 0;
	assert_int_equal(protect(1), 1);
	pkts[0]->ol_flags = RTE_MBUF_F_EXTERNAL;
	assert_int_equal(unprotect(1), 0);
	assert_int_equal(reasons[0], BASE_DROP_SHARED);
	info.refcnt = 1;
	assert_int_equal(unprotect(1), 1);
	frame_is(pkts[0], 0);
}

/* The key of one peer does not speak for another, nor to another of our addresses. */
static void keys_are_for_their_addresses(void **state)
{
	static const uint32_t ends[2][2] = {{29, 33}, {37, 53}}; /* last bytes of source and destination */

	(void)state;
	for (int six = 0; six < 2; six++) {
		struct crypt_sa_params p = params;
		struct crypt_tx_sa *t;

		p.spi = 500 + (uint32_t)six;
		p.from = p.to = (struct wire_addr){.b = {[10] = 0xff, 0xff, 10, 0, 0, 1}};
		p.to.b[15] = 2;
		if (six != 0) {
			p.from = (struct wire_addr){.b = {[15] = 1}};
			p.to = (struct wire_addr){.b = {[15] = 2}};
		}
		t = crypt_tx_sa_new(worker.cipher, worker.cipher_ctx, &p);
		assert_int_equal(crypt_table_add(worker.table, crypt_rx_sa_new(worker.cipher, worker.cipher_ctx, &p)), 0);
		for (int end = 0; end < 3; end++) {
			tx[0] = t;
			/* And not by the other version of IP. */
			pkts[0] = frame_make(0, 60, (end == 2) != (six != 0), false);
			if (end < 2) {
				frames[0].before[ends[six][end]] ^= 0x40;
				if (six == 0) {
					put16(frames[0].before + 24, 0);
					put16(frames[0].before + 24, wire_csum_fold(wire_csum_add(0, frames[0].before + 14, 20)));
				}
				pkts[0] = frame_whole(0);
			}
			assert_int_equal(protect(1), 1);
			assert_int_equal(unprotect(1), 0);
			assert_int_equal(reasons[0], BASE_DROP_WRONG_PEER);
			assert_int_equal(rx[0]->replay.top, 0);
		}
		pkts[0] = frame_make(0, 60, six != 0, true);
		assert_int_equal(protect(1), 1);
		assert_int_equal(unprotect(1), 1);
		frame_is(pkts[0], 0);
		p.spi++;
		p.from.b[10] ^= 1;
		assert_true(six != 0 || crypt_rx_sa_new(worker.cipher, worker.cipher_ctx, &p) == NULL);
		crypt_tx_sa_free(t);
	}
}

static void half_used_keys_are_told(void **state)
{
	(void)state;
	assert_false(crypt_tx_sa_worn(sender));
	sender->bytes = ((uint64_t)4 << 40) - 1;
	assert_false(crypt_tx_sa_worn(sender));
	sender->bytes++;
	assert_true(crypt_tx_sa_worn(sender));
	assert_false(crypt_tx_sa_spent(sender));
	sender->bytes = 0;
	sender->next = (uint64_t)1 << 47;
	assert_false(crypt_tx_sa_worn(sender));
	sender->next++;
	assert_true(crypt_tx_sa_worn(sender));
	assert_false(crypt_tx_sa_spent(sender));
}

/* IP counts in 16 bits; and what has a longer frame than its packet is not what we make. */
static void lengths_that_cannot_grow(void **state)
{
	static uint8_t big[HEADROOM + 65536];
	struct rte_mbuf m = {.buf_addr = big, .buf_len = UINT16_MAX, .data_off = HEADROOM, .refcnt = 1, .nb_segs = 1};
	uint32_t most = UINT16_MAX - WIRE_PSP_OVERHEAD - HEADROOM;

	(void)state;
	for (uint32_t over = 0; over < 2; over++) {
		/* Cut in two: the second segment's memory is apart. */
		uint32_t bytes = frame_write(big + HEADROOM, most + HEADROOM + over - 42, false, false);
		struct rte_mbuf tail = {.buf_addr = big + HEADROOM + 60000, .buf_len = 6000, .refcnt = 1, .nb_segs = 1};

		m.next = &tail;
		m.nb_segs = 2;
		m.data_off = HEADROOM;
		m.data_len = 60000;
		m.pkt_len = bytes;
		tail.data_len = (uint16_t)(bytes - 60000);
		pkts[0] = &m;
		assert_int_equal(protect(1), 1 - over);
		assert_int_equal(reasons[0], over == 0 ? BASE_DROP_NONE : BASE_DROP_NO_ROOM);
	}
	pkts[0] = frame_make(0, 20, false, false);
	rte_pktmbuf_append(pkts[0], 1);
	assert_int_equal(protect(1), 0);
	assert_int_equal(reasons[0], BASE_DROP_IP_LENGTH);
}

static void ports_of_lanes_are_told_from_others(void **state)
{
	uint16_t lane = 99;

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		uint8_t *f;

		pkts[0] = frame_make(0, 64, (kind & 1) != 0, (kind & 2) != 0);
		f = rte_pktmbuf_mtod(pkts[0], uint8_t *);
		assert_false(crypt_is_protected(f, pkts[0]->data_len, WIRE_PSP_PORT, 4, &lane));
		assert_int_equal(protect(1), 1);
		f = rte_pktmbuf_mtod(pkts[0], uint8_t *);
		assert_true(crypt_is_protected(f, pkts[0]->data_len, WIRE_PSP_PORT, 4, &lane));
		assert_int_equal(lane, 2);
		assert_false(crypt_is_protected(f, pkts[0]->data_len, WIRE_PSP_PORT, 2, &lane));
		for (size_t n = 0; n < 42; n++)
			assert_false(crypt_is_protected(f, n, WIRE_PSP_PORT, 4, &lane));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(header_byte_by_byte, start, stop),
		cmocka_unit_test(ipv4_checksums_follow_the_length),
		cmocka_unit_test(ipv4_checksums_are_looked_at),
		cmocka_unit_test_setup_teardown(all_suites_have_their_version, start, stop),
		cmocka_unit_test_setup_teardown(any_frame_comes_back_as_it_was, start, stop),
		cmocka_unit_test_setup_teardown(segments_do_not_matter, start, stop),
		cmocka_unit_test_setup_teardown(switches_may_change_traffic_class_and_hop_limit, start, stop),
		cmocka_unit_test_setup_teardown(padding_is_not_the_packets, start, stop),
		cmocka_unit_test_setup_teardown(others_of_a_burst_stay_plain, start, stop),
		cmocka_unit_test_setup_teardown(each_packet_comes_once_in_any_order, start, stop),
		cmocka_unit_test_setup_teardown(what_is_too_old_is_told, start, stop),
		cmocka_unit_test_setup_teardown(a_wrong_tag_changes_nothing, start, stop),
		cmocka_unit_test_setup_teardown(a_spent_key_sends_no_more, start, stop),
		cmocka_unit_test_setup_teardown(hostile_headers_are_told_apart, start, stop),
		cmocka_unit_test_setup_teardown(every_length_that_is_too_short, start, stop),
		cmocka_unit_test_setup_teardown(without_room_nothing_is_done, start, stop),
		cmocka_unit_test_setup_teardown(shared_buffers_stay_as_they_are, start, stop),
		cmocka_unit_test_setup_teardown(memory_of_a_driver_may_be_opened_only, start, stop),
		cmocka_unit_test_setup_teardown(keys_are_for_their_addresses, start, stop),
		cmocka_unit_test_setup_teardown(half_used_keys_are_told, start, stop),
		cmocka_unit_test_setup_teardown(lengths_that_cannot_grow, start, stop),
		cmocka_unit_test_setup_teardown(ports_of_lanes_are_told_from_others, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
