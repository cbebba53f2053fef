// SPDX-License-Identifier: GPL-2.0
/*
 * Visible readers: on each CPU, with and without a bias, and with more readers than slots.
 *
 * Seen failing: the mutants visible-*, unseen-reader-stays, bias-*.
 */
#include "common.h"
#include "trace.h"

#include <stdint.h>

NEEDS_MODULES("fscommit_test");

LENDING_LOCK_FIXTURE(visible_readers, "1")

TEST_F(visible_readers, each_reader_is_visible_and_leaves_nothing)
{
	struct task *r[4];
	int i;

	for (i = 0; i < 4; i++) {
		r[i] = start(self->fd, (struct job){
			.mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO, .id = i,
			.cpu = 1 + i % cpus() });
		ASSERT_REACHED((int)state(self->fd).readers == i + 1);
		EXPECT_EQ(i + 1, (int)state(self->fd).seen);
	}
	for (i = 0; i < 4; i++) {
		go(self->fd, i);
		EXPECT_EQ(0, finish(r[i]));
		EXPECT_EQ(3 - i, (int)state(self->fd).seen);
	}
}

/* The reader releases on another CPU than it acquired on. */
TEST_F(visible_readers, migrated_reader_leaves_nothing)
{
	struct task *r;
	cpu_set_t set;
	int i;

	SKIP_ON_ONE_CPU();
	for (i = 0; i < 8; i++) {
		r = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ .cpu = 1 });
		ASSERT_NE(NULL, r);
		CPU_ZERO(&set);
		CPU_SET(1, &set);
		ASSERT_EQ(0, sched_setaffinity(r->pid, sizeof(set), &set));
		go(self->fd, 0);
		EXPECT_EQ(0, finish(r));
		EXPECT_EQ(0, state(self->fd).seen);
		EXPECT_EQ(0, state(self->fd).is_locked);
	}
}

/* Starts a reader with this pid. Returns 0 if the pid is in use, -1 if no pid can be chosen. */
static pid_t start_reader(int fd, pid_t pid)
{
	struct lock_test_op op = { .mode = LOCK_TEST_READ, .hold = LOCK_TEST_UNTIL_GO };
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
	_exit(ioctl(fd, LOCK_TEST_LOCK, &op) ? 1 : 0);
}

/* Readers with the same value search the same slots. */
static unsigned int places_of(pid_t pid)
{
	unsigned int hash = pid * 0x61c88647U;

	return (hash >> 29) * 31 + hash / 64 % 31;
}

/* Ends readers, in order, until no holder has a slot. Returns the number of the others. */
static unsigned int end_seen_readers(int fd, pid_t *r, unsigned int nr)
{
	unsigned int n;

	for (n = 0; n < nr && state(fd).seen; n++)
		kill_pid(r[n]);
	memmove(r, r + n, (nr - n) * sizeof(*r));
	return nr - n;
}

/* A writer waits for readers without a slot. The trace says that a holder is not visible. */
static int traces_that_holders_are_unseen(int fd, pid_t *r, unsigned int nr)
{
	struct task *w = start(fd, (struct job){ .mode = LOCK_TEST_WRITE });
	bool traced = reached(trace_has("unfair_holder", " holder=- pid=0 mode=read state=- "));

	while (nr)
		kill_pid(r[--nr]);
	CHECK(!finish(w));
	CHECK(traced);
	return 0;
}

/*
 * More readers than slots that they search. All of them hold the lock. An expedited section
 * prevents a bias.
 */
TEST_F_TIMEOUT(visible_readers, readers_without_a_slot_hold_the_lock, 60)
{
	int other = lock_open(LOCK_TEST_RWSEM);
	unsigned int i = 0, n = 90, seen;
	struct task *section;
	pid_t r[90], pid;

	ASSERT_GE(other, 0);
	set_lend(self->fd, true);
	set_param("lend_period_us", "300");
	section = hold_until_go(other, LOCK_TEST_READ, (struct job){
		.flags = LOCK_TEST_OUTER_EXPEDITE, .outer = self->fd });
	ASSERT_NE(NULL, section);
	ASSERT_REACHED(state(self->fd).expedited);
	for (pid = 1000; i < n; pid++) {
		if (places_of(pid) != places_of(1000))
			continue;
		r[i] = start_reader(self->fd, pid);
		if (r[i] < 0)
			break;
		i += !!r[i];
		/* in order: so the first ones have the slots, and the last ones have none */
		ASSERT_REACHED(state(self->fd).readers == i);
	}
	EXPECT_EQ(i ? EAGAIN : 0, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));
	seen = state(self->fd).seen;
	TH_LOG("%u of %u are seen", seen, i);
	if (i == n) {
		EXPECT_GE(seen, 60);
		EXPECT_GE(64, seen);
	}
	if (i == n && trace_start()) {
		n = end_seen_readers(self->fd, r, i);
		EXPECT_EQ(0, traces_that_holders_are_unseen(self->fd, r, n));
		trace_stop();
	} else {
		for (n = 0; n < i; n++)
			kill_pid(r[n]);
	}
	EXPECT_EQ(0, state(self->fd).seen);
	EXPECT_EQ(0, state(self->fd).is_locked);
	go(other, 0);
	EXPECT_EQ(0, finish(section));
	close(other);
	if (!i)
		SKIP(return, "no pid can be chosen");
}

TEST_F_TIMEOUT(visible_readers, biased_reader_excludes_writers, 60)
{
	struct task *r, *w;
	int i;

	for (i = 0; i < 6; i++) {
		make_biased(self->fd);
		ASSERT_TRUE(state(self->fd).biased);
		EXPECT_EQ(0, state(self->fd).is_locked);
		r = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ });
		ASSERT_NE(NULL, r);
		EXPECT_TRUE(state(self->fd).biased);
		EXPECT_TRUE(state(self->fd).is_locked);
		EXPECT_EQ(1, state(self->fd).seen);
		if (i % 2) {
			EXPECT_EQ(EAGAIN, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_TRYLOCK));
			EXPECT_EQ(0, state(self->fd).biased);
			EXPECT_EQ(1, state(self->fd).seen);
		}
		w = start(self->fd, (struct job){ .mode = LOCK_TEST_WRITE });
		ASSERT_REACHED(state(self->fd).queued_writers == 1 && is_asleep(w));
		EXPECT_EQ(0, atomic_load(&w->done));
		go(self->fd, 0);
		EXPECT_EQ(0, finish(r));
		EXPECT_EQ(0, finish(w));
		EXPECT_EQ(0, state(self->fd).seen);
	}
}

/* A revocation scans many slots, so many reads must pass before the next bias. */
TEST_F_TIMEOUT(visible_readers, bias_does_not_come_back_at_once, 60)
{
	struct task *r;
	int i;

	make_biased(self->fd);
	ASSERT_TRUE(state(self->fd).biased);
	EXPECT_EQ(0, lock(self->fd, LOCK_TEST_WRITE, LOCK_TEST_PLAIN));
	r = hold_until_go(self->fd, LOCK_TEST_READ, (struct job){ });
	ASSERT_NE(NULL, r);
	for (i = 0; i < 600 && !state(self->fd).biased; i++)
		EXPECT_EQ(0, lock(self->fd, LOCK_TEST_READ, LOCK_TEST_PLAIN));
	EXPECT_LE(200, i);
	EXPECT_GT(600, i);
	go(self->fd, 0);
	EXPECT_EQ(0, finish(r));
}

TEST_HARNESS_MAIN
