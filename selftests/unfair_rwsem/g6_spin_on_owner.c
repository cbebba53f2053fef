// SPDX-License-Identifier: GPL-2.0
/*
 * G6: a waiter spins while the owner, or each reader that holds the lock, runs. It stops at
 * once when one of them does not run, when it must reschedule, or when spinning cannot help.
 *
 * The test counts voluntary context switches: a waiter that spins has none, a waiter that
 * sleeps has at least one.
 *
 * Seen failing: the mutants g6-never-spins, g6-spins-on-sleeper (it hangs),
 * g6-blind-to-readers, g6-spins-on-sleeping-reader.
 */
#include "common.h"

NEEDS_MODULES("fscommit_test");

LOCK_FIXTURE(g6_spin_on_owner)

/*
 * Runs a task that waits 20 times for a task that acquires the lock in a loop; less often if a busy
 * host keeps the latter from its CPU between two acquisitions.
 */
static struct task wait_behind(int fd, struct job holder_job, __u32 mode)
{
	struct task *holder, *w;

	holder_job.repeat = 100000;
	holder_job.cpu = 2;
	set_bound(fd, 1000);
	holder = start(fd, holder_job);
	reached(state(fd).is_locked);
	w = start(fd, (struct job){ .mode = mode, .cpu = 1, .repeat = 100000,
				      .until_waits = 20 });
	finish(w);
	kill_task(holder);
	return *w;
}

/*
 * The same, until the waiter spun in some of the waits: not in all, since a waiter that must
 * reschedule sleeps. A busy host may keep a CPU of the guest from the holder in most of them.
 */
static struct task spin_behind(int fd, struct job holder_job, __u32 mode)
{
	struct task w = { };
	int i;

	for (i = 0; i < 20 && (w.spun < 3 || w.waits < 20); i++)
		w = wait_behind(fd, holder_job, mode);
	return w;
}

/*
 * The same, until the waiter slept in nearly all of the waits. A few may count as spun: the waiter
 * was preempted before it slept, until the lock was free. On a busy host these may be many.
 */
static struct task sleep_behind(int fd, struct job holder_job, __u32 mode)
{
	struct task w = { .spun = 20 };
	int i;

	for (i = 0; i < 20 && (w.spun > 5 || w.waits < 20); i++)
		w = wait_behind(fd, holder_job, mode);
	return w;
}

static const struct job running = {
	.mode = LOCK_TEST_WRITE, .hold = LOCK_TEST_BUSY, .hold_us = 1500 };
static const struct job asleep = {
	.mode = LOCK_TEST_WRITE, .hold = LOCK_TEST_SLEEP, .hold_us = 1500 };
static const struct job reader_running = {
	.mode = LOCK_TEST_READ, .hold = LOCK_TEST_BUSY, .hold_us = 1500 };
static const struct job reader_asleep = {
	.mode = LOCK_TEST_READ, .hold = LOCK_TEST_SLEEP, .hold_us = 1500 };

#define SKIP_WITHOUT_SPINNING()						\
	do {								\
		if (cpus() < 2 || kernel_is_rt())			\
			SKIP(return, "no spinning: one CPU, or PREEMPT_RT"); \
	} while (0)

/* Rows: the holder, and how the waiter acquires the lock. No reader waits for a reader. */
static const struct row {
	const struct job *holder;
	__u32 mode;
} run_rows[] = {
	{ &running, LOCK_TEST_WRITE }, { &running, LOCK_TEST_READ },
	{ &reader_running, LOCK_TEST_WRITE },
}, sleep_rows[] = {
	{ &asleep, LOCK_TEST_WRITE }, { &asleep, LOCK_TEST_READ },
	{ &reader_asleep, LOCK_TEST_WRITE },
};

TEST_F_TIMEOUT(g6_spin_on_owner, waiter_spins_while_the_holder_runs, 100)
{
	const struct row *row;
	struct task w;

	SKIP_WITHOUT_SPINNING();
	for (row = run_rows; row < run_rows + 3; row++) {
		w = spin_behind(self->fd, *row->holder, row->mode);
		EXPECT_EQ(20, w.waits) TH_LOG("row %d", (int)(row - run_rows));
		EXPECT_GE(w.spun, 3) TH_LOG("row %d", (int)(row - run_rows));
	}
}

TEST_F_TIMEOUT(g6_spin_on_owner, waiter_sleeps_while_the_holder_sleeps, 100)
{
	const struct row *row;
	struct task w;

	for (row = sleep_rows; row < sleep_rows + 3; row++) {
		w = sleep_behind(self->fd, *row->holder, row->mode);
		EXPECT_EQ(20, w.waits) TH_LOG("row %d", (int)(row - sleep_rows));
		EXPECT_LE(w.spun, 5) TH_LOG("row %d", (int)(row - sleep_rows));
	}
}

TEST_F_TIMEOUT(g6_spin_on_owner, no_waiter_spins_on_rt, 60)
{
	struct task w;

	if (!kernel_is_rt())
		SKIP(return, "not PREEMPT_RT");
	w = sleep_behind(self->fd, running, LOCK_TEST_WRITE);
	EXPECT_EQ(20, w.waits);
	EXPECT_LE(w.spun, 5);
}

/*
 * A real-time waiter on the holder's CPU must let the holder run. If it spun, it would never stop
 * (rwsem's 3f5245538a19).
 */
TEST_F_TIMEOUT(g6_spin_on_owner, real_time_waiter_lets_the_holder_run, 60)
{
	int i;

	throttle_real_time(false);
	for (i = 0; i < repeats(20); i++) {
		struct task *holder, *w;
		__u64 taken = state(self->fd).taken;

		holder = start(self->fd, (struct job){
			.mode = LOCK_TEST_WRITE, .hold_us = 3000, .cpu = 1, .nice = 19,
		});
		while (state(self->fd).taken == taken)
			;
		w = start(self->fd, (struct job){
			.mode = i % 2 ? LOCK_TEST_WRITE : LOCK_TEST_READ, .policy = SCHED_FIFO,
			.prio = 80, .cpu = 1 });
		EXPECT_EQ(0, finish(w));
		EXPECT_EQ(0, finish(holder));
	}
	throttle_real_time(true);
}

/*
 * The same for a waiter that is not first in the queue: it must let the first waiter run (rwsem's
 * b613c7f31476).
 */
TEST_F_TIMEOUT(g6_spin_on_owner, real_time_waiter_lets_the_first_one_run, 60)
{
	int i;

	throttle_real_time(false);
	for (i = 0; i < repeats(20); i++) {
		struct task *holder, *first, *second;

		holder = hold_until_go(self->fd, LOCK_TEST_WRITE, (struct job){ .cpu = 1 });
		ASSERT_NE(NULL, holder);
		first = start(self->fd, (struct job){
			.mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO, .prio = 20, .cpu = 1,
			.hold_us = 500 });
		ASSERT_REACHED(state(self->fd).queued_writers == 1 && is_asleep(first));
		second = start(self->fd, (struct job){
			.mode = LOCK_TEST_WRITE, .policy = SCHED_FIFO, .prio = 10, .cpu = 1 });
		ASSERT_REACHED(state(self->fd).queued_writers == 2 && is_asleep(second));
		go(self->fd, 0);
		EXPECT_EQ(0, finish(first));
		EXPECT_EQ(0, finish(second));
		EXPECT_EQ(0, finish(holder));
		EXPECT_LT(first->order, second->order);
	}
	throttle_real_time(true);
}

TEST_HARNESS_MAIN
