/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys never come twice, whatever is restarted or renewed, and no memory that is given back holds one: free() and
 * munmap() are looked at (the linker's --wrap, and libcrypto's own hooks).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "crypt_assoc_internal.h"
#include "crypt_cred_internal.h"
#include "crypt_hs_internal.h"
#include "hs_world.h"

#define SECRETS 64

int __wrap_munmap(void *memory, size_t bytes);
int __real_munmap(void *memory, size_t bytes);

static struct {
	uint8_t bytes[16];
	const char *what;
} secrets[SECRETS];
static unsigned int n_secrets;
static bool is_looking;
static unsigned int n_looked, n_left;

static void look(const void *memory, size_t bytes)
{
	if (!is_looking)
		return;
	n_looked++;
	for (unsigned int i = 0; i < n_secrets; i++) {
		if (!memmem(memory, bytes, secrets[i].bytes, sizeof(secrets[i].bytes)))
			continue;
		fprintf(stderr, "%s is left in %zu bytes\n", secrets[i].what, bytes);
		n_left++;
	}
}

int __wrap_munmap(void *memory, size_t bytes)
{
	look(memory, bytes);
	return __real_munmap(memory, bytes);
}

/* A size goes before each block, so that its end is known. */
static void *hook_malloc(size_t bytes, const char *file, int line)
{
	size_t *block = malloc(bytes + 16);

	(void)file;
	(void)line;
	if (!block)
		return NULL;
	*block = bytes;
	return block + 2;
}

static void hook_free(void *memory, const char *file, int line)
{
	size_t *block = memory;

	(void)file;
	(void)line;
	if (!block)
		return;
	look(block, block[-2]);
	free(block - 2);
}

static void *hook_realloc(void *memory, size_t bytes, const char *file, int line)
{
	void *fresh = hook_malloc(bytes, file, line);
	size_t old = memory ? ((size_t *)memory)[-2] : 0;

	if (fresh && memory) {
		memcpy(fresh, memory, old < bytes ? old : bytes);
		hook_free(memory, file, line);
	}
	return fresh;
}

static void watch(const void *secret, const char *what)
{
	static const uint8_t none[16];

	if (n_secrets == SECRETS || memcmp(secret, none, sizeof(none)) == 0)
		return;
	memcpy(secrets[n_secrets].bytes, secret, 16);
	secrets[n_secrets++].what = what;
}

static void watch_session(const struct crypt_assoc *assoc)
{
	watch(assoc->now.r.working_key, "a working key");
	watch(assoc->now.control_tx, "a control key");
	watch(assoc->now.control_rx, "a control key");
}

/* ---- Wiped ---- */

static struct world w;

/* The keys of a handshake that is under way. */
static bool watch_handshake(struct world *world, unsigned int from, uint8_t *datagram, size_t *bytes)
{
	const struct crypt_hs *hs = world->hosts[from].assoc->attempt.hs;

	(void)bytes;
	if (datagram[1] != CRYPT_MSG_AUTH || !hs)
		return true;
	watch(hs->keys.auth, "a handshake's secret");
	watch(hs->keys.seal_i, "a handshake's key");
	watch(hs->keys.mac_r, "a handshake's key");
	watch(hs->result.working_key, "a working key");
	return true;
}

static void all_is_wiped(void **state)
{
	(void)state;
	n_secrets = 0;
	world_init(&w, 1, world_psk(WORLD_PSK), world_psk(WORLD_PSK));
	w.tamper = watch_handshake;
	watch(w.hosts[0].cred->psks[0].auth_key[0], "what a pre-shared key became");
	watch(w.hosts[0].cred->psks[0].hint_key[0], "what a pre-shared key became");
	watch("00112233445566778899aabbccddeeff", "a pre-shared key in hex");
	watch("\x00\x11\x22\x33\x44\x55\x66\x77\x88\x99\xaa\xbb\xcc\xdd\xee\xff", "a pre-shared key");
	is_looking = true;
	crypt_cred_free(world_psk(WORLD_PSK));
	world_up(&w);
	crypt_assoc_start(w.hosts[0].assoc, w.now_ns);
	assert_true(world_settle(&w, SECOND_NS));
	watch_session(w.hosts[0].assoc);
	for (unsigned int i = 0; i < 5; i++) {
		crypt_assoc_rekey_now(w.hosts[0].assoc, w.now_ns);
		assert_true(world_settle(&w, SECOND_NS));
		watch(w.hosts[0].tx[0].key, "a session key");
		crypt_assoc_handshake_now(w.hosts[i % 2].assoc, w.now_ns);
		assert_true(world_settle(&w, SECOND_NS));
		watch_session(w.hosts[0].assoc);
	}
	watch(w.hosts[0].tx[0].key, "a session key");
	world_restart(&w, 1);
	crypt_assoc_start(w.hosts[1].assoc, w.now_ns);
	assert_true(world_settle(&w, 10 * SECOND_NS));
	watch_session(w.hosts[1].assoc);
	world_free(&w);
	is_looking = false;
	assert_true(n_secrets > 20);
	assert_true(n_looked > 500);
	assert_int_equal(n_left, 0);
}

/* The test itself would see a key that is left. */
static void looking_works(void **state)
{
	uint8_t secret[16] = {1, 2, 3};
	uint8_t *block = OPENSSL_malloc(100);

	(void)state;
	n_secrets = 0;
	watch(secret, "the test's");
	memset(block, 0, 100);
	memcpy(block + 50, secret, sizeof(secret));
	is_looking = true;
	OPENSSL_free(block);
	is_looking = false;
	assert_int_equal(n_left, 1);
	n_left = 0;
}

/* ---- Once only ---- */

static int by_bytes(const void *a, const void *b)
{
	return memcmp(a, b, CRYPT_KEY_BYTES_MAX);
}

/* Every key that a lane got, over 1,000 rekeys, handshakes and restarts: no two are the same. */
static void no_key_twice(void **state)
{
	enum { ROUNDS = 1000, LANES = 5 };
	static uint8_t keys[ROUNDS * LANES + LANES][CRYPT_KEY_BYTES_MAX];
	unsigned int n = 0;

	(void)state;
	world_init(&w, 5, world_psk(WORLD_PSK), world_psk(WORLD_PSK));
	w.hosts[1].config.hs.n_suites = 1;
	w.hosts[1].config.hs.suites[0] = CRYPT_AES_128_GCM; /* the shorter keys */
	world_up(&w);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		if (round % 50 == 49)
			world_restart(&w, round / 50 % 2);
		if (round % 50 == 49 || round == 0)
			crypt_assoc_handshake_now(w.hosts[round / 50 % 2].assoc, w.now_ns);
		else if (round % 20 == 7)
			crypt_assoc_handshake_now(w.hosts[round / 20 % 2].assoc, w.now_ns);
		else
			crypt_assoc_rekey_now(w.hosts[0].assoc, w.now_ns);
		w.send_every_ns = 20 * MS_NS;
		world_run(&w, 200 * MS_NS);
		assert_true(world_settle(&w, 10 * SECOND_NS));
		for (unsigned int i = 0; i < LANES; i++) {
			const struct world_host *host = &w.hosts[i < 2 ? 0 : 1];

			memcpy(keys[n++], host->tx[i < 2 ? i : i - 2].key, CRYPT_KEY_BYTES_MAX);
		}
	}
	qsort(keys, n, sizeof(keys[0]), by_bytes);
	for (unsigned int i = 1; i < n; i++)
		assert_memory_not_equal(keys[i - 1], keys[i], 16);
	world_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looking_works),
		cmocka_unit_test(all_is_wiped),
		cmocka_unit_test(no_key_twice),
	};

	if (CRYPTO_set_mem_functions(hook_malloc, hook_realloc, hook_free) != 1)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
