/* SPDX-License-Identifier: GPL-2.0 */
/* Priorities of tasks, and whether they are lent. Included after kselftest_harness.h. */
#ifndef SELFTESTS_PRIORITY_H
#define SELFTESTS_PRIORITY_H

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/resource.h>

struct priority {
	int policy, rt, nice;
};

#define P(...)	(struct priority){ __VA_ARGS__ }

static inline struct priority priority_of(pid_t pid)
{
	struct priority p = { .policy = sched_getscheduler(pid) & ~SCHED_RESET_ON_FORK };
	struct sched_param param = { };

	sched_getparam(pid, &param);
	p.rt = param.sched_priority;
	p.nice = getpriority(PRIO_PROCESS, pid);
	return p;
}

static inline bool is(pid_t pid, int policy, int rt, int nice)
{
	struct priority p = priority_of(pid);

	return p.policy == policy && p.rt == rt && p.nice == nice;
}

/* True if the task has priority @own and no loan. */
static inline bool has_own(pid_t pid, struct priority own)
{
	return is(pid, own.policy, own.rt, own.nice) &&
	       !(sched_getscheduler(pid) & SCHED_RESET_ON_FORK);
}

static inline int report_left(pid_t pid)
{
	struct priority p = priority_of(pid);

	fprintf(stderr, "# left with policy %d, rt %d, nice %d%s\n", p.policy, p.rt, p.nice,
		sched_getscheduler(pid) & SCHED_RESET_ON_FORK ? ", reset on fork" : "");
	return -__LINE__;
}

#endif
