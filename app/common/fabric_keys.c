/* SPDX-License-Identifier: BSD-3-Clause */
#include "fabric_keys.h"

#define US 1000u

/* ---- a fabric ---- */

void fk_fabric_config(const struct fk_fabric *keys, uint64_t seed, struct fabric_config *out)
{
	*out = (struct fabric_config){
		.pods = keys->pods,
		.leaves = keys->leaves,
		.spines = keys->spines,
		.hosts_per_leaf = keys->hosts_per_leaf,
		.cores_per_spine = keys->cores_per_spine,
		.host_link = {keys->host_mbps, keys->host_ns},
		.leaf_link = {keys->leaf_mbps, keys->leaf_ns},
		.core_link = {keys->core_mbps, keys->core_ns},
		.sw = {
			.buffer_bytes = keys->buffer_bytes,
			.queue_bytes = keys->queue_bytes,
			.ecn = {keys->ecn_min_bytes, keys->ecn_max_bytes, keys->ecn_max_permille},
			.pfc_priorities = (uint8_t)keys->pfc_priorities,
			.pfc_xoff_bytes = keys->pfc_xoff_bytes,
			.pfc_xon_bytes = keys->pfc_xon_bytes,
		},
		.convergence_ns = keys->convergence_us * US,
		.seed = seed,
	};
	for (uint32_t c = 0; c < keys->n_classes; c++) {
		const struct fk_class *class = &keys->classes[c];

		out->sw.own_ecn |= (uint8_t)(1u << class->priority);
		out->sw.class_ecn[class->priority] = (struct qos_red){class->ecn_min_bytes, class->ecn_max_bytes,
			class->ecn_max_permille};
	}
}

static void check_classes(struct config_reader *reader, const struct fk_fabric *keys)
{
	uint32_t seen = 0;

	for (uint32_t c = 0; c < keys->n_classes; c++) {
		const struct fk_class *class = &keys->classes[c];

		if ((seen & 1u << class->priority) != 0)
			config_error(reader, &class->at, "fabric.classes[%u].priority: %u is named twice", c, class->priority);
		if (class->ecn_min_bytes > class->ecn_max_bytes)
			config_error(reader, &class->at, "fabric.classes[%u].ecn_min_bytes: is above ecn_max_bytes", c);
		seen |= 1u << class->priority;
	}
}

void fk_check_fabric(struct config_reader *reader, const struct fk_fabric *keys)
{
	uint64_t leaves = (uint64_t)keys->pods * keys->leaves, hosts = leaves * keys->hosts_per_leaf;
	uint64_t cores = (uint64_t)keys->pods * keys->spines * keys->cores_per_spine;
	const struct config_at at = {0};
	struct fabric_config config;

	if (keys->pods > 1 && keys->cores_per_spine == 0)
		config_error(reader, &at, "fabric.cores_per_spine: several pods need cores");
	if (keys->pods == 1 && keys->cores_per_spine != 0)
		config_error(reader, &at, "fabric.cores_per_spine: one pod has none");
	if (keys->spines == 0 && leaves > 1)
		config_error(reader, &at, "fabric.spines: several leaves need spines");
	if (hosts > FK_MAX_INDEX || leaves * keys->spines > FK_MAX_INDEX || cores > FK_MAX_INDEX)
		config_error(reader, &at,
			"fabric: is too large, with %llu hosts, %llu links of leaves to spines and %llu of spines to cores; must be "
			"%u of each at most",
			(unsigned long long)hosts, (unsigned long long)(leaves * keys->spines), (unsigned long long)cores,
			FK_MAX_INDEX);
	if (keys->ecn_min_bytes > keys->ecn_max_bytes)
		config_error(reader, &at, "fabric.ecn_min_bytes: is above ecn_max_bytes");
	check_classes(reader, keys);
	if (keys->pfc_xon_bytes > keys->pfc_xoff_bytes)
		config_error(reader, &at, "fabric.pfc_xon_bytes: is above pfc_xoff_bytes");
	if (keys->pfc_priorities != 0 && keys->pfc_xoff_bytes == 0)
		config_error(reader, &at, "fabric.pfc_xoff_bytes: must be above 0 with pfc_priorities");
	fk_fabric_config(keys, 0, &config);
	if (reader->n_errors == 0 && !fabric_config_ok(&config))
		config_error(reader, &at, "fabric: is none that can be built");
}

/* ---- places ---- */

static bool exists(uint32_t first, uint32_t count, uint64_t n)
{
	return first == FK_ANY || (uint64_t)first + count <= n;
}

bool fk_place_ok(const struct fk_fabric *keys, const struct fk_place *place, struct fk_lack *lack)
{
	uint64_t leaves = (uint64_t)keys->pods * keys->leaves, hosts = leaves * keys->hosts_per_leaf;
	uint64_t cores = (uint64_t)keys->pods * keys->spines * keys->cores_per_spine;
	const struct fk_lack all[] = {
		{"host", place->host, hosts},
		{"leaf", place->leaf, leaves},
		{"spine", place->spine, keys->spines},
		{"link", place->link, hosts + leaves * keys->spines + cores},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (exists(all[i].first, place->count, all[i].n))
			continue;
		*lack = all[i];
		return false;
	}
	return true;
}

static bool within(uint32_t i, uint32_t first, uint32_t count)
{
	return first == FK_ANY || (i >= first && i - first < count);
}

void fk_each_link(const struct fabric *fabric, const struct fk_fabric *keys, const struct fk_place *place,
	void (*fn)(void *arg, uint32_t link), void *arg)
{
	for (uint32_t i = 0; i < place->count && place->link != FK_ANY; i++)
		fn(arg, place->link + i);
	for (uint32_t i = 0; i < place->count && place->host != FK_ANY; i++)
		fn(arg, place->host + i);
	if (place->leaf == FK_ANY && place->spine == FK_ANY)
		return;
	for (uint32_t l = 0; l < keys->pods * keys->leaves; l++) {
		for (uint32_t s = 0; s < keys->spines; s++) {
			if (within(l, place->leaf, place->count) && within(s, place->spine, place->count))
				fn(arg, fabric_leaf_link(fabric, l, s));
		}
	}
}

/* ---- faults ---- */

void fk_check_fault(struct config_reader *reader, const struct fk_fabric *keys, const struct fk_fault *fault)
{
	const struct fk_place *place = &fault->place;
	int n_kinds = (place->host != FK_ANY) + (place->leaf != FK_ANY || place->spine != FK_ANY) + (place->link != FK_ANY);
	struct fk_lack lack;

	if (!fk_place_ok(keys, place, &lack))
		config_error(reader, &fault->at, "%s: there are %llu, so %u with count %u is too high", lack.what,
			(unsigned long long)lack.n, lack.first, place->count);
	if (n_kinds == 0)
		config_error(reader, &fault->at, "needs a host, leaf, spine or link");
	if (n_kinds > 1)
		config_error(reader, &fault->at, "one place at a time: a host, a leaf and a spine or one of them, or a link");
	if (fault->until_us != 0 && fault->until_us <= fault->at_us)
		config_error(reader, &fault->at, "until_us: is not after at_us");
}

void fk_fabric_fault(const struct fk_fault *keys, struct fabric_fault *out)
{
	*out = (struct fabric_fault){
		.cut = keys->cut,
		.rate_percent = keys->rate_percent,
		.lose_ppm = keys->lose_ppm,
		.corrupt_ppm = keys->corrupt_ppm,
		.repeat_ppm = keys->repeat_ppm,
		.delay_ppm = keys->delay_ppm,
		.delay_ns = keys->delay_ns,
		.pause_priorities = (uint8_t)keys->pause_priorities,
	};
}
