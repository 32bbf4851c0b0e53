/* SPDX-License-Identifier: BSD-3-Clause */
#include "gateway_match.h"

#include <string.h>

#include "base_psn.h"

#define FAR 65536 /* PSNs: further than any window of requests reaches, but for those of a large READ */
#define LATEST 4096 /* PSNs: about as many are under way at most */

/* ---- requests ---- */

static void begin(struct gateway_match *m, uint32_t psn)
{
	*m = (struct gateway_match){.next = psn, .limit = psn, .answered = psn, .begun = true};
}

/* Those that asked from @psn on are sent again: their answers say nothing of the time (Karn's rule). */
static void forget_from(struct gateway_match *m, uint32_t psn)
{
	while (m->n_asked > 0 && base_psn_diff(m->asked[m->n_asked - 1].psn, psn) >= 0)
		m->n_asked--;
}

static void send_again(struct gateway_match *m, uint32_t psn)
{
	bool first = !m->again || base_psn_diff(psn, m->again_next) < 0;

	forget_from(m, psn);
	m->again = true;
	m->again_next = base_psn_add(psn, 1);
	m->told = m->told && !first;
	/* A READ whose answer was lost is asked for once more, though it had arrived. */
	if (base_psn_diff(psn, m->answered) < 0)
		m->answered = psn;
}

static void send_new(struct gateway_match *m, uint32_t psn, bool asks, uint32_t psns, uint64_t now_ns)
{
	m->again = false;
	m->next = base_psn_add(psn, 1);
	m->limit = base_psn_add(psn, psns);
	if (asks && m->n_asked < GATEWAY_MATCH_ASKED)
		m->asked[m->n_asked++] = (struct gateway_match_asked){.psn = psn, .at_ns = now_ns};
}

enum gateway_match_sent gateway_match_look(const struct gateway_match *m, uint32_t psn)
{
	int32_t ahead = base_psn_diff(psn, m->next);

	if (!m->begun)
		return GATEWAY_SENT_NEW;
	if (ahead < -FAR || base_psn_diff(psn, m->limit) > FAR)
		return GATEWAY_SENT_RESTART;
	if (ahead >= 0)
		return GATEWAY_SENT_NEW;
	if (m->told || (m->again && base_psn_diff(psn, m->again_next) >= 0))
		return GATEWAY_SENT_AGAIN;
	return GATEWAY_SENT_UNTOLD;
}

void gateway_match_send(struct gateway_match *m, uint32_t psn, bool asks, uint32_t psns, uint64_t now_ns)
{
	enum gateway_match_sent sent = gateway_match_look(m, psn);

	if (!m->begun || sent == GATEWAY_SENT_RESTART)
		begin(m, psn);
	if (sent == GATEWAY_SENT_AGAIN || sent == GATEWAY_SENT_UNTOLD)
		send_again(m, psn);
	else
		send_new(m, psn, asks, psns, now_ns);
	if (asks && m->waits_ns == 0)
		m->waits_ns = now_ns;
}

/* ---- answers ---- */

/* Takes what waits up to @psn; the time of the one with just this PSN. */
static uint32_t take_asked(struct gateway_match *m, uint32_t psn, uint64_t now_ns)
{
	uint32_t n = 0, rtt_ns = 0;

	while (n < m->n_asked && base_psn_diff(m->asked[n].psn, psn) <= 0) {
		uint64_t ns = now_ns - m->asked[n].at_ns;

		if (m->asked[n].psn == psn)
			rtt_ns = ns == 0 ? 1 : ns < UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
		n++;
	}
	m->n_asked = (uint8_t)(m->n_asked - n);
	memmove(m->asked, m->asked + n, m->n_asked * sizeof(m->asked[0]));
	return rtt_ns;
}

/* Everything in front of `end` has arrived. True: that was not known. */
static bool arrived(struct gateway_match *m, uint32_t end)
{
	if (base_psn_diff(end, m->answered) <= 0)
		return false;
	m->answered = end;
	if (base_psn_diff(end, m->next) < 0)
		return true;
	m->next = end;
	m->again = false;
	m->told = false;
	return true;
}

struct gateway_match_heard gateway_match_hear(
	struct gateway_match *m, uint32_t psn, enum gateway_match_answer answer, uint64_t now_ns)
{
	/* These say that a request did not arrive, or could not be taken: only what is in front of it was. */
	bool refuses = answer == GATEWAY_ANSWER_SEQUENCE || answer == GATEWAY_ANSWER_NOT_READY;
	uint32_t before = base_psn_add(psn, BASE_PSN_MASK);
	struct gateway_match_heard heard = {.fits = false};

	if (!m->begun || base_psn_diff(psn, m->answered) < -FAR || base_psn_diff(psn, m->limit) >= 0)
		return heard;
	heard.fits = true;
	heard.rtt_ns = take_asked(m, answer == GATEWAY_ANSWER_SEQUENCE ? before : psn, now_ns);
	/* It answers what came too early, and not the one in front of the gap. */
	if (answer == GATEWAY_ANSWER_SEQUENCE)
		heard.rtt_ns = 0;
	heard.news = arrived(m, refuses ? psn : base_psn_add(psn, 1)) || heard.rtt_ns != 0;
	heard.lost = answer == GATEWAY_ANSWER_SEQUENCE && !m->told;
	m->told |= refuses;
	m->heard_ns = now_ns;
	m->waits_ns = m->n_asked != 0 ? now_ns : 0;
	return heard;
}

bool gateway_match_expects(const struct gateway_match *m, uint32_t psn)
{
	return m->begun && base_psn_diff(psn, m->answered) >= 0 && base_psn_diff(psn, m->limit) < 0 &&
	       base_psn_diff(m->next, psn) <= LATEST;
}

bool gateway_match_idle(const struct gateway_match *m)
{
	return base_psn_diff(m->next, m->answered) <= 0;
}

void gateway_match_forget(struct gateway_match *m)
{
	m->n_asked = 0;
	m->waits_ns = 0;
}
