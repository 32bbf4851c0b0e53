/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_hs_prim.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <string.h>

#define SM4_KEY_BYTES 16

static const EVP_MD *hash_of(bool sm)
{
	return sm ? EVP_sm3() : EVP_sha256();
}

int crypt_prim_random(void *out, size_t n)
{
	return RAND_bytes(out, (int)n) == 1 ? 0 : -EIO;
}

int crypt_prim_hash(bool sm, const struct crypt_msg_bytes *parts, unsigned int n, uint8_t out[CRYPT_HASH_BYTES])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	int ok = ctx && EVP_DigestInit_ex(ctx, hash_of(sm), NULL) == 1;

	for (unsigned int i = 0; i < n && ok; i++)
		ok = EVP_DigestUpdate(ctx, parts[i].data, parts[i].bytes) == 1;
	ok = ok && EVP_DigestFinal_ex(ctx, out, NULL) == 1;
	EVP_MD_CTX_free(ctx);
	return ok ? 0 : -EIO;
}

int crypt_prim_mac(
	bool sm, const void *key, size_t key_bytes, const void *data, size_t bytes, uint8_t out[CRYPT_HASH_BYTES])
{
	unsigned int n = CRYPT_HASH_BYTES;

	return HMAC(hash_of(sm), key, (int)key_bytes, data, bytes, out, &n) ? 0 : -EIO;
}

int crypt_prim_expand(bool sm, const uint8_t prk[CRYPT_HASH_BYTES], const char *label, const uint8_t *context,
	uint8_t out[CRYPT_HASH_BYTES])
{
	uint8_t info[96];
	size_t n = strlen(label);

	if (n + CRYPT_HASH_BYTES + 1 > sizeof(info))
		return -EINVAL;
	memcpy(info, label, n);
	if (context) {
		memcpy(info + n, context, CRYPT_HASH_BYTES);
		n += CRYPT_HASH_BYTES;
	}
	info[n++] = 1;
	return crypt_prim_mac(sm, prk, CRYPT_HASH_BYTES, info, n, out);
}

static int gcm(bool seal, const uint8_t key[32], uint64_t counter, struct crypt_msg_bytes aad, const uint8_t *in,
	size_t bytes, uint8_t *out, uint8_t tag[CRYPT_HS_TAG_BYTES])
{
	uint8_t nonce[12] = {0};
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n, enc = seal ? 1 : 0, ret = -EIO;

	crypt_msg_put64(nonce + 4, counter);
	if (!ctx || EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, nonce, enc) != 1)
		goto out;
	if (EVP_CipherUpdate(ctx, NULL, &n, aad.data, (int)aad.bytes) != 1)
		goto out;
	if (bytes > 0 && EVP_CipherUpdate(ctx, out, &n, in, (int)bytes) != 1)
		goto out;
	if (!seal && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, CRYPT_HS_TAG_BYTES, tag) != 1)
		goto out;
	/* Without bytes left in the cipher nothing is written here. */
	if (EVP_CipherFinal_ex(ctx, out + bytes, &n) != 1) {
		ret = seal ? -EIO : -EBADMSG;
		goto out;
	}
	if (seal && EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, CRYPT_HS_TAG_BYTES, tag) != 1)
		goto out;
	ret = 0;
out:
	EVP_CIPHER_CTX_free(ctx);
	return ret;
}

static int sm4_ctr(const uint8_t key[SM4_KEY_BYTES], uint64_t counter, const uint8_t *in, size_t bytes, uint8_t *out)
{
	uint8_t iv[16] = {0};
	EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
	int n, ret = -EIO;

	/* Block numbers are the low 8 bytes: no message comes near 2^64 blocks. */
	crypt_msg_put64(iv, counter);
	if (ctx && EVP_EncryptInit_ex(ctx, EVP_sm4_ctr(), NULL, key, iv) == 1)
		ret = bytes == 0 || EVP_EncryptUpdate(ctx, out, &n, in, (int)bytes) == 1 ? 0 : -EIO;
	EVP_CIPHER_CTX_free(ctx);
	return ret;
}

/* HMAC-SM3 over counter, length of the AAD, AAD and ciphertext, cut to the tag's length. */
static int sm_tag(const uint8_t key[CRYPT_HASH_BYTES], uint64_t counter, struct crypt_msg_bytes aad, const uint8_t *in,
	size_t bytes, uint8_t tag[CRYPT_HS_TAG_BYTES])
{
	uint8_t head[16], inner[CRYPT_HASH_BYTES], full[CRYPT_HASH_BYTES];
	struct crypt_msg_bytes parts[] = {{head, sizeof(head)}, aad, {in, bytes}};
	int ret;

	crypt_msg_put64(head, counter);
	crypt_msg_put64(head + 8, aad.bytes);
	ret = crypt_prim_hash(true, parts, 3, inner);
	if (!ret)
		ret = crypt_prim_mac(true, key, CRYPT_HASH_BYTES, inner, sizeof(inner), full);
	memcpy(tag, full, CRYPT_HS_TAG_BYTES);
	OPENSSL_cleanse(full, sizeof(full));
	return ret;
}

static int sm_aead(bool seal, const uint8_t key[32], uint64_t counter, struct crypt_msg_bytes aad, const uint8_t *in,
	size_t bytes, uint8_t *out, uint8_t tag[CRYPT_HS_TAG_BYTES])
{
	uint8_t enc_key[32], mac_key[32], want[CRYPT_HS_TAG_BYTES];
	int ret = crypt_prim_expand(true, key, "roced sm4-ctr", NULL, enc_key);

	if (!ret)
		ret = crypt_prim_expand(true, key, "roced hmac-sm3", NULL, mac_key);
	if (!ret && !seal) {
		ret = sm_tag(mac_key, counter, aad, in, bytes, want);
		if (!ret && CRYPTO_memcmp(want, tag, sizeof(want)) != 0)
			ret = -EBADMSG;
	}
	if (!ret)
		ret = sm4_ctr(enc_key, counter, in, bytes, out);
	if (!ret && seal)
		ret = sm_tag(mac_key, counter, aad, out, bytes, tag);
	OPENSSL_cleanse(enc_key, sizeof(enc_key));
	OPENSSL_cleanse(mac_key, sizeof(mac_key));
	return ret;
}

int crypt_prim_seal(bool sm, const uint8_t key[32], uint64_t counter, struct crypt_msg_bytes aad, const uint8_t *in,
	size_t bytes, uint8_t *out)
{
	uint8_t tag[CRYPT_HS_TAG_BYTES];
	int ret = (sm ? sm_aead : gcm)(true, key, counter, aad, in, bytes, out, tag);

	if (!ret)
		memcpy(out + bytes, tag, sizeof(tag));
	return ret;
}

int crypt_prim_open(bool sm, const uint8_t key[32], uint64_t counter, struct crypt_msg_bytes aad, const uint8_t *in,
	size_t bytes, uint8_t *out)
{
	uint8_t tag[CRYPT_HS_TAG_BYTES];
	size_t n;
	int ret;

	if (bytes < sizeof(tag))
		return -EBADMSG;
	n = bytes - sizeof(tag);
	memcpy(tag, in + n, sizeof(tag));
	ret = (sm ? sm_aead : gcm)(false, key, counter, aad, in, n, out, tag);
	if (ret)
		OPENSSL_cleanse(out, n);
	ERR_clear_error();
	return ret;
}

/* ---- ECDH: the struct is libcrypto's key under a name of ours ---- */

static EVP_PKEY *key_of(const struct crypt_ecdh *ecdh)
{
	return (EVP_PKEY *)(uintptr_t)ecdh;
}

struct crypt_ecdh *crypt_ecdh_new(enum crypt_msg_group group, struct crypt_msg_share *share)
{
	bool sm = group == CRYPT_GROUP_SM2;
	/* Plain EC keys on the SM2 curve: keys of type SM2 do signatures only. */
	EVP_PKEY *key = sm ? EVP_PKEY_Q_keygen(NULL, NULL, "EC", "SM2") : EVP_PKEY_Q_keygen(NULL, NULL, "X25519");
	uint8_t *public = NULL;
	size_t n;

	if (!key)
		return NULL;
	n = EVP_PKEY_get1_encoded_public_key(key, &public);
	if (n == 0 || n != (sm ? 65 : 32)) {
		OPENSSL_free(public);
		EVP_PKEY_free(key);
		return NULL;
	}
	share->group = (uint8_t)group;
	share->bytes = (uint8_t)n;
	memcpy(share->data, public, n);
	OPENSSL_free(public);
	return (struct crypt_ecdh *)key;
}

void crypt_ecdh_free(struct crypt_ecdh *ecdh)
{
	EVP_PKEY_free(key_of(ecdh));
}

int crypt_ecdh_derive(
	const struct crypt_ecdh *ecdh, const struct crypt_msg_share *peer, uint8_t secret[CRYPT_HS_SECRET_BYTES])
{
	EVP_PKEY *own = key_of(ecdh), *other = EVP_PKEY_new();
	EVP_PKEY_CTX *ctx = NULL;
	size_t n = CRYPT_HS_SECRET_BYTES;
	int ret = -EIO;

	if (!other || EVP_PKEY_copy_parameters(other, own) != 1)
		goto out;
	ret = -EBADMSG;
	/* A point that is not on the curve is refused here, a result of all zeros by derive (RFC 7748, 6.1). */
	if (EVP_PKEY_set1_encoded_public_key(other, peer->data, peer->bytes) != 1)
		goto out;
	ctx = EVP_PKEY_CTX_new(own, NULL);
	if (!ctx || EVP_PKEY_derive_init(ctx) != 1 || EVP_PKEY_derive_set_peer(ctx, other) != 1)
		goto out;
	if (EVP_PKEY_derive(ctx, secret, &n) == 1 && n == CRYPT_HS_SECRET_BYTES)
		ret = 0;
out:
	EVP_PKEY_CTX_free(ctx);
	EVP_PKEY_free(other);
	ERR_clear_error();
	return ret;
}
