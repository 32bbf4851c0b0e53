/* SPDX-License-Identifier: BSD-3-Clause */
/* What leaves an association, and when it is repeated. */
#include <openssl/crypto.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "crypt_assoc_internal.h"

#define CONTROL_BYTES_MAX 32 /* in the clear */

void crypt_assoc_say(struct crypt_assoc *assoc, enum crypt_event event, uint64_t now_ns, const char *format, ...)
{
	char text[640];
	va_list args;
	int n = snprintf(text, sizeof(text), "peer %s: ", assoc->config.peer);

	if (n < 0 || (size_t)n >= sizeof(text))
		return;
	va_start(args, format);
	vsnprintf(text + n, sizeof(text) - (size_t)n, format, args);
	va_end(args);
	if (event != CRYPT_EVENT_ESTABLISHED && event != CRYPT_EVENT_REKEYED)
		strncpy(assoc->count.why, text + n, sizeof(assoc->count.why) - 1);
	if (event != CRYPT_EVENT_ESTABLISHED && !crypt_bucket_take(&assoc->said[event], now_ns))
		return;
	assoc->ops->say(assoc->ctx, event, text);
}

void crypt_assoc_send(struct crypt_assoc *assoc, const struct crypt_msg_header *header, struct crypt_msg_bytes body)
{
	uint8_t datagram[CRYPT_MSG_DATAGRAM_BYTES];
	struct crypt_msg_header h = *header;
	size_t at = 0, n;

	h.fragments = (uint8_t)((body.bytes + CRYPT_MSG_FRAGMENT_BYTES - 1) / CRYPT_MSG_FRAGMENT_BYTES);
	h.fragments = h.fragments ? h.fragments : 1;
	for (h.fragment = 0; h.fragment < h.fragments; h.fragment++) {
		n = body.bytes - at < CRYPT_MSG_FRAGMENT_BYTES ? body.bytes - at : CRYPT_MSG_FRAGMENT_BYTES;
		crypt_msg_put_header(&h, datagram, sizeof(datagram));
		if (n > 0)
			memcpy(datagram + CRYPT_MSG_HEADER_BYTES, body.data + at, n);
		assoc->ops->emit(assoc->ctx, datagram, CRYPT_MSG_HEADER_BYTES + n);
		at += n;
	}
}

void crypt_assoc_send_hs(struct crypt_assoc *assoc, const struct crypt_hs *hs)
{
	struct crypt_msg_header header;
	struct crypt_msg_bytes body = crypt_hs_message(hs, &header);

	crypt_assoc_send(assoc, &header, body);
}

void crypt_assoc_send_fail(
	struct crypt_assoc *assoc, struct crypt_hs *hs, uint64_t to, enum crypt_fail fail, uint64_t now_ns)
{
	struct crypt_msg_header header = {.type = CRYPT_MSG_FAIL, .to = to};
	uint8_t body[CRYPT_HS_NOTICE_BYTES];
	size_t bytes = hs ? crypt_hs_seal_fail(hs, fail, body) : 0;

	assoc->count.refused++;
	if (!crypt_bucket_take(&assoc->notices, now_ns))
		return;
	if (bytes > 0) {
		header.type = CRYPT_MSG_FAIL_SEALED;
		header.from = crypt_hs_session(hs);
	} else {
		body[0] = (uint8_t)fail;
		bytes = 1;
	}
	crypt_assoc_send(assoc, &header, (struct crypt_msg_bytes){body, bytes});
}

void crypt_assoc_send_hint(struct crypt_assoc *assoc, bool is_session, uint64_t value, uint64_t now_ns)
{
	struct crypt_msg_hint hint = {is_session, value};
	struct crypt_msg_header header = {.type = CRYPT_MSG_HINT};
	uint8_t body[16];
	size_t bytes = crypt_msg_put_hint(&hint, body, sizeof(body));

	if (crypt_bucket_take(&assoc->hints, now_ns))
		crypt_assoc_send(assoc, &header, (struct crypt_msg_bytes){body, bytes});
}

/* The sessions are covered, and with the key the direction; what a datagram's header has besides is fixed. */
static struct crypt_msg_bytes control_aad(uint64_t from, uint64_t to, uint8_t aad[16])
{
	crypt_msg_put64(aad, from);
	crypt_msg_put64(aad + 8, to);
	return (struct crypt_msg_bytes){aad, 16};
}

void crypt_assoc_send_control(struct crypt_assoc *assoc, const struct crypt_msg_control *control)
{
	struct crypt_session *now = &assoc->now;
	struct crypt_msg_header header = {
		.type = CRYPT_MSG_CONTROL,
		.from = now->r.session,
		.to = now->r.peer_session,
	};
	uint8_t plain[CONTROL_BYTES_MAX], body[8 + CONTROL_BYTES_MAX + CRYPT_HS_TAG_BYTES], aad[16];
	size_t bytes = crypt_msg_put_control(control, plain, sizeof(plain));

	crypt_msg_put64(body, ++now->counter);
	if (crypt_prim_seal(crypt_prim_is_sm(now->r.suite), now->control_tx, now->counter,
		    control_aad(header.from, header.to, aad), plain, bytes, body + 8))
		return;
	crypt_assoc_send(assoc, &header, (struct crypt_msg_bytes){body, 8 + bytes + CRYPT_HS_TAG_BYTES});
}

static bool is_new(const struct crypt_session *now, uint64_t counter)
{
	if (counter == 0 || counter > now->heard_max)
		return counter != 0;
	return now->heard_max - counter < 64 && (now->heard_map >> (now->heard_max - counter) & 1) == 0;
}

static void mark_heard(struct crypt_session *now, uint64_t counter)
{
	if (counter > now->heard_max) {
		uint64_t step = counter - now->heard_max;

		now->heard_map = step < 64 ? now->heard_map << step : 0;
		now->heard_max = counter;
	}
	now->heard_map |= 1ull << (now->heard_max - counter);
}

bool crypt_assoc_open_control(
	struct crypt_assoc *assoc, const uint8_t *body, size_t bytes, struct crypt_msg_control *control)
{
	struct crypt_session *now = &assoc->now;
	uint8_t plain[CONTROL_BYTES_MAX], aad[16];
	uint64_t counter;

	if (bytes < 8 + CRYPT_HS_TAG_BYTES || bytes > 8 + sizeof(plain) + CRYPT_HS_TAG_BYTES)
		return false;
	counter = crypt_msg_get64(body);
	if (!is_new(now, counter))
		return false;
	if (crypt_prim_open(crypt_prim_is_sm(now->r.suite), now->control_rx, counter,
		    control_aad(now->r.peer_session, now->r.session, aad), body + 8, bytes - 8, plain))
		return false;
	mark_heard(now, counter);
	return !crypt_msg_get_control(control, plain, bytes - 8 - CRYPT_HS_TAG_BYTES);
}

void crypt_retry_begin(const struct crypt_assoc *assoc, struct crypt_retry *retry, uint64_t now_ns)
{
	*retry = (struct crypt_retry){
		.on = true,
		.tries = 1,
		.wait_ns = assoc->config.retry_ns,
		.next_ns = now_ns + assoc->config.retry_ns,
	};
}

enum crypt_retry_verdict crypt_retry_check(const struct crypt_assoc *assoc, struct crypt_retry *retry, uint64_t now_ns)
{
	if (!retry->on || now_ns < retry->next_ns)
		return CRYPT_RETRY_WAIT;
	if (retry->tries >= assoc->config.tries) {
		retry->on = false;
		return CRYPT_RETRY_GIVE_UP;
	}
	retry->tries++;
	retry->wait_ns = retry->wait_ns * 2 < CRYPT_BACKOFF_MAX_NS ? retry->wait_ns * 2 : CRYPT_BACKOFF_MAX_NS;
	retry->next_ns = now_ns + retry->wait_ns;
	return CRYPT_RETRY_AGAIN;
}
