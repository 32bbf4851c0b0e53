/* SPDX-License-Identifier: BSD-3-Clause */
#include "qos_class.h"

#include <stddef.h>

#include "qos_bucket.h"

#define PPM        1000000u
#define PERMILLE   1000u
#define MAX_WEIGHT 1000
#define MIN_PACKET 64
#define MAX_PACKET 65535

static bool rate_ok(uint64_t rate_bps)
{
	return rate_bps == 0 || (rate_bps >= QOS_MIN_RATE_BPS && rate_bps <= QOS_MAX_RATE_BPS);
}

static const char *class_wrong(const struct qos_config *config, const struct qos_class *class)
{
	if (class->priority >= QOS_PRIORITIES)
		return "priority is above 7";
	if (class->weight == 0 || class->weight > MAX_WEIGHT)
		return "weight is not 1 to 1000";
	if (!rate_ok(class->guaranteed_bps) || !rate_ok(class->ceiling_bps))
		return "rate is below 1 Mb/s or above 1.6 Tb/s";
	if (class->ceiling_bps != 0 && class->guaranteed_bps > class->ceiling_bps)
		return "guaranteed rate is above the ceiling";
	if (class->queue_bytes < config->packet_bytes)
		return "queue does not hold the largest packet";
	if (class->red.min_bytes > class->red.max_bytes)
		return "ECN marking ends before it begins";
	if (class->red.max_permille > PERMILLE)
		return "ECN marking is more than all packets";
	return NULL;
}

const char *qos_config_wrong(const struct qos_config *config, uint8_t *which)
{
	uint64_t guaranteed_bps = 0;

	*which = QOS_MAX_CLASSES;
	if (config->n_classes == 0 || config->n_classes > QOS_MAX_CLASSES)
		return "not 1 to 8 classes";
	if (config->packet_bytes < MIN_PACKET || config->packet_bytes > MAX_PACKET)
		return "largest packet is not 64 to 65535 bytes";
	if (!rate_ok(config->rate_bps))
		return "rate is below 1 Mb/s or above 1.6 Tb/s";
	for (int i = 0; i < QOS_DSCPS; i++) {
		if (config->class_of_dscp[i] >= config->n_classes)
			return "a DSCP is of a class that is none";
	}
	for (int i = 0; i < QOS_PRIORITIES; i++) {
		if (config->class_of_pcp[i] >= config->n_classes)
			return "a priority code point is of a class that is none";
	}
	for (uint8_t i = 0; i < config->n_classes; i++) {
		const char *wrong = class_wrong(config, &config->classes[i]);

		*which = i;
		if (wrong != NULL)
			return wrong;
		guaranteed_bps += config->classes[i].guaranteed_bps;
	}
	*which = QOS_MAX_CLASSES;
	if (config->rate_bps != 0 && guaranteed_bps > config->rate_bps)
		return "guaranteed rates are together above the rate";
	return NULL;
}

uint32_t qos_red_ppm(const struct qos_red *red, uint64_t queued_bytes)
{
	if (red->max_bytes == 0 || queued_bytes < red->min_bytes)
		return 0;
	if (queued_bytes >= red->max_bytes)
		return PPM;
	return (uint32_t)((queued_bytes - red->min_bytes) * red->max_permille * (PPM / PERMILLE) /
		(red->max_bytes - red->min_bytes));
}
