/* SPDX-License-Identifier: BSD-3-Clause */
/* /roced/reload: what the daemon is told to change. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_telemetry.h>

#include "reload.h"
#include "telemetry.h"

#define PIECE_BYTES 100u  /* a text of DPDK's has 128 at most, and an answer 16 KiB */
#define MOST_PIECES 120u

struct wish {
	const char *path;          /* NULL: the file that it was started with */
	bool dry;
	struct reload_result result;
};

static void fill(struct roced *roced, void *arg)
{
	struct wish *wish = arg;

	reload(roced, wish->path, wish->dry, &wish->result);
}

/* Lines, in pieces that are to be put one behind the other. */
static int put_text(struct rte_tel_data *d, const char *text)
{
	struct rte_tel_data *array = rte_tel_data_alloc();
	char piece[PIECE_BYTES + 1];

	if (array == NULL)
		return -ENOMEM;
	rte_tel_data_start_array(array, RTE_TEL_STRING_VAL);
	for (uint32_t i = 0; text != NULL && *text != '\0' && i < MOST_PIECES; i++) {
		size_t n = strnlen(text, PIECE_BYTES);

		memcpy(piece, text, n);
		piece[n] = '\0';
		rte_tel_data_add_array_string(array, piece);
		text += n;
	}
	if (text != NULL && *text != '\0')
		rte_tel_data_add_array_string(array, "... and more; roced -c FILE --check says all errors\n");
	return rte_tel_data_add_dict_container(d, "text", array, 0);
}

/* "apply" or "check", and behind a colon the absolute path of a file. */
static int read_wish(const char *params, struct wish *wish)
{
	size_t n = params != NULL ? strcspn(params, ":") : 0;

	wish->dry = n == 5 && memcmp(params, "check", n) == 0;
	if (!wish->dry && (n != 5 || memcmp(params, "apply", n) != 0))
		return -EINVAL;
	if (params[n] == '\0')
		return 0;
	wish->path = params + n + 1;
	return wish->path[0] == '/' ? 0 : -EINVAL;
}

static int on_reload(const char *cmd, const char *params, struct rte_tel_data *info)
{
	struct wish wish = {0};
	int rc = read_wish(params, &wish);

	(void)cmd;
	if (rc == 0)
		rc = telemetry_ask(fill, &wish);
	if (rc != 0)
		return rc;
	rte_tel_data_start_dict(info);
	rte_tel_data_add_dict_string(info, "outcome", reload_outcome_name(wish.result.outcome));
	rte_tel_data_add_dict_u64(info, "differences", wish.result.changes);
	rte_tel_data_add_dict_u64(info, "refused", wish.result.refused);
	rte_tel_data_add_dict_u64(info, "errors", wish.result.errors);
	rc = put_text(info, wish.result.text);
	free(wish.result.text);
	return rc;
}

int telemetry_reload_start(void)
{
	return rte_telemetry_register_cmd("/roced/reload", on_reload,
		"Reads the configuration again: apply or check (changes nothing), and behind a colon another file's absolute path");
}
