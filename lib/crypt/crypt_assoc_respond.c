/* SPDX-License-Identifier: BSD-3-Clause */
/* Handshakes that the peer begins. */
#include <errno.h>
#include <string.h>

#include "crypt_assoc_internal.h"

#define REPEAT_GAP_NS 50000000ull /* between two answers to the same message */

void crypt_half_end(struct crypt_assoc *assoc, struct crypt_half *half)
{
	if (half->hs)
		crypt_gate_closed(assoc->gate);
	crypt_hs_free(half->hs);
	crypt_frag_reset(&half->frag);
	*half = (struct crypt_half){0};
}

struct crypt_half *crypt_half_find(struct crypt_assoc *assoc, uint64_t session, uint64_t from)
{
	for (unsigned int i = 0; i < CRYPT_HALF_OPEN; i++) {
		struct crypt_half *half = &assoc->halves[i];

		if (half->hs && half->from == from && crypt_hs_session(half->hs) == session)
			return half;
	}
	return NULL;
}

/* A free place, or the oldest: who gets here has a key or an address of its own. */
static struct crypt_half *half_place(struct crypt_assoc *assoc)
{
	struct crypt_half *oldest = &assoc->halves[0];

	for (unsigned int i = 0; i < CRYPT_HALF_OPEN; i++) {
		if (!assoc->halves[i].hs)
			return &assoc->halves[i];
		if (assoc->halves[i].born_ns < oldest->born_ns)
			oldest = &assoc->halves[i];
	}
	crypt_half_end(assoc, oldest);
	return oldest;
}

/* M1 again of a handshake that is under way or over: M2 again, or nothing. */
static bool is_repeated(struct crypt_assoc *assoc, uint64_t from, const struct crypt_msg_init *init, uint64_t now_ns)
{
	for (unsigned int i = 0; i < CRYPT_HALF_OPEN; i++) {
		struct crypt_half *half = &assoc->halves[i];

		if (!half->hs || half->from != from)
			continue;
		if (memcmp(crypt_hs_nonce(half->hs), init->nonce, sizeof(init->nonce)) == 0 &&
			now_ns - half->sent_ns >= REPEAT_GAP_NS) {
			half->sent_ns = now_ns;
			crypt_assoc_send_hs(assoc, half->hs);
		}
		return true;
	}
	return assoc->now.up && !assoc->now.r.initiator && assoc->now.r.peer_session == from;
}

static bool may_enter(struct crypt_assoc *assoc, const struct crypt_msg_header *header, size_t bytes,
	const struct crypt_msg_init *init, uint64_t now_ns)
{
	struct crypt_gate_ask ask = {
		.addr = assoc->config.addr,
		.from = header->from,
		.init = init,
		.bytes = CRYPT_MSG_HEADER_BYTES + bytes,
		.answer_bytes = crypt_hs_response_bytes(&assoc->config.hs, init),
	};
	struct crypt_msg_header answer = {.type = CRYPT_MSG_COOKIE, .to = header->from};
	uint8_t cookie[CRYPT_MSG_COOKIE_BYTES];

	switch (crypt_gate_admit(assoc->gate, &ask, now_ns, cookie)) {
	case CRYPT_GATE_PASS:
		return true;
	case CRYPT_GATE_COOKIE:
		crypt_assoc_send(assoc, &answer, (struct crypt_msg_bytes){cookie, sizeof(cookie)});
		return false;
	case CRYPT_GATE_DROP:
		break;
	}
	assoc->count.ignored++;
	return false;
}

void crypt_half_take_init(struct crypt_assoc *assoc, const struct crypt_msg_header *header, const uint8_t *body,
	size_t bytes, uint64_t now_ns)
{
	const struct crypt_hs *own = assoc->attempt.hs;
	struct crypt_msg_init init;
	struct crypt_hs_error why;
	struct crypt_half *half;
	struct crypt_hs *hs;
	uint32_t base;

	if (header->from == 0 || header->to != 0 || crypt_msg_get_init(&init, body, bytes) ||
		(own && memcmp(crypt_hs_nonce(own), init.nonce, sizeof(init.nonce)) == 0)) {
		assoc->count.ignored++;
		return;
	}
	if (is_repeated(assoc, header->from, &init, now_ns) || !may_enter(assoc, header, bytes, &init, now_ns))
		return;
	base = crypt_assoc_choose_spis(assoc, init.lanes);
	if (base == 0)
		return;
	hs = crypt_hs_respond(&assoc->config.hs, header->from, body, bytes, &init, assoc->generation + 1, base, &why);
	if (hs) {
		half = half_place(assoc);
		*half = (struct crypt_half){.hs = hs, .from = header->from, .born_ns = now_ns, .sent_ns = now_ns};
		crypt_gate_opened(assoc->gate);
		crypt_assoc_send_hs(assoc, hs);
	} else if (why.fail != CRYPT_FAIL_NONE) {
		crypt_assoc_say(assoc, CRYPT_EVENT_REFUSED, now_ns, "refused: %s", why.error.text);
		crypt_assoc_send_fail(assoc, NULL, header->from, why.fail, now_ns);
	} else {
		assoc->count.ignored++;
	}
}

/* M4 for a peer that has missed it. */
static void confirm_again(struct crypt_assoc *assoc, const struct crypt_msg_header *header, uint64_t now_ns)
{
	struct crypt_session *now = &assoc->now;
	struct crypt_msg_header answer = {
		.type = CRYPT_MSG_CONFIRM,
		.from = now->r.session,
		.to = now->r.peer_session,
	};

	if (!now->up || now->r.initiator || header->to != now->r.session || header->from != now->r.peer_session) {
		assoc->count.ignored++;
		return;
	}
	if (now_ns - now->confirmed_ns < REPEAT_GAP_NS)
		return;
	now->confirmed_ns = now_ns;
	crypt_assoc_send(assoc, &answer, (struct crypt_msg_bytes){now->confirm, sizeof(now->confirm)});
}

/* An attempt of our own that would end behind the new association, or whose end is not settled, is over. */
static void end_lesser_attempt(struct crypt_assoc *assoc)
{
	const struct crypt_hs_result *own = assoc->attempt.hs ? crypt_hs_result(assoc->attempt.hs) : NULL;

	if (assoc->attempt.hs && (!own || !crypt_assoc_is_newer(assoc, own)))
		crypt_attempt_end(assoc);
}

static void finish(struct crypt_assoc *assoc, struct crypt_half *half, uint64_t now_ns)
{
	const struct crypt_hs_result *result = crypt_hs_result(half->hs);
	struct crypt_msg_header header;
	struct crypt_msg_bytes confirm;
	int ret;

	if (!crypt_assoc_is_newer(assoc, result)) {
		crypt_half_end(assoc, half);
		return;
	}
	ret = crypt_assoc_rx_install(assoc, result, 0, result->spi_base);
	if (ret) {
		crypt_assoc_say(assoc, CRYPT_EVENT_PROBLEM, now_ns, "the keys to receive with cannot be installed: %s",
			strerror(-ret));
		crypt_assoc_send_fail(assoc, half->hs, half->from, CRYPT_FAIL_INTERNAL, now_ns);
		crypt_half_end(assoc, half);
		return;
	}
	/* The initiator had its receiving keys installed before it sent M3, so we may send at once. */
	crypt_assoc_establish(assoc, result, now_ns);
	if (!assoc->now.up) {
		crypt_half_end(assoc, half);
		return;
	}
	confirm = crypt_hs_message(half->hs, &header);
	memcpy(assoc->now.confirm, confirm.data, sizeof(assoc->now.confirm));
	assoc->now.confirmed_ns = now_ns;
	crypt_assoc_send(assoc, &header, confirm);
	crypt_half_end(assoc, half);
	end_lesser_attempt(assoc);
}

void crypt_half_take_auth(struct crypt_assoc *assoc, const struct crypt_msg_header *header, const uint8_t *body,
	size_t bytes, uint64_t now_ns)
{
	struct crypt_half *half = crypt_half_find(assoc, header->to, header->from);
	struct crypt_msg_bytes whole;
	struct crypt_hs_error why;
	int ret;

	if (!half) {
		confirm_again(assoc, header, now_ns);
		return;
	}
	if (!crypt_frag_add(&half->frag, header, body, bytes, &whole))
		return;
	if (!crypt_bucket_take(&assoc->work, now_ns)) {
		assoc->count.ignored++;
		return;
	}
	ret = crypt_hs_take_auth(
		half->hs, whole.data, whole.bytes, assoc->ops->wall_s ? assoc->ops->wall_s(assoc->ctx) : 0, &why);
	if (!ret) {
		finish(assoc, half, now_ns);
	} else if (ret == -EACCES) {
		if (!half->noticed)
			crypt_assoc_say(assoc, CRYPT_EVENT_REFUSED, now_ns, "refused: %s", why.error.text);
		half->noticed = true;
		crypt_assoc_send_fail(assoc, half->hs, half->from, why.fail, now_ns);
	} else {
		assoc->count.ignored++;
	}
}

void crypt_half_tick(struct crypt_assoc *assoc, uint64_t now_ns)
{
	for (unsigned int i = 0; i < CRYPT_HALF_OPEN; i++)
		if (assoc->halves[i].hs && now_ns - assoc->halves[i].born_ns >= assoc->config.half_open_ns)
			crypt_half_end(assoc, &assoc->halves[i]);
}
