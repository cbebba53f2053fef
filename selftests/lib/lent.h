/* SPDX-License-Identifier: GPL-2.0 */
/* Loans for the tests of sections and chains. Included after common.h. */
#ifndef SELFTESTS_LENT_H
#define SELFTESTS_LENT_H

#include "counters.h"
#include "priority.h"

/* The task's real-time priority of the moment, its own or a lent one; 0: none; -1: no task. */
static inline int level_of(pid_t pid)
{
	int prio = effective_prio(pid);

	return prio == NO_PRIO ? -1 : prio < 0 ? -1 - prio : 0;
}

static inline bool has_level(const struct task *t, int level)
{
	return level_of(t->pid) == level;
}

/* Has it been lent nothing? For a task of SCHED_OTHER. */
static inline bool has_no_loan(const struct task *t)
{
	return has_level(t, 0);
}

/* For a loan that must not be made: several looks. Too short a time can only hide a failure. */
static inline void let_it_look(void)
{
	sleep_ms(50);
}

/* A task that performs @j once, and then stays until it is killed. */
static inline pid_t start_and_stay(int fd, struct job j)
{
	struct lock_test_op op = {
		.mode = j.mode, .how = j.how, .hold = j.hold, .hold_us = j.hold_us,
		.id = j.id, .flags = j.flags, .outer = j.outer,
	};
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	prepare(&j);
	ioctl(fd, LOCK_TEST_LOCK, &op);
	for (;;)
		pause();
}

/* A loan of level 1 to a sleeping reader of another lock. */
struct other_loan {
	int fd;
	struct task *reader, *writer;
};

static inline bool begin_other_loan(struct other_loan *l)
{
	l->fd = lock_open(LOCK_TEST_UNFAIR);
	l->reader = hold_until_go(l->fd, LOCK_TEST_READ, (struct job){ .nice = 19 });
	l->writer = start(l->fd, (struct job){ .mode = LOCK_TEST_WRITE });
	return l->reader && reached(has_level(l->reader, 1));
}

static inline bool end_other_loan(struct other_loan *l)
{
	go(l->fd, 0);
	return !finish(l->reader) && !finish(l->writer) && !close(l->fd);
}

static inline bool has_counters(void)
{
	return counter("loans") >= 0;
}

/* Pins the watcher and the donors that exist. @cpu: -1: to all CPUs */
static inline void pin_lenders(int cpu)
{
	char path[64];
	cpu_set_t set;
	pid_t pid;
	int i;

	CPU_ZERO(&set);
	for (i = 0; i < cpus(); i++)
		if (cpu < 0 || i == cpu)
			CPU_SET(i, &set);
	/* threads of the kernel that were created early */
	for (pid = 2; pid < 1000; pid++) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		if (file_has(path, "fscommit_"))
			sched_setaffinity(pid, sizeof(set), &set);
	}
}

#endif
