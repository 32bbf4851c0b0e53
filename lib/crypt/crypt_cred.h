/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a host proves itself with: pre-shared keys, a certificate with its private key, and the authorities whose
 * certificates it believes. Read once from files; one crypt_cred serves all associations of a daemon.
 */
#ifndef CRYPT_CRED_H
#define CRYPT_CRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "crypt_hs_prim.h"

#define CRYPT_PSK_ID_BYTES  64
#define CRYPT_PSK_MIN_BYTES 32
#define CRYPT_PSKS_MAX      256

/* What went wrong, where, and what would be right; for people. Never a key. */
struct crypt_error {
	char text[384];
};

__attribute__((format(printf, 2, 3))) void crypt_error_set(struct crypt_error *error, const char *format, ...);

struct crypt_cred_config {
	const char *psk_file;  /* NULL: no pre-shared keys */
	const char *cert_file; /* PEM: own certificate, then those that lead to an authority. NULL: no certificates */
	const char *key_file;  /* PEM: the private key of the first one */
	const char *ca_file;   /* PEM: authorities */
	const char *sm2_id;    /* distinguishing id of SM2 signatures; NULL: "1234567812345678" (GM/T 0009) */
};

struct crypt_cred;

/* Reads the files. NULL with @error set. The caller frees the result after all that use it. */
struct crypt_cred *crypt_cred_load(const struct crypt_cred_config *config, struct crypt_error *error);
/* Wipes the keys. NULL is allowed. */
void crypt_cred_free(struct crypt_cred *cred);

bool crypt_cred_has_cert(const struct crypt_cred *cred);

/* ---- Files ---- */

/*
 * Whether a file with a secret may be used: a regular file of @user or root that nobody else can read or write (mode
 * 0600 or stricter). -EPERM with @error set. @path is for the text only.
 */
int crypt_cred_check_secret(const struct stat *st, uid_t user, const char *path, struct crypt_error *error);

/*
 * Reads a file of at most 64 KiB; checks it by its open descriptor when it is @secret. NULL with @error set. The
 * result ends with a 0 byte; crypt_cred_file_free() wipes and frees it.
 */
char *crypt_cred_file_read(const char *path, bool secret, size_t *bytes, struct crypt_error *error);
void crypt_cred_file_free(char *text, size_t bytes);

/* ---- Pre-shared keys ---- */

/* Keys made of a pre-shared key, [0] for suites with SHA-256, [1] for those with SM3; the key itself is not kept. */
struct crypt_psk {
	char id[CRYPT_PSK_ID_BYTES]; /* "" when its line had none */
	uint8_t hint_key[2][CRYPT_HASH_BYTES];
	uint8_t auth_key[2][CRYPT_HASH_BYTES];
};

/*
 * Reads lines of "KEY" or "ID KEY" with KEY in hex or base64, at least 32 bytes; "#" begins a comment. IDs that are
 * the same address are the same, however it is spelled; others are texts. Writes at most CRYPT_PSKS_MAX keys to
 * @keys. Returns how many, or -EINVAL with @error set.
 */
int crypt_psk_parse(const char *text, const char *path, struct crypt_psk *keys, struct crypt_error *error);

unsigned int crypt_cred_psks(const struct crypt_cred *cred);
/* The key of that @id; for NULL the first one. NULL: there is none. */
const struct crypt_psk *crypt_cred_psk(const struct crypt_cred *cred, const char *id);

/*
 * What M1 says of the key its sender uses, without telling which: a MAC of the message. @sm: the offer has SM suites
 * only. See docs/protection-handshake.md.
 */
int crypt_psk_hint(
	const struct crypt_psk *psk, bool sm, const uint8_t *covered, size_t bytes, uint8_t hint[CRYPT_MSG_HINT_BYTES]);
/* Which key made that @hint: the one of @id, or any if NULL. NULL: none of them. */
const struct crypt_psk *crypt_cred_find_psk(const struct crypt_cred *cred, const char *id, bool sm,
	const uint8_t *covered, size_t bytes, const uint8_t hint[CRYPT_MSG_HINT_BYTES]);

/* ---- Certificates ---- */

/* Who a peer has to be. */
struct crypt_cred_peer {
	const char *const *names; /* DNS names or IP addresses; one of them has to be in the certificate. */
	unsigned int n_names;     /* 0: any name that an authority signed for */
	int64_t wall_s;           /* seconds since 1970, for the validity of certificates */
};

/* The own chain, as M2 and M3 carry it. Returns how many; they belong to @cred. */
unsigned int crypt_cred_chain(const struct crypt_cred *cred, struct crypt_msg_bytes certs[CRYPT_MSG_CERTS]);

/* Signs @bytes of @data; @signature holds CRYPT_MSG_SIGNATURE_MAX bytes. 0 or -EIO. */
int crypt_cred_sign(
	const struct crypt_cred *cred, const uint8_t *data, size_t bytes, uint8_t *signature, size_t *signature_bytes);

/*
 * Whether @certs lead from an authority to a peer that is who it has to be, and its key signed @data.
 * CRYPT_FAIL_NONE, or the reason with @error set.
 */
enum crypt_fail crypt_cred_verify(const struct crypt_cred *cred, const struct crypt_cred_peer *peer,
	const struct crypt_msg_bytes *certs, unsigned int n_certs, struct crypt_msg_bytes data,
	struct crypt_msg_bytes signature, struct crypt_error *error);

#endif
