/* SPDX-License-Identifier: BSD-3-Clause */
/* Datagrams from the peer's address, and what the data path has seen. */
#include <errno.h>
#include <string.h>

#include "crypt_assoc_internal.h"

/* What the peer says of itself. It is a text and no more, unless it was sealed by who does this handshake with us. */
static void say_refusal(struct crypt_assoc *assoc, enum crypt_fail fail, bool is_sealed, uint64_t now_ns)
{
	assoc->count.refusals++;
	crypt_assoc_say(assoc, CRYPT_EVENT_PEER_REFUSES, now_ns, "the peer refuses%s: %s",
		is_sealed ? "" : " (by a message that is not authenticated)", crypt_fail_text(fail));
}

static void take_fail(struct crypt_assoc *assoc, const struct crypt_msg_header *header, const uint8_t *body,
	size_t bytes, uint64_t now_ns)
{
	if (bytes != 1 || body[0] == CRYPT_FAIL_NONE || !crypt_attempt_is(assoc, header->to)) {
		assoc->count.ignored++;
		return;
	}
	assoc->attempt.noticed = true;
	say_refusal(assoc, (enum crypt_fail)body[0], false, now_ns);
}

/* The handshake is not repeated at once: who refused it has our messages and its mind made up. */
static void take_sealed_fail(struct crypt_assoc *assoc, const struct crypt_msg_header *header, const uint8_t *body,
	size_t bytes, uint64_t now_ns)
{
	struct crypt_half *half = crypt_half_find(assoc, header->to, header->from);
	struct crypt_hs *hs = half ? half->hs : crypt_attempt_is(assoc, header->to) ? assoc->attempt.hs : NULL;
	enum crypt_fail fail = hs ? crypt_hs_open_fail(hs, body, bytes) : CRYPT_FAIL_NONE;

	if (fail == CRYPT_FAIL_NONE) {
		assoc->count.ignored++;
		return;
	}
	say_refusal(assoc, fail, true, now_ns);
	if (half) {
		crypt_half_end(assoc, half);
	} else {
		crypt_attempt_end(assoc);
		assoc->resume_ns = now_ns + assoc->config.pause_ns;
	}
}

/* Believed only as far as it names something of ours that an outsider would have to guess. */
static void take_hint(struct crypt_assoc *assoc, const uint8_t *body, size_t bytes, uint64_t now_ns)
{
	const struct crypt_session *now = &assoc->now;
	struct crypt_msg_hint hint;

	if (crypt_msg_get_hint(&hint, body, bytes) || !now->up ||
		(hint.is_session ? hint.value != now->r.peer_session : hint.value - now->tx_base >= now->r.lanes)) {
		assoc->count.ignored++;
		return;
	}
	crypt_assoc_suspect(assoc, "it says that it does not know our keys", now_ns);
}

static void take_control(struct crypt_assoc *assoc, const struct crypt_msg_header *header, const uint8_t *body,
	size_t bytes, uint64_t now_ns)
{
	const struct crypt_session *now = &assoc->now;
	struct crypt_msg_control control;

	if (!now->up || header->to != now->r.session || header->from != now->r.peer_session) {
		/* During a handshake of ours it may be of the association that this one is about to make. */
		if (!crypt_attempt_is(assoc, header->to) && !(now->up && header->to == now->r.session))
			crypt_assoc_send_hint(assoc, true, header->to, now_ns);
		assoc->count.ignored++;
		return;
	}
	if (crypt_assoc_open_control(assoc, body, bytes, &control))
		crypt_rekey_take(assoc, &control, now_ns);
	else
		assoc->count.ignored++;
}

/* Messages that only the initiator of a handshake gets. */
static void take_for_attempt(struct crypt_assoc *assoc, const struct crypt_msg_header *header, const uint8_t *body,
	size_t bytes, uint64_t now_ns)
{
	if (!crypt_attempt_is(assoc, header->to))
		assoc->count.ignored++;
	else if (header->type == CRYPT_MSG_COOKIE)
		crypt_attempt_take_cookie(assoc, body, bytes, now_ns);
	else if (header->type == CRYPT_MSG_RESPONSE)
		crypt_attempt_take_response(assoc, header, body, bytes, now_ns);
	else
		crypt_attempt_take_confirm(assoc, header->from, body, bytes, now_ns);
}

/*
 * Header and notices are the same in all versions, so that at least this can be said. Only M1 is answered, or two
 * versions would talk to each other for ever.
 */
static void take_other_version(struct crypt_assoc *assoc, int ret, const struct crypt_msg_header *header,
	const uint8_t *datagram, size_t bytes, uint64_t now_ns)
{
	const uint8_t *body = datagram + CRYPT_MSG_HEADER_BYTES;

	assoc->count.ignored++;
	if (ret != -EPROTO)
		return;
	if (header->type == CRYPT_MSG_FAIL && bytes == CRYPT_MSG_HEADER_BYTES + 1 && body[0] == CRYPT_FAIL_VERSION)
		take_fail(assoc, header, body, 1, now_ns);
	if (header->type != CRYPT_MSG_INIT || header->from == 0)
		return;
	crypt_assoc_say(assoc, CRYPT_EVENT_REFUSED, now_ns, "refused: it speaks version %u of the handshake, we %d",
		datagram[0], CRYPT_MSG_VERSION);
	crypt_assoc_send_fail(assoc, NULL, header->from, CRYPT_FAIL_VERSION, now_ns);
}

void crypt_assoc_receive(struct crypt_assoc *assoc, const uint8_t *datagram, size_t bytes, uint64_t now_ns)
{
	struct crypt_msg_header header;
	int ret = crypt_msg_get_header(&header, datagram, bytes);
	const uint8_t *body = datagram + CRYPT_MSG_HEADER_BYTES;

	if (ret) {
		take_other_version(assoc, ret, &header, datagram, bytes, now_ns);
		return;
	}
	bytes -= CRYPT_MSG_HEADER_BYTES;
	switch ((enum crypt_msg_type)header.type) {
	case CRYPT_MSG_INIT:
		crypt_half_take_init(assoc, &header, body, bytes, now_ns);
		break;
	case CRYPT_MSG_AUTH:
		crypt_half_take_auth(assoc, &header, body, bytes, now_ns);
		break;
	case CRYPT_MSG_RESPONSE:
	case CRYPT_MSG_CONFIRM:
	case CRYPT_MSG_COOKIE:
		take_for_attempt(assoc, &header, body, bytes, now_ns);
		break;
	case CRYPT_MSG_FAIL:
		take_fail(assoc, &header, body, bytes, now_ns);
		break;
	case CRYPT_MSG_FAIL_SEALED:
		take_sealed_fail(assoc, &header, body, bytes, now_ns);
		break;
	case CRYPT_MSG_HINT:
		take_hint(assoc, body, bytes, now_ns);
		break;
	case CRYPT_MSG_CONTROL:
		take_control(assoc, &header, body, bytes, now_ns);
		break;
	case CRYPT_MSG_TYPES:
		break;
	}
}

void crypt_assoc_rx_seen(struct crypt_assoc *assoc, uint32_t spi, uint64_t now_ns)
{
	const struct crypt_rx_gen *gen = crypt_assoc_rx_find(assoc, spi);
	const struct crypt_hs_result *pending = assoc->attempt.hs ? crypt_hs_result(assoc->attempt.hs) : NULL;
	uint8_t order[CRYPT_ORDER_BYTES];

	if (!gen)
		return;
	crypt_assoc_alive(assoc, now_ns);
	crypt_assoc_rx_evidence(assoc, gen->order, gen->epoch, now_ns);
	if (!pending)
		return;
	/* A good packet under keys that M4 was still to confirm does that. */
	crypt_session_order(pending, order);
	if (memcmp(order, gen->order, sizeof(order)) == 0)
		crypt_attempt_confirmed(assoc, now_ns);
}

void crypt_assoc_unknown_spi(struct crypt_assoc *assoc, uint32_t spi, uint64_t now_ns)
{
	if (!crypt_assoc_rx_find(assoc, spi))
		crypt_assoc_send_hint(assoc, false, spi, now_ns);
}
