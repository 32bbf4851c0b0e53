/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The keys of a fabric and of what goes wrong in it, which roce-sim's scenarios and roce-fabric's configuration have in
 * common: rows for their tables (config_read.h), what no single key shows, and what lib/fabric makes of them.
 */
#ifndef FABRIC_KEYS_H
#define FABRIC_KEYS_H

#include "config_read.h"
#include "fabric.h"

#define FK_MAX_FAULTS 64
#define FK_ANY        UINT32_MAX      /* of a host, leaf, spine or link: not named */
#define FK_MAX_INDEX  (1u << 20)

/* Marking of one priority. */
struct fk_class {
	struct config_at at;
	uint32_t priority, ecn_max_permille;
	uint64_t ecn_min_bytes, ecn_max_bytes;
};

struct fk_fabric {
	uint32_t pods, leaves, spines, hosts_per_leaf, cores_per_spine;
	uint64_t buffer_bytes, queue_bytes, ecn_min_bytes, ecn_max_bytes, pfc_xoff_bytes, pfc_xon_bytes;
	uint32_t ecn_max_permille, pfc_priorities;
	struct fk_class classes[FABRIC_PRIORITIES];
	uint32_t n_classes;
	uint64_t convergence_us;
	uint64_t host_mbps, leaf_mbps, core_mbps, host_ns, leaf_ns, core_ns;
};

/* Links of a fabric, by what is at their ends. */
struct fk_place {
	uint32_t host, leaf, spine;       /* a leaf or spine alone: all its links to the other tier */
	uint32_t link;                    /* by number */
	uint32_t count;                   /* so many hosts, leaves, spines or links from that one on */
};

struct fk_fault {
	struct config_at at;
	uint64_t at_us, until_us;         /* until 0: the end */
	struct fk_place place;
	bool cut;
	uint32_t rate_percent, lose_ppm, corrupt_ppm, repeat_ppm, delay_ppm;
	uint64_t delay_ns;
	uint32_t pause_priorities;
};

/* What is wrong with a fabric; config_error() tells. */
void fk_check_fabric(struct config_reader *reader, const struct fk_fabric *keys);
void fk_check_fault(struct config_reader *reader, const struct fk_fabric *keys, const struct fk_fault *fault);

/* The fabric that a file describes. */
void fk_fabric_config(const struct fk_fabric *keys, uint64_t seed, struct fabric_config *out);
/* The fault of a link that a file describes. */
void fk_fabric_fault(const struct fk_fault *keys, struct fabric_fault *out);

/* What a place names and a fabric does not have. */
struct fk_lack {
	const char *what;                 /* "host" and the like */
	uint32_t first;
	uint64_t n;                       /* so many there are */
};

/* Whether all that a place names exists; else *lack is filled in. */
bool fk_place_ok(const struct fk_fabric *keys, const struct fk_place *place, struct fk_lack *lack);
/* Calls fn(arg, link) for each link of a place that exists. */
void fk_each_link(const struct fabric *fabric, const struct fk_fabric *keys, const struct fk_place *place,
	void (*fn)(void *arg, uint32_t link), void *arg);

/* ---- rows of a table ---- */

#define FK_AT(s, f)    offsetof(struct s, f), sizeof(((struct s *)0)->f), 0
#define FK_BYTES       (1ull << 40)
#define FK_US          (1ull << 40)
#define FK_NS          1000000000u
#define FK_MBPS        8000000u
#define FK_PPM         1000000u
#define FK_NUMBER(path, at, min, max, dflt, unit, help) {path, CONFIG_UINT, at, min, max, dflt, unit, help}

#define FK_CLASS(f) FK_AT(fk_class, f)
/* The group `fabric`, which is in the field f of struct s. */
#define FK_FABRIC_ROWS(s, f) \
	{"fabric", CONFIG_GROUP_OF, 0, 0, 0, 0, 1, "", "", "leaves, spines, cores and their links"}, \
	FK_NUMBER("fabric.pods", FK_AT(s, f.pods), 1, FK_MAX_INDEX, "1", "", "more than one: three tiers"), \
	FK_NUMBER("fabric.leaves", FK_AT(s, f.leaves), 1, FK_MAX_INDEX, "8", "", "of a pod"), \
	FK_NUMBER("fabric.spines", FK_AT(s, f.spines), 0, FK_MAX_INDEX, "16", "", "of a pod"), \
	FK_NUMBER("fabric.hosts_per_leaf", FK_AT(s, f.hosts_per_leaf), 1, FK_MAX_INDEX, "16", "", ""), \
	FK_NUMBER("fabric.cores_per_spine", FK_AT(s, f.cores_per_spine), 0, FK_MAX_INDEX, "0", "", \
		"with more than one pod"), \
	FK_NUMBER("fabric.host_mbps", FK_AT(s, f.host_mbps), 1, FK_MBPS, "100000", "Mb/s", \
		"rate of the hosts' links"), \
	FK_NUMBER("fabric.leaf_mbps", FK_AT(s, f.leaf_mbps), 1, FK_MBPS, "100000", "Mb/s", \
		"of those from leaf to spine"), \
	FK_NUMBER("fabric.core_mbps", FK_AT(s, f.core_mbps), 1, FK_MBPS, "100000", "Mb/s", \
		"of those from spine to core"), \
	FK_NUMBER("fabric.host_ns", FK_AT(s, f.host_ns), 0, FK_NS, "500", "ns", \
		"delay of the hosts' links, the receiver's included"), \
	FK_NUMBER("fabric.leaf_ns", FK_AT(s, f.leaf_ns), 0, FK_NS, "500", "ns", "of those from leaf to spine"), \
	FK_NUMBER("fabric.core_ns", FK_AT(s, f.core_ns), 0, FK_NS, "500", "ns", "of those from spine to core"), \
	FK_NUMBER("fabric.buffer_bytes", FK_AT(s, f.buffer_bytes), 0, FK_BYTES, "33554432", "bytes", \
		"of a switch, shared by its ports; 0: endless"), \
	FK_NUMBER("fabric.queue_bytes", FK_AT(s, f.queue_bytes), 0, FK_BYTES, "0", "bytes", \
		"most of one port; 0: the buffer"), \
	FK_NUMBER("fabric.ecn_min_bytes", FK_AT(s, f.ecn_min_bytes), 0, FK_BYTES, "100000", "bytes", \
		"queue at which marking begins"), \
	FK_NUMBER("fabric.ecn_max_bytes", FK_AT(s, f.ecn_max_bytes), 0, FK_BYTES, "400000", "bytes", \
		"queue from which all is marked; both 0: no marking"), \
	FK_NUMBER("fabric.ecn_max_permille", FK_AT(s, f.ecn_max_permille), 0, 1000, "200", "permille", \
		"marked just below that"), \
	{"fabric.classes", CONFIG_LIST_OF, offsetof(struct s, f.classes), sizeof(struct fk_class), \
		offsetof(struct s, f.n_classes), 0, FABRIC_PRIORITIES, "", "", \
		"priorities that are marked by thresholds of their own, and by what is queued of them alone"}, \
	FK_NUMBER("fabric.classes[].priority", FK_CLASS(priority), 0, FABRIC_PRIORITIES - 1, NULL, "", "which one"), \
	FK_NUMBER("fabric.classes[].ecn_min_bytes", FK_CLASS(ecn_min_bytes), 0, FK_BYTES, "100000", "bytes", \
		"as fabric.ecn_min_bytes"), \
	FK_NUMBER("fabric.classes[].ecn_max_bytes", FK_CLASS(ecn_max_bytes), 0, FK_BYTES, "400000", "bytes", \
		"as fabric.ecn_max_bytes; both 0: it is never marked"), \
	FK_NUMBER("fabric.classes[].ecn_max_permille", FK_CLASS(ecn_max_permille), 0, 1000, "200", "permille", \
		"as fabric.ecn_max_permille"), \
	FK_NUMBER("fabric.pfc_priorities", FK_AT(s, f.pfc_priorities), 0, 255, "0", "", \
		"bit p: priority p is lossless"), \
	FK_NUMBER("fabric.pfc_xoff_bytes", FK_AT(s, f.pfc_xoff_bytes), 0, FK_BYTES, "500000", "bytes", \
		"from one port and priority in a switch: its sender is paused"), \
	FK_NUMBER("fabric.pfc_xon_bytes", FK_AT(s, f.pfc_xon_bytes), 0, FK_BYTES, "400000", "bytes", "and resumes"), \
	FK_NUMBER("fabric.convergence_us", FK_AT(s, f.convergence_us), 0, FK_US, "1000000", "us", \
		"from a cut until the switches route around it")

#define FK_FAULT(f) FK_AT(fk_fault, f)
/* The list `faults`, which is in the array f of struct s, with its length in the field n. */
#define FK_FAULT_ROWS(s, f, n) \
	{"faults", CONFIG_LIST_OF, offsetof(struct s, f), sizeof(((struct s *)0)->f[0]), offsetof(struct s, n), 0, \
		FK_MAX_FAULTS, "", "", "what goes wrong on links; of two at once on a link the later one counts"}, \
	FK_NUMBER("faults[].at_us", FK_FAULT(at_us), 0, FK_US, "0", "us", "from then"), \
	FK_NUMBER("faults[].until_us", FK_FAULT(until_us), 0, FK_US, "0", "us", "to then; 0: to the end"), \
	FK_NUMBER("faults[].host", FK_FAULT(place.host), 0, FK_MAX_INDEX, "4294967295", "", "link of that host"), \
	FK_NUMBER("faults[].leaf", FK_FAULT(place.leaf), 0, FK_MAX_INDEX, "4294967295", "", \
		"links of that leaf to spines, counted over all pods"), \
	FK_NUMBER("faults[].spine", FK_FAULT(place.spine), 0, FK_MAX_INDEX, "4294967295", "", \
		"links of leaves to that spine of their pod; with `leaf`, of that one only"), \
	FK_NUMBER("faults[].link", FK_FAULT(place.link), 0, FK_MAX_INDEX, "4294967295", "", \
		"link by number: hosts', leaf to spine, spine to core"), \
	FK_NUMBER("faults[].count", FK_FAULT(place.count), 1, FK_MAX_INDEX, "1", "", \
		"so many hosts, leaves, spines or links from that one on"), \
	{"faults[].cut", CONFIG_BOOLEAN, FK_FAULT(cut), 0, 1, "false", "", "nothing gets through"}, \
	FK_NUMBER("faults[].rate_percent", FK_FAULT(rate_percent), 0, 100, "0", "%", \
		"of the link's rate; 0: all of it"), \
	FK_NUMBER("faults[].lose_ppm", FK_FAULT(lose_ppm), 0, FK_PPM, "0", "ppm", "packets lost"), \
	FK_NUMBER("faults[].corrupt_ppm", FK_FAULT(corrupt_ppm), 0, FK_PPM, "0", "ppm", "damaged"), \
	FK_NUMBER("faults[].repeat_ppm", FK_FAULT(repeat_ppm), 0, FK_PPM, "0", "ppm", "delivered twice"), \
	FK_NUMBER("faults[].delay_ppm", FK_FAULT(delay_ppm), 0, FK_PPM, "0", "ppm", \
		"delayed, so that others overtake them"), \
	FK_NUMBER("faults[].delay_ns", FK_FAULT(delay_ns), 0, FK_NS, "10000", "ns", "at most"), \
	FK_NUMBER("faults[].pause_priorities", FK_FAULT(pause_priorities), 0, 255, "0", "", \
		"bit p: both ends are told all the time to pause priority p (a PFC storm)")

#endif
