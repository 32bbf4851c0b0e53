/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_hs_gate.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <string.h>

#include "crypt_hs_prim.h"
#include "crypt_mem.h"

#define SECOND_NS         1000000000ull
#define SECRET_LIFE_NS    (60 * SECOND_NS)
#define COOKIES_PER_INIT  20 /* a cookie is that much cheaper than an answer */
#define AMPLIFICATION_MAX 3

struct crypt_gate {
	struct crypt_gate_config config;
	uint32_t half_open;
	struct crypt_bucket plain;  /* first messages without a cookie */
	struct crypt_bucket proven; /* and with one, so that a flood of the former does not shut out the latter */
	struct crypt_bucket cookies;
	uint8_t secrets[2][CRYPT_HASH_BYTES];
	uint64_t secret_ns; /* when the present one was made */
	uint8_t number;     /* of the present secret */
};

void crypt_bucket_init(struct crypt_bucket *bucket, uint64_t gap_ns, uint32_t burst)
{
	*bucket = (struct crypt_bucket){.gap_ns = gap_ns, .depth_ns = gap_ns * burst};
}

bool crypt_bucket_take(struct crypt_bucket *bucket, uint64_t now_ns)
{
	uint64_t full_ns = bucket->full_ns > now_ns ? bucket->full_ns : now_ns;

	if (full_ns + bucket->gap_ns > now_ns + bucket->depth_ns)
		return false;
	bucket->full_ns = full_ns + bucket->gap_ns;
	return true;
}

void crypt_gate_config_default(struct crypt_gate_config *config)
{
	*config = (struct crypt_gate_config){
		.init_per_s = 50,
		.init_burst = 100,
		.half_open_max = 256,
		.cookie_from = 64,
	};
}

struct crypt_gate *crypt_gate_new(const struct crypt_gate_config *config)
{
	struct crypt_gate *gate = crypt_mem_new(sizeof(*gate));
	uint64_t gap_ns = SECOND_NS / (config->init_per_s ? config->init_per_s : 1);
	uint32_t burst = config->init_burst ? config->init_burst : 1;

	if (!gate || crypt_prim_random(gate->secrets, sizeof(gate->secrets))) {
		crypt_mem_free(gate, sizeof(*gate));
		return NULL;
	}
	gate->config = *config;
	crypt_bucket_init(&gate->plain, gap_ns, burst);
	crypt_bucket_init(&gate->proven, gap_ns, burst);
	crypt_bucket_init(&gate->cookies, gap_ns / COOKIES_PER_INIT, burst * COOKIES_PER_INIT);
	return gate;
}

void crypt_gate_free(struct crypt_gate *gate)
{
	crypt_mem_free(gate, sizeof(*gate));
}

/* A cookie is good for one to two lives of a secret. */
static void turn_secrets(struct crypt_gate *gate, uint64_t now_ns)
{
	if (now_ns - gate->secret_ns < SECRET_LIFE_NS)
		return;
	/* Without randomness the old secrets go on: they are as secret as before. */
	if (crypt_prim_random(gate->secrets[(gate->number + 1) % 2], CRYPT_HASH_BYTES))
		return;
	gate->number++;
	gate->secret_ns = now_ns;
}

static int make_cookie(struct crypt_gate *gate, const struct crypt_gate_ask *ask, uint8_t number,
	uint8_t cookie[CRYPT_MSG_COOKIE_BYTES])
{
	uint8_t session[8], said[CRYPT_HASH_BYTES], mac[CRYPT_HASH_BYTES];
	struct crypt_msg_bytes parts[] = {
		{session, sizeof(session)},
		{ask->init->nonce, CRYPT_MSG_NONCE_BYTES},
		ask->addr,
	};
	int ret;

	crypt_msg_put64(session, ask->from);
	ret = crypt_prim_hash(false, parts, 3, said);
	if (!ret)
		ret = crypt_prim_mac(false, gate->secrets[number % 2], CRYPT_HASH_BYTES, said, sizeof(said), mac);
	cookie[0] = number;
	memcpy(cookie + 1, mac, CRYPT_MSG_COOKIE_BYTES - 1);
	return ret;
}

static bool cookie_is_good(struct crypt_gate *gate, const struct crypt_gate_ask *ask)
{
	uint8_t want[CRYPT_MSG_COOKIE_BYTES], number = ask->init->cookie[0];

	if (ask->init->cookie_bytes == 0 || (uint8_t)(gate->number - number) > 1)
		return false;
	return !make_cookie(gate, ask, number, want) && CRYPTO_memcmp(want, ask->init->cookie, sizeof(want)) == 0;
}

enum crypt_gate_verdict crypt_gate_admit(struct crypt_gate *gate, const struct crypt_gate_ask *ask, uint64_t now_ns,
	uint8_t cookie[CRYPT_MSG_COOKIE_BYTES])
{
	bool free_entry = gate->half_open < gate->config.cookie_from &&
			  ask->answer_bytes <= AMPLIFICATION_MAX * ask->bytes && ask->init->cookie_bytes == 0;

	turn_secrets(gate, now_ns);
	if (gate->half_open >= gate->config.half_open_max)
		return CRYPT_GATE_DROP;
	if (free_entry && crypt_bucket_take(&gate->plain, now_ns))
		return CRYPT_GATE_PASS;
	/* One MAC, to check a cookie or to make one. */
	if (!crypt_bucket_take(&gate->cookies, now_ns))
		return CRYPT_GATE_DROP;
	if (cookie_is_good(gate, ask))
		return crypt_bucket_take(&gate->proven, now_ns) ? CRYPT_GATE_PASS : CRYPT_GATE_DROP;
	return make_cookie(gate, ask, gate->number, cookie) ? CRYPT_GATE_DROP : CRYPT_GATE_COOKIE;
}

void crypt_gate_opened(struct crypt_gate *gate)
{
	gate->half_open++;
}

void crypt_gate_closed(struct crypt_gate *gate)
{
	gate->half_open--;
}

uint32_t crypt_gate_half_open(const struct crypt_gate *gate)
{
	return gate->half_open;
}
