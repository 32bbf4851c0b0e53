/* SPDX-License-Identifier: BSD-3-Clause */
/* Our own handshake: begun, repeated, answered, confirmed or given up. */
#include <errno.h>
#include <string.h>

#include "crypt_assoc_internal.h"

#define SECOND_NS     1000000000ull
#define COOKIE_GAP_NS 100000000ull

int crypt_attempt_begin(struct crypt_assoc *assoc, uint64_t now_ns)
{
	struct crypt_attempt *attempt = &assoc->attempt;
	struct crypt_hs_error why;

	if (attempt->hs)
		return -EALREADY;
	assoc->wanted = true;
	attempt->hs = crypt_hs_initiate(&assoc->config.hs, assoc->generation + 1, &why);
	if (!attempt->hs) {
		crypt_assoc_say(assoc, CRYPT_EVENT_PROBLEM, now_ns, "%s", why.error.text);
		assoc->resume_ns = now_ns + assoc->config.pause_ns;
		return -EIO;
	}
	attempt->noticed = false;
	attempt->cookie_ns = 0;
	crypt_retry_begin(assoc, &attempt->retry, now_ns);
	crypt_assoc_send_hs(assoc, attempt->hs);
	return 0;
}

void crypt_attempt_end(struct crypt_assoc *assoc)
{
	crypt_hs_free(assoc->attempt.hs);
	crypt_frag_reset(&assoc->attempt.frag);
	assoc->attempt = (struct crypt_attempt){0};
}

bool crypt_attempt_is(const struct crypt_assoc *assoc, uint64_t session)
{
	return assoc->attempt.hs && crypt_hs_session(assoc->attempt.hs) == session;
}

/* M1 again, with the cookie; not for each of a flood of cookies. */
void crypt_attempt_take_cookie(struct crypt_assoc *assoc, const uint8_t *body, size_t bytes, uint64_t now_ns)
{
	struct crypt_attempt *attempt = &assoc->attempt;

	if (bytes != CRYPT_MSG_COOKIE_BYTES || crypt_hs_result(attempt->hs))
		return;
	if (attempt->cookie_ns != 0 && now_ns - attempt->cookie_ns < COOKIE_GAP_NS)
		return;
	attempt->cookie_ns = now_ns;
	crypt_hs_set_cookie(attempt->hs, body);
	crypt_assoc_send_hs(assoc, attempt->hs);
}

/* Before M3 leaves, all that the responder may send with it can be received. */
static void send_auth(struct crypt_assoc *assoc, uint64_t now_ns)
{
	struct crypt_attempt *attempt = &assoc->attempt;
	const struct crypt_hs_result *result = crypt_hs_result(attempt->hs);
	int ret;

	crypt_frag_reset(&attempt->frag);
	if (!crypt_assoc_is_newer(assoc, result)) {
		crypt_attempt_end(assoc);
		return;
	}
	ret = crypt_assoc_rx_install(assoc, result, 0, result->spi_base);
	if (ret) {
		crypt_assoc_say(assoc, CRYPT_EVENT_PROBLEM, now_ns, "the keys to receive with cannot be installed: %s",
			strerror(-ret));
		crypt_attempt_end(assoc);
		assoc->resume_ns = now_ns + assoc->config.pause_ns;
		return;
	}
	crypt_retry_begin(assoc, &attempt->retry, now_ns);
	crypt_assoc_send_hs(assoc, attempt->hs);
}

void crypt_attempt_take_response(struct crypt_assoc *assoc, const struct crypt_msg_header *header, const uint8_t *body,
	size_t bytes, uint64_t now_ns)
{
	struct crypt_attempt *attempt = &assoc->attempt;
	struct crypt_msg_bytes whole;
	struct crypt_hs_error why;
	uint32_t base;
	int ret;

	if (crypt_hs_result(attempt->hs)) /* M2 once more: M3 is on its way already */
		return;
	if (!crypt_frag_add(&attempt->frag, header, body, bytes, &whole))
		return;
	base = crypt_assoc_choose_spis(assoc, CRYPT_MSG_LANES);
	if (base == 0 || !crypt_bucket_take(&assoc->work, now_ns)) {
		assoc->count.ignored++;
		return;
	}
	ret = crypt_hs_take_response(attempt->hs, header->from, whole.data, whole.bytes, base,
		assoc->ops->wall_s ? assoc->ops->wall_s(assoc->ctx) : 0, &why);
	if (!ret) {
		send_auth(assoc, now_ns);
	} else if (ret == -EACCES) {
		/* It may be forged, so we go on waiting for a better one. The notice is repeated, for it may be lost.
		 */
		if (!attempt->noticed)
			crypt_assoc_say(assoc, CRYPT_EVENT_REFUSED, now_ns, "refused: %s", why.error.text);
		attempt->noticed = true;
		crypt_assoc_send_fail(assoc, attempt->hs, header->from, why.fail, now_ns);
	} else {
		assoc->count.ignored++;
	}
}

void crypt_attempt_confirmed(struct crypt_assoc *assoc, uint64_t now_ns)
{
	const struct crypt_hs_result *result = crypt_hs_result(assoc->attempt.hs);
	struct crypt_msg_control ping = {.kind = CRYPT_CONTROL_PING};
	bool is_newer = crypt_assoc_is_newer(assoc, result);

	if (is_newer)
		crypt_assoc_establish(assoc, result, now_ns);
	crypt_attempt_end(assoc);
	if (!is_newer || !assoc->now.up)
		return;
	/* The responder sends with the new keys since M3. */
	crypt_assoc_rx_evidence(assoc, assoc->now.order, 0, now_ns);
	/* And it learns from this that we do as well, also when there is nothing else to send. */
	crypt_retry_begin(assoc, &assoc->now.ping, now_ns);
	crypt_assoc_send_control(assoc, &ping);
}

void crypt_attempt_take_confirm(
	struct crypt_assoc *assoc, uint64_t from, const uint8_t *body, size_t bytes, uint64_t now_ns)
{
	if (crypt_hs_take_confirm(assoc->attempt.hs, from, body, bytes))
		assoc->count.ignored++;
	else
		crypt_attempt_confirmed(assoc, now_ns);
}

/* The keys that receive stay: the responder may have got M3 and send with them. */
static void give_up(struct crypt_assoc *assoc, uint64_t now_ns)
{
	if (!assoc->attempt.noticed)
		crypt_assoc_say(assoc, CRYPT_EVENT_NO_ANSWER, now_ns,
			"no answer to %u messages of the key handshake; is roced "
			"running there with protection, and is its control port open? Next try in %llu s",
			assoc->config.tries, (unsigned long long)(assoc->config.pause_ns / SECOND_NS));
	crypt_attempt_end(assoc);
	assoc->resume_ns = now_ns + assoc->config.pause_ns;
}

uint64_t crypt_attempt_due(const struct crypt_assoc *assoc)
{
	const struct crypt_session *now = &assoc->now;
	const struct crypt_assoc_config *config = &assoc->config;
	uint64_t due_ns = CRYPT_NEVER;

	if (assoc->attempt.hs)
		return assoc->attempt.retry.next_ns;
	if (assoc->wanted || (assoc->started && !now->up))
		due_ns = 0;
	else if (now->up)
		due_ns = now->born_ns + config->handshake_ns;
	/* The responder of the last one leaves the initiator half of the time that there is. */
	if (now->up && !assoc->wanted && !now->r.initiator)
		due_ns += (config->hard_ns - config->handshake_ns) / 2;
	return due_ns > assoc->resume_ns ? due_ns : assoc->resume_ns;
}

void crypt_attempt_tick(struct crypt_assoc *assoc, uint64_t now_ns)
{
	if (assoc->attempt.hs) {
		switch (crypt_retry_check(assoc, &assoc->attempt.retry, now_ns)) {
		case CRYPT_RETRY_AGAIN:
			crypt_assoc_send_hs(assoc, assoc->attempt.hs);
			break;
		case CRYPT_RETRY_GIVE_UP:
			give_up(assoc, now_ns);
			break;
		case CRYPT_RETRY_WAIT:
			break;
		}
		return;
	}
	if (now_ns >= crypt_attempt_due(assoc))
		crypt_attempt_begin(assoc, now_ns);
}
