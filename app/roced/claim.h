/* SPDX-License-Identifier: BSD-3-Clause */
/* One daemon a control socket. */
#ifndef CLAIM_H
#define CLAIM_H

/* Makes this the only daemon of its control socket, whose directory is made; program: its name, for the log. *fd is -1
 * before, and ends with claim_release(). -EADDRINUSE: there is another. Logs why not. */
int claim_socket(const char *socket, const char *program, int *fd);
void claim_release(int *fd);

#endif
