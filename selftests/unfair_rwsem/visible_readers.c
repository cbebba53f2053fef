// SPDX-License-Identifier: GPL-2.0
/*
 * Readers are seen: wherever they run, also where they are not counted in the lock's
 * word (bias), and where there are more of them than slots.
 *
 * Seen failing: the mutants visible-*, unseen-reader-stays, bias-*.
 */
#include "common.h"

#include <stdint.h>

LOCK_FIXTURE(visible_readers)

TEST_F(visible_readers, each_is_seen_and_leaves_nothing)
{
	struct task *r[4];
	int i;

	for (i = 0; i < 4; i++) {
		r[i] = start(self->fd, (struct job){
			.mode = FCT_READ, .hold = FCT_UNTIL_GO, .id = i, .cpu = 1 + i % cpus() });
		ASSERT_REACHED((int)state(self->fd).readers == i + 1);
		EXPECT_EQ(i + 1, (int)state(self->fd).seen);
	}
	for (i = 0; i < 4; i++) {
		go(self->fd, i);
		EXPECT_EQ(0, finish(r[i]));
		EXPECT_EQ(3 - i, (int)state(self->fd).seen);
	}
}

/* It releases on another CPU than it came in on. */
TEST_F(visible_readers, migrated_reader_leaves_nothing)
{
	struct task *r;
	cpu_set_t set;
	int i;

	if (cpus() < 2)
		SKIP(return, "needs two CPUs");
	for (i = 0; i < 8; i++) {
		r = start(self->fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO,
						  .cpu = 1 });
		ASSERT_REACHED(state(self->fd).readers == 1 && is_asleep(r));
		CPU_ZERO(&set);
		CPU_SET(1, &set);
		ASSERT_EQ(0, sched_setaffinity(r->pid, sizeof(set), &set));
		go(self->fd, 0);
		EXPECT_EQ(0, finish(r));
		EXPECT_EQ(0, state(self->fd).seen);
		EXPECT_EQ(0, state(self->fd).is_locked);
	}
}

/* A task that is stopped or traced cannot be so in the kernel, with the lock. */
TEST_F(visible_readers, stopped_reader_releases_first)
{
	struct task *r;

	r = start(self->fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO });
	ASSERT_REACHED(state(self->fd).readers == 1 && is_asleep(r));
	kill(r->pid, SIGSTOP);
	sleep_ms(20);
	EXPECT_EQ('D', task_state(r->pid));
	EXPECT_EQ(1, state(self->fd).seen);
	go(self->fd, 0);
	ASSERT_REACHED(task_state(r->pid) == 'T');
	EXPECT_EQ(0, state(self->fd).seen);
	EXPECT_EQ(0, lock(self->fd, FCT_WRITE, FCT_PLAIN));
	kill(r->pid, SIGCONT);
	EXPECT_EQ(0, finish(r));
}

/* One may be missing: two that take the same slot at once. */
TEST_F_TIMEOUT(visible_readers, many_readers, 60)
{
	struct task *r[100];
	unsigned int i, n = sizeof(r) / sizeof(*r);

	for (i = 0; i < n; i++)
		r[i] = start(self->fd, (struct job){
			.mode = FCT_READ, .hold = FCT_UNTIL_GO, .cpu = 1, .id = i % 60 });
	ASSERT_REACHED(state(self->fd).readers == n);
	EXPECT_GE(state(self->fd).seen, n - 1);
	EXPECT_GE(n, state(self->fd).seen);
	EXPECT_EQ(EAGAIN, lock(self->fd, FCT_WRITE, FCT_TRYLOCK));
	for (i = 0; i < n; i++)
		kill(r[i]->pid, SIGKILL);
	for (i = 0; i < n; i++)
		finish(r[i]);
	EXPECT_EQ(0, state(self->fd).seen);
	EXPECT_EQ(0, state(self->fd).readers);
}

/* A reader with this pid; 0 if there is one already, -1 if none can be had. */
static pid_t start_reader(int fd, pid_t pid)
{
	struct fct_op op = { .mode = FCT_READ, .hold = FCT_UNTIL_GO };
	struct clone_args args = {
		.exit_signal = SIGCHLD, .set_tid = (uintptr_t)&pid, .set_tid_size = 1 };
	long ret;

	fflush(NULL);
	ret = syscall(SYS_clone3, &args, sizeof(args));
	if (ret < 0)
		return errno == EEXIST ? 0 : -1;
	if (ret)
		return ret;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	_exit(ioctl(fd, FCT_LOCK, &op) ? 1 : 0);
}

/* Readers for which that is the same look for a slot in the same places. */
static unsigned int places_of(pid_t pid)
{
	unsigned int hash = pid * 0x61c88647U;

	return (hash >> 29) * 31 + hash / 64 % 31;
}

/*
 * More of them than there are slots in these places. They hold the lock all the same. An
 * expedited section keeps the lock from being biased.
 */
TEST_F_TIMEOUT(visible_readers, unseen_readers, 60)
{
	int other = lock_open(FCT_RWSEM);
	unsigned int i = 0, n = 90, seen;
	struct task *section;
	pid_t r[90], pid;

	ASSERT_GE(other, 0);
	set_lend(self->fd, 2);
	section = start(other, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO,
					     .flags = FCT_OUTER_EXPEDITE, .outer = self->fd });
	ASSERT_REACHED(state(other).readers == 1);
	for (pid = 1000; i < n; pid++) {
		if (places_of(pid) != places_of(1000))
			continue;
		r[i] = start_reader(self->fd, pid);
		if (r[i] < 0)
			break;
		i += !!r[i];
	}
	EXPECT_TRUE(reached(state(self->fd).readers == i));
	EXPECT_EQ(i ? EAGAIN : 0, lock(self->fd, FCT_WRITE, FCT_TRYLOCK));
	seen = state(self->fd).seen;
	TH_LOG("%u of %u are seen", seen, i);
	if (i == n) {
		EXPECT_GE(seen, 60);
		EXPECT_GE(64, seen);
	}
	for (n = 0; n < i; n++)
		kill(r[n], SIGKILL);
	for (n = 0; n < i; n++)
		waitpid(r[n], NULL, 0);
	EXPECT_EQ(0, state(self->fd).seen);
	EXPECT_EQ(0, state(self->fd).is_locked);
	go(other, 0);
	EXPECT_EQ(0, finish(section));
	close(other);
	if (!i)
		SKIP(return, "no pid can be chosen");
}

/* Many that overlap; then the lock is biased. */
static void make_biased(int fd)
{
	struct task *r;
	int i;

	r = start(fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO, .id = 63 });
	reached(state(fd).readers == 1);
	for (i = 0; i < 600 && !state(fd).biased; i++)
		lock(fd, FCT_READ, FCT_PLAIN);
	go(fd, 63);
	finish(r);
}

TEST_F_TIMEOUT(visible_readers, biased_reader_excludes_writers, 60)
{
	struct task *r, *w;
	int i;

	for (i = 0; i < 6; i++) {
		make_biased(self->fd);
		ASSERT_TRUE(state(self->fd).biased);
		EXPECT_EQ(0, state(self->fd).is_locked);
		r = start(self->fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO });
		ASSERT_REACHED(state(self->fd).readers == 1 && is_asleep(r));
		EXPECT_TRUE(state(self->fd).biased);
		EXPECT_TRUE(state(self->fd).is_locked);
		EXPECT_EQ(1, state(self->fd).seen);
		if (i % 2) {
			EXPECT_EQ(EAGAIN, lock(self->fd, FCT_WRITE, FCT_TRYLOCK));
			EXPECT_EQ(0, state(self->fd).biased);
			EXPECT_EQ(1, state(self->fd).seen);
		}
		w = start(self->fd, (struct job){ .mode = FCT_WRITE });
		ASSERT_REACHED(state(self->fd).queued_writers == 1 && is_asleep(w));
		EXPECT_EQ(0, atomic_load(&w->done));
		go(self->fd, 0);
		EXPECT_EQ(0, finish(r));
		EXPECT_EQ(0, finish(w));
		EXPECT_EQ(0, state(self->fd).seen);
	}
}

/* A revocation looks at many slots, so there must be many reads from one to the next. */
TEST_F_TIMEOUT(visible_readers, bias_does_not_come_back_at_once, 60)
{
	struct task *r;
	int i;

	make_biased(self->fd);
	ASSERT_TRUE(state(self->fd).biased);
	EXPECT_EQ(0, lock(self->fd, FCT_WRITE, FCT_PLAIN));
	r = start(self->fd, (struct job){ .mode = FCT_READ, .hold = FCT_UNTIL_GO });
	ASSERT_REACHED(state(self->fd).readers == 1);
	for (i = 0; i < 600 && !state(self->fd).biased; i++)
		EXPECT_EQ(0, lock(self->fd, FCT_READ, FCT_PLAIN));
	EXPECT_LE(200, i);
	EXPECT_GT(600, i);
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
}

/* Bias comes and goes under readers and writers; exclusion is checked in the kernel. */
TEST_F_TIMEOUT(visible_readers, bias_comes_and_goes, 60)
{
	struct task *r[4], *w;
	double end = seconds() + 2;
	int i, seen = 0;

	for (i = 0; i < 4; i++)
		r[i] = start(self->fd, (struct job){ .mode = FCT_READ, .hold_us = 5,
						     .repeat = 100000000 });
	while (seconds() < end) {
		w = start(self->fd, (struct job){ .mode = FCT_WRITE, .repeat = 50 });
		EXPECT_EQ(0, finish(w));
		/* A guest short of CPU needs its time for 255 reads that overlap. */
		for (i = 0; i < (seen ? 20 : 5000) && !state(self->fd).biased; i++)
			sleep_ms(1);
		seen += state(self->fd).biased;
	}
	for (i = 0; i < 4; i++) {
		kill(r[i]->pid, SIGKILL);
		finish(r[i]);
	}
	TH_LOG("%d times biased", seen);
	if (cpus() > 1)
		EXPECT_GT(seen, 0);
	EXPECT_EQ(0, state(self->fd).violations);
}

TEST_HARNESS_MAIN
