/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NIST SP 800-38D, 8: a nonce never comes twice with one key. A backend that notes each (key, nonce) it is to seal with, below
 * associations, directions, lanes and epochs whose keys come from crypt_kdf_session().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "crypt_kdf.h"
#include "frames.h"

#define MAX_NOTES 60000u
#define LANES     4u
#define EPOCHS    12u
#define ENDS      4u /* two associations, two directions */

struct crypt_key {
	uint8_t raw[CRYPT_KEY_BYTES_MAX];
};

static struct note {
	uint8_t raw[CRYPT_KEY_BYTES_MAX];
	uint8_t nonce[CRYPT_NONCE_BYTES];
} notes[MAX_NOTES];
static uint32_t n_notes, fail_each;

static struct crypt_worker worker;
static struct rte_mbuf *pkts[N_FRAMES];
static enum base_drop reasons[N_FRAMES];

/* ---- the backend ---- */

static struct crypt_key *key_new(void *ctx, enum crypt_suite suite, const uint8_t *raw)
{
	struct crypt_key *key = calloc(1, sizeof(*key));

	(void)ctx;
	assert_non_null(key);
	memcpy(key->raw, raw, crypt_suite_key_bytes(suite));
	return key;
}

static void key_free(void *ctx, struct crypt_key *key)
{
	(void)ctx;
	free(key);
}

/* The jobs of a key are together, and their numbers ascend. */
static void check_order(const struct crypt_job *jobs, unsigned int n)
{
	for (unsigned int i = 1; i < n; i++) {
		if (jobs[i].key == jobs[i - 1].key) {
			assert_true(memcmp(jobs[i - 1].nonce, jobs[i].nonce, CRYPT_NONCE_BYTES) < 0);
			continue;
		}
		for (unsigned int k = 0; k < i; k++)
			assert_ptr_not_equal(jobs[i].key, jobs[k].key);
	}
}

static unsigned int seal(void *ctx, struct crypt_job *jobs, unsigned int n)
{
	unsigned int good = 0;

	(void)ctx;
	check_order(jobs, n);
	for (unsigned int i = 0; i < n; i++) {
		assert_true(n_notes < MAX_NOTES);
		memcpy(notes[n_notes].raw, jobs[i].key->raw, sizeof(notes[0].raw));
		memcpy(notes[n_notes].nonce, jobs[i].nonce, CRYPT_NONCE_BYTES);
		n_notes++;
		jobs[i].status = fail_each != 0 && n_notes % fail_each == 0 ? -EIO : 0;
		good += jobs[i].status == 0;
	}
	return good;
}

static const struct crypt_cipher recorder = {.name = "recorder", .key_new = key_new, .key_free = key_free, .seal = seal};

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct note));
}

static void none_came_twice(uint32_t want)
{
	assert_int_equal(n_notes, want);
	qsort(notes, n_notes, sizeof(notes[0]), compare);
	for (uint32_t i = 1; i < n_notes; i++)
		assert_int_not_equal(compare(&notes[i - 1], &notes[i]), 0);
}

static int start(void **state)
{
	(void)state;
	worker = (struct crypt_worker){.cipher = &recorder, .port = WIRE_PSP_PORT};
	n_notes = 0;
	fail_each = 0;
	return 0;
}

/* ---- tests ---- */

/* Both receivers of both associations choose the same SPIs, which they may: they do not know of each other. */
static struct crypt_tx_sa *make_sa(uint32_t end, uint16_t lane, uint32_t epoch)
{
	struct crypt_sa_params params = {.suite = CRYPT_AES_256_GCM, .spi = 100 + epoch * LANES + lane, .lane = lane, .epoch = epoch};
	uint8_t working[CRYPT_WORKING_KEY_BYTES] = {(uint8_t)(1 + end / 2)};
	struct crypt_kdf_input in = {.suite = params.suite,
		.direction = end % 2 == 0 ? CRYPT_TO_RESPONDER : CRYPT_TO_INITIATOR,
		.lane = lane,
		.epoch = epoch,
		.spi = params.spi,
		.initiator = "a",
		.initiator_bytes = 1,
		.responder = "b",
		.responder_bytes = 1};
	struct crypt_tx_sa *sa;

	assert_int_equal(crypt_kdf_session(working, &in, params.key), 0);
	sa = crypt_tx_sa_new(&recorder, NULL, &params);
	assert_non_null(sa);
	return sa;
}

static void lanes_epochs_directions_and_associations(void **state)
{
	struct crypt_tx_sa *sas[ENDS * LANES], *tx[N_FRAMES];
	uint32_t sent = 0;

	(void)state;
	for (uint32_t epoch = 0; epoch < EPOCHS; epoch++) {
		for (uint32_t k = 0; k < ENDS * LANES; k++)
			sas[k] = make_sa(k / LANES, (uint16_t)(k % LANES), epoch);
		for (uint32_t burst = 0; burst < 50; burst++) {
			for (uint32_t i = 0; i < N_FRAMES; i++) {
				pkts[i] = frame_make(i, 60, false, false);
				tx[i] = sas[(i * 7 + burst * burst) % (burst % 2 == 0 ? ENDS * LANES : 3)];
			}
			sent += crypt_protect(&worker, pkts, tx, N_FRAMES, reasons);
		}
		for (uint32_t k = 0; k < ENDS * LANES; k++)
			crypt_tx_sa_free(sas[k]);
	}
	none_came_twice(sent);
	assert_int_equal(sent, EPOCHS * 50 * N_FRAMES);
}

/* A device that failed may have used its nonce, so its number is gone; and what is refused uses none. */
static void failures_and_refusals_in_between(void **state)
{
	struct crypt_tx_sa *sa = make_sa(0, 0, 0), *tx[N_FRAMES];
	uint32_t sent = 0;

	(void)state;
	fail_each = 5;
	for (uint32_t burst = 0; burst < 50; burst++) {
		for (uint32_t i = 0; i < N_FRAMES; i++) {
			pkts[i] = frame_make(i, 60, false, false);
			if (i % 3 == 0)
				pkts[i]->data_off = 8;
			tx[i] = sa;
		}
		sent += crypt_protect(&worker, pkts, tx, N_FRAMES, reasons);
		for (uint32_t i = 0; i < N_FRAMES; i += 3)
			assert_int_not_equal(reasons[i], BASE_DROP_NONE);
	}
	assert_int_equal(sa->next, 1 + n_notes);
	assert_int_equal(sent, n_notes - n_notes / fail_each);
	none_came_twice(50 * 42);
	crypt_tx_sa_free(sa);
}

/* The last number is the last, and no way of sending brings it round. */
static void the_end_of_a_key(void **state)
{
	struct crypt_tx_sa *sa = make_sa(0, 0, 0), *tx[N_FRAMES];

	(void)state;
	sa->next = CRYPT_HARD_PACKETS - 9;
	for (uint32_t burst = 0; burst < 20; burst++) {
		for (uint32_t i = 0; i < N_FRAMES; i++) {
			pkts[i] = frame_make(i, 60, false, false);
			tx[i] = sa;
		}
		assert_int_equal(crypt_protect(&worker, pkts, tx, N_FRAMES, reasons), burst == 0 ? 10 : 0);
		assert_int_equal(reasons[N_FRAMES - 1], BASE_DROP_SA_SPENT);
	}
	assert_int_equal(sa->next, CRYPT_HARD_PACKETS + 1);
	none_came_twice(10);
	crypt_tx_sa_free(sa);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(lanes_epochs_directions_and_associations, start),
		cmocka_unit_test_setup(failures_and_refusals_in_between, start),
		cmocka_unit_test_setup(the_end_of_a_key, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
