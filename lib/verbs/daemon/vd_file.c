/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that clients name by the numbers of their descriptors. They are looked up with all the rights of the daemon, so
 * what a client may do with one is what its own descriptor says, and that is known from /proc alone: no file system is
 * asked, for it may be the client's own (FUSE) and keep us waiting.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "vd_internal.h"

/* The first lines of /proc/.../fdinfo/...; -EOPNOTSUPP: of a kernel that does not tell all of it (before 5.14). */
static int read_info(const char *path, struct vd_file *file)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[512];
	ssize_t n;

	if (fd < 0)
		return errno == ENOENT ? -EBADF : -errno;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (n <= 0)
		return -EBADF;
	text[n] = '\0';
	return sscanf(text, "pos: %*d flags: %o mnt_id: %d ino: %" SCNu64, &file->flags, &file->mount, &file->ino) == 3
		       ? 0
		       : -EOPNOTSUPP;
}

int vd_file_own(int fd, struct vd_file *file)
{
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	return read_info(path, file);
}

int vd_file_check(const struct vd_session *session, uint32_t number, int fd, struct vd_file *file)
{
	struct vd_file ours;
	char path[48];
	int err = vd_file_own(fd, &ours);

	if (err != 0)
		return err;
	(void)snprintf(path, sizeof(path), "/proc/%d/fdinfo/%u", (int)session->pid, (unsigned int)number);
	err = read_info(path, file);
	if (err != 0)
		return err;
	return file->mount == ours.mount && file->ino == ours.ino ? 0 : -EBADF;
}
