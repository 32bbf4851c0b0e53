/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * rocectl's commands. Each gets the arguments behind its name and returns the exit code.
 */
#ifndef ROCECTL_H
#define ROCECTL_H

/* Exit codes; docs/decode.md has them for users. */
enum rocectl_exit {
	ROCECTL_OK = 0,
	ROCECTL_FOUND_BAD = 1, /* did its work and found something wrong */
	ROCECTL_UNUSABLE = 2,  /* bad usage or input that cannot be read */
	ROCECTL_FOUND_PROBLEM = 3, /* doctor: worse than FOUND_BAD */
};

int rocectl_decode(int argc, char **argv);
int rocectl_paths(int argc, char **argv);
int rocectl_sas(int argc, char **argv);
int rocectl_rekey(int argc, char **argv);
int rocectl_alarms(int argc, char **argv);
int rocectl_gateway(int argc, char **argv);
int rocectl_capture(int argc, char **argv);
int rocectl_doctor(int argc, char **argv);
int rocectl_reload(int argc, char **argv);
int rocectl_xdp(int argc, char **argv);
/* ports, qps and so on: argv[0] says which. */
int rocectl_table(int argc, char **argv);
int rocectl_top(int argc, char **argv);

#endif
