/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ciphers of lib/crypt by a DPDK crypto device: aesni_gcm, aesni_mb, openssl, QAT and others. A device that can work on the
 * caller's CPU does so (RTE_CRYPTODEV_FF_SYM_CPU_CRYPTO); to any other a burst is given by its queue pair and waited for, which is
 * right for software devices and costs a device beside the CPU its round trip each time.
 *
 * A DPDK session is for one length of AAD, so this backend is for packets whose AAD has CRYPT_CRYPTODEV_AAD bytes: those of
 * lib/crypt, whose AAD is the PSP header. Jobs with another length, and with more than CRYPT_CRYPTODEV_SEGS segments, get
 * -ENOTSUP. SM4-GCM where DPDK has its number, from 25.03 on, and the device knows it.
 */
#ifndef CRYPT_CRYPTODEV_H
#define CRYPT_CRYPTODEV_H

#include "crypt_cipher.h"

#define CRYPT_CRYPTODEV_AAD  16u
#define CRYPT_CRYPTODEV_SEGS 8u

extern const struct crypt_cipher crypt_cryptodev_cipher;

enum crypt_cryptodev_path {
	CRYPT_CRYPTODEV_ANY,   /* the CPU's where the device has it */
	CRYPT_CRYPTODEV_CPU,
	CRYPT_CRYPTODEV_QUEUE,
};

/*
 * Configures and starts the device of that name, which is not in use, with one queue pair and room for max_keys keys. The caller
 * frees the result with crypt_cryptodev_free(), after its keys. NULL with errno set: ENODEV: there is none of that name; ENOTSUP:
 * it has none of the suites with a nonce of 12, a tag of 16 and an AAD of 16 bytes, or not that path; ENOMEM; else what its driver said.
 */
void *crypt_cryptodev_new(const char *device, enum crypt_cryptodev_path path, uint32_t max_keys);
void crypt_cryptodev_free(void *ctx);

/* Whether it works on the caller's CPU. */
int crypt_cryptodev_is_cpu(const void *ctx);

#endif
