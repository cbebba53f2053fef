/* SPDX-License-Identifier: GPL-2.0 */
/* Loans for the tests of lending. Included after common.h. */
#ifndef SELFTESTS_LENT_H
#define SELFTESTS_LENT_H

#include "counters.h"
#include "priority.h"

/* A writer that can be killed, of SCHED_FIFO @prio. */
static inline struct job fifo(int prio)
{
	return (struct job){ .mode = LOCK_TEST_WRITE, .how = LOCK_TEST_KILLABLE,
			     .policy = SCHED_FIFO, .prio = prio };
}

/* Starts a task that must wait for the lock. Returns NULL if it does not sleep after 20 s. */
static inline struct task *start_waiter(int fd, struct job j)
{
	__u32 queued = state(fd).queued_readers + state(fd).queued_writers;
	struct task *t = start(fd, j);

	return reached(state(fd).queued_readers + state(fd).queued_writers == queued + 1 &&
		       is_asleep(t)) ? t : NULL;
}

/* Starts a task that performs @j once, closes the locks, and stays until it is killed. */
static inline pid_t start_and_stay(int fd, struct job j)
{
	struct lock_test_op op = {
		.mode = j.mode, .how = j.how, .hold = j.hold, .hold_us = j.hold_us,
		.id = j.id, .flags = j.flags, .outer = j.outer,
	};
	pid_t pid = fork_task(&j);

	if (pid)
		return pid;
	ioctl(fd, LOCK_TEST_LOCK, &op);
	close_range(3, ~0U, 0);
	for (;;)
		pause();
}

/* A committer that waits for @mutex, asleep, in a section of @fd. */
static inline struct task *committer(int fd, int mutex, struct job j)
{
	unsigned int before = state(mutex).acquiring_writers;
	struct task *t;

	j.mode = LOCK_TEST_WRITE;
	j.how = LOCK_TEST_KILLABLE;
	j.flags = LOCK_TEST_OUTER_EXPEDITE;
	j.outer = fd;
	t = start(mutex, j);
	return reached(state(mutex).acquiring_writers == before + 1 && is_asleep(t)) ? t : NULL;
}

/* A holder that sleeps until go() with id 0, and a waiter. */
struct loan {
	int fd;
	struct task *holder, *w;
};

/* Returns 0 when the holder has been lent @rt; if @rt is 0, when the waiter sleeps. */
static inline int begin_loan(struct loan *l, int fd, __u32 mode, struct job holder,
			     struct job waiter, int rt)
{
	l->fd = fd;
	l->holder = hold_until_go(fd, mode, holder);
	CHECK(l->holder);
	l->w = start_waiter(fd, waiter);
	CHECK(l->w && (!rt || reached(is_lent(l->holder->pid, rt))));
	return 0;
}

static inline int end_loan(struct loan *l)
{
	go(l->fd, 0);
	return finish(l->holder) ?: finish(l->w);
}

/* For a loan that must not be made: several looks. Too short a time can only hide a failure. */
static inline void many_looks(void)
{
	sleep_ms(50);
}

/* From now on the watcher looks at a lock only when a waiter goes to sleep, and ends no lease. */
static inline void no_passes(void)
{
	set_param("lend_period_us", "60000000");
}

/* Does this kernel show the owner of a mutex? Then the owner is lent to, too. */
static inline bool has_mutex_links(void)
{
	char kinds[64];

	get_param("lend_links_kinds", kinds, sizeof(kinds));
	return strstr(kinds, "mutex");
}

#endif
