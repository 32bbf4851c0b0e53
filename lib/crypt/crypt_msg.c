/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_msg.h"

#include <errno.h>
#include <string.h>

/* A place to write to, or to read from; @bad once something did not fit, and from then on nothing is touched. */
struct out {
	uint8_t *p;
	size_t cap;
	size_t n;
	bool bad;
};

struct in {
	const uint8_t *p;
	size_t bytes;
	size_t at;
	bool bad;
};

static void put(struct out *o, const void *data, size_t n)
{
	if (o->bad || n > o->cap - o->n) {
		o->bad = true;
		return;
	}
	if (n > 0)
		memcpy(o->p + o->n, data, n);
	o->n += n;
}

static void put_int(struct out *o, uint64_t value, unsigned int n)
{
	uint8_t raw[8];

	crypt_msg_put64(raw, value);
	put(o, raw + 8 - n, n);
}

static size_t put_done(const struct out *o)
{
	return o->bad ? 0 : o->n;
}

static const uint8_t *take(struct in *i, size_t n)
{
	if (i->bad || n > i->bytes - i->at) {
		i->bad = true;
		return NULL;
	}
	i->at += n;
	return i->p + i->at - n;
}

static void get(struct in *i, void *data, size_t n)
{
	const uint8_t *p = take(i, n);

	if (p && n > 0)
		memcpy(data, p, n);
}

static uint64_t get_int(struct in *i, unsigned int n)
{
	uint8_t raw[8] = {0};

	get(i, raw + 8 - n, n);
	return crypt_msg_get64(raw);
}

static int get_done(const struct in *i)
{
	return i->bad || i->at != i->bytes ? -EBADMSG : 0;
}

void crypt_msg_put64(uint8_t *out, uint64_t value)
{
	for (int i = 0; i < 8; i++)
		out[i] = (uint8_t)(value >> (56 - 8 * i));
}

uint64_t crypt_msg_get64(const uint8_t *in)
{
	uint64_t value = 0;

	for (int i = 0; i < 8; i++)
		value = value << 8 | in[i];
	return value;
}

size_t crypt_msg_put_header(const struct crypt_msg_header *header, uint8_t *out, size_t cap)
{
	struct out o = {.p = out, .cap = cap};

	put_int(&o, CRYPT_MSG_VERSION, 1);
	put_int(&o, header->type, 1);
	put_int(&o, header->fragment, 1);
	put_int(&o, header->fragments, 1);
	put_int(&o, header->from, 8);
	put_int(&o, header->to, 8);
	return put_done(&o);
}

/* Only messages that may carry certificates come in more than one piece. */
static bool may_be_long(uint8_t type)
{
	return type == CRYPT_MSG_RESPONSE || type == CRYPT_MSG_AUTH;
}

int crypt_msg_get_header(struct crypt_msg_header *header, const uint8_t *datagram, size_t bytes)
{
	struct in i = {.p = datagram, .bytes = bytes};
	uint8_t version = (uint8_t)get_int(&i, 1);

	header->type = (uint8_t)get_int(&i, 1);
	header->fragment = (uint8_t)get_int(&i, 1);
	header->fragments = (uint8_t)get_int(&i, 1);
	header->from = get_int(&i, 8);
	header->to = get_int(&i, 8);
	if (i.bad || bytes > CRYPT_MSG_DATAGRAM_BYTES)
		return -EBADMSG;
	if (version != CRYPT_MSG_VERSION)
		return -EPROTO;
	if (header->type == 0 || header->type >= CRYPT_MSG_TYPES)
		return -EBADMSG;
	if (header->fragments == 0 || header->fragments > (may_be_long(header->type) ? CRYPT_MSG_FRAGMENTS : 1))
		return -EBADMSG;
	if (header->fragment >= header->fragments)
		return -EBADMSG;
	if (header->fragment + 1 < header->fragments && bytes != CRYPT_MSG_DATAGRAM_BYTES)
		return -EBADMSG;
	return 0;
}

/* A curve's own length of public keys, 0 for a curve that is not known. */
static size_t share_bytes(uint8_t group)
{
	return group == CRYPT_GROUP_X25519 ? 32 : group == CRYPT_GROUP_SM2 ? 65 : 0;
}

static void put_share(struct out *o, const struct crypt_msg_share *share)
{
	put_int(o, share->group, 1);
	put_int(o, share->bytes, 1);
	put(o, share->data, share->bytes);
}

static void get_share(struct in *i, struct crypt_msg_share *share)
{
	share->group = (uint8_t)get_int(i, 1);
	share->bytes = (uint8_t)get_int(i, 1);
	if (share->bytes == 0 || share->bytes != share_bytes(share->group)) {
		i->bad = true;
		return;
	}
	get(i, share->data, share->bytes);
}

size_t crypt_msg_put_init(struct crypt_msg_init *init, uint8_t *out, size_t cap)
{
	unsigned int n_shares = (init->shares[0].group ? 1u : 0u) + (init->shares[1].group ? 1u : 0u);
	struct out o = {.p = out, .cap = cap};

	put_int(&o, init->methods, 1);
	put_int(&o, init->n_suites, 1);
	for (unsigned int i = 0; i < init->n_suites; i++)
		put_int(&o, init->suites[i] + 1u, 1);
	put_int(&o, n_shares, 1);
	for (unsigned int i = 0; i < 2; i++)
		if (init->shares[i].group != 0)
			put_share(&o, &init->shares[i]);
	put_int(&o, init->lanes, 2);
	put_int(&o, init->generation, 8);
	put(&o, init->nonce, sizeof(init->nonce));
	init->hint_at = o.n;
	put(&o, init->hint, sizeof(init->hint));
	init->covered_bytes = o.n;
	put_int(&o, init->cookie_bytes, 1);
	put(&o, init->cookie, init->cookie_bytes);
	return put_done(&o);
}

/* Suites of a later time are passed over; those we know are taken once, in their order. */
static void get_suites(struct in *i, struct crypt_msg_init *init)
{
	unsigned int n = (unsigned int)get_int(i, 1), seen = 0;

	init->n_suites = 0;
	if (n == 0 || n > 16)
		i->bad = true;
	while (n-- > 0 && !i->bad) {
		unsigned int suite = (unsigned int)get_int(i, 1) - 1u;

		if (suite >= CRYPT_SUITES || (seen & 1u << suite) != 0)
			continue;
		seen |= 1u << suite;
		init->suites[init->n_suites++] = (uint8_t)suite;
	}
}

int crypt_msg_get_init(struct crypt_msg_init *init, const uint8_t *body, size_t bytes)
{
	struct in i = {.p = body, .bytes = bytes};
	unsigned int n_shares;

	memset(init, 0, sizeof(*init));
	init->methods = (uint8_t)get_int(&i, 1);
	get_suites(&i, init);
	n_shares = (unsigned int)get_int(&i, 1);
	if (n_shares == 0 || n_shares > 2)
		return -EBADMSG;
	for (unsigned int s = 0; s < n_shares; s++)
		get_share(&i, &init->shares[s]);
	init->lanes = (uint16_t)get_int(&i, 2);
	init->generation = get_int(&i, 8);
	get(&i, init->nonce, sizeof(init->nonce));
	init->hint_at = i.at;
	get(&i, init->hint, sizeof(init->hint));
	init->covered_bytes = i.at;
	init->cookie_bytes = (uint8_t)get_int(&i, 1);
	if (init->cookie_bytes != 0 && init->cookie_bytes != CRYPT_MSG_COOKIE_BYTES)
		return -EBADMSG;
	get(&i, init->cookie, init->cookie_bytes);
	if (init->lanes == 0 || init->lanes > CRYPT_MSG_LANES || init->shares[0].group == init->shares[1].group)
		return -EBADMSG;
	return get_done(&i);
}

size_t crypt_msg_put_response(struct crypt_msg_response *response, uint8_t *out, size_t cap)
{
	struct out o = {.p = out, .cap = cap};

	put_int(&o, response->suite + 1u, 1);
	put_int(&o, response->method, 1);
	put_share(&o, &response->share);
	put_int(&o, response->generation, 8);
	put(&o, response->nonce, sizeof(response->nonce));
	response->clear_bytes = o.n;
	return put_done(&o);
}

int crypt_msg_get_response(struct crypt_msg_response *response, const uint8_t *body, size_t bytes)
{
	struct in i = {.p = body, .bytes = bytes};

	memset(response, 0, sizeof(*response));
	response->suite = (uint8_t)(get_int(&i, 1) - 1u);
	response->method = (uint8_t)get_int(&i, 1);
	get_share(&i, &response->share);
	response->generation = get_int(&i, 8);
	get(&i, response->nonce, sizeof(response->nonce));
	response->clear_bytes = i.at;
	if (response->suite >= CRYPT_SUITES)
		return -EBADMSG;
	if (response->method != CRYPT_METHOD_PSK && response->method != CRYPT_METHOD_CERT)
		return -EBADMSG;
	return i.bad ? -EBADMSG : 0;
}

size_t crypt_msg_put_payload(struct crypt_msg_payload *payload, uint8_t *out, size_t cap)
{
	struct out o = {.p = out, .cap = cap};

	put_int(&o, payload->id.bytes, 1);
	put(&o, payload->id.data, payload->id.bytes);
	put_int(&o, payload->lanes, 2);
	put_int(&o, payload->spi_base, 4);
	put_int(&o, payload->n_certs, 1);
	for (unsigned int c = 0; c < payload->n_certs; c++) {
		if (payload->certs[c].bytes > CRYPT_MSG_BODY_BYTES)
			return 0;
		put_int(&o, payload->certs[c].bytes, 2);
		put(&o, payload->certs[c].data, payload->certs[c].bytes);
	}
	payload->signed_bytes = o.n;
	return put_done(&o);
}

size_t crypt_msg_put_proof(const struct crypt_msg_payload *payload, uint8_t *out, size_t cap)
{
	struct out o = {.p = out, .cap = cap};

	put_int(&o, payload->signature.bytes, 2);
	put(&o, payload->signature.data, payload->signature.bytes);
	put(&o, payload->mac, sizeof(payload->mac));
	return put_done(&o);
}

static void get_bytes(struct in *i, struct crypt_msg_bytes *bytes, unsigned int length_bytes, size_t min, size_t max)
{
	bytes->bytes = (size_t)get_int(i, length_bytes);
	if (bytes->bytes < min || bytes->bytes > max)
		i->bad = true;
	bytes->data = take(i, bytes->bytes);
}

int crypt_msg_get_payload(struct crypt_msg_payload *payload, const uint8_t *in, size_t bytes)
{
	struct in i = {.p = in, .bytes = bytes};

	memset(payload, 0, sizeof(*payload));
	get_bytes(&i, &payload->id, 1, 1, CRYPT_MSG_ID_BYTES);
	payload->lanes = (uint16_t)get_int(&i, 2);
	payload->spi_base = (uint32_t)get_int(&i, 4);
	payload->n_certs = (unsigned int)get_int(&i, 1);
	if (payload->n_certs > CRYPT_MSG_CERTS)
		return -EBADMSG;
	for (unsigned int c = 0; c < payload->n_certs; c++)
		get_bytes(&i, &payload->certs[c], 2, 1, CRYPT_MSG_BODY_BYTES);
	payload->signed_bytes = i.at;
	get_bytes(&i, &payload->signature, 2, 0, CRYPT_MSG_SIGNATURE_MAX);
	get(&i, payload->mac, sizeof(payload->mac));
	if (payload->lanes == 0 || payload->lanes > CRYPT_MSG_LANES)
		return -EBADMSG;
	/* SPIs lie in one row and 0 is none. */
	if (payload->spi_base == 0 || payload->spi_base > UINT32_MAX - CRYPT_MSG_LANES)
		return -EBADMSG;
	return get_done(&i);
}

size_t crypt_msg_put_control(const struct crypt_msg_control *control, uint8_t *out, size_t cap)
{
	struct out o = {.p = out, .cap = cap};

	put_int(&o, control->kind, 1);
	switch (control->kind) {
	case CRYPT_CONTROL_REKEY:
		put_int(&o, control->epoch, 4);
		put_int(&o, control->lanes, 2);
		break;
	case CRYPT_CONTROL_REKEY_ACK:
		put_int(&o, control->epoch, 4);
		put_int(&o, control->spi_base, 4);
		break;
	case CRYPT_CONTROL_PING:
	case CRYPT_CONTROL_PONG:
		put_int(&o, control->token, 8);
		break;
	default:
		break;
	}
	return put_done(&o);
}

int crypt_msg_get_control(struct crypt_msg_control *control, const uint8_t *in, size_t bytes)
{
	struct in i = {.p = in, .bytes = bytes};

	memset(control, 0, sizeof(*control));
	control->kind = (uint8_t)get_int(&i, 1);
	switch (control->kind) {
	case CRYPT_CONTROL_REKEY:
		control->epoch = (uint32_t)get_int(&i, 4);
		control->lanes = (uint16_t)get_int(&i, 2);
		if (control->lanes == 0 || control->lanes > CRYPT_MSG_LANES)
			return -EBADMSG;
		break;
	case CRYPT_CONTROL_REKEY_ACK:
		control->epoch = (uint32_t)get_int(&i, 4);
		control->spi_base = (uint32_t)get_int(&i, 4);
		if (control->spi_base == 0 || control->spi_base > UINT32_MAX - CRYPT_MSG_LANES)
			return -EBADMSG;
		break;
	case CRYPT_CONTROL_PING:
	case CRYPT_CONTROL_PONG:
		control->token = get_int(&i, 8);
		break;
	case CRYPT_CONTROL_REKEY_ASK:
		break;
	default:
		return -EBADMSG;
	}
	return get_done(&i);
}

size_t crypt_msg_put_hint(const struct crypt_msg_hint *hint, uint8_t *out, size_t cap)
{
	struct out o = {.p = out, .cap = cap};

	put_int(&o, hint->is_session ? 1 : 0, 1);
	put_int(&o, hint->value, 8);
	return put_done(&o);
}

int crypt_msg_get_hint(struct crypt_msg_hint *hint, const uint8_t *body, size_t bytes)
{
	struct in i = {.p = body, .bytes = bytes};
	uint64_t what = get_int(&i, 1);

	hint->is_session = what == 1;
	hint->value = get_int(&i, 8);
	return what > 1 ? -EBADMSG : get_done(&i);
}
