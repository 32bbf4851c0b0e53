/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A client's memory is read and written by worker threads, and it may be mapped from a file of a file system that the
 * client's user serves itself (FUSE). The kernel then waits for that server, for ever if it likes, and no signal ends
 * the wait. So a thread of its own looks whether others are stuck, ends the connections of file systems that keep them
 * waiting, and has the user shut out. (userfaultfd is no such danger: accesses from outside never wait for it.)
 *
 * The connections are those of fusectl, mounted for this process only, or without the right to that where the system has it. One whose owner is the client's user goes
 * first; with user namespaces the owner may be another one of the user's numbers, so all but root's go next.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "log.h"
#include "roced.h"

#define LOOK_MS        50
#define STRIKES        8      /* looks at which a user's memory kept somebody waiting, before it is shut out */
#define FORGIVE_LOOKS  120    /* one strike less */
#define LOG_LOOKS      20     /* of a wait that no file system of a user explains */
#define MAX_OFFENDERS  32
#define SYSTEM_FUSECTL "/sys/fs/fuse/connections"
#define FUSECTL_MAGIC  0x65735543 /* statfs(2) */

struct offender {
	uid_t uid;
	uint32_t strikes;
};

struct stall_watch {
	struct roced *roced;
	pthread_t thread;
	int stop_fd;
	int out[2];            /* pipe of uid_t to the main thread */
	int fusectl_fd;        /* -1: not found yet */
	uint64_t looks;
	uint64_t last[VD_MAX_WORKERS + 1]; /* the access each thread was in */
	uint32_t same[VD_MAX_WORKERS + 1]; /* at how many looks */
	struct offender offenders[MAX_OFFENDERS];
};

/* ---- file systems of users ---- */

/* Where systemd mounts it; an empty directory until then. Files there want CAP_DAC_OVERRIDE, and no CAP_SYS_ADMIN. */
static int open_system_fusectl(void)
{
	int fd = open(SYSTEM_FUSECTL, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs st;

	if (fd >= 0 && (fstatfs(fd, &st) != 0 || st.f_type != FUSECTL_MAGIC)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Our own has no place in the tree, so nobody else sees it. */
static int find_fusectl(void)
{
	int fs = fsopen("fusectl", FSOPEN_CLOEXEC), fd = -1;

	if (fs >= 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		fd = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	if (fs >= 0)
		close(fs);
	return fd >= 0 ? fd : open_system_fusectl();
}

static bool is_waiting(int dir, const char *name, uid_t *owner)
{
	char path[64], text[16] = "";
	struct stat st;
	int fd;

	if (snprintf(path, sizeof(path), "%s/waiting", name) >= (int)sizeof(path))
		return false;
	fd = openat(dir, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) != 0 || read(fd, text, sizeof(text) - 1) <= 0)
		text[0] = '\0';
	close(fd);
	*owner = st.st_uid;
	return strtoul(text, NULL, 10) != 0;
}

static void end_connection(int dir, const char *name)
{
	char path[64];
	int fd;

	if (snprintf(path, sizeof(path), "%s/abort", name) >= (int)sizeof(path))
		return;
	fd = openat(dir, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, "1", 1) != 1)
		log_line(LOG_ERR, "cannot end FUSE connection %s: %s", name, strerror(errno));
	if (fd >= 0)
		close(fd);
}

/* How many connections with requests under way there are: of uid, or (any) of all users but root; ends them if asked
 * to. */
static uint32_t waiting_connections(struct stall_watch *watch, uid_t uid, bool any, bool end)
{
	struct dirent *entry;
	uint32_t n = 0;
	uid_t owner;
	DIR *dir;
	int fd;

	if (watch->fusectl_fd < 0)
		watch->fusectl_fd = find_fusectl();
	fd = watch->fusectl_fd >= 0 ? openat(watch->fusectl_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	dir = fd >= 0 ? fdopendir(fd) : NULL;
	if (dir == NULL) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((entry = readdir(dir)) != NULL) {
		if (entry->d_name[0] == '.' || !is_waiting(dirfd(dir), entry->d_name, &owner))
			continue;
		if (owner != uid && (!any || owner == 0))
			continue;
		n++;
		if (end)
			end_connection(dirfd(dir), entry->d_name);
	}
	closedir(dir);
	return n;
}

/* ---- offenders ---- */

/* The user's entry; a new one takes the place of whoever has the fewest strikes. */
static struct offender *offender_of(struct stall_watch *watch, uid_t uid)
{
	struct offender *least = &watch->offenders[0];

	for (uint32_t i = 0; i < MAX_OFFENDERS; i++) {
		struct offender *offender = &watch->offenders[i];

		if (offender->strikes != 0 && offender->uid == uid)
			return offender;
		if (offender->strikes < least->strikes)
			least = offender;
	}
	*least = (struct offender){.uid = uid};
	return least;
}

static void forgive(struct stall_watch *watch)
{
	for (uint32_t i = 0; i < MAX_OFFENDERS; i++) {
		if (watch->offenders[i].strikes != 0)
			watch->offenders[i].strikes--;
	}
}

static void tell_wait(const struct vd_access *access)
{
	log_line(LOG_WARNING, "waiting for %u ms for memory of process %d of user %u", LOG_LOOKS * LOOK_MS,
		(int)access->pid, (unsigned int)access->uid);
}

static void shut_out(struct stall_watch *watch, const struct vd_access *access, bool any)
{
	uint32_t n = waiting_connections(watch, access->uid, any, true);

	log_line(LOG_WARNING,
		"user %u is shut out: memory of its process %d keeps others waiting (FUSE connections ended: %u)",
		(unsigned int)access->uid, (int)access->pid, n);
	if (write(watch->out[1], &access->uid, sizeof(access->uid)) != (ssize_t)sizeof(access->uid))
		log_line(LOG_ERR, "user %u stays: %s", (unsigned int)access->uid, strerror(errno));
}

/* Waits for swapped pages or a slow disk are nobody's fault: a strike needs a file system of a user that is asked for
 * something at this moment. */
static void stalled(struct stall_watch *watch, const struct vd_access *access, uint32_t same)
{
	bool any = waiting_connections(watch, access->uid, false, false) == 0;
	struct offender *offender;

	if (any && waiting_connections(watch, access->uid, true, false) == 0) {
		if (same == LOG_LOOKS)
			tell_wait(access);
		return;
	}
	offender = offender_of(watch, access->uid);
	if (++offender->strikes < STRIKES)
		return;
	shut_out(watch, access, any);
	/* Should it have been the wrong one, the next look but one takes the others. */
	offender->strikes = STRIKES - 2;
}

static void look(struct stall_watch *watch)
{
	struct roced *roced = watch->roced;
	struct vd_access access;

	for (uint32_t who = 0; who <= roced->n_workers; who++) {
		if (!vd_access_now(roced->vd, who, &access)) {
			watch->last[who] = 0;
			continue;
		}
		watch->same[who] = access.number == watch->last[who] ? watch->same[who] + 1 : 0;
		watch->last[who] = access.number;
		if (watch->same[who] != 0)
			stalled(watch, &access, watch->same[who]);
	}
	if (++watch->looks % FORGIVE_LOOKS == 0)
		forgive(watch);
}

static void *run(void *arg)
{
	struct stall_watch *watch = arg;
	struct pollfd stop = {.fd = watch->stop_fd, .events = POLLIN};

	while (poll(&stop, 1, LOOK_MS) <= 0)
		look(watch);
	return NULL;
}

/* ---- start and stop ---- */

static void free_watch(struct stall_watch *watch)
{
	for (int i = 0; i < 2; i++) {
		if (watch->out[i] >= 0)
			close(watch->out[i]);
	}
	if (watch->stop_fd >= 0)
		close(watch->stop_fd);
	if (watch->fusectl_fd >= 0)
		close(watch->fusectl_fd);
	free(watch);
}

int stall_watch_start(struct roced *roced)
{
	struct stall_watch *watch = calloc(1, sizeof(*watch));
	int rc = 0;

	if (watch == NULL)
		return -ENOMEM;
	watch->roced = roced;
	watch->fusectl_fd = watch->out[0] = watch->out[1] = -1;
	watch->stop_fd = eventfd(0, EFD_CLOEXEC);
	if (watch->stop_fd < 0 || pipe2(watch->out, O_CLOEXEC | O_NONBLOCK) != 0)
		rc = -errno;
	if (rc == 0)
		rc = -pthread_create(&watch->thread, NULL, run, watch);
	if (rc != 0) {
		free_watch(watch);
		return rc;
	}
	roced->stalls = watch;
	return 0;
}

void stall_watch_stop(struct roced *roced)
{
	struct stall_watch *watch = roced->stalls;

	if (watch == NULL)
		return;
	eventfd_write(watch->stop_fd, 1);
	pthread_join(watch->thread, NULL);
	free_watch(watch);
	roced->stalls = NULL;
}

int stall_watch_fd(const struct roced *roced)
{
	return roced->stalls->out[0];
}

void stall_watch_serve(struct roced *roced)
{
	uid_t uid;

	while (read(roced->stalls->out[0], &uid, sizeof(uid)) == (ssize_t)sizeof(uid))
		(void)vd_shut_out(roced->vd, uid);
}
