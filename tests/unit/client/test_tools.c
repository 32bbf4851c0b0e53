/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * roced-run with the system's tools, unmodified: the argument is roced-run.
 * Skipped (77) without the tools.
 */
#include "env.h"

#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define SKIPPED 77

static const char *roced_run;

/* Runs a command line and returns its exit status; what it wrote is in out. */
static int run(char *out, size_t size, const char *format, const char *a, const char *b)
{
	char command[512];
	size_t n;
	int status;
	FILE *f;

	snprintf(command, sizeof(command), format, a, b);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(out, 1, size - 1, f);
	out[n] = '\0';
	while (fgetc(f) != EOF)
		;
	status = pclose(f);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void assert_has(const char *text, const char *part)
{
	if (strstr(text, part) == NULL)
		fail_msg("\"%s\" is missing in:\n%s", part, text);
}

static void test_devinfo(void **state)
{
	struct fake *f = fake_start();
	char out[8192], path[96];

	(void)state;
	strcpy(path, f->path);
	assert_int_equal(run(out, sizeof(out), "%s ibv_devices 2>&1", roced_run, ""), 0);
	assert_has(out, "roced0");
	assert_has(out, "0200c0fffe000001");
	unsetenv("ROCED_SOCKET");
	assert_int_equal(run(out, sizeof(out), "%s --socket %s ibv_devinfo -v 2>&1", roced_run, path), 0);
	assert_has(out, "hca_id:\troced0");
	assert_has(out, "PORT_ACTIVE (4)");
	assert_has(out, "board_id:\t\t\troced");
	assert_has(out, "active_mtu:\t\t1024 (3)");
	assert_has(out, "4X (2)");
	assert_has(out, "25.0 Gbps (32)");
	assert_has(out, "::ffff:10.0.0.1, RoCE v2");
	fake_stop(f);
}

/* Without a daemon the wrapper says so, and says what is wrong otherwise. */
static void test_errors(void **state)
{
	char out[4096];

	(void)state;
	assert_int_equal(run(out, sizeof(out), "%s --help%s", roced_run, ""), 0);
	assert_has(out, "usage: roced-run");
	assert_int_equal(run(out, sizeof(out), "%s --socket %s ibv_devices 2>&1", roced_run, "/nowhere/sock"), 1);
	assert_has(out, "no roced daemon: its socket /nowhere/sock does not exist");
	assert_int_equal(run(out, sizeof(out), "%s --socket %s ibv_devices 2>&1", roced_run, "/etc/passwd"), 1);
	assert_has(out, "not a socket");
	assert_int_equal(run(out, sizeof(out), "%s --bogus 2>&1%s", roced_run, ""), 2);
	assert_int_equal(run(out, sizeof(out), "%s 2>&1%s", roced_run, ""), 2);
}

/* The socket of a daemon that died is there, but nobody answers: no device, and a word of why. */
static void test_dead_daemon(void **state)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);
	char out[4096];

	(void)state;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "/tmp/roced-dead-%d.sock", getpid());
	assert_int_equal(bind(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
	close(fd);
	assert_int_equal(run(out, sizeof(out), "%s --socket %s ibv_devices 2>&1", roced_run, addr.sun_path), 0);
	unlink(addr.sun_path);
	assert_has(out, "no roced daemon answers on /tmp/roced-dead-");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_devinfo),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_dead_daemon),
	};

	if (argc != 2)
		return 2;
	if (access("/usr/bin/ibv_devinfo", X_OK) != 0)
		return SKIPPED;
	roced_run = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
