/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be asked of associations while they run, and wished of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "clock.h"
#include "protect_internal.h"

#define SECOND_NS 1000000000ull

static void tell(const struct association *a, uint64_t now_ns, struct protect_told *told)
{
	struct crypt_assoc_status status;

	crypt_assoc_status(a->assoc, &status);
	*told = (struct protect_told){
		.local = a->local,
		.peer = a->peer,
		.state = status.established ? (status.rekeying ? "rekeying" : "established") :
			status.handshake ? "handshake" : "none",
		.suite = status.established ? crypt_suite_name(status.suite) : "",
		.method = !status.established ? "" : status.method == CRYPT_METHOD_PSK ? "psk" : "certificate",
		.tx_epoch = status.tx_epoch,
		.rx_epoch = status.rx_epoch,
		.tx_spi = status.tx_spi_base,
		.rx_spi = status.rx_spi_base,
		.lanes = status.lanes,
		.peer_lanes = status.peer_lanes,
		.age_s = status.established ? (now_ns - status.born_ns) / SECOND_NS : 0,
		.handshakes = status.handshakes,
		.rekeys = status.rekeys,
		.refused = status.refused,
		.ignored = status.ignored,
	};
	protect_counts(a, &told->counts);
	memcpy(told->device, a->protect->roced->config.devices[a->device].name, sizeof(told->device));
	if (!status.established)
		(void)snprintf(told->why, sizeof(told->why), "%.*s", (int)sizeof(told->why) - 1, status.why);
}

uint32_t protect_tell(struct roced *roced, uint32_t from, struct protect_told *told, uint32_t most, uint32_t *all)
{
	const struct protect *p = roced->protect;
	uint64_t now_ns = clock_now_ns();
	uint32_t n = 0;

	*all = p != NULL ? p->n : 0;
	for (uint32_t i = from; i < *all && n < most; i++)
		tell(p->assocs[i], now_ns, &told[n++]);
	return n;
}

void protect_rekey(struct roced *roced, const struct wire_addr *peer, struct protect_rekeyed *result)
{
	struct protect *p = roced->protect;
	uint64_t now_ns = clock_now_ns();

	memset(result, 0, sizeof(*result));
	for (uint32_t i = 0; p != NULL && i < p->n; i++) {
		struct association *a = p->assocs[i];
		int rc;

		if (peer != NULL && memcmp(peer, &a->peer, sizeof(*peer)) != 0)
			continue;
		rc = crypt_assoc_rekey_now(a->assoc, now_ns);
		result->started += rc == 0;
		result->under_way += rc == -EALREADY;
		result->without_keys += rc == -ENOTCONN;
		a->next_ns = crypt_assoc_tick(a->assoc, now_ns);
	}
}
