/* SPDX-License-Identifier: BSD-3-Clause */
/* Being run soon after a sleep. */
#ifndef PROMPT_H
#define PROMPT_H

/* On a machine with few CPUs a polling thread shares them with programs that spin on their completion queues. Exact
 * timers and a short slice (Linux 6.12 or newer) make the scheduler let it run soon after it wakes. For the calling
 * thread; best effort. */
void prompt_thread(void);

#endif
