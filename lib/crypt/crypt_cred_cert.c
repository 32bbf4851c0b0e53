/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include "crypt_cred_internal.h"
int crypt_cred_load_cert(struct crypt_cred *cred, const struct crypt_cred_config *config, struct crypt_error *error) { (void)cred;(void)config;(void)error; return -ENOTSUP; }
void crypt_cred_free_cert(struct crypt_cred *cred) { (void)cred; }
unsigned int crypt_cred_chain(const struct crypt_cred *cred, struct crypt_msg_bytes certs[CRYPT_MSG_CERTS]) {(void)cred;(void)certs; return 0;}
int crypt_cred_sign(const struct crypt_cred *cred, const uint8_t *data, size_t bytes, uint8_t *signature, size_t *signature_bytes) {(void)cred;(void)data;(void)bytes;(void)signature;(void)signature_bytes; return -EIO;}
enum crypt_fail crypt_cred_verify(const struct crypt_cred *cred, const struct crypt_cred_peer *peer, const struct crypt_msg_bytes *certs, unsigned int n_certs, struct crypt_msg_bytes data, struct crypt_msg_bytes signature, struct crypt_error *error) {(void)cred;(void)peer;(void)certs;(void)n_certs;(void)data;(void)signature;(void)error; return CRYPT_FAIL_UNTRUSTED;}
