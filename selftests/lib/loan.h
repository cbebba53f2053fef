/* SPDX-License-Identifier: GPL-2.0 */
/* Loans for the tests of lending. Included after common.h. */
#ifndef SELFTESTS_LOAN_H
#define SELFTESTS_LOAN_H

#include <dirent.h>

#include "counters.h"
#include "priority.h"

static inline struct job fifo(int prio)
{
	return (struct job){ .mode = LOCK_TEST_WRITE, .how = LOCK_TEST_KILLABLE,
			     .policy = SCHED_FIFO, .prio = prio };
}

static inline void set_priority(pid_t pid, int policy, int rt)
{
	struct sched_param p = { .sched_priority = rt };

	sched_setscheduler(pid, policy, &p);
}

/* Starts a task that must wait for the lock. Returns NULL if it does not sleep after 20 s. */
static inline struct task *start_waiter(int fd, struct job j)
{
	__u32 queued = state(fd).queued_readers + state(fd).queued_writers;
	struct task *t = start(fd, j);

	return reached(state(fd).queued_readers + state(fd).queued_writers == queued + 1 &&
		       is_asleep(t)) ? t : NULL;
}

/* A holder that sleeps until go(), and a waiter. */
struct loan {
	int fd;
	struct task *holder, *w;
};

/* Returns 0 when the holder has been lent @rt; if @rt is 0, when the waiter sleeps. */
static inline int begin(struct loan *l, int fd, __u32 mode, struct job holder, struct job waiter,
			int rt)
{
	l->fd = fd;
	l->holder = hold_until_go(fd, mode, holder);
	CHECK(l->holder);
	l->w = start_waiter(fd, waiter);
	CHECK(l->w && (!rt || reached(is_lent_level(l->holder->pid, rt))));
	return 0;
}

static inline int end(struct loan *l)
{
	go(l->fd, 0);
	return finish(l->holder) ?: finish(l->w);
}

static inline void many_looks(void)
{
	sleep_ms(20);
}

/* From now on the watcher looks at a lock only when a waiter goes to sleep, and ends no lease. */
static inline void no_passes(void)
{
	set_param("lend_period_us", "60000000");
}

/* Starts sleeping readers one after another, so that each of them gets a slot. */
static inline bool start_readers(int fd, struct task **r, int nr)
{
	int i;

	for (i = 0; i < nr; i++) {
		r[i] = start(fd, (struct job){ .mode = LOCK_TEST_READ, .nice = 19,
					       .hold = LOCK_TEST_UNTIL_GO });
		if (!reached(state(fd).readers == i + 1 && is_asleep(r[i])))
			return false;
	}
	return true;
}

static inline int count_lent(struct task **r, int nr, int rt)
{
	int i, n = 0;

	for (i = 0; i < nr; i++)
		n += is_lent_level(r[i]->pid, rt);
	return n;
}

/* A killed task releases the lock. */
static inline void end_readers(struct task **r, int nr)
{
	int i;

	for (i = 0; i < nr; i++)
		kill_task(r[i]);
}

#define ALL_CPUS	-1
#define NO_CHANGE	-2

/* Pins all donors to @cpu. Returns their number. */
static inline int pin_donors(int cpu)
{
	DIR *dir = opendir("/proc");
	char path[300], name[32];
	struct dirent *e;
	cpu_set_t set;
	int n = 0;

	CPU_ZERO(&set);
	if (cpu >= 0)
		CPU_SET(cpu, &set);
	else
		memset(&set, 0xff, sizeof(set));
	while (dir && (e = readdir(dir))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", e->d_name);
		get_line(path, name, sizeof(name));
		if (strncmp(name, "fscommit_donor", 14))
			continue;
		n++;
		if (cpu != NO_CHANGE)
			sched_setaffinity(atoi(e->d_name), sizeof(set), &set);
	}
	if (dir)
		closedir(dir);
	return n;
}

/* Does this kernel show the owner of a mutex? Then the owner is lent to, too. */
static inline bool has_mutex_links(void)
{
	char kinds[64];

	get_param("lend_links_kinds", kinds, sizeof(kinds));
	return strstr(kinds, "mutex");
}

#endif
