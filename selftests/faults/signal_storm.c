// SPDX-License-Identifier: GPL-2.0
/*
 * Signals and kills at random moments of a wait, with CPU hotplug if the kernel supports it.
 * Nothing may be left behind, and no task may wait for a wakeup that went to a killed task.
 *
 * Seen failing: the mutants lost-wakeup-by-last-reader, g7-reader-stays-queued.
 */
#include "common.h"

NEEDS_MODULES("fscommit_test");

#define TASKS	10
#define CPU1	"/sys/devices/system/cpu/cpu1/online"

LOCK_FIXTURE(signal_storm)

struct counts {
	atomic_int taken, interrupted, timed_out, others, stop;
};

static const __u32 hows[] = {
	LOCK_TEST_INTERRUPTIBLE, LOCK_TEST_KILLABLE, LOCK_TEST_INTERRUPTIBLE, LOCK_TEST_TIMEOUT,
	LOCK_TEST_PLAIN,
};

static pid_t start_one(int fd, int i, struct counts *c)
{
	pid_t pid = fork_task(&(struct job){ });

	if (pid)
		return pid;
	while (!atomic_load(&c->stop)) {
		struct lock_test_op op = {
			.mode = i < TASKS / 2 ? LOCK_TEST_WRITE : LOCK_TEST_READ,
			.how = hows[i % 5], .timeout_ms = 1,
			.hold = i % 3 ? LOCK_TEST_BUSY : LOCK_TEST_SLEEP, .hold_us = 20 + 10 * i,
			.flags = i < 2 ? LOCK_TEST_DOWNGRADE : 0,
		};

		if (!ioctl(fd, LOCK_TEST_LOCK, &op))
			atomic_fetch_add(&c->taken, 1);
		else if (errno == EINTR)
			atomic_fetch_add(&c->interrupted, 1);
		else if (errno == ETIME)
			atomic_fetch_add(&c->timed_out, 1);
		else
			atomic_fetch_add(&c->others, 1);
	}
	_exit(0);
}

static pid_t start_plugger(atomic_int *plugged)
{
	pid_t pid;

	if (access(CPU1, W_OK))
		return 0;
	pid = fork_task(&(struct job){ });
	if (pid)
		return pid;
	for (;;) {
		if (put(CPU1, "0"))
			atomic_fetch_add(plugged, 1);
		sleep_ms(30);
		put(CPU1, "1");
		sleep_ms(30);
	}
}

/*
 * A later task hides a lost wakeup. So the test runs in rounds, and no task arrives at the end
 * of a round.
 */
TEST_F_TIMEOUT(signal_storm, signals_lose_no_wakeup, 300)
{
	const int rounds = repeats(100), interrupts = repeats(2000), kills = repeats(1000);
	struct sigaction act = { .sa_handler = ignore_signal };
	struct counts *c = share(4096);
	atomic_int *plugged = share(4096);
	int i, round, status, killed = 0, sent = 0, unplugs;
	pid_t pid[TASKS], plugger;
	unsigned int dice = 1;
	/* time limit for a hang; normally each count is reached long before */
	double end = seconds() + 240;

	/* the tasks inherit it */
	sigaction(SIGUSR1, &act, NULL);
	plugger = start_plugger(plugged);
	unplugs = plugger ? repeats(50) : 0;
	for (round = 1; round <= rounds; round++) {
		atomic_store(&c->stop, 0);
		for (i = 0; i < TASKS; i++)
			pid[i] = start_one(self->fd, i, c);
		while ((c->interrupted < round * interrupts / rounds ||
			killed < round * kills / rounds ||
			*plugged < round * unplugs / rounds) && seconds() < end) {
			dice = dice * 1103515245 + 12345;
			i = (dice >> 16) % TASKS;
			/* without windows for readers, and with them */
			set_bound(self->fd, (dice >> 12) % 2 * 500);
			if ((dice >> 8) % 8) {
				kill(pid[i], SIGUSR1);
				sent++;
			} else {
				kill(pid[i], SIGKILL);
				/* an uninterruptible waiter must acquire the lock first */
				ASSERT_EQ(pid[i], waitpid(pid[i], &status, 0));
				ASSERT_TRUE(WIFSIGNALED(status));
				killed++;
				pid[i] = start_one(self->fd, i, c);
			}
			if (!((dice >> 4) % 4))
				sched_yield();
		}
		/* no more signals: only the lock can wake the sleepers now */
		atomic_store(&c->stop, 1);
		for (i = 0; i < TASKS; i++) {
			ASSERT_REACHED(waitpid(pid[i], &status, WNOHANG) == pid[i]);
			EXPECT_EQ(0, status);
		}
	}
	EXPECT_LE(interrupts, c->interrupted);
	EXPECT_LE(kills, killed);
	EXPECT_LE(unplugs, *plugged);
	EXPECT_EQ(0, c->others);
	if (plugger) {
		kill(plugger, SIGTERM);
		waitpid(plugger, NULL, 0);
		put(CPU1, "1");
	}
	TH_LOG("%d taken, %d interrupted, %d timed out; %d signals, %d kills, %d unplugs",
	       c->taken, c->interrupted, c->timed_out, sent, killed, *plugged);
}

TEST_HARNESS_MAIN
