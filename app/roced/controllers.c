/* SPDX-License-Identifier: BSD-3-Clause */
/* The devices' congestion controllers; those without go by the transport's window. */
#include <errno.h>

#include "log.h"
#include "roced.h"

int controllers_init(struct roced *roced)
{
	const struct config *config = &roced->config;

	for (uint32_t d = 0; config->congestion.controller.given && d < roced->n_devices; d++) {
		uint64_t mbps = congestion_device_mbps(config, roced->ports, d);

		if (mbps == 0) {
			log_line(LOG_ERR,
				"device \"%s\": congestion.controller needs the rate of its ports and a driver tells none:"
				" give ports[].rate_mbps",
				roced->devices[d].name);
			return -EINVAL;
		}
		if (!congestion_agreed(config, mbps, &roced->dcqcn, roced->agreed_cc[d])) {
			log_line(LOG_ERR,
				"device \"%s\": congestion.controller: its numbers do not fit %llu Mb/s or each other",
				roced->devices[d].name, (unsigned long long)mbps);
			return -EINVAL;
		}
		roced->devices[d].cc = roced->agreed_cc[d];
		log_line(LOG_INFO, "device \"%s\": congestion control %s at %llu Mb/s, base round trip %u us",
			roced->devices[d].name, cc_name(config->congestion.controller.kind), (unsigned long long)mbps,
			roced->agreed_cc[d][0].base_rtt_ns / 1000);
	}
	return 0;
}
