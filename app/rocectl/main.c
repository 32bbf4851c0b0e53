/* SPDX-License-Identifier: BSD-3-Clause */
/* rocectl: finds the command in the table and runs it. */
#include <stdio.h>
#include <string.h>

#include "rocectl.h"

/* One row a command: noun and verb, or noun alone (verb NULL). */
static const struct command {
	const char *noun;
	const char *verb;
	const char *args;
	const char *help;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"decode", NULL, "[--json] FILE", "print the packets of a capture file", rocectl_decode},
	{"paths", NULL, "[--watch] [QPN...]", "print what queue pairs know of their paths", rocectl_paths},
	{"sas", NULL, "[--json]", "print with whom packets are protected, and by which keys", rocectl_sas},
	{"rekey", NULL, "PEER...|all", "have protected peers change their keys now", rocectl_rekey},
	{"alarms", NULL, "[--json]", "print what somebody should look at", rocectl_alarms},
	{"gateway", NULL, "[--watch] [ADDRESS...]", "print what a gateway counted, and its paths to far gateways", rocectl_gateway},
	{"capture", NULL, "[OPTIONS] FILE", "write packets of the daemon to a file", rocectl_capture},
	{"doctor", NULL, "[--json] [-c FILE] [ADDRESS...]", "look for what is wrong, and say what to do", rocectl_doctor},
	{"ports", NULL, "[--all]", "print ports: links, packets, what was lost", rocectl_table},
	{"pfc", NULL, "[--all]", "print pauses by port and priority", rocectl_table},
	{"channels", NULL, "[--all]", "print what channels of ports sent, marked and dropped", rocectl_table},
	{"workers", NULL, "[--all]", "print how busy workers are, and cycles of each node", rocectl_table},
	{"devices", NULL, "[--all]", "print RDMA devices", rocectl_table},
	{"qps", NULL, "[--all]", "print queue pairs: state, packets, repetitions, notifications, round trip", rocectl_table},
	{"clients", NULL, "[--all]", "print connections of programs and what they hold", rocectl_table},
	{"drops", NULL, "[--all]", "print packets dropped, by reason", rocectl_table},
	{"pools", NULL, "[--all]", "print packet buffers", rocectl_table},
	{"top", NULL, "[--once]", "watch ports, workers, queue pairs and their paths", rocectl_top},
	{"reload", NULL, "[--dry-run] [FILE]", "have the daemon read its configuration again", rocectl_reload},
	{"xdp", NULL, "", "print which frames went to AF_XDP ports, and which to the kernel", rocectl_xdp},
};

#define N_COMMANDS (sizeof(commands) / sizeof(commands[0]))

static void print_help(FILE *out)
{
	char left[64];
	size_t i;

	fputs("usage: rocectl COMMAND [ARGUMENTS]\n\nCommands:\n", out);
	for (i = 0; i < N_COMMANDS; i++) {
		const struct command *cmd = &commands[i];

		snprintf(left, sizeof(left), "%s%s%s %s", cmd->noun, cmd->verb ? " " : "",
			cmd->verb ? cmd->verb : "", cmd->args);
		fprintf(out, "  %-32s %s\n", left, cmd->help);
	}
	fputs("\nrocectl COMMAND --help says more.\n", out);
}

static const struct command *find(int argc, char **argv)
{
	size_t i;

	for (i = 0; i < N_COMMANDS; i++) {
		if (strcmp(commands[i].noun, argv[1]))
			continue;
		if (!commands[i].verb || (argc > 2 && !strcmp(commands[i].verb, argv[2])))
			return &commands[i];
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const struct command *cmd;
	int skip;

	if (argc < 2) {
		print_help(stderr);
		return ROCECTL_UNUSABLE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		print_help(stdout);
		return ROCECTL_OK;
	}
	/* "rocectl show ports" is "rocectl ports" */
	if (argc > 2 && !strcmp(argv[1], "show")) {
		argc--;
		argv++;
	}
	cmd = find(argc, argv);
	if (!cmd) {
		fprintf(stderr, "rocectl: no command \"%s\"; see rocectl --help\n", argv[1]);
		return ROCECTL_UNUSABLE;
	}
	skip = cmd->verb ? 2 : 1;
	return cmd->run(argc - skip, argv + skip);
}
