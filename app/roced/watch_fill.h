/* SPDX-License-Identifier: BSD-3-Clause */
/* Fills the tables of watch.h with what is there now. Main thread; what workers count is read as it is. */
#ifndef WATCH_FILL_H
#define WATCH_FILL_H

#include "roced.h"
#include "watch.h"

/* Rows of a table in an order that stays, without the first `from` of them, most at most. Returns how many; *all becomes how many
 * there are, of paths those of the first `from + most` queue pairs. */
uint32_t watch_fill(struct roced *roced, enum watch_id id, uint32_t from, void *rows, uint32_t most, uint32_t *all);

/* ---- for those who fill ---- */

struct watch_page {
	struct roced *roced;
	const struct watch_table *table;
	char *rows;
	uint32_t from, most;
	uint32_t n, all;
};

/* Counts one thing more; its row, all zero, or NULL if it is not of this page. */
void *watch_next(struct watch_page *page);
void watch_set_text(char text[WATCH_TEXT_BYTES], const char *from);
/* All zero: empty. */
void watch_set_addr(char text[WATCH_TEXT_BYTES], const struct wire_addr *addr);
void watch_set_mac(char text[WATCH_TEXT_BYTES], const uint8_t mac[6]);

/* Packets dropped for a reason, by whoever dropped them. */
uint64_t watch_drops(const struct roced *roced, enum base_drop reason);

/* watch_fill_ports.c */
void watch_fill_ports(struct watch_page *page);
void watch_fill_pfc(struct watch_page *page);
void watch_fill_channels(struct watch_page *page);
void watch_fill_pools(struct watch_page *page);
void watch_fill_xdp(struct watch_page *page);
/* watch_fill_workers.c */
void watch_fill_workers(struct watch_page *page);
void watch_fill_nodes(struct watch_page *page);
void watch_fill_transport(struct watch_page *page);
/* watch_fill_verbs.c */
void watch_fill_devices(struct watch_page *page);
void watch_fill_clients(struct watch_page *page);
void watch_fill_verbs(struct watch_page *page);
/* watch_fill_qps.c */
void watch_fill_qps(struct watch_page *page);
void watch_fill_paths(struct watch_page *page);
/* watch_fill_far.c */
void watch_fill_associations(struct watch_page *page);
void watch_fill_gateway(struct watch_page *page);
void watch_fill_far_gateways(struct watch_page *page);
void watch_fill_gateway_paths(struct watch_page *page);

#endif
