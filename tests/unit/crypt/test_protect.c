/* SPDX-License-Identifier: BSD-3-Clause */
/* Protected packets as docs/wire.md lays them out: what is sent comes back as it was, each once, and nothing else does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crypt_protect.h"
#include "crypt_simd.h"
#include "wire_arp_nd.h"

#define SPI        0xa1b2c3d4u
#define MAX_FRAME  4400u
#define HEADROOM   128u
#define ROOM       (HEADROOM + MAX_FRAME + 64u)
#define N_FRAMES   CRYPT_BURST

/* A frame's memory: up to three segments. */
struct frame {
	struct rte_mbuf seg[3];
	uint8_t room[3][ROOM];
	uint8_t before[MAX_FRAME];
	uint32_t bytes;
};

static struct frame frames[N_FRAMES];
static struct rte_mbuf *pkts[N_FRAMES];
static enum base_drop reasons[N_FRAMES];
static struct crypt_tx_sa *tx[N_FRAMES];
static struct crypt_rx_sa *rx[N_FRAMES];
static struct crypt_worker worker;
static struct crypt_sa_params params;
static struct crypt_tx_sa *sender;
static struct crypt_rx_sa *receiver;

/* ---- frames ---- */

static void put16(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 8);
	p[1] = (uint8_t)v;
}

/* Writes a frame of UDP over IP with so many bytes behind the UDP header. Returns its length. */
static uint32_t write_frame(uint8_t *f, uint32_t text, bool six, bool vlan)
{
	uint32_t l3 = vlan ? 18 : 14, l4 = l3 + (six ? 40 : 20), udp = 8 + text;

	memset(f, 0, l4 + udp);
	memcpy(f, (uint8_t[]){2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1}, 12);
	if (vlan)
		memcpy(f + 12, (uint8_t[]){0x81, 0x00, 0x60, 42}, 4);
	put16(f + l3 - 2, six ? 0x86dd : 0x0800);
	if (six) {
		memcpy(f + l3, (uint8_t[]){0x60, 0x20, 0, 7}, 4);
		put16(f + l3 + 4, udp);
		f[l3 + 6] = 17;
		f[l3 + 7] = 64;
		f[l3 + 23] = 1;
		f[l3 + 39] = 2;
	} else {
		memcpy(f + l3, (uint8_t[]){0x45, 0x6a}, 2);
		put16(f + l3 + 2, 20 + udp);
		memcpy(f + l3 + 6, (uint8_t[]){0x40, 0, 64, 17}, 4);
		memcpy(f + l3 + 12, (uint8_t[]){10, 0, 0, 1, 10, 0, 0, 2}, 8);
		put16(f + l3 + 10, wire_csum_fold(wire_csum_add(0, f + l3, 20)));
	}
	put16(f + l4, 0xc001);
	put16(f + l4 + 2, 4791);
	put16(f + l4 + 4, udp);
	for (uint32_t i = 0; i < text; i++)
		f[l4 + 8 + i] = (uint8_t)(i * 7 + text);
	return l4 + udp;
}

/* Frame i as an mbuf of one segment, or cut at two places. */
static struct rte_mbuf *as_mbuf(uint32_t i, uint32_t first, uint32_t second)
{
	struct frame *f = &frames[i];
	uint32_t cuts[4] = {0, first != 0 ? first : f->bytes, second != 0 ? second : f->bytes, f->bytes};
	uint16_t n = first == 0 ? 1 : second == 0 ? 2 : 3;

	for (uint16_t s = 0; s < n; s++) {
		uint32_t bytes = cuts[s + 1] - cuts[s];

		f->seg[s] = (struct rte_mbuf){.buf_addr = f->room[s],
			.buf_len = ROOM,
			.data_off = HEADROOM,
			.data_len = (uint16_t)bytes,
			.refcnt = 1,
			.nb_segs = 1,
			.next = s + 1 < n ? &f->seg[s + 1] : NULL};
		memcpy(f->room[s] + HEADROOM, f->before + cuts[s], bytes);
	}
	f->seg[0].nb_segs = n;
	f->seg[0].pkt_len = f->bytes;
	return &f->seg[0];
}

static struct rte_mbuf *make(uint32_t i, uint32_t text, bool six, bool vlan)
{
	frames[i].bytes = write_frame(frames[i].before, text, six, vlan);
	return as_mbuf(i, 0, 0);
}

static void flatten(const struct rte_mbuf *m, uint8_t *to)
{
	for (; m != NULL; m = m->next) {
		memcpy(to, rte_pktmbuf_mtod(m, const void *), m->data_len);
		to += m->data_len;
	}
}

static void same_as_before(uint32_t i)
{
	uint8_t now[MAX_FRAME];

	assert_int_equal(pkts[i]->pkt_len, frames[i].bytes);
	flatten(pkts[i], now);
	assert_memory_equal(now, frames[i].before, frames[i].bytes);
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
	pkts[0] = make(0, 44, false, false);
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
		pkts[0] = make(0, 100, false, false);
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
			pkts[kind] = make((uint32_t)kind, texts[t], (kind & 1) != 0, (kind & 2) != 0);
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
			frames[0].bytes = write_frame(frames[0].before, 150, false, false);
			pkts[0] = as_mbuf(0, first, second);
			assert_int_equal(protect(1), 1);
			flatten(pkts[0], frames[1].before);
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
	pkts[0] = make(0, 64, false, false);
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
	pkts[0] = make(0, 12, false, false);
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
		pkts[i] = make(i, 64, false, false);
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
	static uint8_t copies[N_FRAMES][MAX_FRAME];
	uint32_t n[N_FRAMES];

	(void)state;
	for (uint32_t i = 0; i < N_FRAMES; i++)
		pkts[i] = make(i, 100 + i, false, false);
	assert_int_equal(protect(N_FRAMES), N_FRAMES);
	for (uint32_t i = 0; i < N_FRAMES; i++) {
		n[i] = pkts[i]->pkt_len;
		flatten(pkts[i], copies[i]);
	}
	/* By four paths: of each fourth the last come first; and each comes twice in the same burst, and again later. */
	for (int again = 0; again < 2; again++) {
		for (uint32_t path = 0; path < 4; path++) {
			for (uint32_t k = 0; k < 32; k++) {
				uint32_t which = N_FRAMES - 4 - k / 2 * 4 + path;

				frames[k].bytes = n[which];
				memcpy(frames[k].before, copies[which], n[which]);
				pkts[k] = as_mbuf(k, 0, 0);
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
	uint8_t old[MAX_FRAME];
	uint32_t n;

	(void)state;
	pkts[0] = make(0, 64, false, false);
	assert_int_equal(protect(1), 1);
	n = pkts[0]->pkt_len;
	flatten(pkts[0], old);
	sender->next = 1000;
	pkts[0] = make(0, 64, false, false);
	assert_int_equal(protect(1), 1);
	assert_int_equal(unprotect(1), 1);
	frames[0].bytes = n;
	memcpy(frames[0].before, old, n);
	pkts[0] = as_mbuf(0, 0, 0);
	assert_int_equal(unprotect(1), 0);
	assert_int_equal(reasons[0], BASE_DROP_TOO_OLD);
	assert_int_equal(receiver->too_old, 1);
}

/* A forged number moves no window. */
static void a_wrong_tag_changes_nothing(void **state)
{
	uint8_t *f;

	(void)state;
	pkts[0] = make(0, 64, false, false);
	assert_int_equal(protect(1), 1);
	f = rte_pktmbuf_mtod(pkts[0], uint8_t *);
	f[55] = 0x7f; /* of the packet number */
	assert_int_equal(unprotect(1), 0);
	assert_int_equal(reasons[0], BASE_DROP_WRONG_TAG);
	assert_int_equal(receiver->wrong_tags, 1);
	assert_int_equal(receiver->replay.top, 0);
	sender->next = 1;
	pkts[0] = make(0, 64, false, false);
	assert_int_equal(protect(1), 1);
	assert_int_equal(unprotect(1), 1);
}

static void a_spent_key_sends_no_more(void **state)
{
	(void)state;
	sender->next = CRYPT_HARD_PACKETS - 1;
	for (uint32_t i = 0; i < 3; i++)
		pkts[i] = make(i, 64, false, false);
	assert_int_equal(protect(3), 2);
	assert_int_equal(reasons[2], BASE_DROP_SA_SPENT);
	assert_int_equal(sender->refused, 1);
	/* Nothing of it was touched. */
	same_as_before(2);
	sender->next = 5;
	sender->bytes = CRYPT_HARD_BYTES - 1;
	for (uint32_t i = 0; i < 2; i++)
		pkts[i] = make(i, 64, false, false);
	assert_int_equal(protect(2), 1);
	assert_int_equal(reasons[1], BASE_DROP_SA_SPENT);
}

/* ---- nonces ---- */

#define MAX_NONCES 20000u

static struct nonce {
	uint8_t b[CRYPT_NONCE_BYTES];
} nonces[MAX_NONCES];
static uint32_t n_nonces;

/* A backend that notes what it is given. */
static unsigned int note(void *ctx, struct crypt_job *jobs, unsigned int n)
{
	(void)ctx;
	for (unsigned int i = 0; i < n; i++) {
		assert_true(n_nonces < MAX_NONCES);
		memcpy(nonces[n_nonces++].b, jobs[i].nonce, CRYPT_NONCE_BYTES);
		if (i > 0)
			assert_true((uintptr_t)jobs[i - 1].key <= (uintptr_t)jobs[i].key);
		jobs[i].status = 0;
	}
	return n;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct nonce));
}

/* Lanes, and keys one after the other: each has an SPI of its own, so no nonce comes again, and not with its key either. */
static void nonces_never_repeat(void **state)
{
	struct crypt_cipher cipher = crypt_simd_cipher;
	struct crypt_tx_sa *lanes[4];

	(void)state;
	cipher.seal = note;
	worker.cipher = &cipher;
	n_nonces = 0;
	for (uint32_t epoch = 0; epoch < 50; epoch++) {
		for (uint16_t lane = 0; lane < 4; lane++) {
			struct crypt_sa_params p = params;

			p.spi = 1 + 4 * epoch + lane;
			p.lane = lane;
			p.epoch = epoch;
			p.key[5] = (uint8_t)epoch;
			lanes[lane] = crypt_tx_sa_new(&crypt_simd_cipher, worker.cipher_ctx, &p);
		}
		for (uint32_t burst = 0; burst < 5; burst++) {
			for (uint32_t i = 0; i < N_FRAMES; i++) {
				pkts[i] = make(i, 60, false, false);
				tx[i] = lanes[(i * 7 + burst) % 4];
			}
			assert_int_equal(protect(N_FRAMES), N_FRAMES);
		}
		for (uint16_t lane = 0; lane < 4; lane++)
			crypt_tx_sa_free(lanes[lane]);
	}
	assert_int_equal(n_nonces, 50 * 5 * N_FRAMES);
	qsort(nonces, n_nonces, sizeof(nonces[0]), compare);
	for (uint32_t i = 1; i < n_nonces; i++)
		assert_int_not_equal(compare(&nonces[i - 1], &nonces[i]), 0);
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
		pkts[0] = make(0, 64, false, false);
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
	pkts[0] = make(0, 64, false, false);
	assert_int_equal(protect(1), 1);
	frames[1].bytes = pkts[0]->pkt_len;
	flatten(pkts[0], frames[1].before);
	for (uint32_t n = 0; n < frames[1].bytes; n++) {
		uint32_t whole = frames[1].bytes;

		frames[1].bytes = n;
		pkts[0] = as_mbuf(1, 0, 0);
		assert_int_equal(unprotect(1), 0);
		frames[1].bytes = whole;
	}
	/* Lengths that agree with each other and leave no room for headers and ICV. */
	for (uint32_t udp = 0; udp < 48; udp++) {
		uint8_t *f;

		frames[2].bytes = write_frame(frames[2].before, 80, false, false);
		pkts[0] = as_mbuf(2, 0, 0);
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
	pkts[0] = make(0, 64, false, false);
	pkts[0]->data_off = 10;
	memcpy(frames[0].room[0] + 10, frames[0].before, frames[0].bytes);
	pkts[1] = make(1, 64, false, false);
	pkts[1]->buf_len = (uint16_t)(HEADROOM + frames[1].bytes + 15);
	pkts[2] = make(2, 64, false, false);
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

static void ports_of_lanes_are_told_from_others(void **state)
{
	uint16_t lane = 99;

	(void)state;
	for (int kind = 0; kind < 4; kind++) {
		uint8_t *f;

		pkts[0] = make(0, 64, (kind & 1) != 0, (kind & 2) != 0);
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
		cmocka_unit_test_setup_teardown(nonces_never_repeat, start, stop),
		cmocka_unit_test_setup_teardown(hostile_headers_are_told_apart, start, stop),
		cmocka_unit_test_setup_teardown(every_length_that_is_too_short, start, stop),
		cmocka_unit_test_setup_teardown(without_room_nothing_is_done, start, stop),
		cmocka_unit_test_setup_teardown(ports_of_lanes_are_told_from_others, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
