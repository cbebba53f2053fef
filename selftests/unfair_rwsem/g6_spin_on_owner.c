// SPDX-License-Identifier: GPL-2.0
/*
 * G6: a waiter spins while what it waits for runs, the writer that owns the lock or all
 * the readers that hold it, and stops at once when one does not, when it must
 * reschedule, or when spinning cannot help.
 *
 * Counted by voluntary context switches: a waiter that spins has none, one that
 * sleeps has one at least.
 *
 * Seen failing: the mutants g6-never-spins, g6-spins-on-sleeper (it hangs),
 * g6-blind-to-readers, g6-spins-on-sleeping-reader.
 */
#include "common.h"

LOCK_FIXTURE(g6_spin_on_owner)

/* Somebody who waits again and again, behind somebody who holds again and again. */
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
	kill(holder->pid, SIGKILL);
	finish(holder);
	return *w;
}

static const struct job running = { .mode = FCT_WRITE, .hold = FCT_BUSY, .hold_us = 1500 };
static const struct job asleep = { .mode = FCT_WRITE, .hold = FCT_SLEEP, .hold_us = 1500 };

static const struct job reader_running = { .mode = FCT_READ, .hold = FCT_BUSY, .hold_us = 1500 };
static const struct job reader_asleep = { .mode = FCT_READ, .hold = FCT_SLEEP, .hold_us = 1500 };

static bool cannot_spin(void)
{
	return cpus() < 2 || kernel_is_rt();
}

TEST_F_TIMEOUT(g6_spin_on_owner, writer_spins_while_owner_runs, 60)
{
	struct task w;

	if (cannot_spin())
		SKIP(return, "no spinning: one CPU, or PREEMPT_RT");
	w = wait_behind(self->fd, running, FCT_WRITE);
	EXPECT_EQ(20, w.waits);
	/* not all: what else runs here makes a waiter reschedule, and then it sleeps */
	EXPECT_GE(w.spun, 3);
}

TEST_F_TIMEOUT(g6_spin_on_owner, reader_spins_while_owner_runs, 60)
{
	struct task w;

	if (cannot_spin())
		SKIP(return, "no spinning: one CPU, or PREEMPT_RT");
	w = wait_behind(self->fd, running, FCT_READ);
	EXPECT_EQ(20, w.waits);
	EXPECT_GE(w.spun, 3);
}

TEST_F_TIMEOUT(g6_spin_on_owner, nobody_spins_on_a_sleeping_owner, 60)
{
	struct task w;

	/* a few: preempted in the moment in which the owner was awake */
	w = wait_behind(self->fd, asleep, FCT_WRITE);
	EXPECT_EQ(20, w.waits);
	EXPECT_LE(w.spun, 5);
	w = wait_behind(self->fd, asleep, FCT_READ);
	EXPECT_EQ(20, w.waits);
	EXPECT_LE(w.spun, 5);
}

TEST_F_TIMEOUT(g6_spin_on_owner, writer_spins_while_readers_run, 60)
{
	struct task w;

	if (cannot_spin())
		SKIP(return, "no spinning: one CPU, or PREEMPT_RT");
	w = wait_behind(self->fd, reader_running, FCT_WRITE);
	EXPECT_EQ(20, w.waits);
	EXPECT_GE(w.spun, 3);
}

TEST_F_TIMEOUT(g6_spin_on_owner, nobody_spins_on_a_sleeping_reader, 60)
{
	struct task w;

	w = wait_behind(self->fd, reader_asleep, FCT_WRITE);
	EXPECT_EQ(20, w.waits);
	EXPECT_LE(w.spun, 5);
}

TEST_F_TIMEOUT(g6_spin_on_owner, nobody_spins_on_rt, 60)
{
	struct task w;

	if (!kernel_is_rt())
		SKIP(return, "not PREEMPT_RT");
	/* a few: preempted on the way to sleep until the lock was free */
	w = wait_behind(self->fd, running, FCT_WRITE);
	EXPECT_EQ(20, w.waits);
	EXPECT_LE(w.spun, 5);
}

/*
 * A real-time waiter on the CPU of the holder must let it run: with spinning this
 * would never end (rwsem's 3f5245538a19).
 */
TEST_F_TIMEOUT(g6_spin_on_owner, real_time_waiter_lets_the_holder_run, 60)
{
	int i;

	throttle_real_time(false);
	for (i = 0; i < scaled(20); i++) {
		struct task *holder, *w;
		__u64 taken = state(self->fd).taken;

		holder = start(self->fd, (struct job){
			.mode = FCT_WRITE, .hold_us = 3000, .cpu = 1, .nice = 19,
		});
		while (state(self->fd).taken == taken)
			;
		w = start(self->fd, (struct job){
			.mode = i % 2 ? FCT_WRITE : FCT_READ, .policy = SCHED_FIFO, .prio = 80,
			.cpu = 1,
		});
		EXPECT_EQ(0, finish(w));
		EXPECT_EQ(0, finish(holder));
	}
	throttle_real_time(true);
}

/*
 * The same for one that is not the first in the queue (rwsem's b613c7f31476): the
 * first one must be able to run.
 */
TEST_F_TIMEOUT(g6_spin_on_owner, real_time_waiter_lets_the_first_one_run, 60)
{
	int i;

	throttle_real_time(false);
	for (i = 0; i < scaled(20); i++) {
		struct task *holder, *first, *second;

		holder = start(self->fd, (struct job){
			.mode = FCT_WRITE, .hold = FCT_UNTIL_GO, .cpu = 1 });
		ASSERT_REACHED(state(self->fd).writers == 1);
		first = start(self->fd, (struct job){
			.mode = FCT_WRITE, .policy = SCHED_FIFO, .prio = 20, .cpu = 1,
			.hold_us = 500 });
		ASSERT_REACHED(state(self->fd).queued_writers == 1 && is_asleep(first));
		second = start(self->fd, (struct job){
			.mode = FCT_WRITE, .policy = SCHED_FIFO, .prio = 10, .cpu = 1 });
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
