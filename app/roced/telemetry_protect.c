/* SPDX-License-Identifier: BSD-3-Clause */
/* /roced/rekey. */
#include <errno.h>
#include <string.h>

#include <rte_telemetry.h>

#include "protect.h"
#include "telemetry.h"
#include "wire_addr.h"

struct rekey {
	bool all;
	struct wire_addr peer;
	struct protect_rekeyed result;
};

static void fill_rekey(struct roced *roced, void *arg)
{
	struct rekey *rekey = arg;

	protect_rekey(roced, rekey->all ? NULL : &rekey->peer, &rekey->result);
}

static int read_peer(const char *params, struct rekey *rekey)
{
	if (params == NULL)
		return -EINVAL;
	rekey->all = strcmp(params, "all") == 0;
	return rekey->all || wire_addr_read(params, &rekey->peer) ? 0 : -EINVAL;
}

static int on_rekey(const char *cmd, const char *params, struct rte_tel_data *info)
{
	struct rekey rekey = {0};
	int rc = read_peer(params, &rekey);

	(void)cmd;
	if (rc == 0)
		rc = telemetry_ask(fill_rekey, &rekey);
	if (rc != 0)
		return rc;
	rte_tel_data_start_dict(info);
	rte_tel_data_add_dict_u64(info, "started", rekey.result.started);
	rte_tel_data_add_dict_u64(info, "under_way", rekey.result.under_way);
	rte_tel_data_add_dict_u64(info, "without_keys", rekey.result.without_keys);
	return 0;
}

int telemetry_protect_start(void)
{
	return rte_telemetry_register_cmd("/roced/rekey", on_rekey, "New keys now: address of a peer, or all");
}
