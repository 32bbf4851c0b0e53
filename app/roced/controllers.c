/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices' congestion controllers; those without go by the transport's window. */
#include <errno.h>

#include "log.h"
#include "tuning.h"

int controllers_init(struct roced *roced)
{
	const struct config *config = &roced->config;
	char why[256];

	roced->tuning = tuning_new(roced, config, why, sizeof(why));
	if (roced->tuning == NULL) {
		log_line(LOG_ERR, "%s", why);
		return -EINVAL;
	}
	for (uint32_t d = 0; d < roced->n_devices; d++) {
		const struct cc_config *cc = tuning_cc(roced->tuning, config, d);

		roced->devices[d].cc = cc;
		if (cc != NULL)
			log_line(LOG_INFO, "device \"%s\": congestion control %s at %llu Mb/s, base round trip %u us", roced->devices[d].name,
				cc_name(cc->kind), (unsigned long long)(cc->rate_bps / 1000000), cc->base_rtt_ns / 1000);
	}
	return 0;
}
