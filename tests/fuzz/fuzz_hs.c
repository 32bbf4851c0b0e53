/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as datagrams of the key handshake, from somebody who sees and may change all that two hosts say to each
 * other. The input is a row of steps. Whatever is sent: an association stays, keys are never used before the other side
 * has them (hs_world checks that), what is held and sent is bounded, and when it is over the two agree.
 */
#include <string.h>

#include "fuzz.h"
#include "hs_certs.h"
#include "hs_world.h"

#define MAX_STEPS 40
#define TAPE      48
#define STEP_NS   (20 * MS_NS)
#define END_NS    (200 * SECOND_NS)

/* The low bits of a step's first byte; bit 4: to which host. */
enum step { STEP_RAW, STEP_AIMED, STEP_CHANGED, STEP_CHANGED_NEXT, STEP_WAIT, STEP_START, STEP_REKEY, STEP_RESTART };

struct tape {
	unsigned int n;
	size_t bytes[TAPE];
	uint8_t datagram[TAPE][CRYPT_MSG_DATAGRAM_BYTES];
	uint8_t change_at, change_by; /* of the next one that is sent */
};

static struct world w;
static struct tape tape;

struct input {
	const uint8_t *p;
	size_t n;
};

static uint8_t next_byte(struct input *in)
{
	if (in->n == 0)
		return 0;
	in->n--;
	return *in->p++;
}

static bool record(struct world *world, unsigned int from, uint8_t *datagram, size_t *bytes)
{
	unsigned int at = tape.n++ % TAPE;

	(void)world;
	(void)from;
	tape.bytes[at] = *bytes;
	memcpy(tape.datagram[at], datagram, *bytes);
	if (tape.change_by != 0 && tape.change_at < *bytes) {
		datagram[tape.change_at] ^= tape.change_by;
		tape.change_by = 0;
	}
	return true;
}

static struct crypt_assoc_status status_of(unsigned int host)
{
	struct crypt_assoc_status status;

	crypt_assoc_status(w.hosts[host].assoc, &status);
	return status;
}

static void inject(struct input *in, unsigned int host, bool is_aimed)
{
	uint8_t datagram[CRYPT_MSG_DATAGRAM_BYTES + 8];
	size_t bytes = next_byte(in) * 5u;

	bytes = bytes < in->n ? bytes : in->n;
	memcpy(datagram, in->p, bytes);
	in->p += bytes;
	in->n -= bytes;
	/* Session ids as of something that was said. */
	if (is_aimed && bytes >= CRYPT_MSG_HEADER_BYTES && tape.n > 0) {
		const uint8_t *said = tape.datagram[next_byte(in) % (tape.n < TAPE ? tape.n : TAPE)];

		datagram[0] = CRYPT_MSG_VERSION;
		memcpy(datagram + 4, said + 4, 16);
	}
	world_inject(&w, host, datagram, bytes);
}

static void inject_changed(struct input *in, unsigned int host)
{
	uint8_t datagram[CRYPT_MSG_DATAGRAM_BYTES];
	unsigned int at = next_byte(in) % TAPE;
	size_t where = next_byte(in) * 4u + next_byte(in) % 4u;
	uint8_t by = next_byte(in);

	if (at >= tape.n)
		return;
	memcpy(datagram, tape.datagram[at], tape.bytes[at]);
	datagram[where % tape.bytes[at]] ^= by;
	world_inject(&w, host, datagram, by == 0 && tape.bytes[at] > where ? tape.bytes[at] - where : tape.bytes[at]);
}

static void step(struct input *in)
{
	uint8_t first = next_byte(in);
	unsigned int host = first >> 4 & 1;

	switch ((enum step)(first & 7)) {
	case STEP_RAW:
	case STEP_AIMED:
		inject(in, host, (first & 7) == STEP_AIMED);
		break;
	case STEP_CHANGED:
		inject_changed(in, host);
		break;
	case STEP_CHANGED_NEXT:
		tape.change_at = next_byte(in);
		tape.change_by = next_byte(in);
		break;
	case STEP_WAIT:
		world_run(&w, next_byte(in) * STEP_NS);
		break;
	case STEP_START:
		crypt_assoc_handshake_now(w.hosts[host].assoc, w.now_ns);
		break;
	case STEP_REKEY:
		crypt_assoc_rekey_now(w.hosts[host].assoc, w.now_ns);
		break;
	case STEP_RESTART:
		world_restart(&w, host);
		break;
	}
}

static void check_bounds(bool was_restarted)
{
	for (unsigned int i = 0; i < 2; i++) {
		struct crypt_assoc_status status = status_of(i);

		FUZZ_CHECK(status.established || was_restarted);
		FUZZ_CHECK(status.rx_generations <= 24);
		FUZZ_CHECK(crypt_gate_half_open(w.hosts[i].gate) <= 4);
		FUZZ_CHECK(w.hosts[i].emitted < 20 * (tape.n + MAX_STEPS));
	}
}

static void check_inside(const struct crypt_msg_bytes *part, const uint8_t *data, size_t size)
{
	FUZZ_CHECK(part->bytes == 0 || (part->data >= data && part->data + part->bytes <= data + size));
}

/* Payloads are sealed, so bytes that were changed do not come to their decoder: here they do, certificates too. */
static void decode_payload(const uint8_t *data, size_t size)
{
	static struct crypt_cred *cred;
	struct crypt_cred_peer peer = {.wall_s = CERTS_NOW_S};
	struct crypt_msg_payload payload;
	struct crypt_error error;
	uint8_t out[8192];
	size_t n;

	if (!cred) {
		struct certs_ca ca = certs_ca_new("P-256", "ca");
		struct certs_want want = {0};

		cred = certs_cred(&ca, &want, &ca, NULL);
		certs_ca_free(&ca);
		certs_remove();
	}
	if (size > sizeof(out) || crypt_msg_get_payload(&payload, data, size))
		return;
	check_inside(&payload.id, data, size);
	check_inside(&payload.signature, data, size);
	for (unsigned int i = 0; i < payload.n_certs; i++)
		check_inside(&payload.certs[i], data, size);
	n = crypt_msg_put_payload(&payload, out, sizeof(out));
	n += crypt_msg_put_proof(&payload, out + n, sizeof(out) - n);
	FUZZ_CHECK(n == size && memcmp(out, data, size) == 0);
	FUZZ_CHECK(crypt_cred_verify(cred, &peer, payload.certs, payload.n_certs, payload.id, payload.signature,
			   &error) != CRYPT_FAIL_NONE);
}

static void decode_alone(const uint8_t *data, size_t size)
{
	struct crypt_msg_response response;
	struct crypt_msg_control control;
	struct crypt_msg_init init;
	struct crypt_msg_hint hint;
	uint8_t out[512];

	decode_payload(data, size);
	if (!crypt_msg_get_init(&init, data, size))
		FUZZ_CHECK(init.hint_at + CRYPT_MSG_HINT_BYTES == init.covered_bytes && init.covered_bytes < size);
	if (!crypt_msg_get_response(&response, data, size)) {
		FUZZ_CHECK(crypt_msg_put_response(&response, out, sizeof(out)) <= size);
		FUZZ_CHECK(memcmp(out, data, response.clear_bytes) == 0);
	}
	if (!crypt_msg_get_control(&control, data, size))
		FUZZ_CHECK(crypt_msg_put_control(&control, out, sizeof(out)) == size && memcmp(out, data, size) == 0);
	if (!crypt_msg_get_hint(&hint, data, size))
		FUZZ_CHECK(crypt_msg_put_hint(&hint, out, sizeof(out)) == size && memcmp(out, data, size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	static struct crypt_cred *cred;
	bool was_restarted = false;

	/* Every other input is for the decoders. */
	if ((next_byte(&in) & 1) != 0) {
		decode_alone(in.p, in.n);
		return 0;
	}
	if (!cred)
		cred = world_psk(WORLD_PSK);
	world_init(&w, 1 + next_byte(&in), cred, cred);
	memset(&tape, 0, sizeof(tape));
	w.tamper = record;
	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	FUZZ_CHECK(world_settle(&w, SECOND_NS));
	for (unsigned int i = 0; i < MAX_STEPS && in.n > 0; i++) {
		was_restarted = was_restarted || (*in.p & 7) == STEP_RESTART;
		step(&in);
		check_bounds(was_restarted);
	}
	tape.change_by = 0;
	if (was_restarted) {
		crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
		crypt_assoc_start(w.hosts[1].assoc, w.now_ns);
	} else {
		w.send_every_ns = STEP_NS;
	}
	world_run(&w, SECOND_NS);
	FUZZ_CHECK(w.data_lost == 0);
	/* Both restarted, or one that did not notice: packets tell. */
	w.send_every_ns = 10 * STEP_NS;
	FUZZ_CHECK(world_settle(&w, END_NS));
	w.hosts[0].cred = NULL;
	w.hosts[1].cred = NULL;
	world_free(&w);
	return 0;
}
