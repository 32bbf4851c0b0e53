/* SPDX-License-Identifier: BSD-3-Clause */
#include "protect_end.h"

#include <stdio.h>
#include <stdlib.h>

#include "wire_frame.h"

#define OTHER_SPI 5000u

static void no_memory(void)
{
	fputs("no memory for associations\n", stderr);
	exit(1);
}

void protect_end_associate(struct protect_end *end, enum crypt_suite suite, const struct wire_addr *local,
	const struct wire_addr *remote, uint32_t spi)
{
	struct crypt_sa_params params = {
		.suite = suite, .spi = spi, .key = {(uint8_t)spi, (uint8_t)(spi >> 8)}, .from = *local, .to = *remote};
	struct crypt_pair *pair = crypt_pairs_make(end->pairs, local, remote);
	struct crypt_rx_sa *rx = crypt_rx_sa_new(end->worker.cipher, end->worker.cipher_ctx, &params);

	if (pair == NULL || rx == NULL || crypt_table_add(end->worker.table, rx) != 0)
		no_memory();
	pair->tx = crypt_tx_sa_new(end->worker.cipher, end->worker.cipher_ctx, &params);
	if (pair->tx == NULL)
		no_memory();
}

void protect_end_make(
	struct protect_end *end, const struct crypt_cipher *cipher, void *ctx, enum crypt_suite suite, uint32_t n)
{
	struct wire_addr local = {.b = {[10] = 0xff, 0xff, 10, 1, 0, 1}};

	end->worker.cipher = cipher;
	end->worker.cipher_ctx = ctx;
	end->worker.port = WIRE_PSP_PORT;
	end->worker.table = crypt_table_new(PROTECT_OTHERS + n);
	end->pairs = crypt_pairs_new(PROTECT_OTHERS + n);
	if (end->worker.table == NULL || end->pairs == NULL)
		no_memory();
	for (uint32_t i = 0; i < PROTECT_OTHERS; i++) {
		struct wire_addr remote = {.b = {[10] = 0xff, 0xff, 10, 2, 0, (uint8_t)(1 + i)}};

		protect_end_associate(end, suite, &local, &remote, OTHER_SPI + i * 7919);
	}
}

void protect_end_free(struct protect_end *end)
{
	crypt_pairs_free(end->pairs);
	crypt_table_free(end->worker.table);
}

/* As the daemon finds who a frame goes to. */
static struct crypt_tx_sa *sa_of(const struct protect_end *end, const struct rte_mbuf *m)
{
	const uint8_t *frame = rte_pktmbuf_mtod(m, const uint8_t *);
	struct wire_addr local, peer;
	struct wire_udp_at at;
	struct crypt_pair *pair;

	if (wire_udp_find(frame, m->data_len, m->pkt_len, &at) != BASE_DROP_NONE)
		return NULL;
	wire_udp_addrs(frame, &at, &local, &peer);
	pair = crypt_pairs_find(end->pairs, &local, &peer);
	return pair != NULL ? pair->tx : NULL;
}

unsigned int protect_end_seal(struct protect_end *end, struct rte_mbuf **pkts, uint32_t n)
{
	struct crypt_tx_sa *sas[CRYPT_BURST];
	enum base_drop reasons[CRYPT_BURST];

	for (uint32_t i = 0; i < n; i++)
		sas[i] = sa_of(end, pkts[i]);
	return crypt_protect(&end->worker, pkts, sas, n, reasons);
}

unsigned int protect_end_open(struct protect_end *end, struct rte_mbuf **pkts, uint32_t n)
{
	struct crypt_rx_sa *sas[CRYPT_BURST];
	enum base_drop reasons[CRYPT_BURST];

	return crypt_unprotect(&end->worker, pkts, sas, n, reasons);
}
