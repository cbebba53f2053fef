/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Priorities of tasks, and what they are lent. A loan changes neither policy nor nice value, so
 * sched_getscheduler() and getpriority() do not show it. /proc/PID/stat does. Included after
 * common.h.
 */
#ifndef SELFTESTS_PRIORITY_H
#define SELFTESTS_PRIORITY_H

#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* Not the priority of any task. */
#define NO_PRIO		1000

/* Field 18 of /proc/PID/stat: 20 + nice value, or -1 - real-time priority. Loans count. */
static inline int effective_prio(pid_t pid)
{
	char path[64], buf[512] = "", *p;
	int prio = NO_PRIO, i;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return prio;
	if (!fgets(buf, sizeof(buf), f))
		buf[0] = 0;
	fclose(f);
	p = strrchr(buf, ')');
	for (i = 2; p && i < 18; i++)
		p = strchr(p + 1, ' ');
	if (p)
		sscanf(p, "%d", &prio);
	return prio;
}

/* The same for the policy and the nice value that the task itself has. */
static inline int prio_of_settings(pid_t pid)
{
	struct sched_param param = { };

	if (sched_getparam(pid, &param))
		return NO_PRIO;
	/* a deadline task has a prio below all real-time ones */
	if ((sched_getscheduler(pid) & ~SCHED_RESET_ON_FORK) == SCHED_DEADLINE)
		return -101;
	return param.sched_priority ? -1 - param.sched_priority :
				      20 + getpriority(PRIO_PROCESS, pid);
}

/* Has the task been lent real-time priority @rt? */
static inline bool is_lent_level(pid_t pid, int rt)
{
	return effective_prio(pid) == -1 - rt && prio_of_settings(pid) > -1 - rt;
}

static inline bool is_lent_nothing(pid_t pid)
{
	int prio = effective_prio(pid);

	return prio != NO_PRIO && prio == prio_of_settings(pid);
}

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

#endif
