// SPDX-License-Identifier: GPL-2.0
/*
 * Ending a loan fails: the task must get back its own policy anyway, soon after the release. The
 * kernel refuses the change while a BPF scheduler has disallowed the task, for example.
 *
 * Seen failing: the mutant g5-give-back-fails-for-good, which includes give_back.sed.
 *
 * Needs an fscommit.ko built with give_back.sed.
 */
#include "common.h"

#define FAULTS	"/sys/module/fscommit/parameters/fault_give_back"

FIXTURE(give_back_fails) { int fd; };

FIXTURE_SETUP(give_back_fails)
{
	if (access(FAULTS, F_OK))
		SKIP(return, "no " FAULTS ": build fscommit.ko with give_back.sed");
	setup_lending("3");
	set_param("lend_fifo_us", "1000000");
	self->fd = lock_open(LOCK_TEST_UNFAIR);
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(give_back_fails)
{
	put(FAULTS, "0");
	restore_lending();
	close(self->fd);
}

static int faults_left(void)
{
	char line[16];

	get_line(FAULTS, line, sizeof(line));
	return atoi(line);
}

/* Hold the lock until LOCK_TEST_GO, then stay alive. */
static pid_t start_holder(int fd, __u32 mode)
{
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		struct lock_test_op op = {
			.mode = mode, .hold = LOCK_TEST_UNTIL_GO,
			.flags = mode == LOCK_TEST_WRITE ? LOCK_TEST_DOWNGRADE : 0,
		};

		prepare(&(struct job){ .nice = 19 });
		ioctl(fd, LOCK_TEST_LOCK, &op);
		for (;;)
			pause();
	}
	return pid;
}

/*
 * Lend SCHED_FIFO to a holder that releases while @times calls fail. Then the holder sleeps
 * without a lock, so it cannot restore its own policy: another task does. Returns AGAIN if that
 * took longer than a second, because a busy host may take that task's CPU.
 */
static int released_while_it_fails(int fd, __u32 mode, const char *times)
{
	struct task *w;
	pid_t holder;
	double since;
	bool is_back;
	int ret = 0;

	holder = start_holder(fd, mode);
	CHECK(reached(state(fd).readers + state(fd).writers == 1 && task_state(holder) != 'R'));
	w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE });
	CHECK(reached(policy_of(holder) == SCHED_FIFO));
	CHECK(put(FAULTS, times));
	go(fd, 0);
	if (mode == LOCK_TEST_WRITE)
		go(fd, 1);
	CHECK(!finish(w));
	since = seconds();
	is_back = reached(sched_getscheduler(holder) == SCHED_OTHER &&
			  getpriority(PRIO_PROCESS, holder) == 19);
	since = seconds() - since;
	if (!is_back) {
		fprintf(stderr, "# left with policy %#x; %d of %s failures have not happened\n",
			sched_getscheduler(holder), faults_left(), times);
		ret = -__LINE__;
	} else if (since > 1) {
		ret = AGAIN;
	} else if (faults_left()) {
		/* the module restored the policy in another way */
		fprintf(stderr, "# %d of %s failures did not happen\n", faults_left(), times);
	}
	put(FAULTS, "0");
	kill(holder, SIGKILL);
	waitpid(holder, NULL, 0);
	return ret;
}

TEST_F_TIMEOUT(give_back_fails, own_policy_is_back_within_a_second, 60)
{
	ASSERT_EQ(0, CONCLUSIVE(released_while_it_fails(self->fd, LOCK_TEST_READ, "1")));
	ASSERT_EQ(0, CONCLUSIVE(released_while_it_fails(self->fd, LOCK_TEST_READ, "2")));
	ASSERT_EQ(0, CONCLUSIVE(released_while_it_fails(self->fd, LOCK_TEST_READ, "5")));
	ASSERT_EQ(0, CONCLUSIVE(released_while_it_fails(self->fd, LOCK_TEST_WRITE, "1")));
	ASSERT_EQ(0, CONCLUSIVE(released_while_it_fails(self->fd, LOCK_TEST_WRITE, "5")));
}

/* Control: without failures the test passes. */
TEST_F_TIMEOUT(give_back_fails, without_a_failure, 60)
{
	EXPECT_EQ(0, CONCLUSIVE(released_while_it_fails(self->fd, LOCK_TEST_READ, "0")));
	EXPECT_EQ(0, CONCLUSIVE(released_while_it_fails(self->fd, LOCK_TEST_WRITE, "0")));
}

/* The task exits before its own policy is restored: no state is left, and the module unloads. */
TEST_F_TIMEOUT(give_back_fails, the_task_may_end_first, 60)
{
	struct task *holder, *w;
	int i;

	for (i = 0; i < 4; i++) {
		holder = start(self->fd, (struct job){ .mode = LOCK_TEST_READ,
			       .hold = LOCK_TEST_UNTIL_GO, .nice = 19 });
		ASSERT_REACHED(state(self->fd).readers == 1 && is_asleep(holder));
		w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE });
		ASSERT_REACHED(has_fifo(holder, 1));
		ASSERT_TRUE(put(FAULTS, "1000000"));
		go(self->fd, 0);
		EXPECT_EQ(0, finish(holder));
		EXPECT_EQ(0, finish(w));
		ASSERT_TRUE(put(FAULTS, "0"));
	}
}

TEST_HARNESS_MAIN
