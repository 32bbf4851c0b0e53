/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a protected frame, cut into segments anywhere: none is taken that the peer did not send, and none is read or
 * written beside. The first byte says where to cut and whether the frame is ciphered first, so that what is behind a right tag is
 * reached as well.
 */
#include <string.h>

#include "crypt_protect.h"
#include "crypt_simd.h"
#include "fuzz.h"

#define MAX_BYTES 2048u
#define HEADROOM  64u
#define SPI       0x01020304u

static struct crypt_worker worker;
static struct crypt_tx_sa *sender;

static void set_up(void)
{
	struct crypt_sa_params params = {.suite = CRYPT_SM4_GCM, .spi = SPI, .window_packets = 64, .key = {9}};

	if (sender != NULL)
		return;
	worker.cipher = &crypt_simd_cipher;
	worker.cipher_ctx = crypt_simd_new(NULL);
	worker.port = WIRE_PSP_PORT;
	worker.table = crypt_table_new(4);
	FUZZ_CHECK(worker.cipher_ctx != NULL && worker.table != NULL);
	sender = crypt_tx_sa_new(worker.cipher, worker.cipher_ctx, &params);
	FUZZ_CHECK(sender != NULL);
	FUZZ_CHECK(crypt_table_add(worker.table, crypt_rx_sa_new(worker.cipher, worker.cipher_ctx, &params)) == 0);
}

/* Memory of exactly the size, so that one byte beside is found. */
static void fill(struct rte_mbuf *m, uint8_t **room, const uint8_t *data, uint32_t bytes, uint32_t tail)
{
	*room = malloc(HEADROOM + bytes + tail);
	FUZZ_CHECK(*room != NULL);
	memcpy(*room + HEADROOM, data, bytes);
	*m = (struct rte_mbuf){.buf_addr = *room, .buf_len = (uint16_t)(HEADROOM + bytes + tail), .data_off = HEADROOM,
		.data_len = (uint16_t)bytes, .refcnt = 1, .nb_segs = 1};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct rte_mbuf seg[2], *m = &seg[0];
	struct crypt_tx_sa *tx;
	struct crypt_rx_sa *rx;
	enum base_drop reason;
	uint8_t *room[2] = {NULL, NULL};
	uint32_t cut, bytes;
	uint16_t lane;
	bool seal;

	set_up();
	if (size < 2 || size > MAX_BYTES)
		return 0;
	seal = (data[0] & 1) != 0;
	bytes = (uint32_t)size - 1;
	cut = (data[0] & 2) != 0 ? RTE_MIN(bytes, 42u + (data[0] >> 2)) : bytes;
	fill(&seg[0], &room[0], data + 1, cut, cut == bytes ? 16 : 0);
	if (cut < bytes) {
		fill(&seg[1], &room[1], data + 1 + cut, bytes - cut, 16);
		seg[0].next = &seg[1];
		seg[0].nb_segs = 2;
	}
	m->pkt_len = bytes;
	tx = sender;
	if (seal && (sender->next = 1, crypt_protect(&worker, &m, &tx, 1, &reason)) == 1)
		FUZZ_CHECK(m->pkt_len == bytes + WIRE_PSP_OVERHEAD && reason == BASE_DROP_NONE);
	(void)crypt_is_protected(rte_pktmbuf_mtod(m, uint8_t *), m->data_len, WIRE_PSP_PORT, 4, &lane);
	if (crypt_unprotect(&worker, &m, &rx, 1, &reason) == 1) {
		uint32_t at = 0;

		/* Only what was sealed here comes through, and as it was. */
		FUZZ_CHECK(seal && m->pkt_len == bytes);
		for (const struct rte_mbuf *s = m; s != NULL; at += s->data_len, s = s->next)
			FUZZ_CHECK(memcmp(rte_pktmbuf_mtod(s, const void *), data + 1 + at, s->data_len) == 0);
		memset(rx->replay.words, 0, 2 * sizeof(uint64_t));
		rx->replay.top = 0;
	} else {
		FUZZ_CHECK(reason != BASE_DROP_NONE);
	}
	free(room[0]);
	free(room[1]);
	return 0;
}
