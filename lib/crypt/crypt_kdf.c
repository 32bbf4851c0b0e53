/* SPDX-License-Identifier: BSD-3-Clause */
#include "crypt_kdf.h"

#include <errno.h>
#include <string.h>

#include "crypt_hs_prim.h"
#include "crypt_mem.h"

#define LABEL       "roced session key"
#define FIXED_BYTES (sizeof(LABEL) + 1 + 1 + 2 + 4 + 4)
#define INFO_BYTES  (FIXED_BYTES + 2 * (1 + CRYPT_ID_BYTES_MAX) + 1)

static uint8_t *put(uint8_t *to, uint32_t number, unsigned int bytes)
{
	for (unsigned int i = bytes; i-- > 0; number >>= 8)
		to[i] = (uint8_t)number;
	return to + bytes;
}

static uint8_t *put_id(uint8_t *to, const void *id, size_t bytes)
{
	to = put(to, (uint32_t)bytes, 1);
	memcpy(to, id, bytes);
	return to + bytes;
}

int crypt_kdf_session(const uint8_t working_key[CRYPT_WORKING_KEY_BYTES], const struct crypt_kdf_input *in, uint8_t *key)
{
	uint8_t info[INFO_BYTES], out[CRYPT_HASH_BYTES], *end = info;
	size_t key_bytes = crypt_suite_key_bytes(in->suite);
	int rc;

	if (key_bytes == 0 || in->initiator_bytes > CRYPT_ID_BYTES_MAX || in->responder_bytes > CRYPT_ID_BYTES_MAX)
		return -EINVAL;
	memcpy(end, LABEL, sizeof(LABEL));
	end = put(end + sizeof(LABEL), in->suite, 1);
	end = put(end, in->direction, 1);
	end = put(end, in->lane, 2);
	end = put(end, in->epoch, 4);
	end = put(end, in->spi, 4);
	end = put_id(end, in->initiator, in->initiator_bytes);
	end = put_id(end, in->responder, in->responder_bytes);
	/* T(1) is all that is needed. */
	*end++ = 1;
	rc = crypt_prim_mac(crypt_prim_is_sm(in->suite), working_key, CRYPT_WORKING_KEY_BYTES, info, (size_t)(end - info), out);
	if (rc == 0)
		memcpy(key, out, key_bytes);
	explicit_bzero(out, sizeof(out));
	crypt_mem_wipe_stack();
	return rc;
}
