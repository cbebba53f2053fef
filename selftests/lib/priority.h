/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Priorities of tasks, and what they are lent. A loan changes neither policy nor nice value, so
 * sched_getscheduler() and getpriority() do not show it. /proc/PID/stat does. Included after
 * common.h.
 */
#ifndef SELFTESTS_PRIORITY_H
#define SELFTESTS_PRIORITY_H

/* Not the priority of any task. */
#define NO_PRIO		1000

/* Field 18 of /proc/PID/stat: 20 + nice value, or -1 - real-time priority. Loans count. */
static inline int effective_prio(pid_t pid)
{
	char path[64], buf[512], *p;
	int prio = NO_PRIO, i;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	get_line(path, buf, sizeof(buf));
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

/* Has the task been lent real-time priority @rt? 0: Has it been lent nothing? */
static inline bool is_lent(pid_t pid, int rt)
{
	int prio = effective_prio(pid), own = prio_of_settings(pid);

	if (!rt)
		return prio != NO_PRIO && prio == own;
	return prio == -1 - rt && own > -1 - rt;
}

/* The task's real-time priority of the moment, its own or a lent one; 0: none; -1: no task. */
static inline int level_of(pid_t pid)
{
	int prio = effective_prio(pid);

	return prio == NO_PRIO ? -1 : prio < 0 ? -1 - prio : 0;
}

#endif
