/* SPDX-License-Identifier: BSD-3-Clause */
/* What the daemon may do, where it is not root. */
#ifndef ROCED_RIGHTS_H
#define ROCED_RIGHTS_H

#include <stdbool.h>
#include <stddef.h>

#include "config.h"

#define RIGHTS_TEXT_BYTES 256

/* Whether the control socket can be given to this control.group (chown(2)): a group of this process, or any with CAP_CHOWN. False: why
 * says what is missing and how to get it. */
bool rights_socket(const struct config_group *group, char why[RIGHTS_TEXT_BYTES]);

#endif
