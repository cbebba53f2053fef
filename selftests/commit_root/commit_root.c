// SPDX-License-Identifier: GPL-2.0
/*
 * Commit-root search: what a pin sees, what a switch waits for, what may be reused.
 *
 * Each known pitfall has a test that runs twice: with the rule, and with the rule disabled
 * in the toy filesystem. The second run must detect the damage.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kselftest_harness.h"

#include "device_test.h"
#include "put.h"
#include "scale.h"
#include "trace.h"
#include "commit_root_test.h"
#include "fscommit_test.h"

#define EXTENTS		240
#define PARAMETERS	"/sys/module/fscommit/parameters/"

static int open_fs(__u32 search, __u32 broken)
{
	struct root_test_setup setup = {
		.search = search, .lock_type = LOCK_TEST_UNFAIR, .extents = EXTENTS, .rewrite = 10,
		.broken = broken,
	};
	int fd = open("/dev/commit_root_test", O_RDWR);

	if (fd >= 0 && ioctl(fd, ROOT_TEST_SETUP, &setup)) {
		close(fd);
		return -1;
	}
	return fd;
}

static int run_ioctl(int fd, unsigned long cmd, void *arg)
{
	return ioctl(fd, cmd, arg) ? errno : 0;
}

static struct root_test_state state(int fd)
{
	struct root_test_state s = { };

	ioctl(fd, ROOT_TEST_STATE, &s);
	return s;
}

static __u64 commit(int fd)
{
	struct root_test_commit c = { };

	return ioctl(fd, ROOT_TEST_COMMIT, &c) ? 0 : c.generation;
}

static int change(int fd, unsigned long cmd, __u32 extent)
{
	return run_ioctl(fd, cmd, &extent);
}

static int pin(int fd, __u32 id, __u64 *generation)
{
	struct root_test_pin p = { .id = id };
	int ret = run_ioctl(fd, ROOT_TEST_PIN, &p);

	if (generation)
		*generation = p.generation;
	return ret;
}

static int unpin(int fd, __u32 id)
{
	struct root_test_pin p = { .id = id };

	return run_ioctl(fd, ROOT_TEST_UNPIN, &p);
}

static struct root_test_request read_some(int fd, __u32 first, __u32 nr)
{
	struct root_test_request r = { .first = first, .nr = nr };

	if (ioctl(fd, ROOT_TEST_READ, &r))
		r.wrong = errno;
	return r;
}

static struct root_test_where where(int fd, __u32 extent)
{
	struct root_test_where w = { .extent = extent };

	ioctl(fd, ROOT_TEST_WHERE, &w);
	return w;
}

/* Look up the old state @w of an extent under pin @id. Return 0 if the pin finds all of it. */
static int look_up(int fd, __u32 id, const struct root_test_where *w)
{
	struct root_test_lookup l = { .id = id, .place = w->place, .version = w->version };

	return ioctl(fd, ROOT_TEST_LOOKUP, &l) ? errno : (int)(l.wrong + l.lost);
}

static void sleep_ms(int ms)
{
	usleep(ms * 1000);
}

/* A debugfs counter of the newest filesystem; -1 without debugfs. */
static long counter(const char *name)
{
	return debugfs_counter("commit_roots", name);
}

/* How many commits the newest filesystem keeps; -1 without debugfs. */
static long kept(void)
{
	FILE *f = fopen("/sys/kernel/debug/fscommit/commit_roots", "r");
	char line[256], *at;
	long n = -1;

	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, " kept=");
		if (at)
			n = atol(at + strlen(" kept="));
	}
	if (f)
		fclose(f);
	return n;
}

/* All freed blocks may be reused. */
static bool space_is_free(int fd)
{
	struct root_test_state s = state(fd);

	return s.reusable == s.running - 1;
}

static bool is_in_debugfs(const char *text)
{
	FILE *f = fopen("/sys/kernel/debug/fscommit/commit_roots", "r");
	bool found = !f;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		found |= !!strstr(line, text);
	if (f)
		fclose(f);
	return found;
}

FIXTURE(commit_root) {
	int fd;
};

FIXTURE_SETUP(commit_root)
{
	if (access("/dev/commit_root_test", F_OK))
		SKIP(return, "no /dev/commit_root_test: load commit_root_test.ko");
	self->fd = open_fs(ROOT_TEST_COMMIT_ROOT, 0);
	ASSERT_GE(self->fd, 0);
}

FIXTURE_TEARDOWN(commit_root)
{
	close(self->fd);
}

/* --- pins ---------------------------------------------------------------- */

TEST_F(commit_root, pin_sees_one_commit)
{
	struct root_test_where old = where(self->fd, 5), new;
	__u64 first, second;
	int i;

	ASSERT_EQ(0, pin(self->fd, 0, &first));
	for (i = 0; i < 50; i++) {
		ASSERT_EQ(0, change(self->fd, ROOT_TEST_WRITE, 5));
		ASSERT_NE(0, commit(self->fd));
	}
	new = where(self->fd, 5);
	ASSERT_EQ(0, pin(self->fd, 1, &second));
	EXPECT_EQ(first + 50, second);
	EXPECT_EQ(0, look_up(self->fd, 0, &old));
	EXPECT_EQ(ROOT_TEST_EXTENT_BLOCKS, look_up(self->fd, 0, &new));
	EXPECT_EQ(0, look_up(self->fd, 1, &new));
	EXPECT_EQ(ROOT_TEST_EXTENT_BLOCKS, look_up(self->fd, 1, &old));
	EXPECT_EQ(0, unpin(self->fd, 0));
	EXPECT_EQ(0, unpin(self->fd, 1));
	EXPECT_EQ(EINVAL, unpin(self->fd, 1));
	EXPECT_EQ(0, state(self->fd).stale);
}

/* Seen failing: if commit_root_switch() waits for the count, the first commit hangs. */
TEST_F(commit_root, switch_waits_for_no_pin)
{
	unsigned int i;

	for (i = 0; i < ROOT_TEST_MAX_PINS; i++) {
		ASSERT_EQ(0, pin(self->fd, i, NULL));
		ASSERT_EQ(0, change(self->fd, ROOT_TEST_WRITE, i));
		ASSERT_NE(0, commit(self->fd));
	}
	/* nothing is released: each of the replaced roots is pinned */
	sleep_ms(100);
	EXPECT_EQ(0, state(self->fd).released);
	EXPECT_LE(counter("switches_slept"), 0);
	for (i = 0; i < ROOT_TEST_MAX_PINS; i++)
		EXPECT_EQ(0, unpin(self->fd, i));
	EXPECT_TRUE(REACHED(state(self->fd).released == ROOT_TEST_MAX_PINS));
	EXPECT_EQ(0, state(self->fd).released_in_use);
}

/* Roots that no pin has are released at once, whatever older pins exist. */
TEST_F(commit_root, unpinned_roots_are_released_at_once)
{
	__u64 before, first;

	ASSERT_EQ(0, pin(self->fd, 0, &first));
	ASSERT_EQ(0, change(self->fd, ROOT_TEST_WRITE, 1));
	commit(self->fd);
	ASSERT_EQ(0, pin(self->fd, 1, NULL));
	ASSERT_EQ(0, change(self->fd, ROOT_TEST_WRITE, 2));
	commit(self->fd);
	before = state(self->fd).released;
	ASSERT_EQ(0, unpin(self->fd, 1));
	EXPECT_TRUE(REACHED(state(self->fd).released == before + 1));
	/* the blocks wait for the older pin */
	EXPECT_EQ(first, state(self->fd).reusable);
	ASSERT_EQ(0, unpin(self->fd, 0));
	EXPECT_TRUE(REACHED(state(self->fd).released == before + 2));
	EXPECT_TRUE(REACHED(space_is_free(self->fd)));
	EXPECT_EQ(0, state(self->fd).released_in_use);
}

/* A pin of the newest roots keeps no space. An older pin keeps some, and is asked and named. */
TEST_F_TIMEOUT(commit_root, the_pin_that_keeps_space_is_asked, 120)
{
	struct root_test_pin p = { .id = 1 };
	__u64 generation;
	int i;

	for (i = 0; i < 20; i++) {
		ASSERT_EQ(0, pin(self->fd, 0, NULL));
		ASSERT_EQ(0, change(self->fd, ROOT_TEST_WRITE, i));
		ASSERT_NE(0, commit(self->fd));
		ASSERT_EQ(0, change(self->fd, ROOT_TEST_WRITE, i));
		ASSERT_NE(0, commit(self->fd));
		ASSERT_EQ(0, pin(self->fd, 1, &generation));
		ASSERT_EQ(0, unpin(self->fd, 0));
		ASSERT_TRUE(REACHED(space_is_free(self->fd))) TH_LOG("round %d", i);
		EXPECT_FALSE(state(self->fd).has_pin);

		ASSERT_EQ(0, change(self->fd, ROOT_TEST_WRITE, i));
		ASSERT_NE(0, commit(self->fd));
		EXPECT_EQ(0, run_ioctl(self->fd, ROOT_TEST_WANT_SPACE, NULL));
		EXPECT_EQ(0, run_ioctl(self->fd, ROOT_TEST_WANTED, &p));
		EXPECT_TRUE(state(self->fd).has_pin);
		EXPECT_EQ(generation, state(self->fd).oldest_generation);
		EXPECT_EQ(generation, state(self->fd).reusable);
		ASSERT_EQ(0, unpin(self->fd, 1));
		ASSERT_TRUE(REACHED(space_is_free(self->fd))) TH_LOG("round %d", i);
	}
}

/* What one pin keeps does not grow with the commits after it. */
TEST_F_TIMEOUT(commit_root, one_pin_keeps_one_commit, 120)
{
	unsigned int i;

	ASSERT_EQ(0, pin(self->fd, 0, NULL));
	for (i = 0; i < 3000; i++)
		ASSERT_NE(0, commit(self->fd));
	/* the newest commit, and that of the pin */
	EXPECT_TRUE(REACHED(kept() == 2 || kept() < 0)) TH_LOG("%ld commits are kept", kept());
	EXPECT_TRUE(REACHED(state(self->fd).released == 2999));
	EXPECT_EQ(0, unpin(self->fd, 0));
	EXPECT_TRUE(REACHED(state(self->fd).released == 3000));
	EXPECT_TRUE(REACHED(kept() <= 1));
}

/* The event has the generation of the pin, and counts the commits that the set keeps. */
TEST_F(commit_root, switch_is_traced)
{
	__u64 pinned, generation;
	char expected[128];

	if (kept() < 0 || !trace_start())
		SKIP(return, "no debugfs, or no trace events");
	ASSERT_NE(0, commit(self->fd));
	ASSERT_TRUE(REACHED(kept() == 1));
	ASSERT_EQ(0, pin(self->fd, 0, &pinned));
	ASSERT_NE(0, commit(self->fd));
	/* that of the pin, the last one, the new one */
	generation = commit(self->fd);
	ASSERT_NE(0, generation);
	snprintf(expected, sizeof(expected), "generation=%llu reusable=%llu kept=3",
		 (unsigned long long)generation, (unsigned long long)pinned);
	EXPECT_TRUE(REACHED(trace_has("commit_root_switch: ", expected))) TH_LOG("%s", expected);
	EXPECT_EQ(0, unpin(self->fd, 0));
	trace_stop();
}

/* Pins are traced only while a trace event is enabled, also those that are older than that. */
TEST_F(commit_root, pins_and_releases_are_traced)
{
	__u64 old, pinned;
	char was_old[64], was_pinned[64];

	ASSERT_EQ(0, pin(self->fd, 0, &old));
	if (!trace_start())
		SKIP(return, "no trace events");
	snprintf(was_old, sizeof(was_old), "generation=%llu\n", (unsigned long long)old);
	EXPECT_EQ(0, unpin(self->fd, 0));
	EXPECT_TRUE(trace_has("commit_root_unpin: ", was_old));
	EXPECT_FALSE(trace_has("commit_root_pin: ", was_old));

	ASSERT_EQ(0, change(self->fd, ROOT_TEST_WRITE, 0));
	ASSERT_NE(0, commit(self->fd));
	ASSERT_EQ(0, pin(self->fd, 1, &pinned));
	EXPECT_LT(old, pinned);
	snprintf(was_pinned, sizeof(was_pinned), "generation=%llu\n", (unsigned long long)pinned);
	EXPECT_TRUE(trace_has("commit_root_pin: ", was_pinned));
	EXPECT_FALSE(trace_has("commit_root_unpin: ", was_pinned));

	/* its root is released after the pin ends, not before */
	ASSERT_EQ(0, change(self->fd, ROOT_TEST_WRITE, 1));
	ASSERT_NE(0, commit(self->fd));
	ASSERT_EQ(0, change(self->fd, ROOT_TEST_WRITE, 2));
	ASSERT_NE(0, commit(self->fd));
	sleep_ms(100);
	EXPECT_FALSE(trace_has("commit_root_release: ", was_pinned));
	EXPECT_EQ(0, unpin(self->fd, 1));
	EXPECT_TRUE(trace_has("commit_root_unpin: ", was_pinned));
	EXPECT_TRUE(REACHED(trace_has("commit_root_release: ", was_pinned)));
	trace_stop();
}

/* Blocks reachable from a pin stay pending. Without a pin the number of blocks is bounded. */
TEST_F_TIMEOUT(commit_root, freed_blocks_wait_for_pins, 60)
{
	unsigned int blocks, i;
	__u64 generation;

	ASSERT_EQ(0, pin(self->fd, 0, &generation));
	for (i = 0; i < 100; i++) {
		ASSERT_EQ(0, change(self->fd, ROOT_TEST_WRITE, i * 2));
		commit(self->fd);
	}
	sleep_ms(100);
	EXPECT_EQ(generation, state(self->fd).reusable);
	EXPECT_GE(state(self->fd).pending, 100);
	ASSERT_EQ(0, unpin(self->fd, 0));
	EXPECT_TRUE(REACHED(state(self->fd).reusable == state(self->fd).running - 1));
	blocks = state(self->fd).blocks;
	/* the blocks that were pending suffice for the first 100 of these */
	for (i = 0; i < 300; i++) {
		ASSERT_EQ(0, change(self->fd, ROOT_TEST_WRITE, i % 100 * 2));
		commit(self->fd);
		if (!(i % 20))
			sleep_ms(30);
	}
	/* a release that is late costs some blocks; without reuse these commits need hundreds */
	EXPECT_LE(state(self->fd).blocks, blocks + 30);
	EXPECT_EQ(0, run_ioctl(self->fd, ROOT_TEST_CHECK, NULL));
}

TEST_F(commit_root, unpin_by_another_task)
{
	cpu_set_t set;
	pid_t pid;
	int status;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	ASSERT_EQ(0, pin(self->fd, 0, NULL));
	ASSERT_EQ(0, change(self->fd, ROOT_TEST_WRITE, 1));
	commit(self->fd);
	pid = fork();
	if (!pid) {
		CPU_ZERO(&set);
		CPU_SET(sysconf(_SC_NPROCESSORS_ONLN) - 1, &set);
		sched_setaffinity(0, sizeof(set), &set);
		_exit(unpin(self->fd, 0));
	}
	waitpid(pid, &status, 0);
	EXPECT_EQ(0, status);
	EXPECT_TRUE(REACHED(state(self->fd).reusable == state(self->fd).running - 1));
}

TEST_F(commit_root, space_is_wanted_from_old_pins)
{
	struct root_test_pin old = { .id = 0 }, new = { .id = 1 };

	ASSERT_EQ(0, pin(self->fd, 0, NULL));
	commit(self->fd);
	ASSERT_EQ(0, pin(self->fd, 1, NULL));
	EXPECT_EQ(ENOENT, run_ioctl(self->fd, ROOT_TEST_WANTED, &old));
	EXPECT_EQ(0, run_ioctl(self->fd, ROOT_TEST_WANT_SPACE, NULL));
	EXPECT_EQ(0, run_ioctl(self->fd, ROOT_TEST_WANTED, &old));
	EXPECT_EQ(ENOENT, run_ioctl(self->fd, ROOT_TEST_WANTED, &new));
	unpin(self->fd, 0);
	unpin(self->fd, 1);
}

TEST_F(commit_root, oldest_pin_has_a_name)
{
	__u32 irqs_off = ROOT_TEST_IRQS_OFF;
	struct root_test_state s;
	__u64 generation;
	char line[64];
	int fd;

	EXPECT_FALSE(state(self->fd).has_pin);
	ASSERT_TRUE(put(PARAMETERS "track_pins", "1"));
	fd = open_fs(ROOT_TEST_COMMIT_ROOT, 0);
	/* on a set of its own */
	EXPECT_EQ(0, run_ioctl(self->fd, ROOT_TEST_CONTRACT, &irqs_off));
	put(PARAMETERS "track_pins", "0");
	ASSERT_GE(fd, 0);
	EXPECT_FALSE(state(fd).has_pin);
	ASSERT_EQ(0, pin(fd, 3, &generation));
	commit(fd);
	ASSERT_EQ(0, pin(fd, 4, NULL));
	/* an age is in jiffies, and these may come late */
	EXPECT_TRUE(REACHED(state(fd).oldest_age_ms >= 20));
	s = state(fd);
	EXPECT_TRUE(s.has_pin);
	EXPECT_EQ(generation, s.oldest_generation);
	EXPECT_EQ(getpid(), s.oldest_pid);
	snprintf(line, sizeof(line), "comm=commit_root pid=%d ", getpid());
	EXPECT_TRUE(is_in_debugfs(line)) TH_LOG("%s", line);
	unpin(fd, 3);
	EXPECT_EQ(generation + 1, state(fd).oldest_generation);
	/* destroy fails, and the log names the task that holds the pin */
	EXPECT_EQ(EBUSY, run_ioctl(fd, ROOT_TEST_DESTROY, NULL));
	unpin(fd, 4);
	EXPECT_FALSE(state(fd).has_pin);
	close(fd);
	/* without track_pins only the existence of a pin is known */
	ASSERT_EQ(0, pin(self->fd, 0, &generation));
	commit(self->fd);
	EXPECT_TRUE(state(self->fd).has_pin);
	EXPECT_EQ(generation, state(self->fd).oldest_generation);
	EXPECT_EQ(0, state(self->fd).oldest_pid);
	unpin(self->fd, 0);
}

TEST_F(commit_root, destroy_refuses_what_is_pinned)
{
	struct root_test_where w = where(self->fd, 1);

	ASSERT_EQ(0, pin(self->fd, 0, NULL));
	EXPECT_EQ(EBUSY, run_ioctl(self->fd, ROOT_TEST_DESTROY, NULL));
	EXPECT_EQ(ESHUTDOWN, pin(self->fd, 1, NULL));
	EXPECT_EQ(0, commit(self->fd));
	EXPECT_EQ(ESHUTDOWN, errno);
	/* pinned roots are unchanged */
	EXPECT_EQ(0, look_up(self->fd, 0, &w));
	EXPECT_EQ(0, unpin(self->fd, 0));
	EXPECT_EQ(0, run_ioctl(self->fd, ROOT_TEST_DESTROY, NULL));
	EXPECT_EQ(ENXIO, pin(self->fd, 0, NULL));
}

#define CONTRACT(name, which)						\
TEST_F(commit_root, name)						\
{									\
	__u32 number = which;						\
									\
	/* on failure the log names the check */				\
	EXPECT_EQ(0, run_ioctl(self->fd, ROOT_TEST_CONTRACT, &number));	\
}

CONTRACT(refused_before_the_first_commit, ROOT_TEST_EARLY)
CONTRACT(oldest_pin_is_found_during_a_release, ROOT_TEST_SLOW_RELEASE)
CONTRACT(prepared_commit_takes_new_trees, ROOT_TEST_LATE_TREES)
CONTRACT(each_pin_sees_its_commit, ROOT_TEST_EACH_COMMIT)
CONTRACT(switch_costs_what_it_changes, ROOT_TEST_SWITCH_COST)
CONTRACT(trees_switch_together, ROOT_TEST_TREES)
CONTRACT(cancelled_commit_changes_nothing, ROOT_TEST_CANCEL)
CONTRACT(tree_is_named_once, ROOT_TEST_NAMED_TWICE)
CONTRACT(replaced_roots_are_young, ROOT_TEST_AGE)
CONTRACT(room_for_many_trees, ROOT_TEST_MANY_TREES)
CONTRACT(absent_tree_is_no_miss, ROOT_TEST_NO_TREE)
CONTRACT(sets_do_not_wait_for_each_other, ROOT_TEST_TWO_SETS)
CONTRACT(pins_do_not_sleep, ROOT_TEST_IRQS_OFF)
CONTRACT(release_waits_for_no_rcu_reader, ROOT_TEST_RCU_READER)
CONTRACT(refused_destroy_keeps_all_roots, ROOT_TEST_REFUSED)

/* --- searches, and the traps --------------------------------------------- */

TEST_F(commit_root, old_data_is_found_committed)
{
	struct root_test_request r = read_some(self->fd, 8, 4);

	EXPECT_EQ(1, r.committed);
	EXPECT_EQ(0, r.missed + r.live + r.wrong + r.lost);
	/* an extent of the running generation is searched in the live tree */
	ASSERT_EQ(0, change(self->fd, ROOT_TEST_WRITE, 9));
	r = read_some(self->fd, 8, 4);
	EXPECT_EQ(0, r.committed);
	EXPECT_EQ(1, r.live);
	EXPECT_EQ(0, r.wrong + r.lost);
	commit(self->fd);
	r = read_some(self->fd, 8, 4);
	EXPECT_EQ(1, r.committed);
	EXPECT_EQ(0, r.missed + r.live + r.wrong + r.lost);
}

/* Each function returns how often it saw the rule broken. @tries is for the racy ones. */
static int by_the_maximum(int fd, int tries)
{
	struct root_test_request r;

	change(fd, ROOT_TEST_WRITE, 13);
	r = read_some(fd, 12, 2);
	return r.missed + r.wrong + r.lost;
}

static int unknown_is_not_eligible(int fd, int tries)
{
	struct root_test_request r;

	change(fd, ROOT_TEST_FORGET, 13);
	r = read_some(fd, 12, 2);
	return r.committed + r.wrong + r.lost;
}

static int added_on_success_only(int fd, int tries)
{
	struct root_test_request r;

	change(fd, ROOT_TEST_WRITE, 11);
	r = read_some(fd, 12, 2);
	return r.live + r.wrong + r.lost;
}

static int split_takes_it_along(int fd, int tries)
{
	struct root_test_request r = { .first = 12, .nr = 4, .split = 1 };

	if (ioctl(fd, ROOT_TEST_READ, &r))
		return -errno;
	return (r.committed != 2) + r.live + r.wrong + r.lost;
}

static int miss_is_no_answer(int fd, int tries)
{
	struct root_test_request r;

	change(fd, ROOT_TEST_MOVE, 13);
	r = read_some(fd, 12, 4);
	return r.wrong + r.lost;
}

static int no_reuse_under_a_pin(int fd, int tries)
{
	struct root_test_where w = where(fd, 13);
	int i, bad = 0;

	pin(fd, 0, NULL);
	for (i = 0; i < tries && !bad; i++) {
		change(fd, ROOT_TEST_WRITE, 12 + i % 40);
		commit(fd);
		bad = look_up(fd, 0, &w);
	}
	unpin(fd, 0);
	return bad + state(fd).stale;
}

/* Fork a child that runs @cmd on random extents and commits. */
static pid_t start_changes(int fd, unsigned long cmd, unsigned int extents)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		change(fd, cmd, random() % extents);
		if (!(random() % 4))
			commit(fd);
	}
}

static int one_pin_for_one_lookup(int fd, int tries)
{
	pid_t pid = start_changes(fd, ROOT_TEST_WRITE, 8);
	int i, bad = 0;

	for (i = 0; i < tries && !bad; i++) {
		struct root_test_request r = { .first = 12, .nr = 4, .pause_us = 3000 };

		ioctl(fd, ROOT_TEST_READ, &r);
		bad = r.mixed + r.wrong + r.lost;
	}
	stop(pid);
	return bad;
}

static int extents_stay_while_they_are_read(int fd, int tries)
{
	pid_t pid = start_changes(fd, ROOT_TEST_WRITE, 16);
	int i, bad = 0;

	for (i = 0; i < tries && !bad; i++) {
		struct root_test_request r = { .first = 12, .nr = 4, .pause_us = 3000 };

		if (ioctl(fd, ROOT_TEST_READ, &r))
			r.wrong = 1;
		bad = r.wrong + r.lost;
	}
	stop(pid);
	return bad;
}

#define TRAP(name, flag)						\
TEST_F_TIMEOUT(commit_root, name, 60)					\
{									\
	int fd = open_fs(ROOT_TEST_COMMIT_ROOT, flag);			\
									\
	ASSERT_GE(fd, 0);						\
	EXPECT_EQ(0, name(self->fd, 60));				\
	/* without the rule */						\
	EXPECT_NE(0, name(fd, 3000));					\
	EXPECT_EQ(0, state(self->fd).stale);				\
	EXPECT_EQ(0, run_ioctl(self->fd, ROOT_TEST_CHECK, NULL));	\
	close(fd);							\
}

TRAP(by_the_maximum, ROOT_TEST_BREAK_MAXIMUM)
TRAP(unknown_is_not_eligible, ROOT_TEST_BREAK_UNKNOWN)
TRAP(added_on_success_only, ROOT_TEST_BREAK_ADD)
TRAP(split_takes_it_along, ROOT_TEST_BREAK_SPLIT)
TRAP(miss_is_no_answer, ROOT_TEST_BREAK_MISS)
TRAP(no_reuse_under_a_pin, ROOT_TEST_BREAK_REUSE)
TRAP(one_pin_for_one_lookup, ROOT_TEST_BREAK_ONE_PIN)
TRAP(extents_stay_while_they_are_read, ROOT_TEST_BREAK_KEEP)

/* A forced search never goes live, so it misses a moved extent. */
TEST_F(commit_root, forced_is_never_live)
{
	struct root_test_request r = { .first = 12, .nr = 4, .forced = 1 };

	ASSERT_EQ(0, change(self->fd, ROOT_TEST_MOVE, 13));
	ASSERT_EQ(0, ioctl(self->fd, ROOT_TEST_READ, &r));
	EXPECT_EQ(1, r.committed);
	EXPECT_EQ(0, r.live);
	EXPECT_EQ(ROOT_TEST_EXTENT_BLOCKS, r.lost);
	EXPECT_EQ(0, r.wrong);
}

/* --- all at once --------------------------------------------------------- */

static atomic_long *sums;
enum { READS, BAD, COMMITTED, MISSED, LIVE, NR_SUMS };

static void read_for_ever(int fd)
{
	for (;;) {
		struct root_test_request r = {
			.first = random() % (EXTENTS / ROOT_TEST_GROUP) * ROOT_TEST_GROUP,
			.nr = 1 + random() % ROOT_TEST_GROUP,
			.split = !(random() % 3),
			.pause_us = random() % 50 ? 0 : 2000,
		};

		if (ioctl(fd, ROOT_TEST_READ, &r))
			atomic_fetch_add(&sums[BAD], 1);
		atomic_fetch_add(&sums[READS], 1);
		atomic_fetch_add(&sums[BAD], r.wrong + r.lost + r.mixed);
		atomic_fetch_add(&sums[COMMITTED], r.committed);
		atomic_fetch_add(&sums[MISSED], r.missed);
		atomic_fetch_add(&sums[LIVE], r.live);
	}
}

static void change_for_ever(int fd)
{
	for (;;) {
		change(fd, random() % 4 ? ROOT_TEST_WRITE : ROOT_TEST_MOVE, random() % EXTENTS);
		if (!(random() % 8))
			usleep(random() % 1000);
	}
}

/* Readers at the lowest priority against writers, moves, commits and snapshots. */
static void storm(struct __test_metadata *_metadata, int fd, int seconds, bool committed)
{
	pid_t pid[8];
	int i;

	sums = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (i = 0; i < 8; i++) {
		pid[i] = fork();
		if (pid[i])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		srandom(getpid());
		if (i < 2)
			change_for_ever(fd);
		setpriority(PRIO_PROCESS, 0, 19);
		read_for_ever(fd);
	}
	/* run on until a search has missed a moved extent */
	for (i = 0; i < scaled(seconds * 50) ||
		    (i < 1000 && committed && !atomic_load(&sums[MISSED])); i++) {
		sleep_ms(20);
		if (!(i % 7))
			ioctl(fd, ROOT_TEST_SNAPSHOT);
		if (!commit(fd) && errno != ENOMEM)
			EXPECT_EQ(0, errno);
	}
	for (i = 0; i < 8; i++)
		stop(pid[i]);
	TH_LOG("%ld reads: %ld committed, %ld missed, %ld live; %u blocks, %llu copied",
	       sums[READS], sums[COMMITTED], sums[MISSED], sums[LIVE], state(fd).blocks,
	       (unsigned long long)state(fd).cowed);
	EXPECT_GT(sums[READS], 0);
	EXPECT_EQ(committed, sums[COMMITTED] > 0);
	EXPECT_EQ(0, sums[BAD]);
	EXPECT_EQ(0, state(fd).stale);
	EXPECT_EQ(0, state(fd).released_in_use);
	EXPECT_EQ(0, run_ioctl(fd, ROOT_TEST_CHECK, NULL));
}

TEST_F_TIMEOUT(commit_root, the_oracle_finds_no_difference, 90)
{
	ASSERT_TRUE(put(PARAMETERS "commit_root_oracle", "1"));
	storm(_metadata, self->fd, 4, true);
	put(PARAMETERS "commit_root_oracle", "0");
	EXPECT_GT(sums[MISSED], 0);
	EXPECT_LE(counter("differences"), 0);
	EXPECT_LE(counter("switches_slept"), 0);
	EXPECT_LE(counter("misuses"), 0);
}

/* The oracle must find a difference if the caller breaks rule 3. */
TEST_F_TIMEOUT(commit_root, the_oracle_finds_a_broken_rule, 60)
{
	int fd = open_fs(ROOT_TEST_COMMIT_ROOT, ROOT_TEST_BREAK_KEEP), i;
	pid_t pid;

	ASSERT_GE(fd, 0);
	if (counter("differences") < 0)
		SKIP(return, "no debugfs");
	ASSERT_TRUE(put(PARAMETERS "commit_root_oracle", "1"));
	/* few changes before a search, so some fall within one */
	pid = start_changes(fd, ROOT_TEST_WRITE, 200);
	for (i = 0; i < 50000 && counter("differences") <= 0; i++) {
		struct root_test_request r = { .first = 12, .nr = 4, .pause_us = 300 };

		ioctl(fd, ROOT_TEST_READ, &r);
	}
	stop(pid);
	put(PARAMETERS "commit_root_oracle", "0");
	TH_LOG("found after %d searches", i);
	EXPECT_GT(counter("differences"), 0);
	close(fd);
}

/* Search the live tree under its locks, and the committed one behind an rwsem as in btrfs. */
TEST_F_TIMEOUT(commit_root, peers_find_the_same, 90)
{
	static const struct { __u32 search; bool committed; } peer[] = {
		{ ROOT_TEST_LIVE, false }, { ROOT_TEST_BEHIND_RWSEM, true },
	};
	unsigned int i;

	for (i = 0; i < 2; i++) {
		int fd = open_fs(peer[i].search, 0);

		ASSERT_GE(fd, 0);
		storm(_metadata, fd, 2, peer[i].committed);
		close(fd);
	}
}

TEST_HARNESS_MAIN
