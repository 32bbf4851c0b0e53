/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic classes (channels): which packets are of one, and what a port gives it. A class is a queue at the port. Packets
 * are told apart by DSCP (RFC 2474), or by the priority code point of a VLAN tag (IEEE 802.1Q, 6.9.3).
 */
#ifndef QOS_CLASS_H
#define QOS_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "qos_pause.h"

#define QOS_MAX_CLASSES 8
#define QOS_DSCPS       64

/* Random early detection on the queue's length (DCQCN, SIGCOMM'15, 4.1): no mark up to min_bytes, then more and more of
 * the packets up to max_permille at max_bytes, and from there on all. max_bytes 0: none. */
struct qos_red {
	uint64_t min_bytes, max_bytes;
	uint32_t max_permille;
};

struct qos_class {
	uint8_t priority;          /* PFC */
	bool tags;                 /* its frames with a VLAN tag are sent with this priority code point */
	uint8_t pcp;
	bool strict;               /* before all classes that are not, and before strict ones with a greater number */
	uint16_t weight;           /* part of what strict classes and guarantees leave, 1 to 1000 */
	uint64_t guaranteed_bps;   /* it has this before all others; 0: none */
	uint64_t ceiling_bps;      /* and no more than this; 0: no limit */
	uint32_t queue_bytes;      /* what is beyond is dropped */
	struct qos_red red;
};

struct qos_config {
	uint8_t n_classes;         /* 1 to QOS_MAX_CLASSES */
	bool trust_pcp;            /* tagged packets are told apart by their tag */
	uint8_t class_of_dscp[QOS_DSCPS];
	uint8_t class_of_pcp[QOS_PRIORITIES];
	uint64_t rate_bps;         /* of all classes together; 0: what the port takes */
	uint32_t packet_bytes;     /* the largest packet, 64 to 65,535 */
	uint32_t burst_ns;         /* of all rates: see qos_burst_bytes() */
	struct qos_class classes[QOS_MAX_CLASSES];
};

/* NULL, or what is wrong; *which is the class, or QOS_MAX_CLASSES: of none. */
const char *qos_config_wrong(const struct qos_config *config, uint8_t *which);

/* Class of a packet with this traffic class octet (DSCP and ECN). */
static inline uint8_t qos_class_of(const struct qos_config *config, uint8_t tos, bool has_vlan, uint16_t vlan_tci)
{
	return has_vlan && config->trust_pcp ? config->class_of_pcp[vlan_tci >> 13] : config->class_of_dscp[tos >> 2];
}

/* Probability of a mark in millionths with so many bytes queued. */
uint32_t qos_red_ppm(const struct qos_red *red, uint64_t queued_bytes);

#endif
