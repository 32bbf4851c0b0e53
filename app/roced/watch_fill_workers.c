/* SPDX-License-Identifier: BSD-3-Clause */
/* Workers, the nodes of their graphs, and their transport, for watch_fill.h. */
#include "nodes.h"
#include "watch_fill.h"

void watch_fill_workers(struct watch_page *page)
{
	for (uint32_t w = 0; w < page->roced->n_workers; w++) {
		const struct worker *worker = page->roced->workers[w];
		const struct worker_counters *c = &worker->counters;
		struct watch_workers *row = watch_next(page);

		if (row == NULL)
			continue;
		row->worker = worker->index;
		row->lcore = worker->lcore;
		row->busy_ns = c->busy_ns;
		row->idle_ns = c->idle_ns;
		row->walks = c->walks;
		row->sleeps = c->sleeps;
		row->calls = c->calls;
		row->ring_in = c->ring_in;
		row->ring_out = c->ring_out;
		row->backlogged = c->backlogged;
	}
}

void watch_fill_nodes(struct watch_page *page)
{
	for (uint32_t w = 0; w < page->roced->n_workers; w++) {
		const struct worker *worker = page->roced->workers[w];

		for (uint32_t i = 0; i < nodes_count; i++) {
			const struct rte_node *node = rte_graph_node_get_by_name(worker->graph->name, nodes_all[i]->name);
			struct watch_nodes *row = node != NULL ? watch_next(page) : NULL;

			if (row == NULL)
				continue;
			row->worker = worker->index;
			watch_set_text(row->node, node->name);
			row->calls = node->total_calls;
			row->packets = node->total_objs;
			row->cycles = node->total_cycles;
		}
	}
}

#define COPY_NUMBER(field)
#define COPY_COUNTER(field)               row->field = c->field;
#define COPY(S, kind, field, unit, help)  COPY_##kind(field)

void watch_fill_transport(struct watch_page *page)
{
	for (uint32_t w = 0; w < page->roced->n_workers; w++) {
		const struct tp_counters *c = tp_counters(page->roced->workers[w]->tp);
		struct watch_transport *row = watch_next(page);

		if (row == NULL)
			continue;
		row->worker = w;
		WATCH_TRANSPORT(COPY, )
	}
}
