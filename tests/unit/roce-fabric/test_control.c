/* SPDX-License-Identifier: BSD-3-Clause */
/* The control socket: lines in, lines out, whatever clients do; nothing but its own file is left or taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "rf_control.h"

struct world {
	char dir[32], path[64];
	struct rf_control control;
	uint32_t n_commands;
	size_t answer_bytes;     /* of filling behind each answer */
};

/* Answers with the command's length. */
static void on_command(void *arg, const char *line, size_t n, FILE *out)
{
	struct world *w = arg;

	(void)line;
	w->n_commands++;
	fprintf(out, "%zu", n);
	for (size_t i = 0; i < w->answer_bytes; i++)
		fputc('.', out);
	fputc('\n', out);
}

static int start(void **state)
{
	struct world *w = calloc(1, sizeof(*w));

	assert_non_null(w);
	strcpy(w->dir, "/tmp/rf-control-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof(w->path), "%s/s", w->dir);
	assert_int_equal(rf_control_init(&w->control, w->path, 0640, (gid_t)-1), 0);
	w->control.command = on_command;
	w->control.arg = w;
	*state = w;
	return 0;
}

static int end(void **state)
{
	struct world *w = *state;

	rf_control_fini(&w->control);
	assert_int_equal(access(w->path, F_OK), -1);
	assert_int_equal(rmdir(w->dir), 0);
	free(w);
	return 0;
}

static int dial(const struct world *w)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);

	strcpy(addr.sun_path, w->path);
	assert_int_equal(connect(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
	return fd;
}

static void serve(struct world *w)
{
	for (int i = 0; i < 10; i++)
		rf_control_serve(&w->control);
}

static void say(struct world *w, int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), 0), strlen(text));
	serve(w);
}

static void hears(int fd, const char *text)
{
	char got[4096] = "";

	assert_int_equal(recv(fd, got, sizeof(got) - 1, 0), strlen(text));
	assert_string_equal(got, text);
}

static void test_lines(void **state)
{
	struct world *w = *state;
	int a = dial(w), b = dial(w);
	struct stat st;

	assert_int_equal(stat(w->path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	say(w, a, "one");
	assert_int_equal(w->n_commands, 0);
	say(w, b, "three\nfour\n\nx");
	hears(b, "5\n4\n0\n");
	say(w, a, "two\n");
	hears(a, "6\n");
	shutdown(b, SHUT_WR);
	serve(w);
	hears(b, "1\n");
	assert_int_equal(recv(b, (char[1]){0}, 1, 0), 0);
	close(a);
	close(b);
	serve(w);
	for (int i = 0; i < RF_MAX_CLIENTS; i++)
		assert_int_equal(w->control.clients[i].fd, -1);
}

static void test_long_line(void **state)
{
	struct world *w = *state;
	char text[RF_LINE_BYTES + 1];
	int fd = dial(w);

	memset(text, 'x', RF_LINE_BYTES);
	text[RF_LINE_BYTES] = '\0';
	say(w, fd, text);
	hears(fd, "{\"ok\":false,\"error\":\"the line is too long, must be 511 bytes at most\"}\n");
	assert_int_equal(recv(fd, text, 1, 0), 0);
	assert_int_equal(w->n_commands, 0);
	close(fd);
	fd = dial(w);
	text[RF_LINE_BYTES - 1] = '\n';
	say(w, fd, text);
	hears(fd, "511\n");
	close(fd);
}

/* The client that has been silent for longest makes room. */
static void test_too_many(void **state)
{
	struct world *w = *state;
	int fds[RF_MAX_CLIENTS + 1];

	for (int i = 0; i < RF_MAX_CLIENTS; i++) {
		fds[i] = dial(w);
		serve(w);
	}
	say(w, fds[0], "a\n");
	hears(fds[0], "1\n");
	fds[RF_MAX_CLIENTS] = dial(w);
	say(w, fds[RF_MAX_CLIENTS], "ab\n");
	hears(fds[RF_MAX_CLIENTS], "2\n");
	assert_int_equal(recv(fds[1], (char[1]){0}, 1, 0), 0);
	say(w, fds[0], "abc\n");
	hears(fds[0], "3\n");
	for (int i = 0; i <= RF_MAX_CLIENTS; i++)
		close(fds[i]);
}

/* Who does not read is not answered on and on, and the others are. */
static void test_does_not_read(void **state)
{
	struct world *w = *state;
	int slow = dial(w), other = dial(w);
	uint32_t answered;
	ssize_t n;

	w->answer_bytes = 1 << 20;
	for (int i = 0; i < 1000; i++) {
		n = send(slow, "links\nlinks\n", 12, 0);
		serve(w);
		if (n < 0)
			break;
	}
	assert_in_range(w->n_commands, 1, 3);
	answered = w->n_commands;
	w->answer_bytes = 0;
	say(w, other, "x\n");
	hears(other, "1\n");
	assert_int_equal(w->n_commands, answered + 1);
	close(slow);
	serve(w);
	close(other);
}

/* A dead one's socket is taken over, a live one's is not, and neither is what is no socket. */
static void test_stale(void **state)
{
	struct world *w = *state;
	struct rf_control *second = calloc(1, sizeof(*second));
	char path[80];
	FILE *file;

	assert_non_null(second);
	assert_int_equal(rf_control_init(second, w->path, 0600, (gid_t)-1), -EADDRINUSE);
	rf_control_fini(second);
	close(dial(w));
	snprintf(path, sizeof(path), "%s/t", w->dir);
	assert_int_equal(rf_control_init(second, path, 0600, (gid_t)-1), 0);
	second->made = false; /* as if it had died */
	rf_control_fini(second);
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(rf_control_init(second, path, 0600, (gid_t)-1), 0);
	rf_control_fini(second);
	assert_int_equal(access(path, F_OK), -1);
	file = fopen(path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(rf_control_init(second, path, 0600, (gid_t)-1), -EEXIST);
	rf_control_fini(second);
	assert_int_equal(unlink(path), 0);
	free(second);
}

static void test_nobody(void **state)
{
	(void)state;
	assert_int_equal(rf_control_ask("/nonexistent/socket", "stats", stdout), -ENOENT);
	assert_int_equal(rf_control_ask("/tmp", "one\ntwo", stdout), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_lines, start, end),
		cmocka_unit_test_setup_teardown(test_long_line, start, end),
		cmocka_unit_test_setup_teardown(test_too_many, start, end),
		cmocka_unit_test_setup_teardown(test_does_not_read, start, end),
		cmocka_unit_test_setup_teardown(test_stale, start, end),
		cmocka_unit_test(test_nobody),
	};

	return cmocka_run_group_tests_name("roce-fabric-control", tests, NULL, NULL);
}
