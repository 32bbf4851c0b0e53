/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a model of the learned congestion controller: refused with a line and a reason, or a model that can be asked. */
#include <string.h>

#include "cc.h"
#include "fuzz.h"

static void ask(const struct cc_model *model)
{
	static const uint32_t rtts_ns[] = {12000, 13000, 90000, 0, UINT32_MAX};
	const struct cc_config config = {
		.kind = CC_LEARNED, .packet_bytes = 4178, .base_rtt_ns = 12000, .rate_bps = 100000000000u, .model = model};
	struct cc cc;

	FUZZ_CHECK(cc_config_check(&config) == 0);
	cc_init(&cc, &config);
	for (uint32_t i = 0; i < 40; i++) {
		const struct cc_ack ack = {.now_ns = 1000 + (uint64_t)i * 4000, .rtt_ns = rtts_ns[i % 5], .bytes = 4178,
			.marked = i % 3 == 0, .senders = (uint8_t)(i * 7)};

		cc_acked(&cc, &ack);
		FUZZ_CHECK(cc_window_bytes(&cc) >= config.packet_bytes && cc_window_bytes(&cc) <= cc.max_window_bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size != 0 ? size : 1);
	struct cc_model_error error;
	struct cc_model model;

	FUZZ_CHECK(text != NULL);
	memcpy(text, data, size);
	if (cc_model_parse(&model, text, size, &error) == 0) {
		ask(&model);
	} else {
		FUZZ_CHECK(error.what[0] != '\0' && memchr(error.what, '\0', sizeof(error.what)) != NULL);
		for (const char *c = error.what; *c != '\0'; c++)
			FUZZ_CHECK(*c >= ' ' && *c < 127);
	}
	free(text);
	return 0;
}
