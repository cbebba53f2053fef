// SPDX-License-Identifier: GPL-2.0
/*
 * Share gate: which fsyncs lock, and what the log holds after a crash. Each rule of the header
 * has a test that runs twice: with the rule, and with the rule disabled in the toy filesystem.
 * Then checksums must be missing after the replay.
 */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "device_test.h"
#include "modules.h"
#include "slowdown.h"
#include "fscommit_test.h"
#include "share_gate_test.h"

NEEDS_MODULES("cow_tree_test", "share_gate_test");

#define FILES	8

static int open_fs(__u32 mode, __u32 broken)
{
	struct gate_test_setup setup = {
		.mode = mode, .lock_type = LOCK_TEST_UNFAIR, .files = FILES, .broken = broken,
	};

	return open_device("/dev/share_gate_test", GATE_TEST_SETUP, &setup);
}

static int write_slot(int fd, __u32 file, __u32 slot)
{
	struct gate_test_slot at = { file, slot };

	return run_ioctl(fd, GATE_TEST_WRITE, &at);
}

static int share(int fd, __u32 from, __u32 to, __u32 offset, __u32 nr)
{
	struct gate_test_clone c = {
		.from = { from, 0 }, .to = { to, 1 }, .offset = offset, .nr = nr,
	};

	return run_ioctl(fd, GATE_TEST_CLONE, &c);
}

static int on_file(int fd, unsigned long cmd, __u32 file)
{
	return run_ioctl(fd, cmd, &file);
}

static int commit(int fd)
{
	return run_ioctl(fd, GATE_TEST_COMMIT, NULL);
}

static struct gate_test_crash crash(int fd)
{
	struct gate_test_crash c = { };

	if (ioctl(fd, GATE_TEST_CRASH, &c))
		c.missing = ~0ULL;
	return c;
}

static struct gate_test_state state(int fd)
{
	struct gate_test_state s = { };

	ioctl(fd, GATE_TEST_STATE, &s);
	return s;
}

FIXTURE(share_gate) {
	int fd;
};

FIXTURE_SETUP(share_gate)
{
	self->fd = open_fs(GATE_TEST_GATE, 0);
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(share_gate)
{
	close(self->fd);
}

/* --- who locks ----------------------------------------------------------- */

TEST_F(share_gate, unshared_object_skips_the_lock)
{
	int i;

	for (i = 0; i < 1000; i++) {
		struct gate_test_slot at = { i % FILES, i / FILES % GATE_TEST_SLOTS };

		ASSERT_EQ(0, run_ioctl(self->fd, GATE_TEST_WRITE_FSYNC, &at));
		if (i % 100 == 99)
			ASSERT_EQ(0, commit(self->fd));
	}
	EXPECT_EQ(1000, state(self->fd).skipped);
	EXPECT_EQ(0, state(self->fd).locked);
	EXPECT_EQ(0, crash(self->fd).missing);
}

TEST_F(share_gate, shared_objects_lock_until_logged)
{
	ASSERT_EQ(0, write_slot(self->fd, 0, 0));
	ASSERT_EQ(0, share(self->fd, 0, 1, 4, 4));
	ASSERT_EQ(0, on_file(self->fd, GATE_TEST_FSYNC, 0));
	EXPECT_EQ(1, state(self->fd).locked);
	ASSERT_EQ(0, on_file(self->fd, GATE_TEST_FSYNC, 1));
	EXPECT_EQ(2, state(self->fd).locked);
	EXPECT_EQ(1, state(self->fd).deleted);
	/* everything is logged: the next writes share nothing */
	ASSERT_EQ(0, write_slot(self->fd, 0, 2));
	ASSERT_EQ(0, write_slot(self->fd, 1, 2));
	ASSERT_EQ(0, on_file(self->fd, GATE_TEST_FSYNC, 0));
	ASSERT_EQ(0, on_file(self->fd, GATE_TEST_FSYNC, 1));
	EXPECT_EQ(2, state(self->fd).locked);
	EXPECT_EQ(2, state(self->fd).skipped);
	EXPECT_EQ(0, crash(self->fd).missing);
}

/* After a commit, what the last generation shared no longer matters. */
TEST_F(share_gate, commit_ends_the_locking)
{
	ASSERT_EQ(0, write_slot(self->fd, 0, 0));
	ASSERT_EQ(0, share(self->fd, 0, 1, 4, 4));
	ASSERT_EQ(0, commit(self->fd));
	ASSERT_EQ(0, write_slot(self->fd, 0, 2));
	ASSERT_EQ(0, write_slot(self->fd, 1, 2));
	ASSERT_EQ(0, on_file(self->fd, GATE_TEST_FSYNC, 0));
	ASSERT_EQ(0, on_file(self->fd, GATE_TEST_FSYNC, 1));
	EXPECT_EQ(0, state(self->fd).locked);
	EXPECT_EQ(2, state(self->fd).skipped);
}

/* The checksums of an old extent are committed: its source goes on without the lock. */
TEST_F(share_gate, old_extent_marks_the_destination_alone)
{
	ASSERT_EQ(0, write_slot(self->fd, 0, 0));
	ASSERT_EQ(0, commit(self->fd));
	ASSERT_EQ(0, share(self->fd, 0, 1, 4, 4));
	ASSERT_EQ(0, write_slot(self->fd, 0, 2));
	ASSERT_EQ(0, write_slot(self->fd, 1, 2));
	ASSERT_EQ(0, on_file(self->fd, GATE_TEST_FSYNC, 0));
	EXPECT_EQ(0, state(self->fd).locked);
	EXPECT_EQ(1, state(self->fd).skipped);
	ASSERT_EQ(0, on_file(self->fd, GATE_TEST_FSYNC, 1));
	EXPECT_EQ(1, state(self->fd).locked);
	EXPECT_EQ(0, crash(self->fd).missing);
}

#define CONTRACT(name, which)	DEVICE_CONTRACT(share_gate, name, GATE_TEST_CONTRACT, which)

CONTRACT(marks_are_monotonic, GATE_TEST_MONOTONIC)
CONTRACT(log_end_loses_no_mark, GATE_TEST_LATE_MARK)
CONTRACT(unknown_is_shared, GATE_TEST_UNKNOWN)

/* --- rules --------------------------------------------------------------- */

/* Each function returns the number of checksums that are missing after a crash. */
static __u64 log_in_turn(int fd, __u32 first, __u32 second)
{
	write_slot(fd, 0, 0);
	share(fd, 0, 1, 4, 4);
	on_file(fd, GATE_TEST_FSYNC, first);
	on_file(fd, GATE_TEST_FSYNC, second);
	return crash(fd).missing;
}

static __u64 source_is_marked(int fd)
{
	return log_in_turn(fd, 1, 0);
}

static __u64 destination_is_marked(int fd)
{
	return log_in_turn(fd, 0, 1);
}

static __u64 clear_after_all_is_logged(int fd)
{
	return log_in_turn(fd, 0, 1);
}

/* File 1 must be logged again: it is read in again, or a full log of it is demanded. */
static __u64 log_again(int fd, unsigned long cmd)
{
	write_slot(fd, 0, 0);
	share(fd, 0, 1, 4, 4);
	on_file(fd, GATE_TEST_FSYNC, 1);
	on_file(fd, GATE_TEST_FSYNC, 0);
	on_file(fd, cmd, 1);
	on_file(fd, GATE_TEST_FSYNC, 1);
	return crash(fd).missing;
}

static __u64 reloaded_object_may_be_shared(int fd)
{
	return log_again(fd, GATE_TEST_EVICT);
}

static __u64 full_log_marks(int fd)
{
	return log_again(fd, GATE_TEST_FULL);
}

#define RULE(name, flag)						\
TEST_F(share_gate, name)						\
{									\
	int fd = open_fs(GATE_TEST_GATE, flag);				\
									\
	ASSERT_GE(fd, 0);						\
	EXPECT_EQ(0, name(self->fd));					\
	/* without the rule */						\
	EXPECT_NE(0, name(fd));						\
	close(fd);							\
}

RULE(source_is_marked, GATE_TEST_BREAK_SOURCE)
RULE(destination_is_marked, GATE_TEST_BREAK_DESTINATION)
RULE(reloaded_object_may_be_shared, GATE_TEST_BREAK_RELOAD)
RULE(full_log_marks, GATE_TEST_BREAK_FULL)
RULE(clear_after_all_is_logged, GATE_TEST_BREAK_CLEAR)

/* --- concurrency --------------------------------------------------------- */

static void random_step(int fd, unsigned int *seed)
{
	__u32 file = rand_r(seed) % FILES, slot = rand_r(seed) % 4;
	struct gate_test_clone c = {
		.from = { file, slot }, .to = { rand_r(seed) % FILES, rand_r(seed) % 4 },
		.offset = rand_r(seed) % GATE_TEST_BLOCKS,
	};

	c.nr = 1 + rand_r(seed) % (GATE_TEST_BLOCKS - c.offset);
	switch (rand_r(seed) % 16) {
	case 0 ... 4:
		write_slot(fd, file, slot);
		break;
	case 5 ... 8:
		run_ioctl(fd, GATE_TEST_CLONE, &c);
		break;
	case 9 ... 13:
		on_file(fd, GATE_TEST_FSYNC, file);
		break;
	case 14:
		on_file(fd, GATE_TEST_EVICT, file);
		break;
	default:
		on_file(fd, GATE_TEST_FULL, file);
	}
}

/* Many tasks fsync at once; the crash comes when all have stopped. */
TEST_F_TIMEOUT(share_gate, concurrent_fsyncs_lose_nothing, 100)
{
	__u64 checked = 0;
	pid_t pid[6];
	int round, i;

	/* a round on a busy host may log nothing */
	for (round = 0; round < repeats(10) || (!checked && round < 50); round++) {
		struct gate_test_crash c;

		for (i = 0; i < 6; i++) {
			unsigned int seed = round * 6 + i + 1;

			pid[i] = fork();
			if (pid[i])
				continue;
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				random_step(self->fd, &seed);
		}
		usleep(300000);
		for (i = 0; i < 6; i++)
			stop(pid[i]);
		c = crash(self->fd);
		EXPECT_EQ(0, c.missing);
		checked += c.checked;
	}
	EXPECT_GT(checked, 0);
}

TEST_HARNESS_MAIN
