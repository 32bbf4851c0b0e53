/* SPDX-License-Identifier: BSD-3-Clause */
/* New keys of one direction, what they are used up by, and whether the peer is still there. */
#include <errno.h>
#include <string.h>

#include "crypt_assoc_internal.h"

void crypt_rekey_begin(struct crypt_assoc *assoc, uint64_t now_ns)
{
	struct crypt_session *now = &assoc->now;
	struct crypt_msg_control rekey = {
		.kind = CRYPT_CONTROL_REKEY,
		.epoch = now->tx_epoch + 1,
		.lanes = now->r.lanes,
	};

	if (!now->rekey.on)
		crypt_retry_begin(assoc, &now->rekey, now_ns);
	/* The peer takes it for granted that the epoch before is in use, on all lanes; else it is said when it is. */
	if (now->tx_lanes_done == now->r.lanes)
		crypt_assoc_send_control(assoc, &rekey);
}

/*
 * The peer wants to send with a new epoch: install its keys, then say where they receive. What it sent REKEY for
 * before is in use there by now, or it would not ask for the next.
 */
static void take_rekey(struct crypt_assoc *assoc, const struct crypt_msg_control *control, uint64_t now_ns)
{
	struct crypt_session *now = &assoc->now;
	struct crypt_msg_control ack = {.kind = CRYPT_CONTROL_REKEY_ACK, .epoch = control->epoch};
	uint32_t base;
	int ret;

	if (control->lanes != now->r.peer_lanes)
		return;
	if (control->epoch == now->rx_epoch + 1 && control->epoch != 0) {
		crypt_assoc_rx_evidence(assoc, now->order, now->rx_epoch, now_ns);
		base = crypt_assoc_choose_spis(assoc, now->r.peer_lanes);
		ret = base ? crypt_assoc_rx_install(assoc, &now->r, control->epoch, base) : -ENOSPC;
		if (ret) {
			crypt_assoc_say(assoc, CRYPT_EVENT_PROBLEM, now_ns,
				"the keys to receive with cannot be installed: %s; "
				"the peer goes on with those before",
				strerror(-ret));
			return;
		}
		now->rx_epoch = control->epoch;
		now->rx_base = base;
		now->ask.on = false;
	} else if (control->epoch != now->rx_epoch || control->epoch == 0) {
		return;
	}
	ack.spi_base = now->rx_base;
	crypt_assoc_send_control(assoc, &ack);
}

static void take_ack(struct crypt_assoc *assoc, const struct crypt_msg_control *control, uint64_t now_ns)
{
	struct crypt_session *now = &assoc->now;

	if (!now->rekey.on || control->epoch != now->tx_epoch + 1)
		return;
	now->rekey = (struct crypt_retry){0};
	assoc->count.rekeys++;
	crypt_assoc_tx_switch(assoc, control->epoch, control->spi_base, now_ns);
	crypt_assoc_say(assoc, CRYPT_EVENT_REKEYED, now_ns, "sending with epoch %u", control->epoch);
}

void crypt_rekey_take(struct crypt_assoc *assoc, const struct crypt_msg_control *control, uint64_t now_ns)
{
	struct crypt_msg_control pong = {.kind = CRYPT_CONTROL_PONG, .token = control->token};

	crypt_assoc_alive(assoc, now_ns);
	/* Whatever it is: the peer has these keys, so it does not send with those of an earlier handshake any more. */
	crypt_assoc_rx_evidence(assoc, assoc->now.order, 0, now_ns);
	switch (control->kind) {
	case CRYPT_CONTROL_REKEY:
		take_rekey(assoc, control, now_ns);
		break;
	case CRYPT_CONTROL_REKEY_ACK:
		take_ack(assoc, control, now_ns);
		break;
	case CRYPT_CONTROL_REKEY_ASK:
		if (!assoc->now.rekey.on)
			crypt_rekey_begin(assoc, now_ns);
		break;
	case CRYPT_CONTROL_PING:
		crypt_assoc_send_control(assoc, &pong);
		break;
	case CRYPT_CONTROL_PONG:
		assoc->now.ping.on = false;
		break;
	default:
		break;
	}
}

int crypt_assoc_rekey_now(struct crypt_assoc *assoc, uint64_t now_ns)
{
	struct crypt_session *now = &assoc->now;
	struct crypt_msg_control ask = {.kind = CRYPT_CONTROL_REKEY_ASK};

	if (!now->up)
		return -ENOTCONN;
	if (now->rekey.on && now->ask.on)
		return -EALREADY;
	if (!now->rekey.on)
		crypt_rekey_begin(assoc, now_ns);
	if (!now->ask.on) {
		crypt_retry_begin(assoc, &now->ask, now_ns);
		crypt_assoc_send_control(assoc, &ask);
	}
	return 0;
}

void crypt_assoc_alive(struct crypt_assoc *assoc, uint64_t now_ns)
{
	(void)now_ns;
	assoc->unheard_ns = CRYPT_NEVER;
}

void crypt_assoc_suspect(struct crypt_assoc *assoc, const char *why, uint64_t now_ns)
{
	if (!assoc->now.up || assoc->attempt.hs || now_ns < assoc->resume_ns ||
		!crypt_bucket_take(&assoc->suspects, now_ns))
		return;
	crypt_assoc_say(
		assoc, CRYPT_EVENT_PEER_RESTARTED, now_ns, "%s; trying a new handshake, the keys in use stay", why);
	crypt_attempt_begin(assoc, now_ns);
}

static void stop_lane(struct crypt_assoc *assoc, uint16_t lane, uint64_t now_ns)
{
	if ((assoc->now.tx_stopped & 1ull << lane) != 0)
		return;
	assoc->now.tx_stopped |= 1ull << lane;
	if (assoc->ops->tx_stop)
		assoc->ops->tx_stop(assoc->ctx, lane);
	crypt_assoc_say(assoc, CRYPT_EVENT_HARD_LIMIT, now_ns,
		"the key of lane %u is used up and the peer has not answered "
		"the wish for a new one; %s until it does",
		lane, assoc->config.plain ? "what the lane sends is plain" : "the lane sends nothing");
}

void crypt_assoc_used(
	struct crypt_assoc *assoc, uint16_t lane, uint32_t spi, uint64_t bytes, uint64_t packet_number, uint64_t now_ns)
{
	const struct crypt_assoc_config *config = &assoc->config;
	struct crypt_session *now = &assoc->now;

	if (!now->up || lane >= now->r.lanes)
		return;
	/* Before a worker has taken a new key it still counts the old one's use: of that only "it sends" is of
	 * interest. */
	if (packet_number != assoc->last_number[lane] && assoc->unheard_ns == CRYPT_NEVER) {
		assoc->unheard_ns = now_ns;
		assoc->ping_due_ns = now_ns + config->ping_ns;
	}
	assoc->last_number[lane] = packet_number;
	if (spi != now->tx_base + lane)
		return;
	if ((bytes >= config->soft_bytes || packet_number >= config->soft_packets) && !now->rekey.on)
		crypt_rekey_begin(assoc, now_ns);
	if (bytes >= config->hard_bytes || packet_number >= config->hard_packets)
		stop_lane(assoc, lane, now_ns);
}

void crypt_assoc_heard(struct crypt_assoc *assoc, uint64_t now_ns)
{
	crypt_assoc_alive(assoc, now_ns);
}

/* A request that nobody answers is a reason to think that the peer has lost the keys. */
static void repeat(
	struct crypt_assoc *assoc, struct crypt_retry *retry, enum crypt_msg_control_kind kind, uint64_t now_ns)
{
	struct crypt_msg_control control = {.kind = (uint8_t)kind};

	switch (crypt_retry_check(assoc, retry, now_ns)) {
	case CRYPT_RETRY_AGAIN:
		if (kind == CRYPT_CONTROL_REKEY)
			crypt_rekey_begin(assoc, now_ns);
		else
			crypt_assoc_send_control(assoc, &control);
		break;
	case CRYPT_RETRY_GIVE_UP:
		crypt_assoc_say(assoc, CRYPT_EVENT_NO_ANSWER, now_ns, "no answer to %u %s messages",
			assoc->config.tries, kind == CRYPT_CONTROL_PING ? "ping" : "rekey");
		crypt_assoc_suspect(assoc, "it does not answer", now_ns);
		break;
	case CRYPT_RETRY_WAIT:
		break;
	}
}

/* We send and hear nothing: ask, and after a time do not wait any longer for the answer. */
static void watch_silence(struct crypt_assoc *assoc, uint64_t now_ns)
{
	struct crypt_msg_control ping = {.kind = CRYPT_CONTROL_PING};

	if (assoc->unheard_ns == CRYPT_NEVER || now_ns < assoc->ping_due_ns)
		return;
	assoc->ping_due_ns = now_ns + assoc->config.ping_ns;
	crypt_assoc_send_control(assoc, &ping);
	if (now_ns - assoc->unheard_ns >= assoc->config.silence_ns)
		crypt_assoc_suspect(assoc, "it has not been heard for some seconds while we send", now_ns);
}

uint64_t crypt_rekey_due(const struct crypt_assoc *assoc)
{
	const struct crypt_session *now = &assoc->now;

	if (now->rekey.on)
		return now->rekey.next_ns;
	if (now->rekey.tries >= assoc->config.tries)
		return now->rekey.next_ns + assoc->config.pause_ns;
	return now->tx_since_ns + assoc->config.soft_ns;
}

void crypt_rekey_tick(struct crypt_assoc *assoc, uint64_t now_ns)
{
	struct crypt_session *now = &assoc->now;

	if (!now->up)
		return;
	repeat(assoc, &now->ping, CRYPT_CONTROL_PING, now_ns);
	repeat(assoc, &now->ask, CRYPT_CONTROL_REKEY_ASK, now_ns);
	repeat(assoc, &now->rekey, CRYPT_CONTROL_REKEY, now_ns);
	if (!now->rekey.on && now_ns >= crypt_rekey_due(assoc))
		crypt_rekey_begin(assoc, now_ns);
	watch_silence(assoc, now_ns);
}
