/* SPDX-License-Identifier: BSD-3-Clause */
/* The one place of lib/crypt that reads files: credentials, at start. */
#include <errno.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <string.h>
#include <unistd.h>

#include "crypt_cred.h"

#define FILE_BYTES_MAX 65536

int crypt_cred_check_secret(const struct stat *st, uid_t user, const char *path, struct crypt_error *error)
{
	unsigned int mode = (unsigned int)st->st_mode & 07777;

	if (!S_ISREG(st->st_mode))
		crypt_error_set(error, "%s: not a regular file; a secret is read from a file only", path);
	else if (st->st_uid != 0 && st->st_uid != user)
		crypt_error_set(error,
			"%s: belongs to user %u; has to belong to root or to user %u, whom this program runs as", path,
			st->st_uid, user);
	else if ((mode & ~0600u) != 0)
		crypt_error_set(error,
			"%s: mode %04o lets others than its owner at the secret; \"chmod 600 %s\" makes it right", path,
			mode, path);
	else
		return 0;
	return -EPERM;
}

/* Files without secrets decide whom we believe, so not everybody may write them. */
static int check_public(const struct stat *st, const char *path, struct crypt_error *error)
{
	if (!S_ISREG(st->st_mode))
		crypt_error_set(error, "%s: not a regular file", path);
	else if ((st->st_mode & S_IWOTH) != 0)
		crypt_error_set(error, "%s: everybody may write it; \"chmod o-w %s\" makes it right", path, path);
	else
		return 0;
	return -EPERM;
}

static char *read_all(int fd, const char *path, size_t *bytes, struct crypt_error *error)
{
	char *text = OPENSSL_zalloc(FILE_BYTES_MAX + 1);
	ssize_t n = 1;

	*bytes = 0;
	while (text && n > 0 && *bytes < FILE_BYTES_MAX) {
		n = read(fd, text + *bytes, FILE_BYTES_MAX - *bytes);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			*bytes += (size_t)n;
	}
	if (text && n == 0 && !memchr(text, 0, *bytes))
		return text;
	if (!text || n < 0)
		crypt_error_set(error, "%s: cannot be read: %s", path, strerror(text ? errno : ENOMEM));
	else
		crypt_error_set(error, "%s: not a text file of less than %d bytes", path, FILE_BYTES_MAX);
	OPENSSL_clear_free(text, FILE_BYTES_MAX + 1);
	return NULL;
}

char *crypt_cred_file_read(const char *path, bool secret, size_t *bytes, struct crypt_error *error)
{
	/* O_NONBLOCK: a FIFO in its place is found out, not waited for. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	char *text = NULL;

	if (fd < 0) {
		crypt_error_set(error, "%s: cannot be opened: %s", path, strerror(errno));
		return NULL;
	}
	if (fstat(fd, &st) != 0)
		crypt_error_set(error, "%s: cannot be examined: %s", path, strerror(errno));
	else if (!(secret ? crypt_cred_check_secret(&st, geteuid(), path, error) : check_public(&st, path, error)))
		text = read_all(fd, path, bytes, error);
	close(fd);
	return text;
}

void crypt_cred_file_free(char *text, size_t bytes)
{
	(void)bytes;
	OPENSSL_clear_free(text, FILE_BYTES_MAX + 1);
}
