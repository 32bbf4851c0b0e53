/* SPDX-License-Identifier: BSD-3-Clause */
#include "prompt.h"

#include <assert.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLICE_NS 100000u
#define SLACK_NS 1000ul

void prompt_thread(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime_ns, deadline_ns, period_ns;
	} attr = {.size = sizeof(attr), .runtime_ns = SLICE_NS};

	static_assert(sizeof(attr) == 48, "first version of struct sched_attr");
	prctl(PR_SET_TIMERSLACK, SLACK_NS);
	(void)syscall(SYS_sched_setattr, 0, &attr, 0u);
}
